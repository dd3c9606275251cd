"""Maxima over windows with their places, and the way back.

A row of results is pooled in two steps: the rows that its windows read are joined into one, elementwise, and the taps
along this row are joined into the results; windows of three by three cost two and two steps instead of eight. Where
windows follow no common step, or are wider than a buffer, every result is found by itself.

Rows of x are read up to LANES - 1 elements beyond their end where memory goes on, and what comes of that is dropped.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ..intrinsics import IR, mark_kernel
from .typed import INLINE, block, clear, larger_but_zeros, out_of_line, scalar, shift, stack_like, stack_of

LANES, TILE, BUFFER = 16, 512, 2048          # of a vector; results of a tile; elements of a joined row
ROOM = BUFFER + 4 * LANES
NOWHERE = np.int32(2 ** 31 - 1)


@intrinsic
def lowest(typing, pointer):
    """The least value of the pointer's type: -inf, or the smallest integer."""
    dtype = pointer.dtype

    def emit(context, builder, sig, args):
        if isinstance(dtype, types.Float):
            return ir.Constant(IR[dtype], float("-inf"))
        return ir.Constant(IR[dtype], dtype.minval)
    return dtype(pointer), emit


@scalar
def rounded(count):
    """The next multiple of LANES."""
    return (count + LANES - 1) // LANES * LANES


@scalar
def later(challenger, best):
    """Does an element take the place of one before it: greater, or the first NaN?"""
    return challenger > best or (challenger != challenger and best == best)


# ------------------------------------------------------------------------------------------ one by one
def larger_of(a, b):
    """The larger of two numbers, NaN if one is."""


@overload(larger_of, jit_options=INLINE)
def _larger_of(a, b):
    if isinstance(a, types.Float):
        return lambda a, b: larger_but_zeros(a, b)
    return lambda a, b: b if b > a else a


@block
def search_run(x, count):
    """The maximum of neighbours and its place, the first of equals and of NaNs."""
    mark_kernel()
    out_of_line()
    best, place = x[0], count
    for i in range(count):
        best = larger_of(best, x[i])
    for i in range(count):
        place = min(place, i if x[i] == best or (x[i] != x[i] and best != best) else count)
    return best, place


@scalar
def search(plane, lines, count, first, taps, dilation):
    """The maximum of a window and its place, the first of equals and of NaNs: `count` lines of taps from `first` on."""
    place = lines[0] + first
    best = plane[place]
    for i in range(count):
        start = lines[i] + first
        if dilation == 1 and taps >= LANES:
            value, found = search_run(shift(plane, start), taps)
            if later(value, best):
                best, place = value, start + found
        else:
            for k in range(taps):
                value = plane[start + k * dilation]
                if later(value, best):
                    best, place = value, start + k * dilation
    return best, place


def max_each(start, stop, x, values, places, plane_size, rows, width, line_starts, lines, firsts, taps, dilation):
    """Unit: a plane of `rows` rows of `width` results.

    Row r reads lines[line_starts[r] : line_starts[r + 1]], which are offsets in the plane; window j of a row reads
    taps[j] cells from firsts[j] on.
    """
    mark_kernel()
    for unit in range(start, stop):
        plane, target = shift(x, unit * plane_size), unit * rows * width
        for row in range(rows):
            here, count = shift(lines, line_starts[row]), line_starts[row + 1] - line_starts[row]
            for j in range(width):
                best, place = search(plane, here, count, firsts[j], taps[j], dilation)
                values[target], places[target] = best, place
                target += 1


