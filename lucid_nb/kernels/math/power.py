"""power for real numbers, with all of NumPy's special cases.

float32 goes through double. In float64 the logarithm carries about 68 bits, because its error is multiplied by up to
745 in the result: log m = 2 s + 2 s**3 / 3 + ..., s = (m - 1) / (m + 1), where the first two terms are sums of two.
"""
import numpy as np

from ..intrinsics import bits, fabs, floor
from .common import (
    LN2_HIGH8,
    LN2_LOW8,
    LOG2E,
    constants,
    exact,
    f4,
    f8,
    i4,
    i8,
    quick_two_sum,
    scalar,
    two_product,
    two_sum,
)
from .exponential import ONE8, TWICE8, expm1_parts_float64, power_of_two_float64, scaled_float64
from .logarithm import split_float64

SERIES = constants(float, "0.1172425897646252 0.1170612507385906 0.1333480919529892 0.15384594872224233 "
                          "0.18181818336322408 0.2222222222165133 0.28571428571429375 0.4")
LN2 = 0.6931471805599453
TWO_THIRDS, TWO_THIRDS_REST = 0.6666666666666666, 3.700743415417188e-17
# Enough for float32: 2**-42 and 2**-33.
SHORT = constants(float, "0.1936436047666136 0.22191301324646226 0.2857175634807026 0.3999999878678375 "
                         "0.6666666666738468")
EXP = constants(float, "0.00019907637995300235 0.0013948640637153269 0.008333285931483048 0.041666239859114496 "
                       "0.1666666675667091 0.5000000081043168")


@scalar
def _series(z):
    """(log((1 + s) / (1 - s)) - 2 s) / s**3 - 2 / 3 over z = s**2."""
    p = (((SERIES[0] * z + SERIES[1]) * z + SERIES[2]) * z + SERIES[3]) * z + SERIES[4]
    return ((p * z + SERIES[5]) * z + SERIES[6]) * z + SERIES[7]


@exact
def _log_parts(a):
    """log a, a > 0, as a sum of two; subnormals are scaled first."""
    small = a < 2.2250738585072014e-308
    f, k = split_float64(a * 18014398509481984.0 if small else a)
    exponent = float(k) - (54.0 if small else 0.0)
    d, d_rest = quick_two_sum(2.0, f)
    inverse = 1.0 / d
    v = f * inverse
    product, product_rest = two_product(v, d)
    s, s_rest = quick_two_sum(v, (((f - product) - product_rest) - v * d_rest) * inverse)
    z, z_rest = two_product(s, s)
    z_rest = z_rest + 2.0 * s * s_rest
    c, c_rest = quick_two_sum(TWO_THIRDS, z * _series(z))
    c_rest = c_rest + TWO_THIRDS_REST
    t, t_rest = two_product(z, c)
    t_rest = t_rest + (z * c_rest + z_rest * c)
    u, u_rest = two_product(s, t)
    u_rest = u_rest + (s * t_rest + s_rest * t)
    high, rest = two_sum(exponent * LN2_HIGH8, 2.0 * s)
    high, more = two_sum(high, u)
    rest = (rest + more) + ((2.0 * s_rest + u_rest) + exponent * LN2_LOW8)
    return quick_two_sum(high, rest)


@exact
def _positive_power(a, b):
    """a**b for finite a > 0, and 1 for NaN. Beyond 800 the low part of b log a does not count (it may be NaN)."""
    high, rest = _log_parts(a)
    y, y_rest = two_product(b, high)
    y_rest = y_rest + b * rest
    far = not fabs(y) < 800.0
    y_rest = 0.0 if far else y_rest
    y = y if y == y else 0.0
    y = 710.0 if y > 710.0 else y
    y = -746.0 if y < -746.0 else y
    p, word = expm1_parts_float64(y, y_rest, TWICE8)
    return scaled_float64(1.0 + p, word)


@scalar
def _short_positive_power(a, b):
    """a**b in double for a, b that were float32: good to 2**-30."""
    f, k = split_float64(a)
    s = f / (2.0 + f)
    z = s * s
    series = (((SHORT[0] * z + SHORT[1]) * z + SHORT[2]) * z + SHORT[3]) * z + SHORT[4]
    y = b * (float(k) * LN2 + (2.0 * s + s * z * series))
    y = y if y == y else 0.0
    y = 90.0 if y > 90.0 else y
    y = -105.0 if y < -105.0 else y
    shifted = y * LOG2E + ONE8
    r = y - (shifted - ONE8) * LN2
    p = ((((EXP[0] * r + EXP[1]) * r + EXP[2]) * r + EXP[3]) * r + EXP[4]) * r + EXP[5]
    return ((p * r + 1.0) * r + 1.0) * power_of_two_float64(bits(shifted))


@scalar
def _with_special_cases(a, b, r, is_negative, infinity, one):
    """a**b from |a|**b: NumPy's (C99's) rules for signs, zeros, infinities and NaN."""
    size = fabs(a)
    zero = one - one
    r = (infinity if (size == infinity) == (b > zero) else zero) if size == zero or size == infinity else r
    whole = floor(b) == b
    half = b * (one / (one + one))
    r = -r if is_negative and whole and floor(half) != half else r
    r = infinity - infinity if a < zero and size < infinity and not whole else r
    r = r if a == a and b == b else a + b
    return one if b == zero or a == one else r


@scalar
def power_float64(a, b):
    r = _positive_power(fabs(a), b)
    return _with_special_cases(a, b, r, bits(a) < i8(0), np.inf, 1.0)


@scalar
def power_float32(a, b):
    r = f4(_short_positive_power(f8(fabs(a)), f8(b)))
    return _with_special_cases(a, b, r, bits(a) < i4(0), f4(np.inf), f4(1))
