"""Exponentials, logarithms, circular and hyperbolic functions, and the error function."""

from ..expr import Expr, Vocabulary, entry, quotient
from ..register import unary


@unary(kind="float", complexes=True, oracle="numpy.exp", samples=((-5, 5),), ulp=2)
def exp(m: Vocabulary, x: Expr) -> Expr:
    """e to the power x."""
    return m.exp(x)


@unary(kind="float", oracle="numpy.expm1", samples=((-3, 5),), ulp=2)
def expm1(m: Vocabulary, x: Expr) -> Expr:
    """exp(x) - 1, exact for small x."""
    return m.expm1(x)


@unary(kind="float", complexes=True, oracle="numpy.log", samples=((0.1, 9),), ulp=2)
def log(m: Vocabulary, x: Expr) -> Expr:
    """Natural logarithm; -inf at 0, NaN below."""
    return m.log(x)


@unary(kind="float", oracle="numpy.log1p", samples=((-0.9, 9),), ulp=2)
def log1p(m: Vocabulary, x: Expr) -> Expr:
    """Natural logarithm of one plus x, exact for small x."""
    return m.log1p(x)


@unary(kind="float", complexes=True, oracle="numpy.sin", samples=((-9, 9),), ulp=2)
def sin(m: Vocabulary, x: Expr) -> Expr:
    """Sine of x in radians, right to the last places for every finite x."""
    return m.sin(x)


@unary(kind="float", complexes=True, oracle="numpy.cos", samples=((-9, 9),), ulp=2)
def cos(m: Vocabulary, x: Expr) -> Expr:
    """Cosine of x in radians, right to the last places for every finite x."""
    return m.cos(x)


@unary(kind="float", oracle="numpy.tanh", samples=((-5, 5),), ulp=2)
def tanh(m: Vocabulary, x: Expr) -> Expr:
    """Hyperbolic tangent."""
    return m.tanh(x)


@unary(kind="float", oracle="scipy.special.erf", samples=((-3, 3),), ulp=2)
def erf(m: Vocabulary, x: Expr) -> Expr:
    """Error function, the integral of 2 exp(-t**2) / sqrt(pi) from 0 to x."""
    return m.erf(x)


def _cbrt(m: Vocabulary, x: Expr) -> Expr:
    """By its logarithm, then a Newton step; where no device function is native, as here, every device computes this."""
    a = m.absolute(x)
    y = m.exp(m.log(a) / 3)
    refined = y - (y - a / (y * y)) / 3
    return m.where(a == 0, x, m.where(a == float("inf"), x, m.sign(x) * refined))


@entry(expansion=_cbrt, cost=30)
def cbrt_(g: Expr, y: Expr, x: Expr) -> tuple[Expr | None]:
    """d = 1 / (3 y**2)."""
    return (quotient(g, 3 * (y * y)),)


@unary(kind="float", oracle="numpy.cbrt", samples=((0.2, 9),), ulp=2)
def cbrt(m: Vocabulary, x: Expr) -> Expr:
    """Cube root, negative for negative x."""
    return m.cbrt(x)
