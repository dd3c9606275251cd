"""Direct convolution and its two gradients over one to three spatial axes, one thread or block a result.

Fewer axes are led by axes of size 1. Kernels bounds-check every tap, so padding is never stored.
"""

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
from .runtime import BLOCK, cuda, shared_memory
from .scalars import compute, narrow, widen_to


def _triple(values: Shape, filler: int) -> Shape:
    """Three spatial numbers, led by `filler`."""
    return (filler,) * (3 - len(values)) + tuple(values)


def _geometry(window: Window) -> tuple[Shape, Shape, Shape]:
    """stride, low padding and dilation of three axes."""
    return _triple(window.stride, 1), _triple(window.low, 0), _triple(window.dilation, 1)


def _casts(dtype: np.dtype) -> tuple[Any, Any, Any]:
    return widen_to(dtype, compute(dtype)), narrow(dtype), compute(dtype).type


@cache
def _conv_kernel(dtype: np.dtype) -> Any:
    load, store, number = _casts(dtype)

    def conv(count, x, w, y, channels, filters, groups, x_size, w_size, y_size, stride, low, dilation):
        depth, height, width = x_size
        taps_d, taps_h, taps_w = w_size
        y_depth, y_height, y_width = y_size
        stride_d, stride_h, stride_w = stride
        low_d, low_h, low_w = low
        step_d, step_h, step_w = dilation
        inputs = channels // groups
        i = cuda.grid(1)
        while i < count:
            at_w = i % y_width * stride_w - low_w
            at_h = i // y_width % y_height * stride_h - low_h
            at_d = i // (y_width * y_height) % y_depth * stride_d - low_d
            item = i // (y_width * y_height * y_depth)
            o = item % filters
            first = item // filters * channels + o // (filters // groups) * inputs
            total = number(0)
            for c in range(inputs):
                for kd in range(taps_d):
                    d = at_d + kd * step_d
                    if d >= 0 and d < depth:
                        for kh in range(taps_h):
                            h = at_h + kh * step_h
                            if h >= 0 and h < height:
                                x_row = (((first + c) * depth + d) * height + h) * width
                                w_row = (((o * inputs + c) * taps_d + kd) * taps_h + kh) * taps_w
                                for kw in range(taps_w):
                                    v = at_w + kw * step_w
                                    if v >= 0 and v < width:
                                        total += load(x[x_row + v]) * load(w[w_row + kw])
            y[i] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(conv)


def conv(x: DeviceArray, w: DeviceArray, window: Window) -> DeviceArray:
    """Correlation of x (batch, channels, *sizes) with w (filters, channels // groups, *taps)."""
    sizes = window.output_sizes(x.shape[2:], w.shape[2:])
    result = geometry.empty((x.shape[0], w.shape[0], *sizes), x.element)
    if result.size:
        blocks = runtime.grid(runtime.ceil_div(result.size, runtime.THREADS))
        runtime.launch(_conv_kernel(x.element), blocks, runtime.THREADS, result.size, flat(x), flat(w), result.memory,
                       x.shape[1], w.shape[0], window.groups, _triple(x.shape[2:], 1), _triple(w.shape[2:], 1),
                       _triple(sizes, 1), *_geometry(window))
    return result


@cache
def _conv_input_grad_kernel(dtype: np.dtype) -> Any:
    load, store, number = _casts(dtype)

    def conv_input_grad(count, g, w, dx, channels, filters, groups, x_size, w_size, y_size, stride, low, dilation):
        depth, height, width = x_size
        taps_d, taps_h, taps_w = w_size
        y_depth, y_height, y_width = y_size
        stride_d, stride_h, stride_w = stride
        low_d, low_h, low_w = low
        step_d, step_h, step_w = dilation
        inputs, outputs = channels // groups, filters // groups
        i = cuda.grid(1)
        while i < count:
            at_w = i % width + low_w
            at_h = i // width % height + low_h
            at_d = i // (width * height) % depth + low_d
            item = i // (width * height * depth)
            c = item % channels
            group = c // inputs
            first = item // channels * filters + group * outputs
            total = number(0)
            for o in range(outputs):
                for kd in range(taps_d):
                    d = at_d - kd * step_d
                    if d >= 0 and d % stride_d == 0 and d // stride_d < y_depth:
                        for kh in range(taps_h):
                            h = at_h - kh * step_h
                            if h >= 0 and h % stride_h == 0 and h // stride_h < y_height:
                                g_row = (((first + o) * y_depth + d // stride_d) * y_height + h // stride_h) * y_width
                                w_row = ((((group * outputs + o) * inputs + c - group * inputs) * taps_d + kd)
                                         * taps_h + kh) * taps_w
                                for kw in range(taps_w):
                                    v = at_w - kw * step_w
                                    if v >= 0 and v % stride_w == 0 and v // stride_w < y_width:
                                        total += load(g[g_row + v // stride_w]) * load(w[w_row + kw])
            dx[i] = store(total)
            i += cuda.gridsize(1)
    return runtime.kernel(conv_input_grad)


def conv_input_grad(g: DeviceArray, w: DeviceArray, window: Window, x_shape: Shape) -> DeviceArray:
    """The gradient of the input, of shape `x_shape`, from that of the result."""
    result = geometry.empty(x_shape, g.element)
    if result.size:
        blocks = runtime.grid(runtime.ceil_div(result.size, runtime.THREADS))
        runtime.launch(_conv_input_grad_kernel(g.element), blocks, runtime.THREADS, result.size, flat(g), flat(w),
                       result.memory, x_shape[1], w.shape[0], window.groups, _triple(x_shape[2:], 1),
                       _triple(w.shape[2:], 1), _triple(g.shape[2:], 1), *_geometry(window))
    return result


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
