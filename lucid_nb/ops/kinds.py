"""Questions about dtypes, of tensors, numbers and dtypes alike, and about shape and memory, as NumPy asks them."""

from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from .. import dtypes
from ..apply import as_array
from ..array import Tensor
from ..errors import DTypeError, is_one_of, told
from ..register import public
from ..shapes import normalize_axes
from .movement import CASTINGS

KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
         "complex floating": "c", "numeric": "iufc"}


def _dtype_of(op: str, x: Any) -> np.dtype:
    """The dtype of an array, or that is named."""
    if isinstance(x, (Tensor, np.ndarray, np.generic)):
        return dtypes.check_supported(op, x.dtype)
    return dtypes.as_dtype(op, x)


class Limits:
    """NumPy's `finfo` of a dtype, with its numbers as Python's floats, as the array API standard has them: beside a
    tensor they are weak, so that a result keeps the tensor's dtype."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_found":        # pickle and copy ask before there is anything to give
            raise AttributeError(name)
        value = getattr(self._found, name)
        return value if isinstance(value, (int, np.dtype, str)) else float(value)

    def __repr__(self) -> str:
        return repr(self._found)

    def __str__(self) -> str:
        return str(self._found)


@public(method=False)
def finfo(x: Any, /) -> Limits:
    """The limits of a float or complex dtype, or of an array's: eps, max, smallest_normal and so on.

    >>> import lucid_nb as lnb
    >>> lnb.finfo(lnb.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype_of("finfo", x)
    if not dtypes.is_inexact(dtype):
        raise DTypeError(f"finfo: {dtype} is no float or complex dtype. Use iinfo.")
    return Limits(ml_dtypes.finfo(dtype) if dtype == dtypes.BFLOAT16 else np.finfo(dtype))


@public(method=False)
def iinfo(x: Any, /) -> np.iinfo:
    """The limits of an integer dtype, or of an array's: min, max, bits.

    >>> import lucid_nb as lnb
    >>> lnb.iinfo("int8").max
    127
    """
    dtype = _dtype_of("iinfo", x)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo: {dtype} is no integer dtype. Use finfo.")
    return np.iinfo(dtype)


@public(method=False)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """May numbers of a dtype, or of an array's, go into another by NumPy's word "no", "equiv", "safe", ...?

    >>> import lucid_nb as lnb
    >>> lnb.can_cast("int64", "float32"), lnb.can_cast(lnb.zeros(1), "float32", "same_kind")
    (False, True)
    """
    if type(from_) in dtypes.WEAK:
        raise DTypeError(f"can_cast: {told(from_)} is a Python number, whose dtype others decide. Give a dtype.")
    given, wanted = _dtype_of("can_cast", from_), dtypes.as_dtype("can_cast", to)
    if not is_one_of(casting, CASTINGS):
        raise DTypeError(f"can_cast: casting {told(casting)} is unknown. Use one of {', '.join(CASTINGS)}.")
    small = dtypes.BFLOAT16
    if casting == "same_kind" and small in (given, wanted) and dtypes.is_float(given) and dtypes.is_float(wanted):
        return True
    return bool(np.can_cast(given, wanted, casting))  # type: ignore[arg-type]


@public(method=False)
def result_type(*operands: Any) -> np.dtype:
    """The dtype that operands promote to: arrays, dtypes, and Python numbers, which are weak.

    >>> import lucid_nb as lnb
    >>> lnb.result_type("int8", lnb.float32), lnb.result_type(lnb.zeros(1, dtype="float32"), 2.0)
    (dtype('float32'), dtype('float32'))
    """
    if not operands:
        raise DTypeError("result_type: no operands. Give at least one.")
    return dtypes.promote(tuple(type(x) if type(x) in dtypes.WEAK else _dtype_of("result_type", x) for x in operands))


@public(method=False)
def promote_types(one: Any, other: Any, /) -> np.dtype:
    """The smallest dtype to which two dtypes convert safely, by NumPy's rule.

    >>> import lucid_nb as lnb
    >>> lnb.promote_types("int8", "uint8")
    dtype('int16')
    """
    return dtypes.promote((dtypes.as_dtype("promote_types", one), dtypes.as_dtype("promote_types", other)))


@public(method=False)
def isdtype(dtype: Any, kind: Any) -> bool:
    """Is a dtype of a kind: a word of the array API ("real floating", "integral", ...), a dtype, or one of a tuple?

    >>> import lucid_nb as lnb
    >>> lnb.isdtype(lnb.bfloat16, "real floating"), lnb.isdtype("int8", ("bool", lnb.int8))
    (True, True)
    """
    found = dtypes.as_dtype("isdtype", dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, one) for one in kind)
    if isinstance(kind, str) and kind in KINDS:
        return ("f" if found == dtypes.BFLOAT16 else found.kind) in KINDS[kind]
    if isinstance(kind, str):
        raise DTypeError(f"isdtype: kind {told(kind)} is unknown. Use one of {', '.join(KINDS)}, or a dtype.")
    return found == dtypes.as_dtype("isdtype", kind)


