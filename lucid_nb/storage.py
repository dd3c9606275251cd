"""Storage: the memory that a base and its views share. A view is its base plus movement steps, on every device.

Where slices alias (cpu, cuda) the strided array is kept beside the steps. On mlx, where they do not, it is read again
when the generation has moved, and a write goes through the steps to the base. Gradients of views and of writes use
the same steps, so no device needs its own.
"""

import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from . import backend
from .shapes import inverse_permutation

Raw = Any


class Clock:
    """Counts the writes of all threads: where it stands still, nothing that a graph has saved was overwritten."""

    __slots__ = ("lock", "now")

    def __init__(self) -> None:
        self.lock, self.now = threading.Lock(), 0


clock = Clock()
if hasattr(os, "register_at_fork"):        # the lock may be held by a thread that the child does not have
    os.register_at_fork(after_in_child=lambda: setattr(clock, "lock", threading.Lock()))


class Version:
    """When a memory was last written. Its own object: a node may hold the version of its own result without a cycle.

    Exactly one tensor or storage holds it; whatever else does is a node that saved the memory.
    """

    written = 0                         # by the clock; set in the class, so that making one takes no time
    writer: Any = None                  # (op name, place) of the latest write

    def write(self, name: str, place: Any) -> None:
        """Note a write, and who did it."""
        with clock.lock:
            clock.now += 1
            self.written, self.writer = clock.now, (name, place)

    def is_saved(self) -> bool:
        """Does a live graph need the present content?"""
        return sys.getrefcount(self) > _UNSAVED_COUNT


_replacing = threading.Lock()


class Storage:
    """A memory, its version, and a count that grows when what views remember (a node, a copied slice) is stale.

    A tensor gets one when its memory is first shared or written; a fresh result that is only read never does.
    """

    __slots__ = ("aliases", "generation", "raw", "version")

    def __init__(self, raw: Raw, version: Version) -> None:
        self.raw, self.version, self.generation = raw, version, 0
        self.aliases = backend.of(raw).aliases

    def replace(self, steps: "tuple[Movement, ...]", raw: Raw) -> None:
        """Write a part where views do not alias: one thread at a time, since each makes the whole anew."""
        with _replacing:
            self.raw = put(self.raw, steps, raw)
            self.generation += 1


class Root:
    """The graph node of the whole content of a storage, or of the view that was detached from another root.

    `depth`: how many of a tensor's steps lie before it; `like`: shape and dtype of that content; `is_unrecorded`: of a
    view that was taken under no_grad, of something in a graph.
    """

    __slots__ = ("depth", "is_unrecorded", "like", "node")

    def __init__(self, node: Any, depth: int, like: tuple, is_unrecorded: bool = False) -> None:
        self.node, self.depth, self.like, self.is_unrecorded = node, depth, like, is_unrecorded


def _unsaved_count() -> int:
    """The references to a version that only one storage holds, as `is_saved` sees them."""
    seen: list[int] = []
    probe = type("Probe", (Version,), {"is_saved": lambda self: seen.append(sys.getrefcount(self))})
    storage = Storage.__new__(Storage)
    storage.version = probe()
    storage.version.is_saved()
    return seen[0]


_UNSAVED_COUNT = _unsaved_count()


class Movement(Protocol):
    """One step of a view: how it is read, how a write through it reaches what it views, and its adjoint."""

    def read(self, raw: Raw) -> Raw: ...
    def write(self, raw: Raw, value: Raw) -> Raw: ...
    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw: ...


@dataclass(slots=True, unsafe_hash=True)       # not frozen: a view is made in no time
class Slice:
    """Basic indexing, by integers, slices, None and an ellipsis. The ellipsis keeps an all-integer index a view."""

    index: tuple

    def read(self, raw: Raw) -> Raw:
        """The indexed view."""
        if type(raw) is np.ndarray and len(self.index) < raw.ndim:       # integers only would give a scalar
            return raw[self.index]
        return backend.of(raw).slice(raw, self.index)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """`raw` with the view replaced, out of place."""
        table = backend.of(raw)
        if not table.aliases:
            return table.put_slice(raw, self.index, value)
        new = table.copy(raw)
        table.assign(table.slice(new, self.index), value)
        return new

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """Zeros around `g`."""
        table = backend.of(g)
        zeros = table.full(shape, 0, table.dtype_of(g))
        if not table.aliases:
            return table.put_slice(zeros, self.index, g)
        table.assign(table.slice(zeros, self.index), g)
        return zeros


