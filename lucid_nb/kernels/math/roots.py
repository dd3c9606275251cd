"""The cube root and the length of a vector in the plane."""
import numpy as np

from ..intrinsics import bits, copysign, fabs, float32_from, float64_from, multiply_add, square_root
from .common import constants, exact, f4, i4, i8, scalar

# Minus a third of the bits of a number, plus this, are those of 1 / cbrt to 3.4 %; then, with a y**3 = 1 - e, a minimax
# polynomial for (1 - e)**(-1 / 3).
MAGIC4, MAGIC8 = f4(1419900529.0), 6.142603646958695e+18
E4 = constants(f4, "0.224106034 0.334698173 0.999996165")
E8 = constants(float, "0.174815265475 0.223738085741 0.33332643039 0.999998015791")


@scalar
def cbrt_float32(x):
    """a y**2, y = 1 / cbrt a, and a step with the residual. Small numbers are scaled, so that it does not underflow."""
    t = fabs(x)
    small = t < f4(2.0 ** -80)
    a = t * f4(2.0 ** 60) if small else t
    y = float32_from(i4(MAGIC4 - f4(bits(a)) * f4(1 / 3)))
    miss = f4(1) - (a * y) * (y * y)
    y = y * ((E4[0] * miss + E4[1]) * miss + E4[2])
    square = y * y
    root = a * square
    root = root + (a - (root * root) * root) * (f4(1 / 3) * square)
    root = root * f4(2.0 ** -20) if small else root
    return copysign(root, x) if t < f4(np.inf) else x


@exact
def _residual(a, root):
    """a - root**3, exact where the CPU has a fused multiply-add; elsewhere what it loses costs 1 ULP at most."""
    square = root * root
    return multiply_add(-square, root, a) - multiply_add(root, root, -square) * root


@scalar
def cbrt_float64(x):
    t = fabs(x)
    small = t < 2.0 ** -900
    a = t * 2.0 ** 300 if small else t
    y = float64_from(i8(MAGIC8 - float(bits(a)) * (1 / 3)))
    miss = 1.0 - (a * y) * (y * y)
    y = y * (((E8[0] * miss + E8[1]) * miss + E8[2]) * miss + E8[3])
    miss = 1.0 - (a * y) * (y * y)
    y = y + (y * miss) * (1 / 3)
    square = y * y
    root = a * square
    root = root + _residual(a, root) * (1 / 3 * square)
    root = root * 2.0 ** -100 if small else root
    return copysign(root, x) if t < np.inf else x


@scalar
def hypot_float32(x, y):
    """sqrt(x**2 + y**2), by a power of two where the squares would leave the range; infinite beside NaN too."""
    a, b = fabs(x), fabs(y)
    high = a if a > b else b
    large, small = high > f4(1e18), high < f4(1e-12)
    scale = f4(2.0 ** -70) if large else f4(2.0 ** 90) if small else f4(1)
    back = f4(2.0 ** 70) if large else f4(2.0 ** -90) if small else f4(1)
    u, v = a * scale, b * scale
    size = square_root(u * u + v * v) * back
    return f4(np.inf) if a == f4(np.inf) or b == f4(np.inf) else size


@scalar
def hypot_float64(x, y):
    a, b = fabs(x), fabs(y)
    high = a if a > b else b
    large, small = high > 1e150, high < 1e-120
    scale = 2.0 ** -600 if large else 2.0 ** 700 if small else 1.0
    back = 2.0 ** 600 if large else 2.0 ** -700 if small else 1.0
    u, v = a * scale, b * scale
    size = square_root(u * u + v * v) * back
    return np.inf if a == np.inf or b == np.inf else size
