"""Means and sums of squared deviations, in one pass through memory: blocks that fit the cache, merged in order.

A block is read twice while it is near: for a rough mean, and for the sums of deviations from it and of their squares,
of which the first corrects the second (the corrected two-pass algorithm). Blocks are merged in float64 by the update of
T. F. Chan, G. H. Golub and R. J. LeVeque (The American Statistician 37, 1983). Rough means are taken of distances to
the block's first element, so that equal elements have their own value for a mean and deviate by nothing.

Results lie in one array: `results` means, then as many sums of squares.
"""

import numpy as np

from ..intrinsics import mark_kernel
from .reduction import panel_at
from .typed import block, convert, out_of_line, plus, scalar, shift, stack_like, stack_of

BLOCK, ROW_BLOCK, PANEL = 1024, 32, 512


@block
def deviations(x, count, sums):
    """sums = the mean of 1 to BLOCK elements, and the sum of squared deviations from it."""
    mark_kernel()
    out_of_line()
    first = x[0]
    rough = convert(x, 0)
    for i in range(count):
        rough = plus(rough, x[i] - first)
    middle = first + rough / convert(x, count)
    off, square = convert(x, 0), convert(x, 0)
    for i in range(count):
        deviation = x[i] - middle
        off = plus(off, deviation)
        square = plus(square, deviation * deviation)
    shift_of_mean = np.float64(off) / count
    sums[0] = np.float64(middle) + shift_of_mean
    sums[1] = max(np.float64(square) - np.float64(off) * shift_of_mean, 0.0) if square == square else np.float64(square)


@scalar
def merged(mean, square, count, other_mean, other_square, other_count):
    """The mean and the sum of squared deviations of two sets of elements."""
    distance, total = other_mean - mean, count + other_count
    share = other_count / total
    return mean + distance * share, square + other_square + distance * distance * (count * share)


def moment_rows(start, stop, x, means, cols, row_step, results):
    """Unit: a row."""
    mark_kernel()
    sums, squares = stack_of(np.float64, 2), shift(means, results)
    for row in range(start, stop):
        line = shift(x, row * row_step)
        deviations(line, min(BLOCK, cols), sums)
        mean, square = sums[0], sums[1]
        for first in range(BLOCK, cols, BLOCK):
            count = min(BLOCK, cols - first)
            deviations(shift(line, first), count, sums)
            mean, square = merged(mean, square, np.float64(first), sums[0], sums[1], np.float64(count))
        means[row], squares[row] = mean, square


def moment_row_blocks(start, stop, x, means, cols, row_step, blocks, results):
    """Unit: one of the `blocks` blocks of a row."""
    mark_kernel()
    sums, squares = stack_of(np.float64, 2), shift(means, results)
    for unit in range(start, stop):
        first = unit % blocks * BLOCK
        deviations(shift(x, unit // blocks * row_step + first), min(BLOCK, cols - first), sums)
        means[unit], squares[unit] = sums[0], sums[1]


def moment_merge(start, stop, part_means, means, blocks, cols, results):
    """Unit: a row of blocks."""
    mark_kernel()
    part_squares, squares = shift(part_means, results * blocks), shift(means, results)
    for row in range(start, stop):
        mean, square = part_means[row * blocks], part_squares[row * blocks]
        for k in range(1, blocks):
            part, first = row * blocks + k, k * BLOCK
            mean, square = merged(mean, square, np.float64(first), part_means[part], part_squares[part],
                                  np.float64(min(BLOCK, cols - first)))
        means[row], squares[row] = mean, square


@scalar
def column_deviations(x, rows, step, middle, off, square, width):
    """Of 1 to ROW_BLOCK rows the rough means of columns, the sums of deviations from them, and of their squares."""
    for j in range(width):
        middle[j], off[j], square[j] = convert(x, 0), convert(x, 0), convert(x, 0)
    for row in range(1, rows):
        line = shift(x, row * step)
        for j in range(width):
            middle[j] += line[j] - x[j]
    for j in range(width):
        middle[j] = x[j] + middle[j] / convert(x, rows)
    for row in range(rows):
        line = shift(x, row * step)
        for j in range(width):
            deviation = line[j] - middle[j]
            off[j] += deviation
            square[j] += deviation * deviation


def moment_columns(start, stop, x, means, rows, cols, outer_step, row_step, panels, panel, results):
    """Unit: one of the `panels` panels of `panel` columns of an outer slice."""
    mark_kernel()
    squares = shift(means, results)
    middle, off, square = stack_like(x, PANEL), stack_like(x, PANEL), stack_like(x, PANEL)
    for unit in range(start, stop):
        outer, left, width = panel_at(unit, panels, panel, cols)
        corner, place = shift(x, outer * outer_step + left), outer * cols + left
        mean, total = shift(means, place), shift(squares, place)
        for row in range(0, rows, ROW_BLOCK):
            count = min(ROW_BLOCK, rows - row)
            column_deviations(shift(corner, row * row_step), count, row_step, middle, off, square, width)
            share, inverse = np.float64(count) / np.float64(row + count), 1.0 / np.float64(count)
            before = np.float64(row)
            for j in range(width):
                change = np.float64(off[j]) * inverse
                part = np.float64(square[j]) - np.float64(off[j]) * change
                if row == 0:
                    mean[j], total[j] = np.float64(middle[j]) + change, part
                else:
                    distance = np.float64(middle[j]) + change - mean[j]
                    mean[j] += distance * share
                    total[j] += part + distance * distance * (before * share)
        for j in range(width):
            total[j] = total[j] if total[j] > 0.0 or total[j] != total[j] else 0.0
