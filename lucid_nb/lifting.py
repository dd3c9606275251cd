"""Tensors going into a level of `vmap` and out of it, and across levels: ops, recorded as all others.

A tensor that comes in has its examples hidden along an axis; what is the same for all of them has a hidden axis of size
1, and its gradient is that of each example by itself. Only where it is lifted from outside are these gradients added.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import backend
from .apply import apply, version_of
from .array import Tensor, fresh
from .backend import Table
from .batched import Batched, Level, active, arranged, built, levels_of, merged, taken_apart
from .errors import ShapeError
from .op import Info, Primitive, registry
from .shapes import product
from .storage import Slice, Version

Levels = tuple[Level, ...]


class Followed(Version):
    """The version of memory that a tensor within vmap reads and does not own: writes of the owner count too."""

    def __init__(self, owner: Version) -> None:
        self.owner, self.own, self.last = owner, 0, None

    @property
    def written(self) -> int:
        """When the memory was last written."""
        return max(self.own, self.owner.written)

    @written.setter
    def written(self, value: int) -> None:
        self.own = value

    @property
    def writer(self) -> Any:
        """Who wrote last."""
        return self.last or self.owner.writer

    @writer.setter
    def writer(self, value: Any) -> None:
        self.last = value


# ---------------------------------------------------------------------------------------------- primitives
def _enter(table: Table, x: Any, axis: int, level: Level) -> Any:
    """The axis of examples becomes the hidden axis of a level."""
    own = levels_of(x)
    memory, wanted = arranged(x, own), merged(own, (level,))
    place, at = wanted.index(level), len(own) + axis
    rest = [other for other in range(len(memory.shape)) if other != at]
    order = (*rest[:place], at, *rest[place:])
    memory = memory if order == tuple(range(len(order))) else backend.of(memory).permute(memory, order)
    return _with_constant(memory, wanted, taken_apart(x)[1].count(None))


def _leave(table: Table, x: Any, axis: int, level: Level) -> Any:
    """The hidden axis of a level becomes an axis; what is the same for all examples is repeated."""
    if axis == 0 and isinstance(x, Batched) and x.level is level and x.hidden == level.size != 1:
        return x.raw                                     # the common case
    wanted = merged(levels_of(x), (level,))
    memory, place, at = arranged(x, wanted), wanted.index(level), len(wanted) - 1 + axis
    below, shape = backend.of(memory), tuple(memory.shape)
    if shape[place] != level.size:
        memory = below.broadcast_to(memory, (*shape[:place], level.size, *shape[place + 1:]))
    rest = [other for other in range(len(shape)) if other != place]
    order = (*rest[:at], place, *rest[at:])
    memory = memory if at == place else below.permute(memory, order)
    return _with_constant(memory, [other for other in wanted if other is not level], _other_constant(x, level))


def _other_constant(x: Any, level: Level) -> int:
    """How many levels, but for one that may be among them, an array is the same for."""
    levels = taken_apart(x)[1]
    return max(levels.count(None) - (level not in levels), 0)


def _with_constant(memory: Any, levels: Sequence[Level], constant: int) -> Any:
    """The array of these levels, within so many more that it is the same for: it must stay one of its class."""
    memory = backend.of(memory).reshape(memory, (*(1,) * constant, *memory.shape)) if constant else memory
    return built(memory, (*(None,) * constant, *levels))


def _lift(table: Table, x: Any, inner: Levels, outer: Levels) -> Any:
    """The same for every example of the levels that `outer` has and `inner` has not."""
    own = levels_of(x)
    wanted = outer if all(level in outer for level in own) else merged(outer, own)
    return built(arranged(x, wanted), wanted)


def _collapse(table: Table, g: Any, inner: Levels, outer: Levels) -> Any:
    """The sum over the examples of the levels that `outer` has and `inner` has not."""
    gone = [level for level in outer if level not in inner]
    own = levels_of(g)
    memory = arranged(g, own)
    below, repeats = backend.of(memory), [level.size for level in gone]
    summed = tuple([own.index(level) for level in gone if level in own and memory.shape[own.index(level)] != 1])
    for axis in summed:
        repeats.remove(own[axis].size)
    if summed:
        memory = below.reduce("sum", memory, summed, True, below.dtype_of(memory))
    wanted = merged([level for level in own if level not in gone], inner)
    found, count = built(arranged(built(memory, own), wanted), wanted), product(tuple(repeats))
    return found if count == 1 else registry["multiply"].run((found, count))


def _same(table: Table, x: Any, level: Level) -> Any:
    """What is the same for all examples of a level, without it."""
    wanted = [other for other in levels_of(x) if other is not level]
    return _with_constant(arranged(x, wanted), wanted, _other_constant(x, level))


def _pull_same(ops: Any, info: Info, g: Any, level: Level) -> tuple:
    """The gradient of one example; the others have none, so that the sum over all is right."""
    several = ops.embed(g, shape=(level.size, *info.shape(0)), steps=(Slice((0, ...)),))
    return (ops.enter_vmap(several, axis=0, level=level),)


ONE = ((0,),)
_enter_vmap = Primitive("enter_vmap", _enter, lambda ops, info, g, axis, level: (
    ops.leave_vmap(g, axis=axis, level=level),), linear=ONE)
_leave_vmap = Primitive("leave_vmap", _leave, lambda ops, info, g, axis, level: (
    ops.enter_vmap(g, axis=axis, level=level),), linear=ONE)
_lift_vmap = Primitive("lift_vmap", _lift, lambda ops, info, g, inner, outer: (
    ops.collapse_vmap(g, inner=inner, outer=outer),), linear=ONE)
_collapse_vmap = Primitive("collapse_vmap", _collapse, lambda ops, info, g, inner, outer: (
    ops.lift_vmap(g, inner=inner, outer=outer),), linear=ONE)
_same_vmap = Primitive("same_vmap", _same, _pull_same, linear=ONE)


# ------------------------------------------------------------------------------------------ going in and out
def _noted(x: Tensor, found: Tensor) -> Tensor:
    """What reads the memory of x: a graph that saves it must learn of writes into x, and results must not share it."""
    memory = taken_apart(x.raw)[0]
    if backend.of(memory).aliases:
        found.storage, found.version = None, Followed(version_of(x))
        for level in active.levels:
            level.roots[id(root_of(memory))] = memory
    return found


def root_of(memory: Any) -> Any:
    """The array that owns the memory."""
    while isinstance(getattr(memory, "base", None), np.ndarray):
        memory = memory.base
    return memory


def entered(x: Tensor, axis: int | None, level: Level) -> Tensor:
    """A tensor in a level and all outer ones, with its examples along an axis, or the same for all of them."""
    if axis is None:
        return here(x)
    if len(active.levels) > 1:
        outer = [other for other in active.levels if other.number < level.number]
        x = lifted(x, merged(levels_of(x.raw), outer))
    return _noted(x, _called(_enter_vmap, x, axis=axis, level=level))


def _called(op: Primitive, x: Tensor, **params: Any) -> Tensor:
    """The op on a tensor that is up to date; by the short road where nothing is recorded."""
    return fresh(op.run((x.raw,), params)) if x.node is None else apply(op, (x,), params)


def here(x: Tensor) -> Tensor:
    """A tensor in all active levels, so that its gradient is that of each example."""
    return lifted(x, merged(levels_of(x.raw), active.levels)) if active.levels else x


def lifted(x: Tensor, wanted: Sequence[Level | None]) -> Tensor:
    """A tensor in these levels, which are at least its own."""
    raw = x.refresh().raw
    if x.node is None and not isinstance(raw, Batched):                              # the common case, by a short road
        memory = backend.of(raw).reshape(raw, (*(1,) * len(wanted), *raw.shape))
        return _noted(x, fresh(built(memory, wanted))) if wanted else x
    if taken_apart(raw)[1] == tuple(wanted):
        return x
    return _noted(x, _called(_lift_vmap, x, inner=levels_of(x.raw), outer=wanted))


def explicit(x: Tensor, level: Level) -> Tensor:
    """A tensor with the examples of a level along its first axis."""
    return _called(_leave_vmap, x.refresh(), axis=0, level=level)


def left(x: Tensor, axis: int, level: Level) -> Tensor:
    """A tensor out of a level, its examples along an axis, in memory that nothing else has."""
    return _owned(x, _called(_leave_vmap, x, axis=axis, level=level), level)


def left_alone(x: Tensor, level: Level) -> Tensor:
    """A tensor that is the same for all examples, out of a level."""
    memory, levels = taken_apart(x.raw)
    if level in levels and memory.shape[levels.index(level)] != 1:
        raise ShapeError("vmap: out_axes is None for a result that differs between examples. Give its axis.")
    return _owned(x, _called(_same_vmap, x, level=level), level)


def _owned(x: Tensor, found: Tensor, level: Level) -> Tensor:
    """The result, copied where a graph, an argument or another result may hold its memory."""
    memory = taken_apart(found.raw)[0]
    if not backend.of(memory).aliases:
        return found
    root = root_of(memory)
    is_new = (type(memory) is np.ndarray and memory.flags.writeable and id(root) not in level.roots
              and x.node is None and x.storage is None and (x.version is None or not x.version.is_saved()))
    if is_new:
        level.roots[id(root)] = root
        return found
    return apply(registry["copy"], (found,))


# ---------------------------------------------------------------------------------------- operands and writes
def lift(found: list[Any]) -> list[Any]:
    """Operands, each in the levels that any of them has."""
    tensors = [x for x in found if isinstance(x, Tensor)]
    kinds = {type(x.raw) for x in tensors}
    if len(kinds) == 1 and (not isinstance(tensors[0].raw, Batched) or _agree(tensors)):
        return found
    wanted = merged(*[levels_of(x.raw) for x in tensors])
    return [lifted(x, wanted) if isinstance(x, Tensor) else x for x in found]


def _agree(tensors: Sequence[Tensor]) -> bool:
    """Have arrays of one class the same levels?"""
    if len(tensors) == 1:
        return True
    if len(tensors) == 2 and tensors[0].raw.level is tensors[1].raw.level and type(tensors[0].raw.raw) is np.ndarray:
        return True
    if not isinstance(tensors[0].raw.raw, Batched):
        return len({x.raw.level for x in tensors} - {None}) < 2
    return all(len({*levels} - {None}) < 2 for levels in zip(*[taken_apart(x.raw)[1] for x in tensors]))


def fit(name: str, target: Tensor, value: Tensor) -> Tensor:
    """A value in the levels of what it is written into; it must not differ along others."""
    if not (isinstance(value.raw, Batched) or isinstance(target.raw, Batched)):
        return value
    _, wanted = taken_apart(target.raw)
    memory, levels = taken_apart(value.raw)
    if len(wanted) == len(levels) and all(ours is theirs or ours is None or theirs is None
                                          for ours, theirs in zip(wanted, levels)):
        return value
    if any(hidden != 1 and level not in wanted for level, hidden in zip(levels, memory.shape)):
        raise ShapeError(f"{name}: the value differs between the examples of vmap, the tensor is from outside and "
                         "would have to hold all of them. Return the value, or write into a tensor made inside.")
    for level in levels:
        if level is not None and level not in wanted:
            value = apply(_same_vmap, (value,), {"level": level})
    return lifted(value, wanted)


def made(raw: Any) -> Any:
    """New memory of a function within vmap, so that what differs between examples can be written into it."""
    levels = merged(active.levels)
    return raw if isinstance(raw, Batched) or not levels else built(arranged(raw, levels), levels)
