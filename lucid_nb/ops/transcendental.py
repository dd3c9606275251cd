"""Exponentials, logarithms, roots, and the error function."""

import math

from ..expr import Expr, Operand, Vocabulary, entry, m, product, quotient
from ..register import binary, unary

Single = tuple[Expr | None]
Pair = tuple[Expr | None, Expr | None]
LOG_TWO, LOG_TEN = math.log(2), math.log(10)


@entry(cost=10, flops=10)
def exp2_(g: Expr, y: Expr, x: Expr) -> Single: return (product(LOG_TWO * g, y),)
@entry(cost=14, flops=7)
def log2_(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(1 / LOG_TWO * g, x),)
@entry(cost=14, flops=7)
def log10_(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(1 / LOG_TEN * g, x),)


@unary(kind="float", complexes=True, oracle="numpy.exp", samples=((-5, 5),), ulp=2)
def exp(m: Vocabulary, x: Expr) -> Expr:
    """e to the power x."""
    return m.exp(x)


@unary(kind="float", complexes=True, oracle="numpy.exp2", samples=((-5, 5),), ulp=2)
def exp2(m: Vocabulary, x: Expr) -> Expr:
    """2 to the power x, exact for whole x."""
    return m.exp2(x)


@unary(kind="float", complexes=True, oracle="numpy.expm1", samples=((-3, 5),), ulp=2)
def expm1(m: Vocabulary, x: Expr) -> Expr:
    """exp(x) - 1, exact for small x."""
    return m.expm1(x)


@unary(kind="float", complexes=True, oracle="numpy.log", samples=((0.1, 9),), ulp=2)
def log(m: Vocabulary, x: Expr) -> Expr:
    """Natural logarithm; -inf at 0, NaN below."""
    return m.log(x)


@unary(kind="float", complexes=True, oracle="numpy.log2", samples=((0.1, 9),), ulp=2)
def log2(m: Vocabulary, x: Expr) -> Expr:
    """Logarithm to the base 2, exact for powers of 2; -inf at 0, NaN below."""
    return m.log2(x)


@unary(kind="float", complexes=True, oracle="numpy.log10", samples=((0.1, 9),), ulp=2)
def log10(m: Vocabulary, x: Expr) -> Expr:
    """Logarithm to the base 10; -inf at 0, NaN below."""
    return m.log10(x)


@unary(kind="float", complexes=True, oracle="numpy.log1p", samples=((-0.9, 9),), ulp=2)
def log1p(m: Vocabulary, x: Expr) -> Expr:
    """Natural logarithm of one plus x, exact for small x."""
    return m.log1p(x)


# ---------------------------------------------------------------------------------------- sums of exponentials
def _share(a: Expr, b: Expr, scale: float) -> Expr:
    """exp(scale a) / (exp(scale a) + exp(scale b)), the slope of logaddexp; equal infinities share evenly."""
    share = m.sigmoid(a - b if scale == 1 else scale * (a - b))
    return m.where(m.absolute(a) == math.inf, m.where(a == b, 0.5, share), share)


def _logaddexp(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """What is added to the larger has its own relative accuracy; equal infinities have no distance."""
    far = m.maximum(a, b) + m.log1p(m.exp(-m.absolute(a - b)))
    return m.where(a == b, a + LOG_TWO, far)


def _logaddexp2(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    far = m.maximum(a, b) + 1 / LOG_TWO * m.log1p(m.exp(-LOG_TWO * m.absolute(a - b)))
    return m.where(a == b, a + 1, far)


@entry(expansion=_logaddexp, cost=30)
def logaddexp_(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    return product(g, _share(a, b, 1)), product(g, _share(b, a, 1))


@entry(expansion=_logaddexp2, cost=30)
def logaddexp2_(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    return product(g, _share(a, b, LOG_TWO)), product(g, _share(b, a, LOG_TWO))


def _complex_logaddexp(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """By that of the larger real part; of two equal infinite ones, the first."""
    is_first = m.real(a) >= m.real(b)
    high, low = m.where(is_first, a, b), m.where(is_first, b, a)
    has_no_distance = m.bitwise_and(m.isinf(m.real(a)), m.real(a) == m.real(b))
    return m.where(has_no_distance, a, high + m.log1p(m.exp(m.where(has_no_distance, 0, low - high))))


@binary(kind="float", oracle="numpy.logaddexp", samples=((0, 3), (0, 3)), ulp=2, complexes=_complex_logaddexp)
def logaddexp(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """log(exp(x) + exp(y)) without overflow."""
    return m.logaddexp(x, y)


@binary(kind="float", oracle="numpy.logaddexp2", samples=((0, 3), (0, 3)), ulp=2)
def logaddexp2(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """log2(2**x + 2**y) without overflow."""
    return m.logaddexp2(x, y)


# -------------------------------------------------------------------------------------------------------- roots
def _cbrt(m: Vocabulary, x: Expr) -> Expr:
    """By its logarithm, then a Newton step."""
    a = m.absolute(x)
    y = m.exp(m.log(a) / 3)
    refined = y - (y - a / (y * y)) / 3
    return m.where(a == 0, x, m.where(a == math.inf, x, m.sign(x) * refined))


@entry(expansion=_cbrt, cost=20)
def cbrt_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = 1 / (3 y**2)."""
    return (quotient(g, 3 * (y * y)),)


def _hypot(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    """By the quotient of the smaller by the larger: no square leaves the range. Infinite beside NaN, too."""
    high, low = m.maximum(m.absolute(a), m.absolute(b)), m.minimum(m.absolute(a), m.absolute(b))
    ratio = low / m.where(high == 0, 1, high)
    size = high * m.sqrt(1 + ratio * ratio)
    return m.where(m.absolute(a) == math.inf, math.inf, m.where(m.absolute(b) == math.inf, math.inf, size))


def unit(part: Operand, size: Expr) -> Expr:
    """A coordinate over the length of its vector; 0 at the origin, with all derivatives."""
    return m.where(size == 0, 0, m.absorbing_quotient(part, size))


@entry(expansion=_hypot, cost=10)
def hypot_(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    return product(g, unit(a, y)), product(g, unit(b, y))


@unary(kind="float", oracle="numpy.cbrt", samples=((0.2, 9),), ulp=2)
def cbrt(m: Vocabulary, x: Expr) -> Expr:
    """Cube root, negative for negative x."""
    return m.cbrt(x)


@unary(kind="float", complexes=True, oracle="1 / numpy.sqrt(x)", samples=((0.1, 9),), ulp=2)
def rsqrt(m: Vocabulary, x: Expr) -> Expr:
    """One over the square root; inf at 0, NaN below."""
    return 1 / m.sqrt(x)


@binary(kind="float", oracle="numpy.hypot", samples=((0.5, 3), (-3, -0.5)), ulp=2)
def hypot(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """sqrt(x**2 + y**2) without overflow. Its gradient at the origin is 0."""
    return m.hypot(x, y)


@unary(kind="float", oracle="scipy.special.erf", samples=((-3, 3),), ulp=2)
def erf(m: Vocabulary, x: Expr) -> Expr:
    """Error function, the integral of 2 exp(-t**2) / sqrt(pi) from 0 to x."""
    return m.erf(x)
