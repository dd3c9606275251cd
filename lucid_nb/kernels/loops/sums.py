"""Sums: blocks of fixed size in the element type, their totals merged in order in float64, rounding errors kept.

A total of block totals is compensated (Neumaier, ZAMM 54, 1974, with Knuth's branch-free error term), so a block of
1 KiB, which has no longer chain of additions than NumPy's pairwise sum, decides the error. Rows and columns may be cut
into blocks by one kernel and merged by another: the bits are those of the kernel that does both.
"""

import numpy as np

from ..intrinsics import mark_kernel
from ..math.common import two_sum
from .typed import block, convert, item_size, out_of_line, plus, scalar, shift, stack_like, stack_of

BLOCK_BYTES, ROW_BLOCK, PANEL = 1024, 32, 512


@block
def block_sum(x, count):
    """The sum of at most a block of contiguous elements."""
    mark_kernel()
    out_of_line()
    total = convert(x, 0)
    for i in range(count):
        total = plus(total, x[i])
    return total


@scalar
def add(total, carry, value):
    """total + value, and carry plus what that sum rounded away."""
    result, lost = two_sum(total, value)
    return result, carry + lost


@scalar
def settle(total, carry):
    """The compensated total; an infinite one has no meaningful carry."""
    return total + carry if carry == carry else total


@scalar
def row_sum(x, cols):
    """The sum of contiguous elements, as float64."""
    total, carry, size = 0.0, 0.0, BLOCK_BYTES // item_size(x)
    for first in range(0, cols, size):
        total, carry = add(total, carry, float(block_sum(shift(x, first), min(size, cols - first))))
    return settle(total, carry)


def sum_rows(start, stop, x, out, cols, row_step):
    """Unit: a row."""
    mark_kernel()
    for row in range(start, stop):
        out[row] = convert(out, row_sum(shift(x, row * row_step), cols))


def sum_row_blocks(start, stop, x, totals, cols, row_step, blocks):
    """Unit: one of the `blocks` blocks of a row."""
    mark_kernel()
    size = BLOCK_BYTES // item_size(x)
    for unit in range(start, stop):
        first = unit % blocks * size
        totals[unit] = block_sum(shift(x, unit // blocks * row_step + first), min(size, cols - first))


def merge_row_blocks(start, stop, totals, out, blocks):
    """Unit: a row of block totals."""
    mark_kernel()
    for row in range(start, stop):
        total, carry = 0.0, 0.0
        for k in range(row * blocks, (row + 1) * blocks):
            total, carry = add(total, carry, totals[k])
        out[row] = convert(out, settle(total, carry))


@scalar
def add_eight_rows(x, step, part, width):
    """part += the sum of eight rows, in one order for every column."""
    a, b, c, d = x, shift(x, step), shift(x, 2 * step), shift(x, 3 * step)
    e, f, g, h = shift(x, 4 * step), shift(x, 5 * step), shift(x, 6 * step), shift(x, 7 * step)
    for j in range(width):
        part[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]))


@scalar
def column_block(x, rows, step, part, width):
    """part = the column sums of at most ROW_BLOCK rows."""
    for j in range(width):
        part[j] = convert(x, 0)
    row = 0
    while row + 8 <= rows:
        add_eight_rows(shift(x, row * step), step, part, width)
        row += 8
    while row < rows:
        line = shift(x, row * step)
        for j in range(width):
            part[j] += line[j]
        row += 1


@scalar
def merge_column_block(part, total, carry, width):
    """total += part, where total has a carry."""
    for j in range(width):
        total[j], carry[j] = add(total[j], carry[j], float(part[j]))


@scalar
def settle_columns(total, carry, out, width):
    """out = the compensated totals."""
    for j in range(width):
        out[j] = convert(out, settle(total[j], carry[j]))


def sum_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels):
    """Unit: one of the `panels` panels of PANEL columns of an outer slice."""
    mark_kernel()
    part, total, carry = stack_like(x, PANEL), stack_of(np.float64, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        outer, left = unit // panels, unit % panels * PANEL
        width, corner = min(PANEL, cols - left), shift(x, outer * outer_step + left)
        for j in range(width):
            total[j], carry[j] = 0.0, 0.0
        for row in range(0, rows, ROW_BLOCK):
            column_block(shift(corner, row * row_step), min(ROW_BLOCK, rows - row), row_step, part, width)
            merge_column_block(part, total, carry, width)
        settle_columns(total, carry, shift(out, outer * cols + left), width)


def sum_column_blocks(start, stop, x, totals, rows, cols, outer_step, row_step, blocks):
    """Unit: one of the `blocks` blocks of ROW_BLOCK rows of an outer slice."""
    mark_kernel()
    part = stack_like(x, PANEL)
    for unit in range(start, stop):
        row = unit % blocks * ROW_BLOCK
        corner = shift(x, unit // blocks * outer_step + row * row_step)
        for left in range(0, cols, PANEL):
            width, line = min(PANEL, cols - left), shift(totals, unit * cols + left)
            column_block(shift(corner, left), min(ROW_BLOCK, rows - row), row_step, part, width)
            for j in range(width):
                line[j] = part[j]


def merge_column_blocks(start, stop, totals, out, blocks, cols):
    """Unit: an outer slice of block totals."""
    mark_kernel()
    total, carry = stack_of(np.float64, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        for left in range(0, cols, PANEL):
            width, corner = min(PANEL, cols - left), shift(totals, unit * blocks * cols + left)
            for j in range(width):
                total[j], carry[j] = 0.0, 0.0
            for k in range(blocks):
                merge_column_block(shift(corner, k * cols), total, carry, width)
            settle_columns(total, carry, shift(out, unit * cols + left), width)
