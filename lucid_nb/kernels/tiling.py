"""How a matrix product of one shape is cut into tiles: the words by which loops/gemm.py works, and its microkernels.

Tiles are chosen by a model of their time: multiplications against loads, over all tiles of the product. Rows are split
evenly, into panels that differ by one row, so that four tiles (high or low panels, whole or last columns) cover a
shape. Threads get whole panels or columns. The depth is cut by the shape alone: no bit depends on how many there are.
"""
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from . import compiler
from .loops import gemm_words as at

BLOCK_DEPTH, BLOCK_COLS = 384, 1024      # of B in a block: what the second and third cache hold
BLOCK_OF_SUMS = 192                      # steps of the depth whose products are added in a row
ROW_PANELS = 96                          # rows from which packing B pays: it is read again for each panel of rows
PACKED_BYTES = 96 << 10                  # of B below which it is read in place, since it stays in the nearest cache
WIDE_PACKS = 2                           # tiles of columns above which packing A pays
PARALLEL = 1 << 21                       # multiplications below which a second thread costs more than it brings
LONG, MOST_SPLITS, FEW_TILES = 4096, 16, 8      # a depth that is split where tiles are few, and into how many parts
# Of the model, in multiplications of vectors: a load, the least of a step (which waits for the sums of the one before),
# a tile, each of the vectors it stores, each number that is a sum of lanes, and packing a number of B.
LOAD, LATENCY, CALL, STORE, INNER_STORE, PACK = 0.7, 4, 30, 2, 5, 1.2
MOST_ROWS = 14
INNER = (1, 8), (2, 8), (3, 6), (4, 4), (8, 2), (8, 1)      # rows and columns of tiles of inner products
POOR_INNER = (1, 6), (2, 4), (3, 3), (4, 2), (6, 1)         # with 16 registers
INNER_DEPTH, INNER_COLS = 2048, 64
LINE = 64                                # bytes: what workspaces are aligned to


@dataclass(frozen=True)
class Problem:
    """A product of one shape: sizes, steps in numbers, and what happens to the sums."""

    dtype: str                           # of the kernels: "float32", "float64", "int32" or "int64"
    rows: int
    cols: int
    depth: int
    a_row: int
    a_step: int
    b_row: int
    b_col: int
    c_row: int
    batch: int = 1
    bias: str = ""                       # "cols", "rows" or ""
    activation: str = ""
    pairs: bool = False                  # are the numbers pairs of bfloat16?

    @property
    def lies_along(self) -> bool:
        """Do both operands lie along the depth, so that inner products need no packing?"""
        return self.a_step == 1 and self.b_row == 1


class Cut(NamedTuple):
    """Panels of rows and tiles of columns, by the model's time."""

    cost: float
    is_inner: bool
    high: int
    low: int
    high_panels: int
    panels: int
    wide: int                            # columns of a tile
    last: int                            # of the last one, in whole vectors

    def tiles(self) -> list[tuple[int, int]]:
        """Rows and columns of the four tiles: high and low panels, whole and last columns."""
        return [(rows, cols) for rows in (self.high, self.low) for cols in (self.wide, self.last)]


