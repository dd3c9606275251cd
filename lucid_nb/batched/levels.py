"""The levels of nested `vmap`: which are active, and arrays taken apart into memory and levels, outermost first."""

import threading
from collections.abc import Sequence
from functools import partial
from itertools import count
from math import prod
from typing import Any

from .. import backend, tape
from .raw import Batched, Level, over

Levels = tuple[Level | None, ...]
_numbers = count()


class Active(threading.local):
    """The levels that this thread is in, outermost first."""

    def __init__(self) -> None:
        self.levels: list[Level] = []

    def enter(self, size: int) -> Level:
        """A new innermost level."""
        draws = tape.modes.draws
        self.levels.append(_level(size) if draws is None else draws.level(partial(_level, size)))
        return self.levels[-1]


def _level(size: int) -> Level:
    return Level(next(_numbers), size)


active = Active()


class Within:
    """A block that is within these levels too, which may have ended: what is made in it can hold their examples."""

    __slots__ = ("before", "levels")

    def __init__(self, levels: Sequence[Level]) -> None:
        self.levels = levels

    def __enter__(self) -> None:
        self.before, active.levels = active.levels, [*merged(active.levels, self.levels)]

    def __exit__(self, *_: object) -> None:
        active.levels = self.before
        for level in self.levels:
            if level not in active.levels:
                level.roots.clear()


def taken_apart(raw: Any) -> tuple[Any, Levels]:
    """The memory below all levels, whose first axes belong to them, and the levels; None for those of constants."""
    found: list[Level | None] = []
    while isinstance(raw, Batched):
        found.append(raw.level)
        raw = raw.raw
    return raw, tuple(reversed(found))


def built(memory: Any, levels: Sequence[Level | None]) -> Any:
    """The raw array of a memory whose first axes belong to these levels."""
    for level in levels:
        memory = over(memory)(memory, level)
    return memory


def levels_of(raw: Any) -> tuple[Level, ...]:
    """The levels of a raw array; constants have none."""
    return tuple([level for level in taken_apart(raw)[1] if level is not None])


def examples(raw: Any) -> int:
    """How many examples, of all levels together, a raw array holds."""
    memory, levels = taken_apart(raw)
    return prod(memory.shape[:len(levels)])


def arranged(raw: Any, wanted: Sequence[Level | None]) -> Any:
    """The memory of a raw array with an axis for each wanted level, of size 1 where it is the same along it.

    What it leaves out of the array's own levels has size 1.
    """
    memory, levels = taken_apart(raw)
    if levels == tuple(wanted):
        return memory
    extents = {level: memory.shape[number] for number, level in enumerate(levels)}
    shape = tuple([extents.get(level, 1) for level in wanted])
    return backend.of(memory).reshape(memory, (*shape, *memory.shape[len(levels):]))


def merged(*sets: Sequence[Level]) -> tuple[Level, ...]:
    """All levels of some sets, outermost first."""
    return tuple(sorted({level for levels in sets for level in levels}, key=lambda level: level.number))
