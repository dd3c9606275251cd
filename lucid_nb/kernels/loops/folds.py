"""Folds in the type of the result: sums, products and extremes of integers, counts, truth; products of floats.

Integers wrap, so no order changes a bit. A product of floats is taken in float64 (in float32 the product of a few
hundred numbers leaves the range that the whole may well come back to): a block in any order, blocks in theirs.
"""

import numpy as np

from ..intrinsics import mark_kernel
from .reduction import panel_at
from .sums import is_odd, tell
from .typed import block, convert, out_of_line, scalar, shift, stack_doubles, stack_like, times

BLOCK, PANEL = 1024, 512


# ------------------------------------------------------------------------------ what becomes of an element
@scalar
def itself(x, i):
    """The element."""
    return x[i]


@scalar
def is_true(x, i):
    """1 where the element is not 0."""
    return np.uint8(x[i] != 0)


@scalar
def is_number(x, i):
    """1 where the element is not NaN."""
    return np.uint8(x[i] == x[i])


@scalar
def number_or_one(x, i):
    """The element, 1 for NaN."""
    return x[i] if x[i] == x[i] else convert(x, 1)


@scalar
def as_result(out, value):
    """The value in the type of the result."""
    return convert(out, value)


@scalar
def as_double(out, value):
    """The value in float64."""
    return np.float64(value)


@scalar
def is_done(total):
    """Whether nothing that follows can change the total."""
    return False


@scalar
def is_zero(total):
    """Whether one was false."""
    return total == 0


@scalar
def is_one(total):
    """Whether one was true."""
    return total != 0


@scalar
def plus(a, b):
    """Sum."""
    return a + b


@scalar
def product(a, b):
    """Product, in the order that is written."""
    return a * b


@scalar
def larger(a, b):
    """Maximum of integers."""
    return a if a > b else b


@scalar
def smaller(a, b):
    """Minimum of integers."""
    return a if a < b else b


@scalar
def either(a, b):
    """Whether one of two is true."""
    return a | b


@scalar
def both(a, b):
    """Whether two are true."""
    return a & b


# ------------------------------------------------------------------------------------------------- kernels
def block_fold_of(value, fit, step):
    """The function that folds a block of elements by `step` in any order; it takes the result for its type."""
    @block
    def block_fold(x, out, count):
        """The fold of 1 to BLOCK contiguous elements."""
        mark_kernel()
        out_of_line()
        total = fit(out, value(x, 0))
        for i in range(1, count):
            total = fit(out, step(total, fit(out, value(x, i))))
        return total
    return block_fold


def row_kernels(value, fit, block_fold, combine, ends=is_done):
    """The kernels of rows, of their blocks, and of what blocks have left, which `combine` takes one after the other."""
    @scalar
    def fold(x, out, cols):
        """The fold of at least one contiguous element, block after block."""
        total = block_fold(x, out, min(BLOCK, cols))
        for first in range(BLOCK, cols, BLOCK):
            if ends(total):
                break
            total = fit(out, combine(total, block_fold(shift(x, first), out, min(BLOCK, cols - first))))
        return total

    def rows_kernel(start, stop, x, out, cols, row_step, told):
        """Unit: a row."""
        mark_kernel()
        odd = np.int32(0)
        for unit in range(start, stop):
            result = convert(out, fold(shift(x, unit * row_step), out, cols))
            out[unit] = result
            odd |= is_odd(result)
        tell(odd, told)

    def row_blocks_kernel(start, stop, x, out, cols, row_step, blocks):
        """Unit: one of the `blocks` blocks of a row."""
        mark_kernel()
        for unit in range(start, stop):
            first = unit % blocks * BLOCK
            out[unit] = block_fold(shift(x, unit // blocks * row_step + first), out, min(BLOCK, cols - first))

    def merge_kernel(start, stop, parts, out, blocks, row_step, told):
        """Unit: a row of folded blocks."""
        mark_kernel()
        odd = np.int32(0)
        for unit in range(start, stop):
            total = fit(out, parts[unit * blocks])
            for k in range(unit * blocks + 1, (unit + 1) * blocks):
                total = fit(out, combine(total, fit(out, parts[k])))
            out[unit] = convert(out, total)
            odd |= is_odd(convert(out, total))
        tell(odd, told)
    return rows_kernel, row_blocks_kernel, merge_kernel


def columns_kernel(value, fit, combine, memory):
    """The kernel of columns; `memory` makes room on the stack for what `fit` gives."""
    @scalar
    def fold(x, out, rows, step, total, width):
        """total = the folded columns of at least one row, in one order whatever the panels are."""
        for j in range(width):
            total[j] = fit(out, value(x, j))
        for row in range(1, rows - 3, 4):
            a, b = shift(x, row * step), shift(x, (row + 1) * step)
            c, d = shift(x, (row + 2) * step), shift(x, (row + 3) * step)
            for j in range(width):
                first = fit(out, combine(fit(out, value(a, j)), fit(out, value(b, j))))
                second = fit(out, combine(fit(out, value(c, j)), fit(out, value(d, j))))
                total[j] = fit(out, combine(total[j], fit(out, combine(first, second))))
        for row in range(rows - (rows - 1) % 4, rows):
            line = shift(x, row * step)
            for j in range(width):
                total[j] = fit(out, combine(total[j], fit(out, value(line, j))))

    def kernel(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel, told):
        """Unit: one of the `panels` panels of `panel` columns of an outer slice."""
        mark_kernel()
        total, odd = memory(out, PANEL), np.int32(0)
        for unit in range(start, stop):
            outer, left, width = panel_at(unit, panels, panel, cols)
            fold(shift(x, outer * outer_step + left), out, rows, row_step, total, width)
            line = shift(out, outer * cols + left)
            for j in range(width):
                line[j] = convert(out, total[j])
                odd |= is_odd(line[j])
        tell(odd, told)
    return kernel


def kernels(value, step, ends=is_done):
    """All kernels of a fold in the type of the result, in which no order changes a bit."""
    rows = row_kernels(value, as_result, block_fold_of(value, as_result, step), step, ends)
    return *rows, columns_kernel(value, as_result, step, stack_like)


def product_kernels(value):
    """All kernels of a product of floats, in float64."""
    rows = row_kernels(value, as_double, block_fold_of(value, as_double, times), product)
    return *rows, columns_kernel(value, as_double, product, stack_doubles)


sum_rows, sum_row_blocks, sum_merge, sum_columns = kernels(itself, plus)
product_rows, product_row_blocks, product_merge, product_columns = kernels(itself, product)
max_rows, max_row_blocks, max_merge, max_columns = kernels(itself, larger)
min_rows, min_row_blocks, min_merge, min_columns = kernels(itself, smaller)
any_rows, any_row_blocks, any_merge, any_columns = kernels(is_true, either, is_one)
all_rows, all_row_blocks, all_merge, all_columns = kernels(is_true, both, is_zero)
truths_rows, truths_row_blocks, truths_merge, truths_columns = kernels(is_true, plus)
numbers_rows, numbers_row_blocks, numbers_merge, numbers_columns = kernels(is_number, plus)
prod_rows, prod_row_blocks, prod_merge, prod_columns = product_kernels(itself)
nanprod_rows, nanprod_row_blocks, nanprod_merge, nanprod_columns = product_kernels(number_or_one)
