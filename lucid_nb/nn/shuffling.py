"""Layers that put elements of channels into other places."""

from typing import Any

from ..array import Tensor
from ..errors import ShapeError
from ..shapes import as_integer
from . import functional as F
from .module import Module


def _positive(layer: Module, what: str, value: Any) -> int:
    found = as_integer(type(layer).__name__, what, value)
    if found < 1:
        raise ShapeError(f"{type(layer).__name__}: {what} is {found}. Use a positive number.")
    return found


class PixelShuffle(Module):
    """Channels as pixels of a larger image: see nn.functional.pixel_shuffle.

    >>> lnb.nn.PixelShuffle(2)(np.ones((1, 8, 3, 5))).shape
    (1, 2, 6, 10)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = _positive(self, "upscale_factor", upscale_factor)

    def forward(self, input: Tensor) -> Tensor:
        """The larger image."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels as channels of a smaller image: see nn.functional.pixel_unshuffle.

    >>> lnb.nn.PixelUnshuffle(2)(np.ones((1, 2, 6, 10))).shape
    (1, 8, 3, 5)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = _positive(self, "downscale_factor", downscale_factor)

    def forward(self, input: Tensor) -> Tensor:
        """The smaller image."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels of groups, one of each in turn: see nn.functional.channel_shuffle.

    >>> lnb.nn.ChannelShuffle(2)(np.arange(4.0).reshape(1, 4, 1)).ravel()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = _positive(self, "groups", groups)

    def forward(self, input: Tensor) -> Tensor:
        """The channels in their new order."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The groups."""
        return f"groups={self.groups}"
