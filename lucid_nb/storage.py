"""Storage: the memory that a base and its views share. A view is its base plus movement steps, on every device.

Where slices alias (cpu, cuda) the strided array is kept beside the steps. On mlx, where they do not, it is read again
when the generation has moved, and a write goes through the steps to the base. Gradients of views and of writes use
the same steps, so no device needs its own.
"""

import sys
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from . import backend

Raw = Any


class Version:
    """Counts the writes into a memory. Its own object: a node may hold the version of its own result without a cycle.

    Exactly one tensor or storage holds it; whatever else does is a node that saved the memory.
    """

    __slots__ = ("count", "writer")

    def __init__(self) -> None:
        self.count = 0
        self.writer: Any = None         # (op name, place) of the latest write

    def is_saved(self) -> bool:
        """Does a live graph need the present content?"""
        return sys.getrefcount(self) > _UNSAVED_COUNT


class Storage:
    """A memory, its version, and a count that grows when what views remember (a node, a copied slice) is stale.

    A tensor gets one when its memory is first shared or written; a fresh result that is only read never does.
    """

    __slots__ = ("aliases", "generation", "raw", "version")

    def __init__(self, raw: Raw, version: Version) -> None:
        self.raw, self.version, self.generation = raw, version, 0
        self.aliases = backend.of(raw).aliases


class Root:
    """The graph node of the whole content of a storage, or of the view that was detached from another root.

    `depth`: how many of a tensor's steps lie before it; `like`: shape and dtype of that content.
    """

    __slots__ = ("depth", "like", "node")

    def __init__(self, node: Any, depth: int, like: tuple) -> None:
        self.node, self.depth, self.like = node, depth, like


def _unsaved_count() -> int:
    """The references to a version that only one storage holds, as `is_saved` sees them."""
    seen: list[int] = []
    probe = type("Probe", (Version,), {"__slots__": (), "is_saved": lambda self: seen.append(sys.getrefcount(self))})
    storage = Storage.__new__(Storage)
    storage.version = probe()
    storage.version.is_saved()
    return seen[0]


_UNSAVED_COUNT = _unsaved_count()


class Movement(Protocol):
    """One step of a view."""

    def read(self, raw: Raw) -> Raw: ...
    def write(self, raw: Raw, value: Raw) -> Raw: ...


@dataclass(frozen=True)
class Slice:
    """Basic indexing, by integers, slices, None and an ellipsis. The ellipsis keeps an all-integer index a view."""

    index: tuple

    def read(self, raw: Raw) -> Raw:
        """The indexed view."""
        return backend.of(raw).slice(raw, self.index)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """`raw` with the view replaced, out of place."""
        table = backend.of(raw)
        if not table.aliases:
            return table.put_slice(raw, self.index, value)
        new = table.copy(raw)
        table.assign(table.slice(new, self.index), value)
        return new


@dataclass(frozen=True)
class Permute:
    """Axes reordered."""

    axes: tuple[int, ...]

    def read(self, raw: Raw) -> Raw:
        """The permuted view."""
        return backend.of(raw).permute(raw, self.axes)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """The value, permuted back."""
        return backend.of(value).permute(value, tuple(sorted(range(len(self.axes)), key=self.axes.__getitem__)))


@dataclass(frozen=True)
class Reshape:
    """Another shape of the same elements, where strides allow it."""

    shape: tuple[int, ...]

    def read(self, raw: Raw) -> Raw:
        """The reshaped view."""
        return backend.of(raw).reshape(raw, self.shape)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """The value in the old shape."""
        return backend.of(value).reshape(value, tuple(raw.shape))


def read(raw: Raw, steps: "tuple[Movement, ...]") -> Raw:
    """The view of `raw` at the end of `steps`."""
    for step in steps:
        raw = step.read(raw)
    return raw


def put(raw: Raw, steps: "tuple[Movement, ...]", value: Raw) -> Raw:
    """`raw` with the view at the end of `steps` replaced by `value`, out of place."""
    if not steps:
        table = backend.of(raw)
        return table.copy(table.broadcast_to(value, tuple(raw.shape)))
    first, rest = steps[0], steps[1:]
    return first.write(raw, put(first.read(raw), rest, value))


def is_viewable(shape: tuple[int, ...], steps: "tuple[Movement, ...]", new_shape: tuple[int, ...]) -> bool:
    """Can the view be reshaped without a copy (NumPy's rule)? Decided on an array whose memory is never touched."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    geometry = read(np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, strides), steps)
    try:
        geometry.reshape(new_shape, copy=False)
    except ValueError:
        return False
    return True
