"""The kernel of matrix products with few rows or columns: each line of the large operand is read once.

The lanes of a line walk the depth in steps of their number, then merge in shared memory in a fixed order.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import runtime, vectors
from .runtime import BLOCK, WARP, ceil_div, cuda, power_of_two, shared_memory
from .scalars import widen_to
from .tiles import Epilogue, Layout, finisher, number_of, result_store

FEW = 4       # columns at most


class Share(NamedTuple):
    """How a block works: so many lines side by side, lanes of each, and neighbours that a lane takes at a time."""

    lines: int
    lanes: int
    each: int


def share_of(itemsize: int, is_along: bool, lines: int, depth: int) -> Share:
    """Neighbouring threads read neighbours: along the depth the lanes of a line, across it lines."""
    each = vectors.width_of(itemsize) if is_along else 1
    side_by_side = min(BLOCK // WARP if is_along else WARP, power_of_two(lines))
    lanes = min(BLOCK // side_by_side, power_of_two(ceil_div(max(depth, 1), each)))
    return Share(BLOCK // lanes, lanes, each)


@cache
def skinny_kernel(dtype: np.dtype, few: int, each: int, layout: Layout, epilogue: Epilogue) -> Any:
    """The kernel of lines (lines, depth) times `few` columns."""
    number = number_of(dtype)
    scalar, zero, has_bias = number.type, number.type(0), epilogue.has_bias
    widen, finish, store = widen_to(dtype, number), finisher(dtype, epilogue), result_store(dtype, epilogue)
    is_along, access = layout
    load, load_one, store_one = vectors.load(access), vectors.load(1), vectors.store(1)
    memory = shared_memory(BLOCK * few, number)

    def multiply(a, b, c, bias, parts, batch, inner, lines, depth, chunk, own_lines, lanes, a_start, a_strides,
                 b_start, b_strides, c_strides):
        a_outer, a_inner, a_across = a_strides
        b_outer, b_inner, b_depth, b_col = b_strides
        c_item, c_line, c_col, bias_line, bias_col = c_strides
        shared, sums = memory(), cuda.local.array(few, dtype=scalar)
        thread = cuda.threadIdx.x
        lane, own = (thread % lanes, thread // lanes) if is_along else (thread // own_lines, thread % own_lines)
        apart = 1 if is_along else own_lines
        tiles = (lines + own_lines - 1) // own_lines
        block = cuda.blockIdx.x
        while block < parts * batch * tiles:
            item, line = block // tiles, block % tiles * own_lines + own
            matrix, begin = item % batch, item // batch * chunk
            end = min(depth, begin + chunk)
            a_at = a_start + matrix // inner * a_outer + matrix % inner * a_inner
            b_at = b_start + matrix // inner * b_outer + matrix % inner * b_inner
            for j in range(few):
                sums[j] = zero
            if line < lines:
                for first in range(begin + lane * each, end, lanes * each):
                    for k in range(first, min(first + each, end), access):
                        found = load(a, a_at + (line * a_across + k if is_along else k * a_across + line))
                        for i in range(access):
                            for j in range(few):
                                factor = load_one(b, b_at + (k + i) * b_depth + j * b_col)
                                sums[j] += widen(found[i]) * widen(factor[0])
            for j in range(few):
                shared[j * BLOCK + thread] = sums[j]
            cuda.syncthreads()
            half = lanes // 2
            while half > 0:
                if lane < half:
                    for j in range(few):
                        shared[j * BLOCK + thread] += shared[j * BLOCK + thread + half * apart]
                cuda.syncthreads()
                half = half // 2
            if lane == 0 and line < lines:
                for j in range(few):
                    added = widen(bias[line * bias_line + j * bias_col]) if has_bias else zero
                    value = (store(finish(shared[j * BLOCK + thread], added)),)
                    store_one(c, item * c_item + line * c_line + j * c_col, value)
            cuda.syncthreads()
            block += cuda.gridDim.x
    return runtime.kernel(multiply, (BLOCK, 3 if number.itemsize < 16 else 2))
