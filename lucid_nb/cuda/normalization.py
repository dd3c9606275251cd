"""Normalisation of a batch, or of groups of channels, and running statistics.

A block takes a row and walks it three times: twice for its statistics, as statistics.py has them, and once for the
results. Where few rows are long, a first launch finds the statistics of chunks, which each block of a second one joins.

x is (batch, channels, plane) where statistics are those of a channel (axes (0, 2)), and (batch, groups, channels of a
group, plane) where they are those of a group (axes (2, 3)). Weight and bias have an element for each channel; like
statistics they are float32 where x is of half floats.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..shapes import Shape, reduced_shape
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import assign, contiguous, flat, full
from .places import Places
from .runtime import BLOCK, block_inline, cuda, inline, shared_memory
from .scalars import compute, narrow, widen_to
from .statistics import Plan, Rows, block_join, block_moments, block_squares, moments_kernel, plan_of, walk_of
from .vocabulary import functions

Three = tuple[DeviceArray, DeviceArray, DeviceArray]


class Kind(NamedTuple):
    """What kernels are compiled for."""

    dtype: np.dtype
    places: Places
    is_batch: bool         # has each row one weight?
    is_centred: bool


class Form(NamedTuple):
    """How an array is normalised."""

    kind: Kind
    plan: Plan
    groups: Any            # rows after which weights begin anew, as kernels take it
    kept: Shape            # of statistics


def form_of(dtype: np.dtype, shape: Shape, axes: Shape, is_centred: bool) -> Form:
    """The form of an array that has elements, whose statistics are along these axes."""
    plan = _plan(shape)
    return _form(dtype, shape, axes, is_centred, plan, plan.places)


@lru_cache(maxsize=4096)
def _plan(shape: Shape) -> Plan:
    return plan_of(Rows(1, *shape) if len(shape) == 3 else Rows(shape[0] * shape[1], shape[2], 1, shape[3]))


@lru_cache(maxsize=4096)
def _form(dtype: np.dtype, shape: Shape, axes: Shape, is_centred: bool, plan: Plan, places: Places) -> Form:
    is_batch = len(shape) == 3
    return Form(Kind(dtype, places, is_batch, is_centred), plan, places.integer(1 if is_batch else shape[1]),
                reduced_shape(shape, axes, True))


# ------------------------------------------------------------------------------------------------------- elements
@cache
def first_channel(kind: Kind) -> Callable:
    """Where the weights of a row begin: it has one, or as many as it has channels."""
    (integer, quotient), is_batch = kind.places, kind.is_batch

    def first(row, column, groups, channels):
        return column if is_batch else integer((row - quotient(row, groups) * groups) * channels)
    return inline(first)


@cache
def inverse_deviation(number: np.dtype) -> Callable:
    """1 / sqrt(variance + eps)."""
    one, root = number.type(1), functions(number.name)["sqrt"]

    def inverse(variance, eps):
        return one / root(variance + eps)
    return inline(inverse)


@cache
def _block_spread(kind: Kind) -> Callable:
    """A block's function of a part of each of its rows: (x - mean) * inverse * weight + bias."""
    number, is_batch = compute(kind.dtype), kind.is_batch
    load, store, one, zero = widen_to(kind.dtype, number), narrow(kind.dtype), number.type(1), number.type(0)
    integer, begin, onward, at = walk_of(kind.places).of_elements
    none = integer(0)

    def spread(x, weight, bias, y, base, first, stop, plane, step, channel, mean, inverse):
        lanes = integer(cuda.blockDim.y)
        planes, rest = begin(lanes, plane)
        factor, level = one, zero
        if is_batch and first < stop:
            factor, level = weight[at(channel, none, none, none)], bias[at(channel, none, none, none)]
        k = integer(first + cuda.threadIdx.y)
        i, within = begin(k, plane)
        while k < stop:
            place = at(base, i, step, within)
            if not is_batch:
                own = at(channel, none, none, i)
                factor, level = weight[own], bias[own]
            y[place] = store((load(x[place]) - mean) * (inverse * factor) + level)
            i, within = onward(i, within, planes, rest, plane)
            k = integer(k + lanes)
    return block_inline(spread)


