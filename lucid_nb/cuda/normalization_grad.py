"""The gradients of normalisation: of x in one launch, or in two where few rows are long; of weights that belong to
groups of channels in one more, or in two.

With s = g * weight and n = (x - mean) * inverse that of x is inverse * (s - mean of s - n * mean of s * n).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..shapes import Shape
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat, full
from .normalization import Form, Kind, Three, chunk_memory, first_channel, form_of, inverse_deviation
from .places import Places
from .reduce import add, block_merge
from .runtime import BLOCK, block_inline, cuda, inline, shared_memory
from .scalars import compute, narrow, widen_to
from .statistics import Rows, plan_of, walk_of


# ------------------------------------------------------------------------------------------------------ of elements
@cache
def _block_slopes(kind: Kind) -> Callable:
    """A block's function of a part of each of its rows: the sums of slopes, and of slopes times deviations of x.

    Slopes are g, times weights where these differ within a row.
    """
    number, is_batch, block_sum = compute(kind.dtype), kind.is_batch, block_merge(add)
    load, zero = widen_to(kind.dtype, number), number.type(0)
    integer, begin, onward, at = walk_of(kind.places).of_elements
    none = integer(0)

    def slopes(shared, g, x, weight, base, first, stop, plane, step, channel, mean):
        lanes = integer(cuda.blockDim.y)
        planes, rest = begin(lanes, plane)
        total, moment = zero, zero
        k = integer(first + cuda.threadIdx.y)
        i, within = begin(k, plane)
        while k < stop:
            place = at(base, i, step, within)
            slope = load(g[place])
            if not is_batch:
                slope *= weight[at(channel, none, none, i)]
            total += slope
            moment += slope * (load(x[place]) - mean)
            i, within = onward(i, within, planes, rest, plane)
            k = integer(k + lanes)
        total = block_sum(shared, total)
        return total, block_sum(shared, moment)
    return block_inline(slopes)


@cache
def _block_spread(kind: Kind) -> Callable:
    """A block's function of a part of each of its rows, given both sums of the row: the gradient of x."""
    number, is_batch, is_centred = compute(kind.dtype), kind.is_batch, kind.is_centred
    load, store, one = widen_to(kind.dtype, number), narrow(kind.dtype), number.type(1)
    integer, begin, onward, at = walk_of(kind.places).of_elements
    none = integer(0)

    def spread(g, x, weight, dx, base, first, stop, plane, step, channel, mean, inverse, level, tilt):
        lanes = integer(cuda.blockDim.y)
        planes, rest = begin(lanes, plane)
        factor = one
        if is_batch and first < stop:
            factor = weight[at(channel, none, none, none)]
        k = integer(first + cuda.threadIdx.y)
        i, within = begin(k, plane)
        while k < stop:
            place = at(base, i, step, within)
            slope = load(g[place])
            if not is_batch:
                slope *= weight[at(channel, none, none, i)]
            if is_centred:
                slope -= level
            dx[place] = store((slope - (load(x[place]) - mean) * inverse * tilt) * (inverse * factor))
            i, within = onward(i, within, planes, rest, plane)
            k = integer(k + lanes)
    return block_inline(spread)


@cache
def _row_statistics(number: np.dtype, places: Places) -> Callable:
    """The mean of a row and 1 over its deviation; of no row 0 and 1."""
    zero, one, at, inverse_of = number.type(0), number.type(1), walk_of(places).at, inverse_deviation(number)

    def statistics(means, variances, row, column, inner, is_there, eps):
        mean, inverse = zero, one
        if is_there:
            place = at(column, row, inner, 0)
            mean, inverse = means[place], inverse_of(variances[place], eps)
        return mean, inverse
    return inline(statistics)


