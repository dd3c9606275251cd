"""The kernel of matrix products: a block computes a tile of the result, each thread a small one in its registers.

Slices of both operands go through shared memory, a slice on while the one before is multiplied. Operands lie along one
of their axes; where they are aligned they move by accesses of up to 16 bytes.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import runtime, vectors
from .runtime import SIMULATED, cuda, inline, shared_memory
from .scalars import compute, narrow, widen_to

GROUP = 2 if SIMULATED else 8       # rows of tiles that follow each other, whose operands stay in the cache
INT32 = np.dtype(np.int32)


class Tile(NamedTuple):
    """A block's share: (rows, columns) of threads, results of each along both, and the depth of a slice."""

    threads: tuple[int, int]
    each: tuple[int, int]
    depth: int

    @property
    def rows(self) -> int:
        """Rows of the block."""
        return self.threads[0] * self.each[0]

    @property
    def cols(self) -> int:
        """Columns of the block."""
        return self.threads[1] * self.each[1]

    @property
    def shares(self) -> tuple[int, int]:
        """Elements of a slice of either operand that a thread moves: neighbours."""
        return self.each[0] * self.depth // self.threads[1], self.each[1] * self.depth // self.threads[0]

    def access(self, number: np.dtype) -> int:
        """Results side by side that a thread stores at once, and numbers that it reads so from shared memory."""
        return min(vectors.width_of(number.itemsize), *self.each)


class Layout(NamedTuple):
    """How an operand lies: along the depth, or across it; and how many neighbours one access moves."""

    is_along: bool
    access: int


class Epilogue(NamedTuple):
    """What becomes of a sum before it is stored; nothing where it is one of several parts."""

    has_bias: bool = False
    activation: str = ""
    is_part: bool = False


def number_of(dtype: np.dtype) -> np.dtype:
    """What products are computed and added in: float32 for short floats, int32, which wraps alike, for integers."""
    if dtype.kind in "iub" and dtype.itemsize < 8:
        return INT32
    return compute(dtype)


def tile_of(number: np.dtype, is_large: bool) -> Tile:
    """A large tile fills 64 registers with sums, whatever the size of a number; a small one suits small results."""
    if SIMULATED:
        return Tile((4, 4), (4, 4 if number.itemsize == 4 else 2), 4) if is_large else Tile((2, 2), (2, 2), 2)
    if number.itemsize == 16:
        return Tile((16, 16), (4, 2), 8)
    if is_large and (number.itemsize == 4 or number.kind != "i"):
        return Tile((16, 16), (8, 8 if number.itemsize == 4 else 4), 8)
    return Tile((16, 16), (4, 4), 16 if number.itemsize == 4 else 8)


# --------------------------------------------------------------------------------------------------- epilogues
@cache
def finisher(dtype: np.dtype, epilogue: Epilogue) -> Callable:
    """finish(sum, bias): what a sum becomes in registers."""
    zero = number_of(dtype).type(0)

    def plain(value, bias):
        return value

    def biased(value, bias):
        return value + bias

    def rectified(value, bias):
        total = value + bias
        return total if total > zero or total != total else zero
    return inline(rectified if epilogue.activation else biased if epilogue.has_bias else plain)


def result_store(dtype: np.dtype, epilogue: Epilogue) -> Callable:
    """The cast of what is finished to memory."""
    return number_of(dtype).type if epilogue.is_part else narrow(dtype)


# ------------------------------------------------------------------------------------------------ moving slices
def _tuple_of(width: int, cast: Callable) -> Callable:
    """Neighbours of a thread's own memory as a tuple, whose length a kernel has to know."""
    def one(values, at):
        return (cast(values[at]),)

    def two(values, at):
        return (cast(values[at]), cast(values[at + 1]))

    def four(values, at):
        return (cast(values[at]), cast(values[at + 1]), cast(values[at + 2]), cast(values[at + 3]))
    return inline({1: one, 2: two, 4: four}[width])


