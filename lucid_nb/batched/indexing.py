"""Rules of access by positions. Those that differ between examples count from the front and are in range."""

from typing import Any

import numpy as np

from ..backend import Unbatchable
from ..op import registry
from .device import Device, rule
from .raw import Batched, common, first, spread


@rule
def gather(device: Device, x: Batched, index: Batched, axis: int = 0) -> Batched:
    """Slices along an axis: of every example at the same positions, of the same array at different ones, or both."""
    under = device.under
    size, level = common((x, index))
    if index.hidden == 1:
        return device.kind(under.gather(x.raw, first(index), axis + 1), level)
    if x.hidden == 1:
        found = under.gather(first(x), index.raw, axis)
        return device.kind(_to_front(device, found, axis), level)
    rows = under.permute(x.raw, (0, axis + 1, *[other for other in range(1, x.ndim + 1) if other != axis + 1]))
    found = under.gather(_joined(device, rows, 2), _places(device, index, size, x.shape[axis]), 0)
    if axis:
        count = len(index.shape)
        rest = range(1 + count, 1 + count + axis)
        found = under.permute(found, (0, *rest, *range(1, 1 + count), *range(1 + count + axis, len(found.shape))))
    return device.kind(found, level)


def _to_front(device: Device, found: Any, axis: int) -> Any:
    """The axis of examples first."""
    order = (axis, *[other for other in range(len(found.shape)) if other != axis])
    return device.under.permute(found, order) if axis else found


def _joined(device: Device, memory: Any, count: int) -> Any:
    """The first axes as one."""
    shape = tuple(memory.shape)
    joined = 1
    for size in shape[:count]:
        joined *= size
    return device.under.reshape(memory, (joined, *shape[count:]))


def _places(device: Device, index: Batched, size: int, rows: int) -> Any:
    """Positions in the rows of all examples one after the other."""
    under = device.under
    starts = (np.arange(size) * rows).reshape((size, *(1,) * len(index.shape)))
    return registry["add"].run((index.raw, under.from_numpy(starts)))


def _scattered(device: Device, entry: str, x: Batched, index: Batched, values: Batched) -> Batched:
    """Rows replaced or added to, in the rows of all examples one after the other."""
    under = device.under
    size, level = common((x, index, values))
    places = _places(device, index, size, x.shape[0])
    found = getattr(under, entry)(_joined(device, spread(x, size), 2), places, spread(values, size))
    return device.kind(under.reshape(found, (size, *x.shape)), level)


@rule
def scatter(device: Device, x: Batched, index: Batched, values: Batched) -> Batched:
    """Rows replaced; the last of equal indices wins."""
    return _scattered(device, "scatter", x, index, values)


@rule
def scatter_add(device: Device, x: Batched, index: Batched, values: Batched) -> Batched:
    """Rows added to, in the order of the index."""
    return _scattered(device, "scatter_add", x, index, values)


@rule
def compress(device: Device, mask: Batched, x: Batched) -> Batched:
    """Rows where a mask holds, which must be the same for every example: otherwise their number differs."""
    if mask.hidden != 1:
        raise Unbatchable(mask.level)
    under = device.under
    order = (1, 0, *range(2, len(x.raw.shape)))
    found = under.compress(first(mask), under.permute(x.raw, order))
    return device.kind(under.permute(found, order), x.level)


@rule
def expand(device: Device, mask: Batched, base: Batched, values: Batched) -> Batched:
    """A copy of a one-dimensional array in which values stand, in order, where a mask holds."""
    if mask.hidden != 1:
        raise Unbatchable(mask.level)
    (places,) = device.under.nonzero(first(mask))
    index = device.kind(device.under.reshape(places, (1, *places.shape)), mask.level)
    return scatter(device, base, index, values)
