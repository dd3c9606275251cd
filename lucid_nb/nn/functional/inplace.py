"""Activations that overwrite their input, and give it."""

from ...array import Tensor
from .activation import celu, elu, hardtanh, leaky_relu, relu, rrelu, selu, threshold


def relu_(input: Tensor) -> Tensor:
    """relu, in place."""
    return relu(input, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu, in place."""
    return leaky_relu(input, negative_slope, True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """elu, in place."""
    return elu(input, alpha, True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu, in place."""
    return celu(input, alpha, True)


def selu_(input: Tensor) -> Tensor:
    """selu, in place."""
    return selu(input, True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh, in place."""
    return hardtanh(input, min_val, max_val, True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """threshold, in place."""
    return _threshold(input, threshold, value, True)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """rrelu, in place."""
    return rrelu(input, lower, upper, training, True)


_threshold = threshold           # whose name is an argument above
