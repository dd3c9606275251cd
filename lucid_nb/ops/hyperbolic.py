"""Hyperbolic functions and their inverses."""

from ..expr import Expr, Vocabulary, entry, m, product, quotient
from ..register import unary
from .transcendental import Single
from .trigonometric import turned, turned_back


@entry(cost=14, flops=6)
def sinh_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.cosh(x)),)
@entry(cost=14, flops=6)
def cosh_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.sinh(x)),)
@entry(cost=24, flops=4)
def arcsinh_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = 1 / sqrt(x**2 + 1), and 1 / |x| where the square may leave the range."""
    size = m.absolute(x)
    return (quotient(g, m.where(size > 1e9, size, m.sqrt(x * x + 1))),)

@entry(cost=24, flops=4)
def arccosh_(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(g, m.sqrt(x - 1) * m.sqrt(x + 1)),)
@entry(cost=24, flops=4)
def arctanh_(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(g, (1 - x) * (1 + x)),)


@unary(kind="float", complexes=True, oracle="numpy.sinh", samples=((-5, 5),), ulp=2)
def sinh(m: Vocabulary, x: Expr) -> Expr:
    """Hyperbolic sine."""
    return m.sinh(x)


@unary(kind="float", complexes=True, oracle="numpy.cosh", samples=((-5, 5),), ulp=2)
def cosh(m: Vocabulary, x: Expr) -> Expr:
    """Hyperbolic cosine."""
    return m.cosh(x)


@unary(kind="float", complexes=lambda m, z: m.complex_tanh(z), oracle="numpy.tanh", samples=((-5, 5),), ulp=2)
def tanh(m: Vocabulary, x: Expr) -> Expr:
    """Hyperbolic tangent."""
    return m.tanh(x)


@unary(kind="float", complexes=lambda m, z: turned_back(m.arcsin(turned(z))), oracle="numpy.arcsinh",
       samples=((-3, 3),), ulp=2, names=("asinh",))
def arcsinh(m: Vocabulary, x: Expr) -> Expr:
    """Number whose hyperbolic sine is x."""
    return m.arcsinh(x)


@unary(kind="float", complexes=True, oracle="numpy.arccosh", samples=((1.2, 9),), ulp=2, names=("acosh",))
def arccosh(m: Vocabulary, x: Expr) -> Expr:
    """Number that is not negative whose hyperbolic cosine is x; NaN below 1, where its derivative is infinite."""
    return m.arccosh(x)


@unary(kind="float", complexes=True, oracle="numpy.arctanh", samples=((-0.9, 0.9),), ulp=2, names=("atanh",))
def arctanh(m: Vocabulary, x: Expr) -> Expr:
    """Number whose hyperbolic tangent is x; infinite at -1 and 1, NaN beyond."""
    return m.arctanh(x)
