"""Activations of neural networks."""

from ..expr import Expr, Vocabulary
from ..register import unary


@unary(bools=False, oracle="numpy.maximum(x, 0)", samples=((0.2, 3),))
def relu(m: Vocabulary, x: Expr) -> Expr:
    """x where positive, otherwise 0; NaN stays NaN. Its derivative at 0 is 0."""
    return m.where(x <= 0, 0, x)


@unary(kind="float", oracle="scipy.special.expit", samples=((-9, 9),), ulp=2, names=("expit",))
def sigmoid(m: Vocabulary, x: Expr) -> Expr:
    """1 / (1 + exp(-x)), right down to the smallest subnormal."""
    return m.sigmoid(x)


@unary(kind="float", oracle="numpy.logaddexp(0, x)", samples=((-9, 9),), ulp=2)
def softplus(m: Vocabulary, x: Expr) -> Expr:
    """log(1 + exp(x)) without overflow."""
    return m.softplus(x)


@unary(kind="float", oracle="x * scipy.special.ndtr(x)", samples=((-4, 4),), ulp=2)
def gelu(m: Vocabulary, x: Expr) -> Expr:
    """x times the normal distribution function of x, with its relative accuracy kept in the far negative tail.

    Source: D. Hendrycks and K. Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.
    """
    return m.gelu(x)
