"""The words of the plans that loops/depthwise.py reads and depthwise.py writes. Importing this needs no Numba."""

# How the work is cut, and how planes lie in the room of a piece.
(GROUPS, FILTERS, ROW_PIECES, COLUMN_PIECES, PIECE_ROWS, PIECE_COLUMNS, MORE_ROWS, PITCH, AREA, ROW_PHASES,
 COLUMN_PHASES, DEAL) = range(12)
# The source: channels of a group, elements along each axis, strides, and zeros before the first element.
(CHANNELS, SOURCE_DEPTH, SOURCE_ROWS, SOURCE_COLUMNS, DEPTH_STRIDE, ROW_STRIDE, COLUMN_STRIDE, ROW_LOW,
 COLUMN_LOW) = range(12, 21)
# The results: elements along each axis and the remainders into which they fall.
DEPTHS, ROWS, COLUMNS, DEPTH_CLASSES, ROW_CLASSES, COLUMN_CLASSES = range(21, 27)
# Steps of the weights; the sums of a filter's gradients, the kernel that adds their lanes, the filters of a run.
GROUP_WEIGHTS, FILTER_WEIGHTS, SUMS, TOTAL, LANES, RUN = range(27, 33)
WORDS = 33

# A row of `classes` for each remainder of the depth and the rows.
TILE, LAYERS, FIRST_LAYER, PLANES, FIRST_PLANE = range(5)
CLASS_WORDS = 5

ROOM = 8192                  # elements of the planes of a piece: they stay in the nearest caches
SLACK = 256                  # elements behind them that the last vectors may read
TOTALS = 16384               # elements of the vectors in which the gradients of a run of filters are summed
