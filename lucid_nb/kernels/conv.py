"""Direct convolution and its two gradients over one to three spatial axes.

A result reads the padded input through taps; planes.py says how. The gradient of the input is a correlation of the
result's gradient, one for each remainder of the stride. Planes are made for as many images at a time as
config.conv_view_limit_mb allows, at least for one.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import memory, threads
from .layout import contiguous
from .planes import TILE, Axis, Offsets, Planes
from .steps import SINGLE, grain, narrow, range_kernel

TAPS_A_RUN = 8                                   # what a unit of work costs for each tap, in vectors


def _for_all_dtypes(entry: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A bilinear entry for kernels of real numbers: complex ones by parts, bool by counts, narrow floats in float32."""
    @wraps(entry)
    def called(a: np.ndarray, b: np.ndarray, *rest: Any) -> np.ndarray:
        if narrow(a.dtype):
            return entry(a.astype(SINGLE), b.astype(SINGLE), *rest).astype(a.dtype)
        if a.dtype.kind == "b":
            return entry(a.astype(np.int32), b.astype(np.int32), *rest) != 0
        if a.dtype.kind != "c":
            return entry(a, b, *rest)
        real = entry(a.real, b.real, *rest) - entry(a.imag, b.imag, *rest)
        result = real.astype(a.dtype)
        result.imag = entry(a.real, b.imag, *rest) + entry(a.imag, b.real, *rest)
        return result
    return called


@_for_all_dtypes
def conv(x: np.ndarray, w: np.ndarray, window: Window) -> np.ndarray:
    """Correlation of x (batch, channels, *sizes) with w (filters, channels // groups, *taps)."""
    planes = _forward_planes(x.shape, w.shape, window)
    result = memory.empty((len(x), len(w), *planes.results), x.dtype)
    if result.size:
        _correlate(planes, _five(x), contiguous(w).reshape(len(w), -1), result, window.groups)
    return result.reshape(len(x), len(w), *planes.results[3 - window.ndim:])


