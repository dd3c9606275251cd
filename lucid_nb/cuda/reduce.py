"""Reductions over (outer, count, inner): a block owns some neighbouring columns of one outer slice.

Its lanes walk the middle axis in steps of their number, then merge in shared memory in a fixed order. Long axes with
few slices are cut into chunks by shape alone; a second launch merges the chunks. So the same input gives the same
bits on every device. There are no warp intrinsics: the simulator lacks them.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import BOOL
from ..shapes import reduced_shape
from . import array as geometry
from . import runtime
from .array import DeviceArray, Shape
from .copy import flat
from .runtime import BLOCK, cuda, inline, shared_memory
from .scalars import compute, highest, is_true, lowest, narrow, widen_bfloat16, widen_to

Sizes = tuple[int, int, int]       # outer, count, inner


# ------------------------------------------------------------------------------------------- combining two values
@inline
def add(a, b):
    """Sum."""
    return a + b


@inline
def multiply(a, b):
    """Product."""
    return a * b


@inline
def larger(a, b):
    """Maximum; NaN wins."""
    return b if b > a or b != b else a


@inline
def smaller(a, b):
    """Minimum; NaN wins."""
    return b if b < a or b != b else a


@inline
def either(a, b):
    """Logical or of 0 and 1."""
    return a | b


@inline
def both(a, b):
    """Logical and of 0 and 1."""
    return a & b


@inline
def larger_number(a, b):
    """Maximum; what is not NaN wins."""
    return b if a != a or b > a else a


@inline
def smaller_number(a, b):
    """Minimum; what is not NaN wins."""
    return b if a != a or b < a else a


@inline
def add_number(total, x):
    """A sum that passes over NaN."""
    return total + x if x == x else total


@inline
def multiply_number(total, x):
    """A product that passes over NaN."""
    return total * x if x == x else total


@inline
def add_size(total, x):
    """A sum of absolute values."""
    return total + abs(x)


@inline
def add_square(total, x):
    """A sum of squares."""
    return total + x * x


@inline
def is_number(x):
    """1 where a value is not NaN."""
    return np.uint8(1) if x == x else np.uint8(0)


class Kind(NamedTuple):
    """A kind of reduction: how a total takes an element in, and the value of a dtype that changes nothing."""

    combine: Callable
    identity: Callable[[np.dtype], Any]
    merge: Callable | None = None    # how two totals combine; none: as a total and an element
    test: Callable | None = None     # what is asked of elements, whatever their dtype, and counted as 0 or 1
    counter: np.dtype = np.dtype(np.uint8)       # the dtype of totals of answers


def _zero(dtype: np.dtype) -> int:
    return 0


def _one(dtype: np.dtype) -> int:
    return 1


def _nan(dtype: np.dtype) -> Any:
    return dtype.type(np.nan)


COUNTER = np.dtype(np.int64)
KINDS = {
    "sum": Kind(add, _zero), "nansum": Kind(add_number, _zero, add),
    "sizes": Kind(add_size, _zero, add), "squares": Kind(add_square, _zero, add),
    "prod": Kind(multiply, _one), "nanprod": Kind(multiply_number, _one, multiply),
    "max": Kind(larger, lowest), "nanmax": Kind(larger_number, _nan),
    "min": Kind(smaller, highest), "nanmin": Kind(smaller_number, _nan),
    "any": Kind(either, _zero, test=is_true), "all": Kind(both, _one, test=is_true),
    "count_nonzero": Kind(add, _zero, test=is_true, counter=COUNTER),
    "count_numbers": Kind(add, _zero, test=is_number, counter=COUNTER),
}


# ------------------------------------------------------------------------------------------------------- kernels
def block_merge(combine: Callable) -> Callable:
    """A function of shared memory and one value a thread: the combination over all lanes of the thread's column."""
    def merge(shared, value):
        columns, lane = cuda.blockDim.x, cuda.threadIdx.y
        slot = lane * columns + cuda.threadIdx.x
        shared[slot] = value
        cuda.syncthreads()
        half = cuda.blockDim.y // 2
        while half > 0:
            if lane < half:
                shared[slot] = combine(shared[slot], shared[slot + half * columns])
            cuda.syncthreads()
            half = half // 2
        result = shared[cuda.threadIdx.x]
        cuda.syncthreads()       # the memory is used again
        return result
    return runtime.block_inline(merge)


