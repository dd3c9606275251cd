"""Weighted sums of elements at given places of planes, and both gradients: what sampling at points comes to.

x and its gradient are (batch, channels, size), what is sampled is (batch, channels, points), places and weights are
(taps, batch, points). Of a sum the taps come in order, of the gradient of weights the channels.
"""

from ..intrinsics import mark_kernel
from .typed import clear, scalar, shift


@scalar
def add_at(plane, places, weights, out, points):
    """out += the elements of a plane at places, weighted."""
    for q in range(points):
        out[q] += weights[q] * plane[places[q]]


def sample(start, stop, x, places, weights, out, batch, channels, size, points, taps):
    """Unit: a plane of one image."""
    mark_kernel()
    for unit in range(start, stop):
        image, target = unit // channels, shift(out, unit * points)
        clear(target, points)
        for tap in range(taps):
            first = (tap * batch + image) * points
            add_at(shift(x, unit * size), shift(places, first), shift(weights, first), target, points)


def sample_input_grad(start, stop, g, places, weights, out, batch, channels, size, points, taps):
    """Unit: a plane of one image. Several points may add to one element, in order."""
    mark_kernel()
    for unit in range(start, stop):
        image, plane, slope = unit // channels, shift(out, unit * size), shift(g, unit * points)
        clear(plane, size)
        for tap in range(taps):
            first = (tap * batch + image) * points
            at, factor = shift(places, first), shift(weights, first)
            for q in range(points):
                plane[at[q]] += factor[q] * slope[q]


def sample_weight_grad(start, stop, x, g, places, out, batch, channels, size, points, taps):
    """Unit: a tap of one image."""
    mark_kernel()
    for unit in range(start, stop):
        image, target = unit % batch, shift(out, unit * points)
        clear(target, points)
        for channel in range(channels):
            plane = image * channels + channel
            add_at(shift(x, plane * size), shift(places, unit * points), shift(g, plane * points), target, points)
