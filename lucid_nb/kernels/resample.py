"""Resampling along an axis by a sparse matrix, by the kernels of loops/resample.py."""
from math import prod

import numpy as np

from . import memory, threads
from .copying import contiguous
from .steps import grain, range_kernel

TABLE = ("int64*", "int64*", "float64*")


def resample(x: np.ndarray, axis: int, starts: np.ndarray, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The product of a matrix with an axis of x, which is float32 or float64.

    Row j of the matrix has weights[k] in column places[k] for k from starts[j] up to starts[j + 1]; all three are
    contiguous, int64 and float64.
    """
    x = contiguous(x)
    size, results, inner = x.shape[axis], len(starts) - 1, prod(x.shape[axis + 1:])
    shape = (*x.shape[:axis], results, *x.shape[axis + 1:])
    out = memory.empty(shape, x.dtype)
    if out.size == 0:
        return out
    kinds, outer, taps = f"{x.dtype.name}*", prod(shape[:axis]), 1 + len(places) // results
    if inner == 1:
        kernel = range_kernel("resample:elements", kinds, *TABLE, kinds, "int64", "int64")
        threads.launch(kernel, outer, grain(results * taps), x, starts, places, weights, out, size, results)
    else:
        kernel = range_kernel("resample:lines", kinds, *TABLE, kinds, "int64", "int64", "int64")
        threads.launch(kernel, outer * results, grain(inner * taps), x, starts, places, weights, out, size, results,
                       inner)
    return out
