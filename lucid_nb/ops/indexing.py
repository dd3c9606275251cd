"""Indexing: basic views, integer arrays, boolean masks, in reading and in writing.

An index with arrays becomes three simpler things: a basic view (slices, new axes), the indexed axes moved to the front
and merged into one, and a gather of rows by one array of positions. Gradients and other devices need only these.
"""

from builtins import IndexError as BuiltinIndexError
from dataclasses import dataclass
from operator import index as to_index
from typing import Any, NoReturn

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import apply, as_array, as_operand, check_fits
from ..array import Tensor, fresh
from ..errors import DeviceError, DTypeError, IndexError
from ..op import Info, Primitive, constant
from ..register import public
from ..shapes import Shape
from ..storage import Permute, Slice
from .movement import as_tensor, deliver, permute_dims, reshape

INTEGERS = (int, np.integer)
WHOLE = slice(None)


# ---------------------------------------------------------------------------------------------- primitives
def _pull_scatter(ops: Any, info: Info, g: Any, index: Any) -> tuple:
    """What was replaced gets nothing; of several values for one row only the last one counts."""
    of_base, _, of_values = info.wanted
    zeros = ops.zeros(info.shape(2), g)
    last = ops.is_last(index)
    last = ops.reshape(last, shape=(*info.shape(1), *(1,) * (len(info.shape(2)) - len(info.shape(1)))))
    return (ops.scatter(g, index, zeros) if of_base else None, None,
            ops.where(last, ops.gather(g, index), 0) if of_values else None)


def _is_last(table: Any, index: Any) -> Any:
    """Which positions of an index no later position repeats."""
    host = table.to_numpy(index)
    flat = host.ravel()[::-1]
    found = np.zeros(flat.shape, bool)
    found[np.unique(flat, return_index=True)[1]] = True
    return table.from_numpy(found[::-1].reshape(host.shape).copy())


_gather = Primitive("gather", lambda table, x, index: table.gather(x, index),
                    lambda ops, info, g, index: (ops.scatter_add(ops.zeros(info.shape(0), g), index, g), None),
                    keeps=(1,))
_scatter_add = Primitive("scatter_add", lambda table, x, index, values: table.scatter_add(x, index, values),
                         lambda ops, info, g, index: (g, None, ops.gather(g, index)), keeps=(1,))
_scatter = Primitive("scatter", lambda table, x, index, values: table.scatter(x, index, values), _pull_scatter,
                     keeps=(1,))
_last = Primitive("is_last", _is_last, None)


# ------------------------------------------------------------------------------------------------ parsing
@dataclass(frozen=True)
class Advanced:
    """An index with arrays, taken apart."""

    slices: tuple               # the basic part; whole slices stand for the indexed axes
    axes: Shape                 # of the view after it, those that arrays index
    positions: np.ndarray       # into these axes merged, of the arrays' common shape
    place: int                  # where the arrays' axes go in the result


def is_basic(parts: tuple) -> bool:
    """Only integers, slices between integers, None and an ellipsis?"""
    for part in parts:
        if type(part) is slice:
            start, stop, step = part.start, part.stop, part.step
            if not ((start is None or type(start) is int) and (stop is None or type(stop) is int)
                    and (step is None or (type(step) is int and step != 0))):
                return False
        elif type(part) is not int and part is not None and part is not Ellipsis:
            return False
    return True


def plain(part: Any) -> Any:
    """A part of an index, with numbers as int and sequences as arrays."""
    if isinstance(part, (bool, np.bool_)):
        return np.array(part)
    if isinstance(part, INTEGERS):
        return int(part)
    if isinstance(part, slice):
        return plain_slice(part)
    if part is None or part is Ellipsis:
        return part
    found = part.to_host() if isinstance(part, Tensor) else as_array("index", part)
    found = found.astype(np.int64) if found.size == 0 and not isinstance(part, (Tensor, np.ndarray)) else found
    if found.dtype.kind not in "iub":
        raise IndexError(f"index: {found.dtype} is no index. Use integers, bools, slices, None or an ellipsis.")
    if found.ndim == 0 and found.dtype.kind != "b":
        return int(found)
    return found


def plain_slice(part: slice) -> slice:
    """A slice between integers."""
    try:
        bounds = [None if bound is None else to_index(bound) for bound in (part.start, part.stop, part.step)]
    except TypeError:
        raise IndexError(f"index: {part} has a bound that is not an integer. Use integers or None.") from None
    if bounds[2] == 0:
        raise IndexError(f"index: {part} has step 0. Use another step.")
    return slice(*bounds)


