"""Convolution with few channels in a group, depthwise above all, and its two gradients, over one to three axes.

Nothing is shared between groups, so there is nothing to be won by a matrix product: a result costs little more than the
memory that it touches. Each piece of a group's input is laid out in planes in a small room that stays in the cache, and
register tiles, made for the taps of the kernel, go over it. An axis falls into planes by the remainders of the stride;
the gradient of a strided convolution's input falls into remainders of the results instead, which a tile weaves into
each other.
"""
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import depthwise_tile, emission, memory, threads
from . import depthwise_words as words
from .depthwise_tile import Tap, Tile
from .layout import contiguous
from .planes import geometry, triple
from .steps import FLOATS, grain, range_kernel

MOST_CHANNELS = 8            # of a group on either side: a tile of many filters loads its operands less often
MOST_UNSHARED = 2            # where results of several rows do not share what they load
MOST_STRIDE = 4              # of the columns, which are picked from as many vectors
MOST_ROW_TAPS = 16           # of a column, whose weights stay in registers; more are gone through row by row
MOST_TAPS = 64               # of which a tile of the gradient of weights has the sums; more are gone through row by row
MOST_COLUMN_TAPS = 96
VECTOR = 16                  # multiply-adds that cost as much as an element of other loops
UNITS = 8                    # into which a gradient of weights should fall, for some threads


@dataclass(frozen=True)
class Line:
    """One axis: result m of a class reads source element stride * (m + offset) + phase - low through each tap.

    classes: for each remainder of the results its taps, (number, index into phases, offset).
    """

    size: int                                    # of the source
    results: int
    stride: int
    low: int
    phases: tuple[int, ...]
    classes: tuple[tuple[tuple[int, int, int], ...], ...]

    @cached_property
    def count(self) -> int:
        """Results of the first, largest remainder."""
        return ceiling(self.results, len(self.classes))

    @cached_property
    def reach(self) -> int:
        """The largest offset."""
        return max((offset for taps in self.classes for _, _, offset in taps), default=0)


