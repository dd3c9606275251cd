"""Direct convolution and its two gradients over one to three spatial axes.

A result reads the padded input through taps; planes.py says how. The gradient of the input is a correlation of the
result's gradient, one for each remainder of the stride. Planes are made for as many images at a time as
config.conv_view_limit_mb allows, at least for one. The gradient of w is in weight_gradient.py.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, wraps
from itertools import chain, pairwise, product
from math import prod
from typing import Any

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import (
    correlation_tile,
    depthwise,
    emission,
    memory,
    microkernel,
    paired_conv,
    threads,
    weight_gradient,
    winograd,
)
from . import correlation_words as at
from .layout import contiguous
from .planes import Axis, Planes, forward_planes, geometry, remainders, triple
from .steps import grain, narrow, range_kernel

SIGNED = {f"uint{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}      # sums and products of integers wrap alike
NEAR = 4 << 20                                   # bytes of planes that are read again before they leave the cache
UNITS_A_THREAD = 4                               # of work that a correlation is cut into where it can be
VECTOR = 16                                      # multiply-adds that cost as much as an element of other loops
KINDS = {"w": "int64*", "i": "int64"}
# The kernels of loops/correlation.py and their operands: memory of the dtype, words, an integer.
FUNCTIONS = {"pack": "ddwwiiw", "correlate": "ddwdiiiiiwwww", "correlate_across": "ddwddwwiiiiiiiiiwwwww",
             "pack_apart": "ddwwiiiiii"}


def _for_all_dtypes(entry: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A bilinear entry for kernels of real numbers: complex ones by parts, bool by counts, narrow floats in float32,
    bfloat16 by pairs where the CPU multiplies them."""
    @wraps(entry)
    def called(a: np.ndarray, b: np.ndarray, *rest: Any) -> np.ndarray:
        if narrow(a.dtype):
            return paired_conv.called(entry, a, b, *rest)
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
def conv(x: np.ndarray, w: np.ndarray, window: Window, pairs: bool = False) -> np.ndarray:
    """Correlation of x (batch, channels, *sizes) with w (filters, channels // groups, *taps).

    `pairs`, here and in the gradients: the operands are words of pairs of bfloat16 (paired_conv.py).
    """
    key = x.shape, w.shape, window, x.dtype
    if not pairs and (quick := winograd.forward_plan(*key) or depthwise.forward_plan(*key)):
        return quick.correlate(x, w, (len(w), *window.output_sizes(x.shape[2:], w.shape[2:])))
    plan = _forward(x.shape, w.shape, window, x.dtype, pairs)
    sizes = plan.planes.results
    result = memory.empty((len(x), len(w), *sizes), x.dtype)
    if result.size:
        plan.correlate(_five(x), contiguous(w), result)
    return result.reshape(len(x), len(w), *sizes[3 - window.ndim:])


@_for_all_dtypes
def conv_input_grad(g: np.ndarray, w: np.ndarray, window: Window, x_shape: Shape, pairs: bool = False) -> np.ndarray:
    """The gradient of conv in x, from g of the result's shape."""
    key = x_shape, w.shape, window, g.dtype
    if not pairs and (quick := winograd.backward_plan(*key) or depthwise.backward_plan(*key)):
        return quick.correlate(g, w, x_shape[1:])
    result = memory.empty((*x_shape[:2], *triple(x_shape[2:], 1)), g.dtype)
    plan = _backward(g.shape, w.shape, window, x_shape, g.dtype, pairs)
    is_empty = not (g.size and result.size and w.size)
    if is_empty or not plan.covers:
        result[...] = 0                          # where no tap reads
    if not is_empty:
        plan.add(_five(g), contiguous(w), result)
    return result.reshape(x_shape)


@_for_all_dtypes
def conv_weight_grad(x: np.ndarray, g: np.ndarray, window: Window, w_shape: Shape, pairs: bool = False) -> np.ndarray:
    """The gradient of conv in w, from g of the result's shape."""
    if not pairs and (quick := depthwise.slopes_plan(x.shape, w_shape, window, x.dtype)):
        return quick.add_products(x, g, w_shape)
    totals = memory.empty(w_shape, x.dtype)
    if g.size and totals.size:
        plan = weight_gradient.plan(x.shape, w_shape, window, _signed(x.dtype), config.num_threads, config.vector_width,
                                    pairs)
        plan.add_products(_five(x), _five(g), totals)
    else:
        totals[...] = 0
    return totals


