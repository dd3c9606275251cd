"""The tape: nodes, gradient modes, and the iterative backward. It knows neither ops nor Tensor."""

import functools
import inspect
import itertools
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from heapq import heappop, heappush
from operator import attrgetter
from types import CodeType, FrameType, TracebackType
from typing import Any, Protocol

from . import backend
from .errors import PACKAGE, GradError, out_of_memory
from .storage import Version, clock

next_sequence = itertools.count(0, -1).__next__      # falling, so that a heap gives the latest first
Place = tuple[CodeType, int]


class Modes(threading.local):
    """Is this thread recording, and who looks at what it does?"""

    enabled = True
    counter: Any = None           # has `count(op, raws, result, params)`, and the runner of its backward: see calls.py
    casting: Any = None           # has `cast(op, values)`, which gives the operands in another precision: see amp.py
    packing: Any = None           # has `pack(node)`, which changes what a new node saved: see autograd/saved.py
    draws: Any = None             # has `key(make)` and `host(state)`, which see random numbers drawn: see random.py
    repeats = False               # is a call made a second time, so that running statistics do not move again?
    anomaly: bool | None = None   # errors of backward tell of the forward call; True: and gradients are looked at


class Anywhere:
    """How many blocks, in all threads, have a mode of their own: while there are none, nobody needs to ask a thread."""

    def __init__(self) -> None:
        self.blocks, self.lock = 0, threading.Lock()

    def add(self, change: int) -> None:
        """Count a block that begins or ends."""
        with self.lock:
            self.blocks += change


modes, anywhere = Modes(), Anywhere()
if hasattr(os, "register_at_fork"):        # the lock may be held by a thread that the child does not have
    os.register_at_fork(after_in_child=lambda: setattr(anywhere, "lock", threading.Lock()))


def is_recording() -> bool:
    """Does this thread record? (The shortest roads write this out.)"""
    return not anywhere.blocks or modes.enabled


class grad_mode:
    """Record, or not: a context manager and a decorator."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.before: list[bool] = []

    def __enter__(self) -> None:
        before = modes.enabled
        self.before.append(before)
        if before is not self.enabled:         # while there are no other blocks, nobody asks a thread for its mode
            anywhere.add(1)
            modes.enabled = self.enabled

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        before = modes.enabled = self.before.pop()
        if before is not self.enabled:
            anywhere.add(-1)

    def __call__(self, function: Callable) -> Callable:
        if inspect.isasyncgenfunction(function):
            raise GradError(f"{type(self).__name__}: {function.__qualname__} is an async generator function, and other "
                            "tasks run between its parts. Put a with block around what it computes between two awaits.")
        inside = (_generator_inside if inspect.isgeneratorfunction(function) else
                  _coroutine_inside if inspect.iscoroutinefunction(function) else _inside)
        return functools.update_wrapper(inside(function, self.enabled), function)


def _inside(function: Callable, enabled: bool) -> Callable:
    """The function, in a mode."""
    def inside(*args: Any, **kwargs: Any) -> Any:
        with grad_mode(enabled):
            return function(*args, **kwargs)
    return inside


def _generator_inside(function: Callable, enabled: bool) -> Callable:
    """The generator function, in a mode."""
    def inside(*args: Any, **kwargs: Any) -> Generator:
        return (yield from stepped(function(*args, **kwargs), enabled))
    return inside


def _coroutine_inside(function: Callable, enabled: bool) -> Callable:
    """The coroutine function, in a mode."""
    async def inside(*args: Any, **kwargs: Any) -> Any:
        return await Stepped(function(*args, **kwargs).__await__(), enabled)
    return inside


def stepped(body: Generator, enabled: bool) -> Generator:
    """Drive a generator, or the steps of a coroutine: the mode holds while its body runs, not while it waits."""
    resume: Callable[[Any], Any] = body.send
    value: Any = None
    while True:
        with grad_mode(enabled):
            try:
                given = resume(value)
            except StopIteration as end:
                return end.value
        try:
            resume, value = body.send, (yield given)
        except GeneratorExit:
            with grad_mode(enabled):
                body.close()
            raise
        except BaseException as error:
            resume, value = body.throw, error


class Stepped:
    """What awaits the steps of a coroutine in a mode."""

    def __init__(self, body: Generator, enabled: bool) -> None:
        self.body, self.enabled = body, enabled

    def __await__(self) -> Generator:
        return stepped(self.body, self.enabled)


class set_grad_enabled(grad_mode):
    """Record from now on, or not, in this thread; as a context manager or decorator, only inside."""

    def __init__(self, enabled: bool) -> None:
        super().__init__(enabled)
        super().__enter__()

    def __enter__(self) -> None:
        """The mode is set already."""

    def __call__(self, function: Callable) -> Callable:
        self.__exit__(None, None, None)
        return grad_mode(self.enabled)(function)


class Watch:
    """What somebody wants to know of a gradient on its way: hooks, and whether to keep it (retain_grad)."""

    __slots__ = ("after", "grad", "hooks", "keeps")

    def __init__(self) -> None:
        self.hooks: dict[int, Callable] = {}
        self.after: dict[int, Callable] = {}       # of a leaf: called when its gradient has been added
        self.keeps = False
        self.grad: Any = None

    def move_keeping(self, other: "Watch | None") -> "Watch":
        """Keep from now on in `other`, or in a new one: `.grad` is that of a tensor's present content."""
        other = other or Watch()
        other.keeps, other.grad, self.keeps = self.keeps, self.grad, False
        return other