@_for_all_dtypes
def conv_input_grad(g: np.ndarray, w: np.ndarray, window: Window, x_shape: Shape) -> np.ndarray:
    """The gradient of conv in x, from g of the result's shape."""
    sizes, taps, groups = _triple(x_shape[2:], 1), _triple(w.shape[2:], 1), window.groups
    result = memory.empty((*x_shape[:2], *sizes), g.dtype)
    result[...] = 0                              # where no tap reads
    if g.size and result.size and w.size:
        weights = w.reshape(groups, len(w) // groups, w.shape[1], *taps).swapaxes(1, 2)
        remainders = map(_remainders, sizes, taps, _triple(g.shape[2:], 1), *_geometry(window))
        for parts in product(*remainders):
            axes, chosen, places = zip(*parts)
            index: tuple[Any, ...] = (..., *np.ix_(*chosen))
            used = contiguous(weights[index]).reshape(x_shape[1], -1)
            _correlate(Planes(axes), _five(g), used, result[..., *places], groups)
    return result.reshape(x_shape)


@_for_all_dtypes
def conv_weight_grad(x: np.ndarray, g: np.ndarray, window: Window, w_shape: Shape) -> np.ndarray:
    """The gradient of conv in w, from g of the result's shape; sums of runs are totalled in float64."""
    planes, filters, groups = _forward_planes(x.shape, w_shape, window), w_shape[0], window.groups
    totals = np.zeros((filters, prod(w_shape[1:])))
    if g.size and totals.size:
        x, slopes, taps = _five(x), _five(g).swapaxes(0, 1), totals.shape[1]
        offsets, _, _, steps = _tables(planes, x.shape[1], groups)
        kernel = range_kernel("convolution:correlate_weights", *[f"{x.dtype.name}*"] * 2, "int64*", "float64*",
                              *["int64"] * 5, *["int64*"] * 2)
        blocks, sizes = -(-taps // 4), np.array(planes.results, np.int64)
        together = max(1, TILE // prod(planes.results))          # images in a run, whatever the limit of memory
        for images in _chunks(planes, x, together):
            part = contiguous(slopes[:, images])
            threads.launch(kernel, groups * blocks, grain(part.size // groups), planes.fill(x[images]), part, offsets,
                           totals, taps, filters // groups, part.shape[1], blocks, together, sizes, steps)
    return totals.astype(x.dtype).reshape(w_shape)


def _correlate(planes: Planes, x: np.ndarray, weights: np.ndarray, result: np.ndarray, groups: int) -> None:
    """result = the correlation of the planes of x with weights (filters, taps of all channels of a group)."""
    filters, taps = len(weights) // groups, weights.shape[1]
    offsets, pieces, sizes, steps = _tables(planes, x.shape[1], groups)
    kernel = range_kernel("convolution:correlate", *[f"{x.dtype.name}*"] * 2, "int64*", f"{x.dtype.name}*",
                          *["int64"] * 5, *["int64*"] * 3)
    for images in _chunks(planes, x):
        units = len(x[images]) * groups * -(-filters // 4) * pieces
        threads.launch(kernel, units, grain(taps * planes.results[2] * TAPS_A_RUN), planes.fill(x[images]), weights,
                       offsets, result[images], taps, filters, groups, pieces, int(not planes.whole), sizes, steps,
                       _element_steps(result))


def _element_steps(array: np.ndarray) -> np.ndarray:
    """Strides in elements."""
    return np.array(array.strides) // array.itemsize


@lru_cache(1024)
def _tables(planes: Planes, channels: int, groups: int) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """What kernels read: offsets of taps, the number of pieces and their sizes, steps through the planes."""
    pieces, sizes = planes.pieces
    steps = planes.steps(channels, groups)
    return planes.offsets(channels // groups), pieces, np.array(sizes, np.int64), np.array(steps, np.int64)


def _chunks(planes: Planes, x: np.ndarray, together: int = 1) -> Iterator[slice]:
    """Images whose planes are within the limit of memory, multiples of `together`."""
    size = prod(planes.shape) * x.shape[1] * x.itemsize
    limit = config.conv_view_limit_mb << 20
    images = len(x) if planes.whole or limit < 0 else max(1, limit // size // together) * together
    return (slice(first, first + images) for first in range(0, len(x), images))


def _triple(values: Shape, filler: int) -> Shape:
    """Three spatial numbers, led by `filler`."""
    return (filler,) * (3 - len(values)) + tuple(values)


def _five(x: np.ndarray) -> np.ndarray:
    """x as (images, channels, depth, height, width)."""
    return x.reshape(*x.shape[:2], *_triple(x.shape[2:], 1))


def _geometry(window: Window) -> tuple[Shape, Shape, Shape]:
    """Stride, low padding and dilation of three axes."""
    return _triple(window.stride, 1), _triple(window.low, 0), _triple(window.dilation, 1)


@lru_cache(1024)
def _forward_planes(x_shape: Shape, w_shape: Shape, window: Window) -> Planes:
    """What the results of a convolution read."""
    sizes, taps = _triple(x_shape[2:], 1), _triple(w_shape[2:], 1)
    results = _triple(window.output_sizes(x_shape[2:], w_shape[2:]), 1)
    return Planes(tuple(
        Axis(size, low, stride, tuple(range(0, count * dilation, dilation)), result)
        for size, count, result, stride, low, dilation in zip(sizes, taps, results, *_geometry(window))))


@lru_cache(1024)
def _remainders(size: int, taps: int, g_size: int, stride: int, low: int, dilation: int
                ) -> tuple[tuple[Axis, Offsets, slice], ...]:
    """One input axis by remainders of the stride: what is read of g, by which taps, and where the results belong.

    Element i of the input meets tap k in result o where i + low = stride * o + dilation * k. With i + low =
    stride * q + remainder that is o = q - (dilation * k - remainder) / stride, for the taps that divide.
    """
    parts = []
    for remainder in range(stride):
        chosen = tuple(k for k in range(taps) if (dilation * k - remainder) % stride == 0)
        first = -((remainder - low) // stride)
        results = (size - 1 + low - remainder) // stride - first + 1
        if chosen and results > 0:
            places = [first - (dilation * k - remainder) // stride for k in chosen]
            padding = max(0, -min(places))
            axis = Axis(g_size, padding, 1, tuple(place + padding for place in places), results)
            parts.append((axis, chosen, slice(stride * first + remainder - low, None, stride)))
    return tuple(parts)
