"""The vocabulary for integers, with NumPy's semantics.

Arithmetic wraps, x // 0 and x % 0 are 0, INT_MIN // -1 is INT_MIN. Numba widens integers to 64 bits; the cast back to
the dtype wraps.
"""
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import scalar

DTYPES = tuple(np.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64))


def _absolute(dtype: Any) -> Callable:
    zero = dtype(0)

    def absolute(x):
        return dtype(-x) if x < zero else x
    return absolute


def _sign(dtype: Any) -> Callable:
    zero = dtype(0)

    def sign(x):
        return dtype(x > zero) - dtype(x < zero)
    return sign


def _power(dtype: Any) -> Callable:
    def power(base, exponent):
        """By squaring; a negative exponent is refused before a kernel runs."""
        left, factor, result = np.uint64(exponent), base, dtype(1)
        while left != np.uint64(0):
            result = dtype(result * factor) if left & np.uint64(1) else result
            factor = dtype(factor * factor)
            left >>= np.uint64(1)
        return result
    return power


def _floor_divide(dtype: Any) -> Callable:
    zero, one, minus_one = dtype(0), dtype(1), np.array(-1).astype(dtype)[()]
    is_signed = np.issubdtype(dtype, np.signedinteger)

    def floor_divide(x, y):
        """The CPU would trap at x // 0 and at INT_MIN // -1, so that neither may be tried."""
        negates = is_signed and y == minus_one
        quotient = dtype(x // (one if y == zero or negates else y))
        return zero if y == zero else dtype(-x) if negates else quotient
    return floor_divide


def _remainder(dtype: Any) -> Callable:
    zero, one, minus_one = dtype(0), dtype(1), np.array(-1).astype(dtype)[()]
    is_signed = np.issubdtype(dtype, np.signedinteger)

    def remainder(x, y):
        trivial = y == zero or (is_signed and y == minus_one)
        return zero if trivial else dtype(x % (one if trivial else y))
    return remainder


for _dtype in DTYPES:
    for _entry, _make in dict(absolute=_absolute, sign=_sign, power=_power, floor_divide=_floor_divide,
                              remainder=_remainder).items():
        globals()[f"{_entry}_{np.dtype(_dtype).name}"] = scalar(_make(_dtype))
