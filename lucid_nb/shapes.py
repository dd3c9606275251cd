"""Pure shape arithmetic: broadcasting, axes, indices, windows. It knows neither arrays nor devices."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import index as to_index
from typing import Any, NamedTuple

from .errors import AxisError, ConfigError, DTypeError, IndexError, ShapeError, told

Shape = tuple[int, ...]
LARGE = 32768        # elements from which recycled memory and threads pay
MIDDLING = 1 << 18   # and, of one thread, up to which memory that the C library recycles is as quick
MOST_ELEMENTS = 2 ** 59        # more do not fit a 64-bit address space in any dtype
MOST_AXES = 64                 # NumPy's limit, which holds on every device


@dataclass(frozen=True)
class Window:
    """The geometry of a convolution over one to three spatial axes, in elements; each field has one number an axis."""

    stride: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1

    @cached_property
    def hashed(self) -> int:
        """The hash: a window is a key of every call."""
        return hash((self.stride, self.low, self.high, self.dilation, self.groups))

    def __hash__(self) -> int:
        return self.hashed

    @cached_property
    def ndim(self) -> int:
        """How many spatial axes."""
        return len(self.stride)

    def output_sizes(self, sizes: Shape, kernel: Shape) -> Shape:
        """Spatial extents of the result, 0 or less where the kernel does not fit."""
        return tuple((size + low + high - step * (taps - 1) - 1) // stride + 1
                     for size, taps, stride, low, high, step
                     in zip(sizes, kernel, self.stride, self.low, self.high, self.dilation))


class Walk(NamedTuple):
    """How a sequence lies in rows over time, and which way it is read. Step t has sizes[t] rows, which never increase.

    Row r of step t is row offset(t) + r * spread: spread is 1 with time first, the number of steps with the batch
    first, where all sizes are equal.
    """

    sizes: Shape
    spread: int = 1
    is_reverse: bool = False


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


def as_integer(op: str, what: str, value: Any) -> int:
    """An integer of whatever Python takes as an index."""
    try:
        return to_index(value)
    except TypeError:
        raise ShapeError(f"{op}: {what} {told(value)} is not an integer. Use integers.") from None


def as_number(op: str, what: str, value: Any) -> float:
    """A float of any real number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{op}: {what} is {told(value)}, which is not a number. Use a number.") from None


def as_shape(op: str, shape: Any) -> Shape:
    """A shape of an integer, or of a sequence of integers."""
    if not isinstance(shape, (tuple, list)):
        try:
            return (to_index(shape),)
        except TypeError:
            pass
    try:
        return tuple(map(to_index, shape))
    except TypeError:
        raise ShapeError(f"{op}: {told(shape)} is not a shape. Use integers.") from None


def normalize_axis(op: str, axis: int, ndim: int) -> int:
    """An axis counted from the front."""
    if type(axis) is not int:
        try:
            axis = to_index(axis)
        except TypeError:
            raise DTypeError(f"{op}: axis {told(axis)} is not an integer. Use integers.") from None
    if not -ndim <= axis < ndim:
        raise AxisError(f"{op}: axis {told(axis)} is out of range for {ndim} dimensions. Use {-ndim} to {ndim - 1}."
                        if ndim else f"{op}: axis {axis} of a 0-d array. Leave axis out.")
    return axis + ndim if axis < 0 else axis