def _accumulator(kind: str, dtype: np.dtype) -> np.dtype:
    """The dtype that partial results have."""
    if KINDS[kind].test is not None:
        return KINDS[kind].counter
    return np.dtype(np.uint8) if dtype == BOOL else compute(dtype)


def _loader(kind: str, source: np.dtype, accumulate: np.dtype) -> Callable:
    """From memory to the accumulator."""
    test = KINDS[kind].test
    if test is None:
        return widen_to(source, accumulate)
    if source.name != "bfloat16":
        return test

    def load(bits):
        return test(widen_bfloat16(bits))
    return inline(load)


@cache
def _reduce_kernel(kind: str, source: np.dtype, accumulate: np.dtype, result: np.dtype, merges: bool = False) -> Any:
    """The kernel of elements, or of partial results."""
    found, store = KINDS[kind], narrow(result)
    load = accumulate.type if merges else _loader(kind, source, accumulate)
    join = found.merge or found.combine
    combine = join if merges else found.combine
    start = accumulate.type(found.identity(accumulate))
    merge, memory = block_merge(join), shared_memory(BLOCK, accumulate)

    def reduce(x, y, outer, count, inner, chunks, chunk):
        shared = memory()
        columns, lanes = cuda.blockDim.x, cuda.blockDim.y
        tiles = (inner + columns - 1) // columns
        block = cuda.blockIdx.x
        while block < outer * chunks * tiles:
            column = block % tiles * columns + cuda.threadIdx.x
            part = block // tiles
            row = part // chunks
            first = part % chunks * chunk
            total = start
            if column < inner:
                for k in range(first + cuda.threadIdx.y, min(first + chunk, count), lanes):
                    total = combine(total, load(x[(row * count + k) * inner + column]))
            total = merge(shared, total)
            if cuda.threadIdx.y == 0 and column < inner:
                y[part * inner + column] = store(total)
            block += cuda.gridDim.x
    return runtime.kernel(reduce)


# --------------------------------------------------------------------------------------------------------- drivers
def as_slices(raw: DeviceArray, axes: Shape) -> tuple[Any, Sizes]:
    """Flat memory and (outer, count, inner) of an array whose sorted `axes` are combined, copied if they are apart."""
    order, sizes = _grouped(raw.shape, axes)
    return flat(raw if order is None else geometry.permute(raw, order)), sizes


@lru_cache(maxsize=4096)
def _grouped(shape: Shape, axes: Shape) -> tuple[Shape | None, Sizes]:
    """The order of axes in which those to combine lie side by side, where it is another, and (outer, count, inner)."""
    kept, count = tuple([a for a in range(len(shape)) if a not in axes]), prod([shape[a] for a in axes])
    if axes != tuple(range(axes[0], axes[0] + len(axes))):
        return kept + axes, (prod([shape[a] for a in kept]), count, 1)
    return None, (prod(shape[:axes[0]]), count, prod(shape[axes[-1] + 1:]))


def launch_slices(kernel: Any, sizes: Sizes, *operands: Any) -> None:
    """Launch a kernel(*operands, outer, count, inner) that merges along the middle axis."""
    plan = runtime.slices(*sizes)
    runtime.launch(kernel, plan.blocks, (plan.columns, plan.lanes), *operands, *sizes)


def _reduce_once(kernel: Any, x: Any, y: Any, sizes: Sizes, chunks: int) -> None:
    plan = runtime.slices(*sizes, chunks)
    chunk = runtime.ceil_div(sizes[1], chunks)
    runtime.launch(kernel, plan.blocks, (plan.columns, plan.lanes), x, y, *sizes, chunks, chunk)


