"""Normalisation of a batch, or of groups of channels, and its gradients. Geometry: see the CPU's kernels."""

from collections.abc import Callable
from math import nan

import mlx.core as mx

from ..shapes import Shape, reduced_shape
from .runtime import entry
from .types import accumulator, nothing

LONGEST = 4096
"""Elements of a row that MLX's own functions add up in float32."""
Triple = tuple[mx.array, mx.array, mx.array]


def _is_by_rows(x: mx.array, shape: Shape) -> bool:
    """Is each row normalised by itself, with a weight for each column, as MLX's own functions do it?"""
    return len(shape) == 4 and shape[1] == shape[3] == 1 and x.dtype == mx.float32 and 0 < shape[2] <= LONGEST


def _by_rows(eps: float, centred: bool) -> Callable[..., mx.array]:
    """MLX's own function of rows, a weight and a bias."""
    if centred:
        return lambda rows, weight, bias: mx.fast.layer_norm(rows, weight, bias, eps)
    return lambda rows, weight, bias: mx.fast.rms_norm(rows, weight, eps) + bias


def _form_of_weights(shape: Shape) -> Shape:
    """What weights are shaped to: one for each channel."""
    return (1, shape[1], 1) if len(shape) == 3 else (1, *shape[1:3], 1)


def _mean(x: mx.array, axes: Shape) -> mx.array:
    return mx.mean(x.astype(accumulator(x.dtype)), axes, keepdims=True).astype(x.dtype)


def _statistics(x: mx.array, axes: Shape, centred: bool) -> Triple:
    """x about its mean, the mean, and the biased variance; not centred, about 0."""
    mean = _mean(x, axes) if centred else mx.zeros(reduced_shape(x.shape, axes, True), x.dtype)
    centre = x - mean if centred else x
    return centre, mean, _mean(mx.square(centre), axes)


@entry
def normalize(x: mx.array, weight: mx.array, bias: mx.array, shape: Shape, axes: Shape, eps: float,
              centred: bool) -> Triple:
    """(x - mean) / sqrt(variance + eps) * weight + bias in the shape of x, the mean, and the biased variance.

    Not `centred`, the mean is 0 and the variance is about 0. Of no elements, statistics are NaN. Where MLX normalises
    rows by its own function nobody reads them, and they are empty.
    """
    if x.size == 0:
        unknown = mx.full(reduced_shape(shape, axes, True), nan, x.dtype)
        return x, unknown, unknown
    if _is_by_rows(x, shape):
        unread = nothing(x.dtype)
        if x.shape[-1] == shape[2]:                # and not several last axes
            return _by_rows(eps, centred)(x, weight, bias), unread, unread
        found = _by_rows(eps, centred)(x.reshape(shape[0], shape[2]), weight.reshape(-1), bias.reshape(-1))
        return found.reshape(x.shape), unread, unread
    centre, mean, variance = _statistics(x.reshape(shape), axes, centred)
    weight, bias = (part.reshape(_form_of_weights(shape)) for part in (weight, bias))
    return (centre * (mx.rsqrt(variance + eps) * weight) + bias).reshape(x.shape), mean, variance


@entry
def normalize_by(x: mx.array, mean: mx.array, variance: mx.array, weight: mx.array, bias: mx.array,
                 eps: float) -> mx.array:
    """(x - mean) / sqrt(variance + eps) * weight + bias of given numbers for each channel (axis 1)."""
    scale = mx.rsqrt(variance + eps) * weight
    if x.ndim > 2:
        form = (-1, *(1,) * (x.ndim - 2))
        mean, scale, bias = (part.reshape(form) for part in (mean, scale, bias))
    return (x - mean) * scale + bias


@entry
def normalize_grad(g: mx.array, x: mx.array, weight: mx.array, mean: mx.array, variance: mx.array, shape: Shape,
                   axes: Shape, eps: float, centred: bool) -> Triple:
    """The gradients of x, weight and bias in their shapes, by what `normalize` gave and got."""
    if x.size == 0:
        zeros = mx.zeros(weight.shape, x.dtype)
        return x, zeros, zeros
    if _is_by_rows(x, shape):
        rows, size = (shape[0], shape[2]), weight.size
        operands = [x.reshape(rows), weight.reshape(-1), mx.zeros(size, x.dtype)]
        found = mx.vjp(_by_rows(eps, centred), operands, [g.reshape(rows)])[1]
        return found[0].reshape(x.shape), found[1].reshape(weight.shape), found[2].reshape(weight.shape)
    slope, inverse = g.reshape(shape), mx.rsqrt(variance + eps)
    normal, inner = (x.reshape(shape) - mean) * inverse, slope * weight.reshape(_form_of_weights(shape))
    level = inner - _mean(inner, axes) if centred else inner
    others = tuple(axis for axis, size in enumerate(_form_of_weights(shape)) if size == 1)
    wide = accumulator(x.dtype)
    sums = [mx.sum(part.astype(wide), others).astype(x.dtype).reshape(weight.shape) for part in (slope * normal, slope)]
    return (inverse * (level - normal * _mean(inner * normal, axes))).reshape(x.shape), sums[0], sums[1]
