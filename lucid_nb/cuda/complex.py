"""Complex functions as inline code over real ones: those of `cmath` that Numba writes in Python would need a driver
at compile time.

W. Kahan, Branch Cuts for Complex Elementary Functions (1987), gives tanh.
"""

import cmath
import math
from collections.abc import Callable

import numpy as np

from . import complex_inverse
from .runtime import SIMULATED, inline

CMATH = ("exp", "log", "sqrt")


def _absolute(cast: type) -> Callable:
    """|z| without overflow."""
    hypot = np.hypot if SIMULATED else math.hypot

    def absolute(z):
        return hypot(z.real, z.imag)
    return inline(absolute)


def _power(cast: type) -> Callable:
    """a ** b through exp and log; 0 ** b is 0, and a ** 0 is 1."""
    exp, log = cmath.exp, cmath.log

    def power(a, b):
        if b == cast(0):
            return cast(1)
        return cast(0) if a == cast(0) else cast(exp(b * log(a)))
    return inline(power)


def _sin(cast: type) -> Callable:
    """sin a cosh b + i cos a sinh b."""
    def sin(z):
        return cast(complex(math.sin(z.real) * math.cosh(z.imag), math.cos(z.real) * math.sinh(z.imag)))
    return inline(sin)


def _cos(cast: type) -> Callable:
    """cos a cosh b - i sin a sinh b."""
    def cos(z):
        return cast(complex(math.cos(z.real) * math.cosh(z.imag), -math.sin(z.real) * math.sinh(z.imag)))
    return inline(cos)


def _tanh(cast: type) -> Callable:
    """Kahan's form; beyond |a| = 20 the real part is 1 in double, and sinh would overflow later."""
    def tanh(z):
        if abs(z.real) > 20:
            tail = 4 * math.sin(z.imag) * math.cos(z.imag) * math.exp(-2 * abs(z.real))
            return cast(complex(math.copysign(1, z.real), tail))
        tangent, sine = math.tan(z.imag), math.sinh(z.real)
        slope = 1 + tangent * tangent
        scale = 1 + slope * sine * sine
        return cast(complex(slope * math.sqrt(1 + sine * sine) * sine / scale, tangent / scale))
    return inline(tanh)


def _divide(cast: type) -> Callable:
    """Smith's quotient; of a zero divisor both parts by |0|, where Python's own would raise."""
    def divide(z, w):
        is_wide = abs(w.real) >= abs(w.imag)
        high, low = (w.real, w.imag) if is_wide else (w.imag, w.real)
        if abs(w.real) + abs(w.imag) == 0:
            return cast(complex(z.real / abs(high), z.imag / abs(high)))
        ratio = low / high
        scale = high + low * ratio
        real = z.real + z.imag * ratio if is_wide else z.real * ratio + z.imag
        imag = z.imag - z.real * ratio if is_wide else z.imag * ratio - z.real
        return cast(complex(real / scale, imag / scale))
    return inline(divide)


def written(dtype: str) -> dict[str, Callable]:
    """The entries that are written out here, for a complex dtype."""
    cast, tanh = np.dtype(dtype).type, _tanh(np.dtype(dtype).type)
    return complex_inverse.written(cast, tanh) | dict(
        modulus=_absolute(cast), sin=_sin(cast), cos=_cos(cast), tanh=tanh, power=_power(cast), divide=_divide(cast))


def functions(dtype: str) -> dict[str, Callable]:
    """The entries of the vocabulary that are not printed inline, for a complex dtype."""
    if SIMULATED:
        return {name: getattr(np, name, function) for name, function in written(dtype).items()} | {
            name: getattr(np, name) for name in CMATH}
    return written(dtype) | {name: getattr(cmath, name) for name in CMATH}
