"""Running maxima and minima with their places, and linear recurrences, along rows and along columns."""

import numpy as np

from ..intrinsics import mark_kernel
from .reduction import panel_at
from .typed import convert, scalar, shift, stack_like, stack_of

AHEAD, PANEL = 64, 512


@scalar
def takes_over(value, best, flip):
    """Whether an element becomes the extreme: not beaten by it, or NaN, which nothing but another NaN follows."""
    return (value <= best if flip else value >= best) or value != value


@scalar
def none_takes_over(x, best, flip):
    """Whether the extreme outlasts AHEAD elements: one test for all of them."""
    found = np.int32(0)
    for i in range(AHEAD):
        found |= np.int32(takes_over(x[i], best, flip))
    return found == 0


@scalar
def fill(target, spots, first, last, best, place):
    """The same extreme for elements from `first` to `last`."""
    for i in range(first, last):
        target[i], spots[i] = best, place


def extreme_rows(start, stop, x, out, places, cols, row_step, flip):
    """Unit: a row. The running maximum, or where flip the minimum, and the latest place of it."""
    mark_kernel()
    for row in range(start, stop):
        line, target, spots = shift(x, row * row_step), shift(out, row * cols), shift(places, row * cols)
        place = 0
        while place < cols:
            best, i = line[place], place + 1
            while i + AHEAD <= cols and none_takes_over(shift(line, i), best, flip):
                i += AHEAD
            while i < cols and not takes_over(line[i], best, flip):
                i += 1
            fill(target, spots, place, i, best, place)
            place = i


def extreme_columns(start, stop, x, out, places, rows, cols, outer_step, row_step, panels, panel, flip):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice."""
    mark_kernel()
    best, place = stack_like(x, PANEL), stack_of(np.int64, PANEL)
    for unit in range(start, stop):
        outer, left, width = panel_at(unit, panels, panel, cols)
        corner, first = shift(x, outer * outer_step + left), outer * rows * cols + left
        for j in range(width):
            best[j], place[j] = corner[j], 0
        for row in range(rows):
            line, target = shift(corner, row * row_step), shift(out, first + row * cols)
            spots = shift(places, first + row * cols)
            for j in range(width):
                wins = takes_over(line[j], best[j], flip)
                best[j], place[j] = line[j] if wins else best[j], row if wins else place[j]
                target[j], spots[j] = best[j], place[j]


@scalar
def step(value, slope, before):
    """A step of a recurrence; a slope of 0 absorbs whatever came before, as in all derivatives."""
    return value + slope * before if slope != 0.0 else value


def recurrence_rows(start, stop, factor, x, out, cols):
    """Unit: a row of contiguous arrays. out[i] = x[i] + factor[i] * out[i - 1], from out[0] = x[0]."""
    mark_kernel()
    for row in range(start, stop):
        slope, line, target = shift(factor, row * cols), shift(x, row * cols), shift(out, row * cols)
        total = float(line[0])
        target[0] = line[0]
        for i in range(1, cols):
            total = step(float(line[i]), float(slope[i]), total)
            target[i] = convert(out, total)


def recurrence_columns(start, stop, factor, x, out, rows, cols, panels, panel):
    """Unit: one of the `panels` panels of `panel` (at most PANEL) columns of an outer slice."""
    mark_kernel()
    total = stack_of(np.float64, PANEL)
    for unit in range(start, stop):
        outer, left, width = panel_at(unit, panels, panel, cols)
        corner = outer * rows * cols + left
        for row in range(rows):
            slope, line = shift(factor, corner + row * cols), shift(x, corner + row * cols)
            target = shift(out, corner + row * cols)
            for j in range(width):
                total[j] = step(float(line[j]), float(slope[j]), total[j]) if row else float(line[j])
                target[j] = convert(out, total[j])
