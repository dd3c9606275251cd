"""Softmax and its kin: the maximum, exponentials of the distance to it and their sum, and what is made of them.

Rows and columns share the formulas. A row sums exponentials by blocks in the element type, totalled in float64. Columns
are taken a panel at a time with its running values on the stack: ROW_BLOCK rows in the element type, then float64.
Where everything is -inf the distance is taken to 0, so the sum is 0: softmax is then 0, logsumexp and log_softmax are
-inf. An infinite or NaN maximum makes NaN of a whole slice by arithmetic alone.
"""

import numpy as np
from numba import njit

from ..intrinsics import fabs, mark_kernel
from ..math.logarithm import log_float64
from .extremes import column_max, row_max
from .reduction import panel_at
from .sums import row_sum
from .typed import block, clear, convert, exponential, out_of_line, plus, scalar, shift, stack_like, stack_of

BLOCK, ROW_BLOCK, PANEL = 256, 16, 512
# Put in by Numba: LLVM, which sees such a function before its caller, would unroll the whole block that it calls.
spliced = njit(error_model="numpy", fastmath={"contract"}, inline="always")


# ----------------------------------------------------------------------------------------------------- formulas
@scalar
def reference(best, x):
    """What distances are taken to: the maximum, 0 where that is -inf."""
    return best if best != -np.inf else convert(x, 0)


@scalar
def inverse(total):
    """1 / total, 0 for the sum over nothing but -inf."""
    return 1.0 / total if total != 0.0 else 0.0


@scalar
def log_or_zero(total):
    """log(total), 0 for the sum over nothing but -inf: those elements stay -inf."""
    return log_float64(total) if total != 0.0 else 0.0


@scalar
def share(value, power, top, scale):
    """Softmax of an element from power = exp(value - top)."""
    return power * scale


@scalar
def log_share(value, power, top, rest):
    """Log-softmax of an element."""
    return (value - top) - rest


@scalar
def product(y, g):
    """What the gradient of softmax sums."""
    return y * g


@scalar
def second(y, g):
    """What the gradient of log-softmax sums."""
    return g


@scalar
def share_slope(y, g, total):
    """The gradient of softmax."""
    return y * (g - total)


@scalar
def log_share_slope(y, g, total):
    """The gradient of log-softmax."""
    return g - exponential(y) * total


# --------------------------------------------------------------------------------------------------------- rows
def row_exponentials(kept):
    """The function that sums exp(x - top) over a row as float64, and where `kept` leaves them in out."""
    @block
    def block_exp(x, out, count, top):
        mark_kernel()
        out_of_line()
        total = convert(x, 0)
        for i in range(count):
            value = exponential(x[i] - top)
            if kept:
                out[i] = value
            total = plus(total, value)
        return total

    @scalar
    def row_exp(x, out, cols, top):
        total = 0.0
        for first in range(0, cols, BLOCK):
            total += float(block_exp(shift(x, first), shift(out, first), min(BLOCK, cols - first), top))
        return total
    return row_exp


row_exp, row_exp_sum = row_exponentials(True), row_exponentials(False)


def forward_rows(sums, settle, finish):
    """The kernel of softmax or its logarithm: finish(x, out, maximum, settle(sum)) of each element."""
    def rows(start, stop, x, out, cols, row_step):
        """Unit: a row; out is contiguous."""
        mark_kernel()
        for row in range(start, stop):
            line, target = shift(x, row * row_step), shift(out, row * cols)
            top = reference(row_max(line, cols), x)
            rest = convert(x, settle(sums(line, target, cols, top)))
            for j in range(cols):
                target[j] = finish(line[j], target[j], top, rest)
    return rows


softmax_rows = forward_rows(row_exp, inverse, share)
log_softmax_rows = forward_rows(row_exp_sum, log_or_zero, log_share)


def logsumexp_rows(start, stop, x, out, cols, row_step):
    """Unit: a row. An infinite maximum is the result."""
    mark_kernel()
    for row in range(start, stop):
        line = shift(x, row * row_step)
        best = row_max(line, cols)
        total = row_exp_sum(line, line, cols, reference(best, x))
        out[row] = convert(x, float(best) + log_float64(total)) if fabs(best) < np.inf else best


@block
def block_product_sum(y, g, count):
    """The sum of y * g."""
    mark_kernel()
    out_of_line()
    total = convert(y, 0)
    for i in range(count):
        total = plus(total, y[i] * g[i])
    return total


@spliced
def row_product_sum(y, g, cols):
    """The sum of y * g as float64."""
    total = 0.0
    for first in range(0, cols, BLOCK):
        total += float(block_product_sum(shift(y, first), shift(g, first), min(BLOCK, cols - first)))
    return total


@scalar
def row_second_sum(y, g, cols):
    """The sum of g as float64."""
    return row_sum(g, cols)


def gradient_rows(sums, slope):
    """The kernel of a gradient: slope(y, g, sum) of each element."""
    def rows(start, stop, y, g, out, cols, row_step):
        """Unit: a row."""
        mark_kernel()
        for row in range(start, stop):
            line, above, target = shift(y, row * row_step), shift(g, row * row_step), shift(out, row * row_step)
            total = convert(y, sums(line, above, cols))
            for j in range(cols):
                target[j] = slope(line[j], above[j], total)
    return rows


