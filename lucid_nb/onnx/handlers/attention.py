"""Attention, rotary positions and linear attention."""

import math
from typing import Any

import numpy as np

from ...errors import ConfigError, ShapeError
from ...nn import functional as F
from ...register import functions
from ..library import dtype_of
from ..table import Node, operator
from ..values import host, on


def _heads(x: Any, count: int | None) -> Any:
    """(batch, heads, positions, features) of packed heads."""
    if x.ndim == 4:
        return x
    if not count:
        raise ShapeError(f"onnx: Attention of {x.shape}. Three axes need q_num_heads and kv_num_heads.")
    return functions["permute_dims"](x.reshape((*x.shape[:2], count, x.shape[2] // count)), (0, 2, 1, 3))


def _packed(x: Any) -> Any:
    """The heads in one axis."""
    batch, heads, positions, size = x.shape
    return functions["permute_dims"](x, (0, 2, 1, 3)).reshape((batch, positions, heads * size))


def _allowed(q: Any, size: int, offset: np.ndarray | None, valid: np.ndarray | None, causal: bool, left: int,
             right: int) -> np.ndarray | None:
    """Which keys each query may see, (batch or 1, 1, queries, keys); None for all."""
    rows = np.arange(q.shape[2])[:, None] + (0 if offset is None else offset[:, None, None, None])
    cols, found = np.arange(size), []
    if causal:
        found.append(cols <= rows)
    if left >= 0:
        found.append(cols >= rows - left)
    if right >= 0:
        found.append(cols <= rows + right)
    if valid is not None:
        found.append(cols < valid[:, None, None, None])
    whole: Any = None
    for part in found:
        whole = part if whole is None else whole & part
    return whole


def _bias(mask: Any, allowed: np.ndarray | None, like: Any, size: int) -> Any:
    """What is added to scores."""
    where, bias = functions["where"], None
    if mask is not None:
        missing = size - mask.shape[-1]
        is_bool = mask.dtype.kind == "b"
        if missing > 0:
            pads = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
            mask = functions["pad"](mask, pads, constant_values=False if is_bool else -math.inf)
        bias = where(mask, on(mask, np.zeros((), like.dtype)), -math.inf) if is_bool else mask
    if allowed is not None:
        seen = on(like, np.where(allowed, 0, -np.inf).astype(like.dtype))
        bias = seen if bias is None else where(seen == 0, bias, -math.inf)
    return bias


@operator("Attention")
def attention(q: Any, k: Any, v: Any, attn_mask: Any = None, past_key: Any = None, past_value: Any = None,
              nonpad_kv_seqlen: Any = None, *, is_causal: int = 0, kv_num_heads: int | None = None,
              q_num_heads: int | None = None, qk_matmul_output_mode: int = 0, scale: float | None = None,
              softcap: float = 0.0, softmax_precision: int | None = None, left_window_size: int = -1,
              right_window_size: int = -1, node: Node) -> Any:
    """softmax(q k^T scale + mask) v, with keys and values of calls before; a row that sees nothing is zero."""
    is_packed = q.ndim == 3
    q, k, v = _heads(q, q_num_heads), _heads(k, kv_num_heads), _heads(v, kv_num_heads)
    past = 0 if past_key is None else past_key.shape[2]
    if past_key is not None:
        k, v = (functions["concat"](pair, axis=2) for pair in ((past_key, k), (past_value, v)))
    valid = None if nonpad_kv_seqlen is None else host(nonpad_kv_seqlen)
    offset = np.array([past]) if valid is None else valid - q.shape[2]
    allowed = _allowed(q, k.shape[2], offset, valid, bool(is_causal), left_window_size, right_window_size)
    bias = _bias(attn_mask, allowed, q, k.shape[2])
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    precision = None if softmax_precision is None else dtype_of(softmax_precision)
    if softcap or node.wants(3) or precision not in (None, q.dtype):
        found, shown = _shown(q, k, v, bias, scale, softcap, precision, qk_matmul_output_mode)
    else:
        found, shown = F.scaled_dot_product_attention(q, k, v, bias, scale=scale,
                                                      enable_gqa=q.shape[1] != k.shape[1]), None
    return _packed(found) if is_packed else found, k, v, shown


def _shown(q: Any, k: Any, v: Any, bias: Any, scale: float, cap: float, precision: Any, mode: int) -> tuple[Any, Any]:
    """Attention of which the scores are looked at, at one of four stages."""
    if mode not in (0, 1, 2, 3):
        raise ConfigError(f"onnx: Attention has qk_matmul_output_mode {mode}. Use 0, 1, 2 or 3.")
    times, matmul, root = q.shape[1] // k.shape[1], functions["matmul"], math.sqrt(scale)
    k, v = (functions["repeat"](x, times, axis=1) if times > 1 else x for x in (k, v))
    stages = [matmul(q * root, functions["swapaxes"](k * root, -1, -2))]
    stages.append(cap * F.tanh(stages[0] / cap) if cap else stages[0])
    stages.append(stages[1] if bias is None else stages[1] + bias)
    wide = stages[2] if precision is None else stages[2].astype(precision)
    stages.append(F.softmax(wide, axis=-1).astype(q.dtype, copy=False))
    return matmul(stages[3], v), stages[mode]


@operator("RotaryEmbedding")
def rotary_embedding(x: Any, cos_cache: Any, sin_cache: Any, position_ids: Any = None, *, interleaved: int = 0,
                     num_heads: int = 0, rotary_embedding_dim: int = 0) -> Any:
    """Pairs of features turned by angles of their positions: J. Su et al., arXiv:2104.09864."""
    is_packed = x.ndim == 3
    heads = _heads(x, num_heads)
    size = rotary_embedding_dim or heads.shape[-1]
    if position_ids is not None:
        cos_cache, sin_cache = (functions["take"](cache, position_ids, axis=0) for cache in (cos_cache, sin_cache))
    cos, sin = (functions["expand_dims"](cache, 1) for cache in (cos_cache, sin_cache))
    turned, rest = heads[..., :size], heads[..., size:]
    halves = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(size // 2), slice(size // 2, None))
    a, b = (turned[..., half] for half in halves)
    parts = [a * cos - b * sin, a * sin + b * cos]
    found = functions["stack"](parts, -1).reshape(turned.shape) if interleaved else functions["concat"](parts, axis=-1)
    found = functions["concat"]([found, rest], axis=-1) if rest.shape[-1] else found
    return _packed(found) if is_packed else found


RULES = ("linear", "gated", "delta", "gated_delta")


@operator("LinearAttention")
def linear_attention(query: Any, key: Any, value: Any, past_state: Any = None, decay: Any = None, beta: Any = None, *,
                     q_num_heads: int, kv_num_heads: int, chunk_size: int = 64, scale: float = 0.0,
                     update_rule: str = "gated_delta") -> tuple[Any, Any]:
    """Attention by a state that each step adds to, decays or corrects: S. Yang et al., arXiv:2412.06464."""
    if update_rule not in RULES:
        raise ConfigError(f"onnx: LinearAttention has update_rule {update_rule!r}. Use one of {', '.join(RULES)}.")
    q, k, v = _heads(query, q_num_heads), _heads(key, kv_num_heads), _heads(value, kv_num_heads)
    dtype = q.dtype
    factor = scale or 1 / math.sqrt(q.shape[-1])
    groups = q_num_heads // kv_num_heads
    steps = q.shape[2]
    gate = None if decay is None or "gated" not in update_rule else functions["exp"](_heads(decay, kv_num_heads))
    rate = None if beta is None or "delta" not in update_rule else _rates(beta, kv_num_heads)
    state = functions["zeros"]((q.shape[0], kv_num_heads, k.shape[-1], v.shape[-1]), dtype, device=q.device) \
        if past_state is None else past_state
    rows = []
    for step in range(steps):
        k_t, v_t = functions["expand_dims"](k[:, :, step], -1), functions["expand_dims"](v[:, :, step], -2)
        if gate is not None:
            state = functions["expand_dims"](gate[:, :, step], -1) * state
        if rate is not None:
            known = functions["sum"](k_t * state, axis=-2, keepdims=True)
            v_t = rate[:, :, step, None, None] * (v_t - known)
        state = state + k_t * v_t
        whole = functions["repeat"](state, groups, axis=1) if groups > 1 else state
        rows.append(factor * functions["sum"](functions["expand_dims"](q[:, :, step], -1) * whole, axis=-2))
    found = functions["stack"](rows, 2) if rows else v[:, :, :0]
    return _packed(found).astype(dtype, copy=False), state


def _rates(beta: Any, heads: int) -> Any:
    """(batch, heads, steps)."""
    wide = functions["permute_dims"](beta, (0, 2, 1))
    return functions["broadcast_to"](wide, (wide.shape[0], heads, wide.shape[2]))
