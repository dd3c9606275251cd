"""Blur, and parts erased."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ConfigError, ShapeError, told
from .geometry import pair_of
from .images import by_array, on_planes, rounded, size_of


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """The image under a Gauss filter of odd `kernel_size`, (across, down) or one for both; its border is mirrored.

    `sigma` is its standard deviation in pixels, (across, down) or one for both; by default it fits the size.

    >>> lnb.data.transforms.functional.gaussian_blur(lnb.ones((1, 4, 4)), 3).shape
    (1, 4, 4)
    """
    op = "gaussian_blur"
    sizes = check_kernel(op, kernel_size)
    deviations = [0.15 * size + 0.35 for size in sizes] if sigma is None else check_sigma(op, sigma)
    rows, cols = size_of(op, img)
    if sizes[0] // 2 >= cols or sizes[1] // 2 >= rows:
        raise ShapeError(f"{op}: a kernel of {sizes} on an image of {rows} rows and {cols} columns. Use a smaller one.")
    weights = [_gauss(size, deviation) for size, deviation in zip(sizes, deviations)]
    return by_array(op, img, lambda planes: _filtered(planes, *weights))


def check_kernel(op: str, kernel_size: Any) -> tuple[int, int]:
    """Two odd sizes."""
    sizes = pair_of(op, "kernel_size", kernel_size)
    if not sizes[0] % 2 == sizes[1] % 2 == 1:
        raise ConfigError(f"{op}: kernel_size is {told(kernel_size)}. Use odd integers.")
    return sizes


def check_sigma(op: str, sigma: Any) -> tuple[float, float]:
    """Two numbers above 0."""
    parts = tuple(sigma) if isinstance(sigma, Sequence) else (sigma,)
    if len(parts) not in (1, 2) or not all(isinstance(p, int | float | np.number) and p > 0 for p in parts):
        raise ConfigError(f"{op}: sigma is {told(sigma)}. Use one or two numbers above 0.")
    return float(parts[0]), float(parts[-1])


def _gauss(size: int, sigma: float) -> np.ndarray:
    place = np.arange(size) - (size - 1) / 2
    weights: np.ndarray = np.exp(-0.5 * (place / sigma) ** 2)
    return weights / weights.sum()


def _filtered(planes: Any, across: np.ndarray, down: np.ndarray) -> Any:
    floats = planes if planes.dtype.kind == "f" else planes.astype(np.float32)
    sides = ((0, 0),) * (len(planes.shape) - 2) + ((len(down) // 2,) * 2, (len(across) // 2,) * 2)
    rows, cols = planes.shape[-2:]
    wide: Any = np.pad(floats, sides, "reflect")
    kind = floats.dtype.type
    flat: Any = sum(wide[..., start:start + cols] * kind(weight) for start, weight in enumerate(across))
    found: Any = sum(flat[..., start:start + rows, :] * kind(weight) for start, weight in enumerate(down))
    return rounded(found, planes.dtype)


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """The tensor with the part that begins at row i and column j, of h rows and w columns, replaced by the values v."""
    if inplace:
        img[..., i:i + h, j:j + w] = v
        return img
    return on_planes("erase", img, lambda planes: _erased(planes, i, j, h, w, v))


def _erased(planes: Any, i: int, j: int, h: int, w: int, v: Any) -> Any:
    found = planes.copy()
    found[..., i:i + h, j:j + w] = v
    return found