class Handle:
    """Of a hook, to remove it."""

    def __init__(self, hooks: dict[int, Any], hook: Any, is_first: bool = False) -> None:
        self.hooks, self.key = hooks, next_sequence()
        others = dict(hooks) if is_first else {}
        for key in others:
            del hooks[key]
        hooks[self.key] = hook
        hooks.update(others)

    def remove(self) -> None:
        """Forget the hook; removing it twice is harmless."""
        self.hooks.pop(self.key, None)

    __call__ = remove                            # as lucid's hooks are removed

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()


class Leaf:
    """Where the gradient of a tensor that was not computed ends. It owns `grad`, so a leaf is no cycle."""

    __slots__ = ("grad", "watch")
    edges = ()

    def __init__(self) -> None:
        self.grad: Any = None
        self.watch: Watch | None = None


def refuse_start(name: str, node: Any, what: str) -> None:
    """Refuse a write into a leaf, or into what a transform takes for one: the caller's memory."""
    if type(node) is Leaf:
        raise GradError(f"{name}: the tensor is {what}a leaf that requires grad; writing would falsify its gradient. "
                        "Write under no_grad, or into a copy.")
    if type(node) is Node and node.op.name == "start":
        raise GradError(f"{name}: the tensor is {what}an argument of a function that is differentiated; writing would "
                        "change the caller's. Write into a copy.")


class Node:
    """One recorded call. Holds raw arrays and versions, never a Tensor or Storage: what it made must not own it."""

    __slots__ = ("edges", "like", "op", "place", "plan", "saved", "sequence", "stamp", "versions", "watch")

    def __init__(self, op: Any, plan: Any, edges: tuple, like: Any, saved: Any = (), versions: Any = (),
                 place: Place | None = None) -> None:
        self.op = op
        self.plan = plan              # of a formula: its Plan; of a primitive: the parameters of the call
        self.edges = edges
        self.like = like              # (shape, dtype) of each input, then of each result; None when all are the same
        self.saved = saved
        self.versions = versions
        self.stamp = clock.now        # what was written later is stale
        self.place = place
        self.watch = None
        self.sequence = next_sequence()

    def keep_copy(self, version: Any) -> None:
        """Copy what was saved from a memory that this op itself is about to overwrite (`x *= y`)."""
        if version in self.versions:
            is_own = [held is version for held in self.versions]
            if not hasattr(self.saved, "region"):      # what will be computed again has no memory yet
                copies = [backend.of(raw).copy(raw) if own else raw for own, raw in zip(is_own, self.saved)]
                if type(self.saved) is list:           # somebody else has taken it up, and must have the copies too
                    self.saved[:] = copies
                else:
                    self.saved = tuple(copies)
            self.versions = tuple([Version() if own else held for own, held in zip(is_own, self.versions)])

    def unpack(self) -> Any:
        """The saved raw arrays, unless they were overwritten."""
        if self.saved is None or (self.stamp != clock.now and is_stale(self.versions, self.stamp)):
            self.raise_stale()
        return self.saved

    def release(self) -> None:
        """Forget what was saved."""
        self.saved, self.versions = None, ()

    def raise_stale(self) -> None:
        """The error that says who overwrote what, or that it was freed."""
        if self.saved is None:
            raise GradError(f"{self.op.name}: its saved values were freed by an earlier backward. "
                            "Pass retain_graph=True to that one.")
        name, place = max(self.versions, key=attrgetter("written")).writer
        raise GradError(f"{self.op.name}: a value saved at {line_of(self.place)} was overwritten by {name} "
                        f"at {line_of(place)}. Write into a copy, or out of place.")


