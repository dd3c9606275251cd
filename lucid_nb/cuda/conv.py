"""Direct convolution and its two gradients over one to three spatial axes, one thread or block a result.

Fewer axes are led by axes of size 1. Kernels bounds-check every tap, so padding is never stored.
"""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ..shapes import Shape, Window
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat
from .reduce import add, block_merge
from .runtime import BLOCK, cuda, inline, shared_memory
from .scalars import compute, narrow, widen_to


def _triple(values: Shape, filler: int) -> Shape:
    """Three spatial numbers, led by `filler`."""
    return (filler,) * (3 - len(values)) + tuple(values)


def _geometry(window: Window) -> tuple[Shape, Shape, Shape]:
    """stride, low padding and dilation of three axes."""
    return _triple(window.stride, 1), _triple(window.low, 0), _triple(window.dilation, 1)


def _casts(dtype: np.dtype) -> tuple[Any, Any, Any]:
    return widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type


@inline
def _read_input(at, tap, size, stride, low, step):
    """The element of an input axis that result `at` reads through a tap; -1 outside."""
    place = at * stride - low + tap * step
    return place if place >= 0 and place < size else -1


@inline
def _reading_result(at, tap, size, stride, low, step):
    """The result along an axis that reads element `at` of the input through a tap; -1 where there is none."""
    place = at + low - tap * step
    return place // stride if place >= 0 and place % stride == 0 and place // stride < size else -1


@cache
def _correlate_kernel(met: Callable, dtype: np.dtype) -> Any:
    """y from x, where met(place in y, tap, size of x, ...) says what of x is read.

    Of the weights of a group, channels of x are `x_step` taps apart and those of y `y_step`.
    """
    load, store, number = _casts(dtype)

    def correlate(count, x, w, y, x_channels, y_channels, groups, x_step, y_step, x_size, y_size, taps, stride, low,
                  dilation):
        depth, height, width = x_size
        y_depth, y_height, y_width = y_size
        taps_d, taps_h, taps_w = taps
        stride_d, stride_h, stride_w = stride
        low_d, low_h, low_w = low
        step_d, step_h, step_w = dilation
        inputs, outputs = x_channels // groups, y_channels // groups
        i = cuda.grid(1)
        while i < count:
            at_w = i % y_width
            at_h = i // y_width % y_height
            at_d = i // (y_width * y_height) % y_depth
            item = i // (y_width * y_height * y_depth)
            o = item % y_channels
            group = o // outputs
            first = item // y_channels * x_channels + group * inputs
            w_first = group * inputs * outputs + o % outputs * y_step
            total = number(0)
            for c in range(inputs):
                for kd in range(taps_d):
                    d = met(at_d, kd, depth, stride_d, low_d, step_d)
                    if d >= 0:
                        for kh in range(taps_h):
                            h = met(at_h, kh, height, stride_h, low_h, step_h)
                            if h >= 0:
                                x_row = (((first + c) * depth + d) * height + h) * width
                                w_row = (((w_first + c * x_step) * taps_d + kd) * taps_h + kh) * taps_w
                                for kw in range(taps_w):
                                    v = met(at_w, kw, width, stride_w, low_w, step_w)
                                    if v >= 0:
                                        total += load(x[x_row + v]) * load(w[w_row + kw])
            y[i] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(correlate)


def _correlate(met: Callable, x: DeviceArray, w: DeviceArray, window: Window, shape: Shape,
               steps: tuple[int, int]) -> DeviceArray:
    result = geometry.empty(shape, x.element)
    if result.size:
        blocks = runtime.grid(runtime.ceil_div(result.size, runtime.THREADS))
        runtime.launch(_correlate_kernel(met, x.element), blocks, runtime.THREADS, result.size, flat(x), flat(w),
                       result.memory, x.shape[1], shape[1], window.groups, *steps, _triple(x.shape[2:], 1),
                       _triple(shape[2:], 1), _triple(w.shape[2:], 1), *_geometry(window))
    return result


def conv(x: DeviceArray, w: DeviceArray, window: Window) -> DeviceArray:
    """Correlation of x (batch, channels, *sizes) with w (filters, channels // groups, *taps)."""
    shape = (x.shape[0], w.shape[0], *window.output_sizes(x.shape[2:], w.shape[2:]))
    return _correlate(_read_input, x, w, window, shape, (1, w.shape[1]))


def conv_input_grad(g: DeviceArray, w: DeviceArray, window: Window, x_shape: Shape) -> DeviceArray:
    """The gradient of the input, of shape `x_shape`, from that of the result."""
    return _correlate(_reading_result, g, w, window, x_shape, (w.shape[1], 1))


@cache
def _conv_weight_grad_kernel(dtype: np.dtype) -> Any:
    load, store, number = _casts(dtype)
    block_sum, memory = block_merge(add), shared_memory(BLOCK, compute(dtype))

    def conv_weight_grad(count, x, g, dw, batch, channels, filters, groups, x_size, w_size, y_size, stride, low,
                         dilation):
        shared = memory()
        depth, height, width = x_size
        taps_d, taps_h, taps_w = w_size
        y_depth, y_height, y_width = y_size
        stride_d, stride_h, stride_w = stride
        low_d, low_h, low_w = low
        step_d, step_h, step_w = dilation
        inputs, outputs = channels // groups, filters // groups
        places = y_depth * y_height * y_width
        i = cuda.blockIdx.x
        while i < count:
            from_w = i % taps_w * step_w - low_w
            from_h = i // taps_w % taps_h * step_h - low_h
            from_d = i // (taps_w * taps_h) % taps_d * step_d - low_d
            pair = i // (taps_w * taps_h * taps_d)
            o = pair // inputs
            c = o // outputs * inputs + pair % inputs
            total = number(0)
            for k in range(cuda.threadIdx.y, batch * places, cuda.blockDim.y):
                item, place = k // places, k % places
                v = place % y_width * stride_w + from_w
                h = place // y_width % y_height * stride_h + from_h
                d = place // (y_width * y_height) * stride_d + from_d
                if v >= 0 and v < width and h >= 0 and h < height and d >= 0 and d < depth:
                    total += (load(x[(((item * channels + c) * depth + d) * height + h) * width + v])
                              * load(g[(item * filters + o) * places + place]))
            total = block_sum(shared, total)
            if cuda.threadIdx.y == 0:
                dw[i] = store(total)
            i += cuda.gridDim.x
    return runtime.kernel(conv_weight_grad)


def conv_weight_grad(x: DeviceArray, g: DeviceArray, window: Window, w_shape: Shape) -> DeviceArray:
    """The gradient of the weight, of shape `w_shape`: one block an element, summed in a fixed order."""
    result = geometry.empty(w_shape, x.element)
    if result.size:
        lanes = min(BLOCK, runtime.power_of_two(max(1, x.shape[0] * prod(g.shape[2:]))))
        runtime.launch(_conv_weight_grad_kernel(x.element), runtime.grid(result.size), (1, lanes), result.size, flat(x),
                       flat(g), result.memory, x.shape[0], x.shape[1], w_shape[0], window.groups,
                       _triple(x.shape[2:], 1), _triple(w_shape[2:], 1), _triple(g.shape[2:], 1), *_geometry(window))
    return result
