"""The words of the plans that loops/winograd.py reads and winograd.py writes. Importing this needs no Numba."""

# The convolution: channels and filters of a group, the planes that are read and written, zeros before the first row
# and column, patches in a column and a row of them, tile rows of all images.
(GROUPS, CHANNELS, FILTERS, HEIGHT, WIDTH, LOW_ROW, LOW_COLUMN, RESULT_HEIGHT, RESULT_WIDTH, PATCH_ROWS, PATCH_COLUMNS,
 ALL_ROWS) = range(12)
# The blocks: rows and columns of patches, how many blocks lie side by side, into how many parts the filters of a group
# fall, and how the work is shared.
BLOCK_ROWS, BLOCK_COLUMNS, COLUMN_BLOCKS, PARTS, ITEMS, UNITS = range(12, 18)
# The workspace of a unit, in elements: patches of a row of a product, steps between the 36 matrices of weights, of
# inputs and of products, planes of the room; where products and the room begin, and the whole.
BLOCK_PATCHES, WEIGHT_STEP, INPUT_STEP, PRODUCT_STEP, ROOM_STEP, PRODUCTS, ROOM, WORK = range(18, 26)
# Panels of filters, as in correlation_words, and where a filter's weights lie.
(HIGH, LOW, HIGH_PANELS, PANELS, PACK_HIGH, PACK_LOW, PANEL_STEP, GROUP_STEP, ROW_STEP, RUNS, RUN, RUN_STEP, FIRST_TAP,
 TAP_STEP) = range(26, 40)
# The kernels: tiles of the products by high and low panels and by two vectors and one, and the transforms.
LANES, HIGH_WIDE, HIGH_NARROW, LOW_WIDE, LOW_NARROW, READ, SPREAD, GATHER, COPY, TURN = range(40, 50)
WORDS = 50

MATRICES = 36                # numbers of a patch of 6x6
DEPTH = 384                  # channels that are gone through at a time
