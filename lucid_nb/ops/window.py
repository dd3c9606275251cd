"""Convolutions over one to three axes, and transposed ones. As networks mean it the kernel is not flipped."""

from typing import Any

from .. import dtypes, flops, shapes
from ..apply import apply, operands
from ..array import Tensor
from ..errors import DTypeError, ShapeError, is_one_of
from ..op import Info, Primitive
from ..register import public
from ..remembered import remembered
from ..shapes import Window
from ..storage import Slice
from ..windows import (
    Padding,
    Pairs,
    Size,
    make_window,
    output_padding_for,
    padding_pairs,
    per_axis,
    transposed_window,
)
from .composite import composite
from .movement import astype, reshape
from .padding import pad


def _pull_conv(ops: Any, info: Info, g: Any, x: Any, w: Any, window: Window) -> tuple:
    of_x, of_w, *of_bias = info.wanted
    x, w = _conjugates(ops, info, x, w)
    found = (ops.conv_input_grad(g, w, window=window, x_shape=info.shape(0)) if of_x else None,
             ops.conv_weight_grad(x, g, window=window, w_shape=info.shape(1)) if of_w else None)
    axes = (0, *range(2, len(g.shape)))
    return (*found, *[ops.sum(g, axes=axes, keepdims=False) if wanted else None for wanted in of_bias])


def _with_bias(ops: Any, x: Any, w: Any, bias: Any, window: Window) -> Any:
    return ops.add(ops.conv(x, w, window=window), ops.reshape(bias, shape=(1, w.shape[0], *(1,) * window.ndim)))


def _pull_input_grad(ops: Any, info: Info, into: Any, g: Any, w: Any, window: Window, x_shape: shapes.Shape) -> tuple:
    of_g, of_w = info.wanted
    g, w = _conjugates(ops, info, g, w)
    return (ops.conv(into, w, window=window) if of_g else None,
            ops.conv_weight_grad(into, g, window=window, w_shape=info.shape(1)) if of_w else None)


def _pull_weight_grad(ops: Any, info: Info, into: Any, x: Any, g: Any, window: Window, w_shape: shapes.Shape) -> tuple:
    of_x, of_g = info.wanted
    x, g = _conjugates(ops, info, x, g)
    return (ops.conv_input_grad(g, into, window=window, x_shape=info.shape(0)) if of_x else None,
            ops.conv(x, into, window=window) if of_g else None)


def _conjugates(ops: Any, info: Info, a: Any, b: Any) -> tuple:
    """What gradients of products are multiplied with."""
    return (ops.conjugate(a), ops.conjugate(b)) if info.dtype(0).kind == "c" else (a, b)


# Each is linear in both operands, and the three are each other's adjoints.
_conv = Primitive("conv", lambda table, x, w, window: table.conv(x, w, window), _pull_conv, keeps=(0, 1),
                  flops=flops.conv, linear=((0,), (1,)))
_conv_input_grad = Primitive(
    "conv_input_grad", lambda table, g, w, window, x_shape: table.conv_input_grad(g, w, window, x_shape),
    _pull_input_grad, keeps=(0, 1), flops=flops.conv_input_grad, linear=((0,), (1,)))
_conv_weight_grad = Primitive(
    "conv_weight_grad", lambda table, x, g, window, w_shape: table.conv_weight_grad(x, g, window, w_shape),
    _pull_weight_grad, keeps=(0, 1), flops=flops.conv_weight_grad, linear=((0,), (1,)))
_biased_conv = composite("biased_conv", _with_bias, _pull_conv, keeps=(0, 1), flops=flops.biased_conv)

MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


# ------------------------------------------------------------------------------------------- convolution
@remembered
def convolve(op: str, ndim: int, x: Any, weight: Any, bias: Any, stride: Size, padding: Padding, dilation: Size,
             groups: int, mode: str = "zeros") -> Tensor:
    """The convolution of a batch or of one example over `ndim` axes, padded as one of MODES says."""
    image, kernel, offset = _operands(op, x, weight, bias)
    is_single = image.ndim == ndim + 1
    image = reshape(image, 1, *image.shape) if is_single else image
    if mode != "zeros" and image.ndim == kernel.ndim == ndim + 2:
        image = padded(op, image, kernel.shape[2:], stride, padding, dilation, mode)
        padding = 0
    window = make_window(op, ndim, image.shape, kernel.shape, stride, padding, dilation, groups)
    _check_bias(op, offset, kernel.shape[0])
    found = apply(_conv, (image, kernel), {"window": window}) if offset is None else apply(
        _biased_conv, (image, kernel, offset), {"window": window})
    return _finished(found, None, is_single)


