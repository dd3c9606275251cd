"""Images moved, cut and resized. Of Pillow's images by Pillow; of tensors and arrays on their last two axes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ConfigError, DTypeError, ShapeError, told
from . import resampling
from .images import by_array, check_planes, is_pillow, on_planes, pillow, rounded, size_of

MODES = ("nearest", "nearest-exact", "bilinear", "bicubic", "box", "hamming", "lanczos")
PADDING = ("constant", "edge", "reflect", "symmetric")


class InterpolationMode:
    """PyTorch's names of how images are interpolated; they are plain texts."""

    NEAREST, NEAREST_EXACT, BILINEAR, BICUBIC = "nearest", "nearest-exact", "bilinear", "bicubic"
    BOX, HAMMING, LANCZOS = "box", "hamming", "lanczos"


def check_mode(op: str, mode: Any, modes: Sequence[str] = MODES) -> str:
    """The name of a way to interpolate."""
    if not isinstance(mode, str) or mode not in modes:
        raise ConfigError(f"{op}: interpolation is {told(mode)}. Use one of {', '.join(modes)}.")
    return mode


def pair_of(op: str, name: str, size: Any, least: int = 1) -> tuple[int, int]:
    """Height and width: two integers, or one for both."""
    parts = (size, size) if isinstance(size, int | np.integer) else size
    if not isinstance(parts, Sequence) or len(parts) not in (1, 2) or isinstance(size, bool):
        raise ConfigError(f"{op}: {name} is {told(size)}. Use an integer, or two: (height, width).")
    if any(isinstance(part, bool) or not isinstance(part, int | np.integer) or part < least for part in parts):
        raise ConfigError(f"{op}: {name} is {told(size)}. Use integers of {least} or more.")
    return int(parts[0]), int(parts[-1])


# -------------------------------------------------------------------------------------------------- sizes
def resize(img: Any, size: Any, interpolation: str = "bilinear", max_size: int | None = None,
           antialias: bool = True) -> Any:
    """The image at another size: (height, width), or the shorter side, by which the longer one follows.

    `max_size` bounds the longer side then. With `antialias` each pixel of a smaller image is a mean of what it covers,
    as Pillow does; without it, PyTorch's `interpolate`. Integers are rounded; gradients pass where a tensor needs them.

    >>> lnb.data.transforms.functional.resize(lnb.ones((3, 8, 6)), (4, 3)).shape
    (3, 4, 3)
    """
    op, mode = "resize", check_mode("resize", interpolation)
    height, width = _wanted_size(size_of(op, img), size, max_size)
    if (height, width) == size_of(op, img):
        return img
    if is_pillow(img):
        return img.resize((width, height), _pillow_mode(op, mode))
    return on_planes(op, img, lambda planes: _resized(planes, height, width, mode, antialias))


def _resized(planes: Any, height: int, width: int, mode: str, antialias: bool) -> Any:
    if mode.startswith("nearest"):
        values = planes
    else:
        values = planes if planes.dtype.kind == "f" and planes.dtype.itemsize >= 4 else planes.astype(np.float32)
    for axis, extent in ((-1, width), (-2, height)):
        values = resampling.resample(values, axis, extent, mode, antialias)
    return values if values.dtype == planes.dtype else rounded(values, planes.dtype)


def _wanted_size(before: tuple[int, int], size: Any, max_size: int | None) -> tuple[int, int]:
    op = "resize"
    if not isinstance(size, int | np.integer) and len(size) == 2:
        if max_size is not None:
            raise ConfigError(f"{op}: max_size with the size {told(size)} of both sides. Give one of them.")
        return pair_of(op, "size", size)
    short, long = sorted(before)
    edge = pair_of(op, "size", size)[0]
    other = int(edge * long / short)
    if max_size is not None:
        if max_size <= edge:
            raise ConfigError(f"{op}: max_size is {told(max_size)}, the shorter side {edge}. Use a larger max_size.")
        if other > max_size:
            edge, other = int(max_size * edge / other), max_size
    return (edge, other) if before[0] <= before[1] else (other, edge)


def _pillow_mode(op: str, mode: str) -> Any:
    return getattr(pillow(op).Resampling, mode.split("-")[0].upper())


