"""What tensors write of themselves, as NumPy's arrays do: bytes, raw files and pickles."""

import pickle
from typing import Any

from ..array import Tensor
from .writing import is_path, write_whole


def tobytes(self: Tensor, order: str = "C") -> bytes:
    """The numbers' bytes, on whatever device, along the last axis first, or along the first with order="F".

    >>> lnb.array([1, 2], dtype="int16").tobytes()
    b'\\x01\\x00\\x02\\x00'
    """
    return self.to_host().tobytes(order)  # type: ignore[arg-type]


def tofile(self: Tensor, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the numbers' bytes to a file, or with `sep` their texts; a path is written whole or not at all.

    The file tells neither dtype nor shape: `lnb.save` does.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     lnb.array([1, 2]).tofile(file.name, sep=",")
    ...     lnb.fromfile(file.name, int, sep=",")
    tensor([1, 2])
    """
    found = self.to_host()
    if is_path(fid):
        write_whole(fid, lambda place: found.tofile(place, sep, format))
    else:
        found.tofile(fid, sep, format)


def dumps(self: Tensor) -> bytes:
    """The tensor as a pickle, without its graph.

    >>> import pickle
    >>> pickle.loads(lnb.arange(2).dumps())
    tensor([0, 1])
    """
    return pickle.dumps(self)


def dump(self: Tensor, file: Any) -> None:
    """Write the tensor as a pickle to a path, whole or not at all, or to an open binary file. Reading one runs code."""
    content = dumps(self)

    def write(place: str) -> None:
        with open(place, "wb") as opened:
            opened.write(content)
    if is_path(file):
        write_whole(file, write)
    else:
        file.write(content)


for _method in (tobytes, tofile, dumps, dump):
    setattr(Tensor, _method.__name__, _method)
