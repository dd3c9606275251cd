"""Correlations and weight gradients as products: what each result reads becomes a row, filters become columns.

The matrix of rows (items * results, channels * taps) lies column by column, for each group, so that neighbouring
threads read neighbouring cells and write neighbouring rows. Items are unfolded some at a time, as many as
config.conv_view_limit_mb has room for, at least one; then one product takes every group at once.
"""

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .. import config
from ..program import Program, Step
from ..shapes import Shape
from . import array as geometry
from . import runtime
from .array import DeviceArray, permute, slice_view, view
from .copy import assign, cast, full, reshape
from .correlation import Correlation, Layout, phases
from .direct import casts
from .elementwise import Kernels, kernels
from .gemm import matmul
from .places import Places, places_of
from .runtime import ceil_div, cuda
from .scalars import compute, narrow

MOST_PHASES = 16       # launches for a spread input; beyond, one kernel that looks at each tap is faster


# ------------------------------------------------------------------------------------------------- unfolding
@cache
def _unfold_kernel(source: np.dtype, result: np.dtype, places: Places) -> Any:
    (load, _, number), store, memory = casts(source), narrow(result), np.uint64
    integer, quotient = places

    def unfold(count, x, u, x_start, rows, channels, x_strides, x_size, y_size, taps, stride, low, dilation):
        x_item, x_group, x_channel, x_d, x_h, x_w = x_strides
        i = integer(cuda.grid(1))
        while i < count:
            column = quotient(i, rows)
            row = integer(i - column * rows)
            line = quotient(row, y_size[2])
            plane = quotient(line, y_size[1])
            item, group = quotient(plane, y_size[0]), quotient(column, channels)
            at_w, at_h = integer(row - line * y_size[2]), integer(line - plane * y_size[1])
            at_d, channel = integer(plane - item * y_size[0]), integer(column - group * channels)
            x_first = integer(item * x_item + group * x_group + channel * x_channel)
            to = integer(column * (taps[0] * taps[1] * taps[2]) * rows + row)
            for kd in range(taps[0]):
                d = integer(at_d * stride[0] - low[0] + kd * dilation[0])
                for kh in range(taps[1]):
                    h = integer(at_h * stride[1] - low[1] + kh * dilation[1])
                    inside = d >= 0 and d < x_size[0] and h >= 0 and h < x_size[1]
                    x_line = integer(x_first + d * x_d + h * x_h)
                    for kw in range(taps[2]):
                        v = integer(at_w * stride[2] - low[2] + kw * dilation[2])
                        value = number(0)
                        if inside and v >= 0 and v < x_size[2]:
                            value = load(x[memory(x_start + integer(x_line + v * x_w))])
                        u[memory(to)] = store(value)
                        to = integer(to + rows)
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(unfold)


class Unfold:
    """The kernel that unfolds some items of x for a correlation, and what it is launched with."""

    def __init__(self, problem: Correlation, dtype: np.dtype) -> None:
        items, groups, channels, *x_size = problem.x.shape
        self.problem, self.dtype, self.columns = problem, dtype, groups * channels
        self.groups, self.depth, self.places = groups, problem.depth, prod(problem.sizes)
        self.chunk = chunk_of(items, self.columns * prod(problem.taps) * self.places * dtype.itemsize)
        self.numbers = places_of(problem, self.columns * prod(problem.taps) * self.chunk * self.places)
        self.kernel = _unfold_kernel(problem.dtype, dtype, self.numbers)
        self.arguments = self.numbers.of(channels, problem.x.strides, tuple(x_size), problem.sizes, problem.taps,
                                         problem.stride, problem.low, problem.dilation)

    def chunks(self) -> Iterator[slice]:
        """The items that are unfolded together."""
        items = self.problem.x.shape[0]
        return (slice(first, min(first + self.chunk, items)) for first in range(0, items, self.chunk))

    def __call__(self, x: DeviceArray, items: slice) -> DeviceArray:
        """(groups, depth, rows) of these items."""
        rows = (items.stop - items.start) * self.places
        u = geometry.empty((self.groups, self.depth, rows), self.dtype)
        count = self.columns * rows
        start = x.offset + self.problem.x.start + items.start * self.problem.x.strides[0]
        runtime.launch(self.kernel, runtime.grid(ceil_div(count, runtime.THREADS)), runtime.THREADS, count, x.memory,
                       u.memory, start, self.numbers.integer(rows), *self.arguments)
        return u


