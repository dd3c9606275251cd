"""Editing: elements taken out of an axis, or put into it, as a new tensor."""

from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import as_array
from ..array import Tensor, fresh
from ..errors import DTypeError, IndexError, ShapeError
from ..op import constant
from ..register import functions, public
from ..storage import Slice
from .indexing import without_leading
from .movement import as_tensor, astype, duplicate, joined, reshape, tensors_of

FEW = 64          # runs; more are gathered one by one


def _on_axis(op: str, x: Any, axis: int | None) -> tuple[Tensor, int]:
    """The tensor, flat where no axis is named, and the axis."""
    x = as_tensor(op, x)
    if axis is None:
        return (x if x.ndim == 1 else reshape(x, -1)), 0
    return x, shapes.normalize_axis(op, axis, x.ndim)


def _places(op: str, given: Any, size: int, last: int) -> np.ndarray | int:
    """Positions counted from the front, below `last`: one integer, or an array of them."""
    if isinstance(given, slice):
        return np.arange(*given.indices(size))
    found = given.to_host() if isinstance(given, Tensor) else as_array(op, given)
    if found.dtype.kind == "b":
        if op == "delete" and found.shape != (size,):
            raise IndexError(f"{op}: a mask of shape {found.shape} for an axis of size {size}. Make them equal.")
        found = np.flatnonzero(found)
    if found.size and found.dtype.kind not in "iu":
        raise IndexError(f"{op}: {found.dtype} is no index. Use integers, bools or a slice.")
    found = found.astype(np.int64)
    if found.ndim > 1 and op == "insert":
        raise IndexError(f"{op}: positions of shape {found.shape}. Use one axis.")
    if found.size and (found.min() < -size or found.max() >= last):
        worst = found.min() if found.min() < -size else found.max()
        raise IndexError(f"{op}: {worst} is out of range for an axis of size {size}. Use {-size} to {last - 1}.")
    found = np.where(found < 0, found + size, found)
    return int(found) if found.ndim == 0 else found.reshape(-1)


def _part(x: Tensor, axis: int, start: int | None, stop: int | None) -> Tensor:
    return x.moved(Slice((*(slice(None),) * axis, slice(start, stop), ...)))


@public()
def delete(arr: Any, obj: Any, axis: int | None = None) -> Tensor:
    """A new tensor without the elements at these places of an axis (of the flat array by default).

    `obj`: an integer, integers, a slice or a mask.

    >>> import lucid_nb as lnb
    >>> lnb.delete([1, 2, 3, 4], [0, -1])
    tensor([2, 3])
    """
    arr, axis = _on_axis("delete", arr, axis)
    size = arr.shape[axis]
    places = _places("delete", obj, size, size)
    gone = np.unique(places)
    if gone.size == 0:
        return duplicate(arr, "C")
    breaks = np.flatnonzero(np.diff(gone) > 1)
    if breaks.size < FEW:                                  # what lies between runs: views are joined
        stops = [int(stop) for stop in (*gone[[0]], *gone[breaks + 1], size)]
        starts = [0, *[int(start) + 1 for start in (*gone[breaks], gone[-1])]]
        parts = [_part(arr, axis, start, stop) for start, stop in zip(starts, stops)]
        return joined("delete", parts, axis, None, None, "same_kind")
    kept = np.ones(size, bool)
    kept[gone] = False
    return functions["take"](arr, np.flatnonzero(kept), axis)


@public()
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """A new tensor with values, in its dtype, before these places of an axis (of the flat array by default).

    `obj`: an integer, integers, a slice or a mask; `values` broadcast to what is inserted.

    >>> import lucid_nb as lnb
    >>> lnb.insert([1, 2, 3], 1, [8, 9])
    tensor([1, 8, 9, 2, 3])
    """
    arr, axis = _on_axis("insert", arr, axis)
    size = arr.shape[axis]
    places = _places("insert", obj, size, size + 1)
    added = _values(arr, values)
    if isinstance(places, int) or places.size == 1:
        added = added.moved(Slice((*(None,) * max(arr.ndim - added.ndim, 0), ...)))
        if isinstance(places, int):                        # NumPy lays the first axis of the values along the axis
            added = functions["moveaxis"](added, 0, axis)
        first = places if isinstance(places, int) else int(places[0])
        count = added.shape[axis]
        added = _fitted(added, arr, axis, count)
        return joined("insert", [_part(arr, axis, 0, first), added, _part(arr, axis, first, None)], axis, None, None,
                      "same_kind")
    added = _fitted(added, arr, axis, places.size)
    # Each new element goes before the old one at its place; of equal places in the order given.
    order = np.empty(size + places.size, np.int64)
    arranged = np.argsort(places, kind="stable")
    slots = places[arranged] + np.arange(places.size)
    is_old = np.ones(order.size, bool)
    is_old[slots] = False
    order[slots], order[is_old] = size + arranged, np.arange(size)
    return functions["take"](joined("insert", [arr, added], axis, None, None, "same_kind"), order, axis)


def _values(x: Tensor, values: Any) -> Tensor:
    """What is inserted, in the dtype that it enters."""
    if type(values) in dtypes.WEAK:
        values = fresh(constant("insert", values, x.dtype, backend.of(x.raw)))
    return astype(tensors_of("insert", [x, values])[1], x.dtype, copy=False)


def _fitted(added: Tensor, x: Tensor, axis: int, count: int) -> Tensor:
    """What is inserted, as so many slices of x."""
    wanted = (*x.shape[:axis], count, *x.shape[axis + 1:])
    added = without_leading(added, x.ndim)
    if shapes.broadcast_shapes("insert", added.shape, wanted) != wanted:
        raise ShapeError(f"insert: values of shape {added.shape} do not fit {wanted}. Reshape them.")
    return added.broadcast_to(wanted)


@public()
def trim_zeros(filt: Any, trim: str = "fb", axis: int | None = None) -> Tensor:
    """A view without the zeros at the front ("f") and back ("b") of an axis (of all axes by default).

    >>> import lucid_nb as lnb
    >>> lnb.trim_zeros([0, 0, 1, 2, 0])
    tensor([1, 2])
    """
    filt = as_tensor("trim_zeros", filt)
    word = str(trim).lower()
    if word not in ("fb", "bf", "f", "b"):
        raise DTypeError(f"trim_zeros: trim {trim!r} is unknown. Use 'f', 'b' or 'fb'.")
    axes = shapes.normalize_axes("trim_zeros", axis, filt.ndim)
    places = np.nonzero(np.atleast_1d(filt.to_host()))
    index: list[slice] = []
    for one, (size, found) in enumerate(zip(filt.shape, places)):
        if one not in axes:
            index.append(slice(None))
        elif found.size == 0:
            index.append(slice(0, 0))
        else:
            index.append(slice(int(found.min()) if "f" in word else 0, int(found.max()) + 1 if "b" in word else size))
    return filt.moved(Slice((*index, ...)))
