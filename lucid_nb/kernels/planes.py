"""The input of a convolution as planes in which every tap is an offset, the same for all results.

An axis is padded and dealt out to one plane for each remainder of the stride that a tap reads, so neighbouring results
read neighbouring elements whatever stride and dilation are.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, product
from math import prod

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import correlation_tile, memory, threads
from .correlation_words import MOST_KINDS, TILE
from .layout import contiguous
from .steps import grain, range_kernel

Offsets = tuple[int, ...]
MOST_CLIPPED = 9                 # taps in a turn of a tile
WORTH_CLIPPING = 0.99            # the share of multiplications that is left


@dataclass(frozen=True)
class Axis:
    """One spatial axis: a tap reads element `tap + stride * j` of the padded axis for result j."""

    size: int                                    # elements of the array
    low: int                                     # zeros before them
    stride: int
    taps: Offsets                                # where each tap reads for the first result, in the padded axis
    results: int

    @cached_property
    def phases(self) -> Offsets:
        """The remainders of the stride that are read; each has a plane."""
        return tuple(sorted({tap % self.stride for tap in self.taps}))

    @cached_property
    def inside(self) -> tuple[tuple[int, int], ...]:
        """Of each tap the first result for which it reads the array and not its padding, and what follows the last."""
        ranges = ((max(0, -((tap - self.low) // self.stride)),
                   min(self.results, (self.low + self.size - 1 - tap) // self.stride + 1)) for tap in self.taps)
        return tuple((first, stop) if first < stop else (0, 0) for first, stop in ranges)

    @cached_property
    def kinds(self) -> tuple[list[Offsets], list[int]]:
        """The different sets of taps, by number, that read the array, and which of them each result has."""
        sets = [tuple(number for number, (first, stop) in enumerate(self.inside) if first <= j < stop)
                for j in range(self.results)]
        kinds = sorted(set(sets))
        return kinds, [kinds.index(taps) for taps in sets]

    @cached_property
    def turn(self) -> int:
        """The taps in a turn of a tile along this axis: all where so many read padding that it pays to leave those
        out, otherwise one."""
        count = len(self.taps)
        work = sum(stop - first for first, stop in self.inside) / max(1, count * self.results)
        return count if count <= MOST_CLIPPED and work <= WORTH_CLIPPING else 1

    def clips(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """Of each tap of a turn which results of [start, stop) it is needed for, counted from start."""
        if self.turn == 1 and len(self.taps) > 1:
            return ((0, stop - start),)
        ranges = ((max(first, start) - start, min(last, stop) - start) for first, last in self.inside)
        return tuple((first, last) if first < last else (0, 0) for first, last in ranges)

    @cached_property
    def whole(self) -> bool:
        """Whether the array itself can be the plane."""
        return self.stride == 1 and self.low == 0 and max(self.taps) + self.results <= self.size

    @cached_property
    def extent(self) -> int:
        """Elements of a plane."""
        return self.size if self.whole else max(self.taps) // self.stride + self.results

    def share(self, phase: int) -> tuple[slice, slice]:
        """What of the array goes to the plane of a phase, and where there."""
        first = (phase - self.low) % self.stride
        place = (first + self.low) // self.stride
        count = max(0, min(-(-(self.size - first) // self.stride), self.extent - place))
        return slice(first, first + count * self.stride, self.stride), slice(place, place + count)


@dataclass(frozen=True)
class Planes:
    """Three axes dealt out to planes."""

    axes: tuple[Axis, ...]

    @cached_property
    def whole(self) -> bool:
        """Whether the array itself can be the planes."""
        return all(axis.whole for axis in self.axes)

    @cached_property
    def shape(self) -> Shape:
        """Phases of each axis, then elements of each axis; those of a row are without `shared`."""
        depth, height, width = (axis.extent for axis in self.axes)
        return (*(len(axis.phases) for axis in self.axes), depth, height, width - self.shared)

    @cached_property
    def shared(self) -> int:
        """Zeros at the end of a row that are those at the beginning of the next one, too."""
        axis = self.axes[2]
        if self.whole:
            return 0
        places = [axis.share(phase)[1] for phase in axis.phases]
        return min(min(place.start for place in places), axis.extent - max(place.stop for place in places))

    @cached_property
    def results(self) -> Shape:
        """Results along each axis."""
        return tuple(axis.results for axis in self.axes)

    @cached_property
    def shares(self) -> np.ndarray:
        """What goes where, as loops/correlation.py reads it: the first element, its place, how many; by axis, phase."""
        pairs = [axis.share(phase) for axis in self.axes for phase in axis.phases]
        return np.array([(source.start, place.start, place.stop - place.start) for source, place in pairs], np.int64)

    @cached_property
    def filling(self) -> np.ndarray:
        """The sizes that loops/correlation.py needs to fill planes."""
        _, height, width = (axis.size for axis in self.axes)
        of_axes = zip(self.shape[:3], self.shape[3:], (axis.stride for axis in self.axes))
        return np.array([height, width, prod(axis.size for axis in self.axes), *chain(*of_axes)], np.int64)

    def fill(self, x: np.ndarray) -> np.ndarray:
        """The planes of x (images, channels, depth, height, width)."""
        x = contiguous(x)
        if self.whole:
            return x
        shape = (*x.shape[:2], *self.shape)
        room = memory.empty((prod(shape) + self.shared,), x.dtype)
        room[prod(shape):] = 0
        dtype = _kernels_dtype(x.dtype)
        kernel = range_kernel("correlation:fill", f"{dtype}*", f"{dtype}*", "int64*", "int64*", "int64*")
        threads.launch(kernel, x.shape[0] * x.shape[1], grain(prod(self.shape)), x, room, self.shares, self.filling,
                       row_kernels(dtype, config.vector_width))
        return room[:prod(shape)].reshape(shape)

    def offsets(self, channels: int) -> np.ndarray:
        """Where each tap of each of so many channels begins, channels outermost."""
        tables = ([(axis.phases.index(tap % axis.stride), tap // axis.stride) for tap in axis.taps]
                  for axis in self.axes)
        places = np.array([(*zip(*taps),) for taps in product(*tables)]).reshape(-1, 6)      # as `shape`
        strides = np.cumprod([1, *self.shape[::-1]])[::-1]
        return (np.arange(channels)[:, None] * strides[0] + places @ strides[1:]).ravel()

    def steps(self, channels: int, groups: int) -> Offsets:
        """Elements from image to image, group, depth and row."""
        _, height, width = self.shape[3:]
        plane = prod(self.shape)
        return plane * channels, plane * channels // groups, height * width, width

    def turns(self, channels: int) -> tuple[np.ndarray, np.ndarray]:
        """What tiles go through for rows of results, without taps that read zeros for all of a row, as
        loops/correlation.py reads it.

        The first array has for each kind of rows and each turn the number of its first tap and the offsets of its taps;
        the second the kinds, of each the place of its first turn and the turns of a channel, then each row's kind.
        """
        (depths, of_depth), (heights, of_height) = (axis.kinds for axis in self.axes[:2])
        counts, turn = [len(axis.taps) for axis in self.axes], self.axes[2].turn
        if len(depths) * len(heights) > MOST_KINDS:
            depths, heights = [tuple(range(counts[0]))], [tuple(range(counts[1]))]
            of_depth, of_height = [0] * len(of_depth), [0] * len(of_height)
        offsets = self.offsets(channels)
        numbers = np.arange(offsets.size).reshape(channels, *counts)
        tables, kinds, place = [], [], 0
        for chosen in product(depths, heights):
            of_turns = numbers[np.ix_(range(channels), *chosen)].reshape(-1, turn)
            tables.append(np.column_stack([of_turns[:, 0], offsets[of_turns]]).ravel())
            kinds += [place, len(of_turns) // channels]
            place += tables[-1].size
        rows = np.add.outer(np.array(of_depth) * len(heights), of_height).ravel()
        return np.concatenate(tables), np.array([len(tables), *kinds, *rows])

    @cached_property
    def pieces(self) -> tuple[int, Offsets]:
        """How many runs the results of an image and a filter are cut into, and the sizes that `piece` reads."""
        depth, height, width = self.results
        rows = min(height, max(1, (TILE - width) // self.shape[5] + 1)) if width <= TILE else 1
        cols = min(width, TILE)
        row_cuts, col_cuts = -(-height // rows), -(-width // cols)
        return depth * row_cuts * col_cuts, (height, width, rows, cols, row_cuts, col_cuts)


@lru_cache
def _kernels_dtype(dtype: np.dtype) -> str:
    """What elements of a dtype are moved as."""
    return {"bool": "int8"}.get(dtype.name, dtype.name.removeprefix("u"))


@lru_cache
def row_kernels(dtype: str, vector_width: int | str) -> np.ndarray:
    """The kernels that fill rows of planes, for strides 1 and 2."""
    return np.array([correlation_tile.rows_address(dtype, stride) for stride in (1, 2)])


def triple(values: Shape, filler: int) -> Shape:
    """Three spatial numbers, led by `filler`."""
    return (filler,) * (3 - len(values)) + tuple(values)


def geometry(window: Window) -> tuple[Shape, Shape, Shape]:
    """Stride, low padding and dilation of three axes."""
    return triple(window.stride, 1), triple(window.low, 0), triple(window.dilation, 1)


def forward_planes(x_shape: Shape, w_shape: Shape, window: Window) -> Planes:
    """What the results of a convolution read."""
    sizes, taps = triple(x_shape[2:], 1), triple(w_shape[2:], 1)
    results = triple(window.output_sizes(x_shape[2:], w_shape[2:]), 1)
    return Planes(tuple(
        Axis(size, low, stride, tuple(range(0, count * dilation, dilation)), result)
        for size, count, result, stride, low, dilation in zip(sizes, taps, results, *geometry(window))))


def remainders(size: int, taps: int, g_size: int, stride: int, low: int, dilation: int
                ) -> tuple[tuple[Axis, Offsets, slice], ...]:
    """One input axis by remainders of the stride: what is read of g, by which taps, and where the results belong.

    Element i of the input meets tap k in result o where i + low = stride * o + dilation * k. With i + low =
    stride * q + remainder that is o = q - (dilation * k - remainder) / stride, for the taps that divide.
    """
    parts = []
    for remainder in range(stride):
        chosen = tuple(k for k in range(taps) if (dilation * k - remainder) % stride == 0)
        first = -((remainder - low) // stride)
        results = (size - 1 + low - remainder) // stride - first + 1
        if chosen and results > 0:
            places = [first - (dilation * k - remainder) // stride for k in chosen]
            padding = max(0, -min(places))
            axis = Axis(g_size, padding, 1, tuple(place + padding for place in places), results)
            parts.append((axis, chosen, slice(stride * first + remainder - low, None, stride)))
    return tuple(parts)
