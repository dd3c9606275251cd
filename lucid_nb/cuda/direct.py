"""Correlations and weight gradients straight from the definition: few channels, few filters, depthwise, small ones.

A thread of a correlation owns a tile of results, some filters by some rows of one column, so that each cell it reads
serves every filter and each weight every row. Neighbouring threads own neighbouring columns. Padding and spread inputs
are never stored: a tap beyond the input meets 0, as an infinite weight shows, and one between its cells nothing.
"""

from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .correlation import Correlation, Layout
from .places import NARROW, Places, places_of, span
from .reduce import add, block_merge, reduce
from .runtime import BLOCK, ceil_div, cuda, inline, shared_memory
from .scalars import compute, narrow, widen_to

MOST_FILTERS = 4       # results of a thread: filters ...
MOST_ROWS = 4          # ... by rows
MOST_TAPS = 8          # sums of a thread of a weight gradient, of neighbouring taps


def casts(dtype: np.dtype) -> tuple[Any, Any, Any]:
    """From memory to registers, back, and the type in registers."""
    return widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type


OUTSIDE, BETWEEN = -1, -2      # where there is no cell: what is beyond the axis counts as a cell of 0


@inline
def cell_of_spread(at, size, spread):
    """The cell of an axis at a place of the spread axis, or OUTSIDE, or BETWEEN two cells."""
    if at % spread != 0:
        return BETWEEN
    return at // spread if at >= 0 and at // spread < size else OUTSIDE


@inline
def cell(at, size, spread):
    """As `cell_of_spread`, of an axis that is not spread."""
    return at if at >= 0 and at < size else OUTSIDE


class Tile(NamedTuple):
    """What a kernel is compiled for: the results of a thread, and loops and divisions that it does not need."""

    rows: int
    filters: int
    is_spread: bool
    is_deep: bool          # is there more along the first axis than one cell under one tap?
    is_depthwise: bool     # one channel in a group?

    def count(self, problem: Correlation) -> int:
        """How many threads have work."""
        depth, height, width = problem.sizes
        return (prod(problem.x.shape[:2]) * ceil_div(problem.w.shape[1], self.filters)
                * depth * ceil_div(height, self.rows) * width)


def tile_of(problem: Correlation) -> Tile:
    """As many results as there are, up to the most."""
    return Tile(min(runtime.power_of_two(problem.sizes[1]), MOST_ROWS),
                min(runtime.power_of_two(problem.w.shape[1]), MOST_FILTERS), max(problem.spread) > 1,
                (problem.sizes[0], problem.taps[0], problem.x.shape[3], problem.low[0]) != (1, 1, 1, 0),
                problem.x.shape[2] == 1)


