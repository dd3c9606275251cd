"""Softmax and its family: one launch each, a block for some columns of a slice, three walks along the axis.

The geometry is that of reductions. float16 and bfloat16 compute in float32.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..shapes import reduced_shape
from . import array as geometry
from .array import DeviceArray, Shape
from .copy import flat
from .reduce import add, as_slices, block_merge, larger, launch_slices
from .runtime import BLOCK, block_inline, cuda, inline, kernel, shared_memory
from .scalars import compute, lowest, narrow, widen_to
from .vocabulary import functions


def _scalars(dtype: np.dtype) -> tuple[Any, ...]:
    """load, store, exp, log, memory of a block, cast: what kernels close over."""
    number = compute(dtype)
    entries = functions(number.name)
    return (widen_to(dtype, number), narrow(dtype), entries["exp"], entries["log"], shared_memory(BLOCK, number),
            number.type)


@cache
def _exponential_sum(dtype: np.dtype) -> Callable:
    """A block's function of its columns: what distances are taken to, the maximum, and the sum of exp(x - that)."""
    load, _, exp, _, _, number = _scalars(dtype)
    zero, least = number(0), number(lowest(compute(dtype)))
    block_max, block_sum = block_merge(larger), block_merge(add)

    def exponential_sum(shared, x, base, walked, inner):
        lanes, lane = cuda.blockDim.y, cuda.threadIdx.y
        top = least
        for k in range(lane, walked, lanes):
            top = larger(top, load(x[base + k * inner]))
        top = block_max(shared, top)
        shift = zero if top == least else top       # only -inf: the differences stay -inf
        total = zero
        for k in range(lane, walked, lanes):
            total += exp(load(x[base + k * inner]) - shift)
        return shift, block_sum(shared, total)
    return block_inline(exponential_sum)


@inline
def _softmax(value, shift, total, exp, log, zero):
    return zero if total == zero else exp(value - shift) / total


@inline
def _log_softmax(value, shift, total, exp, log, zero):
    return value - shift if total == zero else value - shift - log(total)


@cache
def _forward_kernel(finish: Callable, dtype: np.dtype) -> Any:
    load, store, exp, log, memory, number = _scalars(dtype)
    zero, exponential_sum = number(0), _exponential_sum(dtype)

    def softmax(x, y, outer, count, inner):
        shared = memory()
        columns, lanes, lane = cuda.blockDim.x, cuda.blockDim.y, cuda.threadIdx.y
        tiles = (inner + columns - 1) // columns
        block = cuda.blockIdx.x
        while block < outer * tiles:
            column = block % tiles * columns + cuda.threadIdx.x
            base = block // tiles * count * inner + column
            walked = count if column < inner else 0
            shift, total = exponential_sum(shared, x, base, walked, inner)
            for k in range(lane, walked, lanes):
                y[base + k * inner] = store(finish(load(x[base + k * inner]), shift, total, exp, log, zero))
            block += cuda.gridDim.x
    return kernel(softmax)


def _forward(finish: Callable, raw: DeviceArray, axis: int) -> DeviceArray:
    result = geometry.empty(raw.shape, raw.element)
    if result.size:
        x, sizes = as_slices(raw, (axis,))
        launch_slices(_forward_kernel(finish, raw.element), sizes, x, result.memory)
    return result


def softmax(raw: DeviceArray, axis: int) -> DeviceArray:
    """exp(x) / sum(exp(x)) along `axis`; zeros where there is only -inf."""
    return _forward(_softmax, raw, axis)


def log_softmax(raw: DeviceArray, axis: int) -> DeviceArray:
    """x - log(sum(exp(x))) along `axis`; -inf where there is only -inf."""
    return _forward(_log_softmax, raw, axis)


@cache
def _logsumexp_kernel(dtype: np.dtype) -> Any:
    _, store, _, log, memory, number = _scalars(dtype)
    most, exponential_sum = number(np.inf), _exponential_sum(dtype)

    def logsumexp(x, y, outer, count, inner):
        shared = memory()
        columns, lane = cuda.blockDim.x, cuda.threadIdx.y
        tiles = (inner + columns - 1) // columns
        block = cuda.blockIdx.x
        while block < outer * tiles:
            column = block % tiles * columns + cuda.threadIdx.x
            row = block // tiles
            base = row * count * inner + column
            walked = count if column < inner else 0
            shift, total = exponential_sum(shared, x, base, walked, inner)
            if lane == 0 and column < inner:
                y[row * inner + column] = store(shift if shift == most else shift + log(total))
            block += cuda.gridDim.x
    return kernel(logsumexp)


def logsumexp(raw: DeviceArray, axes: Shape, keepdims: bool) -> DeviceArray:
    """log(sum(exp(x))) over `axes`; -inf where there is only -inf, inf where there is inf."""
    result = geometry.empty(reduced_shape(raw.shape, axes, keepdims), raw.element)
    if result.size:
        x, sizes = as_slices(raw, tuple(sorted(axes)))
        launch_slices(_logsumexp_kernel(raw.element), sizes, x, result.memory)
    return result


