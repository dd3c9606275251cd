"""Access by masks: what they select, and putting it back. A scan of a mask says where each selected element goes; only
how many there are is read on the host, as the size of a result depends on it."""

from math import prod

import numpy as np

from ..dtypes import BOOL
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import cast, contiguous, flat, to_numpy
from .index import gather
from .runtime import cuda
from .scan import scan

INT64 = np.dtype(np.int64)


@runtime.kernel
def _places_kernel(count, mask, ends, places):
    i = cuda.grid(1)
    while i < count:
        if mask[i]:
            places[ends[i] - 1] = i
        i += cuda.gridsize(1)


def _ends(mask: DeviceArray) -> DeviceArray:
    """How many elements of a one-dimensional mask are true, each counted in."""
    return scan("sum", cast(mask, INT64), 0)


def places(mask: DeviceArray) -> DeviceArray:
    """The places of the true elements of a one-dimensional mask, int64."""
    if mask.size == 0:
        return geometry.empty((0,), INT64)
    ends = _ends(mask)
    result = geometry.empty((int(to_numpy(geometry.slice_view(ends, (-1,)))),), INT64)
    if result.size:
        runtime.launch_each(_places_kernel, mask.size, mask.size, flat(mask), ends.memory, result.memory)
    return result


def compress(mask: DeviceArray, raw: DeviceArray) -> DeviceArray:
    """Rows of `raw` where the bool `mask` (n,) holds."""
    return gather(raw, places(mask))


@runtime.kernel
def _expand_kernel(count, mask, ends, base, values, y, row_size):
    i = cuda.grid(1)
    while i < count:
        row = i // row_size
        if mask[row]:
            y[i] = values[(ends[row] - 1) * row_size + i - row * row_size]
        else:
            y[i] = base[i]
        i += cuda.gridsize(1)


def expand(mask: DeviceArray, base: DeviceArray, values: DeviceArray) -> DeviceArray:
    """A copy of `base` whose rows where the mask holds are those of `values`, in order."""
    result = geometry.empty(base.shape, base.element)
    if result.size:
        runtime.launch_each(_expand_kernel, result.size, result.size, flat(mask), _ends(mask).memory, flat(base),
                            flat(values), result.memory, prod(base.shape[1:]))
    return result


@runtime.kernel
def _along_kernel(count, found, along, size, inner):
    i = cuda.grid(1)
    while i < count:
        along[i] = found[i] // inner % size
        i += cuda.gridsize(1)


def nonzero(raw: DeviceArray) -> tuple[DeviceArray, ...]:
    """Indices of the elements that are not zero, one int64 array an axis, as numpy.nonzero."""
    mask = contiguous(raw if raw.element == BOOL else cast(raw, BOOL))
    found = places(geometry.view(mask, (mask.size,), (1,)))
    if raw.ndim < 2:
        return (found,)
    parts = tuple([geometry.empty(found.shape, INT64) for _ in raw.shape])
    for axis, part in enumerate(parts):
        runtime.launch_each(_along_kernel, found.size, found.size, found.memory, part.memory, raw.shape[axis],
                            prod(raw.shape[axis + 1:]))
    return parts