class Slice(NamedTuple):
    """How the threads of a block share the slice of an operand: each moves some neighbours along the way it lies."""

    lines: int                   # rows of A or columns of B in a tile
    depth: int
    pitch: int                   # elements from one step of the depth to the next in shared memory
    each: int                    # elements of a thread
    layout: Layout


def _fetcher(dtype: np.dtype, number: np.dtype, part: Slice) -> Callable:
    """fetch(values, memory, at, across, top, lines, start, end): a thread's elements of the slice from `start` on.

    Beyond the last line and the end of the depth there is nothing: zero.
    """
    widen, zero, load = widen_to(dtype, number), number.type(0), vectors.load(part.layout.access)
    each, access, is_along = part.each, part.layout.access, part.layout.is_along
    groups = (part.depth if is_along else part.lines) // each

    def fetch(values, memory, at, across, top, lines, start, end):
        slow, fast = cuda.threadIdx.x // groups, cuda.threadIdx.x % groups * each
        line, k = (top + slow, start + fast) if is_along else (top + fast, start + slow)
        place = at + (line * across + k if is_along else k * across + line)
        for first in range(0, each, access):
            inside = (line < lines and k + first < end) if is_along else (line + first < lines and k < end)
            if inside:
                found = load(memory, place + first)
                for i in range(access):
                    values[first + i] = widen(found[i])
            else:
                for i in range(access):
                    values[first + i] = zero
    return runtime.block_inline(fetch)


def _stager(number: np.dtype, part: Slice) -> Callable:
    """stage(shared, half, values): a thread's elements into one of two slices in shared memory, turned if need be."""
    each, is_along, pitch, depth = part.each, part.layout.is_along, part.pitch, part.depth
    groups = (depth if is_along else part.lines) // each
    width = 1 if is_along else min(vectors.width_of(number.itemsize), each)
    store, tuple_of = vectors.store(width), _tuple_of(width, number.type)

    def stage(shared, half, values):
        slow, fast = cuda.threadIdx.x // groups, cuda.threadIdx.x % groups * each
        line, k = (slow, fast) if is_along else (fast, slow)
        for i in range(0, each, width):
            place = (half * depth + k + i) * pitch + line if is_along else (half * depth + k) * pitch + line + i
            store(shared, place, tuple_of(values, i))
    return runtime.block_inline(stage)


# --------------------------------------------------------------------------------------------------- the kernel
def _operand(dtype: np.dtype, number: np.dtype, size: int, depth: int, each: int,
             layout: Layout) -> tuple[int, Any, Any, Any]:
    """How an operand comes to shared memory: the pitch of slices, room for two, what fetches and stages one."""
    pitch = size + vectors.width_of(number.itemsize)        # which keeps turned columns in banks of their own
    part = Slice(size, depth, pitch, each, layout)
    return pitch, shared_memory(2 * depth * pitch, number), _fetcher(dtype, number, part), _stager(number, part)


