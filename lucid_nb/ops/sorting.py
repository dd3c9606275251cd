"""Sorting, order statistics by place, the largest of many, and searching in sorted arrays.

NaN counts as larger than every number: it comes last in rising order, first in falling order and among the largest.
Gradients go to the places that values came from; of equal elements the first one comes first.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..backend import entry
from ..errors import DTypeError, IndexError, ShapeError
from ..op import Primitive
from ..register import public, short
from .hosted import hosted
from .movement import as_tensor, astype, reshape
from .places import pair, routed, take_places, wants_gradient

KINDS = (None, "quicksort", "heapsort", "mergesort", "stable", "introselect")
Kth = int | Sequence[int]


# ---------------------------------------------------------------------------------------------- primitives
_sort = Primitive("sort", lambda table, x, axis, descending: entry(table, "sort")(x, axis, descending), None,
                  flops=flops.sorting)
_argsort = Primitive("argsort", lambda table, x, axis, descending: entry(table, "argsort")(x, axis, descending), None,
                     flops=flops.sorting)
_partition = Primitive("partition", lambda table, x, kth, axis: entry(table, "partition")(x, kth, axis), None,
                       flops=flops.per_input(1))
_topk = Primitive("topk", lambda table, x, count, axis, largest: entry(table, "topk")(x, count, axis, largest), None,
                  flops=flops.sorting)
_searchsorted = Primitive("searchsorted", lambda table, x, values, side: entry(table, "searchsorted")(x, values, side),
                          None, flops=flops.searching)


def places_in_order(x: Tensor, axis: int, descending: bool = False) -> Tensor:
    """Places along an axis that put x in order, equal elements in their own order."""
    return apply(_argsort, (x.detach(),), {"axis": axis, "descending": descending})


def in_order(x: Tensor, axis: int, descending: bool = False) -> Tensor:
    """x sorted along an axis, with its gradient."""
    if wants_gradient(x):
        return take_places(x, places_in_order(x, axis, descending), axis)
    return apply(_sort, (x,), {"axis": axis, "descending": descending})


def partly_in_order(x: Tensor, kth: tuple[int, ...], axis: int) -> Tensor:
    """x with the elements at places `kth` (from the front) as in sorted order, with its gradient."""
    if not kth or x.shape[axis] < 2 or wants_gradient(x):
        return in_order(x, axis)
    return apply(_partition, (x,), {"kth": kth, "axis": axis})


# ------------------------------------------------------------------------------------------------ arguments
def _prepared(name: str, x: Any, axis: int | None, kind: Any, order: Any) -> tuple[Tensor, int]:
    """The tensor and its axis from the front; flat without an axis."""
    if order is not None:
        raise DTypeError(f"{name}: order={order!r} names fields, which are not supported. Leave order out.")
    if kind not in KINDS:
        raise ShapeError(f"{name}: kind {kind!r} is unknown. Leave it out; every sort here is stable.")
    x = as_tensor(name, x)
    if axis is None:
        return reshape(x, -1), 0
    return x, shapes.normalize_axis(name, axis, x.ndim)


def _not_flat(name: str, x: Any) -> Tensor:
    """The tensor; a number as an array of one element, as NumPy's functions that give places take it."""
    x = as_tensor(name, x)
    return x if x.ndim else reshape(x, -1)


def _kth(name: str, kth: Kth, size: int) -> tuple[int, ...]:
    """Places from the front."""
    found = []
    for place in np.atleast_1d(kth.to_host() if isinstance(kth, Tensor) else np.asarray(kth)):
        place = shapes.as_integer(name, "kth", place)
        if not -size <= place < size:
            raise ShapeError(f"{name}: kth {place} is out of range for {size} elements. Use {-size} to {size - 1}.")
        found.append(place % size)
    return tuple(sorted(set(found)))


# ------------------------------------------------------------------------------------------------ functions
@public(method=False)
def sort(a: Any, axis: int | None = -1, kind: str | None = None, order: Any = None, *, stable: bool | None = None,
         descending: bool = False) -> Tensor:
    """The elements in order along an axis, without one of the flattened array; NaN last (descending, first).

    >>> import lucid_nb as lnb
    >>> lnb.sort(lnb.tensor([3.0, 1.0, 2.0]), descending=True)
    tensor([3., 2., 1.])
    """
    if axis == -1 and kind is order is None and not descending and (raw := short.small(a)) is not None:
        return short.made(backend.of(raw).sort(raw, raw.ndim - 1, False))
    a, axis = _prepared("sort", a, axis, kind, order)
    return in_order(a, axis, bool(descending))


def sort_in_place(self: Tensor, axis: int = -1, kind: str | None = None, order: Any = None, *,
                  stable: bool | None = None, descending: bool = False) -> None:
    """Put the elements along an axis in order, in place, as NumPy's method."""
    self.check_writable("sort")
    self.write(sort(self, axis, kind, order, stable=stable, descending=descending), "sort")


