"""Bits in bytes, numbers that are nearly real, and complex numbers in order."""

from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor, fresh
from ..errors import DTypeError, ShapeError, is_one_of, told
from ..register import functions, public
from .hosted import holds_anywhere, hosted
from .movement import as_tensor, astype
from .sorting import sort

ORDERS = ("big", "little")


@public(method=False)
@hosted
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Bools or integers as bits, eight in a byte, zeros behind the last; along an axis, or flat. On the host.

    `bitorder`: "big", the first is the highest bit, or "little".

    >>> import lucid_nb as lnb
    >>> lnb.packbits([1, 0, 0, 0, 0, 0, 1, 1, 1])
    tensor([131, 128], dtype=uint8)
    """
    x = _bits("packbits", a, "biu", bitorder)
    return _on(x, np.packbits(x.to_host(), _axis("packbits", axis, x), bitorder))  # type: ignore[call-overload]


@public(method=False)
@hosted
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Tensor:
    """The bits of bytes (uint8), each a byte; along an axis, or flat. On the host.

    `count`: how many to keep, more are zeros; negative, how many at the end to leave out.

    >>> import lucid_nb as lnb
    >>> lnb.unpackbits(lnb.array([131], dtype=lnb.uint8))
    tensor([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    x = _bits("unpackbits", a, "u", bitorder)
    if x.dtype != np.uint8:
        raise DTypeError(f"unpackbits: {x.dtype} are no bytes. Use .astype('uint8').")
    try:
        found = np.unpackbits(x.to_host(), _axis("unpackbits", axis, x), count, bitorder)  # type: ignore[call-overload]
    except ValueError as error:
        raise ShapeError(f"unpackbits: {error}. Use a count that leaves bits.") from None
    if x.size == 0:                           # where count asks for bits NumPy gives what its memory holds
        found.fill(0)
    return _on(x, found)


def _bits(op: str, a: Any, kinds: str, bitorder: Any) -> Tensor:
    x = as_tensor(op, a)
    if x.dtype.kind not in kinds:
        raise DTypeError(f"{op}: {x.dtype} are no bits. Use bools or integers.")
    if not is_one_of(bitorder, ORDERS):
        raise ShapeError(f"{op}: bitorder {told(bitorder)} is unknown. Use \"big\" or \"little\".")
    return x


def _axis(op: str, axis: Any, x: Tensor) -> int | None:
    return None if axis is None else shapes.normalize_axis(op, axis, x.ndim)


def _on(like: Tensor, found: np.ndarray) -> Tensor:
    return fresh(backend.of(like.raw).from_numpy(found))


@public(method=False)
def sort_complex(a: Any) -> Tensor:
    """Numbers as complex ones, in order of the real parts, equal ones in order of the imaginary parts; differentiable.

    complex64 of integers of 16 bits or less and of complex64, otherwise complex128 (on mlx complex64).

    >>> import lucid_nb as lnb
    >>> lnb.sort_complex([2 + 1j, 1, 2 - 1j]).tolist()
    [(1+0j), (2-1j), (2+1j)]
    """
    found = sort(as_tensor("sort_complex", a))
    if found.dtype.kind == "c":
        return found
    if found.dtype.kind in "iu" and found.dtype.itemsize < 4:
        return astype(found, dtypes.COMPLEX64)
    return astype(found, dtypes.on_device(dtypes.COMPLEX128, found.device, (found.dtype,)))


@public(method=False)
def real_if_close(a: Any, tol: float = 100) -> Tensor:
    """The real parts, where no imaginary part is as large as `tol`; otherwise the numbers as they are.

    `tol` above 1 counts units in the last place of 1.

    >>> import lucid_nb as lnb
    >>> lnb.real_if_close([1 + 1e-16j, 2])
    tensor([1., 2.])
    """
    x = as_tensor("real_if_close", a)
    if x.dtype.kind != "c":
        return x
    limit = float(np.finfo(x.dtype).eps) * tol if tol > 1 else tol
    is_real = not holds_anywhere(functions["logical_not"](abs(x.imag) < limit))
    real: Tensor = x.real
    return real if is_real else x
