"""Convolution. (Pooling and unfolding join it.)"""

from collections.abc import Sequence
from typing import Any

from .. import dtypes, shapes
from ..apply import apply, operands
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..op import Info, Primitive
from ..register import public
from ..shapes import Window
from .movement import astype, reshape


def _pull_conv(ops: Any, info: Info, g: Any, x: Any, w: Any, window: Window) -> tuple:
    of_x, of_w = info.wanted
    x, w = _conjugates(ops, info, x, w)
    return (ops.conv_input_grad(g, w, window=window, x_shape=info.shape(0)) if of_x else None,
            ops.conv_weight_grad(x, g, window=window, w_shape=info.shape(1)) if of_w else None)


def _pull_input_grad(ops: Any, info: Info, into: Any, g: Any, w: Any, window: Window, x_shape: shapes.Shape) -> tuple:
    g, w = _conjugates(ops, info, g, w)
    return ops.conv(into, w, window=window), ops.conv_weight_grad(into, g, window=window, w_shape=info.shape(1))


def _pull_weight_grad(ops: Any, info: Info, into: Any, x: Any, g: Any, window: Window, w_shape: shapes.Shape) -> tuple:
    x, g = _conjugates(ops, info, x, g)
    return ops.conv_input_grad(g, into, window=window, x_shape=info.shape(0)), ops.conv(x, into, window=window)


def _conjugates(ops: Any, info: Info, a: Any, b: Any) -> tuple:
    """What gradients of products are multiplied with."""
    return (ops.conjugate(a), ops.conjugate(b)) if info.dtype(0).kind == "c" else (a, b)


# Each is linear in both operands, and the three are each other's adjoints.
_conv = Primitive("conv", lambda table, x, w, window: table.conv(x, w, window), _pull_conv, keeps=(0, 1))
_conv_input_grad = Primitive(
    "conv_input_grad", lambda table, g, w, window, x_shape: table.conv_input_grad(g, w, window, x_shape),
    _pull_input_grad, keeps=(0, 1))
_conv_weight_grad = Primitive(
    "conv_weight_grad", lambda table, x, g, window, w_shape: table.conv_weight_grad(x, g, window, w_shape),
    _pull_weight_grad, keeps=(0, 1))

Size = int | Sequence[int]
Padding = int | str | Sequence[Any]


@public(method=False)
def conv2d(x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Padding = 0, dilation: Size = 1,
           groups: int = 1) -> Tensor:
    """Two-dimensional convolution as networks mean it: the kernel is not flipped.

    `x`: (N, C, H, W), or (C, H, W) for one image; `weight`: (O, C // groups, h, w); `bias`: (O,). `padding`: an int, a
    pair, pairs (low, high) for each axis, "valid", or "same" (ceil(size / stride), the extra cell on the right).

    >>> import lucid_nb as lnb
    >>> lnb.conv2d(lnb.ones((1, 1, 5, 5)), lnb.ones((2, 1, 3, 3))).shape
    (1, 2, 3, 3)
    """
    given = [x, weight] if bias is None else [x, weight, bias]
    tensors = [t for t in operands("conv2d", given) if isinstance(t, Tensor)]
    if len(tensors) != len(given):
        raise DTypeError("conv2d: an operand is a scalar. Use tensors.")
    dtype = dtypes.promote(tuple(t.dtype for t in tensors))
    image, kernel, *rest = (astype(t, dtype, copy=False) for t in tensors)
    is_single = image.ndim == 3
    image = reshape(image, 1, *image.shape) if is_single else image
    window = make_window("conv2d", 2, image.shape, kernel.shape, stride, padding, dilation, groups)
    found = apply(_conv, (image, kernel), {"window": window})
    if rest:
        if rest[0].shape != (kernel.shape[0],):
            raise ShapeError(f"conv2d: bias {rest[0].shape} for {kernel.shape[0]} output channels. "
                             f"It must have shape ({kernel.shape[0]},).")
        found = found + reshape(rest[0], 1, -1, 1, 1)
    return reshape(found, found.shape[1:]) if is_single else found


def make_window(op: str, ndim: int, x: shapes.Shape, w: shapes.Shape, stride: Size, padding: Padding, dilation: Size,
                groups: int) -> Window:
    """The geometry, after checking that all of it fits."""
    if len(x) != ndim + 2 or len(w) != ndim + 2:
        raise ShapeError(f"{op}: input {x} and weight {w} need {ndim + 2} axes each. Add axes of size 1.")
    steps, dilations = per_axis(op, "stride", stride, ndim), per_axis(op, "dilation", dilation, ndim)
    groups = shapes.as_integer(op, "groups", groups)
    if groups < 1 or x[1] % groups or w[0] % groups or x[1] // groups != w[1]:
        raise ShapeError(f"{op}: {x[1]} input and {w[0]} output channels in {groups} groups do not fit a weight for "
                         f"{w[1]} channels a group. Channels must divide by groups.")
    pairs = padding_pairs(op, padding, x[2:], w[2:], steps, dilations)
    window = Window(steps, tuple(low for low, _ in pairs), tuple(high for _, high in pairs), dilations, groups)
    if min(window.output_sizes(x[2:], w[2:])) < 1:
        raise ShapeError(f"{op}: kernel {w[2:]} with dilation {dilations} is larger than the input {x[2:]} padded by "
                         f"{pairs}. Pad more, or use a smaller kernel.")
    return window


def per_axis(op: str, what: str, value: Size, ndim: int) -> tuple[int, ...]:
    """One positive number for each spatial axis."""
    found = tuple([shapes.as_integer(op, what, v) for v in (value if isinstance(value, (tuple, list)) else (value,))])
    found = found * ndim if len(found) == 1 else found
    if len(found) != ndim or min(found) < 1:
        raise ShapeError(f"{op}: {what} {value!r} for {ndim} spatial axes. Use positive integers, one or {ndim}.")
    return found


def padding_pairs(op: str, padding: Padding, sizes: shapes.Shape, kernel: shapes.Shape, stride: tuple[int, ...],
                  dilation: tuple[int, ...]) -> list[tuple[int, int]]:
    """(low, high) for each spatial axis."""
    ndim = len(sizes)
    if padding == "valid":
        return [(0, 0)] * ndim
    if padding == "same":
        totals = [max((-(-size // step) - 1) * step + spread * (taps - 1) + 1 - size, 0)
                  for size, taps, step, spread in zip(sizes, kernel, stride, dilation)]
        return [(total // 2, total - total // 2) for total in totals]
    if isinstance(padding, str):
        raise ShapeError(f"{op}: padding {padding!r} is unknown. Use numbers, 'same' or 'valid'.")
    parts = list(padding) if isinstance(padding, (tuple, list)) else [padding]
    parts = parts * ndim if len(parts) == 1 else parts
    pairs = [tuple([shapes.as_integer(op, "padding", size) for size in (p if isinstance(p, (tuple, list)) else (p, p))])
             for p in parts]
    if len(pairs) != ndim or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ShapeError(f"{op}: padding {padding!r} for {ndim} spatial axes. Use an int, {ndim} ints, or {ndim} "
                         "pairs, none negative.")
    return pairs  # type: ignore[return-value]
