"""Numbers in text files and in raw ones, by NumPy's functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backend, dtypes
from ..array import Tensor
from ..creation.data import from_host, place_of
from ..errors import ConfigError, DTypeError
from .writing import is_path, write_whole


def savetxt(fname: Any, X: Any, *how: Any, **options: Any) -> None:
    """Write numbers of one or two axes as text: numpy.savetxt with its arguments (fmt, delimiter, header, ...).

    A path is written whole or not at all; one that ends in .gz is compressed.

    >>> import io
    >>> file = io.StringIO()
    >>> lnb.savetxt(file, lnb.array([[1, 2], [3, 4]]), fmt="%d", delimiter=",")
    >>> file.getvalue()
    '1,2\\n3,4\\n'
    """
    found = X.to_host() if isinstance(X, Tensor) else np.asarray(X)

    def write(place: Any) -> None:
        _called("savetxt", np.savetxt, place, found, *how, **options)
    if is_path(fname):
        write_whole(fname, write)
    else:
        write(fname)


def loadtxt(fname: Any, dtype: Any = float, *how: Any, device: Any = None, **options: Any) -> Any:
    """The numbers of a text file, a line a row: numpy.loadtxt with its arguments (comments, delimiter, usecols, ...).

    Floats are given in the default float; with unpack=True the result is one tensor whose rows are the columns.
    ConfigError, a ValueError, for lines that are no numbers; FileNotFoundError where there is no file.

    >>> import io
    >>> lnb.loadtxt(io.StringIO("1 2\\n3 4"))
    tensor([[1., 2.],
            [3., 4.]])
    """
    return _read("loadtxt", np.loadtxt, device, fname, dtype, *how, **options)


def genfromtxt(fname: Any, dtype: Any = float, *how: Any, device: Any = None, **options: Any) -> Any:
    """As `loadtxt`, of a file with gaps: numpy.genfromtxt with its arguments (skip_header, missing_values, ...).

    Columns of different dtypes, which NumPy gives as records, are DTypeError: read them one by one, by usecols.

    >>> import io
    >>> lnb.genfromtxt(io.StringIO("1,,3"), delimiter=",")
    tensor([ 1., nan,  3.])
    """
    return _read("genfromtxt", np.genfromtxt, device, fname, dtype, *how, **options)


def fromregex(file: Any, regexp: Any, dtype: Any, encoding: str | None = None, *, device: Any = None) -> Any:
    """The numbers that a regular expression finds in a text file: numpy.fromregex, of a dtype of one field.

    >>> import io
    >>> lnb.fromregex(io.StringIO("a=1 b=22"), r"=(\\d+)", [("number", "int64")])
    tensor([ 1, 22])
    """
    found = _called("fromregex", np.fromregex, file, regexp, dtype, encoding)
    fields = found.dtype.names
    return _placed("fromregex", found[fields[0]] if fields is not None and len(fields) == 1 else found, dtype, device)


def fromfile(file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0, *,
             device: Any = None, like: Any = None) -> Tensor:
    """The numbers of a raw file, as `tofile` writes it, or of a text parted by `sep`; of one axis.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([1, 2, 3])), file.flush()
    ...     lnb.fromfile(file.name, "uint8")
    tensor([1, 2, 3], dtype=uint8)
    """
    wanted = dtypes.as_dtype("fromfile", dtype)
    return _placed("fromfile", _called("fromfile", np.fromfile, file, wanted, count, sep, offset), dtype,
                   place_of(device, like))


def _read(op: str, read: Callable, device: Any, fname: Any, dtype: Any, *how: Any, **options: Any) -> Any:
    return _placed(op, _called(op, read, fname, dtype, *how, **options), dtype, device)


def _placed(op: str, found: Any, dtype: Any, device: Any) -> Any:
    """A tensor of what was read, several of what is several; floats that nobody asked for are the default float."""
    if isinstance(found, (list, tuple)):
        return type(found)(_placed(op, part, dtype, device) for part in found)
    dtypes.check_supported(op, found.dtype)
    return from_host(op, found, None if dtype in (float, None) else found.dtype, backend.resolve(device))


def _called(op: str, function: Callable, *arguments: Any, **options: Any) -> Any:
    """NumPy's function, its refusals in the words of this library."""
    try:
        return function(*arguments, **options)
    except ValueError as error:
        raise ConfigError(f"{op}: {error}. Give what numpy.{op} takes.") from None
    except TypeError as error:
        raise DTypeError(f"{op}: {error}. Give what numpy.{op} takes.") from None
