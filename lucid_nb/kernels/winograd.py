"""Winograd's convolution, F(4x4, 3x3), and its gradient in the input: 36 multiplications in the place of 144.

A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", CVPR 2016. It is taken where config.winograd
is on, for kernels of 3x3 without stride and dilation in float32 (and what is computed in it), and where it is faster
than the direct road: many channels, planes that fill patches of 4x4. Sums of inputs and of weights are rounded before
they are multiplied, so that errors are about 1e-5 of the largest results where the direct road has 3e-7, and an
infinity or NaN reaches all results of its patch. Weights are transformed anew for each call. config.conv_view_limit_mb
bounds all temporaries; where not even one block fits, the direct road is taken.
"""
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import emission, memory, microkernel, threads, winograd_tile
from . import winograd_words as words
from .layout import contiguous
from .microkernel import Tile
from .steps import SINGLE, grain, range_kernel
from .store import RangeKernel
from .winograd_tile import INPUTS, RESULTS, TAPS

MOST_PATCHES = 128           # of a block, whose matrices stay near
MOST_ROW = 64                # patches above which a row of them is cut
LINE = 16                    # elements of a cache line, by which the 36 matrices lie out of step with pages
BLOCK = 1                    # what a block costs besides, in vectors of patches
READING = 0.15               # of a block's time is spent on inputs, again for each part of the filters
PARALLEL = 1 << 21           # multiplications below which a second thread costs more than it brings
UNLIMITED = 1 << 60          # elements
# In multiplications: what it costs to transform a patch of a channel or of a filter, and a kernel of 3x3; what share of
# the direct road's it must stay below, and the fewest of the direct road for which the launches pay.
PATCH, WEIGHT, GAIN, LEAST = 500, 500, 0.9, 1 << 19
KINDS = {"p": "float32*", "w": "int64*"}


class Problem(NamedTuple):
    """What reads `channels` and gives `filters` of each group: planes of `sizes` become planes of `results`.

    low: zeros before the first row and column. of_input: is it the gradient of the input? Its weights lie across.
    """

    images: int
    groups: int
    channels: int
    filters: int
    sizes: Shape
    results: Shape
    low: Shape
    of_input: bool

    @property
    def patches(self) -> Shape:
        """Rows and columns of patches in a plane of results."""
        return tuple(ceiling(size, RESULTS) for size in self.results)


class Plan:
    """All of a convolution but the arrays. room: elements that its temporaries may take; count: of threads."""

    def __init__(self, problem: Problem, room: int, count: int) -> None:
        lanes, groups = emission.lanes(SINGLE.name), problem.groups
        given = _filters(problem, lanes) | _kernels() | _planes(problem) | {"LANES": lanes}
        self.packed = groups * given["PANELS"] * given["PANEL_STEP"]
        self.turned = words.MATRICES * groups * given["WEIGHT_STEP"]
        given |= _block(problem, room - self.turned - self.packed, given["PANELS"], lanes, count)
        self.problem, self.given, self.zeros = problem, given, np.zeros(problem.sizes[1], SINGLE)
        self.room = self.packed + self.turned + given["UNITS"] * given["WORK"]
        self.words = np.zeros(words.WORDS, np.int64)
        for name, value in given.items():
            self.words[getattr(words, name)] = value

    def correlate(self, x: np.ndarray, weights: np.ndarray, shape: Shape) -> np.ndarray:
        """The correlation of x with the weights; an image of it is of this shape."""
        problem, given, result = self.problem, self.given, memory.empty((len(x), *shape), SINGLE)
        panels, turned = memory.empty((self.packed,), SINGLE), memory.empty((self.turned,), SINGLE)
        threads.launch(_kernel("turn", "pppw"), problem.groups * given["PANELS"],
                       grain(words.MATRICES * problem.channels), contiguous(weights), panels, turned, self.words)
        workspace = memory.empty((given["UNITS"] * given["WORK"],), SINGLE)
        threads.launch(_kernel("correlate", "pppppw"), given["UNITS"], 1, contiguous(x), turned, self.zeros, result,
                       workspace, self.words)
        return result


