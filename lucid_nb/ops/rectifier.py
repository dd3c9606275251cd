"""Activations made of pieces: what is not smooth. Values and slopes at the joints are PyTorch's.

The oracles stand in parentheses: these are no functions of NumPy, whose warnings a kernel would have to look for.
"""

from typing import Any

from ..array import Tensor
from ..expr import Expr, Vocabulary
from ..register import binary, public, ternary, unary

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805       # G. Klambauer et al., arXiv:1706.02515


@unary(bools=False, oracle="numpy.maximum(x, 0)", samples=((0.2, 3),))
def relu(m: Vocabulary, x: Expr) -> Expr:
    """x where positive, otherwise 0; NaN stays NaN. Its derivative at 0 is 0."""
    return m.where(x <= 0, 0, x)


@unary(bools=False, oracle="(numpy.minimum(numpy.maximum(x, 0), 6))", samples=((0.2, 5),))
def relu6(m: Vocabulary, x: Expr) -> Expr:
    """x, not below 0 and not above 6, where its derivative is 0."""
    return m.where(x <= 0, 0, m.where(x >= 6, 6, x))


@binary(kind="float", oracle="(numpy.where(x > 0, x, y * x))", samples=((-3, 3), (0.1, 0.4)), published=False,
        name="leaky_relu")
def bent(m: Vocabulary, x: Expr, slope: Expr) -> Expr:
    """x where positive, otherwise slope x."""
    return m.where(x > 0, x, slope * x)


@public()
def leaky_relu(x: Any, /, negative_slope: Any = 0.01) -> Tensor:
    """x where positive, otherwise negative_slope * x; its derivative at 0 is negative_slope.

    >>> import lucid_nb as lnb
    >>> lnb.leaky_relu(lnb.tensor([-10.0, 2.0]), 0.5)
    tensor([-5.,  2.])
    """
    return bent(x, negative_slope)


@binary(kind="float", oracle="(numpy.where(x > 0, x, y * numpy.expm1(x)))", samples=((-3, 3), (0.5, 2)), ulp=3,
        published=False, name="elu")
def bent_exponential(m: Vocabulary, x: Expr, alpha: Expr) -> Expr:
    """x where positive, otherwise alpha (exp(x) - 1)."""
    return m.where(x > 0, x, alpha * m.expm1(x))


@public()
def elu(x: Any, /, alpha: Any = 1.0) -> Tensor:
    """x where positive, otherwise alpha * (exp(x) - 1); its derivative at 0 is alpha.

    Source: D. Clevert, T. Unterthiner, S. Hochreiter, arXiv:1511.07289.

    >>> import lucid_nb as lnb
    >>> lnb.elu(lnb.tensor([-1e9, 2.0]), alpha=0.5)
    tensor([-0.5,  2. ])
    """
    return bent_exponential(x, alpha)


@binary(kind="float", oracle="(numpy.where(x > 0, x, y * numpy.expm1(x / y)))", samples=((-3, 3), (0.5, 2)), ulp=4,
        published=False, name="celu")
def smoothly_bent(m: Vocabulary, x: Expr, alpha: Expr) -> Expr:
    """x where positive, otherwise alpha (exp(x / alpha) - 1)."""
    ratio = x / alpha
    return m.where(x > 0, x, m.where(m.absolute(ratio) < 1e-17, x, alpha * m.expm1(ratio)))


@public()
def celu(x: Any, /, alpha: Any = 1.0) -> Tensor:
    """x where positive, otherwise alpha * (exp(x / alpha) - 1): an elu whose derivative is continuous for any alpha.

    Source: J. Barron, arXiv:1704.07483.

    >>> import lucid_nb as lnb
    >>> lnb.celu(lnb.tensor([-1e9, 2.0]), alpha=0.5)
    tensor([-0.5,  2. ])
    """
    return smoothly_bent(x, alpha)


@unary(kind="float", oracle=f"(numpy.where(x > 0, {SELU_SCALE} * x, {SELU_SCALE} * {SELU_ALPHA} * numpy.expm1(x)))",
       samples=((-3, 3),), ulp=3)
def selu(m: Vocabulary, x: Expr) -> Expr:
    """An elu scaled to keep mean 0 and variance 1. Source: G. Klambauer et al., arXiv:1706.02515."""
    return m.where(x > 0, SELU_SCALE * x, SELU_SCALE * SELU_ALPHA * m.expm1(x))


