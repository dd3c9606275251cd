"""Sampling of images at the points of a grid: gathered elements, weighted by what is left of their coordinates."""

from collections.abc import Callable
from functools import reduce
from itertools import product as combinations
from operator import mul as multiply
from typing import Any

from .. import dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..backend import entry
from ..errors import ConfigError, ShapeError
from ..expr import Expr, Vocabulary
from ..op import Primitive, registry
from .joining import stack
from .movement import astype, reshape
from .reducers import internal
from .resample import CUBIC

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
FAR = 4                    # cells beyond the edge where nothing differs any more


# ------------------------------------------------------------------------------------------------ formulas
def _grid_place(m: Vocabulary, x: Expr, factor: Expr, offset: Expr) -> Expr:
    """A coordinate from -1 to 1 in elements; NaN counts as -1."""
    return (m.where(x == x, x, -1) + 1) * factor - offset


def _grid_bounded(m: Vocabulary, x: Expr, low: Expr, high: Expr) -> Expr:
    """x between bounds, on and beyond which it has no slope; what is no number (infinity times 0, say) is low."""
    return m.where(x > low, m.where(x >= high, high, x), low)


def _grid_reflected(m: Vocabulary, x: Expr, low: Expr, span: Expr) -> Expr:
    """x reflected at low and at low + span."""
    away = m.absolute(x - low)
    rest = m.fmod(away, span)
    turns = m.floor(away / span)
    return m.where(turns == 2 * m.floor(turns / 2), rest, span - rest) + low


def _grid_cubic(m: Vocabulary, x: Expr) -> Expr:
    """The weight of an element at a distance of at most 2: R. Keys' cubic convolution."""
    near = ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * CUBIC
    return m.where(x <= 1, near, far)


def _grid_inside(m: Vocabulary, weight: Expr, place: Expr, last: Expr) -> Expr:
    """The weight of an element that is there."""
    return m.where(place >= 0, m.where(place <= last, weight, 0), 0)


for _formula, _arity in ((_grid_place, 3), (_grid_bounded, 3), (_grid_reflected, 3), (_grid_cubic, 1),
                         (_grid_inside, 3)):
    internal(_formula, _arity)


def _call(name: str, *operands: Any) -> Tensor:
    found: Tensor = apply(registry[name], operands)
    return found


# ---------------------------------------------------------------------------------------------- primitives
def _primitive(name: str, pullback: Callable, keeps: tuple[int, ...]) -> Primitive:
    """An entry of the table; a device that lacks it goes through the host."""
    return Primitive(name, lambda table, *raws, **params: entry(table, name)(*raws, *params.values()), pullback, keeps,
                     flops=flops.sampling)


# Each is linear in both operands that are no places, and the three are each other's adjoints.
_sampled = _primitive("sample", lambda ops, info, g, x, places, weights: (
    ops.sample_input_grad(g, places, weights, size=info.shape(0)[2]), None,
    ops.sample_weight_grad(x, g, places)), (0, 1, 2))
_primitive("sample_input_grad", lambda ops, info, into, g, places, weights, size: (
    ops.sample(into, places, weights), None, ops.sample_weight_grad(into, g, places)), (0, 1, 2))
_primitive("sample_weight_grad", lambda ops, info, into, x, g, places: (
    ops.sample_input_grad(g, places, into, size=info.shape(0)[2]), ops.sample(x, places, into), None), (0, 1, 2))


# -------------------------------------------------------------------------------------------- coordinates
def _unnormalized(x: Tensor, size: int, align_corners: bool) -> Tensor:
    """A coordinate in elements."""
    return _call("grid_place", x, (size - 1) / 2, 0.0) if align_corners else _call("grid_place", x, size / 2, 0.5)


def _near(at: Tensor, size: int, padding: str, align_corners: bool) -> Tensor:
    """A coordinate at most FAR beyond the edge where the samples are the same: a mirrored image repeats."""
    if padding == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        at = _call("grid_reflected", at, low, span) if span else at * 0
    return _call("grid_bounded", at, float(-FAR), float(size - 1 + FAR))


