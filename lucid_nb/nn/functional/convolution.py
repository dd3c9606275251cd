"""Convolutions. Like PyTorch, these are correlations: the kernel is not flipped."""

from typing import Any

from ...array import Tensor
from ...ops import window
from ...ops.window import Padding, Size
from .operands import like_weight


def conv2d(input: Any, weight: Tensor, bias: Tensor | None = None, stride: Size = 1, padding: Padding = 0,
           dilation: Size = 1, groups: int = 1) -> Tensor:
    """Correlate images (batch, in_channels, height, width), or one without batch, with learned kernels.

    `weight` is (out_channels, in_channels // groups, height, width), `bias` (out_channels,). padding="same" gives
    ceil(size / stride) cells, an odd one is added at the end; pairs (low, high) an axis pad unevenly.
    """
    return window.conv2d(like_weight("conv2d", input, weight), weight, bias, stride, padding, dilation, groups)
