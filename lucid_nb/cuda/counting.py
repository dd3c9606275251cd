"""Counting integers, and numbers by equal bins. Counters are integers, so the order in which they grow changes nothing.

Few counters are kept in the shared memory of each block, and added up at its end.
"""

from functools import cache
from typing import Any

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat, full, to_numpy
from .reduce import reduce
from .runtime import SIMULATED, THREADS, block_inline, cuda, inline, shared_memory
from .scalars import widen_to

FEW = 16 if SIMULATED else 4096            # counters that a block keeps
INDEX, DOUBLE = np.dtype(np.int64), np.dtype(np.float64)
_counters = shared_memory(FEW, np.dtype(np.int32))


def span(raw: DeviceArray) -> tuple[int, int]:
    """The smallest and the largest of some integers; they are read on the host."""
    axes = tuple(range(raw.ndim))
    low, high = (int(to_numpy(reduce(kind, raw, axes, False, raw.element))) for kind in ("min", "max"))
    return low, high


@block_inline
def _clear(counters, bins):
    """Empty counters of the block."""
    for k in range(cuda.threadIdx.x, bins, cuda.blockDim.x):
        counters[k] = 0
    cuda.syncthreads()


@block_inline
def _add_up(counters, bins, counts):
    """What the block counted, added to the counts of all."""
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, bins, cuda.blockDim.x):
        if counters[k] > 0:
            cuda.atomic.add(counts, k, counters[k])


@runtime.kernel
def _count_kernel(count, x, counts):
    i = cuda.grid(1)
    while i < count:
        cuda.atomic.add(counts, np.int64(x[i]), 1)
        i += cuda.gridsize(1)


@runtime.kernel
def _count_few_kernel(count, x, counts, bins):
    counters = _counters()
    _clear(counters, bins)
    i = cuda.grid(1)
    while i < count:
        cuda.atomic.add(counters, np.int64(x[i]), 1)
        i += cuda.gridsize(1)
    _add_up(counters, bins, counts)


def bincount(raw: DeviceArray, bins: int) -> DeviceArray:
    """How often each of 0 to bins - 1 occurs among integers that are known to be no others, as int64."""
    counts = full((bins,), 0, INDEX)
    if bins <= FEW:
        runtime.launch_each(_count_few_kernel, raw.size, raw.size, flat(raw), counts.memory, bins)
    else:
        runtime.launch_each(_count_kernel, raw.size, raw.size, flat(raw), counts.memory)
    return counts


# ---------------------------------------------------------------------------------------------------------- bins
@inline
def _bin(value, edges, bins):
    """The bin of a number between edges of equal distance; `bins` outside, and for NaN."""
    first, last = edges[0], edges[bins]
    if not (value >= first and value <= last):
        return np.int64(bins)
    k = min(np.int64((value - first) * (bins / (last - first))), np.int64(bins - 1))
    if value < edges[k]:                   # the edges decide: the quotient is rounded
        k -= 1
    if value >= edges[k + 1] and k < bins - 1:
        k += 1
    return k


@cache
def _bin_kernel(dtype: np.dtype) -> Any:
    load = widen_to(dtype, DOUBLE)

    def find_bins(count, x, edges, places, bins):
        i = cuda.grid(1)
        while i < count:
            places[i] = _bin(load(x[i]), edges, bins)
            i += cuda.gridsize(1)
    return runtime.kernel(find_bins, (THREADS, 5))


def bin_places(raw: DeviceArray, edges: DeviceArray) -> DeviceArray:
    """The bin of each number between float64 edges of equal distance, as int64; outside the bins, their number.

    The last bin has its right edge too. NaN is outside.
    """
    places = geometry.empty(raw.shape, INDEX)
    runtime.launch_each(_bin_kernel(raw.element), raw.size, raw.size, flat(raw), flat(edges), places.memory,
                        edges.size - 1)
    return places


def histogram(raw: DeviceArray, edges: DeviceArray) -> DeviceArray:
    """How many numbers each bin between float64 edges of equal distance has, as int64; as `bin_places`."""
    counts = bincount(bin_places(raw, edges), edges.size)
    return geometry.slice_view(counts, (slice(edges.size - 1),))
