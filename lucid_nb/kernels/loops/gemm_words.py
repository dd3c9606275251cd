"""The words of a plan, by which gemm.py tells loops/gemm.py what to multiply and how it is cut; no kernel is here."""

NAMES = """
ROWS COLS DEPTH SIZE
A_ROW A_STEP B_ROW B_COL B_TILE_STEP C_ROW C_BATCH C_SPLIT
UNITS ITEMS SPLITS ROW_PIECES COL_PIECES BLOCK_COLS BLOCK_DEPTH
PANELS HIGH_PANELS HIGH LOW WIDE NARROW
HIGH_WIDE HIGH_NARROW LOW_WIDE LOW_NARROW
PACK_HIGH PACK_LOW A_PACK_STEP PACK_WIDE PACK_NARROW B_PACK_STEP
WORKSPACE PACKED_B MODE BIAS_ROW BIAS_COL HEADER
"""
# Steps are in numbers, C_BATCH, C_SPLIT, WORKSPACE and PACKED_B in bytes. A_STEP and B_ROW are steps of k; B_TILE_STEP
# is what a tile is told of B. HIGH and LOW are the rows of a panel, WIDE and NARROW the columns of a tile and of the
# last one. Microkernels stand as addresses; 0 in the place of a packing one says that an operand is read in place.
# HEADER are the bytes of an array object before the address of its numbers.
(ROWS, COLS, DEPTH, SIZE,
 A_ROW, A_STEP, B_ROW, B_COL, B_TILE_STEP, C_ROW, C_BATCH, C_SPLIT,
 UNITS, ITEMS, SPLITS, ROW_PIECES, COL_PIECES, BLOCK_COLS, BLOCK_DEPTH,
 PANELS, HIGH_PANELS, HIGH, LOW, WIDE, NARROW,
 HIGH_WIDE, HIGH_NARROW, LOW_WIDE, LOW_NARROW,
 PACK_HIGH, PACK_LOW, A_PACK_STEP, PACK_WIDE, PACK_NARROW, B_PACK_STEP,
 WORKSPACE, PACKED_B, MODE, BIAS_ROW, BIAS_COL, HEADER) = range(len(NAMES.split()))
