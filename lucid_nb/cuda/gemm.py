"""Matrix products: tiles of both operands in shared memory, a small tile of the result in each thread's registers.

Operands are read through row and column strides, so a transpose costs no copy. Batches and tiles share the x axis of
the grid.
"""

from functools import cache
from typing import Any

import numpy as np

from ..dtypes import BOOL
from ..shapes import broadcast_shapes
from . import array as geometry
from . import runtime
from .array import DeviceArray, Shape
from .copy import copy
from .runtime import SIMULATED, cuda, shared_memory
from .scalars import compute, narrow, widen_to

SIDE = 2 if SIMULATED else 16       # threads along each side of a block
EACH = 2 if SIMULATED else 4        # results along each side of a thread's tile
TILE = SIDE * EACH


@cache
def _matmul_kernel(dtype: np.dtype) -> Any:
    number = np.dtype(np.int64) if dtype == BOOL else compute(dtype)
    load, store, scalar = widen_to(dtype, number), narrow(dtype), number.type
    zero = scalar(0)
    a_memory, b_memory = shared_memory((TILE, SIDE), number), shared_memory((SIDE, TILE), number)

    def matmul(a, b, c, batch, inner, rows, cols, depth, a_start, a_strides, b_start, b_strides):
        a_outer, a_inner, a_row, a_col = a_strides
        b_outer, b_inner, b_row, b_col = b_strides
        a_tile, b_tile = a_memory(), b_memory()
        sums = cuda.local.array((EACH, EACH), dtype=scalar)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        row_tiles, col_tiles = (rows + TILE - 1) // TILE, (cols + TILE - 1) // TILE
        block = cuda.blockIdx.x
        while block < batch * row_tiles * col_tiles:
            item = block // (row_tiles * col_tiles)
            top = block // col_tiles % row_tiles * TILE
            left = block % col_tiles * TILE
            a_first = a_start + item // inner * a_outer + item % inner * a_inner
            b_first = b_start + item // inner * b_outer + item % inner * b_inner
            for i in range(EACH):
                for j in range(EACH):
                    sums[i, j] = zero
            for start in range(0, depth, SIDE):
                for i in range(EACH):
                    row, k = top + y + i * SIDE, start + x
                    inside = row < rows and k < depth
                    a_tile[y + i * SIDE, x] = load(a[a_first + row * a_row + k * a_col]) if inside else zero
                    col, k = left + x + i * SIDE, start + y
                    inside = col < cols and k < depth
                    b_tile[y, x + i * SIDE] = load(b[b_first + k * b_row + col * b_col]) if inside else zero
                cuda.syncthreads()
                for k in range(SIDE):
                    for i in range(EACH):
                        for j in range(EACH):
                            sums[i, j] += a_tile[y + i * SIDE, k] * b_tile[k, x + j * SIDE]
                cuda.syncthreads()
            for i in range(EACH):
                for j in range(EACH):
                    row, col = top + y + i * SIDE, left + x + j * SIDE
                    if row < rows and col < cols:
                        c[(item * rows + row) * cols + col] = store(sums[i, j])
            block += cuda.gridDim.x
    return runtime.kernel(matmul)


def _merge_batches(a: DeviceArray, b: DeviceArray, batch: Shape) -> tuple[DeviceArray, DeviceArray, Shape, list[Shape]]:
    """The operands stretched over `batch`, and the at most two sizes and strides that walk it; else they are copied."""
    a, b = (geometry.broadcast_to(raw, batch + raw.shape[-2:]) for raw in (a, b))
    sizes, strides = geometry.collapse(batch, (a.strides[:-2], b.strides[:-2]))
    if len(sizes) > 2:
        return _merge_batches(copy(a), copy(b), batch)
    lead = (1,) * (2 - len(sizes))
    return a, b, lead + sizes, [lead + own for own in strides]


def matmul(a: DeviceArray, b: DeviceArray) -> DeviceArray:
    """(..., n, k) @ (..., k, m) over broadcast batches; float16 and bfloat16 accumulate in float32.

    Integers wrap and bool is "any of both", as NumPy has it.
    """
    batch = broadcast_shapes("matmul", a.shape[:-2], b.shape[:-2])
    rows, depth, cols = a.shape[-2], a.shape[-1], b.shape[-1]
    result = geometry.empty((*batch, rows, cols), a.element)
    if result.size:
        a, b, (outer, inner), (a_batch, b_batch) = _merge_batches(a, b, batch)
        blocks = runtime.grid(outer * inner * runtime.ceil_div(rows, TILE) * runtime.ceil_div(cols, TILE))
        runtime.launch(_matmul_kernel(a.element), blocks, (SIDE, SIDE), a.memory, b.memory, result.memory,
                       outer * inner, inner, rows, cols, depth, a.offset, (*a_batch, *a.strides[-2:]), b.offset,
                       (*b_batch, *b.strides[-2:]))
    return result
