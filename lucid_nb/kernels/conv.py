"""Direct convolution and its two gradients over one to three spatial axes.

A result reads the padded input through taps; planes.py says how. The gradient of the input is a correlation of the
result's gradient, one for each remainder of the stride. Planes are made for as many images at a time as
config.conv_view_limit_mb allows, at least for one; for the gradient of w, whose sums must not depend on the limit, at
least for the few images of small results that are summed in one run.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, wraps
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import correlation_tile, emission, memory, microkernel, threads
from . import correlation_words as loops
from .correlation_words import MOST_ROWS, RESULTS
from .layout import contiguous
from .planes import Planes, forward_planes, geometry, remainders, triple
from .steps import SINGLE, grain, narrow, range_kernel

SIGNED = {f"uint{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}      # sums and products of integers wrap alike
VECTOR = 16                                      # multiply-adds that cost as much as an element of other loops
KINDS = {"w": "int64*", "i": "int64"}
# The kernels of loops/correlation.py and their operands: memory of the dtype, words, an integer.
FUNCTIONS = {"pack": "ddwwiiii", "correlate": "ddwddiiiiiwwww", "pack_slopes": "ddiiiiw",
             "correlate_weights": "ddwwdiiiiiiiw"}


def _for_all_dtypes(entry: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A bilinear entry for kernels of real numbers: complex ones by parts, bool by counts, narrow floats in float32."""
    @wraps(entry)
    def called(a: np.ndarray, b: np.ndarray, *rest: Any) -> np.ndarray:
        if narrow(a.dtype):
            return entry(a.astype(SINGLE), b.astype(SINGLE), *rest).astype(a.dtype)
        if a.dtype.kind == "b":
            return entry(a.astype(np.int32), b.astype(np.int32), *rest) != 0
        if a.dtype.kind != "c":
            return entry(a, b, *rest)
        real = entry(a.real, b.real, *rest) - entry(a.imag, b.imag, *rest)
        result = real.astype(a.dtype)
        result.imag = entry(a.real, b.imag, *rest) + entry(a.imag, b.real, *rest)
        return result
    return called


@_for_all_dtypes
def conv(x: np.ndarray, w: np.ndarray, window: Window) -> np.ndarray:
    """Correlation of x (batch, channels, *sizes) with w (filters, channels // groups, *taps)."""
    plan = _forward(x.shape, w.shape, window, x.dtype)
    sizes = plan.planes.results
    result = memory.empty((len(x), len(w), *sizes), x.dtype)
    if result.size:
        plan.correlate(_five(x), contiguous(w), result)
    return result.reshape(len(x), len(w), *sizes[3 - window.ndim:])


@_for_all_dtypes
def conv_input_grad(g: np.ndarray, w: np.ndarray, window: Window, x_shape: Shape) -> np.ndarray:
    """The gradient of conv in x, from g of the result's shape."""
    result = memory.empty((*x_shape[:2], *triple(x_shape[2:], 1)), g.dtype)
    result[...] = 0                              # where no tap reads
    if g.size and result.size and w.size:
        for plan, places in _backward(g.shape, w.shape, window, x_shape, g.dtype):
            plan.correlate(_five(g), contiguous(w), result[places])
    return result.reshape(x_shape)


@_for_all_dtypes
def conv_weight_grad(x: np.ndarray, g: np.ndarray, window: Window, w_shape: Shape) -> np.ndarray:
    """The gradient of conv in w, from g of the result's shape."""
    totals = memory.empty(w_shape, x.dtype)
    if g.size and totals.size:
        _forward(x.shape, w_shape, window, x.dtype).add_products(_five(x), _five(g), totals)
    else:
        totals[...] = 0
    return totals


