"""Weighted sums of elements at given places, and both gradients, by the kernels of loops/sample.py."""

import numpy as np

from ..shapes import Shape
from . import memory, threads
from .copying import contiguous
from .steps import INDEX, grain, kernel_of


def sample(x: np.ndarray, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum over taps of weights times x at places: (batch, channels, size) to (batch, channels, points).

    places, int64 and within size, and weights are (taps, batch, points).
    """
    return _run("sample", (x, places, weights), (*x.shape[:2], places.shape[2]), x.shape, places.shape)


def sample_input_grad(g: np.ndarray, places: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """The gradient of x: g times weights, added up at the places."""
    shape = (*g.shape[:2], size)
    return _run("sample_input_grad", (g, places, weights), shape, shape, places.shape)


def sample_weight_grad(x: np.ndarray, g: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The gradient of weights: the sum over channels of g times x at places."""
    return _run("sample_weight_grad", (x, g, places), places.shape, x.shape, places.shape)


def _run(name: str, operands: tuple[np.ndarray, ...], shape: Shape, image: Shape, table: Shape) -> np.ndarray:
    """One of the kernels, on images (batch, channels, size) and places (taps, batch, points)."""
    (batch, channels, size), (taps, _, points) = image, table
    operands = tuple([contiguous(each) for each in operands])
    out = memory.empty(shape, next(each.dtype for each in operands if each.dtype != INDEX))
    if out.size == 0:
        return out
    units, work = (taps * batch, points * channels) if name == "sample_weight_grad" else (batch * channels,
                                                                                          size + points * taps)
    kernel = kernel_of(f"sample:{name}", tuple([each.dtype for each in (*operands, out)]), 5)
    threads.launch(kernel, units, grain(2 * work), *operands, out, batch, channels, size, points, taps)
    return out