def spelled_out(parts: list, shape: Shape) -> list:
    """Masks become integer arrays, and whole slices follow the ellipsis, which also without them parts arrays."""
    used = sum(part.ndim if _is_mask(part) else part is not None and part is not Ellipsis for part in parts)
    if used > len(shape):
        raise IndexError(f"index: {used} indices for shape {shape} with {len(shape)} axes. Leave some out.")
    if sum(part is Ellipsis for part in parts) > 1:
        raise IndexError("index: more than one ellipsis. Keep one.")
    if not any(part is Ellipsis for part in parts):
        parts = [*parts, Ellipsis]
    found: list = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            found += [Ellipsis] + [WHOLE] * (len(shape) - used)
            axis += len(shape) - used
        elif _is_mask(part):
            wanted = shape[axis:axis + part.ndim]
            if part.shape != wanted:
                raise IndexError(f"index: a mask of shape {part.shape} for axes of shape {wanted}. Make them equal.")
            found += np.nonzero(part) if part.ndim else [part]
            axis += part.ndim
        else:
            found.append(part)
            axis += part is not None
    return found


def _is_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind == "b"


def take_apart(parts: tuple, shape: Shape) -> Advanced:
    """The basic part, the positions and their place in the result, by NumPy's rules."""
    spelled = spelled_out([plain(part) for part in parts], shape)
    slices: list = []
    arrays: list[tuple[np.ndarray, int, int]] = []               # positions, axis, extent
    axes: list[int] = []
    places: list[int] = []
    axis = view_axis = 0
    for number, part in enumerate(spelled):
        if part is Ellipsis:
            continue
        if isinstance(part, (int, np.ndarray)):
            if _is_mask(part):                                    # 0-d: a new axis, taken once or not at all
                slices.append(None)
                arrays.append((np.zeros(int(part), np.int64), 0, 1))
            else:
                if isinstance(part, int):
                    shapes.check_bounds(part, axis, shape[axis])  # an array's bounds wait for the common shape
                slices.append(WHOLE)
                arrays.append((np.asarray(part), axis, shape[axis]))
                axis += 1
            axes.append(view_axis)
            places.append(number)
            view_axis += 1
        else:
            slices.append(part)
            axis += part is not None
            view_axis += 1
    adjacent = places == list(range(places[0], places[0] + len(places)))
    positions = _merged(arrays)
    shapes.check_ndim("index", max(len(slices), len(slices) - len(axes) + positions.ndim))
    return Advanced(tuple(slices), tuple(axes), positions, axes[0] if adjacent else 0)


