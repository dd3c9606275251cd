"""Attention of heads: by MLX's own function on the GPU, elsewhere composed; both gradients make the weights anew."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np

from . import runtime
from .products import matmul
from .random import random_bits
from .reductions import softmax, softmax_grad, wide
from .runtime import entry
from .types import constant, from_numpy, nothing

INFINITY = float("inf")
TILE_ROWS, TILE_KEYS = 8, 128          # queries and keys that a block of random words is for
WORDS = 1 << 32
Drop = tuple[int, int, int, int] | None
Arrays = tuple[mx.array, ...]


# ---------------------------------------------------------------------------------------------- by MLX's own
def _is_native(q: mx.array, drop: Drop) -> bool:
    return runtime.ON_GPU and q.dtype != mx.float64 and drop is None


def _native(causal: bool, scale: float) -> Callable[..., mx.array]:
    def call(q: mx.array, k: mx.array, v: mx.array, *mask: mx.array) -> mx.array:
        triangle = "causal" if causal and q.shape[2] == k.shape[2] else _lower(q, k) if causal else None
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask[0] if mask else triangle)
    return call


def _blind(bias: mx.array | None, like: mx.array) -> Arrays:
    """Queries that look at nothing, which MLX gives NaN and we give zeros, and a mask that lets them see."""
    if bias is None:
        return constant(False, mx.bool_), constant(0, like.dtype)
    blind = mx.all(bias == constant(-INFINITY, bias.dtype), 3, True)
    return blind, mx.where(blind, constant(0, bias.dtype), bias)


def _lower(q: mx.array, k: mx.array) -> mx.array:
    """Whether row i may look at column j, j <= i."""
    return from_numpy(np.tri(q.shape[2], k.shape[2], dtype=bool))


# -------------------------------------------------------------------------------------------------- composed
def _grouped(x: mx.array, groups: int) -> mx.array:
    """(batch, heads, n, m) as (batch, groups, heads of a group, n, m)."""
    batch, heads, *last = x.shape
    return x.reshape(batch, groups, heads // groups, *last)


def _weights(q: mx.array, k: mx.array, bias: mx.array | None, causal: bool, scale: float) -> mx.array:
    """The shares that each query gives to the keys, (batch, groups, heads of a group, queries, keys)."""
    groups = k.shape[1]
    scores = matmul(_grouped(q, groups), _grouped(k, groups).swapaxes(3, 4)) * constant(scale, q.dtype)
    if bias is not None:
        scores = scores + _grouped(wide(bias), groups if bias.shape[1] > 1 else 1)
    if causal:
        scores = mx.where(_lower(q, k), scores, constant(-INFINITY, scores.dtype))
    return softmax(scores, 4)


def _factors(drop: Drop, q: mx.array, k: mx.array) -> mx.array:
    """What dropout multiplies weights with, in their shape; the CPU's bits."""
    if drop is None:
        return constant(1, q.dtype)
    threshold, first_key, second_key, stream = drop
    batch, heads, rows = q.shape[:3]
    cols = k.shape[2]
    tiles = (-(-rows // TILE_ROWS), -(-cols // TILE_KEYS))
    count = batch * heads * tiles[0] * TILE_ROWS * tiles[1] * TILE_KEYS
    words = random_bits(first_key, second_key, stream, count)
    words = words.reshape(-1, *tiles, TILE_ROWS, TILE_KEYS).transpose(0, 1, 3, 2, 4)
    words = words.reshape(batch, heads, tiles[0] * TILE_ROWS, tiles[1] * TILE_KEYS)[:, :, :rows, :cols]
    kept = (words < threshold).astype(q.dtype) * constant(WORDS / threshold if threshold else 0.0, q.dtype)
    return _grouped(kept, k.shape[1])


@entry
def attention(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None, causal: bool, scale: float,
              drop: Drop = None) -> Arrays:
    """softmax(q k^T * scale + mask) v, as the CPU's; of queries that look at nothing, zeros. Nothing else is kept."""
    unread, shape = nothing(q.dtype), (*q.shape[:3], v.shape[3])
    if 0 in (*shape, k.shape[2]):
        return mx.zeros(shape, q.dtype), unread
    if _is_native(q, drop):
        blind, bias = _blind(mask, q)
        found = _native(causal, scale)(q, k, v, *([] if mask is None else [bias]))
        return mx.where(blind, constant(0, q.dtype), found), unread
    queries, keys, values = (q, k, v) if q.dtype == mx.float32 else [wide(x) for x in (q, k, v)]
    weights = _weights(queries, keys, mask, causal, scale)
    weights = weights if drop is None else weights * _factors(drop, queries, keys)
    return matmul(weights, _grouped(values, k.shape[1])).reshape(shape).astype(q.dtype), unread


def attention_grad(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None, out: mx.array, sums: mx.array,
                   g: mx.array, causal: bool, scale: float, of_mask: bool, drop: Drop = None
                   ) -> tuple[mx.array | None, ...]:
    """The gradients of q, k, v, and of the mask (a number for each score) where wanted; to be cast by the caller."""
    of_operands = _gradients_of_nothing if 0 in (*out.shape, k.shape[2]) else \
        _native_gradients if _is_native(q, drop) else _composed_gradients
    found = of_operands(q, k, v, mask, g, causal, scale, drop)
    return (*found[:3], found[3] if of_mask else None)


@entry
def _gradients_of_nothing(*operands: Any) -> Arrays:
    return tuple([mx.zeros(x.shape, x.dtype) for x in operands[:4] if x is not None])


@entry
def _native_gradients(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None, g: mx.array, causal: bool,
                      scale: float, drop: Drop) -> Arrays:
    blind, bias = _blind(mask, q)
    operands = [q, k, v] if mask is None else [q, k, v, bias]
    return tuple(mx.vjp(_native(causal, scale), operands, [mx.where(blind, constant(0, g.dtype), g)])[1])


@entry
def _composed_gradients(q: mx.array, k: mx.array, v: mx.array, mask: mx.array | None, g: mx.array, causal: bool,
                        scale: float, drop: Drop) -> Arrays:
    """In float32, or float64."""
    q, k, v, g = (wide(x) for x in (q, k, v, g))
    groups, factor = k.shape[1], constant(scale, q.dtype)
    weights, factors, slope = _weights(q, k, mask, causal, scale), _factors(drop, q, k), _grouped(g, groups)
    shares = matmul(slope, _grouped(v, groups).swapaxes(3, 4)) * factors
    inner = softmax_grad(weights, shares, 4)
    of_q = (matmul(inner, _grouped(k, groups)) * factor).reshape(q.shape)
    of_k = mx.sum(matmul(inner.swapaxes(3, 4), _grouped(q, groups)), 2) * factor
    of_v = mx.sum(matmul((weights * factors).swapaxes(3, 4), slope), 2)
    return of_q, of_k, of_v, inner.reshape(*q.shape[:3], k.shape[2])
