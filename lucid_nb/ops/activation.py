"""Smooth activations of neural networks, each with its relative accuracy kept in both tails."""

import math
from typing import Any

from ..array import Tensor
from ..errors import ConfigError, is_one_of, told
from ..expr import Expr, Vocabulary, entry, product
from ..expr import m as words
from ..register import binary, public, ternary, unary
from . import trigonometric  # noqa: F401  for its vocabulary
from .polynomial import polynomial

Single = tuple[Expr | None]
GELU_FORMS = ("none", "tanh")
# Chebyshev fit of (x - tanh(x)) / x**3 in x**2 on [0, 1], made with 60 digits.
TANHSHRINK = (
    -2.5155023659382105e-08, 2.6330772232959337e-07, -1.3791814499083342e-06, 4.987760317520347e-06,
    -1.4606131676715378e-05, 3.8389607893147334e-05, -9.646277743313181e-05, 0.00023895705228738225,
    -0.0005899792946300052, 0.0014558246920964941, -0.003592126679366341, 0.008863235404578283, -0.02186948852912909,
    0.05396825396804637, -0.1333333333333309, 0.3333333333333333)


def _complex_sigmoid(m: Vocabulary, z: Expr) -> Expr:
    """By the exponential that is at most 1 in size."""
    is_right = m.real(z) >= 0
    power = m.exp(m.where(is_right, -z, z))
    return m.where(is_right, 1, power) / (1 + power)


@unary(kind="float", oracle="scipy.special.expit", samples=((-9, 9),), ulp=2, names=("expit",),
       complexes=_complex_sigmoid)
def sigmoid(m: Vocabulary, x: Expr) -> Expr:
    """1 / (1 + exp(-x)), right down to the smallest subnormal."""
    return m.sigmoid(x)


@unary(kind="float", oracle="-numpy.logaddexp(0, -x)", samples=((-9, 9),), ulp=2)
def logsigmoid(m: Vocabulary, x: Expr) -> Expr:
    """Logarithm of 1 / (1 + exp(-x)), without overflow."""
    return m.logsigmoid(x)


@unary(kind="float", oracle="numpy.logaddexp(0, x)", samples=((-9, 9),), ulp=2)
def softplus(m: Vocabulary, x: Expr) -> Expr:
    """log(1 + exp(x)) without overflow."""
    return m.softplus(x)


@ternary(kind="float", published=False)
def softplus_below(m: Vocabulary, x: Expr, beta: Expr, threshold: Expr) -> Expr:
    """log(1 + exp(beta x)) / beta, and x itself where beta x is above a threshold."""
    return m.where(beta * x > threshold, x, m.softplus(beta * x) / beta)


# --------------------------------------------------------------------------------------- x times a gate
def _silu(m: Vocabulary, x: Expr) -> Expr:
    """By exp(-|x| / 2) twice: exp(-|x|) is subnormal where its product with x is not yet."""
    a = m.absolute(x)
    half = m.exp(-0.5 * a)
    return m.where(x >= 0, x, -(m.absorbing_product(a, half) * half)) / (1 + half * half)


@entry(expansion=_silu, cost=16)
def silu_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = sigmoid(x) + x sigmoid'(x)."""
    return (product(g, words.sigmoid(x) + words.absorbing_product(x, words.sigmoid_slope(x))),)


@unary(kind="float", oracle="x * scipy.special.expit(x)", samples=((-9, 9),), ulp=4, names=("swish",),
       complexes=lambda m, z: z * _complex_sigmoid(m, z))
def silu(m: Vocabulary, x: Expr) -> Expr:
    """x / (1 + exp(-x)). Source: S. Elfwing, E. Uchibe, K. Doya, arXiv:1702.03118."""
    return m.silu(x)