def _checked(positions: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Positions counted from the front, after the bounds check."""
    for extreme in (positions.min(), positions.max()):
        shapes.check_bounds(int(extreme), axis, size)
    positions = positions.astype(np.int64, copy=False)
    return np.where(positions < 0, positions + size, positions)


def _merged(arrays: list[tuple[np.ndarray, int, int]]) -> np.ndarray:
    """One position in the merged axes for the positions in each; of no positions none is out of range."""
    common = shapes.broadcast_shapes("index", *[array.shape for array, _, _ in arrays])
    position = np.zeros(common, np.int64)
    if position.size:
        for array, axis, size in arrays:
            position = position * size + _checked(array, axis, size)
    return position


def refuse_index(parts: tuple, shape: tuple[int, ...]) -> NoReturn:
    """Say what is wrong with a basic index that NumPy refused."""
    shapes.check_index(parts, shape)
    raise IndexError(f"index: {parts!r} does not index shape {shape}. Use integers, slices, None or arrays.")


# ------------------------------------------------------------------------------------------------ reading
def getitem(self: Tensor, index: Any) -> Tensor:
    """NumPy's indexing. Basic indices give views; integers only, a value; arrays and masks, a copy."""
    parts = index if type(index) is tuple else (index,)
    if not is_basic(parts):
        parts = tuple(plain(part) for part in parts)
        if not is_basic(parts):
            return _read_advanced(self, parts)
    raw = self.raw
    try:
        if type(raw) is not np.ndarray:
            parts = shapes.check_index(parts, self.shape)
        elif len(parts) < raw.ndim:                       # no element, so NumPy's own view will do
            return self.moved(Slice(parts), raw[parts])
        if len(parts) == len(self.raw.shape) and all([type(part) is int for part in parts]):
            return self.element(parts)
        return self.moved(Slice(parts))
    except BuiltinIndexError as error:
        if isinstance(error, IndexError):
            raise
    refuse_index(parts, self.shape)


def _rows(x: Tensor, found: Advanced) -> tuple[Tensor, Shape]:
    """The basic view with the indexed axes in front, and the other extents."""
    x = x.moved(Slice(found.slices)) if any(part is None or part != WHOLE for part in found.slices) else x
    rest = [axis for axis in range(x.ndim) if axis not in found.axes]
    if found.axes != tuple(range(len(found.axes))):
        x = x.moved(Permute((*found.axes, *rest)))
    return x, x.shape[len(found.axes):]


def _read_advanced(x: Tensor, parts: tuple) -> Tensor:
    found = take_apart(parts, x.shape)
    rows, rest = _rows(x, found)
    if len(found.axes) > 1:
        rows = reshape(rows, (shapes.product(rows.shape[:len(found.axes)]), *rest))
    taken = apply(_gather, (rows, _index_tensor(found.positions, x)))
    ndim = found.positions.ndim
    if found.place and ndim and rest:
        order = (*range(ndim, ndim + found.place), *range(ndim), *range(ndim + found.place, ndim + len(rest)))
        return permute_dims(taken, order).copy()
    return taken


def _index_tensor(positions: np.ndarray, like: Tensor) -> Tensor:
    return Tensor(backend.of(like.raw).from_numpy(positions))


# ------------------------------------------------------------------------------------------------ writing
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """NumPy's assignment, and differentiable: the tensor's content becomes a new value that depends on both."""
    parts = index if type(index) is tuple else (index,)
    parts = parts if is_basic(parts) else tuple(plain(part) for part in parts)
    self.check_writable("setitem")
    value = as_value(self, value)
    if not is_basic(parts):
        _write_advanced(self, parts, value)
        return
    view = self.moved(Slice(shapes.check_index(parts, self.shape)))
    view.write(without_leading(value, view.ndim), "setitem")


def as_value(target: Tensor, value: Any) -> Tensor:
    """What is written, as a tensor on the target's device."""
    if isinstance(value, Tensor):
        found = value.refresh()
    elif type(value) in dtypes.WEAK:
        if type(value) is complex and target.dtype.kind != "c":
            raise DTypeError(f"setitem: {value} cannot go into {target.dtype}. Take its real part.")
        found = fresh(constant("setitem", value, target.dtype, backend.of(target.raw)))
    else:
        if isinstance(value, (list, tuple)):
            check_fits("setitem", as_array("setitem", value), target.dtype)
        found = as_operand("setitem", value, target.device)
    if found.device != target.device:
        raise DeviceError(f"setitem: the value lives on {found.device}, the tensor on {target.device}. "
                          f"Use .to({target.device!r}).")
    return found


def without_leading(value: Tensor, ndim: int) -> Tensor:
    """A value for `ndim` axes without the extents of 1 that NumPy lets stand in front of them."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = value.moved(Slice((0,)))
    return value


def _write_advanced(x: Tensor, parts: tuple, value: Tensor) -> None:
    """Rows replaced, as a new content of the view."""
    found = take_apart(parts, x.shape)
    rows, rest = _rows(x, found)
    leading = len(found.axes)
    wanted = (*found.positions.shape, *rest)
    ndim = found.positions.ndim
    value = without_leading(value, len(wanted))
    if found.place and ndim:                     # the value's axes arrive in the result's order
        value = _moved_front(value, found.place, ndim, len(wanted))
    values = _fitted(value, wanted, x.dtype)
    flat = reshape(rows, (shapes.product(rows.shape[:leading]), *rest)) if leading > 1 else rows
    new = apply(_scatter, (flat, _index_tensor(found.positions, x), values))
    rows.write(reshape(new, rows.shape), "setitem")


def _moved_front(value: Tensor, place: int, ndim: int, total: int) -> Tensor:
    """The value with the axes of the index arrays first."""
    if value.ndim < total:
        value = reshape(value, (1,) * (total - value.ndim) + value.shape)
    order = (*range(place, place + ndim), *range(place), *range(place + ndim, total))
    return permute_dims(value, order)


def _fitted(value: Tensor, shape: Shape, dtype: np.dtype) -> Tensor:
    """The value in the shape and dtype that it replaces."""
    if shapes.broadcast_shapes("setitem", value.shape, shape) != shape:
        raise shapes.ShapeError(f"setitem: a value of shape {value.shape} does not fit {shape}. Reshape it.")
    return value.astype(dtype, copy=False).broadcast_to(shape)


Tensor.__getitem__, Tensor.__setitem__ = getitem, setitem  # type: ignore[method-assign]


@public()
def take(x: Any, indices: Any, /, axis: int | None = None, *, out: Tensor | None = None, mode: str = "raise") -> Tensor:
    """Elements, or slices along an axis, at integer positions; negative ones count from the end.

    >>> import lucid_nb as lnb
    >>> lnb.take(lnb.tensor([10, 20, 30]), [2, 0])
    tensor([30, 10])
    """
    if mode != "raise":
        raise IndexError(f"take: mode {mode!r} is not supported. Bring the indices into range first.")
    x = as_tensor("take", x)
    x, axis = (reshape(x, -1), 0) if axis is None else (x, shapes.normalize_axis("take", axis, x.ndim))
    positions = indices.to_host() if isinstance(indices, Tensor) else as_array("take", indices)
    if positions.dtype.kind not in "iu" and positions.size:
        raise IndexError(f"take: {positions.dtype} is no index. Use integers.")
    return deliver("take", getitem(x, (*(WHOLE,) * axis, positions.astype(np.int64))), out)
