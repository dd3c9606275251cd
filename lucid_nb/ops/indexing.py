"""Indexing: basic views, integer arrays, boolean masks, in reading and in writing.

What an index with arrays means stands in positions.py. One array is a gather along its axis, a mask over all axes packs
what it selects, and several arrays are a gather of rows by one array of positions. Gradients and other devices need
only these.
"""

from builtins import IndexError as BuiltinIndexError
from contextlib import suppress
from sys import _getframe as getframe
from typing import Any, NoReturn

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply, as_array, as_operand, check_fits, joined
from ..array import Tensor, fresh, modes
from ..backend import Table
from ..batched import Chosen
from ..errors import DeviceError, DTypeError, IndexError, LucidError, ShapeError
from ..op import Info, Primitive, constant, registry
from ..register import TENSORS, public, short
from ..shapes import Shape
from ..storage import Permute, Slice
from ..tape import user_place
from .movement import as_tensor, deliver, duplicate, permute_dims, reshape
from .positions import (
    WHOLE,
    Advanced,
    Positions,
    counted_from_front,
    extremes,
    in_mode,
    is_basic,
    plain,
    positions_of,
    take_apart,
)


# ---------------------------------------------------------------------------------------------- primitives
def _pull_gather(ops: Any, info: Info, g: Any, index: Any, axis: int) -> tuple:
    """What arrives at the copies of a slice is added up in the order of the index."""
    shape, ndim = info.shape(0), len(index.shape)
    before, after = tuple(range(axis)), tuple(range(axis + ndim, len(g.shape)))
    front = ops.permute(g, axes=(*range(axis, axis + ndim), *before, *after)) if axis else g
    total = ops.sum_rows(index, front, size=shape[axis])
    return ops.permute(total, axes=(*range(1, axis + 1), 0, *range(axis + 1, len(shape)))) if axis else total, None


def _sum_rows(table: Table, index: Any, values: Any, size: int) -> Any:
    """Rows of zeros to which values are added at index, in order."""
    if table.has("sum_rows"):
        return table.sum_rows(index, values, size)
    zeros = table.full((size, *values.shape[len(index.shape):]), 0, table.dtype_of(values))
    return table.scatter_add(zeros, index, values)


def _pull_scatter(ops: Any, info: Info, g: Any, index: Any) -> tuple:
    """What was replaced gets nothing; of several values for one row only the last one counts."""
    of_base, _, of_values = info.wanted
    last = ops.is_last(index, size=info.shape(0)[0])
    last = ops.reshape(last, shape=(*info.shape(1), *(1,) * (len(info.shape(2)) - len(info.shape(1)))))
    return (ops.scatter(g, index, ops.zeros(info.shape(2), g)) if of_base else None, None,
            ops.where(last, ops.gather(g, index, axis=0), 0) if of_values else None)


def _is_last(table: Table, index: Any, size: int) -> Any:
    """Which positions of an index no later position repeats."""
    own = table.reshape(table.iota(0, 1, shapes.product(tuple(index.shape)), dtypes.INT64), tuple(index.shape))
    writer = table.scatter(table.full((size,), 0, dtypes.INT64), index, own)
    return registry["equal"].run((table.gather(writer, index, 0), own))


_gather = Primitive("gather", lambda table, x, index, axis: table.gather(x, index, axis), _pull_gather, keeps=(1,),
                    linear=((0,),))
_scatter_add = Primitive("scatter_add", lambda table, x, index, values: table.scatter_add(x, index, values),
                         lambda ops, info, g, index: (g, None, ops.gather(g, index, axis=0)), keeps=(1,),
                         flops=flops.per_input(1, 2), linear=((0, 2),))
_summed = Primitive("sum_rows", _sum_rows, lambda ops, info, g, index, size: (None, ops.gather(g, index, axis=0)),
                    keeps=(0,), flops=flops.per_input(1, 1), linear=((1,),))
_scatter = Primitive("scatter", lambda table, x, index, values: table.scatter(x, index, values), _pull_scatter,
                     keeps=(1,))
_last = Primitive("is_last", _is_last, None)
_compress = Primitive("compress", lambda table, mask, x: table.compress(mask, x),
                      lambda ops, info, g, mask: (None, ops.expand(mask, ops.zeros(info.shape(1), g), g)), keeps=(0,),
                      linear=((1,),))
_expand = Primitive("expand", lambda table, mask, base, values: table.expand(mask, base, values),
                    lambda ops, info, g, mask: (None, ops.where(mask, 0, g), ops.compress(mask, g)), keeps=(0,),
                    linear=((1, 2),))


