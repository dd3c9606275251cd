"""Resampling along an axis, and the weights by which it interpolates.

An axis is multiplied with a sparse matrix; the gradient with its transpose. Several axes are resampled one after the
other, which is what interpolation by products of weights comes to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .. import backend, dtypes, flops
from ..apply import apply
from ..array import Tensor
from ..op import ALL, Info, Primitive
from ..shapes import product
from .indexing import take
from .movement import astype

CUBIC, SMOOTH_CUBIC = -0.75, -0.5        # R. Keys' parameter (IEEE ASSP 29, 1981): PyTorch's, and with antialias


@dataclass(frozen=True, eq=False)
class Taps:
    """A sparse matrix of `size` columns: row j has weights[k] in column places[k], starts[j] <= k < starts[j + 1]."""

    size: int
    starts: np.ndarray
    places: np.ndarray
    weights: np.ndarray

    @cached_property
    def transposed(self) -> "Taps":
        """The matrix with rows for columns."""
        rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        order = np.argsort(self.places, kind="stable")
        found = Taps(len(self.starts) - 1, _starts(np.bincount(self.places, minlength=self.size)),
                     np.ascontiguousarray(rows[order]), np.ascontiguousarray(self.weights[order]))
        found.__dict__["transposed"] = self
        return found

    @cached_property
    def dense(self) -> np.ndarray:
        """All elements, float64."""
        found = np.zeros((len(self.starts) - 1, self.size))
        rows = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        np.add.at(found, (rows, self.places), self.weights)
        return found


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _resample(table: Any, x: Any, axis: int, taps: Taps) -> Any:
    """A product with a full matrix where a device has no kernel."""
    if table.has("resample"):
        return table.resample(x, axis, taps.starts, taps.places, taps.weights)
    shape, results = tuple(x.shape), len(taps.starts) - 1
    matrix = table.from_numpy(taps.dense.astype(table.dtype_of(x)))
    found = table.matmul(matrix, table.reshape(x, (product(shape[:axis]), shape[axis], product(shape[axis + 1:]))))
    return table.reshape(found, (*shape[:axis], results, *shape[axis + 1:]))


def _pull_resample(ops: Any, info: Info, g: Any, axis: int, taps: Taps) -> tuple:
    return (ops.resample(g, axis=axis, taps=taps.transposed),)


_resampled = Primitive("resample", _resample, _pull_resample, flops=flops.resampling, linear=ALL)


def resample(x: Tensor, first: int, every: Sequence[Taps]) -> Tensor:
    """The axes from `first` on resampled, the one that shrinks most (or grows least) first."""
    dtype = x.dtype
    x = astype(x, dtypes.FLOAT32, copy=False) if dtype.itemsize == 2 else x
    order = sorted(range(len(every)), key=lambda number: (len(every[number].starts) - 1) / max(1, every[number].size))
    for number in order:
        x = apply(_resampled, (x,), {"axis": first + number, "taps": every[number]})
    return astype(x, dtype, copy=False)


def chosen(x: Tensor, first: int, every: Sequence[Taps]) -> Tensor:
    """The axes from `first` on at the places of matrices with one 1 in a row; of any dtype."""
    if x.dtype in (dtypes.FLOAT32, dtypes.FLOAT64) and backend.table(x.device).has("resample"):
        return resample(x, first, every)
    for number, taps in enumerate(every):
        x = take(x, taps.places, axis=first + number)
    return x


# ------------------------------------------------------------------------------------------------- weights
def _matrix(size: int, places: np.ndarray, weights: np.ndarray) -> Taps:
    """Rows of equally many entries; those of weight 0 are left out, and so are places beyond the edge."""
    places = np.clip(places, 0, size - 1)
    kept = weights != 0
    return Taps(size, _starts(kept.sum(1)), places[kept].astype(np.int64), weights[kept])


def _step(size: int, results: int, scale: float | None, align_corners: bool) -> float:
    """How far apart the places of neighbouring results are."""
    if align_corners:
        return (size - 1) / (results - 1) if results > 1 else 0.0
    return 1 / scale if scale else size / results


@lru_cache(256)
def nearest_taps(size: int, results: int, scale: float | None, exact: bool, of_image: bool) -> Taps:
    """The element at or left of each place, or of `exact` the nearest.

    As in PyTorch places are computed in float32, and an axis of an image (not of lines or volumes) that keeps its size
    or doubles it has no fractions.
    """
    number, kind = np.arange(results), np.float32
    step = kind(1.0 / scale) if scale else kind(size) / kind(results)
    if of_image and not exact and results in (size, 2 * size):
        places = number * size // results
    else:
        places = np.floor((number.astype(kind) + kind(0.5 if exact else 0.0)) * step).astype(np.int64)
    return _matrix(size, places[:, None], np.ones((results, 1)))


@lru_cache(256)
def linear_taps(size: int, results: int, scale: float | None, align_corners: bool) -> Taps:
    """The two elements around each place; as in PyTorch an axis of the same size stays as it is."""
    step = _step(size, results, None if size == results else scale, align_corners)
    at = np.arange(results) * step if align_corners else np.maximum((np.arange(results) + 0.5) * step - 0.5, 0)
    left = np.minimum(np.floor(at), size - 1)
    part = np.clip(at - left, 0, 1)
    part[left == size - 1] = 0
    return _matrix(size, np.stack([left, left + 1], 1).astype(np.int64), np.stack([1 - part, part], 1))


@lru_cache(256)
def cubic_taps(size: int, results: int, scale: float | None, align_corners: bool) -> Taps:
    """The four elements around each place."""
    step = _step(size, results, scale, align_corners)
    at = np.arange(results) * step if align_corners else (np.arange(results) + 0.5) * step - 0.5
    left = np.floor(at)
    offsets = np.arange(-1, 3)
    weights = cubic(np.abs((at - left)[:, None] - offsets), CUBIC)
    return _matrix(size, (left[:, None] + offsets).astype(np.int64), weights)


def cubic(distance: Any, parameter: float) -> Any:
    """The weight of an element at a distance below 2."""
    near = ((parameter + 2) * distance - (parameter + 3)) * distance * distance + 1
    far = (((distance - 5) * distance + 8) * distance - 4) * parameter
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


@lru_cache(256)
def smooth_taps(size: int, results: int, scale: float | None, align_corners: bool, is_cubic: bool) -> Taps:
    """All elements that a result covers, weighted by the filter stretched over them: what Pillow does. As in PyTorch an
    axis of the same size stays as it is."""
    step = _step(size, results, None if size == results else scale, align_corners)
    reach = 2.0 if is_cubic else 1.0
    wide = max(step, 1.0)
    centre = step * (np.arange(results) + 0.5)
    first = np.maximum((centre - reach * wide + 0.5).astype(np.int64), 0)
    last = np.minimum((centre + reach * wide + 0.5).astype(np.int64), size)
    places = first[:, None] + np.arange(max(1, int((last - first).max())))
    distance = np.abs((places - centre[:, None] + 0.5) / wide)
    weights = cubic(distance, SMOOTH_CUBIC) if is_cubic else np.maximum(1 - distance, 0)
    weights = np.where(places < last[:, None], weights, 0)
    total = weights.sum(1, keepdims=True)
    return _matrix(size, places, weights / np.where(total == 0, 1, total))


@lru_cache(256)
def mean_taps(size: int, results: int) -> Taps:
    """The mean of all elements that a result covers in part."""
    number = np.arange(results)
    first, last = number * size // results, -(-(number + 1) * size // results)
    places = first[:, None] + np.arange(int((last - first).max()))
    return _matrix(size, places, (places < last[:, None]) / (last - first)[:, None])
