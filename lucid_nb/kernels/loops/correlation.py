"""Correlation of planes with taps, where a table of offsets says where in the planes each tap begins.

Padding, stride and dilation lie in how the planes were laid out, so that along a plane every tap reads neighbours for
neighbouring results. Rows of a plane follow each other: a piece of several short rows is one run, in which what falls
between the end of one row of results and the start of the next is computed and dropped. The sums themselves are those
of correlation_tile.py.
"""

from ..correlation_words import (
    BLOCKS,
    BLOCKS_A_UNIT,
    FEW_BOTH,
    FEW_FILTERS,
    FEW_TAPS,
    HIGH,
    HIGH_NARROW,
    HIGH_PANELS,
    HIGH_WIDE,
    LAST_PACK,
    LAST_PANEL,
    LOW,
    LOW_NARROW,
    LOW_WIDE,
    MOST_ROWS,
    NARROW,
    PACK,
    PANEL,
    PANEL_CUTS,
    PANELS,
    RESULTS,
    TAPS,
    TILE,
    WHOLE,
    WIDE,
)
from ..intrinsics import address_of, call_address, mark_kernel
from .typed import block, item_size, scalar, shift, stack_like


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
    high = min(panel, plan[HIGH_PANELS])
    return high * plan[HIGH] + (panel - high) * plan[LOW]


def pack(start, stop, weights, panels, offsets, plan, taps, filters, group_step, row_step):
    """Unit: a panel of filters of a group, with the taps outermost; weight k of filter i of group g lies at
    g group_step + i row_step + offsets[k]."""
    mark_kernel()
    for unit in range(start, stop):
        group, panel = unit // plan[PANELS], unit % plan[PANELS]
        row = first_row(panel, plan)
        rows = plan[HIGH] if panel < plan[HIGH_PANELS] else plan[LOW]
        source = shift(weights, group * group_step + row * row_step)
        target = shift(panels, (group * filters + row) * taps)
        for k in range(taps):
            line, at = shift(target, k * rows), shift(source, offsets[k])
            for i in range(rows):
                line[i] = at[i * row_step]


@block
def multiply_panel(plan, high, taps, panel, x, offsets, target, step, span, bias):
    """One panel of filters on a run of `span` results; results of a filter are `step` elements apart."""
    wide, narrow, size = plan[WIDE], plan[NARROW], item_size(x)
    whole_tile = plan[HIGH_WIDE] if high else plan[LOW_WIDE]
    last_tile = plan[HIGH_NARROW] if high else plan[LOW_NARROW]
    start, at, j = address_of(x), address_of(target), 0
    while j < span:                          # a range of a step that is not a constant could raise
        tile = whole_tile if span - j > narrow else last_tile
        call_address(tile, taps, address_of(panel), start + j * size, address_of(offsets), at + j * size, step,
                     span - j, address_of(bias))
        j += wide


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


def correlate(start, stop, planes, panels, offsets, out, biases, taps, filters, groups, pieces, is_direct, plan, sizes,
              steps, out_steps):
    """Unit: a group on one of the `pieces` of an image's result plane.

    sizes: as `piece` reads them. steps: elements of planes from image to image, group, depth and row. out_steps: of
    out, from image to image, filter, depth, row and column. is_direct: a run of results is one of out, too.
    """
    mark_kernel()
    room = stack_like(planes, MOST_ROWS * TILE)
    for unit in range(start, stop):
        depth, row, col, rows, cols = piece(unit % pieces, sizes)
        group, image = unit // pieces % groups, unit // pieces // groups
        span = (rows - 1) * steps[3] + cols
        x = shift(planes, image * steps[0] + group * steps[1] + depth * steps[2] + row * steps[3] + col)
        for number in range(plan[PANELS]):
            high, at = number < plan[HIGH_PANELS], first_row(number, plan)
            channel = group * filters + at
            corner = shift(out, image * out_steps[0] + channel * out_steps[1] + depth * out_steps[2]
                           + row * out_steps[3] + col * out_steps[4])
            panel, bias = shift(panels, channel * taps), shift(biases, channel)
            if is_direct:
                multiply_panel(plan, high, taps, panel, x, offsets, corner, out_steps[1], span, bias)
            else:
                multiply_panel(plan, high, taps, panel, x, offsets, room, TILE, span, bias)
                copy_rows(room, steps[3], plan[HIGH] if high else plan[LOW], TILE, rows, cols, corner, out_steps[1],
                          out_steps[3], out_steps[4])


