"""lucid's files: .lct of one tensor, .lcd of a state dict, each a pickle of {type, format_version, content}.

The content of a .lcd file may be nested (models, optimizers, schedules, generators): containers, numbers, texts and
arrays. What is written here lucid 2.10 reads.
"""

import pickle
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import dtypes
from ..array import Tensor
from ..errors import ConfigError, DTypeError, told
from .builders import of_numpy, states
from .opening import damaged, named, reading
from .pickles import SCALARS, Machine
from .writing import write_whole

VERSION, PROTOCOL = 1.1, 4
DEEPEST = 100         # containers inside of each other
COPIES = 16           # how often its size a file may be copied by builders
EXACT = frozenset(kind for kind in SCALARS if kind is not np.generic)


def load(path: Any, device: str) -> Any:
    """The tensor of a .lct file, or the dict of a .lcd file."""
    with open(path, "rb") as file, reading(path, "file of lucid"):
        size = file.seek(0, 2)
        file.seek(0)
        if size == 0:
            raise ConfigError(f"load: {named(path)} is empty. Save or fetch it anew.")
        machine = Machine("load", of_numpy(device), states(device), COPIES * size + (1 << 20))
        found = machine.read(file)
        machine.check(found)
        return _content(path, found)


def _content(path: Any, found: Any) -> Any:
    if not isinstance(found, dict) or not {"type", "format_version", "content"} <= found.keys():
        raise ConfigError(f"load: {named(path)} is a pickle, not a file of lucid. Save it with lucid_nb.save.")
    if found["format_version"] != VERSION:
        raise ConfigError(f"load: {named(path)} has format version {told(found['format_version'])}, not {VERSION}. "
                          "Save it anew.")
    kind, content = found["type"], found["content"]
    if isinstance(content, {"Tensor": Tensor, "OrderedDict": dict, "dict": dict}[kind]):
        return content
    raise damaged(path, f"it is said to hold a {told(kind)}, and holds a {type(content).__name__}")


def save(path: Any, content: Any) -> None:
    """Write a tensor or a state dict."""
    found = plain(content, "")
    kind = "Tensor" if isinstance(found, np.ndarray) else type(found).__name__
    data = {"type": kind, "format_version": VERSION, "content": found}

    def write(place: str) -> None:
        with open(place, "wb") as file:
            pickle.dump(data, file, protocol=PROTOCOL)
    write_whole(path, write)


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """The value with tensors as arrays, if it is made of containers, numbers, texts and arrays."""
    if depth > DEEPEST:
        raise ConfigError(f"save: {told(where)} lies deeper than {DEEPEST} containers. Does one hold itself?")
    if isinstance(value, (Tensor, np.ndarray)):
        return host_array(value, where)
    if type(value) in EXACT or (isinstance(value, np.generic) and dtypes.is_supported(value.dtype)):
        return value
    if isinstance(value, Mapping):
        kind: Any = type(value) if type(value) in (OrderedDict, Counter) else dict
        return kind({_key(key, where): plain(part, f"{where}.{key}", depth + 1) for key, part in value.items()})
    if isinstance(value, (list, tuple, set)):
        parts = [plain(part, f"{where}[{index}]", depth + 1) for index, part in enumerate(value)]
        return list(parts) if isinstance(value, list) else tuple(parts) if isinstance(value, tuple) else set(parts)
    raise ConfigError(f"save: the state holds a {type(value).__name__} at {told(where.lstrip('.'))}. "
                      "Save tensors, numbers, texts and containers of them.")


def host_array(value: Any, where: str) -> np.ndarray:
    """The numbers of a tensor or array, if a file can hold them."""
    found = value.to_host() if isinstance(value, Tensor) else np.asarray(value)
    if not dtypes.is_supported(found.dtype):
        raise DTypeError(f"save: {told(where.lstrip('.'))} is {found.dtype}, which no tensor holds. Convert it.")
    return found


def _key(key: Any, where: str) -> Any:
    parts = key if type(key) is tuple else (key,)
    if all(type(part) in EXACT for part in parts):
        return key
    raise ConfigError(f"save: {told(where.lstrip('.'))} has the key {told(key)}. Use texts and numbers as keys.")
