"""Correlation of planes with taps, where a table of offsets says where in the planes each tap begins.

Padding, stride and dilation lie in how the planes were laid out, so that along a plane every tap reads neighbours for
neighbouring results. Rows of a plane follow each other: a piece of several short rows is one run, in which what falls
between the end of one row of results and the start of the next is computed and dropped. The sums themselves are those
of correlation_tile.py.
"""

import numpy as np

from .. import correlation_words as at
from ..intrinsics import address_of, call_address, mark_kernel, prefetch
from .typed import block, convert, item_size, scalar, shift, stack_like, stack_of


@scalar
def piece(number, sizes):
    """Depth, first row, first column, rows and columns of a piece of a result plane."""
    height, width, rows, cols, row_cuts, col_cuts = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    col, rest = number % col_cuts * cols, number // col_cuts
    row, depth = rest % row_cuts * rows, rest // row_cuts
    return depth, row, col, min(rows, height - row), min(cols, width - col)


@scalar
def first_row(panel, plan):
    """The first filter of a panel: high panels come first."""
    high = min(panel, plan[at.HIGH_PANELS])
    return high * plan[at.HIGH] + (panel - high) * plan[at.LOW]


@scalar
def rows_of(panel, plan):
    """The filters that a panel has room for."""
    return plan[at.HIGH] if panel < plan[at.HIGH_PANELS] else plan[at.LOW]


def pack(start, stop, weights, panels, offsets, plan, taps, filters, recipe):
    """Unit: a panel of filters of a group, with the taps outermost."""
    mark_kernel()
    for unit in range(start, stop):
        pack_panel(weights, shift(panels, unit * plan[at.PANEL_STEP]), offsets, plan, unit // plan[at.PANELS],
                   unit % plan[at.PANELS], 0, taps, filters, recipe)


@block
def pack_panel(weights, target, offsets, plan, group, panel, first, stop, filters, recipe):
    """The taps [first, stop) of a panel of a group.

    Weight k of filter i of group g lies at g GROUP_STEP + i ROW_STEP + offsets[k]. Runs of neighbours are packed by
    transposes of registers; single ones, whose filters are neighbours in places (ROW_STEP 1), are copied.
    """
    row, rows, step, run = first_row(panel, plan), rows_of(panel, plan), recipe[at.ROW_STEP], recipe[at.RUN]
    source, count = shift(weights, group * recipe[at.GROUP_STEP] + row * step), min(rows, filters - row)
    if run == 1:
        pack_by_offsets(source, target, offsets, first, stop, step, rows, count)
        return
    kernel, k = plan[at.PACK_HIGH] if panel < plan[at.HIGH_PANELS] else plan[at.PACK_LOW], first
    while k < stop:
        taps = min(run - k % run, stop - k)
        if k + at.AHEAD * run < stop:
            fetch_rows(shift(source, offsets[k + at.AHEAD * run]), step, count)
        call_address(kernel, taps, address_of(shift(source, offsets[k])), step,
                     address_of(shift(target, (k - first) * rows)), count)
        k += taps


@scalar
def fetch_rows(source, step, count):
    """Ask for the beginnings of rows: short runs are far apart, on pages that nothing else fetches ahead."""
    for i in range(count):
        prefetch(shift(source, i * step))


@scalar
def pack_by_offsets(source, target, offsets, first, stop, row_step, rows, count):
    """The taps [first, stop) of a panel, number by number; it is filled up with zeros."""
    for k in range(first, stop):
        line, at_tap = shift(target, (k - first) * rows), shift(source, offsets[k])
        if row_step == 1:
            for i in range(count):
                line[i] = at_tap[i]
        else:
            for i in range(count):
                line[i] = at_tap[i * row_step]
        for i in range(count, rows):
            line[i] = convert(line, 0)


def pack_apart(start, stop, weights, panels, table, plan, runs, run, run_step, filters, group_step, row_step):
    """Unit: a panel of filters of a group for each of several correlations, which share out the taps of each run.

    The weights of filter i of group g are `runs` runs of `run` neighbours, run_step elements apart, from g group_step +
    i row_step on. table: of each tap where the panels of its correlation begin, how many taps that has, and its number.
    """
    mark_kernel()
    room = stack_like(weights, at.MOST_TAPS * at.MOST_LANES)
    for unit in range(start, stop):
        group, panel = unit // plan[at.PANELS], unit % plan[at.PANELS]
        row, rows = first_row(panel, plan), rows_of(panel, plan)
        source, count = shift(weights, group * group_step + row * row_step), min(rows, filters - row)
        kernel = plan[at.PACK_HIGH] if panel < plan[at.HIGH_PANELS] else plan[at.PACK_LOW]
        for k in range(runs):
            if k + at.AHEAD < runs:
                fetch_rows(shift(source, (k + at.AHEAD) * run_step), row_step, count)
            for first in range(0, run, at.MOST_TAPS):
                taps = min(at.MOST_TAPS, run - first)
                call_address(kernel, taps, address_of(shift(source, k * run_step + first)), row_step, address_of(room),
                             count)
                for t in range(taps):
                    place = shift(table, 3 * (first + t))
                    target = shift(panels, place[0] + (unit * plan[at.HIGH] * runs * place[1])
                                   + (k * place[1] + place[2]) * rows)
                    line = shift(room, t * rows)
                    for i in range(rows):
                        target[i] = line[i]