@binary(kind="float", oracle="x * scipy.special.expit(y)", samples=((-3, 3), (-9, 9)), ulp=4, published=False)
def gated(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x sigmoid(y): the gated linear unit of two halves."""
    return x * m.sigmoid(y)


def _mish(m: Vocabulary, x: Expr) -> Expr:
    """x tanh(softplus(x)), where tanh(log(1 + u)) = u (u + 2) / (u (u + 2) + 2)."""
    a = m.absolute(x)
    half = m.exp(-0.5 * a)
    u = half * half
    left = -(m.absorbing_product(a, half) * (half * (u + 2)))
    return m.where(x >= 0, x * (2 * u + 1), left) / m.where(x >= 0, 2 * (u * (u + 1)) + 1, u * (u + 2) + 2)


@entry(expansion=_mish, cost=20)
def mish_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = w + x w', w = tanh(softplus(x))."""
    return (product(g, words.mish_gate(x) + words.absorbing_product(x, words.mish_gate_slope(x))),)


def _mish_gate(m: Vocabulary, x: Expr) -> Expr:
    u = m.exp(-m.absolute(x))
    return m.where(x >= 0, 2 * u + 1, u * (u + 2)) / m.where(x >= 0, 2 * (u * (u + 1)) + 1, u * (u + 2) + 2)


def _mish_gate_slope(m: Vocabulary, x: Expr) -> Expr:
    u = m.exp(-m.absolute(x))
    divisor = m.where(x >= 0, 2 * (u * (u + 1)) + 1, u * (u + 2) + 2)
    return 4 * (u * (u + 1)) * m.where(x >= 0, u, 1) / (divisor * divisor)


@entry(expansion=_mish_gate, cost=18)
def mish_gate(g: Expr, y: Expr, x: Expr) -> Single:
    """tanh(softplus(x))."""
    return (product(g, words.mish_gate_slope(x)),)


@entry(expansion=_mish_gate_slope, cost=20)
def mish_gate_slope(g: Expr, y: Expr, x: Expr) -> Single:
    """(1 - w**2) sigmoid(x), right in both tails."""
    return (product(g, y * (words.sigmoid(-x) - 2 * words.mish_gate(x) * words.sigmoid(x))),)


@unary(kind="float", oracle="x * numpy.tanh(numpy.logaddexp(0, x))", samples=((-9, 9),), ulp=6)
def mish(m: Vocabulary, x: Expr) -> Expr:
    """x times the tanh of softplus(x). Source: D. Misra, arXiv:1908.08681."""
    return m.mish(x)


# -------------------------------------------------------------------------------------------------- gelu
@unary(kind="float", oracle="x * scipy.special.ndtr(x)", samples=((-4, 4),), ulp=2, published=False, name="gelu")
def gelu_exact(m: Vocabulary, x: Expr) -> Expr:
    """x times the normal distribution function of x."""
    return m.gelu(x)


CUBE = 0.044715
SCALE = 2 * math.sqrt(2 / math.pi)


@entry(expansion=lambda m, x: m.maximum(x, -1e3) * m.sigmoid(SCALE * x * (1 + CUBE * (x * x))), cost=24)
def gelu_tanh_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = s + x s', s = sigmoid(SCALE (x + CUBE x**3))."""
    square = x * x
    argument = SCALE * x * (1 + CUBE * square)
    slope = words.absorbing_product(words.sigmoid_slope(argument), SCALE * x * (1 + 3 * CUBE * square))
    return (product(g, words.sigmoid(argument) + slope),)


@unary(kind="float", samples=((-4, 4),), ulp=4, published=False, oracle="x * scipy.special.expit("
       "numpy.sqrt(8 / numpy.arccos(numpy.longdouble(-1))) * (x + x ** 3 * 44715 / 10 ** 6))")
def gelu_tanh(m: Vocabulary, x: Expr) -> Expr:
    """x times the sigmoid of 2 sqrt(2 / pi) (x + 0.044715 x**3)."""
    return m.gelu_tanh(x)


@public()
def gelu(x: Any, /, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, with its relative accuracy kept in the far negative tail.

    approximate="tanh" takes tanh instead of the error function, as x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x**3)), which
    is the same function without its cancellation in the left tail; ConfigError for another word.
    Source: D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.

    >>> import lucid_nb as lnb
    >>> round(lnb.gelu(lnb.tensor(1.0)).item(), 6), round(lnb.gelu(lnb.tensor(1.0), "tanh").item(), 6)
    (0.841345, 0.841192)
    """
    if not is_one_of(approximate, GELU_FORMS):
        raise ConfigError(f"gelu: approximate is {told(approximate)}. Use 'none' or 'tanh'.")
    return gelu_exact(x) if approximate == "none" else gelu_tanh(x)


# ------------------------------------------------------------------------------------------------ others
@unary(kind="float", oracle="x / (1 + abs(x))", samples=((-5, 5),), ulp=2,
       complexes=lambda m, z: z / m.complex(1 + m.modulus(z), 0))
def softsign(m: Vocabulary, x: Expr) -> Expr:
    """x / (1 + |x|)."""
    return x / (1 + m.absolute(x))


def _tanhshrink(m: Vocabulary, x: Expr) -> Expr:
    square = m.minimum(x * x, 1)
    return m.where(m.absolute(x) < 1, x * (square * polynomial(square, TANHSHRINK)), x - m.tanh(x))


@entry(expansion=_tanhshrink, cost=34)
def tanhshrink_(g: Expr, y: Expr, x: Expr) -> Single:
    """d = tanh(x)**2."""
    return (product(g, words.tanh(x) * words.tanh(x)),)


def _shrink_series(count: int) -> tuple[float, ...]:
    """Taylor coefficients of (x - tanh(x)) / x**3 in x**2, the highest first. They follow from tanh' = 1 - tanh**2."""
    tanh = [1.0]
    for n in range(1, count + 1):
        tanh.append(-sum(tanh[i] * tanh[n - 1 - i] for i in range(n)) / (2 * n + 1))
    return tuple(-c for c in reversed(tanh[1:]))


SHRINK_SERIES = _shrink_series(26)


def _complex_tanhshrink(m: Vocabulary, z: Expr) -> Expr:
    """By the series where the difference would lose more than three bits."""
    square, size = z * z, m.modulus(z)
    return m.where(size < 0.75, z * (square * polynomial(square, SHRINK_SERIES)), z - m.complex_tanh(z))


@entry(expansion=_complex_tanhshrink, cost=90)
def complex_tanhshrink(g: Expr, y: Expr, z: Expr) -> Single:
    """d = tanh(z)**2."""
    return (product(g, words.complex_tanh(z) * words.complex_tanh(z)),)


@unary(kind="float", oracle="mpmath.tanhshrink", samples=((-5, 5),), ulp=4,
       complexes=lambda m, z: m.complex_tanhshrink(z))
def tanhshrink(m: Vocabulary, x: Expr) -> Expr:
    """x - tanh(x), whose relative accuracy is kept next to 0."""
    return m.tanhshrink(x)