@cache
def _gradient_kernel(kind: Kind) -> Any:
    """The kernel that sums whole rows, too; it gives the gradients of weights where each row has one."""
    number, is_batch, places = compute(kind.dtype), kind.is_batch, kind.places
    slopes, spread, statistics = _block_slopes(kind), _block_spread(kind), _row_statistics(number, places)
    integer, extents, share, at = walk_of(places).of_rows
    memory, cast, channel_of = shared_memory(BLOCK, number), number.type, first_channel(kind)

    def normalize_grad(g, x, weight, means, variances, dx, of_weight, of_bias, groups, eps, outer, length, inner, plane,
                       chunks, chunk):
        shared, block = memory(), integer(cuda.blockIdx.x)
        size, step, blocks = extents(outer, length, inner, plane, chunks)
        while block < blocks:
            row, first, stop, part, column, base = share(block, outer, size, inner, plane, chunks, chunk)
            mean, inverse = statistics(means, variances, row, column, inner, first < stop, eps)
            channel = channel_of(row, column, groups, length)
            total, moment = slopes(shared, g, x, weight, base, first, stop, plane, step, channel, mean)
            moment *= inverse
            if is_batch and cuda.threadIdx.y == 0 and first < stop:
                of_weight[at(column, row, inner, 0)], of_bias[at(column, row, inner, 0)] = moment, total
            spread(g, x, weight, dx, base, first, stop, plane, step, channel, mean, inverse, total / cast(size),
                   moment / cast(size))
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(normalize_grad)


@cache
def _sums_kernel(kind: Kind) -> Any:
    """The kernel that sums chunks."""
    number, zero = compute(kind.dtype), compute(kind.dtype).type(0)
    slopes, memory, channel_of = _block_slopes(kind), shared_memory(BLOCK, number), first_channel(kind)
    integer, extents, share, at = walk_of(kind.places).of_rows

    def sum_slopes(g, x, weight, means, totals, moments, groups, outer, length, inner, plane, chunks, chunk):
        shared, block = memory(), integer(cuda.blockIdx.x)
        size, step, blocks = extents(outer, length, inner, plane, chunks)
        while block < blocks:
            row, first, stop, part, column, base = share(block, outer, size, inner, plane, chunks, chunk)
            mean = zero
            if first < stop:
                mean = means[at(column, row, inner, 0)]
            total, moment = slopes(shared, g, x, weight, base, first, stop, plane, step,
                                   channel_of(row, column, groups, length), mean)
            if cuda.threadIdx.y == 0 and first < stop:
                totals[at(column, part, inner, 0)], moments[at(column, part, inner, 0)] = total, moment
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(sum_slopes)


@cache
def _spread_kernel(kind: Kind) -> Any:
    """The kernel of chunks that are summed."""
    number, is_batch, places, block_sum = compute(kind.dtype), kind.is_batch, kind.places, block_merge(add)
    spread, statistics, channel_of = _block_spread(kind), _row_statistics(number, places), first_channel(kind)
    integer, extents, share, at = walk_of(places).of_rows
    memory, cast, zero = shared_memory(BLOCK, number), number.type, number.type(0)

    def normalize_grad_chunks(totals, moments, g, x, weight, means, variances, dx, of_weight, of_bias, groups, eps,
                              outer, length, inner, plane, chunks, chunk):
        shared, block = memory(), integer(cuda.blockIdx.x)
        size, step, blocks = extents(outer, length, inner, plane, chunks)
        while block < blocks:
            row, first, stop, part, column, base = share(block, outer, size, inner, plane, chunks, chunk)
            total, moment = zero, zero
            c = integer(cuda.threadIdx.y)
            while c < chunks and first < stop:
                place = at(column, integer(row * chunks + c), inner, 0)
                total += totals[place]
                moment += moments[place]
                c = integer(c + cuda.blockDim.y)
            total = block_sum(shared, total)
            mean, inverse = statistics(means, variances, row, column, inner, first < stop, eps)
            moment = block_sum(shared, moment) * inverse
            if is_batch and cuda.threadIdx.y == 0 and first == 0 and first < stop:
                of_weight[at(column, row, inner, 0)], of_bias[at(column, row, inner, 0)] = moment, total
            spread(g, x, weight, dx, base, first, stop, plane, step, channel_of(row, column, groups, length), mean,
                   inverse, total / cast(size), moment / cast(size))
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(normalize_grad_chunks)


def _run(form: Form, operands: tuple[Any, ...], of_weight: Any, of_bias: Any, eps: Any) -> None:
    """The gradient of x, and of weights that each row has one of; operands: g, x, weight, statistics and dx."""
    kind, plan, groups = form.kind, form.plan, form.groups
    given = (*operands, of_weight, of_bias, groups, eps)
    if plan.chunks == 1:
        plan.launch(_gradient_kernel(kind), *given)
        return
    parts = chunk_memory(plan, compute(kind.dtype))
    plan.launch(_sums_kernel(kind), *operands[:4], *parts, groups)
    plan.launch(_spread_kernel(kind), *parts, *given)


