"""Convolutions."""

import math
from typing import Any

from ..array import Tensor
from ..creation import empty
from ..errors import ConfigError
from ..ops.window import Padding, Size, padding_pairs, per_axis
from ..shapes import as_integer
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class Conv2d(Module):
    """Correlation with learned kernels: (batch, in_channels, height, width) to (batch, out_channels, ...).

    `weight` is (out_channels, in_channels // groups, height, width), `bias` (out_channels,). `padding` is one number,
    one an axis, "valid" (none) or "same": see nn.functional.conv2d. Both start uniform within 1 / sqrt(fan_in).

    >>> layer = lnb.nn.Conv2d(1, 4, 3, padding=1)
    >>> layer(np.ones((2, 1, 8, 8), np.float32)).shape
    (2, 4, 8, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1,
                 padding: Padding = 0, dilation: Size = 1, groups: int = 1, bias: bool = True,
                 device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        in_channels, out_channels, groups = (as_integer("Conv2d", name, size) for name, size in
                                             (("in_channels", in_channels), ("out_channels", out_channels),
                                              ("groups", groups)))
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ConfigError(f"Conv2d: groups={groups} does not divide {in_channels} and {out_channels} channels. "
                              "Use a divisor of both.")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = (
            per_axis("Conv2d", name, value, 2)
            for name, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)))
        padding_pairs("Conv2d", padding, self.kernel_size, self.kernel_size, self.stride, self.dilation)
        self.padding = (padding, padding) if isinstance(padding, int) else padding
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, dtype=dtype, device=device))
        self.register_parameter("bias", Parameter(empty(shape[:1], dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """The convolved images."""
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """Channels and geometry, what is not the default."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        extras = [("padding", self.padding, (0, 0)), ("dilation", self.dilation, (1, 1)), ("groups", self.groups, 1),
                  ("bias", self.bias is not None, True)]
        return text + "".join(f", {name}={value!r}" for name, value, default in extras if value != default)
