"""NumPy's own files: .npy of one array, .npz of several. Reading them runs no code: pickles are refused by default."""

import os
import weakref
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from .. import backend, dtypes
from ..apply import as_array
from ..array import Tensor
from ..errors import ConfigError, DTypeError
from .opening import reading
from .writing import is_path, write_whole

KIND = ".npy or .npz file of numbers"


def _content(op: str, arr: Any) -> np.ndarray:
    found = arr.to_host() if isinstance(arr, Tensor) else as_array(op, arr)
    if found.dtype == dtypes.BFLOAT16:
        raise DTypeError(f"{op}: .npy files know no bfloat16. Use .astype('float32').")
    return _checked(op, found)


def _checked(op: str, array: np.ndarray) -> np.ndarray:
    """The array, if a tensor can hold it."""
    dtypes.check_supported(op, array.dtype)
    return array


def _with_suffix(file: Any, suffix: str) -> Any:
    """The name with NumPy's suffix, which is added where another stands."""
    name = os.fspath(file)
    return name if name.endswith(suffix) else name + suffix


def _put(file: Any, suffix: str, write: Callable[[Any], Any]) -> None:
    if not is_path(file):
        write(file)
        return
    write_whole(_with_suffix(file, suffix), write)


_read: Callable = np.load


def save(file: Any, arr: Any) -> None:
    """Write one array to a .npy file, a path (".npy" is added where it is not there) or an open binary file."""
    found = _content("save", arr)
    _put(file, ".npy", lambda place: np.save(place, found, allow_pickle=False))


def save_dict(path: Any, named: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a .npz file under any names; numpy.savez takes none that are its own keywords."""
    cut = [name for name in named if "\0" in name]
    if cut:
        raise ConfigError(f"save: the name {cut[0]!r} would end at its zero in a .npz file. Use .safetensors.")
    found = {name: _content("save", array) for name, array in named.items()}

    def write(place: str) -> None:
        with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in found.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
    write_whole(path, write)


def savez(file: Any, *args: Any, allow_pickle: bool = False, **kwds: Any) -> None:
    """Write several arrays to a .npz file, by their keywords, or as arr_0, arr_1, ...; otherwise as `save`.

    >>> import io
    >>> file = io.BytesIO()
    >>> lnb.savez(file, lnb.ones(2), weight=lnb.zeros(1))
    >>> _ = file.seek(0)
    >>> sorted(lnb.load(file))
    ['arr_0', 'weight']
    """
    _save_several("savez", np.savez, file, args, kwds)


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = False, **kwds: Any) -> None:
    """As `savez`, compressed."""
    _save_several("savez_compressed", np.savez_compressed, file, args, kwds)


def _save_several(op: str, write: Callable, file: Any, args: tuple, named: dict[str, Any]) -> None:
    arrays = [_content(op, arr) for arr in args]
    by_name = {name: _content(op, arr) for name, arr in named.items()}
    twice = [name for name in by_name if name in {f"arr_{number}" for number in range(len(arrays))}]
    if twice:
        raise ConfigError(f"{op}: {twice[0]!r} names an array without a name, too. Use another keyword.")
    _put(file, ".npz", lambda place: write(place, *arrays, allow_pickle=False, **by_name))


def load(file: Any, mmap_mode: str | None, allow_pickle: bool, fix_imports: bool, encoding: str, max_header_size: int,
         device: Any) -> Any:
    """The tensor of a .npy file, or of a .npz file an `Archive` of them; `file` is a path or an open binary file."""
    place = backend.resolve(device)
    is_ours = is_path(file) and mmap_mode is None              # NumPy leaves a file open that it cannot read
    with ExitStack() as opened:
        source = opened.enter_context(open(file, "rb")) if is_ours else file
        with reading(file, KIND):
            found: Any = _read(source, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size)
        if not isinstance(found, np.lib.npyio.NpzFile):
            return _tensor(found, place)
        if is_ours:
            found.fid = source  # type: ignore[assignment]     # it is read later, and closed by the archive
        opened.pop_all()
    return Archive(found, place, file)


def _tensor(array: Any, place: str) -> Tensor:
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"load: the file holds a {type(array).__name__}, not an array. Use numpy.load.")
    found = _checked("load", array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("=")))
    return Tensor(backend.table(place).from_numpy(np.asarray(found)))


class Archive(Mapping[str, Tensor]):
    """The tensors of a .npz file by name, each read when it is asked for; a context manager that closes the file."""

    def __init__(self, source: Any, device: str, name: Any) -> None:
        self.source, self.device, self.files, self.name = source, device, list(source.files), name
        weakref.finalize(self, source.close)         # before the file's own finalizer, which would complain

    def __getitem__(self, name: str) -> Tensor:
        if self.source.zip is None:
            raise ConfigError(f"load: the archive of {self.files} is closed. Load it again.")
        with reading(self.name, KIND):
            return _tensor(self.source[name], self.device)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, name: object) -> bool:
        return name in self.source

    def __repr__(self) -> str:
        return f"Archive({', '.join(self.files)})"

    @property
    def f(self) -> Any:
        """The same by attribute: `archive.f.weight`."""
        return _Attributes(self)

    def close(self) -> None:
        """Close the file."""
        self.source.close()

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Attributes:
    """The items of a mapping as attributes."""

    def __init__(self, items: Mapping[str, Tensor]) -> None:
        self._items = items

    def __getattr__(self, name: str) -> Tensor:
        try:
            return self._items[name]
        except KeyError:
            raise AttributeError(f"the archive has no array {name!r}. It has {', '.join(self._items)}.") from None
