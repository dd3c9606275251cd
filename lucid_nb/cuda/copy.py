"""Copies: casts, contiguous forms, writes into views, fills, ranges, and the movements made of them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import BOOL
from ..program import Program, Step
from . import array as geometry
from . import runtime
from .array import DeviceArray, Shape
from .elementwise import Kernels, kernels
from .runtime import cuda
from .scalars import compute, narrow


@cache
def _cast(source: np.dtype, target: np.dtype) -> Kernels:
    """One load and one store."""
    return kernels(Program((source.name,), (Step("input", (), compute(source).name, 0),), (0,), (target.name,)))


def assign(target: DeviceArray, source: DeviceArray) -> None:
    """Write `source`, which broadcasts, into the view `target`; they may overlap."""
    if source.memory.shares(target.memory):
        source = copy(source)
    _cast(source.element, target.element).run(target.shape, [source, target])


def cast(raw: DeviceArray, dtype: np.dtype) -> DeviceArray:
    """Another dtype, by NumPy's rules of astype; fresh memory. Floats that do not fit an integer wrap."""
    result = geometry.empty(raw.shape, dtype)
    assign(result, raw)
    return result


def copy(raw: DeviceArray) -> DeviceArray:
    """Fresh contiguous memory."""
    return cast(raw, raw.element)


def contiguous(raw: DeviceArray) -> DeviceArray:
    """The array itself where it is contiguous, else a copy."""
    return raw if raw.is_contiguous else copy(raw)


def flat(raw: DeviceArray) -> Any:
    """The elements as flat memory, copied only where they do not lie so."""
    return geometry.flat(contiguous(raw))


def to_numpy(raw: DeviceArray) -> np.ndarray:
    """A copy on the host."""
    return geometry.download(contiguous(raw))


def real(raw: DeviceArray) -> DeviceArray:
    """The real parts of a complex array: a view."""
    part = raw.element.type(0).real.dtype
    strides = tuple(2 * stride for stride in raw.strides)
    return DeviceArray(raw.memory.view(part), raw.shape, strides, 2 * raw.offset, part)


@cache
def _conjugate(dtype: np.dtype) -> Kernels:
    steps = (Step("input", (), dtype.name, 0), Step("conjugate", (0,), dtype.name))
    return kernels(Program((dtype.name,), steps, (1,), (dtype.name,)))


def conjugate(raw: DeviceArray) -> DeviceArray:
    """Complex conjugates."""
    result = geometry.empty(raw.shape, raw.element)
    _conjugate(raw.element).run(raw.shape, [raw, result])
    return result


# ------------------------------------------------------------------------------------------------------- sources
@cache
def _fill_kernel(dtype: np.dtype) -> Any:
    store = narrow(dtype)

    def fill(count, y, value):
        i = cuda.grid(1)
        while i < count:
            y[i] = store(value)
            i += cuda.gridsize(1)
    return runtime.kernel(fill)


def full(shape: Shape, value: Any, dtype: np.dtype) -> DeviceArray:
    """Every element `value`."""
    result = geometry.empty(shape, dtype)
    if result.size:
        # A bool travels as a byte: launches take numbers.
        number = np.dtype(np.uint8) if dtype == BOOL else compute(dtype)
        scalar = np.asarray(value).astype(dtype).astype(number)[()]
        blocks = runtime.grid(runtime.ceil_div(result.size, runtime.THREADS))
        runtime.launch(_fill_kernel(dtype), blocks, runtime.THREADS, result.size, result.memory, scalar)
    return result


@cache
def _iota_kernel(dtype: np.dtype) -> Any:
    store, number = narrow(dtype), compute(dtype).type

    def iota(count, y, start, step):
        i = cuda.grid(1)
        while i < count:
            y[i] = store(number(start + number(number(i) * step)))
            i += cuda.gridsize(1)
    return runtime.kernel(iota)


def iota(start: Any, step: Any, count: int, dtype: np.dtype) -> DeviceArray:
    """start + i * step, computed in the compute dtype from the first two elements as numpy.arange does."""
    result = geometry.empty((count,), dtype)
    if count:
        pair = np.asarray([start, start + step]).astype(dtype).astype(compute(dtype))
        step = (pair[1:] - pair[:1])[0]      # as arrays, whose integers wrap silently
        blocks = runtime.grid(runtime.ceil_div(count, runtime.THREADS))
        runtime.launch(_iota_kernel(dtype), blocks, runtime.THREADS, count, result.memory, pair[0], step)
    return result


# ----------------------------------------------------------------------------------------------------- movements
def reshape(raw: DeviceArray, shape: Shape) -> DeviceArray:
    """Another shape: a view where NumPy would give one, else a copy."""
    shape = tuple(shape)
    found = geometry.reshape_view(raw, shape)
    return geometry.view(copy(raw), shape, geometry.row_major(shape), 0) if found is None else found


def concatenate(raws: Sequence[DeviceArray], axis: int) -> DeviceArray:
    """Arrays of one dtype side by side along `axis`."""
    shape = list(raws[0].shape)
    shape[axis] = sum(raw.shape[axis] for raw in raws)
    result = geometry.empty(tuple(shape), raws[0].element)
    start = 0
    for raw in raws:
        stop = start + raw.shape[axis]
        assign(geometry.slice_view(result, (slice(None),) * axis + (slice(start, stop),)), raw)
        start = stop
    return result


def pad(raw: DeviceArray, pairs: Sequence[tuple[int, int]], value: Any) -> DeviceArray:
    """`value` around the array: pairs[axis] = (before, after)."""
    shape = tuple(low + size + high for size, (low, high) in zip(raw.shape, pairs))
    result = full(shape, value, raw.element)
    inner = tuple(slice(low, low + size) for size, (low, _) in zip(raw.shape, pairs))
    assign(geometry.slice_view(result, inner), raw)
    return result


def repeat(raw: DeviceArray, counts: int | np.ndarray, axis: int) -> DeviceArray:
    """Each element of an axis so many times; numbers of their own are brought together run by run."""
    outer, inner = raw.shape[:axis], raw.shape[axis + 1:]
    if isinstance(counts, int):
        wide = geometry.broadcast_to(reshape(raw, (*outer, raw.shape[axis], 1, *inner)),
                                     (*outer, raw.shape[axis], counts, *inner))
        return reshape(copy(wide), (*outer, raw.shape[axis] * counts, *inner))
    result = geometry.empty((*outer, int(counts.sum()), *inner), raw.element)
    before, start = (slice(None),) * axis, 0
    for place, count in enumerate(counts.tolist()):
        assign(geometry.slice_view(result, (*before, slice(start, start + count))),
               geometry.slice_view(raw, (*before, slice(place, place + 1))))
        start += count
    return result
