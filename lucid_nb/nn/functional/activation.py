"""Activations. In place (`inplace=True`) the result overwrites the input and is it."""

from typing import Any

import numpy as np

from ... import random
from ...array import Tensor
from ...creation import asarray
from ...errors import AxisError, ConfigError, DTypeError, ShapeError, told
from ...ops import activation, hyperbolic, norm, rectifier, selection
from ...ops.axes import moveaxis
from ...ops.reduction import argmax
from ...remembered import remembered
from ...shapes import normalize_axis

GELU_FORMS = activation.GELU_FORMS


def one_axis(op: str, dim: int | None, axis: int | None) -> int:
    """The axis, which goes by two names; the last without either."""
    if dim is not None and axis is not None:
        raise AxisError(f"{op}: both dim={dim} and axis={axis} are given. Pass one of them.")
    return -1 if dim is None and axis is None else dim if axis is None else axis  # type: ignore[return-value]


def number(op: str, what: str, value: Any) -> Any:
    """A setting that must be a number."""
    if getattr(value, "ndim", 0) or not hasattr(value, "__float__"):
        raise ConfigError(f"{op}: {what} is {told(value)}. Use a number.")
    return value


def finished(op: str, input: Any, result: Tensor, inplace: bool) -> Tensor:
    """The result, written into the input where that is wanted. What its gradient reads of the input is copied."""
    if not inplace:
        return result
    if not isinstance(input, Tensor):
        raise DTypeError(f"{op}: inplace=True would overwrite {told(input)}. Give a tensor.")
    input.check_writable(op)
    return input.update(result, op)


def relu(input: Any, inplace: bool = False) -> Tensor:
    """The positive part, max(x, 0); its derivative at 0 is 0.

    >>> lnb.nn.functional.relu([-1.0, 2.0])
    tensor([0., 2.])
    """
    return finished("relu", input, rectifier.relu(input), inplace)


