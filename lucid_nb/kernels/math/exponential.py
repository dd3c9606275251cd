"""exp, exp2, expm1 and what is made of one exponential: tanh, sigmoid, softplus, slopes, the normal density.

x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2**23 (2**52 in double) rounds to an integer that then lies in the low
bits; with the bias of the exponent field added too, one shift makes 2**n of it. Polynomials: minimax, by Remez in 50
digits.
"""
from ..intrinsics import bits, copysign, fabs, float32_from, float64_from
from .common import (
    HIGH_HALF,
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
)

E4 = constants(f4, "1.99076379953002347e-4 1.39486406371532691e-3 8.33328593148304724e-3 4.16662398591144943e-2 "
                   "0.166666667566709079 0.500000008104316737")
E8 = constants(float, "2.09269410906155367e-9 2.5112288432386107e-8 2.75572333652433819e-7 2.75572340992922133e-6 "
                      "2.48015873737389069e-5 1.98412698971945492e-4 1.38888888888584382e-3 8.33333333331668472e-3 "
                      "4.16666666666667245e-2 0.166666666666666839 0.5")
T4 = constants(f4, "1.54763045e-4 1.34002696e-3 9.61800385e-3 5.55032779e-2 0.240226513 0.693147206")
T8 = constants(float, "4.4573890917050071e-10 7.0738601117340235e-9 1.0178046446849343e-7 1.3215434817410578e-6 "
                      "1.5252733867585204e-5 1.5403530458078184e-4 1.3333558146378973e-3 9.6181291075933339e-3 "
                      "5.5504108664821742e-2 0.24022650695910133 0.69314718055994531")
ROUND4, ROUND8 = f4(12582912.0), 6755399441055744.0
ONE4, ONE8 = f4(ROUND4 + f4(127)), ROUND8 + 1023          # the low bits of the sum are n plus the bias
TWICE4, TWICE8 = f4(ROUND4 + f4(254)), ROUND8 + 2046      # ... plus the bias of both halves of n


@scalar
def _reduced_float32(x, rounding):
    """The word that holds n, and r."""
    shifted = x * f4(LOG2E) + rounding
    whole = shifted - rounding
    return i4(bits(shifted)), (x - whole * LN2_HIGH4) - whole * LN2_LOW4


@scalar
def _reduced_float64(x, rounding):
    shifted = x * LOG2E + rounding
    whole = shifted - rounding
    return bits(shifted), (x - whole * LN2_HIGH8) - whole * LN2_LOW8


@scalar
def _quadratic_rest_float32(r):
    """(expm1(r) - r) / r**2."""
    return ((((E4[0] * r + E4[1]) * r + E4[2]) * r + E4[3]) * r + E4[4]) * r + E4[5]


@scalar
def _quadratic_rest_float64(r):
    p = ((((E8[0] * r + E8[1]) * r + E8[2]) * r + E8[3]) * r + E8[4]) * r + E8[5]
    return ((((p * r + E8[6]) * r + E8[7]) * r + E8[8]) * r + E8[9]) * r + E8[10]


@scalar
def power_of_two_float32(word):
    """2**n of a word made with ONE4."""
    return float32_from(i4(word << i4(23)))


@scalar
def power_of_two_float64(word):
    return float64_from(word << i8(52))


@scalar
def scaled_float32(value, word):
    """value * 2**n of a word made with TWICE4: two steps by halves of n, so subnormals and overflow come out right."""
    half = i4(word >> i4(1))
    return value * power_of_two_float32(half) * power_of_two_float32(i4(word - half))


@scalar
def scaled_float64(value, word):
    half = word >> i8(1)
    return value * power_of_two_float64(half) * power_of_two_float64(word - half)


@scalar
def exp_float32(x):
    x = f4(89.0) if x > f4(89.0) else x
    x = f4(-104.0) if x < f4(-104.0) else x
    word, r = _reduced_float32(x, TWICE4)
    return scaled_float32((_quadratic_rest_float32(r) * r + f4(1)) * r + f4(1), word)


@scalar
def exp_float64(x):
    x = 710.0 if x > 710.0 else x
    x = -746.0 if x < -746.0 else x
    word, r = _reduced_float64(x, TWICE8)
    return scaled_float64((_quadratic_rest_float64(r) * r + 1.0) * r + 1.0, word)


@scalar
def _reduced2_float32(x):
    """The word that holds n, r and (2**r - 1) / r; here r is exact."""
    shifted = x + TWICE4
    r = x - (shifted - TWICE4)
    return i4(bits(shifted)), r, ((((T4[0] * r + T4[1]) * r + T4[2]) * r + T4[3]) * r + T4[4]) * r + T4[5]


