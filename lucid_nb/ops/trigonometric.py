"""Circular functions and their inverses."""

import math

from ..expr import Expr, Vocabulary, entry, m, product, quotient
from ..register import binary, unary
from .transcendental import Pair, Single, unit


@entry(cost=20, flops=8)
def tan_(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, 1 + y * y),)
@entry(cost=20, flops=4)
def arcsin_(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(g, m.sqrt(1 - x) * m.sqrt(1 + x)),)
@entry(cost=20, flops=4)
def arccos_(g: Expr, y: Expr, x: Expr) -> Single: return (-quotient(g, m.sqrt(1 - x) * m.sqrt(1 + x)),)
@entry(cost=24, flops=3)
def arctan_(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(g, 1 + x * x),)


@entry(cost=30, flops=4)
def arctan2_(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    """x / (x**2 + y**2) and -y / (x**2 + y**2), as quotients of the length, whose square may leave the range."""
    size = m.hypot(a, b)
    return product(g, unit(unit(b, size), size)), product(g, -unit(unit(a, size), size))


def turned(z: Expr) -> Expr:
    """i z."""
    return m.complex(-m.imag(z), m.real(z))


def turned_back(z: Expr) -> Expr:
    """-i z."""
    return m.complex(m.imag(z), -m.real(z))


def _complex_tanh_slope(m: Vocabulary, z: Expr) -> Expr:
    """4 e / (1 + e)**2, e = exp(-2 z) on the right and exp(2 z) on the left: 1 - tanh(z)**2 without cancellation."""
    e = m.exp(m.where(m.real(z) < 0, 2 * z, -2 * z))
    return 4 * e / ((1 + e) * (1 + e))


@entry(expansion=lambda m, z: turned_back(m.tan(turned(z))), cost=24)
def complex_tanh(g: Expr, y: Expr, z: Expr) -> Single: return (product(g, m.complex_tanh_slope(z)),)
@entry(expansion=lambda m, z: m.tan(z), cost=20)
def complex_tan(g: Expr, y: Expr, z: Expr) -> Single: return (product(g, m.complex_tanh_slope(turned(z))),)
@entry(expansion=_complex_tanh_slope, cost=30)
def complex_tanh_slope(g: Expr, y: Expr, z: Expr) -> Single: return (product(g, -2 * (m.complex_tanh(z) * y)),)


@unary(kind="float", complexes=True, oracle="numpy.sin", samples=((-9, 9),), ulp=2)
def sin(m: Vocabulary, x: Expr) -> Expr:
    """Sine of x in radians, right to the last places for every finite x."""
    return m.sin(x)


@unary(kind="float", complexes=True, oracle="numpy.cos", samples=((-9, 9),), ulp=2)
def cos(m: Vocabulary, x: Expr) -> Expr:
    """Cosine of x in radians, right to the last places for every finite x."""
    return m.cos(x)


@unary(kind="float", complexes=lambda m, z: m.complex_tan(z), oracle="numpy.tan", samples=((-1.2, 1.2),), ulp=2)
def tan(m: Vocabulary, x: Expr) -> Expr:
    """Tangent of x in radians, right to the last places for every finite x."""
    return m.tan(x)


@unary(kind="float", complexes=True, oracle="numpy.arcsin", samples=((-0.9, 0.9),), ulp=2, names=("asin",))
def arcsin(m: Vocabulary, x: Expr) -> Expr:
    """Angle in [-pi/2, pi/2] whose sine is x; NaN outside [-1, 1]. Its derivative at the ends is infinite."""
    return m.arcsin(x)


@unary(kind="float", complexes=True, oracle="numpy.arccos", samples=((-0.9, 0.9),), ulp=2, names=("acos",))
def arccos(m: Vocabulary, x: Expr) -> Expr:
    """Angle in [0, pi] whose cosine is x; NaN outside [-1, 1]. Its derivative at the ends is infinite."""
    return m.arccos(x)


@unary(kind="float", complexes=True, oracle="numpy.arctan", samples=((-3, 3),), ulp=2, names=("atan",))
def arctan(m: Vocabulary, x: Expr) -> Expr:
    """Angle in [-pi/2, pi/2] whose tangent is x."""
    return m.arctan(x)


@binary(kind="float", oracle="numpy.arctan2", samples=((-3, 3), (0.5, 3)), ulp=2, names=("atan2",))
def arctan2(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Angle in [-pi, pi] of the point with ordinate x and abscissa y. Its gradient at the origin is 0."""
    return m.arctan2(x, y)


@unary(kind="float", oracle="numpy.degrees", names=("rad2deg",), samples=((-9, 9),))
def degrees(m: Vocabulary, x: Expr) -> Expr:
    """An angle in radians, in degrees."""
    return m.divide(180.0, math.pi) * x


@unary(kind="float", oracle="numpy.radians", names=("deg2rad",), samples=((-200, 200),))
def radians(m: Vocabulary, x: Expr) -> Expr:
    """An angle in degrees, in radians."""
    return m.divide(math.pi, 180.0) * x
