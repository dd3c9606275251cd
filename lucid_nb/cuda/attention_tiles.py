"""What blocks of attention do with tiles of scores: made, weighed in shared memory, multiplied with rows.

A block has side * side threads; each holds each * each scores of a tile of `lines` rows by `lines` columns. A tile that
is multiplied lies in shared memory by columns: score (row, column) at column * pitch + row.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import runtime, vectors
from .random import philox
from .reduce import larger
from .runtime import SIMULATED, cuda, inline, shared_memory
from .scalars import compute, narrow, widen_to
from .vocabulary import functions

TILE_ROWS, TILE_KEYS, COUNTERS = 8, 128, 256       # a block of random words is for 8 queries and 128 keys

if not SIMULATED:
    from numba.cuda import libdevice


class Tile(NamedTuple):
    """How threads share a tile of scores, and how many columns of a result they have."""

    side: int                    # threads along both sides
    each: int                    # scores of a thread along both, and neighbours of an access to shared memory
    depth: int                   # of a slice that goes through shared memory
    spread: int                  # accesses that cover a thread's columns of a result

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.side * self.side

    @property
    def lines(self) -> int:
        """Rows and columns of scores."""
        return self.side * self.each

    @property
    def pitch(self) -> int:
        """Elements from column to column in shared memory."""
        return self.lines + self.each

    @property
    def width(self) -> int:
        """Columns of a result that a block makes."""
        return self.side * self.each * self.spread

    @property
    def scratch(self) -> int:
        """Elements of shared memory that slices of operands need."""
        return max(2 * self.depth * self.pitch, self.depth * self.width)


def tile_of(number: np.dtype, columns: int) -> Tile:
    """The tile for results of so many columns; where they are more than its own, several blocks share them."""
    if SIMULATED:
        return Tile(4, 2, 2, 1)
    if number.itemsize == 4:
        return Tile(16, 4, 16, 1 if columns <= 64 else 2)
    return Tile(16, 2, 16, 2 if columns <= 64 else 4)


# ------------------------------------------------------------------------------------------------------ geometry
# What a kernel is told of its operands: sizes, and of each array its place: a start, and the steps along batches,
# heads, rows and features. They lie in shared memory, or they would stay in registers all the time.
UNITS, HEADS, MEMBERS, LENGTH, REACH, DEPTH, FEATURES, CAUSAL, FIRST = range(9)
Q, K, V, MASK, OUT, G, MADE, OTHER = range(FIRST, FIRST + 5 * 8, 5)
GIVEN = FIRST + 5 * 8
# What a block works at: the first row of its tile and how many there are, the first column of its result, the head and
# the batch of it, the head of keys, heads counted through batches; and 0.
TOP, COUNT, LEFT, HEAD, BATCH, GROUP, PLACE, NOTHING, FACTS = range(GIVEN, GIVEN + 9)
INDEX = np.dtype(np.int64)


def _keeper() -> Callable:
    """keep(facts, given): numbers put into shared memory, one by one: a loop would need them in memory before."""
    lines = [f"        facts[{number}] = given[{number}]" for number in range(GIVEN)]
    lines.append(f"        facts[{NOTHING}] = 0")
    space: dict[str, Any] = {"cuda": cuda}
    lines = ["def keep(facts, given):", "    if cuda.threadIdx.x == 0:", *lines, "    cuda.syncthreads()"]
    exec("\n".join(lines), space)
    return runtime.block_inline(space["keep"])


keep_facts, facts_memory = _keeper(), shared_memory(FACTS, INDEX)


@runtime.block_inline
def own_of(facts):
    """The number of a thread, which the compiler takes for a new one each time.

    Otherwise all places that a thread reads or writes in any stage would be computed once, and fill its registers.
    """
    return cuda.threadIdx.x + facts[NOTHING]


@inline
def start_of(facts, place, head, row):
    """Where a row of an array lies."""
    return facts[place] + facts[BATCH] * facts[place + 1] + head * facts[place + 2] + row * facts[place + 3]


@cache
def locator(tile: Tile, of_keys: bool) -> Callable:
    """locate(facts, unit, columns): what a block works at, so many columns of a result being shared by blocks."""
    lines, width, extent = tile.lines, tile.width, REACH if of_keys else LENGTH

    def locate(facts, unit, columns):
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            tiles, chunks = (facts[extent] + lines - 1) // lines, (columns + width - 1) // width
            place, members = unit // chunks // tiles, facts[MEMBERS]
            heads = facts[HEADS] // members if of_keys else facts[HEADS]
            facts[LEFT], facts[TOP], facts[PLACE] = unit % chunks * width, unit // chunks % tiles * lines, place
            facts[BATCH], facts[HEAD] = place // heads, place % heads
            facts[GROUP] = place % heads // (1 if of_keys else members)
            facts[COUNT] = min(lines, facts[extent] - facts[TOP])
        cuda.syncthreads()
    return runtime.block_inline(locate)


@cache
def rounded_product(number: np.dtype) -> Callable:
    """A product that is rounded before anything is added: the compiler does not fuse it."""
    if SIMULATED:
        return np.multiply
    return libdevice.fmul_rn if number.itemsize == 4 else libdevice.dmul_rn


@cache
def scorer(dtype: np.dtype, tile: Tile) -> Callable:
    """score(sums, scratch, facts, a, a_at, a_place, rows, b, b_at, b_place, cols, depth): rows of A times rows of B."""
    number = compute(dtype)
    side, each, slice_depth, pitch, lines = tile.side, tile.each, tile.depth, tile.pitch, tile.lines
    widen, zero, load_one, load = widen_to(dtype, number), number.type(0), vectors.load(1), vectors.load(each)
    store = vectors.store(1)
    at_once, half, scalar = tile.threads // slice_depth, slice_depth * pitch, number.type

    def score(sums, scratch, facts, a, a_at, a_place, rows, b, b_at, b_place, cols, depth):
        thread = own_of(facts)
        x, y = thread % side, thread // side
        k, own = thread % slice_depth, thread // slice_depth
        left, right = cuda.local.array(each, dtype=scalar), cuda.local.array(each, dtype=scalar)
        a_row, a_step, b_row, b_step = facts[a_place + 3], facts[a_place + 4], facts[b_place + 3], facts[b_place + 4]
        for i in range(each):
            for j in range(each):
                sums[i, j] = zero
        for start in range(0, depth, slice_depth):
            for line in range(own, lines, at_once):
                one, other = zero, zero
                if start + k < depth and line < rows:
                    one = widen(load_one(a, a_at + line * a_row + (start + k) * a_step)[0])
                if start + k < depth and line < cols:
                    other = widen(load_one(b, b_at + line * b_row + (start + k) * b_step)[0])
                store(scratch, k * pitch + line, (one,))
                store(scratch, half + k * pitch + line, (other,))
            cuda.syncthreads()
            for d in range(slice_depth):
                found, met = load(scratch, d * pitch + y * each), load(scratch, half + d * pitch + x * each)
                for i in range(each):
                    left[i], right[i] = found[i], met[i]
                for i in range(each):
                    for j in range(each):
                        sums[i, j] += left[i] * right[j]
            cuda.syncthreads()
    return runtime.block_inline(score)


@cache
def adder(dtype: np.dtype, tile: Tile) -> Callable:
    """add(sums, weights, scratch, facts, x, at, place, count, cols): sums += a tile of weights times rows of x."""
    number = compute(dtype)
    side, each, slice_depth, pitch, lines = tile.side, tile.each, tile.depth, tile.pitch, tile.lines
    widen, zero, load_one, load = widen_to(dtype, number), number.type(0), vectors.load(1), vectors.load(each)
    threads, width, spread, scalar, store = tile.threads, tile.width, tile.spread, number.type, vectors.store(1)

    def add(sums, weights, scratch, facts, x, at, place, count, cols):
        thread = own_of(facts)
        column, y = thread % side, thread // side
        row, step = facts[place + 3], facts[place + 4]
        left, right = cuda.local.array(each, dtype=scalar), cuda.local.array(each, dtype=scalar)
        for start in range(0, min(lines, count), slice_depth):
            for item in range(thread, slice_depth * width, threads):
                col, k = item % width, start + item // width
                value = zero
                if k < count and col < cols:
                    value = widen(load_one(x, at + k * row + col * step)[0])
                store(scratch, item, (value,))
            cuda.syncthreads()
            for k in range(slice_depth):
                found = load(weights, (start + k) * pitch + y * each)
                for i in range(each):
                    left[i] = found[i]
                for part in range(spread):
                    met = load(scratch, k * width + (part * side + column) * each)
                    for j in range(each):
                        right[j] = met[j]
                    for i in range(each):
                        for j in range(each):
                            sums[i, part * each + j] += left[i] * right[j]
            cuda.syncthreads()
    return runtime.block_inline(add)


@cache
def weigher(number: np.dtype, tile: Tile) -> Callable:
    """weigh(weights, facts, partial, tops, totals, factors): scores become exp(score - maximum).

    Running maxima and sums follow; factors are what sums so far shrink by.
    """
    lines, pitch = tile.lines, tile.pitch
    parts = tile.threads // lines
    share, exp, zero, least = lines // parts, functions(number.name)["exp"], number.type(0), number.type(-np.inf)
    load, store = vectors.load(1), vectors.store(1)

    def weigh(weights, facts, partial, tops, totals, factors):
        thread = own_of(facts)
        row, part = thread % lines, thread // lines
        best = least
        for column in range(part * share, (part + 1) * share):
            best = larger(best, load(weights, column * pitch + row)[0])
        store(partial, thread, (best,))
        cuda.syncthreads()
        before = load(tops, row)[0]
        best = before
        for other in range(parts):
            best = larger(best, load(partial, other * lines + row)[0])
        top = zero if best == least else best
        cuda.syncthreads()
        total = zero
        for column in range(part * share, (part + 1) * share):
            value = exp(load(weights, column * pitch + row)[0] - top)
            store(weights, column * pitch + row, (value,))
            total += value
        store(partial, thread, (total,))
        cuda.syncthreads()
        if part == 0:
            for other in range(1, parts):
                total += load(partial, other * lines + row)[0]
            factor = exp(before - top)
            store(factors, row, (factor,))
            store(totals, row, (load(totals, row)[0] * factor + total,))
            store(tops, row, (best,))
        cuda.syncthreads()
    return runtime.block_inline(weigh)


@cache
def placer(number: np.dtype, tile: Tile, multiplies: bool) -> Callable:
    """put(weights, facts, values, factor): values of all threads, times a number, as a tile in shared memory.

    Or what lies there, times them.
    """
    side, each, pitch, load, store = tile.side, tile.each, tile.pitch, vectors.load(1), vectors.store(1)

    def put(weights, facts, values, factor):
        thread = own_of(facts)
        x, y = thread % side, thread // side
        for j in range(each):
            for i in range(each):
                at = (x * each + j) * pitch + y * each + i
                value = values[i, j] * factor
                store(weights, at, (load(weights, at)[0] * value if multiplies else value,))
        cuda.syncthreads()
    return runtime.block_inline(put)


@cache
def writer(dtype: np.dtype, tile: Tile) -> Callable:
    """write(x, facts, at, place, result, cols): a block's columns of its rows of x, of those that there are."""
    side, each, columns = tile.side, tile.each, tile.each * tile.spread
    narrowed, store = narrow(dtype), vectors.store(1)

    def write(x, facts, at, place, result, cols):
        thread = own_of(facts)
        column, y = thread % side, thread // side
        row, step, left, rows = facts[place + 3], facts[place + 4], facts[LEFT], facts[COUNT]
        for i in range(each):
            for j in range(columns):
                col = left + (j // each * side + column) * each + j % each
                if y * each + i < rows and col < cols:
                    store(x, at + (y * each + i) * row + col * step, (narrowed(result[i, j]),))
    return runtime.block_inline(write)


@inline
def _word(words, part):
    """One of the four words of a counter."""
    low, high = words[1] if part & 1 else words[0], words[3] if part & 1 else words[2]
    return high if part & 2 else low


@cache
def dropper(number: np.dtype, tile: Tile, is_turned: bool) -> Callable:
    """draw(factors, facts, drop, kept, place, query, key): what the weights of a thread are multiplied with.

    `place` counts heads through batches; turned: rows of the tile are keys. A counter has words of every other query
    of 8.
    """
    side, each, zero = tile.side, tile.each, number.type(0)

    def draw(factors, facts, drop, kept, place, query, key):
        thread = own_of(facts)
        x, y = thread % side * each, thread // side * each
        query += x if is_turned else y
        key += y if is_turned else x
        row = place * ((facts[LENGTH] + TILE_ROWS - 1) // TILE_ROWS) + query // TILE_ROWS
        block = row * ((facts[REACH] + TILE_KEYS - 1) // TILE_KEYS) + key // TILE_KEYS
        for n in range(each):
            for odd in range(2):
                counter = block * COUNTERS + odd * TILE_KEYS + key % TILE_KEYS + n
                words = philox(np.uint64(counter), drop[1], drop[2], drop[3])
                for m in range(odd, each, 2):
                    value = kept if _word(words, (query % TILE_ROWS + m) // 2) < drop[0] else zero
                    if is_turned:
                        factors[n, m] = value
                    else:
                        factors[m, n] = value
    return runtime.block_inline(draw)
