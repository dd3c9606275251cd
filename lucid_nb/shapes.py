"""Pure shape arithmetic: broadcasting, axes, indices, windows. It knows neither arrays nor devices."""

from dataclasses import dataclass
from functools import cached_property

from .errors import AxisError, ShapeError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """The geometry of a convolution over one to three spatial axes, in elements; each field has one number an axis."""

    stride: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1

    @cached_property
    def ndim(self) -> int:
        """How many spatial axes."""
        return len(self.stride)

    def output_sizes(self, sizes: Shape, kernel: Shape) -> Shape:
        """Spatial extents of the result, 0 or less where the kernel does not fit."""
        return tuple((size + low + high - step * (taps - 1) - 1) // stride + 1
                     for size, taps, stride, low, high, step
                     in zip(sizes, kernel, self.stride, self.low, self.high, self.dilation))


def broadcast_shapes(op: str, *shapes: Shape) -> Shape:
    """The common shape of operands, by NumPy's rule."""
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for axis, size in enumerate(shape, ndim - len(shape)):
            if size != 1:
                if result[axis] not in (1, size):
                    raise ShapeError(f"{op}: shapes {_list(shapes)} do not broadcast, sizes {result[axis]} and {size} "
                                     f"on axis {axis}. Make them equal, or one of them 1.")
                result[axis] = size
    return tuple(result)


def _list(shapes: tuple[Shape, ...]) -> str:
    return " and ".join(map(str, shapes)) if len(shapes) < 3 else ", ".join(map(str, shapes))


def normalize_axis(op: str, axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    if not -ndim <= axis < ndim:
        raise AxisError(f"{op}: axis {axis} is out of range for {ndim} dimensions. Use {-ndim} to {ndim - 1}."
                        if ndim else f"{op}: axis {axis} of a 0-d array. Leave axis out.")
    return axis + ndim if axis < 0 else axis


def normalize_axes(op: str, axis: "int | tuple[int, ...] | None", ndim: int) -> Shape:
    """Axes counted from the front; None means all."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(normalize_axis(op, a, ndim) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len({*axes}) != len(axes):
        raise AxisError(f"{op}: axis {axis} names an axis twice. Name each once.")
    return axes


def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """The shape after reducing `axes`."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)
