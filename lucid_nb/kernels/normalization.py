"""Normalisation of a batch, or of groups of channels: fused forward and backward by the kernels of loops/.

`x` is (batch, channels, plane) where statistics are those of a channel (axes (0, 2)), and (batch, groups, channels of a
group, plane) where they are those of a group (axes (2, 3)); all float32 or all float64. Statistics have extents of 1
along those axes; weight and bias have them along all others but that of channels (and groups).
"""
from functools import cache

import numpy as np

from ..shapes import Shape, reduced_shape
from . import memory, threads
from .copying import contiguous
from .reduce import reduce
from .steps import DOUBLE, grain, range_kernel
from .store import RangeKernel

ROW_BLOCK, PANEL = 32, 128                         # as in loops/
COST, GRADIENT_COST = 3, 4                         # of an element, in elements that are only read
new = np.empty                                     # of what is small


def normalize(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, axes: Shape, eps: float,
              centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean) / sqrt(variance + eps) * weight + bias, the mean, and the biased variance.

    Not `centred`, the mean is 0 and the variance is about 0. Of no elements, statistics are NaN.
    """
    x, weight, bias = map(contiguous, (x, weight, bias))
    out, kept = memory.empty(x.shape, x.dtype), reduced_shape(x.shape, axes, True)
    mean, variance = memory.empty(kept, x.dtype), memory.empty(kept, x.dtype)
    if x.size == 0:
        mean[...] = variance[...] = np.nan
        return out, mean, variance
    path, sizes, units = _geometry("", x.shape, centred)
    threads.launch(_kernel(path, 6, len(sizes), x.dtype.name), units, grain(x.size // units * COST),
                   x, weight, bias, out, mean, variance, *sizes, eps)
    return out, mean, variance


def normalize_grad(g: np.ndarray, x: np.ndarray, weight: np.ndarray, mean: np.ndarray, variance: np.ndarray,
                   axes: Shape, eps: float, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of x, weight and bias, by what `normalize` gave and got."""
    g, x, weight, mean, variance = map(contiguous, (g, x, weight, mean, variance))
    out = memory.empty(x.shape, x.dtype)
    if x.size == 0:
        return out, np.zeros(weight.shape, x.dtype), np.zeros(weight.shape, x.dtype)
    path, sizes, units = _geometry("grad_", x.shape, centred)
    operands = [g, x, weight, mean, variance, out]
    work = grain(x.size // units * GRADIENT_COST)
    if x.ndim == 3:
        of_weight, of_bias = new(weight.shape, x.dtype), new(weight.shape, x.dtype)
        threads.launch(_kernel(path, 8, len(sizes), x.dtype.name), units, work, *operands, of_weight, of_bias,
                       *sizes, eps)
        return out, of_weight, of_bias
    if path.endswith("grad_rows"):
        parts = new((2, units, sizes[1]), x.dtype)
        threads.launch(_kernel(path, 8, len(sizes), x.dtype.name), units, work, *operands, parts[0], parts[1],
                       *sizes, eps)
        of_weight, of_bias = reduce("sum", parts, (1,), False, x.dtype)
    else:
        sums = new((x.shape[0], weight.size, 2), DOUBLE)
        threads.launch(_kernel(path, 7, len(sizes), x.dtype.name), units, work, *operands, sums, *sizes, eps)
        of_bias, of_weight = reduce("sum", sums, (0,), False, DOUBLE).astype(x.dtype).T
    return out, of_weight.reshape(weight.shape), of_bias.reshape(weight.shape)


def _geometry(gradient: str, shape: Shape, centred: bool) -> tuple[str, tuple[int, ...], int]:
    """The path of a kernel, the integers that it takes, and how many units it has."""
    if len(shape) == 3:
        batch, channels, plane = shape
        if plane == 1:
            return f"normalization_columns:batch_{gradient}columns", (batch, channels), -(-channels // PANEL)
        return f"normalization:batch_{gradient}planes", (batch, channels, plane), channels
    batch, groups, channels, plane = shape
    rows, plain = batch * groups, "" if centred else "plain_"
    if gradient and groups == plane == 1:
        return f"normalization:{plain}grad_rows", (rows, channels), -(-rows // ROW_BLOCK)
    kind = "grad_planes" if gradient else "rows"
    return f"normalization:{plain}{kind}", (groups, channels, plane), rows


@cache
def _kernel(path: str, pointers: int, integers: int, dtype: str) -> RangeKernel:
    """The kernel at a path for so many arrays of a dtype, then integers, then a float; `parts` are float64."""
    kinds = [f"{dtype}*"] * pointers
    if path.endswith("grad_planes") and "batch" not in path:
        kinds[-1] = "float64*"
    return range_kernel(path, *kinds, *["int64"] * integers, "float64")
