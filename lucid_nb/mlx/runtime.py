"""Streams, evaluation and the bound on what is recorded and not yet computed.

MLX records calls and computes when a value is read. Since 0.31.2 its streams belong to the thread that made them, and
an array recorded in one thread cannot be computed in another ("There is no Stream(cpu, 0) in current thread"). All
entries therefore record on one stream that any thread may use, and computing takes a lock, as that stream asks for.
It becomes the default stream of each thread that uses an entry, for the program's own MLX calls too.
"""

import functools
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import mlx.core as mx

from ..errors import BackendError, ShapeError

LIMIT = 64
"""Results recorded before they are computed. A chain of adds takes 14 us an add at 1, 4 us from 20 to 100 and 6 us at
5,000 (CPU build), and the memory of the record grows with it."""
VIEWS = 16
"""Of so many results that only show elements of others one is recorded: what is made of them is recorded itself, and a
chain of views alone has an end."""
ON_GPU = mx.default_device().type == mx.DeviceType.gpu
STREAM = mx.new_thread_unsafe_stream(mx.default_device())
HOST_STREAM = mx.new_thread_unsafe_stream(mx.Device(mx.DeviceType.cpu)) if ON_GPU else STREAM
"""Where results must not depend on the order of atomic additions."""

Function = TypeVar("Function", bound=Callable[..., Any])


class _Thread(threading.local):
    """Does this thread record on STREAM yet, and does MLX trace a function in it?"""

    joined = False
    tracing = False


thread = _Thread()
_lock = threading.Lock()
_recent: list["weakref.ref[mx.array]"] = []
_views = itertools.count()
_process = os.getpid()


def join() -> None:
    """Make this thread record on the shared stream."""
    if thread.joined:
        return
    if os.getpid() != _process:
        raise BackendError("mlx: cannot be used in a forked process, where MLX's own threads do not exist. "
                           "Start processes with the spawn method.")
    mx.set_default_stream(STREAM)
    thread.joined = True


def _forget_thread() -> None:
    thread.joined = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_thread)


def record(result: Any) -> Any:
    """The result, remembered: when LIMIT of them wait, all that are still alive are computed in the background."""
    if thread.tracing:                 # what stands for arrays meanwhile cannot be computed
        return result
    if type(result) is tuple:
        _recent.extend([weakref.ref(part) for part in result if part.size])
    else:
        _recent.append(weakref.ref(result))
    if len(_recent) >= LIMIT:
        flush()
    return result


def compiled(function: Callable[..., Sequence[mx.array]]) -> Callable[..., Sequence[mx.array]]:
    """A function of arrays that calls entries, as one program of MLX's compiler: on a GPU, where that has kernels.

    On the CPU it would call a C++ compiler, take seconds and gain nothing.
    """
    if not ON_GPU:
        return function

    def traced(*raws: mx.array) -> list[mx.array]:
        thread.tracing = True
        try:
            return list(function(*raws))
        finally:
            thread.tracing = False
    program = mx.compile(traced)

    def call(*raws: mx.array) -> Sequence[mx.array]:
        join()
        return record(tuple(program(*raws)))
    return call


def flush() -> None:
    """Start computing everything recorded that is still alive.

    All and not just the newest: of two chains that grow in turn, the newest would always be of the same one.
    """
    with _lock:
        waiting = _recent[:]
        del _recent[:len(waiting)]
        alive = [raw for raw in (reference() for reference in waiting) if raw is not None]
        mx.async_eval(*alive)


def evaluate(raw: mx.array) -> mx.array:
    """The array, computed."""
    join()
    with _lock:
        mx.eval(raw)
    return raw


def wait() -> None:
    """Compute everything recorded, and wait for it."""
    join()
    flush()
    with _lock:
        mx.synchronize(STREAM)


def view_or_same(result: mx.array) -> mx.array:
    """`record` for the result of a movement."""
    return result if next(_views) % VIEWS else record(result)


def entry(function: Function, keep: Callable[[Any], Any] = record) -> Function:
    """An entry of the table whose result is recorded."""
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if not thread.joined:
            join()
        try:
            return keep(function(*args, **keywords))
        except OverflowError:
            raise ShapeError(f"{function.__name__}: an extent is above MLX's limit of {2 ** 31 - 1}. "
                             "Use smaller sizes, or .to('cpu').") from None
    return call  # type: ignore[return-value]


def movement(function: Function) -> Function:
    """An entry of the table whose result shows the elements of its first argument."""
    return entry(function, view_or_same)
