"""The vocabulary for complex numbers, continued: exponentials and logarithms of other bases, expm1 and log1p."""
import numpy as np

from ..intrinsics import fabs, multiply_add
from .circular import cos_any_float64, sin_any_float64
from .common import LOG2E, exact, f8
from .complex import c8, exp_complex128, log_complex128
from .exponential import exp2_float64, exp_float64, expm1_float64
from .inverse_circular import arctan2_float64
from .logarithm import log1p_float64

LN2, LN2_REST, LOG10E = 0.6931471805599453, 2.3190468138462996e-17, 0.4342944819032518


@exact
def exp2_complex128(z):
    """2**x turned by y ln 2, a sum of two; at the ends as exp, which knows the special values."""
    x, y = z.real, z.imag
    if not (fabs(x) < 1020.0 and 0.0 < fabs(y) < np.inf):
        return exp_complex128(complex(x * LN2, y * LN2))
    turn = y * LN2
    rest = multiply_add(y, LN2, -turn) + y * LN2_REST
    size, cosine, sine = exp2_float64(x), cos_any_float64(turn), sin_any_float64(turn)
    more_cosine, more_sine = cos_any_float64(rest), sin_any_float64(rest)         # the rest of 1e300 is whole turns
    return complex(size * (cosine * more_cosine - sine * more_sine), size * (sine * more_cosine + cosine * more_sine))


@exact
def expm1_complex128(z):
    """expm1(x) cos y - 2 sin(y / 2)**2, which cancels nowhere near 0; special values are the array API standard's."""
    x, y = z.real, z.imag
    if x >= 700.0 or x == -np.inf:
        power = exp_complex128(z)
        return complex(power.real - 1.0, power.imag)
    if y == 0.0:
        return complex(expm1_float64(x), y)
    half = sin_any_float64(0.5 * y)
    return complex(expm1_float64(x) * cos_any_float64(y) - 2.0 * half * half, exp_float64(x) * sin_any_float64(y))


@exact
def log2_complex128(z):
    w = log_complex128(z)
    return complex(w.real * LOG2E, w.imag * LOG2E)


@exact
def log10_complex128(z):
    w = log_complex128(z)
    return complex(w.real * LOG10E, w.imag * LOG10E)


@exact
def log1p_complex128(z):
    x, y = z.real, z.imag
    if fabs(x) < 0.5 and fabs(y) < 0.5:
        return complex(0.5 * log1p_float64(x * (2.0 + x) + y * y), arctan2_float64(y, 1.0 + x))
    return log_complex128(complex(1.0 + x, y))


@exact
def exp2_complex64(z): return c8(exp2_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def expm1_complex64(z): return c8(expm1_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def log2_complex64(z): return c8(log2_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def log10_complex64(z): return c8(log10_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def log1p_complex64(z): return c8(log1p_complex128(complex(f8(z.real), f8(z.imag))))
