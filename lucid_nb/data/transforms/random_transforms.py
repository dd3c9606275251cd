"""Transforms that draw, from the library's random state: `lnb.random.seed` governs it, and in workers the loader."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import random
from ...errors import ConfigError, DTypeError, ShapeError, told
from . import functional
from .base import Transform, kernel_and_sigma, range_of
from .geometry import check_mode, pair_of
from .images import channels_of, is_pillow, size_of

TRIES = 10                    # of a random box, before one in the middle is taken


def uniform(low: float, high: float) -> float:
    """A number from low to high."""
    return float(random.host().uniform(low, high))


def below(count: int) -> int:
    """An integer from 0, below `count`."""
    return int(random.host().randint(count))


def happens(p: float) -> bool:
    """True with this probability."""
    return bool(random.host().random_sample() < p)


class Chance(Transform):
    """A transform that happens with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        if isinstance(p, bool) or not isinstance(p, int | float | np.number) or not 0 <= p <= 1:
            raise ConfigError(f"{type(self).__name__}: p is {told(p)}. Use a probability from 0 to 1.")
        self.p = float(p)

    def change(self, img: Any) -> Any:
        """The image where it happens."""
        raise NotImplementedError(f"{type(self).__name__}: change is missing. Return the image changed.")

    def forward(self, img: Any) -> Any:
        """The image, changed or not."""
        return self.change(img) if happens(self.p) else img


class RandomHorizontalFlip(Chance):
    """Left and right exchanged with probability p."""

    def change(self, img: Any) -> Any:
        """The image mirrored."""
        return functional.hflip(img)


class RandomVerticalFlip(Chance):
    """Top and bottom exchanged with probability p."""

    def change(self, img: Any) -> Any:
        """The image mirrored."""
        return functional.vflip(img)


class RandomGrayscale(Chance):
    """Gray with probability p, in as many channels as before."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def change(self, img: Any) -> Any:
        """The image in gray."""
        return functional.rgb_to_grayscale(img, channels_of("RandomGrayscale", img))


class RandomCrop(Transform):
    """A part of this (height, width) from anywhere in the image, after `padding`, as `Pad` understands it.

    With `pad_if_needed` a smaller image gets a border on both sides; without, ShapeError.
    """

    def __init__(self, size: Any, padding: Any = None, pad_if_needed: bool = False, fill: Any = 0,
                 padding_mode: str = "constant") -> None:
        self.size, self.padding = pair_of("RandomCrop", "size", size), padding
        self.pad_if_needed, self.fill, self.padding_mode = pad_if_needed, fill, padding_mode

    def forward(self, img: Any) -> Any:
        """A part of the image."""
        (height, width), op = self.size, "RandomCrop"
        if self.padding is not None:
            img = functional.pad(img, self.padding, self.fill, self.padding_mode)
        rows, cols = size_of(op, img)
        if self.pad_if_needed:
            sides = (max(width - cols, 0), max(height - rows, 0))
            img = functional.pad(img, sides, self.fill, self.padding_mode)
            rows, cols = size_of(op, img)
        if height > rows or width > cols:
            raise ShapeError(f"{op}: a part of {self.size} of an image of {(rows, cols)}. Use a smaller size, or "
                             "pad_if_needed=True.")
        if (rows, cols) == (height, width):
            return img
        return functional.crop(img, below(rows - height + 1), below(cols - width + 1), height, width)


def box_in(rows: int, cols: int, scale: tuple[float, float], ratio: tuple[float, float],
           is_inside: bool) -> tuple[int, int, int, int] | None:
    """(top, left, height, width) of a box in an image; None where no try fits.

    Its part of the area is drawn from `scale`; its shape from `ratio`, evenly in the logarithm. `is_inside` says which
    way the shape is understood and whether the box may be as large as the image: width by height, and it may; or height
    by width, and it may not.
    """
    for _ in range(TRIES):
        area = rows * cols * uniform(*scale)
        shape = math.exp(uniform(math.log(ratio[0]), math.log(ratio[1])))
        long, short = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        height, width = (short, long) if is_inside else (long, short)
        most = (rows, cols) if is_inside else (rows - 1, cols - 1)
        if 0 < height <= most[0] and 0 < width <= most[1]:
            return below(rows - height + 1), below(cols - width + 1), height, width
    return None


class RandomResizedCrop(Transform):
    """A part of the image of random area, shape and place, resized to `size`.

    `scale`: (least, most) of the image's area; `ratio`: (least, most) of width by height. C. Szegedy et al., Going
    deeper with convolutions, 2015.
    """

    def __init__(self, size: Any, scale: Sequence[float] = (0.08, 1.0), ratio: Sequence[float] = (3 / 4, 4 / 3),
                 interpolation: str = "bilinear", antialias: bool = True) -> None:
        op = "RandomResizedCrop"
        self.size, self.scale = pair_of(op, "size", size), range_of(op, "scale", scale)
        self.ratio, self.interpolation = range_of(op, "ratio", ratio, 1e-6), check_mode(op, interpolation)
        self.antialias = antialias

    def box(self, rows: int, cols: int) -> tuple[int, int, int, int]:
        """(top, left, height, width) of a part; in the middle where none fits."""
        found = box_in(rows, cols, self.scale, self.ratio, True)
        if found is not None:
            return found
        height, width = rows, cols
        if cols / rows < self.ratio[0]:
            height = round(cols / self.ratio[0])
        elif cols / rows > self.ratio[1]:
            width = round(rows * self.ratio[1])
        return (rows - height) // 2, (cols - width) // 2, height, width

    def forward(self, img: Any) -> Any:
        """A part of the image, resized."""
        box = self.box(*size_of("RandomResizedCrop", img))
        return functional.resized_crop(img, *box, self.size, self.interpolation, self.antialias)


class RandomRotation(Transform):
    """The image turned by an angle from `degrees` = (least, most), or from minus to plus one number.

    The other arguments are those of `functional.rotate`.
    """

    def __init__(self, degrees: Any, interpolation: str = "nearest", expand: bool = False, center: Any = None,
                 fill: Any = 0) -> None:
        op = "RandomRotation"
        one = isinstance(degrees, int | float | np.number)
        if one and degrees < 0:
            raise ConfigError(f"{op}: degrees is {told(degrees)}. Use a number of 0 or more, or (least, most).")
        self.degrees = range_of(op, "degrees", (-degrees, degrees) if one else degrees, -math.inf)
        self.interpolation = check_mode(op, interpolation, ("nearest", "bilinear", "bicubic"))
        self.expand, self.center, self.fill = expand, center, fill

    def forward(self, img: Any) -> Any:
        """The image turned."""
        return functional.rotate(img, uniform(*self.degrees), self.interpolation, self.expand, self.center, self.fill)


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in random order.

    Each of the first three is a number x, for factors from max(0, 1 - x) to 1 + x, or (least, most); hue is a number up
    to 0.5, for turns from minus to plus that, or (least, most).
    """

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        self.brightness = self._range("brightness", brightness)
        self.contrast = self._range("contrast", contrast)
        self.saturation = self._range("saturation", saturation)
        self.hue = self._range("hue", hue, 0.0, (-0.5, 0.5))

    @staticmethod
    def _range(name: str, value: Any, middle: float = 1.0,
               bounds: tuple[float, float] = (0.0, math.inf)) -> tuple[float, float]:
        if isinstance(value, int | float | np.number):
            if not 0 <= value <= bounds[1]:
                raise ConfigError(f"ColorJitter: {name} is {told(value)}. Use a number from 0 to {bounds[1]:g}, or "
                                  "(least, most).")
            value = (max(bounds[0], middle - value), middle + value)
        return range_of("ColorJitter", name, value, *bounds)

    def forward(self, img: Any) -> Any:
        """The image with other colours."""
        steps = ((functional.adjust_brightness, self.brightness, 1), (functional.adjust_contrast, self.contrast, 1),
                 (functional.adjust_saturation, self.saturation, 1), (functional.adjust_hue, self.hue, 0))
        for number in random.host().permutation(len(steps)):
            adjust, factors, neutral = steps[number]
            if factors != (neutral, neutral):
                img = adjust(img, uniform(*factors))
        return img