@public(method=False)
def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Does a dtype lie below another in NumPy's hierarchy (`floating`, `integer`, ...)? bfloat16 is a floating one.

    >>> import lucid_nb as lnb
    >>> lnb.issubdtype(lnb.bfloat16, lnb.floating), lnb.issubdtype("int8", lnb.floating)
    (True, False)
    """
    is_small = arg1 == "bfloat16" or (isinstance(arg1, (type, np.dtype)) and arg1 == dtypes.BFLOAT16)
    if is_small and isinstance(arg2, type) and issubclass(arg2, np.generic):
        return issubclass(np.floating, arg2) or arg2 is dtypes.bfloat16
    return bool(np.issubdtype(arg1, dtypes.BFLOAT16 if arg2 == "bfloat16" else arg2))


@public(method=False)
def min_scalar_type(x: Any, /) -> np.dtype:
    """The smallest dtype that holds a number; of an array with axes, its own.

    >>> import lucid_nb as lnb
    >>> lnb.min_scalar_type(300)
    dtype('uint16')
    """
    return np.min_scalar_type(x.to_host() if isinstance(x, Tensor) else as_array("min_scalar_type", x))


@public(method=False)
def common_type(*arrays: Any) -> type[np.generic]:
    """The float or complex scalar type that holds arrays of numbers; integers count as float64.

    >>> import lucid_nb as lnb
    >>> lnb.common_type(lnb.zeros(1, dtype="float32"), lnb.arange(2))
    <class 'numpy.float64'>
    """
    try:
        return np.common_type(*[x.to_host() if isinstance(x, Tensor) else as_array("common_type", x) for x in arrays])
    except TypeError as error:
        raise DTypeError(f"common_type: {error}. Use arrays of numbers.") from None


# ---------------------------------------------------------------------------------------- shape and memory
@public(method=False)
def shape(a: Any) -> tuple[int, ...]:
    """The extents of an array, or of what becomes one.

    >>> import lucid_nb as lnb
    >>> lnb.shape([[1, 2]])
    (1, 2)
    """
    return a.shape if isinstance(a, Tensor) else as_array("shape", a).shape


@public(method=False)
def ndim(a: Any) -> int:
    """How many axes.

    >>> import lucid_nb as lnb
    >>> lnb.ndim(3)
    0
    """
    return len(shape(a))


@public(method=False)
def size(a: Any, axis: int | tuple[int, ...] | None = None) -> int:
    """How many elements, in all or along axes.

    >>> import lucid_nb as lnb
    >>> lnb.size([[1, 2]]), lnb.size([[1, 2]], 0)
    (2, 1)
    """
    extents = shape(a)
    return prod([extents[one] for one in normalize_axes("size", axis, len(extents))])


@public(method=False)
def isfortran(a: Any) -> bool:
    """Does the memory run along the first axis first, and only so? Where there are no strides it never does.

    >>> import lucid_nb as lnb
    >>> lnb.isfortran(lnb.zeros((2, 3)).T)
    True
    """
    return bool(flags(a).fnc) if isinstance(a, Tensor) else np.isfortran(as_array("isfortran", a))


def flags(self: Tensor) -> Any:
    """NumPy's flags of the memory: contiguous, writeable and so on; of a device without strides, those of C order."""
    raw = self.refresh().raw
    return self.numpy().flags if isinstance(raw, np.ndarray) else np.lib.stride_tricks.as_strided(
        np.empty(1, self.dtype), self.shape, self.strides).flags


Tensor.flags = property(flags, doc=flags.__doc__)  # type: ignore[assignment, method-assign]
