"""Interpolation: images of another size, and images sampled at the points of a grid."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError, DTypeError, ShapeError, is_one_of
from ...ops import grid as sampling
from ...ops import resample
from ...ops.movement import astype
from ...shapes import Shape, as_integer, as_number, check_sizes

MODES = {"nearest": (3, 4, 5), "nearest-exact": (3, 4, 5), "area": (3, 4, 5), "linear": (3,), "bilinear": (4,),
         "bicubic": (4,), "trilinear": (5,)}
CHOOSING = ("nearest", "nearest-exact")
Scale = float | Sequence[float] | None


def interpolate(input: Any, size: int | Sequence[int] | None = None, scale_factor: Scale = None,
                mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """(batch, channels, ...) with the last one to three axes in another size, or scaled by factors (rounded down).

    `mode`: "nearest" (the element at or before each place), "nearest-exact", "area" (the mean of what is covered), of
    three axes "linear", of four "bilinear" and "bicubic", of five "trilinear". `align_corners`: corners stay where they
    are, otherwise the edges of the outer elements do. `recompute_scale_factor`: places follow from sizes instead of
    factors. `antialias` ("bilinear", "bicubic"): filters are stretched where the image shrinks.

    >>> lnb.nn.functional.interpolate([[[1.0, 3.0]]], 4, mode="linear", align_corners=False).tolist()
    [[[1.0, 1.5, 2.5, 3.0]]]
    """
    x = asarray(input)
    _check(x, mode, align_corners, antialias)
    sizes = x.shape[2:]
    results, scales = _results(x.shape, size, scale_factor, recompute_scale_factor)
    if min((*sizes, *results), default=1) < 1:
        raise ShapeError(f"interpolate: sizes {sizes} to {results}. All must be 1 or more.")
    check_sizes("interpolate", (*x.shape[:2], *results))
    pairs = [*zip(sizes, results, scales)]
    if mode in CHOOSING:
        exact, of_image = mode == "nearest-exact", x.ndim == 4
        return resample.chosen(x, 2, [resample.nearest_taps(*pair, exact, of_image) for pair in pairs])
    x, aligned = astype(x, dtypes.real_float("interpolate", x.dtype, x.device), copy=False), bool(align_corners)
    if mode == "area":
        every = [resample.mean_taps(before, after) for before, after, _ in pairs]
    elif antialias:
        every = [resample.smooth_taps(*pair, aligned, mode == "bicubic") for pair in pairs]
    else:
        taps = resample.cubic_taps if mode == "bicubic" else resample.linear_taps
        every = [taps(*pair, aligned) for pair in pairs]
    return resample.resample(x, 2, every)


def _check(x: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if not is_one_of(mode, MODES):
        raise ConfigError(f"interpolate: mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
    if x.ndim not in MODES[mode]:
        wanted = ", ".join(map(str, MODES[mode]))
        raise ShapeError(f"interpolate: an input of shape {x.shape} for mode {mode!r}, which takes {wanted} axes. Add "
                         "axes of size 1, or use another mode.")
    if align_corners is not None and mode in (*CHOOSING, "area"):
        raise ConfigError(f"interpolate: align_corners means nothing for mode {mode!r}. Leave it out.")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ConfigError(f"interpolate: antialias for mode {mode!r}. Use 'bilinear' or 'bicubic'.")


def _results(shape: Shape, size: Any, scale_factor: Scale, recompute: bool | None) -> tuple[Shape, list]:
    """The sizes of results, and the factors that places follow from, None where they follow from sizes."""
    sizes = shape[2:]
    if (size is None) == (scale_factor is None):
        raise ConfigError(f"interpolate: size={size} and scale_factor={scale_factor}. Give one of them.")
    if scale_factor is None:
        if recompute:
            raise ConfigError("interpolate: recompute_scale_factor with a size. Give scale_factor, or leave it out.")
        return _each("size", size, len(sizes), lambda value: as_integer("interpolate", "size", value)), [None] * len(
            sizes)
    factors = _each("scale_factor", scale_factor, len(sizes),
                    lambda value: as_number("interpolate", "scale_factor", value))
    if not all(0 < factor < math.inf for factor in factors):
        raise ConfigError(f"interpolate: scale_factor={scale_factor}. Use positive numbers.")
    return (tuple([math.floor(before * factor) for before, factor in zip(sizes, factors)]),
            [None] * len(sizes) if recompute else [*factors])


def _each(what: str, given: Any, count: int, convert: Any) -> tuple:
    """One number for each axis."""
    found = tuple(map(convert, given)) if isinstance(given, (tuple, list)) else (convert(given),) * count
    if len(found) != count:
        raise ShapeError(f"interpolate: {what}={given} for {count} axes. Give one number, or {count}.")
    return found


def upsample(input: Any, size: int | Sequence[int] | None = None, scale_factor: Scale = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """`interpolate` by its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: int | Sequence[int] | None = None, scale_factor: Scale = None) -> Tensor:
    """interpolate with mode "nearest"."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Any, size: int | Sequence[int] | None = None, scale_factor: Scale = None) -> Tensor:
    """interpolate with mode "bilinear" and corners kept."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def grid_sample(input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """(batch, channels, [depth,] height, width) sampled at the points of a grid, (batch, ..., 2) or (batch, ..., 3).

    The last axis of the grid is (x, y[, z]): -1 and 1 are the centres of the corners with align_corners, otherwise the
    edges of the image; NaN counts as -1. `mode`: "bilinear", "nearest", or of images "bicubic". `padding_mode`, what
    lies outside: "zeros", "border" (the nearest element), "reflection". Differentiable by both operands.

    Source: M. Jaderberg et al., Spatial transformer networks, arXiv:1506.02025.

    >>> lnb.nn.functional.grid_sample([[[[1.0, 3.0]]]], [[[[0.0, 0.0]]]], align_corners=True).tolist()
    [[[[2.0]]]]
    """
    x = asarray(input)
    x = astype(x, dtypes.real_float("grid_sample", x.dtype, x.device), copy=False)
    points = asarray(grid, dtype=x.dtype, device=x.device) if isinstance(grid, (list, tuple)) else asarray(grid)
    if points.dtype != x.dtype:
        raise DTypeError(f"grid_sample: the input is {x.dtype}, the grid {points.dtype}. Cast one of them.")
    return sampling.grid_sample(x, points, mode, padding_mode, bool(align_corners))


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for grid_sample of images or volumes whose points are mapped by affine maps.

    theta: (batch, 2, 3) for a size (batch, channels, height, width), or (batch, 3, 4) for one of volumes.

    >>> lnb.nn.functional.affine_grid([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], (1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    maps = asarray(theta)
    maps = astype(maps, dtypes.real_float("affine_grid", maps.dtype, maps.device), copy=False)
    wanted = tuple(as_integer("affine_grid", "size", each) for each in size)
    axes = len(wanted) - 2
    if axes not in (2, 3) or min(wanted) < 1 or maps.shape != (wanted[0], axes, axes + 1):
        raise ShapeError(f"affine_grid: theta of shape {maps.shape} for size {wanted}. Give (batch, 2, 3) for four "
                         "sizes, (batch, 3, 4) for five, all positive.")
    lines = [_line(count, bool(align_corners)) for count in wanted[2:]]
    points = np.stack([*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(wanted[2:])], -1).reshape(-1, axes + 1)
    found = asarray(points.astype(maps.dtype), device=maps.device) @ maps.mT
    return found.reshape(wanted[0], *wanted[2:], axes)


def rotate(input: Any, angle: float, center: Sequence[float] | None = None) -> Tensor:
    """Images (..., height, width) turned clockwise by so many degrees about a point, the middle by default.

    `center`: (x, y), in pixels from the middle of the first one. Each pixel of the result is the one that lies nearest
    to where it comes from; what comes from outside is the nearest pixel of the edge.

    >>> lnb.nn.functional.rotate([[[[1, 2], [3, 4]]]], 90).tolist()
    [[[[3, 1], [4, 2]]]]
    """
    x, turn = asarray(input), math.radians(as_number("rotate", "angle", angle))
    if x.ndim < 2 or 0 in x.shape[-2:] or not math.isfinite(turn):
        raise ShapeError(f"rotate: an input of shape {x.shape} by {angle} degrees. Give (..., height, width) with "
                         "pixels, and a finite angle.")
    height, width = x.shape[-2:]
    at = [as_number("rotate", "center", place) for place in
          (((width - 1) / 2, (height - 1) / 2) if center is None else center)]
    if len(at) != 2:
        raise ShapeError(f"rotate: center {center}. Give two numbers, x and y.")
    rows, cols = np.arange(height)[:, None] - at[1], np.arange(width) - at[0]
    sine, cosine = math.sin(turn), math.cos(turn)
    places = [(cosine * cols + sine * rows + at[0], width), (cosine * rows - sine * cols + at[1], height)]
    # Rounded first to what is far from a half: 90 degrees have a cosine of 6e-17.
    col, row = (np.floor(place.round(9) + 0.5).clip(0, size - 1).astype(np.int64) for place, size in places)
    return x[..., row, col]


def _line(count: int, align_corners: bool) -> np.ndarray:
    """Places from -1 to 1, the middle for one."""
    line = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    return line if align_corners else line * (count - 1) / count
