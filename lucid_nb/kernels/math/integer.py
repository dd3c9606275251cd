"""The vocabulary for integers, with NumPy's semantics.

Arithmetic wraps, x // 0 and x % 0 are 0, INT_MIN // -1 is INT_MIN. Numba widens integers to 64 bits; the cast back to
the dtype wraps.
"""
from collections.abc import Callable
from typing import Any

import numpy as np

from .common import f4, f8, scalar, u8

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


def _reciprocal(dtype: Any) -> Callable:
    """1 / x without its fraction; of 0 what NumPy's conversion of an infinity gives: the lowest integer, or 0."""
    at_zero = dtype(np.iinfo(dtype).min) if np.iinfo(dtype).bits > 16 else dtype(0)
    one, is_signed = dtype(1), np.issubdtype(dtype, np.signedinteger)

    def reciprocal(x):
        whole = x if x == one or (is_signed and x == -1) else dtype(0)
        return at_zero if x == dtype(0) else whole
    return reciprocal


# ----------------------------------------------------------------------------------------------- division
# No CPU divides vectors of integers. The quotient of numbers below 2**16 is exact in float32, below 2**32 in float64,
# and of others comes in two steps. A divisor of 0 is replaced, since the conversion of an infinity is undefined.
SHRUNK = 1.0 - 2.0 ** -50          # so that no estimate of a quotient is too large: four roundings are left


@scalar
def _long_quotient(a, b):
    """a // b for uint64, b > 0. What the first estimate leaves is below 2**15 divisors, or below b in one more.

    The only division is one for all elements where the divisor is.
    """
    inverse = SHRUNK / f8(b)
    first = u8(f8(a) * inverse)
    rest = a - first * b
    second = u8(f8(rest) * inverse)
    rest -= second * b
    return first + second + u8(rest >= b)


def _quotient(dtype: Any) -> Callable:
    """a // b of sizes, b > 0."""
    bits, real = np.iinfo(dtype).bits, f4 if np.iinfo(dtype).bits < 32 else f8
    unsigned = np.dtype(f"uint{bits}").type

    def short(a, b):
        return unsigned(real(a) / real(b))
    return _long_quotient if bits == 64 else scalar(short)


def _truncated(dtype: Any) -> Callable:
    """Quotient without its fraction, as in C, and the rest, with the sign of x; 0 and 0 where y is 0."""
    quotient_of, zero, is_signed = _quotient(dtype), dtype(0), np.issubdtype(dtype, np.signedinteger)
    unsigned = np.dtype(f"uint{np.iinfo(dtype).bits}").type

    def truncated(x, y):
        divisor = unsigned(-y if is_signed and y < zero else y)
        size = quotient_of(unsigned(-x if is_signed and x < zero else x), divisor if y != zero else unsigned(1))
        quotient = dtype(-dtype(size) if is_signed and (x < zero) != (y < zero) else dtype(size))
        quotient = quotient if y != zero else zero
        return quotient, dtype(x - quotient * y) if y != zero else zero
    return scalar(truncated)


def _floor_divide(dtype: Any) -> Callable:
    truncated, zero, is_signed = _truncated(dtype), dtype(0), np.issubdtype(dtype, np.signedinteger)

    def floor_divide(x, y):
        quotient, rest = truncated(x, y)
        return dtype(quotient - dtype(1)) if is_signed and rest != zero and (rest < zero) != (y < zero) else quotient
    return floor_divide


def _remainder(dtype: Any) -> Callable:
    truncated, zero, is_signed = _truncated(dtype), dtype(0), np.issubdtype(dtype, np.signedinteger)

    def remainder(x, y):
        rest = truncated(x, y)[1]
        return dtype(rest + y) if is_signed and rest != zero and (rest < zero) != (y < zero) else rest
    return remainder


def _fmod(dtype: Any) -> Callable:
    truncated = _truncated(dtype)

    def fmod(x, y):
        return truncated(x, y)[1]
    return fmod


for _dtype in DTYPES:
    for _entry, _make in dict(absolute=_absolute, sign=_sign, power=_power, floor_divide=_floor_divide,
                              remainder=_remainder, fmod=_fmod, reciprocal=_reciprocal).items():
        globals()[f"{_entry}_{np.dtype(_dtype).name}"] = scalar(_make(_dtype))
