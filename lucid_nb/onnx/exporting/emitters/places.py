"""What is taken at places, and written there."""

from typing import Any

import numpy as np

from ..known import emits
from ..recording import TENSOR, Value
from ..writer import Ref, Writer, refused
from .movement import cut


def _places(w: Writer, index: Ref) -> str:
    return index.name if index.dtype in (np.int32, np.int64) else w.cast(index.name, index.dtype, np.int64)


@emits("gather")
def _gather(w: Writer, out: Value, x: Ref, index: Ref, axis: int) -> str:
    return w.node("Gather", x, _places(w, index), axis=axis)


@emits("embedding")
def _embedding(w: Writer, out: Value, weight: Ref, index: Ref, factors: Any = None) -> str:
    return w.node("Gather", weight, _places(w, index), axis=0, stem="embedding")


@emits("positions.embedding")
def _embedding_of_positions(w: Writer, out: Value, index: Ref, weight: Ref, arguments: Any) -> str:
    return w.node("Gather", weight, _places(w, index), axis=0, stem="embedding")


@emits("positions.take")
def _take(w: Writer, out: Value, x: Ref, index: Ref, arguments: Any) -> str:
    axis, mode = arguments
    if mode != "raise":
        raise refused("take", f"has mode {mode!r}. Bring positions into range before.")
    return w.node("Gather", x, _places(w, index), axis=axis)


@emits("positions.take_along_axis", "positions.gather")
def _along(w: Writer, out: Value, x: Ref, index: Ref, arguments: Any) -> str:
    return w.node("GatherElements", x, _places(w, index), axis=arguments[0])


@emits("take_along", "along")
def _take_along(w: Writer, out: Value, x: Ref, places: Ref, axis: int) -> str:
    return w.node("GatherElements", x, _places(w, places), axis=axis)


@emits("positions.getitem")
def _getitem(w: Writer, out: Value, x: Ref, *index: Ref, arguments: Any) -> str:
    """One array of places, beside slices."""
    parts, = arguments
    is_plain = all(part is None or part is Ellipsis or part is TENSOR or isinstance(part, slice) for part in parts)
    if len(index) != 1 or index[0].dtype.kind == "b" or not is_plain:
        raise refused("index", "has a mask, or several arrays. Use lnb.where, or lnb.take along one axis.")
    place = parts.index(TENSOR)
    ahead = [part for part in parts[:place] if part is not Ellipsis]
    axis = len(ahead)
    if Ellipsis in parts[:place]:
        axis += x.ndim - sum(1 for part in parts if part is not None and part is not Ellipsis)
    found = cut(w, x, tuple([slice(None) if part is TENSOR else part for part in parts]))
    return w.node("Gather", found, _places(w, index[0]), axis=axis)


@emits("set_along", "sum_along", "prod_along", "add_along")
def _set_along(w: Writer, out: Value, x: Ref, places: Ref, values: Ref, axis: int) -> str:
    return w.node("ScatterElements", x, _places(w, places), values, axis=axis)


@emits("topk")
def _topk(w: Writer, out: Value, x: Ref, count: int, axis: int, largest: bool) -> list[str]:
    return w.nodes_of("TopK", [x.name, w.shape([count])], 2, axis=axis, largest=int(largest), sorted=1)


def _sorted(name: str, number: int) -> None:
    @emits(name)
    def emit(w: Writer, out: Value, x: Ref, axis: int, descending: bool) -> str:
        whole = w.shape([x.shape[axis]])
        return w.nodes_of("TopK", [x.name, whole], 2, axis=axis, largest=int(descending), sorted=1)[number]


_sorted("sort", 0)
_sorted("argsort", 1)


@emits("cumsum")
def _cumsum(w: Writer, out: Value, x: Ref, axis: int) -> str:
    return w.node("CumSum", x, w.constant(np.array(axis, np.int64)))
