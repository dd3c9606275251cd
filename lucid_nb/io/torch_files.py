"""PyTorch's files of state dicts, .pt and .pth, read without PyTorch and without running what they hold.

Both of its formats: the zip archive (since 1.6), whose numbers are mapped and not copied, and the row of pickles before
it. Tensors and parameters become tensors; tensors of one storage share its memory on the cpu. Nothing is written here:
PyTorch reads .safetensors.
"""

import io
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .. import dtypes
from ..array import Tensor
from ..errors import ConfigError, told
from .builders import extents, of_numpy, placed, sound, states
from .opening import damaged, mapped, named, reading
from .pickles import Machine

MAGIC, PROTOCOL = 0x1950a86a20f9469cfc6c, 1001
KIND = "PyTorch file"
OF_STORAGE = {"Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
              "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
              "ComplexFloat": "complex64", "ComplexDouble": "complex128"}
ALIASES = {"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32",
           "short": "int16", "cfloat": "complex64", "cdouble": "complex128"}
LOCAL_HEADER, LOCAL_LENGTHS = 30, slice(26, 30)      # of a zip entry: its size, and where the sizes of two fields stand
COPIES = 16           # how often its size a file's pickle may be copied by builders


class Storage:
    """A tensor's memory: its bytes, once they are read."""

    def __init__(self, key: str, dtype: np.dtype, count: int) -> None:
        self.key, self.dtype, self.count = key, dtype, count
        self.content: np.ndarray | None = None


class Wanted(NamedTuple):
    """A tensor to be made of a storage when that is read."""

    made: Tensor
    storage: Storage
    dtype: np.dtype
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Reading:
    """One file being read: the storages that its pickle names, and the tensors that lie on them."""

    def __init__(self, device: str, size: int) -> None:
        self.device = device
        self.storages: dict[str, Storage] = {}
        self.wanted: list[Wanted] = []
        builders = of_numpy(device) | self._builders()
        self.machine = Machine("load", builders, states(device), COPIES * size + (1 << 20), self._refer)

    def _builders(self) -> dict[tuple[str, str], Any]:
        found: dict[tuple[str, str], Any] = {
            ("torch._utils", "_rebuild_tensor"): self._tensor, ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self._tensor_of_dtype,
            ("torch._utils", "_rebuild_parameter"): _same, ("torch._utils", "_rebuild_parameter_with_state"): _same,
            ("torch._tensor", "_rebuild_from_type_v2"): _plain, ("torch", "Tensor"): _tensor_class,
            ("torch.nn.parameter", "Parameter"): _tensor_class, ("torch", "Size"): _size, ("torch", "device"): _device,
            ("torch.storage", "UntypedStorage"): np.dtype(np.uint8), ("torch", "UntypedStorage"): np.dtype(np.uint8)}
        for kind, name in OF_STORAGE.items():
            for module in ("torch", "torch.cuda"):
                found[module, f"{kind}Storage"] = dtypes.as_dtype("load", name)
        for name in dtypes.NAMES:
            found["torch", name] = dtypes.as_dtype("load", name)
        for alias, name in ALIASES.items():
            found["torch", alias] = dtypes.as_dtype("load", name)
        return found

    def _refer(self, reference: Any) -> Storage:
        """The storage of a persistent id: ("storage", its type, key, place, count of elements, and once a view)."""
        kind, dtype, key, _, count, *view = reference
        if kind != "storage" or not isinstance(dtype, np.dtype) or type(count) is not int or count < 0 or any(view):
            raise ValueError(f"a reference to {told(reference)}")
        known = self.storages.setdefault(str(key), Storage(str(key), dtype, count))
        if (known.dtype, known.count) != (dtype, count):
            raise ValueError(f"storage {told(key)} has two sizes")
        return known

    def _tensor(self, _: Machine, storage: Storage, offset: int, shape: Any, strides: Any, *more: Any) -> Tensor:
        return self._want(storage, storage.dtype, offset, shape, strides)

    def _tensor_of_dtype(self, _: Machine, storage: Storage, offset: int, shape: Any, strides: Any, requires_grad: Any,
                         hooks: Any, dtype: np.dtype, *more: Any) -> Tensor:
        return self._want(storage, dtype, offset, shape, strides)

    def _want(self, storage: Storage, dtype: np.dtype, offset: int, shape: Any, strides: Any) -> Tensor:
        sizes, steps, (start,) = extents(shape), extents(strides), extents((offset,))
        if len(sizes) != len(steps) or not isinstance(storage, Storage) or not isinstance(dtype, np.dtype):
            raise ValueError(f"a tensor of shape {told(sizes)} with strides {told(steps)}")
        made = Tensor(None)
        self.wanted.append(Wanted(made, storage, dtype, start, sizes, steps))
        return made

    def finish(self, found: Any) -> Any:
        """Lay the tensors on the storages, which are read by now, and see that the result is all data."""
        for wanted in self.wanted:
            wanted.made.raw = placed(_laid(wanted), self.device)
        self.machine.check(found)
        return found


def _laid(wanted: Wanted) -> np.ndarray:
    """A tensor's numbers as a view of its storage; nothing outside of it can be reached."""
    _, storage, dtype, offset, shape, strides = wanted
    held = storage.content
    if held is None:
        raise ValueError(f"storage {told(storage.key)} is missing")
    flat = sound("load", held[:len(held) // dtype.itemsize * dtype.itemsize].view(dtype))
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides)) if 0 not in shape else offset - 1
    if last >= len(flat) or offset > len(flat):
        raise ValueError(f"a tensor of shape {told(shape)} reaches element {told(last)} of {len(flat)}")
    steps = tuple(step * dtype.itemsize for step in strides) if 0 not in shape else None
    return np.ndarray(shape, dtype, flat, offset * dtype.itemsize, steps)


