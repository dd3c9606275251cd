"""The cube root and the length of a vector in the plane."""
import numpy as np

from ..intrinsics import bits, copysign, fabs, float32_from, float64_from, multiply_add, square_root
from .common import constants, exact, f4, i4, i8, scalar

# Minus a third of the bits of a number, plus this, are those of 1 / cbrt to 3.4 %; then, with a y**3 = 1 - e, a minimax
# polynomial for (1 - e)**(-1 / 3).
MAGIC4, MAGIC8 = f4(1419900529.0), 6.142603646958695e+18
WORDS = "0.174815265475 0.223738085741 0.33332643039 0.999998015791"
E4, E8 = constants(f4, WORDS), constants(float, WORDS)


@exact
def _root(a, y, third):
    """cbrt a from y, 1 / cbrt a to half the digits: a y**2, then a step with the residual, which is exact.

    Where the CPU has no fused multiply-add the residual is lost in part, and with it 1 ULP at most.
    """
    square = y * y
    root = a * square
    power = root * root
    rest = multiply_add(-power, root, a) - multiply_add(root, root, -power) * root
    return root + rest * (third * square)


@scalar
def cbrt_float32(x):
    """What is small is scaled by 2**60, so that no residual underflows."""
    t = fabs(x)
    small = t < f4(2.0 ** -80)
    a = t * f4(2.0 ** 60) if small else t
    y = float32_from(i4(MAGIC4 - f4(bits(a)) * f4(1 / 3)))
    miss = f4(1) - (a * y) * (y * y)
    y = y * (((E4[0] * miss + E4[1]) * miss + E4[2]) * miss + E4[3])
    root = _root(a, y, f4(1 / 3))
    root = root * f4(2.0 ** -20) if small else root
    return x if t == f4(0) or not t < f4(np.inf) else copysign(root, x)


@scalar
def cbrt_float64(x):
    t = fabs(x)
    small = t < 2.0 ** -900
    a = t * 2.0 ** 300 if small else t
    y = float64_from(i8(MAGIC8 - float(bits(a)) * (1 / 3)))
    miss = 1.0 - (a * y) * (y * y)
    y = y * (((E8[0] * miss + E8[1]) * miss + E8[2]) * miss + E8[3])
    miss = 1.0 - (a * y) * (y * y)
    root = _root(a, y + (y * miss) * (1 / 3), 1 / 3)
    root = root * 2.0 ** -100 if small else root
    return x if t == 0.0 or not t < np.inf else copysign(root, x)


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
