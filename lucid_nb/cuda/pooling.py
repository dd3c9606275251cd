"""Maxima and averages of windows over the last axes of an array, and their gradients: a thread for each result.

In gradients each cell gathers from the windows that have it, in their order: no two threads write one place, so the
bits are the same every time. float16 and bfloat16 compute in float32.
"""

from functools import cache
from typing import Any

import numpy as np

from ..dtypes import BOOL
from ..shapes import Shape
from ..windows import Axis
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import contiguous, flat
from .places import Places
from .reduce import add, arg_reduce, block_merge, launch_slices
from .runtime import BLOCK, cuda, inline, shared_memory
from .scalars import compute, narrow, widen_to
from .windows import Windows, counter_of, finder_of, windows_of

Axes = tuple[Axis, ...]
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _lead(shape: Shape, axes: Axes) -> Shape:
    """The axes before the spatial ones."""
    return shape[:len(shape) - len(axes)]


def _launch(kernel: Any, windows: Windows, count: int, *operands: Any) -> None:
    """Run a kernel(count, *operands, depth, height, width) whose threads walk over `count` pieces."""
    runtime.launch_each(kernel, count, *windows.places.of(count), *operands, *windows.numbers)


# --------------------------------------------------------------------------------------------------------- maxima
@inline
def _is_later(value, best):
    """Does an element take the place of one before it: greater, or the first NaN?"""
    return (value > best or value != value) and best == best


@cache
def _max_kernel(dtype: np.dtype, place: np.dtype, places: Places) -> Any:
    load = widen_to(dtype, np.dtype(np.uint8) if dtype == BOOL else compute(dtype))
    integer, split, cells, _ = finder_of(places)
    memory, store = np.uint64, place.type

    def max_pool(count, x, values, places, depth, height, width):
        i = integer(cuda.grid(1))
        while i < count:
            plane, at_d, at_h, at_w = split(i, depth[6], height[6], width[6])
            d, d_stop = cells(at_d, depth)
            h_first, h_stop = cells(at_h, height)
            w_first, w_stop = cells(at_w, width)
            base = integer(plane * (depth[0] * height[0] * width[0]))
            found = integer((d * height[0] + h_first) * width[0] + w_first)
            best = load(x[memory(base + found)])
            while d < d_stop:
                h = h_first
                while h < h_stop:
                    line = integer((d * height[0] + h) * width[0])
                    w = w_first
                    while w < w_stop:
                        value = load(x[memory(base + line + w)])
                        if _is_later(value, best):
                            best, found = value, integer(line + w)
                        w = integer(w + width[5])
                    h = integer(h + height[5])
                d = integer(d + depth[5])
            values[memory(i)] = x[memory(base + found)]
            places[memory(i)] = store(found)
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(max_pool)


@cache
def _read_kernel(place: np.dtype) -> Any:
    store = place.type

    def read_maxima(count, x, found, values, places, size):
        i = cuda.grid(1)
        while i < count:
            values[i] = x[i * size + found[i]]
            places[i] = store(found[i])
            i += cuda.gridsize(1)
    return runtime.kernel(read_maxima)


def max_pool(x: DeviceArray, axes: Axes) -> tuple[DeviceArray, DeviceArray]:
    """Maxima of windows over the last axes, and where in the flat plane of these axes they are (int32; int64 where it
    has more cells). NaN wins; the first of equals counts."""
    lead = _lead(x.shape, axes)
    windows, shape = windows_of(lead, axes), (*lead, *(axis.results for axis in axes))
    place = INT32 if windows.size < 2 ** 31 else INT64
    values, places = geometry.empty(shape, x.element), geometry.empty(shape, place)
    if windows.is_whole and values.size:
        planes = (windows.planes, windows.size)
        found = arg_reduce("max", geometry.view(contiguous(x), planes, geometry.row_major(planes)), 1, False)
        runtime.launch_each(_read_kernel(place), values.size, values.size, flat(x), found.memory, values.memory,
                            places.memory, windows.size)
    else:
        _launch(_max_kernel(x.element, place, windows.places), windows, values.size, flat(x), values.memory,
                places.memory)
    return values, places


@cache
def _max_grad_kernel(dtype: np.dtype, places: Places) -> Any:
    load, store, zero = widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type(0)
    integer, split, _, windows = finder_of(places)
    memory = np.uint64

    def max_pool_grad(count, g, places, dx, depth, height, width):
        i = integer(cuda.grid(1))
        while i < count:
            plane, at_d, at_h, at_w = split(i, depth[0], height[0], width[0])
            d, d_stop = windows(at_d, depth)
            h_first, h_stop = windows(at_h, height)
            w_first, w_stop = windows(at_w, width)
            cell = integer(i - plane * (depth[0] * height[0] * width[0]))
            total = zero
            while d < d_stop:
                h = h_first
                while h < h_stop:
                    line = integer(((plane * depth[6] + d) * height[6] + h) * width[6])
                    w = w_first
                    while w < w_stop:
                        if places[memory(line + w)] == cell:
                            total += load(g[memory(line + w)])
                        w = integer(w + 1)
                    h = integer(h + 1)
                d = integer(d + 1)
            dx[memory(i)] = store(total)
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(max_pool_grad)


