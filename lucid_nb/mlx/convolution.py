"""Convolutions over one to three axes, with stride, dilation, padding on either side, and groups.

There are two roads. MLX's own convolution, whose arrays have the channels last, takes floats up to float32, and groups
in one and two dimensions: the GPU has fast kernels for it. All else is a matrix product of the kernel and the unfolded
input: three dimensions with groups, other dtypes, and everything on the CPU build, where MLX's own unfolds as well but
multiplies in an order that takes twice the time (see products.py). What is unfolded at a time is bounded by
config.conv_view_limit_mb: batches, and then rows of an image, are worked through in pieces.

Both gradients are convolutions again: that of the input one of the gradient with the kernel, or where the kernel is the
larger of the two of the kernel with the gradient.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from operator import mul

import mlx.core as mx

from .. import config
from ..shapes import Shape, Window
from . import runtime
from .products import matmul
from .types import SMALL_FLOATS, multiplied

NATIVE = (*SMALL_FLOATS, mx.float32)
LEADING = (slice(None), slice(None))
prefers_native = runtime.ON_GPU


def _is_native(x: mx.array, window: Window) -> bool:
    return prefers_native and x.dtype in NATIVE and (window.ndim < 3 or window.groups == 1)


@lru_cache(1024)
def _result_shape(x: Shape, w: Shape, window: Window) -> tuple[Shape, bool]:
    """The shape of a convolution, and whether there is nothing to add up."""
    shape = (x[0], w[0], *window.output_sizes(x[2:], w[2:]))
    return shape, 0 in (*x, *w, *shape)


def conv(x: mx.array, w: mx.array, window: Window) -> mx.array:
    """x (N, C, *spatial) convolved with w (O, C // groups, *kernel)."""
    shape, is_empty = _result_shape(x.shape, w.shape, window)
    if is_empty:
        return mx.zeros(shape, x.dtype)
    if _is_native(x, window):
        return _convolve(x, w, window.stride, (window.low, window.high), window.dilation, window.groups)
    inner = multiplied(x.dtype)
    return _multiplied(_padded(x.astype(inner), window), w.astype(inner), window, shape).astype(x.dtype)


def conv_input_grad(g: mx.array, w: mx.array, window: Window, x_shape: Shape) -> mx.array:
    """The gradient of x, from the gradient g of the result."""
    if 0 in (*g.shape, *w.shape, *x_shape):
        return mx.zeros(x_shape, g.dtype)
    low = [step * (taps - 1) - before for step, taps, before in zip(window.dilation, w.shape[2:], window.low)]
    turned = _swapped(w, window.groups)
    if _is_native(g, window):
        return _input_grad_by_mlx(g, turned, window, x_shape, low)
    inner = multiplied(g.dtype)
    by = _input_grad_by_kernels if prod(w.shape[2:]) <= prod(g.shape[2:]) else _input_grad_by_slopes
    return by(g.astype(inner), turned.astype(inner), window, x_shape, low).astype(g.dtype)


def conv_weight_grad(x: mx.array, g: mx.array, window: Window, w_shape: Shape) -> mx.array:
    """The gradient of w, from the gradient g of the result."""
    if 0 in (*x.shape, *g.shape, *w_shape):
        return mx.zeros(w_shape, x.dtype)
    if _is_native(x, window):
        return _weight_grad_by_mlx(x, g, window, w_shape)
    inner = multiplied(x.dtype)
    return _multiplied_by_slopes(_padded(x.astype(inner), window), g.astype(inner), window, w_shape).astype(x.dtype)


def _swapped(w: mx.array, groups: int) -> mx.array:
    """Input and output channels of each group exchanged."""
    outputs, inputs = w.shape[:2]
    split = w.reshape(groups, outputs // groups, inputs, *w.shape[2:]).swapaxes(1, 2)
    return split.reshape(groups * inputs, outputs // groups, *w.shape[2:])


# ------------------------------------------------------------------------------------------------- MLX's own
def _channels_last(x: mx.array) -> mx.array:
    return mx.moveaxis(x, 1, -1)


def _convolve(x: mx.array, w: mx.array, stride: Sequence[int], padding: Sequence[Sequence[int]],
              dilation: Sequence[int], groups: int, input_dilation: Sequence[int] | int = 1,
              flip: bool = False) -> mx.array:
    """MLX's convolution on arrays whose channels come second."""
    inner = multiplied(x.dtype)
    found = mx.conv_general(_channels_last(x.astype(inner)), _channels_last(w.astype(inner)), stride=list(stride),
                            padding=([*padding[0]], [*padding[1]]), kernel_dilation=list(dilation),
                            input_dilation=input_dilation, groups=groups, flip=flip)
    return mx.moveaxis(found, -1, 1).astype(x.dtype)


def _input_grad_by_mlx(g: mx.array, turned: mx.array, window: Window, x_shape: Shape, low: list[int]) -> mx.array:
    """MLX takes no negative padding (results have wrong shapes), so where one asks for it the result is cropped."""
    high = [size + before - stride * (count - 1) - 1
            for size, before, stride, count in zip(x_shape[2:], window.low, window.stride, g.shape[2:])]
    found = _convolve(g, turned, [1] * window.ndim, ([max(0, n) for n in low], [max(0, n) for n in high]),
                      window.dilation, window.groups, list(window.stride), flip=True)
    crop = tuple(slice(max(0, -before), size + max(0, -before)) for before, size in zip(low, x_shape[2:]))
    return found[(*LEADING, *crop)]


def _weight_grad_by_mlx(x: mx.array, g: mx.array, window: Window, w_shape: Shape) -> mx.array:
    """Batch and channels change places: the channels of a group are its batch, and the batch is summed over."""
    batch, groups = x.shape[0], window.groups
    rows = x.reshape(batch, groups, -1, *x.shape[2:]).swapaxes(0, 2).reshape(-1, groups * batch, *x.shape[2:])
    found = _convolve(rows, g.swapaxes(0, 1), window.dilation, (window.low, window.high), window.stride, groups)
    return found[(*LEADING, *(slice(taps) for taps in w_shape[2:]))].swapaxes(0, 1)


# ------------------------------------------------------------------------------------------------- by products
def _padded(x: mx.array, window: Window) -> mx.array:
    pairs = _pairs(window)
    return mx.pad(x, pairs) if pairs else x


@lru_cache(1024)
def _pairs(window: Window) -> list[tuple[int, int]]:
    """Padding before and behind all axes, nothing where there is none."""
    return [(0, 0), (0, 0), *zip(window.low, window.high)] if any((*window.low, *window.high)) else []


def _part(x: mx.array, starts: Sequence[int], counts: Sequence[int]) -> mx.array:
    """So many elements of the spatial axes from a place on; outside of the array there are zeros."""
    index, pairs = [*LEADING], [(0, 0), (0, 0)]
    for size, start, count in zip(x.shape[2:], starts, counts):
        before, first, last = (min(max(n, 0), most) for n, most in ((-start, count), (start, size),
                                                                     (start + count, size)))
        index.append(slice(first, last))
        pairs.append((before, count - before - (last - first)))
    return mx.pad(x[tuple(index)], pairs)


def _spread(g: mx.array, stride: Sequence[int]) -> mx.array:
    """stride - 1 zeros after each element."""
    for axis, step in enumerate(stride, 2):
        if step > 1:
            pairs = [(0, 0)] * (g.ndim + 1)
            pairs[axis + 1] = (0, step - 1)
            apart = mx.pad(mx.expand_dims(g, axis + 1), pairs)
            g = apart.reshape(*g.shape[:axis], g.shape[axis] * step, *g.shape[axis + 1:])
    return g


def unfolded_bytes() -> int:
    """How much may be unfolded at a time."""
    return config.conv_view_limit_mb << 20


def _pieces(x: mx.array, w_shape: Shape, shape: Shape) -> tuple[list[range], list[range]]:
    """Images, and rows of the result, of which each pair has room unfolded; one row of one image at least."""
    return _planned(x.shape[1] * x.itemsize, tuple(w_shape[2:]), tuple(shape), unfolded_bytes())


@lru_cache(256)
def _planned(size: int, kernel: Shape, shape: Shape, limit: int) -> tuple[list[range], list[range]]:
    room = max(1, limit // (size * prod(kernel) * prod(shape[3:])))
    return _ranges(shape[0], max(1, room // shape[2])), _ranges(shape[2], room)


def _ranges(count: int, most: int) -> list[range]:
    return [range(start, min(start + most, count)) for start in range(0, count, most)]


def _unfolded(x: mx.array, kernel: Shape, window: Window, images: range, rows: range, others: Shape,
              is_turned: bool) -> mx.array:
    """What each tap reads: (N, groups, C // groups * taps, places), or turned (groups, N * places, ... * taps)."""
    shape, strides, offset = _placed(tuple(x.shape[1:]), tuple(kernel), window, images, rows, tuple(others), is_turned)
    found = mx.as_strided(mx.contiguous(x), shape, strides, offset)
    taps = x.shape[1] // window.groups * prod(kernel)
    return found.reshape(window.groups, -1, taps) if is_turned else found.reshape(len(images), window.groups, taps, -1)


@lru_cache(256)
def _placed(image: Shape, kernel: Shape, window: Window, images: range, rows: range, others: Shape,
            is_turned: bool) -> tuple[Shape, Shape, int]:
    """The sizes and steps of an unfolded view, and where it begins."""
    channels, *extents = image
    steps = [prod(extents[axis + 1:]) for axis in range(window.ndim)]
    plane, inputs = prod(extents), channels // window.groups
    batch, group = (len(images), channels * plane), (window.groups, inputs * plane)
    taps = [(inputs, plane), *zip(kernel, map(mul, steps, window.dilation))]
    places = [*zip((len(rows), *others), map(mul, steps, window.stride))]
    shape, strides = zip(*([group, batch, *places, *taps] if is_turned else [batch, group, *taps, *places]))
    return shape, strides, images.start * channels * plane + rows.start * window.stride[0] * steps[0]


def _multiplied(x: mx.array, w: mx.array, window: Window, shape: Shape) -> mx.array:
    """The kernel times the unfolded input, which is padded already."""
    flat = w.reshape(window.groups, shape[1] // window.groups, -1)
    batches, heights = _pieces(x, w.shape, shape)
    if len(batches) == len(heights) == 1:
        columns = _unfolded(x, w.shape[2:], window, batches[0], heights[0], shape[3:], False)
        return matmul(flat, columns).reshape(shape)

    def piece(images: range, rows: range) -> mx.array:
        columns = _unfolded(x, w.shape[2:], window, images, rows, shape[3:], False)
        found = matmul(flat, columns).reshape(len(images), shape[1], len(rows), *shape[3:])
        return runtime.evaluate(found)
    return mx.concatenate([mx.concatenate([piece(images, rows) for rows in heights], 2) for images in batches])


def _input_grad_by_kernels(g: mx.array, turned: mx.array, window: Window, x_shape: Shape, low: list[int]) -> mx.array:
    """The gradient, with zeros between its elements, convolved with the kernel."""
    extents = [size + step * (taps - 1) for size, step, taps in zip(x_shape[2:], window.dilation, turned.shape[2:])]
    spread = _part(_spread(g, window.stride), [-before for before in low], extents)
    return _multiplied(spread, _flipped(turned), _dense(window.dilation, window.groups), x_shape)


def _input_grad_by_slopes(g: mx.array, turned: mx.array, window: Window, x_shape: Shape, low: list[int]) -> mx.array:
    """The kernel, with zeros between its elements, convolved with the gradient, whose batch is what gives channels."""
    batch, groups, kernel = len(g), window.groups, turned.shape[2:]
    reach = [stride * (count - 1) for stride, count in zip(window.stride, g.shape[2:])]
    image = turned.reshape(groups, -1, *turned.shape[1:]).swapaxes(0, 1).reshape(-1, g.shape[1], *kernel)
    extents = [size + far for size, far in zip(x_shape[2:], reach)]
    spread = _part(_spread(image, window.dilation), [before - far for before, far in zip(window.low, reach)], extents)
    slopes = g.reshape(batch, groups, -1, *g.shape[2:]).swapaxes(0, 1).reshape(groups * batch, -1, *g.shape[2:])
    found = _multiplied(spread, _flipped(slopes), _dense(window.stride, groups),
                        (len(spread), groups * batch, *x_shape[2:]))
    return found.reshape(-1, groups, batch, *x_shape[2:]).transpose(
        2, 1, 0, *range(3, 3 + window.ndim)).reshape(x_shape)


def _flipped(w: mx.array) -> mx.array:
    return w[(*LEADING, *[slice(None, None, -1)] * (w.ndim - 2))]


def _dense(dilation: Sequence[int], groups: int) -> Window:
    """Every place, of what is padded already."""
    zeros = (0,) * len(dilation)
    return Window((1,) * len(dilation), zeros, zeros, tuple(dilation), groups)


def _multiplied_by_slopes(x: mx.array, g: mx.array, window: Window, w_shape: Shape) -> mx.array:
    """The unfolded input, which is padded already, times the gradient of the result: the gradient of the kernel."""
    groups, outputs = window.groups, w_shape[0] // window.groups
    batches, heights = _pieces(x, w_shape, g.shape)
    total = mx.zeros((), g.dtype)
    for images, rows in product(batches, heights):
        columns = _unfolded(x, w_shape[2:], window, images, rows, g.shape[3:], True)
        part = g[images.start:images.stop, :, rows.start:rows.stop].reshape(len(images), groups, outputs, -1)
        total = total + matmul(part.transpose(1, 2, 0, 3).reshape(groups, outputs, -1), columns)
        if len(batches) * len(heights) > 1:
            runtime.evaluate(total)
    return total.reshape(w_shape)
