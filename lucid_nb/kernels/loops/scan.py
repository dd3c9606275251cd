"""Running sums, products and logarithms of sums of exponentials, along rows and along columns.

Floats are accumulated in float64, integers in their own 64 bits. A row is cut where a chain of operations, each of
which waits for the one before, would be slow: sums and products by vectors, logarithms of sums by BLOCK elements as
CHAINS chains side by side. The cut follows from the place in the row only, so the bits depend on nothing else.
"""

import numpy as np

from ..intrinsics import fabs, mark_kernel
from ..math.logarithm import softplus_float64
from .lanes import LANES, running, stack_wide
from .reduction import panel_at
from .typed import block, convert, larger, out_of_line, scalar, shift, smaller, stack_of

CHAINS, BLOCK, PANEL = 16, 1024, 512
SMALLEST = 1e-290                          # above it no product of a few elements has lost digits


@scalar
def plus(a, b):
    """A step of a running sum."""
    return a + b


@scalar
def times(a, b):
    """A step of a running product."""
    return a * b


@scalar
def log_plus(a, b):
    """log(exp(a) + exp(b)); the larger one where it is infinite or NaN."""
    top = larger(a, b)
    return top + softplus_float64(smaller(a, b) - top) if fabs(top) < np.inf else top


def running_rows(combine, identity, run, checks):
    """The kernel of rows by `run` of lanes.py; where it checks, blocks that may lose digits are done one by one."""
    @scalar
    def one_by_one(x, out, count, carry, kept):
        """The running values of `count` elements, each from the one before; the last one."""
        total = convert(kept, carry)
        for i in range(count):
            total = combine(total, convert(kept, x[i]))
            out[i] = convert(out, total)
        return total

    @scalar
    def by_vectors(x, out, count, carry, kept):
        """The running values of `count` elements; the last one."""
        total, first = convert(kept, carry), 0
        while first + LANES <= count:
            total = run(shift(x, first), shift(out, first), total, kept)
            first += LANES
        return one_by_one(shift(x, first), shift(out, first), count - first, total, kept)

    @scalar
    def is_sound(total, kept):
        """Whether a product has neither overflowed nor come near to vanishing; what is infinite or NaN stays so."""
        lowest = np.inf
        for k in range(LANES):
            lowest = min(lowest, fabs(float(kept[k])))
        return lowest > SMALLEST and fabs(float(total)) < np.inf

    def rows_kernel(start, stop, x, out, cols, row_step):
        """Unit: a row."""
        mark_kernel()
        kept = stack_wide(x, LANES)
        for row in range(start, stop):
            carry = convert(kept, identity)
            for first in range(0, cols, BLOCK):
                line, target = shift(x, row * row_step + first), shift(out, row * cols + first)
                count = min(BLOCK, cols - first)
                if checks:
                    for k in range(LANES):
                        kept[k] = convert(kept, np.inf)
                total = by_vectors(line, target, count, carry, kept)
                if checks and not is_sound(total, kept):
                    total = one_by_one(line, target, count, carry, kept)
                carry = total
    return rows_kernel


def running_columns(combine, identity):
    """The kernel of columns, each element from the one before."""
    def columns_kernel(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
        """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice."""
        mark_kernel()
        total = stack_wide(x, PANEL)
        for unit in range(start, stop):
            outer, left, width = panel_at(unit, panels, panel, cols)
            corner, target = shift(x, outer * outer_step + left), shift(out, outer * rows * cols + left)
            for j in range(width):
                total[j] = convert(total, identity)
            for row in range(rows):
                line, result = shift(corner, row * row_step), shift(target, row * cols)
                for j in range(width):
                    total[j] = combine(total[j], convert(total, line[j]))
                    result[j] = convert(out, total[j])
    return columns_kernel


# The identity of sums is -0.0: 0.0 would take the sign of a leading -0.0.
sum_rows, sum_columns = running_rows(plus, -0.0, running(False), False), running_columns(plus, -0.0)
prod_rows, prod_columns = running_rows(times, 1.0, running(True), True), running_columns(times, 1.0)
whole_prod_rows, whole_prod_columns = running_rows(times, 1.0, running(True), False), prod_columns
logsumexp_columns = running_columns(log_plus, -np.inf)


@scalar
def across(source, target, rows, cols):
    """target = the transposed matrix of `rows` rows."""
    for i in range(rows):
        for k in range(cols):
            target[k * rows + i] = float(source[i * cols + k])


@block
def log_chains(part, total, length, chains):
    """Running values of each column of part, `length` rows of `chains`; total = the last of them."""
    mark_kernel()
    out_of_line()
    for k in range(chains):
        total[k] = -np.inf
    for i in range(length):
        line = shift(part, i * chains)
        for k in range(chains):
            total[k] = log_plus(total[k], line[k])
            line[k] = total[k]


@block
def log_offset(part, out, count, carry):
    """out = each element of part joined to `carry`."""
    mark_kernel()
    out_of_line()
    for i in range(count):
        out[i] = convert(out, log_plus(carry, part[i]))


def logsumexp_rows(start, stop, x, out, cols, row_step, chains):
    """Unit: a row. Blocks are taken as `chains` (CHAINS) runs of neighbours, side by side.

    A number that LLVM does not know, which would rather unroll so short a loop than make a vector of it.
    """
    mark_kernel()
    part, flat, total = stack_of(np.float64, BLOCK), stack_of(np.float64, BLOCK), stack_of(np.float64, CHAINS)
    for row in range(start, stop):
        carry = -np.inf
        for first in range(0, cols, BLOCK):
            line, target = shift(x, row * row_step + first), shift(out, row * cols + first)
            count = min(BLOCK, cols - first)
            length = count // chains
            across(line, part, chains, length)
            log_chains(part, total, length, chains)
            across(part, flat, length, chains)
            for k in range(chains):
                log_offset(shift(flat, k * length), shift(target, k * length), length, carry)
                carry = log_plus(carry, total[k])
            for i in range(chains * length, count):
                carry = log_plus(carry, float(line[i]))
                target[i] = convert(out, carry)
