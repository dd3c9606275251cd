"""sin, cos and tan: `<entry>_<dtype>` is the vector path, `<entry>_any_<dtype>` holds for every finite number.

A kernel works through blocks: where some |argument| of a block is above NEEDS_SLOW_PATH[entry] it takes `<entry>_any_`
for that whole block, else `<entry>_`. Below the limit the two agree in every bit, so that no result depends on its
neighbours. A call under a mask inside the function would be shorter, but no loop with such a call vectorises, and the
long reduction without a branch costs several times the whole of the short one.

To the limit: Cody and Waite's reduction, pi / 2 in parts of 33 bits, times a whole number below 2**20 without rounding.
Beyond: Payne and Hanek's, with as many bits of 2 / pi as the exponent asks for.
"""
import math

from ..intrinsics import bits, fabs, float32_from, float64_from, multiply_add, word_table
from . import NEEDS_SLOW_PATH
from .common import constants, exact, f4, f8, i4, i8, quick_two_sum, quotient_parts, scalar, two_product, u8

LIMIT, TAN_LIMIT = NEEDS_SLOW_PATH["sin"], NEEDS_SLOW_PATH["tan"]
ROUND8 = 6755399441055744.0
S4 = constants(f4, "-1.9515295891e-4 8.3321608736e-3 -1.6666654611e-1")                                    # Cephes
C4 = constants(f4, "2.443315711809948e-5 -1.388731625493765e-3 4.166664568298827e-2")
S8 = constants(float, "1.58969099521155010221e-10 -2.50507602534068634195e-08 2.75573137070700676789e-06 "  # fdlibm
                      "-1.98412698298579493134e-04 8.33333333332248946124e-03 -1.66666666666666324348e-01")
C8 = constants(float, "-1.13596475577881948265e-11 2.08757232129817482790e-09 -2.75573143513906633035e-07 "
                      "2.48015872894767294178e-05 -1.38888888888741095749e-03 4.16666666666666019037e-02")
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)   # three parts, 33 bits each
HALF_PI_REST = 6.077100506506192e-11


@scalar
def _quarter_turns_float32(x):
    """n and r, |r| <= pi / 4, with x = n pi / 2 + r, in double."""
    shifted = x * (2 / math.pi) + ROUND8
    whole = shifted - ROUND8
    return i4(bits(shifted)), (x - whole * HALF_PI[0]) - whole * HALF_PI_REST


@scalar
def _quarter_turns_float64(x):
    """n, r and what rounding r lost."""
    shifted = x * (2 / math.pi) + ROUND8
    whole = shifted - ROUND8
    first = x - whole * HALF_PI[0]
    second = first - whole * HALF_PI[1]
    third = whole * HALF_PI[2] - ((first - second) - whole * HALF_PI[1])
    r = second - third
    return bits(shifted), r, (second - r) - third


@scalar
def turned_sine_float32(n, r):
    """sin(n pi / 2 + r)."""
    z = r * r
    s = ((S4[0] * z + S4[1]) * z + S4[2]) * z * r + r
    c = ((C4[0] * z + C4[1]) * z + C4[2]) * (z * z) - f4(0.5) * z + f4(1)
    return float32_from(i4(bits(c if (n & i4(1)) != i4(0) else s) ^ ((n & i4(2)) << i4(30))))


@scalar
def turned_sine_float64(n, r, rest):
    """sin(n pi / 2 + r + rest): fdlibm's k_sin.c and k_cos.c."""
    z = r * r
    cube = z * r
    s = ((((S8[0] * z + S8[1]) * z + S8[2]) * z + S8[3]) * z + S8[4])
    s = r - ((z * (0.5 * rest - cube * s) - rest) - cube * S8[5])
    c = z * (((((C8[0] * z + C8[1]) * z + C8[2]) * z + C8[3]) * z + C8[4]) * z + C8[5])
    half = 0.5 * z
    near_one = 1.0 - half
    c = near_one + (((1.0 - near_one) - half) + (z * c - r * rest))
    return float64_from(bits(c if (n & i8(1)) != i8(0) else s) ^ ((n & i8(2)) << i8(62)))


@scalar
def sin_float32(x):
    n, r = _quarter_turns_float32(f8(x))
    return x if fabs(x) < f4(2.4414062e-4) else turned_sine_float32(n, f4(r))


@scalar
def cos_float32(x):
    n, r = _quarter_turns_float32(f8(x))
    return turned_sine_float32(i4(n + i4(1)), f4(r))