@ternary(bools=False, oracle="(numpy.where(x >= z, z, numpy.where(x <= y, y, x)))",
         samples=((-3, 3), (-2, -1), (1, 2)), published=False, name="hardtanh")
def held(m: Vocabulary, x: Expr, low: Expr, high: Expr) -> Expr:
    """x between two bounds, where its derivative is 0."""
    return m.where(x >= high, high, m.where(x <= low, low, x))


@public()
def hardtanh(x: Any, /, min_val: Any = -1.0, max_val: Any = 1.0) -> Tensor:
    """x, not below min_val and not above max_val, where its derivative is 0.

    >>> import lucid_nb as lnb
    >>> lnb.hardtanh(lnb.tensor([-3.0, 0.5, 3.0]), max_val=2)
    tensor([-1. ,  0.5,  2. ])
    """
    return held(x, min_val, max_val)


@unary(kind="float", oracle="(numpy.clip(x + 3, 0, 6) / 6)", samples=((-2.9, 2.9),), ulp=2)
def hardsigmoid(m: Vocabulary, x: Expr) -> Expr:
    """(x + 3) / 6, not below 0 and not above 1."""
    return m.where(x <= -3, 0, m.where(x >= 3, 1, (x + 3) * (1 / 6)))


@unary(kind="float", samples=((-2.9, 2.9),), ulp=2,
       oracle="(numpy.where(x <= -3, 0, numpy.where(x >= 3, x, x * (x + 3) / 6)))")
def hardswish(m: Vocabulary, x: Expr) -> Expr:
    """x (x + 3) / 6 from -3 to 3, 0 below and x above. Source: A. Howard et al., MobileNetV3, arXiv:1905.02244."""
    return m.where(x <= -3, 0, m.where(x >= 3, x, x * ((x + 3) * (1 / 6))))


@binary(kind="float", oracle="(numpy.where((-y <= x) & (x <= y), 0, x))", samples=((-3, 3), (0.2, 1)), published=False,
        name="hardshrink")
def shrunk_hard(m: Vocabulary, x: Expr, bound: Expr) -> Expr:
    """x, but 0 where |x| is at most a bound."""
    return m.where(x > bound, x, m.where(x >= -bound, 0, x))


@public()
def hardshrink(x: Any, /, lambd: Any = 0.5) -> Tensor:
    """x, but 0 where -lambd <= x <= lambd.

    >>> import lucid_nb as lnb
    >>> lnb.hardshrink(lnb.tensor([-3.0, 0.5, 0.6]))
    tensor([-3. ,  0. ,  0.6])
    """
    return shrunk_hard(x, lambd)


@binary(kind="float", oracle="(numpy.where(x > y, x - y, numpy.where(x >= -y, 0, x + y)))", samples=((-3, 3), (0.2, 1)),
        published=False, name="softshrink")
def shrunk(m: Vocabulary, x: Expr, bound: Expr) -> Expr:
    """x moved towards 0 by a bound, at most to 0."""
    return m.where(x > bound, x - bound, m.where(x >= -bound, 0, x + bound))


@public()
def softshrink(x: Any, /, lambd: Any = 0.5) -> Tensor:
    """x moved towards 0 by lambd, at most to 0.

    >>> import lucid_nb as lnb
    >>> lnb.softshrink(lnb.tensor([-3.0, 0.5, 0.75]))
    tensor([-2.5 ,  0.  ,  0.25])
    """
    return shrunk(x, lambd)


@ternary(bools=False, oracle="(numpy.where(x <= y, z, x))", samples=((-3, 3), (-1, 1), (-9, 9)), published=False,
         name="threshold")
def replaced(m: Vocabulary, x: Expr, bound: Expr, value: Expr) -> Expr:
    """x where above a bound, otherwise a value."""
    return m.where(x <= bound, value, x)


@public(method=False)
def threshold(x: Any, /, threshold: Any, value: Any) -> Tensor:
    """x where it is above `threshold`, otherwise `value`.

    >>> import lucid_nb as lnb
    >>> lnb.threshold(lnb.tensor([-1.0, 0.5, 2.0]), 0.5, -7)
    tensor([-7., -7.,  2.])
    """
    return replaced(x, threshold, value)
