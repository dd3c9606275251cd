"""Maxima and minima and their places. IEEE maximum and minimum do not depend on the order of their operands (NaN and
signed zeros included), so blocks are free to be vectorised."""

import numpy as np

from ..intrinsics import bits, mark_kernel
from . import typed
from .typed import block, convert, larger, out_of_line, scalar, shift, smaller, stack_like, stack_of

BLOCK, PANEL = 1024, 512


@scalar
def has_zero(x, cols, zero):
    """Whether one of the elements has the bits of `zero`."""
    found = np.int32(0)
    for i in range(cols):
        found |= np.int32(bits(x[i]) == bits(zero))
    return found != 0


@block
def row_max(x, cols):
    """The largest of at least one contiguous element; a second look, where that is zero, finds its sign."""
    mark_kernel()
    out_of_line()
    best = x[0]
    for i in range(cols):
        best = typed.larger_but_zeros(best, x[i])
    if best != 0:
        return best
    zero = convert(x, 0)
    return zero if has_zero(x, cols, zero) else -zero


@block
def row_min(x, cols):
    """The smallest of at least one contiguous element."""
    mark_kernel()
    out_of_line()
    best = x[0]
    for i in range(cols):
        best = typed.smaller_but_zeros(best, x[i])
    if best != 0:
        return best
    zero = convert(x, 0)
    return -zero if has_zero(x, cols, -zero) else zero


def max_rows(start, stop, x, out, cols, row_step):
    """Unit: a row."""
    mark_kernel()
    for row in range(start, stop):
        out[row] = row_max(shift(x, row * row_step), cols)


def min_rows(start, stop, x, out, cols, row_step):
    """Unit: a row."""
    mark_kernel()
    for row in range(start, stop):
        out[row] = row_min(shift(x, row * row_step), cols)


def max_row_blocks(start, stop, x, out, cols, row_step, blocks):
    """Unit: one of the `blocks` blocks of a row."""
    mark_kernel()
    for unit in range(start, stop):
        first = unit % blocks * BLOCK
        out[unit] = row_max(shift(x, unit // blocks * row_step + first), min(BLOCK, cols - first))


def min_row_blocks(start, stop, x, out, cols, row_step, blocks):
    """Unit: one of the `blocks` blocks of a row."""
    mark_kernel()
    for unit in range(start, stop):
        first = unit % blocks * BLOCK
        out[unit] = row_min(shift(x, unit // blocks * row_step + first), min(BLOCK, cols - first))


@scalar
def column_max(x, rows, step, best, width):
    """best = the column maxima of at least one row."""
    for j in range(width):
        best[j] = x[j]
    for row in range(1, rows - 3, 4):
        a, b = shift(x, row * step), shift(x, (row + 1) * step)
        c, d = shift(x, (row + 2) * step), shift(x, (row + 3) * step)
        for j in range(width):
            best[j] = larger(best[j], larger(larger(a[j], b[j]), larger(c[j], d[j])))
    for row in range(rows - (rows - 1) % 4, rows):
        line = shift(x, row * step)
        for j in range(width):
            best[j] = larger(best[j], line[j])


@scalar
def column_min(x, rows, step, best, width):
    """best = the column minima of at least one row."""
    for j in range(width):
        best[j] = x[j]
    for row in range(1, rows - 3, 4):
        a, b = shift(x, row * step), shift(x, (row + 1) * step)
        c, d = shift(x, (row + 2) * step), shift(x, (row + 3) * step)
        for j in range(width):
            best[j] = smaller(best[j], smaller(smaller(a[j], b[j]), smaller(c[j], d[j])))
    for row in range(rows - (rows - 1) % 4, rows):
        line = shift(x, row * step)
        for j in range(width):
            best[j] = smaller(best[j], line[j])


def max_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
    """Unit: one of the `panels` panels of `panel` columns of an outer slice."""
    mark_kernel()
    for unit in range(start, stop):
        outer, left = unit // panels, unit % panels * panel
        corner, line = shift(x, outer * outer_step + left), shift(out, outer * cols + left)
        column_max(corner, rows, row_step, line, min(panel, cols - left))


def min_columns(start, stop, x, out, rows, cols, outer_step, row_step, panels, panel):
    """Unit: one of the `panels` panels of `panel` columns of an outer slice."""
    mark_kernel()
    for unit in range(start, stop):
        outer, left = unit // panels, unit % panels * panel
        corner, line = shift(x, outer * outer_step + left), shift(out, outer * cols + left)
        column_min(corner, rows, row_step, line, min(panel, cols - left))


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
        outer, left = unit // panels, unit % panels * panel
        width, corner = min(panel, cols - left), shift(x, outer * outer_step + left)
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
