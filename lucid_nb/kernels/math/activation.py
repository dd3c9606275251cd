"""silu and the tanh form of gelu: x / (1 + exp(-w)), w = x or a cubic of x, which enters the exponential in two parts.

Far below zero the quotient is taken of 2**-64 (2**-512 in double) times x, so that only its result may be subnormal.
"""
from ..intrinsics import multiply_add
from .common import exact, f4, i4, i8, scalar, two_sum
from .exponential import (
    ONE4,
    ONE8,
    expm1_parts_float32,
    expm1_parts_float64,
    power_of_two_float32,
    power_of_two_float64,
)

# 2 sqrt(2 / pi) and 0.044715 times that, each with what rounding it lost.
LINEAR4, LINEAR_REST4, CUBIC4, CUBIC_REST4 = f4(1.5957692), f4(-4.534068e-08), f4(0.071354814), f4(2.3988325e-09)
LINEAR8, LINEAR_REST8 = 1.5957691216057308, -9.96930880911092e-17
CUBIC8, CUBIC_REST8 = 0.07135481627260025, -6.175149918155315e-19


@scalar
def _gated_float32(x, high, low):
    """x / (1 + exp(high + low)), -20 <= high <= 130, |low| small."""
    far = high > f4(44.0)
    p, word = expm1_parts_float32(high, low, ONE4)
    one = f4(5.421010862427522e-20) if far else f4(1)
    power = power_of_two_float32(i4(word - (i4(64) if far else i4(0))))
    return (x * one) / ((power * p + min(power, one)) + max(power, one))


@scalar
def _gated_float64(x, high, low):
    far = high > 400.0
    p, word = expm1_parts_float64(high, low, ONE8)
    one = 7.458340731200207e-155 if far else 1.0
    power = power_of_two_float64(word - (i8(512) if far else i8(0)))
    return (x * one) / ((power * p + min(power, one)) + max(power, one))


@scalar
def silu_float32(x):
    t = f4(-110.0) if x < f4(-110.0) else x
    return _gated_float32(t, f4(-20.0) if t > f4(20.0) else -t, f4(0))


@scalar
def silu_float64(x):
    t = -756.0 if x < -756.0 else x
    return _gated_float64(t, -40.0 if t > 40.0 else -t, 0.0)


@exact
def _cubic_float32(x):
    """LINEAR x + CUBIC x**3 as a sum of two."""
    square = x * x
    term = CUBIC4 * square
    rest = multiply_add(CUBIC4, square, -term) + (CUBIC4 * multiply_add(x, x, -square) + CUBIC_REST4 * square)
    slope, slope_rest = two_sum(LINEAR4, term)
    w = x * slope
    return w, multiply_add(x, slope, -w) + x * (slope_rest + (rest + LINEAR_REST4))


@exact
def _cubic_float64(x):
    square = x * x
    term = CUBIC8 * square
    rest = multiply_add(CUBIC8, square, -term) + (CUBIC8 * multiply_add(x, x, -square) + CUBIC_REST8 * square)
    slope, slope_rest = two_sum(LINEAR8, term)
    w = x * slope
    return w, multiply_add(x, slope, -w) + x * (slope_rest + (rest + LINEAR_REST8))


@scalar
def gelu_tanh_float32(x):
    t = f4(-11.5) if x < f4(-11.5) else x
    w, rest = _cubic_float32(f4(6.0) if t > f4(6.0) else t)
    is_far = w > f4(20.0)
    return _gated_float32(t, f4(-20.0) if is_far else -w, f4(0) if is_far else -rest)


@scalar
def gelu_tanh_float64(x):
    t = -23.0 if x < -23.0 else x
    w, rest = _cubic_float64(9.0 if t > 9.0 else t)
    is_far = w > 40.0
    return _gated_float64(t, -40.0 if is_far else -w, 0.0 if is_far else -rest)
