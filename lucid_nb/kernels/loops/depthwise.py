"""Convolutions with few channels in a group: piece by piece the planes of a group are laid out in a small room, and the
tiles of depthwise_tile.py go over them."""

from ..depthwise_words import (
    AREA,
    CHANNELS,
    CLASS_WORDS,
    COLUMN_CLASSES,
    COLUMN_LOW,
    COLUMN_PHASES,
    COLUMN_PIECES,
    COLUMN_STRIDE,
    COLUMNS,
    DEAL,
    DEPTH_CLASSES,
    DEPTH_STRIDE,
    DEPTHS,
    FILTER_WEIGHTS,
    FILTERS,
    FIRST_LAYER,
    FIRST_PLANE,
    GROUP_WEIGHTS,
    GROUPS,
    LANES,
    LAYERS,
    MORE_ROWS,
    PIECE_COLUMNS,
    PIECE_ROWS,
    PITCH,
    PLANES,
    ROOM,
    ROW_CLASSES,
    ROW_LOW,
    ROW_PHASES,
    ROW_PIECES,
    ROW_STRIDE,
    ROWS,
    RUN,
    SLACK,
    SOURCE_COLUMNS,
    SOURCE_DEPTH,
    SOURCE_ROWS,
    SUMS,
    TILE,
    TOTAL,
    TOTALS,
)
from ..intrinsics import address_of, call_address, mark_kernel
from .typed import block, clear, scalar, shift, stack_like


@scalar
def ceiling(a, b):
    """a / b, rounded up."""
    return (a + b - 1) // b


@scalar
def piece(number, plan):
    """Depth of the results, and first row and column of a piece, each column and row of a piece of all remainders."""
    col, rest = number % plan[COLUMN_PIECES], number // plan[COLUMN_PIECES]
    return rest // plan[ROW_PIECES], rest % plan[ROW_PIECES] * plan[PIECE_ROWS], col * plan[PIECE_COLUMNS]


@block
def fill(plan, phases, kind, planes, x, room, depth, row, col):
    """The planes that a piece at (depth, row, col) reads; x is the first channel of a group."""
    area, rows = plan[AREA], min(plan[PIECE_ROWS], ceiling(plan[ROWS], plan[ROW_CLASSES]) - row) + plan[MORE_ROWS]
    channel_size, step = plan[SOURCE_DEPTH] * plan[SOURCE_ROWS] * plan[SOURCE_COLUMNS], plan[ROW_STRIDE]
    for number in range(kind[PLANES]):
        at = shift(planes, 2 * (kind[FIRST_PLANE] + number))
        z = plan[DEPTH_STRIDE] * depth + at[1]
        source = shift(x, at[0] * channel_size + z * plan[SOURCE_ROWS] * plan[SOURCE_COLUMNS])
        for p in range(plan[ROW_PHASES]):
            first = step * row + phases[p] - plan[ROW_LOW]
            before = min(rows, max(0, ceiling(-first, step)))
            stop = max(before, min(rows, ceiling(plan[SOURCE_ROWS] - first, step)))
            if z < 0 or z >= plan[SOURCE_DEPTH]:
                before, stop = rows, rows
            target = shift(room, (number * plan[ROW_PHASES] + p) * plan[COLUMN_PHASES] * area)
            call_address(plan[DEAL], before, stop, rows, address_of(shift(source, first * plan[SOURCE_COLUMNS])),
                         step * plan[SOURCE_COLUMNS], plan[COLUMN_STRIDE] * col - plan[COLUMN_LOW],
                         plan[SOURCE_COLUMNS], address_of(target), area, plan[PITCH])


@block
def tiles(plan, kinds, places, weight_places, room, weights, out, row, col):
    """Results of one filter in a piece, all remainders of the rows; out is the first row of the results' plane."""
    turns = plan[COLUMN_CLASSES]
    cols = min(plan[PIECE_COLUMNS], ceiling(plan[COLUMNS], turns) - col)
    width = min(plan[PIECE_COLUMNS] * turns, plan[COLUMNS] - col * turns)
    for remainder in range(plan[ROW_CLASSES]):
        kind = shift(kinds, remainder * CLASS_WORDS)
        rows = min(plan[PIECE_ROWS], ceiling(plan[ROWS] - remainder, plan[ROW_CLASSES]) - row)
        corner = shift(out, (row * plan[ROW_CLASSES] + remainder) * plan[COLUMNS] + col * turns)
        call_address(kind[TILE], rows, cols, kind[LAYERS], address_of(room), plan[AREA], plan[PITCH],
                     address_of(shift(places, kind[FIRST_LAYER])), address_of(weights),
                     address_of(shift(weight_places, kind[FIRST_LAYER])), address_of(corner),
                     plan[ROW_CLASSES] * plan[COLUMNS], width)