softmax_grad_rows = gradient_rows(row_product_sum, share_slope)
log_softmax_grad_rows = gradient_rows(row_second_sum, log_share_slope)


def cross_entropy_rows(start, stop, x, target, out, cols, row_step, ignored):
    """Unit: a row. log(sum(exp(x))) - x[target], 0 where the target is `ignored`."""
    mark_kernel()
    for row in range(start, stop):
        line, label = shift(x, row * row_step), target[row]
        out[row] = convert(x, 0)
        if label != ignored:
            top = row_max(line, cols)
            total = row_exp_sum(line, line, cols, top)
            out[row] = convert(x, log_float64(total) - (float(line[label]) - float(top)))


def cross_entropy_grad_rows(start, stop, x, target, g, out, cols, row_step, ignored):
    """Unit: a row. (softmax(x) - one at the target) * g, 0 where the target is `ignored`; out is contiguous."""
    mark_kernel()
    for row in range(start, stop):
        line, slope, label = shift(x, row * row_step), shift(out, row * cols), target[row]
        if label == ignored:
            clear(slope, cols)
        else:
            total = row_exp(line, slope, cols, reference(row_max(line, cols), x))
            scale = convert(x, inverse(total))
            chosen = slope[label] * scale - convert(x, 1)
            for j in range(cols):
                slope[j] = slope[j] * scale * g[row]
            slope[label] = chosen * g[row]


# ------------------------------------------------------------------------------------------------------ columns
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


def column_exponentials(kept):
    """The function that sums exp(x - top) down columns into total, and where `kept` leaves them in out."""
    @scalar
    def column_exp(x, out, rows, step, out_step, top, part, total, width):
        clear(part, width)
        clear(total, width)
        for row in range(rows):
            line, target = shift(x, row * step), shift(out, row * out_step)
            for j in range(width):
                value = exponential(line[j] - top[j])
                if kept:
                    target[j] = value
                part[j] += value
            if ends_block(row, rows):
                flush(part, total, width)
    return column_exp


column_exp, column_exp_sum = column_exponentials(True), column_exponentials(False)


@scalar
def column_top(x, rows, step, top, width):
    """top = what distances are taken to in each column."""
    column_max(x, rows, step, top, width)
    for j in range(width):
        top[j] = reference(top[j], x)


def forward_columns(sums, settle, finish):
    """As forward_rows."""
    def columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
        """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice; out is contiguous."""
        mark_kernel()
        top, part, total = stack_like(x, PANEL), stack_like(x, PANEL), stack_of(np.float64, PANEL)
        for unit in range(start, stop):
            outer, left, width = panel_at(unit, panels, panel, cols)
            corner, target = shift(x, outer * outer_step + left), shift(out, outer * rows * cols + left)
            column_top(corner, rows, row_step, top, width)
            sums(corner, target, rows, row_step, cols, top, part, total, width)
            for j in range(width):
                part[j] = convert(x, settle(total[j]))
            for row in range(rows):
                line, result = shift(corner, row * row_step), shift(target, row * cols)
                for j in range(width):
                    result[j] = finish(line[j], result[j], top[j], part[j])
    return columns


softmax_columns = forward_columns(column_exp, inverse, share)
log_softmax_columns = forward_columns(column_exp_sum, log_or_zero, log_share)


def logsumexp_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice."""
    mark_kernel()
    top, part, total = stack_like(x, PANEL), stack_like(x, PANEL), stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        outer, left, width = panel_at(unit, panels, panel, cols)
        corner, target = shift(x, outer * outer_step + left), shift(out, outer * cols + left)
        column_top(corner, rows, row_step, top, width)
        column_exp_sum(corner, corner, rows, row_step, row_step, top, part, total, width)
        for j in range(width):
            value = convert(x, float(top[j]) + log_float64(total[j]))
            target[j] = top[j] if top[j] == np.inf else value


def gradient_columns(term, slope):
    """The kernel of a gradient: slope(y, g, sum of term(y, g)) of each element."""
    def columns(start, stop, y, g, out, rows, cols, outer_step, row_step, panels, panel):
        """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice."""
        mark_kernel()
        part, total = stack_like(y, PANEL), stack_of(np.float64, PANEL)
        for unit in range(start, stop):
            outer, left, width = panel_at(unit, panels, panel, cols)
            corner = outer * outer_step + left
            clear(part, width)
            clear(total, width)
            for row in range(rows):
                line, above = shift(y, corner + row * row_step), shift(g, corner + row * row_step)
                for j in range(width):
                    part[j] += term(line[j], above[j])
                if ends_block(row, rows):
                    flush(part, total, width)
            for j in range(width):
                part[j] = convert(y, total[j])
            for row in range(rows):
                place = corner + row * row_step
                line, above, target = shift(y, place), shift(g, place), shift(out, place)
                for j in range(width):
                    target[j] = slope(line[j], above[j], part[j])
    return columns


softmax_grad_columns = gradient_columns(product, share_slope)
log_softmax_grad_columns = gradient_columns(second, log_share_slope)
