"""Convolutions over one to three axes, with stride, dilation, padding on either side, and groups.

MLX convolves floats up to float32, and in three dimensions without groups; its arrays have the channels last. All else
(float64 on the CPU build, three dimensions with groups, integers) is a sum of matrix products, one for each tap of the
kernel, whose largest temporary is a shifted copy of the input.

Both gradients are convolutions again. MLX takes no negative padding (results have wrong shapes), so where one asks for
it the result is cropped.
"""

import itertools
from collections.abc import Iterator, Sequence

import mlx.core as mx

from ..shapes import Shape, Window
from .products import matmul
from .types import SMALL_FLOATS, multiplied

NATIVE = (*SMALL_FLOATS, mx.float32)
LEADING = (slice(None), slice(None))


def _is_native(x: mx.array, window: Window) -> bool:
    return x.dtype in NATIVE and (window.ndim < 3 or window.groups == 1)


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


def conv(x: mx.array, w: mx.array, window: Window) -> mx.array:
    """x (N, C, *spatial) convolved with w (O, C // groups, *kernel)."""
    sizes = window.output_sizes(x.shape[2:], w.shape[2:])
    shape = (x.shape[0], w.shape[0], *sizes)
    if 0 in (*x.shape, *w.shape, *shape):
        return mx.zeros(shape, x.dtype)
    if _is_native(x, window):
        return _convolve(x, w, window.stride, (window.low, window.high), window.dilation, window.groups)
    total = mx.zeros((), x.dtype)
    for tap, columns in _taps(x, w.shape[2:], sizes, window):
        total = total + matmul(_grouped(w[(*LEADING, *tap)], window.groups), columns)
    return total.reshape(shape)


def conv_input_grad(g: mx.array, w: mx.array, window: Window, x_shape: Shape) -> mx.array:
    """The gradient of x, from the gradient g of the result."""
    if 0 in (*g.shape, *w.shape, *x_shape):
        return mx.zeros(x_shape, g.dtype)
    if not _is_native(g, window):
        return _input_grad_by_taps(g, w, window, x_shape)
    low = [step * (taps - 1) - before
           for step, taps, before in zip(window.dilation, w.shape[2:], window.low)]
    high = [size + before - stride * (count - 1) - 1
            for size, before, stride, count in zip(x_shape[2:], window.low, window.stride, g.shape[2:])]
    found = _convolve(g, _swapped(w, window.groups), [1] * window.ndim, ([max(0, n) for n in low],
                      [max(0, n) for n in high]), window.dilation, window.groups, list(window.stride), flip=True)
    crop = tuple(slice(max(0, -before), size + max(0, -before)) for before, size in zip(low, x_shape[2:]))
    return found[(*LEADING, *crop)]


def conv_weight_grad(x: mx.array, g: mx.array, window: Window, w_shape: Shape) -> mx.array:
    """The gradient of w, from the gradient g of the result."""
    if 0 in (*x.shape, *g.shape, *w_shape):
        return mx.zeros(w_shape, x.dtype)
    if not _is_native(x, window):
        return _weight_grad_by_taps(x, g, window, w_shape)
    # Batch and channels change places: the channels of a group are its batch, and the batch is summed over.
    batch, groups = x.shape[0], window.groups
    rows = x.reshape(batch, groups, -1, *x.shape[2:]).swapaxes(0, 2).reshape(-1, groups * batch, *x.shape[2:])
    found = _convolve(rows, g.swapaxes(0, 1), window.dilation, (window.low, window.high), window.stride, groups)
    return found[(*LEADING, *(slice(taps) for taps in w_shape[2:]))].swapaxes(0, 1)


def _swapped(w: mx.array, groups: int) -> mx.array:
    """Input and output channels of each group exchanged."""
    outputs, inputs = w.shape[:2]
    split = w.reshape(groups, outputs // groups, inputs, *w.shape[2:]).swapaxes(1, 2)
    return split.reshape(groups * inputs, outputs // groups, *w.shape[2:])


# ------------------------------------------------------------------------------------------------- tap by tap
def _grouped(w: mx.array, groups: int) -> mx.array:
    """The matrix of one tap, split by groups."""
    return w.reshape(groups, w.shape[0] // groups, w.shape[1])


def _columns(x: mx.array, groups: int) -> mx.array:
    """(N, C, *sizes) as (N, groups, C // groups, positions)."""
    return x.reshape(x.shape[0], groups, x.shape[1] // groups, -1)


def _places(kernel: Shape, sizes: Shape, window: Window) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
    """Each tap, and where it reads the padded input."""
    for tap in itertools.product(*map(range, kernel)):
        starts = [index * step for index, step in zip(tap, window.dilation)]
        yield tap, tuple(slice(start, start + stride * (count - 1) + 1, stride)
                         for start, stride, count in zip(starts, window.stride, sizes))


def _taps(x: mx.array, kernel: Shape, sizes: Shape, window: Window) -> Iterator[tuple[Shape, mx.array]]:
    """Each tap, and the columns of the input that it multiplies."""
    padded = mx.pad(x, [(0, 0), (0, 0), *zip(window.low, window.high)])
    for tap, place in _places(kernel, sizes, window):
        yield tap, _columns(padded[(*LEADING, *place)], window.groups)


def _input_grad_by_taps(g: mx.array, w: mx.array, window: Window, x_shape: Shape) -> mx.array:
    extents = [before + size + after for before, size, after in zip(window.low, x_shape[2:], window.high)]
    padded = mx.zeros((*x_shape[:2], *extents), g.dtype)
    columns = _columns(g, window.groups)
    for tap, place in _places(w.shape[2:], g.shape[2:], window):
        part = matmul(_grouped(w[(*LEADING, *tap)], window.groups).swapaxes(1, 2), columns)
        padded = padded.at[(*LEADING, *place)].add(part.reshape(*x_shape[:2], *g.shape[2:]))
    return padded[(*LEADING, *(slice(before, before + size) for before, size in zip(window.low, x_shape[2:])))]


def _weight_grad_by_taps(x: mx.array, g: mx.array, window: Window, w_shape: Shape) -> mx.array:
    rows = _columns(g, window.groups)
    parts = [mx.sum(matmul(rows, columns.swapaxes(2, 3)), 0).astype(x.dtype)
             for _, columns in _taps(x, w_shape[2:], g.shape[2:], window)]
    return mx.stack(parts, -1).reshape(w_shape)