@cache
def tile_kernel(dtype: np.dtype, is_large: bool, a_layout: Layout, b_layout: Layout, is_whole: bool,
                epilogue: Epilogue) -> Any:
    """The kernel of a dtype and of operands that lie so. Rows of the result are whole if accesses fit in them."""
    number = number_of(dtype)
    tile, scalar, int32, int64 = tile_of(number, is_large), number.type, np.int32, np.int64
    (y_threads, x_threads), (y_each, x_each), slice_depth = tile
    y_size, x_size, zero = tile.rows, tile.cols, scalar(0)
    a_each, b_each = tile.shares
    a_pitch, a_memory, fetch_a, stage_a = _operand(dtype, number, y_size, slice_depth, a_each, a_layout)
    b_pitch, b_memory, fetch_b, stage_b = _operand(dtype, number, x_size, slice_depth, b_each, b_layout)
    width = tile.access(number)
    load, finish, widen = vectors.load(width), finisher(dtype, epilogue), widen_to(dtype, number)
    c_access = width if is_whole else 1
    store, tuple_of = vectors.store(c_access), _tuple_of(c_access, result_store(dtype, epilogue))
    has_bias = epilogue.has_bias
    # Neighbouring threads form patches, so that a warp reads few addresses of shared memory at a time.
    x_patch, y_patch = min(8, x_threads), min(4, y_threads)
    patch, patches = x_patch * y_patch, x_threads // x_patch

    def multiply(a, b, c, bias, parts, batch, inner, rows, cols, depth, chunk, a_start, a_strides, b_start, b_strides):
        a_outer, a_inner, a_across = a_strides
        b_outer, b_inner, b_across = b_strides
        a_shared, b_shared = a_memory(), b_memory()
        sums = cuda.local.array((y_each, x_each), dtype=scalar)
        a_values, b_values = cuda.local.array(y_each, dtype=scalar), cuda.local.array(x_each, dtype=scalar)
        a_next, b_next = cuda.local.array(a_each, dtype=scalar), cuda.local.array(b_each, dtype=scalar)
        own, lane = cuda.threadIdx.x // patch, cuda.threadIdx.x % patch
        # What lives as long as the sums is held in 32 bits: a register more for it would be spilled.
        x, y = int32(own % patches * x_patch + lane % x_patch), int32(own // patches * y_patch + lane // x_patch)
        y_tiles, x_tiles = (rows + y_size - 1) // y_size, (cols + x_size - 1) // x_size
        block = cuda.blockIdx.x
        while block < parts * batch * y_tiles * x_tiles:
            item, within = block // (y_tiles * x_tiles), block % (y_tiles * x_tiles)
            group = within // (GROUP * x_tiles) * GROUP
            height = min(y_tiles - group, GROUP)
            y_tile = int32(group + within % (GROUP * x_tiles) % height)
            x_tile = int32(within % (GROUP * x_tiles) // height)
            top, left = int64(y_tile) * y_size, int64(x_tile) * x_size
            matrix, begin = item % batch, item // batch * chunk
            end = min(depth, begin + chunk)
            a_at = a_start + matrix // inner * a_outer + matrix % inner * a_inner
            b_at = b_start + matrix // inner * b_outer + matrix % inner * b_inner
            for i in range(y_each):
                for j in range(x_each):
                    sums[i, j] = zero
            fetch_a(a_next, a, a_at, a_across, top, rows, begin, end)
            fetch_b(b_next, b, b_at, b_across, left, cols, begin, end)
            half = 0
            for start in range(begin + slice_depth, end + slice_depth, slice_depth):
                stage_a(a_shared, half, a_next)
                stage_b(b_shared, half, b_next)
                cuda.syncthreads()
                fetch_a(a_next, a, a_at, a_across, top, rows, start, end)
                fetch_b(b_next, b, b_at, b_across, left, cols, start, end)
                for k in range(slice_depth):
                    for first in range(0, y_each, width):
                        found = load(a_shared, (half * slice_depth + k) * a_pitch + first * y_threads + y * width)
                        for i in range(width):
                            a_values[first + i] = found[i]
                    for first in range(0, x_each, width):
                        found = load(b_shared, (half * slice_depth + k) * b_pitch + first * x_threads + x * width)
                        for i in range(width):
                            b_values[first + i] = found[i]
                    for i in range(y_each):
                        for j in range(x_each):
                            sums[i, j] += a_values[i] * b_values[j]
                half = 1 - half
            cuda.syncthreads()
            for j in range(x_each):
                col = left + (j // width * x_threads + x) * width + j % width
                b_values[j] = widen(bias[col]) if has_bias and col < cols else zero
            for i in range(y_each):
                for j in range(x_each):
                    sums[i, j] = finish(sums[i, j], b_values[j])
            for j in range(0, x_each, c_access):
                col = left + (j // width * x_threads + x) * width + j % width
                for i in range(y_each):
                    row = top + (i // width * y_threads + y) * width + i % width
                    if row < rows and col < cols:
                        store(c, (item * rows + row) * cols + col, tuple_of(sums[i], j))
            block += cuda.gridDim.x
    return runtime.kernel(multiply, (y_threads * x_threads, 2))
