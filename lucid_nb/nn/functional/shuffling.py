"""Elements of channels in other places: nothing is computed."""

from typing import Any

from ...array import Tensor
from ...creation import asarray
from ...errors import ShapeError
from ...shapes import as_integer


def _image(op: str, input: Any, factor: int) -> tuple[Tensor, int]:
    """The input and the factor, after checking them."""
    x, factor = asarray(input), as_integer(op, "factor", factor)
    if x.ndim < 3 or factor < 1:
        raise ShapeError(f"{op}: an input of shape {x.shape} and a factor of {factor}. Give (..., channels, height, "
                         "width) and a positive factor.")
    return x, factor


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """(..., channels * r**2, height, width) as (..., channels, height * r, width * r), r the factor.

    ShapeError if the channels do not divide by r**2.

    Source: W. Shi et al., Real-time single image and video super-resolution, arXiv:1609.05158.

    >>> lnb.nn.functional.pixel_shuffle(np.arange(4.0).reshape(4, 1, 1), 2).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """
    x, r = _image("pixel_shuffle", input, upscale_factor)
    *lead, channels, height, width = x.shape
    if channels % r ** 2:
        raise ShapeError(f"pixel_shuffle: {channels} channels for a factor of {r}, shape {x.shape}. Use a multiple of "
                         f"{r ** 2}.")
    parts = x.reshape(*lead, channels // r ** 2, r, r, height, width)
    first = len(lead)
    order = (*range(first + 1), first + 3, first + 1, first + 4, first + 2)
    return parts.transpose(order).reshape(*lead, channels // r ** 2, height * r, width * r)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """(..., channels, height * r, width * r) as (..., channels * r**2, height, width): pixel_shuffle undone.

    ShapeError if height or width do not divide by r.

    >>> lnb.nn.functional.pixel_unshuffle([[[0.0, 1.0], [2.0, 3.0]]], 2).tolist()
    [[[0.0]], [[1.0]], [[2.0]], [[3.0]]]
    """
    x, r = _image("pixel_unshuffle", input, downscale_factor)
    *lead, channels, height, width = x.shape
    if height % r or width % r:
        raise ShapeError(f"pixel_unshuffle: {height} x {width} pixels for a factor of {r}. Use multiples of it.")
    parts = x.reshape(*lead, channels, height // r, r, width // r, r)
    first = len(lead)
    order = (*range(first + 1), first + 2, first + 4, first + 1, first + 3)
    return parts.transpose(order).reshape(*lead, channels * r ** 2, height // r, width // r)


def channel_shuffle(input: Any, groups: int) -> Tensor:
    """(batch, channels, ...) with the first channel of each group first, then the second of each, and so on.

    ShapeError if the channels do not divide by the number of groups.

    Source: X. Zhang et al., ShuffleNet, arXiv:1707.01083.

    >>> lnb.nn.functional.channel_shuffle(np.arange(4.0).reshape(1, 4, 1), 2).ravel()
    tensor([0., 2., 1., 3.])
    """
    x, groups = asarray(input), as_integer("channel_shuffle", "groups", groups)
    if x.ndim < 3 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(f"channel_shuffle: an input of shape {x.shape} in {groups} groups. Give (batch, channels, "
                         "...), channels that divide by a positive number of groups.")
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return parts.swapaxes(1, 2).reshape(x.shape)