# --------------------------------------------------------------------------------------- lines into one
@scalar
def join_lines(plane, lines, count, left, span, best, place):
    """best, place = the maxima of columns over lines and where they are; gives whether there is a NaN."""
    a, unclear = shift(plane, lines[0] + left), np.int32(0)
    at = lines[0] + left
    if count == 1:
        for j in range(span):
            best[j], place[j] = a[j], np.int32(at + j)
            unclear |= np.int32(a[j] != a[j])
    elif count == 2:
        b, down = shift(plane, lines[1] + left), lines[1] - lines[0]
        for j in range(span):
            wins = b[j] > a[j]
            best[j], place[j] = b[j] if wins else a[j], np.int32(at + j + (down if wins else 0))
            unclear |= np.int32(a[j] != a[j] or b[j] != b[j])
    else:
        b, c = shift(plane, lines[1] + left), shift(plane, lines[2] + left)
        one, two = lines[1] - lines[0], lines[2] - lines[0]
        for j in range(span):
            wins = b[j] > a[j]
            value, down = b[j] if wins else a[j], one if wins else 0
            last = c[j] > value
            best[j], place[j] = c[j] if last else value, np.int32(at + j + (two if last else down))
            unclear |= np.int32(a[j] != a[j] or b[j] != b[j] or c[j] != c[j])
    for i in range(3, count):
        line, at = shift(plane, lines[i] + left), lines[i] + left
        for j in range(span):
            wins = line[j] > best[j]
            best[j], place[j] = line[j] if wins else best[j], np.int32(at + j) if wins else place[j]
            unclear |= np.int32(line[j] != line[j])
    return unclear


@scalar
def better(value, place, best, held):
    """Does an element beat one of another column: greater, or equal and before it?"""
    return value > best or (value == best and place < held)


@scalar
def join_two(line, at, stride, step, span, best, place):
    """best, place = the better of two taps, `step` elements apart, of windows `stride` elements apart."""
    b, q = shift(line, step), shift(at, step)
    for j in range(span):
        i = j * stride
        wins = better(b[i], q[i], line[i], at[i])
        best[j], place[j] = b[i] if wins else line[i], q[i] if wins else at[i]


@scalar
def join_three(line, at, stride, step, span, best, place):
    """As join_two of three taps."""
    b, q, c, r = shift(line, step), shift(at, step), shift(line, 2 * step), shift(at, 2 * step)
    for j in range(span):
        i = j * stride
        wins = better(b[i], q[i], line[i], at[i])
        value, held = b[i] if wins else line[i], q[i] if wins else at[i]
        last = better(c[i], r[i], value, held)
        best[j], place[j] = c[i] if last else value, r[i] if last else held


@scalar
def join_taps(line, at, taps, stride, step, span, best, place):
    """best, place = the better of all taps."""
    if taps == 1:
        for j in range(span):
            best[j], place[j] = line[j * stride], at[j * stride]
    elif taps == 2:
        join_two(line, at, stride, step, span, best, place)
    else:
        join_three(line, at, stride, step, span, best, place)
    for k in range(3, taps):
        b, q = shift(line, k * step), shift(at, k * step)
        for j in range(span):
            wins = better(b[j * stride], q[j * stride], best[j], place[j])
            best[j], place[j] = b[j * stride] if wins else best[j], q[j * stride] if wins else place[j]


@scalar
def join_each(line, at, width, firsts, taps, best, place):
    """best, place = the better of all taps of windows that follow no common step."""
    for j in range(width):
        first = firsts[j]
        value, held = line[first], at[first]
        for k in range(first + 1, first + taps[j]):
            wins = better(line[k], at[k], value, held)
            value, held = line[k] if wins else value, at[k] if wins else held
        best[j], place[j] = value, held


@block
def join_windows(line, at, taps, stride, step, span, best, place):
    """As join_taps; the common strides are constants, which vectors need."""
    mark_kernel()
    out_of_line()
    if stride == 1:
        join_taps(line, at, taps, 1, step, span, best, place)
    elif stride == 2:
        join_taps(line, at, taps, 2, step, span, best, place)
    else:
        join_taps(line, at, taps, stride, step, span, best, place)


@scalar
def fill_outside(line, at, start, stop):
    """Padding: below all that there is, and behind it."""
    for j in range(start, stop):
        line[j], at[j] = lowest(line), NOWHERE


@scalar
def store(source, target, count):
    """target = source."""
    for j in range(count):
        target[j] = source[j]