def _kernel(name: str, letters: str) -> RangeKernel:
    """A kernel of loops/winograd.py."""
    return range_kernel(f"winograd:{name}", *[KINDS[letter] for letter in letters])


def ceiling(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def whole(a: int, b: int) -> int:
    """The next multiple of b."""
    return ceiling(a, b) * b


def _step(count: int) -> int:
    """From one of 36 matrices of so many elements to the next."""
    return whole(count, LINE) + LINE


# --------------------------------------------------------------------------------------------------------- words
def _planes(problem: Problem) -> dict[str, int]:
    """What is read and written."""
    rows, cols = problem.patches
    return dict(GROUPS=problem.groups, CHANNELS=problem.channels, FILTERS=problem.filters, HEIGHT=problem.sizes[0],
                WIDTH=problem.sizes[1], LOW_ROW=problem.low[0], LOW_COLUMN=problem.low[1],
                RESULT_HEIGHT=problem.results[0], RESULT_WIDTH=problem.results[1], PATCH_ROWS=rows,
                PATCH_COLUMNS=cols, ALL_ROWS=problem.images * rows)


def _filters(problem: Problem, lanes: int) -> dict[str, int]:
    """Panels of filters, split evenly, their tiles, and where weights lie."""
    channels, filters, taps = problem.channels, problem.filters, TAPS * TAPS
    most = 14 if emission.registers() == 32 else 6
    panels = ceiling(filters, most)
    low, more = divmod(filters, panels)
    high = low + bool(more)
    tiles = {f"{height}_{width}": microkernel.address(Tile(SINGLE.name, rows, vectors, "panel", "panel", False))
             for height, rows in (("HIGH", high), ("LOW", low)) for width, vectors in (("WIDE", 2), ("NARROW", 1))}
    if problem.of_input:
        lie = dict(ROW_STEP=taps, RUNS=channels, RUN=taps, RUN_STEP=filters * taps, FIRST_TAP=taps - 1, TAP_STEP=-1)
    else:
        lie = dict(ROW_STEP=channels * taps, RUNS=1, RUN=channels * taps, RUN_STEP=0, FIRST_TAP=0, TAP_STEP=1)
    return tiles | lie | dict(
        HIGH=high, LOW=low, HIGH_PANELS=more or panels, PANELS=panels, GROUP_STEP=channels * filters * taps,
        PACK_HIGH=microkernel.pack_address(SINGLE.name, high, True),
        PACK_LOW=microkernel.pack_address(SINGLE.name, low, True), PANEL_STEP=high * channels * taps + lanes,
        WEIGHT_STEP=_step(filters * channels))


def _kernels() -> dict[str, int]:
    """The transforms."""
    names = dict(READ="read_rows", SPREAD="spread", GATHER="gather", COPY="copy_rows", TURN="turn_weights")
    return {word: winograd_tile.address(name) for word, name in names.items()}


def _workspace(problem: Problem, patches: int, lanes: int) -> dict[str, int]:
    """What a unit needs for blocks of so many patches."""
    count = whole(patches, lanes)
    inputs, products = _step(problem.channels * count), _step(problem.filters * count)
    room = _step(RESULTS * count + 2 * lanes)
    at_products = words.MATRICES * inputs
    at_room = at_products + words.MATRICES * products
    return dict(BLOCK_PATCHES=count, INPUT_STEP=inputs, PRODUCT_STEP=products, ROOM_STEP=room, PRODUCTS=at_products,
                ROOM=at_room, WORK=at_room + 2 * INPUTS * room)


def _block(problem: Problem, room: int, panels: int, lanes: int, count: int) -> dict[str, int]:
    """The blocks that fill vectors and threads best, in a workspace of `room` elements; one row where none fits."""
    rows, cols = problem.images * problem.patches[0], problem.patches[1]
    work = words.MATRICES * problem.groups * problem.channels * problem.filters * rows * cols
    most = max(1, min(count, work // PARALLEL))
    wide = ceiling(cols, ceiling(cols, MOST_ROW))
    found: list[tuple[float, int, dict[str, int]]] = []
    for high in range(1, min(rows, max(1, MOST_PATCHES // wide)) + 1):
        space = _workspace(problem, high * wide, lanes)
        if found and space["WORK"] > room:
            break
        shares = _shares(problem, high, wide, min(most, max(1, room // space["WORK"])), panels)
        found.append((_cost(problem, shares, lanes), -high, space | shares))
    return min(found, key=lambda choice: choice[:2])[2]


def _shares(problem: Problem, high: int, wide: int, most: int, panels: int) -> dict[str, int]:
    """Items of blocks of high by wide patches for at most so many units; where blocks are few, filters are shared."""
    rows, pieces = problem.images * problem.patches[0], ceiling(problem.patches[1], wide)
    blocks = ceiling(rows, high) * pieces * problem.groups
    parts = min(ceiling(most, blocks), panels)
    return dict(BLOCK_ROWS=high, BLOCK_COLUMNS=wide, COLUMN_BLOCKS=pieces, PARTS=parts, ITEMS=blocks * parts,
                UNITS=min(most, blocks * parts))


def _cost(problem: Problem, shares: dict[str, int], lanes: int) -> float:
    """The time of the unit with the most items, in vectors of patches."""
    high, wide, units, parts = (shares[name] for name in ("BLOCK_ROWS", "BLOCK_COLUMNS", "UNITS", "PARTS"))
    vectors, last = ceiling(high * wide, lanes), problem.images * problem.patches[0] % high
    missing = vectors - ceiling(last * wide, lanes) if units == 1 and last else 0
    return ceiling(shares["ITEMS"], units) * (vectors * (READING + (1 - READING) / parts) + BLOCK) - missing


# ------------------------------------------------------------------------------------------------------- entries
def forward_plan(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Plan | None:
    """The plan of a convolution that is done this way."""
    return _plan(False, x_shape, w_shape, window, dtype) if config.winograd else None


def backward_plan(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Plan | None:
    """The plan of the gradient in x."""
    return _plan(True, x_shape, w_shape, window, dtype) if config.winograd else None


def _plan(of_input: bool, x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Plan | None:
    """The plan of a convolution, or of its gradient in the input, where it suits and pays and fits into the limit."""
    if dtype != SINGLE or w_shape[2:] != (TAPS, TAPS) or window.stride + window.dilation != (1, 1, 1, 1):
        return None
    return _planned(_problem(of_input, x_shape, w_shape, window), config.conv_view_limit_mb, config.num_threads,
                    config.vector_width)


def _problem(of_input: bool, x_shape: Shape, w_shape: Shape, window: Window) -> Problem:
    """What is read and what comes out: the gradient of the input is a convolution of the result's gradient."""
    sizes, results = x_shape[2:], window.output_sizes(x_shape[2:], w_shape[2:])
    filters, groups = w_shape[0] // window.groups, window.groups
    if of_input:
        low = tuple(TAPS - 1 - low for low in window.low)
        return Problem(x_shape[0], groups, filters, w_shape[1], results, sizes, low, True)
    return Problem(x_shape[0], groups, w_shape[1], filters, sizes, results, window.low, False)


@lru_cache(1024)
def _planned(problem: Problem, limit: int, count: int, _: int | str) -> Plan | None:
    """The plan for so many MiB and threads; the last argument is what vectors are limited to.

    Whether there is one does not depend on the number of threads, so that no bit does.
    """
    numbers = (problem.images, problem.channels, problem.filters, *problem.sizes, *problem.results)
    if min(numbers) < 1 or min(problem.low) < 0 or not pays(problem):
        return None
    room = (limit << 20) // SINGLE.itemsize if limit >= 0 else UNLIMITED
    plan = Plan(problem, room, count)
    return plan if plan.room <= room else None


def pays(problem: Problem) -> bool:
    """Is it faster than the direct road, by multiplications saved against numbers transformed?"""
    channels, filters, groups = problem.channels, problem.filters, problem.groups
    patches = whole(problem.images * prod(problem.patches), emission.lanes(SINGLE.name))
    direct = TAPS * TAPS * channels * filters * problem.images * prod(problem.results)
    products = words.MATRICES * channels * filters * patches
    cost = products + PATCH * (channels + filters) * patches + WEIGHT * channels * filters
    return cost < GAIN * direct and groups * direct > LEAST