@scalar
def _reduced2_float64(x):
    shifted = x + TWICE8
    r = x - (shifted - TWICE8)
    p = ((((T8[0] * r + T8[1]) * r + T8[2]) * r + T8[3]) * r + T8[4]) * r + T8[5]
    return bits(shifted), r, ((((p * r + T8[6]) * r + T8[7]) * r + T8[8]) * r + T8[9]) * r + T8[10]


@scalar
def exp2_float32(x):
    x = f4(129.0) if x > f4(129.0) else x
    word, r, p = _reduced2_float32(f4(-151.0) if x < f4(-151.0) else x)
    return scaled_float32(p * r + f4(1), word)


@scalar
def exp2_float64(x):
    x = 1025.0 if x > 1025.0 else x
    word, r, p = _reduced2_float64(-1076.0 if x < -1076.0 else x)
    return scaled_float64(p * r + 1.0, word)


@scalar
def square_parts_float32(x):
    """x * x as a sum of two."""
    high = float32_from(i4(bits(x) & i4(-4096)))
    return high * high, (x - high) * (x + high)


@scalar
def square_parts_float64(x):
    high = float64_from(bits(x) & HIGH_HALF)
    return high * high, (x - high) * (x + high)


@scalar
def expm1_parts_float32(high, low, rounding):
    """expm1(r) and the word of n for exp(high + low), |low| small; keeps what rounding r lost."""
    shifted = high * f4(LOG2E) + rounding
    whole = shifted - rounding
    near, small = high - whole * LN2_HIGH4, low - whole * LN2_LOW4
    r = near + small
    return r + ((r * r) * _quadratic_rest_float32(r) + ((near - r) + small)), i4(bits(shifted))


@scalar
def expm1_parts_float64(high, low, rounding):
    shifted = high * LOG2E + rounding
    whole = shifted - rounding
    near, small = high - whole * LN2_HIGH8, low - whole * LN2_LOW8
    r = near + small
    return r + ((r * r) * _quadratic_rest_float64(r) + ((near - r) + small)), bits(shifted)


@scalar
def exp_parts_float32(x, rest):
    """exp(x + rest), x <= 0, as a sum of two."""
    p, word = expm1_parts_float32(f4(-104.0) if x < f4(-104.0) else x, rest, TWICE4)
    return _scaled_parts_float32(p, word)


@scalar
def exp_parts_float64(x, rest):
    p, word = expm1_parts_float64(-746.0 if x < -746.0 else x, rest, TWICE8)
    return _scaled_parts_float64(p, word)


@scalar
def exp2_parts_float32(x, rest):
    word, r, p = _reduced2_float32(f4(-151.0) if x < f4(-151.0) else x)
    return _scaled_parts_float32(p * r + rest * T4[5] * (p * r + f4(1)), word)


@scalar
def exp2_parts_float64(x, rest):
    word, r, p = _reduced2_float64(-1076.0 if x < -1076.0 else x)
    return _scaled_parts_float64(p * r + rest * T8[10] * (p * r + 1.0), word)


@scalar
def _scaled_parts_float32(p, word):
    near, rest = quick_two_sum(f4(1), p)
    return scaled_float32(near, word), scaled_float32(rest, word)


@scalar
def _scaled_parts_float64(p, word):
    near, rest = quick_two_sum(1.0, p)
    return scaled_float64(near, word), scaled_float64(rest, word)


@scalar
def _expm1_unclamped_float32(x):
    """expm1 for -18 <= x <= 89. Half of it is computed, so that 2**128 fits."""
    word, r = _reduced_float32(x, ONE4)
    half = power_of_two_float32(i4(word - i4(1)))
    return f4(2) * (half * (r + (r * r) * _quadratic_rest_float32(r)) + (half - f4(0.5)))


@scalar
def _expm1_unclamped_float64(x):
    word, r = _reduced_float64(x, ONE8)
    half = power_of_two_float64(word - i8(1))
    return 2.0 * (half * (r + (r * r) * _quadratic_rest_float64(r)) + (half - 0.5))


@scalar
def expm1_float32(x):
    """Below 2**-24 the result is x, with its sign and its last bit."""
    low = f4(-18.0) if x < f4(-18.0) else x
    result = _expm1_unclamped_float32(f4(89.0) if low > f4(89.0) else low)
    return x if fabs(x) < f4(5.9604645e-8) else result


