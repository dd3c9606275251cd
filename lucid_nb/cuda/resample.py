"""Resampling along an axis by a sparse matrix: a thread for each result, which is a sum of few elements in order."""

from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat
from .places import Places, fitting
from .runtime import cuda
from .scalars import compute, narrow, widen_to

KEPT = 256             # matrices that stay on the device, as many as are kept on the host


@cache
def _kernel(dtype: np.dtype, places: Places) -> Any:
    number, (integer, quotient), memory = compute(dtype), places, np.uint64
    load, store, zero = widen_to(dtype, number), narrow(dtype), number.type(0)

    def resample(count, x, starts, places, weights, y, size, results, inner):
        i = integer(cuda.grid(1))
        while i < count:
            line = quotient(i, inner)
            outer = quotient(line, results)
            row = integer(line - outer * results)
            first, total = integer(outer * size * inner + i - line * inner), zero
            for k in range(starts[memory(row)], starts[memory(row + 1)]):
                total += weights[memory(k)] * load(x[memory(first + places[memory(k)] * inner)])
            y[memory(i)] = store(total)
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(resample)


@lru_cache(KEPT)
def _on_device(given: bytes, dtype: np.dtype, wanted: np.dtype) -> Any:
    """Part of a matrix on the device; the host sends the same one only once."""
    return runtime.upload(np.frombuffer(given, dtype).astype(wanted))


def resample(x: DeviceArray, axis: int, starts: np.ndarray, places: np.ndarray, weights: np.ndarray) -> DeviceArray:
    """The product of a matrix with an axis of x, which is of floats.

    Row j of the matrix has weights[k] in column places[k] for k from starts[j] up to starts[j + 1].
    """
    size, results, inner = x.shape[axis], len(starts) - 1, prod(x.shape[axis + 1:])
    result = geometry.empty((*x.shape[:axis], results, *x.shape[axis + 1:]), x.element)
    if result.size:
        matrix = [_on_device(part.tobytes(), part.dtype, wanted) for part, wanted in (
            (starts, starts.dtype), (places, places.dtype), (weights, compute(x.element)))]
        fit = fitting(max(x.size, result.size))
        runtime.launch_each(_kernel(x.element, fit), result.size, *fit.of(result.size), flat(x), *matrix, result.memory,
                            *fit.of(size, results, inner))
    return result
