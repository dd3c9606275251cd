"""Weighted sums of elements at given places of planes, and both gradients: what sampling at points comes to.

x and its gradient are (batch, channels, size), what is sampled is (batch, channels, points), places and weights are
(taps, batch, points). A thread sums what one result is made of, taps and points or channels in order. For the gradient
of x the places are sorted, so that each cell knows what was sampled from it.
"""

from functools import cache
from typing import Any

import numpy as np

from ..shapes import Shape
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat
from .runtime import cuda
from .scalars import compute, narrow, widen_to
from .scatter import segments

INT64 = np.dtype(np.int64)


def _casts(dtype: np.dtype) -> tuple[Any, Any, Any]:
    """From memory to registers, back, and 0."""
    return widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type(0)


@cache
def _sample_kernel(dtype: np.dtype) -> Any:
    load, store, zero = _casts(dtype)

    def sample(count, x, places, weights, y, batch, channels, size, points, taps):
        i = cuda.grid(1)
        while i < count:
            plane = i // points
            image = plane // channels
            at, total = image * points + i - plane * points, zero
            for _ in range(taps):
                total += load(weights[at]) * load(x[plane * size + places[at]])
                at += batch * points
            y[i] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(sample)


def sample(x: DeviceArray, places: DeviceArray, weights: DeviceArray) -> DeviceArray:
    """The sum over taps of weights times x at places: (batch, channels, size) to (batch, channels, points).

    places, int64 and within size, and weights are (taps, batch, points).
    """
    result = geometry.empty((*x.shape[:2], places.shape[2]), x.element)
    runtime.launch_each(_sample_kernel(x.element), result.size, result.size, flat(x), flat(places), flat(weights),
                        result.memory, *_extents(x.shape, places.shape))
    return result


def _extents(image: Shape, table: Shape) -> tuple[int, ...]:
    """batch, channels, size, points and taps."""
    return (*image, table[2], table[0])


@runtime.kernel
def _number_kernel(count, places, numbers, batch, size, points):
    i = cuda.grid(1)
    while i < count:
        numbers[i] = i // points % batch * size + places[i]
        i += cuda.gridsize(1)


@cache
def _input_grad_kernel(dtype: np.dtype) -> Any:
    load, store, zero = _casts(dtype)

    def sample_input_grad(count, g, weights, order, starts, dx, batch, channels, size, points):
        i = cuda.grid(1)
        while i < count:
            plane = i // size
            cell = plane // channels * size + i - plane * size
            j, stop, total = starts[cell], starts[cell + 1], zero
            while j < stop:
                at = order[j]
                total += load(weights[at]) * load(g[plane * points + at % points])
                j += 1
            dx[i] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(sample_input_grad)


def sample_input_grad(g: DeviceArray, places: DeviceArray, weights: DeviceArray, size: int) -> DeviceArray:
    """The gradient of x: g times weights, added up at the places."""
    (batch, channels, points), cells = g.shape, g.shape[0] * size
    result, numbers = geometry.empty((batch, channels, size), g.element), geometry.empty((places.size,), INT64)
    if result.size == 0:
        return result
    runtime.launch_each(_number_kernel, places.size, places.size, flat(places), numbers.memory, batch, size, points)
    runtime.launch_each(_input_grad_kernel(g.element), result.size, result.size, flat(g), flat(weights),
                        *segments(numbers, cells), result.memory, batch, channels, size, points)
    return result


@cache
def _weight_grad_kernel(dtype: np.dtype) -> Any:
    load, store, zero = _casts(dtype)

    def sample_weight_grad(count, x, g, places, dw, batch, channels, size, points, taps):
        i = cuda.grid(1)
        while i < count:
            line = i // points
            point, plane, total = i - line * points, line % batch * channels, zero
            for _ in range(channels):
                total += load(g[plane * points + point]) * load(x[plane * size + places[i]])
                plane += 1
            dw[i] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(sample_weight_grad)


def sample_weight_grad(x: DeviceArray, g: DeviceArray, places: DeviceArray) -> DeviceArray:
    """The gradient of weights: the sum over channels of g times x at places."""
    result = geometry.empty(places.shape, x.element)
    runtime.launch_each(_weight_grad_kernel(x.element), result.size, result.size, flat(x), flat(g), flat(places),
                        result.memory, *_extents(x.shape, places.shape))
    return result
