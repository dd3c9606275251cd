"""What all transforms are, and those that draw nothing."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import ConfigError, told
from . import functional
from .color import check_channels
from .filters import check_kernel, check_sigma
from .geometry import check_mode, pair_of
from .images import BYTE


class Transform:
    """A function of an image that can be sent to a worker: subclasses give `forward`.

    Images are those of Pillow, or tensors and arrays (..., channels, height, width).
    """

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        raise NotImplementedError(f"{type(self).__name__}: forward is missing. Return the image transformed.")

    def __call__(self, img: Any) -> Any:
        return self.forward(img)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({inside})"


class Compose(Transform):
    """Transforms one after the other.

    >>> T = lnb.data.transforms
    >>> T.Compose([T.ToTensor(), T.CenterCrop(2)])(np.zeros((4, 4, 3), np.uint8)).shape
    (3, 2, 2)
    """

    def __init__(self, transforms: Iterable[Callable[[Any], Any]]) -> None:
        self.transforms = list(transforms)
        strange = [transform for transform in self.transforms if not callable(transform)]
        if strange:
            raise ConfigError(f"Compose: {told(strange[0])} is no transform. Pass functions of an image.")

    def forward(self, img: Any) -> Any:
        """The image after all transforms."""
        for transform in self.transforms:
            img = transform(img)
        return img


class Lambda(Transform):
    """Any function as a transform. Workers can be sent one that is defined at the top of a module."""

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise ConfigError(f"Lambda: {told(lambd)} is no function. Pass one of an image.")
        self.lambd = lambd

    def forward(self, img: Any) -> Any:
        """What the function gives."""
        return self.lambd(img)


class ToTensor(Transform):
    """A tensor (channels, height, width) of Pillow's image, or of an array (height, width[, channels]).

    Bytes become float32 from 0 to 1; other dtypes keep their values. A tensor of bytes keeps its axes.

    >>> lnb.data.transforms.ToTensor()(np.full((2, 2), 255, np.uint8)).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """

    def __init__(self, requires_grad: bool = False, keep_grad: bool = False, dtype: Any = None) -> None:
        self.requires_grad, self.keep_grad, self.dtype = requires_grad, keep_grad, dtype

    def forward(self, img: Any) -> Any:
        """The image as a tensor."""
        found = functional.to_tensor(img, self.dtype)
        if self.requires_grad or self.keep_grad:
            found.requires_grad = True
        return found


class ToPILImage(Transform):
    """Pillow's image of a tensor (channels, height, width) or an array (height, width[, channels]).

    Floats from 0 to 1 become bytes.
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def forward(self, img: Any) -> Any:
        """The image as one of Pillow's."""
        is_array = isinstance(img, np.ndarray)
        planes = img if is_array else img.to_host()
        planes = np.moveaxis(planes, -1, 0) if is_array and planes.ndim == 3 else planes
        if planes.dtype.kind == "f" and self.mode != "F":
            planes = (planes * BYTE).astype(np.uint8)
        return functional.to_pil_image(planes, self.mode)


class Normalize(Transform):
    """(image - mean) / std, of floats, with a mean and a standard deviation for each channel."""

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        self.mean, self.std, self.inplace = np.asarray(mean).tolist(), np.asarray(std).tolist(), inplace
        if not np.all(np.asarray(self.std)):
            raise ConfigError(f"Normalize: std is {told(std)}, of which 0 cannot divide. Use values above 0.")

    def forward(self, img: Any) -> Any:
        """The image normalised."""
        return functional.normalize(img, self.mean, self.std, self.inplace)


class Resize(Transform):
    """The image at another size: (height, width), or the shorter side, by which the longer one follows."""

    def __init__(self, size: Any, interpolation: str = "bilinear", max_size: int | None = None,
                 antialias: bool = True) -> None:
        pair_of("Resize", "size", size)
        self.size, self.interpolation = size, check_mode("Resize", interpolation)
        self.max_size, self.antialias = max_size, antialias

    def forward(self, img: Any) -> Any:
        """The image resized."""
        return functional.resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(Transform):
    """The middle of the image, of this (height, width); a smaller image gets a border of 0 first."""

    def __init__(self, size: Any) -> None:
        self.size = pair_of("CenterCrop", "size", size)

    def forward(self, img: Any) -> Any:
        """The middle of the image."""
        return functional.center_crop(img, self.size)


class Pad(Transform):
    """The image with a border: `padding` on all sides, (sides, above and below), or (left, top, right, bottom)."""

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode
        functional.pad(np.zeros((9, 9)), 0, 0, padding_mode)

    def forward(self, img: Any) -> Any:
        """The image with its border."""
        return functional.pad(img, self.padding, self.fill, self.padding_mode)


class Grayscale(Transform):
    """Brightness in one channel, or in three alike."""

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = check_channels("Grayscale", num_output_channels)

    def forward(self, img: Any) -> Any:
        """The image in gray."""
        return functional.rgb_to_grayscale(img, self.num_output_channels)


def kernel_and_sigma(op: str, kernel_size: Any, sigma: Any) -> tuple[tuple[int, int], tuple[float, float]]:
    """Two odd sizes, and the range of the deviation."""
    low, high = check_sigma(op, sigma)
    if low > high:
        raise ConfigError(f"{op}: sigma is {told(sigma)}. Use (least, most).")
    return check_kernel(op, kernel_size), (low, high)


def range_of(op: str, name: str, values: Any, low: float = 0.0, high: float = float("inf")) -> tuple[float, float]:
    """(least, most) within bounds."""
    is_pair = isinstance(values, Sequence) and len(values) == 2
    if not is_pair or not all(isinstance(v, int | float | np.number) for v in values) or \
            not low <= values[0] <= values[1] <= high:
        raise ConfigError(f"{op}: {name} is {told(values)}. Use (least, most), from {low:g} to {high:g}.")
    return float(values[0]), float(values[1])


__all__ = ["CenterCrop", "Compose", "Grayscale", "Lambda", "Normalize", "Pad", "Resize", "ToPILImage", "ToTensor",
           "Transform", "kernel_and_sigma", "range_of"]
