"""Device memory, recycled: asking the driver for memory takes longer than most kernels, and waits for the device.

Everything is launched on one stream, so memory that comes back may be written by what is launched next, even while
what read it still runs. Memory stays with the process until it is short; `release` gives back what waits.
"""

import math
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import config
from ..errors import DeviceError
from ..recycling import Recycler, size_class
from .driver import SIMULATED, cuda, require

SMALLEST = 512                                       # bytes of a block, the driver's own step
STAGED = 1 << 20                                     # bytes; larger arrays go from the user's memory to the device
KEPT = 8                                             # arrays over one block
ARRAY = struct.Struct("7q")                          # the parameters of a kernel that stand for memory


class Described(NamedTuple):
    """Memory, for kernels."""

    address: int
    parameters: bytes


class Block:
    """Device memory of one size class, and arrays over it: making one takes as long as a launch."""

    __slots__ = ("arrays", "pool", "raw", "size")

    def __init__(self, size: int, pool: "Pool") -> None:
        self.raw, self.size, self.pool = _from_driver(size), size, pool
        self.arrays: dict[tuple[int, np.dtype], tuple[Any, Described | None]] = {}

    def array(self, count: int, dtype: np.dtype) -> tuple[Any, Described | None]:
        """The block as numba's array of so many elements, and what kernels are told of it."""
        found = self.arrays.get((count, dtype))
        if found is None:
            if len(self.arrays) == KEPT:
                self.arrays.clear()
            array = _over(self.raw, count, dtype)
            found = self.arrays[count, dtype] = array, None if SIMULATED else described(array)
        return found


def _from_driver(size: int) -> Any:
    """Bytes of the driver; MemoryError where there are none."""
    try:
        return cuda.device_array(size, np.uint8)
    except Exception as error:                       # CudaAPIError and MemoryError, by the allocator in use
        if "OUT_OF_MEMORY" in str(error):
            raise MemoryError from None
        raise


def _over(raw: Any, count: int, dtype: np.dtype) -> Any:
    """An array on the first bytes of another."""
    if SIMULATED:
        return raw[:count * dtype.itemsize].view(dtype)
    return cuda.cudadrv.devicearray.DeviceNDArray((count,), (dtype.itemsize,), dtype, gpu_data=raw.gpu_data)  # type: ignore


def described(array: Any) -> Described:
    """A contiguous array as numba's kernels take it: two owners, count, itemsize, address, shape and stride."""
    count, itemsize, address = array.size, array.dtype.itemsize, array.device_ctypes_pointer.value or 0
    return Described(address, ARRAY.pack(0, 0, count, itemsize, address, count, itemsize))


class Pool(Recycler[Block]):
    """Blocks that wait to be used again."""

    def __init__(self) -> None:
        super().__init__(lambda size: Block(size, self), lambda: math.inf if config.memory_pool_mb else 0)


class Lasting(Pool):
    """Blocks that stay until the pool goes: what was captured reads and writes them whenever it is replayed."""

    def __init__(self) -> None:
        Recycler.__init__(self, lambda size: Block(size, self), lambda: math.inf)

    def release(self) -> int:
        """The waiting memory of the other pool; the bytes given back."""
        return pool.release()


pool = Pool()


class _Asking(threading.local):
    """Where the memory that this thread asks for comes from, and who is told of it."""

    pool: Pool = pool
    tell: "Callable[[Memory], None] | None" = None


_asking = _Asking()


@contextmanager
def taken_from(other: Pool, tell: "Callable[[Memory], None]") -> Iterator[None]:
    """Memory that this thread asks for in the block comes from a pool, goes back there, and is told of."""
    before = _asking.pool, _asking.tell
    _asking.pool, _asking.tell = other, tell
    try:
        yield
    finally:
        _asking.pool, _asking.tell = before


class Memory:
    """Flat memory as arrays hold it: numba's array, and the block that goes back when the last view has gone."""

    __slots__ = ("address", "array", "block", "is_read_only", "parameters", "root", "size")

    def __init__(self, array: Any, block: Block | None = None, root: "Memory | None" = None,
                 known: Described | None = None) -> None:
        self.array, self.block, self.size, self.root = array, block, array.size, root
        self.is_read_only: bool = root is not None and root.is_read_only
        if known is not None:
            self.address, self.parameters = known

    def __getattr__(self, name: str) -> Any:
        """What kernels are told of views and of borrowed memory is found when it is first asked for."""
        if name not in Described._fields:
            raise AttributeError(f"Memory has no attribute {name!r}")
        self.address, self.parameters = described(self.array)
        return getattr(self, name)

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self.block is not None and not is_finalizing():
            self.block.pool.give_back(self.block.size, self.block)

    def __getitem__(self, part: slice) -> "Memory":
        return Memory(self.array[part], root=self.root or self)

    def view(self, dtype: np.dtype) -> "Memory":
        """The same bytes as another dtype."""
        return Memory(self.array.view(dtype), root=self.root or self)

    @property
    def place(self) -> int:
        """Where it lies; in the simulator on the host."""
        return self.array._ary.ctypes.data if SIMULATED else self.address

    def shares(self, other: "Memory") -> bool:
        """Is it memory of the same block?"""
        return (self.root or self) is (other.root or other)


@lru_cache(maxsize=4096)
def _block_size(count: int, dtype: np.dtype) -> int:
    return size_class(max(count * dtype.itemsize, SMALLEST))


def allocate(count: int, dtype: np.dtype) -> Memory:
    """Uninitialised memory for `count` elements of a storage dtype; never of size 0, which CUDA refuses."""
    require("empty")
    count = count or 1
    try:
        block = _asking.pool.take(_block_size(count, dtype))
    except MemoryError:
        raise DeviceError(_short(count * dtype.itemsize)) from None
    array, known = block.array(count, dtype)
    memory = Memory(array, block, None, known)
    if _asking.tell is not None:
        _asking.tell(memory)
    return memory


def _short(asked: int) -> str:
    free, total = cuda.current_context().get_memory_info()
    return (f"empty: {asked} bytes asked, {free} of {total} free on the device, {pool.waiting()} pooled. "
            "Use smaller batches, or delete tensors.")


# -------------------------------------------------------------------------------------------------------- the host
class Staging:
    """Page-locked memory through which small arrays go to the device while it works: nobody waits for the copy."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.buffer: np.ndarray | None = None

    def send(self, flat: np.ndarray, target: Any) -> None:
        """Copy, when the copy before has left the buffer."""
        with self.lock:
            if self.buffer is None:
                self.buffer, self.left, self.stream = cuda.pinned_array(STAGED, np.uint8), cuda.event(), \
                    cuda.default_stream()
            else:
                self.left.synchronize()
            staged = self.buffer[:flat.nbytes].view(flat.dtype)
            staged[:] = flat
            target.copy_to_device(staged, stream=self.stream)
            self.left.record(self.stream)


_staging = Staging()


def upload(flat: np.ndarray) -> Memory:
    """Host memory copied to the device."""
    memory = allocate(flat.size, flat.dtype)
    if 0 < flat.nbytes <= STAGED:
        _staging.send(flat, memory.array)
    elif flat.size:
        memory.array.copy_to_device(flat)
    return memory


def download(flat: Any) -> np.ndarray:
    """Device memory copied to the host, after everything launched before."""
    require("to_numpy")
    return (flat.array if isinstance(flat, Memory) else flat).copy_to_host()
