"""What looks at the bits of a float: sign, neighbours, powers of two.

float16 and bfloat16 are in registers as float32; their neighbours have names of their own, `<entry>_float16`.
"""
import numpy as np

from ..intrinsics import (
    bfloat16_to_float,
    bits,
    copysign,
    fabs,
    float32_from,
    float64_from,
    float_to_bfloat16,
    float_to_half,
    half_to_float,
)
from .common import f4, f8, i4, i8, scalar

TINY4, TINY8, TINY_HALF, TINY_BFLOAT = f4(2.0 ** -149), 2.0 ** -1074, f4(2.0 ** -24), f4(2.0 ** -133)
INFINITE = f4(np.inf)
ONE_WORD, MINUS_ONE_WORD = np.uint16(1), np.uint16(0xFFFF)


@scalar
def copysign_float32(x, y): return copysign(x, y)
@scalar
def copysign_float64(x, y): return copysign(x, y)


# --------------------------------------------------------------------------------------------- neighbours
@scalar
def _with_special_cases(x, y, moved, tiny, same):
    """The neighbour of x towards y, from the float whose bits are one further, or one less; `same` of equal ones."""
    moved = copysign(tiny, y) if x == x - x else moved
    moved = same if x == y else moved
    return moved if x == x and y == y else x + y


@scalar
def nextafter_float64(x, y):
    step = i8(1) if (x < y) == (x > 0.0) else i8(-1)
    return _with_special_cases(x, y, float64_from(bits(x) + step), TINY8, y)


@scalar
def nextafter_float32(x, y):
    step = i4(1) if (x < y) == (x > f4(0)) else i4(-1)
    return _with_special_cases(x, y, float32_from(bits(x) + step), TINY4, y)


@scalar
def nextafter_float16(x, y):
    step = ONE_WORD if (x < y) == (x > f4(0)) else MINUS_ONE_WORD
    return _with_special_cases(x, y, half_to_float(np.uint16(float_to_half(x) + step)), TINY_HALF, x)


@scalar
def nextafter_bfloat16(x, y):
    step = ONE_WORD if (x < y) == (x > f4(0)) else MINUS_ONE_WORD
    return _with_special_cases(x, y, bfloat16_to_float(np.uint16(float_to_bfloat16(x) + step)), TINY_BFLOAT, y)


@scalar
def spacing_float64(x):
    """To the next number away from zero, with the sign of x."""
    return (TINY8 if x == 0.0 else float64_from(bits(x) + i8(1)) - x) if fabs(x) < np.inf else x - x


@scalar
def spacing_float32(x):
    return (TINY4 if x == f4(0) else float32_from(bits(x) + i4(1)) - x) if fabs(x) < INFINITE else x - x


@scalar
def spacing_bfloat16(x):
    """The next number is rounded to bfloat16 where it would be infinite."""
    after = bfloat16_to_float(np.uint16(float_to_bfloat16(x) + ONE_WORD))
    return (copysign(TINY_BFLOAT, x) if x == f4(0) else after - x) if fabs(x) < INFINITE else x - x


@scalar
def spacing_float16(x):
    """To the next larger number: NumPy's of float16 is positive everywhere."""
    return nextafter_float16(x, INFINITE) - x if fabs(x) < INFINITE else x - x


# ------------------------------------------------------------------------------------------ powers of two
@scalar
def ldexp_float64(x, exponent):
    """In steps that round once: all but the last stay in the normal range, or give 0 in any case."""
    n = exponent if exponent > -3000.0 else -3000.0
    n = n if n < 3000.0 else 3000.0
    for _ in range(2):
        x = x * (2.0 ** 1023 if n > 1023.0 else 2.0 ** -969 if n < -1022.0 else 1.0)
        n = n - (1023.0 if n > 1023.0 else -969.0 if n < -1022.0 else 0.0)
    n = 1023.0 if n > 1023.0 else -1022.0 if n < -1022.0 else n
    return x * float64_from((i8(n) + i8(1023)) << i8(52))


@scalar
def ldexp_float32(x, exponent):
    """In double, whose range has room for every product."""
    n = exponent if exponent > f4(-400) else f4(-400)
    n = n if n < f4(400) else f4(400)
    return f4(f8(x) * float64_from((i8(n) + i8(1023)) << i8(52)))