def padded(op: str, x: Tensor, kernel: shapes.Shape, stride: Size, padding: Padding, dilation: Size,
           mode: str) -> Tensor:
    """The input with its padding around it, made of its own cells."""
    check_mode(op, mode)
    ndim, sizes = len(kernel), x.shape[2:]
    steps, spreads = (per_axis(op, what, value, ndim) for what, value in (("stride", stride), ("dilation", dilation)))
    pairs: Pairs = padding_pairs(op, padding, sizes, kernel, steps, spreads)
    return pad(x, [(0, 0), (0, 0), *pairs], MODES[mode])


def check_mode(op: str, mode: str) -> None:
    """Refuse a word that says nothing of padding."""
    if not is_one_of(mode, MODES):
        raise ShapeError(f"{op}: padding_mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")


def _operands(op: str, x: Any, weight: Any, bias: Any) -> tuple[Tensor, Tensor, Tensor | None]:
    """Input, kernel and bias as tensors of one dtype."""
    given = [x, weight] if bias is None else [x, weight, bias]
    tensors = [t for t in operands(op, given) if isinstance(t, Tensor)]
    if len(tensors) != len(given):
        raise DTypeError(f"{op}: an operand is a scalar. Use tensors.")
    dtype = dtypes.promote(tuple(t.dtype for t in tensors), tensors[0].device)
    image, kernel, *rest = (t if t.dtype == dtype else astype(t, dtype) for t in tensors)
    return image, kernel, rest[0] if rest else None


def _check_bias(op: str, bias: Tensor | None, channels: int) -> None:
    """Refuse a bias that has not one number for each channel of the result."""
    if bias is not None and bias.shape != (channels,):
        raise ShapeError(f"{op}: bias {bias.shape} for {channels} output channels. It must have shape ({channels},).")


def _finished(found: Tensor, bias: Tensor | None, is_single: bool) -> Tensor:
    """The result with its bias, without the batch that was added."""
    if bias is not None:
        found = found + reshape(bias, 1, -1, *(1,) * (found.ndim - 2))
    return reshape(found, found.shape[1:]) if is_single else found