class GaussianBlur(Transform):
    """The image under a Gauss filter of odd `kernel_size`, with a deviation drawn from `sigma` = (least, most)."""

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        self.kernel_size, self.sigma = kernel_and_sigma("GaussianBlur", kernel_size, sigma)

    def forward(self, img: Any) -> Any:
        """The image blurred."""
        return functional.gaussian_blur(img, self.kernel_size, uniform(*self.sigma))


class RandomErasing(Chance):
    """With probability p, a box of a tensor replaced by `value`: a number, one for each channel, or "random".

    `scale`: (least, most) of the image's area; `ratio`: (least, most) of height by width. Z. Zhong et al., Random
    erasing data augmentation, 2020.
    """

    def __init__(self, p: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3),
                 value: Any = 0, inplace: bool = False) -> None:
        super().__init__(p)
        self.scale = range_of("RandomErasing", "scale", scale, 0.0, 1.0)
        self.ratio = range_of("RandomErasing", "ratio", ratio, 1e-6)
        if isinstance(value, str) and value != "random":
            raise ConfigError(f"RandomErasing: value is {told(value)}. Use numbers, or 'random'.")
        self.value, self.inplace = value, inplace

    def change(self, img: Any) -> Any:
        """The image without a box."""
        op, (rows, cols) = "RandomErasing", size_of("RandomErasing", img)
        if is_pillow(img):
            raise DTypeError(f"{op}: the image is Pillow's. Put ToTensor before it.")
        found = box_in(rows, cols, self.scale, self.ratio, False)
        if found is None:
            return img
        top, left, height, width = found
        channels = channels_of(op, img)
        if isinstance(self.value, str):
            value = random.host().standard_normal((channels, height, width)).astype(img.dtype)
        else:
            value = np.asarray(self.value, img.dtype)
            if value.size not in (1, channels):
                raise ShapeError(f"{op}: {value.size} values for {channels} channels. Give one, or one for each.")
            value = value.reshape(-1, 1, 1)
        return functional.erase(img, top, left, height, width, value, self.inplace)