@public()
def argsort(a: Any, axis: int | None = -1, kind: str | None = None, order: Any = None, *,
            stable: bool | None = None, descending: bool = False) -> Tensor:
    """The places (int64) that put the elements along an axis in order; equal elements keep their order.

    >>> import lucid_nb as lnb
    >>> lnb.argsort(lnb.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    a, axis = _prepared("argsort", _not_flat("argsort", a), axis, kind, order)
    return places_in_order(a, axis, bool(descending))


@public(method=False)
def partition(a: Any, kth: Kth, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Tensor:
    """The elements along an axis, those at places `kth` as if sorted, no larger one before and no smaller one behind.

    >>> import lucid_nb as lnb
    >>> lnb.partition(lnb.tensor([3.0, 1.0, 2.0]), 1)[1]
    tensor(2.)
    """
    a, axis = _prepared("partition", a, axis, kind, order)
    return partly_in_order(a, _kth("partition", kth, a.shape[axis]), axis)


def partition_in_place(self: Tensor, kth: Kth, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """`partition` in place, as NumPy's method."""
    self.check_writable("partition")
    self.write(partition(self, kth, axis, kind, order), "partition")


Tensor.sort, Tensor.partition = sort_in_place, partition_in_place  # type: ignore[method-assign]


@public()
def argpartition(a: Any, kth: Kth, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Tensor:
    """The places (int64) that make the partition of an axis at places `kth`; here those of the whole order.

    >>> import lucid_nb as lnb
    >>> lnb.argpartition(lnb.tensor([3.0, 1.0, 2.0]), 0)
    tensor([1, 2, 0])
    """
    a, axis = _prepared("argpartition", _not_flat("argpartition", a), axis, kind, order)
    _kth("argpartition", kth, a.shape[axis])
    return places_in_order(a, axis)


@public()
def topk(x: Any, /, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) elements along an axis and their places (int64), always in order.

    Of equal elements the first come first. The gradient goes to the places.

    >>> import lucid_nb as lnb
    >>> lnb.topk(lnb.tensor([3.0, 1.0, 2.0]), 2)
    (tensor([3., 2.]), tensor([0, 2]))
    """
    x = as_tensor("topk", x)
    axis = shapes.normalize_axis("topk", axis, x.ndim)
    k = shapes.as_integer("topk", "k", k)
    if not 0 <= k <= x.shape[axis]:
        raise ShapeError(f"topk: k is {k} for {x.shape[axis]} elements along axis {axis}. Use 0 to {x.shape[axis]}.")
    if k == 0:
        empty = x[(slice(None),) * axis + (slice(0, 0),)].copy()
        return empty, astype(empty.detach(), np.int64)
    values, places = apply(_topk, (x.detach(),), {"count": k, "axis": axis, "largest": bool(largest)})
    return routed(x, values, places, axis), places


@public(method=False)
@hosted
def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The places (int64) that sort by several keys, the last one first; `keys` is a sequence, or rows of an array.

    Found on the host.

    >>> import lucid_nb as lnb
    >>> lnb.lexsort([lnb.tensor([2, 1, 3]), lnb.tensor([1, 1, 0])])
    tensor([2, 1, 0])
    """
    found = [as_tensor("lexsort", key) for key in keys]
    if not found:
        raise ShapeError("lexsort: no keys. Give at least one.")
    if len({key.shape for key in found}) > 1:
        raise ShapeError(f"lexsort: keys of shapes {[key.shape for key in found]}. Make them equal.")
    ndim = found[0].ndim
    axis = shapes.normalize_axis("lexsort", axis, ndim) if ndim else 0
    hosts = [_comparable(key.to_host()) for key in found]
    places = np.asarray(np.lexsort(hosts, axis), np.int64)
    return Tensor(backend.of(found[0].raw).from_numpy(places))


def _comparable(host: np.ndarray) -> np.ndarray:
    """NumPy has no right order of bfloat16 with NaN."""
    return host.astype(np.float32) if host.dtype == dtypes.BFLOAT16 else host


@public()
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values v belong in a sorted 1-D a (int64): before equal elements, or behind them ("right").

    `sorter`: the places that sort a, if it is not sorted.

    >>> import lucid_nb as lnb
    >>> lnb.searchsorted(lnb.tensor([1, 2, 2, 3]), lnb.tensor([2, 9]))
    tensor([1, 4])
    """
    a, v = pair("searchsorted", a, v)
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: the table has shape {a.shape}. It must be 1-D.")
    if side not in ("left", "right"):
        raise ShapeError(f"searchsorted: side {side!r} is unknown. Use 'left' or 'right'.")
    if sorter is not None:
        a = _ordered_by(a, sorter)
    common = dtypes.promote((a.dtype, v.dtype), a.device)
    operands = [astype(x.detach(), common, copy=False) for x in (a, v)]
    return apply(_searchsorted, operands, {"side": side})


def _ordered_by(table: Tensor, sorter: Any) -> Tensor:
    """The table in the order that a sorter says."""
    places = as_tensor("searchsorted", sorter)
    if places.shape != table.shape:
        raise ShapeError(f"searchsorted: the sorter has shape {places.shape}, the table {table.shape}. "
                         "Make them equal.")
    if places.dtype.kind not in "iu":
        raise IndexError(f"searchsorted: the sorter is {places.dtype}. Use integers.")
    return table[places]