@public(method=False)
def conv1d(x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Padding = 0, dilation: Size = 1,
           groups: int = 1) -> Tensor:
    """Convolution of (N, C, L), or of one (C, L), with (O, C // groups, l): see conv2d.

    >>> import lucid_nb as lnb
    >>> lnb.conv1d(lnb.ones((1, 5)), lnb.ones((1, 1, 3)))
    tensor([[3., 3., 3.]])
    """
    return convolve("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


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
    return convolve("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


@public(method=False)
def conv3d(x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Padding = 0, dilation: Size = 1,
           groups: int = 1) -> Tensor:
    """Convolution of (N, C, D, H, W), or of one (C, D, H, W), with (O, C // groups, d, h, w): see conv2d.

    >>> import lucid_nb as lnb
    >>> lnb.conv3d(lnb.ones((1, 1, 4, 4, 4)), lnb.ones((2, 1, 3, 3, 3)), padding="same").shape
    (1, 2, 4, 4, 4)
    """
    return convolve("conv3d", 3, x, weight, bias, stride, padding, dilation, groups)


@public(method=False)
def conv_general(x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Padding = 0, dilation: Size = 1,
                 input_dilation: Size = 1, groups: int = 1, flip: bool = False) -> Tensor:
    """Convolution over one to three axes whose input is spread first, with input_dilation - 1 zeros between cells.

    `x`: ``(N, C, *sizes)``; `weight`: ``(O, C // groups, *taps)``, read backwards with `flip`, as mathematics means
    it. All else as in conv2d; padding is put around the spread input.

    >>> import lucid_nb as lnb
    >>> lnb.conv_general([[[1.0, 2.0]]], [[[1.0, 10.0]]], input_dilation=2, padding=1, flip=True)
    tensor([[[ 1., 10.,  2., 20.]]])
    """
    image, kernel, offset = _operands("conv_general", x, weight, bias)
    ndim = image.ndim - 2
    if not 1 <= ndim <= 3 or kernel.ndim != image.ndim:
        raise ShapeError(f"conv_general: input {image.shape} and weight {kernel.shape}. Both need a batch or filters, "
                         "channels, and one to three spatial axes.")
    spreads = per_axis("conv_general", "input_dilation", input_dilation, ndim)
    for axis, spread in enumerate(spreads, 2):
        image = _spread(image, axis, spread) if spread > 1 else image
    if flip:
        kernel = kernel.moved(Slice((..., *(slice(None, None, -1),) * ndim)))
    return convolve("conv_general", ndim, image, kernel, offset, stride, padding, dilation, groups)


def _spread(x: Tensor, axis: int, spread: int) -> Tensor:
    """The cells of an axis with spread - 1 zeros between them."""
    before, size, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1:]
    apart = pad(reshape(x, (*before, size, 1, *behind)), {axis + 1: (0, spread - 1)})
    joined = reshape(apart, (*before, size * spread, *behind))
    return joined.moved(Slice((*(slice(None),) * axis, slice(0, max(0, size * spread - spread + 1)), ...)))


# -------------------------------------------------------------------------------------------- transposed
@remembered
def convolve_transposed(op: str, ndim: int, x: Any, weight: Any, bias: Any, stride: Size, padding: Padding,
                        output_padding: Size, groups: int, dilation: Size, output_size: Any = None) -> Tensor:
    """The transpose of a convolution, its gradient in the input, as an operation of its own."""
    image, kernel, offset = _operands(op, x, weight, bias)
    is_single = image.ndim == ndim + 1
    image = reshape(image, 1, *image.shape) if is_single else image
    if output_size is not None and image.ndim == kernel.ndim == ndim + 2:
        output_padding = output_padding_for(op, output_size, image.shape, kernel.shape, stride, padding, dilation)
    window, sizes, more = transposed_window(op, ndim, image.shape, kernel.shape, stride, padding, output_padding,
                                            dilation, groups)
    shape = (image.shape[0], kernel.shape[1] * window.groups, *sizes)
    _check_bias(op, offset, shape[1])
    found = apply(_conv_input_grad, (image, kernel), {"window": window, "x_shape": shape})
    if any(more):
        found = pad(found, [(0, 0), (0, 0), *[(0, count) for count in more]])
    return _finished(found, offset, is_single)


@public(method=False)
def conv_transpose1d(x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Padding = 0,
                     output_padding: Size = 0, groups: int = 1, dilation: Size = 1) -> Tensor:
    """Transposed convolution of (N, C, L), or of one (C, L), with (C, O // groups, l): see conv_transpose2d.

    >>> import lucid_nb as lnb
    >>> lnb.conv_transpose1d(lnb.ones((1, 3)), lnb.ones((1, 1, 2)), stride=2)
    tensor([[1., 1., 1., 1., 1., 1.]])
    """
    return convolve_transposed("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding, groups,
                               dilation)


@public(method=False)
def conv_transpose2d(x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Padding = 0,
                     output_padding: Size = 0, groups: int = 1, dilation: Size = 1) -> Tensor:
    """Transposed convolution of (N, C, H, W), or of one (C, H, W), with (C, O // groups, h, w).

    The result has (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 cells along an axis;
    output_padding, below stride or dilation, chooses among the sizes that a convolution would bring to the input's.
    `padding` may be pairs (low, high).

    >>> import lucid_nb as lnb
    >>> x, weight = lnb.ones((1, 2, 4, 4)), lnb.ones((2, 3, 3, 3))
    >>> lnb.conv_transpose2d(x, weight, stride=2, padding=1, output_padding=1).shape
    (1, 3, 8, 8)
    """
    return convolve_transposed("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding, groups,
                               dilation)


@public(method=False)
def conv_transpose3d(x: Any, weight: Any, bias: Any = None, stride: Size = 1, padding: Padding = 0,
                     output_padding: Size = 0, groups: int = 1, dilation: Size = 1) -> Tensor:
    """Transposed convolution of (N, C, D, H, W), or of one (C, D, H, W), with (C, O // groups, d, h, w): see
    conv_transpose2d.

    >>> import lucid_nb as lnb
    >>> lnb.conv_transpose3d(lnb.ones((1, 2, 2, 2, 2)), lnb.ones((2, 1, 2, 2, 2)), stride=2).shape
    (1, 1, 4, 4, 4)
    """
    return convolve_transposed("conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups,
                               dilation)
