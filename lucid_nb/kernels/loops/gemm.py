"""The loops around a tile of a matrix product, after Goto and van de Geijn: columns, depth, panels of rows, tiles.

One kernel serves every dtype and shape: memory is addresses and steps, microkernels are called by address. `plan` are
the words of gemm_words.py.
"""
from numpy import int64

from ..intrinsics import call_address, element
from . import gemm_words as at
from .typed import block, scalar


@scalar
def row_of(plan, panel):
    """The first row of a panel: high panels come first."""
    high = min(panel, plan[at.HIGH_PANELS])
    return high * plan[at.HIGH] + (panel - high) * plan[at.LOW]


@scalar
def pack_columns(plan, b, cols, depth, packed):
    """Pack a block of B panel by panel."""
    size = plan[at.SIZE]
    j = 0
    while j < cols:                          # Numba's range would raise for a step of 0
        pack = plan[at.PACK_WIDE] if cols - j > plan[at.NARROW] else plan[at.PACK_NARROW]
        call_address(pack, depth, b + j * plan[at.B_COL] * size, plan[at.B_PACK_STEP], packed + j * depth * size,
                     cols - j)
        j += plan[at.WIDE]


@block
def multiply_panel(plan, high, a, b, c, bias, cols, depth, mode, packed_b):
    """One panel of A times a block of B, tile by tile; `packed_b` is 0 where B is read in place."""
    size, wide, narrow = plan[at.SIZE], plan[at.WIDE], plan[at.NARROW]
    whole_tile = plan[at.HIGH_WIDE] if high else plan[at.LOW_WIDE]
    last_tile = plan[at.HIGH_NARROW] if high else plan[at.LOW_NARROW]
    j = 0
    while j < cols:
        tile = whole_tile if cols - j > narrow else last_tile
        right = packed_b + j * depth * size if packed_b else b + j * plan[at.B_COL] * size
        call_address(tile, depth, a, plan[at.A_ROW], plan[at.A_STEP], right, plan[at.B_TILE_STEP], c + j * size,
                     plan[at.C_ROW], cols - j, mode, bias + j * plan[at.BIAS_COL] * size)
        j += wide


@block
def multiply_block(plan, a, b, c, bias, first, stop, cols, depth, mode, packed_b, packed_a):
    """Panels [first, stop) of A times a block of B."""
    size = plan[at.SIZE]
    for panel in range(first, stop):
        row = row_of(plan, panel)
        high = panel < plan[at.HIGH_PANELS]
        left = a + row * plan[at.A_ROW] * size
        if plan[at.PACK_HIGH]:
            rows = plan[at.HIGH] if high else plan[at.LOW]
            call_address(plan[at.PACK_HIGH] if high else plan[at.PACK_LOW], depth, left, plan[at.A_PACK_STEP], packed_a,
                         rows)
            left = packed_a
        multiply_panel(plan, high, left, b, c + row * plan[at.C_ROW] * size,
                       bias + row * plan[at.BIAS_ROW] * size, cols, depth, mode, packed_b)


@block
def multiply_item(plan, item, a, b, c, bias, places, packed_b, packed_a):
    """A piece of rows and columns, and a part of the depth, of one of the batch; `places` says where each begins."""
    size, wide = plan[at.SIZE], plan[at.WIDE]
    item, col_piece = item // plan[at.COL_PIECES], item % plan[at.COL_PIECES]
    item, row_piece = item // plan[at.ROW_PIECES], item % plan[at.ROW_PIECES]
    number, split = item // plan[at.SPLITS], item % plan[at.SPLITS]
    if places:
        a += element(places, int64)[2 * number]
        b += element(places, int64)[2 * number + 1]
    c += number * plan[at.C_BATCH] + split * plan[at.C_SPLIT]
    panels, tiles = plan[at.PANELS], (plan[at.COLS] + wide - 1) // wide
    first, stop = row_piece * panels // plan[at.ROW_PIECES], (row_piece + 1) * panels // plan[at.ROW_PIECES]
    left = col_piece * tiles // plan[at.COL_PIECES] * wide
    right = min(plan[at.COLS], (col_piece + 1) * tiles // plan[at.COL_PIECES] * wide)
    top = split * plan[at.DEPTH] // plan[at.SPLITS]
    bottom = (split + 1) * plan[at.DEPTH] // plan[at.SPLITS]
    j = left
    while j < right:
        cols, k = min(plan[at.BLOCK_COLS], right - j), top
        while k < bottom:
            depth = min(plan[at.BLOCK_DEPTH], bottom - k)
            here = b + (k * plan[at.B_ROW] + j * plan[at.B_COL]) * size
            if plan[at.PACK_WIDE]:
                pack_columns(plan, here, cols, depth, packed_b)
            mode = int(k > top) | (plan[at.MODE] if k + depth == bottom else 0)
            multiply_block(plan, a + k * plan[at.A_STEP] * size, here, c + j * size,
                           bias + j * plan[at.BIAS_COL] * size, first, stop, cols, depth, mode,
                           packed_b if plan[at.PACK_WIDE] else 0, packed_a)
            k += depth
        j += cols


@scalar
def data_of(array, header):
    """Where the numbers of a NumPy array are, from the address of the array object; 0 for none."""
    return element(array + header, int64)[0] if array else 0


def multiply(start, stop, a, b, c, bias, workspace, places, plan):
    """Units [start, stop) of a product; each is a run of items and has a workspace of its own.

    a, b, c and bias are addresses of array objects, which are cheaper to come by than those of their numbers.
    """
    words = element(plan, int64)
    header = words[at.HEADER]
    a, b, c, bias = data_of(a, header), data_of(b, header), data_of(c, header), data_of(bias, header)
    for unit in range(start, stop):
        packed_b = workspace + unit * words[at.WORKSPACE]
        first, last = unit * words[at.ITEMS] // words[at.UNITS], (unit + 1) * words[at.ITEMS] // words[at.UNITS]
        for item in range(first, last):
            multiply_item(words, item, a, b, c, bias, places, packed_b, packed_b + words[at.PACKED_B])
