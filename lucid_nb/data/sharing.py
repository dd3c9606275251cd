"""Values sent between processes: their arrays through shared memory, the rest as a pickle.

A segment of shared memory has a name only until both sides have it open, so that nothing is left behind, however the
processes end; for the moments before, multiprocessing's resource tracker, which outlives them, takes a name away.
"""

import contextlib
import io
import mmap
import os
import pickle
import secrets
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from .. import backend
from ..array import Tensor
from ..recycling import size_class

ALIGNMENT = 64                      # bytes; each array begins where a cache line does
SMALL = 4096                        # bytes; less than this goes with the pickle
FILES = Path("/dev/shm")            # where shared memory is files, as on Linux


class Packed(NamedTuple):
    """A value taken apart: its pickle, and the bytes of its arrays."""

    pickled: bytes
    buffers: list[Any]

    @property
    def size(self) -> int:
        """The bytes of a segment that holds all buffers."""
        return sum(map(padded, map(len, self.buffers)))


class Packer(ForkingPickler):
    """Pickles a value but for the bytes of its arrays and of its tensors, which it lists."""

    def __init__(self, file: Any, buffers: list[pickle.PickleBuffer]) -> None:
        super().__init__(file, 5, True, buffers.append)

    def reducer_override(self, value: Any) -> Any:
        """How arrays and tensors are taken apart; what else there is, is pickled as always."""
        if type(value) is np.ndarray and not value.dtype.hasobject:
            whole = np.ascontiguousarray(value)
            content: Any = whole.reshape(-1).view(np.uint8)
            return array_of, (pickle.PickleBuffer(content), value.shape, value.dtype)
        if type(value) is Tensor and (not value.requires_grad or value.is_leaf):
            return tensor_of, (value.to_host(), value.device, value.requires_grad, value.is_value)
        return NotImplemented


