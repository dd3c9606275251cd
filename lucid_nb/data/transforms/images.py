"""What an image is: one of Pillow's, or a tensor or an array of shape (..., channels, height, width)."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ...array import Tensor
from ...errors import BackendError, DTypeError, ShapeError, told
from ..collate import from_array

BYTE = np.float32(255)
MODES = {"1": np.dtype(bool), "I": np.dtype(np.int32), "F": np.dtype(np.float32), "I;16": np.dtype(np.uint16)}


def pillow(op: str) -> ModuleType:
    """Pillow, which is an optional package."""
    try:
        from PIL import Image
    except ImportError:
        raise BackendError(f"{op}: Pillow is not installed. Use pip install 'lucid_nb[images]', or pass "
                           "tensors.") from None
    found: ModuleType = Image
    return found


def is_pillow(image: Any) -> bool:
    """Is it an image of Pillow? Without loading Pillow, where nobody has."""
    loaded = sys.modules.get("PIL.Image")
    return loaded is not None and isinstance(image, loaded.Image)


def check_planes(op: str, image: Any) -> None:
    """Refuse what is no image: other types, and arrays without height and width."""
    if not isinstance(image, Tensor | np.ndarray):
        raise DTypeError(f"{op}: the image is a {type(image).__name__}. Pass a tensor, an array, or an image of "
                         "Pillow.")
    if len(image.shape) < 2 or 0 in image.shape[-2:]:
        raise ShapeError(f"{op}: an image of shape {tuple(image.shape)}. Use (..., channels, height, width), none 0.")


def on_planes(op: str, image: Any, function: Callable[[Any], Any]) -> Any:
    """A function of arrays, of a tensor's memory where it is plain; of the tensor where gradients or a device count."""
    check_planes(op, image)
    if isinstance(image, Tensor) and image.device == "cpu" and not image.requires_grad:
        return Tensor(np.ascontiguousarray(function(image.to_host())))
    return function(image)


def by_array(op: str, image: Any, function: Callable[[Any], Any]) -> Any:
    """A function of planes, also of Pillow's image by way of an array."""
    if not is_pillow(image):
        return on_planes(op, image, function)
    return to_image(function(planes_of(image)), image.mode)


def size_of(op: str, image: Any) -> tuple[int, int]:
    """Height and width."""
    if is_pillow(image):
        return image.height, image.width
    check_planes(op, image)
    return image.shape[-2], image.shape[-1]


def channels_of(op: str, image: Any) -> int:
    """How many channels; an image of two axes has one."""
    if is_pillow(image):
        return len(image.getbands())
    check_planes(op, image)
    return image.shape[-3] if len(image.shape) > 2 else 1


def planes_of(image: Any) -> np.ndarray:
    """Pillow's image as an array (channels, height, width)."""
    pixels = np.array(image, MODES.get(image.mode, np.uint8))
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)) if pixels.ndim == 3 else pixels[None]


def to_image(planes: np.ndarray, mode: str | None = None) -> Any:
    """Pillow's image of an array (channels, height, width), or (height, width)."""
    op, library = "ToPILImage", pillow("ToPILImage")
    planes = planes[None] if planes.ndim == 2 else planes
    count = planes.shape[0]
    if planes.ndim != 3 or count not in (1, 2, 3, 4):
        raise ShapeError(f"{op}: an array of shape {planes.shape}. Use (channels, height, width) of 1 to 4 channels.")
    kinds = {kind: name for name, kind in MODES.items()}
    if planes.dtype != np.uint8 and (count > 1 or planes.dtype not in kinds):
        raise DTypeError(f"{op}: {count} channels of {planes.dtype}. Use uint8, or floats from 0 to 1.")
    found = library.fromarray(planes[0] if count == 1 else np.ascontiguousarray(planes.transpose(1, 2, 0)))
    if mode is None or mode == found.mode:
        return found
    if len(library.new(mode, (1, 1)).getbands()) != count:
        raise ShapeError(f"{op}: {count} channels are not of mode {told(mode)}. Leave the mode out.")
    return library.frombytes(mode, found.size, found.tobytes())


def to_tensor(image: Any, dtype: Any = None) -> Tensor:
    """A tensor (channels, height, width) of an image: of Pillow's, of an array (height, width, channels) or (height,
    width), or of a tensor, whose axes stay. Bytes become float32 from 0 to 1; other dtypes keep their values.

    >>> lnb.data.transforms.functional.to_tensor(np.full((2, 4, 3), 51, np.uint8)).shape
    (3, 2, 4)
    """
    op = "ToTensor"
    if isinstance(image, Tensor):
        found = on_planes(op, image, _fractions)
    else:
        found = from_array(op, np.ascontiguousarray(_fractions(_planes_of_any(op, image))))
    return found if dtype is None else found.astype(dtype)


def _planes_of_any(op: str, image: Any) -> np.ndarray:
    """Channels first, of Pillow's image or of an array that has them last."""
    if is_pillow(image):
        planes = planes_of(image)
        return planes.astype(np.uint8) * np.uint8(255) if planes.dtype == bool else planes
    if isinstance(image, np.ndarray) and image.ndim in (2, 3):
        return image[None] if image.ndim == 2 else image.transpose(2, 0, 1)
    what = f"an array of shape {image.shape}" if isinstance(image, np.ndarray) else f"a {type(image).__name__}"
    raise DTypeError(f"{op}: the image is {what}. Pass an image of Pillow, a tensor, or an array of shape (height, "
                     "width) or (height, width, channels).")


def _fractions(planes: Any) -> Any:
    """Bytes as float32 from 0 to 1."""
    if planes.dtype != np.uint8:
        return planes
    if isinstance(planes, np.ndarray):
        return np.divide(planes, BYTE, order="C")
    return planes.astype(np.float32) / BYTE


def rounded(values: Any, dtype: np.dtype) -> Any:
    """Values in the dtype that an image had; of integers the nearest, within its range."""
    if dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)
