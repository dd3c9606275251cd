"""The gradient of a convolution's weights as matrix products: runs of results, packed panels, tiles.

Rows of the product are read in place, columns are packed. `plan` are the words of weight_words.py.
"""

from .. import weight_words as at
from ..intrinsics import address_of, call_address, mark_kernel
from .typed import block, scalar, shift


@scalar
def pack_run(plan, b, first, depth, panel, stop, packed):
    """Panels [panel, stop) of the `depth` results from number `first` on, image by image."""
    size = plan[at.B_COL]                    # neighbouring columns are the results of an image apart
    for number in range(panel, stop):
        col, is_last = number * plan[at.WIDE], number == plan[at.PANELS] - 1
        pack, lanes = (plan[at.PACK_NARROW], plan[at.NARROW]) if is_last else (plan[at.PACK_WIDE], plan[at.WIDE])
        target, k = shift(packed, (number - panel) * plan[at.WIDE] * depth), 0
        while k < depth:
            image, place = (first + k) // size, (first + k) % size
            count = min(size - place, depth - k)
            call_address(pack, count, address_of(shift(b, image * plan[at.B_IMAGE] + col * size + place)), size,
                         address_of(shift(target, k * lanes)), plan[at.COLS] - col)
            k += count


@block
def multiply_tile(plan, number, panel, lines, cols, a, places, offsets, packed, c, adds, ahead, ahead_step):
    """Block `number` of rows by one packed panel."""
    is_high, before = number < plan[at.HIGH_BLOCKS], min(number, plan[at.HIGH_BLOCKS])
    row, col = before * plan[at.HIGH] + (number - before) * plan[at.LOW], panel * plan[at.WIDE]
    if panel == plan[at.PANELS] - 1:
        tile = plan[at.HIGH_NARROW] if is_high else plan[at.LOW_NARROW]
    else:
        tile = plan[at.HIGH_WIDE] if is_high else plan[at.LOW_WIDE]
    call_address(tile, lines, cols, address_of(a), address_of(places), address_of(shift(offsets, row)),
                 address_of(packed), address_of(shift(c, row * plan[at.C_ROW] + col * plan[at.C_COL])),
                 max(plan[at.C_ROW], plan[at.C_COL]), plan[at.COLS] - col, adds, address_of(ahead), ahead_step)


@block
def multiply_run(plan, first, last, panel, stop, lines, cols, a, places, offsets, packed, c, adds, coming):
    """Blocks [first, last) of rows by the packed panels [panel, stop), neighbours in the result one after the other.

    Each tile asks memory for some columns of the run that follows, which begins at `coming`, until it has all.
    """
    blocks, panels, step = last - first, stop - panel, plan[at.WIDE] * lines * cols
    for turn in range(blocks * panels):
        row, col = (turn // panels, turn % panels) if plan[at.C_COL] == 1 else (turn % blocks, turn // blocks)
        source, ahead, ahead_step = shift(packed, col * step), packed, 0
        if turn * at.AHEAD < plan[at.COLS]:
            ahead, ahead_step = shift(coming, turn * at.AHEAD * plan[at.B_COL]), plan[at.B_COL]
        multiply_tile(plan, first + row, panel + col, lines, cols, a, places, offsets, source, c, adds, ahead,
                      ahead_step)


@block
def multiply_item(plan, item, a, b, places, offsets, lines, c, adds, packed):
    """A piece of the rows and columns of a group, over all `lines` of results."""
    item, row_piece = item // plan[at.ROW_PIECES], item % plan[at.ROW_PIECES]
    group, col_piece = item // plan[at.COL_PIECES], item % plan[at.COL_PIECES]
    a, b = shift(a, group * plan[at.A_GROUP]), shift(b, group * plan[at.B_GROUP])
    c, width, span = shift(c, group * plan[at.C_GROUP]), plan[at.WIDTH], plan[at.SPAN]
    first = row_piece * plan[at.BLOCKS] // plan[at.ROW_PIECES]
    last = (row_piece + 1) * plan[at.BLOCKS] // plan[at.ROW_PIECES]
    left = col_piece * plan[at.PANELS] // plan[at.COL_PIECES]
    right = (col_piece + 1) * plan[at.PANELS] // plan[at.COL_PIECES]
    line, col, size = 0, 0, plan[at.B_COL]
    while line < lines:
        count, cols, panel = min(plan[at.RUN_LINES], lines - line, span - line % span), width - col, left
        cols = min(cols, plan[at.RUN_COLS])
        following = line * width + col + count * cols
        coming = shift(b, following // size * plan[at.B_IMAGE] + following % size)
        while panel < right:
            stop = min(right, panel + plan[at.PANELS_AT_ONCE])
            pack_run(plan, b, line * width + col, count * cols, panel, stop, packed)
            multiply_run(plan, first, last, panel, stop, count, cols, shift(a, col), shift(places, line), offsets,
                         packed, c, adds, coming)
            panel = stop
        adds, col = 1, col + cols
        if col == width:
            line, col = line + count, 0


def multiply(start, stop, a, b, places, offsets, c, packed, lines, adds, plan):
    """Unit: a share of the items of c = or += the products over `lines` lines of results, which begin in a at `places`.

    A unit has a workspace of its own in `packed`.
    """
    mark_kernel()
    items = plan[at.GROUPS] * plan[at.ROW_PIECES] * plan[at.COL_PIECES]
    for unit in range(start, stop):
        for item in range(unit * items // plan[at.UNITS], (unit + 1) * items // plan[at.UNITS]):
            multiply_item(plan, item, a, b, places, offsets, lines, c, adds,
                          shift(packed, unit * plan[at.WORKSPACE]))
