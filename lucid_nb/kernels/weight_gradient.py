"""The gradient of a convolution's weights as one matrix product for each group, summed over the results of all images.

One operand is read in place through offsets, the other packed run by run of results. Usually the taps are in place,
the rows of the product, and the results' gradients of the filters are packed. Where a tap reads each channel just as it
lies (a kernel of size 1) the product may be turned: gradients are in place then and channels packed, which pays where
channels are few, and its tiles are stored without transposing them. A run joins the results of small images. Its bounds
follow from the shape alone, so that no bit depends on threads or on the limit of memory.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import ceil, prod

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import emission, memory, microkernel, threads, tiling, weight_tile
from . import weight_words as at
from .layout import contiguous
from .planes import forward_planes
from .steps import GRAIN, range_kernel

NEAR = 4 << 20                   # bytes of planes that are read again before they leave the cache
RUN = 512                        # results of a run: the second-level cache holds the panel of them that tiles read
PACKED = 1 << 17                 # numbers that are packed at a time, for the same reason
ALIGN = 16                       # results that a run of a part of a line is a multiple of
VECTOR = 16                      # multiply-adds that cost as much as an element of other loops
ACROSS = 1.2                     # storing a number of a tile that lies across, in numbers packed
UNEVEN = 4                       # groups for each thread that are shared evenly enough
PAGE, FEW_ROWS = 4096, 9         # rows this far apart share a set of the nearest cache, which holds few of them


class WeightGradient:
    """All of a gradient of weights but the arrays; `pairs`: those hold words of two bfloat16."""

    def __init__(self, x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype, thread_count: int, pairs: bool
                 ) -> None:
        self.planes, self.dtype = forward_planes(x_shape, w_shape, window), dtype
        groups, channels, filters = window.groups, w_shape[1], w_shape[0] // window.groups
        taps, results, g_group = prod(w_shape[1:]), prod(self.planes.results), filters * prod(self.planes.results)
        self.image_size, x_group, _, _ = self.planes.steps(x_shape[1], groups)
        is_compact = self.planes.shape == (1, 1, 1, *self.planes.results)
        self.lines = np.zeros(1, np.int64) if is_compact else self._lines()
        run = run_of(len(self.lines), results // len(self.lines))
        self.together = run[3] // len(self.lines)                      # images in a run
        depth = min(run[1] * run[2], results * x_shape[0])
        self.is_turned = is_compact and taps == channels and _pays_turned(filters, channels, depth)
        if self.is_turned:
            sizes, self.offsets, self.image_step = (filters, channels), np.arange(filters) * results, g_group * groups
            steps = g_group, self.image_size, x_group, results, filters * taps, taps, 1
        else:
            sizes, self.offsets, self.image_step = (taps, filters), self.planes.offsets(channels), self.image_size
            steps = x_group, g_group * groups, g_group, results, filters * taps, 1, taps
        most = max(1, groups * taps * g_group * x_shape[0] // VECTOR // GRAIN)
        self.words = _words("pairs" if pairs else dtype.name, groups, sizes, depth, run, steps, is_compact,
                            min(thread_count, most))
        numbers, words = f"{dtype.name}*", "int64*"
        self.kernel = range_kernel("weight_gradient:multiply", numbers, numbers, words, words, numbers, numbers,
                                   "int64", "int64", words)

    def _lines(self) -> np.ndarray:
        """Where the lines of an image's results begin in the planes of a channel."""
        _, _, *steps = self.planes.steps(1, 1)
        depth, height = (np.arange(count) * step for count, step in zip(self.planes.results, steps))
        return np.add.outer(depth, height).ravel()

    def add_products(self, x: np.ndarray, g: np.ndarray, totals: np.ndarray) -> None:
        """totals, as the weights, = the products of g with what each tap of x reads; both have five axes."""
        units, done = int(self.words[at.UNITS]), 0
        packed = memory.empty((units * int(self.words[at.WORKSPACE]),), self.dtype)
        for images in self._chunks(len(x)):
            planes, slopes = self.planes.fill(x[images]), contiguous(g[images])
            places = np.add.outer(np.arange(len(slopes)) * self.image_step, self.lines).ravel()
            operands = (slopes, planes) if self.is_turned else (planes, slopes)
            threads.launch(self.kernel, units, 1, *operands, places, self.offsets, totals, packed, len(places),
                           int(done > 0), self.words)
            done += len(slopes)

    def _chunks(self, count: int) -> Iterator[slice]:
        """Images whose planes stay in the cache, and within the limit of memory, in whole runs."""
        limit = config.conv_view_limit_mb << 20
        limit = NEAR if limit < 0 else min(limit, NEAR)
        image_bytes = 0 if self.planes.whole else self.image_size * self.dtype.itemsize
        if count * image_bytes <= limit:
            return iter((slice(None),))
        images = max(1, limit // image_bytes // self.together) * self.together
        return (slice(first, first + images) for first in range(0, count, images))


@lru_cache(1024)
def plan(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype, thread_count: int, vector_width: int | str,
         pairs: bool = False) -> WeightGradient:
    """The plan of a gradient for so many threads; `vector_width` is what vectors are limited to."""
    return WeightGradient(x_shape, w_shape, window, dtype, thread_count, pairs)


def run_of(lines: int, width: int) -> tuple[int, int, int, int]:
    """Of images of so many lines of results: a line, the lines and columns of a run, and what lines it lies within.

    Runs are of about one size: parts of a line, lines of an image, or several images.

    >>> run_of(1, 3136), run_of(56, 56), run_of(7, 7)
    ((3136, 1, 448, 1), (56, 8, 56, 56), (7, 70, 7, 70))
    """
    if width > RUN:
        return width, 1, ceil(width / ceil(width / RUN) / ALIGN) * ALIGN, lines
    most = RUN // width
    if lines > most:
        return width, ceil(lines / ceil(lines / most)), width, lines
    together = most // lines * lines
    return width, together, width, together


def _pays_turned(filters: int, channels: int, depth: int) -> bool:
    """Is packing channels cheaper than packing filters and storing tiles across?"""
    return channels <= filters + ACROSS * filters * channels / depth


def _words(dtype: str, groups: int, sizes: tuple[int, int], depth: int, run: tuple[int, ...], steps: tuple[int, ...],
           is_compact: bool, thread_count: int) -> np.ndarray:
    """The plan for loops/weight_gradient.py: the product of a group has `sizes` rows and columns, runs are so deep."""
    lanes, is_across = emission.lanes(dtype), steps[-1] > 1
    clashes = is_compact and steps[3] * emission.SIZES[dtype] % PAGE == 0       # neighbouring rows in place
    cut = tiling.cut(*sizes, depth, lanes, emission.registers(), most_rows=FEW_ROWS if clashes else tiling.MOST_ROWS)
    tiles = [weight_tile.address(dtype, rows, cols // lanes, is_across) if rows else 0 for rows, cols in cut.tiles()]
    packs = [microkernel.pack_address(dtype, cols, True) for cols in (cut.wide, cut.last)]
    panels = ceil(sizes[1] / cut.wide)
    at_once = min(panels, max(1, PACKED // (depth * cut.wide)))
    pieces = 1 if groups >= UNEVEN * thread_count else thread_count
    # Threads that take other panels do not pack the same ones, those that take other rows may share more evenly.
    by_cols = ceil(panels / pieces) * cut.panels <= ceil(cut.panels / pieces) * panels
    row_pieces, col_pieces = (1, pieces) if by_cols else (pieces, 1)
    return np.array([cut.high, cut.low, cut.high_panels, cut.panels, cut.wide, cut.last, panels, at_once, *packs,
                     *tiles, groups, sizes[1], row_pieces, col_pieces,
                     min(thread_count, groups * row_pieces * col_pieces), at_once * depth * cut.wide + lanes, *run,
                     *steps])
