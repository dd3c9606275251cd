"""Joining all that goes to one place, the same bits on every run: places are sorted, stably, so that what belongs
together forms a run, and a thread joins it in order.

A long run is cut into pieces from its beginning on, by its length alone: threads join one each, and a block merges
what the pieces of a run came to, in a fixed order.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import BOOL
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import cast, contiguous, flat, full
from .places import Places
from .reduce import KINDS, block_merge, both, either, larger, smaller
from .running import adder, multiplier
from .runtime import BLOCK, SIMULATED, cuda, inline, shared_memory
from .scalars import compute
from .sort import places_of

PIECE = 8 if SIMULATED else 32             # elements of a piece; the last one of a run has up to twice as many
INT64, WORD = np.dtype(np.int64), np.dtype(np.uint32)


class Join(NamedTuple):
    """What is joined, and where the totals go."""

    number: np.dtype           # of totals
    combine: Callable          # a total and what comes later
    identity: Any
    term: Callable             # (first, second, at, column, extents): what is joined at place `at` of the index
    place: Callable            # (target, column, extents): where the total of a target and a column lies
    load: Callable             # from there
    store: Callable            # and to it
    has_rows: bool             # do the columns of a target lie side by side?


def number_of(dtype: np.dtype) -> np.dtype:
    """What totals are held in: float32 for short floats."""
    return np.dtype(np.uint8) if dtype == BOOL else compute(dtype)


@cache
def combiner(kind: str, dtype: np.dtype) -> tuple[Callable, Any]:
    """How a total takes a value in, and what changes none; of bools sums are logical or, products logical and."""
    number = number_of(dtype)
    identity = number.type(KINDS[kind].identity(number))
    if kind in ("max", "min"):
        return larger if kind == "max" else smaller, identity
    if dtype == BOOL:
        return either if kind == "sum" else both, identity
    return adder(number.type) if kind == "sum" else multiplier(number.type), identity


# --------------------------------------------------------------------------------------------------------- pieces
@inline
def _search(index, order, target, wanted, low, high):
    """Where positions begin to be the target, or to be others, from `low` on; `high` if it is not before."""
    while low < high:
        middle = (low + high) // 2
        if (index[order[middle]] == target) == wanted:
            high = middle
        else:
            low = middle + 1
    return low


@runtime.kernel
def _find_kernel(count, index, order, stops, runs):
    """stops[j]: where a piece that begins at j ends, as a negative number if its run has others, and 0 if none begins
    there. runs[j // PIECE]: how many pieces has the long run that begins at j; at most one begins in so many places."""
    j = cuda.grid(1)
    while j < count:
        target, stop = index[order[j]], 0
        begin = _search(index, order, target, True, 0, j)
        if (j - begin) % PIECE == 0:
            end = _search(index, order, target, False, j + 1, min(j + 2 * PIECE, count))
            if end == j + 2 * PIECE:
                stop = -(j + PIECE)
            elif j == begin:
                stop = end
            elif end >= j + PIECE:
                stop = -end
        stops[j] = stop
        if stop < 0 and j == begin:
            runs[j // PIECE] = (_search(index, order, target, False, j, count) - j) // PIECE
        j += cuda.gridsize(1)


@cache
def _piece_kernel(how: Join, fit: Places) -> Any:
    """The kernel that joins pieces: into the results where a run has one, else into parts, at the number of pieces
    that fit before them."""
    _, combine, _, term, place, load, store, has_rows = how
    (integer, quotient), memory = fit, np.uint64

    def join_pieces(count, index, order, stops, first, second, y, parts, length, columns, extents):
        i = integer(cuda.grid(1))
        while i < count:
            fast = columns if has_rows else length
            slow = quotient(i, fast)
            rest = integer(i - slow * fast)
            j, column = (slow, rest) if has_rows else (rest, slow)
            stop = integer(stops[memory(j)])
            if stop != 0:
                begin, at = j, integer(order[memory(j)])
                total = term(first, second, at, column, extents)
                target = memory(place(integer(index[memory(at)]), column, extents))
                if stop > 0:
                    total = combine(load(y[target]), total)
                j = integer(j + 1)
                while j < abs(stop):
                    total = combine(total, term(first, second, integer(order[memory(j)]), column, extents))
                    j = integer(j + 1)
                if stop > 0:
                    y[target] = store(total)
                else:
                    parts[memory(quotient(begin, integer(PIECE)) * columns + column)] = total
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(join_pieces)


@cache
def _run_kernel(how: Join, fit: Places) -> Any:
    """The kernel that merges the pieces of runs: a block takes some columns of one, its lanes every so many pieces."""
    number, combine, identity, _, place, load, store, _ = how
    merge, shared, (integer, quotient), memory = (block_merge(combine), shared_memory(BLOCK, number), fit, np.uint64)

    def join_runs(count, index, order, runs, parts, y, columns, extents):
        totals = shared()
        tiles = quotient(integer(columns + cuda.blockDim.x - 1), integer(cuda.blockDim.x))
        block = integer(cuda.blockIdx.x)
        while block < integer(count * tiles):
            begin = quotient(block, tiles)
            column = integer((block - begin * tiles) * cuda.blockDim.x + cuda.threadIdx.x)
            pieces = integer(runs[memory(begin)])
            if pieces > 0:
                total = identity
                if column < columns:
                    for k in range(cuda.threadIdx.y, pieces, cuda.blockDim.y):
                        total = combine(total, parts[memory(integer((begin + k) * columns + column))])
                total = merge(totals, total)
                if cuda.threadIdx.y == 0 and column < columns:
                    # What begins in these places goes on through the next ones.
                    target = integer(index[memory(order[memory(integer((begin + 1) * PIECE))])])
                    where = memory(place(target, column, extents))
                    y[where] = store(combine(load(y[where]), total))
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(join_runs)


# -------------------------------------------------------------------------------------------------------- drivers
def _order(index: DeviceArray, size: int) -> Any:
    """The places that sort positions below `size`, of which few bits differ."""
    row = contiguous(index)
    row = geometry.view(row, (1, row.size), (row.size, 1))
    narrow_enough = size <= 1 << 32
    return places_of(cast(row, WORD) if narrow_enough else row, False, max(1, (size - 1).bit_length())).memory


def join(how: Join, fit: Places, index: DeviceArray, size: int, operands: tuple[Any, Any], y: Any, columns: int,
         extents: tuple[int, ...]) -> None:
    """Join terms with what y has for the positions below `size` in an index that is not empty, in order.

    `fit`: what all places fit, also index.size * columns.
    """
    length, order, positions = index.size, _order(index, size), flat(index)
    stops, runs = geometry.empty((length,), INT64), full((length // PIECE,), 0, INT64)
    runtime.launch_each(_find_kernel, length, length, positions, order, stops.memory, runs.memory)
    parts = runtime.allocate(runs.size * columns, how.number)
    runtime.launch_each(_piece_kernel(how, fit), length * columns, *fit.of(length * columns), positions, order,
                        stops.memory, *operands, y, parts, *fit.of(length, columns, extents))
    if length >= 2 * PIECE:
        plan = runtime.slices(runs.size, runs.size, columns)
        runtime.launch(_run_kernel(how, fit), plan.blocks, (plan.columns, plan.lanes), *fit.of(runs.size), positions,
                       order, runs.memory, parts, y, *fit.of(columns, extents))