@block
def join_rows(plane, room, starts, lines, row_step, many, left, need, size, pitch, line, at, marks):
    """The joined lines of `many` rows, `pitch` elements apart, from column `left` on; gives whether a row has a NaN.

    room: elements of x from the plane on. row_step: from row to row what lines are counted from. marks: which rows have
    a NaN.
    """
    mark_kernel()
    out_of_line()
    begin, end, found = max(left, 0), min(left + need, size), np.int32(0)
    before, behind = begin - left, end - left
    for i in range(many):
        here, count = shift(lines, starts[i]), starts[i + 1] - starts[i]
        span = rounded(end - begin)
        span = span if i * row_step + here[count - 1] + begin + span <= room else end - begin
        joined, place = shift(line, i * pitch), shift(at, i * pitch)
        fill_outside(joined, place, 0, before)
        marks[i] = join_lines(shift(plane, i * row_step), here, count, begin, span, shift(joined, before),
                              shift(place, before))
        fill_outside(joined, place, behind, need)
        found |= marks[i]
    return found


@block
def search_rows(plane, starts, lines, row_step, many, width, results, firsts, counts, dilation, marks, values, places):
    """The results of the rows that are marked, one by one."""
    out_of_line()
    for i in range(many):
        if marks[i] != 0:
            here, count = shift(lines, starts[i]), starts[i + 1] - starts[i]
            for j in range(results):
                value, found = search(shift(plane, i * row_step), here, count, firsts[j], counts[j], dilation)
                values[i * width + j], places[i * width + j] = value, found


@scalar
def store_rows(source, target, many, step, width, results):
    """Rows of results, `step` elements apart, to rows of `width`."""
    if step == width:
        store(source, target, (many - 1) * width + results)
    else:
        for i in range(many):
            store(shift(source, i * step), shift(target, i * width), results)


def max_slide(start, stop, x, values, places, plane_size, row_step, total, rows, width, line_starts, lines, firsts,
              counts, size, taps, stride, low, dilation, tile, pitch, chunk, bands, band):
    """Unit: `band` of the rows of a plane. As max_each, where window j of a row begins `low` before j * stride;
    stride 0 says that it does not.

    row_step: from row to row what lines are counted from; 0 where that is the plane. size: elements of a line. total:
    of x. tile: results of a row at a time, whose windows fit into `pitch` elements. chunk: rows at a time, if a tile is
    a row.
    """
    mark_kernel()
    line, at, marks = stack_like(x, ROOM), stack_of(np.int32, ROOM), stack_of(np.int32, TILE)
    best, held = stack_like(x, TILE), stack_of(np.int32, TILE)
    step = pitch // stride if stride > 0 else width
    for unit in range(start, stop):
        number, row = unit // bands, unit % bands * band
        plane, last = shift(x, number * plane_size), min(row + band, rows)
        while row < last:                              # a range with a step that is no constant could raise
            many, j, starts = min(chunk, last - row), 0, shift(line_starts, row)
            here = shift(plane, row * row_step)
            room = total - number * plane_size - row * row_step
            while j < width:
                results = min(tile, width - j)
                need = (results - 1) * stride + (taps - 1) * dilation + 1
                unclear = join_rows(here, room, starts, lines, row_step, many, j * stride - low, need, size, pitch,
                                    line, at, marks)
                if stride > 0:
                    span = rounded((many - 1) * step + results)
                    join_windows(line, at, taps, stride, dilation, span, best, held)
                else:
                    for i in range(many):
                        join_each(shift(line, i * pitch), shift(at, i * pitch), width, firsts, counts,
                                  shift(best, i * step), shift(held, i * step))
                target = (number * rows + row) * width + j
                store_rows(best, shift(values, target), many, step, width, results)
                store_rows(held, shift(places, target), many, step, width, results)
                if unclear != 0:
                    search_rows(here, starts, lines, row_step, many, width, results, shift(firsts, j), shift(counts, j),
                                dilation, marks, shift(values, target), shift(places, target))
                j += tile
            row += many


def add_at_places(start, stop, g, places, out, plane_size, results):
    """Unit: a plane of out, which is cleared before the `results` elements of g are added at their places."""
    mark_kernel()
    for unit in range(start, stop):
        target, source, where = shift(out, unit * plane_size), shift(g, unit * results), shift(places, unit * results)
        clear(target, plane_size)
        for j in range(results):
            target[where[j]] += source[j]
