"""The one parallel driver: splits a range over threads, runs serially when it is small or the threads are taken.

A range kernel gives the same bits for any split, so nothing depends on how many threads there are. A call never waits
for another call's threads: nested calls, and calls from several Python threads at once, run in their own thread.
"""
import ctypes
import os
import struct
import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from .. import config
from ..shapes import LARGE, MIDDLING
from .pool import NativePool, Pool, PythonPool, range_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import RangeKernel

CHUNKS = 4                        # for each thread: uneven work evens out, and a late thread costs a quarter at most
shortest = np.array([LARGE], np.int64)       # elements up to which the builtins serve, read by machine code
_lock = threading.RLock()         # whoever holds it may use the pool; it knows who that is
_pool: NativePool | PythonPool | None = None
_packers: dict[tuple[type, ...], "Callable[..., bytes]"] = {}
_word_at, _header = ctypes.c_int64.from_address, object.__basicsize__


def num_threads() -> int:
    """The number of threads that a large operation uses.

    >>> num_threads() >= 1
    True
    """
    return config.num_threads


def set_num_threads(threads: int) -> None:
    """Use this many threads from the next operation on; ConfigError unless 1 to 1024."""
    config.num_threads = threads
    note_threads()


def note_threads() -> None:
    """Let one thread keep to the shortest roads for middling arrays too."""
    shortest[0] = MIDDLING if config.num_threads == 1 else LARGE


def launch(kernel: "RangeKernel | int", count: int, grain: int, *operands: np.ndarray | int | float) -> None:
    """Run a range kernel over range(count), in parallel when count > grain.

    The operands fill the kernel's table: an array by the address of its data, a float by its bits as float64, an
    integer as it is. The caller answers for dtypes, contiguity, and arrays staying alive behind integer addresses.
    """
    kinds = tuple(map(type, operands))
    pack = _packers.get(kinds) or _packer(kinds)
    words = [_word_at(id(x) + _header).value if isinstance(x, ndarray) else x for x in operands]
    run(kernel if isinstance(kernel, int) else kernel.address, pack(*words), count, grain)


def _packer(kinds: tuple[type, ...]) -> "Callable[..., bytes]":
    """The function that packs operands of these types into a table."""
    letters = ["d" if issubclass(kind, float | np.floating) else "q" for kind in kinds]
    pack = _packers[kinds] = struct.Struct("".join(letters)).pack
    return pack


def address_of(array: np.ndarray) -> int:
    """The address of an array's data: the first field of NumPy's array struct, fixed by its binary interface.

    0.1 us where `array.ctypes.data` takes 1; read-only arrays, empty ones and any dtype are fine.
    """
    return _word_at(id(array) + _header).value


def run(address: int, table: int | bytes, count: int, grain: int) -> None:
    """`launch` on a ready table: the address of its 64-bit words, or the bytes of them."""
    lock, threads = _lock, config.num_threads        # a fork in a signal handler may replace the lock meanwhile
    if count <= grain or threads == 1 or lock._is_owned():          # type: ignore[attr-defined]  # a nested call
        range_function(address)(table, 0, count)
        return
    try:
        if lock.acquire(blocking=False):
            _pool_of(threads).run(address, table, count, _chunk(count, grain, threads))
        else:
            range_function(address)(table, 0, count)
    finally:
        # An interrupt may follow the acquisition at once, so the lock itself is asked whether it was taken.
        try:
            lock.release()
        except RuntimeError:                         # no: another thread has it
            pass


def _chunk(count: int, grain: int, threads: int) -> int:
    """The size of a piece: worth the trouble, and in whole cache lines when items are many."""
    chunk = max(-(-count // (CHUNKS * threads)), grain // CHUNKS, 1)
    return chunk if chunk < 64 else -(-chunk // 64) * 64


def _pool_of(threads: int) -> NativePool | PythonPool:
    """The pool of so many threads; one of another size is ended first, which is safe for who holds the lock."""
    global _pool
    if _pool is None or _pool.threads != threads:
        if _pool is not None:
            _pool.stop()
        _pool = None
        _pool = Pool(threads)
    return _pool


def _forget() -> None:
    """In a forked child: the threads stayed behind, and the lock may be held by one of them."""
    global _lock, _pool
    _lock, _pool = threading.RLock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
