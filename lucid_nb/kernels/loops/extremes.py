"""Maxima and minima and their places. IEEE maximum and minimum do not depend on the order of their operands (NaN and
signed zeros included), so blocks are free to be vectorised."""

import numpy as np

from ..intrinsics import bits, mark_kernel
from . import typed
from .reduction import column_fold, panel_at, reduction_kernels
from .typed import block, convert, larger, out_of_line, scalar, shift, smaller, stack_like, stack_of

BLOCK, PANEL, LANES = 1024, 512, 64


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


# ----------------------------------------------------------------------------------------- extremes of numbers
@scalar
def has_number(x, cols):
    """Whether one of the elements is no NaN."""
    found = np.int32(0)
    for i in range(cols):
        found |= np.int32(x[i] == x[i])
    return found != 0


@scalar
def exceeds(a, b):
    """Whether a is larger; NaN is not."""
    return a > b


@scalar
def falls_below(a, b):
    """Whether a is smaller; NaN is not."""
    return a < b


def number_row_fold(beats_best, better_but_zeros, zero, worst):
    """As `row_fold`, but NaN is passed over, and wins only where there is nothing else."""
    @block
    def fold(x, cols):
        """The best of the numbers in LANES lanes: no reduction of LLVM's passes over NaN and is vectorised.

        A second look, where the best is the worst that a number can be, finds whether there is a number.
        """
        mark_kernel()
        out_of_line()
        lanes, best = stack_like(x, LANES), convert(x, worst)
        for j in range(LANES):
            lanes[j] = best
        whole = cols - cols % LANES
        for first in range(0, whole, LANES):
            line = shift(x, first)
            for j in range(LANES):
                lanes[j] = line[j] if beats_best(line[j], lanes[j]) else lanes[j]
        for i in range(whole, cols):
            lanes[i - whole] = x[i] if beats_best(x[i], lanes[i - whole]) else lanes[i - whole]
        for j in range(LANES):
            best = better_but_zeros(best, lanes[j])
        if best == convert(x, worst):
            return best if has_number(x, cols) else convert(x, np.nan)
        if best != 0:
            return best
        better = convert(x, zero)
        return better if has_zero(x, cols, better) else -better
    return fold


def number_column_fold(beats_best, better, worst):
    """As `column_fold` of better(a, b), but as `number_row_fold`."""
    @scalar
    def either(best, x):
        return x if beats_best(x, best) else best

    @scalar
    def better_number(best, x):
        return better(best, x) if best == x else either(best, x)

    @scalar
    def look_again(x, rows, step, best, width):
        """The signs of zeros, and NaN where there was no number."""
        for row in range(rows):
            line = shift(x, row * step)
            for j in range(width):
                best[j] = better_number(best[j], line[j])
        for j in range(width):
            if best[j] == convert(x, worst):
                found = np.int32(0)
                for row in range(rows):
                    found |= np.int32(x[row * step + j] == x[row * step + j])
                best[j] = best[j] if found != 0 else convert(x, np.nan)

    @scalar
    def fold(x, rows, step, best, width):
        """best = the best numbers of columns."""
        for j in range(width):
            best[j] = convert(x, worst)
        for row in range(0, rows - 3, 4):
            a, b = shift(x, row * step), shift(x, (row + 1) * step)
            c, d = shift(x, (row + 2) * step), shift(x, (row + 3) * step)
            for j in range(width):
                best[j] = either(either(either(either(best[j], a[j]), b[j]), c[j]), d[j])
        for row in range(rows - rows % 4, rows):
            line = shift(x, row * step)
            for j in range(width):
                best[j] = either(best[j], line[j])
        unclear = np.int32(0)
        for j in range(width):
            unclear |= np.int32(best[j] == 0 or best[j] == convert(x, worst))
        if unclear != 0:
            look_again(x, rows, step, best, width)
    return fold


row_nanmax = number_row_fold(exceeds, typed.larger_but_zeros, 0.0, -np.inf)
row_nanmin = number_row_fold(falls_below, typed.smaller_but_zeros, -0.0, np.inf)
column_nanmax = number_column_fold(exceeds, larger, -np.inf)
column_nanmin = number_column_fold(falls_below, smaller, np.inf)
nanmax_rows, nanmax_row_blocks, nanmax_columns = reduction_kernels(row_nanmax, column_nanmax, BLOCK)
nanmin_rows, nanmin_row_blocks, nanmin_columns = reduction_kernels(row_nanmin, column_nanmin, BLOCK)
max_merge, min_merge, nanmax_merge, nanmin_merge = max_rows, min_rows, nanmax_rows, nanmin_rows


# ---------------------------------------------------------------------------------------------------- places


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
