"""Axes: exchanged, moved, added, removed, turned round and rolled. All but `roll` and `flatten` give views."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import shapes
from ..apply import apply
from ..array import Tensor
from ..errors import ShapeError
from ..op import ALL, Primitive
from ..register import public, short
from ..storage import Permute, Slice
from .hosted import hosted
from .movement import C, as_tensor, duplicate, in_order, items_of, memory_order, reshape

Axes = int | Sequence[int]
BACKWARDS = slice(None, None, -1)


# ----------------------------------------------------------------------------------------------- reordered
@public()
def swapaxes(a: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged, as a view.

    >>> import lucid_nb as lnb
    >>> lnb.swapaxes(lnb.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    a = as_tensor("swapaxes", a)
    order = list(range(a.ndim))
    one, other = (shapes.normalize_axis("swapaxes", axis, a.ndim) for axis in (axis1, axis2))
    order[one], order[other] = other, one
    return a.moved(Permute(tuple(order)))


@public()
def moveaxis(a: Any, source: Axes, destination: Axes) -> Tensor:
    """Axes moved to new places, the others in the order they had; a view.

    >>> import lucid_nb as lnb
    >>> lnb.moveaxis(lnb.zeros((2, 3, 4)), [0, 1], [-1, -2]).shape
    (4, 3, 2)
    """
    a = as_tensor("moveaxis", a)
    sources = shapes.normalize_axes("moveaxis", _as_tuple(source), a.ndim)
    places = shapes.normalize_axes("moveaxis", _as_tuple(destination), a.ndim)
    if len(sources) != len(places):
        raise ShapeError(f"moveaxis: {len(sources)} sources and {len(places)} destinations. Name a place for each.")
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    return a.moved(Permute(tuple(order)))


def _as_tuple(axis: Any) -> tuple[int, ...]:
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


@public()
def rollaxis(a: Any, axis: int, start: int = 0) -> Tensor:
    """An axis moved back until it lies before the place `start`; a view. `moveaxis` is easier to read.

    >>> import lucid_nb as lnb
    >>> lnb.rollaxis(lnb.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = as_tensor("rollaxis", a)
    axis = shapes.normalize_axis("rollaxis", axis, a.ndim)
    start = shapes.as_integer("rollaxis", "start", start)
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise shapes.AxisError(f"rollaxis: start {start} is out of range for {a.ndim} dimensions. "
                               f"Use {-a.ndim} to {a.ndim}.")
    order = [other for other in range(a.ndim) if other != axis]
    order.insert(start - (axis < start), axis)
    return a.moved(Permute(tuple(order)))


@public()
def matrix_transpose(x: Any, /) -> Tensor:
    """The last two axes exchanged, as a view.

    >>> import lucid_nb as lnb
    >>> lnb.matrix_transpose(lnb.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    x = as_tensor("matrix_transpose", x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: needs two axes, the shape is {x.shape}. Reshape it.")
    return x.moved(Permute(shapes.swapped_last(x.ndim)))


# ------------------------------------------------------------------------------------------ added, removed
@public()
def squeeze(a: Any, axis: Axes | None = None) -> Tensor:
    """Axes of size 1 removed (all of them, or those named), as a view.

    >>> import lucid_nb as lnb
    >>> lnb.squeeze(lnb.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    a = as_tensor("squeeze", a)
    if a.ndim == 0 and axis in (0, -1):                    # NumPy has always let this be
        axis = None
    axes = tuple(i for i, size in enumerate(a.shape) if size == 1) if axis is None else \
        shapes.normalize_axes("squeeze", _as_tuple(axis), a.ndim)
    for i in axes:
        if a.shape[i] != 1:
            raise ShapeError(f"squeeze: axis {i} of shape {a.shape} has size {a.shape[i]}. Name axes of size 1.")
    return a.moved(Slice((*[0 if i in axes else slice(None) for i in range(a.ndim)], ...)))


@public()
def expand_dims(a: Any, axis: Axes = 0) -> Tensor:
    """New axes of size 1 at these places of the result, as a view.

    >>> import lucid_nb as lnb
    >>> lnb.expand_dims(lnb.zeros((2, 3)), axis=(0, -1)).shape
    (1, 2, 3, 1)
    """
    a = as_tensor("expand_dims", a)
    axes = _as_tuple(axis)
    places = shapes.normalize_axes("expand_dims", axes, a.ndim + len(axes))
    shapes.check_ndim("expand_dims", a.ndim + len(axes))
    return a.moved(Slice((*[None if i in places else slice(None) for i in range(a.ndim + len(axes))], ...)))


@public()
def unsqueeze(x: Any, /, axis: Axes) -> Tensor:
    """PyTorch's word for `expand_dims`.

    >>> import lucid_nb as lnb
    >>> lnb.unsqueeze(lnb.zeros(3), -1).shape
    (3, 1)
    """
    return expand_dims(x, axis)


def atleast(op: str, x: Any, ndim: int) -> Tensor:
    """A view with `ndim` axes or more: new ones come first, but for the third, which comes last."""
    x = x if isinstance(x, Tensor) else as_tensor(op, x)
    if x.ndim >= ndim:
        return x
    if ndim == 3 and x.ndim:
        return x.moved(Slice((None, ..., None) if x.ndim == 1 else (..., None)))
    return x.moved(Slice((*(None,) * (ndim - x.ndim), ...)))


def _each(op: str, arrays: tuple, ndim: int) -> Any:
    found = tuple(atleast(op, x, ndim) for x in arrays)
    return found[0] if len(found) == 1 else found


@public(method=False)
def atleast_1d(*arrays: Any) -> Any:
    """Each array with one axis or more, as a view; a tuple where several are given.

    >>> import lucid_nb as lnb
    >>> lnb.atleast_1d(3.0).shape
    (1,)
    """
    return _each("atleast_1d", arrays, 1)


@public(method=False)
def atleast_2d(*arrays: Any) -> Any:
    """Each array with two axes or more, as a view, new ones in front; a tuple where several are given.

    >>> import lucid_nb as lnb
    >>> lnb.atleast_2d([1, 2]).shape
    (1, 2)
    """
    return _each("atleast_2d", arrays, 2)


@public(method=False)
def atleast_3d(*arrays: Any) -> Any:
    """Each array with three axes or more, as a view: (n,) gives (1, n, 1) and (m, n) gives (m, n, 1).

    >>> import lucid_nb as lnb
    >>> lnb.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _each("atleast_3d", arrays, 3)


# ---------------------------------------------------------------------------------------------- in one row
@public()
def ravel(a: Any, order: str = "C") -> Tensor:
    """All elements on one axis: a view where memory allows, otherwise a copy.

    >>> import lucid_nb as lnb
    >>> lnb.ravel([[1, 2], [3, 4]], "F")
    tensor([1, 3, 2, 4])
    """
    if order is C and (found := short.shaped(a, -1)) is not None and found.raw.flags.c_contiguous:
        return found
    a = as_tensor("ravel", a)
    if str(order).upper() != "K":
        return in_order("ravel", reshape(a, -1, order=order), "C")
    strides = [abs(stride) for stride in a.strides]
    walk = sorted(range(a.ndim), key=lambda axis: -strides[axis])
    return in_order("ravel", reshape(a.moved(Permute(tuple(walk))), -1), "C")


@public()
def flatten(x: Any, /, start_axis: int | str = 0, end_axis: int = -1, *, order: str = "C") -> Tensor:
    """A copy with the axes from `start_axis` to `end_axis` joined, by default all; NumPy's `flatten(order)` too.

    >>> import lucid_nb as lnb
    >>> lnb.flatten(lnb.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    if isinstance(start_axis, str):
        return flatten(x, order=start_axis)
    x = as_tensor("flatten", x)
    start_axis, end_axis = [shapes.as_integer("flatten", "axis", axis) for axis in (start_axis, end_axis)]
    if x.ndim == 0 or (start_axis, end_axis) == (0, -1):
        flat = ravel(x, order)
        is_view = flat.storage is not None and flat.storage is x.storage
        return duplicate(flat, "C") if is_view or x.is_value else flat
    first, last = (shapes.normalize_axis("flatten", axis, x.ndim) for axis in (start_axis, end_axis))
    if first > last:
        raise ShapeError(f"flatten: start_axis {start_axis} comes after end_axis {end_axis}. Exchange them.")
    joint = shapes.product(x.shape[first:last + 1])
    return reshape(x, (*x.shape[:first], joint, *x.shape[last + 1:]), order=order, copy=True)


# ------------------------------------------------------------------------------------------- turned, rolled
@public()
def flip(m: Any, axis: Axes | None = None) -> Tensor:
    """The elements in reverse order along axes (all by default), as a view.

    >>> import lucid_nb as lnb
    >>> lnb.flip([1, 2, 3])
    tensor([3, 2, 1])
    """
    if axis is None and type(m) is Tensor and m.ndim:
        return m[(BACKWARDS,) * m.ndim]
    m = as_tensor("flip", m)
    axes = shapes.normalize_axes("flip", axis if axis is None else _as_tuple(axis), m.ndim)
    return m.moved(Slice((*[slice(None, None, -1 if i in axes else None) for i in range(m.ndim)], ...)))


@public()
def fliplr(m: Any) -> Tensor:
    """Axis 1 reversed, as a view.

    >>> import lucid_nb as lnb
    >>> lnb.fliplr([[1, 2], [3, 4]]).tolist()
    [[2, 1], [4, 3]]
    """
    m = as_tensor("fliplr", m)
    if m.ndim < 2:
        raise ShapeError(f"fliplr: needs two axes, the shape is {m.shape}. Use flip.")
    return flip(m, 1)


@public()
def flipud(m: Any) -> Tensor:
    """Axis 0 reversed, as a view.

    >>> import lucid_nb as lnb
    >>> lnb.flipud([[1, 2], [3, 4]]).tolist()
    [[3, 4], [1, 2]]
    """
    m = as_tensor("flipud", m)
    if m.ndim < 1:
        raise ShapeError(f"flipud: needs an axis, the shape is {m.shape}. Reshape it to (1,).")
    return flip(m, 0)


@public()
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by `k` quarters in the plane of two axes, from the first to the second; a view.

    >>> import lucid_nb as lnb
    >>> lnb.rot90([[1, 2], [3, 4]]).tolist()
    [[2, 4], [1, 3]]
    """
    m = as_tensor("rot90", m)
    plane = tuple(items_of("rot90", "axes", axes))
    if len(plane) != 2:
        raise ShapeError(f"rot90: {len(plane)} axes {plane}. Name the two of a plane.")
    first, second = shapes.normalize_axes("rot90", plane, m.ndim)
    quarters = shapes.as_integer("rot90", "k", k) % 4
    if quarters == 0:
        return m.moved(Slice((...,)))
    if quarters == 2:
        return flip(m, (first, second))
    turned = swapaxes(flip(m, second) if quarters == 1 else m, first, second)
    return turned if quarters == 1 else flip(turned, second)


def _roll_blocks(table: Any, x: Any, shifts: tuple[int, ...]) -> Any:
    """Every block to its place; where slices do not alias, axis by axis."""
    shape = tuple(x.shape)
    if not table.aliases:
        for axis, (size, shift) in enumerate(zip(shape, shifts)):
            before = (slice(None),) * axis
            parts = [table.slice(x, (*before, part)) for part in (slice(size - shift, size), slice(0, size - shift))]
            x = table.concatenate(parts, axis) if shift else x
        return x
    new = table.empty(shape, table.dtype_of(x))
    pairs = [[(slice(shift, None), slice(0, size - shift)), (slice(0, shift), slice(size - shift, None))]
             [:1 + (shift > 0)] for size, shift in zip(shape, shifts)]
    for block in product(*pairs):
        there, here = zip(*block)
        table.assign(table.slice(new, there), table.slice(x, here))
    return new


_roll = Primitive("roll_by", _roll_blocks, lambda ops, info, g, shifts: (ops.roll_by(g, shifts=tuple(
    [(size - shift) % max(size, 1) for size, shift in zip(info.shape(0), shifts)])),), linear=ALL)


@public()
@hosted
def roll(a: Any, shift: Axes, axis: Axes | None = None) -> Tensor:
    """Elements moved on by `shift` places along axes, those beyond the end to the front; flat where `axis` is None.

    >>> import lucid_nb as lnb
    >>> lnb.roll(lnb.arange(5), 2)
    tensor([3, 4, 0, 1, 2])
    """
    if type(shift) is int and axis is None and (raw := short.middling(a)) is not None and raw.ndim == 1 and raw.size:
        places = -shift % raw.size
        return short.made(np.concatenate((raw[places:], raw[:places])))
    a = as_tensor("roll", a)
    flat = reshape(a, -1) if axis is None else a
    moves = tuple(shapes.as_integer("roll", "shift", one) for one in _as_tuple(shift))
    axes = tuple(shapes.normalize_axis("roll", one, flat.ndim) for one in _as_tuple(0 if axis is None else axis))
    if len(moves) != len(axes) and 1 not in (len(moves), len(axes)):
        raise ShapeError(f"roll: {len(moves)} shifts for {len(axes)} axes. Give one for each.")
    count = max(len(moves), len(axes)) if moves and axes else 0
    totals = [0] * flat.ndim
    for number in range(count):
        totals[axes[number % len(axes)]] += moves[number % len(moves)]
    shifts = tuple(total % max(size, 1) for total, size in zip(totals, flat.shape))
    if not any(shifts):
        return duplicate(a, memory_order("roll", a, "K"))
    if memory_order("roll", flat, "K") == "F":
        return apply(_roll, (flat.T,), {"shifts": shifts[::-1]}).T
    rolled = apply(_roll, (flat,), {"shifts": shifts})
    return rolled if flat is a else reshape(rolled, a.shape)
