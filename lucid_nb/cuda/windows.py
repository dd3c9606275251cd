"""Windows of pools in kernels: which cells one has, and which windows have a cell, along each of three axes.

An axis travels as its size, taps, stride, low and high padding, dilation and results. Where windows follow no step
(adaptive pools) its stride is 0, and they divide the cells evenly.
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

from ..shapes import Shape
from ..windows import Axis, Sliding, merged
from .places import Places, fitting
from .runtime import inline

Numbers = tuple[int, ...]
ALONE: Numbers = (1, 1, 1, 0, 0, 1, 1)


class Windows(NamedTuple):
    """Windows over the last axes of an array: how kernels compute places, and the numbers of three axes."""

    places: Places
    axes: tuple[Numbers, Numbers, Numbers]
    planes: int
    size: int              # cells of a plane
    results: int           # windows of a plane
    is_whole: bool         # is there one window, of all cells?

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The axes as kernels take them."""
        return self.places.of(*self.axes)


def _numbers(axis: Axis) -> Numbers:
    if isinstance(axis, Sliding):
        return axis.size, axis.taps, axis.stride, axis.low, axis.high, axis.dilation, axis.results
    return axis.size, 0, 0, 0, 0, 1, axis.results


def _reach(numbers: Numbers) -> int:
    """The largest number that is computed along an axis."""
    size, taps, stride, low, high, dilation, results = numbers
    return (results + 1) * (stride or size) + (size + 1) * (0 if stride else results) + low + high + taps * dilation


@cache
def windows_of(lead: Shape, axes: tuple[Axis, ...]) -> Windows:
    """The windows of an array whose other axes are `lead`."""
    planes, size, results = prod(lead), prod(axis.size for axis in axes), prod(axis.results for axis in axes)
    axes = merged(axes)
    numbers: Sequence[Numbers] = [ALONE] * (3 - len(axes)) + [_numbers(axis) for axis in axes]
    most = max(planes * max(size, results), *map(_reach, numbers))
    is_whole = len(axes) == 1 and axes[0].is_whole
    return Windows(fitting(most), tuple(numbers), planes, size, results, is_whole)  # type: ignore[arg-type]


class Finder(NamedTuple):
    """Functions that kernels use; places are computed in `integer`."""

    integer: Any
    split: Callable            # of a number over four extents, all but the first given: the number along each
    cells: Callable            # of a window along an axis: its first cell, and behind its last one
    windows: Callable          # of a cell along an axis: the first window that has it, and behind the last one


@cache
def finder_of(places: Places) -> Finder:
    """The functions for places of 32 or of 64 bits."""
    integer, quotient = places

    def split(i, depth, height, width):
        line = quotient(i, width)
        layer = quotient(line, height)
        plane = quotient(layer, depth)
        return plane, integer(layer - plane * depth), integer(line - layer * height), integer(i - line * width)

    def cells(j, axis):
        size, taps, stride, low, high, dilation, results = axis
        if stride == 0:
            return quotient(integer(j * size), results), quotient(integer((j + 1) * size + results - 1), results)
        first = integer(j * stride - low)
        stop = integer(min(first + (taps - 1) * dilation + 1, size))
        if first < 0:
            first = integer(first + quotient(integer(dilation - 1 - first), dilation) * dilation)
        return first, stop

    def windows(cell, axis):
        size, taps, stride, low, high, dilation, results = axis
        if stride == 0:
            return quotient(integer(cell * results), size), integer(
                quotient(integer((cell + 1) * results - 1), size) + 1)
        first = quotient(integer(max(cell + low - (taps - 1) * dilation + stride - 1, 0)), stride)
        return first, integer(min(quotient(integer(cell + low), stride) + 1, results))
    return Finder(integer, inline(split), inline(cells), inline(windows))


@cache
def counter_of(places: Places, includes_padding: bool) -> Callable:
    """How many cells a window has along an axis, with padding or without."""
    integer, cells = places.integer, finder_of(places).cells

    def count(j, axis):
        size, taps, stride, low, high, dilation, results = axis
        if includes_padding and stride != 0:
            first = j * stride - low
            return integer(min(first + taps, size + high) - first)
        first, stop = cells(j, axis)
        return integer(stop - first)
    return inline(count)
