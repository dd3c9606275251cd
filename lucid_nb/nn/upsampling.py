"""Layers that change the size of images."""

from collections.abc import Sequence
from typing import Any

from ..array import Tensor
from ..shapes import as_number
from . import functional as F
from .module import Module


class Upsample(Module):
    """(batch, channels, ...) in another size, or scaled by a factor: see nn.functional.interpolate.

    >>> lnb.nn.Upsample(scale_factor=2)(np.float32([[[1, 2]]])).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    def __init__(self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
                 mode: str = "nearest", align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        self.scale_factor: Any = scale_factor
        if scale_factor is not None:
            self.scale_factor = (tuple([_factor(factor) for factor in scale_factor])
                                 if isinstance(scale_factor, (tuple, list)) else _factor(scale_factor))
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Any) -> Tensor:
        """The interpolated input."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """Size or factor, and the mode."""
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"


def _factor(value: Any) -> float:
    return as_number("Upsample", "scale_factor", value)


class UpsamplingNearest2d(Upsample):
    """Images by their nearest elements: Upsample with mode "nearest"."""

    def __init__(self, size: int | Sequence[int] | None = None,
                 scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Images by bilinear interpolation with corners kept: Upsample with mode "bilinear", align_corners."""

    def __init__(self, size: int | Sequence[int] | None = None,
                 scale_factor: float | Sequence[float] | None = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)