# ------------------------------------------------------------------------------------------------------- gradients
@inline
def _softmax_term(y, g):
    return g * y


@inline
def _softmax_gradient(y, g, total, exp):
    return y * (g - total)


@inline
def _log_softmax_term(y, g):
    return g


@inline
def _log_softmax_gradient(y, g, total, exp):
    return g - exp(y) * total


@cache
def _backward_kernel(term: Callable, finish: Callable, dtype: np.dtype) -> Any:
    load, store, exp, _, memory, number = _scalars(dtype)
    zero, block_sum = number(0), block_merge(add)

    def softmax_grad(y, g, dx, outer, count, inner):
        shared = memory()
        columns, lanes, lane = cuda.blockDim.x, cuda.blockDim.y, cuda.threadIdx.y
        tiles = (inner + columns - 1) // columns
        block = cuda.blockIdx.x
        while block < outer * tiles:
            column = block % tiles * columns + cuda.threadIdx.x
            base = block // tiles * count * inner + column
            walked = count if column < inner else 0
            total = zero
            for k in range(lane, walked, lanes):
                total += term(load(y[base + k * inner]), load(g[base + k * inner]))
            total = block_sum(shared, total)
            for k in range(lane, walked, lanes):
                at = base + k * inner
                dx[at] = store(finish(load(y[at]), load(g[at]), total, exp))
            block += cuda.gridDim.x
    return kernel(softmax_grad)


def _backward(term: Callable, finish: Callable, y: DeviceArray, g: DeviceArray, axis: int) -> DeviceArray:
    result = geometry.empty(y.shape, y.element)
    if result.size:
        known, sizes = as_slices(y, (axis,))
        launch_slices(_backward_kernel(term, finish, y.element), sizes, known, flat(g), result.memory)
    return result


def softmax_grad(y: DeviceArray, g: DeviceArray, axis: int) -> DeviceArray:
    """y * (g - sum(g * y)), the gradient of softmax from its result."""
    return _backward(_softmax_term, _softmax_gradient, y, g, axis)


def log_softmax_grad(y: DeviceArray, g: DeviceArray, axis: int) -> DeviceArray:
    """g - exp(y) * sum(g), the gradient of log_softmax from its result."""
    return _backward(_log_softmax_term, _log_softmax_gradient, y, g, axis)


# --------------------------------------------------------------------------------------------------- cross entropy
@cache
def _cross_entropy_kernel(dtype: np.dtype) -> Any:
    load, store, _, log, memory, number = _scalars(dtype)
    zero, exponential_sum = number(0), _exponential_sum(dtype)

    def cross_entropy(x, target, losses, ignored, rows, classes, inner):
        shared = memory()
        lane, row = cuda.threadIdx.y, cuda.blockIdx.x
        while row < rows:
            shift, total = exponential_sum(shared, x, row * classes, classes, 1)
            if lane == 0:
                wanted = target[row]
                if wanted == ignored:
                    losses[row] = store(zero)
                else:
                    losses[row] = store(log(total) - (load(x[row * classes + wanted]) - shift))
            row += cuda.gridDim.x
    return kernel(cross_entropy)


def cross_entropy(logits: DeviceArray, target: DeviceArray, ignore_index: int) -> DeviceArray:
    """Losses (rows,) of logits (rows, classes) and int64 targets (rows,); 0 where the target is `ignore_index`."""
    rows, classes = logits.shape
    losses = geometry.empty((rows,), logits.element)
    if rows:
        launch_slices(_cross_entropy_kernel(logits.element), (rows, classes, 1), flat(logits), flat(target),
                      losses.memory, ignore_index)
    return losses


@cache
def _cross_entropy_grad_kernel(dtype: np.dtype) -> Any:
    load, store, exp, log, memory, number = _scalars(dtype)
    zero, one, exponential_sum = number(0), number(1), _exponential_sum(dtype)

    def cross_entropy_grad(x, target, g, dx, ignored, rows, classes, inner):
        shared = memory()
        lanes, lane = cuda.blockDim.y, cuda.threadIdx.y
        row = cuda.blockIdx.x
        while row < rows:
            shift, total = exponential_sum(shared, x, row * classes, classes, 1)
            wanted, scale = target[row], load(g[row])
            for k in range(lane, classes, lanes):
                share = _softmax(load(x[row * classes + k]), shift, total, exp, log, zero)
                value = (share - (one if k == wanted else zero)) * scale
                dx[row * classes + k] = store(zero if wanted == ignored else value)
            row += cuda.gridDim.x
    return kernel(cross_entropy_grad)


def cross_entropy_grad(logits: DeviceArray, target: DeviceArray, g: DeviceArray, ignore_index: int) -> DeviceArray:
    """(softmax(logits) - onehot(target)) * g[:, None], 0 in ignored rows; g is (rows,)."""
    rows, classes = logits.shape
    result = geometry.empty(logits.shape, logits.element)
    if result.size:
        launch_slices(_cross_entropy_grad_kernel(logits.element), (rows, classes, 1), flat(logits), flat(target),
                      flat(g), result.memory, ignore_index)
    return result
