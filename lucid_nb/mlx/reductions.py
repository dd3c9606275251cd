"""Reductions. MLX's own go in one fixed order."""

import math
from collections.abc import Callable

import mlx.core as mx
import numpy as np

from ..shapes import reduced_shape
from . import special
from .types import FLOATS, accumulator, constant, to_mlx

Axes = tuple[int, ...]


def _number_or(value: float) -> Callable[[mx.array], mx.array]:
    """What makes another value of NaN."""
    return lambda raw: mx.where(raw == raw, raw, constant(value, raw.dtype)) if raw.dtype in FLOATS else raw


# What is done to elements, and MLX's reduction of them.
KINDS: dict[str, tuple[Callable[[mx.array], mx.array] | None, str]] = {
    "sum": (None, "sum"), "nansum": (_number_or(0), "sum"), "sizes": (mx.abs, "sum"), "squares": (mx.square, "sum"),
    "prod": (None, "prod"), "nanprod": (_number_or(1), "prod"),
    "max": (None, "max"), "nanmax": (_number_or(-math.inf), "max"),
    "min": (None, "min"), "nanmin": (_number_or(math.inf), "min"),
    "any": (lambda raw: raw != 0, "any"), "all": (lambda raw: raw != 0, "all"),
    "count_nonzero": (lambda raw: (raw != 0).astype(mx.int64), "sum"),
    "count_numbers": (lambda raw: (raw == raw).astype(mx.int64), "sum"),
}


def reduce(kind: str, raw: mx.array, axes: Axes, keepdims: bool, dtype: np.dtype) -> mx.array:
    """The reduction of `axes`."""
    wanted, (change, name) = to_mlx(kind, dtype), KINDS[kind]
    if name in ("sum", "prod") and not kind.startswith("count"):
        raw = raw.astype(accumulator(wanted))
    found = _reduce(name, change(raw) if change else raw, axes, keepdims)
    if kind in ("nanmax", "nanmin") and raw.dtype in FLOATS:
        found = mx.where(_reduce("any", raw == raw, axes, keepdims), found, constant(math.nan, raw.dtype))
    return found.astype(wanted)


def mean(raw: mx.array, axes: Axes, keepdims: bool, count: float) -> mx.array:
    """The sum, rounded, divided by a count."""
    found = _reduce("sum", raw.astype(accumulator(raw.dtype)), axes, keepdims).astype(raw.dtype)
    return found / constant(count, raw.dtype)


def _reduce(name: str, raw: mx.array, axes: Axes, keepdims: bool) -> mx.array:
    """MLX's own reduction. Of an empty array it may never end, or be refused where the result is empty too."""
    if raw.size == 0:
        start = mx.ones if name in ("prod", "all") else mx.zeros
        return start(reduced_shape(raw.shape, axes, keepdims), raw.dtype)
    return getattr(mx, name)(raw, axes, keepdims)


def arg_reduce(kind: str, raw: mx.array, axis: int, keepdims: bool) -> mx.array:
    """The first index of the extreme, or of the first NaN; MLX's kernel for the GPU passes over NaN."""
    find = mx.argmax if kind == "max" else mx.argmin
    if raw.size == 0:
        return mx.zeros(reduced_shape(raw.shape, (axis,), keepdims), mx.int64)
    found = find(raw, axis, keepdims)
    if raw.dtype in FLOATS:
        is_nan = raw != raw
        found = mx.where(mx.any(is_nan, axis, keepdims), mx.argmax(is_nan, axis, keepdims), found)
    return found.astype(mx.int64)


# ------------------------------------------------------------------------------------------- sums of exponentials
LOWEST = {mx.float32: float(np.finfo(np.float32).min), mx.float64: float(np.finfo(np.float64).min)}


def wide(raw: mx.array) -> mx.array:
    """float16 and bfloat16 compute in float32."""
    return raw.astype(mx.float32) if raw.dtype != mx.float64 else raw


