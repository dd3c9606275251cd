"""Softmax and its kin down columns: as softmax_rows, a panel of columns at a time with its running values on the stack.

Within a panel every column is summed in the same order: ROW_BLOCK rows in the element type, their totals in float64.
"""

import numpy as np

from ..intrinsics import mark_kernel
from ..math.logarithm import log_float64
from .extremes import column_max
from .softmax_rows import inverse, log_or_zero, reference
from .typed import convert, exponential, scalar, shift, stack_like, stack_of

ROW_BLOCK, PANEL = 16, 512


@scalar
def clear(x, width):
    """x = 0."""
    """Zeros."""
    for j in range(width):
        x[j] = convert(x, 0)


@scalar
def flush(part, total, width):
    """total += part, and part = 0."""
    for j in range(width):
        total[j] += part[j]
        part[j] = convert(part, 0)


@scalar
def ends_block(row, rows):
    """Whether the sums of a block of rows are complete with this row."""
    return row % ROW_BLOCK == ROW_BLOCK - 1 or row == rows - 1


@scalar
def column_exp(x, out, rows, step, out_step, top, part, total, width):
    """out = exp(x - top), and total = the column sums of it."""
    clear(part, width)
    clear(total, width)
    for row in range(rows):
        line, target = shift(x, row * step), shift(out, row * out_step)
        for j in range(width):
            value = exponential(line[j] - top[j])
            target[j] = value
            part[j] += value
        if ends_block(row, rows):
            flush(part, total, width)


@scalar
def column_exp_sum(x, rows, step, top, part, total, width):
    """total = the column sums of exp(x - top)."""
    clear(part, width)
    clear(total, width)
    for row in range(rows):
        line = shift(x, row * step)
        for j in range(width):
            part[j] += exponential(line[j] - top[j])
        if ends_block(row, rows):
            flush(part, total, width)


@scalar
def column_top(x, rows, step, top, width):
    """top = what distances are taken to in each column."""
    column_max(x, rows, step, top, width)
    for j in range(width):
        top[j] = reference(top[j], x)


def softmax_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice; out is contiguous."""
    mark_kernel()
    top, part, total = stack_like(x, PANEL), stack_like(x, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        outer, left = unit // panels, unit % panels * panel
        width, corner = min(panel, cols - left), shift(x, outer * outer_step + left)
        target = shift(out, outer * rows * cols + left)
        column_top(corner, rows, row_step, top, width)
        column_exp(corner, target, rows, row_step, cols, top, part, total, width)
        for j in range(width):
            part[j] = convert(x, inverse(total[j]))
        for row in range(rows):
            line = shift(target, row * cols)
            for j in range(width):
                line[j] *= part[j]


def log_softmax_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice; out is contiguous."""
    mark_kernel()
    top, part, total = stack_like(x, PANEL), stack_like(x, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        outer, left = unit // panels, unit % panels * panel
        width, corner = min(panel, cols - left), shift(x, outer * outer_step + left)
        target = shift(out, outer * rows * cols + left)
        column_top(corner, rows, row_step, top, width)
        column_exp_sum(corner, rows, row_step, top, part, total, width)
        for j in range(width):
            part[j] = convert(x, log_or_zero(total[j]))
        for row in range(rows):
            line, slope = shift(corner, row * row_step), shift(target, row * cols)
            for j in range(width):
                slope[j] = (line[j] - top[j]) - part[j]


def logsumexp_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice."""
    mark_kernel()
    top, part, total = stack_like(x, PANEL), stack_like(x, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        outer, left = unit // panels, unit % panels * panel
        width, corner = min(panel, cols - left), shift(x, outer * outer_step + left)
        target = shift(out, outer * cols + left)
        column_top(corner, rows, row_step, top, width)
        column_exp_sum(corner, rows, row_step, top, part, total, width)
        for j in range(width):
            value = convert(x, float(top[j]) + log_float64(total[j]))
            target[j] = top[j] if top[j] == np.inf else value


def softmax_grad_columns(start, stop, y, g, out, rows, cols, panels, panel):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice; all are contiguous."""
    mark_kernel()
    part, total = stack_like(y, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        left = unit % panels * panel
        corner, width = unit // panels * rows * cols + left, min(panel, cols - left)
        clear(part, width)
        clear(total, width)
        for row in range(rows):
            line, slope = shift(y, corner + row * cols), shift(g, corner + row * cols)
            for j in range(width):
                part[j] += line[j] * slope[j]
            if ends_block(row, rows):
                flush(part, total, width)
        for j in range(width):
            part[j] = convert(y, total[j])
        for row in range(rows):
            place = corner + row * cols
            line, slope, target = shift(y, place), shift(g, place), shift(out, place)
            for j in range(width):
                target[j] = line[j] * (slope[j] - part[j])


def log_softmax_grad_columns(start, stop, y, g, out, rows, cols, panels, panel):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice; all are contiguous."""
    mark_kernel()
    part, total = stack_like(y, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        left = unit % panels * panel
        corner, width = unit // panels * rows * cols + left, min(panel, cols - left)
        clear(part, width)
        clear(total, width)
        for row in range(rows):
            slope = shift(g, corner + row * cols)
            for j in range(width):
                part[j] += slope[j]
            if ends_block(row, rows):
                flush(part, total, width)
        for j in range(width):
            part[j] = convert(y, total[j])
        for row in range(rows):
            place = corner + row * cols
            line, slope, target = shift(y, place), shift(g, place), shift(out, place)
            for j in range(width):
                target[j] = slope[j] - exponential(line[j]) * part[j]
