"""Means and squared deviations of rows, in a block: what normalisation and variances are made of.

An array is seen as (outer, length, inner, plane). A row has one place along `outer` and `inner`, and all along the
others: the channel of a batch, the elements of a layer, or a slice along axes. A block takes some neighbouring rows,
whose lanes walk in steps of their number and merge in a fixed order; long rows are cut into chunks by shape alone.

A first walk sums distances to the first element, a second deviations from the mean that it gave and their squares; the
deviations correct both (the corrected two-pass algorithm). So equal elements have their own value for a mean and
deviate by nothing.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from . import runtime
from .places import Places, fitting
from .reduce import add, block_merge
from .runtime import BLOCK, MIN_CHUNK, WARP, block_inline, ceil_div, cuda, inline, shared_memory
from .scalars import widen_to

EACH = 4                         # elements of a lane, so that merging lanes is the smaller part of the work
FEW_ROWS = MIN_CHUNK // 8        # elements of a chunk where rows lie side by side, and few lanes share a row


class Rows(NamedTuple):
    """Extents of an array whose rows lie along `length` and `plane`."""

    outer: int
    length: int
    inner: int
    plane: int

    @property
    def size(self) -> int:
        """Elements of a row."""
        return self.length * self.plane

    @property
    def number(self) -> int:
        """How many rows there are."""
        return self.outer * self.inner


class Plan(NamedTuple):
    """How blocks work on rows: `columns` rows side by side, and `lanes` along each; the chunks of a row."""

    rows: Rows
    columns: int
    lanes: int
    chunks: int
    chunk: int
    blocks: int

    @property
    def places(self) -> Places:
        """What places in the array fit."""
        return fitting(self.rows.number * self.rows.size)

    def launch(self, kernel: Any, *operands: Any) -> None:
        """Launch a kernel(*operands, outer, length, inner, plane, chunks, chunk)."""
        runtime.launch(kernel, self.blocks, (self.columns, self.lanes), *operands, *_numbers(self, self.places))

    def whole(self) -> "Plan":
        """The plan that gives every row to one block."""
        return _plan(self.rows, 1)


@lru_cache(maxsize=4096)
def _numbers(plan: Plan, places: Places) -> tuple[Any, ...]:
    """What kernels are told of a plan."""
    return places.of(*plan.rows, plan.chunks, plan.chunk)


@lru_cache(maxsize=4096)
def plan_of(rows: Rows) -> Plan:
    """Of rows that have elements. Each block of a row joins all its chunks, so a chunk has more elements than that."""
    slices = _slices(rows)
    chunks = runtime.chunks_of(*slices, MIN_CHUNK if slices[2] == 1 else FEW_ROWS)
    return _plan(rows, min(chunks, max(1, isqrt(rows.size) // 2)))


def _slices(rows: Rows) -> tuple[int, int, int]:
    """Rows of planes do not lie side by side, so a block takes one."""
    return (rows.outer, rows.length, rows.inner) if rows.plane == 1 else (rows.number, rows.size, 1)


def _plan(rows: Rows, chunks: int) -> Plan:
    chunk = ceil_div(rows.size, chunks)
    chunks = ceil_div(rows.size, chunk)
    found = runtime.slices(*_slices(rows), chunks)
    lanes = found.lanes
    if found.columns == 1:
        lanes = min(lanes, max(WARP, runtime.power_of_two(ceil_div(chunk, EACH))))
    return Plan(rows, found.columns, lanes, chunks, chunk, found.blocks)


# ---------------------------------------------------------------------------------------------------------- walks
class Walk(NamedTuple):
    """How kernels find their way: functions of places that are computed in `integer`, 32 bits where all fit."""

    integer: Any
    begin: Callable            # where an element of a row lies: along `length`, and within the plane
    onward: Callable           # the place that is some planes and some elements on
    extents: Callable          # elements of a row, the step along `length`, and how many blocks have work
    share: Callable            # what a block does: the place along `outer`, the first element of its chunk and that
    #                            behind it, the number of the chunk, the thread's column, which has no elements where it
    #                            is beyond the last, and where its row begins
    at: Callable               # the place in memory of what is so many steps and elements behind a place

    @property
    def of_elements(self) -> tuple[Any, Callable, Callable, Callable]:
        """What walks along rows need."""
        return self.integer, self.begin, self.onward, self.at

    @property
    def of_rows(self) -> tuple[Any, Callable, Callable, Callable]:
        """What walks over rows need."""
        return self.integer, self.extents, self.share, self.at


@cache
def walk_of(places: Places) -> Walk:
    """The functions for places of 32 or of 64 bits."""
    integer, quotient = places
    memory = np.uint64

    def begin(k, plane):
        i = quotient(k, plane)
        return i, integer(k - i * plane)

    def onward(i, within, planes, rest, plane):
        i = integer(i + planes)
        within = integer(within + rest)
        if within >= plane:
            return integer(i + 1), integer(within - plane)
        return i, within

    def extents(outer, length, inner, plane, chunks):
        columns = integer(cuda.blockDim.x)
        blocks = outer * chunks * quotient(integer(inner + columns - 1), columns)
        return integer(length * plane), integer(inner * plane), integer(blocks)

    def share(block, outer, size, inner, plane, chunks, chunk):
        columns = integer(cuda.blockDim.x)
        tiles = quotient(integer(inner + columns - 1), columns)
        part = quotient(block, tiles)
        row = quotient(part, chunks)
        column = integer((block - part * tiles) * columns + cuda.threadIdx.x)
        first = integer((part - row * chunks) * chunk)
        stop = integer(min(first + chunk, size)) if column < inner else first
        return row, first, stop, part, column, integer(row * size * inner + column * plane)

    def at(base, i, step, within):
        return memory(integer(base + i * step + within))
    return Walk(integer, inline(begin), inline(onward), block_inline(extents), block_inline(share), inline(at))


# ----------------------------------------------------------------------------------------------------- statistics
@inline
def finite_or_zero(x, zero):
    """x, or 0 where it is infinite or NaN, whose distances would all be NaN."""
    return x if x - x == zero else zero


@inline
def settled(middle, off, square, count, zero):
    """The mean and the sum of squared deviations from it, by the sums of deviations from a rough mean."""
    moved = off / count
    square -= off * moved
    return middle + moved, square if square > zero or square != square else zero


@cache
def block_moments(source: np.dtype, number: np.dtype, places: Places) -> Callable:
    """A block's function of a part of each of its rows: the mean, and the sum of squared deviations from it."""
    load, cast, zero, block_sum = widen_to(source, number), number.type, number.type(0), block_merge(add)
    integer, begin, onward, at = walk_of(places).of_elements

    def moments(shared, x, base, first, stop, plane, step):
        lanes = integer(cuda.blockDim.y)
        planes, rest = begin(lanes, plane)
        count = cast(max(stop - first, 1))
        i, within = begin(first, plane)
        origin, total = zero, zero
        if first < stop:
            origin = finite_or_zero(load(x[at(base, i, step, within)]), zero)
        k = integer(first + cuda.threadIdx.y)
        i, within = begin(k, plane)
        while k < stop:
            total += load(x[at(base, i, step, within)]) - origin
            i, within = onward(i, within, planes, rest, plane)
            k = integer(k + lanes)
        middle = finite_or_zero(origin + block_sum(shared, total) / count, zero)
        off, square = zero, zero
        k = integer(first + cuda.threadIdx.y)
        i, within = begin(k, plane)
        while k < stop:
            deviation = load(x[at(base, i, step, within)]) - middle
            off += deviation
            square += deviation * deviation
            i, within = onward(i, within, planes, rest, plane)
            k = integer(k + lanes)
        off = block_sum(shared, off)
        return settled(middle, off, block_sum(shared, square), count, zero)
    return block_inline(moments)


