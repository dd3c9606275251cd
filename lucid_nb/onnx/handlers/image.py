"""Images: resized, sampled at the points of a grid, pooled over regions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ConfigError, ShapeError
from ...nn import functional as F
from ...ops.resample import Taps, chosen, cubic, resample
from ...register import functions
from ...shapes import product
from ..table import operator
from ..values import axes_of, host, integers, numbers, on

SAMPLING = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic",
            "bicubic": "bicubic"}


@operator("GridSample")
def grid_sample(x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> Any:
    """The elements at the points of a grid."""
    if mode not in SAMPLING:
        raise ConfigError(f"onnx: GridSample has mode {mode!r}. Use one of {', '.join(SAMPLING)}.")
    return F.grid_sample(x, grid, SAMPLING[mode], padding_mode, bool(align_corners))


@operator("AffineGrid")
def affine_grid(theta: Any, size: Any, *, align_corners: int = 0) -> Any:
    """The grid of a linear map."""
    return F.affine_grid(theta, integers(size), bool(align_corners))


# -------------------------------------------------------------------------------------------------- resize
@dataclass(frozen=True)
class Filter:
    """How values between elements are made."""

    mode: str
    coordinates: str
    nearest: str = "round_prefer_floor"
    parameter: float = -0.75
    excludes: bool = False
    smooth: bool = False


@dataclass(frozen=True)
class Along:
    """One axis that is resized: its sizes, the scale, and the part of it that is taken."""

    size: int
    results: int
    scale: float
    start: float = 0.0
    end: float = 1.0

    @property
    def exact(self) -> float:
        """The new size before it is rounded."""
        return self.size * self.scale

    def places(self, coordinates: str) -> np.ndarray:
        """Where each result lies among the elements."""
        return PLACES[coordinates](np.arange(self.results, dtype=np.float64), self)


def _cropped(at: np.ndarray, axis: Along) -> np.ndarray:
    wide = (axis.end - axis.start) * (axis.size - 1)
    return axis.start * (axis.size - 1) + (at * wide / (axis.exact - 1) if axis.results > 1 else at + wide / 2)


def _symmetric(at: np.ndarray, axis: Along) -> np.ndarray:
    return axis.size / 2 * (1 - axis.results / axis.exact) + (at + 0.5) / axis.scale - 0.5


PLACES: dict[str, Callable[[np.ndarray, Along], np.ndarray]] = {
    "half_pixel": lambda at, axis: (at + 0.5) / axis.scale - 0.5,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda at, axis: (at + 0.5) / axis.scale - 0.5 if axis.results > 1 else at * 0,
    "align_corners": lambda at, axis: at * (axis.size - 1) / (axis.exact - 1) if axis.exact != 1 else at * 0,
    "asymmetric": lambda at, axis: at / axis.scale,
    "tf_half_pixel_for_nn": lambda at, axis: (at + 0.5) / axis.scale,
    "tf_crop_and_resize": _cropped}
NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5), "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor, "ceil": np.ceil}


def _taps(axis: Along, how: Filter) -> Taps:
    """The weights of elements in each result."""
    at = axis.places(how.coordinates)
    if how.mode == "nearest":
        places, weights = NEAREST[how.nearest](at)[:, None], np.ones((axis.results, 1))
    else:
        reach = 2 if how.mode == "cubic" else 1
        narrow = min(axis.scale, 1.0) if how.smooth else 1.0
        places = np.floor(at)[:, None] + np.arange(1 - math.ceil(reach / narrow), math.ceil(reach / narrow) + 1)
        distance = np.abs(places - at[:, None]) * narrow
        weights = cubic(distance, how.parameter) if reach == 2 else np.maximum(1 - distance, 0)
        weights = np.where((places >= 0) & (places < axis.size), weights, 0) if how.excludes else weights
        if how.excludes or how.smooth:
            weights = weights / weights.sum(1, keepdims=True)
    places = np.clip(places, 0, axis.size - 1).astype(np.int64)
    starts = np.arange(axis.results + 1) * places.shape[1]
    return Taps(axis.size, starts, places.reshape(-1), weights.reshape(-1))


def _resized(x: Any, axes: dict[int, Along], how: Filter, beyond: float) -> Any:
    """x with some axes resized, one after the other."""
    for word, known in ((how.mode, ("nearest", "linear", "cubic")), (how.coordinates, PLACES), (how.nearest, NEAREST)):
        if word not in known:
            raise ConfigError(f"onnx: Resize has {word!r}. Use one of {', '.join(known)}.")
    found = x
    for number, axis in axes.items():
        if axis.results == axis.size and axis.scale == 1 and how.coordinates != "tf_crop_and_resize":
            continue
        taps = [_taps(axis, how)]
        found = chosen(found, number, taps) if how.mode == "nearest" else _in_floats(found, number, taps)
    if how.coordinates != "tf_crop_and_resize":
        return found
    for number, axis in axes.items():
        at = axis.places(how.coordinates)
        inside = on(x, ((at >= 0) & (at <= axis.size - 1)).reshape((-1, *[1] * (x.ndim - number - 1))))
        found = functions["where"](inside, found, beyond)
    return found.astype(x.dtype, copy=False)


def _in_floats(x: Any, number: int, taps: list[Taps]) -> Any:
    """Resampled; integers are rounded again."""
    if x.dtype.kind == "f" or x.dtype.name == "bfloat16":
        return resample(x, number, taps)
    bounds = np.iinfo(x.dtype)
    found = functions["rint"](resample(x.astype("float64"), number, taps))
    return functions["clip"](found, float(bounds.min), float(bounds.max)).astype(x.dtype)


def _policy(sizes: list[int], shape: Sequence[int], policy: str) -> tuple[list[int], list[float]]:
    """The new sizes, and the scales, of sizes that are wished for."""
    scales = [wanted / size if size else 1.0 for wanted, size in zip(sizes, shape)]
    if policy == "stretch":
        return sizes, scales
    if policy not in ("not_larger", "not_smaller"):
        raise ConfigError(f"onnx: Resize has keep_aspect_ratio_policy {policy!r}. Use stretch, not_larger or "
                          "not_smaller.")
    scale = (min if policy == "not_larger" else max)(scales)
    return [math.floor(scale * size + 0.5) for size in shape], [scale] * len(sizes)


@operator("Resize", since=11, fixed=("roi", "scales"))
def resize(x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, *, antialias: int = 0, axes: Any = None,
           coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75, exclude_outside: int = 0,
           extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
           nearest_mode: str = "round_prefer_floor") -> Any:
    """Axes resized by scales, or to sizes."""
    along = axes_of(axes, x.ndim) if axes is not None else tuple(range(x.ndim))
    shape = [x.shape[axis] for axis in along]
    if sizes is not None and len(integers(sizes)):
        wanted, factors = _policy(integers(sizes), shape, keep_aspect_ratio_policy)
    else:
        factors = numbers(scales if scales is not None else [])
        wanted = [math.floor(size * factor) for size, factor in zip(shape, factors)]
    if len(wanted) != len(along):
        raise ShapeError(f"onnx: Resize has sizes for {len(wanted)} axes of {len(along)}. Give one an axis.")
    part = numbers(roi) if roi is not None else []
    part = part if len(part) == 2 * len(along) else [0.0] * len(along) + [1.0] * len(along)
    parts = {axis: Along(size, results, factor, start, end) for axis, size, results, factor, start, end
             in zip(along, shape, wanted, factors, part, part[len(along):])}
    how = Filter(mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(exclude_outside),
                 bool(antialias))
    return _resized(x, parts, how, extrapolation_value)


@operator("Resize", since=10, fixed=("scales",))
@operator("Upsample", since=7, fixed=("scales",))
def upsample(x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    """Axes resized by scales, before opset 11."""
    return resize(x, None, scales, coordinate_transformation_mode="asymmetric", nearest_mode="floor", mode=mode)


# ---------------------------------------------------------------------------------------- regions of interest
@operator("RoiAlign", fixed=("rois",))
def roi_align(x: Any, rois: Any, batch_indices: Any, *, coordinate_transformation_mode: str = "half_pixel",
              mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
              spatial_scale: float = 1.0) -> Any:
    """Pools of points within regions: K. He et al., arXiv:1703.06870."""
    if mode not in ("avg", "max"):
        raise ConfigError(f"onnx: RoiAlign has mode {mode!r}. Use 'avg' or 'max'.")
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    flat = x.reshape((*x.shape[:2], product(x.shape[2:])))
    found = []
    for region, image in zip(host(rois).astype(np.float64) * spatial_scale - shift, integers(batch_indices)):
        least = 0.0 if shift else 1.0
        lines = [_samples(low, max(high - low, least), count, sampling_ratio, size) for low, high, count, size in
                 ((region[1], region[3], output_height, x.shape[2]), (region[0], region[2], output_width, x.shape[3]))]
        found.append(_pooled(flat[image], lines, x.shape[3], mode))
    if not found:
        return functions["zeros"]((0, x.shape[1], output_height, output_width), x.dtype, device=x.device)
    return functions["stack"](found)


def _samples(low: float, extent: float, count: int, ratio: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(results, samples, 2): the two elements around each sample along an axis, and their weights."""
    each = ratio if ratio > 0 else max(math.ceil(extent / count), 1)
    step = extent / count
    at = low + step * (np.arange(count)[:, None] + (np.arange(each) + 0.5) / each)
    outside = (at < -1) | (at > size)
    at = np.clip(at, 0, size - 1)
    first = np.minimum(np.floor(at), size - 1).astype(np.int64)
    part = at - first
    weights = np.stack([1 - part, part], -1) * ~outside[..., None]
    return np.stack([first, np.minimum(first + 1, size - 1)], -1), weights


def _pooled(flat: Any, lines: list[tuple[np.ndarray, np.ndarray]], width: int, mode: str) -> Any:
    """One region: (channels, height, width)."""
    (rows, of_rows), (cols, of_cols) = lines
    places = rows[:, None, :, None, :, None] * width + cols[None, :, None, :, None, :]
    weights = of_rows[:, None, :, None, :, None] * of_cols[None, :, None, :, None, :]
    read = functions["take"](flat, on(flat, places.reshape(-1)), axis=1).reshape((-1, *places.shape))
    samples = read * on(flat, weights.astype(flat.dtype))
    if mode == "max":
        return functions["max"](samples, axis=(3, 4, 5, 6))
    return functions["sum"](samples, axis=(3, 4, 5, 6)) / (rows.shape[1] * cols.shape[1])
