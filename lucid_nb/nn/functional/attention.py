"""Attention: of queries, keys and values as they are, and of several heads with projections around them."""

import math
from typing import Any

from ... import random
from ...array import Tensor
from ...creation import asarray, zeros
from ...errors import ConfigError, DTypeError, ShapeError
from ...ops import attention as ops
from ...ops.dropout import threshold_of
from ...ops.linalg import matmul
from ...ops.logic import logical_not
from ...ops.movement import concat
from ...ops.padding import pad
from ...ops.selection import where
from ...remembered import remembered
from ...shapes import Shape
from .activation import softmax
from .dropout import check_probability, dropout
from .linear import linear

MHA = "multi_head_attention"


def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """softmax(query key^T * scale + mask) value: (..., queries, features) to (..., queries, features of value).

    Key and value are (..., keys, features); leading axes broadcast. `attn_mask` broadcasts to (..., queries, keys):
    where bools are True a query looks at a key, floats are added to the scores. `is_causal`: query i looks at keys up
    to i. A query that looks at nothing gives 0, with gradient 0. `scale` is 1 / sqrt(features) by default. A share
    `dropout_p` of the weights is dropped, always, by `lnb.random`. `enable_gqa`: heads (axis -3) of queries share those
    of keys by groups. No array of the size of all scores is made on the cpu.

    Source: A. Vaswani et al., arXiv:1706.03762.

    >>> x = np.ones((2, 3, 4))
    >>> lnb.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    (2, 3, 4)
    """
    if not check_probability("scaled_dot_product_attention", dropout_p):
        return _undropped_attention(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    chosen = random.next_key()
    drop = (threshold_of(dropout_p), *chosen.words, chosen.stream)
    return ops.attention(asarray(query), asarray(key), asarray(value), attn_mask, is_causal, scale, enable_gqa, drop)


@remembered
def _undropped_attention(query: Any, key: Any, value: Any, *how: Any) -> Tensor:
    return ops.attention(asarray(query), asarray(key), asarray(value), *how)


# ------------------------------------------------------------------------------------------------- masks
def canonical_mask(mask: Any, what: str, like: Tensor) -> Tensor | None:
    """A mask of heads as numbers to be added to scores: bools that are True become -inf."""
    if mask is None:
        return None
    mask = asarray(mask)
    if mask.dtype.kind not in "bf" and mask.dtype.name != "bfloat16":
        raise DTypeError(f"{MHA}: {what} is {mask.dtype}. Use bool (True is left out) or floats to be added.")
    return where(mask, -math.inf, 0.0).astype(like.dtype) if mask.dtype.kind == "b" else mask.astype(like.dtype)


def _joined(attn_mask: Any, key_padding_mask: Any, shape: Shape, like: Tensor) -> Tensor | None:
    """One mask for scores (batch, heads, queries, keys): bools, True where a query may look, or numbers to be added."""
    masks = [None if mask is None else asarray(mask) for mask in (attn_mask, key_padding_mask)]
    found = [_shaped(masks[0], shape), _padding(masks[1], shape)]
    given = [mask for mask in found if mask is not None]
    if not given:
        return None
    if all(mask.dtype.kind == "b" for mask in given):
        return logical_not(given[0] | given[1] if len(given) == 2 else given[0])
    numbers = [canonical_mask(mask, what, like) for mask, what in zip(found, ("attn_mask", "key_padding_mask"))]
    first, second = numbers
    return second if first is None else first if second is None else first + second


def _shaped(mask: Tensor | None, shape: Shape) -> Tensor | None:
    """attn_mask with four axes."""
    if mask is None:
        return None
    batch, heads, rows, cols = shape
    if mask.shape == (rows, cols):
        return mask.reshape(1, 1, rows, cols)
    if mask.shape == (batch * heads, rows, cols):
        return mask.reshape(shape)
    raise ShapeError(f"{MHA}: attn_mask {mask.shape}. It must be {(rows, cols)} or {(batch * heads, rows, cols)}.")


def _padding(mask: Tensor | None, shape: Shape) -> Tensor | None:
    """key_padding_mask with four axes."""
    if mask is None:
        return None
    batch, _, _, cols = shape
    if mask.shape != (batch, cols):
        raise ShapeError(f"{MHA}: key_padding_mask {mask.shape}. It must be {(batch, cols)}.")
    return mask.reshape(batch, 1, 1, cols)


def _longer(mask: Any) -> Tensor | None:
    """A mask for one key more, which everybody may look at."""
    if mask is None:
        return None
    mask = asarray(mask)
    return pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, 1)], constant_values=False if mask.dtype.kind == "b" else 0)


