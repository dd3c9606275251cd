"""The words of the plans that loops/correlation.py reads and conv.py writes. Importing this needs no Numba."""

# The panels of filters of a group: rows of the high ones, which come first, and of the others, how many, the kernels
# that pack them, and the elements from one to the next.
HIGH, LOW, HIGH_PANELS, PANELS, PACK_HIGH, PACK_LOW, PANEL_STEP = range(7)
# The tiles where results lie in the vectors: columns of a tile and of the last one of a run.
WIDE, NARROW, HIGH_WIDE, HIGH_NARROW, LOW_WIDE, LOW_NARROW = range(7, 13)
# Where filters lie in the vectors: the taps of a turn, of short rows how many one tile takes and the tiles for them,
# and the runs of a row's results: each has its first result and its tiles.
TURN, TOGETHER, HIGH_ROWS, LOW_ROWS, RUNS, RUN_TABLE = range(7, 13)
FIRST, HIGH_RUN, LOW_RUN, RUN_WORDS = range(4)
# The blocks of taps and the panels of filters of a gradient of weights, and the tiles for them.
TAPS, LAST_TAPS, BLOCKS, PANEL, LAST_PANEL, PANEL_CUTS = range(6)
PACK, LAST_PACK, WHOLE, FEW_FILTERS, FEW_TAPS, FEW_BOTH = range(6, 12)

TILE = 512                   # results of a run: those of a panel of filters stay in the first-level cache
MOST_ROWS = 14               # filters of a panel
RESULTS = 1024               # of a run of the gradient of weights: their panel stays in the second-level cache
BLOCKS_A_UNIT = 8            # blocks of taps that read the same run one after the other
DEPTH = 512                  # taps that are gone through at a time where filters lie across the vectors
ACROSS_RESULTS = 448         # results of a run where filters lie across the vectors: what their taps read stays near
MOST_KINDS = 16              # of rows of results, by the taps that read zeros for all of a row
MOST_TAPS, MOST_LANES = 32, 256     # that are packed at a time: taps of a run, and four of the widest vectors
