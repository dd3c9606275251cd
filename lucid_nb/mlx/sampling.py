"""Weighted sums of elements at given places, and both gradients: the sampling of images at the points of a grid."""

import mlx.core as mx

from . import runtime
from .runtime import entry


def _read(x: mx.array, places: mx.array) -> mx.array:
    """x (batch, channels, size) at the places (batch, points) of one tap."""
    return mx.take_along_axis(x, mx.broadcast_to(places[:, None], (*x.shape[:2], places.shape[1])), 2)


@entry
def sample(x: mx.array, places: mx.array, weights: mx.array) -> mx.array:
    """The sum over taps of weights times x at places: (batch, channels, size) to (batch, channels, points).

    places, within size, and weights are (taps, batch, points).
    """
    total = mx.zeros((*x.shape[:2], places.shape[2]), x.dtype)
    if total.size:
        for tap, weight in zip(places, weights):
            total = total + weight[:, None] * _read(x, tap)
    return total


@entry
def sample_input_grad(g: mx.array, places: mx.array, weights: mx.array, size: int) -> mx.array:
    """The gradient of x: g times weights, added up at the places one after the other, on the host's stream."""
    batch, channels, _ = g.shape
    zeros = mx.zeros((batch, size, channels), g.dtype)
    if 0 not in (zeros.size, g.size, places.size):
        images = mx.arange(batch)[:, None]
        rows = g.swapaxes(1, 2)
        with mx.stream(runtime.HOST_STREAM):
            for tap, weight in zip(places, weights):
                zeros = zeros.at[images, tap].add(rows * weight[..., None])
    return zeros.swapaxes(1, 2)


@entry
def sample_weight_grad(x: mx.array, g: mx.array, places: mx.array) -> mx.array:
    """The gradient of weights: the sum over channels of g times x at places."""
    if 0 in (x.size, g.size, places.size):
        return mx.zeros(places.shape, x.dtype)
    return mx.stack([mx.sum(g * _read(x, tap), 1) for tap in places])
