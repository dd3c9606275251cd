"""Colours of images. Of Pillow's images by Pillow; of tensors and arrays on channels red, green, blue."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ConfigError, DTypeError, ShapeError, told
from .images import channels_of, check_planes, is_pillow, on_planes, pillow

LUMA = (0.2989, 0.587, 0.114)         # ITU-R BT.601, as torchvision rounds it


def bound_of(planes: Any) -> float:
    """The value of full brightness."""
    return 1.0 if planes.dtype.kind == "f" else float(np.iinfo(planes.dtype).max)


def normalize(tensor: Any, mean: Any, std: Any, inplace: bool = False) -> Any:
    """(tensor - mean) / std, of floats, with a mean and a standard deviation for each channel, or one for all.

    >>> lnb.data.transforms.functional.normalize(lnb.ones((3, 1, 1)), [0.5, 0, 1], [0.5, 2, 1]).ravel()
    tensor([1. , 0.5, 0. ])
    """
    op = "normalize"
    check_planes(op, tensor)
    if tensor.dtype.kind != "f":
        raise DTypeError(f"{op}: an image of {tensor.dtype}. Use ToTensor first, or .astype('float32').")
    channels = channels_of(op, tensor)
    shift, scale = (_for_channels(op, name, values, channels, tensor.dtype, len(tensor.shape))
                    for name, values in (("mean", mean), ("std", std)))
    if not scale.all():
        raise ConfigError(f"{op}: std is {told(std)}, of which 0 cannot divide. Use a value above 0.")
    if not inplace:
        return on_planes(op, tensor, lambda planes: (planes - shift) / scale)
    tensor -= shift
    tensor /= scale
    return tensor


def _for_channels(op: str, name: str, values: Any, channels: int, dtype: np.dtype, axes: int) -> np.ndarray:
    found = np.asarray(values, dtype)
    if found.shape not in ((), (1,), (channels,)):
        raise ShapeError(f"{op}: {name} has {found.size} values for {channels} channels. Give one, or one for each.")
    return found if found.ndim == 0 or axes == 2 else found[:, None, None]


def blend(one: Any, other: Any, ratio: float) -> Any:
    """ratio * one + (1 - ratio) * other, within the range of an image's dtype, whose integers cut off."""
    values = ratio * _floats(one) + (1 - ratio) * _floats(other)
    return np.clip(values, 0, bound_of(one)).astype(one.dtype)


def _floats(planes: Any) -> Any:
    return planes if planes.dtype.kind == "f" else planes.astype(np.float32)


def grayscale(planes: Any) -> Any:
    """Brightness, one channel."""
    if planes.shape[-3] == 1:
        return planes
    red, green, blue = (planes[..., channel:channel + 1, :, :] for channel in range(3))
    return (LUMA[0] * _floats(red) + LUMA[1] * _floats(green) + LUMA[2] * _floats(blue)).astype(planes.dtype)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """Brightness, 0.299 red + 0.587 green + 0.114 blue, in one channel or in three alike."""
    op = "rgb_to_grayscale"
    check_channels(op, num_output_channels)
    if is_pillow(img):
        gray = img.convert("L")
        return gray if num_output_channels == 1 else pillow(op).merge("RGB", [gray] * 3)
    _check_image(op, img)
    return on_planes(op, img, lambda planes: np.concatenate([grayscale(planes)] * num_output_channels, -3))


def check_channels(op: str, num_output_channels: Any) -> int:
    """One channel or three."""
    if num_output_channels not in (1, 3):
        raise ConfigError(f"{op}: num_output_channels is {told(num_output_channels)}. Use 1 or 3.")
    return int(num_output_channels)


def _check_image(op: str, img: Any) -> None:
    """Refuse what is neither gray nor red, green and blue."""
    check_planes(op, img)
    if len(img.shape) < 3 or img.shape[-3] not in (1, 3):
        raise ShapeError(f"{op}: an image of shape {tuple(img.shape)}. Use (..., 1 or 3, height, width).")