def highest(vectors: int, registers: int) -> int:
    """The most rows of a tile so many vectors wide: sums, a row of B and a number of A in registers."""
    return min((registers - 1 - vectors) // vectors, MOST_ROWS)


@lru_cache(4096)
def cut(rows: int, cols: int, depth: int, lanes: int, registers: int, lies_along: bool = False,
        most_rows: int = MOST_ROWS) -> Cut:
    """The cut of a product that costs least, in tiles of at most so many rows; rows and cols are at least 1.

    >>> found = cut(64, 64, 64, 16, 32)
    >>> found.tiles()
    [(13, 32), (13, 32), (12, 32), (12, 32)]
    """
    found = []
    for vectors in range(1, 9):
        most = min(highest(vectors, registers), most_rows)
        if most and (vectors - 1) * lanes < cols:
            last = ceil(((cols - 1) % (vectors * lanes) + 1) / lanes)
            found.append(_even(rows, cols, depth, lanes, most, vectors, last))
    best = min(found)
    if not lies_along:
        return best
    best = best._replace(cost=best.cost + PACK * depth * cols)
    inner = [_inner(rows, cols, depth, lanes, most, wide) for most, wide in (INNER if registers == 32 else POOR_INNER)]
    return min(best, *inner)


def _even(rows: int, cols: int, depth: int, lanes: int, most: int, vectors: int, last: int) -> Cut:
    """Rows in panels of `most` at most, which differ by one."""
    panels = ceil(rows / most)
    low, more = divmod(rows, panels)
    high, high_panels = low + (more > 0), more or panels
    whole = (cols - 1) // (vectors * lanes)
    cost = 0.0
    for height, count in ((high, high_panels), (low, panels - high_panels)):
        for width, tiles in ((vectors, whole), (last, 1)):
            step = max(height * width, LOAD * (height + width), LATENCY)
            cost += count * tiles * (depth * step + CALL + STORE * height * width)
    return Cut(cost, False, high, low, high_panels, panels, vectors * lanes, last * lanes)


def _inner(rows: int, cols: int, depth: int, lanes: int, most: int, wide: int) -> Cut:
    """Tiles of inner products, in vectors along the depth."""
    wide = min(wide, cols)
    panels, tiles = ceil(rows / most), ceil(cols / wide)
    low, more = divmod(rows, panels)
    high = low + (more > 0)
    step = max(high * wide, LOAD * (high + wide), LATENCY)
    cost = panels * tiles * (ceil(depth / lanes) * step + CALL + INNER_STORE * high * wide)
    return Cut(cost, True, high, low, more or panels, panels, wide, (cols - 1) % wide + 1)


class Plan(NamedTuple):
    """The words of a problem, how many units it is run in, parts of its depth, and bytes of workspace of all units."""

    words: np.ndarray
    units: int
    splits: int
    workspace: int


def plan(problem: Problem, threads: int) -> Plan:
    """The plan of a problem with at least one row, column and step; its microkernels are compiled or loaded."""
    from . import emission
    lanes, size = emission.lanes(problem.dtype), emission.SIZES[problem.dtype]
    found = cut(problem.rows, problem.cols, problem.depth, lanes, emission.registers(), problem.lies_along)
    tiles = ceil(problem.cols / found.wide)
    splits = _splits(problem, found.panels * tiles)
    words = {name: getattr(problem, name.lower(), 0) for name in at.NAMES.split()}
    words.update(HEADER=object.__basicsize__, SIZE=size, SPLITS=splits, PANELS=found.panels, HIGH=found.high,
                 HIGH_PANELS=found.high_panels, LOW=found.low, WIDE=found.wide, NARROW=found.last,
                 C_BATCH=problem.rows * problem.c_row * size,
                 C_SPLIT=problem.batch * problem.rows * problem.c_row * size)
    _block(words, found, -(-problem.depth // splits), tiles)
    _share(words, problem, threads, tiles)
    _choose_kernels(words, problem, found, lanes)
    if splits == 1:
        _add_epilogue(words, problem)
    return Plan(np.array([words[name] for name in at.NAMES.split()], np.int64), words["UNITS"], splits,
                words["UNITS"] * words["WORKSPACE"])


def _splits(problem: Problem, tiles: int) -> int:
    """Parts of the depth, which follow from the shape alone."""
    if problem.depth < LONG or tiles * problem.batch > FEW_TILES or problem.dtype.startswith("int"):
        return 1
    return min(MOST_SPLITS, problem.depth // (LONG // 2))


def _block(words: dict[str, int], found: Cut, depth: int, tiles: int) -> None:
    """Blocks of even sizes: of B, what the second cache holds."""
    most_depth, most_cols = (INNER_DEPTH, INNER_COLS) if found.is_inner else (BLOCK_DEPTH, BLOCK_COLS)
    words["BLOCK_DEPTH"] = ceil(depth / ceil(depth / most_depth))
    words["BLOCK_COLS"] = ceil(tiles / ceil(tiles * found.wide / most_cols)) * found.wide


def _share(words: dict[str, int], problem: Problem, threads: int, tiles: int) -> None:
    """Pieces for threads. Rows are shared rather than columns: to pack B twice costs less than to pack A twice."""
    work = problem.rows * problem.cols * problem.depth * problem.batch
    units = max(1, min(threads, work // PARALLEL))
    items = problem.batch * words["SPLITS"]
    pieces = ceil(units / items)
    by_rows = words["PANELS"] >= min(pieces, tiles)
    words["ROW_PIECES"] = min(pieces, words["PANELS"]) if by_rows else 1
    words["COL_PIECES"] = 1 if by_rows else min(pieces, tiles)
    words["ITEMS"] = items * words["ROW_PIECES"] * words["COL_PIECES"]
    words["UNITS"] = min(units, words["ITEMS"])


def _choose_kernels(words: dict[str, int], problem: Problem, found: Cut, lanes: int) -> None:
    """Which operands are packed, the addresses of all microkernels, and the workspace."""
    from . import microkernel
    dtype, size = problem.dtype, words["SIZE"]
    a_packs, b_packs = _packs(problem, found, lanes, size)
    a_across, b_across = problem.a_step == 1, problem.b_col != 1
    like = microkernel.Tile(dtype, 0, 0, "panel" if a_packs else "strided", "panel" if b_packs else "strided", False,
                            problem.activation, problem.pairs, BLOCK_OF_SUMS)
    names = ("HIGH_WIDE", "HIGH_NARROW", "LOW_WIDE", "LOW_NARROW")
    for number, (name, (rows, cols)) in enumerate(zip(names, found.tiles())):
        if rows and found.is_inner:
            words[name] = microkernel.inner_address(replace(like, rows=rows, vectors=cols))
        elif rows:
            is_masked = number % 2 == 1 and problem.cols % lanes > 0          # whole tiles stand before the last one
            words[name] = microkernel.address(replace(like, rows=rows, vectors=cols // lanes, is_masked=is_masked))
    words["B_TILE_STEP"] = problem.b_col if found.is_inner else problem.b_row
    if b_packs:
        words.update(PACK_WIDE=microkernel.pack_address(dtype, found.wide, b_across),
                     PACK_NARROW=microkernel.pack_address(dtype, found.last, b_across),
                     B_PACK_STEP=problem.b_col if b_across else problem.b_row,
                     PACKED_B=_aligned(words["BLOCK_DEPTH"] * words["BLOCK_COLS"] * size))
    if a_packs:
        words.update(PACK_HIGH=microkernel.pack_address(dtype, found.high, a_across),
                     PACK_LOW=microkernel.pack_address(dtype, found.low, a_across) if found.low else 0,
                     A_PACK_STEP=problem.a_row if a_across else problem.a_step)
    packed_a = _aligned((words["BLOCK_DEPTH"] * found.high + lanes) * size) if a_packs else 0
    words["WORKSPACE"] = words["PACKED_B"] + packed_a


def _packs(problem: Problem, found: Cut, lanes: int, size: int) -> tuple[bool, bool]:
    """Are A and B packed?"""
    if found.is_inner:
        return False, False
    poor_masks = compiler.vector_width() == 128 and problem.cols % lanes          # there a masked load is branches
    b_packs = problem.b_col != 1 or poor_masks or (
        problem.rows >= ROW_PANELS and problem.depth * problem.cols * size > PACKED_BYTES)
    a_packs = (1 in (problem.a_step, problem.a_row) and problem.cols > WIDE_PACKS * found.wide
               and problem.depth * problem.rows * size > PACKED_BYTES)
    return bool(a_packs), bool(b_packs)


def _aligned(count: int) -> int:
    return -(-count // LINE) * LINE


def _add_epilogue(words: dict[str, int], problem: Problem) -> None:
    """What the last block of the depth does besides."""
    from . import microkernel
    by_cols, by_rows = problem.bias == "cols", problem.bias == "rows"
    words["MODE"] = (microkernel.COLUMN_BIAS * by_cols | microkernel.ROW_BIAS * by_rows
                     | microkernel.ACTIVATE * bool(problem.activation))
    words["BIAS_COL"], words["BIAS_ROW"] = int(by_cols), int(by_rows)
