"""Initialisers: each fills a tensor in place and returns it. Without `generator` they draw from `lnb.random`.

Xavier: X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
Kaiming: K. He, X. Zhang, S. Ren, J. Sun, Delving deep into rectifiers, 2015.
"""

import math
from typing import Any

import numpy as np

from .. import random
from ..array import Tensor
from ..creation import asarray
from ..errors import ConfigError, ShapeError
from ..tape import grad_mode

Generator = np.random.Generator | np.random.RandomState | random.Generator | random.RandomState
GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3,
         "relu": math.sqrt(2), "selu": 3 / 4}


def fill(tensor: Tensor, values: Any) -> Tensor:
    """Write values into a tensor, also into one that requires grad."""
    with grad_mode(False):
        tensor[...] = values if isinstance(values, int | float) else asarray(values, device=tensor.device)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the uniform distribution from a to b."""
    return fill(tensor, (generator or random.host()).uniform(a, b, tensor.shape).astype(tensor.dtype))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution of this mean and standard deviation."""
    return fill(tensor, (generator or random.host()).normal(mean, std, tensor.shape).astype(tensor.dtype))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    return fill(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return fill(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return fill(tensor, 1)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a layer before this nonlinearity is scaled; `param` is leaky_relu's slope (0.01).

    >>> lnb.nn.init.calculate_gain("relu")
    1.4142135623730951
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ConfigError(f"calculate_gain: nonlinearity is {nonlinearity!r}. Use one of {', '.join(GAINS)}, "
                          "leaky_relu.")
    return GAINS[nonlinearity]


def fans(op: str, tensor: Tensor) -> tuple[int, int]:
    """The connections into and out of one unit: a weight is (out, in, ...), the rest being the kernel."""
    if tensor.ndim < 2:
        raise ShapeError(f"{op}: a tensor of shape {tensor.shape} has no fan in and fan out. Use one with two or more "
                         "axes.")
    taps = math.prod(tensor.shape[2:])
    return tensor.shape[1] * taps, tensor.shape[0] * taps


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw uniformly within gain * sqrt(6 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6 / sum(fans("xavier_uniform_", tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution with standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans("xavier_normal_", tensor))), generator)


def kaiming_std(op: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation that keeps the variance of activations (fan_in) or of gradients (fan_out)."""
    if mode not in ("fan_in", "fan_out"):
        raise ConfigError(f"{op}: mode is {mode!r}. Use 'fan_in' or 'fan_out'.")
    fan = fans(op, tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """Draw uniformly within gain * sqrt(3 / fan); `a` is the slope of a leaky_relu."""
    bound = math.sqrt(3) * kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Draw from the normal distribution with standard deviation gain / sqrt(fan); `a` is the slope of a leaky_relu."""
    std = kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, std, generator)
