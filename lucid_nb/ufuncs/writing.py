"""`ufunc.at`: a function applied in place at positions, to an element as often as the positions name it."""

from typing import Any

import numpy as np

from ..array import Tensor
from ..errors import DTypeError
from ..ops.indexing import beside, getitem, setitem
from ..ops.movement import astype, broadcast_to, reshape
from ..ops.positions import plain
from ..ops.scattering import index_put, scatter_add, scatter_reduce, written
from .loops import loop_for

JOINED = {"multiply": "prod", "maximum": "amax", "minimum": "amin"}


def positions_of(shape: tuple[int, ...], indices: Any) -> np.ndarray:
    """The elements that an index names, by their numbers in the flat array, with repeats."""
    parts = indices if isinstance(indices, tuple) else (indices,)
    hosts = tuple([np.asarray(plain(part)) if isinstance(part, (Tensor, list)) else part for part in parts])
    size = int(np.prod(shape, dtype=np.int64))
    return np.asarray(np.arange(size).reshape(shape)[hosts])


def at(function: Any, a: Any, indices: Any, b: Any = None, /) -> None:
    """`a[indices] = function(a[indices], b)`, but equal indices take part one after the other; recorded."""
    op, name = function.record, function.__name__
    if (b is None) != (op.arity == 1) or len(op.outputs) != 1 or op.arity > 2:
        raise DTypeError(f"{name}.at: takes an array, indices" + " and a second operand" * (op.arity > 1)
                         + f", of functions with one result; it has {op.arity} operands and {len(op.outputs)} results.")
    target = written(f"{name}.at", a)
    positions = positions_of(target.shape, indices)
    if positions.size == 0:
        return
    cells, inverse = np.unique(positions, return_inverse=True)
    inverse = inverse.reshape(-1)
    where = np.unravel_index(cells, target.shape) if target.ndim else (...,)
    old = reshape(getitem(target, where), cells.shape)
    if op.arity == 1:
        new = _one_by_one(function, old, inverse, None)
    else:
        values = reshape(broadcast_to(beside(target, b)[1], positions.shape), -1)
        new = _joined(function, old, inverse, values)
    setitem(target, where, reshape(astype(new, target.dtype, copy=False), cells.shape if target.ndim else ()))


def _joined(function: Any, old: Tensor, inverse: np.ndarray, values: Tensor) -> Tensor:
    """All values joined with their elements, in the order given; floats in the dtype that both have in common."""
    name = function.__name__
    (loop,) = loop_for(function.record, (old.dtype, values.dtype)).results
    if (loop == old.dtype or old.dtype.kind == loop.kind == "f") and loop.kind != "b":
        old, values = astype(old, loop, copy=False), astype(values, loop, copy=False)
        if name == "add":
            return scatter_add(old, inverse, values, axis=0)
        if name in JOINED and loop.kind != "c":
            return scatter_reduce(old, inverse, values, axis=0, reduce=JOINED[name])
    return _one_by_one(function, old, inverse, values)


def _one_by_one(function: Any, old: Tensor, inverse: np.ndarray, values: Tensor | None) -> Tensor:
    """As many calls as the most frequent element has repeats: each takes one of every element that has any left."""
    order = np.argsort(inverse, kind="stable")
    turn = np.empty_like(order)
    starts = np.searchsorted(inverse[order], inverse[order])
    turn[order] = np.arange(order.size) - starts
    for number in range(int(turn.max()) + 1):
        chosen = np.flatnonzero(turn == number)
        cells = inverse[chosen]
        before = getitem(old, cells)
        found = function(before) if values is None else function(before, getitem(values, chosen))
        old = index_put(old, (cells,), astype(found, old.dtype, copy=False))
    return old