@cache
def block_squares(source: np.dtype, number: np.dtype, places: Places) -> Callable:
    """As `block_moments`, about 0."""
    load, zero, block_sum = widen_to(source, number), number.type(0), block_merge(add)
    integer, begin, onward, at = walk_of(places).of_elements

    def squares(shared, x, base, first, stop, plane, step):
        lanes = integer(cuda.blockDim.y)
        planes, rest = begin(lanes, plane)
        square = zero
        k = integer(first + cuda.threadIdx.y)
        i, within = begin(k, plane)
        while k < stop:
            value = load(x[at(base, i, step, within)])
            square += value * value
            i, within = onward(i, within, planes, rest, plane)
            k = integer(k + lanes)
        return zero, block_sum(shared, square)
    return block_inline(squares)


@cache
def block_join(number: np.dtype, places: Places) -> Callable:
    """A block's function of the chunks of its rows, each with its mean and square: both for the row."""
    cast, zero, block_sum = number.type, number.type(0), block_merge(add)
    integer, *_, at = walk_of(places).of_elements
    none = integer(0)

    def join(shared, means, squares, base, chunks, step, chunk, size):
        lanes, lane, count = integer(cuda.blockDim.y), integer(cuda.threadIdx.y), cast(size)
        origin, total = zero, zero
        if chunks > 0:
            origin = finite_or_zero(means[at(base, none, step, none)], zero)
        c = lane
        while c < chunks:
            total += cast(min(chunk, size - c * chunk)) * (means[at(base, c, step, none)] - origin)
            c = integer(c + lanes)
        middle = finite_or_zero(origin + block_sum(shared, total) / count, zero)
        off, square = zero, zero
        c = lane
        while c < chunks:
            deviation = means[at(base, c, step, none)] - middle
            weighted = cast(min(chunk, size - c * chunk)) * deviation
            off += weighted
            square += squares[at(base, c, step, none)] + weighted * deviation
            c = integer(c + lanes)
        off = block_sum(shared, off)
        return settled(middle, off, block_sum(shared, square), count, zero)
    return block_inline(join)


# -------------------------------------------------------------------------------------------------------- kernels
@cache
def moments_kernel(source: np.dtype, number: np.dtype, result: np.dtype, places: Places,
                   is_centred: bool = True) -> Any:
    """The kernel of elements: the mean and the square of each chunk of each row."""
    statistics = (block_moments if is_centred else block_squares)(source, number, places)
    memory, store, (integer, extents, share, at) = shared_memory(BLOCK, number), result.type, walk_of(places).of_rows

    def moments(x, means, squares, outer, length, inner, plane, chunks, chunk):
        shared, block = memory(), integer(cuda.blockIdx.x)
        size, step, blocks = extents(outer, length, inner, plane, chunks)
        while block < blocks:
            row, first, stop, part, column, base = share(block, outer, size, inner, plane, chunks, chunk)
            mean, square = statistics(shared, x, base, first, stop, plane, step)
            if cuda.threadIdx.y == 0 and first < stop:
                means[at(column, part, inner, 0)] = store(mean)
                squares[at(column, part, inner, 0)] = store(square)
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(moments)