def chunk_of(items: int, item_bytes: int) -> int:
    """How many items are unfolded together, so that all chunks are about equal."""
    limit = config.conv_view_limit_mb << 20
    most = items if limit < 0 else max(1, limit // item_bytes)
    return ceil_div(items, ceil_div(items, most))


# ----------------------------------------------------------------------------------------------- correlations
class Unfolded:
    """A correlation by unfolding: (groups, filters, depth) times (groups, depth, rows), chunk by chunk."""

    def __init__(self, problem: Correlation) -> None:
        self.problem, self.unfold = problem, Unfold(problem, problem.dtype)

    def __call__(self, x: DeviceArray, w: DeviceArray) -> DeviceArray:
        """(items, groups, filters, *sizes) of the operands."""
        shape, sizes = self.problem.result, self.problem.sizes
        filters = reshape(self.problem.w.of(w), (*shape[1:3], self.unfold.depth))
        if shape[0] == 1:
            return reshape(matmul(filters, self.unfold(x, slice(0, 1))), shape)
        y = geometry.empty(shape, x.element)
        for items in self.unfold.chunks():
            found = matmul(filters, self.unfold(x, items))
            parted = reshape(found, (*shape[1:3], items.stop - items.start, *sizes))
            assign(slice_view(y, (items,)), permute(parted, (2, 0, 1, 3, 4, 5)))
        return y


class Pointwise:
    """A correlation of one tap without padding: its rows are the cells of x as they lie."""

    def __init__(self, problem: Correlation) -> None:
        self.problem = problem
        spans = zip(problem.sizes, problem.stride)
        self.read = (..., *(slice(0, (count - 1) * step + 1, step) for count, step in spans))

    def __call__(self, x: DeviceArray, w: DeviceArray) -> DeviceArray:
        """(items, groups, filters, *sizes) of the operands."""
        shape = self.problem.result
        cells = slice_view(self.problem.x.of(x), self.read)
        rows = reshape(cells, (*cells.shape[:3], prod(self.problem.sizes)))
        filters = self.problem.w.of(w)
        return reshape(matmul(view(filters, filters.shape[:3], filters.strides[:3]), rows), shape)


class Phased:
    """A correlation with input dilation: one without for each phase, whose results lie a period apart."""

    def __init__(self, problem: Correlation) -> None:
        self.problem = problem
        self.parts = [(places, product_plan(part)) for places, part in phases(problem)]
        self.is_covered = sum(prod(part.sizes) for _, part in phases(problem)) == prod(problem.sizes)

    def __call__(self, x: DeviceArray, w: DeviceArray) -> DeviceArray:
        """(items, groups, filters, *sizes) of the operands."""
        shape = self.problem.result
        y = geometry.empty(shape, x.element) if self.is_covered else full(shape, 0, x.element)
        for places, part in self.parts:
            assign(slice_view(y, (..., *places)), part(x, w))
        return y


def product_plan(problem: Correlation) -> Pointwise | Unfolded | Phased:
    """The products that a correlation comes to."""
    if max(problem.spread) > 1:
        return Phased(problem)
    return Pointwise(problem) if problem.is_pointwise else Unfolded(problem)


# -------------------------------------------------------------------------------------------- weight gradient
@cache
def _sum_of_two(dtype: np.dtype) -> Kernels:
    name = dtype.name
    steps = (Step("input", (), name, 0), Step("input", (), name, 1), Step("add", (0, 1), name))
    return kernels(Program((name, name), steps, (2,), (name,)))


class UnfoldedWeight:
    """A weight gradient by unfolding: (groups, filters, rows) times (groups, rows, depth), chunk by chunk.

    The products of several chunks are of the compute dtype, and are added in their order.
    """

    def __init__(self, problem: Correlation, g: Layout) -> None:
        self.dtype, self.g, self.unfold = problem.dtype, g, Unfold(problem, problem.dtype)
        if self.unfold.chunk < problem.x.shape[0]:
            self.unfold = Unfold(problem, compute(problem.dtype))

    def _part(self, x: DeviceArray, g: DeviceArray, items: slice) -> DeviceArray:
        """What some items give, (groups, filters, depth)."""
        u = self.unfold(x, items)
        slopes = slice_view(self.g.of(g), (items,))
        slopes = slopes if slopes.element == u.element else cast(slopes, u.element)
        slopes = permute(slopes, (1, 2, 0, 3, 4, 5))
        return matmul(reshape(slopes, (*slopes.shape[:2], u.shape[2])), permute(u, (0, 2, 1)))

    def __call__(self, x: DeviceArray, g: DeviceArray) -> DeviceArray:
        """(groups, filters, channels times taps) of the operands."""
        first, *rest = self.unfold.chunks()
        total = self._part(x, g, first)
        for items in rest:
            _sum_of_two(total.element).run(total.shape, [total, self._part(x, g, items), total])
        return total if total.element == self.dtype else cast(total, self.dtype)


def weight_problem(dtype: np.dtype, x: Layout, filters: int, taps: Shape, sizes: Shape,
                   steps: tuple[Shape, ...]) -> Correlation:
    """The correlation whose rows a weight gradient is made of."""
    shape = (x.shape[1], filters, x.shape[2], *taps)
    return Correlation(dtype, x, Layout(shape, (0,) * 6), sizes, *steps)
