"""Transforms of images, alone and in datasets: lucid's ten and those that torchvision's users know, with its meanings.

Images are those of Pillow (the extra `images`), or tensors and arrays of shape (..., channels, height, width).
"""

from . import functional
from .base import CenterCrop, Compose, Grayscale, Lambda, Normalize, Pad, Resize, ToPILImage, ToTensor, Transform
from .geometry import InterpolationMode
from .random_transforms import (
    ColorJitter,
    GaussianBlur,
    RandomCrop,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)

__all__ = ["CenterCrop", "ColorJitter", "Compose", "GaussianBlur", "Grayscale", "InterpolationMode", "Lambda",
           "Normalize", "Pad", "RandomCrop", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip",
           "RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "ToPILImage", "ToTensor", "Transform",
           "functional"]