def pack_slopes(start, stop, slopes, panels, filters, groups, images, results, plan):
    """Unit: a panel of filters of a group of an image: slopes (images, groups, filters, results), in panels the filters
    lie inside and the images of a panel follow each other."""
    mark_kernel()
    cuts, lanes = plan[PANEL_CUTS], plan[PANEL]
    group_step = images * results * ((cuts - 1) * lanes + plan[LAST_PANEL])
    for unit in range(start, stop):
        panel, group, image = unit % cuts, unit // cuts % groups, unit // cuts // groups
        is_last = panel == cuts - 1
        row = plan[LAST_PANEL] if is_last else lanes
        source = shift(slopes, ((image * groups + group) * filters + panel * lanes) * results)
        target = shift(panels, group * group_step + images * results * panel * lanes + image * results * row)
        call_address(plan[LAST_PACK] if is_last else plan[PACK], results, address_of(source), results,
                     address_of(target), filters - panel * lanes)


@block
def add_run(plan, first, stop, is_last, rows, cols, x, places, offsets, panel, panel_row, out, taps, filters, adds):
    """The blocks of taps [first, stop) on one run of results."""
    for number in range(first, stop):
        is_few, tap = number == plan[BLOCKS] - 1, number * plan[TAPS]
        tile = (plan[FEW_BOTH] if is_few else plan[FEW_FILTERS]) if is_last else \
            (plan[FEW_TAPS] if is_few else plan[WHOLE])
        call_address(tile, rows, cols, address_of(x), address_of(places), address_of(shift(offsets, tap)),
                     address_of(panel), panel_row, address_of(shift(out, tap)), taps, filters, adds)


def correlate_weights(start, stop, planes, panels, offsets, places, out, taps, filters, rows, width, span, adds,
                      group_step, plan):
    """Unit: some blocks of taps with one panel of filters of a group.

    out (groups, filters, taps) = or += the products of the gradients in `panels` with what the taps read. There are
    `rows` rows of `width` results, counted through images, depth and height alike, at `places` in the planes of a
    group; runs of rows lie within `span` of them. group_step: elements of planes from group to group.
    """
    mark_kernel()
    cuts, run = plan[PANEL_CUTS], max(1, RESULTS // width)
    tap_runs = (plan[BLOCKS] + BLOCKS_A_UNIT - 1) // BLOCKS_A_UNIT
    group_panels = rows * width * ((cuts - 1) * plan[PANEL] + plan[LAST_PANEL])
    for unit in range(start, stop):
        first = unit % tap_runs * BLOCKS_A_UNIT
        panel, group = unit // tap_runs % cuts, unit // tap_runs // cuts
        is_last, count = panel == cuts - 1, filters - panel * plan[PANEL]
        lanes = plan[LAST_PANEL] if is_last else plan[PANEL]
        source = shift(panels, group * group_panels + rows * width * panel * plan[PANEL])
        target = shift(out, (group * filters + panel * plan[PANEL]) * taps)
        row, sums = 0, adds
        while row < rows:
            high = min(run, rows - row, span - row % span)
            for col in range(0, width, RESULTS):
                x, slopes = shift(planes, group * group_step + col), shift(source, (row * width + col) * lanes)
                add_run(plan, first, min(plan[BLOCKS], first + BLOCKS_A_UNIT), is_last, high,
                        min(RESULTS, width - col), x, shift(places, row), offsets, slopes, width * lanes, target, taps,
                        count, sums)
                sums = 1
            row += high