def relu6(input: Any, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6); its derivative at 0 and at 6 is 0."""
    return finished("relu6", input, rectifier.relu6(input), inplace)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, otherwise negative_slope * x; its derivative at 0 is negative_slope."""
    return finished("leaky_relu", input, rectifier.leaky_relu(input, negative_slope), inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, otherwise alpha * (exp(x) - 1); its derivative at 0 is alpha."""
    return finished("elu", input, rectifier.elu(input, alpha), inplace)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, otherwise alpha * (exp(x / alpha) - 1)."""
    return finished("celu", input, rectifier.celu(input, alpha), inplace)


def selu(input: Any, inplace: bool = False) -> Tensor:
    """An elu scaled to keep mean 0 and variance 1 (G. Klambauer et al., arXiv:1706.02515)."""
    return finished("selu", input, rectifier.selu(input), inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x, not below min_val and not above max_val, where its derivative is 0."""
    return finished("hardtanh", input, rectifier.hardtanh(input, min_val, max_val), inplace)


def hardsigmoid(input: Any, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6."""
    return finished("hardsigmoid", input, rectifier.hardsigmoid(input), inplace)


def hardswish(input: Any, inplace: bool = False) -> Tensor:
    """x * relu6(x + 3) / 6."""
    return finished("hardswish", input, rectifier.hardswish(input), inplace)


def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x, but 0 where -lambd <= x <= lambd."""
    return rectifier.hardshrink(input, lambd)


def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, at most to 0; ConfigError for a negative lambd."""
    if not number("softshrink", "lambd", lambd) >= 0:
        raise ConfigError(f"softshrink: lambd is {lambd}. Use a number that is not negative.")
    return rectifier.softshrink(input, lambd)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, otherwise the value."""
    return finished("threshold", input, rectifier.threshold(input, threshold, value), inplace)


def prelu(input: Any, weight: Any) -> Tensor:
    """x where positive, otherwise weight * x, with one weight or one for each channel (axis 1); ShapeError otherwise.

    Source: K. He et al., Delving deep into rectifiers, arXiv:1502.01852.

    >>> lnb.nn.functional.prelu([[-4.0, -4.0]], [0.5, 0.25])
    tensor([[-2., -1.]])
    """
    x, slope = asarray(input), asarray(weight)
    channels = x.shape[1] if x.ndim > 1 else 1
    if slope.size != 1 and slope.shape != (channels,):
        raise ShapeError(f"prelu: a weight of shape {slope.shape} for {channels} channels. Give one weight, or one for "
                         "each channel.")
    return rectifier.bent(x, slope.reshape(() if slope.size == 1 else (channels, *(1,) * (x.ndim - 2))))


def rrelu(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:
    """x where positive, otherwise x times a slope: in training one drawn for each element evenly from lower to upper
    (by `lnb.random`), else the mean of both. ConfigError if lower is above upper.

    Source: B. Xu et al., Empirical evaluation of rectified activations, arXiv:1505.00853.

    >>> lnb.nn.functional.rrelu([-8.0, 2.0], 0.25, 0.75)
    tensor([-4.,  2.])
    """
    if number("rrelu", "lower", lower) > number("rrelu", "upper", upper):
        raise ConfigError(f"rrelu: lower {lower} is above upper {upper}. Swap them.")
    slope: Any = (lower + upper) / 2
    if training:
        x = asarray(input)
        slope = asarray(random.host().uniform(lower, upper, x.shape).astype(x.dtype), device=x.device)
    return finished("rrelu", input, rectifier.bent(input, slope), inplace)


def sigmoid(input: Any) -> Tensor:
    """The logistic function, 1 / (1 + exp(-x)), exact in both tails."""
    return activation.sigmoid(input)


def logsigmoid(input: Any) -> Tensor:
    """The logarithm of sigmoid(x), without overflow."""
    return activation.logsigmoid(input)


def tanh(input: Any) -> Tensor:
    """The hyperbolic tangent."""
    return hyperbolic.tanh(input)


def tanhshrink(input: Any) -> Tensor:
    """x - tanh(x), whose relative accuracy is kept next to 0."""
    return activation.tanhshrink(input)


def softsign(input: Any) -> Tensor:
    """x / (1 + |x|)."""
    return activation.softsign(input)


def silu(input: Any, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), exact in both tails."""
    return finished("silu", input, activation.silu(input), inplace)


def mish(input: Any, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)), exact in both tails (D. Misra, arXiv:1908.08681)."""
    return finished("mish", input, activation.mish(input), inplace)


def gelu(input: Any, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit: x times the normal distribution function, or its "tanh" form.

    Source: D. Hendrycks, K. Gimpel, arXiv:1606.08415. The tanh form is
    x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x**3)), the same function without its cancellation in the left tail.
    """
    return activation.gelu(input, approximate)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """The smooth positive part, log(1 + exp(beta * x)) / beta; x itself where beta * x is above threshold."""
    return activation.softplus_below(input, beta, threshold)


def glu(input: Any, dim: int | None = None, *, axis: int | None = None) -> Tensor:
    """The first half of an axis times the sigmoid of the second; the last axis by default, ShapeError if it is odd.

    Source: Y. Dauphin et al., Language modeling with gated convolutional networks, arXiv:1612.08083.

    >>> lnb.nn.functional.glu([3.0, 5.0, 0.0, 0.0])
    tensor([1.5, 2.5])
    """
    x = asarray(input)
    place = normalize_axis("glu", one_axis("glu", dim, axis), x.ndim)
    half, odd = divmod(x.shape[place], 2)
    if odd:
        raise ShapeError(f"glu: axis {place} of shape {x.shape} has an odd size. Give an axis of two halves.")
    before = (slice(None),) * place
    return activation.gated(x[(*before, slice(None, half))], x[(*before, slice(half, None))])


@remembered
def softmax(input: Any, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis, the last by default; zeros where all of x is -inf.

    >>> lnb.nn.functional.softmax([1.0, 1.0, -np.inf], dim=0).tolist()
    [0.5, 0.5, 0.0]
    """
    return norm.softmax(_cast(input, dtype), axis=one_axis("softmax", dim, axis))


@remembered
def log_softmax(input: Any, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along an axis, the last by default."""
    return norm.log_softmax(_cast(input, dtype), axis=one_axis("log_softmax", dim, axis))


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1, *,
                   key: random.Key | None = None) -> Tensor:
    """A sample of the distribution that `logits` give along an axis, softened so that gradients flow: softmax of
    (logits + Gumbel noise) / tau. With `hard` 1 at the largest and 0 elsewhere, with the gradient of the soft one.

    `eps` is ignored; the noise is that of `key`, or else follows from lnb.random.seed. Sources: E. Jang, S. Gu,
    B. Poole, arXiv:1611.01144; C. Maddison, A. Mnih, Y. Teh, arXiv:1611.00712.

    >>> lnb.nn.functional.gumbel_softmax([0.0, 100.0, 0.0], hard=True)
    tensor([0., 1., 0.])
    """
    x = _cast(logits, None)
    if not number("gumbel_softmax", "tau", tau) > 0:
        raise ConfigError(f"gumbel_softmax: tau is {tau}. Use a number above 0.")
    even = (random.next_key() if key is None else key).uniform(x.shape, dtype="float64").numpy()
    with np.errstate(divide="ignore"):
        noise = -np.log(-np.log(even))
    soft = softmax((x + asarray(noise.astype(x.dtype), device=x.device)) / tau, dim)
    if not hard:
        return soft
    along = normalize_axis("gumbel_softmax", dim, x.ndim)
    chosen = selection.one_hot(argmax(soft.detach(), axis=along), x.shape[along]).astype(x.dtype)
    return moveaxis(chosen, -1, along) - soft.detach() + soft


def softmin(input: Any, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """softmax(-x) along an axis, the last by default."""
    return softmax(-_cast(input, dtype), dim, axis=axis)


def _cast(input: Any, dtype: Any) -> Tensor:
    x = asarray(input)
    return x if dtype is None else x.astype(dtype)
