"""Writing rows by integer index, and elements by their position along an axis. Repeated indices give the same bits on
every run."""

from functools import cache
from math import prod

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import contiguous, copy, flat, full
from .places import fitting
from .runs import Join, combiner, join, number_of
from .runtime import cuda, inline
from .scalars import narrow, widen_to

INT64 = np.dtype(np.int64)


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
@cache
def _rows_joined(kind: str, dtype: np.dtype) -> Join:
    """How rows are joined; float16 and bfloat16 in float32."""
    number = number_of(dtype)
    load, memory = widen_to(dtype, number), np.uint64

    def term(values, _, at, column, extents):
        return load(values[memory(at * extents[0] + column)])

    def place(target, column, extents):
        return target * extents[0] + column
    return Join(number, *combiner(kind, dtype), inline(term), inline(place), load, narrow(dtype), True)


def _join_into(result: DeviceArray, kind: str, index: DeviceArray, values: DeviceArray) -> DeviceArray:
    """Rows of the result, which is contiguous, at index joined with values in order."""
    if result.size and index.size:
        columns, given = prod(result.shape[1:]), flat(values)
        join(_rows_joined(kind, result.element), fitting(max(values.size, result.size)), index, result.shape[0],
             (given, given), result.memory, columns, (columns,))
    return result


def scatter_add(raw: DeviceArray, index: DeviceArray, values: DeviceArray) -> DeviceArray:
    """A copy of `raw` with values[j] added to row index[j], in the order of j; float16 and bfloat16 in float32.

    What many add to one row is summed in pieces, which are added in order.
    """
    return _join_into(copy(raw), "sum", index, values)


def sum_rows(index: DeviceArray, values: DeviceArray, size: int) -> DeviceArray:
    """`scatter_add` to `size` rows of zeros."""
    return _join_into(full((size, *values.shape[index.ndim:]), 0, values.element), "sum", index, values)


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
    found = scatter(line, places, given) if kind == "set" else _join_into(copy(line), kind, places, given)
    return geometry.view(found, raw.shape, geometry.row_major(raw.shape))


def _line(raw: DeviceArray) -> DeviceArray:
    """All elements on one axis."""
    return geometry.view(contiguous(raw), (raw.size,), (1,))
