"""What handlers ask of values: numbers of tensors that say sizes and places, and tensors of what is none."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import Tensor
from ..creation import asarray
from ..errors import DTypeError, ShapeError


def host(value: Any) -> np.ndarray:
    """The values on the host."""
    return value.detach().to_host() if isinstance(value, Tensor) else np.asarray(value)


def integers(value: Any) -> list[int]:
    """The integers of a tensor or an attribute, which say sizes, places or axes."""
    found = host(value)
    if found.dtype.kind not in "iu" and found.size:
        raise DTypeError(f"onnx: sizes, places and axes are {found.dtype}. They must be integers.")
    return [int(number) for number in found.reshape(-1)]


def numbers(value: Any) -> list[float]:
    """The numbers of a tensor or an attribute."""
    return [float(number) for number in host(value).reshape(-1)]


def scalar(value: Any) -> Any:
    """The one number of a tensor or an attribute."""
    found = host(value)
    if found.size != 1:
        raise ShapeError(f"onnx: a value of shape {found.shape} stands where one number is asked for. Give one.")
    return found.reshape(-1)[0].item()


def axes_of(value: Any, ndim: int) -> tuple[int, ...]:
    """Axes, counted from the front."""
    found = integers(value)
    if any(not -ndim <= axis < ndim for axis in found):
        raise ShapeError(f"onnx: axes {found} of {ndim} axes. Use {-ndim} to {ndim - 1}.")
    return tuple([axis % ndim for axis in found])


def on(like: Any, values: Any) -> Tensor:
    """An array on the device of a tensor."""
    return asarray(values, device=like.device)


def floating(x: Any) -> bool:
    """Are the elements floats?"""
    return x.dtype.kind == "f" or x.dtype.name == "bfloat16"


def unsqueezed(x: Any, places: Sequence[int]) -> Any:
    """With axes of size 1 at these places of the result."""
    shape = list(x.shape)
    for place in sorted(places):
        shape.insert(place, 1)
    return x.reshape(shape)