@scalar
def sin_float64(x):
    n, r, rest = _quarter_turns_float64(x)
    return x if fabs(x) < 7.450580596923828e-9 else turned_sine_float64(n, r, rest)


@scalar
def cos_float64(x):
    n, r, rest = _quarter_turns_float64(x)
    return turned_sine_float64(n + i8(1), r, rest)


@exact
def turned_parts_float32(n, r, rest):
    """The sine and the cosine of n pi / 2 + r + rest, each as a sum of two."""
    z = r * r
    s, s_rest = quick_two_sum(r, multiply_add(multiply_add(multiply_add(S4[0], z, S4[1]), z, S4[2]), z * r, rest))
    fourth = multiply_add(multiply_add(C4[0], z, C4[1]), z, C4[2])
    c, c_rest = quick_two_sum(f4(1), multiply_add(fourth, z * z, multiply_add(f4(-0.5), z, -(r * rest))))
    return _turned_float32(n, s, s_rest, c, c_rest)


@scalar
def _turned_float32(n, s, s_rest, c, c_rest):
    odd = (n & i4(1)) != i4(0)
    sine_sign, cosine_sign = (n & i4(2)) << i4(30), ((n + i4(1)) & i4(2)) << i4(30)
    first, first_rest, second, second_rest = (c, c_rest, s, s_rest) if odd else (s, s_rest, c, c_rest)
    return (float32_from(i4(bits(first) ^ sine_sign)), float32_from(i4(bits(first_rest) ^ sine_sign)),
            float32_from(i4(bits(second) ^ cosine_sign)), float32_from(i4(bits(second_rest) ^ cosine_sign)))


@exact
def turned_parts_float64(n, r, rest):
    z = r * r
    cube = z * r
    p = multiply_add(multiply_add(multiply_add(S8[0], z, S8[1]), z, S8[2]), z, S8[3])
    p = multiply_add(multiply_add(p, z, S8[4]), z, S8[5])
    s, s_rest = quick_two_sum(r, multiply_add(p, cube, multiply_add(-0.5 * z, rest, rest)))
    q = multiply_add(multiply_add(multiply_add(C8[0], z, C8[1]), z, C8[2]), z, C8[3])
    q = multiply_add(multiply_add(q, z, C8[4]), z, C8[5])
    c, c_rest = quick_two_sum(1.0, -0.5 * z)
    c, c_more = quick_two_sum(c, multiply_add(q, z * z, -(r * rest)))
    return _turned_float64(n, s, s_rest, c, c_rest + c_more + multiply_add(-0.5 * r, r, 0.5 * z))


@scalar
def _turned_float64(n, s, s_rest, c, c_rest):
    odd = (n & i8(1)) != i8(0)
    sine_sign, cosine_sign = (n & i8(2)) << i8(62), ((n + i8(1)) & i8(2)) << i8(62)
    first, first_rest, second, second_rest = (c, c_rest, s, s_rest) if odd else (s, s_rest, c, c_rest)
    return (float64_from(bits(first) ^ sine_sign), float64_from(bits(first_rest) ^ sine_sign),
            float64_from(bits(second) ^ cosine_sign), float64_from(bits(second_rest) ^ cosine_sign))


@exact
def _turned_tangent_float32(n, r, rest):
    s, s_rest, c, c_rest = turned_parts_float32(n, r, rest)
    v, v_rest = quotient_parts(s, s_rest, c, c_rest, f4(1) / c)
    return v + v_rest


@exact
def _turned_tangent_float64(n, r, rest):
    s, s_rest, c, c_rest = turned_parts_float64(n, r, rest)
    v, v_rest = quotient_parts(s, s_rest, c, c_rest, 1.0 / c)
    return v + v_rest


@scalar
def tan_float32(x):
    n, r = _quarter_turns_float32(f8(x))
    return x if fabs(x) < f4(2.4414062e-4) else _turned_tangent_float32(n, f4(r), f4(r - f8(f4(r))))


@scalar
def tan_float64(x):
    n, r, rest = _quarter_turns_float64(x)
    return x if fabs(x) < 7.450580596923828e-9 else _turned_tangent_float64(n, r, rest)


# 64 zero bits, then the first 1216 bits of 2 / pi.
DIGITS = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c"
    "fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
    "56033046fc7b6bab")
