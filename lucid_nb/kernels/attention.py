"""Attention of heads, forward and backward, by the kernels of loops/attention.py; nothing has the size of all scores.

Operands are (batch, heads, rows, features) with any steps between rows of neighbouring numbers. Memory besides the
results: the keys (backward also the values) once more, in panels of columns, and two numbers for each query.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..shapes import Shape
from . import memory, threads
from .compiler import vector_width
from .steps import GRAIN, INDEX, SINGLE, grain, narrow, range_kernel
from .store import RangeKernel

QUERIES = 64                                       # of a block, as in loops/attention.py
NOTHING = (-1, 0, 0, 0)                            # is dropped
Drop = tuple[int, int, int, int] | None
Lying = tuple[Shape, Shape]                        # the shape of an array, and its strides
COST = 1 / 8                                       # of a product and sum, in elements that are only read


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, causal: bool, scale: float,
              drop: Drop = None) -> tuple[np.ndarray, np.ndarray]:
    """softmax(q k^T * scale + mask) v; for each query the maximum of its scores and 1 / the sum of their exponentials.

    mask: four axes that broadcast to (batch, heads, queries, keys). Causal: query i looks at keys up to i. A query that
    looks at nothing gives zeros, and 0 twice. `drop`: weights whose random word is not below the first
    number are dropped, the others divided by the share that is kept; two words of a key and a stream follow.
    """
    if narrow(q.dtype):
        q4, k4, v4, mask4 = _wide(q, k, v, mask)
        out, sums = attention(q4, k4, v4, mask4, causal, scale, drop)
        return out.astype(q.dtype), sums
    batch, heads, length, depth = q.shape
    dtype, shape = q.dtype, (batch, heads, length, v.shape[3])
    out, sums = _like(q, shape), memory.empty((*shape[:3], 2), dtype)
    if 0 in (out.size, k.shape[2]):
        out[...], sums[...] = 0, 0
        return out, sums
    q, k, v = map(_in_rows, (q, k, v))
    bias = _mask_rows(mask, k.shape[2])
    tools = _tools(dtype, vector_width())
    keys = _packed(k, tools)
    sizes = _sizes_of(causal, tools, q, k, v, bias, out)
    units, each = batch * heads * -(-length // QUERIES), QUERIES * k.shape[2] * (depth + shape[3])
    kernel = _kernel("attend", dtype, 6)
    threads.launch(kernel, units, _grain(each), q, keys, v, q if bias is None else bias, out, sums, sizes,
                   np.array(drop or NOTHING, INDEX), tools.product, scale)
    return out, sums


def attention_grad(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, out: np.ndarray,
                   sums: np.ndarray, g: np.ndarray, causal: bool, scale: float, of_mask: bool,
                   drop: Drop = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """The gradients of q, k, v, and of the mask where that is wanted; `out` and `sums` are what `attention` gave."""
    if narrow(q.dtype):
        q, k, v, mask, out, g = _wide(q, k, v, mask, out, g)
        return attention_grad(q, k, v, mask, out, sums, g, causal, scale, of_mask, drop)      # to be cast by the caller
    batch, heads, length, depth = q.shape
    groups, reach, features = k.shape[1], k.shape[2], v.shape[3]
    dq, dk, dv = _like(q, q.shape), _like(k, k.shape), _like(v, v.shape)
    q, k, v, out, g = map(_in_rows, (q, k, v, out, g))
    bias = _mask_rows(mask, reach)
    dmask = np.zeros(bias.shape, q.dtype) if of_mask and bias is not None else None
    if 0 in (out.size, reach):
        dq[...], dk[...], dv[...] = 0, 0, 0
    else:
        tools, deltas = _tools(q.dtype, vector_width()), memory.empty((batch, heads, length), q.dtype)
        sizes = _sizes_of(causal, tools, q, k, v, bias, out, g, dq, dk, dv, dmask)
        units, each = batch * groups, heads // groups * length * reach * (3 * depth + 2 * features)
        masks = (q if raw is None else raw for raw in (bias, dmask))
        threads.launch(_kernel("attend_grad", q.dtype, 13), units, units if of_mask else _grain(each), q, k,
                       _packed(k, tools), _packed(v, tools), next(masks), out, sums, g, dq, dk, dv, next(masks), deltas,
                       sizes, np.array(drop or NOTHING, INDEX), tools.product, scale)
    if dmask is not None and mask is not None and dmask.shape != mask.shape:
        dmask = dmask.sum(3, keepdims=True)
    return dq, dk, dv, dmask


@lru_cache(16)
def _kernel(name: str, dtype: np.dtype, arrays: int) -> RangeKernel:
    return range_kernel(f"attention:{name}", *[f"{dtype.name}*"] * arrays, "int64*", "int64*", "int64",
                        "float64")


def _grain(products: int) -> int:
    """How many units of so many products a thread should get at least."""
    return max(1, int(GRAIN / (COST * products)))


def _wide(*raws: np.ndarray | None) -> list:
    """In float32."""
    return [None if raw is None else raw.astype(SINGLE) for raw in raws]


def _in_rows(raw: np.ndarray) -> np.ndarray:
    """The array, or a copy whose rows are of neighbouring numbers."""
    size = raw.itemsize
    usable = (raw.strides[3] == size or raw.shape[3] == 1) and not any(step % size for step in raw.strides[:3])
    return raw if usable else np.ascontiguousarray(raw)


def _mask_rows(mask: np.ndarray | None, keys: int) -> np.ndarray | None:
    """The mask with a number for each key."""
    if mask is None:
        return None
    return _in_rows(mask if mask.shape[3] == keys else np.repeat(mask, keys, 3))


def _like(raw: np.ndarray, shape: Shape) -> np.ndarray:
    """A new array whose first three axes follow each other in memory as those of `raw` do."""
    order = sorted(range(3), key=lambda axis: -(raw.strides[axis] or raw.nbytes))      # repeated axes stay outside
    made = memory.empty((*[shape[axis] for axis in order], shape[3]), raw.dtype)
    return made if order == [0, 1, 2] else made.transpose(*[order.index(axis) for axis in range(3)], 3)


class Tools(NamedTuple):
    """The emitted kernels for a dtype and a vector width, and what they say of panels."""

    product: int                                   # an address
    packing: int                                   # an address
    columns: int                                   # of a panel
    lanes: int                                     # its rows are a multiple of this


@lru_cache(16)
def _tools(dtype: np.dtype, bits: int) -> Tools:
    from . import block_product, emission
    name = dtype.name
    return Tools(block_product.product(name), block_product.packing(name), block_product.width(name),
                 emission.lanes(name))


def _packed(x: np.ndarray, tools: Tools) -> np.ndarray:
    """The rows of each head as columns of panels."""
    batch, heads, rows, size = x.shape
    panels, deep = -(-rows // tools.columns), _deep(size, tools.lanes)
    packed = memory.empty((batch * heads * panels, deep, tools.columns), x.dtype)
    steps = [step // x.itemsize for step in x.strides[:3]]
    threads.launch(tools.packing, len(packed), grain(deep * tools.columns), x, packed, rows, size, panels, heads,
                   *steps)
    return packed


def _deep(size: int, lanes: int) -> int:
    """The rows of a packed panel."""
    return -(-size // lanes) * lanes


def _sizes_of(causal: bool, tools: Tools, q: np.ndarray, *raws: np.ndarray | None) -> np.ndarray:
    """`_sizes`, made once for arrays that lie alike."""
    return _sizes(causal, tools, q.itemsize, (q.shape, q.strides), *[
        None if raw is None else (raw.shape, raw.strides) for raw in raws])


@lru_cache(1024)
def _sizes(causal: bool, tools: Tools, item: int, q: Lying, k: Lying, v: Lying, mask: Lying | None,
           *results: Lying | None) -> np.ndarray:
    """What loops/attention.py wants to know, in its order, of arrays that lie so."""
    (_, heads, length, depth), (_, groups, reach, _), features = q[0], k[0], v[0][3]
    is_masked = 0 if mask is None else 2 if len(results) > 1 and results[-1] is not None else 1
    panels = [_deep(size, tools.lanes) * tools.columns for size in (depth, features)]
    found = [heads, groups, length, reach, depth, features, is_masked, int(causal), tools.columns, *panels]
    for lying in (q, k, v, mask, *results):
        found += [0, 0, 0] if lying is None else [0 if size == 1 else step // item
                                                  for size, step in zip(lying[0][:3], lying[1])]
    return np.array(found, INDEX)