def as_index(positions: Positions, like: Tensor) -> Tensor:
    """Positions on the device of `like`, in memory of their own where a gradient will read them."""
    is_kept = like.node is not None and modes.enabled
    if isinstance(positions, Tensor):
        return duplicate(positions, "C") if is_kept else positions
    return Tensor(backend.of(like.raw).from_numpy(positions.copy() if is_kept else positions))


def checks_bounds(x: Tensor) -> bool:
    """Do the kernels of this device check positions, and count negative ones from the end?"""
    return backend.of(x.raw).name == "cpu"        # not of arrays within vmap, which have no bounds to check by


def gathered(op: str, x: Tensor, positions: Positions, axis: int, named: int) -> Tensor:
    """Slices along an axis at positions, which may be negative; errors tell of axis `named`."""
    size = x.shape[axis]
    if not checks_bounds(x):
        return apply(_gather, (x, as_index(counted_from_front(op, positions, named, size), x)), {"axis": axis})
    try:
        return apply(_gather, (x, as_index(positions, x)), {"axis": axis})
    except IndexError:
        for extreme in extremes(positions):
            shapes.check_bounds(extreme, named, size)
        raise


def compressed(x: Tensor, mask: Positions) -> Tensor:
    """The elements where a mask of the same shape holds, in C order."""
    flat = reshape(x, -1) if x.ndim != 1 else x
    return apply(_compress, (as_index(mask.reshape(-1), x), flat))


def expanded(x: Tensor, mask: np.ndarray, values: Tensor) -> Tensor:
    """x with as many values as a mask of the same shape selects in their places, in C order."""
    return reshape(apply(_expand, (as_index(mask.reshape(-1), x), reshape(x, -1), values)), x.shape)


def refuse_index(parts: tuple, shape: tuple[int, ...]) -> NoReturn:
    """Say what is wrong with a basic index that NumPy refused."""
    shapes.check_index(parts, shape)
    raise IndexError(f"index: {parts!r} does not index shape {shape}. Use integers, slices, None or arrays.")


# ------------------------------------------------------------------------------------------------ reading
def getitem(self: Tensor, index: Any) -> Tensor:
    """NumPy's indexing. Basic indices give views; integers only, a value; arrays and masks, a copy."""
    parts = index if type(index) is tuple else (index,)
    raw = self.raw
    if type(raw) is np.ndarray and self.node is None and type(self) in TENSORS and len(parts) == raw.ndim and (
            INTEGERS.issuperset(map(type, parts)) and (
                (storage := self.storage) is None or storage.generation == self.generation)):
        try:
            return Tensor(np.array(raw[parts]), None, True)
        except BuiltinIndexError:
            refuse_index(parts, self.shape)
    if not is_basic(parts):
        try:
            plain_parts = tuple([plain(part, self.device) for part in parts])
        except backend.Unbatchable as reason:
            return backend.batching.instead("getitem", reason, self, parts)
        parts = plain_parts
        if not is_basic(parts):
            return _read_advanced(self.refresh(), parts)
    try:
        if type(raw) is not np.ndarray:
            parts = shapes.check_index(parts, self.shape)
        elif len(parts) < raw.ndim:                       # no element, so NumPy's own view will do
            return self.moved(Slice(parts), raw[parts])
        if len(parts) == len(raw.shape) and INTEGERS.issuperset(map(type, parts)):
            return self.element(parts)
        return self.moved(Slice(parts))
    except (BuiltinIndexError, OverflowError) as error:
        if isinstance(error, IndexError):
            raise
    refuse_index(parts, self.shape)


def _view(x: Tensor, found: Advanced) -> Tensor:
    """The basic view, in which whole slices stand for the indexed axes."""
    return x.moved(Slice(found.slices)) if any(part is None or part != WHOLE for part in found.slices) else x


def _with_merged(view: Tensor, first: int, count: int) -> Tensor:
    """Neighbouring axes as one."""
    shape = view.shape
    merged = shapes.product(shape[first:first + count])
    return view if count == 1 else reshape(view, (*shape[:first], merged, *shape[first + count:]))


def _read_advanced(x: Tensor, parts: tuple) -> Tensor:
    found = take_apart(parts, x.shape)
    view, first, count = _view(x, found), found.axes[0], len(found.axes)
    if len(found.indexers) == 1:
        (one,) = found.indexers
        if one.is_mask and one.array.shape == view.shape:
            return compressed(view, one.array)
        positions = one.positions if one.is_mask else one.array
        return gathered("index", _with_merged(view, first, count), positions, first, one.axis)
    rows, rest = _rows(view, found)
    taken = gathered("index", _with_merged(rows, 0, count), found.merged(), 0, 0)
    ndim = len(found.shape)
    if found.place and ndim and rest:
        order = (*range(ndim, ndim + found.place), *range(ndim), *range(ndim + found.place, ndim + len(rest)))
        return permute_dims(taken, order).copy()
    return taken


