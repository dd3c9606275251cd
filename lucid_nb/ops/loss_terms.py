"""What losses sum: the loss of one element, as one formula with its gradient; stable at the ends of their domains."""

import math

from ..expr import Expr, Vocabulary, entry, product
from ..expr import m as words
from ..register import binary, record, ternary, unary

Single = tuple[Expr | None]
Triple = tuple[Expr | None, Expr | None, Expr | None]
LEAST_LOG = -100.0         # what PyTorch takes for the logarithm of probabilities up to 1e-43, 0 among them
LEAST_VARIANCE = 1e-12     # of a probability, in the gradient


def _hinge(m: Vocabulary, x: Expr) -> Expr:
    """The positive part, whose gradient passes at 0 as in PyTorch's losses."""
    return m.where(x < 0, 0, x)


# -------------------------------------------------------------------------------------------- differences
@binary(kind="float", published=False)
def squared_error(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """(x - y)**2."""
    difference = x - y
    return difference * difference


@binary(kind="float", published=False, complexes=lambda m, x, y: m.modulus(x - y))
def absolute_error(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """|x - y|."""
    return m.absolute(x - y)


@ternary(kind="float", published=False)
def huber_error(m: Vocabulary, x: Expr, y: Expr, delta: Expr) -> Expr:
    """(x - y)**2 / 2 up to delta, then straight. Source: P. Huber, Robust estimation of a location parameter, 1964."""
    difference = x - y
    size = m.absolute(difference)
    return m.where(size < delta, 0.5 * (difference * difference), delta * (size - 0.5 * delta))


@ternary(kind="float", published=False)
def smooth_absolute_error(m: Vocabulary, x: Expr, y: Expr, beta: Expr) -> Expr:
    """Huber's error over beta: |x - y| but for a parabola below beta. Source: R. Girshick, arXiv:1504.08083."""
    difference = x - y
    size = m.absolute(difference)
    return m.where(size < beta, 0.5 * (difference * difference) / beta, size - 0.5 * beta)


# ------------------------------------------------------------------------------------- two classes, logits
def _weighted_softplus(m: Vocabulary, x: Expr, a: Expr, b: Expr) -> Expr:
    rest = (a + b) * m.log1p(m.exp(-m.absolute(x)))
    return rest + m.absorbing_product(a, m.maximum(-x, 0)) + m.absorbing_product(b, m.maximum(x, 0))


def _weighted_sigmoid(m: Vocabulary, x: Expr, a: Expr, b: Expr) -> Expr:
    e = m.exp(-m.absolute(x))
    return (b * m.where(x >= 0, 1, e) - a * m.where(x >= 0, e, 1)) / (1 + e)


@entry(expansion=_weighted_softplus, cost=32)
def weighted_softplus(g: Expr, y: Expr, x: Expr, a: Expr, b: Expr) -> Triple:
    """a softplus(-x) + b softplus(x)."""
    return (product(g, words.weighted_sigmoid(x, a, b)), product(g, words.softplus(-x)), product(g, words.softplus(x)))


@entry(expansion=_weighted_sigmoid, cost=20)
def weighted_sigmoid(g: Expr, y: Expr, x: Expr, a: Expr, b: Expr) -> Triple:
    """b sigmoid(x) - a sigmoid(-x)."""
    return (product(g, (a + b) * words.sigmoid_slope(x)), product(g, -words.sigmoid(-x)), product(g, words.sigmoid(x)))


@binary(kind="float", published=False)
def logistic_loss(m: Vocabulary, x: Expr, target: Expr) -> Expr:
    """-target log(sigmoid(x)) - (1 - target) log(1 - sigmoid(x)), with neither overflow nor cancellation."""
    return m.weighted_softplus(x, target, 1 - target)


@ternary(kind="float", published=False)
def weighted_logistic_loss(m: Vocabulary, x: Expr, target: Expr, weight: Expr) -> Expr:
    """The logistic loss whose first part counts `weight` times."""
    return m.weighted_softplus(x, weight * target, 1 - target)


@binary(kind="float", published=False)
def soft_margin_term(m: Vocabulary, x: Expr, target: Expr) -> Expr:
    """log(1 + exp(-target x))."""
    return m.softplus(-(target * x))


# ---------------------------------------------------------------------------------------- of probabilities
def _bernoulli_loss(m: Vocabulary, p: Expr, target: Expr) -> Expr:
    success, failure = m.maximum(m.log(p), LEAST_LOG), m.maximum(m.log1p(-p), LEAST_LOG)
    return -(target * success + (1 - target) * failure)          # plain products: NaN of no probability comes through


@entry(expansion=_bernoulli_loss, cost=36)
def bernoulli_loss_(g: Expr, y: Expr, p: Expr, target: Expr) -> tuple[Expr | None, Expr | None]:
    """d = (p - target) / (p (1 - p)), which is bounded as PyTorch bounds it."""
    slope = words.absorbing_quotient(p - target, words.maximum(p * (1 - p), LEAST_VARIANCE))
    odds = words.maximum(words.log1p(-p), LEAST_LOG) - words.maximum(words.log(p), LEAST_LOG)
    return product(g, slope), product(g, odds)


@binary(kind="float", published=False)
def bernoulli_loss(m: Vocabulary, p: Expr, target: Expr) -> Expr:
    """-target log(p) - (1 - target) log(1 - p), the logarithms not below -100; NaN where p is no probability."""
    return m.bernoulli_loss(p, target)


@binary(kind="float", published=False)
def divergence_term(m: Vocabulary, x: Expr, target: Expr) -> Expr:
    """target (log(target) - x), 0 where target is 0."""
    return m.absorbing_product(target, m.log(target) - x)


@binary(kind="float", published=False)
def log_divergence_term(m: Vocabulary, x: Expr, target: Expr) -> Expr:
    """exp(target) (target - x), 0 where target is -inf."""
    return m.absorbing_product(m.exp(target), target - x)


# ------------------------------------------------------------------------------------- other distributions
@binary(kind="float", published=False)
def poisson_log_loss(m: Vocabulary, x: Expr, target: Expr) -> Expr:
    """exp(x) - target x: of a Poisson distribution with mean exp(x)."""
    return m.exp(x) - target * x


@ternary(kind="float", published=False)
def poisson_loss(m: Vocabulary, x: Expr, target: Expr, eps: Expr) -> Expr:
    """x - target log(x + eps): of a Poisson distribution with mean x."""
    return x - target * m.log(x + eps)


@unary(kind="float", published=False)
def stirling_term(m: Vocabulary, target: Expr) -> Expr:
    """Stirling's log(target!) where target is above 1, otherwise 0."""
    large = m.where(target > 1, target, 1)
    return m.where(target > 1, target * m.log(large) - target + 0.5 * m.log(2 * math.pi * large), 0)


@entry(expansion=lambda m, x, low: m.maximum(x, low))
def raised(g: Expr, y: Expr, x: Expr, low: Expr) -> tuple[Expr, None]:
    """x, or what it is raised to, with the gradient of x in either case."""
    return g, None


@record(4, kind="float", published=False)
def gaussian_loss(m: Vocabulary, x: Expr, target: Expr, variance: Expr, eps: Expr) -> Expr:
    """(log(variance) + (x - target)**2 / variance) / 2, the variance not below eps."""
    variance = m.raised(variance, eps)
    difference = x - target
    return 0.5 * (m.log(variance) + difference * difference / variance)


# -------------------------------------------------------------------------------------------------- margins
@ternary(kind="float", published=False)
def hinge_term(m: Vocabulary, x: Expr, target: Expr, margin: Expr) -> Expr:
    """x where target is 1, max(0, margin - x) where it is -1."""
    return m.where(target != 1, _hinge(m, margin - x), 0) + m.where(target != -1, x, 0)


@record(4, kind="float", published=False)
def ranking_term(m: Vocabulary, x: Expr, y: Expr, target: Expr, margin: Expr) -> Expr:
    """max(0, margin - target (x - y))."""
    return _hinge(m, margin - target * (x - y))


@ternary(kind="float", published=False)
def cosine_term(m: Vocabulary, cosine: Expr, target: Expr, margin: Expr) -> Expr:
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1."""
    return m.where(target == 1, 1 - cosine, m.where(target == -1, _hinge(m, cosine - margin), 0))


@binary(kind="float", published=False)
def margin_term(m: Vocabulary, x: Expr, margin: Expr) -> Expr:
    """max(0, margin + x)."""
    return _hinge(m, margin + x)