def max_pool_grad(g: DeviceArray, places: DeviceArray, axes: Axes) -> DeviceArray:
    """Zeros over the last axes to which each element of g is added at its place, which `max_pool` gave."""
    lead = _lead(g.shape, axes)
    windows, result = windows_of(lead, axes), geometry.empty((*lead, *(axis.size for axis in axes)), g.element)
    _launch(_max_grad_kernel(g.element, windows.places), windows, result.size, flat(g), flat(places), result.memory)
    return result


# ------------------------------------------------------------------------------------------------------- averages
@cache
def _divisor(dtype: np.dtype, places: Places, includes_padding: bool, is_given: bool) -> Any:
    """What the sum of a window is divided by: a number that is given, or how many cells it has."""
    cast, count = compute(dtype).type, counter_of(places, includes_padding)

    def divisor(given, at_d, at_h, at_w, depth, height, width):
        if is_given:
            return given
        return cast(count(at_d, depth)) * cast(count(at_h, height)) * cast(count(at_w, width))
    return inline(divisor)


@cache
def _average_kernel(dtype: np.dtype, places: Places, includes_padding: bool, is_given: bool, is_gradient: bool) -> Any:
    """The kernel of windows, each the sum of its cells over their number; in the gradient of cells, each the sum of its
    windows, over the number of cells of each."""
    load, store, zero = widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type(0)
    integer, split, cells, windows = finder_of(places)
    find, of_results, of_terms = (windows, 0, 6) if is_gradient else (cells, 6, 0)
    divisor_of, memory = _divisor(dtype, places, includes_padding, is_given), np.uint64

    def average(count, x, y, divisor, depth, height, width):
        i = integer(cuda.grid(1))
        while i < count:
            plane, at_d, at_h, at_w = split(i, depth[of_results], height[of_results], width[of_results])
            d, d_stop = find(at_d, depth)
            h_first, h_stop = find(at_h, height)
            w_first, w_stop = find(at_w, width)
            total = zero
            while d < d_stop:
                h = h_first
                while h < h_stop:
                    line = integer(((plane * depth[of_terms] + d) * height[of_terms] + h) * width[of_terms])
                    w = w_first
                    while w < w_stop:
                        value = load(x[memory(line + w)])
                        if is_gradient:
                            value /= divisor_of(divisor, d, h, w, depth, height, width)
                        total += value
                        w = integer(w + 1)
                    h = integer(h + 1)
                d = integer(d + 1)
            if not is_gradient:
                total /= divisor_of(divisor, at_d, at_h, at_w, depth, height, width)
            y[memory(i)] = store(total)
            i = integer(i + cuda.gridsize(1))
    # Divisions of float64 take registers that others would have to be spilled for.
    is_bound = is_gradient and compute(dtype).itemsize == 4
    return runtime.kernel(average, (runtime.THREADS, 5) if is_bound else None)


@cache
def _whole_kernel(dtype: np.dtype) -> Any:
    """The kernel of windows that are whole planes: a block for each."""
    number, block_sum = compute(dtype), block_merge(add)
    load, store, zero, memory = widen_to(dtype, number), narrow(dtype), number.type(0), shared_memory(BLOCK, number)

    def average_planes(x, y, divisor, planes, size, inner):
        shared, plane, lane = memory(), cuda.blockIdx.x, cuda.threadIdx.y
        while plane < planes:
            total = zero
            for k in range(lane, size, cuda.blockDim.y):
                total += load(x[plane * size + k])
            total = block_sum(shared, total)
            if lane == 0:
                y[plane] = store(total / divisor)
            plane += cuda.gridDim.x
    return runtime.kernel(average_planes)


def avg_pool(x: DeviceArray, axes: Axes, include_padding: bool, divisor: float | None) -> DeviceArray:
    """Sums of windows over the last axes, divided by the divisor, or by how many cells they have, which may include
    padding."""
    lead, number = _lead(x.shape, axes), compute(x.element).type
    windows, result = windows_of(lead, axes), geometry.empty((*lead, *(axis.results for axis in axes)), x.element)
    if windows.is_whole and result.size:
        given = number(windows.size if divisor is None else divisor)
        launch_slices(_whole_kernel(x.element), (windows.planes, windows.size, 1), flat(x), result.memory, given)
        return result
    kernel = _average_kernel(x.element, windows.places, include_padding, divisor is not None, False)
    _launch(kernel, windows, result.size, flat(x), result.memory, number(divisor or 0))
    return result


def avg_pool_grad(g: DeviceArray, axes: Axes, include_padding: bool, divisor: float | None) -> DeviceArray:
    """The gradient of avg_pool."""
    lead, number = _lead(g.shape, axes), compute(g.element).type
    windows, result = windows_of(lead, axes), geometry.empty((*lead, *(axis.size for axis in axes)), g.element)
    kernel = _average_kernel(g.element, windows.places, include_padding, divisor is not None, True)
    _launch(kernel, windows, result.size, flat(g), result.memory, number(divisor or 0))
    return result