TWO_OVER_PI = word_table("two_over_pi", [0, 0, *[int(DIGITS[i:i + 8], 16) for i in range(0, len(DIGITS), 8)]])
HALF_TURN, HALF_TURN_REST = 1.5707963267948966, 6.123233995736766e-17
MASK = u8(0xFFFFFFFF)


@exact
def _window(place, k):
    """Bits place + 32 k and the 31 after it."""
    index, shift = (place >> i8(5)) + i8(k), u8(place & i8(31))
    return (((TWO_OVER_PI(index) << u8(32)) | TWO_OVER_PI(index + i8(1))) >> (u8(32) - shift)) & MASK


@exact
def _column(carry, low, first, high, second):
    """carry + low * first + high * second as a word and a carry; low < 2**32, high < 2**21."""
    total = low * first + carry
    rest = high * second + (total & MASK)
    return rest & MASK, (total >> u8(32)) + (rest >> u8(32))


@exact
def _fraction_of_turn(x):
    """|x| 2 / pi modulo 4 as words of 32 bits, the first with two bits before the point."""
    word = bits(fabs(x))
    place = (word >> i8(52)) - i8(1013)
    significand = u8((word & i8(0x000FFFFFFFFFFFFF)) | i8(0x0010000000000000))
    low, high = significand & MASK, significand >> u8(32)
    w0, w1, w2 = _window(place, 0), _window(place, 1), _window(place, 2)
    w3, w4, w5 = _window(place, 3), _window(place, 4), _window(place, 5)
    _, carry = _column(u8(0), low, w5, high, u8(0))
    p1, carry = _column(carry, low, w4, high, w5)
    p2, carry = _column(carry, low, w3, high, w4)
    p3, carry = _column(carry, low, w2, high, w3)
    p4, carry = _column(carry, low, w1, high, w2)
    p5, carry = _column(carry, low, w0, high, w1)
    return (p5 << u8(32)) | p4, (p3 << u8(32)) | p2, p1 << u8(32)


@exact
def _many_quarter_turns(x):
    """n, r and rest for TAN_LIMIT < |x| < inf, as _quarter_turns_float64 gives them, of n only the last bits."""
    first, second, third = _fraction_of_turn(x)
    n = i8((first + (u8(1) << u8(61))) >> u8(62))
    first = first - (u8(n) << u8(62))
    negative = i8(first) < i8(0)
    flip = ~u8(0) if negative else u8(0)
    first, second, third = first ^ flip, second ^ flip, third ^ flip
    high, rest = quick_two_sum(f8(first >> u8(32)) * 2.0 ** -30, f8(first & MASK) * 2.0 ** -62)
    high, rest = quick_two_sum(high, rest + f8(second >> u8(32)) * 2.0 ** -94)
    high, rest = quick_two_sum(high, rest + (f8(second & MASK) * 2.0 ** -126 + f8(third >> u8(32)) * 2.0 ** -158))
    r, r_rest = two_product(high, HALF_TURN)
    r, r_rest = quick_two_sum(r, r_rest + (high * HALF_TURN_REST + rest * HALF_TURN))
    sign = -1.0 if negative != (x < 0.0) else 1.0
    return (-n if x < 0.0 else n), sign * r, sign * r_rest


@exact
def _any_turned_sine(x, turns):
    n, r, rest = _many_quarter_turns(x)
    return turned_sine_float64(n + turns, r, rest) if fabs(x) < math.inf else math.nan


@exact
def sin_any_float64(x):
    return _any_turned_sine(x, i8(0)) if fabs(x) > LIMIT else sin_float64(x)


@exact
def cos_any_float64(x):
    return _any_turned_sine(x, i8(1)) if fabs(x) > LIMIT else cos_float64(x)


@exact
def sin_any_float32(x):
    return f4(_any_turned_sine(f8(x), i8(0))) if fabs(x) > f4(LIMIT) else sin_float32(x)


@exact
def cos_any_float32(x):
    return f4(_any_turned_sine(f8(x), i8(1))) if fabs(x) > f4(LIMIT) else cos_float32(x)


@exact
def _any_tangent(x):
    n, r, rest = _many_quarter_turns(x)
    return _turned_tangent_float64(n, r, rest) if fabs(x) < math.inf else math.nan


@exact
def tan_any_float64(x):
    return _any_tangent(x) if fabs(x) > TAN_LIMIT else tan_float64(x)


@exact
def tan_any_float32(x):
    return f4(_any_tangent(f8(x))) if fabs(x) > f4(TAN_LIMIT) else tan_float32(x)
