"""Rules of memory and of maps."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ..backend import Unbatchable
from ..op import is_large
from ..program import Program
from ..shapes import Shape
from .device import Device, rule
from .parting import in_two, kernels_apart
from .raw import Batched, aligned, common


def _same_for_all(device: Device, found: Any) -> Batched:
    """A new array of the device below as a constant, which is the same for the examples of any level."""
    return device.kind(device.under.reshape(found, (1, *found.shape)), None)


@rule
def dtype_of(device: Device, x: Batched) -> np.dtype:
    """The dtype, as NumPy calls it."""
    key = x.dtype
    if key.dtype is None:
        key.dtype = device.under.dtype_of(x.raw)
    return key.dtype


@rule
def from_numpy(device: Device, array: np.ndarray) -> Batched:
    """An array that is the same for every example."""
    return _same_for_all(device, device.under.from_numpy(np.asarray(array)))


@rule
def to_numpy(device: Device, x: Batched) -> np.ndarray:
    """The content, where it is the same for every example."""
    if x.hidden != 1:
        raise Unbatchable(x.level)
    found: np.ndarray = np.asarray(device.under.to_numpy(x.raw))[0, ...]
    return found


@rule
def empty(device: Device, shape: Shape, dtype: np.dtype) -> Batched:
    """Memory with any content."""
    return _same_for_all(device, device.under.empty(shape, dtype))


@rule
def full(device: Device, shape: Shape, value: Any, dtype: np.dtype) -> Batched:
    """Memory filled with a value."""
    return _same_for_all(device, device.under.full(shape, value, dtype))


@rule
def iota(device: Device, start: Any, step: Any, count: int, dtype: np.dtype) -> Batched:
    """start, start + step, ..."""
    return _same_for_all(device, device.under.iota(start, step, count, dtype))


@rule
def cast(device: Device, x: Batched, dtype: np.dtype) -> Batched:
    """Another dtype."""
    return device.kind(device.under.cast(x.raw, dtype), x.level)


@rule
def copy(device: Device, x: Batched) -> Batched:
    """Memory of its own."""
    return device.kind(device.under.copy(x.raw), x.level)


@rule
def synchronize(device: Device) -> None:
    """Wait for the device below."""
    device.under.synchronize()


def by_size(kernel: Any) -> Callable[..., Any]:
    """The kernel for large results where they are, otherwise the one for small ones."""
    small, large = getattr(kernel, "small", kernel), getattr(kernel, "large", kernel)
    return small if small is large else lambda *raws: (large if is_large(raws) else small)(*raws)


@rule
def map(device: Device, program: Program, name: str) -> Any:
    """The kernel of the device below; examples with fewer axes get axes of size 1 behind the hidden one."""
    kernel, kind = by_size(device.under.map(program, name)), device.kind
    apart = cache(partial(kernels_apart, lambda *what: by_size(device.under.map(*what)), program, name))

    def call(*raws: Batched) -> Any:
        level = common(raws)[1]
        ndim = max([len(x.shape) for x in raws])
        below = [x.raw if len(x.shape) == ndim else aligned(x, ndim) for x in raws]
        if len(below) == 2 and below[0].shape != below[1].shape and len(program.outputs) == 1:
            found = in_two(below, apart)
            if found is not None:
                return kind(found, level)
        found = kernel(*below)
        return tuple([kind(one, level) for one in found]) if type(found) is tuple else kind(found, level)
    return call
