"""Correlation of planes with taps, where a table of offsets says where in the planes each tap begins.

Padding, stride and dilation lie in how the planes were laid out, so that along a plane every tap reads neighbours for
neighbouring results. Rows of a plane follow each other: a piece of several short rows is one run, in which what falls
between the end of one row of results and the start of the next is computed and dropped.
"""

import numpy as np

from ..intrinsics import mark_kernel
from .typed import block, clear, convert, out_of_line, plus, scalar, shift, stack_like, stack_of

TILE = 512                   # elements of a run: the results of four filters stay in the first-level cache
LANES = 16                   # a run is a multiple of this where the planes have room to be read beyond their end


@block
def one_filter(x, w, offsets, taps, result, span):
    """result[j] = the sum over taps of w[k] * x[offsets[k] + j]."""
    mark_kernel()
    out_of_line()
    clear(result, span)
    for k in range(0, taps - 3, 4):
        a, b, c, d = w[k], w[k + 1], w[k + 2], w[k + 3]
        p, q = shift(x, offsets[k]), shift(x, offsets[k + 1])
        r, s = shift(x, offsets[k + 2]), shift(x, offsets[k + 3])
        for j in range(span):
            result[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    for k in range(taps - taps % 4, taps):
        a, p = w[k], shift(x, offsets[k])
        for j in range(span):
            result[j] += a * p[j]


@block
def four_filters(x, w, offsets, taps, result, span):
    """As one_filter for four filters, weights `taps` and results TILE elements apart; x is loaded once for all."""
    mark_kernel()
    out_of_line()
    w1, w2, w3 = shift(w, taps), shift(w, 2 * taps), shift(w, 3 * taps)
    y0, y1, y2, y3 = result, shift(result, TILE), shift(result, 2 * TILE), shift(result, 3 * TILE)
    for y in (y0, y1, y2, y3):
        clear(y, span)
    for k in range(0, taps - 3, 4):
        a0, a1, a2, a3 = w[k], w[k + 1], w[k + 2], w[k + 3]
        b0, b1, b2, b3 = w1[k], w1[k + 1], w1[k + 2], w1[k + 3]
        c0, c1, c2, c3 = w2[k], w2[k + 1], w2[k + 2], w2[k + 3]
        d0, d1, d2, d3 = w3[k], w3[k + 1], w3[k + 2], w3[k + 3]
        p, q = shift(x, offsets[k]), shift(x, offsets[k + 1])
        r, s = shift(x, offsets[k + 2]), shift(x, offsets[k + 3])
        for j in range(span):
            y0[j] += (a0 * p[j] + a1 * q[j]) + (a2 * r[j] + a3 * s[j])
            y1[j] += (b0 * p[j] + b1 * q[j]) + (b2 * r[j] + b3 * s[j])
            y2[j] += (c0 * p[j] + c1 * q[j]) + (c2 * r[j] + c3 * s[j])
            y3[j] += (d0 * p[j] + d1 * q[j]) + (d2 * r[j] + d3 * s[j])
    for k in range(taps - taps % 4, taps):
        a, b, c, d, p = w[k], w1[k], w2[k], w3[k], shift(x, offsets[k])
        for j in range(span):
            y0[j] += a * p[j]
            y1[j] += b * p[j]
            y2[j] += c * p[j]
            y3[j] += d * p[j]


@scalar
def piece(number, sizes):
    """Depth, first row, first column, rows and columns of a piece of a result plane."""
    height, width, rows, cols, row_cuts, col_cuts = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    col, rest = number % col_cuts * cols, number // col_cuts
    row, depth = rest % row_cuts * rows, rest // row_cuts
    return depth, row, col, min(rows, height - row), min(cols, width - col)


def correlate(start, stop, planes, weights, offsets, out, taps, filters, groups, pieces, room, sizes, steps, out_steps):
    """Unit: four filters of a group on one of the `pieces` of an image's result plane.

    sizes: as `piece` reads them. steps: elements of planes from image to image, group, depth and row. out_steps: of
    out, from image to image, filter, depth, row and column. room: whether LANES - 1 elements follow the planes.
    """
    mark_kernel()
    result, blocks = stack_like(planes, 4 * TILE), (filters + 3) // 4
    for unit in range(start, stop):
        depth, row, col, rows, cols = piece(unit % pieces, sizes)
        rest = unit // pieces
        first, group, image = rest % blocks * 4, rest // blocks % groups, rest // blocks // groups
        count, channel, span = min(4, filters - first), group * filters + first, (rows - 1) * steps[3] + cols
        span = (span + LANES - 1) // LANES * LANES if room else span
        x = shift(planes, image * steps[0] + group * steps[1] + depth * steps[2] + row * steps[3] + col)
        w = shift(weights, channel * taps)
        if count == 4:
            four_filters(x, w, offsets, taps, result, span)
        else:
            for f in range(count):
                one_filter(x, shift(w, f * taps), offsets, taps, shift(result, f * TILE), span)
        corner = shift(out, image * out_steps[0] + channel * out_steps[1] + depth * out_steps[2] + row * out_steps[3])
        for f in range(count):
            for i in range(rows):
                source = shift(result, f * TILE + i * steps[3])
                target = shift(corner, f * out_steps[1] + i * out_steps[3] + col * out_steps[4])
                for j in range(cols):
                    target[j * out_steps[4]] = source[j]


@block
def one_by_four(g, x, count, totals):
    """totals[t] = the sum of g * x for four rows of x, TILE elements apart."""
    mark_kernel()
    out_of_line()
    x1, x2, x3 = shift(x, TILE), shift(x, 2 * TILE), shift(x, 3 * TILE)
    a, b, c, d = convert(x, 0), convert(x, 0), convert(x, 0), convert(x, 0)
    for j in range(count):
        a = plus(a, g[j] * x[j])
        b = plus(b, g[j] * x1[j])
        c = plus(c, g[j] * x2[j])
        d = plus(d, g[j] * x3[j])
    totals[0], totals[1], totals[2], totals[3] = a, b, c, d


@block
def two_by_four(g, step, x, count, totals):
    """As one_by_four for two rows of g, `step` elements apart; x is loaded once for both."""
    mark_kernel()
    out_of_line()
    g1, x1, x2, x3 = shift(g, step), shift(x, TILE), shift(x, 2 * TILE), shift(x, 3 * TILE)
    a0, b0, c0, d0 = convert(x, 0), convert(x, 0), convert(x, 0), convert(x, 0)
    a1, b1, c1, d1 = convert(x, 0), convert(x, 0), convert(x, 0), convert(x, 0)
    for j in range(count):
        a0, a1 = plus(a0, g[j] * x[j]), plus(a1, g1[j] * x[j])
        b0, b1 = plus(b0, g[j] * x1[j]), plus(b1, g1[j] * x1[j])
        c0, c1 = plus(c0, g[j] * x2[j]), plus(c1, g1[j] * x2[j])
        d0, d1 = plus(d0, g[j] * x3[j]), plus(d1, g1[j] * x3[j])
    totals[0], totals[1], totals[2], totals[3] = a0, b0, c0, d0
    totals[4], totals[5], totals[6], totals[7] = a1, b1, c1, d1


@scalar
def pack_taps(x, offsets, first, taps, row, rows, cols, sizes, steps, packed):
    """What four taps (the last one again beyond `taps`) read for rows of results, without what lies between them.

    Rows are counted through images, depth and height alike.
    """
    depth, height = sizes[0], sizes[1]
    for i in range(rows):
        plane, at = (row + i) // height, (row + i) % height
        line = shift(x, plane // depth * steps[0] + plane % depth * steps[2] + at * steps[3])
        for t in range(4):
            source, target = shift(line, offsets[min(first + t, taps - 1)]), shift(packed, t * TILE + i * cols)
            for j in range(cols):
                target[j] = source[j]


@scalar
def add_totals(g, step, packed, positions, count, part, target, taps, tap_count):
    """target[f, t] += the products of `count` rows of g with the packed taps, of which tap_count are wanted."""
    for f in range(0, count - 1, 2):
        two_by_four(shift(g, f * step), step, packed, positions, part)
        for t in range(tap_count):
            target[f * taps + t] += part[t]
            target[(f + 1) * taps + t] += part[4 + t]
    if count % 2:
        one_by_four(shift(g, (count - 1) * step), packed, positions, part)
        for t in range(tap_count):
            target[(count - 1) * taps + t] += part[t]


def correlate_weights(start, stop, planes, g, offsets, totals, taps, filters, images, blocks, together, sizes, steps):
    """Unit: one of the `blocks` blocks of four taps of a group.

    totals (float64) += the products of g (filters, images, depth, height, width) with what the taps read. Runs of rows
    lie within `together` images. sizes: depth, height and width. steps: elements of planes from image to image, group,
    depth and row.
    """
    mark_kernel()
    packed, part = stack_like(planes, 4 * TILE), stack_of(np.float64, 8)
    height, width, span = images * sizes[0] * sizes[1], sizes[2], together * sizes[0] * sizes[1]
    step, run = height * width, max(1, TILE // width)
    for unit in range(start, stop):
        first, group = unit % blocks * 4, unit // blocks
        x, tap_count = shift(planes, group * steps[1]), min(4, taps - first)
        target, slopes = shift(totals, group * filters * taps + first), shift(g, group * filters * step)
        row = 0
        while row < height:                  # a range of a step that is not a constant could raise
            rows = min(run, height - row, span - row % span)
            for col in range(0, width, TILE):
                cols, line = min(TILE, width - col), shift(slopes, row * width + col)
                pack_taps(shift(x, col), offsets, first, taps, row, rows, cols, sizes, steps, packed)
                add_totals(line, step, packed, rows * cols, filters, part, target, taps, tap_count)
            row += rows
