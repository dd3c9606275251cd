"""Memory of large arrays, recycled: fresh pages cost more than the arithmetic that fills them.

An array lies in a lease. Views, memoryviews, DLPack capsules and pickle buffers keep the array alive, the array keeps
the lease, and only the lease's finaliser gives the block back. Finalisers run in any thread and in the middle of
anything, so nothing here takes a lock: the free lists are deques, whose append and pop are single steps.
"""
import ctypes
import itertools
import sys
from collections import deque
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .. import config

LARGE = 256 << 10                                    # bytes; below, NumPy's own small blocks are faster
# Bytes. A store holds back the loads from 64 to 128 bytes further on in another page (the low 12 bits are compared
# first), which costs a fifth of the speed of an addition. Where all large arrays begin a page, none is held back.
ALIGNMENT = 4096
_free: dict[int, deque["Block"]] = {}                # size class -> blocks, the latest used on the right
_used: dict[int, int] = {}                           # size class -> when it was last asked for or given back
_clock = itertools.count()
# At least the bytes that wait: all that was given back since they were last counted, nothing taken off. Counting is
# slow beside giving back. What two threads add at once may be lost, and then the next counting is late by a block.
_at_most = [0]


class Block:
    """Memory of one size class, at the beginning of a page. NumPy allocates it, so tracemalloc and huge pages work."""

    __slots__ = ("address", "memory", "size")

    def __init__(self, size: int) -> None:
        self.size, self.memory = size, np.empty(size + ALIGNMENT, np.uint8)
        self.address = -(-self.memory.ctypes.data // ALIGNMENT) * ALIGNMENT


def empty(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """An uninitialised array in C order; from 256 KiB on in recycled memory that begins a page.

    >>> empty((512, 1024), "float32").ctypes.data % 4096
    0
    """
    dtype = np.dtype(dtype)
    count = prod(shape) if isinstance(shape, tuple) else shape
    if count * dtype.itemsize < LARGE or dtype.hasobject:
        return np.empty(shape, dtype)
    size = size_class(count * dtype.itemsize)
    block = _take(size)
    lease = _lease_type(size).from_address(block.address)
    lease.block = block
    return np.ndarray(shape, dtype, lease)


def size_class(size: int) -> int:
    """The size of the block for so many bytes: eight steps to each power of two, so at most an eighth is unused."""
    step = 1 << max(size.bit_length() - 4, 0)
    return -(-size // step) * step


def pooled_bytes() -> int:
    """Bytes that wait to be used again."""
    return sum(size * len(blocks) for size, blocks in list(_free.items()))


def release() -> int:
    """Give all waiting memory back to the system; the bytes given back."""
    return _trim(0)


def _blocks_of(size: int) -> deque[Block]:
    """The free blocks of a size class."""
    found = _free.get(size)
    return _free.setdefault(size, deque()) if found is None else found


def _take(size: int) -> Block:
    """A free block of a size class, or a new one; when memory is short, after releasing what waits."""
    blocks = _blocks_of(size)
    _used[size] = next(_clock)
    try:
        return blocks.pop()
    except IndexError:
        pass
    try:
        return Block(size)
    except MemoryError:
        release()
        return Block(size)


def _give_back(block: Block) -> None:
    """Keep a block for the next array, within the limit."""
    size = block.size
    _blocks_of(size).append(block)
    _used[size], limit = next(_clock), config.memory_pool_mb << 20
    _at_most[0] += size
    if _at_most[0] > limit:
        _at_most[0] = pooled_bytes()
        if _at_most[0] > limit:
            _trim(limit)


def _trim(limit: int) -> int:
    """Drop blocks, of the least recently used size first and the oldest first, until `limit` bytes wait."""
    dropped = 0
    for size in sorted(_free, key=lambda size: _used.get(size, 0)):
        while pooled_bytes() > limit:
            try:
                _free[size].popleft()
            except IndexError:                       # empty, or another thread was faster
                break
            dropped += size
    return dropped


@cache
def _lease_type(size: int) -> Any:
    """A ctypes array type of so many bytes whose finaliser gives its block back."""
    def finalise(lease: Any, give_back=_give_back, is_finalizing=sys.is_finalizing) -> None:
        if not is_finalizing():                      # then this module's names are gone; the block frees itself
            give_back(lease.block)
    return type("Lease", (ctypes.c_char * size,), {"__del__": finalise})
