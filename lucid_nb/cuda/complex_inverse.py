"""Complex functions, continued: other bases, tan, sinh, cosh and all the inverses, as inline code over real ones.

W. Kahan, Branch Cuts for Complex Elementary Functions (1987): by the roots of 1 - z and 1 + z, which keep the side of
the cut; far away by the logarithm of 2 z.
"""

import cmath
import math
from collections.abc import Callable

from .runtime import inline

LN2, HALF_PI, FAR, NEAR = math.log(2), math.pi / 2, 1e18, 1e-15


def _scaled(cast: type) -> dict[str, Callable]:
    """exp2, log2, log10."""
    exp, log = cmath.exp, cmath.log

    def exp2(z):
        return cast(exp(cast(z * LN2)))

    def log2(z):
        w = log(z)
        return cast(complex(w.real / LN2, w.imag / LN2))

    def log10(z):
        w = log(z)
        return cast(complex(w.real / 2.302585092994046, w.imag / 2.302585092994046))
    return dict(exp2=inline(exp2), log2=inline(log2), log10=inline(log10))


def _near_one(cast: type) -> dict[str, Callable]:
    """expm1, log1p."""
    log = cmath.log

    def expm1(z):
        half = math.sin(0.5 * z.imag)
        return cast(complex(math.expm1(z.real) * math.cos(z.imag) - 2 * half * half,
                            math.exp(z.real) * math.sin(z.imag)))

    def log1p(z):
        if abs(z.real) < 0.5 and abs(z.imag) < 0.5:
            return cast(complex(0.5 * math.log1p(z.real * (2 + z.real) + z.imag * z.imag),
                                math.atan2(z.imag, 1 + z.real)))
        return cast(log(cast(complex(1 + z.real, z.imag))))
    return dict(expm1=inline(expm1), log1p=inline(log1p))


def _hyperbolic(cast: type, tanh: Callable) -> dict[str, Callable]:
    """sinh, cosh, tan."""
    def sinh(z):
        return cast(complex(math.sinh(z.real) * math.cos(z.imag), math.cosh(z.real) * math.sin(z.imag)))

    def cosh(z):
        return cast(complex(math.cosh(z.real) * math.cos(z.imag), math.sinh(z.real) * math.sin(z.imag)))

    def tan(z):
        w = tanh(cast(complex(-z.imag, z.real)))
        return cast(complex(w.imag, -w.real))
    return dict(sinh=inline(sinh), cosh=inline(cosh), tan=inline(tan))


def _arcsin(cast: type) -> Callable:
    log, sqrt = cmath.log, cmath.sqrt

    def arcsin(z):
        x, y = z.real, z.imag
        if abs(x) > FAR or abs(y) > FAR:
            w = log(cast(complex(abs(y), abs(x))))
            return cast(complex(math.copysign(w.imag, x), math.copysign(w.real + LN2, y)))
        below, above = sqrt(cast(complex(1 - x, -y))), sqrt(cast(complex(1 + x, y)))
        real = math.atan2(x, abs(below.real * above.real - below.imag * above.imag))
        return cast(complex(real, math.copysign(math.asinh(below.real * above.imag - below.imag * above.real), y)))
    return inline(arcsin)


def _arccos(cast: type) -> Callable:
    log, sqrt = cmath.log, cmath.sqrt

    def arccos(z):
        x, y = z.real, z.imag
        if abs(x) > FAR or abs(y) > FAR:
            w = log(cast(complex(x, abs(y))))
            return cast(complex(w.imag, -math.copysign(w.real + LN2, y)))
        below, above = sqrt(cast(complex(1 - x, -y))), sqrt(cast(complex(1 + x, y)))
        imag = math.asinh(above.real * below.imag - above.imag * below.real)
        return cast(complex(2 * math.atan2(below.real, above.real), imag))
    return inline(arccos)


def _arctanh(cast: type) -> Callable:
    def arctanh(z):
        x, y = abs(z.real), z.imag
        if x > FAR or abs(y) > FAR:
            size = max(x, abs(y))
            u, v = x / size, y / size
            real = (u / (u * u + v * v)) / size if size < math.inf else 0.0
            return cast(complex(math.copysign(real, z.real), y if y != y else math.copysign(HALF_PI, y)))
        if x == 1 and abs(y) < NEAR:
            real = 0.5 * (LN2 - math.log(abs(y))) if y != 0 else math.inf
        else:
            real = 0.25 * math.log1p(4 * x / ((1 - x) * (1 - x) + y * y))
        imag = 0.5 * math.atan2(2 * y, (1 - x) * (1 + x) - y * y)
        return cast(complex(math.copysign(real, z.real), imag))
    return inline(arctanh)


def _inverses(cast: type) -> dict[str, Callable]:
    """All inverses, from three of them."""
    arcsin, arccos, arctanh = _arcsin(cast), _arccos(cast), _arctanh(cast)

    def arcsinh(z):
        w = arcsin(cast(complex(-z.imag, z.real)))
        return cast(complex(w.imag, -w.real))

    def arccosh(z):
        w = arccos(z)
        return cast(complex(abs(w.imag), math.copysign(w.real, z.imag)))

    def arctan(z):
        w = arctanh(cast(complex(-z.imag, z.real)))
        return cast(complex(w.imag, -w.real))
    return dict(arcsin=arcsin, arccos=arccos, arctanh=arctanh, arcsinh=inline(arcsinh), arccosh=inline(arccosh),
                arctan=inline(arctan))


def written(cast: type, tanh: Callable) -> dict[str, Callable]:
    """The entries that are written out here, for a complex scalar type and its tanh."""
    return _scaled(cast) | _near_one(cast) | _hyperbolic(cast, tanh) | _inverses(cast)