def correlate(start, stop, x, weights, out, plan, phases, planes, classes, places, weight_places):
    """Unit: a piece of the results of a group of an image."""
    mark_kernel()
    room = stack_like(x, ROOM + SLACK)
    pieces = plan[DEPTHS] * plan[ROW_PIECES] * plan[COLUMN_PIECES]
    source_size = plan[CHANNELS] * plan[SOURCE_DEPTH] * plan[SOURCE_ROWS] * plan[SOURCE_COLUMNS]
    plane = plan[ROWS] * plan[COLUMNS]
    for unit in range(start, stop):
        member = unit // pieces                                     # counted through images and groups
        depth, row, col = piece(unit % pieces, plan)
        kinds = shift(classes, depth % plan[DEPTH_CLASSES] * plan[ROW_CLASSES] * CLASS_WORDS)
        fill(plan, phases, kinds, planes, shift(x, member * source_size), room, depth // plan[DEPTH_CLASSES], row, col)
        for f in range(plan[FILTERS]):
            here = shift(weights, member % plan[GROUPS] * plan[GROUP_WEIGHTS] + f * plan[FILTER_WEIGHTS])
            target = shift(out, ((member * plan[FILTERS] + f) * plan[DEPTHS] + depth) * plane)
            tiles(plan, kinds, places, weight_places, room, here, target, row, col)


@block
def add_slopes(plan, kind, places, weight_places, room, g, sums, row, col):
    """Add the products of a piece of g, the gradients of one filter at a depth, to the sums, layer by layer."""
    rows, cols = min(plan[PIECE_ROWS], plan[ROWS] - row), min(plan[PIECE_COLUMNS], plan[COLUMNS] - col)
    corner = shift(g, row * plan[COLUMNS] + col)
    for number in range(kind[FIRST_LAYER], kind[FIRST_LAYER] + kind[LAYERS]):
        call_address(kind[TILE], rows, cols, address_of(shift(room, places[number])), plan[AREA], plan[PITCH],
                     address_of(corner), plan[COLUMNS],
                     address_of(shift(sums, weight_places[number] * plan[LANES])))


def slopes(start, stop, x, g, out, images, parts, plan, phases, planes, classes, places, weight_places):
    """Unit: one of the `parts` of the images, with a run of filters; out (parts, filters, SUMS)."""
    mark_kernel()
    room, sums = stack_like(x, ROOM + SLACK), stack_like(x, TOTALS)
    pieces = plan[DEPTHS] * plan[ROW_PIECES] * plan[COLUMN_PIECES]
    source_size = plan[CHANNELS] * plan[SOURCE_DEPTH] * plan[SOURCE_ROWS] * plan[SOURCE_COLUMNS]
    filters, plane = plan[GROUPS] * plan[FILTERS], plan[ROWS] * plan[COLUMNS]
    runs, size = ceiling(filters, plan[RUN]), ceiling(plan[SUMS], plan[LANES]) * plan[LANES] * plan[LANES]
    for unit in range(start, stop):
        part, first = unit // runs, unit % runs * plan[RUN]
        last = min(filters, first + plan[RUN])
        clear(sums, (last - first) * size)
        for image in range(part * images // parts, (part + 1) * images // parts):
            for number in range(first, last):
                source = shift(x, (image * plan[GROUPS] + number // plan[FILTERS]) * source_size)
                for place in range(pieces):
                    depth, row, col = piece(place, plan)
                    if pieces > 1 or number == first or number % plan[FILTERS] == 0:
                        fill(plan, phases, classes, planes, source, room, depth, row, col)
                    gradients = shift(g, ((image * filters + number) * plan[DEPTHS] + depth) * plane)
                    add_slopes(plan, classes, places, weight_places, room, gradients,
                               shift(sums, (number - first) * size), row, col)
        for number in range(first, last):
            call_address(plan[TOTAL], plan[SUMS], address_of(shift(sums, (number - first) * size)),
                         address_of(shift(out, (part * filters + number) * plan[SUMS])))