@scalar
def expm1_float64(x):
    low = -40.0 if x < -40.0 else x
    result = _expm1_unclamped_float64(710.0 if low > 710.0 else low)
    return x if fabs(x) < 1.1102230246251565e-16 else result


@exact
def _tanh_quotient(one, power, p):
    """(1 - e) / (1 + e) with e = power (1 + p), power <= 1; what rounding both sums lost is carried along."""
    part = power * p
    low, low_rest = quick_two_sum(one, -power)
    n, n_rest = quick_two_sum(low, -part)
    high, high_rest = quick_two_sum(one, power)
    d, d_rest = quick_two_sum(high, part)
    v, rest = quotient_parts(n, n_rest + low_rest, d, d_rest + high_rest, one / d)
    return v + rest


@scalar
def tanh_float32(x):
    """From e = exp(-2 |x|), with one division."""
    t = f4(-2) * fabs(x)
    p, word = expm1_parts_float32(f4(-20.0) if t < f4(-20.0) else t, f4(0), ONE4)
    return copysign(_tanh_quotient(f4(1), power_of_two_float32(word), p), x)


@scalar
def tanh_float64(x):
    t = -2.0 * fabs(x)
    p, word = expm1_parts_float64(-40.0 if t < -40.0 else t, 0.0, ONE8)
    return copysign(_tanh_quotient(1.0, power_of_two_float64(word), p), x)


@scalar
def tanh_slope_float32(x):
    """1 - tanh(x)**2 = 4 e / (1 + e)**2 with e = exp(-2 |x|), which keeps both tails; 4 e is scaled once."""
    t = f4(-2) * fabs(x)
    word, r = _reduced_float32(f4(-106.0) if t < f4(-106.0) else t, TWICE4)
    four = scaled_float32((_quadratic_rest_float32(r) * r + f4(1)) * r + f4(1), i4(word + i4(2)))
    e = f4(0.25) * four
    return four / (e * (e + f4(2)) + f4(1))


@scalar
def tanh_slope_float64(x):
    t = -2.0 * fabs(x)
    word, r = _reduced_float64(-748.0 if t < -748.0 else t, TWICE8)
    four = scaled_float64((_quadratic_rest_float64(r) * r + 1.0) * r + 1.0, word + i8(2))
    e = 0.25 * four
    return four / (e * (e + 2.0) + 1.0)


@scalar
def sigmoid_float32(x):
    """1 / (1 + 2**n + 2**n expm1(r)), the largest term last. Far below zero the quotient is taken of 2**-64."""
    t = f4(-20.0) if x > f4(20.0) else -x
    t = f4(104.0) if t > f4(104.0) else t
    far = t > f4(44.0)
    p, word = expm1_parts_float32(t, f4(0), ONE4)
    one = f4(5.421010862427522e-20) if far else f4(1)
    power = power_of_two_float32(i4(word - (i4(64) if far else i4(0))))
    return one / ((power * p + min(power, one)) + max(power, one))


@scalar
def sigmoid_float64(x):
    t = -40.0 if x > 40.0 else -x
    t = 746.0 if t > 746.0 else t
    far = t > 400.0
    p, word = expm1_parts_float64(t, 0.0, ONE8)
    one = 7.458340731200207e-155 if far else 1.0
    power = power_of_two_float64(word - (i8(512) if far else i8(0)))
    return one / ((power * p + min(power, one)) + max(power, one))


@scalar
def sigmoid_slope_float32(x):
    """e / (1 + e)**2 with e = exp(-|x|), which keeps both tails."""
    e = exp_float32(-fabs(x))
    return e / (e * (e + f4(2)) + f4(1))


@scalar
def sigmoid_slope_float64(x):
    e = exp_float64(-fabs(x))
    return e / (e * (e + 2.0) + 1.0)


@scalar
def normal_density_float32(x):
    """exp(-x**2 / 2) / sqrt(2 pi), the square in two parts: its rounding alone would cost 30 ULP at x = 13."""
    high, low = square_parts_float32(f4(16.0) if fabs(x) > f4(16.0) else fabs(x))
    p, word = expm1_parts_float32(f4(-0.5) * high, f4(-0.5) * low, TWICE4)
    return scaled_float32(f4(0.3989422804014327) * p + f4(0.3989422804014327), word)


@scalar
def normal_density_float64(x):
    high, low = square_parts_float64(40.0 if fabs(x) > 40.0 else fabs(x))
    p, word = expm1_parts_float64(-0.5 * high, -0.5 * low, TWICE8)
    return scaled_float64(0.3989422804014327 * p + 0.3989422804014327, word)
