"""Pools by their definition, a window at a time: the oracle of their tests."""

from itertools import product

import numpy as np


def window_cells(size, taps, stride, padding, dilation, result):
    """The cells of a window along one axis, padding among them."""
    return [result * stride - padding + dilation * tap for tap in range(taps)]


def result_count(size, taps, stride, padding, dilation, ceil_mode):
    """How many windows there are: all that fit, and by ceil_mode one for cells that are left, if it starts in x."""
    count, read = 0, 0
    while True:
        cells = window_cells(size, taps, stride, padding, dilation, count)
        if cells[-1] >= size + padding:
            return count + bool(ceil_mode and read < size + padding and cells[0] < size)
        read, count = cells[-1] + 1, count + 1


def pools(shape, kernel, stride, padding, dilation, ceil_mode):
    """(result shape, [(result index, cells of each axis)])."""
    axes = [[window_cells(n, k, s, p, d, i) for i in range(result_count(n, k, s, p, d, ceil_mode))]
            for n, k, s, p, d in zip(shape, kernel, stride, padding, dilation)]
    results = tuple(map(len, axes))
    return results, [(index, [axis[i] for axis, i in zip(axes, index)]) for index in np.ndindex(*results)]


def existing(cells, sizes):
    """The places in the flat plane of the cells that exist, in order."""
    return [int(np.ravel_multi_index(place, sizes)) for place in product(*cells)
            if all(0 <= at < n for at, n in zip(place, sizes))]


def max_pool(x, sizes, results, windows):
    """Maxima and places of planes (count, *sizes): the first NaN, otherwise the first of the largest."""
    flat = x.reshape(-1, int(np.prod(sizes)))
    values, places = np.zeros((len(flat), *results), x.dtype), np.zeros((len(flat), *results), np.int64)
    for index, cells in windows:
        read = np.array(existing(cells, sizes))
        best = np.argmax(flat[:, read], axis=1)
        places[(slice(None), *index)] = read[best]
        values[(slice(None), *index)] = np.take_along_axis(flat[:, read], best[:, None], 1)[:, 0]
    return values, places


def avg_matrix(sizes, results, windows, padding, include_padding, divisor):
    """(results, cells): the linear map that averages are; its transpose is their gradient."""
    matrix = np.zeros((int(np.prod(results)), int(np.prod(sizes))))
    for row, (_, cells) in enumerate(windows):
        read = existing(cells, sizes)
        counted = np.prod([sum(-p <= at < n + p for at in axis) for axis, n, p in zip(cells, sizes, padding)])
        matrix[row, read] = 1 / (divisor or (counted if include_padding else len(read)))
    return matrix
