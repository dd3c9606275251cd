"""Counting integers, and numbers by equal bins."""

import numpy as np

from . import memory, threads
from .copying import contiguous
from .steps import DOUBLE, FLOATS, GRAIN, INDEX, kernel_of, range_kernel

CHAINS = 4                                 # as in loops/counting.py
FEW = 1 << 14                              # counters below which several rows of them stay in the cache


def span(raw: np.ndarray) -> tuple[int, int]:
    """The smallest and the largest of some integers."""
    flat, units = contiguous(raw), _units(raw.size, 1)
    found = np.empty((units, 2), np.int64)
    kernel = kernel_of("counting:span", (flat.dtype, INDEX), 2)
    threads.launch(kernel, units, 1, flat, found, flat.size, units)
    return int(found[:, 0].min()), int(found[:, 1].max())


def bincount(raw: np.ndarray, bins: int) -> np.ndarray:
    """How often each of 0 to bins - 1 occurs among integers that are known to be no others, as int64."""
    if bins > FEW or raw.size < bins:
        return np.bincount(raw.reshape(-1), minlength=bins).astype(np.int64, copy=False)
    flat, units = contiguous(raw), _units(raw.size, bins)
    counts = np.zeros((units * CHAINS, bins), np.int64)
    kernel = kernel_of("counting:occurrences", (flat.dtype, INDEX), 3)
    threads.launch(kernel, units, 1, flat, counts, flat.size, bins, units)
    return counts.sum(0)


def bin_places(raw: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each number between float64 edges of equal distance, as int64; outside the bins, their number.

    The last bin has its right edge too. NaN is outside.
    """
    flat = _as_floats(raw)
    places = memory.empty(flat.shape, np.int64)
    bins = edges.size - 1
    kernel = range_kernel("counting:bins_of", f"{flat.dtype}*", "float64*", "int64*", "int64", *["float64"] * 3)
    threads.launch(kernel, flat.size, GRAIN // 4, flat, edges, places, bins, *_geometry(edges))
    return places


def histogram(raw: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """How many numbers each bin between float64 edges of equal distance has, as int64; as `bin_places`."""
    flat, bins = _as_floats(raw), edges.size - 1
    units = _units(flat.size, bins)
    counts = np.zeros((units * CHAINS, bins + 1), np.int64)
    kernel = range_kernel("counting:histogram", f"{flat.dtype}*", "float64*", "int64*", *["int64"] * 3,
                          *["float64"] * 3)
    threads.launch(kernel, units, 1, flat, edges, counts, flat.size, bins, units, *_geometry(edges))
    return counts.sum(0)[:bins]


def _units(size: int, bins: int) -> int:
    """Into how many shares the work is cut: counts are the same for any."""
    return threads.num_threads() if size > GRAIN and size > 16 * bins else 1


def _as_floats(raw: np.ndarray) -> np.ndarray:
    return contiguous(raw if raw.dtype in FLOATS else raw.astype(DOUBLE))


def _geometry(edges: np.ndarray) -> tuple[float, float, float]:
    """The first edge, the last one, and bins a unit."""
    first, last = float(edges[0]), float(edges[-1])
    return first, last, (edges.size - 1) / (last - first)
