"""Device memory lent to other libraries and borrowed from them: DLPack and the CUDA array interface.

Kernels run on the legacy default stream. Memory that is lent is ready in the order of that stream; a consumer that
works on another one is made to wait for what was launched before.
"""

from operator import index
from typing import Any

import numpy as np

from ..dlpack import CUDA, Block, on_host, row_major
from ..errors import DeviceError, told
from ..shapes import Shape
from . import noted, runtime
from .array import DeviceArray
from .memory import Memory
from .runtime import SIMULATED, cuda
from .scalars import storage

LEGACY_STREAM, NO_WAIT = 1, -1          # numbers of DLPack and of the array interface


def describe(raw: DeviceArray) -> Block:
    """The memory of an array, for others."""
    runtime.require("__dlpack__")
    runtime.crosses(noted.LOAN)
    start = raw.memory.place + raw.offset * raw.element.itemsize
    return Block(start if raw.size else 0, raw.shape, raw.strides, raw.element, (CUDA, 0), raw.is_read_only, raw)


def over(block: Block) -> DeviceArray:
    """An array on memory of others, without a copy."""
    if block.device != (CUDA, 0):
        raise DeviceError(f"from_dlpack: the memory lies on DLPack's device {block.device}, this process works on "
                          f"{(CUDA, 0)}. Copy it there, or choose the GPU with CUDA_VISIBLE_DEVICES.")
    steps = [(size - 1) * stride for size, stride in zip(block.shape, block.strides)]
    lowest = 0 if 0 in block.shape else sum(min(step, 0) for step in steps)
    count = 0 if 0 in block.shape else 1 + sum(abs(step) for step in steps)
    flat = block._replace(address=block.address + lowest * block.dtype.itemsize, shape=(count,), strides=(1,))
    memory = _flat(flat) if count else runtime.allocate(0, storage(block.dtype))
    memory.is_read_only = block.is_read_only
    return DeviceArray(memory, block.shape, block.strides, -lowest, block.dtype)


def _flat(block: Block) -> Memory:
    """Flat memory as kernels take it; it keeps the owner alive."""
    if SIMULATED:
        host = on_host(block)
        return Memory(cuda.cudadrv.devicearray.FakeCUDAArray(host.view(storage(block.dtype))))
    typestr = storage(block.dtype).str
    described = {"shape": block.shape, "typestr": typestr, "data": (block.address, False), "version": 3}
    return Memory(cuda.from_cuda_array_interface(described, owner=block.owner))


def array_interface(raw: DeviceArray) -> dict[str, Any]:
    """What `__cuda_array_interface__` gives, version 3."""
    block, size = describe(raw), raw.element.itemsize
    strides = None if raw.is_contiguous else tuple(stride * size for stride in block.strides)
    return {"version": 3, "shape": block.shape, "typestr": storage(raw.element).str, "strides": strides,
            "data": (block.address, block.is_read_only), "stream": LEGACY_STREAM}


def of_interface(described: dict[str, Any], owner: Any) -> DeviceArray:
    """An array on what another library's `__cuda_array_interface__` describes, without a copy."""
    if described.get("mask") is not None:
        raise DeviceError("asarray: the CUDA array has a mask. Fill it, or pass data and mask apart.")
    dtype, shape, (address, is_read_only), bytes_apart = _parts(described)
    if described.get("stream") is not None:
        wait_for(described["stream"])
    if bytes_apart is not None and any(step % dtype.itemsize for step in bytes_apart):
        raise DeviceError(f"asarray: strides of {bytes_apart} bytes do not divide into elements of {dtype.itemsize}. "
                          "Make the array contiguous first.")
    strides = tuple(step // dtype.itemsize for step in bytes_apart) if bytes_apart else row_major(shape)
    return over(Block(address, shape, strides, dtype, (CUDA, 0), is_read_only, owner))


def _parts(described: dict[str, Any]) -> tuple[np.dtype, Shape, tuple[int, bool], Shape | None]:
    """Dtype, shape, address and whether it is only read, and the bytes from element to element, where they are told."""
    try:
        dtype, shape = np.dtype(described["typestr"]), tuple(map(index, described["shape"]))
        address, is_read_only = described["data"]
        bytes_apart = None if described.get("strides") is None else tuple(map(index, described["strides"]))
        address = index(address or 0)
    except (KeyError, TypeError, ValueError) as error:
        raise DeviceError(f"asarray: the CUDA array interface cannot be read ({told(error)}): {told(described)}. "
                          "Give typestr, shape, data and strides.") from None
    if min(shape, default=0) < 0 or len(shape) != len(shape if bytes_apart is None else bytes_apart) or (
            not address and 0 not in shape):
        raise DeviceError(f"asarray: a CUDA array of shape {shape}, strides {bytes_apart}, at address {address}. Give "
                          "sizes from 0 on, a stride for each, and memory.")
    return dtype, shape, (address, bool(is_read_only)), bytes_apart


# ------------------------------------------------------------------------------------------------------- streams
def _is_other(stream: Any) -> bool:
    """Is it a stream that has to wait, or to be waited for? The legacy default stream is ours and need not."""
    if stream is None or (type(stream) is int and stream in (LEGACY_STREAM, NO_WAIT)):
        return False
    if type(stream) is not int or stream <= 0:
        raise DeviceError(f"stream: {told(stream)} is none. Give {LEGACY_STREAM} for the legacy default stream, 2 for "
                          f"that of the thread, the address of another, or {NO_WAIT} for no waiting.")
    return True


def wait_for(stream: int) -> None:
    """Kernels launched from now on start when what is in a producer's stream is done."""
    if _is_other(stream):
        event = cuda.event()
        event.record(cuda.external_stream(stream))
        event.wait(cuda.default_stream())


def make_wait(stream: int | None) -> None:
    """A consumer's stream waits for what was launched here."""
    if _is_other(stream):
        event = cuda.event()
        event.record(cuda.default_stream())
        event.wait(cuda.external_stream(stream))
