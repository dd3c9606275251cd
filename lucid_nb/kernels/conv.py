"""Direct convolution and its two gradients over one to three spatial axes.

A result reads the padded input through taps; planes.py says how. The gradient of the input is a correlation of the
result's gradient, one for each remainder of the stride. Planes are made for as many images at a time as
config.conv_view_limit_mb allows, at least for one; for the gradient of w, whose sums must not depend on the limit, at
least for the few images of small results that are summed in one run.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, wraps
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import config
from ..shapes import Shape, Window
from . import memory, threads
from .layout import contiguous
from .planes import TILE, Planes, forward_planes, geometry, remainders, triple
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
    plan = _forward(x.shape, w.shape, window, x.dtype)
    sizes = plan.planes.results
    result = memory.empty((len(x), len(w), *sizes), x.dtype)
    if result.size:
        plan.correlate(_five(x), contiguous(w), result)
    return result.reshape(len(x), len(w), *sizes[3 - window.ndim:])


@_for_all_dtypes
def conv_input_grad(g: np.ndarray, w: np.ndarray, window: Window, x_shape: Shape) -> np.ndarray:
    """The gradient of conv in x, from g of the result's shape."""
    result = memory.empty((*x_shape[:2], *triple(x_shape[2:], 1)), g.dtype)
    result[...] = 0                              # where no tap reads
    if g.size and result.size and w.size:
        weights = w.reshape(window.groups, -1, w.shape[1], *triple(w.shape[2:], 1)).swapaxes(1, 2)
        for plan, taps, places in _backward(g.shape, w.shape, window, x_shape, g.dtype):
            plan.correlate(_five(g), contiguous(weights[taps]), result[places])
    return result.reshape(x_shape)


@_for_all_dtypes
def conv_weight_grad(x: np.ndarray, g: np.ndarray, window: Window, w_shape: Shape) -> np.ndarray:
    """The gradient of conv in w, from g of the result's shape; sums of runs are totalled in float64."""
    totals = np.zeros(w_shape)
    if g.size and totals.size:
        _forward(x.shape, w_shape, window, x.dtype).add_products(_five(x), _five(g), totals)
    return totals.astype(x.dtype)


class Correlation:
    """All of a correlation but the arrays: `filters` filters over planes of `channels` channels, both in `groups`.

    out_strides are those of the result (images, filters, depth, height, width), in bytes.
    """

    def __init__(self, planes: Planes, channels: int, filters: int, groups: int, dtype: np.dtype,
                 out_strides: Shape) -> None:
        self.planes, self.channels, self.filters, self.groups, self.dtype = planes, channels, filters, groups, dtype
        self.offsets = planes.offsets(channels // groups)
        self.steps = np.array(planes.steps(channels, groups), np.int64)
        self.pieces, self.sizes = planes.pieces[0], np.array(planes.pieces[1], np.int64)
        self.results = np.array(planes.results, np.int64)
        self.out_steps = np.array(out_strides, np.int64) // dtype.itemsize
        self.together = max(1, TILE // max(1, prod(planes.results)))   # images in a run, whatever the limit of memory
        name = f"{dtype.name}*"
        self.kernel = range_kernel("convolution:correlate", name, name, "int64*", name, *["int64"] * 5, *["int64*"] * 3)
        self.weight_kernel = range_kernel("convolution:correlate_weights", name, name, "int64*", "float64*",
                                          *["int64"] * 5, *["int64*"] * 2)

    def correlate(self, x: np.ndarray, weights: np.ndarray, result: np.ndarray) -> None:
        """result = the correlation of the planes of x with weights, filters outermost."""
        filters, taps, planes = self.filters // self.groups, len(self.offsets), self.planes
        units = self.groups * -(-filters // 4) * self.pieces
        least = grain(taps * planes.results[2] * TAPS_A_RUN)
        for images in self._chunks(len(x), 1):
            part = x[images]
            threads.launch(self.kernel, len(part) * units, least, planes.fill(part), weights, self.offsets,
                           result[images], taps, filters, self.groups, self.pieces, int(not planes.whole), self.sizes,
                           self.steps, self.out_steps)

    def add_products(self, x: np.ndarray, g: np.ndarray, totals: np.ndarray) -> None:
        """totals (float64, as the weights) += the products of g with what each tap of x reads."""
        taps, filters = len(self.offsets), self.filters // self.groups
        blocks = -(-taps // 4)
        for images in self._chunks(len(x), self.together):
            part = contiguous(g[images].swapaxes(0, 1))
            threads.launch(self.weight_kernel, self.groups * blocks, grain(part.size // self.groups),
                           self.planes.fill(x[images]), part, self.offsets, totals, taps, filters, part.shape[1],
                           blocks, self.together, self.results, self.steps)

    def _chunks(self, count: int, together: int) -> Iterator[slice]:
        """Images whose planes are within the limit of memory, multiples of `together`."""
        limit = config.conv_view_limit_mb << 20
        if self.planes.whole or limit < 0 or count * self._image_bytes <= limit:
            return iter((slice(None),))
        images = max(1, limit // self._image_bytes // together) * together
        return (slice(first, first + images) for first in range(0, count, images))

    @cached_property
    def _image_bytes(self) -> int:
        return prod(self.planes.shape) * self.channels * self.dtype.itemsize


@lru_cache(1024)
def _forward(x_shape: Shape, w_shape: Shape, window: Window, dtype: np.dtype) -> Correlation:
    """The correlation that is a convolution."""
    planes = forward_planes(x_shape, w_shape, window)
    strides = _strides((1, w_shape[0], *planes.results), dtype)
    return Correlation(planes, x_shape[1], w_shape[0], window.groups, dtype, strides)


@lru_cache(1024)
def _backward(g_shape: Shape, w_shape: Shape, window: Window, x_shape: Shape, dtype: np.dtype
              ) -> list[tuple[Correlation, tuple[Any, ...], tuple[Any, ...]]]:
    """The correlations that are the gradient of the input: each with its taps and the places of its results."""
    sizes, taps, g_sizes = (triple(shape[2:], 1) for shape in (x_shape, w_shape, g_shape))
    strides, found = _strides((1, x_shape[1], *sizes), dtype), []
    for parts in product(*map(remainders, sizes, taps, g_sizes, *geometry(window))):
        axes, chosen, places = zip(*parts)
        steps = (place.step for place in places)
        out_strides = (*strides[:2], *(stride * step for stride, step in zip(strides[2:], steps)))
        plan = Correlation(Planes(axes), g_shape[1], x_shape[1], window.groups, dtype, out_strides)
        found.append((plan, (..., *np.ix_(*chosen)), (..., *places)))
    return found


def _strides(shape: Shape, dtype: np.dtype) -> Shape:
    """Strides of a contiguous array."""
    return tuple(prod(shape[axis + 1:]) * dtype.itemsize for axis in range(len(shape)))


def _five(x: np.ndarray) -> np.ndarray:
    """x as (images, channels, depth, height, width)."""
    return x if x.ndim == 5 else x.reshape(*x.shape[:2], *triple(x.shape[2:], 1))