# ------------------------------------------------------------------------------------------------ borders
def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """The image with a border: `padding` on all sides, (sides, above and below), or (left, top, right, bottom).

    `padding_mode` is one of constant (of the value `fill`, or one for each channel), edge, reflect, symmetric.

    >>> lnb.data.transforms.functional.pad(lnb.ones((1, 1)), 1).tolist()
    [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    op, (left, top, right, bottom) = "pad", _sides(padding)
    if padding_mode not in PADDING:
        raise ConfigError(f"{op}: padding_mode is {told(padding_mode)}. Use one of {', '.join(PADDING)}.")
    if not left + top + right + bottom:
        return img
    if is_pillow(img) and padding_mode == "constant":
        from PIL import ImageOps
        return ImageOps.expand(img, (left, top, right, bottom), fill_of(img, fill))
    return by_array(op, img, lambda planes: _padded(planes, ((top, bottom), (left, right)), fill, padding_mode))


def _padded(planes: Any, sides: Any, fill: Any, mode: Any) -> Any:
    around = ((0, 0),) * (len(planes.shape) - 2) + tuple(sides)
    if mode != "constant":
        return np.pad(planes, around, mode)
    if not isinstance(fill, Sequence) or len(fill) == 1:
        return np.pad(planes, around, constant_values=fill[0] if isinstance(fill, Sequence) else fill)
    inside = np.pad(np.ones(planes.shape[-2:], bool), sides)
    return np.where(inside, np.pad(planes, around), fill_planes(planes, fill))


def _sides(padding: Any) -> tuple[int, int, int, int]:
    """left, top, right, bottom"""
    parts = (padding,) if isinstance(padding, int | np.integer) else tuple(padding)
    if len(parts) not in (1, 2, 4) or any(not isinstance(p, int | np.integer) or p < 0 for p in parts):
        raise ConfigError(f"pad: padding is {told(padding)}. Use 1, 2 or 4 integers of 0 or more.")
    left, top, right, bottom = parts * (4 // len(parts))
    return left, top, right, bottom


def fill_planes(planes: Any, fill: Any) -> np.ndarray:
    """The value that fills, one for each channel, in the shape and dtype of planes."""
    values = np.asarray(fill, planes.dtype)
    channels = planes.shape[-3] if len(planes.shape) > 2 else 1
    if values.shape not in ((), (1,), (channels,)):
        raise ShapeError(f"fill: {values.size} values for {channels} channels. Give one value, or one for each.")
    return values if values.ndim == 0 else values[:, None, None]


def fill_of(img: Any, fill: Any) -> Any:
    """The value that fills, as Pillow wants it."""
    if not isinstance(fill, Sequence):
        return fill if len(img.getbands()) == 1 or fill == 0 else (fill,) * len(img.getbands())
    return fill[0] if len(fill) == 1 and len(img.getbands()) == 1 else tuple(fill) * (len(img.getbands()) // len(fill))


# --------------------------------------------------------------------------------------------------- cuts
def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """The part of the image that begins at (top, left), of this size; what lies outside of the image is 0."""
    if is_pillow(img):
        return img.crop((left, top, left + width, top + height))
    return on_planes("crop", img, lambda planes: _cropped(planes, top, left, height, width))


def _cropped(planes: Any, top: int, left: int, height: int, width: int) -> Any:
    rows, cols = planes.shape[-2:]
    inside = planes[..., max(top, 0):max(top + height, 0), max(left, 0):max(left + width, 0)]
    sides = [(min(max(-start, 0), size), min(max(start + size - extent, 0), size))
             for start, size, extent in ((top, height, rows), (left, width, cols))]
    return np.pad(inside, ((0, 0),) * (len(planes.shape) - 2) + tuple(sides)) if any(map(any, sides)) else inside.copy()


def center_crop(img: Any, output_size: Any) -> Any:
    """The middle of the image, of this (height, width); a smaller image gets a border of 0 first.

    >>> lnb.data.transforms.functional.center_crop(lnb.arange(16).reshape(4, 4), 2).tolist()
    [[5, 6], [9, 10]]
    """
    op = "center_crop"
    (height, width), (rows, cols) = pair_of(op, "output_size", output_size), size_of(op, img)
    if height > rows or width > cols:
        lack, spare = max(width - cols, 0), max(height - rows, 0)
        img = pad(img, (lack // 2, spare // 2, (lack + 1) // 2, (spare + 1) // 2))
        rows, cols = size_of(op, img)
    return crop(img, round((rows - height) / 2), round((cols - width) / 2), height, width)


def resized_crop(img: Any, top: int, left: int, height: int, width: int, size: Any, interpolation: str = "bilinear",
                 antialias: bool = True) -> Any:
    """A part of the image, at another size."""
    return resize(crop(img, top, left, height, width), pair_of("resized_crop", "size", size), interpolation, None,
                  antialias)


def hflip(img: Any) -> Any:
    """Left and right exchanged."""
    if is_pillow(img):
        return img.transpose(pillow("hflip").Transpose.FLIP_LEFT_RIGHT)
    return on_planes("hflip", img, lambda planes: planes[..., ::-1].copy())


def vflip(img: Any) -> Any:
    """Top and bottom exchanged."""
    if is_pillow(img):
        return img.transpose(pillow("vflip").Transpose.FLIP_TOP_BOTTOM)
    return on_planes("vflip", img, lambda planes: planes[..., ::-1, :].copy())


# ----------------------------------------------------------------------------------------------- rotation
def rotate(img: Any, angle: float, interpolation: str = "nearest", expand: bool = False,
           center: Sequence[float] | None = None, fill: Any = 0) -> Any:
    """The image turned by `angle` degrees, counter-clockwise, about its middle, or about `center` = (x, y).

    Corners that the image does not reach get the value `fill`. With `expand` the result holds the whole image.

    >>> lnb.data.transforms.functional.rotate(lnb.tensor([[1, 2], [3, 4]]), 90).tolist()
    [[2, 4], [1, 3]]
    """
    op, mode = "rotate", check_mode("rotate", interpolation, ("nearest", "bilinear", "bicubic"))
    if not math.isfinite(angle):
        raise ConfigError(f"{op}: the angle is {told(angle)}. Use finite degrees.")
    if is_pillow(img):
        return img.rotate(angle, _pillow_mode(op, mode), expand, center, fillcolor=fill_of(img, fill))
    if mode == "bicubic":
        raise ConfigError(f"{op}: interpolation 'bicubic' of a tensor. Use 'bilinear', or an image of Pillow.")
    check_planes(op, img)
    if img.dtype.kind not in "fiub":
        raise DTypeError(f"{op}: an image of {img.dtype}. Use real numbers.")
    y, x = _sources(img.shape[-2:], math.radians(angle), expand, center)
    return on_planes(op, img, lambda planes: _sampled(planes, y, x, mode, fill_planes(planes, fill)))


def _sources(shape: Any, angle: float, expand: bool, center: Sequence[float] | None) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of the image at which each pixel of the result lies."""
    (rows, cols), cosine, sine = shape, math.cos(angle), math.sin(angle)
    shift_x, shift_y = (0.0, 0.0) if center is None else (center[0] - cols * 0.5, center[1] - rows * 0.5)
    start_x = shift_x - cosine * shift_x + sine * shift_y
    start_y = shift_y - sine * shift_x - cosine * shift_y
    height, width = (_whole_size(rows, cols, cosine, sine, start_x, start_y)) if expand else (rows, cols)
    x = np.arange(width) - (width - 1) / 2
    y = (np.arange(height) - (height - 1) / 2)[:, None]
    return (sine * x + cosine * y + start_y + (rows - 1) / 2, cosine * x - sine * y + start_x + (cols - 1) / 2)