def array_of(buffer: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array in a buffer, which it keeps."""
    return np.ndarray(shape, dtype, buffer)


def tensor_of(array: np.ndarray, device: str, requires_grad: bool, is_value: bool) -> Tensor:
    """The tensor over an array, on its device where there is one."""
    there = device != "cpu" and backend.is_usable(device)           # the table of the cpu is not loaded for nothing
    found = Tensor(backend.table(device).from_numpy(array) if there else array, None, is_value)
    found.requires_grad = requires_grad
    return found


def pack(value: Any) -> Packed:
    """The value taken apart. Errors are pickle's."""
    file, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    Packer(file, buffers).dump(value)
    return Packed(file.getvalue(), [buffer.raw() for buffer in buffers])


def padded(size: int) -> int:
    """The room of so many bytes."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def make_segment(size: int) -> SharedMemory:
    """New shared memory with room for so many bytes. OSError where there is none: no process dies for want of it."""
    segment = SharedMemory(f"lnb_{secrets.token_hex(8)}", create=True, size=size_class(size))
    try:
        if (FILES / segment.name).exists():
            with open(FILES / segment.name, "rb+") as file:
                os.posix_fallocate(file.fileno(), 0, segment.size)
    except OSError:
        discard(segment)
        raise
    return segment


def discard(segment: SharedMemory) -> None:
    """Take the name away, if the other side has not, and let go of the memory."""
    take_name(segment)
    segment.close()


def take_name(segment: SharedMemory) -> None:
    """Take the name away, if the other side has not."""
    with contextlib.suppress(FileNotFoundError):
        segment.unlink()


def fill(segment: SharedMemory, buffers: Sequence[Any]) -> None:
    """Write the buffers one after the other."""
    memory, start = np.ndarray(segment.size, np.uint8, segment.buf), 0
    for buffer in buffers:
        memory[start:start + len(buffer)] = np.frombuffer(buffer, np.uint8)
        start += padded(len(buffer))
    del memory


def parts_of(memory: Any, sizes: Sequence[int]) -> list[np.ndarray]:
    """The buffers in memory that was filled, as views."""
    whole, found, start = np.frombuffer(memory, np.uint8), [], 0
    for size in sizes:
        found.append(whole[start:start + size])
        start += padded(size)
    return found


class Letter(NamedTuple):
    """A value on its way: the pickle, where its buffers are, and their sizes. Without a segment they come along."""

    pickled: bytes
    slot: int | None
    name: str
    sizes: list[int]
    along: list[bytes]


class Sender:
    """The shared memory through which a worker's values go: `count` segments, each used again when it was read."""

    def __init__(self, count: int) -> None:
        self.segments: list[SharedMemory | None] = [None] * count
        self.turn, self.is_closed = 0, False

    def send(self, value: Any) -> Letter:
        """A value on its way, its arrays in the segment whose turn it is, or along with it where memory is short."""
        packed = pack(value)
        sizes = [len(buffer) for buffer in packed.buffers]
        if packed.size >= SMALL:
            try:
                segment = self._room_for(packed.size)
            except OSError:
                pass
            else:
                fill(segment, packed.buffers)
                slot, self.turn = self.turn, (self.turn + 1) % len(self.segments)
                return Letter(packed.pickled, slot, segment.name, sizes, [])
        return Letter(packed.pickled, None, "", sizes, [bytes(buffer) for buffer in packed.buffers])

    def _room_for(self, size: int) -> SharedMemory:
        segment = self.segments[self.turn]
        if segment is None or segment.size < size:
            if segment is not None:
                segment.close()
                self.segments[self.turn] = None
            segment = self.segments[self.turn] = make_segment(size)
            if self.is_closed:
                take_name(segment)
        return segment

    def close(self) -> None:
        """Take the names away that nobody has taken; what was sent can still be read."""
        self.is_closed = True
        for segment in self.segments:
            if segment is not None:
                take_name(segment)


class Receiver:
    """The other side of a `Sender`."""

    def __init__(self) -> None:
        self.segments: dict[int, SharedMemory] = {}

    def take(self, letter: Letter) -> Any:
        """The value, in memory of its own; its segment may then be used again."""
        return pickle.loads(letter.pickled, buffers=[_copied(part) for part in self._parts(letter)])

    def _parts(self, letter: Letter) -> Sequence[Any]:
        if letter.slot is None:
            return letter.along
        return parts_of(self.open(letter).buf, letter.sizes)

    def open(self, letter: Letter) -> SharedMemory:
        """The segment in which a value is. It loses its name."""
        assert letter.slot is not None
        segment = self.segments.get(letter.slot)
        if segment is None or segment.name != letter.name:
            if segment is not None:
                segment.close()
            segment = self.segments[letter.slot] = SharedMemory(letter.name)
            take_name(segment)
        return segment

    def close(self) -> None:
        """Let go of the memory; values that were taken have their own."""
        for segment in self.segments.values():
            segment.close()
        self.segments.clear()


def _copied(part: Any) -> np.ndarray:
    own: np.ndarray = backend.table("cpu").empty((len(part),), np.dtype(np.uint8))
    own[:] = np.frombuffer(part, np.uint8)
    return own


class Sealed(NamedTuple):
    """What a worker gets of a parcel: the pickle, and its arrays or the name of the memory where they are."""

    pickled: bytes
    name: str
    sizes: list[int]
    along: list[bytes]

    def open(self) -> Any:
        """The value. Errors are pickle's and the value's own."""
        parts = parts_of(_private(self.name), self.sizes) if self.name else map(bytearray, self.along)
        return pickle.loads(self.pickled, buffers=parts)


class Parcel:
    """A value for every worker: its arrays once for all, in one segment, which each may change for itself.

    It is taken apart while a process starts, which is when locks and counters of multiprocessing may be sent.
    """

    def __init__(self, value: Any) -> None:
        self.value, self.segment = value, cast("SharedMemory | None", None)

    def __reduce__(self) -> Any:
        packed = pack(self.value)
        if packed.size < SMALL:
            return Sealed, (packed.pickled, "", [], [bytes(buffer) for buffer in packed.buffers])
        if self.segment is None:
            self.segment = make_segment(packed.size)
            fill(self.segment, packed.buffers)
        return Sealed, (packed.pickled, self.segment.name, list(map(len, packed.buffers)), [])

    def close(self) -> None:
        """Every worker has it, or is no more: take the name away."""
        if self.segment is not None:
            discard(self.segment)
            self.segment = None


def _private(name: str) -> Any:
    """The memory of this name, which this process alone changes: its pages are copied when they are written."""
    if (FILES / name).exists():
        with open(FILES / name, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    segment = SharedMemory(name)
    try:
        return bytearray(segment.buf or b"")
    finally:
        segment.close()
