"""The vocabulary for complex numbers, from the real functions; complex64 goes through complex128.

Not vectorised: the sines take the path that holds for every argument. Special values are those of Annex G of the C
standard, as in NumPy, wherever both parts are determined there.
"""
import numpy as np

from ..intrinsics import copysign, fabs, square_root
from .circular import cos_any_float64, sin_any_float64
from .common import constants, exact, f4, f8, i8
from .exponential import exp_float64, expm1_float64
from .logarithm import log1p_float64, log_float64

ARCTAN8 = constants(float, "-0.017919918951866676 0.03807621072264286 -0.05039764343720739 0.05847991351055562 "
                           "-0.06663118036236486 0.07692061436915877 -0.09090897825583205 0.11111110785774896 "
                           "-0.14285714280241585 0.19999999999954016 -0.333333333333332")
QUARTER_PI, HALF_PI, PI = 0.7853981633974483, 1.5707963267948966, 3.141592653589793
HUGE, TINY, SCALE = 2.0 ** 500, 2.0 ** -500, 2.0 ** 600
c8 = np.complex64


@exact
def _arctan_unit(t):
    """arctan of 0 <= t <= 1."""
    big = t > 0.41421356237309503
    u = (t - 1.0) / (t + 1.0) if big else t
    z = u * u
    p = (((ARCTAN8[0] * z + ARCTAN8[1]) * z + ARCTAN8[2]) * z + ARCTAN8[3]) * z + ARCTAN8[4]
    p = ((((p * z + ARCTAN8[5]) * z + ARCTAN8[6]) * z + ARCTAN8[7]) * z + ARCTAN8[8]) * z + ARCTAN8[9]
    return (QUARTER_PI if big else 0.0) + (u * ((p * z + ARCTAN8[10]) * z) + u)


@exact
def _angle(y, x):
    """C's atan2."""
    width, height = fabs(x), fabs(y)
    low, high = (height, width) if height <= width else (width, height)
    t = low / high if high < np.inf else (1.0 if low == high else 0.0)
    turn = _arctan_unit(0.0 if high == 0.0 else t)
    turn = turn if height <= width else HALF_PI - turn
    turn = PI - turn if copysign(1.0, x) < 0.0 else turn
    return x + y if x != x or y != y else copysign(turn, y)


@exact
def _absolute(x, y):
    """sqrt(x**2 + y**2) without overflow; infinite when a part is, even beside NaN."""
    high = max(fabs(x), fabs(y))
    scale = 1.0 / SCALE if high > HUGE else SCALE if high < TINY else 1.0
    a, b = x * scale, y * scale
    size = square_root(a * a + b * b) / scale
    return np.inf if fabs(x) == np.inf or fabs(y) == np.inf else size


@exact
def _times(a, b):
    """a b, where an exact zero beats an infinity."""
    return a * (copysign(1.0, b) if a == 0.0 else b)


@exact
def _turned(size, angle, scale):
    """size scale (cos angle + i sin angle); scale comes last, for it may overflow alone."""
    if angle == 0.0:
        return complex(size * scale, angle)
    return complex(size * cos_any_float64(angle) * scale, size * sin_any_float64(angle) * scale)


@exact
def exp_complex128(z):
    x, y = z.real, z.imag
    if fabs(x) == np.inf and not fabs(y) < np.inf:
        return complex(x, np.nan) if x > 0.0 else complex(0.0, copysign(0.0, y))
    half = exp_float64(0.5 * x) if x > 700.0 else 1.0
    return _turned(half if x > 700.0 else exp_float64(x), y, half)


@exact
def log_complex128(z):
    """Near |z| = 1 from |z|**2 - 1, which does not cancel."""
    x, y = fabs(z.real), fabs(z.imag)
    high, low = (x, y) if x >= y else (y, x)
    size = _absolute(x, y)
    near = 0.5 < size < 1.5
    scaled = size if size < np.inf or high == np.inf else _absolute(0.25 * x, 0.25 * y)
    more = 0.0 if scaled == size else 1.3862943611198906
    log_size = log_float64(scaled) + more
    log_size = 0.5 * log1p_float64((high - 1.0) * (high + 1.0) + low * low) if near else log_size
    return complex(log_size, _angle(z.imag, z.real))


@exact
def sqrt_complex128(z):
    """Kahan's, in quarters where the sum would overflow and times 2**108 where it would be subnormal."""
    x, y = z.real, z.imag
    if fabs(y) == np.inf:
        return complex(np.inf, y)
    if x == -np.inf:
        return complex(np.nan if y != y else 0.0, copysign(np.inf, y))
    if x == np.inf:
        return complex(x, y if y != y else copysign(0.0, y))
    high = max(fabs(x), fabs(y))
    if x == 0.0 and y == 0.0:
        return complex(0.0, y)
    scale, back = (0.25, 2.0) if high > HUGE else (2.0 ** 108, 2.0 ** -54) if high < TINY else (1.0, 1.0)
    a, b = x * scale, y * scale
    part = square_root(0.5 * (fabs(a) + _absolute(a, b)))
    other = 0.5 * (b / part)
    return complex(part * back, other * back) if a >= 0.0 else complex(fabs(other) * back, copysign(part, b) * back)


@exact
def _hyperbolic(y):
    """cosh y and sinh y, divided by the third result, which is above 1 where they might overflow."""
    size = fabs(y)
    if size > 40.0:
        half = exp_float64(0.5 * size)
        return 0.5 * half, copysign(0.5 * half, y), half
    m = expm1_float64(size)
    return 1.0 + 0.5 * (m * (m / (m + 1.0))), copysign(0.5 * (m + m / (m + 1.0)), y), 1.0


