"""Softmax, its logarithm, their gradients, and the cross entropy of rows: fused passes of the kernels in loops/.

Exponentials are the vocabulary's, sums of them are totalled in float64. float16 and bfloat16 compute in float32.
"""
from functools import lru_cache
from math import prod

import numpy as np

from ..shapes import Shape
from . import memory
from .copying import contiguous
from .layout import Stage, layout_of
from .steps import EXP, INDEX, SINGLE, Step, kernel_of, kernel_step, narrow, stage_step


def softmax(raw: np.ndarray, axis: int) -> np.ndarray:
    """exp(x) / sum(exp(x)) along an axis; zeros where all elements are -inf."""
    return _plan("softmax", raw.shape, raw.strides, raw.dtype, axis)(raw)


def log_softmax(raw: np.ndarray, axis: int) -> np.ndarray:
    """x - log(sum(exp(x))) along an axis; -inf where all elements are."""
    return _plan("log_softmax", raw.shape, raw.strides, raw.dtype, axis)(raw)


def softmax_grad(y: np.ndarray, g: np.ndarray, axis: int) -> np.ndarray:
    """The gradient y * (g - sum(g * y)) of softmax with result y."""
    return _gradient_plan("softmax_grad", y.shape, y.dtype, axis)(contiguous(y), contiguous(g))


def log_softmax_grad(y: np.ndarray, g: np.ndarray, axis: int) -> np.ndarray:
    """The gradient g - exp(y) * sum(g) of log_softmax with result y."""
    return _gradient_plan("log_softmax_grad", y.shape, y.dtype, axis)(contiguous(y), contiguous(g))


@lru_cache(4096)
def _plan(kind: str, shape: Shape, strides: Shape, dtype: np.dtype, axis: int) -> Step:
    """The function for arrays of this layout."""
    if narrow(dtype):
        entry = softmax if kind == "softmax" else log_softmax
        return lambda raw: entry(raw.astype(SINGLE), axis).astype(dtype)
    if 0 in shape:
        return lambda raw: memory.empty(shape, dtype)
    layout = layout_of(shape, strides, dtype.itemsize, (axis,))
    stage = layout.stages[0] if layout.stages else Stage(prod(shape), 1, 1, 1, 0, False)
    ordered = shape if layout.plain else tuple(shape[axis] for axis in layout.order)
    step = stage_step(f"softmax:{kind}", stage, (dtype, dtype), ordered, EXP)
    return step if layout.plain else lambda raw: layout.restore(step(layout.source(raw)))


@lru_cache(4096)
def _gradient_plan(kind: str, shape: Shape, dtype: np.dtype, axis: int) -> Step:
    """The function for contiguous arrays of this shape."""
    if narrow(dtype):
        wide = _gradient_plan(kind, shape, SINGLE, axis)
        return lambda y, g: wide(y.astype(SINGLE), g.astype(SINGLE)).astype(dtype)
    if 0 in shape:
        return lambda y, g: memory.empty(shape, dtype)
    rows = shape[axis]
    outer, cols = prod(shape[:axis]), prod(shape[axis + 1:])
    stage = Stage(outer, 1, rows, rows, 0, False) if cols == 1 else Stage(outer, rows, cols, rows * cols, cols, True)
    return stage_step(f"softmax:{kind}", stage, (dtype,) * 3, shape, EXP)


def cross_entropy(logits: np.ndarray, target: np.ndarray, ignore_index: int) -> np.ndarray:
    """log(sum(exp(row))) - row[target] of each row of (rows, classes) logits, 0 where the target is ignore_index."""
    if narrow(logits.dtype):
        return cross_entropy(logits.astype(SINGLE), target, ignore_index).astype(logits.dtype)
    logits = _rows(logits)
    return _cross_entropy(logits.shape, logits.strides, logits.dtype, ignore_index)(logits, contiguous(target))


def cross_entropy_grad(logits: np.ndarray, target: np.ndarray, g: np.ndarray, ignore_index: int) -> np.ndarray:
    """(softmax(row) - one at the target) * g of each row, 0 where the target is ignore_index."""
    if narrow(logits.dtype):
        slopes = cross_entropy_grad(logits.astype(SINGLE), target, g.astype(SINGLE), ignore_index)
        return slopes.astype(logits.dtype)
    logits = _rows(logits)
    step = _cross_entropy_grad(logits.shape, logits.strides, logits.dtype, ignore_index)
    return step(logits, contiguous(target), contiguous(g))


def _rows(logits: np.ndarray) -> np.ndarray:
    """The logits with contiguous rows."""
    return logits if logits.strides[1] == logits.itemsize and not logits.strides[0] % logits.itemsize else logits.copy()


@lru_cache(4096)
def _cross_entropy(shape: Shape, strides: Shape, dtype: np.dtype, ignored: int) -> Step:
    rows, cols = shape
    kernel = kernel_of("softmax:cross_entropy_rows", (dtype, INDEX, dtype), 3)
    return kernel_step(kernel, (rows,), dtype, rows, cols * EXP, cols, strides[0] // dtype.itemsize, ignored)


@lru_cache(4096)
def _cross_entropy_grad(shape: Shape, strides: Shape, dtype: np.dtype, ignored: int) -> Step:
    rows, cols = shape
    kernel = kernel_of("softmax:cross_entropy_grad_rows", (dtype, INDEX, dtype, dtype), 3)
    return kernel_step(kernel, shape, dtype, rows, cols * EXP, cols, strides[0] // dtype.itemsize, ignored)
