"""Reading and writing rows by integer or boolean index. Repeated indices give the same bits on every run.

What needs a count or an order first goes through the host, once, and says so: `compress`, `expand`, `nonzero`,
`scatter_add`, and what reads or writes along an axis.
"""

from functools import cache
from math import prod
from typing import Any

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray, from_numpy
from .copy import copy, flat, full, reshape, to_numpy
from .runtime import cuda
from .scalars import compute, narrow, widen_to

INT64 = np.dtype(np.int64)


def _launch(kernel: Any, count: int, *arguments: Any) -> None:
    """One thread an element, where there is any."""
    if count:
        runtime.launch(kernel, runtime.grid(runtime.ceil_div(count, runtime.THREADS)), runtime.THREADS, count,
                       *arguments)


@runtime.kernel
def _gather_kernel(count, x, index, y, row_size):
    i = cuda.grid(1)
    while i < count:
        row = i // row_size
        y[i] = x[index[row] * row_size + i - row * row_size]
        i += cuda.gridsize(1)


def gather(raw: DeviceArray, index: DeviceArray, axis: int = 0) -> DeviceArray:
    """Slices along an axis by an int64 index of any shape, which stands in the place of the axis."""
    if axis:
        front = gather(geometry.permute(raw, (axis, *range(axis), *range(axis + 1, raw.ndim))), index)
        before = range(index.ndim, index.ndim + axis)
        return copy(geometry.permute(front, (*before, *range(index.ndim), *range(index.ndim + axis, front.ndim))))
    result = geometry.empty(index.shape + raw.shape[1:], raw.element)
    _launch(_gather_kernel, result.size, flat(raw), flat(index), result.memory, prod(raw.shape[1:]))
    return result


def _places_along(index: DeviceArray, shape: tuple[int, ...], axis: int) -> DeviceArray:
    """Where positions along an axis lie in the flat array, found on the host."""
    places = list(np.indices(index.shape, sparse=True))
    places[axis] = to_numpy(index)
    flat_places = np.ravel_multi_index(tuple(np.broadcast_arrays(*places)), shape) if index.size else places[axis]
    return from_numpy(flat_places.astype(np.int64).reshape(-1))


def take_along(raw: DeviceArray, index: DeviceArray, axis: int) -> DeviceArray:
    """Elements by their position along an axis."""
    found = gather(reshape(copy(raw), (raw.size,)), _places_along(index, raw.shape, axis))
    return reshape(found, index.shape)


def scatter_along(kind: str, raw: DeviceArray, index: DeviceArray, values: DeviceArray, axis: int) -> DeviceArray:
    """A copy whose elements at positions along an axis are joined with values in order: "set", "sum", "prod", "max"
    or "min", the last three on the host."""
    places = _places_along(index, raw.shape, axis)
    if kind in ("set", "sum"):
        entry = scatter if kind == "set" else scatter_add
        return reshape(entry(reshape(copy(raw), (raw.size,)), places, reshape(copy(values), (values.size,))), raw.shape)
    wide = np.dtype(np.float32) if raw.element.itemsize == 2 and raw.element.kind in "fV" else raw.element
    target = to_numpy(raw).astype(wide).reshape(-1)
    join = {"prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    join.at(target, to_numpy(places), to_numpy(values).astype(wide).reshape(-1))
    return from_numpy(target.astype(raw.element).reshape(raw.shape))


def expand(mask: DeviceArray, base: DeviceArray, values: DeviceArray) -> DeviceArray:
    """A copy of a one-dimensional array in which the values stand, in order, where the mask holds; read on the host."""
    return scatter(base, from_numpy(np.flatnonzero(to_numpy(mask)).astype(np.int64)), values)


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
        _launch(_last_writer_kernel, index.size, flat(index), writer.memory)
        _launch(_write_rows_kernel, result.size, writer.memory, flat(values), result.memory, prod(raw.shape[1:]))
    return result


@cache
def _add_rows_kernel(dtype: np.dtype) -> Any:
    load, store, number = widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type

    def add_rows(count, rows, starts, order, values, y, row_size):
        i = cuda.grid(1)
        while i < count:
            segment = i // row_size
            column = i - segment * row_size
            total = number(0)
            for j in range(starts[segment], starts[segment + 1]):
                total += load(values[order[j] * row_size + column])
            at = rows[segment] * row_size + column
            y[at] = store(load(y[at]) + total)
            i += cuda.gridsize(1)
    return runtime.kernel(add_rows)


def scatter_add(raw: DeviceArray, index: DeviceArray, values: DeviceArray) -> DeviceArray:
    """A copy of `raw` with values[j] added to row index[j].

    The index is sorted on the host (a copy there and back); then each element of a written row is one thread, which
    adds in the order of j, float16 and bfloat16 in float32.
    """
    result = copy(raw)
    if result.size and index.size:
        host = to_numpy(index).reshape(-1)
        order = np.argsort(host, kind="stable")
        rows, first = np.unique(host[order], return_index=True)
        starts = np.append(first, host.size)
        row_size = prod(raw.shape[1:])
        parts = [flat(from_numpy(part.astype(np.int64))) for part in (rows, starts, order)]
        _launch(_add_rows_kernel(raw.element), rows.size * row_size, *parts, flat(values), result.memory, row_size)
    return result


def compress(mask: DeviceArray, raw: DeviceArray) -> DeviceArray:
    """Rows of `raw` where the bool `mask` (n,) holds. The mask is read on the host: the size depends on it."""
    return gather(raw, from_numpy(np.flatnonzero(to_numpy(mask)).astype(np.int64)))


def nonzero(mask: DeviceArray) -> tuple[DeviceArray, ...]:
    """Indices of the true elements, one int64 array an axis, as numpy.nonzero. Found on the host."""
    return tuple(from_numpy(places.astype(np.int64)) for places in np.nonzero(to_numpy(mask)))
