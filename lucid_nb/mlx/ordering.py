"""Scans and sorting. MLX's own, which are stable and put NaN last; a recurrence by doubling its reach."""

import mlx.core as mx

from .reductions import wide
from .types import FLOATS, accumulator, constant

SCANS = {"sum": mx.cumsum, "prod": mx.cumprod, "logsumexp": mx.logcumsumexp, "max": mx.cummax, "min": mx.cummin}


def scan(kind: str, raw: mx.array, axis: int) -> mx.array:
    """Running sum, product or logsumexp."""
    if raw.size == 0:
        return raw
    values = wide(raw) if kind == "logsumexp" else raw.astype(accumulator(raw.dtype))
    return SCANS[kind](values, axis=axis).astype(raw.dtype)


def extreme_scan(kind: str, raw: mx.array, axis: int) -> tuple[mx.array, mx.array]:
    """The running extreme and its latest place: where an element equals it, or is NaN, which MLX loses in float16."""
    if raw.size == 0:
        return raw, mx.zeros(raw.shape, mx.int64)
    values = SCANS[kind](wide(raw), axis=axis).astype(raw.dtype) if raw.dtype in FLOATS else SCANS[kind](raw, axis=axis)
    is_new = raw == values
    is_new = is_new | (raw != raw) if raw.dtype in FLOATS else is_new
    numbers = mx.arange(raw.shape[axis], dtype=mx.int64).reshape((-1,) + (1,) * (raw.ndim - 1 - axis))
    return values, mx.cummax(mx.where(is_new, numbers, constant(0, mx.int64)), axis=axis)


def recurrence(factor: mx.array, raw: mx.array, axis: int) -> mx.array:
    """y[i] = x[i] + factor[i] * y[i - 1], a factor of 0 absorbing: each step makes results reach twice as far back."""
    count = raw.shape[axis]
    if raw.size == 0:
        return raw
    first = mx.arange(count).reshape((-1,) + (1,) * (raw.ndim - 1 - axis)) == 0
    values, reach, zero = raw, 1, constant(0, raw.dtype)
    factor = mx.where(first, zero, factor)
    while reach < count:
        before, slopes = _moved(values, axis, reach), _moved(factor, axis, reach)
        values = mx.where(factor == 0, values, values + factor * before)
        factor, reach = mx.where((factor == 0) | (slopes == 0), zero, factor * slopes), 2 * reach
    return values


def _moved(raw: mx.array, axis: int, count: int) -> mx.array:
    """Elements moved towards the end of an axis, led by zeros."""
    kept = raw[(slice(None),) * axis + (slice(0, raw.shape[axis] - count),)]
    pairs = [(0, 0)] * raw.ndim
    pairs[axis] = (count, 0)
    return mx.pad(kept, pairs)


def _turned(raw: mx.array, axis: int) -> mx.array:
    return raw[(slice(None),) * axis + (slice(None, None, -1),)]


def sort(raw: mx.array, axis: int, descending: bool) -> mx.array:
    """The elements in order."""
    if raw.size == 0:
        return raw
    return _turned(mx.sort(raw, axis), axis) if descending else mx.sort(raw, axis)


def argsort(raw: mx.array, axis: int, descending: bool) -> mx.array:
    """The places that put the elements in order, equal ones in their own."""
    if raw.size == 0:
        return mx.zeros(raw.shape, mx.int64)
    if not descending:
        return mx.argsort(raw, axis).astype(mx.int64)
    return raw.shape[axis] - 1 - _turned(mx.argsort(_turned(raw, axis), axis).astype(mx.int64), axis)


def topk(raw: mx.array, count: int, axis: int, largest: bool) -> tuple[mx.array, mx.array]:
    """The first elements of the order and their places."""
    places = argsort(raw, axis, largest)[(slice(None),) * axis + (slice(0, count),)]
    return (mx.take_along_axis(raw, places, axis) if places.size else mx.zeros(places.shape, raw.dtype)), places
