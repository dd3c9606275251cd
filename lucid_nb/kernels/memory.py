"""Memory of large arrays, recycled: fresh pages cost more than the arithmetic that fills them.

An array lies in a lease. Views, memoryviews, DLPack capsules and pickle buffers keep the array alive, the array keeps
the lease, and only the lease's finaliser gives the block back.
"""
import ctypes
import sys
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .. import config
from ..recycling import Recycler, size_class

LARGE = 256 << 10                                    # bytes; below, NumPy's own small blocks are faster
# Bytes. A store holds back the loads from 64 to 128 bytes further on in another page (the low 12 bits are compared
# first), which costs a fifth of the speed of an addition. Where all large arrays begin a page, none is held back.
ALIGNMENT = 4096


class Block:
    """Memory of one size class, at the beginning of a page. NumPy allocates it, so tracemalloc and huge pages work."""

    __slots__ = ("address", "memory", "size")

    def __init__(self, size: int) -> None:
        self.size, self.memory = size, np.empty(size + ALIGNMENT, np.uint8)
        self.address = -(-self.memory.ctypes.data // ALIGNMENT) * ALIGNMENT


pool = Recycler(lambda size: Block(size), lambda: config.memory_pool_mb << 20)


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
    block = pool.take(size)
    lease = _lease_type(size).from_address(block.address)
    lease.block = block
    return np.ndarray(shape, dtype, lease)


@cache
def _lease_type(size: int) -> Any:
    """A ctypes array type of so many bytes whose finaliser gives its block back."""
    def finalise(lease: Any, give_back=pool.give_back, is_finalizing=sys.is_finalizing) -> None:
        if not is_finalizing():                      # then this module's names are gone; the block frees itself
            give_back(size, lease.block)
    return type("Lease", (ctypes.c_char * size,), {"__del__": finalise, "__slots__": ("block",)})
