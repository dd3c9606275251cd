"""Attention: softmax(query key^T) value, fused where a device can, so that no matrix of all scores is made.

Source: A. Vaswani et al., Attention is all you need, arXiv:1706.03762. The fused form works through blocks of keys with
a running maximum, and makes the weights anew for its gradient (T. Dao et al., FlashAttention, arXiv:2205.14135).
"""

import math
from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..errors import ConfigError, DTypeError, ShapeError
from ..op import Info, Primitive, registry
from ..shapes import Shape
from .contraction import promoted
from .diagonal import triangle
from .dropout import WORDS, random_bits
from .linalg import matmul
from .movement import as_tensor, astype, broadcast_to, reshape
from .norm import softmax
from .selection import where

OP = "scaled_dot_product_attention"
Drop = tuple[int, int, int, int] | None
TILE_ROWS, TILE_KEYS = 8, 128


# ---------------------------------------------------------------------------------------------- composed
def _turned(x: Tensor) -> Tensor:
    """The last two axes swapped."""
    return x.mT


def _grouped(x: Tensor, groups: int) -> Tensor:
    """(batch, heads, n, m) as (batch, groups, heads of a group, n, m)."""
    return reshape(x, x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


def _lower(like: Tensor, rows: int, cols: int) -> Tensor:
    """Whether row i may look at column j, j <= i."""
    return triangle(rows, cols, 0, like.device)


def _weights(q: Tensor, k: Tensor, bias: Tensor | None, causal: bool, scale: float) -> Tensor:
    """The shares that each query gives to the keys, (batch, groups, heads of a group, queries, keys)."""
    scores = matmul(q, _turned(k)) * scale
    scores = scores if bias is None else scores + bias
    if causal:
        scores = where(_lower(scores, *scores.shape[-2:]), scores, -math.inf)
    return softmax(scores)


def _bias_of_groups(bias: Tensor | None, groups: int) -> Tensor | None:
    """The bias with the heads' axis in two."""
    if bias is None:
        return None
    return _grouped(bias, groups) if bias.shape[1] > 1 else reshape(bias, bias.shape[0], 1, *bias.shape[1:])


def _factors(drop: Drop, q: Tensor, k: Tensor) -> Tensor | None:
    """What dropout multiplies weights with, (batch, groups, heads of a group, queries, keys).

    A block of random words is for TILE_ROWS queries and TILE_KEYS keys, as in kernels/loops/attention.py.
    """
    if drop is None:
        return None
    threshold, *key, stream = drop
    batch, heads, rows, cols = (*q.shape[:3], k.shape[2])
    tiles = (-(-rows // TILE_ROWS), -(-cols // TILE_KEYS))
    count = batch * heads * shapes.product(tiles) * TILE_ROWS * TILE_KEYS
    words = random_bits((key[0], key[1]), stream, count, q.device).reshape(-1, *tiles, TILE_ROWS, TILE_KEYS)
    words = words.transpose(0, 1, 3, 2, 4).reshape(batch, heads, tiles[0] * TILE_ROWS, tiles[1] * TILE_KEYS)
    kept = astype(words[:, :, :rows, :cols] < threshold, q.dtype)
    return _grouped(kept * (WORDS / threshold if threshold else 0.0), k.shape[1])


def _composed(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, causal: bool, scale: float, drop: Drop) -> Tensor:
    """Attention by other ops."""
    groups, factors = k.shape[1], _factors(drop, q, k)
    weights = _weights(_grouped(q, groups), _grouped(k, groups), _bias_of_groups(bias, groups), causal, scale)
    weights = weights if factors is None else weights * factors
    return reshape(matmul(weights, _grouped(v, groups)), *q.shape[:3], v.shape[3])


def _composed_gradient(g: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, causal: bool,
                       scale: float, drop: Drop) -> list[Tensor]:
    """The gradients of all operands by ops that have gradients of their own."""
    groups, factors = k.shape[1], _factors(drop, q, k)
    shape, g = q.shape, _grouped(g, groups)
    q5, k5, v5 = (_grouped(x, groups) for x in (q, k, v))
    weights = _weights(q5, k5, _bias_of_groups(bias, groups), causal, scale)
    slope, kept = matmul(g, _turned(v5)), weights
    if factors is not None:
        slope, kept = slope * factors, weights * factors
    slope = apply(registry["softmax_grad"], (weights, slope), {"axis": 4})
    by_q = reshape(matmul(slope, k5) * scale, shape)
    by_k = matmul(_turned(slope), q5).sum(axis=2) * scale
    found = [by_q, by_k, matmul(_turned(kept), g).sum(axis=2)]
    return found if bias is None else [*found, reshape(slope, *shape[:3], k.shape[2])]


# ------------------------------------------------------------------------------------------------- fused
def _forward(table: backend.Table, q: Any, k: Any, v: Any, bias: Any = None, *, causal: bool, scale: float,
             drop: Drop) -> tuple:
    return table.attention(q, k, v, bias, causal, scale, drop)


def _pullback(ops: Any, info: Info, g: dict[int, Any], q: Any, k: Any, v: Any, *rest: Any, causal: bool,
              scale: float, drop: Drop) -> list[Any]:
    """The saved maxima and sums are results, too, but nobody has them: only the first result has a gradient."""
    *bias, out, sums = rest
    mask = bias[0] if bias else None
    if ops.records:
        return _composed_gradient(g[0], q, k, v, mask, causal, scale, drop)
    table = backend.of(q)
    found = table.attention_grad(q, k, v, mask, out, sums, g[0], causal, scale, info.wanted[3:] == [True], drop)
    return list(found)[:3 + len(bias)]


def _pull_parts(ops: Any, info: Info, g: dict[int, Any], count: int) -> tuple:
    """One array of the gradients side by side: each by itself would be put into zeros first."""
    shape = (*info.shape(0)[:-1], info.shape(0)[-1] // count)
    like = next(iter(g.values()))
    return (ops.concatenate(*[g[i] if i in g else ops.zeros(shape, like) for i in range(count)], axis=len(shape) - 1),)


def _parts(table: backend.Table, x: Any, count: int) -> tuple:
    size = x.shape[-1] // count
    return tuple([table.slice(x, (..., slice(i * size, (i + 1) * size))) for i in range(count)])


_split = Primitive("parts", _parts, _pull_parts)
_attention = Primitive("attention", _forward, _pullback, keeps=(0, 1, 2, 3, 4),
                       flops=flops.attention, gradient_flops=2.5)
_biased_attention = Primitive("biased_attention", _forward, _pullback, keeps=(0, 1, 2, 3, 4, 5),
                              flops=flops.attention, gradient_flops=2.5)


# ---------------------------------------------------------------------------------------------- functions
def parts(x: Tensor, count: int) -> tuple[Tensor, ...]:
    """A tensor that nobody else holds, cut along its last axis into parts that share its memory."""
    found: tuple[Tensor, ...] = apply(_split, (x,), {"count": count})
    return found


def attention(query: Any, key: Any, value: Any, mask: Any = None, causal: bool = False, scale: float | None = None,
              grouped: bool = False, drop: Drop = None) -> Tensor:
    """softmax(query key^T * scale + mask) value, as nn.functional.scaled_dot_product_attention says it.

    `drop`: weights whose random word is not below its first number are dropped, the others divided by the share that
    is kept; two words of a key and the number of a stream follow.
    """
    q, k, v = promoted(OP, (query, key, value))
    dtype = dtypes.real_float(OP, q.dtype, q.device)
    q, k, v = (astype(x, dtype, copy=False) for x in (q, k, v))
    lead, groups = leading_axes(q.shape, k.shape, v.shape, grouped)
    scale = _scale(scale, q.shape[-1])
    rows, cols = q.shape[-2], k.shape[-2]
    bias = _bias(mask, (*lead, rows, cols), q, causal)
    flat = (shapes.product(lead[:-1]), lead[-1] if lead else 1)
    others = (*lead[:-1], groups) if grouped else lead
    q = _flat(_broadcast(q, lead), *flat)
    k, v = (_flat(_broadcast(x, others), flat[0], groups if grouped else flat[1]) for x in (k, v))
    table = backend.of(q.raw)
    if not table.has("attention") or (drop is not None and not table.has("random_bits")):
        found = _composed(q, k, v, bias, causal, scale, drop)
    else:
        params = {"causal": causal, "scale": scale, "drop": drop}
        found, _ = apply(_attention, (q, k, v), params) if bias is None else apply(
            _biased_attention, (q, k, v, bias), params)
    shape = (*lead, rows, v.shape[-1])
    return found if found.shape == shape else reshape(found, shape)


def _flat(x: Tensor, batch: int, heads: int) -> Tensor:
    """With four axes."""
    shape = (batch, heads, *x.shape[-2:])
    return x if x.shape == shape else reshape(x, shape)


def _scale(scale: float | None, size: int) -> float:
    """What scores are multiplied with, 1 / sqrt(size) if nothing is said."""
    if scale is None:
        return 1 / math.sqrt(size) if size else 1.0
    if not isinstance(scale, (int, float, np.floating, np.integer)):
        raise DTypeError(f"{OP}: scale is a {type(scale).__name__}. Use a number.")
    return float(scale)


def leading_axes(q: Shape, k: Shape, v: Shape, grouped: bool) -> tuple[Shape, int]:
    """The leading axes of the result, and how many heads keys and values have; ShapeError if shapes do not fit."""
    if min(len(q), len(k), len(v)) < 2 + grouped:
        raise ShapeError(f"{OP}: query {q}, key {k}, value {v}. Each needs {2 + grouped} axes or more, the last two "
                         "being positions and features.")
    if q[-1] != k[-1] or k[-2] != v[-2]:
        raise ShapeError(f"{OP}: query {q}, key {k} and value {v} do not fit. Query and key must have as many features "
                         "(the last axis), key and value as many positions.")
    if not grouped:
        return shapes.broadcast_shapes(OP, q[:-2], k[:-2], v[:-2]), 1
    heads, groups = q[-3], k[-3]
    if groups != v[-3] or not groups or heads % groups:
        raise ShapeError(f"{OP}: {heads} heads of queries in groups for {groups} of keys and {v[-3]} of values. Keys "
                         "and values must have equally many, and that must divide those of queries.")
    return (*shapes.broadcast_shapes(OP, q[:-3], k[:-3], v[:-3]), heads), groups


def _broadcast(x: Tensor, lead: Shape) -> Tensor:
    """With these leading axes."""
    shape = (*lead, *x.shape[-2:])
    return x if x.shape == shape else broadcast_to(x, shape)


def _bias(mask: Any, shape: Shape, like: Tensor, causal: bool) -> Tensor | None:
    """What is added to scores, four axes that broadcast: a mask of numbers itself, of bools 0 or -inf."""
    if mask is None:
        return None
    if causal:
        raise ConfigError(f"{OP}: attn_mask and is_causal are both given. Put the triangle into the mask.")
    mask = as_tensor(OP, mask)
    if mask.dtype.kind == "b":
        mask = where(mask, Tensor(backend.of(like.raw).full((), 0, like.dtype)), -math.inf)
    elif not dtypes.is_inexact(mask.dtype) or mask.dtype.kind == "c":
        raise DTypeError(f"{OP}: attn_mask is {mask.dtype}. Use bool (True takes part) or floats to be added.")
    mask = astype(mask, like.dtype, copy=False)
    if shapes.broadcast_shapes(OP, mask.shape, shape) != shape:
        raise ShapeError(f"{OP}: attn_mask {mask.shape} for scores {shape}. It must broadcast to them.")
    if shapes.product(mask.shape[:-3]) > 1:
        mask = broadcast_to(mask, (*shape[:-3], *mask.shape[-3:]))
    flat = (shapes.product(mask.shape[:-3]), *[1] * (3 - mask.ndim), *mask.shape[-3:])
    return mask if mask.shape == flat else reshape(mask, flat)
