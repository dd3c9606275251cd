"""log, log2, log10, log1p, logaddexp, softplus, logsigmoid, and the parts of a number.

x = 2**k (1 + f) with 1 + f in [sqrt 1/2, sqrt 2); then k ln 2 + log(1 + f). float32: minimax polynomial in f (Remez).
float64: fdlibm's e_log.c, in s = f / (2 + f).
"""
import numpy as np

from ..intrinsics import bits, fabs, float32_from, float64_from
from .common import (
    HIGH_HALF,
    LN2_HIGH4,
    LN2_HIGH8,
    LN2_LOW4,
    LN2_LOW8,
    constants,
    exact,
    f4,
    i4,
    i8,
    quick_two_sum,
    scalar,
    two_sum,
)
from .exponential import (
    exp2_parts_float32,
    exp2_parts_float64,
    exp_float32,
    exp_float64,
    exp_parts_float32,
    exp_parts_float64,
)

L4 = constants(f4, "-0.0597694632741478498 0.106324838808398775 -0.108198038416994836 0.110361498187246198 "
                   "-0.12424358038351285 0.142851191122778888 -0.166694077413678814 0.200000905346855694 "
                   "-0.249999669375340412 0.333333323656163214")
L8 = constants(float, "6.666666666666735130e-01 3.999999999940941908e-01 2.857142874366239149e-01 "
                      "2.222219843214978396e-01 1.818357216161805012e-01 1.531383769920937332e-01 "
                      "1.479819860511658591e-01")
B4 = constants(f4, "-0.112862384 0.187619178 -0.190564057 0.204335878 -0.239648151 0.288582506 -0.360695718 "
                   "0.480897986 -0.721347364")                              # (log2(1 + f) - f / ln 2) / f**2
D4 = constants(f4, "-0.0339749631 0.0564790002 -0.0573654971 0.0615112284 -0.072141282 0.0868719905 -0.10858023 "
                   "0.144764718 -0.217147194")
# The factors of other bases, the high part short enough that its products are exact; then log10 of 2.
LOG2E_HIGH8, LOG2E_LOW8, LOG10E_HIGH8, LOG10E_LOW8 = (
    1.4426950514316559, -1.0542692476429138e-08, 0.4342944845557213, -2.6524694553078553e-09)
LOG2_HIGH8, LOG2_LOW8, LOG2_HIGH4, LOG2_LOW4 = (
    0.3010299956658855, -1.9043128467164274e-12, f4(0.301025390625), f4(4.605038981195214e-06))
LOG2E_HIGH4, LOG2E_LOW4, LOG10E_HIGH4, LOG10E_LOW4 = (
    f4(1.4426950216293335), f4(1.9259629911266175e-08), f4(0.4342944920063019), f4(-1.0103050052231683e-08))
ROOT_HALF4, ROOT_HALF8 = i4(0x3F3504F3), i8(0x3FE6A09E667F3BCD)


@scalar
def log_terms_float32(f, k, more):
    """k ln 2 + log(1 + f) + more, f in [sqrt 1/2 - 1, sqrt 2 - 1], `more` small beside f."""
    p = (((L4[0] * f + L4[1]) * f + L4[2]) * f + L4[3]) * f + L4[4]
    p = ((((p * f + L4[5]) * f + L4[6]) * f + L4[7]) * f + L4[8]) * f + L4[9]
    square = f * f
    rest = (f * square) * p + (k * LN2_LOW4 + more)
    return ((rest - f4(0.5) * square) + f) + k * LN2_HIGH4


