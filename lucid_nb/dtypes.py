"""Dtypes: NumPy's scalar types and bfloat16, which dtypes an op takes, and promotion.

Promotion is NumPy 2's: Python scalars are weak, everything else is strong. bfloat16 promotes as float16 does, and
the two together give float32.
"""

import builtins
import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from .errors import DTypeError, OverflowError, told

BOOL, INT64, FLOAT16, FLOAT32, FLOAT64 = map(np.dtype, ("bool", "int64", "float16", "float32", "float64"))
COMPLEX64, COMPLEX128 = map(np.dtype, ("complex64", "complex128"))
BFLOAT16 = np.dtype(bfloat16)
KINDS = frozenset("biufc")
WEAK = (bool, int, float, complex)
NAMES = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
                  "complex64 complex128".split())
Key = np.dtype | type      # the dtype of an operand, or the Python type of a weak scalar


class _Default:
    """The dtype that Python floats become where nothing else decides."""

    dtype = FLOAT64


def default_dtype() -> np.dtype:
    """The float dtype of new tensors made of Python numbers.

    >>> import lucid_nb as lnb
    >>> lnb.tensor(0.5).dtype
    dtype('float64')
    """
    return _Default.dtype


def default_of(device: str) -> np.dtype:
    """The default of a device: float32 on mlx, where it is float64 elsewhere, for Apple's GPUs have no float64."""
    return FLOAT32 if device == "mlx" and _Default.dtype == FLOAT64 else _Default.dtype


def set_default_dtype(dtype: Any) -> None:
    """Make `dtype`, a float dtype, that of new tensors made of Python floats."""
    dtype = as_dtype("set_default_dtype", dtype)
    if not is_float(dtype):
        raise DTypeError(f"set_default_dtype: {dtype} is not a float dtype. Use float32 or float64.")
    _Default.dtype = dtype


def is_float(dtype: np.dtype) -> bool:
    """A real floating dtype?"""
    return dtype.kind == "f" or dtype == BFLOAT16


def is_inexact(dtype: np.dtype) -> bool:
    """A dtype that can carry a gradient?"""
    return dtype.kind in "fc" or dtype == BFLOAT16


@lru_cache(256)
def is_supported(dtype: np.dtype) -> bool:
    """Does the library compute in this dtype?"""
    return (dtype.kind in KINDS and dtype.itemsize <= 16 and dtype.name not in ("longdouble", "float128", "float96")
            and dtype.isnative) or dtype == BFLOAT16


PLAIN_KINDS = (bool, int, float, complex, np.bool_, np.uint8, np.int32, np.int64, np.float32, np.float64, np.complex64,
               np.complex128)
PLAIN: dict[Any, np.dtype] = {name: np.dtype(kind) for kind in PLAIN_KINDS for name in (kind, np.dtype(kind))}
NAMING = frozenset({type, *map(type, PLAIN)})        # classes of what names a dtype and can be looked up


def as_dtype(op: str, dtype: Any) -> np.dtype:
    """A numpy.dtype of what a user calls a dtype: a scalar type, a name, a Python type, a dtype."""
    if type(dtype) in NAMING and (known := PLAIN.get(dtype)) is not None:
        return known
    if isinstance(dtype, str) and dtype == "bfloat16":
        return BFLOAT16
    try:
        if dtype is None:                       # NumPy reads it as float64
            raise TypeError
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise DTypeError(f"{op}: {told(dtype)} is not a dtype. Use one such as lnb.float32.") from None
    return check_supported(op, found)


def check_supported(op: str, dtype: np.dtype) -> np.dtype:
    """Refuse strings, objects, dates and records."""
    if not is_supported(dtype):
        remedy = ("Give numbers, or arrays and lists of numbers." if dtype.kind == "O" else
                  "Use bool, integer, float or complex data, converted with NumPy's astype.")
        raise DTypeError(f"{op}: {dtype} data has no arithmetic here. {remedy}")
    return dtype


def promote(keys: tuple[Key, ...], device: str = "cpu") -> np.dtype:
    """The common dtype of operands on a device, by NumPy 2's rule; of Python floats alone the device's default."""
    found = _promote(keys)
    return default_of(device) if found is None else on_device(found, device, keys)


def on_device(promoted: np.dtype, device: str, given: Sequence[Key] = ()) -> np.dtype:
    """What promotion gives on a device: on mlx, whose GPUs have no double, single precision unless one given is double.

    >>> print(on_device(FLOAT64, "mlx", (INT64, FLOAT32)), on_device(FLOAT64, "mlx", (INT64, FLOAT64)))
    float32 float64
    """
    if device != "mlx" or promoted not in (FLOAT64, COMPLEX128) or any(
            [isinstance(key, np.dtype) and key in (FLOAT64, COMPLEX128) for key in given]):
        return promoted
    return FLOAT32 if promoted == FLOAT64 else COMPLEX64


@cache
def _promote(keys: tuple[Key, ...]) -> np.dtype | None:
    small = BFLOAT16 in keys
    plain = [FLOAT16 if key == BFLOAT16 else key(1) if isinstance(key, type) else key for key in keys]
    found = np.result_type(*plain)
    if isinstance(keys[0], type) and all(isinstance(key, type) for key in keys) and found.kind == "f":
        return None
    if small and found == FLOAT16:
        return FLOAT32 if FLOAT16 in keys else BFLOAT16
    return found


@cache
def to_float(dtype: np.dtype, device: str = "cpu") -> np.dtype:
    """The float dtype that NumPy computes a function of these integers in; on mlx float32 at most."""
    if is_inexact(dtype):
        return dtype
    return FLOAT16 if dtype.itemsize == 1 else FLOAT32 if dtype.itemsize == 2 or device == "mlx" else FLOAT64


def largest(dtype: np.dtype) -> np.floating:
    """The largest finite number of a float or complex dtype (of its parts)."""
    return np.finfo(dtype).max if dtype != BFLOAT16 else np.float32(3.3895313892515355e38)


def can_cast(given: np.dtype, wanted: np.dtype, casting: Any) -> bool:
    """NumPy's rule of conversions, but that nothing loses an imaginary part; 16-bit floats convert as others do."""
    if given.kind == "c" != wanted.kind:
        return False
    is_between_floats = is_float(given) and is_float(wanted)
    return np.can_cast(given, wanted, casting) or (casting in ("same_kind", "unsafe") and is_between_floats)


def real_float(op: str, dtype: np.dtype, device: str = "cpu") -> np.dtype:
    """`to_float`, for an op that has no meaning for complex numbers."""
    if dtype.kind == "c":
        raise DTypeError(f"{op}: has no meaning for {dtype}. Take .real or .imag, or abs(x).")
    return to_float(dtype, device)


def as_weak_scalar(op: str, value: Any, dtype: np.dtype) -> np.ndarray:
    """A Python number as a 0-d array of `dtype`; an integer that does not fit is refused."""
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if not bounds.min <= value <= bounds.max:
            remedy = "Use a wider dtype." if isinstance(value, int) or math.isfinite(value) else "Use a float dtype."
            raise OverflowError(f"{op}: {told(value)} does not fit {dtype} ({bounds.min} to {bounds.max}). {remedy}")
    try:
        array = np.array(value, FLOAT64).astype(dtype) if dtype == BFLOAT16 else np.array(value, dtype)
    except builtins.OverflowError:
        raise OverflowError(f"{op}: {told(value)} does not fit {dtype}. Use a smaller number.") from None
    array.flags.writeable = False
    return array