def _rows(view: Tensor, found: Advanced) -> tuple[Tensor, Shape]:
    """The view with the indexed axes in front, and the other extents."""
    rest = [axis for axis in range(view.ndim) if axis not in found.axes]
    if found.axes != tuple(range(len(found.axes))):
        view = view.moved(Permute((*found.axes, *rest)))
    return view, view.shape[len(found.axes):]


# ------------------------------------------------------------------------------------------------ writing
INTEGERS = frozenset((int,))
BASIC = frozenset((int, slice, type(None), type(Ellipsis)))
HELD = {"f": (float, int), "c": (complex, float, int), "i": (int,), "u": (int,), "b": (bool,)}     # without a cast


def _is_outside_graphs(x: Tensor) -> bool:
    """Is it NumPy's memory, known as it is now, which no graph knows?"""
    storage = x.storage
    return type(x) in TENSORS and type(x.raw) is np.ndarray and x.node is None and (
        storage is None or (storage.generation == x.generation and x.root.node is None))


def _wrote_plainly(x: Tensor, index: Any, value: Any) -> bool:
    """Write numbers, or a tensor of the same dtype, into memory outside of graphs; False for the general road."""
    if x.is_value or not _is_outside_graphs(x) or not x.raw.flags.writeable or (
            not BASIC.issuperset(map(type, index)) if type(index) is tuple else type(index) not in BASIC):
        return False
    storage = x.storage
    if storage is not None and x.root.is_unrecorded:
        return False
    if type(value) is Tensor:
        if not _is_outside_graphs(value) or value.raw.dtype != x.raw.dtype:
            return False
        value = value.raw                          # where the two overlap, NumPy makes a copy first
    elif type(value) not in HELD.get(x.raw.dtype.kind, ()):
        return False
    try:
        x.raw[index] = value
    except (ValueError, TypeError, BuiltinIndexError, OverflowError, LucidError):      # the general road says it
        return False
    if storage is None:
        storage = x.share() if x.version is not None else None
    if storage is not None and storage.version.is_saved():
        storage.version.write("setitem", user_place(getframe(2)))
    return True


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """NumPy's assignment, and differentiable: the tensor's content becomes a new value that depends on both."""
    if _wrote_plainly(self, index, value):
        return
    parts = index if type(index) is tuple else (index,)
    self.check_writable("setitem")
    value = value if type(value) is Chosen else as_value(self, value)
    try:
        parts = parts if is_basic(parts) else tuple([plain(part, self.device) for part in parts])
    except backend.Unbatchable as reason:
        backend.batching.instead("setitem", reason, self, parts, value)
        return
    if not is_basic(parts):
        _write_advanced(self.refresh(), parts, value)
        return
    view = self.moved(Slice(shapes.check_index(parts, self.shape)))
    view.write(without_leading(value, view.ndim), "setitem")


def as_value(target: Tensor, value: Any) -> Tensor:
    """What is written, as a tensor on the target's device, and within `vmap` in the target's levels."""
    found = _on_device(target, value)
    return found if backend.batching.fit is None else backend.batching.fit("setitem", target, found)


def beside(x: Tensor, value: Any) -> list[Tensor]:
    """x, of which a copy is to be made, and what will be written into that, in the levels of `vmap` of both."""
    found = [x, _on_device(x, value)]
    return found if backend.batching.lift is None else backend.batching.lift(found)


def _of_list(target: Tensor, value: Any) -> Tensor:
    """Numbers in lists, floats in the dtype that they are written into: a device's default may be shorter."""
    array = as_array("setitem", value)
    check_fits("setitem", array, target.dtype)
    if array.dtype == dtypes.FLOAT64 and dtypes.is_inexact(target.dtype):
        return fresh(backend.table(target.device).from_numpy(array.astype(target.dtype)))
    return as_operand("setitem", value, target.device)


