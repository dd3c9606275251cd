"""Rules of movement: the hidden axis stays in front."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..shapes import Shape
from .device import Device, rule
from .raw import Batched, aligned, common, first, spread

WHOLE = slice(None)


@rule
def reshape(device: Device, x: Batched, shape: Shape) -> Batched:
    """Another shape of an example."""
    return device.kind(device.under.reshape(x.raw, (x.hidden, *shape)), x.level)


@rule
def permute(device: Device, x: Batched, axes: Shape) -> Batched:
    """Axes reordered."""
    return device.kind(device.under.permute(x.raw, (0, *[axis + 1 for axis in axes])), x.level)


@rule
def broadcast_to(device: Device, x: Batched, shape: Shape) -> Batched:
    """A larger shape."""
    return device.kind(device.under.broadcast_to(aligned(x, len(shape)), (x.hidden, *shape)), x.level)


@rule
def slice(device: Device, x: Batched, index: tuple) -> Batched:
    """Basic indexing."""
    return device.kind(device.under.slice(x.raw, (WHOLE, *index)), x.level)


@rule
def as_strided(device: Device, x: Batched, shape: Shape, strides: Shape) -> Batched:
    """Elements at strides in C order, from the first on."""
    under = device.under
    memory = under.copy(x.raw) if under.aliases else x.raw
    return device.kind(under.as_strided(memory, (x.hidden, *shape), (x.size, *strides)), x.level)


@rule
def reinterpret(device: Device, x: Batched, dtype: np.dtype) -> Batched:
    """The same bits as another dtype."""
    return device.kind(device.under.reinterpret(x.raw, dtype), x.level)


@rule
def concatenate(device: Device, parts: Sequence[Batched], axis: int) -> Batched:
    """Arrays one after the other."""
    size, level = common(parts)
    return device.kind(device.under.concatenate([spread(x, size) for x in parts], axis + 1), level)


@rule
def pad(device: Device, x: Batched, pairs: Sequence[tuple[int, int]], value: Any) -> Batched:
    """A constant around each axis."""
    return device.kind(device.under.pad(x.raw, ((0, 0), *pairs), value), x.level)


@rule
def put_slice(device: Device, x: Batched, index: tuple, value: Batched) -> Batched:
    """A copy whose indexed region is replaced."""
    under = device.under
    size, level = common((x, value))
    if any(isinstance(part, Batched) for part in index):
        return _put_at(device, x, index, value)
    base, new, place = spread(x, size), spread(value, size), (WHOLE, *index)
    if not under.aliases:
        return device.kind(under.put_slice(base, place, new), level)
    base = under.copy(base)
    under.assign(under.slice(base, place), new)
    return device.kind(base, level)


def _put_at(device: Device, x: Batched, index: tuple, value: Batched) -> Batched:
    """`put_slice` at an index with arrays, which are the same for every example: rows of the flat array."""
    under = device.under
    parts = tuple([np.asarray(under.to_numpy(first(part))) if isinstance(part, Batched) else part for part in index])
    places = np.arange(x.size).reshape(x.shape)[parts].reshape(-1)
    size, level = common((x, value))
    columns = [under.permute(under.reshape(spread(one, size), (size, prod(one.shape))), (1, 0)) for one in (x, value)]
    found = under.permute(under.scatter(columns[0], under.from_numpy(places), columns[1]), (1, 0))
    return device.kind(under.reshape(found, (size, *x.shape)), level)
