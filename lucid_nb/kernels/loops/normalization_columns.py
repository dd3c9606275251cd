"""Normalisation of a batch of vectors: each column by its own statistics, a panel of columns at a time.

As loops/normalization.py; sums of ROW_BLOCK rows are totalled in float64.
"""

import numpy as np

from ..intrinsics import mark_kernel, square_root
from .typed import clear, convert, scalar, shift, stack_like, stack_of

ROW_BLOCK, PANEL = 32, 128


@scalar
def flush(part, total, width):
    """total += part, and part = 0."""
    for j in range(width):
        total[j] += np.float64(part[j])
        part[j] = convert(part, 0)


@scalar
def ends_block(row, rows):
    """Whether the sums of a block of rows are complete with this row."""
    return row % ROW_BLOCK == ROW_BLOCK - 1 or row == rows - 1


@scalar
def rough_means(x, rows, step, middle, part, total, width):
    """middle = the rough mean of each column."""
    clear(part, width)
    clear(total, width)
    for row in range(rows):
        line = shift(x, row * step)
        for j in range(width):
            part[j] += line[j] - x[j]
        if ends_block(row, rows):
            flush(part, total, width)
    for j in range(width):
        middle[j] = x[j] + convert(x, total[j] / np.float64(rows))


@scalar
def column_sums(x, rows, step, middle, part, part_square, off, square, width):
    """Of each column the sum of deviations from its middle, and of their squares."""
    clear(part, width)
    clear(part_square, width)
    clear(off, width)
    clear(square, width)
    for row in range(rows):
        line = shift(x, row * step)
        for j in range(width):
            deviation = line[j] - middle[j]
            part[j] += deviation
            part_square[j] += deviation * deviation
        if ends_block(row, rows):
            flush(part, off, width)
            flush(part_square, square, width)


def batch_columns(start, stop, x, weight, bias, out, mean, variance, rows, cols, eps):
    """Unit: a panel of PANEL columns."""
    mark_kernel()
    middle, part, part_square = stack_like(x, PANEL), stack_like(x, PANEL), stack_like(x, PANEL)
    off, square, count = stack_of(np.float64, PANEL), stack_of(np.float64, PANEL), np.float64(rows)
    for unit in range(start, stop):
        left = unit * PANEL
        width, corner, target = min(PANEL, cols - left), shift(x, left), shift(out, left)
        rough_means(corner, rows, cols, middle, part, off, width)
        column_sums(corner, rows, cols, middle, part, part_square, off, square, width)
        average, spread = shift(mean, left), shift(variance, left)
        for j in range(width):
            moved = off[j] / count
            rest = (square[j] - off[j] * moved) / count
            rest = rest if rest > 0.0 or rest != rest else 0.0
            average[j], spread[j] = convert(x, np.float64(middle[j]) + moved), convert(x, rest)
            part[j] = convert(x, np.float64(weight[left + j]) / square_root(rest + eps))
        for row in range(rows):
            line, result, shifts = shift(corner, row * cols), shift(target, row * cols), shift(bias, left)
            for j in range(width):
                result[j] = (line[j] - average[j]) * part[j] + shifts[j]


@scalar
def column_slope_sums(g, x, rows, step, mean, part, part_moment, total, moment, width):
    """Of each column the sum of g, and of g times the deviation of x from its mean."""
    clear(part, width)
    clear(part_moment, width)
    clear(total, width)
    clear(moment, width)
    for row in range(rows):
        line, above = shift(x, row * step), shift(g, row * step)
        for j in range(width):
            part[j] += above[j]
            part_moment[j] += above[j] * (line[j] - mean[j])
        if ends_block(row, rows):
            flush(part, total, width)
            flush(part_moment, moment, width)


def batch_grad_columns(start, stop, g, x, weight, mean, variance, out, of_weight, of_bias, rows, cols, eps):
    """Unit: a panel of PANEL columns."""
    mark_kernel()
    factor, level, tilt = stack_like(x, PANEL), stack_like(x, PANEL), stack_like(x, PANEL)
    total, moment, count = stack_of(np.float64, PANEL), stack_of(np.float64, PANEL), np.float64(rows)
    for unit in range(start, stop):
        left = unit * PANEL
        width, middle = min(PANEL, cols - left), shift(mean, left)
        column_slope_sums(shift(g, left), shift(x, left), rows, cols, middle, level, tilt, total, moment, width)
        for j in range(width):
            inverse = 1.0 / square_root(np.float64(variance[left + j]) + eps)
            scale = np.float64(weight[left + j]) * inverse
            of_weight[left + j], of_bias[left + j] = convert(x, moment[j] * inverse), convert(x, total[j])
            factor[j], level[j] = convert(x, scale), convert(x, scale * total[j] / count)
            tilt[j] = convert(x, scale * inverse * inverse * moment[j] / count)
        for row in range(rows):
            place = row * cols + left
            line, above, result = shift(x, place), shift(g, place), shift(out, place)
            for j in range(width):
                result[j] = above[j] * factor[j] - level[j] - (line[j] - middle[j]) * tilt[j]
