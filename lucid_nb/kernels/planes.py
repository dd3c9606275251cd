"""The input of a convolution as planes in which every tap is an offset, the same for all results.

An axis is padded and dealt out to one plane for each remainder of the stride that a tap reads, so neighbouring results
read neighbouring elements whatever stride and dilation are.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from ..shapes import Shape
from . import memory
from .layout import contiguous

TILE, LANES = 512, 16                            # as in loops/convolution.py
Offsets = tuple[int, ...]


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
        """Phases of each axis, then elements of each axis."""
        return tuple(len(axis.phases) for axis in self.axes) + tuple(axis.extent for axis in self.axes)

    @cached_property
    def results(self) -> Shape:
        """Results along each axis."""
        return tuple(axis.results for axis in self.axes)

    def fill(self, x: np.ndarray) -> np.ndarray:
        """The planes of x (images, channels, depth, height, width); where they are a copy, LANES elements follow."""
        if self.whole:
            return contiguous(x)
        shape = (*x.shape[:2], *self.shape)
        planes = memory.empty((prod(shape) + LANES,), x.dtype)[:-LANES].reshape(shape)
        planes[...] = 0
        for number in np.ndindex(self.shape[:3]):
            sources, places = zip(*(axis.share(axis.phases[at]) for axis, at in zip(self.axes, number)))
            planes[:, :, *number, *places] = x[:, :, *sources]
        return planes

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

    @cached_property
    def pieces(self) -> tuple[int, Offsets]:
        """How many runs the results of an image and a filter are cut into, and the sizes that `piece` reads."""
        depth, height, width = self.results
        rows = min(height, max(1, (TILE - width) // self.shape[5] + 1)) if width <= TILE else 1
        cols = min(width, TILE)
        row_cuts, col_cuts = -(-height // rows), -(-width // cols)
        return depth * row_cuts * col_cuts, (height, width, rows, cols, row_cuts, col_cuts)
