"""DeviceArray: flat device memory seen through a shape, element strides and an offset.

A view shares the memory and has its own, immutable, geometry; making one touches no memory and launches nothing.
"""

from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from . import runtime
from .scalars import storage

Shape = tuple[int, ...]


class DeviceDType:
    """The device's own name of a dtype. Compiled forms are kept by `raw.dtype`, which must differ between devices."""

    __slots__ = ("numpy",)

    def __init__(self, numpy: np.dtype) -> None:
        self.numpy = numpy

    def __repr__(self) -> str:
        return f"cuda {self.numpy}"


@cache
def device_dtype(dtype: np.dtype) -> DeviceDType:
    """The one object for a dtype."""
    return DeviceDType(dtype)


class DeviceArray:
    """A raw array on the GPU. `memory` is flat and of the storage dtype of `element`; strides count elements."""

    __slots__ = ("memory", "shape", "strides", "offset", "element", "size")

    def __init__(self, memory: Any, shape: Shape, strides: Shape, offset: int, element: np.dtype) -> None:
        self.memory, self.shape, self.strides, self.offset, self.element = memory, shape, strides, offset, element
        self.size = prod(shape)

    @property
    def dtype(self) -> DeviceDType:
        """The key of compiled forms; `element` is the numpy.dtype."""
        return device_dtype(self.element)

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.element.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Do the elements lie side by side in row-major order?"""
        return self.strides == row_major(self.shape) or is_row_major(self.shape, self.strides)

    @property
    def is_read_only(self) -> bool:
        """Was the memory borrowed from somebody who does not want it written?"""
        return self.memory.is_read_only

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, element={self.element}, strides={self.strides}, offset={self.offset})"


# ---------------------------------------------------------------------------------------------------- geometry
@lru_cache(maxsize=4096)
def row_major(shape: Shape) -> Shape:
    """Element strides of contiguous memory."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def is_row_major(shape: Shape, strides: Shape) -> bool:
    """Are these the strides of contiguous memory, whatever those of axes of size 1 are?"""
    if 0 in shape:
        return True
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def broadcast_strides(array: DeviceArray, shape: Shape) -> Shape:
    """The strides that read `array` as `shape`: 0 along axes that are stretched or new."""
    lead = len(shape) - array.ndim
    stretched = (stride if size == wanted else 0
                 for size, stride, wanted in zip(array.shape, array.strides, shape[lead:]))
    return (0,) * lead + tuple(stretched)


@lru_cache(maxsize=4096)
def collapse(shape: Shape, strides: tuple[Shape, ...]) -> tuple[Shape, tuple[Shape, ...]]:
    """Fewest axes that walk the same elements in the same order, for all operands at once."""
    kept = [axis for axis, size in enumerate(shape) if size != 1]
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis in reversed(kept):
        mergeable = sizes and all(own[axis] == new[-1] * sizes[-1] for own, new in zip(strides, steps))
        if mergeable:
            sizes[-1] *= shape[axis]
        else:
            sizes.append(shape[axis])
            for own, new in zip(strides, steps):
                new.append(own[axis])
    return tuple(reversed(sizes)), tuple(tuple(reversed(new)) for new in steps)


# ---------------------------------------------------------------------------------------------- memory and hosts
@lru_cache(maxsize=4096)
def _layout(shape: Shape, dtype: np.dtype) -> tuple[int, np.dtype, Shape]:
    """How many elements, of what in memory, and their strides."""
    return prod(shape), storage(dtype), row_major(shape)


def empty(shape: Shape, dtype: np.dtype) -> DeviceArray:
    """Uninitialised memory."""
    shape = tuple(shape)
    count, stored, strides = _layout(shape, dtype)
    return DeviceArray(runtime.allocate(count, stored), shape, strides, 0, dtype)


