"""sinh, cosh and the inverse hyperbolic functions (tanh stands with the exponentials).

x = n ln 2 + r: sinh x and cosh x are sums of the products of those of n ln 2, which are exact or nearly so, with
those of r, two minimax polynomials (Remez, 50 digits). The inverses are log(1 + w), w a sum of two.
"""
import numpy as np

from ..intrinsics import bits, copysign, fabs, float32_from, float64_from, multiply_add, square_root
from .common import (
    LN2_HIGH4,
    LN2_HIGH8,
    LN2_LOW4,
    LN2_LOW8,
    LOG2E,
    constants,
    exact,
    f4,
    i4,
    i8,
    quick_two_sum,
    quotient_parts,
    scalar,
    two_sum,
)
from .exponential import ROUND4, ROUND8, power_of_two_float32, power_of_two_float64
from .logarithm import log_terms_float32, log_terms_float64, split_float32, split_float64

S4 = constants(f4, "1.99086822e-4 8.33328362e-3 0.166666668")
C4 = constants(f4, "1.39495818e-3 4.1666219e-2 0.500000009")
S8 = constants(float, "1.6092675796433272e-10 2.5052050590437128e-8 2.7557319272833022e-6 1.9841269841248971e-4 "
                      "8.3333333333333374e-3 0.16666666666666667")
C8 = constants(float, "2.0927211657612117e-9 2.7557232515978715e-7 2.4801587374872829e-5 1.3888888888857576e-3 "
                      "4.1666666666666728e-2 0.5")
QUARTER4, QUARTER8 = f4(ROUND4 + f4(125)), ROUND8 + 1021     # the low bits of the sum are n plus the bias, less 2
LARGE4, LARGE8 = f4(8192.0), 268435456.0                     # from here on log(2 x), up to the last place


@scalar
def _parts_float32(x):
    """cosh(n ln 2) / 2 and sinh(n ln 2) / 2, cosh r - 1 and sinh r, 0 <= x <= 89.6: halves do not overflow."""
    shifted = x * f4(LOG2E) + QUARTER4
    whole = shifted - QUARTER4
    word = i4(bits(shifted))
    near = x - whole * LN2_HIGH4
    r = near - whole * LN2_LOW4
    rest = (near - r) - whole * LN2_LOW4
    up, down = power_of_two_float32(word), f4(0) if x > f4(40) else power_of_two_float32(i4(i4(250) - word))
    z = r * r
    odd = r + (((S4[0] * z + S4[1]) * z + S4[2]) * (z * r) + rest)
    even = ((C4[0] * z + C4[1]) * z + C4[2]) * z + r * rest
    return up + down, up - down, even, odd


@scalar
def _parts_float64(x):
    shifted = x * LOG2E + QUARTER8
    whole = shifted - QUARTER8
    word = bits(shifted)
    near = x - whole * LN2_HIGH8
    r = near - whole * LN2_LOW8
    rest = (near - r) - whole * LN2_LOW8
    up, down = power_of_two_float64(word), 0.0 if x > 80.0 else power_of_two_float64(i8(2042) - word)
    z = r * r
    p = (((S8[0] * z + S8[1]) * z + S8[2]) * z + S8[3]) * z + S8[4]
    odd = r + ((p * z + S8[5]) * (z * r) + rest)
    q = (((C8[0] * z + C8[1]) * z + C8[2]) * z + C8[3]) * z + C8[4]
    return up + down, up - down, (q * z + C8[5]) * z + r * rest, odd


@scalar
def sinh_float32(x):
    t = f4(89.6) if fabs(x) > f4(89.6) else fabs(x)
    c, s, even, odd = _parts_float32(t)
    return x if t < f4(2.4414062e-4) else copysign(f4(2) * ((c * odd + s * even) + s), x)


@scalar
def sinh_float64(x):
    t = 710.6 if fabs(x) > 710.6 else fabs(x)
    c, s, even, odd = _parts_float64(t)
    return x if t < 7.450580596923828e-9 else copysign(2.0 * ((c * odd + s * even) + s), x)


@scalar
def cosh_float32(x):
    c, s, even, odd = _parts_float32(f4(89.6) if fabs(x) > f4(89.6) else fabs(x))
    return f4(2) * ((s * odd + c * even) + c)