@scalar
def _rest_float64(f):
    """s and the series in it, of log(1 + f) = f - (f**2 / 2 - s (f**2 / 2 + series))."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    return s, w * (L8[1] + w * (L8[3] + w * L8[5])) + z * (L8[0] + w * (L8[2] + w * (L8[4] + w * L8[6])))


@scalar
def log_terms_float64(f, k, more):
    s, rest = _rest_float64(f)
    half = 0.5 * f * f
    return k * LN2_HIGH8 - ((half - (s * (half + rest) + (k * LN2_LOW8 + more))) - f)


@scalar
def log_sum_float32(f, k): return log_terms_float32(f, k, f4(0))
@scalar
def log_sum_float64(f, k): return log_terms_float64(f, k, 0.0)


@scalar
def split_float32(x):
    """f, k of a normal x."""
    word = i4(bits(x) - ROOT_HALF4)
    return float32_from(i4((word & i4(0x007FFFFF)) + ROOT_HALF4)) - f4(1), i4(word >> i4(23))


@scalar
def split_float64(x):
    word = bits(x) - ROOT_HALF8
    return float64_from((word & i8(0x000FFFFFFFFFFFFF)) + ROOT_HALF8) - 1.0, word >> i8(52)


@scalar
def log2_terms_float32(f, k, more):
    """k + log2(1 + f) + more / ln 2. The factor of f is in two parts, so that one product is not rounded."""
    p = (((B4[0] * f + B4[1]) * f + B4[2]) * f + B4[3]) * f + B4[4]
    p = (((p * f + B4[5]) * f + B4[6]) * f + B4[7]) * f + B4[8]
    return (((f * f) * p + (f * LOG2E_LOW4 + more * LOG2E_HIGH4)) + f * LOG2E_HIGH4) + k


@scalar
def log10_sum_float32(f, k):
    p = (((D4[0] * f + D4[1]) * f + D4[2]) * f + D4[3]) * f + D4[4]
    p = (((p * f + D4[5]) * f + D4[6]) * f + D4[7]) * f + D4[8]
    rest = (f * f) * p + (f * LOG10E_LOW4 + k * LOG2_LOW4)
    high = k * LOG2_HIGH4
    near = f * LOG10E_HIGH4 + rest
    return near + high


@exact
def _other_base(f, high, low, factor, factor_rest):
    """high + low + factor log(1 + f), the largest product without rounding."""
    s, rest = _rest_float64(f)
    half = 0.5 * f * f
    less = s * (half + rest) - half
    near = float64_from(bits(f + less) & HIGH_HALF)
    small = (f - near) + less
    total, lost = quick_two_sum(high, near * factor)
    return total + ((lost + low) + (near * factor_rest + small * (factor + factor_rest)))


@exact
def log2_terms_float64(f, k, more): return _other_base(f, k, more * LOG2E_HIGH8, LOG2E_HIGH8, LOG2E_LOW8)
@exact
def log10_sum_float64(f, k): return _other_base(f, k * LOG2_HIGH8, k * LOG2_LOW8, LOG10E_HIGH8, LOG10E_LOW8)


@scalar
def _ends_float32(x, r):
    """A logarithm r of x, but -inf at zero, NaN below, and what x is where that is no number."""
    r = r if x < f4(np.inf) else x
    r = f4(np.nan) if x < f4(0) else r
    return f4(-np.inf) if x == f4(0) else r


@scalar
def _ends_float64(x, r):
    r = r if x < np.inf else x
    r = np.nan if x < 0.0 else r
    return -np.inf if x == 0.0 else r


@scalar
def _any_split_float32(x):
    """f and k (as a float) of x > 0; subnormals are scaled first."""
    small = x < f4(1.17549435e-38)
    f, k = split_float32(x * f4(8388608.0) if small else x)
    return f, f4(k) - (f4(23) if small else f4(0))


@scalar
def _any_split_float64(x):
    small = x < 2.2250738585072014e-308
    f, k = split_float64(x * 18014398509481984.0 if small else x)
    return f, float(k) - (54.0 if small else 0.0)


@scalar
def log_float32(x):
    f, k = _any_split_float32(x)
    return _ends_float32(x, log_sum_float32(f, k))


@scalar
def log_float64(x):
    f, k = _any_split_float64(x)
    return _ends_float64(x, log_sum_float64(f, k))


@scalar
def log2_float32(x):
    f, k = _any_split_float32(x)
    return _ends_float32(x, log2_terms_float32(f, k, f4(0)))


@scalar
def log2_float64(x):
    f, k = _any_split_float64(x)
    return _ends_float64(x, log2_terms_float64(f, k, 0.0))


@scalar
def log10_float32(x):
    f, k = _any_split_float32(x)
    return _ends_float32(x, log10_sum_float32(f, k))


@scalar
def log10_float64(x):
    f, k = _any_split_float64(x)
    return _ends_float64(x, log10_sum_float64(f, k))


@scalar
def log1p_float32(x):
    """k from 1 + x rounded, f from x itself: f = x / 2**k + (1 / 2**k - 1), in quarters so that no scale underflows."""
    _, k = split_float32(f4(1) + x)
    scale = float32_from(i4((i4(129) - k) << i4(23)))
    f = (f4(0.25) * x) * scale + (f4(0.25) * scale - f4(1))
    r = log_sum_float32(f, f4(k))
    r = x if fabs(x) < f4(2.9802322e-8) else r
    r = r if x < f4(np.inf) else x
    r = f4(np.nan) if x < f4(-1) else r
    return f4(-np.inf) if x == f4(-1) else r


@scalar
def log1p_float64(x):
    _, k = split_float64(1.0 + x)
    scale = float64_from((i8(1025) - k) << i8(52))
    f = (0.25 * x) * scale + (0.25 * scale - 1.0)
    r = log_sum_float64(f, float(k))
    r = x if fabs(x) < 5.551115123125783e-17 else r
    r = r if x < np.inf else x
    r = np.nan if x < -1.0 else r
    return -np.inf if x == -1.0 else r


@scalar
def _log1p_unit_float32(e):
    """log(1 + e) for 0 <= e <= 1."""
    big = e > f4(0.41421354)
    return log_sum_float32(f4(0.5) * (e - f4(1)) if big else e, f4(1) if big else f4(0))


@scalar
def _log1p_unit_float64(e):
    big = e > 0.41421356237309503
    return log_sum_float64(0.5 * (e - 1.0) if big else e, 1.0 if big else 0.0)


@scalar
def softplus_float32(x):
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)); below 2**-30 the exponential is the result, subnormals too."""
    e = exp_float32(-fabs(x))
    return (f4(0) if x < f4(0) else x) + (e if e < f4(9.313226e-10) else _log1p_unit_float32(e))


