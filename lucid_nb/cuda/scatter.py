"""Writing rows by integer index, and elements by their position along an axis. Repeated indices give the same bits on
every run: an index is sorted, stably, and each element of a written row is one thread, which joins what is written
there in order."""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ..dtypes import BOOL
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import cast, contiguous, copy, flat, full
from .reduce import both, either, larger, smaller
from .running import adder, multiplier
from .runtime import cuda
from .scalars import compute, narrow, widen_to
from .sort import places_of

INT64, WORD = np.dtype(np.int64), np.dtype(np.uint32)


@runtime.kernel
def _last_writer_kernel(count, index, writer):
    i = cuda.grid(1)
    while i < count:
        cuda.atomic.max(writer, index[i], i)
        i += cuda.gridsize(1)


@runtime.kernel
def _write_rows_kernel(count, writer, values, y, row_size):
    i = cuda.grid(1)
    while i < count:
        row = i // row_size
        if writer[row] >= 0:
            y[i] = values[writer[row] * row_size + i - row * row_size]
        i += cuda.gridsize(1)


def scatter(raw: DeviceArray, index: DeviceArray, values: DeviceArray) -> DeviceArray:
    """A copy of `raw` with raw[index[j]] = values[j]; the last of equal indices wins, as in NumPy.

    A first kernel finds for each row the last j that writes it; the maximum does not depend on the order of threads.
    """
    result = copy(raw)
    if result.size and index.size:
        writer = full((raw.shape[0],), -1, INT64)
        runtime.launch_each(_last_writer_kernel, index.size, index.size, flat(index), writer.memory)
        runtime.launch_each(_write_rows_kernel, result.size, result.size, writer.memory, flat(values), result.memory,
                            prod(raw.shape[1:]))
    return result


# ------------------------------------------------------------------------------------------------------- joining
def _combiner(kind: str, dtype: np.dtype, number: np.dtype) -> Callable:
    """How a total takes a value in; of bools sums are logical or, products logical and."""
    if kind in ("max", "min"):
        return larger if kind == "max" else smaller
    if dtype == BOOL:
        return either if kind == "sum" else both
    return adder(number.type) if kind == "sum" else multiplier(number.type)


@cache
def _join_kernel(kind: str, dtype: np.dtype) -> Any:
    number = np.dtype(np.uint8) if dtype == BOOL else compute(dtype)
    load, store, combine = widen_to(dtype, number), narrow(dtype), _combiner(kind, dtype, number)

    def join_rows(count, index, order, values, y, row_size, length):
        i = cuda.grid(1)
        while i < count:
            first = i // row_size
            column = i - first * row_size
            target = index[order[first]]
            if first == 0 or index[order[first - 1]] != target:
                at = target * row_size + column
                total = load(y[at])
                j = first
                while j < length and index[order[j]] == target:
                    total = combine(total, load(values[order[j] * row_size + column]))
                    j += 1
                y[at] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(join_rows)


def _order(index: DeviceArray, size: int) -> DeviceArray:
    """The places that sort positions below `size`, of which few bits differ."""
    row = contiguous(index)
    row = geometry.view(row, (1, row.size), (row.size, 1))
    narrow_enough = size <= 1 << 32
    return places_of(cast(row, WORD) if narrow_enough else row, False, max(1, (size - 1).bit_length()))


def _joined(kind: str, raw: DeviceArray, index: DeviceArray, values: DeviceArray) -> DeviceArray:
    """A copy of `raw` whose rows at index are joined with values in order; float16 and bfloat16 in float32."""
    result = copy(raw)
    if result.size and index.size:
        row_size = prod(raw.shape[1:])
        order, count = _order(index, raw.shape[0]), index.size * row_size
        runtime.launch_each(_join_kernel(kind, raw.element), count, count, flat(index), order.memory, flat(values),
                            result.memory, row_size, index.size)
    return result


def scatter_add(raw: DeviceArray, index: DeviceArray, values: DeviceArray) -> DeviceArray:
    """A copy of `raw` with values[j] added to row index[j], in the order of j; float16 and bfloat16 in float32."""
    return _joined("sum", raw, index, values)


# -------------------------------------------------------------------------------------------------------- sums of rows
@runtime.kernel
def _starts_kernel(count, index, order, starts, length):
    i = cuda.grid(1)
    while i < count:
        low, high = 0, length
        while low < high:
            middle = (low + high) // 2
            if index[order[middle]] < i:
                low = middle + 1
            else:
                high = middle
        starts[i] = low
        i += cuda.gridsize(1)


def segments(index: DeviceArray, size: int) -> tuple[Any, Any]:
    """The places that sort an index of positions below `size`, stably, and where each position's begin among them:
    size + 1 numbers, the last of which is how many places there are."""
    order, starts = _order(index, size), geometry.empty((size + 1,), INT64)
    runtime.launch_each(_starts_kernel, size + 1, size + 1, flat(index), order.memory, starts.memory, index.size)
    return order.memory, starts.memory


@cache
def _sum_kernel(dtype: np.dtype) -> Any:
    number = np.dtype(np.uint8) if dtype == BOOL else compute(dtype)
    load, store, combine, zero = widen_to(dtype, number), narrow(dtype), _combiner("sum", dtype, number), number.type(0)

    def sum_rows(count, order, starts, values, y, row_size):
        i = cuda.grid(1)
        while i < count:
            row = i // row_size
            column, j, stop = i - row * row_size, starts[row], starts[row + 1]
            total = zero
            while j < stop:
                total = combine(total, load(values[order[j] * row_size + column]))
                j += 1
            y[i] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(sum_rows)


def sum_rows(index: DeviceArray, values: DeviceArray, size: int) -> DeviceArray:
    """`scatter_add` to `size` rows of zeros, which are written only once."""
    shape = (size, *values.shape[index.ndim:])
    if values.size == 0:
        return full(shape, 0, values.element)
    result = geometry.empty(shape, values.element)
    runtime.launch_each(_sum_kernel(values.element), result.size, result.size, *segments(index, size), flat(values),
                        result.memory, prod(shape[1:]))
    return result


# ---------------------------------------------------------------------------------------------------- along an axis
@runtime.kernel
def _places_kernel(count, index, places, size, taken, inner):
    i = cuda.grid(1)
    while i < count:
        places[i] = (i // (taken * inner) * size + index[i]) * inner + i % inner
        i += cuda.gridsize(1)


def scatter_along(kind: str, raw: DeviceArray, index: DeviceArray, values: DeviceArray, axis: int) -> DeviceArray:
    """A copy whose elements at positions along an axis are joined with values in order: "set", "sum", "prod", "max"
    or "min"."""
    places = geometry.empty((index.size,), INT64)
    runtime.launch_each(_places_kernel, index.size, index.size, flat(index), places.memory, raw.shape[axis],
                        index.shape[axis], prod(raw.shape[axis + 1:]))
    line, given = _line(raw), _line(values)
    found = scatter(line, places, given) if kind == "set" else _joined(kind, line, places, given)
    return geometry.view(found, raw.shape, geometry.row_major(raw.shape))


def _line(raw: DeviceArray) -> DeviceArray:
    """All elements on one axis."""
    return geometry.view(contiguous(raw), (raw.size,), (1,))
