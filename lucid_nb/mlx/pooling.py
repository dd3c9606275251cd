"""Maxima and averages of windows, and their gradients.

Sliding windows are joined tap by tap: each tap of all windows is a slice of the padded input. Slices are 30 times as
fast as MLX's reduction over windows from `as_strided` (CPU build, 2 x 2 over 24 x 24). Windows of many taps, and those
that differ in size, are gathered.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import product as combinations
from math import inf, prod
from operator import mul
from typing import Any

import mlx.core as mx
import numpy as np

from ..shapes import Shape
from ..windows import Axis, Sliding, cells, reads
from . import runtime
from .reductions import wide
from .runtime import entry
from .types import FLOATS, SMALL_FLOATS, TO_NUMPY, accumulator, from_numpy

Axes = tuple[Axis, ...]
FEW = 32                       # taps that are joined one by one


def _lowest(dtype: mx.Dtype) -> Any:
    """What no element is below."""
    if dtype in FLOATS:
        return -inf
    return False if dtype == mx.bool_ else int(np.iinfo(TO_NUMPY[dtype]).min)


def _results(axes: Axes) -> Shape:
    return tuple([axis.results for axis in axes])


def _size(axes: Axes) -> int:
    return prod([axis.size for axis in axes])


def _lead(x: mx.array, axes: Axes) -> Shape:
    """The axes before the spatial ones."""
    return tuple(x.shape[:x.ndim - len(axes)])


@lru_cache(256)
def _sliding(axes: Axes) -> tuple[Sliding, ...]:
    """The windows that are joined tap by tap, or none."""
    found = tuple([axis for axis in axes if isinstance(axis, Sliding)])
    return found if len(found) == len(axes) and prod([axis.taps for axis in found]) <= FEW else ()


# ------------------------------------------------------------------------------------------------ tap by tap
def _offsets(axes: Sequence[Sliding]) -> Iterator[tuple[int, ...]]:
    """The place of each tap within a window, in the order of memory."""
    return combinations(*[range(0, axis.taps * axis.dilation, axis.dilation) for axis in axes])


@lru_cache(256)
def _margins(axes: tuple[Sliding, ...]) -> list[tuple[int, int]]:
    """Cells before and behind each axis that windows reach."""
    spans = [(axis.results - 1) * axis.stride + (axis.taps - 1) * axis.dilation + 1 for axis in axes]
    return [(axis.low, max(0, span - axis.low - axis.size)) for axis, span in zip(axes, spans)]


@lru_cache(256)
def _views(shape: Shape, axes: tuple[Sliding, ...]) -> list[tuple[Shape, Shape, int]]:
    """How each tap of all windows lies in the padded input: sizes, steps and the first element."""
    steps = [prod(shape[axis + 1:]) for axis in range(len(shape))]
    lead, inner = len(shape) - len(axes), steps[len(shape) - len(axes):]
    sizes = (*shape[:lead], *_results(axes))
    apart = (*steps[:lead], *[step * axis.stride for step, axis in zip(inner, axes)])
    return [(sizes, apart, sum(map(mul, inner, offset))) for offset in _offsets(axes)]


def _place(axes: Sequence[Sliding], offset: tuple[int, ...]) -> tuple[Any, ...]:
    """Where one tap of all windows lies in the padded input."""
    return (..., *[slice(start, start + (axis.results - 1) * axis.stride + 1, axis.stride)
                   for axis, start in zip(axes, offset)])


def _slices(x: mx.array, axes: tuple[Sliding, ...], filler: Any) -> list[mx.array]:
    """What each tap of all windows reads."""
    margins = _margins(axes)
    if any(map(any, margins)):
        x = mx.pad(x, [(0, 0)] * (x.ndim - len(axes)) + margins, constant_values=mx.array(filler, x.dtype))
    x = mx.contiguous(x)                # views by steps are made ten times as fast as slices
    return [mx.as_strided(x, *how) for how in _views(x.shape, axes)]


@lru_cache(64)
def _numbers(axes: tuple[Sliding, ...]) -> tuple[mx.array, ...]:
    """The flat place of the first cell that each window has, then what every tap reads, some of it padding."""
    found = []
    for firsts in (tuple([axis.starts for axis in axes]), *[
            tuple([np.arange(axis.results) * axis.stride - axis.low + start for axis, start in zip(axes, offset)])
            for offset in _offsets(axes)]):
        number: Any = np.zeros((), np.int64)
        for axis, first in zip(axes, firsts):
            number = number[..., None] * axis.size + first
        found.append(from_numpy(number))
    return tuple(found)


# -------------------------------------------------------------------------------------------------- gathered
@lru_cache(64)
def _reads(axes: Axes) -> mx.array:
    return from_numpy(reads(axes))


def _gathered(x: mx.array, axes: Axes, filler: Any) -> mx.array:
    """(planes, results, taps): what the taps of each window read, a filler where it has fewer."""
    rows = x.reshape(prod(_lead(x, axes)), _size(axes))
    rows = mx.pad(rows, [(0, 0), (0, 1)], constant_values=mx.array(filler, x.dtype))
    return mx.take(rows, _reads(axes), axis=1)


# ---------------------------------------------------------------------------------------------------- maxima
@entry
def max_pool(x: mx.array, axes: Axes) -> tuple[mx.array, mx.array]:
    """The maxima of windows, NaN if there is one, and the first place of each in the flat plane."""
    shape = (*_lead(x, axes), *_results(axes))
    if 0 in shape:
        return mx.zeros(shape, x.dtype), mx.zeros(shape, mx.int64)
    if sliding := _sliding(axes):
        return _max_by_taps(x, sliding)
    read = _gathered(x, axes, _lowest(x.dtype))
    best = mx.argmax(read, 2, True)
    if x.dtype in FLOATS:
        is_nan = read != read
        best = mx.where(mx.any(is_nan, 2, True), mx.argmax(is_nan, 2, True), best)
    values = mx.take_along_axis(read, best, 2)
    places = mx.take_along_axis(mx.broadcast_to(_reads(axes), read.shape), best, 2)
    return values.reshape(shape), places.reshape(shape)


def _max_by_taps(x: mx.array, axes: tuple[Sliding, ...]) -> tuple[mx.array, mx.array]:
    values, *taps = _slices(x, axes, _lowest(x.dtype))
    first, _, *numbers = _numbers(axes)
    places = mx.broadcast_to(first, values.shape)
    for number, tap in zip(numbers, taps):
        better = tap > values
        if x.dtype in FLOATS:
            better = better | ((tap != tap) & (values == values))
        values, places = mx.maximum(values, tap), mx.where(better, number, places)
    return values, places


@entry
def max_pool_grad(g: mx.array, places: mx.array, axes: Axes) -> mx.array:
    """The gradients added up at the places of the maxima: on the host's stream, where windows overlap in order."""
    lead, size = _lead(g, axes), _size(axes)
    planes, shape = prod(lead), (*lead, *[axis.size for axis in axes])
    if g.size == 0:
        return mx.zeros(shape, g.dtype)
    rows = mx.arange(0, planes * size, size, dtype=mx.int64)[:, None]
    with mx.stream(runtime.HOST_STREAM):
        zeros = mx.zeros(planes * size, mx.float32 if g.dtype in SMALL_FLOATS else g.dtype)
        where = (places.reshape(planes, -1) + rows).reshape(-1)
        return zeros.at[where].add(g.reshape(-1).astype(zeros.dtype)).reshape(shape).astype(g.dtype)