@dataclass(slots=True, unsafe_hash=True)       # not frozen: a view is made in no time
class Permute:
    """Axes reordered."""

    axes: tuple[int, ...]

    def read(self, raw: Raw) -> Raw:
        """The permuted view."""
        return backend.of(raw).permute(raw, self.axes)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """The value, permuted back."""
        return self.embed((), value)

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """`g`, permuted back."""
        return backend.of(g).permute(g, inverse_permutation(self.axes))


@dataclass(slots=True, unsafe_hash=True)       # not frozen: a view is made in no time
class Reshape:
    """Another shape of the same elements, where strides allow it."""

    shape: tuple[int, ...]

    def read(self, raw: Raw) -> Raw:
        """The reshaped view."""
        return backend.of(raw).reshape(raw, self.shape)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """The value in the old shape."""
        return self.embed(tuple(raw.shape), value)

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """`g` in the old shape."""
        return backend.of(g).reshape(g, shape)


@dataclass(slots=True, unsafe_hash=True)       # not frozen: a view is made in no time
class Broadcast:
    """A larger shape that holds each element many times. It is read-only, so it has no `write`."""

    shape: tuple[int, ...]

    def read(self, raw: Raw) -> Raw:
        """The enlarged view."""
        return backend.of(raw).broadcast_to(raw, self.shape)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """Never called: what writes refuses read-only memory first."""
        raise AssertionError("a broadcast view is never written")

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """What arrives at the copies of each element, summed."""
        table, extra = backend.of(g), len(self.shape) - len(shape)
        axes = tuple([axis for axis, size in enumerate(self.shape)
                      if axis < extra or shape[axis - extra] == 1 != size])
        return table.reshape(table.reduce("sum", g, axes, False, table.dtype_of(g)), shape) if axes else \
            table.reshape(g, shape)


@dataclass(slots=True, unsafe_hash=True)
class Diagonal:
    """The diagonal of the last two axes, `offset` above the main one."""

    offset: int

    def read(self, raw: Raw) -> Raw:
        """The diagonal view."""
        table, offset = backend.of(raw), self.offset
        corner = table.slice(raw, (..., slice(max(-offset, 0), None), slice(max(offset, 0), None)))
        strides = element_strides(corner)
        length = min(corner.shape[-2:])
        return table.as_strided(corner, (*corner.shape[:-2], length), (*strides[:-2], sum(strides[-2:])))

    def write(self, raw: Raw, value: Raw) -> Raw:
        """`raw` with the diagonal replaced, out of place."""
        table = backend.of(raw)
        new = table.copy(raw)
        if table.aliases:
            table.assign(self.read(new), value)
            return new
        count = np.arange(value.shape[-1])
        rows, cols = count + max(-self.offset, 0), count + max(self.offset, 0)
        return table.put_slice(new, (..., table.from_numpy(rows), table.from_numpy(cols)), value)

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """Zeros with `g` on the diagonal."""
        table = backend.of(g)
        zeros = table.full(shape, 0, table.dtype_of(g))
        if not table.aliases:
            return self.write(zeros, g)
        table.assign(self.read(zeros), g)
        return zeros


@dataclass(slots=True, unsafe_hash=True)
class Windows:
    """Every window of some sizes over some axes, its cells as last axes. Elements recur, so it is read-only."""

    sizes: tuple[int, ...]
    axes: tuple[int, ...]

    def read(self, raw: Raw) -> Raw:
        """The view of windows."""
        shape, strides = list(raw.shape), element_strides(raw)
        for axis, size in zip(self.axes, self.sizes):
            shape[axis] -= size - 1
        within = tuple([strides[axis] for axis in self.axes])
        return backend.of(raw).as_strided(raw, (*shape, *self.sizes), (*strides, *within))

    def write(self, raw: Raw, value: Raw) -> Raw:
        """Never called: what writes refuses read-only memory first."""
        raise AssertionError("a view of windows is never written")

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """What arrives at each element from all its windows, summed."""
        places = np.arange(prod(shape)).reshape(shape)
        return _gathered_back(shape, np.lib.stride_tricks.sliding_window_view(places, self.sizes, self.axes), g)