def _adjusted(op: str, img: Any, factor: float, enhancer: str, other: Callable[[Any], Any]) -> Any:
    """The image blended with another made of it."""
    if isinstance(factor, bool) or not factor >= 0 or factor == math.inf:
        raise ConfigError(f"{op}: the factor is {told(factor)}. Use a number of 0 or more.")
    if is_pillow(img):
        from PIL import ImageEnhance
        return getattr(ImageEnhance, enhancer)(img).enhance(factor)
    _check_image(op, img)
    return on_planes(op, img, lambda planes: blend(planes, other(planes), factor))


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """The image so many times as bright: 0 is black, 1 the image itself."""
    return _adjusted("adjust_brightness", img, brightness_factor, "Brightness", lambda planes: planes * 0)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """The image with so many times the contrast: 0 is its mean gray, 1 the image itself."""
    return _adjusted("adjust_contrast", img, contrast_factor, "Contrast",
                     lambda planes: _floats(grayscale(planes)).mean(axis=(-3, -2, -1), keepdims=True))


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """The image with so many times its colour: 0 is gray, 1 the image itself."""
    return _adjusted("adjust_saturation", img, saturation_factor, "Color", grayscale)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """The image with its hues turned by a part of the circle, -0.5 to 0.5; 0 is the image itself."""
    op = "adjust_hue"
    if isinstance(hue_factor, bool) or not -0.5 <= hue_factor <= 0.5:
        raise ConfigError(f"{op}: the factor is {told(hue_factor)}. Use a number from -0.5 to 0.5.")
    if is_pillow(img):
        return _hue_of_pillow(img, hue_factor)
    _check_image(op, img)
    if img.shape[-3] == 1:
        return img
    return on_planes(op, img, lambda planes: _turned(planes, hue_factor))


def _hue_of_pillow(img: Any, factor: float) -> Any:
    if img.mode in ("L", "1", "I", "F"):
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = np.array(hue, np.uint8) + np.array(factor * 255).astype(np.int64).astype(np.uint8)
    bands = (pillow("adjust_hue").fromarray(turned), saturation, value)
    return pillow("adjust_hue").merge("HSV", bands).convert(img.mode)


def _turned(planes: Any, factor: float) -> Any:
    """Through hue, saturation and value. A. R. Smith, Color gamut transform pairs, 1978."""
    floats = planes if planes.dtype.kind == "f" else planes.astype(np.float32) / np.float32(bound_of(planes))
    hue, saturation, value = _hsv(floats)
    sector = ((hue + factor) % 1.0) * 6.0
    whole = np.floor(sector)
    part = sector - whole
    low = np.clip(value * (1 - saturation), 0, 1)
    falling = np.clip(value * (1 - saturation * part), 0, 1)
    rising = np.clip(value * (1 - saturation * (1 - part)), 0, 1)
    place = whole.astype(np.int64) % 6
    channels = [_chosen(place, order) for order in ((value, falling, low, low, rising, value),
                (rising, value, value, falling, low, low), (low, low, rising, value, value, falling))]
    found = np.concatenate(channels, -3)
    if planes.dtype.kind == "f":
        return found.astype(planes.dtype)
    return (found * (bound_of(planes) + 1 - 1e-3)).astype(planes.dtype)


def _chosen(place: Any, values: Sequence[Any]) -> Any:
    """The value whose number `place` says."""
    found = values[0]
    for number in range(1, 6):
        found = np.where(place == number, values[number], found)
    return found


def _hsv(planes: Any) -> tuple[Any, Any, Any]:
    """Hue, saturation and value, each from 0 to 1, one channel each."""
    red, green, blue = (planes[..., channel:channel + 1, :, :] for channel in range(3))
    high, low = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    is_gray, spread = high == low, high - low
    divisor = np.where(is_gray, 1.0, spread)
    saturation = spread / np.where(is_gray, 1.0, high)
    from_red, from_green, from_blue = ((high - channel) / divisor for channel in (red, green, blue))
    hue = np.where(high == red, from_blue - from_green,
                   np.where(high == green, 2.0 + from_red - from_blue, 4.0 + from_green - from_red))
    return (hue / 6.0 + 1.0) % 1.0, saturation, high
