"""Reading rows by an integer index, and elements by their position along an axis."""

from math import prod

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import copy, flat
from .runtime import cuda

INT64 = np.dtype(np.int64)


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
    runtime.launch_each(_gather_kernel, result.size, result.size, flat(raw), flat(index), result.memory,
                        prod(raw.shape[1:]))
    return result


@runtime.kernel
def _take_kernel(count, x, index, y, size, taken, inner):
    i = cuda.grid(1)
    while i < count:
        outer = i // (taken * inner)
        y[i] = x[(outer * size + index[i]) * inner + i % inner]
        i += cuda.gridsize(1)


def take_along(raw: DeviceArray, index: DeviceArray, axis: int) -> DeviceArray:
    """Elements by their position along an axis; `index` has the extents of raw but for the axis."""
    result = geometry.empty(index.shape, raw.element)
    runtime.launch_each(_take_kernel, result.size, result.size, flat(raw), flat(index), result.memory, raw.shape[axis],
                        index.shape[axis], prod(raw.shape[axis + 1:]))
    return result