# ------------------------------------------------------------------------------------------------------- of weights
@cache
def _weights_kernel(dtype: np.dtype, places: Places) -> Any:
    """The kernel of channels, whose elements have the statistics of other rows; sums of each chunk."""
    number, block_sum, (_, quotient) = compute(dtype), block_merge(add), places
    load, memory = widen_to(dtype, number), shared_memory(BLOCK, number)
    zero, inverse_of, walk = number.type(0), inverse_deviation(number), walk_of(places)
    (integer, begin, onward, at), (_, extents, share, _) = walk.of_elements, walk.of_rows

    def normalize_weight_grad(g, x, means, variances, of_weight, of_bias, groups, members, eps, outer, length, inner,
                              plane, chunks, chunk):
        shared, block, lanes = memory(), integer(cuda.blockIdx.x), integer(cuda.blockDim.y)
        size, step, blocks = extents(outer, length, inner, plane, chunks)
        planes, rest = begin(lanes, plane)
        while block < blocks:
            row, first, stop, part, column, base = share(block, outer, size, inner, plane, chunks, chunk)
            total, moment = zero, zero
            group = quotient(column, members)
            k = integer(first + cuda.threadIdx.y)
            i, within = begin(k, plane)
            while k < stop:
                place, own = at(base, i, step, within), at(group, i, groups, 0)
                slope = load(g[place])
                total += slope
                moment += slope * ((load(x[place]) - means[own]) * inverse_of(variances[own], eps))
                i, within = onward(i, within, planes, rest, plane)
                k = integer(k + lanes)
            total = block_sum(shared, total)
            moment = block_sum(shared, moment)
            if cuda.threadIdx.y == 0 and first < stop:
                of_weight[at(column, part, inner, 0)], of_bias[at(column, part, inner, 0)] = moment, total
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(normalize_weight_grad)


@cache
def _join_kernel(number: np.dtype) -> Any:
    """The kernel that adds up the chunks of a channel."""
    zero = number.type(0)

    def join_weight_grad(count, moments, totals, of_weight, of_bias, chunks):
        i = cuda.grid(1)
        while i < count:
            total, moment = zero, zero
            for c in range(chunks):
                moment += moments[c * count + i]
                total += totals[c * count + i]
            of_weight[i], of_bias[i] = moment, total
            i += cuda.gridsize(1)
    return runtime.kernel(join_weight_grad)


def _run_weights(dtype: np.dtype, shape: Shape, operands: tuple[Any, ...], of_weight: Any, of_bias: Any,
                 eps: Any) -> None:
    """The gradients of weights of groups, in one launch or two; operands: g, x and statistics."""
    batch, groups, members, plane = shape
    plan = plan_of(Rows(1, batch, groups * members, plane))
    numbers = (*plan.places.of(groups, members), eps)
    if plan.chunks == 1:
        plan.launch(_weights_kernel(dtype, plan.places), *operands, of_weight, of_bias, *numbers)
        return
    parts, channels = chunk_memory(plan, compute(dtype)), groups * members
    plan.launch(_weights_kernel(dtype, plan.places), *operands, *parts, *numbers)
    runtime.launch_each(_join_kernel(compute(dtype)), channels, channels, *parts, of_weight, of_bias, plan.chunks)


def normalize_grad(g: DeviceArray, x: DeviceArray, weight: DeviceArray, mean: DeviceArray, variance: DeviceArray,
                   shape: Shape, axes: Shape, eps: float, centred: bool) -> Three:
    """The gradients of x, weight and bias in their shapes, by what `normalize` gave and got."""
    dtype, number, dx = x.element, compute(x.element), geometry.empty(x.shape, x.element)
    if x.size == 0:
        return dx, full(weight.shape, 0, number), full(weight.shape, 0, number)
    of_weight, of_bias = [geometry.empty(weight.shape, number) for _ in range(2)]
    form, least = form_of(dtype, shape, axes, centred), number.type(eps)
    slopes, elements, means, variances = flat(g), flat(x), flat(mean), flat(variance)
    _run(form, (slopes, elements, flat(weight), means, variances, dx.memory), of_weight.memory, of_bias.memory, least)
    if not form.kind.is_batch:
        _run_weights(dtype, shape, (slopes, elements, means, variances), of_weight.memory, of_bias.memory, least)
    return dx, of_weight, of_bias
