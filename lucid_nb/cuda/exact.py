"""Entries of the vocabulary that are exact, on CUDA: rounding, remainders, bits and divisors of integers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .runtime import SIMULATED, inline
from .scalars import float_as_int, int_as_float

# Entry -> the name in libdevice, which ends in f for float32; NumPy's name where it differs.
LIBDEVICE = dict(floor="floor", ceil="ceil", truncate="trunc", round_even="rint", copysign="copysign", fmod="fmod",
                 nextafter="nextafter")
NUMPY = dict(truncate="trunc", round_even="rint")

if not SIMULATED:
    from numba.cuda import libdevice


def _of_library(entry: str, dtype: str) -> Callable:
    if SIMULATED:
        return getattr(np, NUMPY.get(entry, entry))
    return getattr(libdevice, LIBDEVICE[entry] + ("f" if dtype == "float32" else ""))


def _ldexp(dtype: str) -> Callable:
    """Numba has libdevice's for an integer exponent; what is beyond every dtype's range gives 0 or an infinity."""
    scale = np.ldexp if SIMULATED else libdevice.ldexpf if dtype == "float32" else libdevice.ldexp
    low, high = np.dtype(dtype).type(-5000), np.dtype(dtype).type(5000)

    def ldexp(x, exponent):
        return scale(x, np.int32(min(max(exponent, low), high)))
    return inline(ldexp)


def _spacing(dtype: str) -> Callable:
    following, cast = _of_library("nextafter", dtype), np.dtype(dtype).type

    def spacing(x):
        return following(x, cast(np.inf) if x >= 0 else cast(-np.inf)) - x if abs(x) < np.inf else x - x
    return inline(spacing)


def _floor_parts(dtype: str) -> tuple[Callable, Callable]:
    """Quotient and remainder by NumPy's npy_divmod, from C's remainder."""
    cast, fmod, floor, copysign = np.dtype(dtype).type, *(_of_library(name, dtype) for name in (
        "fmod", "floor", "copysign"))
    zero, half, one = cast(0), cast(0.5), cast(1)

    def floor_divide(a, b):
        rest = fmod(a, b)
        quotient = (a - rest) / b
        if rest != zero and (b < zero) != (rest < zero):
            quotient = quotient - one
        whole = floor(quotient)
        whole = whole + one if quotient - whole > half else whole
        whole = whole if quotient != zero else copysign(zero, a / b)
        return a / b if b == zero else whole

    def remainder(a, b):
        rest = fmod(a, b)
        if b == zero:
            return rest
        crosses = rest != zero and (b < zero) != (rest < zero)
        return rest + b if crosses else rest if rest != zero else copysign(zero, b)
    return inline(floor_divide), inline(remainder)


def of_floats(dtype: str) -> dict[str, Callable]:
    """The entries for float32 or float64."""
    floor_divide, remainder = _floor_parts(dtype)
    found = {entry: _of_library(entry, dtype) for entry in LIBDEVICE}
    return found | dict(ldexp=_ldexp(dtype), spacing=_spacing(dtype), floor_divide=floor_divide, remainder=remainder)


# ---------------------------------------------------------------------------------- neighbours in 16 bits
@inline
def nextafter_bfloat16(x, y):
    """The next bfloat16 after x, on the way to y; both are held as float32."""
    if x != x or y != y:
        return x + y
    if x == y:
        return y
    if x == 0:
        return np.float32(2.0 ** -133) if y > 0 else np.float32(-2.0 ** -133)
    step = np.int32(0x10000) if (x < y) == (x > 0) else np.int32(-0x10000)
    return int_as_float(np.int32(float_as_int(x) + step))


@inline
def nextafter_float16(x, y):
    """The next float16 after x, on the way to y; both are held as float32."""
    if x != x or y != y:
        return x + y
    if x == y:
        return x
    sign = np.float32(-1) if float_as_int(x) < 0 else np.float32(1)
    if abs(x) == np.float32(np.inf):
        return sign * np.float32(65504)
    word = float_as_int(x) & np.int32(0x7FFFFFFF)
    unit = int_as_float(np.int32((max(word >> np.int32(23), 113) - 10) << 23))
    grows = (x < y) == (sign > 0)
    if not grows and word & np.int32(0x7FFFFF) == 0 and word > np.int32(113 << 23):
        unit = np.float32(0.5) * unit
    if x == 0:
        return unit if y > 0 else -unit
    return sign * (abs(x) + (unit if grows else -unit))


@inline
def spacing_float16(x):
    """To the next larger float16."""
    return nextafter_float16(x, np.float32(np.inf)) - x if abs(x) < np.float32(np.inf) else x - x


@inline
def spacing_bfloat16(x):
    """To the next bfloat16 away from zero, with the sign of x."""
    far = np.float32(-np.inf) if float_as_int(x) < 0 else np.float32(np.inf)
    return nextafter_bfloat16(x, far) - x if abs(x) < np.float32(np.inf) else x - x


# ---------------------------------------------------------------------------------------------- integers
def _division(dtype: Any) -> tuple[Callable, Callable, Callable]:
    """floor_divide, remainder and fmod; a divisor of 0 gives 0, and nothing is divided by -1."""
    zero, is_signed = dtype(0), np.issubdtype(dtype, np.signedinteger)

    def floor_divide(x, y):
        if y == zero:
            return zero
        return dtype(zero - x) if is_signed and y == -1 else dtype(x // y)

    def remainder(x, y):
        return zero if y == zero or (is_signed and y == -1) else dtype(x % y)

    def fmod(x, y):
        if y == zero or (is_signed and y == -1):
            return zero
        rest = dtype(x % y)
        return dtype(rest - y) if rest != zero and (rest < zero) != (x < zero) else rest
    return inline(floor_divide), inline(remainder), inline(fmod)


def _reciprocal(dtype: Any) -> Callable:
    """1 / x without its fraction; of 0 what NumPy gives: the lowest integer, or 0 where it is short."""
    at_zero = dtype(np.iinfo(dtype).min) if np.iinfo(dtype).bits > 16 else dtype(0)
    is_signed = np.issubdtype(dtype, np.signedinteger)

    def reciprocal(x):
        if x == dtype(0):
            return at_zero
        return x if x == dtype(1) or (is_signed and x == -1) else dtype(0)
    return inline(reciprocal)


def _shifts(dtype: Any) -> tuple[Callable, Callable]:
    """Shifts whose count may be anything."""
    bits, zero, last = np.iinfo(dtype).bits, dtype(0), dtype(np.iinfo(dtype).bits - 1)

    def left_shift(x, count):
        return dtype(x << count) if zero <= count and count < bits else zero

    def right_shift(x, count):
        if zero <= count and count < bits:
            return dtype(x >> count)
        return dtype(x >> last) if x < zero else zero
    return inline(left_shift), inline(right_shift)


def _bit_count(dtype: Any) -> Callable:
    """How many bits of |x| are 1: each turn clears the lowest."""
    zero, one = dtype(0), dtype(1)

    def bit_count(x):
        left, count = dtype(zero - x) if x < zero else x, 0
        while left != zero:
            left = dtype(left & dtype(left - one))
            count += 1
        return np.uint8(count)
    return inline(bit_count)


def _divisors(dtype: Any) -> tuple[Callable, Callable]:
    """gcd and lcm by Euclid's algorithm, on -|x| and -|y|: those of the lowest integer exist too."""
    zero, is_signed = dtype(0), np.issubdtype(dtype, np.signedinteger)

    def common(x, y):
        a, b = x, y
        while b != zero:
            rest = zero if is_signed and b == -1 else dtype(a % b)
            a, b = b, rest
        return a

    def gcd(x, y):
        if not is_signed:
            return common(x, y)
        return dtype(zero - common(dtype(zero - x) if x > zero else x, dtype(zero - y) if y > zero else y))

    def lcm(x, y):
        if x == zero or y == zero:
            return zero
        if not is_signed:
            return dtype(dtype(x // common(x, y)) * y)
        a, b = dtype(zero - x) if x > zero else x, dtype(zero - y) if y > zero else y
        divisor = common(a, b)
        whole = dtype(zero - a) if divisor == -1 else dtype(a // divisor)
        return dtype(zero - dtype(whole * b))
    common = inline(common)
    return inline(gcd), inline(lcm)


def of_integers(name: str) -> dict[str, Callable]:
    """The entries for an integer dtype."""
    dtype = np.dtype(name).type
    entries = "floor_divide remainder fmod reciprocal left_shift right_shift bit_count gcd lcm".split()
    functions = (*_division(dtype), _reciprocal(dtype), *_shifts(dtype), _bit_count(dtype), *_divisors(dtype))
    return dict(zip(entries, functions))
