"""Weights with which an axis is resampled: the filters of Pillow's and of PyTorch's `interpolate`."""

from functools import lru_cache
from typing import Any

import numpy as np

Taps = tuple[np.ndarray, np.ndarray]        # for each place of the result: indices and weights, (size, taps)


def triangle(x: np.ndarray) -> np.ndarray:
    """Linear interpolation."""
    return np.maximum(1 - abs(x), 0)


def cubic(x: np.ndarray, a: float) -> np.ndarray:
    """R. Keys, Cubic convolution interpolation for digital image processing, 1981, with its parameter a."""
    x = abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def box(x: np.ndarray) -> np.ndarray:
    """The mean of what a pixel covers."""
    return ((x > -0.5) & (x <= 0.5)).astype(np.float64)


def hamming(x: np.ndarray) -> np.ndarray:
    """A window of R. W. Hamming on the sinc function, one lobe."""
    return np.where(abs(x) < 1, np.sinc(x) * (0.54 + 0.46 * np.cos(np.pi * x)), 0)


def lanczos(x: np.ndarray) -> np.ndarray:
    """C. Lanczos' window on the sinc function, three lobes."""
    return np.where(abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


# name: (filter, its reach to each side). The cubic of Pillow has a = -0.5; without antialias PyTorch's has -0.75.
SMOOTH: dict[str, tuple[Any, float]] = {
    "bilinear": (triangle, 1), "bicubic": (lambda x: cubic(x, -0.5), 2), "box": (box, 0.5),
    "hamming": (hamming, 1), "lanczos": (lanczos, 3)}
PLAIN: dict[str, tuple[Any, float]] = {"bilinear": (triangle, 1), "bicubic": (lambda x: cubic(x, -0.75), 2)}


@lru_cache(64)
def taps_of(before: int, after: int, mode: str, antialias: bool) -> Taps:
    """Which of `before` places give each of `after`, and with what weights."""
    scale = before / after
    if mode.startswith("nearest"):
        shift = 0.5 if mode == "nearest-exact" else 0.0
        index = np.minimum(((np.arange(after) + shift) * scale).astype(np.int64), before - 1)
        return index[:, None], np.ones((after, 1))
    if antialias or mode not in PLAIN:
        return _averaging(before, after, scale, *SMOOTH[mode])
    return _interpolating(before, after, scale, *PLAIN[mode])


def _averaging(before: int, after: int, scale: float, smooth: Any, reach: float) -> Taps:
    """As Pillow does: the filter is as wide as what a pixel of the result covers; outside there is nothing."""
    stretch = max(scale, 1.0)
    centre = (np.arange(after) + 0.5) * scale
    first = np.maximum((centre - reach * stretch + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + reach * stretch + 0.5).astype(np.int64), before)
    index = first[:, None] + np.arange(int((last - first).max()))
    weights = np.where(index < last[:, None], smooth((index + 0.5 - centre[:, None]) / stretch), 0.0)
    return np.minimum(index, before - 1), weights / weights.sum(1, keepdims=True)


def _interpolating(before: int, after: int, scale: float, smooth: Any, reach: float) -> Taps:
    """As PyTorch does without antialias: between the neighbours; outside, the border goes on."""
    place = (np.arange(after) + 0.5) * scale - 0.5
    place = np.maximum(place, 0.0) if reach == 1 else place
    index = np.floor(place).astype(np.int64)[:, None] + np.arange(1 - int(reach), 1 + int(reach))
    return np.clip(index, 0, before - 1), smooth(index - place[:, None])


def resample(planes: Any, axis: int, size: int, mode: str, antialias: bool) -> Any:
    """An axis, -1 or -2, of floats at another size."""
    before = planes.shape[axis]
    if before == size and not (mode == "hamming" or mode == "lanczos"):
        return planes
    indices, weights = taps_of(before, size, mode, antialias)
    if indices.shape[1] == 1:
        return _taken(planes, axis, indices[:, 0])
    kind = planes.dtype
    factors = weights.astype(kind) if axis == -1 else weights.astype(kind)[:, :, None]
    total = _taken(planes, axis, indices[:, 0]) * factors[:, 0]
    for tap in range(1, indices.shape[1]):
        total = total + _taken(planes, axis, indices[:, tap]) * factors[:, tap]
    return total


def _taken(planes: Any, axis: int, index: np.ndarray) -> Any:
    return planes[..., index] if axis == -1 else planes[..., index, :]
