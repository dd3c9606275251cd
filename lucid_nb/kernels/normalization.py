"""Normalisation of a batch, or of groups of channels: fused forward and backward by the kernels of loops/.

x is read as (batch, channels, plane) where statistics are those of a channel (axes (0, 2)), and as (batch, groups,
channels of a group, plane) where they are those of a group (axes (2, 3)); all float32 or all float64. Statistics have
extents of 1 along those axes; weight and bias have an element for each channel (of each group).
"""
from functools import lru_cache
from math import prod
from struct import Struct

import numpy as np

from ..shapes import Shape, reduced_shape
from . import memory, threads
from .copying import contiguous
from .reduce import reduce
from .steps import DOUBLE, FLOATS, GRAIN, grain, range_kernel
from .store import RangeKernel
from .threads import address_of

ROW_BLOCK, PANEL, CHANNELS = 32, 128, 32           # as in loops/
TOGETHER, LEAST_UNITS = 2048, 8                    # elements of an image that a unit takes, and units there should be
PAST = 5 << 20                                     # bytes from which results are stored past the caches: 4 MiB alone
#                                                    took a fifth longer so, 6 MiB among other layers a fifth less
LINE = 64                                          # bytes; only whole lines are stored so, as in loops/streams.py
COST, GRADIENT_COST = 3, 4                         # of an element, in elements that are only read
REMEMBER = {dtype: range_kernel("normalization:remember", *[f"{dtype}*"] * 2, "float64", "float64") for dtype in FLOATS}
REMEMBERED = Struct("2q2d").pack
new = np.empty                                     # of what is small


def normalize(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, shape: Shape, axes: Shape, eps: float,
              centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(x - mean) / sqrt(variance + eps) * weight + bias in the shape of x, the mean, and the biased variance.

    Not `centred`, the mean is 0 and the variance is about 0. Of no elements, statistics are NaN.
    """
    x, weight, bias = contiguous(x), contiguous(weight), contiguous(bias)
    plan = _plan("", shape, x.dtype, axes, eps, centred)
    out, mean, variance = memory.empty(x.shape, x.dtype), new(plan.kept, x.dtype), new(plan.kept, x.dtype)
    if x.size == 0:
        mean[...] = variance[...] = np.nan
    else:
        plan.run(x, weight, bias, out, mean, variance)
    return out, mean, variance


def normalize_grad(g: np.ndarray, x: np.ndarray, weight: np.ndarray, mean: np.ndarray, variance: np.ndarray,
                   shape: Shape, axes: Shape, eps: float, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradients of x, weight and bias in their shapes, by what `normalize` gave and got."""
    g, x, weight = contiguous(g), contiguous(x), contiguous(weight)
    plan, out = _plan("grad_", shape, x.dtype, axes, eps, centred), memory.empty(x.shape, x.dtype)
    of_weight, of_bias = new(weight.shape, x.dtype), new(weight.shape, x.dtype)
    operands = (g, x, weight, contiguous(mean), contiguous(variance), out)
    if x.size == 0:
        of_weight[...] = of_bias[...] = 0
    elif len(shape) == 3:
        plan.run(*operands, of_weight, of_bias)
    elif plan.path.endswith("grad_rows"):
        parts = memory.empty((2, plan.units, shape[2]), x.dtype)
        plan.run(*operands, parts[0], parts[1])
        total = reduce("sum", parts, (1,), False, x.dtype)
        of_weight.reshape(-1)[...], of_bias.reshape(-1)[...] = total[0], total[1]
    else:
        sums = new((shape[0], weight.size, 2), DOUBLE)
        plan.run(*operands, sums)
        total = reduce("sum", sums, (0,), False, DOUBLE)
        of_bias.reshape(-1)[...], of_weight.reshape(-1)[...] = total[:, 0], total[:, 1]
    return out, of_weight, of_bias


def remember(running: np.ndarray, found: np.ndarray, momentum: float, factor: float) -> None:
    """Move running statistics, in place, by a share towards what was found, times a factor; found is contiguous."""
    kernel = REMEMBER.get(found.dtype)
    if kernel is not None and running.dtype == found.dtype and running.flags.c_contiguous:
        table = REMEMBERED(address_of(running), address_of(found), momentum, factor)
        threads.run(kernel.address, table, running.size, GRAIN)
        return
    running *= 1 - momentum
    running += (found.reshape(running.shape) * (momentum * factor)).astype(running.dtype, copy=False)


class _Plan:
    """A kernel and all that it takes but the arrays."""

    def __init__(self, path: str, units: int, work: int, kernel: RangeKernel, sizes: tuple[int, ...], eps: float,
                 kept: Shape) -> None:
        self.path, self.units, self.grain, self.kernel, self.kept = path, units, grain(work), kernel, kept
        arrays = len(kernel.types) - len(sizes) - 1
        self.pack, self.tail = Struct(f"{arrays}q").pack, Struct(f"{len(sizes)}qd").pack(*sizes, eps)

    def run(self, *arrays: np.ndarray) -> None:
        """Run the kernel."""
        threads.run(self.kernel.address, self.pack(*map(address_of, arrays)) + self.tail, self.units, self.grain)


@lru_cache(4096)
def _plan(gradient: str, shape: Shape, dtype: np.dtype, axes: Shape, eps: float, centred: bool) -> _Plan:
    """The plan for arrays of a shape."""
    path, sizes, units = _geometry(gradient, shape, centred)
    if not path.endswith("columns"):
        piece = shape[-1] if shape[-1] > 1 or path.endswith("planes") else shape[-2]
        sizes = *sizes, int(prod(shape) * dtype.itemsize >= PAST and piece * dtype.itemsize % LINE == 0)
    work = prod(shape) // max(1, units) * (GRADIENT_COST if gradient else COST)
    kinds = [f"{dtype.name}*"] * (6 if not gradient else 7 if path.endswith("grad_planes") and len(shape) == 4 else 8)
    if len(kinds) == 7:
        kinds[-1] = "float64*"
    kernel = range_kernel(path, *kinds, *["int64"] * len(sizes), "float64")
    return _Plan(path, units, work, kernel, sizes, eps, reduced_shape(shape, axes, True))


def _geometry(gradient: str, shape: Shape, centred: bool) -> tuple[str, tuple[int, ...], int]:
    """The path of a kernel, the integers that it takes, and how many units it has."""
    if len(shape) == 3:
        batch, channels, plane = shape
        if plane == 1:
            return f"normalization_columns:batch_{gradient}columns", (batch, channels), -(-channels // PANEL)
        together = max(1, min(CHANNELS, channels // LEAST_UNITS, TOGETHER // max(1, plane)))
        return (f"normalization:batch_{gradient}planes", (batch, channels, plane, together),
                -(-channels // together))
    batch, groups, channels, plane = shape
    rows, plain = batch * groups, "" if centred else "plain_"
    if gradient and groups == plane == 1:
        return f"normalization:{plain}grad_rows", (rows, channels), -(-rows // ROW_BLOCK)
    kind = "grad_planes" if gradient else "rows"
    return f"normalization:{plain}{kind}", (groups, channels, plane), rows
