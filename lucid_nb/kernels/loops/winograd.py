"""Winograd's convolution block by block: inputs to 36 matrices, 36 products with those of weights, sums to results.

Everything between the input and the results of a block of patches stays in the workspace of the unit. `plan` are the
words of winograd_words.py; the kernels that are called by address are those of winograd_tile.py and microkernel.py.
"""

from .. import winograd_words as at
from ..intrinsics import address_of, call_address, mark_kernel
from .typed import block, item_size, scalar, shift


@scalar
def first_row(panel, plan):
    """The first filter of a panel: high panels come first."""
    high = min(panel, plan[at.HIGH_PANELS])
    return high * plan[at.HIGH] + (panel - high) * plan[at.LOW]


def turn(start, stop, weights, panels, matrices, plan):
    """Unit: a panel of filters of a group, packed with the taps outermost into `panels`, then transformed."""
    mark_kernel()
    channels, filters = plan[at.CHANNELS], plan[at.FILTERS]
    for unit in range(start, stop):
        group, panel = unit // plan[at.PANELS], unit % plan[at.PANELS]
        is_high, row = panel < plan[at.HIGH_PANELS], first_row(panel, plan)
        rows, kernel = (plan[at.HIGH], plan[at.PACK_HIGH]) if is_high else (plan[at.LOW], plan[at.PACK_LOW])
        source = shift(weights, group * plan[at.GROUP_STEP] + row * plan[at.ROW_STEP])
        packed = shift(panels, unit * plan[at.PANEL_STEP])
        for k in range(plan[at.RUNS]):
            call_address(kernel, plan[at.RUN], address_of(shift(source, k * plan[at.RUN_STEP])), plan[at.ROW_STEP],
                         address_of(shift(packed, k * plan[at.RUN] * rows)), min(rows, filters - row))
        target = shift(matrices, group * at.MATRICES * plan[at.WEIGHT_STEP] + row * channels)
        call_address(plan[at.TURN], channels, rows, address_of(packed), plan[at.FIRST_TAP], plan[at.TAP_STEP],
                     address_of(target), plan[at.WEIGHT_STEP])


@block
def read_block(plan, x, zeros, group, row, rows, col, cols, inputs, room):
    """The 36 matrices (channels, patches) of a block of rows by cols patches, in panels of two vectors of patches."""
    channels, lanes, size = plan[at.CHANNELS], plan[at.LANES], item_size(x)
    height, width, step = plan[at.HEIGHT], plan[at.WIDTH], plan[at.ROOM_STEP]
    near, far = address_of(room), address_of(shift(room, 6 * step))
    vectors = (rows * cols + lanes - 1) // lanes
    for channel in range(channels):
        for i in range(rows):
            image, line = (row + i) // plan[at.PATCH_ROWS], (row + i) % plan[at.PATCH_ROWS]
            plane = shift(x, ((image * plan[at.GROUPS] + group) * channels + channel) * height * width)
            place = i * 4 * cols * size
            call_address(plan[at.READ], address_of(plane), address_of(zeros), height, width,
                         4 * line - plan[at.LOW_ROW], 4 * col - plan[at.LOW_COLUMN], 4 * cols, near + place,
                         far + place, step)
        for vector in range(vectors):
            first = vector - vector % 2
            wide = lanes * min(2, vectors - first)
            target = shift(inputs, first * lanes * channels + channel * wide + (vector - first) * lanes)
            place = vector * 4 * lanes * size
            call_address(plan[at.SPREAD], near + place, far + place, step, address_of(target), plan[at.INPUT_STEP])


@block
def multiply_panel(plan, is_high, filters, inputs, products, vectors, k, depth):
    """Channels [k, k + depth) of a panel of filters times those of the patches."""
    channels, lanes = plan[at.CHANNELS], plan[at.LANES]
    rows = plan[at.HIGH] if is_high else plan[at.LOW]
    wide, narrow = (plan[at.HIGH_WIDE], plan[at.HIGH_NARROW]) if is_high else (plan[at.LOW_WIDE], plan[at.LOW_NARROW])
    for first in range(0, vectors, 2):
        tile, cols = (wide, 2 * lanes) if vectors - first > 1 else (narrow, lanes)
        call_address(tile, depth, address_of(shift(filters, k * rows)), 1, rows,
                     address_of(shift(inputs, first * lanes * channels + k * cols)), cols,
                     address_of(shift(products, first * lanes)), plan[at.BLOCK_PATCHES], cols, int(k > 0), 0)


