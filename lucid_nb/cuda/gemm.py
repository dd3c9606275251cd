"""Matrix products: which kernel, how it reads operands, and into how many parts the depth is cut.

All this depends on shapes, strides and alignment alone, and the parts are added in order: the same operands give the
same bits on every device. A transpose costs no copy; what lies along neither axis is copied.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..shapes import broadcast_shapes
from . import array as geometry
from . import cublas, runtime, skinny, tiles, vectors
from .array import DeviceArray, Shape
from .copy import copy, flat, reshape
from .runtime import SIMULATED, ceil_div, cuda
from .scalars import widen_to
from .tiles import Epilogue, Layout, finisher, number_of, result_store, tile_of

ENOUGH = 5 if SIMULATED else 264            # blocks that fill a device of 132 multiprocessors twice
LEAST_DEPTH = 4 if SIMULATED else 256       # of a part
LARGE = 8 if SIMULATED else 64              # rows and columns above which a large tile is not mostly empty


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
class Geometry(NamedTuple):
    """How an operand lies in memory."""

    shape: Shape
    strides: Shape
    behind: int          # elements from an aligned address to the first

    def stretched(self, batch: Shape) -> Shape:
        """The strides of the axes of a batch: 0 along those that are stretched or new."""
        own = self.shape[:-2]
        return (0,) * (len(batch) - len(own)) + tuple(
            stride if size == wanted else 0
            for size, stride, wanted in zip(own, self.strides, batch[len(batch) - len(own):]))


class Operand(NamedTuple):
    """How a kernel reads matrices that lie along the depth or across it."""

    layout: Layout
    strides: Shape       # of both batch axes, and from line to line or from one depth to the next


def _geometry(raw: DeviceArray) -> Geometry:
    place = runtime.address(raw.memory) // raw.element.itemsize + raw.offset
    return Geometry(raw.shape, raw.strides, place % vectors.ACCESS)


def _lies(raw: DeviceArray) -> bool:
    """Does a matrix lie along one of its axes?"""
    return raw.strides[-1] == 1 or raw.strides[-2] == 1 or 1 in raw.shape[-2:]


def _operand(found: Geometry, batch: Shape, depth_axis: int, most: int) -> Operand:
    """How matrices are read, by accesses of `most` neighbours where all of them are aligned."""
    depth, lines = found.shape[depth_axis], found.shape[-3 - depth_axis]
    along, across = found.strides[depth_axis], found.strides[-3 - depth_axis]
    is_along = along == 1 or (across != 1 and lines > 1)
    other = (across if lines > 1 else 0) if is_along else (along if depth > 1 else 0)
    numbers = (found.behind, *batch, other, depth if is_along else lines)
    return Operand(Layout(is_along, 1 if any(number % most for number in numbers) else most), (*batch, other))


# ---------------------------------------------------------------------------------------------------- launches
class Call(NamedTuple):
    """A launch without its memory."""

    kernel: Any
    blocks: int
    threads: int
    is_turned: bool      # is B the first operand of the kernel?
    sizes: Shape         # arguments behind the memory
    strides: tuple[Shape, Shape]
    tail: tuple[Shape, ...] = ()

    def launch(self, a: DeviceArray, b: DeviceArray, target: Any, bias: Any) -> None:
        """Multiply into memory that is not empty; without bias any memory stands in its place."""
        first, second = (b, a) if self.is_turned else (a, b)
        runtime.launch(self.kernel, self.blocks, self.threads, first.memory, second.memory, target, bias, *self.sizes,
                       first.offset, self.strides[0], second.offset, self.strides[1], *self.tail)


def _tiles_call(element: np.dtype, a: Geometry, b: Geometry, sizes: Shape, batches: Sequence[Shape], found: Plan,
                epilogue: Epilogue) -> Call:
    rows, depth, cols = a.shape[-2], a.shape[-1], b.shape[-1]
    number, widest = number_of(element), vectors.width_of(element.itemsize)
    tile = tile_of(number, found.is_large)
    left, right = (_operand(own, batch, axis, min(widest, each)) for own, batch, axis, each in zip(
        (a, b), batches, (-1, -2), tile.shares))
    kernel = tiles.tile_kernel(element, found.is_large, left.layout, right.layout, cols % tile.access(number) == 0,
                               epilogue)
    count = found.parts * prod(sizes) * ceil_div(rows, tile.rows) * ceil_div(cols, tile.cols)
    return Call(kernel, runtime.grid(count), tile.threads[0] * tile.threads[1], False,
                (found.parts, prod(sizes), sizes[1], rows, cols, depth, found.chunk), (left.strides, right.strides))


def _skinny_call(element: np.dtype, a: Geometry, b: Geometry, sizes: Shape, batches: Sequence[Shape], found: Plan,
                 epilogue: Epilogue) -> Call:
    """The operand with more lines is read by lines; of A @ B with few rows that is B."""
    rows, depth, cols = a.shape[-2], a.shape[-1], b.shape[-1]
    widest, is_turned = vectors.width_of(element.itemsize), cols > skinny.FEW
    big = _operand(b, batches[1], -2, widest) if is_turned else _operand(a, batches[0], -1, widest)
    lines, few = (cols, rows) if is_turned else (rows, cols)
    small = (*batches[0], *a.strides[:-3:-1]) if is_turned else (*batches[1], *b.strides[-2:])
    c_strides = (rows * cols, 1, cols, 1, 0) if is_turned else (rows * cols, cols, 1, 0, 1)
    share = skinny.share_of(element.itemsize, big.layout.is_along, lines, depth)
    layout = big.layout if big.layout.is_along else Layout(False, 1)
    kernel = skinny.skinny_kernel(element, few, share.each, layout, epilogue)
    count = found.parts * prod(sizes) * ceil_div(lines, share.lines)
    return Call(kernel, runtime.grid(count), runtime.BLOCK, is_turned,
                (found.parts, prod(sizes), sizes[1], lines, depth, found.chunk, share.lines, share.lanes),
                (big.strides, small), (c_strides,))


@lru_cache(maxsize=4096)
def _call(element: np.dtype, a: Geometry, b: Geometry, batch: Shape, epilogue: Epilogue) -> tuple[Call, int] | None:
    """The launch for operands of a geometry, and into how many parts it cuts the depth; None where the batch does not
    walk in two ways."""
    sizes, strides = geometry.collapse(batch, (a.stretched(batch), b.stretched(batch)))
    if len(sizes) > 2:
        return None
    lead = 2 - len(sizes)
    sizes, batches = (1,) * lead + sizes, [(0,) * lead + own for own in strides]
    found = plan(number_of(element), prod(sizes), a.shape[-2], b.shape[-1], a.shape[-1])
    epilogue = epilogue if found.parts == 1 else Epilogue(is_part=True)
    make = _skinny_call if found.is_skinny else _tiles_call
    return make(element, a, b, sizes, batches, found, epilogue), found.parts


@cache
def _join_kernel(dtype: np.dtype, epilogue: Epilogue, of: np.dtype) -> Any:
    """The kernel that adds sums of the dtype `of`, and finishes them."""
    number, has_bias = number_of(dtype), epilogue.has_bias
    widen, finish, store, zero = (widen_to(dtype, number), finisher(dtype, epilogue), result_store(dtype, epilogue),
                                  number.type(0))
    widen_sum = widen_to(of, number)

    def join(count, sums, c, bias, parts, cols):
        i = cuda.grid(1)
        while i < count:
            total = widen_sum(sums[i])
            for part in range(1, parts):
                total += widen_sum(sums[part * count + i])
            c[i] = store(finish(total, widen(bias[i % cols]) if has_bias else zero))
            i += cuda.gridsize(1)
    return runtime.kernel(join)


# ----------------------------------------------------------------------------------------------------- entries
def _product(a: DeviceArray, b: DeviceArray, bias: DeviceArray | None, activation: str) -> DeviceArray:
    batch = a.shape[:-2] if b.ndim == 2 else broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    element, cols = a.element, b.shape[-1]
    result = geometry.empty((*batch, a.shape[-2], cols), element)
    if result.size == 0:
        return result
    a, b = a if _lies(a) else copy(a), b if _lies(b) else copy(b)
    if b.ndim == 2 and a.ndim > 2:        # one product instead of one for each of the batch
        a, batch = reshape(a, (prod(a.shape[:-1]), a.shape[-1])), ()
    if _by_library(a, b, bias, activation, batch, result):
        return result
    epilogue = Epilogue(bias is not None, activation)
    found = _call(element, _geometry(a), _geometry(b), batch, epilogue)
    if found is None:
        a, b = (copy(geometry.broadcast_to(raw, batch + raw.shape[-2:])) for raw in (a, b))
        found = _call(element, _geometry(a), _geometry(b), batch, epilogue)
    assert found is not None
    (call, parts), added = found, result.memory if bias is None else flat(bias)
    if parts == 1:
        call.launch(a, b, result.memory, added)
        return result
    sums = runtime.allocate(parts * result.size, number_of(element))
    call.launch(a, b, sums, added)
    _join(sums, number_of(element), result, added, parts, epilogue)
    return result


def _join(sums: Any, of: np.dtype, result: DeviceArray, bias: Any, parts: int, epilogue: Epilogue) -> None:
    """Write the finished sum of parts."""
    runtime.launch_each(_join_kernel(result.element, epilogue, of), result.size, result.size, sums, result.memory, bias,
                        parts, result.shape[-1])


def _by_library(a: DeviceArray, b: DeviceArray, bias: DeviceArray | None, activation: str, batch: Shape,
                result: DeviceArray) -> bool:
    """Let cuBLASLt write the product, where it is there for it. Its own rectifier need not keep NaN; ours is then a
    pass of its own, as is a bias that it does not add to such numbers."""
    rest = None if cublas.has_epilogue(a.element) else bias
    if not cublas.multiply(a, b, bias if rest is None else None, batch, result):
        return False
    epilogue = Epilogue(rest is not None, activation)
    if epilogue != Epilogue():
        _join(result.memory, a.element, result, result.memory if rest is None else flat(rest), 1, epilogue)
    return True


def matmul(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """(..., n, k) @ (..., k, m) over broadcast batches; float16 and bfloat16 accumulate in float32.

    Integers wrap and bool is "any of both", as NumPy has it.
    """
    return _product(a, b, None, "")


def linear(a: DeviceArray, b: DeviceArray, bias: DeviceArray, activation: str = "") -> DeviceArray:
    """a @ b + bias of the columns, b a matrix, all of one dtype, rounded once; then "relu" of floats if asked for."""
    return _product(a, b, bias, activation)
