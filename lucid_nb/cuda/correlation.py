"""What a convolution and the gradient of its input have in common, over three spatial axes, and how it falls apart.

Filters are flipped and transposed by strides alone. Input dilation is arithmetic: results whose places differ by a
period meet the same taps, and those taps read cells that lie side by side in the input that was never spread.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from ..shapes import Shape, Window
from .array import DeviceArray, view
from .runtime import ceil_div


class Layout(NamedTuple):
    """Sizes and element strides; `start` counts from where the array itself starts."""

    shape: Shape
    strides: Shape
    start: int = 0

    def of(self, raw: DeviceArray) -> DeviceArray:
        """The array seen this way."""
        return view(raw, self.shape, self.strides, raw.offset + self.start)


class Correlation(NamedTuple):
    """y[n, g, f, at] = sum over c and tap of x[n, g, c, (at * stride - low + tap * dilation) / spread] w[g, f, c, tap].

    Where that is no cell of x there is nothing: x is spread by spread - 1 zeros and padded. `sizes` are y's spatial
    ones. The shape of `x` is (items, groups, channels, *sizes), that of `w` (groups, filters, channels, *taps).
    """

    dtype: np.dtype
    x: Layout
    w: Layout
    sizes: Shape
    stride: Shape
    low: Shape
    dilation: Shape
    spread: Shape = (1, 1, 1)

    @property
    def taps(self) -> Shape:
        """How many along each axis."""
        return self.w.shape[3:]

    @property
    def result(self) -> Shape:
        """The shape of y."""
        return (self.x.shape[0], *self.w.shape[:2], *self.sizes)

    @property
    def depth(self) -> int:
        """The products in each sum."""
        return prod(self.w.shape[2:])

    @property
    def is_pointwise(self) -> bool:
        """One tap, which always reads a cell?"""
        return (prod(self.taps) == 1 and max(self.spread) == 1 and not any(self.low)
                and all((count - 1) * step < size
                        for count, step, size in zip(self.sizes, self.stride, self.x.shape[3:])))


def triple(values: Shape, filler: int) -> Shape:
    """Three spatial numbers, led by `filler`."""
    return (filler,) * (3 - len(values)) + tuple(values)


@lru_cache(maxsize=4096)
def grouped(shape: Shape, strides: Shape, groups: int) -> Layout:
    """(items, channels, *sizes) as (items, groups, channels of one, three sizes)."""
    channels = shape[1] // groups
    return Layout((shape[0], groups, channels, *triple(shape[2:], 1)),
                  (strides[0], channels * strides[1], strides[1], *triple(strides[2:], 0)))


def _filters(shape: Shape, strides: Shape, groups: int) -> Layout:
    """(filters, channels, *taps) as (groups, filters of one, channels, three taps)."""
    filters = shape[0] // groups
    return Layout((groups, filters, shape[1], *triple(shape[2:], 1)),
                  (filters * strides[0], strides[0], strides[1], *triple(strides[2:], 0)))


def _transposed(w: Layout) -> Layout:
    """Filters and channels exchanged, taps read backwards."""
    group, filters, channels, *taps = w.shape
    of_group, of_filter, of_channel, *steps = w.strides
    start = sum((count - 1) * step for count, step in zip(taps, steps) if count)
    return Layout((group, channels, filters, *taps), (of_group, of_channel, of_filter, *(-step for step in steps)),
                  start)


def of_conv(dtype: np.dtype, x: Layout, w: Layout, window: Window, shape: Shape) -> Correlation:
    """The convolution of x (items, channels, *sizes) with w (filters, channels of a group, *taps); `shape` is y's."""
    return Correlation(dtype, grouped(x.shape, x.strides, window.groups), _filters(w.shape, w.strides, window.groups),
                       triple(shape[2:], 1), triple(window.stride, 1), triple(window.low, 0),
                       triple(window.dilation, 1))


def of_input_grad(dtype: np.dtype, g: Layout, w: Layout, window: Window, shape: Shape) -> Correlation:
    """The gradient of the convolution's input, of this shape: slopes spread by stride, transposed filters."""
    filters = _transposed(_filters(w.shape, w.strides, window.groups))
    dilation = triple(window.dilation, 1)
    low = tuple((taps - 1) * step - before
                for taps, step, before in zip(filters.shape[3:], dilation, triple(window.low, 0)))
    return Correlation(dtype, grouped(g.shape, g.strides, window.groups), filters, triple(shape[2:], 1), (1, 1, 1), low,
                       dilation, triple(window.stride, 1))


# ------------------------------------------------------------------------------------------------------ phases
class Phase(NamedTuple):
    """Results whose places along an axis are first, first + period ..., and the taps from `tap` on that they meet."""

    first: int
    period: int
    results: int
    tap: int
    each: int
    taps: int
    stride: int
    low: int


def _phases(size: int, taps: int, stride: int, low: int, dilation: int, spread: int) -> Iterator[Phase]:
    """The phases of an axis that meet any tap."""
    period, each = spread // gcd(spread, stride), spread // gcd(spread, dilation)
    for first in range(min(period, size)):
        places = [first * stride - low + tap * dilation for tap in range(min(each, taps))]
        tap = next((tap for tap, place in enumerate(places) if place % spread == 0), None)
        if tap is not None:
            yield Phase(first, period, ceil_div(size - first, period), tap, each, ceil_div(taps - tap, each),
                        period * stride // spread, -places[tap] // spread)


def phase_count(problem: Correlation) -> int:
    """Into how many correlations without input dilation this one would fall, at most."""
    return prod(spread // gcd(spread, step) for spread, step in zip(problem.spread, problem.stride))


def phases(problem: Correlation) -> Iterator[tuple[tuple[slice, ...], Correlation]]:
    """The places of the result, and the correlation without input dilation that gives them."""
    x, w = problem.x, problem.w
    axes = zip(problem.sizes, problem.taps, problem.stride, problem.low, problem.dilation, problem.spread)
    for parts in product(*(tuple(_phases(*axis)) for axis in axes)):
        taps, strides = zip(*((part.taps, part.each * step) for part, step in zip(parts, w.strides[3:])))
        start = w.start + sum(part.tap * step for part, step in zip(parts, w.strides[3:]))
        yield (tuple(slice(part.first, None, part.period) for part in parts), Correlation(
            problem.dtype, x, Layout((*w.shape[:3], *taps), (*w.strides[:3], *strides), start),
            tuple(part.results for part in parts), tuple(part.stride for part in parts),
            tuple(part.low for part in parts),
            tuple(part.each * step // apart for part, step, apart
                  in zip(parts, problem.dilation, problem.spread))))