@cache
def _correlate_kernel(dtype: np.dtype, tile: Tile, places: Places) -> Any:
    load, store, number = casts(dtype)
    met, zero, memory = cell_of_spread if tile.is_spread else cell, number(0), np.uint64
    (rows, each, is_spread, is_deep, is_depthwise), (integer, quotient) = tile, places

    def correlate(count, x, w, y, x_start, w_start, groups, filters, channels, x_strides, w_strides, x_size, y_size,
                  taps, stride, low, dilation, spread):
        x_item, x_group, x_channel, x_d, x_h, x_w = x_strides
        w_group, w_filter, w_channel, w_d, w_h, w_w = w_strides
        sums = cuda.local.array((rows, each), dtype=number)
        lines = cuda.local.array(rows, dtype=integer)
        is_met = cuda.local.array(rows, dtype=np.bool_)
        is_inside = cuda.local.array(rows, dtype=np.bool_)
        cells = cuda.local.array(rows, dtype=number)
        firsts = cuda.local.array(each, dtype=integer)
        blocks, many = quotient(y_size[1] + rows - 1, rows), quotient(filters + each - 1, each)
        i = integer(cuda.grid(1))
        while i < count:
            line = quotient(i, y_size[2])
            plane = quotient(line, blocks)
            volume = quotient(plane, y_size[0]) if is_deep else plane
            part = quotient(volume, many)
            item = quotient(part, groups)
            at_w, at_h = integer(i - line * y_size[2]), integer((line - plane * blocks) * rows)
            at_d, first = integer(plane - volume * y_size[0]), integer((volume - part * many) * each)
            group = integer(part - item * groups)
            for f in range(each):
                firsts[f] = integer(group * w_group + min(first + f, filters - 1) * w_filter)
                for row in range(rows):
                    sums[row, f] = zero
            for c in range(integer(1) if is_depthwise else channels):
                x_first = integer(item * x_item + group * x_group + c * x_channel)
                for kd in range(taps[0] if is_deep else integer(1)):
                    d = integer(0)
                    if is_deep:
                        d = met(integer(at_d * stride[0] - low[0] + kd * dilation[0]), x_size[0], spread[0])
                    for kh in range(taps[1] if not is_spread or d > BETWEEN else integer(0)):
                        for row in range(rows):
                            h = met(integer((at_h + row) * stride[1] - low[1] + kh * dilation[1]), x_size[1], spread[1])
                            lines[row] = integer(x_first + d * x_d + h * x_h)
                            is_met[row] = not is_spread or h > BETWEEN
                            is_inside[row] = d >= 0 and h >= 0
                        w_first = integer(c * w_channel + kd * w_d + kh * w_h)
                        for kw in range(taps[2]):
                            v = met(integer(at_w * stride[2] - low[2] + kw * dilation[2]), x_size[2], spread[2])
                            if not is_spread or v > BETWEEN:
                                for row in range(rows):
                                    cells[row] = zero
                                    if is_inside[row] and v >= 0:
                                        cells[row] = load(x[memory(x_start + integer(lines[row] + v * x_w))])
                                for f in range(each):
                                    place = integer(firsts[f] + w_first + kw * w_w)
                                    weight = load(w[memory(w_start + place)])
                                    for row in range(rows):
                                        if not is_spread or is_met[row]:
                                            sums[row, f] += cells[row] * weight
            for f in range(each):
                y_line = integer(((part * filters + first + f) * y_size[0] + at_d) * y_size[1] + at_h)
                for row in range(rows):
                    if first + f < filters and at_h + row < y_size[1]:
                        y[memory(integer((y_line + row) * y_size[2] + at_w))] = store(sums[row, f])
            i = integer(i + cuda.gridsize(1))
    # Four sums and places of 32 bits fit into the registers of five blocks; what else there may be would be spilled.
    has_little = is_depthwise and each == 1 and not is_spread and np.dtype(number).itemsize == 4 and places is NARROW
    return runtime.kernel(correlate, (runtime.THREADS, 5) if has_little else None)


class Direct:
    """The kernel for a correlation, and what it is launched with."""

    def __init__(self, problem: Correlation) -> None:
        self.problem, tile = problem, tile_of(problem)
        (_, groups, channels, *x_size), filters = problem.x.shape, problem.w.shape[1]
        self.count = tile.count(problem)
        places = places_of(problem, self.count)
        self.kernel = _correlate_kernel(problem.dtype, tile, places)
        self.blocks = runtime.grid(ceil_div(self.count, runtime.THREADS))
        self.arguments = places.of(groups, filters, channels, problem.x.strides, problem.w.strides, tuple(x_size),
                                   problem.sizes, problem.taps, problem.stride, problem.low, problem.dilation,
                                   problem.spread)

    def __call__(self, x: DeviceArray, w: DeviceArray) -> DeviceArray:
        """(items, groups, filters, *sizes) of the operands."""
        y = geometry.empty(self.problem.result, x.element)
        runtime.launch(self.kernel, self.blocks, runtime.THREADS, self.count, x.memory, w.memory, y.memory,
                       x.offset + self.problem.x.start, w.offset + self.problem.w.start, *self.arguments)
        return y