def forward_line(size: int, taps: int, results: int, stride: int, low: int, dilation: int) -> Line:
    """What the results of a convolution read."""
    phases = tuple(sorted({dilation * k % stride for k in range(taps)}))
    reads = ((k, phases.index(dilation * k % stride), dilation * k // stride) for k in range(taps))
    return Line(size, results, stride, low, phases, (tuple(reads),))


def backward_line(size: int, taps: int, results: int, stride: int, low: int, dilation: int) -> Line:
    """What the gradients of the input's elements (`results` of them) read of the result's `size` gradients.

    Element stride * m + c meets tap k in result o where stride * m + c + low = stride * o + dilation * k.
    """
    places = [[(k, (c + low - dilation * k) // stride) for k in range(taps) if (c + low - dilation * k) % stride == 0]
              for c in range(stride)]
    first = min((place for chosen in places for _, place in chosen), default=0)
    classes = tuple(tuple((k, 0, place - first) for k, place in chosen) for chosen in places)
    return Line(size, results, 1, -first, (0,), classes)


class Plan:
    """All of an entry but the arrays. `channels` are those of a group's source, `filters` those of its results.

    weight_steps: elements of the weights from group to group, filter to filter and channel to channel.
    """

    def __init__(self, lines: Sequence[Line], groups: int, filters: int, channels: int, taps: Shape, dtype: np.dtype,
                 weight_steps: Shape, is_slopes: bool) -> None:
        self.depth, self.height, self.width = lines
        self.taps, self.channels, self.dtype, self.is_slopes = taps, channels, dtype, is_slopes
        self.lanes = emission.lanes(dtype.name)
        self.by_rows = taps[1] * taps[2] > MOST_TAPS if is_slopes else taps[1] > MOST_ROW_TAPS
        self.filters, self.weight_steps = filters, weight_steps
        kinds = [f"{dtype.name}*"] * 3 + ["int64", "int64"] * is_slopes + ["int64*"] * 6
        self.kernel = range_kernel(f"depthwise:{'slopes' if is_slopes else 'correlate'}", *kinds)
        self.words = np.zeros(words.WORDS, np.int64)
        # Filters that are summed side by side: what neighbours in memory are read together, from image to image.
        sums = _sums_size(channels * prod(taps), dtype)
        self.run = max(1, min(words.TOTALS // sums, groups * filters // UNITS))
        self.is_served = self._cut() and (not is_slopes or sums <= words.TOTALS)
        if self.is_served:
            self._describe(groups)
            self._tabulate()

    def _cut(self) -> bool:
        """Cut the results into pieces whose planes fit into the room; False where not even the smallest does."""
        height, width, lanes = self.height, self.width, self.lanes
        turns = len(width.classes)
        most = max(1, depthwise_tile.most_results() // turns)
        rows = depthwise_tile.slope_rows() if self.is_slopes else even(height.count, most)
        self.rows = min(rows, height.count)
        self.vectors = 1 if self.is_slopes else max(1, min(ceiling(width.count, lanes), most // self.rows))
        planes = (self.channels * max(map(len, self.depth.classes)) * len(height.phases) * len(width.phases))
        step = self.vectors * lanes
        cols = whole(width.count, step)
        while cols > step and self._rows_within(planes, cols) < self.rows:
            cols -= step
        fitting = self._rows_within(planes, cols)
        if fitting < self.rows:
            return False
        pieces = ceiling(height.count, fitting // self.rows * self.rows)
        self.piece = whole(ceiling(height.count, pieces), self.rows), cols
        return True

    def _pitch(self, cols: int) -> int:
        return whole(min(cols, self.width.count) + self.width.reach, self.lanes)

    def _rows_within(self, planes: int, cols: int) -> int:
        """How many rows of results the room can serve."""
        return words.ROOM // max(1, planes * self._pitch(cols)) - self.height.reach

    def _describe(self, groups: int) -> None:
        """Fill in the words."""
        depth, height, width = self.depth, self.height, self.width
        rows, cols = self.piece
        pitch = self._pitch(cols)
        self.area = (rows + height.reach) * pitch
        row_pieces, column_pieces = ceiling(height.count, rows), ceiling(width.count, cols)
        self.units = groups * depth.results * row_pieces * column_pieces
        given = {
            "GROUPS": groups, "FILTERS": self.filters, "ROW_PIECES": row_pieces,
            "COLUMN_PIECES": column_pieces, "PIECE_ROWS": rows, "PIECE_COLUMNS": cols,
            "MORE_ROWS": height.reach, "PITCH": pitch, "AREA": self.area, "ROW_PHASES": len(height.phases),
            "COLUMN_PHASES": len(width.phases),
            "DEAL": depthwise_tile.deal_address(self.dtype.name, width.stride, width.phases),
            "CHANNELS": self.channels, "SOURCE_DEPTH": depth.size, "SOURCE_ROWS": height.size,
            "SOURCE_COLUMNS": width.size, "DEPTH_STRIDE": depth.stride, "ROW_STRIDE": height.stride,
            "COLUMN_STRIDE": width.stride, "ROW_LOW": height.low, "COLUMN_LOW": width.low, "DEPTHS": depth.results,
            "ROWS": height.results, "COLUMNS": width.results, "DEPTH_CLASSES": len(depth.classes),
            "ROW_CLASSES": len(height.classes), "COLUMN_CLASSES": len(width.classes),
            "GROUP_WEIGHTS": self.weight_steps[0], "FILTER_WEIGHTS": self.weight_steps[1],
            "SUMS": self.channels * prod(self.taps), "LANES": self.lanes,
            "RUN": self.run, "TOTAL": depthwise_tile.total_address(self.dtype.name) if self.is_slopes else 0}
        for name, value in given.items():
            self.words[getattr(words, name)] = value

    def _tabulate(self) -> None:
        """The tables of phases, planes, classes and layers."""
        planes: list[Shape] = []
        classes: list[Shape] = []
        layers: list[tuple[int, int]] = []
        for taps in self.depth.classes:
            found = [(channel, *tap) for channel in range(self.channels) for tap in taps]
            for reads in self.height.classes:
                chosen = self._layers(found, reads)
                classes.append((self._tile(reads), len(chosen), len(layers), len(found), len(planes)))
                layers += chosen
            planes += [(channel, self.depth.stride * offset + self.depth.phases[phase] - self.depth.low)
                       for channel, _, phase, offset in found]
        self.phases = np.array(self.height.phases, np.int64)
        self.planes, self.classes = (np.array(table, np.int64).reshape(-1) for table in (planes, classes))
        self.places, self.weight_places = np.array(layers or [(0, 0)], np.int64).T.copy()
        self.tables = self.words, self.phases, self.planes, self.classes, self.places, self.weight_places
        self.addresses = struct.pack("6q", *map(threads.address_of, self.tables))

    def _layers(self, planes: Sequence[Shape], reads: Sequence[Shape]) -> list[tuple[int, int]]:
        """Where each layer begins in the room and in the weights of a filter."""
        row_planes = len(self.width.phases) * self.area
        rows = [(phase * row_planes + offset * int(self.words[words.PITCH]), k * self.taps[2])
                for k, phase, offset in reads] if self.by_rows else [(0, 0)]
        size = len(self.height.phases) * row_planes
        return [(number * size + place, channel * self.weight_steps[2] + k * self.taps[1] * self.taps[2] + weight)
                for number, (channel, k, _, _) in enumerate(planes) for place, weight in rows]

    def _tile(self, reads: Sequence[Shape]) -> int:
        """The tile for a remainder of the rows."""
        rows = [(0, 0, 0)] if self.by_rows else reads
        count, cols = len(self.width.phases), self.taps[2]
        taps = tuple(tuple(Tap(phase * count + column_phase, offset, column_offset, k * cols + column)
                           for k, phase, offset in rows for column, column_phase, column_offset in chosen)
                     for chosen in self.width.classes)
        if self.is_slopes:
            return depthwise_tile.slopes_address(self.dtype.name, self.rows, taps[0], cols)
        is_one = self.channels == 1 and not self.by_rows and set(map(len, self.depth.classes)) == {1}
        return depthwise_tile.address(Tile(self.dtype.name, self.rows, self.vectors, taps, cols, not is_one))


    def correlate(self, x: np.ndarray, weights: np.ndarray, shape: Shape) -> np.ndarray:
        """The correlation of x with the weights; an image of it is of this shape."""
        result = memory.empty((len(x), *shape), self.dtype)
        work = prod(self.piece) * self.filters * self.channels * prod(self.taps)
        self._launch(len(x) * self.units, work, contiguous(x), contiguous(weights), result)
        return result

    def add_products(self, x: np.ndarray, g: np.ndarray, w_shape: Shape) -> np.ndarray:
        """The gradient of weights of this shape; images are summed in parts where there are few filters."""
        parts = min(len(x), ceiling(UNITS, w_shape[0]))
        totals = memory.empty((parts, *w_shape), self.dtype)
        work = prod(g.shape[2:]) * prod(w_shape[1:]) * self.run * len(x) // parts
        self._launch(parts * ceiling(w_shape[0], self.run), work, contiguous(x), contiguous(g), totals, len(x), parts)
        return totals[0] if parts == 1 else totals.sum(axis=0)

    def _launch(self, count: int, work: int, a: np.ndarray, b: np.ndarray, result: np.ndarray, *integers: int) -> None:
        """Run the kernel over so many units of so many multiply-adds."""
        head = struct.pack(f"{3 + len(integers)}q", *map(threads.address_of, (a, b, result)), *integers)
        threads.run(self.kernel.address, head + self.addresses, count, grain(work // VECTOR))


def even(count: int, most: int) -> int:
    """The size of equal pieces, at most `most`."""
    return ceiling(count, ceiling(count, most))


def ceiling(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def whole(a: int, b: int) -> int:
    """The next multiple of b."""
    return ceiling(a, b) * b


# ----------------------------------------------------------------------------------------------------- entries
def forward_plan(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Plan | None:
    """The plan of a convolution that is better done here than as a product of matrices."""
    return _forward(x_shape[1:], w_shape, window, dtype, False, config.vector_width) if x_shape[0] else None


def slopes_plan(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Plan | None:
    """The plan of the gradient in w."""
    return _forward(x_shape[1:], w_shape, window, dtype, True, config.vector_width) if x_shape[0] else None


def backward_plan(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Plan | None:
    """The plan of the gradient in x."""
    return _backward(x_shape[1:], w_shape, window, dtype, config.vector_width) if x_shape[0] else None


@lru_cache(1024)
def _forward(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype, is_slopes: bool, _: int | str
             ) -> Plan | None:
    """The plan for images of this shape; the last argument is what vectors are limited to."""
    sums = prod(w_shape[1:])
    if not _suits(x_shape, w_shape, window, dtype, is_slopes):
        return None
    sizes, taps = triple(x_shape[1:], 1), triple(w_shape[2:], 1)
    results = triple(window.output_sizes(x_shape[1:], w_shape[2:]), 1)
    lines = [forward_line(*numbers) for numbers in zip(sizes, taps, results, *geometry(window))]
    filters = w_shape[0] // window.groups
    plan = Plan(lines, window.groups, filters, w_shape[1], taps, dtype, (filters * sums, sums, prod(taps)), is_slopes)
    return plan if plan.is_served else None


@lru_cache(1024)
def _backward(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype, _: int | str) -> Plan | None:
    """As `_forward`, for the gradient in x."""
    if not _suits(x_shape, w_shape, window, dtype):
        return None
    sizes, taps = triple(x_shape[1:], 1), triple(w_shape[2:], 1)
    g_sizes = triple(window.output_sizes(x_shape[1:], w_shape[2:]), 1)
    lines = [backward_line(*numbers) for numbers in zip(g_sizes, taps, sizes, *geometry(window))]
    filters, sums = w_shape[0] // window.groups, prod(w_shape[1:])
    plan = Plan(lines, window.groups, w_shape[1], filters, taps, dtype, (filters * sums, prod(taps), sums), False)
    return plan if plan.is_served else None


def _suits(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype, is_slopes: bool = False) -> bool:
    """Are there few channels in a group, and no more taps in a row than a tile is made for?"""
    results = prod(w_shape) and window.output_sizes(x_shape[1:], w_shape[2:])
    if not results or min(results) < 1 or not prod(x_shape) or dtype not in FLOATS:
        return False
    is_shared = is_slopes or window.ndim > 1 and 1 < w_shape[-2] <= MOST_ROW_TAPS
    return (max(w_shape[0] // window.groups, w_shape[1]) <= (MOST_CHANNELS if is_shared else MOST_UNSHARED)
            and window.stride[-1] <= MOST_STRIDE and w_shape[-1] <= MOST_COLUMN_TAPS)


def _sums_size(count: int, dtype: np.dtype) -> int:
    """Elements of so many vectors of sums, whole groups of them."""
    lanes = emission.lanes(dtype.name)
    return whole(count, lanes) * lanes
