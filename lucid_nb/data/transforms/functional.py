"""Transforms as functions, with all that is drawn given: torchvision's names."""

from .color import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    normalize,
    rgb_to_grayscale,
)
from .filters import erase, gaussian_blur
from .geometry import InterpolationMode, center_crop, crop, hflip, pad, resize, resized_crop, rotate, vflip
from .images import to_image as to_pil_image
from .images import to_tensor

__all__ = ["InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation",
           "center_crop", "crop", "erase", "gaussian_blur", "hflip", "normalize", "pad", "resize", "resized_crop",
           "rgb_to_grayscale", "rotate", "to_pil_image", "to_tensor", "vflip"]
