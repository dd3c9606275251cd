"""Convolutions, transposed ones, and windows as columns."""

import math
from typing import Any

from ..array import Tensor
from ..creation import empty
from ..errors import ConfigError
from ..ops.window import check_mode
from ..shapes import as_integer
from ..windows import Padding, Size, padding_pairs, per_axis
from . import functional as F
from . import init
from .functional.convolution import convolution, transposed_convolution
from .module import Module
from .parameter import Parameter


class _ConvNd(Module):
    """What convolutions and transposed ones have in common: channels, geometry and parameters."""

    ndim = 0
    bias: Parameter | None

    def _set_up(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size, padding: Padding,
                dilation: Size, groups: int, bias: bool, padding_mode: str, device: str | None, dtype: Any,
                transposed: bool) -> None:
        name = type(self).__name__
        in_channels, out_channels, groups = (as_integer(name, word, size) for word, size in
                                             (("in_channels", in_channels), ("out_channels", out_channels),
                                              ("groups", groups)))
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ConfigError(f"{name}: groups={groups} does not divide {in_channels} and {out_channels} channels. "
                              "Use a divisor of both.")
        check_mode(name, padding_mode)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = (
            per_axis(name, word, value, self.ndim)
            for word, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)))
        padding_pairs(name, padding, self.kernel_size, self.kernel_size, self.stride, self.dilation)
        self.padding = (padding,) * self.ndim if isinstance(padding, int) else padding
        self.padding_mode, self.transposed = padding_mode, transposed
        rows, cols = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (rows, cols // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, dtype=dtype, device=device))
        offset = Parameter(empty((out_channels,), dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", offset)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
            init.uniform_(self.bias, -bound, bound)

    def _extras(self) -> list[tuple[str, Any, Any]]:
        """(name, value, default) of what is shown where it is not the default."""
        return [("padding", self.padding, (0,) * self.ndim), ("dilation", self.dilation, (1,) * self.ndim)]

    def extra_repr(self) -> str:
        """Channels and geometry, what is not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        extras = [*self._extras(), ("groups", self.groups, 1), ("bias", self.bias is not None, True),
                  ("padding_mode", self.padding_mode, "zeros")]
        return text + "".join(f", {name}={value}" for name, value, default in extras if value != default)


class _Conv(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Padding = 0,
                 dilation: Size = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
                 device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        self._set_up(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                     device, dtype, transposed=False)

    def forward(self, input: Tensor) -> Tensor:
        """The convolved input."""
        return convolution(f"conv{self.ndim}d", self.ndim, input, self.weight, self.bias, self.stride, self.padding,
                           self.dilation, self.groups, self.padding_mode)


class Conv1d(_Conv):
    """Correlation with learned kernels: (batch, in_channels, length) to (batch, out_channels, ...): see Conv2d.

    >>> layer = lnb.nn.Conv1d(1, 4, 3, padding="same", padding_mode="reflect")
    >>> layer(np.ones((2, 1, 8), np.float32)).shape
    (2, 4, 8)
    """

    ndim = 1


class Conv2d(_Conv):
    """Correlation with learned kernels: (batch, in_channels, height, width) to (batch, out_channels, ...).

    `weight` is (out_channels, in_channels // groups, height, width), `bias` (out_channels,). `padding` is one number,
    one an axis, pairs (low, high), "valid" (none) or "same": see nn.functional.conv2d; `padding_mode` is "zeros",
    "reflect", "replicate" or "circular". Both parameters start uniform within 1 / sqrt(fan_in).

    >>> layer = lnb.nn.Conv2d(1, 4, 3, padding=1)
    >>> layer(np.ones((2, 1, 8, 8), np.float32)).shape
    (2, 4, 8, 8)
    """

    ndim = 2


class Conv3d(_Conv):
    """Correlation with learned kernels: (batch, in_channels, depth, height, width) to (batch, out_channels, ...)."""

    ndim = 3


class _ConvTranspose(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Padding = 0,
                 output_padding: Size = 0, groups: int = 1, bias: bool = True, dilation: Size = 1,
                 padding_mode: str = "zeros", device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        name = type(self).__name__
        if padding_mode != "zeros" or isinstance(padding, str):
            raise ConfigError(f"{name}: padding={padding!r} and padding_mode={padding_mode!r}. Only numbers and "
                              "'zeros' have a meaning.")
        self._set_up(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                     device, dtype, transposed=True)
        self.output_padding = per_axis(name, "output_padding", output_padding, self.ndim, 0)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The transposed convolution, of an output_size where one is given."""
        return transposed_convolution(f"conv_transpose{self.ndim}d", self.ndim, input, self.weight, self.bias,
                                      self.stride, self.padding, self.output_padding, self.groups, self.dilation,
                                      output_size)

    def _extras(self) -> list[tuple[str, Any, Any]]:
        return [*super()._extras(), ("output_padding", self.output_padding, (0,) * self.ndim)]


class ConvTranspose1d(_ConvTranspose):
    """The transpose of a convolution: (batch, in_channels, length) to (batch, out_channels, ...): ConvTranspose2d."""

    ndim = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of a convolution, with learned kernels: (batch, in_channels, height, width) to larger images.

    `weight` is (in_channels, out_channels // groups, height, width). Along an axis the result has
    (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1 cells; called with an output_size
    it finds the output_padding.

    >>> layer = lnb.nn.ConvTranspose2d(1, 4, 3, stride=2, padding=1)
    >>> x = np.ones((2, 1, 4, 4), np.float32)
    >>> layer(x).shape, layer(x, output_size=(8, 8)).shape
    ((2, 4, 7, 7), (2, 4, 8, 8))
    """

    ndim = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of a convolution: (batch, in_channels, depth, height, width) to larger volumes."""

    ndim = 3


# ------------------------------------------------------------------------------------------------ columns
class Unfold(Module):
    """What windows read as columns: see nn.functional.unfold.

    >>> lnb.nn.Unfold(3)(np.ones((1, 2, 4, 4))).shape
    (1, 18, 4)
    """

    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Padding = 0, stride: Size = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The geometry."""
        return (f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
                f"stride={self.stride}")


class Fold(Module):
    """Columns added up where windows read them: see nn.functional.fold.

    >>> lnb.nn.Fold((4, 4), 3)(np.ones((1, 18, 4))).shape
    (1, 2, 4, 4)
    """

    def __init__(self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Padding = 0,
                 stride: Size = 1) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The images."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The geometry."""
        return (f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
                f"padding={self.padding}, stride={self.stride}")
