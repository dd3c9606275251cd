"""arcsin, arccos, arctan and arctan2. Polynomials: minimax for the relative error, by Remez in 50 digits.

arctan of |x| > 1 is pi / 2 - arctan(1 / |x|); arcsin of |x| > 1/2 is pi / 2 - 2 arcsin(sqrt((1 - |x|) / 2)).
"""
import numpy as np

from ..intrinsics import bits, copysign, fabs, multiply_add, square_root
from .common import constants, f4, i4, i8, scalar

A4 = constants(f4, "-1.82721932e-3 1.10644617e-2 -3.14557206e-2 5.82345425e-2 -8.41945655e-2 0.109575743 -0.142652448 "
                   "0.199986385 -0.333333019")
A8 = constants(float, "1.3489563844016284e-5 -1.5479980025773806e-4 8.4349690004280818e-4 -2.9193758759229457e-3 "
                      "7.2634228713978596e-3 -1.3995079912586289e-2 2.2085253537684809e-2 -2.9985659527018752e-2 "
                      "3.6693587344849568e-2 -4.2217209362467101e-2 4.7232946028292962e-2 -5.253805935627846e-2 "
                      "5.8805926457409719e-2 -6.6664150142262179e-2 7.6922811890724975e-2 -9.090907119486482e-2 "
                      "0.11111111013666522 -0.14285714282802892 0.1999999999995545 -0.33333333333333093")
S4 = constants(f4, "4.22186266e-2 2.41475776e-2 4.54771e-2 7.49524181e-2 0.166667539")
S8 = constants(float, "0.031959086964179325 -0.016294275691684882 0.019574050933041698 0.0065107950325066038 "
                      "0.012173293769130047 0.013884596206566687 0.017359771324385909 0.022371753512170945 "
                      "0.030381959331367651 0.044642856823498137 0.075000000003429824 0.16666666666665383")
HALF_PI4, HALF_PI_REST4 = f4(1.5707963705062866), f4(-4.371139e-08)
HALF_PI8, HALF_PI_REST8 = 1.5707963267948966, 6.123233995736766e-17


@scalar
def _beyond_float32(u):
    """arctan u - u, |u| <= 1."""
    z = u * u
    p = (((A4[0] * z + A4[1]) * z + A4[2]) * z + A4[3]) * z + A4[4]
    return ((((p * z + A4[5]) * z + A4[6]) * z + A4[7]) * z + A4[8]) * (z * u)


@scalar
def _beyond_float64(u):
    z = u * u
    p = ((((A8[0] * z + A8[1]) * z + A8[2]) * z + A8[3]) * z + A8[4]) * z + A8[5]
    p = (((((p * z + A8[6]) * z + A8[7]) * z + A8[8]) * z + A8[9]) * z + A8[10]) * z + A8[11]
    p = (((((p * z + A8[12]) * z + A8[13]) * z + A8[14]) * z + A8[15]) * z + A8[16]) * z + A8[17]
    return ((p * z + A8[18]) * z + A8[19]) * (z * u)


@scalar
def arctan_float32(x):
    t = fabs(x)
    far = t > f4(1)
    u = f4(-1) / t if far else t
    y = _beyond_float32(u) + (HALF_PI_REST4 if far else f4(0))
    return copysign((u + y) + HALF_PI4 if far else u + y, x)


@scalar
def arctan_float64(x):
    t = fabs(x)
    far = t > 1.0
    u = -1.0 / t if far else t
    y = _beyond_float64(u) + (HALF_PI_REST8 if far else 0.0)
    return copysign((u + y) + HALF_PI8 if far else u + y, x)


@scalar
def _ratio(low, high, zero, infinity, one):
    """low / high of 0 <= low <= high, and what rounding it lost; 0 / 0 is 0 here, infinity / infinity 1."""
    u = low / (one if high == zero else high)
    rest = multiply_add(-u, high, low) / (one if high == zero else high)
    both = low == infinity
    return (one if both else u), (rest if fabs(rest) < infinity else zero)


@scalar
def arctan2_float32(y, x):
    """C's atan2: of the smaller over the larger, then turned into the octant."""
    width, height = fabs(x), fabs(y)
    steep, left = height > width, bits(x) < i4(0)
    u, rest = _ratio(width if steep else height, height if steep else width, f4(0), f4(np.inf), f4(1))
    minus = steep != left
    u, rest = -u if minus else u, -rest if minus else rest
    quarters = (f4(1) if steep else f4(0)) if steep or not left else f4(2)
    turn = (u + (_beyond_float32(u) + (rest + quarters * HALF_PI_REST4))) + quarters * HALF_PI4
    return x + y if x != x or y != y else copysign(turn, y)


@scalar
def arctan2_float64(y, x):
    width, height = fabs(x), fabs(y)
    steep, left = height > width, bits(x) < i8(0)
    u, rest = _ratio(width if steep else height, height if steep else width, 0.0, np.inf, 1.0)
    minus = steep != left
    u, rest = -u if minus else u, -rest if minus else rest
    quarters = (1.0 if steep else 0.0) if steep or not left else 2.0
    turn = (u + (_beyond_float64(u) + (rest + quarters * HALF_PI_REST8))) + quarters * HALF_PI8
    return x + y if x != x or y != y else copysign(turn, y)


@scalar
def _above_float32(z):
    """(arcsin s - s) / s, z = s**2 <= 1 / 4."""
    return ((((S4[0] * z + S4[1]) * z + S4[2]) * z + S4[3]) * z + S4[4]) * z


@scalar
def _above_float64(z):
    p = (((((S8[0] * z + S8[1]) * z + S8[2]) * z + S8[3]) * z + S8[4]) * z + S8[5]) * z + S8[6]
    return (((((p * z + S8[7]) * z + S8[8]) * z + S8[9]) * z + S8[10]) * z + S8[11]) * z


@scalar
def arcsin_float32(x):
    t = fabs(x)
    far = t > f4(0.5)
    z = f4(0.5) - f4(0.5) * t if far else t * t
    s = square_root(z) if far else t
    y = s * _above_float32(z)
    return copysign(HALF_PI4 - (f4(2) * s + (f4(2) * y - HALF_PI_REST4)) if far else s + y, x)


@scalar
def arcsin_float64(x):
    t = fabs(x)
    far = t > 0.5
    z = 0.5 - 0.5 * t if far else t * t
    s = square_root(z) if far else t
    y = s * _above_float64(z)
    return copysign(HALF_PI8 - (2.0 * s + (2.0 * y - HALF_PI_REST8)) if far else s + y, x)


@scalar
def arccos_float32(x):
    t = fabs(x)
    far = t > f4(0.5)
    z = f4(0.5) - f4(0.5) * t if far else t * t
    s = square_root(z) if far else x
    y = s * _above_float32(z)
    double = f4(2) * s + f4(2) * y
    behind = f4(2) * HALF_PI4 - (f4(2) * s + (f4(2) * y - f4(2) * HALF_PI_REST4))
    near = HALF_PI4 - (s + (y - HALF_PI_REST4))
    return (behind if x < f4(0) else double) if far else near


@scalar
def arccos_float64(x):
    t = fabs(x)
    far = t > 0.5
    z = 0.5 - 0.5 * t if far else t * t
    s = square_root(z) if far else x
    y = s * _above_float64(z)
    double = 2.0 * s + 2.0 * y
    behind = 2.0 * HALF_PI8 - (2.0 * s + (2.0 * y - 2.0 * HALF_PI_REST8))
    near = HALF_PI8 - (s + (y - HALF_PI_REST8))
    return (behind if x < 0.0 else double) if far else near