@scalar
def cosh_float64(x):
    c, s, even, odd = _parts_float64(710.6 if fabs(x) > 710.6 else fabs(x))
    return 2.0 * ((s * odd + c * even) + c)


@scalar
def _log_float32(one, w, rest, twos):
    """log(one + w + rest) + twos ln 2, `one` 1 or 0, one + w >= 1: in quarters, so that no scale underflows."""
    _, k = split_float32(one + w)
    scale = float32_from(i4((i4(129) - k) << i4(23)))
    f = (f4(0.25) * w) * scale + (f4(0.25) * one * scale - f4(1))
    return log_terms_float32(f, f4(k) + twos, (f4(0.25) * rest) * scale * (f4(1) - f * (f4(1) - f)))


@scalar
def _log_float64(one, w, rest, twos):
    _, k = split_float64(one + w)
    scale = float64_from((i8(1025) - k) << i8(52))
    f = (0.25 * w) * scale + (0.25 * one * scale - 1.0)
    return log_terms_float64(f, float(k) + twos, (0.25 * rest) * scale * (1.0 - f * (1.0 - f)))


@scalar
def arcsinh_float32(x):
    """log(1 + t + t**2 / (1 + sqrt(1 + t**2))), t = |x|."""
    t = fabs(x)
    far = t > LARGE4
    u = LARGE4 if far else t
    square = u * u
    w, rest = quick_two_sum(u, square / (f4(1) + square_root(square + f4(1))))
    y = _log_float32(f4(0) if far else f4(1), t if far else w, f4(0) if far else rest, f4(1) if far else f4(0))
    return x if t < f4(2.4414062e-4) or not t < f4(np.inf) else copysign(y, x)


@scalar
def arcsinh_float64(x):
    t = fabs(x)
    far = t > LARGE8
    u = LARGE8 if far else t
    square = u * u
    w, rest = quick_two_sum(u, square / (1.0 + square_root(square + 1.0)))
    y = _log_float64(0.0 if far else 1.0, t if far else w, 0.0 if far else rest, 1.0 if far else 0.0)
    return x if t < 7.450580596923828e-9 or not t < np.inf else copysign(y, x)


@exact
def _less_one_and_root(x, one):
    """x - 1 + sqrt(x**2 - 1), x >= 1, as a sum of two."""
    t = x - one
    d, d_rest = two_sum(t, one + one)
    p = t * d
    root = square_root(p)
    p_rest = multiply_add(t, d, -p) + t * d_rest
    root_rest = (multiply_add(-root, root, p) + p_rest) / (root + root)
    w, rest = quick_two_sum(root, t)
    return w, (one - one if p == one - one else rest + root_rest)


@scalar
def arccosh_float32(x):
    far = x > LARGE4
    w, rest = _less_one_and_root(LARGE4 if far else x, f4(1))
    y = _log_float32(f4(0) if far else f4(1), x if far else w, f4(0) if far else rest, f4(1) if far else f4(0))
    y = y if x < f4(np.inf) else x
    return f4(np.nan) if x < f4(1) else y


@scalar
def arccosh_float64(x):
    far = x > LARGE8
    w, rest = _less_one_and_root(LARGE8 if far else x, 1.0)
    y = _log_float64(0.0 if far else 1.0, x if far else w, 0.0 if far else rest, 1.0 if far else 0.0)
    y = y if x < np.inf else x
    return np.nan if x < 1.0 else y


@exact
def _odds(t, one):
    """2 t / (1 - t) as a sum of two."""
    d, d_rest = quick_two_sum(one, -t)
    v, rest = quotient_parts(t + t, one - one, d, d_rest, one / d)
    return quick_two_sum(v, rest)


@scalar
def arctanh_float32(x):
    """log(1 + 2 t / (1 - t)) / 2, t = |x|."""
    t = fabs(x)
    w, rest = _odds(t, f4(1))
    y = f4(0.5) * _log_float32(f4(1), w, rest, f4(0))
    y = y if t < f4(1) else (f4(np.inf) if t == f4(1) else f4(np.nan))
    return x if t < f4(2.4414062e-4) else copysign(y, x)


@scalar
def arctanh_float64(x):
    t = fabs(x)
    w, rest = _odds(t, 1.0)
    y = 0.5 * _log_float64(1.0, w, rest, 0.0)
    y = y if t < 1.0 else (np.inf if t == 1.0 else np.nan)
    return x if t < 7.450580596923828e-9 else copysign(y, x)
