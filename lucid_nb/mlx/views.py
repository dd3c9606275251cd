"""Movement and indexing. MLX's slices do not alias: a view is a lazy copy, and a write gives a new array."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from . import runtime
from .types import FLOATS, SMALL_FLOATS, constant, from_numpy, handle, to_numpy

Index = tuple[Any, ...]


def slice_(raw: mx.array, index: Index) -> mx.array:
    """Basic indexing by integers, slices, None and an ellipsis."""
    return raw[index]


def put_slice(raw: mx.array, index: Index, value: mx.array) -> mx.array:
    """`raw` with the indexed region replaced, out of place. MLX refuses some regions of no elements."""
    new = handle(raw)
    if value.size and raw.size:
        new[index] = value
    return new


def pad(raw: mx.array, pairs: Sequence[tuple[int, int]], value: Any) -> mx.array:
    """A constant before and after each axis."""
    return mx.pad(raw, list(pairs), constant_values=mx.array(value, raw.dtype))


def repeat(raw: mx.array, counts: int | np.ndarray, axis: int) -> mx.array:
    """Each element of an axis repeated; numbers of their own become positions, on the host."""
    places = np.repeat(np.arange(raw.shape[axis]), counts)
    if raw.size == 0 or places.size == 0:
        return mx.zeros((*raw.shape[:axis], places.size, *raw.shape[axis + 1:]), raw.dtype)
    return mx.repeat(raw, counts, axis) if isinstance(counts, int) else mx.take(raw, from_numpy(places), axis)


def gather(raw: mx.array, index: mx.array, axis: int = 0) -> mx.array:
    """Slices along an axis. MLX's gather of empty rows or by an empty index kills the process, as its scatters do."""
    if raw.size == 0 or index.size == 0:
        return mx.zeros((*raw.shape[:axis], *index.shape, *raw.shape[axis + 1:]), raw.dtype)
    return mx.take(raw, index, axis=axis)


def scatter(raw: mx.array, index: mx.array, values: mx.array) -> mx.array:
    """Rows replaced; of equal indices the last wins. On the host's stream: the GPU writes in no fixed order."""
    if values.size == 0:
        return handle(raw)
    with mx.stream(runtime.HOST_STREAM):
        new = handle(raw)
        new[index] = values
        return new


def scatter_add(raw: mx.array, index: mx.array, values: mx.array) -> mx.array:
    """Rows added to, one after the other, small floats in float32. On the host's stream: the GPU's order varies."""
    if values.size == 0:
        return handle(raw)
    with mx.stream(runtime.HOST_STREAM):
        if raw.dtype in SMALL_FLOATS:
            return raw.astype(mx.float32).at[index].add(values.astype(mx.float32)).astype(raw.dtype)
        return raw.at[index].add(values)


def take_along(raw: mx.array, index: mx.array, axis: int) -> mx.array:
    """Elements by their position along an axis."""
    return mx.take_along_axis(raw, index, axis) if index.size else mx.zeros(index.shape, raw.dtype)


def scatter_along(kind: str, raw: mx.array, index: mx.array, values: mx.array, axis: int) -> mx.array:
    """Elements at positions along an axis joined with values, one after the other, as `scatter_add`."""
    if values.size == 0:
        return handle(raw)
    places = list(mx.meshgrid(*[mx.arange(size) for size in index.shape], indexing="ij"))
    places[axis] = index
    with mx.stream(runtime.HOST_STREAM):
        wide = mx.float32 if raw.dtype in SMALL_FLOATS and kind != "set" else raw.dtype
        target = raw.astype(wide)
        if kind == "set":
            target[tuple(places)] = values
            return target
        updates = target.at[tuple(places)]
        method = {"sum": updates.add, "prod": updates.multiply, "max": updates.maximum, "min": updates.minimum}[kind]
        found = method(values.astype(wide)).astype(raw.dtype)
        if kind not in ("max", "min") or raw.dtype not in FLOATS:
            return found
        # MLX's extremes pass over NaN.
        is_nan = (raw != raw).at[tuple(places)].maximum(values != values)
        return mx.where(is_nan, constant(float("nan"), raw.dtype), found)


def expand(mask: mx.array, base: mx.array, values: mx.array) -> mx.array:
    """A copy of a one-dimensional array in which the values stand, in order, where the mask holds."""
    if values.size == 0:
        return handle(base)
    rank = mx.maximum(mx.cumsum(mask.astype(mx.int32)) - 1, 0)
    return mx.where(mask, mx.take(values, rank), base)


def compress(mask: mx.array, raw: mx.array) -> mx.array:
    """Rows where the mask holds. How many depends on the data: the mask is read on the host."""
    return gather(raw, from_numpy(np.flatnonzero(to_numpy(mask))))


def nonzero(mask: mx.array) -> tuple[mx.array, ...]:
    """Indices of the elements that are not zero, an array an axis; found on the host."""
    return tuple(from_numpy(found.astype(np.int64)) for found in np.nonzero(to_numpy(mask)))
