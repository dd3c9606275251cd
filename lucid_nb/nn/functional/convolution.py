"""Convolutions. Like PyTorch, these are correlations: the kernel is not flipped."""

from typing import Any

from ...array import Tensor
from ...ops import folding, window
from ...remembered import remembered
from ...windows import Padding, Size
from .operands import like_weight


@remembered
def convolution(op: str, ndim: int, input: Any, weight: Tensor, bias: Tensor | None, stride: Size, padding: Padding,
                dilation: Size, groups: int, mode: str = "zeros") -> Tensor:
    """What convolutions over any number of axes have in common; `mode` is one of ops.window.MODES."""
    return window.convolve(op, ndim, like_weight(op, input, weight), weight, bias, stride, padding, dilation, groups,
                           mode)


@remembered
def transposed_convolution(op: str, ndim: int, input: Any, weight: Tensor, bias: Tensor | None, stride: Size,
                           padding: Padding, output_padding: Size, groups: int, dilation: Size,
                           output_size: Any = None) -> Tensor:
    """The same of transposed ones."""
    return window.convolve_transposed(op, ndim, like_weight(op, input, weight), weight, bias, stride, padding,
                                      output_padding, groups, dilation, output_size)


def conv1d(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
           dilation: Size = 1, groups: int = 1) -> Tensor:
    """Correlate signals (batch, in_channels, length), or one without batch, with learned kernels: see conv2d."""
    return convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
           dilation: Size = 1, groups: int = 1) -> Tensor:
    """Correlate images (batch, in_channels, height, width), or one without batch, with learned kernels.

    `weight` is (out_channels, in_channels // groups, height, width), `bias` (out_channels,). padding="same" gives
    ceil(size / stride) cells, an odd one is added at the end; pairs (low, high) an axis pad unevenly.
    """
    return convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
           dilation: Size = 1, groups: int = 1) -> Tensor:
    """Correlate volumes (batch, in_channels, depth, height, width), or one without batch: see conv2d."""
    return convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_general(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
                 dilation: Size = 1, input_dilation: Size = 1, groups: int = 1, flip: bool = False) -> Tensor:
    """Correlate a batch over one to three axes, spread by zeros between its cells, with kernels that may be flipped."""
    return window.conv_general(like_weight("conv_general", input, weight), weight, bias, stride, padding, dilation,
                               input_dilation, groups, flip)


def conv_transpose1d(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
                     output_padding: Size = 0, groups: int = 1, dilation: Size = 1) -> Tensor:
    """The transpose of conv1d for signals (batch, in_channels, length): see conv_transpose2d."""
    return transposed_convolution("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding,
                                  groups, dilation)


def conv_transpose2d(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
                     output_padding: Size = 0, groups: int = 1, dilation: Size = 1) -> Tensor:
    """The transpose of conv2d for images (batch, in_channels, height, width), or one without batch.

    `weight` is (in_channels, out_channels // groups, height, width). Along an axis the result has
    (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 cells.
    """
    return transposed_convolution("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding,
                                  groups, dilation)


def conv_transpose3d(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
                     output_padding: Size = 0, groups: int = 1, dilation: Size = 1) -> Tensor:
    """The transpose of conv3d for volumes (batch, in_channels, depth, height, width): see conv_transpose2d."""
    return transposed_convolution("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding,
                                  groups, dilation)


def unfold(input: Any, kernel_size: Size, dilation: Size = 1, padding: Padding = 0, stride: Size = 1) -> Tensor:
    """What windows read as columns: (batch, channels, height, width) to (batch, channels * cells, windows).

    >>> lnb.nn.functional.unfold(np.ones((1, 2, 4, 4)), 3).shape
    (1, 18, 4)
    """
    return folding.unfold(input, kernel_size, dilation, padding, stride)


def fold(input: Any, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Padding = 0,
         stride: Size = 1) -> Tensor:
    """The sums of columns where windows read them, the transpose of unfold.

    >>> lnb.nn.functional.fold(np.ones((1, 18, 4)), (4, 4), 3)[0, 0].tolist()
    [[1.0, 2.0, 2.0, 1.0], [2.0, 4.0, 4.0, 2.0], [2.0, 4.0, 4.0, 2.0], [1.0, 2.0, 2.0, 1.0]]
    """
    return folding.fold(input, output_size, kernel_size, dilation, padding, stride)
