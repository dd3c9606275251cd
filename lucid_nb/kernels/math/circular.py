"""sin and cos: Cody and Waite's reduction by parts of pi / 2, to |x| = 1e5."""
import math

from ..intrinsics import bits, fabs, float32_from, float64_from
from .common import constants, f4, i4, i8, scalar

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
    return i4(bits(shifted)), f4((x - whole * HALF_PI[0]) - whole * HALF_PI_REST)


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
    n, r = _quarter_turns_float32(float(x))
    return x if fabs(x) < f4(2.4414062e-4) else turned_sine_float32(n, r)


@scalar
def cos_float32(x):
    n, r = _quarter_turns_float32(float(x))
    return turned_sine_float32(i4(n + i4(1)), r)


@scalar
def sin_float64(x):
    n, r, rest = _quarter_turns_float64(x)
    return x if fabs(x) < 7.450580596923828e-9 else turned_sine_float64(n, r, rest)


@scalar
def cos_float64(x):
    n, r, rest = _quarter_turns_float64(x)
    return turned_sine_float64(n + i8(1), r, rest)