def _same(_: Machine, data: Tensor, *more: Any) -> Tensor:
    """A parameter is read as the tensor that it is."""
    return data


def _tensor_class(*_: Any) -> None:
    """Stands for torch.Tensor and torch.nn.Parameter, which only _rebuild_from_type_v2 takes."""
    raise ValueError("a tensor without a storage")


def _plain(machine: Machine, build: Callable[..., Tensor], kind: Any, arguments: tuple, state: Any) -> Tensor:
    """A tensor with attributes, which are left out."""
    if kind is not _tensor_class:
        raise ValueError("a tensor of a class of its own")
    if build not in [machine.builders["torch._utils", f"_rebuild_{name}"] for name in
                     ("tensor", "tensor_v2", "tensor_v3", "parameter")]:
        raise ValueError(f"{told(build)} as what makes a tensor")
    return build(machine, *arguments)


def _size(_: Machine, sizes: Any = ()) -> tuple[int, ...]:
    return extents(sizes)


def _device(_: Machine, kind: str, number: int | None = None) -> str:
    return kind if number is None else f"{kind}:{number}"


# ---------------------------------------------------------------------------------------------------- both formats
def load(path: Any, device: str) -> Any:
    """What torch.save wrote: a state dict, or nested containers of tensors, numbers and texts."""
    with open(path, "rb") as file:
        content = mapped(file)
        with reading(path, KIND):
            if bytes(content[:4]) == b"PK\x03\x04":
                return _load_archive(path, file, content, device)
            return _load_pickles(path, file, content, device)


def _load_archive(path: Any, file: BinaryIO, content: np.ndarray, device: str) -> Any:
    with zipfile.ZipFile(file) as archive:
        records = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}
        packed = [entry.filename for entry in records.values() if entry.compress_type != zipfile.ZIP_STORED]
        if packed:
            raise ConfigError(f"load: {named(path)} holds {told(packed[0])} compressed, which PyTorch never writes. "
                              "Unpack it and save it anew.")
        if "constants.pkl" in records:
            raise ConfigError(f"load: {named(path)} is a TorchScript program. Save its state_dict() instead.")
        if "data.pkl" not in records:
            raise ConfigError(f"load: {named(path)} is a zip archive without PyTorch's data.pkl. "
                              "Rename it, to .npz if NumPy made it.")
        if "byteorder" in records and _bytes_of(content, records["byteorder"]) != b"little":
            raise ConfigError(f"load: {named(path)} was written big-endian. Save it on a little-endian machine.")
        text = archive.read(records["data.pkl"])
        source = Reading(device, len(text))
        found = source.machine.read(io.BytesIO(text))
        for storage in source.storages.values():
            record = records.get(f"data/{storage.key}")
            storage.content = None if record is None else _checked(path, storage, _span(content, record))
    return source.finish(found)


def _span(content: np.ndarray, entry: zipfile.ZipInfo) -> np.ndarray:
    """The bytes of an entry that is not compressed, where they are."""
    head = content[entry.header_offset:entry.header_offset + LOCAL_HEADER]
    start = entry.header_offset + LOCAL_HEADER + int(head[LOCAL_LENGTHS].view("<u2").astype(int).sum())
    if bytes(head[:4]) != b"PK\x03\x04" or start + entry.file_size > len(content):
        raise ValueError(f"{told(entry.filename)} lies outside of the file")
    return content[start:start + entry.file_size]


def _bytes_of(content: np.ndarray, entry: zipfile.ZipInfo) -> bytes:
    return _span(content, entry).tobytes()


def _checked(path: Any, storage: Storage, held: np.ndarray) -> np.ndarray:
    """A storage's bytes, if there are as many as its elements take."""
    if len(held) < storage.count * storage.dtype.itemsize:
        raise damaged(path, f"storage {told(storage.key)} has {len(held)} bytes for {told(storage.count)} elements of "
                            f"{storage.dtype}")
    found = held[:storage.count * storage.dtype.itemsize]
    return found if found.view(storage.dtype).flags.aligned else found.copy()


def _load_pickles(path: Any, file: BinaryIO, content: np.ndarray, device: str) -> Any:
    """Five pickles, a magic number, the protocol, the system, the object, the storages' keys, then their bytes."""
    source = Reading(device, len(content))
    read = source.machine.read
    if read(file) != MAGIC:
        raise ConfigError(f"load: {named(path)} is a pickle, not a file of PyTorch. Save it with torch.save.")
    if read(file) != PROTOCOL:
        raise damaged(path, "it is written by another protocol")
    system = read(file)
    if not system.get("little_endian", True):
        raise ConfigError(f"load: {named(path)} was written big-endian. Save it on a little-endian machine.")
    found = read(file)
    keys, place = read(file), file.tell()
    for key in keys:
        storage = source.storages[str(key)]
        count = int.from_bytes(content[place:place + 8].tobytes(), "little", signed=True)
        size = storage.count * storage.dtype.itemsize
        if count != storage.count:
            raise damaged(path, f"storage {told(key)} has {told(count)} elements, not {told(storage.count)}")
        storage.content = _checked(path, storage, content[place + 8:place + 8 + size])
        place += 8 + size
    return source.finish(found)
