"""floor_divide and remainder of real numbers, by NumPy's formulas over an exact remainder.

The remainder comes from integers, eleven bits of the quotient a step, since a - floor(a / b) * b is wrong as soon as
the quotient has more bits than a float. Not vectorised.
"""
import numpy as np

from ..intrinsics import bits, copysign, fabs, float64_from, floor
from .common import exact, f4, f8, i8, u8

FRACTION, IMPLICIT = i8(0x000FFFFFFFFFFFFF), i8(0x0010000000000000)


@exact
def _parts(x):
    """Significand and exponent field of x >= 0: x = significand * 2**(field - 1075)."""
    word = bits(x)
    field = word >> i8(52)
    return u8((word & FRACTION) | (IMPLICIT if field > i8(0) else i8(0))), max(field, i8(1))


@exact
def _truncated_remainder(a, b):
    """C's fmod in double: the sign of a, |result| < |b|."""
    if not (fabs(a) < np.inf and b == b and b != 0.0):
        return np.nan
    if fabs(a) < fabs(b):
        return a
    rest, place = _parts(fabs(a))
    divisor, last = _parts(fabs(b))
    rest %= divisor
    while place > last and rest > u8(0):
        step = min(place - last, i8(11))
        rest = (rest << u8(step)) % divisor
        place -= step
    half = (last - i8(1075)) >> i8(1)
    size = f8(rest) * float64_from((half + i8(1023)) << i8(52))
    return copysign(size * float64_from((last - i8(1075) - half + i8(1023)) << i8(52)), a)


@exact
def _floor_parts(a, b, rest, one):
    """Quotient and remainder by NumPy's npy_divmod, from C's remainder."""
    zero = one - one
    quotient = (a - rest) / b
    crosses = rest != zero and (b < zero) != (rest < zero)
    quotient = quotient - one if crosses else quotient
    whole = floor(quotient)
    whole = whole + one if quotient - whole > one / (one + one) else whole
    whole = whole if quotient != zero else copysign(zero, a / b)
    remainder = rest + b if crosses else (rest if rest != zero else copysign(zero, b))
    return (a / b if b == zero else whole), (rest if b == zero else remainder)


@exact
def floor_divide_float64(a, b): return _floor_parts(a, b, _truncated_remainder(a, b), 1.0)[0]
@exact
def remainder_float64(a, b): return _floor_parts(a, b, _truncated_remainder(a, b), 1.0)[1]
@exact
def floor_divide_float32(a, b): return _floor_parts(a, b, f4(_truncated_remainder(f8(a), f8(b))), f4(1))[0]
@exact
def remainder_float32(a, b): return _floor_parts(a, b, f4(_truncated_remainder(f8(a), f8(b))), f4(1))[1]
