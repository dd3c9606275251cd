"""Sums: blocks of fixed size in the element type, their totals merged in order in float64, rounding errors kept.

A total of block totals is compensated (Neumaier, ZAMM 54, 1974, with Knuth's branch-free error term), so a block of
1 KiB, which has no longer chain of additions than NumPy's pairwise sum, decides the error. Rows and columns may be cut
into blocks by one kernel and merged by another: the bits are those of the kernel that does both. What is summed is a
function of the element: itself, 0 where it is NaN, its size, or its square (in float64, which float32 cannot overflow).

A kernel that writes results sets the word at the address `told` where one of them is infinite or NaN: only then does
anybody look for the reason.
"""

import numpy as np

from ..intrinsics import element, fabs, mark_kernel
from ..math.common import two_sum
from .typed import block, convert, item_size, out_of_line, plus, scalar, shift, stack_doubles, stack_like, stack_of

BLOCK_BYTES, ROW_BLOCK, PANEL = 1024, 32, 512
LEAST_SQUARES = 2.0 ** -100     # a sum of float32 squares above it has lost nothing that counts to underflow


# ------------------------------------------------------------------------------------------- what is summed
@scalar
def itself(x, i):
    """The element."""
    return x[i]


@scalar
def number(x, i):
    """The element, 0 for NaN."""
    return x[i] if x[i] == x[i] else convert(x, 0)


@scalar
def size(x, i):
    """The absolute value."""
    return fabs(x[i])


@scalar
def square(x, i):
    """The square, in float64."""
    return np.float64(x[i]) * np.float64(x[i])


@scalar
def own_square(x, i):
    """The square, in the element type."""
    return x[i] * x[i]


@scalar
def zero(x):
    """0 in the element type."""
    return convert(x, 0)


@scalar
def double_zero(x):
    """0 in float64."""
    return 0.0


# -------------------------------------------------------------------------------------------------- totals
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
def is_odd(x):
    """1 for infinities and NaN."""
    return np.int32(x - x != 0)


@scalar
def tell(odd, told):
    """Set the word at an address if something was odd."""
    if odd != 0:
        element(told, np.int64)[0] = 1


@scalar
def merge_column_block(part, total, carry, width):
    """total += part, where total has a carry."""
    for j in range(width):
        total[j], carry[j] = add(total[j], carry[j], float(part[j]))


@scalar
def settle_columns(total, carry, out, width):
    """out = the compensated totals; whether one of them is odd."""
    odd = np.int32(0)
    for j in range(width):
        value = convert(out, settle(total[j], carry[j]))
        out[j] = value
        odd |= is_odd(value)
    return odd


def merge_row_blocks(start, stop, totals, out, blocks, told):
    """Unit: a row of block totals."""
    mark_kernel()
    odd = np.int32(0)
    for row in range(start, stop):
        total, carry = 0.0, 0.0
        for k in range(row * blocks, (row + 1) * blocks):
            total, carry = add(total, carry, totals[k])
        value = convert(out, settle(total, carry))
        out[row] = value
        odd |= is_odd(value)
    tell(odd, told)


def merge_column_blocks(start, stop, totals, out, blocks, cols, told):
    """Unit: an outer slice of block totals."""
    mark_kernel()
    total, carry, odd = stack_of(np.float64, PANEL), stack_of(np.float64, PANEL), np.int32(0)
    for unit in range(start, stop):
        for left in range(0, cols, PANEL):
            width, corner = min(PANEL, cols - left), shift(totals, unit * blocks * cols + left)
            for j in range(width):
                total[j], carry[j] = 0.0, 0.0
            for k in range(blocks):
                merge_column_block(shift(corner, k * cols), total, carry, width)
            odd |= settle_columns(total, carry, shift(out, unit * cols + left), width)
    tell(odd, told)


# ----------------------------------------------------------------------------------------- kernels of rows
def block_sum_of(value, start_of):
    """The function that sums value(x, i) over a block."""
    @block
    def block_sum(x, count):
        """The sum over at most a block of contiguous elements."""
        mark_kernel()
        out_of_line()
        total = start_of(x)
        for i in range(count):
            total = plus(total, value(x, i))
        return total
    return block_sum


wide_square_sum, narrow_square_sum = block_sum_of(square, double_zero), block_sum_of(own_square, zero)


@block
def square_sum(x, count):
    """The sum of squares of a block: of float32 in float32, and again in float64 where squares left its range."""
    mark_kernel()
    out_of_line()
    if item_size(x) == 8:
        return wide_square_sum(x, count)
    total = np.float64(narrow_square_sum(x, count))
    return total if LEAST_SQUARES < total < np.inf else wide_square_sum(x, count)


