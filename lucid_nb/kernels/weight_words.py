"""The words of the plans that loops/weight_gradient.py reads and weight_gradient.py writes; no kernel is here."""

# Rows of the blocks, of which the high ones come first, and how many blocks; columns of a panel and, in whole vectors,
# of the last one, how many panels and how many are packed at a time, and the kernels that pack them.
HIGH, LOW, HIGH_BLOCKS, BLOCKS, WIDE, NARROW, PANELS, PANELS_AT_ONCE, PACK_WIDE, PACK_NARROW = range(10)
# The tiles: of high and low blocks with whole panels and with the last one.
HIGH_WIDE, HIGH_NARROW, LOW_WIDE, LOW_NARROW = range(10, 14)
# Groups, columns of a group's product, pieces of its rows and columns, units, and numbers of workspace of each.
GROUPS, COLS, ROW_PIECES, COL_PIECES, UNITS, WORKSPACE = range(14, 20)
# Results of a line, the lines and columns of a run, and the lines that runs lie within.
WIDTH, RUN_LINES, RUN_COLS, SPAN = range(20, 24)
# Steps in numbers: of the operand in place from group to group; of the packed one from image to image, group and
# column; of the result from group to group, row and column.
A_GROUP, B_IMAGE, B_GROUP, B_COL, C_GROUP, C_ROW, C_COL = range(24, 31)

AHEAD = 4                    # columns of the next run that a tile asks memory for
