"""The vocabulary for complex numbers, continued: tan, sinh, cosh, and all the inverse functions.

W. Kahan, Branch Cuts for Complex Elementary Functions (1987), by the roots of 1 - z and 1 + z, which keep the side of
the cut; far away by the logarithm of 2 z, which holds at infinity as well. Special values: Annex G of the C standard.
"""
import numpy as np

from ..intrinsics import copysign, fabs
from .common import exact, f8
from .complex import c8, cos_complex128, log_complex128, sin_complex128, sqrt_complex128, tanh_complex128
from .hyperbolic import arcsinh_float64
from .inverse_circular import arctan2_float64
from .logarithm import log1p_float64, log_float64

LN2, HALF_PI, FAR, NEAR = 0.6931471805599453, 1.5707963267948966, 2.0 ** 60, 2.0 ** -500


@exact
def sinh_complex128(z):
    w = sin_complex128(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@exact
def cosh_complex128(z): return cos_complex128(complex(-z.imag, z.real))


@exact
def tan_complex128(z):
    w = tanh_complex128(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@exact
def _is_far(z):
    """Is the logarithm of 2 z the answer? An infinity beside NaN is, NaN beside a number is not."""
    return fabs(z.real) > FAR or fabs(z.imag) > FAR


@exact
def arcsin_complex128(z):
    x, y = z.real, z.imag
    if _is_far(z):
        w = log_complex128(complex(fabs(y), fabs(x)))
        return complex(copysign(w.imag, x), copysign(w.real + LN2, y))
    if y != y:
        return complex(x if x == 0.0 else y, y)
    below, above = sqrt_complex128(complex(1.0 - x, -y)), sqrt_complex128(complex(1.0 + x, y))
    real = arctan2_float64(x, fabs(below.real * above.real - below.imag * above.imag))
    return complex(real, copysign(arcsinh_float64(below.real * above.imag - below.imag * above.real), y))


@exact
def arccos_complex128(z):
    x, y = z.real, z.imag
    if _is_far(z):
        w = log_complex128(complex(x, fabs(y)))
        return complex(w.imag, -copysign(w.real + LN2, y))
    if y != y:
        return complex(HALF_PI if x == 0.0 else y, y)
    below, above = sqrt_complex128(complex(1.0 - x, -y)), sqrt_complex128(complex(1.0 + x, y))
    imag = arcsinh_float64(above.real * below.imag - above.imag * below.real)
    return complex(2.0 * arctan2_float64(below.real, above.real), imag)


@exact
def arccosh_complex128(z):
    """i arccos z, on the side where the real part is not negative."""
    w = arccos_complex128(z)
    return complex(fabs(w.imag), copysign(w.real, z.imag))


@exact
def arcsinh_complex128(z):
    w = arcsin_complex128(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@exact
def arctanh_complex128(z):
    """log((1 + z) / (1 - z)) / 2; at the poles the real part is -log(|y| / 2) / 2."""
    x, y = fabs(z.real), z.imag
    if _is_far(z):
        size = max(x, fabs(y))
        if (x != x and fabs(y) < np.inf) or (y != y and x < np.inf):
            return complex(np.nan, np.nan)
        u, v = x / size, y / size
        real = (u / (u * u + v * v)) / size if size < np.inf else 0.0
        return complex(copysign(real, z.real), y if y != y else copysign(HALF_PI, y))
    if x == 1.0 and fabs(y) < NEAR:
        real = 0.5 * (LN2 - log_float64(fabs(y)))
    else:
        real = 0.25 * log1p_float64(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y))
    imag = 0.5 * arctan2_float64(2.0 * y, (1.0 - x) * (1.0 + x) - y * y)
    return complex(copysign(0.0 if x == 0.0 else real, z.real), imag)


@exact
def arctan_complex128(z):
    w = arctanh_complex128(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@exact
def sinh_complex64(z): return c8(sinh_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def cosh_complex64(z): return c8(cosh_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def tan_complex64(z): return c8(tan_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def arcsin_complex64(z): return c8(arcsin_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def arccos_complex64(z): return c8(arccos_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def arctan_complex64(z): return c8(arctan_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def arcsinh_complex64(z): return c8(arcsinh_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def arccosh_complex64(z): return c8(arccosh_complex128(complex(f8(z.real), f8(z.imag))))
@exact
def arctanh_complex64(z): return c8(arctanh_complex128(complex(f8(z.real), f8(z.imag))))
