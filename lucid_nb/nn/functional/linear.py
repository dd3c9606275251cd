"""The linear map, and flattening."""

import math
from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import AxisError, ShapeError
from ...ops import affine
from ...ops.linalg import matmul
from ...remembered import remembered
from ...shapes import normalize_axis
from .operands import like_weight


@remembered
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


def bilinear(input1: Any, input2: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 W x2 + bias with a matrix W for each feature of the result.

    input1 is (..., n), input2 (..., m) with the same leading axes, weight (features, n, m), bias (features,).
    ShapeError if the sizes differ, DTypeError if the dtypes do.

    >>> lnb.nn.functional.bilinear([1.0, 2.0], [3.0], lnb.tensor([[[1.0], [10.0]]]))
    tensor([63.])
    """
    x, y = like_weight("bilinear", input1, weight), like_weight("bilinear", input2, weight)
    last = (*x.shape[-1:], *y.shape[-1:])
    if weight.ndim != 3 or last != weight.shape[1:] or x.shape[:-1] != y.shape[:-1]:
        raise ShapeError(f"bilinear: inputs of shapes {x.shape} and {y.shape}, a weight of shape {weight.shape}. The "
                         "inputs' last sizes must be the weight's second and third, their other sizes the same.")
    features, n, m = weight.shape
    rows = math.prod(x.shape[:-1])
    turned = matmul(x.reshape(rows, n), weight.transpose(1, 0, 2).reshape(n, features * m))
    found = matmul(turned.reshape(rows, features, m), y.reshape(rows, m, 1)).reshape(*x.shape[:-1], features)
    return found if bias is None else found + bias


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
