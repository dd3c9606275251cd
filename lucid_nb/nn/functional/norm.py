"""Normalisation of batches, layers, groups and channels."""

from collections.abc import Sequence
from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...ops import normalization, response
from ...ops.extremes import maximum
from ...ops.vector_norm import vector_norm
from ...remembered import remembered
from .activation import one_axis
from .operands import like_weight


def as_input(op: str, input: Any, weight: Tensor | None) -> Tensor:
    """The input as a Tensor, of the weight's dtype where there is a weight."""
    return asarray(input) if weight is None else like_weight(op, input, weight)


def batch_norm(input: Any, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias, statistics of each channel over the batch and all positions.

    Input: (batch, channels, ...); all others (channels,). In training the biased variance normalises, and running
    statistics move towards the mean and the unbiased variance by the share `momentum`, in place; otherwise running ones
    normalise. ShapeError for one value a channel in training, which has no variance.

    Source: S. Ioffe, C. Szegedy, arXiv:1502.03167.

    >>> lnb.nn.functional.batch_norm([[1.0], [3.0]], None, None, training=True, eps=0).tolist()
    [[-1.0], [1.0]]
    """
    if not training:
        return _by_running(input, running_mean, running_var, weight, bias, eps)
    x = as_input("batch_norm", input, weight)
    return normalization.batch_norm(x, running_mean, running_var, weight, bias, True, momentum, eps)


@remembered
def _by_running(input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, eps: float) -> Tensor:
    x = as_input("batch_norm", input, weight)
    return normalization.by_running("batch_norm", x, running_mean, running_var, weight, bias, eps)


def instance_norm(input: Any, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """As batch_norm in training, each image by its own statistics; without use_input_stats, by running ones.

    Source: D. Ulyanov, A. Vedaldi, V. Lempitsky, arXiv:1607.08022.
    """
    x = as_input("instance_norm", input, weight)
    return normalization.instance_norm(x, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@remembered
def group_norm(input: Any, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """x normalised in each image by the statistics of groups of channels (axis 1); weight and bias are (channels,).

    Source: Y. Wu, K. He, arXiv:1803.08494.

    >>> lnb.nn.functional.group_norm([[1.0, 3.0, 10.0, 30.0]], 2, eps=0).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    return normalization.group_norm(as_input("group_norm", input, weight), num_groups, weight, bias, eps)


@remembered
def layer_norm(input: Any, normalized_shape: int | Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """x normalised over its last axes, whose sizes, and those of weight and bias, are normalized_shape.

    Source: J. Ba, J. Kiros, G. Hinton, arXiv:1607.06450.

    >>> lnb.nn.functional.layer_norm([[1.0, 3.0]], 2, eps=0).tolist()
    [[-1.0, 1.0]]
    """
    return normalization.layer_norm(as_input("layer_norm", input, weight), normalized_shape, weight, bias, eps)


@remembered
def rms_norm(input: Any, normalized_shape: int | Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """x / sqrt(mean(x**2) + eps) * weight over the last axes; eps is that of the dtype where it is left out.

    Source: B. Zhang, R. Sennrich, arXiv:1910.07467.

    >>> lnb.nn.functional.rms_norm([[2.0, 2.0]], 2, eps=0).tolist()
    [[1.0, 1.0]]
    """
    return normalization.rms_norm(as_input("rms_norm", input, weight), normalized_shape, weight, eps)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * mean of squares over `size` neighbouring channels (axis 1))**beta; beyond the edge are zeros.

    Source: A. Krizhevsky, I. Sutskever, G. Hinton, ImageNet classification (2012).
    """
    return response.local_response_norm(input, size, alpha, beta, k)


def global_response_norm(input: Any, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    """x + gamma * x * n + beta, n the norm of each channel over all positions divided by the mean of these norms.

    Input: (batch, channels, ...); gamma and beta have an element for each channel.

    Source: S. Woo et al., ConvNeXt V2, arXiv:2301.00808.
    """
    return response.global_response_norm(like_weight("global_response_norm", input, gamma), gamma, beta, eps)


def normalize(input: Any, p: float = 2.0, dim: int | None = None, eps: float = 1e-12, *,
              axis: int | None = None) -> Tensor:
    """x divided by its p-norm along an axis, the second by default; norms are not below eps.

    >>> lnb.nn.functional.normalize([[3.0, 4.0]]).tolist()
    [[0.6, 0.8]]
    """
    x, along = asarray(input), 1 if dim is None and axis is None else one_axis("normalize", dim, axis)
    if not x.ndim:                                       # one number is a vector of one
        return normalize(x.reshape(1), p, along, eps).reshape(())
    return x / maximum(vector_norm(x, ord=p, axis=along, keepdims=True), eps)