@dataclass(slots=True, unsafe_hash=True)
class Strided:
    """Elements at any strides, counted in elements, of a view that has `own` strides. Read-only: they may recur."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    own: tuple[int, ...]

    def read(self, raw: Raw) -> Raw:
        """The strided view."""
        return backend.of(raw).as_strided(raw, self.shape, self.strides)

    def write(self, raw: Raw, value: Raw) -> Raw:
        """Never called: what writes refuses read-only memory first."""
        raise AssertionError("a strided view is never written")

    def places(self, shape: tuple[int, ...]) -> np.ndarray:
        """Which element of an array of this shape each is, counted in C order; -1 where it is none of them."""
        spans = [(size - 1) * stride for size, stride in zip(shape, self.own)]
        first = -sum(span for span in spans if span < 0)
        memory = np.full(first + sum(span for span in spans if span > 0) + 1, -1)
        as_strided = np.lib.stride_tricks.as_strided
        as_strided(memory[first:], shape, [8 * stride for stride in self.own])[...] = \
            np.arange(prod(shape)).reshape(shape)
        return as_strided(memory[first:], self.shape, [8 * stride for stride in self.strides])

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """What arrives at each element, summed."""
        return _gathered_back(shape, self.places(shape), g)


@dataclass(slots=True, unsafe_hash=True)
class Reinterpret:
    """The same bits read as another dtype; one of another size divides or joins elements of the last axis."""

    before: np.dtype
    after: np.dtype

    def read(self, raw: Raw) -> Raw:
        """The view in the other dtype; of an array that only shows a geometry, the new geometry."""
        if backend.of(raw).dtype_of(raw) == self.before:
            return backend.of(raw).reinterpret(raw, self.after)
        old, new = self.before.itemsize, self.after.itemsize
        shape = (*raw.shape[:-1], raw.shape[-1] * old // new) if raw.shape else ()
        last = raw.strides[-1:] if old == new else (1,) * len(shape[-1:])              # one element has any stride
        return _hollow(shape, (*[stride * old // new for stride in raw.strides[:-1]], *last))

    def write(self, raw: Raw, value: Raw) -> Raw:
        """The value's bits, read as before."""
        return self.embed((), value)

    def embed(self, shape: tuple[int, ...], g: Raw) -> Raw:
        """`g` read as before: real and imaginary parts as complex numbers, or the other way."""
        return backend.of(g).reinterpret(backend.of(g).copy(g), self.before)


READ_ONLY = (Broadcast, Windows, Strided)      # views that hold an element more than once


def _gathered_back(shape: tuple[int, ...], places: np.ndarray, g: Raw) -> Raw:
    """Zeros with each element of `g` added at its place, counted in C order."""
    table, count = backend.of(g), prod(shape)
    flat = table.reshape(g, (places.size,))
    zeros = table.full((count,), 0, table.dtype_of(g))
    return table.reshape(table.scatter_add(zeros, table.from_numpy(places.reshape(-1)), flat), shape)


def element_strides(raw: Raw) -> tuple[int, ...]:
    """Elements from one to the next on each axis; of C order where the device has no strides."""
    if isinstance(raw, np.ndarray):
        return tuple([stride // raw.itemsize for stride in raw.strides])
    if backend.of(raw).aliases:
        return tuple(raw.strides)
    return _row_major(tuple(raw.shape))


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([prod([max(size, 1) for size in shape[axis + 1:]]) for axis in range(len(shape))])


def read(raw: Raw, steps: "tuple[Movement, ...]") -> Raw:
    """The view of `raw` at the end of `steps`."""
    for step in steps:
        raw = step.read(raw)
    return raw


def put(raw: Raw, steps: "tuple[Movement, ...]", value: Raw) -> Raw:
    """`raw` with the view at the end of `steps` replaced by `value`, out of place."""
    views = [raw]
    for step in steps:
        views.append(step.read(views[-1]))
    table, last = backend.of(raw), views.pop()
    new = table.copy(table.broadcast_to(value, tuple(last.shape)))
    for step, before in zip(reversed(steps), reversed(views)):
        new = step.write(before, new)
    return new


def embed(shape: tuple[int, ...], steps: "tuple[Movement, ...]", g: Raw) -> Raw:
    """Zeros of `shape` with `g` in the view at the end of `steps`; the adjoint of `read`."""
    extents, hollow = [shape], np.broadcast_to(np.int8(0), shape)
    for step in steps[:-1]:
        hollow = step.read(hollow)
        extents.append(hollow.shape)
    for step, extent in zip(reversed(steps), reversed(extents)):
        g = step.embed(extent, g)
    return g


def is_viewable(storage: Storage, raw: Raw, steps: "tuple[Movement, ...]", shape: tuple[int, ...]) -> bool:
    """Can `raw`, the view at the end of `steps`, be reshaped without a copy (NumPy's rule)?

    Decided by its strides, and where views do not share memory by those that they would have.
    """
    if isinstance(raw, np.ndarray):
        geometry = raw
    elif not (storage.aliases or steps):
        return True
    elif storage.aliases:
        geometry = _hollow(tuple(raw.shape), raw.strides)
    else:
        whole = tuple(storage.raw.shape)
        geometry = read(_hollow(whole, _row_major(whole)), steps)
    try:
        geometry.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


def _hollow(shape: tuple[int, ...], strides: Sequence[int]) -> np.ndarray:
    """An array whose memory is never touched."""
    return np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, strides)
