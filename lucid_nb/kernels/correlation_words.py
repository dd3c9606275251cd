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

TILE = 512                   # results of a run: those of a panel of filters stay in the first-level cache
MOST_ROWS = 14               # filters of a panel
DEPTH = 1024                 # taps that are gone through at a time where filters lie across the vectors
ACROSS_RESULTS = 448         # results of a run where filters lie across the vectors: what their taps read stays near
# How weights are packed: elements from group to group and filter to filter, and how long the runs of neighbours are.
GROUP_STEP, ROW_STEP, RUN = range(3)
AHEAD = 4                    # runs of weights that are fetched before they are packed
MOST_KINDS = 16              # of rows of results, by the taps that read zeros for all of a row
MOST_TAPS, MOST_LANES = 32, 256     # that are packed at a time: taps of a run, and four of the widest vectors
