"""Resampling along an axis: each result is a weighted sum of few elements, given as a sparse matrix by rows.

Row j of the matrix has the entries starts[j] to starts[j + 1] of `places` and `weights`.
"""

import numpy as np

from ..intrinsics import mark_kernel
from .typed import clear, convert, scalar, shift


@scalar
def add_pair(a, b, first, second, out, width):
    """out += first * a + second * b."""
    for i in range(width):
        out[i] += first * a[i] + second * b[i]


@scalar
def set_pair(a, b, first, second, out, width):
    """out = first * a + second * b."""
    for i in range(width):
        out[i] = first * a[i] + second * b[i]


@scalar
def add_scaled(a, factor, out, width):
    """out += factor * a."""
    for i in range(width):
        out[i] += factor * a[i]


def lines(start, stop, x, starts, places, weights, out, size, results, width):
    """Unit: one of the `results` lines of `width` elements, each a sum of some of `size` such lines."""
    mark_kernel()
    for unit in range(start, stop):
        row, corner, target = unit % results, unit // results * size, shift(out, unit * width)
        first, last = starts[row], starts[row + 1]
        if last - first >= 2:
            set_pair(shift(x, (corner + places[first]) * width), shift(x, (corner + places[first + 1]) * width),
                     convert(x, weights[first]), convert(x, weights[first + 1]), target, width)
            first += 2
        else:
            clear(target, width)
        while first + 2 <= last:
            add_pair(shift(x, (corner + places[first]) * width), shift(x, (corner + places[first + 1]) * width),
                     convert(x, weights[first]), convert(x, weights[first + 1]), target, width)
            first += 2
        if first < last:
            add_scaled(shift(x, (corner + places[first]) * width), convert(x, weights[first]), target, width)


def elements(start, stop, x, starts, places, weights, out, size, results):
    """Unit: a row of `size` elements, which become `results`."""
    mark_kernel()
    for unit in range(start, stop):
        line, target = shift(x, unit * size), shift(out, unit * results)
        for row in range(results):
            total = 0.0
            for k in range(starts[row], starts[row + 1]):
                total += weights[k] * np.float64(line[places[k]])
            target[row] = convert(x, total)
