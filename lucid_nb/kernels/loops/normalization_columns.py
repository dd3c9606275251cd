"""Normalisation of a batch of vectors: each column by its own statistics, a panel of columns at a time.

As loops/normalization.py; sums of ROW_BLOCK rows are totalled in float64.
"""

import numpy as np

from ..intrinsics import mark_kernel, square_root
from .typed import clear, convert, finite_or_zero, scalar, shift, stack_like, stack_of

ROW_BLOCK, PANEL, FEW = 32, 128, 8


@scalar
def flush(part, total, width):
    """total += part, and part = 0."""
    for j in range(width):
        total[j] += np.float64(part[j])
        part[j] = convert(part, 0)


@scalar
def rough_means(x, rows, step, middle, width):
    """middle = the mean of the first elements of each column."""
    clear(middle, width)
    count = min(FEW, rows)
    for row in range(1, count):
        a = shift(x, row * step)
        for j in range(width):
            middle[j] += a[j] - x[j]
    for j in range(width):
        middle[j] = finite_or_zero(x, x[j] + middle[j] / convert(x, count))


@scalar
def move_far_means(middle, off, square, count, width):
    """Move the middles that are too far from their means, as in loops/normalization.py, there; whether any was."""
    moved = 0
    for j in range(width):
        is_far = 2.0 * off[j] * off[j] > square[j] * count
        middle[j] += convert(middle, off[j] / count if is_far else 0.0)
        moved += is_far
    return moved > 0


@scalar
def column_sums(x, rows, step, middle, part, part_square, off, square, width):
    """Of each column the sum of deviations from its middle, and of their squares."""
    clear(part, width)
    clear(part_square, width)
    clear(off, width)
    clear(square, width)
    for first in range(0, rows, ROW_BLOCK):
        last, row = min(rows, first + ROW_BLOCK), first
        while row + 4 <= last:
            a, b = shift(x, row * step), shift(x, (row + 1) * step)
            c, d = shift(x, (row + 2) * step), shift(x, (row + 3) * step)
            for j in range(width):
                one, two, three, four = a[j] - middle[j], b[j] - middle[j], c[j] - middle[j], d[j] - middle[j]
                part[j] += (one + two) + (three + four)
                part_square[j] += (one * one + two * two) + (three * three + four * four)
            row += 4
        while row < last:
            a = shift(x, row * step)
            for j in range(width):
                one = a[j] - middle[j]
                part[j] += one
                part_square[j] += one * one
            row += 1
        flush(part, off, width)
        flush(part_square, square, width)


@scalar
def spread_columns(x, out, rows, step, mean, scale, bias, width):
    """out = (x - mean) * scale + bias, all three for each column."""
    row = 0
    while row + 2 <= rows:
        a, b = shift(x, row * step), shift(x, (row + 1) * step)
        first, second = shift(out, row * step), shift(out, (row + 1) * step)
        for j in range(width):
            first[j], second[j] = (a[j] - mean[j]) * scale[j] + bias[j], (b[j] - mean[j]) * scale[j] + bias[j]
        row += 2
    if row < rows:
        a, first = shift(x, row * step), shift(out, row * step)
        for j in range(width):
            first[j] = (a[j] - mean[j]) * scale[j] + bias[j]


def batch_columns(start, stop, x, weight, bias, out, mean, variance, rows, cols, eps):
    """Unit: a panel of PANEL columns."""
    mark_kernel()
    middle, part, part_square = stack_like(x, PANEL), stack_like(x, PANEL), stack_like(x, PANEL)
    off, square, count = stack_of(np.float64, PANEL), stack_of(np.float64, PANEL), np.float64(rows)
    for unit in range(start, stop):
        left = unit * PANEL
        width, corner = min(PANEL, cols - left), shift(x, left)
        rough_means(corner, rows, cols, middle, width)
        column_sums(corner, rows, cols, middle, part, part_square, off, square, width)
        if move_far_means(middle, off, square, count, width):
            column_sums(corner, rows, cols, middle, part, part_square, off, square, width)
        average, spread = shift(mean, left), shift(variance, left)
        for j in range(width):
            moved = off[j] / count
            rest = (square[j] - off[j] * moved) / count
            rest = rest if rest > 0.0 or rest != rest else 0.0
            average[j], spread[j] = convert(x, np.float64(middle[j]) + moved), convert(x, rest)
            part[j] = convert(x, np.float64(weight[left + j]) / square_root(rest + eps))
        spread_columns(corner, shift(out, left), rows, cols, average, part, shift(bias, left), width)


@scalar
def column_slope_sums(g, x, rows, step, mean, part, part_moment, total, moment, width):
    """Of each column the sum of g, and of g times the deviation of x from its mean."""
    clear(part, width)
    clear(part_moment, width)
    clear(total, width)
    clear(moment, width)
    for first in range(0, rows, ROW_BLOCK):
        last, row = min(rows, first + ROW_BLOCK), first
        while row + 4 <= last:
            a, b, c, d = row * step, (row + 1) * step, (row + 2) * step, (row + 3) * step
            ga, gb, gc, gd = shift(g, a), shift(g, b), shift(g, c), shift(g, d)
            xa, xb, xc, xd = shift(x, a), shift(x, b), shift(x, c), shift(x, d)
            for j in range(width):
                part[j] += (ga[j] + gb[j]) + (gc[j] + gd[j])
                part_moment[j] += ((ga[j] * (xa[j] - mean[j]) + gb[j] * (xb[j] - mean[j]))
                                   + (gc[j] * (xc[j] - mean[j]) + gd[j] * (xd[j] - mean[j])))
            row += 4
        while row < last:
            ga, xa = shift(g, row * step), shift(x, row * step)
            for j in range(width):
                part[j] += ga[j]
                part_moment[j] += ga[j] * (xa[j] - mean[j])
            row += 1
        flush(part, total, width)
        flush(part_moment, moment, width)


@scalar
def column_slopes(g, x, out, rows, step, middle, factor, level, tilt, width):
    """out = g * factor - level - (x - middle) * tilt, all four for each column."""
    row = 0
    while row + 2 <= rows:
        a, b, first, second = row * step, (row + 1) * step, shift(out, row * step), shift(out, (row + 1) * step)
        ga, gb, xa, xb = shift(g, a), shift(g, b), shift(x, a), shift(x, b)
        for j in range(width):
            first[j] = ga[j] * factor[j] - level[j] - (xa[j] - middle[j]) * tilt[j]
            second[j] = gb[j] * factor[j] - level[j] - (xb[j] - middle[j]) * tilt[j]
        row += 2
    if row < rows:
        ga, xa, first = shift(g, row * step), shift(x, row * step), shift(out, row * step)
        for j in range(width):
            first[j] = ga[j] * factor[j] - level[j] - (xa[j] - middle[j]) * tilt[j]


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
        column_slopes(shift(g, left), shift(x, left), shift(out, left), rows, cols, middle, factor, level, tilt, width)