@scalar
def softplus_float64(x):
    e = exp_float64(-fabs(x))
    return (0.0 if x < 0.0 else x) + (e if e < 8.673617379884035e-19 else _log1p_unit_float64(e))


@scalar
def logsigmoid_float32(x): return -softplus_float32(-x)
@scalar
def logsigmoid_float64(x): return -softplus_float64(-x)


@exact
def _distance(a, b, zero, one):
    """|a - b| and what rounding it lost, where it is small enough to count; 0 of equal infinities."""
    d, rest = two_sum(a, -b)
    rest = rest if fabs(rest) < one else zero
    return (zero if a == b else fabs(d)), (-rest if d < zero else rest)


@scalar
def _unit_float32(e, e_rest):
    """The arguments of a sum of logarithms for log(1 + e + e_rest), 0 <= e <= 1."""
    big = e > f4(0.41421354)
    f = f4(0.5) * (e - f4(1)) if big else e
    return f, f4(1) if big else f4(0), (f4(0.5) * e_rest if big else e_rest) * (f4(1) - f * (f4(1) - f))


@scalar
def _unit_float64(e, e_rest):
    big = e > 0.41421356237309503
    f = 0.5 * (e - 1.0) if big else e
    return f, 1.0 if big else 0.0, (0.5 * e_rest if big else e_rest) * (1.0 - f * (1.0 - f))


@scalar
def logaddexp_float32(a, b):
    """The larger plus log(1 + exp(-|a - b|)); what rounding the distance and the exponential lost is carried along."""
    d, rest = _distance(a, b, f4(0), f4(1))
    e, e_rest = exp_parts_float32(-d, -rest)
    f, k, more = _unit_float32(e, e_rest)
    return (a if a > b or a != a else b) + (e if e < f4(9.313226e-10) else log_terms_float32(f, k, more))


@scalar
def logaddexp_float64(a, b):
    d, rest = _distance(a, b, 0.0, 1.0)
    e, e_rest = exp_parts_float64(-d, -rest)
    f, k, more = _unit_float64(e, e_rest)
    return (a if a > b or a != a else b) + (e if e < 8.673617379884035e-19 else log_terms_float64(f, k, more))


@scalar
def logaddexp2_float32(a, b):
    d, rest = _distance(a, b, f4(0), f4(1))
    f, k, more = _unit_float32(*exp2_parts_float32(-d, -rest))
    return (a if a > b or a != a else b) + log2_terms_float32(f, k, more)


@scalar
def logaddexp2_float64(a, b):
    d, rest = _distance(a, b, 0.0, 1.0)
    f, k, more = _unit_float64(*exp2_parts_float64(-d, -rest))
    return (a if a > b or a != a else b) + log2_terms_float64(f, k, more)


@scalar
def _frexp_word(x):
    """The word of x scaled out of the subnormals, and the exponent that scaling hides."""
    small = fabs(x) < 2.2250738585072014e-308
    return bits(x * 18014398509481984.0 if small else x), (i8(1076) if small else i8(1022))


@scalar
def frexp_mantissa_float64(x):
    word, _ = _frexp_word(x)
    mantissa = float64_from((word & i8(-0x7FF0000000000001)) | i8(0x3FE0000000000000))
    return x if x == 0.0 or not fabs(x) < np.inf else mantissa


@scalar
def frexp_exponent_float64(x):
    word, bias = _frexp_word(x)
    return i4(0) if x == 0.0 or not fabs(x) < np.inf else i4(((word >> i8(52)) & i8(0x7FF)) - bias)


@scalar
def frexp_mantissa_float32(x): return f4(frexp_mantissa_float64(float(x)))
@scalar
def frexp_exponent_float32(x): return frexp_exponent_float64(float(x))