def _padded(at: Tensor, size: int, padding: str, align_corners: bool) -> Tensor:
    """A coordinate brought into the image, where that is how it goes on."""
    at = _near(at, size, padding, align_corners)
    return at if padding == "zeros" else _call("grid_bounded", at, 0.0, size - 1.0)


Part = tuple[Tensor, Tensor]                # places along an axis, and the weights of the elements there


def _parts(at: Tensor, size: int, mode: str, padding: str, align_corners: bool) -> list[Part]:
    """The elements that a coordinate takes along an axis."""
    if mode == "nearest":
        place = _call("rint", _padded(at, size, padding, align_corners)).detach()
        return [(place, _call("grid_inside", place * 0 + 1, place, size - 1.0))]
    if mode == "bilinear":
        at = _padded(at, size, padding, align_corners)
        left = _call("floor", at).detach()
        pairs = [(left, left + 1 - at), (left + 1, at - left)]
    else:
        at = _near(at, size, padding, align_corners)
        left = _call("floor", at).detach()
        pairs = [(_padded(left + offset, size, padding, align_corners), _call("grid_cubic", abs(at - left - offset)))
                 for offset in (-1.0, 0.0, 1.0, 2.0)]
    return [(place, _call("grid_inside", weight, place, size - 1.0)) for place, weight in pairs]


def _flat(places: list[Tensor], sizes: shapes.Shape) -> Tensor:
    """Numbers of elements in an image; of places beyond the edge those of neighbours, whose weight is 0."""
    number: Any = 0
    for place, size in zip(places, sizes):
        number = number * size + astype(_call("grid_bounded", place, 0.0, size - 1.0), dtypes.INT64)
    return number


def _check(x: Tensor, grid: Tensor, mode: str, padding: str) -> None:
    axes = x.ndim - 2
    if mode not in MODES or padding not in PADDINGS:
        raise ConfigError(f"grid_sample: mode {mode!r} and padding_mode {padding!r}. Use one of {', '.join(MODES)}, "
                          f"and one of {', '.join(PADDINGS)}.")
    if axes not in (2, 3) or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or grid.shape[-1] != axes:
        raise ShapeError(f"grid_sample: an input of shape {x.shape} and a grid of shape {grid.shape}. Give (batch, "
                         "channels, height, width) and (batch, ..., 2), or volumes and (batch, ..., 3).")
    if mode == "bicubic" and axes != 2:
        raise ConfigError("grid_sample: mode 'bicubic' for volumes. Use 'bilinear' or 'nearest'.")
    if 0 in x.shape[2:]:
        raise ShapeError(f"grid_sample: an input of shape {x.shape} has no elements to sample. Give it some.")


def grid_sample(x: Tensor, grid: Tensor, mode: str, padding: str, align_corners: bool) -> Tensor:
    """x at the points of a grid: see nn.functional.grid_sample."""
    _check(x, grid, mode, padding)
    dtype, sizes, (batch, channels) = x.dtype, x.shape[2:], x.shape[:2]
    if dtype.itemsize == 2:
        x, grid = (astype(each, dtypes.FLOAT32) for each in (x, grid))
    points = reshape(grid, batch, shapes.product(grid.shape[1:-1]), len(sizes))
    every = [_parts(_unnormalized(points[..., len(sizes) - 1 - axis], size, align_corners), size, mode, padding,
                    align_corners) for axis, size in enumerate(sizes)]
    places, weights = _combined(every, sizes)
    found = apply(_sampled, (reshape(x, batch, channels, shapes.product(sizes)), places, weights))
    return astype(reshape(found, batch, channels, *grid.shape[1:-1]), dtype, copy=False)


def _combined(every: list[list[Part]], sizes: shapes.Shape) -> tuple[Tensor, Tensor]:
    """Places and weights of all combinations of parts, (taps, batch, points)."""
    places, weights = [], []
    for combination in combinations(*every):
        places.append(_flat([place for place, _ in combination], sizes))
        weights.append(reduce(multiply, [weight for _, weight in combination]))
    return stack(places), stack(weights)
