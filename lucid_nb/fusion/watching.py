"""While a function is traced, what its thread does with tensors, traced or not, comes to the trace.

Ops come by way of `apply`, since the short roads of register.py are closed meanwhile; views, which are no ops, by way
of methods of Tensor that are replaced. What no plan could repeat is refused.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from .. import apply as applying
from .. import backend, tape
from ..array import Tensor
from ..calls import open_blocks
from . import positions
from .plan import Plan
from .surroundings import Surroundings
from .trace import Trace
from .traced import ASKS, READING, ReadsPositions, Traced, Untraceable

_lock = threading.RLock()            # one trace at a time: it changes how all tensors behave


class _Tracing(threading.local):
    """The trace that this thread makes, if any."""

    trace: Any = None


_tracing = _Tracing()
MODAL: list[type] = []               # whose `training` decides what they compute: nn.Module enters itself
REFUSED = {"write": "it writes in place", "update": "it writes in place", "to_host": READING,
           "backward": ASKS}


class Draws:
    """In the place of who sees random numbers drawn: a plan would draw none."""

    def key(self, make: Callable) -> Any:
        """A key is drawn."""
        raise Untraceable("it draws random numbers")

    def host(self, state: Any) -> None:
        """The generator on the host is used."""
        raise Untraceable("it draws random numbers")

    def level(self, make: Callable) -> Any:
        """A level of vmap begins."""
        return make()


def is_tracing() -> bool:
    """Is this thread tracing?"""
    return _tracing.trace is not None


def refuse_tracing(what: str) -> None:
    """Give up a trace of this thread, because the function does what no plan can repeat."""
    trace = _tracing.trace
    if trace is not None and not trace.is_paused:
        raise Untraceable(what)


def as_step(name: str, call: Callable, operands: Sequence[Tensor]) -> Any:
    """What a call of tensors, which gives a tuple of them, gives as a step of the plan; None where nobody traces."""
    trace = _tracing.trace
    if trace is None or trace.is_paused or not operands:
        return None
    found = trace.step(call, name, [trace.capture(x) for x in operands], "its gradient is its own")
    return found if isinstance(found, tuple) else (found,)


@cache
def _guard_forks() -> None:
    """Let forks wait for traces, whose methods of Tensor a child would keep."""
    backend.table("cpu")                 # its hook comes first, so that its lock, which traces take, comes after ours
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def traced(function: Callable[[list[Traced]], Any], arguments: Sequence[Tensor], surroundings: Surroundings) -> Plan:
    """The plan of a function of a list of tensors; Untraceable where it does what no plan can repeat."""
    _guard_forks()
    with _lock:
        trace = Trace(arguments)
        try:
            with watched(trace), _noting(surroundings):
                return trace.plan(function(trace.arguments))
        finally:
            trace.arguments.clear()      # they know the trace: all that it computed would wait to be collected


@contextmanager
def _noting(surroundings: Surroundings) -> Iterator[None]:
    """While it lasts, members and training modes of modules that this thread reads are noted."""
    thread = threading.get_ident()
    modes: list[tuple[Any, bool]] = []
    members: list[tuple[Any, str, Any]] = []

    def training(module: Any) -> bool:
        """The mode."""
        mode = bool(vars(module)["training"])
        if threading.get_ident() == thread:
            modes.append((module, mode))
        return mode
    kinds = [*MODAL]                     # the function may be the first to import nn
    for kind in kinds:
        kind.training = property(training)  # type: ignore[attr-defined]
    for kind in kinds:                   # they inherit how they are read
        kind.__getattr__ = _read_by(thread, kind.__getattr__, members)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for kind in kinds:
            del kind.__getattr__, kind.training  # type: ignore[attr-defined]
        surroundings.see_members(modes, members)


def _read_by(thread: int, method: Callable, members: list[tuple[Any, str, Any]]) -> Callable:
    """How members of modules are read, noting what a thread reads."""
    def read(module: Any, name: str) -> Any:
        found = method(module, name)
        if threading.get_ident() == thread:
            members.append((module, name, found))
        return found
    return read


@contextmanager
def watched(trace: Trace) -> Iterator[None]:
    """While it lasts, this thread is traced."""
    open_blocks(1)
    applying.instead.append(trace.call)
    draws, tape.modes.draws, _tracing.trace = tape.modes.draws, Draws(), trace
    positions_of_vmap = vars(backend.batching).get("instead")
    backend.batching.instead = own = _by_reason(trace, positions_of_vmap)
    kept = {name: vars(Tensor)[name] for name in ("moved", "detach", "element", *REFUSED)}
    Tensor.moved = _routed(trace, kept["moved"], lambda x, step, raw=None: trace.moved(x, step))  # type: ignore
    Tensor.detach = _routed(trace, kept["detach"], trace.detached)  # type: ignore[method-assign]
    Tensor.element = _routed(trace, kept["element"], partial(trace.method, "element"))  # type: ignore[method-assign]
    for name, what in REFUSED.items():
        setattr(Tensor, name, _routed(trace, kept[name], partial(trace.refuse, what, kept[name])))
    try:
        yield
    finally:
        for name, method in kept.items():
            setattr(Tensor, name, method)
        if backend.batching.instead is own:           # no vmap of another thread has come meanwhile
            if positions_of_vmap is None:
                del backend.batching.instead
            else:
                backend.batching.instead = positions_of_vmap
        tape.modes.draws, _tracing.trace = draws, None
        applying.instead.remove(trace.call)
        open_blocks(-1)


def _by_reason(trace: Trace, of_vmap: Callable | None) -> Callable:
    """What happens to a function of positions: by the trace where that is why, otherwise as before."""
    def instead(name: str, reason: Any, *arguments: Any) -> Any:
        if isinstance(reason, ReadsPositions):
            return positions.instead(trace, name, reason, *arguments)
        if of_vmap is None:
            raise reason
        return of_vmap(name, reason, *arguments)
    return instead


def _routed(trace: Trace, method: Callable, instead: Callable) -> Callable:
    """A method that goes to the trace, where its thread traces."""
    def call(self: Tensor, *arguments: Any, **options: Any) -> Any:
        if trace.is_paused or threading.get_ident() != trace.thread:
            return method(self, *arguments, **options)
        return instead(self, *arguments, **options)
    return call

