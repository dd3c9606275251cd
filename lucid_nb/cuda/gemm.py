"""Matrix products: which kernel, how it reads operands, and into how many parts the depth is cut.

All this depends on shapes, strides and alignment alone, and the parts are added in order: the same operands give the
same bits on every device. A transpose costs no copy; what lies along neither axis is copied.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..shapes import broadcast_shapes
from . import array as geometry
from . import runtime, skinny, tiles, vectors
from .array import DeviceArray, Shape
from .copy import copy, flat, reshape
from .runtime import SIMULATED, ceil_div, cuda
from .scalars import widen_to
from .tiles import Epilogue, Layout, finisher, number_of, result_store, tile_of

ENOUGH = 5 if SIMULATED else 264            # blocks that fill a device of 132 multiprocessors twice
LEAST_DEPTH = 4 if SIMULATED else 256       # of a part
LARGE = 8 if SIMULATED else 64              # rows and columns above which a large tile is not mostly empty

library: Callable[[DeviceArray, DeviceArray, DeviceArray | None, str, DeviceArray], bool] | None = None
"""Where a library's product comes in, as cuBLASLt's with its epilogues: called with both operands, the bias of columns
or None, the activation and memory for the result, it says whether it has written the result."""


class Plan(NamedTuple):
    """How a product of one shape is computed."""

    is_skinny: bool
    is_large: bool
    parts: int
    chunk: int           # depth of a part


def _parts(blocks: int, depth: int, step: int) -> tuple[int, int]:
    """Into how many parts the depth is cut so that there are blocks enough, and the depth of one, in whole steps."""
    parts = max(1, min(ceil_div(ENOUGH, blocks), depth // LEAST_DEPTH)) if blocks < ENOUGH else 1
    chunk = max(1, ceil_div(ceil_div(depth, parts), step)) * step
    return max(1, ceil_div(depth, chunk)), chunk


@lru_cache(maxsize=4096)
def plan(number: np.dtype, batch: int, rows: int, cols: int, depth: int) -> Plan:
    """The kernel for a shape."""
    if min(rows, cols) <= skinny.FEW:
        return Plan(True, False, *_parts(batch * ceil_div(max(rows, cols), runtime.WARP), depth, vectors.ACCESS))
    large = tile_of(number, True)
    count = batch * ceil_div(rows, large.rows) * ceil_div(cols, large.cols)
    is_large = min(rows, cols) > LARGE and 2 * count * max(1, depth // LEAST_DEPTH) >= ENOUGH
    tile = tile_of(number, is_large)
    count = batch * ceil_div(rows, tile.rows) * ceil_div(cols, tile.cols)
    return Plan(False, is_large, *_parts(count, depth, tile.depth))


# --------------------------------------------------------------------------------------------------- operands
class Operand(NamedTuple):
    """A batch of matrices that lie along the depth or across it."""

    layout: Layout
    start: int
    strides: Shape       # of both batch axes, and from line to line or from one depth to the next


def _lies(raw: DeviceArray) -> bool:
    """Does a matrix lie along one of its axes?"""
    return raw.strides[-1] == 1 or raw.strides[-2] == 1 or 1 in raw.shape[-2:]


def _operand(raw: DeviceArray, batch: Shape, depth_axis: int, most: int) -> Operand:
    """How a kernel reads matrices, by accesses of `most` neighbours where all of them are aligned."""
    depth, lines = raw.shape[depth_axis], raw.shape[-3 - depth_axis]
    along, across = raw.strides[depth_axis], raw.strides[-3 - depth_axis]
    is_along = along == 1 or (across != 1 and lines > 1)
    other = (across if lines > 1 else 0) if is_along else (along if depth > 1 else 0)
    begin = runtime.address(raw.memory) // raw.element.itemsize + raw.offset
    access = min(vectors.width_of(raw.element.itemsize), most)
    if any(number % access for number in (begin, *batch, other, depth if is_along else lines)):
        access = 1
    return Operand(Layout(is_along, access), raw.offset, (*batch, other))


def _merge_batches(a: DeviceArray, b: DeviceArray, batch: Shape) -> tuple[DeviceArray, DeviceArray, Shape, list[Shape]]:
    """The operands stretched over `batch`, and the at most two sizes and strides that walk it; else they are copied."""
    a, b = (geometry.broadcast_to(raw, batch + raw.shape[-2:]) for raw in (a, b))
    sizes, strides = geometry.collapse(batch, (a.strides[:-2], b.strides[:-2]))
    if len(sizes) > 2:
        return _merge_batches(copy(a), copy(b), batch)
    lead = (1,) * (2 - len(sizes))
    return a, b, lead + sizes, [(0,) * len(lead) + own for own in strides]


# ---------------------------------------------------------------------------------------------------- launches
class _Target(NamedTuple):
    """Where a kernel writes, and what it adds: parts of sums that are joined later, or the result itself."""

    memory: Any
    bias: Any
    epilogue: Epilogue


def _launch_tiles(a: DeviceArray, b: DeviceArray, batches: tuple[Shape, list[Shape]], plan: Plan,
                  target: _Target) -> None:
    (outer, inner), (a_batch, b_batch) = batches
    rows, depth, cols = a.shape[-2], a.shape[-1], b.shape[-1]
    tile = tile_of(number_of(a.element), plan.is_large)
    a_each, b_each = tile.shares
    left, right = _operand(a, a_batch, -1, a_each), _operand(b, b_batch, -2, b_each)
    kernel = tiles.tile_kernel(a.element, plan.is_large, left.layout, right.layout,
                               cols % tile.access(number_of(a.element)) == 0, target.epilogue)
    count = plan.parts * outer * inner * ceil_div(rows, tile.rows) * ceil_div(cols, tile.cols)
    runtime.launch(kernel, runtime.grid(count), tile.threads[0] * tile.threads[1], a.memory, b.memory, target.memory,
                   target.bias, plan.parts, outer * inner, inner, rows, cols, depth, plan.chunk, left.start,
                   left.strides, right.start, right.strides)


def _launch_skinny(a: DeviceArray, b: DeviceArray, batches: tuple[Shape, list[Shape]], plan: Plan,
                   target: _Target) -> None:
    """The operand with more lines is read by lines; of A @ B with few rows that is B."""
    (outer, inner), (a_batch, b_batch) = batches
    rows, depth, cols = a.shape[-2], a.shape[-1], b.shape[-1]
    is_turned = cols > skinny.FEW
    big = _operand(b, b_batch, -2, vectors.ACCESS) if is_turned else _operand(a, a_batch, -1, vectors.ACCESS)
    lines, few = (cols, rows) if is_turned else (rows, cols)
    small, small_batch = (a, a_batch) if is_turned else (b, b_batch)
    small_strides = small.strides[::-1][:2] if is_turned else small.strides[-2:]
    c_strides = (rows * cols, 1, cols, 1, 0) if is_turned else (rows * cols, cols, 1, 0, 1)
    share = skinny.share_of(a.element.itemsize, big.layout.is_along, lines, depth)
    layout = big.layout if big.layout.is_along else Layout(False, 1)
    kernel = skinny.skinny_kernel(a.element, few, share.each, layout, target.epilogue)
    count = plan.parts * outer * inner * ceil_div(lines, share.lines)
    runtime.launch(kernel, runtime.grid(count), runtime.BLOCK, (b if is_turned else a).memory, small.memory,
                   target.memory, target.bias, plan.parts, outer * inner, inner, lines, depth, plan.chunk, share.lines,
                   share.lanes, big.start, big.strides, small.offset, (*small_batch, *small_strides), c_strides)


@cache
def _join_kernel(dtype: np.dtype, epilogue: Epilogue) -> Any:
    number, has_bias = number_of(dtype), epilogue.has_bias
    widen, finish, store, zero = (widen_to(dtype, number), finisher(dtype, epilogue), result_store(dtype, epilogue),
                                  number.type(0))

    def join(count, sums, c, bias, parts, cols):
        i = cuda.grid(1)
        while i < count:
            total = sums[i]
            for part in range(1, parts):
                total += sums[part * count + i]
            c[i] = store(finish(total, widen(bias[i % cols]) if has_bias else zero))
            i += cuda.gridsize(1)
    return runtime.kernel(join)


def _multiply(a: DeviceArray, b: DeviceArray, bias: Any, activation: str, result: DeviceArray) -> None:
    """The product of operands that lie along an axis, into memory that is not empty."""
    element, number = a.element, number_of(a.element)
    rows, depth, cols = a.shape[-2], a.shape[-1], b.shape[-1]
    a, b, sizes, strides = _merge_batches(a, b, result.shape[:-2])
    epilogue = Epilogue(bias is not None, activation)
    found = plan(number, prod(sizes), rows, cols, depth)
    run = _launch_skinny if found.is_skinny else _launch_tiles
    bias = result.memory if bias is None else bias       # kernels without bias take any memory
    if found.parts == 1:
        run(a, b, (sizes, strides), found, _Target(result.memory, bias, epilogue))
        return
    sums = runtime.allocate(found.parts * result.size, number)
    run(a, b, (sizes, strides), found, _Target(sums, bias, Epilogue(is_part=True)))
    runtime.launch_each(_join_kernel(element, epilogue), result.size, result.size, sums, result.memory, bias,
                        found.parts, cols)


# ----------------------------------------------------------------------------------------------------- entries
def _product(a: DeviceArray, b: DeviceArray, bias: DeviceArray | None, activation: str) -> DeviceArray:
    batch = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    result = geometry.empty((*batch, a.shape[-2], b.shape[-1]), a.element)
    if result.size == 0 or (library and library(a, b, bias, activation, result)):
        return result
    a, b = (raw if _lies(raw) else copy(raw) for raw in (a, b))
    target = result
    if b.ndim == 2 and a.ndim > 2:        # one product instead of one for each of the batch
        a = reshape(a, (prod(a.shape[:-1]), a.shape[-1]))
        target = geometry.view(result, (a.shape[0], b.shape[-1]), (b.shape[-1], 1))
    _multiply(a, b, None if bias is None else flat(bias), activation, target)
    return result


def matmul(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """(..., n, k) @ (..., k, m) over broadcast batches; float16 and bfloat16 accumulate in float32.

    Integers wrap and bool is "any of both", as NumPy has it.
    """
    return _product(a, b, None, "")


def linear(a: DeviceArray, b: DeviceArray, bias: DeviceArray, activation: str = "") -> DeviceArray:
    """a @ b + bias of the columns, b a matrix, all of one dtype, rounded once; then "relu" of floats if asked for."""
    return _product(a, b, bias, activation)