def _total(terms: mx.array, axes: Axes) -> mx.array:
    return _reduce("sum", terms.astype(accumulator(terms.dtype)), axes, True).astype(terms.dtype)


def shifted(raw: mx.array, axes: Axes) -> tuple[mx.array, mx.array, mx.array]:
    """The largest value (a finite one where that is -inf), the values less it, and the sum of their exponentials."""
    top = mx.maximum(_reduce("max", raw, axes, True), constant(LOWEST[raw.dtype], raw.dtype))
    values = raw - top
    return top, values, _total(special.exp(values), axes)


def _or_one(total: mx.array) -> mx.array:
    """Where only -inf was summed, 1: softmax is zeros there. All other sums hold the exponential of 0."""
    return mx.maximum(total, constant(1, total.dtype))


def logsumexp(raw: mx.array, axes: Axes, keepdims: bool) -> mx.array:
    """Logarithm of the sum of exponentials; -inf of only -inf."""
    top, _, total = shifted(wide(raw), axes)
    found = mx.where(top == constant(math.inf, top.dtype), top, top + mx.log(total)).astype(raw.dtype)
    return found if keepdims else mx.squeeze(found, axes)


def softmax(raw: mx.array, axis: int) -> mx.array:
    """exp(x) over its sum; zeros for only -inf."""
    if raw.size == 0:
        return raw
    if raw.dtype == mx.float64:            # MLX's own would compute it in float32
        _, values, total = shifted(raw, (axis,))
        return special.exp(values) / _or_one(total)
    nothing = mx.max(raw, axis, True) == constant(-math.inf, raw.dtype)
    return mx.where(nothing, constant(0, raw.dtype), mx.softmax(raw, axis, precise=True))


def log_softmax(raw: mx.array, axis: int) -> mx.array:
    """The logarithm of softmax."""
    _, values, total = shifted(wide(raw), (axis,))
    return (values - mx.log(_or_one(total))).astype(raw.dtype)


def softmax_grad(y: mx.array, g: mx.array, axis: int) -> mx.array:
    """y * (g - sum(g * y))."""
    value, slope = wide(y), wide(g)
    return (value * (slope - _total(slope * value, (axis,)))).astype(y.dtype)


def log_softmax_grad(y: mx.array, g: mx.array, axis: int) -> mx.array:
    """g - exp(y) * sum(g)."""
    slope = wide(g)
    return (slope - special.exp(wide(y)) * _total(slope, (axis,))).astype(y.dtype)


# -------------------------------------------------------------------------------------------------- cross entropy
def _kept(target: mx.array, ignore_index: int) -> tuple[mx.array, mx.array]:
    """Which rows count, and their class (0 where they do not), as columns."""
    column = mx.expand_dims(target, 1)
    counts = column != constant(ignore_index, target.dtype)
    return counts, mx.where(counts, column, constant(0, target.dtype))


def cross_entropy(logits: mx.array, target: mx.array, ignore_index: int) -> mx.array:
    """Minus log_softmax at the target; 0 where it is ignored."""
    counts, column = _kept(target, ignore_index)
    _, values, total = shifted(wide(logits), (1,))
    losses = mx.log(total) - mx.take_along_axis(values, column, 1)
    return mx.squeeze(mx.where(counts, losses, constant(0, losses.dtype)), 1).astype(logits.dtype)


def cross_entropy_grad(logits: mx.array, target: mx.array, g: mx.array, ignore_index: int) -> mx.array:
    """(softmax - onehot) * g; 0 where the target is ignored."""
    counts, column = _kept(target, ignore_index)
    hit = mx.arange(logits.shape[1], dtype=target.dtype) == column
    slope = softmax(wide(logits), 1) - hit.astype(wide(logits).dtype)
    scaled = slope * wide(mx.expand_dims(g, 1))
    return mx.where(counts, scaled, constant(0, scaled.dtype)).astype(logits.dtype)
