"""Files of named tensors in the safetensors format: a length, a header in JSON, then the numbers as they are in memory.

Loading maps the file and copies nothing; a model in several files has an index, `*.safetensors.index.json`.
Source: the format's description, https://huggingface.co/docs/safetensors.
"""

import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..array import Tensor
from ..errors import ConfigError, DTypeError, told
from .builders import placed, sound
from .opening import damaged, mapped, named, reading
from .writing import write_whole

METADATA, HEADER_LIMIT, ALIGNMENT = "__metadata__", 100_000_000, 8
DTYPES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "F16": "float16",
          "BF16": "bfloat16", "I32": "int32", "U32": "uint32", "F32": "float32", "C64": "complex64", "F64": "float64",
          "I64": "int64", "U64": "uint64"}
OF_CODE = {code: dtypes.as_dtype("load", name) for code, name in DTYPES.items()}
CODE_OF = {dtype: code for code, dtype in OF_CODE.items()}


class Weights(dict[str, Tensor]):
    """Tensors by name, as a state dict, and the texts that came with them in `metadata`."""

    def __init__(self, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
        super().__init__(tensors)
        self.metadata = dict(metadata)


class Entry(NamedTuple):
    """Where a tensor lies in the file's data."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


# ---------------------------------------------------------------------------------------------------- reading
def load(path: Any, device: str) -> Weights:
    """The tensors of a file, sorted by name; on the CPU they lie on the file, and writing to them leaves it alone."""
    with open(path, "rb") as file:
        content = mapped(file)
    with reading(path, "safetensors file"):
        start, header = _header(path, content)
        metadata = header.pop(METADATA, {})
        if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
            raise damaged(path, f"{METADATA} is not made of texts")
        data = content[start:]
        entries = _checked(path, [_entry(path, *item) for item in header.items()], len(data))
        return Weights({entry.name: _tensor(data, entry, device) for entry in entries}, metadata)


def load_index(path: Any, device: str) -> Weights:
    """The tensors of all files that an index names; they lie beside it."""
    with open(path, "rb") as file:
        text = file.read()
    with reading(path, "index of safetensors files"):
        index = json.loads(text, object_pairs_hook=_once)
        files = index["weight_map"]
        folder = Path(os.fsdecode(path)).parent
        shards = {name: load(folder / _beside(path, name), device) for name in sorted(set(files.values()))}
        missing = [name for name, file in files.items() if name not in shards[file]]
        if missing:
            raise damaged(path, f"{told(missing[0])} is not in {told(files[missing[0]])}")
        metadata = {key: text for shard in shards.values() for key, text in shard.metadata.items()}
        return Weights({name: shards[files[name]][name] for name in sorted(files)}, metadata)


def _beside(path: Any, name: Any) -> str:
    """The name of a file in the index's own folder."""
    if not isinstance(name, str) or name in ("", ".", "..") or any(mark in name for mark in "/\\:\0"):
        raise ConfigError(f"load: {named(path)} names the file {told(name)}, which is not in its own folder. "
                          "Put the files side by side.")
    return name


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _header(path: Any, content: np.ndarray) -> tuple[int, dict[str, Any]]:
    """Where the data start, and the header."""
    if len(content) < 8:
        raise damaged(path, f"it has {len(content)} bytes, and its header's length alone takes 8")
    length = int(content[:8].view("<u8")[0])
    if length > min(HEADER_LIMIT, len(content) - 8):
        raise damaged(path, f"its header would have {length} bytes, of {len(content) - 8}, and {HEADER_LIMIT} at most")
    header = json.loads(content[8:8 + length].tobytes().decode(), object_pairs_hook=_once)
    if not isinstance(header, dict):
        raise damaged(path, "its header is not an object")
    return 8 + length, header


def _entry(path: Any, name: str, told_of: Any) -> Entry:
    code, shape, (begin, end) = told_of["dtype"], told_of["shape"], told_of["data_offsets"]
    if code not in OF_CODE:
        raise DTypeError(f"load: {named(path)} holds {told(name)} in {told(code)}, a dtype without arithmetic here. "
                         f"Convert it to one of {', '.join(OF_CODE)}.")
    sizes = [*shape, begin, end]
    if any(type(size) is not int or size < 0 for size in sizes):
        raise damaged(path, f"{told(name)} has shape {told(shape)} at bytes {told((begin, end))}")
    dtype = OF_CODE[code]
    if end - begin != prod(shape) * dtype.itemsize:
        raise damaged(path, f"{told(name)} has {told(end - begin)} bytes for shape {told(tuple(shape))} of {dtype}")
    return Entry(name, dtype, tuple(shape), begin, end)


def _checked(path: Any, entries: list[Entry], size: int) -> list[Entry]:
    """The entries by name, if they follow each other without overlaps and gaps to the end of the data."""
    end = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != end:
            raise damaged(path, f"{told(entry.name)} begins at byte {told(entry.begin)}, where {told(end)} is expected")
        end = entry.end
    if end != size:
        raise damaged(path, f"its tensors take {told(end)} bytes, and there are {size}")
    return sorted(entries)


def _tensor(data: np.ndarray, entry: Entry, device: str) -> Tensor:
    found = sound("load", data[entry.begin:entry.end].view(entry.dtype))
    return Tensor(placed(found.reshape(entry.shape), device))


# ---------------------------------------------------------------------------------------------------- writing
def save(path: Any, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None) -> None:
    """Write arrays by name; wider dtypes come first, which aligns them, then names decide."""
    arrays = sorted(tensors.items(), key=lambda item: (-_rank(*item), item[0]))
    header: dict[str, Any] = {} if metadata is None else {METADATA: _texts(metadata)}
    end = 0
    for name, array in arrays:
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": CODE_OF[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)

    def write(place: str) -> None:
        with open(place, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for _, array in arrays:
                np.ascontiguousarray(array).reshape(-1).view(np.uint8).tofile(file)
    write_whole(path, write)


def _rank(name: str, array: np.ndarray) -> int:
    """The place of a dtype in the format's own list, which goes by size."""
    if array.dtype not in CODE_OF:
        raise DTypeError(f"save: {told(name)} is {array.dtype}, which safetensors files know not. "
                         "Save its real and imaginary part.")
    if name == METADATA:
        raise ConfigError(f"save: {METADATA} is no name for a tensor in this format. Pass metadata= for texts.")
    return list(DTYPES).index(CODE_OF[array.dtype])


def _texts(metadata: Mapping[str, str]) -> dict[str, str]:
    wrong = [key for key, text in metadata.items() if not isinstance(key, str) or not isinstance(text, str)]
    if wrong:
        raise ConfigError(f"save: metadata has {told(wrong[0])}: {told(metadata[wrong[0]])}. Give texts by names.")
    return dict(sorted(metadata.items()))