@block
def multiply_panel(plan, high, taps, panel, x, offsets, target, step, span):
    """One panel of filters on a run of `span` results; results of a filter are `step` elements apart."""
    wide, narrow, size = plan[at.WIDE], plan[at.NARROW], item_size(x)
    whole_tile = plan[at.HIGH_WIDE] if high else plan[at.LOW_WIDE]
    last_tile = plan[at.HIGH_NARROW] if high else plan[at.LOW_NARROW]
    start, place, j = address_of(x), address_of(target), 0
    while j < span:                          # a range of a step that is not a constant could raise
        tile = whole_tile if span - j > narrow else last_tile
        call_address(tile, taps, address_of(panel), start + j * size, address_of(offsets), place + j * size, step,
                     span - j)
        j += wide


def correlate_across(start, stop, planes, panels, turns, out, weights, offsets, recipe, taps, channels, block_channels,
                     room, filters, groups, parts, rows, run, plan, kinds, results, steps, out_steps):
    """Unit: a run of `run` of the `rows` rows of results of a group, with one of the `parts` parts of its panels.

    Rows are counted through images, depth and height alike; turns, kinds: as Planes.turns makes them. Of the `channels`
    channels of a group, each of so many taps, block_channels are gone through at a time. results: depth, height, width.
    steps, out_steps: as in `correlate`; the last of out_steps is 1. Where `room` is not 0, `panels` is only room for so
    many elements of each unit, into which weights are packed when their turn comes, as `pack_panel` reads them.
    """
    mark_kernel()
    places, stops = stack_of(np.int64, 2 * at.ACROSS_RESULTS), stack_of(np.int64, at.MOST_KINDS)
    for unit in range(start, stop):
        part, group, first_result = unit % parts, unit // parts % groups, unit // parts // groups * run
        sort_rows(first_result, min(first_result + run, rows), kinds, results, steps, out_steps, places, stops)
        x = shift(planes, group * steps[1])
        channel = 0
        while channel < channels:                # as in multiply_panel
            deep, adds = min(block_channels, channels - channel), int(channel > 0)
            for number in range(part * plan[at.PANELS] // parts, (part + 1) * plan[at.PANELS] // parts):
                first, high, row = first_row(number, plan), number < plan[at.HIGH_PANELS], 0
                if room:
                    k = channel * taps
                    pack_panel(weights, shift(panels, unit * room), offsets, plan, group, number, k, k + deep * taps,
                               filters, recipe)
                    panel = shift(panels, unit * room - k * rows_of(number, plan))
                else:
                    panel = shift(panels, (group * plan[at.PANELS] + number) * plan[at.PANEL_STEP])
                y = shift(out, (group * filters + first) * out_steps[1])
                for kind in range(kinds[0]):
                    of_channel = kinds[2 + 2 * kind]
                    table = shift(turns, kinds[1 + 2 * kind] + channel * of_channel * (plan[at.TURN] + 1))
                    multiply_rows(plan, deep * of_channel, high, panel, x, table, y, row, stops[kind], places,
                                  out_steps[1], filters - first, adds)
                    row = stops[kind]
            channel += block_channels


@scalar
def sort_rows(first, stop, kinds, results, steps, out_steps, places, stops):
    """Where each of the rows [first, stop) begins in the planes and in out, kind by kind; where each kind stops."""
    count, in_image, of_rows = 0, results[0] * results[1], shift(kinds, 1 + 2 * kinds[0])
    for kind in range(kinds[0]):
        for row in range(first, stop):
            image, line = row // in_image, row % in_image
            if of_rows[line] == kind:
                z, y = line // results[1], line % results[1]
                places[2 * count] = image * steps[0] + z * steps[2] + y * steps[3]
                places[2 * count + 1] = image * out_steps[0] + z * out_steps[2] + y * out_steps[3]
                count += 1
        stops[kind] = count


@block
def multiply_rows(plan, turns, high, panel, x, table, y, row, stop, places, step, filters, adds):
    """One panel of filters on the rows [row, stop) of `places`; short ones several at a time."""
    together = plan[at.TOGETHER]
    while row < stop:
        place = address_of(shift(places, 2 * row))
        if together > 1 and row + together <= stop:
            call_address(plan[at.HIGH_ROWS] if high else plan[at.LOW_ROWS], turns, address_of(panel), address_of(x),
                         address_of(table), address_of(y), step, filters, adds, place)
            row += together
        else:
            for run in range(plan[at.RUNS]):
                words = shift(plan, at.RUN_TABLE + run * at.RUN_WORDS)
                tile, j = words[at.HIGH_RUN] if high else words[at.LOW_RUN], words[at.FIRST]
                call_address(tile, turns, address_of(panel), address_of(shift(x, j)), address_of(table),
                             address_of(shift(y, j)), step, filters, adds, place)
            row += 1


@scalar
def copy_rows(source, pitch, filters, filter_step, rows, cols, target, filter_out, row_out, col_out):
    """Rows of results from a run to where they belong."""
    for f in range(filters):
        for i in range(rows):
            line, place = shift(source, f * filter_step + i * pitch), shift(target, f * filter_out + i * row_out)
            if col_out == 1:
                for j in range(cols):
                    place[j] = line[j]
            else:
                for j in range(cols):
                    place[j * col_out] = line[j]


def correlate(start, stop, planes, panels, offsets, out, taps, filters, groups, pieces, is_direct, plan, sizes,
              steps, out_steps):
    """Unit: a group on one of the `pieces` of an image's result plane.

    sizes: as `piece` reads them. steps: elements of planes from image to image, group, depth and row. out_steps: of
    out, from image to image, filter, depth, row and column. is_direct: a run of results is one of out, too.
    """
    mark_kernel()
    room = stack_like(planes, at.MOST_ROWS * at.TILE)
    for unit in range(start, stop):
        depth, row, col, rows, cols = piece(unit % pieces, sizes)
        group, image = unit // pieces % groups, unit // pieces // groups
        span = (rows - 1) * steps[3] + cols
        x = shift(planes, image * steps[0] + group * steps[1] + depth * steps[2] + row * steps[3] + col)
        for number in range(plan[at.PANELS]):
            high, first = number < plan[at.HIGH_PANELS], first_row(number, plan)
            channel = group * filters + first
            corner = shift(out, image * out_steps[0] + channel * out_steps[1] + depth * out_steps[2]
                           + row * out_steps[3] + col * out_steps[4])
            panel = shift(panels, (group * plan[at.PANELS] + number) * plan[at.PANEL_STEP])
            if is_direct:
                multiply_panel(plan, high, taps, panel, x, offsets, corner, out_steps[1], span)
            else:
                multiply_panel(plan, high, taps, panel, x, offsets, room, at.TILE, span)
                copy_rows(room, steps[3], rows_of(number, plan), at.TILE, rows, cols, corner, out_steps[1],
                          out_steps[3], out_steps[4])


@scalar
def fill_rows(kernels, count, source, source_row, target, pitch, place, taken, stride):
    """Rows of a plane: zeros, every stride-th of the array's elements, zeros."""
    if stride <= 2:
        kernel = kernels[stride - 1]
        call_address(kernel, count, address_of(source), source_row, address_of(target), pitch, place, taken)
    else:
        call_address(kernels[0], count, address_of(source), 0, address_of(target), pitch, 0, 0)
        for y in range(count):
            line, read = shift(target, y * pitch + place), shift(source, y * source_row)
            for j in range(taken):
                line[j] = read[j * stride]


@scalar
def fill_plane(kernels, source, target, has_depth, shares, width_share, sizes):
    """A plane of one depth. shares: those of the phase of the height; width_share: of the width."""
    height, pitch, before = sizes[7], sizes[10], shares[1]
    rows = shares[2] if has_depth else 0
    if not has_depth:
        before = height
    fill_rows(kernels, before, source, 0, target, pitch, 0, 0, 1)
    line = shift(source, shares[0] * sizes[1] + width_share[0])
    fill_rows(kernels, rows, line, sizes[8] * sizes[1], shift(target, before * pitch), pitch, width_share[1],
              width_share[2], sizes[11])
    fill_rows(kernels, height - before - rows, source, 0, shift(target, (before + rows) * pitch), pitch, 0, 0, 1)


def fill(start, stop, x, planes, shares, sizes, kernels):
    """Unit: the planes of one channel of an image of x, which is contiguous.

    sizes: height and width of x, the elements of one of its channels; then of each axis the phases, the extent of a
    plane and the stride. shares, phase by phase of each axis: the first element, its place in the plane, how many.
    kernels: those of rows of stride 1 and 2.
    """
    mark_kernel()
    depth_phases, height_phases, width_phases = sizes[3], sizes[6], sizes[9]
    of_height, of_width = shift(shares, 3 * depth_phases), shift(shares, 3 * (depth_phases + height_phases))
    plane = sizes[7] * sizes[10]
    for unit in range(start, stop):
        source = shift(x, unit * sizes[2])
        target = shift(planes, unit * depth_phases * height_phases * width_phases * sizes[4] * plane)
        for a in range(depth_phases):
            for phase in range(height_phases * width_phases):
                b, c = phase // width_phases, phase % width_phases
                for z in range(sizes[4]):
                    i = z - shares[3 * a + 1]
                    inside = (i >= 0) & (i < shares[3 * a + 2])
                    image = shift(source, (shares[3 * a] + i * sizes[5]) * sizes[0] * sizes[1] if inside else 0)
                    fill_plane(kernels, image, target, inside, shift(of_height, 3 * b), shift(of_width, 3 * c), sizes)
                    target = shift(target, plane)