@exact
def sin_complex128(z):
    x, y = z.real, z.imag
    if y == 0.0:
        return complex(sin_any_float64(x), y if not fabs(x) < np.inf else cos_any_float64(x) * y)
    if fabs(y) == np.inf and not fabs(x) < np.inf:
        return complex(np.nan, np.inf)
    cosh, sinh, scale = _hyperbolic(y)
    return complex(_times(_times(sin_any_float64(x), cosh), scale), cos_any_float64(x) * sinh * scale)


@exact
def cos_complex128(z):
    x, y = z.real, z.imag
    if y == 0.0:
        return complex(cos_any_float64(x), y if not fabs(x) < np.inf else -(sin_any_float64(x) * y))
    if fabs(y) == np.inf and not fabs(x) < np.inf:
        return complex(np.inf, np.nan)
    cosh, sinh, scale = _hyperbolic(y)
    return complex(cos_any_float64(x) * cosh * scale, -_times(_times(sin_any_float64(x), sinh), scale))


@exact
def tanh_complex128(z):
    """Kahan's formula over tan y and sinh x; beyond |x| = 22 the real part is 1."""
    x, y = z.real, z.imag
    if fabs(x) == np.inf and not fabs(y) < np.inf:
        return complex(copysign(1.0, x), copysign(0.0, y))
    sine, cosine = sin_any_float64(y), cos_any_float64(y)
    if fabs(x) > 22.0:
        decay = exp_float64(-fabs(x))
        return complex(copysign(1.0, x) + 0.0 * sine, 4.0 * sine * cosine * decay * decay)
    if x != x and y == 0.0:
        return complex(x, y)
    if x == 0.0 and not fabs(y) < np.inf:
        return complex(x, np.nan)
    _, sinh, _ = _hyperbolic(x)
    cosh = square_root(1.0 + sinh * sinh)
    below = cosine * cosine + sinh * sinh
    return complex(cosh * sinh / below, sine * cosine / below)


@exact
def _quotient(a, b, c, d, one):
    """(a + bi) / (c + di) after Smith, as NumPy's; a zero divisor divides both parts by |0|.

    Numba's own quotient raises for a zero divisor, which would leave the rest of a kernel's results unwritten.
    R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5 (1962).
    """
    is_wide = fabs(c) >= fabs(d)
    high, low = (c, d) if is_wide else (d, c)
    is_zero = fabs(c) + fabs(d) == one - one
    ratio = low / (one if is_zero else high)
    scale = one / (one if is_zero else high + low * ratio)
    real = a + b * ratio if is_wide else a * ratio + b
    imag = b - a * ratio if is_wide else b * ratio - a
    divisor = fabs(high) if is_zero else one
    return (a / divisor if is_zero else real * scale), (b / divisor if is_zero else imag * scale)


@exact
def divide_complex128(z, w):
    real, imag = _quotient(z.real, z.imag, w.real, w.imag, 1.0)
    return complex(real, imag)


@exact
def divide_complex64(z, w):
    real, imag = _quotient(z.real, z.imag, w.real, w.imag, f4(1))
    return c8(complex(real, imag))


@exact
def _direction(part, other):
    """A part of a factor as it counts in an infinite product: the sign of an infinity, and of NaN that of its zero."""
    size = 1.0 if fabs(part) == np.inf else 0.0
    return copysign(size, part) if fabs(part) == np.inf or fabs(other) == np.inf or part != part else part


@exact
def _product(z, w):
    """z w as C has it: infinite where a factor is, whatever NaN comes of the parts (C11, G.5.1)."""
    a, b, c, d = z.real, z.imag, w.real, w.imag
    real, imag = a * c - b * d, a * d + b * c
    is_infinite = fabs(a) == np.inf or fabs(b) == np.inf or fabs(c) == np.inf or fabs(d) == np.inf
    if is_infinite and real != real and imag != imag:
        a, b, c, d = _direction(a, b), _direction(b, a), _direction(c, d), _direction(d, c)
        real, imag = np.inf * (a * c - b * d), np.inf * (a * d + b * c)
    return complex(real, imag)


@exact
def power_complex128(z, w):
    """NumPy's rules: powers of zero, whole exponents below 100 by squaring (below 4 without 1 z), exp(w log z)."""
    if w.real == 0.0 and w.imag == 0.0:
        return complex(1.0, 0.0)
    if z.real == 0.0 and z.imag == 0.0:
        return complex(0.0, 0.0) if w.real > 0.0 else complex(np.nan, np.nan)
    if w.imag == 0.0 and fabs(w.real) < 100.0 and f8(i8(w.real)) == w.real:
        left = i8(fabs(w.real))
        result, factor, is_short = complex(1.0, 0.0), z, 0.0 < w.real < 4.0
        while left > i8(0):
            if left & i8(1):
                result, is_short = factor if is_short else result * factor, False
            left >>= i8(1)
            factor = factor * factor if left else factor
        return result if w.real > 0.0 else divide_complex128(complex(1.0, 0.0), result)
    return exp_complex128(_product(w, log_complex128(z)))


@exact
def modulus_complex128(z): return _absolute(z.real, z.imag)
@exact
def modulus_complex64(z): return np.float32(_absolute(f8(z.real), f8(z.imag)))
@exact
def exp_complex64(z): return c8(exp_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def log_complex64(z): return c8(log_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def sqrt_complex64(z): return c8(sqrt_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def sin_complex64(z): return c8(sin_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def cos_complex64(z): return c8(cos_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def tanh_complex64(z): return c8(tanh_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def power_complex64(z, w):
    return c8(power_complex128(complex(f8(z.real), f8(z.imag)), complex(f8(w.real), f8(w.imag))))