def normalize_axes(op: str, axis: "int | tuple[int, ...] | None", ndim: int) -> Shape:
    """Axes counted from the front; None means all."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple([normalize_axis(op, a, ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))])
    if len({*axes}) != len(axes):
        raise AxisError(f"{op}: axis {axis} names an axis twice. Name each once.")
    return axes


def reduction_axes(op: str, axis: "int | tuple[int, ...] | None", ndim: int) -> Shape:
    """`normalize_axes` of a reduction: of a 0-d array NumPy takes the axes 0 and -1, too."""
    return () if ndim == 0 and axis in (0, -1) else normalize_axes(op, axis, ndim)


def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """The shape after reducing `axes`."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def inverse_permutation(axes: Shape) -> Shape:
    """The order that undoes `axes`."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def check_ndim(op: str, ndim: int) -> None:
    """Refuse more axes than an array may have."""
    if ndim > MOST_AXES:
        raise ShapeError(f"{op}: {ndim} axes, more than {MOST_AXES}. Merge some of them.")


def check_sizes(op: str, shape: Shape) -> Shape:
    """Refuse negative extents, and more axes or elements than an array may have."""
    check_ndim(op, len(shape))
    if any(size < 0 for size in shape):
        raise ShapeError(f"{op}: negative size in shape {told(shape)}. Sizes are 0 or more.")
    if prod(shape) > MOST_ELEMENTS:
        raise ShapeError(f"{op}: shape {told(shape)} has {told(prod(shape))} elements, more than memory can hold. "
                         "Use smaller sizes.")
    return shape


def resolve_shape(op: str, shape: Shape, wanted: Shape) -> Shape:
    """The wanted shape with its -1 replaced by what the number of elements leaves."""
    check_ndim(op, len(wanted))
    count, known = prod(shape), prod(size for size in wanted if size != -1)
    if any(size < -1 for size in wanted) or wanted.count(-1) > 1:
        raise ShapeError(f"{op}: shape {wanted} is not possible. At most one size may be -1, none less.")
    if -1 in wanted:
        if known == 0 or count % known:
            raise ShapeError(f"{op}: {count} elements of shape {shape} do not fill {wanted}. "
                             "Choose sizes whose product divides them.")
        return tuple(count // known if size == -1 else size for size in wanted)
    if known != count:
        raise ShapeError(f"{op}: {count} elements of shape {shape} do not fit {wanted}, which has {known}. "
                         "The products must be equal.")
    return wanted


def check_concat(op: str, shapes: list[Shape], axis: int) -> int:
    """The axis from the front, after checking that all other extents are equal."""
    first = shapes[0]
    if not first:
        raise ShapeError(f"{op}: 0-d arrays have no axis to join. Reshape them to (1,).")
    axis = normalize_axis(op, axis, len(first))
    for shape in shapes[1:]:
        if len(shape) != len(first) or any(a != b for i, (a, b) in enumerate(zip(shape, first)) if i != axis):
            raise ShapeError(f"{op}: shapes {first} and {shape} differ outside axis {axis}. Make them equal there.")
    return axis


# ------------------------------------------------------------------------------------------------- indices
def check_index(parts: tuple, shape: Shape) -> tuple:
    """A basic index (integers, slices, None, an ellipsis), its slices cut to a shape; refused if it does not fit."""
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > len(shape):
        raise IndexError(f"index: {used} indices for shape {shape} with {len(shape)} axes. Leave some out.")
    if sum(part is Ellipsis for part in parts) > 1:
        raise IndexError(f"index: more than one ellipsis in {parts!r}. Keep one.")
    check_ndim("index", len(shape) + sum(part is None for part in parts) - sum(isinstance(part, int) for part in parts))
    found: list = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - used
        elif part is not None:
            if isinstance(part, slice):
                part = cut(part, shape[axis])
            else:
                check_bounds(part, axis, shape[axis])
            axis += 1
        found.append(part)
    return tuple(found)


def cut(part: slice, size: int) -> slice:
    """A slice whose bounds lie within an axis: devices take no larger ones."""
    start, stop, step = part.indices(size)
    count = len(range(start, stop, step))
    if count < 2:
        return slice(start, start + 1) if count else slice(0, 0)
    return slice(start, stop if stop >= 0 else None, step)


def check_bounds(position: int, axis: int, size: int) -> None:
    """Refuse an integer index outside an axis."""
    if not -size <= position < size:
        raise IndexError(f"index: {position} is out of range for axis {axis} of size {size}. "
                         + (f"Use {-size} to {size - 1}." if size else "It is empty."))


def product(sizes: Shape) -> int:
    """How many elements."""
    return prod(sizes)


def swapped_last(ndim: int) -> Shape:
    """The order that exchanges the last two axes."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)
