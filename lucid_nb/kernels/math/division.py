"""fmod, floor_divide and remainder of real numbers, by NumPy's formulas over an exact remainder.

Where the quotient has few bits, the remainder comes from it in one step, vectorised. A kernel takes the other form,
`_any_`, for blocks in which some quotient has many: eleven bits a step, by integers.
"""
import numpy as np

from ..intrinsics import bits, copysign, fabs, float32_from, float64_from, floor, truncate
from .common import exact, f4, f8, i8, two_product, u8

FRACTION, IMPLICIT = i8(0x000FFFFFFFFFFFFF), i8(0x0010000000000000)


@exact
def _parts(x):
    """Significand and exponent field of x >= 0: x = significand * 2**(field - 1075)."""
    word = bits(x)
    field = word >> i8(52)
    return u8((word & FRACTION) | (IMPLICIT if field > i8(0) else i8(0))), max(field, i8(1))


@exact
def is_regular(a, b):
    """Has a / b a remainder?"""
    return fabs(a) < np.inf and b == b and b != b - b


@exact
def _far_remainder(a, b):
    """The remainder of |a| >= |b|, two doubles, as an integer times two to some power."""
    if not is_regular(a, b) or fabs(a) < fabs(b) or fabs(b) == np.inf:
        return u8(0), i8(0)
    rest, place = _parts(fabs(a))
    divisor, last = _parts(fabs(b))
    rest %= divisor
    while place > last and rest > u8(0):
        step = min(place - last, i8(11))
        rest = (rest << u8(step)) % divisor
        place -= step
    return rest, last - i8(1075)


@exact
def _fmod_double(a, b):
    """C's fmod: the sign of a, |result| < |b|."""
    rest, exponent = _far_remainder(a, b)
    half = exponent >> i8(1)
    size = f8(rest) * float64_from((half + i8(1023)) << i8(52)) * float64_from((exponent - half + i8(1023)) << i8(52))
    size = size if fabs(a) >= fabs(b) else fabs(a)
    return copysign(size if is_regular(a, b) else np.nan, a)


@exact
def _fmod_single(a, b):
    """The same for float32, never as a double: LLVM would round that to float16 in one step, by a call."""
    rest, exponent = _far_remainder(f8(a), f8(b))
    exponent += i8(29)
    half = exponent >> i8(1)
    size = f4(rest >> u8(29)) * float32_from((half + i8(127)) << i8(23))
    size = size * float32_from((exponent - half + i8(127)) << i8(23))
    size = size if fabs(a) >= fabs(b) else fabs(a)
    return copysign(size if is_regular(a, b) else f4(np.nan), a)


@exact
def _near_remainder(a, b):
    """The same for |a / b| below 2**22 (or b = 0, or NaN). A quotient rounded up to a whole number leaves a rest of the
    other sign, which is exact too."""
    q = truncate(a / b)
    product, error = two_product(q, b)
    rest = (a - product) - error
    rest = rest + copysign(b, a) if rest != 0.0 and (rest < 0.0) != (a < 0.0) else rest
    rest = a if fabs(a) < fabs(b) else rest
    return copysign(rest, a)


@exact
def _short_remainder(a, b):
    """The same for float32: the product with the quotient is exact in double."""
    zero = f4(0)
    rest = f4(f8(a) - f8(truncate(a / b)) * f8(b))
    rest = rest + copysign(b, a) if rest != zero and (rest < zero) != (a < zero) else rest
    rest = a if fabs(a) < fabs(b) else rest
    return copysign(rest, a)


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
def fmod_float64(a, b): return _near_remainder(a, b)
@exact
def fmod_float32(a, b): return _short_remainder(a, b)
@exact
def fmod_any_float64(a, b): return _fmod_double(a, b)
@exact
def fmod_any_float32(a, b): return _fmod_single(a, b)


@exact
def floor_divide_float64(a, b): return _floor_parts(a, b, fmod_float64(a, b), 1.0)[0]
@exact
def floor_divide_float32(a, b): return _floor_parts(a, b, fmod_float32(a, b), f4(1))[0]
@exact
def floor_divide_any_float64(a, b): return _floor_parts(a, b, fmod_any_float64(a, b), 1.0)[0]
@exact
def floor_divide_any_float32(a, b): return _floor_parts(a, b, fmod_any_float32(a, b), f4(1))[0]


@exact
def remainder_float64(a, b): return _floor_parts(a, b, fmod_float64(a, b), 1.0)[1]
@exact
def remainder_float32(a, b): return _floor_parts(a, b, fmod_float32(a, b), f4(1))[1]
@exact
def remainder_any_float64(a, b): return _floor_parts(a, b, fmod_any_float64(a, b), 1.0)[1]
@exact
def remainder_any_float32(a, b): return _floor_parts(a, b, fmod_any_float32(a, b), f4(1))[1]