class Correlation:
    """All of a correlation but the arrays: `filters` filters over planes of `channels` channels, both in `groups`.

    out_strides are those of the result (images, filters, depth, height, width), in bytes. Weight k of filter i of
    group g lies at g weight_steps[0] + i weight_steps[1] + weight_places[k].
    """

    def __init__(self, planes: Planes, channels: int, filters: int, groups: int, dtype: np.dtype,
                 out_strides: Shape, weight_steps: tuple[int, int], weight_places: np.ndarray) -> None:
        self.planes, self.channels, self.groups = planes, channels, groups
        self.filters, self.dtype = filters // groups, np.dtype(SIGNED.get(dtype.name, dtype))
        self.offsets = planes.offsets(channels // groups)
        self.steps = np.array(planes.steps(channels, groups), np.int64)
        self.pieces, self.sizes = planes.pieces[0], np.array(planes.pieces[1], np.int64)
        self.out_steps = np.array(out_strides, np.int64) // dtype.itemsize
        self.is_direct = bool(self.out_steps[4] == 1 and self.out_steps[3] == self.steps[3] == planes.results[2])
        self.together = max(1, RESULTS // max(1, prod(planes.results)))  # images in a run, whatever the memory's limit
        self.weight_steps, self.weight_places = weight_steps, weight_places
        self.no_bias = np.zeros(filters, self.dtype)
        kinds = KINDS | {"d": f"{self.dtype.name}*"}
        self.kernels = [range_kernel(f"correlation:{function}", *[kinds[letter] for letter in letters])
                        for function, letters in FUNCTIONS.items()]

    def correlate(self, x: np.ndarray, weights: np.ndarray, result: np.ndarray) -> None:
        """result = the correlation of the planes of x with weights, which lie where the plan says."""
        plan, taps = forward_plan(self.dtype.name, self.filters, config.vector_width), len(self.offsets)
        pack, correlate = self.kernels[:2]
        panels = memory.empty((self.groups * self.filters * taps,), self.dtype)
        threads.launch(pack, self.groups * int(plan[loops.PANELS]), grain(taps * MOST_ROWS), weights, panels,
                       self.weight_places, plan, taps, self.filters, *self.weight_steps)
        least = grain(taps * self.filters * self.planes.results[2] // VECTOR)
        for images in self._chunks(len(x), 1):
            part = x[images]
            threads.launch(correlate, len(part) * self.groups * self.pieces, least, self.planes.fill(part), panels,
                           self.offsets, result[images], self.no_bias, taps, self.filters, self.groups, self.pieces,
                           int(self.is_direct), plan, self.sizes, self.steps, self.out_steps)

    def add_products(self, x: np.ndarray, g: np.ndarray, totals: np.ndarray) -> None:
        """totals, as the weights, = the products of g with what each tap of x reads."""
        taps, width = len(self.offsets), self.planes.results[2]
        plan = weight_plan(self.dtype.name, self.filters, taps, config.vector_width)
        cuts, tap_runs = int(plan[loops.PANEL_CUTS]), -(-int(plan[loops.BLOCKS]) // loops.BLOCKS_A_UNIT)
        lanes = (cuts - 1) * int(plan[loops.PANEL]) + int(plan[loops.LAST_PANEL])
        pack, add = self.kernels[2:]
        for images in self._chunks(len(x), self.together):
            part = contiguous(g[images])
            results = prod(part.shape[2:])
            panels = memory.empty((self.groups * len(part) * results * lanes,), self.dtype)
            threads.launch(pack, len(part) * self.groups * cuts, grain(results * VECTOR), part, panels, self.filters,
                           self.groups, len(part), results, plan)
            places = self._places(len(part))
            threads.launch(add, self.groups * cuts * tap_runs, grain(results * len(part) * taps // tap_runs),
                           self.planes.fill(x[images]), panels, self.offsets, places, totals, taps, self.filters,
                           len(places), width, self.together * results // width, int(images.start or 0),
                           int(self.steps[1]), plan)

    def _places(self, images: int) -> np.ndarray:
        """Where each row of results begins in the planes of a group."""
        image, _, depth, row = self.steps
        axes = np.ix_(range(images), *map(range, self.planes.results[:2]))
        return (axes[0] * image + axes[1] * depth + axes[2] * row).ravel()

    def _chunks(self, count: int, together: int) -> Iterator[slice]:
        """Images whose planes are within the limit of memory, multiples of `together`."""
        limit = config.conv_view_limit_mb << 20
        if self.planes.whole or limit < 0 or count * self._image_bytes <= limit:
            return iter((slice(None),))
        images = max(1, limit // self._image_bytes // together) * together
        return (slice(first, first + images) for first in range(0, count, images))

    @cached_property
    def _image_bytes(self) -> int:
        return prod(self.planes.shape) * self.channels * self.dtype.itemsize


@lru_cache(1024)
def forward_plan(dtype: str, filters: int, width: int | str) -> np.ndarray:
    """The panels of filters, split evenly, and the tiles for them; `width` is what vectors are limited to."""
    most, vectors = correlation_tile.forward_shape()
    panels = -(-filters // most)
    low, high_panels = divmod(filters, panels)
    lanes = emission.lanes(dtype)
    tiles = [correlation_tile.forward_address(dtype, max(1, rows), count)
             for rows in (low + bool(high_panels), low) for count in (vectors, vectors - 1)]
    return np.array([low + bool(high_panels), low, high_panels, panels, vectors * lanes, (vectors - 1) * lanes, *tiles])


@lru_cache(1024)
def weight_plan(dtype: str, filters: int, taps: int, width: int | str) -> np.ndarray:
    """The blocks of taps and panels of filters of a gradient of weights, and the tiles for them."""
    (most, vectors), lanes = correlation_tile.weight_shape(dtype), emission.lanes(dtype)
    blocks, cuts = -(-taps // most), -(-filters // (vectors * lanes))
    last_taps, last_vectors = taps - (blocks - 1) * most, -(-(filters - (cuts - 1) * vectors * lanes) // lanes)
    packs = [microkernel.pack_address(dtype, count * lanes, True) for count in (vectors, last_vectors)]
    tiles = [correlation_tile.weight_address(dtype, rows, count)
             for rows in (most, last_taps) for count in (vectors, last_vectors)]
    return np.array([most, last_taps, blocks, vectors * lanes, last_vectors * lanes, cuts, *packs, *tiles])


@lru_cache(1024)
def _forward(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Correlation:
    """The correlation that is a convolution."""
    planes, taps = forward_planes(x_shape, w_shape, window), prod(w_shape[1:])
    strides = _strides((1, w_shape[0], *planes.results), dtype)
    return Correlation(planes, x_shape[1], w_shape[0], window.groups, dtype, strides,
                       (w_shape[0] // window.groups * taps, taps), np.arange(taps))


@lru_cache(1024)
def _backward(g_shape: Shape, w_shape: Shape, window: Window, x_shape: Shape, dtype: np.dtype
              ) -> list[tuple[Correlation, tuple[Any, ...]]]:
    """The correlations that are the gradient of the input: each with the places of its results."""
    sizes, taps, g_sizes = (triple(shape[2:], 1) for shape in (x_shape, w_shape, g_shape))
    strides, found = _strides((1, x_shape[1], *sizes), dtype), []
    filters, count = w_shape[0] // window.groups, prod(taps)
    for parts in product(*map(remainders, sizes, taps, g_sizes, *geometry(window))):
        axes, chosen, places = zip(*parts)
        steps = (place.step for place in places)
        out_strides = (*strides[:2], *(stride * step for stride, step in zip(strides[2:], steps)))
        read = np.arange(count).reshape(taps)[np.ix_(*chosen)].ravel()
        weight_places = (np.arange(filters)[:, None] * (w_shape[1] * count) + read).ravel()
        plan = Correlation(Planes(axes), g_shape[1], x_shape[1], window.groups, dtype, out_strides,
                           (filters * w_shape[1] * count, count), weight_places)
        found.append((plan, (..., *places)))
    return found


def _strides(shape: Shape, dtype: np.dtype) -> Shape:
    """Strides of a contiguous array."""
    return tuple(prod(shape[axis + 1:]) * dtype.itemsize for axis in range(len(shape)))


def _five(x: np.ndarray) -> np.ndarray:
    """x as (images, channels, depth, height, width)."""
    return x if x.ndim == 5 else x.reshape(*x.shape[:2], *triple(x.shape[2:], 1))