# -------------------------------------------------------------------------------------------- weight gradient
@cache
def _weight_kernel(source: np.dtype, result: np.dtype, each: int, places: Places) -> Any:
    load, _, number = casts(source)
    store, zero, memory = narrow(result), number(0), np.uint64
    block_sum, shared_memory_of = block_merge(add), shared_memory(BLOCK, compute(source))
    integer, quotient = places

    def weight_gradient(count, x, g, dw, x_start, g_start, groups, filters, channels, x_strides, g_strides, x_size,
                        y_size, taps, stride, low, dilation, columns, lines, chunk):
        shared = shared_memory_of()
        x_item, x_group, x_channel, x_d, x_h, x_w = x_strides
        g_item, g_group, g_filter, g_d, g_h, g_w = g_strides
        sums = cuda.local.array(each, dtype=number)
        line, many = quotient(cuda.threadIdx.y, columns), quotient(cuda.blockDim.y, columns)
        column, runs = integer(cuda.threadIdx.y - line * columns), quotient(taps[2] + each - 1, each)
        block = integer(cuda.blockIdx.x)
        while block < count:
            tap_h = quotient(block, runs)
            tap_d = quotient(tap_h, taps[1])
            pair = quotient(tap_d, taps[0])
            filter_ = quotient(pair, channels)
            volume = quotient(filter_, filters)
            part = quotient(volume, groups)
            kw, kh = integer((block - tap_h * runs) * each), integer(tap_h - tap_d * taps[1])
            kd = integer(tap_d - pair * taps[0])
            c, f, group = pair - filter_ * channels, filter_ - volume * filters, volume - part * groups
            x_first = integer(group * x_group + c * x_channel)
            g_first = integer(group * g_group + f * g_filter)
            for j in range(each):
                sums[j] = zero
            for at in range(integer(part * chunk + line), integer(min(part * chunk + chunk, lines)), many):
                plane = quotient(at, y_size[1])
                item = quotient(plane, y_size[0])
                at_h, at_d = integer(at - plane * y_size[1]), integer(plane - item * y_size[0])
                h = integer(at_h * stride[1] - low[1] + kh * dilation[1])
                d = integer(at_d * stride[0] - low[0] + kd * dilation[0])
                is_inside = h >= 0 and h < x_size[1] and d >= 0 and d < x_size[0]
                x_line = integer(x_first + item * x_item + d * x_d + h * x_h)
                g_line = integer(g_first + item * g_item + at_d * g_d + at_h * g_h)
                for at_w in range(column, y_size[2], columns):
                    slope = load(g[memory(g_start + integer(g_line + at_w * g_w))])
                    v = integer(at_w * stride[2] - low[2] + kw * dilation[2])
                    for j in range(each):
                        value = zero
                        if is_inside and v >= 0 and v < x_size[2]:
                            value = load(x[memory(x_start + integer(x_line + v * x_w))])
                        sums[j] += value * slope
                        v = integer(v + dilation[2])
            for j in range(each):
                total = block_sum(shared, sums[j])
                if cuda.threadIdx.y == 0 and kw + j < taps[2]:
                    dw[memory(integer(tap_h * taps[2] + kw + j))] = store(total)
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(weight_gradient)


class DirectWeight:
    """The kernel for a weight gradient: a block sums up some neighbouring taps of one filter and channel.

    Few weights are summed in parts, by shape alone; a second launch adds the parts in their order.
    """

    def __init__(self, problem: Correlation, g: Layout) -> None:
        self.dtype, self.shape, taps = problem.dtype, problem.w.shape, problem.taps
        items, groups, channels, *x_size = problem.x.shape
        depth, height, width = problem.sizes
        each, lines = min(taps[2], MOST_TAPS), items * depth * height
        sums = prod(self.shape[:5]) * ceil_div(taps[2], each)
        self.parts = runtime.chunks_of(sums, lines * width, 1)
        self.lanes = min(BLOCK, runtime.power_of_two(lines * width))
        self.count = sums * self.parts
        places = places_of(problem, self.count * each, lines, span(g))
        self.kernel = _weight_kernel(self.dtype, self.result, each, places)
        self.arguments = places.of(
            groups, self.shape[1], channels, problem.x.strides, g.strides, tuple(x_size), problem.sizes, taps,
            problem.stride, problem.low, problem.dilation, min(runtime.power_of_two(width), self.lanes), lines,
            ceil_div(lines, self.parts))

    @property
    def result(self) -> np.dtype:
        """The dtype of what the kernel writes."""
        return self.dtype if self.parts == 1 else compute(self.dtype)

    def __call__(self, x: DeviceArray, g: DeviceArray) -> DeviceArray:
        """(groups, filters, channels, *taps) of the operands."""
        found = geometry.empty((self.parts, *self.shape), self.result)
        runtime.launch(self.kernel, runtime.grid(self.count), (1, self.lanes), self.count, x.memory, g.memory,
                       found.memory, x.offset, g.offset, *self.arguments)
        return found if self.parts == 1 else reduce("sum", found, (0,), False, self.dtype)