def _whole_size(rows: int, cols: int, cosine: float, sine: float, start_x: float, start_y: float) -> tuple[int, int]:
    """The size that holds the turned corners; what rounding adds, up to 1e-4 of a pixel, is no pixel more."""
    x, y = np.array([-1, -1, 1, 1]) * cols / 2, np.array([-1, 1, 1, -1]) * rows / 2
    extents = []
    for values, middle in ((sine * x + cosine * y + start_y, rows / 2), (cosine * x - sine * y + start_x, cols / 2)):
        low, high = np.rint((np.array([values.min(), values.max()]) + middle) / 1e-4) * 1e-4
        extents.append(int(np.ceil(high) - np.floor(low)))
    return extents[0], extents[1]


def _sampled(planes: Any, y: np.ndarray, x: np.ndarray, mode: str, fill: np.ndarray) -> Any:
    """The image at these places, `fill` where there is none."""
    if mode == "nearest":
        found, weight = _at(planes, np.rint(y), np.rint(x))
        return np.where(weight, found, fill)
    floats = planes if planes.dtype.kind == "f" else planes.astype(np.float32)
    total: Any = 0
    reached = np.zeros(x.shape)
    for row in (0, 1):
        for col in (0, 1):
            at_y, at_x = np.floor(y) + row, np.floor(x) + col
            found, there = _at(floats, at_y, at_x)
            weight = (1 - abs(y - at_y)) * (1 - abs(x - at_x)) * there
            total, reached = total + found * weight.astype(floats.dtype), reached + weight
    share = reached.astype(floats.dtype)           # weighs twice at the border, as in torchvision
    return rounded(total * share + (1 - share) * fill.astype(floats.dtype), planes.dtype)


def _at(planes: Any, y: np.ndarray, x: np.ndarray) -> tuple[Any, np.ndarray]:
    """The pixels at whole places, and which of the places lie in the image."""
    rows, cols = planes.shape[-2:]
    inside = (y >= 0) & (y < rows) & (x >= 0) & (x < cols)
    return planes[..., np.clip(y, 0, rows - 1).astype(np.int64), np.clip(x, 0, cols - 1).astype(np.int64)], inside
