"""Pools, and what goes back from windows to planes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...array import Tensor
from ...nn import functional as F
from ...ops import pooling
from ...register import functions
from ...shapes import product
from ...windows import Sliding
from ..table import Node, operator
from ..values import integers, on
from .convolution import pairs_of, spread


def _axes(op: str, x: Any, kernel_shape: Any, auto_pad: str, pads: Any, strides: Any, dilations: Any,
          ceil_mode: int) -> tuple[Sliding, ...]:
    """The windows along each spatial axis."""
    sizes, ndim = x.shape[2:], x.ndim - 2
    steps, wide = spread(strides, ndim), spread(dilations, ndim)
    pairs = pairs_of(op, auto_pad, pads, sizes, kernel_shape, steps, wide)
    return tuple([_axis(size, taps, stride, between, low, high, bool(ceil_mode)) for size, taps, stride, between,
                  (low, high) in zip(sizes, kernel_shape, steps, wide, pairs)])


def _axis(size: int, taps: int, stride: int, spread: int, low: int, high: int, ceil_mode: bool) -> Sliding:
    """Windows along one axis; a last one that hangs over must begin before the padding behind."""
    room = size + low + high - spread * (taps - 1) - 1
    results = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (results - 1) * stride >= size + low:
        results -= 1
    return Sliding(size, taps, stride, low, high, spread, max(results, 0))


@operator("MaxPool")
def max_pool(x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
             pads: Any = None, storage_order: int = 0, strides: Any = None, node: Node) -> Any:
    """Maxima of windows, and their places among all elements."""
    axes = _axes("MaxPool", x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    values, places = pooling.max_pool("MaxPool", x, axes)
    if not node.wants(1):
        return values
    sizes, planes = x.shape[2:], x.shape[:2]
    cells = pooling.indices_of(places)
    if storage_order:
        order = np.arange(product(sizes)).reshape(sizes[::-1]).T.reshape(-1)
        cells = functions["take"](on(x, order.copy()), cells)
    first = np.arange(product(planes)).reshape((*planes, *[1] * len(sizes))) * product(sizes)
    return values, cells + on(x, first)


def _sums(x: Any, axes: Sequence[Sliding]) -> Any:
    """Sums of windows; dilated ones by a convolution with ones."""
    if all(axis.dilation == 1 for axis in axes):
        return pooling.avg_pool("AveragePool", x, tuple(axes), divisor=1)
    lead, ndim = x.shape[:2], len(axes)
    flat = x.reshape((product(lead), 1, *x.shape[2:]))
    # The last window of ceil_mode may hang over.
    pairs = [(axis.low, max((axis.results - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1 - axis.low
                            - axis.size, 0)) for axis in axes]
    ones = functions["ones"]((1, 1, *[axis.taps for axis in axes]), x.dtype, device=x.device)
    found = getattr(F, f"conv{ndim}d")(flat, ones, None, [axis.stride for axis in axes], pairs,
                                       [axis.dilation for axis in axes])
    results = [slice(axis.results) for axis in axes]
    return found[(slice(None), slice(None), *results)].reshape((*lead, *[axis.results for axis in axes]))


def _counts(axis: Sliding, include_padding: bool) -> np.ndarray:
    """How many cells of each window count."""
    at = (np.arange(axis.results)[:, None] * axis.stride - axis.low + np.arange(axis.taps) * axis.dilation)
    if include_padding:
        return (at < axis.size + axis.high).sum(1)
    return ((at >= 0) & (at < axis.size)).sum(1)


@operator("AveragePool")
def average_pool(x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0,
                 count_include_pad: int = 0, dilations: Any = None, pads: Any = None, strides: Any = None) -> Any:
    """Averages of windows."""
    axes = _axes("AveragePool", x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    if all(axis.dilation == 1 for axis in axes):
        return pooling.avg_pool("AveragePool", x, axes, bool(count_include_pad))
    counts: Any = 1
    for axis in axes:
        counts = np.multiply.outer(counts, _counts(axis, bool(count_include_pad)))
    return _sums(x, axes) / on(x, np.asarray(counts).astype(x.dtype))


def _root(total: Any, p: float) -> Any:
    return functions["sqrt"](total) if p == 2 else total ** (1 / p)


@operator("LpPool")
def lp_pool(x: Any, *, kernel_shape: Any, p: float = 2, auto_pad: str = "NOTSET", ceil_mode: int = 0,
            dilations: Any = None, pads: Any = None, strides: Any = None) -> Any:
    """Norms of windows."""
    axes = _axes("LpPool", x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    return _root(_sums(abs(x) ** p, axes), p)


# -------------------------------------------------------------------------------------------- of whole planes
def _plane(x: Any) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@operator("GlobalAveragePool")
def global_average_pool(x: Any) -> Any:
    """The mean of each plane."""
    return functions["mean"](x, axis=_plane(x), keepdims=True)


@operator("GlobalMaxPool")
def global_max_pool(x: Any) -> Any:
    """The maximum of each plane."""
    return functions["max"](x, axis=_plane(x), keepdims=True)


@operator("GlobalLpPool")
def global_lp_pool(x: Any, *, p: float = 2) -> Any:
    """The norm of each plane."""
    return _root(functions["sum"](abs(x) ** p, axis=_plane(x), keepdims=True), p)


# -------------------------------------------------------------------------------------------------- back
@operator("MaxUnpool")
def max_unpool(x: Any, indices: Any, output_shape: Any = None, *, kernel_shape: Any, pads: Any = None,
               strides: Any = None) -> Any:
    """Zeros in which the elements stand at their places among all; they are those of the smallest plane that fits."""
    ndim = x.ndim - 2
    pairs = pairs_of("MaxUnpool", "NOTSET", pads, x.shape[2:], kernel_shape, spread(strides, ndim), [1] * ndim)
    sizes = [(size - 1) * step + taps - low - high for size, step, taps, (low, high)
             in zip(x.shape[2:], spread(strides, ndim), kernel_shape, pairs)]
    count = product((*x.shape[:2], *sizes))
    zeros: Tensor = functions["zeros"]((count,), x.dtype, device=x.device)
    found = functions["scatter"](zeros, indices.reshape(-1), x.reshape(-1), axis=0).reshape((*x.shape[:2], *sizes))
    if output_shape is None:
        return found
    more = [(0, wanted - size) for wanted, size in zip(integers(output_shape), found.shape)]
    return functions["pad"](found, more)


@operator("Col2Im")
def col2im(x: Any, image_shape: Any, block_shape: Any, *, dilations: Any = None, pads: Any = None,
           strides: Any = None) -> Any:
    """Columns added up where blocks of an image read them."""
    sizes, block = integers(image_shape), integers(block_shape)
    ndim = len(sizes)
    steps, wide = spread(strides, ndim), spread(dilations, ndim)
    return F.fold(x, sizes, block, wide, pairs_of("Col2Im", "NOTSET", pads, sizes, block, steps, wide), steps)