def is_stale(versions: Iterable[Version], stamp: int) -> bool:
    """Was any memory written after this time?"""
    return any([version.written > stamp for version in versions])


class Port:
    """Result number `index` of a node with several results. Younger than the node, so backward meets it first."""

    __slots__ = ("edges", "index", "node", "sequence", "watch")

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index, self.edges, self.sequence, self.watch = node, index, (node,), next_sequence(), None


def user_place(frame: FrameType | None = None) -> Place:
    """Where the caller outside this package stands, as (code, instruction): the line is looked up only for errors."""
    frame = frame or sys._getframe(1)
    while PACKAGE in frame.f_code.co_filename and frame.f_back:
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def place_of(frame: FrameType) -> Place:
    """`user_place`, which remembers files outside this package."""
    place = user_place(frame)
    if place[0] is frame.f_code and len(outside) < 10_000:
        outside.add(place[0].co_filename)
    return place


outside: set[str] = set()


def line_of(place: Place | None) -> str:
    """file:line of a place."""
    if place is None:
        return "an unknown line"
    file, line = file_and_line(place)
    return f"{file.rpartition('/')[2]}:{line}"


def file_and_line(place: Place) -> tuple[str, int]:
    """The path of the file, and the number of the line."""
    code, instruction = place
    lines = (line for start, stop, line in code.co_lines() if start <= instruction < stop)
    return code.co_filename, next(filter(None, lines), code.co_firstlineno)


class Caller(Protocol):
    """How backward calls ops and shows gradients: on raw arrays, or recorded on Tensors."""

    is_quick: bool           # may a formula's gradient call its kernel without asking?

    def add(self, a: Any, b: Any) -> Any: ...
    def watched(self, watch: Watch, g: Any) -> Any: ...


def added(call: Caller, before: Any, g: Any) -> Any:
    """The sum of two gradients of a node; of one with several results, result by result."""
    if type(g) is not dict:
        return call.add(before, g)
    return before | {index: call.add(before[index], part) if index in before else part for index, part in g.items()}


def pull(node: Any, g: Any, call: Caller, retain_graph: bool) -> tuple[Any, Any]:
    """The gradients of what a node was computed from, and where they go."""
    if type(node) is Port:
        return ({node.index: g},), node.edges
    if node.saved is None or (node.stamp != clock.now and is_stale(node.versions, node.stamp)):
        node.raise_stale()
    try:
        if node.like is None and call.is_quick and node.plan.step is not None:
            gradients = node.plan.step(node.saved, g)
        else:
            gradients = node.op.pullback(node, g, call)
    except MemoryError as error:
        raise out_of_memory(node.op.name, "its gradient", error) from error
    if not retain_graph:
        node.saved, node.versions = None, ()
    return gradients, node.edges


Pull = Callable[[Any, Any, Caller, bool], tuple[Any, Any]]


def backward(roots: list[tuple[Any, Any]], call: Caller, retain_graph: bool, pull: Pull = pull,
             wanted: Any = None, chains: Any = None) -> dict[Any, Any]:
    """Send gradients from the roots, pairs (node, gradient), to the leaves, latest node first. Gives {leaf: gradient}.

    Sums are made in the order of recording, reversed. `wanted`: see graph.Wanted. `chains`: see chains.py.
    """
    arrived: dict[Any, Any] = {}         # at leaves, and at nodes in the heap; at one with several results, a dict
    heap: list[tuple[int, Any]] = []
    upcoming: Any = None                 # one that waits outside the heap, of a chain the only one,
    arriving: Any = None                 # and its gradient
    gradients, targets = zip(*[(g, node) for node, g in roots])
    while True:
        for g, target in zip(gradients, targets):
            if target is None or g is None or (wanted is not None and target not in wanted.ways):
                continue
            if target is upcoming:
                arriving = added(call, arriving, g)
            elif target in arrived:
                arrived[target] = added(call, arrived[target], g)
            elif upcoming is None and type(target) is not Leaf:
                upcoming, arriving = target, g
            else:
                arrived[target] = g
                if type(target) is not Leaf:
                    heappush(heap, (target.sequence, target))
        if heap and (upcoming is None or heap[0][0] < upcoming.sequence):
            _, node = heappop(heap)
            g = arrived.pop(node)
        elif upcoming is not None:
            node, g, upcoming, arriving = upcoming, arriving, None, None
        else:
            return arrived
        if node.watch is not None:
            g = call.watched(node.watch, g)
        if wanted is not None and wanted.takes(node, g):
            gradients = targets = ()
            continue
        way = pull if chains is None or type(g) is dict or g.size < chains.threshold else chains.pull
        gradients, targets = way(node, g, call, retain_graph)