def from_numpy(array: np.ndarray) -> DeviceArray:
    """A copy of a host array on the device."""
    flat = np.ascontiguousarray(array).reshape(-1)
    memory = runtime.upload(flat.view(storage(array.dtype)))
    return DeviceArray(memory, array.shape, row_major(array.shape), 0, array.dtype)


def download(array: DeviceArray) -> np.ndarray:
    """A contiguous array on the host."""
    if array.size == 0:
        return np.empty(array.shape, array.element)
    return runtime.download(flat(array)).view(array.element).reshape(array.shape)


def address(array: DeviceArray) -> int:
    """Where the first element lies on the device."""
    return runtime.address(array.memory) + array.offset * array.element.itemsize


def flat(array: DeviceArray) -> Any:
    """The memory of exactly the elements of a contiguous array, as kernels take it."""
    if array.size == array.memory.size or array.size == 0:
        return array.memory
    return array.memory[array.offset:array.offset + array.size]


# ------------------------------------------------------------------------------------------------------- views
def view(array: DeviceArray, shape: Shape, strides: Shape, offset: int | None = None) -> DeviceArray:
    """The same memory through another geometry."""
    return DeviceArray(array.memory, shape, strides, array.offset if offset is None else offset, array.element)


def permute(array: DeviceArray, axes: Shape) -> DeviceArray:
    """Axes reordered: a view."""
    return view(array, tuple(array.shape[a] for a in axes), tuple(array.strides[a] for a in axes))


def broadcast_to(array: DeviceArray, shape: Shape) -> DeviceArray:
    """Stretched to `shape`: a view that must not be written."""
    return view(array, tuple(shape), broadcast_strides(array, tuple(shape)))


def reshape_view(array: DeviceArray, shape: Shape) -> DeviceArray | None:
    """The elements in another shape where strides allow it (NumPy's rule), else None."""
    if array.is_contiguous:
        return view(array, shape, row_major(shape))
    strided = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), array.shape, array.strides)
    try:
        return view(array, shape, strided.reshape(shape, copy=False).strides)
    except ValueError:
        return None


def slice_view(array: DeviceArray, index: tuple) -> DeviceArray:
    """Basic indexing: a view. `index` holds integers, slices, None and at most one Ellipsis."""
    used = sum(item is not None and item is not Ellipsis for item in index)
    if Ellipsis not in index:
        index = (*index, Ellipsis)
    shape: list[int] = []
    strides: list[int] = []
    offset, axis = array.offset, 0
    for item in index:
        if item is None:
            shape.append(1)
            strides.append(0)
        elif item is Ellipsis:
            stop = axis + array.ndim - used
            shape += array.shape[axis:stop]
            strides += array.strides[axis:stop]
            axis = stop
        elif isinstance(item, slice):
            picked = range(array.shape[axis])[item]
            offset += picked.start * array.strides[axis] if len(picked) else 0
            shape.append(len(picked))
            strides.append(array.strides[axis] * picked.step)
            axis += 1
        else:
            offset += (int(item) + (array.shape[axis] if item < 0 else 0)) * array.strides[axis]
            axis += 1
    return view(array, tuple(shape), tuple(strides), offset)


def as_strided(array: DeviceArray, shape: Shape, strides: Shape) -> DeviceArray:
    """A view from the first element on, at strides in elements."""
    return view(array, tuple(shape), tuple(strides))


def reinterpret(array: DeviceArray, dtype: np.dtype) -> DeviceArray:
    """The same bits as another dtype, a view: one of another size divides or joins elements of the last axis."""
    old, new = array.element.itemsize, dtype.itemsize
    shape = (*array.shape[:-1], array.shape[-1] * old // new) if array.shape else ()
    last = array.strides[-1:] if old == new else (1,) * len(shape[-1:])        # one element has any stride
    strides = (*[stride * old // new for stride in array.strides[:-1]], *last)
    return DeviceArray(array.memory.view(storage(dtype)), shape, strides, array.offset * old // new, dtype)
