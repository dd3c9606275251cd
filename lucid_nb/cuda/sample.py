"""Weighted sums of elements at given places of planes, and both gradients: what sampling at points comes to.

x and its gradient are (batch, channels, size), what is sampled is (batch, channels, points), places and weights are
(taps, batch, points). A thread sums what one result is made of, taps or channels in order. For the gradient of x the
places are sorted, so that what was sampled from a cell is a run.
"""

from functools import cache
from typing import Any

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat, full
from .places import Places, fitting
from .runs import Join, combiner, join
from .runtime import cuda, inline
from .scalars import compute, narrow, widen_to

INT64 = np.dtype(np.int64)


def _casts(dtype: np.dtype) -> tuple[Any, Any, Any]:
    """From memory to registers, back, and 0."""
    return widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type(0)


@cache
def _sample_kernel(dtype: np.dtype, fit: Places) -> Any:
    load, store, zero = _casts(dtype)
    (integer, quotient), memory = fit, np.uint64

    def sample(count, x, places, weights, y, batch, channels, size, points, taps):
        i = integer(cuda.grid(1))
        while i < count:
            plane = quotient(i, points)
            image = quotient(plane, channels)
            at, total = integer(image * points + i - plane * points), zero
            for _ in range(taps):
                total += load(weights[memory(at)]) * load(x[memory(plane * size + places[memory(at)])])
                at = integer(at + batch * points)
            y[memory(i)] = store(total)
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(sample)


def sample(x: DeviceArray, places: DeviceArray, weights: DeviceArray) -> DeviceArray:
    """The sum over taps of weights times x at places: (batch, channels, size) to (batch, channels, points).

    places, int64 and within size, and weights are (taps, batch, points).
    """
    result, fit = geometry.empty((*x.shape[:2], places.shape[2]), x.element), _fit(x, places)
    runtime.launch_each(_sample_kernel(x.element, fit), result.size, *fit.of(result.size), flat(x), flat(places),
                        flat(weights), result.memory, *fit.of(*x.shape, places.shape[2], places.shape[0]))
    return result


def _fit(image: DeviceArray, places: DeviceArray) -> Places:
    """What places fit in images and in what every tap samples from them; a step of taps goes beyond the last."""
    taps, batch, points = places.shape
    return fitting(max(image.size, image.shape[1] * places.size, (taps + 1) * batch * points))


@cache
def _number_kernel(fit: Places) -> Any:
    """The kernel that numbers the cells of all images."""
    (integer, quotient), memory = fit, np.uint64

    def number_places(count, places, numbers, batch, size, points):
        i = integer(cuda.grid(1))
        while i < count:
            line = quotient(i, points)
            numbers[memory(i)] = integer(line - quotient(line, batch) * batch) * size + places[memory(i)]
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(number_places)


@cache
def _input_grad_of(dtype: np.dtype, fit: Places) -> Join:
    """How g times weights are added up, of which columns are channels."""
    load, store, _ = _casts(dtype)
    (integer, quotient), memory = fit, np.uint64

    def term(g, weights, at, channel, extents):
        batch, channels, size, points = extents
        line = quotient(at, points)
        image = integer(line - quotient(line, batch) * batch)
        point = integer(at - line * points)
        return load(weights[memory(at)]) * load(g[memory((image * channels + channel) * points + point)])

    def place(target, channel, extents):
        batch, channels, size, points = extents
        image = quotient(target, size)
        return (image * channels + channel) * size + integer(target - image * size)
    return Join(compute(dtype), *combiner("sum", dtype), inline(term), inline(place), load, store, False)


def sample_input_grad(g: DeviceArray, places: DeviceArray, weights: DeviceArray, size: int) -> DeviceArray:
    """The gradient of x: g times weights, added up at the places."""
    batch, channels, points = g.shape
    result, numbers = full((batch, channels, size), 0, g.element), geometry.empty((places.size,), INT64)
    if result.size and places.size:
        fit = _fit(result, places)
        runtime.launch_each(_number_kernel(fit), places.size, *fit.of(places.size), flat(places), numbers.memory,
                            *fit.of(batch, size, points))
        join(_input_grad_of(g.element, fit), fit, numbers, batch * size, (flat(g), flat(weights)), result.memory,
             channels, (batch, channels, size, points))
    return result


@cache
def _weight_grad_kernel(dtype: np.dtype, fit: Places) -> Any:
    load, store, zero = _casts(dtype)
    (integer, quotient), memory = fit, np.uint64

    def sample_weight_grad(count, x, g, places, dw, batch, channels, size, points):
        i = integer(cuda.grid(1))
        while i < count:
            line = quotient(i, points)
            plane, total = integer((line - quotient(line, batch) * batch) * channels), zero
            point, cell = integer(i - line * points), places[memory(i)]
            for _ in range(channels):
                total += load(g[memory(plane * points + point)]) * load(x[memory(plane * size + cell)])
                plane = integer(plane + 1)
            dw[memory(i)] = store(total)
            i = integer(i + cuda.gridsize(1))
    return runtime.kernel(sample_weight_grad)


def sample_weight_grad(x: DeviceArray, g: DeviceArray, places: DeviceArray) -> DeviceArray:
    """The gradient of weights: the sum over channels of g times x at places."""
    result, fit = geometry.empty(places.shape, x.element), _fit(x, places)
    runtime.launch_each(_weight_grad_kernel(x.element, fit), result.size, *fit.of(result.size), flat(x), flat(g),
                        flat(places), result.memory, *fit.of(*x.shape, places.shape[2]))
    return result