class Correlation:
    """All of a correlation but the arrays: `filters` filters over planes of `channels` channels, both in `groups`.

    out_strides are those of the result (images, filters, depth, height, width), in bytes. Weight k of filter i of
    group g lies at g weight_steps[0] + i weight_steps[1] + weight_places[k].
    """

    def __init__(self, planes: Planes, channels: int, filters: int, groups: int, dtype: np.dtype,
                 out_strides: Shape, weight_steps: tuple[int, int], weight_places: np.ndarray,
                 most_vectors: int = correlation_tile.MOST_VECTORS, pairs: bool = False) -> None:
        self.most_vectors = most_vectors             # of filters in a tile, so that several correlations pack alike
        self.planes, self.channels, self.groups = planes, channels, groups
        self.filters, self.dtype = filters // groups, _signed(dtype)
        self.dtype_name = "pairs" if pairs else self.dtype.name      # of the tiles; NumPy spells it anew each time
        self.offsets = planes.offsets(channels // groups)
        self.steps = np.array(planes.steps(channels, groups), np.int64)
        self.pieces, self.sizes = planes.pieces[0], np.array(planes.pieces[1], np.int64)
        self.out_steps = np.array(out_strides, np.int64) // dtype.itemsize
        self.results = np.array(planes.results, np.int64)
        self.is_direct = bool(self.out_steps[4] == 1 and self.out_steps[3] == self.steps[3] == planes.results[2])
        self.weight_steps, self.weight_places = weight_steps, weight_places
        kinds = KINDS | {"d": f"{self.dtype.name}*"}
        self.kernels = {function: range_kernel(f"correlation:{function}", *[kinds[letter] for letter in letters])
                        for function, letters in FUNCTIONS.items()}

    def correlate(self, x: np.ndarray, weights: np.ndarray, result: np.ndarray,
                  panels: np.ndarray | None = None) -> None:
        """result = the correlation of the planes of x with weights, which lie where the plan says, or as `panels`."""
        plan, chunks = self.plan(), list(self._chunks(len(x)))
        rows = len(x) * prod(self.planes.results[:2])
        is_once = self.lies_across and panels is None and len(chunks) == 1 and rows <= self.rows_of_run
        if panels is None:
            panels = weights[:0] if is_once else self._packed(weights, plan)
        for images in chunks:
            filled, out = self.planes.fill(x[images]), result[images]
            if self.lies_across:
                self._correlate_across(filled, panels, out, weights if is_once else None)
                continue
            taps, (_, _, width) = len(self.offsets), self.planes.results
            threads.launch(self.kernels["correlate"], len(out) * self.groups * self.pieces,
                           grain(taps * self.filters * width // VECTOR), filled, panels, self.offsets, out, taps,
                           self.filters, self.groups, self.pieces, int(self.is_direct), plan, self.sizes, self.steps,
                           self.out_steps)

    def _correlate_across(self, planes: np.ndarray, panels: np.ndarray, out: np.ndarray, weights: np.ndarray | None
                          ) -> None:
        """out = the correlation of planes with panels, or with weights whose panels are used once: those are packed
        when their turn comes, and never leave the cache."""
        plan, channels, taps = self.plan(), self.channels // self.groups, len(self.offsets)
        depth, height, width = self.planes.results
        rows, run = len(out) * depth * height, self.rows_of_run
        units = -(-rows // run) * self.groups
        # Panels are shared out for threads only: each part goes through the planes once more.
        wanted = UNITS_A_THREAD * config.num_threads if config.num_threads > 1 else 1
        parts = min(int(plan[at.PANELS]), -(-wanted // units))
        block, room = -(-channels // -(-taps // at.DEPTH)), 0
        if weights is not None:
            room = (block * taps // channels + 1) * int(plan[at.HIGH])
            panels = memory.empty((room * units * parts,), self.dtype)
        turns, kinds = self.turns
        threads.launch(self.kernels["correlate_across"], units * parts,
                       grain(taps * self.filters * run * width // VECTOR // parts), planes, panels, turns, out,
                       panels if weights is None else weights, self.weight_places, self.recipe, taps // channels,
                       channels, block, room, self.filters, self.groups, parts, rows, run, plan, kinds, self.results,
                       self.steps, self.out_steps)

    @property
    def rows_of_run(self) -> int:
        """Rows of results that are gone through together where filters lie in the vectors."""
        return max(1, at.ACROSS_RESULTS // self.planes.results[2])

    def plan(self) -> np.ndarray:
        """The panels of filters, and the tiles for them."""
        taps = len(self.offsets)
        if self.lies_across:
            return across_plan(self.dtype_name, self.filters, taps, self.planes.axes[2], self.most_vectors,
                               config.vector_width)
        return along_plan(self.dtype_name, self.filters, taps, config.vector_width)

    def _packed(self, weights: np.ndarray, plan: np.ndarray) -> np.ndarray:
        """The weights as panels."""
        taps, units = len(self.weight_places), self.groups * int(plan[at.PANELS])
        panels = memory.empty((units * int(plan[at.PANEL_STEP]),), self.dtype)
        threads.launch(self.kernels["pack"], units, grain(taps * int(plan[at.HIGH])), weights, panels,
                       self.weight_places, plan, taps, self.filters, self.recipe)
        return panels

    @cached_property
    def turns(self) -> tuple[np.ndarray, np.ndarray]:
        """What tiles go through where filters lie in the vectors."""
        return self.planes.turns(self.channels // self.groups)

    @cached_property
    def recipe(self) -> np.ndarray:
        """How loops/correlation.py packs the weights: the steps, and how many are neighbours; 1 where that differs."""
        steps, count = np.diff(self.weight_places), len(self.weight_places)
        run = int(np.argmax(steps != 1)) + 1 if (steps != 1).any() else count
        is_regular = count % run == 0 and (np.diff(self.weight_places.reshape(-1, run)) == 1).all()
        return np.array([*self.weight_steps, run if is_regular else 1], np.int64)

    @cached_property
    def lies_across(self) -> bool:
        """Are vectors of filters better filled than those of results?"""
        lanes, width = emission.lanes(self.dtype_name), self.planes.results[2]
        across = self.filters / (-(-self.filters // lanes) * lanes)
        along = width / max(1, self.steps[3])
        return bool(self.out_steps[4] == 1 and self.filters >= lanes and across >= along)

    def _chunks(self, count: int) -> Iterator[slice]:
        """Images whose planes stay in the cache, and within the limit of memory."""
        limit = config.conv_view_limit_mb << 20
        limit = NEAR if limit < 0 else min(limit, NEAR)
        image_bytes = 0 if self.planes.whole else self._image_bytes
        if count * image_bytes <= limit:
            return iter((slice(None),))
        images = max(1, limit // image_bytes)
        return (slice(first, first + images) for first in range(0, count, images))

    @cached_property
    def _image_bytes(self) -> int:
        return prod(self.planes.shape) * self.channels * self.dtype.itemsize


@lru_cache(1024)
def along_plan(dtype: str, filters: int, taps: int, vector_width: int | str) -> np.ndarray:
    """Panels of filters, split evenly, with results in the vectors. `vector_width` is what those are limited to."""
    most, vectors = correlation_tile.forward_shape()
    panels, lanes = -(-filters // most), emission.lanes(dtype)
    low, high_panels = divmod(filters, panels)
    high = low + bool(high_panels)
    tiles = [correlation_tile.forward_address(dtype, rows, count)
             for rows in (high, low) for count in (vectors, vectors - 1)]
    return np.array([high, low, high_panels, panels, *_packs(dtype, high, low), high * taps + lanes,
                     vectors * lanes, (vectors - 1) * lanes, *tiles])


@lru_cache(1024)
def across_plan(dtype: str, filters: int, taps: int, columns: Axis, most_vectors: int, vector_width: int | str
                ) -> np.ndarray:
    """Panels of filters in the vectors, on even runs of a row's results."""
    width, lanes = columns.results, emission.lanes(dtype)
    most, vectors, together = correlation_tile.across_shape(dtype, width)
    vectors = min(vectors, most_vectors, -(-filters // lanes))
    panels, runs = -(-filters // (vectors * lanes)), -(-width // most)
    last = -(-(filters - (panels - 1) * vectors * lanes) // lanes)

    @lru_cache
    def tiles(rows: int, results: int, clips: correlation_tile.Clips) -> list[int]:
        return [correlation_tile.across_address(dtype, rows, results, count, clips) for count in (vectors, last)]
    edges = [run * width // runs for run in range(runs + 1)]
    table = [(start, *tiles(1, stop - start, columns.clips(start, stop))) for start, stop in pairwise(edges)]
    of_rows = tiles(together, width, columns.clips(0, width)) if together > 1 else [0, 0]
    return np.array([vectors * lanes, last * lanes, panels - 1, panels, *_packs(dtype, vectors * lanes, last * lanes),
                     vectors * lanes * taps, columns.turn, together, *of_rows, runs, *chain(*table)])


def _packs(dtype: str, high: int, low: int) -> list[int]:
    """The kernels that pack high and low panels."""
    return [microkernel.pack_address(dtype, rows, True) for rows in (high, low)]


@lru_cache(1024)
def _forward(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype, pairs: bool) -> Correlation:
    """The correlation that is a convolution."""
    planes, taps = forward_planes(x_shape, w_shape, window), prod(w_shape[1:])
    strides = _strides((1, w_shape[0], *planes.results), dtype)
    return Correlation(planes, x_shape[1], w_shape[0], window.groups, dtype, strides,
                       (w_shape[0] // window.groups * taps, taps), np.arange(taps), pairs=pairs)


class InputGradient:
    """The gradient of a convolution's input: a correlation for each remainder of the strides.

    Where filters lie in the vectors, all remainders are packed at once, each has results of its own, and those are put
    where they belong; otherwise each writes there itself.
    """

    def __init__(self, g_shape: Shape, w_shape: Shape, window: Window, x_shape: Shape, dtype: np.dtype, pairs: bool
                 ) -> None:
        sizes, taps, g_sizes = (triple(shape[2:], 1) for shape in (x_shape, w_shape, g_shape))
        parts = [tuple(zip(*part)) for part in product(*map(remainders, sizes, taps, g_sizes, *geometry(window)))]
        self.places = [(..., *places) for *_, places in parts]
        self.filters, self.count = w_shape[0] // window.groups, prod(taps)
        self.step = w_shape[1] * self.count
        self.taps = [np.arange(self.count).reshape(taps)[np.ix_(*chosen)].ravel() for _, chosen, _ in parts]
        shape, of_x = (g_shape[1], x_shape[1], window.groups, dtype), _strides((1, x_shape[1], *sizes), dtype)
        vectors = min((correlation_tile.across_shape(dtype.name, axes[2].results)[1] for axes, *_ in parts), default=1)

        def correlation(number: int, strides: Shape) -> Correlation:
            axes, _, _ = parts[number]
            weight_places = (np.arange(self.filters)[:, None] * self.step + self.taps[number]).ravel()
            return Correlation(Planes(axes), *shape, strides, (self.filters * self.step, self.count), weight_places,
                               vectors, pairs)
        self.parts = [correlation(number, _strides((1, x_shape[1], *(axis.results for axis in axes)), dtype))
                      for number, (axes, *_) in enumerate(parts)]
        self.is_whole = len(parts) == 1 and max(window.stride) == 1
        self.is_apart = bool(parts) and not self.is_whole and all(part.lies_across for part in self.parts)
        self.covers = sum(prod(axis.results for axis in axes) for axes, *_ in parts) == prod(sizes)
        if not self.is_apart and not self.is_whole:
            for number, (*_, places) in enumerate(parts):
                strides = [stride * place.step for stride, place in zip(of_x[2:], places)]
                self.parts[number] = correlation(number, (*of_x[:2], *strides))

    def add(self, g: np.ndarray, w: np.ndarray, result: np.ndarray) -> None:
        """Put the gradient into `result`, at least where taps read."""
        if not self.is_apart:
            for part, place in zip(self.parts, self.places):
                part.correlate(g, w, result[place])
            return
        for part, place, panels in zip(self.parts, self.places, self._packed(w)):
            results = memory.empty((*result.shape[:2], *part.planes.results), g.dtype)
            part.correlate(g, w, results, panels)
            result[place] = results

    def _packed(self, w: np.ndarray) -> list[np.ndarray]:
        """The weights as panels for each remainder: each filter's taps are transposed together and then dealt out."""
        plan, first = self.parts[0].plan(), self.parts[0]
        units, high = first.groups * int(plan[at.PANELS]), int(plan[at.HIGH])
        # Taps that read nothing are dealt out as well, behind all others: each needs a place of its own.
        dealt = [*self.taps, np.setdiff1d(np.arange(self.count), np.concatenate(self.taps))]
        counts = [len(taps) for taps in dealt]
        starts = np.cumsum([0, *counts]) * (units * self.filters * high)
        table = np.zeros((self.count, 3), np.int64)      # of each tap: where its remainder begins, its taps, its number
        for taps, count, start in zip(dealt, counts, starts):
            table[taps, 0], table[taps, 1], table[taps, 2] = start, count, np.arange(count)
        panels = memory.empty((int(starts[-1]),), first.dtype)
        threads.launch(first.kernels["pack_apart"], units, grain(self.filters * self.count * high), w, panels, table,
                       plan, self.filters, self.count, self.step, first.filters, *first.weight_steps)
        return [panels[start:stop] for start, stop in zip(starts, starts[1:-1])]


@lru_cache(1024)
def _backward(g_shape: Shape, w_shape: Shape, window: Window, x_shape: Shape, dtype: np.dtype, pairs: bool
              ) -> InputGradient:
    """The plan of a gradient of the input."""
    return InputGradient(g_shape, w_shape, window, x_shape, dtype, pairs)


def _strides(shape: Shape, dtype: np.dtype) -> Shape:
    """Strides of a contiguous array."""
    return tuple(prod(shape[axis + 1:]) * dtype.itemsize for axis in range(len(shape)))


def _signed(dtype: np.dtype) -> np.dtype:
    """The dtype of the kernels for a dtype."""
    return np.dtype(SIGNED.get(dtype.name, dtype))


def _five(x: np.ndarray) -> np.ndarray:
    """x as (images, channels, depth, height, width)."""
    return x if x.ndim == 5 else x.reshape(*x.shape[:2], *triple(x.shape[2:], 1))
