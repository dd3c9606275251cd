"""Normalisation by responses: of neighbouring channels, and of all positions."""

from typing import Any

from .. import shapes
from ..array import Tensor
from ..errors import ConfigError, ShapeError
from .movement import astype, reshape
from .normalization import checked_eps, operand
from .padding import pad
from .reduction import sum
from .vector_norm import vector_norm


def local_response_norm(x: Any, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """x over a power of the squares of neighbouring channels: see nn.functional.local_response_norm."""
    op = "local_response_norm"
    x, size = operand(op, x, 2), shapes.as_integer(op, "size", size)
    if size < 1:
        raise ConfigError(f"{op}: size is {size}. Use a number of channels of 1 or more.")
    before = size // 2
    width = [(before, size - 1 - before) if axis == 1 else (0, 0) for axis in range(x.ndim)]
    squares, channels = pad(x * x, width), x.shape[1]
    total = squares[:, :channels]
    for first in range(1, size):
        total = total + squares[:, first:first + channels]
    return x / (total * (alpha / size) + k) ** beta


def global_response_norm(x: Any, gamma: Any, beta: Any, eps: float) -> Tensor:
    """x weighted by how its channels respond: see nn.functional.global_response_norm."""
    op = "global_response_norm"
    x = operand(op, x, 2)
    channels = x.shape[1]
    for what, given in (("gamma", gamma), ("beta", beta)):
        if given.size != channels or given.shape.count(1) < given.ndim - 1:
            raise ShapeError(f"{op}: {what} has shape {given.shape} for {channels} channels. Give one element a "
                             "channel.")
    form = (1, channels, *(1,) * (x.ndim - 2))
    sizes = vector_norm(x, axis=tuple(range(2, x.ndim)), keepdims=True) if x.ndim > 2 else abs(x)
    mean = sum(sizes, 1, keepdims=True) * (1 / max(channels, 1))
    scale = sizes / (mean + checked_eps(op, eps)) * reshape(gamma, form) + 1
    return astype(x * scale + reshape(beta, form), x.dtype, copy=False)