@cache
def _normalize_kernel(kind: Kind) -> Any:
    """The kernel that finds the statistics of whole rows, too."""
    number = compute(kind.dtype)
    statistics = (block_moments if kind.is_centred else block_squares)(kind.dtype, number, kind.places)
    spread, inverse_of, channel_of = _block_spread(kind), inverse_deviation(number), first_channel(kind)
    integer, extents, share, at = walk_of(kind.places).of_rows
    memory, cast = shared_memory(BLOCK, number), number.type

    def normalize(x, weight, bias, y, means, variances, groups, eps, outer, length, inner, plane, chunks, chunk):
        shared, block = memory(), integer(cuda.blockIdx.x)
        size, step, blocks = extents(outer, length, inner, plane, chunks)
        while block < blocks:
            row, first, stop, part, column, base = share(block, outer, size, inner, plane, chunks, chunk)
            mean, square = statistics(shared, x, base, first, stop, plane, step)
            variance = square / cast(size)
            if cuda.threadIdx.y == 0 and first < stop:
                means[at(column, row, inner, 0)], variances[at(column, row, inner, 0)] = mean, variance
            spread(x, weight, bias, y, base, first, stop, plane, step, channel_of(row, column, groups, length), mean,
                   inverse_of(variance, eps))
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(normalize)


@cache
def _spread_kernel(kind: Kind) -> Any:
    """The kernel of chunks, whose statistics are known."""
    number = compute(kind.dtype)
    join, spread = block_join(number, kind.places), _block_spread(kind)
    inverse_of, channel_of = inverse_deviation(number), first_channel(kind)
    integer, extents, share, at = walk_of(kind.places).of_rows
    memory, cast = shared_memory(BLOCK, number), number.type

    def normalize_chunks(x, part_means, part_squares, weight, bias, y, means, variances, groups, eps, outer, length,
                         inner, plane, chunks, chunk):
        shared, block = memory(), integer(cuda.blockIdx.x)
        size, step, blocks = extents(outer, length, inner, plane, chunks)
        while block < blocks:
            row, first, stop, part, column, base = share(block, outer, size, inner, plane, chunks, chunk)
            parts = chunks if first < stop else integer(0)
            mean, square = join(shared, part_means, part_squares, integer(row * chunks * inner + column), parts, inner,
                                chunk, size)
            variance = square / cast(size)
            if cuda.threadIdx.y == 0 and first == 0 and first < stop:
                means[at(column, row, inner, 0)], variances[at(column, row, inner, 0)] = mean, variance
            spread(x, weight, bias, y, base, first, stop, plane, step, channel_of(row, column, groups, length), mean,
                   inverse_of(variance, eps))
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(normalize_chunks)


def normalize(x: DeviceArray, weight: DeviceArray, bias: DeviceArray, shape: Shape, axes: Shape, eps: float,
              centred: bool) -> Three:
    """(x - mean) / sqrt(variance + eps) * weight + bias in the shape of x, the mean, and the biased variance.

    Not `centred`, the mean is 0 and the variance is about 0. Of no elements, statistics are NaN.
    """
    dtype, number, y = x.element, compute(x.element), geometry.empty(x.shape, x.element)
    if x.size == 0:
        kept = reduced_shape(shape, axes, True)
        return y, full(kept, np.nan, number), full(kept, np.nan, number)
    form, elements = form_of(dtype, shape, axes, centred), flat(x)
    kind, plan, groups, kept = form
    means, variances = geometry.empty(kept, number), geometry.empty(kept, number)
    given = (flat(weight), flat(bias), y.memory, means.memory, variances.memory, groups,
             number.type(eps))
    if plan.chunks == 1:
        plan.launch(_normalize_kernel(kind), elements, *given)
    else:
        parts = chunk_memory(plan, number)
        plan.launch(moments_kernel(dtype, number, number, kind.places, centred), elements, *parts)
        plan.launch(_spread_kernel(kind), elements, *parts, *given)
    return y, means, variances


def chunk_memory(plan: Plan, number: np.dtype) -> list[Any]:
    """Memory for two numbers of each chunk of each row."""
    return [runtime.allocate(plan.rows.number * plan.chunks, number) for _ in range(2)]


# -------------------------------------------------------------------------------------------------------- running
@cache
def _remember_kernel(running: np.dtype, found: np.dtype) -> Any:
    number = compute(running)
    load, store, read = widen_to(running, number), narrow(running), widen_to(found, number)

    def remember(count, running, found, kept, gained):
        i = cuda.grid(1)
        while i < count:
            running[i] = store(load(running[i]) * kept + read(found[i]) * gained)
            i += cuda.gridsize(1)
    return runtime.kernel(remember)


def remember(running: DeviceArray, found: DeviceArray, momentum: float, factor: float) -> None:
    """Move running statistics, in place, by a share towards what was found, times a factor."""
    target, number = contiguous(running), compute(running.element).type
    runtime.launch_each(_remember_kernel(running.element, found.element), running.size, running.size, flat(target),
                        flat(found), number(1 - momentum), number(momentum * factor))
    if target is not running:
        assign(running, target)