# -------------------------------------------------------------------------------------------------- averages
@lru_cache(64)
def _divisors(axes: Axes, include_padding: bool, divisor: float | None, dtype: mx.Dtype) -> mx.array:
    counts = cells(axes, include_padding) if divisor is None else np.asarray(divisor)
    return from_numpy(counts.astype(TO_NUMPY[dtype]))


@entry
def avg_pool(x: mx.array, axes: Axes, include_padding: bool, divisor: float | None) -> mx.array:
    """Sums of windows over a divisor, or over how many cells they have; small floats in float32."""
    shape, values = (*_lead(x, axes), *_results(axes)), wide(x)
    if 0 in shape:
        return mx.zeros(shape, x.dtype)
    if sliding := _sliding(axes):
        total = reduce(mx.add, _slices(values, sliding, 0))
    else:
        total = mx.sum(_gathered(values, axes, 0).astype(accumulator(x.dtype)), 2).reshape(shape)
    return (total.astype(values.dtype) / _divisors(axes, include_padding, divisor, values.dtype)).astype(x.dtype)


@entry
def avg_pool_grad(g: mx.array, axes: Axes, include_padding: bool, divisor: float | None) -> mx.array:
    """The gradient of `avg_pool`: every cell gets a share of each window that reads it."""
    lead, sizes = _lead(g, axes), tuple([axis.size for axis in axes])
    if g.size == 0:
        return mx.zeros((*lead, *sizes), g.dtype)
    values = wide(g)
    shares = values / _divisors(axes, include_padding, divisor, values.dtype)
    sliding = _sliding(axes)
    found = _spread_by_taps(shares, lead, sliding) if sliding else _spread(shares, lead, axes)
    return found.reshape(*lead, *sizes).astype(g.dtype)


def _spread_by_taps(shares: mx.array, lead: Shape, axes: Sequence[Sliding]) -> mx.array:
    """Shares added to what each tap of all windows reads."""
    margins = _margins(axes)
    padded = mx.zeros((*lead, *[axis.size + sum(margin) for axis, margin in zip(axes, margins)]), shares.dtype)
    for offset in _offsets(axes):
        padded = padded.at[_place(axes, offset)].add(shares)
    return padded[(..., *[slice(low, low + axis.size) for axis, (low, _) in zip(axes, margins)])]


def _spread(shares: mx.array, lead: Shape, axes: Axes) -> mx.array:
    """Shares gathered by each cell, through the transposed table of what windows read."""
    rows, table = shares.reshape(prod(lead), -1), _transposed(axes)
    padded = mx.pad(rows, [(0, 0), (0, 1)])
    return mx.sum(mx.take(padded, table, axis=1).astype(accumulator(shares.dtype)), 2).astype(shares.dtype)


@lru_cache(64)
def _transposed(axes: Axes) -> mx.array:
    """(cells, readers): the windows that read each cell; where fewer do, the number of windows."""
    table, size = reads(axes), _size(axes)
    readers, read = np.nonzero(table < size)[0], table[table < size]
    order = np.argsort(read, kind="stable")
    counts = np.bincount(read, minlength=size)
    found = np.full((size, max(1, int(counts.max()))), len(table), np.int64)
    number = np.arange(len(read)) - np.repeat(np.cumsum(counts) - counts, counts)
    found[read[order], number] = readers[order]
    return from_numpy(found)
