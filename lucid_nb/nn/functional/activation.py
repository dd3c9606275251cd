"""Activations."""

import math
from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import AxisError, ConfigError
from ...ops import activation, norm, transcendental
from ...ops.logic import where

GELU_FORMS = ("none", "tanh")


def one_axis(op: str, dim: int | None, axis: int | None) -> int:
    """The axis, which goes by two names; the last without either."""
    if dim is not None and axis is not None:
        raise AxisError(f"{op}: both dim={dim} and axis={axis} are given. Pass one of them.")
    return -1 if dim is None and axis is None else dim if axis is None else axis  # type: ignore[return-value]


def relu(input: Any, inplace: bool = False) -> Tensor:
    """The positive part, max(x, 0); its derivative at 0 is 0.

    >>> lnb.nn.functional.relu([-1.0, 2.0])
    tensor([0., 2.])
    """
    result = activation.relu(input)
    if not inplace:
        return result
    input[...] = result
    return input


def sigmoid(input: Any) -> Tensor:
    """The logistic function, 1 / (1 + exp(-x)), exact in both tails."""
    return activation.sigmoid(input)


def tanh(input: Any) -> Tensor:
    """The hyperbolic tangent."""
    return transcendental.tanh(input)


def gelu(input: Any, approximate: str = "none") -> Tensor:
    """The Gaussian error linear unit: x times the normal distribution function, or its "tanh" form.

    Source: D. Hendrycks, K. Gimpel, Gaussian error linear units, 2016. The tanh form is
    x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x**3)), the same function without its cancellation in the left tail.
    """
    if approximate not in GELU_FORMS:
        raise ConfigError(f"gelu: approximate is {approximate!r}. Use 'none' or 'tanh'.")
    if approximate == "none":
        return activation.gelu(input)
    x = asarray(input)
    return x * activation.sigmoid(2 * math.sqrt(2 / math.pi) * x * (1 + 0.044715 * (x * x)))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """The smooth positive part, log(1 + exp(beta * x)) / beta; x itself where beta * x is above threshold."""
    x = asarray(input)
    scaled = x if beta == 1 else x * beta
    smooth = activation.softplus(scaled)
    return where(scaled > threshold, x, smooth if beta == 1 else smooth / beta)


def softmax(input: Any, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis, the last by default; zeros where all of x is -inf.

    >>> lnb.nn.functional.softmax([1.0, 1.0, -np.inf], dim=0).tolist()
    [0.5, 0.5, 0.0]
    """
    return norm.softmax(_cast(input, dtype), axis=one_axis("softmax", dim, axis))


def log_softmax(input: Any, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of softmax along an axis, the last by default."""
    return norm.log_softmax(_cast(input, dtype), axis=one_axis("log_softmax", dim, axis))


def _cast(input: Any, dtype: Any) -> Tensor:
    x = asarray(input)
    return x if dtype is None else x.astype(dtype)
