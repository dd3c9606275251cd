"""The linear map, and flattening."""

import math
from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import AxisError, ShapeError
from ...ops import affine
from ...shapes import normalize_axis
from .operands import like_weight


def linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias: x is (..., in_features), weight (out_features, in_features), bias (out_features,).

    ShapeError if the sizes differ, DTypeError if the dtypes do.
    """
    x = like_weight("linear", input, weight)
    if x.ndim == 0 or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise ShapeError(f"linear: an input of shape {x.shape} and a weight of shape {weight.shape}. "
                         f"The input's last size must be the weight's second.")
    if bias is not None and (bias.shape != weight.shape[:1] or bias.dtype != weight.dtype):
        return linear(x, weight) + bias                 # what broadcasts or is promoted
    return affine.linear(x, weight, bias) if x.ndim > 1 else affine.linear(x.reshape(1, -1), weight, bias).reshape(-1)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from start_dim to end_dim, both included, made one; a view where possible.

    >>> lnb.nn.functional.flatten(np.ones((2, 3, 4)), 1).shape
    (2, 12)
    """
    x = asarray(input)
    if x.ndim == 0:
        return x.reshape(1)
    first, last = normalize_axis("flatten", start_dim, x.ndim), normalize_axis("flatten", end_dim, x.ndim)
    if first > last:
        raise AxisError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}. Swap them.")
    return x.reshape((*x.shape[:first], math.prod(x.shape[first:last + 1]), *x.shape[last + 1:]))