def reduce(kind: str, raw: DeviceArray, axes: Shape, keepdims: bool, dtype: np.dtype) -> DeviceArray:
    """One of KINDS over `axes`; float16 and bfloat16 accumulate in float32."""
    result = geometry.empty(reduced_shape(raw.shape, axes, keepdims), dtype)
    if result.size == 0:
        return result
    x, (outer, count, inner) = as_slices(raw, tuple(sorted(axes)))
    accumulate = _accumulator(kind, dtype)
    chunks = runtime.chunks_of(outer, count, inner)
    source, merges = raw.element, chunks > 1
    if merges:
        partial = runtime.allocate(outer * chunks * inner, accumulate)
        _reduce_once(_reduce_kernel(kind, source, accumulate, accumulate), x, partial, (outer, count, inner), chunks)
        x, count, source = partial, chunks, accumulate
    kernel = _reduce_kernel(kind, source, accumulate, dtype, merges)
    _reduce_once(kernel, x, result.memory, (outer, count, inner), 1)
    return result


# ------------------------------------------------------------------------------------------------------ positions
@inline
def _after(a, b):
    """Does b come before a by value, for the place of the maximum? NaN comes before all."""
    return (b > a or b != b) and a == a


@inline
def _below(a, b):
    """As `_after`, for the minimum."""
    return (b < a or b != b) and a == a


@inline
def _same(a, b):
    """Equal, or both NaN."""
    return a == b or (a != a and b != b)


@cache
def _arg_reduce_kernel(kind: str, source: np.dtype) -> Any:
    number = compute(source) if source != BOOL else np.dtype(np.uint8)
    load, start = widen_to(source, number), number.type(KINDS[kind].identity(number))
    value_memory, place_memory = shared_memory(BLOCK, number), shared_memory(BLOCK, np.dtype(np.int64))
    beats = _after if kind == "max" else _below

    def arg_reduce(x, y, outer, count, inner):
        values, places = value_memory(), place_memory()
        columns, lanes, lane = cuda.blockDim.x, cuda.blockDim.y, cuda.threadIdx.y
        slot = lane * columns + cuda.threadIdx.x
        tiles = (inner + columns - 1) // columns
        block = cuda.blockIdx.x
        while block < outer * tiles:
            column = block % tiles * columns + cuda.threadIdx.x
            row = block // tiles
            best, place = start, np.int64(lane)
            if column < inner and lane < count:
                best = load(x[(row * count + lane) * inner + column])
                for k in range(lane + lanes, count, lanes):
                    value = load(x[(row * count + k) * inner + column])
                    if beats(best, value):
                        best, place = value, np.int64(k)
            values[slot] = best
            places[slot] = place
            cuda.syncthreads()
            half = lanes // 2
            while half > 0:
                other = slot + half * columns
                if lane < half and places[other] < count:
                    if beats(values[slot], values[other]) or (_same(values[slot], values[other])
                                                              and places[other] < places[slot]):
                        values[slot] = values[other]
                        places[slot] = places[other]
                cuda.syncthreads()
                half = half // 2
            if lane == 0 and column < inner:
                y[row * inner + column] = places[slot]
            cuda.syncthreads()
            block += cuda.gridDim.x
    return runtime.kernel(arg_reduce)


def arg_reduce(kind: str, raw: DeviceArray, axis: int, keepdims: bool) -> DeviceArray:
    """The index of the maximum or minimum along `axis`, int64: the first of equals, NaN before all."""
    result = geometry.empty(reduced_shape(raw.shape, (axis,), keepdims), np.dtype(np.int64))
    if result.size:
        x, sizes = as_slices(raw, (axis,))
        launch_slices(_arg_reduce_kernel(kind, raw.element), sizes, x, result.memory)
    return result
