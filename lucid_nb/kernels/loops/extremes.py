"""Maxima and minima and their places. IEEE maximum and minimum do not depend on the order of their operands (NaN and
signed zeros included), so blocks are free to be vectorised."""

import numpy as np

from ..intrinsics import bits, mark_kernel
from . import typed
from .reduction import column_fold, panel_at, reduction_kernels
from .typed import block, convert, larger, out_of_line, scalar, shift, smaller, stack_like, stack_of

BLOCK, PANEL = 1024, 512


@scalar
def has_zero(x, cols, zero):
    """Whether one of the elements has the bits of `zero`."""
    found = np.int32(0)
    for i in range(cols):
        found |= np.int32(bits(x[i]) == bits(zero))
    return found != 0


def row_fold(better_but_zeros, zero):
    """The function that folds rows, where `zero` is the one of the two zeros that is better."""
    @block
    def fold(x, cols):
        """The best of at least one contiguous element; a second look, where that is zero, finds its sign."""
        mark_kernel()
        out_of_line()
        best = x[0]
        for i in range(cols):
            best = better_but_zeros(best, x[i])
        if best != 0:
            return best
        better = convert(x, zero)
        return better if has_zero(x, cols, better) else -better
    return fold


row_max, row_min = row_fold(typed.larger_but_zeros, 0.0), row_fold(typed.smaller_but_zeros, -0.0)
column_max, column_min = column_fold(larger), column_fold(smaller)
max_rows, max_row_blocks, max_columns = reduction_kernels(row_max, column_max, BLOCK)
min_rows, min_row_blocks, min_columns = reduction_kernels(row_min, column_min, BLOCK)


@block
def first_place(x, count, best):
    """The first place of `best`, which is among at most BLOCK elements; of a NaN where best is one."""
    mark_kernel()
    out_of_line()
    place = np.int32(count)
    for i in range(count):
        found = x[i] == best or (x[i] != x[i] and best != best)
        place = min(place, np.int32(i) if found else np.int32(count))
    return place


@scalar
def beats(challenger, best, flip):
    """Whether a later element takes the place: greater (smaller where flip), or the first NaN."""
    return (challenger < best if flip else challenger > best) or (challenger != challenger and best == best)


def arg_rows(start, stop, x, out, cols, row_step, flip):
    """Unit: a row. The first place of the maximum, or where flip of the minimum."""
    mark_kernel()
    for row in range(start, stop):
        line = shift(x, row * row_step)
        best, chosen = line[0], 0
        for first in range(0, cols, BLOCK):
            count = min(BLOCK, cols - first)
            value = row_min(shift(line, first), count) if flip else row_max(shift(line, first), count)
            if first == 0 or beats(value, best, flip):
                best, chosen = value, first
        out[row] = chosen + first_place(shift(line, chosen), min(BLOCK, cols - chosen), best)


def arg_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel, flip):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice; below 2**31 rows."""
    mark_kernel()
    best, place = stack_like(x, PANEL), stack_of(np.int32, PANEL)
    for unit in range(start, stop):
        outer, left, width = panel_at(unit, panels, panel, cols)
        corner = shift(x, outer * outer_step + left)
        for j in range(width):
            best[j], place[j] = corner[j], np.int32(0)
        for row in range(1, rows):
            line = shift(corner, row * row_step)
            for j in range(width):
                wins = beats(line[j], best[j], flip)
                best[j], place[j] = line[j] if wins else best[j], np.int32(row) if wins else place[j]
        target = shift(out, outer * cols + left)
        for j in range(width):
            target[j] = place[j]
