"""Matrix products of every dtype."""

import mlx.core as mx

from . import runtime
from .types import FLOATS, multiplied

FEWEST = 16
"""Rows from which the right operand is better brought into C order. The CPU build's wheels for Linux have the reference
BLAS, which takes 2.3 times as long with a transposed one: it then adds up along memory that lies apart."""

CHUNK = 1 << 24
"""Elements of the temporary in a product of integers."""


def matmul(a: mx.array, b: mx.array) -> mx.array:
    """(..., n, k) times (..., k, m). MLX multiplies floats; integers are summed here, wrapping as NumPy's do."""
    if a.dtype == b.dtype == mx.float32:
        return mx.matmul(a, _right(b, a.shape[-2]))
    if a.dtype in FLOATS or a.dtype == mx.complex64:
        inner = multiplied(a.dtype)
        return mx.matmul(a.astype(inner), _right(b.astype(inner), a.shape[-2])).astype(a.dtype)
    if a.dtype == mx.bool_:                # whether any product is true: exact in float32, which counts them
        return mx.matmul(a.astype(mx.float32), b.astype(mx.float32)) > 0
    return _sum_of_products(a, b)


def _right(b: mx.array, rows: int) -> mx.array:
    """The right operand in the order that a product of so many rows takes."""
    return mx.contiguous(b) if b.dtype == mx.float32 and not runtime.ON_GPU and rows >= FEWEST else b


def _sum_of_products(a: mx.array, b: mx.array) -> mx.array:
    """Products of columns and rows, a few inner indices at a time."""
    inner = a.shape[-1]
    batch = mx.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    total = mx.zeros(shape, a.dtype)
    count = max(1, CHUNK // max(1, total.size))
    for start in range(0, inner, count):
        products = a[..., :, start:start + count, None] * b[..., None, start:start + count, :]
        total = total + mx.sum(products, -2).astype(a.dtype)
    return total


@runtime.entry
def linear(a: mx.array, b: mx.array, bias: mx.array) -> mx.array:
    """a @ b + bias of the columns, b a matrix, all of one dtype."""
    if a.dtype not in FLOATS or a.size == 0 or b.size == 0:
        return matmul(a, b) + bias
    inner = multiplied(a.dtype)
    return mx.addmm(bias.astype(inner), a.astype(inner), _right(b.astype(inner), a.shape[-2])).astype(a.dtype)