def row_kernels(block_sum):
    """The sum of a row as a function, and the kernels of rows and of their blocks, from the sum of a block."""
    @scalar
    def row_sum(x, cols):
        """The sum over contiguous elements, as float64."""
        total, carry, length = 0.0, 0.0, BLOCK_BYTES // item_size(x)
        for first in range(0, cols, length):
            total, carry = add(total, carry, float(block_sum(shift(x, first), min(length, cols - first))))
        return settle(total, carry)

    def rows_kernel(start, stop, x, out, cols, row_step, told):
        """Unit: a row."""
        mark_kernel()
        odd = np.int32(0)
        for row in range(start, stop):
            result = convert(out, row_sum(shift(x, row * row_step), cols))
            out[row] = result
            odd |= is_odd(result)
        tell(odd, told)

    def row_blocks_kernel(start, stop, x, totals, cols, row_step, blocks):
        """Unit: one of the `blocks` blocks of a row."""
        mark_kernel()
        length = BLOCK_BYTES // item_size(x)
        for unit in range(start, stop):
            first = unit % blocks * length
            totals[unit] = block_sum(shift(x, unit // blocks * row_step + first), min(length, cols - first))
    return row_sum, rows_kernel, row_blocks_kernel


# -------------------------------------------------------------------------------------- kernels of columns
def column_fold(value, start_of):
    """The function that sums columns of value(x, i) over at most ROW_BLOCK rows."""
    @scalar
    def add_eight_rows(x, step, part, width):
        """part += the sum of eight rows, in one order for every column."""
        a, b, c, d = x, shift(x, step), shift(x, 2 * step), shift(x, 3 * step)
        e, f, g, h = shift(x, 4 * step), shift(x, 5 * step), shift(x, 6 * step), shift(x, 7 * step)
        for j in range(width):
            part[j] += (((value(a, j) + value(b, j)) + (value(c, j) + value(d, j)))
                        + ((value(e, j) + value(f, j)) + (value(g, j) + value(h, j))))

    @scalar
    def fold(x, rows, step, part, width):
        for j in range(width):
            part[j] = start_of(x)
        row = 0
        while row + 8 <= rows:
            add_eight_rows(shift(x, row * step), step, part, width)
            row += 8
        while row < rows:
            line = shift(x, row * step)
            for j in range(width):
                part[j] += value(line, j)
            row += 1
    return fold


def column_kernels(value, start_of, memory):
    """The kernels of columns and of their blocks of rows, of value(x, i); `memory` makes room on the stack."""
    fold = column_fold(value, start_of)

    def columns_kernel(start, stop, x, out, rows, cols, outer_step, row_step, panels, told):
        """Unit: one of the `panels` panels of PANEL columns of an outer slice."""
        mark_kernel()
        part, total, carry = memory(x, PANEL), stack_of(np.float64, PANEL), stack_of(np.float64, PANEL)
        odd = np.int32(0)
        for unit in range(start, stop):
            outer, left = unit // panels, unit % panels * PANEL
            width, corner = min(PANEL, cols - left), shift(x, outer * outer_step + left)
            for j in range(width):
                total[j], carry[j] = 0.0, 0.0
            for row in range(0, rows, ROW_BLOCK):
                fold(shift(corner, row * row_step), min(ROW_BLOCK, rows - row), row_step, part, width)
                merge_column_block(part, total, carry, width)
            odd |= settle_columns(total, carry, shift(out, outer * cols + left), width)
        tell(odd, told)

    def column_blocks_kernel(start, stop, x, totals, rows, cols, outer_step, row_step, blocks):
        """Unit: one of the `blocks` blocks of ROW_BLOCK rows of an outer slice."""
        mark_kernel()
        part = memory(x, PANEL)
        for unit in range(start, stop):
            row = unit % blocks * ROW_BLOCK
            corner = shift(x, unit // blocks * outer_step + row * row_step)
            for left in range(0, cols, PANEL):
                width, line = min(PANEL, cols - left), shift(totals, unit * cols + left)
                fold(shift(corner, left), min(ROW_BLOCK, rows - row), row_step, part, width)
                for j in range(width):
                    line[j] = part[j]
    return columns_kernel, column_blocks_kernel


row_sum, sum_rows, sum_row_blocks = row_kernels(block_sum_of(itself, zero))
sum_columns, sum_column_blocks = column_kernels(itself, zero, stack_like)
_, nansum_rows, nansum_row_blocks = row_kernels(block_sum_of(number, zero))
nansum_columns, nansum_column_blocks = column_kernels(number, zero, stack_like)
_, sizes_rows, sizes_row_blocks = row_kernels(block_sum_of(size, zero))
sizes_columns, sizes_column_blocks = column_kernels(size, zero, stack_like)
_, squares_rows, squares_row_blocks = row_kernels(square_sum)
squares_columns, squares_column_blocks = column_kernels(square, double_zero, stack_doubles)