# ------------------------------------------------------------------------------------------- projections
def _projected(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    """Queries, keys and values by one weight (3 * features, features); what is one input is projected at once."""
    size = weight.shape[0] // 3
    if query is key and key is value:
        return ops.parts(linear(query, weight, bias), 3)
    bounds = (0, size, 3 * size) if key is value else (0, size, 2 * size, 3 * size)
    found = [linear(x, weight[piece], None if bias is None else bias[piece])
             for x, piece in zip((query, key, value), map(slice, bounds, bounds[1:]))]
    return (found[0], *ops.parts(found[1], 2)) if key is value else tuple(found)


def _separately(query: Tensor, key: Tensor, value: Tensor, weights: tuple, bias: Tensor | None) -> tuple[Tensor, ...]:
    """Queries, keys and values, each by its own weight."""
    size = weights[0].shape[0]
    return tuple([linear(x, weight, None if bias is None else bias[i * size:(i + 1) * size])
                  for i, (x, weight) in enumerate(zip((query, key, value), weights))])


def _extended(k: Tensor, v: Tensor, more: tuple[Any, Any], batch_axis: int) -> tuple[Tensor, Tensor]:
    """Keys and values with one position more at the end."""
    shape = [*k.shape]
    shape[1 - batch_axis] = 1
    k, v = (concat([x, extra.broadcast_to(tuple(shape))], axis=1 - batch_axis) for x, extra in zip((k, v), more))
    return k, v


def _in_heads(x: Tensor, heads: int, batch_axis: int) -> Tensor:
    """(batch, heads, positions, features of a head), a view."""
    split = x.reshape(*x.shape[:2], heads, x.shape[2] // heads)
    return split.transpose(batch_axis, 2, 1 - batch_axis, 3)


def _or_given(x: Tensor, static: Any, what: str) -> Tensor:
    """Keys or values in heads, or those that a caller has: (batch * heads, positions, features of a head)."""
    if static is None:
        return x
    static = asarray(static)
    batch, heads, _, size = x.shape
    if static.ndim != 3 or static.shape[::2] != (batch * heads, size):
        raise ShapeError(f"{MHA}: {what} {static.shape}. It must be ({batch * heads}, positions, {size}).")
    return static.reshape(batch, heads, *static.shape[1:])


def heads_attention(query: Any, key: Any, value: Any, num_heads: int, in_proj: Any, in_proj_bias: Tensor | None,
                    out_proj_weight: Tensor, out_proj_bias: Tensor | None, *, bias_k: Tensor | None = None,
                    bias_v: Tensor | None = None, add_zero_attn: bool = False, dropout_p: float = 0.0,
                    training: bool = True, key_padding_mask: Any = None, need_weights: bool = True,
                    attn_mask: Any = None, static_k: Any = None, static_v: Any = None,
                    average_attn_weights: bool = True, is_causal: bool = False,
                    batch_first: bool = False) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads, and their weights; three axes each, the batch first or second.

    `in_proj` is one weight for queries, keys and values, or a tuple of three. Other arguments as in
    multi_head_attention_forward.
    """
    project = _separately if isinstance(in_proj, tuple) else _projected
    q, k, v = project(query, key, value, in_proj, in_proj_bias)
    batch_axis = 0 if batch_first else 1
    if is_causal and attn_mask is None:
        raise ConfigError(f"{MHA}: is_causal without attn_mask. Pass the mask, is_causal only says what it is.")
    fast = is_causal and key_padding_mask is None and bias_k is None and not (add_zero_attn or need_weights)
    attn_mask = None if fast else attn_mask
    if bias_k is not None:
        k, v = _extended(k, v, (bias_k, bias_v), batch_axis)
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    if add_zero_attn:
        nothing = zeros((1, 1, k.shape[2]), dtype=k.dtype, device=k.device)
        k, v = _extended(k, v, (nothing, nothing), batch_axis)
        attn_mask, key_padding_mask = _longer(attn_mask), _longer(key_padding_mask)
    q, k, v = (_in_heads(x, num_heads, batch_axis) for x in (q, k, v))
    k, v = _or_given(k, static_k, "static_k"), _or_given(v, static_v, "static_v")
    mask = _joined(attn_mask, key_padding_mask, (*q.shape[:3], k.shape[2]), q)
    share = dropout_p if training else 0.0
    out, weights = (_weighted(q, k, v, mask, share) if need_weights else
                    (scaled_dot_product_attention(q, k, v, mask, share, fast), None))
    out = out.transpose(0, 2, 1, 3) if batch_first else out.transpose(2, 0, 1, 3)
    out = linear(out.reshape(*out.shape[:2], math.prod(out.shape[2:])), out_proj_weight, out_proj_bias)
    return out, weights.mean(axis=1) if weights is not None and average_attn_weights else weights


def _weighted(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, share: float) -> tuple[Tensor, Tensor]:
    """Attention and its weights, after dropout as in PyTorch."""
    scores = matmul(q / math.sqrt(q.shape[3]), k.mT)
    if mask is not None:
        scores = where(mask, scores, -math.inf) if mask.dtype.kind == "b" else scores + mask
    weights = softmax(scores)
    weights = dropout(weights, share) if share else weights
    return matmul(weights, v), weights


def multi_head_attention_forward(
        query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
        in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool,
        dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
        key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
        use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
        k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Any = None,
        static_v: Any = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads as PyTorch's: inputs (positions, batch, features), or without batch; output alike.

    Masks leave out where True (key_padding_mask: (batch, keys); attn_mask: (queries, keys), or one for each head of
    each batch), floats are added to the scores. `static_k` and `static_v` take the places of projected keys and values:
    (batch * heads, positions, features of a head). Weights, where needed, are (batch, queries, keys), the mean over
    heads, or of each head. ShapeError where sizes do not fit.
    """
    query, key, value = (x if isinstance(x, Tensor) else asarray(x) for x in (query, key, value))
    if query.shape[-1] != embed_dim_to_check:
        raise ShapeError(f"{MHA}: queries of {query.shape[-1]} features, not {embed_dim_to_check}. Check the input.")
    in_proj = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    return with_batch(query, key, value, num_heads, in_proj, in_proj_bias, out_proj_weight, out_proj_bias,
                      bias_k=bias_k, bias_v=bias_v, add_zero_attn=add_zero_attn, dropout_p=dropout_p,
                      training=training, key_padding_mask=key_padding_mask, need_weights=need_weights,
                      attn_mask=attn_mask, static_k=static_k, static_v=static_v,
                      average_attn_weights=average_attn_weights, is_causal=is_causal)


def with_batch(query: Tensor, key: Tensor, value: Tensor, *args: Any, key_padding_mask: Any = None,
               **options: Any) -> tuple[Tensor, Tensor | None]:
    """`heads_attention`, also of inputs without a batch."""
    ndim = query.ndim
    if ndim not in (2, 3) or key.ndim != ndim or value.ndim != ndim:
        raise ShapeError(f"{MHA}: query {query.shape}, key {key.shape}, value {value.shape}. Give each three axes, or "
                         "two without a batch.")
    if ndim == 3:
        axis = 0 if options.get("batch_first") else 1
        if not query.shape[axis] == key.shape[axis] == value.shape[axis] or key.shape[:2] != value.shape[:2]:
            raise ShapeError(f"{MHA}: query {query.shape}, key {key.shape}, value {value.shape} do not fit. Batches "
                             "must agree, and key and value in their positions.")
        return heads_attention(query, key, value, *args, key_padding_mask=key_padding_mask, **options)
    if key.shape[0] != value.shape[0]:
        raise ShapeError(f"{MHA}: key {key.shape} and value {value.shape} do not fit. Positions must agree.")
    inputs = {id(x): x.reshape(1, *x.shape) for x in (query, key, value)}    # what is one tensor stays one
    options["batch_first"] = True
    mask = None if key_padding_mask is None else asarray(key_padding_mask).reshape(1, -1)
    query, key, value = (inputs[id(x)] for x in (query, key, value))
    out, weights = heads_attention(query, key, value, *args, key_padding_mask=mask, **options)
    return out[0], None if weights is None else weights[0]
