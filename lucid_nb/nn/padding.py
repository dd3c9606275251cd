"""Layers that add cells around images; what the modes are is told at nn.functional.pad."""

from collections.abc import Sequence
from typing import ClassVar

from ..array import Tensor
from ..creation import asarray
from ..errors import ShapeError
from ..shapes import as_integer
from . import functional as F
from .module import Module

Padding = int | Sequence[int]


class _Pad(Module):
    """Cells around the last `ndim` axes: one number, or (left, right, top, bottom, front, back), negative ones cut."""

    ndim: ClassVar[int] = 0
    mode: ClassVar[str] = "constant"
    value: float | None = None

    def __init__(self, padding: Padding) -> None:
        super().__init__()
        kind, count = type(self).__name__, 2 * self.ndim
        given = padding if isinstance(padding, tuple | list) else (padding,) * count
        self.padding = tuple([as_integer(kind, "padding", size) for size in given])
        if len(given) != count:
            raise ShapeError(f"{kind}: padding {padding!r}. Give one number, or {count}: two for each axis, the last "
                             "first.")

    def forward(self, input: Tensor) -> Tensor:
        """The larger input."""
        x = asarray(input)
        if self.mode != "constant" and not 1 <= x.ndim - self.ndim <= 2:
            raise ShapeError(f"{type(self).__name__}: an input of shape {x.shape}. Give (batch, channels, ...) or "
                             f"(channels, ...) with {self.ndim} more axes.")
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        """The cells."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The cells, and what is in them."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Cells of a value before and after the last axis.

    >>> lnb.nn.ConstantPad1d((1, 2), 9)([[1, 2]])
    tensor([[9, 1, 2, 9, 9]])
    """

    ndim = 1


class ConstantPad2d(_ConstantPad):
    """Cells of a value around the last two axes."""

    ndim = 2


class ConstantPad3d(_ConstantPad):
    """Cells of a value around the last three axes."""

    ndim = 3


class ZeroPad1d(_Pad):
    """Zeros before and after the last axis.

    >>> lnb.nn.ZeroPad1d(1)([[1, 2]])
    tensor([[0, 1, 2, 0]])
    """

    ndim = 1


class ZeroPad2d(_Pad):
    """Zeros around the last two axes."""

    ndim = 2


class ZeroPad3d(_Pad):
    """Zeros around the last three axes."""

    ndim = 3


class ReflectionPad1d(_Pad):
    """(batch, channels, length), or without batch, continued by its mirror image about the first and the last element.

    >>> lnb.nn.ReflectionPad1d(2)([[1, 2, 3]])
    tensor([[3, 2, 1, 2, 3, 2, 1]])
    """

    ndim, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Images, continued by their mirror images about the outer elements: see ReflectionPad1d."""

    ndim, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Volumes, continued by their mirror images about the outer elements: see ReflectionPad1d."""

    ndim, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """(batch, channels, length), or without batch, continued by its first and its last element.

    >>> lnb.nn.ReplicationPad1d(2)([[1, 2, 3]])
    tensor([[1, 1, 1, 2, 3, 3, 3]])
    """

    ndim, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Images, continued by their outer elements: see ReplicationPad1d."""

    ndim, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Volumes, continued by their outer elements: see ReplicationPad1d."""

    ndim, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """(batch, channels, length), or without batch, continued by what stands at its other end.

    >>> lnb.nn.CircularPad1d(1)([[1, 2, 3]])
    tensor([[3, 1, 2, 3, 1]])
    """

    ndim, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Images, continued by what stands at their other sides: see CircularPad1d."""

    ndim, mode = 2, "circular"


class CircularPad3d(_Pad):
    """Volumes, continued by what stands at their other sides: see CircularPad1d."""

    ndim, mode = 3, "circular"