@block
def multiply_block(plan, weights, inputs, products, vectors, first, stop):
    """The 36 products of weights (filters, channels), their panels [first, stop), and inputs (channels, patches)."""
    channels = plan[at.CHANNELS]
    for number in range(at.MATRICES):
        left, right = shift(weights, number * plan[at.WEIGHT_STEP]), shift(inputs, number * plan[at.INPUT_STEP])
        result = shift(products, number * plan[at.PRODUCT_STEP])
        for k in range(0, channels, at.DEPTH):
            depth = min(at.DEPTH, channels - k)
            for panel in range(first, stop):
                row = first_row(panel, plan)
                multiply_panel(plan, panel < plan[at.HIGH_PANELS], shift(left, row * channels), right,
                               shift(result, row * plan[at.BLOCK_PATCHES]), vectors, k, depth)


@block
def write_block(plan, products, group, row, rows, col, cols, out, room, first, stop):
    """The results of filters [first, stop) of a group in a block of patches."""
    lanes, step, size = plan[at.LANES], plan[at.ROOM_STEP], item_size(out)
    height, width = plan[at.RESULT_HEIGHT], plan[at.RESULT_WIDTH]
    for number in range(first, stop):
        source = shift(products, number * plan[at.BLOCK_PATCHES])
        for vector in range((rows * cols + lanes - 1) // lanes):
            call_address(plan[at.GATHER], address_of(shift(source, vector * lanes)), plan[at.PRODUCT_STEP],
                         address_of(room) + vector * 4 * lanes * size, step)
        for i in range(rows):
            image, line = (row + i) // plan[at.PATCH_ROWS], (row + i) % plan[at.PATCH_ROWS]
            plane = shift(out, ((image * plan[at.GROUPS] + group) * plan[at.FILTERS] + number) * height * width)
            call_address(plan[at.COPY], min(4, height - 4 * line), min(4 * cols, width - 4 * col),
                         address_of(room) + i * 4 * cols * size, step,
                         address_of(shift(plane, 4 * line * width + 4 * col)), width)


def correlate(start, stop, x, matrices, zeros, out, workspace, plan):
    """Units [start, stop) of a convolution; each is a run of items and has a workspace of its own.

    Item: a block of patches with one of the parts of the panels of a group. matrices: the weights, transformed.
    """
    mark_kernel()
    groups, lanes, parts = plan[at.GROUPS], plan[at.LANES], plan[at.PARTS]
    for unit in range(start, stop):
        inputs = shift(workspace, unit * plan[at.WORK])
        products, room = shift(inputs, plan[at.PRODUCTS]), shift(inputs, plan[at.ROOM])
        first, last = unit * plan[at.ITEMS] // plan[at.UNITS], (unit + 1) * plan[at.ITEMS] // plan[at.UNITS]
        for item in range(first, last):
            part, group, number = item % parts, item // parts % groups, item // parts // groups
            top, bottom = part * plan[at.PANELS] // parts, (part + 1) * plan[at.PANELS] // parts
            row, col = number // plan[at.COLUMN_BLOCKS], number % plan[at.COLUMN_BLOCKS]
            row, col = row * plan[at.BLOCK_ROWS], col * plan[at.BLOCK_COLUMNS]
            rows = min(plan[at.BLOCK_ROWS], plan[at.ALL_ROWS] - row)
            cols = min(plan[at.BLOCK_COLUMNS], plan[at.PATCH_COLUMNS] - col)
            read_block(plan, x, zeros, group, row, rows, col, cols, inputs, room)
            weights = shift(matrices, group * at.MATRICES * plan[at.WEIGHT_STEP])
            multiply_block(plan, weights, inputs, products, (rows * cols + lanes - 1) // lanes, top, bottom)
            write_block(plan, products, group, row, rows, col, cols, out, room, first_row(top, plan),
                        first_row(bottom, plan))
