"""`save` and `load` of any format: NumPy's calls, and `save(obj, path)` by the path's suffix."""

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import backend
from ..array import Tensor
from ..errors import ConfigError, DTypeError, told
from . import arrays
from .writing import is_path

# Loaded when a file of theirs is: json and pickletools are not needed to start.
READERS = {".safetensors": ("safetensors", "load"), ".safetensors.index.json": ("safetensors", "load_index"),
           ".lct": ("lucid_files", "load"), ".lcd": ("lucid_files", "load"),
           ".pt": ("torch_files", "load"), ".pth": ("torch_files", "load")}
OF_ARRAYS, OF_DICTS = (".npy", ".lct"), (".npz", ".safetensors", ".lcd")


def _module(name: str) -> Any:
    return importlib.import_module(f".{name}", __package__)


def load(file: Any, mmap_mode: str | None = None, allow_pickle: bool = False, fix_imports: bool = True,
         encoding: str = "ASCII", *, max_header_size: int = 10000, device: Any = None) -> Any:
    """What a file holds, by its suffix; an open file, and any other name, is read as numpy.load reads it.

    - `.npy`: a tensor. With `mmap_mode`, "r", "r+" or "c", it lies on the file, on the cpu.
    - `.npz`: an `Archive` of tensors, each read when it is asked for.
    - `.safetensors`, or the index of a model in several files, `.safetensors.index.json`: a dict of tensors sorted by
      name, with the file's texts in its attribute `metadata`. On the cpu nothing is copied: the tensors lie on the
      file, whose pages are read when they are touched. Writing to a tensor leaves the file alone; others may replace
      the file meanwhile, but must not shorten it.
    - `.pt`, `.pth`: what torch.save wrote of tensors, parameters, numbers, texts and containers, without PyTorch; in
      its present format mapped as above.
    - `.lct`, `.lcd`: lucid's, of a tensor and of a (nested) state dict.

    No file runs code as it is read: what a pickle asks for beyond arrays and containers is refused by name, whatever
    `allow_pickle` says, but for NumPy's own files, which it permits to. Files that are damaged or something else raise
    ConfigError, a ValueError; DTypeError for strings, objects, dates and records; FileNotFoundError where there is
    none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = lnb.save({"weight": lnb.zeros(2)}, f"{folder}/model.safetensors", metadata={"epoch": "3"})
    ...     found = lnb.load(f"{folder}/model.safetensors")
    >>> found["weight"], found.metadata
    (tensor([0., 0.]), {'epoch': '3'})
    """
    reader = READERS.get(_suffix(file, READERS)) if is_path(file) else None
    if reader is None:
        return arrays.load(file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size, device)
    if mmap_mode is not None:
        raise ConfigError(f"load: mmap_mode={mmap_mode!r} is for .npy files. Leave it out, other files need none.")
    module, function = reader
    return getattr(_module(module), function)(file, backend.resolve(device))


def save(file: Any, arr: Any, allow_pickle: bool = False, *, safetensors: bool = False,
         metadata: Mapping[str, str] | None = None) -> Path | None:
    """Write to a file whole or not at all: `save(obj, path)` by the path's suffix, or NumPy's `save(file, array)`.

    Which of the two is meant shows in the types: where the second argument is a path and the first is none, it is
    `save(obj, path)`, which gives the path that was written. `obj` is

    - a tensor or array, for `.npy` and `.lct`;
    - a dict of them by name, or anything with a `state_dict()`, such as a module, for `.npz` and `.safetensors`, the
      latter with texts as `metadata`;
    - a dict that may be nested and hold numbers and texts, such as an optimizer's state, for `.lcd`.

    Without a suffix a tensor gets `.lct`, anything else `.lcd`, or with safetensors=True `.safetensors`. PyTorch's
    files are read and not written: it reads .safetensors, too.

    `save(file, array)` writes a .npy file to a path (".npy" is added where it is not there) or an open binary file;
    nothing is pickled, whatever `allow_pickle` says.

    The content of tensors is written, on whatever device, not their gradients; memory that several share is written
    for each. DTypeError for what the format cannot hold, bfloat16 in NumPy's and complex128 in .safetensors.

    >>> import io
    >>> file = io.BytesIO()
    >>> lnb.save(file, lnb.arange(3))
    >>> _ = file.seek(0)
    >>> lnb.load(file)
    tensor([0, 1, 2])
    """
    if not is_path(arr) or is_path(file):
        if safetensors or metadata is not None:
            raise ConfigError("save: metadata and safetensors belong to save(obj, path). Name the path second.")
        arrays.save(file, arr)
        return None
    return _save_by_suffix(file, Path(os.fsdecode(arr)), safetensors, metadata)


def _save_by_suffix(obj: Any, path: Path, safetensors: bool, metadata: Mapping[str, str] | None) -> Path:
    content = obj.state_dict() if hasattr(obj, "state_dict") else obj
    is_array = isinstance(content, (Tensor, np.ndarray))
    if safetensors:
        path = path.with_suffix(".safetensors")
    elif not path.suffix:
        path = path.with_suffix(".lct" if is_array else ".lcd")
    suffix = path.suffix
    allowed = OF_ARRAYS if is_array else OF_DICTS
    if suffix not in allowed:
        what = f"files hold no {_kind(content)}" if suffix in (*OF_ARRAYS, *OF_DICTS) else "files cannot be written"
        raise ConfigError(f"save: {suffix} {what}. Use {' or '.join(allowed)}.")
    if metadata is not None and suffix != ".safetensors":
        raise ConfigError(f"save: {suffix} files have no metadata. Use .safetensors.")
    if suffix == ".safetensors":
        _module("safetensors").save(path, _flat(content), metadata)
    elif suffix in (".lct", ".lcd"):
        _module("lucid_files").save(path, _mapping(content) if suffix == ".lcd" else content)
    elif suffix == ".npy":
        arrays.save(path, content)
    else:
        arrays.save_dict(path, _flat(content))
    return path.resolve()


def _kind(content: Any) -> str:
    return "tensor alone" if isinstance(content, (Tensor, np.ndarray)) else type(content).__name__


def _mapping(content: Any) -> Mapping[Any, Any]:
    if not isinstance(content, Mapping):
        raise DTypeError(f"save: a {type(content).__name__} is no state dict. Give a dict, a module or a tensor.")
    return content


def _flat(content: Any) -> dict[str, np.ndarray]:
    """Arrays by name, and nothing else."""
    found = {}
    for name, value in _mapping(content).items():
        if not isinstance(name, str):
            raise ConfigError(f"save: {told(name)} is no name for a tensor. Use texts, or .lcd.")
        if not isinstance(value, (Tensor, np.ndarray, np.generic)):
            raise DTypeError(f"save: {told(name)} is a {type(value).__name__}, not a tensor. Use .lcd, which holds it.")
        found[name] = _module("lucid_files").host_array(value, name)
    return found


def _suffix(file: Any, known: Mapping[str, Any]) -> str:
    """The longest known suffix of a path, or its last."""
    name = os.path.basename(os.fsdecode(file)).lower()
    found = [suffix for suffix in known if name.endswith(suffix)]
    return max(found, key=len, default=os.path.splitext(name)[1])