def _on_device(target: Tensor, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        found = value.refresh()
    elif type(value) in dtypes.WEAK:
        if type(value) is complex and target.dtype.kind != "c":
            raise DTypeError(f"setitem: {value} cannot go into {target.dtype}. Take its real part.")
        found = fresh(constant("setitem", value, target.dtype, backend.of(target.raw)))
    elif isinstance(value, (list, tuple)) and (together := joined("setitem", value)) is not None:
        found = together
    else:
        found = _of_list(target, value) if isinstance(value, (list, tuple)) else as_operand("setitem", value, "")
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
    """Elements replaced, as a new content of the view, or in place where nothing is recorded."""
    found = take_apart(parts, x.shape)
    count = len(found.axes)
    rows, rest = _rows(_view(x, found), found)
    positions = found.merged()                            # with the check of bounds
    values = _arranged("setitem", value, found, rest, x.dtype)
    if _is_unrecorded(rows, values):
        _write_in_place(rows, count, positions, values)
    else:
        new = apply(_scatter, (_with_merged(rows, 0, count), as_index(positions, values), values))
        rows.write(reshape(new, rows.shape), "setitem")


def accumulated(op: str, x: Tensor, parts: tuple, value: Tensor) -> Tensor:
    """A copy of x with values added at an index, in order, at equal places too."""
    found = take_apart(tuple([plain(part, x.device) for part in parts]), x.shape)
    is_plain = found.axes == tuple(range(len(found.axes))) and all(part == WHOLE for part in found.slices)
    result = x if is_plain else duplicate(x, "C")
    rows, rest = _rows(_view(result, found), found)
    positions, count = found.merged(), len(found.axes)
    values = _arranged(op, value, found, rest, x.dtype)
    flat = _with_merged(rows, 0, count)
    new = apply(_scatter_add, (flat, as_index(positions, values if values.node else flat), values))
    if is_plain:
        return reshape(new, x.shape)
    rows.write(reshape(new, rows.shape), op)
    return result


def _is_unrecorded(target: Tensor, values: Tensor) -> bool:
    """May memory be written at once, as no graph holds either side?"""
    return type(target.raw) is np.ndarray and (not modes.enabled or (
        target.share().aliases and target.root.node is None and values.node is None))


def _write_in_place(rows: Tensor, count: int, positions: Any, values: Tensor) -> None:
    """Rows of memory replaced, on the CPU."""
    raw, new = rows.raw, values.raw
    table = backend.of(raw)
    new = table.copy(new) if np.may_share_memory(raw, new) else new
    if raw.flags.c_contiguous:
        table.scatter_into("set", raw.reshape((shapes.product(raw.shape[:count]), *raw.shape[count:])), positions, new)
    else:
        raw[np.unravel_index(positions, raw.shape[:count])] = new
    rows.mark_written("setitem")


def _arranged(op: str, value: Tensor, found: Advanced, rest: Shape, dtype: np.dtype) -> Tensor:
    """The value in the shape and dtype that it replaces, the axes of the index arrays first."""
    place, ndim = found.place if found.shape else 0, len(found.shape)
    wanted = (*rest[:place], *found.shape, *rest[place:])              # the value's axes arrive in the result's order
    value = without_leading(value, len(wanted))
    if shapes.broadcast_shapes(op, value.shape, wanted) != wanted:
        raise ShapeError(f"{op}: a value of shape {value.shape} does not fit {wanted}. Reshape it.")
    wide = value.astype(dtype, copy=False).broadcast_to(wanted)
    return permute_dims(wide, (*range(place, place + ndim), *range(place), *range(place + ndim, len(wanted)))) \
        if place else wide


Tensor.__getitem__, Tensor.__setitem__ = getitem, setitem  # type: ignore[method-assign]


@public()
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Tensor:
    """Elements, or slices along an axis, at integer positions.

    `mode`: what becomes of positions out of range: "raise" (then negative ones count from the end), "wrap", "clip".

    >>> import lucid_nb as lnb
    >>> lnb.take(lnb.tensor([10, 20, 30]), [2, 0])
    tensor([30, 10])
    """
    if axis is out is None and type(mode) is str and mode == "raise" and (raw := short.small(a)) is not None and (
            (places := short.small(indices)) is not None) and places.dtype.kind in "iu":
        with suppress(BuiltinIndexError):          # the general road says what is wrong
            return short.made(raw.take(places))
    a = as_tensor("take", a)
    flat, axis = (reshape(a, -1), 0) if axis is None else (a, shapes.normalize_axis("take", axis, a.ndim))
    try:
        positions = in_mode("take", positions_of("take", indices, flat.device, True), flat.shape[axis], mode)
    except backend.Unbatchable as reason:
        return deliver("take", backend.batching.instead("take", reason, flat, indices, axis, mode), out)
    return deliver("take", gathered("take", flat, positions, axis, axis), out)
