"""Medians, quantiles and percentiles, by every definition that NumPy has; also of arrays with NaN taken out.

A quantile is where two neighbours in sorted order meet: their places are found on the host from the number of elements
alone, so gradients of any order go to the elements that count, the first of equals first, and by q along the slope
between neighbours. Between infinite neighbours, and next to one, the result is NaN where NumPy's is: it takes a
multiple of their difference.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import as_array
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..register import public
from .gathering import take
from .hosted import hosted
from .logic import where
from .movement import as_tensor, astype, broadcast_to, deliver, permute_dims, reshape
from .nan_reduction import nanmean
from .places import take_places
from .reduction import Axis
from .sorting import in_order, partly_in_order, places_in_order


# ------------------------------------------------------------------------------------------------- definitions
@dataclass(frozen=True)
class Spot:
    """Between which two places of n sorted elements a quantile lies, and how far; `share` None: at the first one.

    `pace`: the places that q moves it by, per unit; 0 of a definition that jumps.
    """

    low: np.ndarray
    high: np.ndarray
    share: np.ndarray | None
    pace: Any = 0


def _between(position: np.ndarray, count: Any, share: Callable | None = None, pace: Any = 0) -> Spot:
    """The neighbours of a position, the ends standing for what is beyond them."""
    low = np.floor(position)
    fraction = position - low
    fraction = fraction if share is None else np.asarray(share(fraction), position.dtype)
    last = np.maximum(count - 1, 0)
    first, second = [np.clip(np.nan_to_num(place, nan=np.inf), 0, last).astype(np.int64) for place in (low, low + 1)]
    return Spot(first, second, fraction, pace)


def _fixed(position: np.ndarray, count: Any) -> Spot:
    """One place."""
    place = np.clip(position, 0, np.maximum(count - 1, 0)).astype(np.int64)
    return Spot(place, place, None)


def _linear(n: Any, q: np.ndarray) -> Spot:
    position = np.asarray((n - 1) * q)
    return _fixed(position, n) if position.dtype.kind in "iu" else _between(position, n, pace=n - 1)


def _hyndman_fan(alpha: float, beta: float) -> Callable:
    """A continuous definition by its plotting positions (Hyndman and Fan, American Statistician 50, 1996)."""
    return lambda n, q: _between(np.asarray(n * q + (alpha + q * (1 - alpha - beta)) - 1), n,
                                 pace=n + (1 - alpha - beta))


def _closest(n: Any, q: np.ndarray) -> Spot:
    """The nearest element; half way the one whose place, counted from 1, is even."""
    position = np.asarray(n * q - 1 - 0.5)
    low = np.floor(position)
    return _fixed(np.where((position == low) & (low % 2 == 1), low, low + 1), n)


METHODS: dict[str, Callable[[Any, np.ndarray], Spot]] = {
    "inverted_cdf": lambda n, q: _fixed(np.ceil(n * q - 1), n),
    "averaged_inverted_cdf": lambda n, q: _between(np.asarray(n * q - 1), n, lambda part: np.where(part == 0, 0.5, 1)),
    "closest_observation": _closest,
    "interpolated_inverted_cdf": _hyndman_fan(0, 1),
    "hazen": _hyndman_fan(0.5, 0.5),
    "weibull": _hyndman_fan(0, 0),
    "linear": _linear,
    "median_unbiased": _hyndman_fan(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _hyndman_fan(3 / 8.0, 3 / 8.0),
    "lower": lambda n, q: _fixed(np.floor((n - 1) * q), n),
    "higher": lambda n, q: _fixed(np.ceil((n - 1) * q), n),
    "midpoint": lambda n, q: _between(np.asarray((n - 1) * q), n, lambda part: np.where(part == 0, 0, 0.5)),
    "nearest": lambda n, q: _fixed(np.around((n - 1) * q), n),
}


# --------------------------------------------------------------------------------------------------- arguments
@dataclass
class Wanted:
    """What is asked for: which quantiles, by which definition."""

    name: str
    q: np.ndarray                     # from 0 to 1, of at most two axes
    is_weak: bool                     # a Python number, which does not decide the dtype
    spot: Callable[[Any, np.ndarray], Spot]
    weights: Tensor | None = None
    drift: Tensor | None = None       # zeros that move as q does, where it is differentiated by


def _wanted(name: str, q: Any, hundred: bool, method: str, weights: Any) -> Wanted:
    is_weak = type(q) in (int, float)
    found = q.to_host() if isinstance(q, Tensor) else as_array(name, q)
    if found.dtype.kind not in "biuf" and found.dtype != dtypes.BFLOAT16:
        raise DTypeError(f"{name}: q is {found.dtype}. Use real numbers.")
    found = np.asarray(np.true_divide(found, 100)) if hundred else found
    if method not in METHODS:
        raise ShapeError(f"{name}: method {method!r} is unknown. Use one of {', '.join(METHODS)}.")
    if found.ndim > 2:
        raise ShapeError(f"{name}: q has shape {found.shape}. Use a number or a 1-D array.")
    if not np.all((found >= 0) & (found <= 1)):
        raise ShapeError(f"{name}: q goes from {np.asarray(q).min()} to {np.asarray(q).max()}. "
                         f"Use 0 to {100 if hundred else 1}.")
    if weights is not None and method != "inverted_cdf":
        raise ShapeError(f"{name}: method {method!r} takes no weights. Use method='inverted_cdf'.")
    drift = reshape(q - q.detach(), (found.size,)) / (100 if hundred else 1) \
        if isinstance(q, Tensor) and q.requires_grad else None
    return Wanted(name, found, is_weak, METHODS[method], None if weights is None else as_tensor(name, weights), drift)


def merged_rows(name: str, x: Tensor, axis: Axis) -> tuple[Tensor, shapes.Shape]:
    """The axes merged into a last one, and which they are."""
    axes = shapes.normalize_axes(name, axis, x.ndim)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    moved = x if (*rest, *axes) == tuple(range(x.ndim)) else permute_dims(x, (*rest, *axes))
    kept = tuple(x.shape[a] for a in rest)
    return reshape(moved, (*kept, shapes.product(tuple(x.shape[a] for a in axes)))), axes


def _weight_rows(wanted: Wanted, x: Tensor, axis: Axis) -> np.ndarray:
    """The weights of each row, on the host."""
    weights, name = wanted.weights, wanted.name
    assert weights is not None
    axes = shapes.normalize_axes(name, axis, x.ndim)
    if weights.shape != x.shape:
        if axis is None:
            raise DTypeError(f"{name}: weights have shape {weights.shape}, the array {x.shape}. Give axis.")
        if weights.shape != tuple(x.shape[a] for a in axes):
            raise ShapeError(f"{name}: weights of shape {weights.shape} for axes {axes} of shape {x.shape}. "
                             "Make them equal.")
        weights = permute_dims(weights, shapes.inverse_permutation(axes))
        weights = broadcast_to(reshape(weights, tuple(s if a in axes else 1 for a, s in enumerate(x.shape))), x.shape)
    host = merged_rows(name, weights.detach(), axis)[0].to_host()
    if np.any(host < 0):
        raise ShapeError(f"{name}: a weight is {host.min()}. Weights are 0 or more.")
    return host


def is_nan(x: Tensor) -> Tensor:
    """Which elements are NaN."""
    return x != x


def _shaped(result: Tensor, x: Tensor, axes: shapes.Shape, q_shape: shapes.Shape, keepdims: bool) -> Tensor:
    """The axes of q, which come last, to the front, and reduced axes back as extents of 1."""
    front = permute_dims(result, (result.ndim - 1, *range(result.ndim - 1)))
    return reshape(front, (*q_shape, *shapes.reduced_shape(x.shape, axes, keepdims)))


# -------------------------------------------------------------------------------------------------- quantiles
def _joined(a: Tensor, b: Tensor, spot: Spot, wanted: Wanted) -> Tensor:
    """The point between neighbours, from the nearer one, as NumPy interpolates."""
    table, share = backend.of(a.raw), np.asarray(spot.share)
    kind = share.dtype if not wanted.is_weak else a.dtype if dtypes.is_inexact(a.dtype) else dtypes.FLOAT64
    kind = dtypes.on_device(kind, a.device, (a.dtype,))
    low, high, pace = [Tensor(table.from_numpy(np.asarray(part, kind))) for part in (share, 1 - share, spot.pace)]
    step = b - a
    found = where(low >= 0.5, b - step * high, a + step * low)
    return found if wanted.drift is None else found + step * pace * wanted.drift


def _plain(rows: Tensor, wanted: Wanted) -> Tensor:
    """The quantiles of rows, NaN where a row has one, along a last axis."""
    count = rows.shape[-1]
    spot = wanted.spot(count, wanted.q.ravel())
    has_nan = dtypes.is_inexact(rows.dtype)
    kth = {*spot.low.tolist(), *spot.high.tolist()} | ({count - 1} if has_nan else set())
    ordered = partly_in_order(rows, tuple(sorted(kth)), rows.ndim - 1)
    found = take(ordered, spot.low, axis=-1)
    if spot.share is not None:
        found = _joined(found, take(ordered, spot.high, axis=-1), spot, wanted)
    if not has_nan:
        return found
    last = take(ordered, np.array([count - 1]), axis=-1)
    return where(is_nan(last), astype(last, found.dtype, copy=False), found)


def valid_counts(rows: Tensor) -> np.ndarray:
    """How many elements of each row are no NaN, on the host, with a last axis of 1; warns of rows that have none."""
    found = np.count_nonzero(~is_nan(rows.detach()).to_host(), axis=-1, keepdims=True)
    if np.any(found == 0):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=5)
    return found


def _without_nan(rows: Tensor, wanted: Wanted) -> Tensor:
    """The quantiles of what is no NaN in each row, along a last axis."""
    if not dtypes.is_inexact(rows.dtype):
        return _plain(rows, wanted)
    q = wanted.q.ravel()
    spot = wanted.spot(valid_counts(rows).astype(q.dtype if q.dtype.kind == "f" else np.int64), q)
    ordered = in_order(rows, rows.ndim - 1)
    found = elements_at(ordered, spot.low)
    return found if spot.share is None else _joined(found, elements_at(ordered, spot.high), spot, wanted)


def elements_at(ordered: Tensor, places: np.ndarray) -> Tensor:
    """Elements of each row by places of its own."""
    return take_places(ordered, Tensor(backend.of(ordered.raw).from_numpy(places)), ordered.ndim - 1)


def _weighted(rows: Tensor, weights: np.ndarray, wanted: Wanted, skips_nan: bool) -> Tensor:
    """The first elements by which weights reach a share of their sum; where not skips_nan, NaN if a row has one."""
    axis, q = rows.ndim - 1, wanted.q.ravel()
    places = places_in_order(rows.detach(), axis)
    missing = is_nan(rows.detach()).to_host() if dtypes.is_inexact(rows.dtype) else np.zeros(rows.shape, bool)
    weights = np.where(missing, 0, weights) if skips_nan else weights
    reached = np.cumsum(np.take_along_axis(weights, places.to_host(), -1), -1, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        reached /= reached[..., -1:]
    is_empty = missing.all(-1, keepdims=True) & skips_nan
    if np.isnan(reached[..., -1:] + is_empty)[~is_empty].any():
        raise ShapeError(f"{wanted.name}: weights include NaN or infinity, or are all 0. Give finite ones.")
    reached = reached.astype(q.dtype) if q.dtype.kind == "f" else reached
    reached = np.where(reached == 0, -1, reached)              # what has no weight is never chosen, not even for 0
    chosen = np.count_nonzero(reached[..., None, :] < q[:, None], axis=-1)
    ordered = take_places(rows, places, axis)
    found = elements_at(ordered, np.minimum(chosen, rows.shape[-1] - 1))
    if skips_nan or not missing.any():
        return found
    last = take(ordered, np.array([rows.shape[-1] - 1]), axis=-1)
    return where(is_nan(last), last, found)


def _quantiles(x: Any, axis: Axis, out: Any, keepdims: bool, wanted: Wanted, skips_nan: bool = False) -> Tensor:
    x = as_tensor(wanted.name, x)
    if x.dtype.kind == "c":
        raise DTypeError(f"{wanted.name}: {x.dtype} has no order. Take abs(x).")
    rows, axes = merged_rows(wanted.name, x, axis)
    if skips_nan and rows.size == 0:
        found = nanmean(rows, -1, keepdims=True)
        return deliver(wanted.name, _shaped(found, x, axes, (), keepdims), out)
    if rows.shape[-1] == 0 and shapes.product(rows.shape[:-1]):
        raise ShapeError(f"{wanted.name}: no elements to take quantiles of. Give at least one.")
    if wanted.weights is not None:
        found = _weighted(rows, _weight_rows(wanted, x, axis), wanted, skips_nan)
    else:
        found = (_without_nan if skips_nan else _plain)(rows, wanted)
    return deliver(wanted.name, _shaped(found, x, axes, wanted.q.shape, keepdims), out)


@public()
@hosted
def quantile(a: Any, q: Any, axis: Axis = None, out: Tensor | None = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Tensor:
    """The q-th quantiles (0 to 1) over axes, by one of NumPy's methods; the axes of q come first. NaN wins.

    `weights`, for method="inverted_cdf", are of a's shape, or of the axes'. The input is never overwritten.

    >>> import lucid_nb as lnb
    >>> lnb.quantile(lnb.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5)
    """
    return _quantiles(a, axis, out, keepdims, _wanted("quantile", q, False, method, weights))


@public()
@hosted
def percentile(a: Any, q: Any, axis: Axis = None, out: Tensor | None = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Tensor:
    """The q-th percentiles (0 to 100) over axes: `quantile` of q / 100.

    >>> import lucid_nb as lnb
    >>> lnb.percentile(lnb.tensor([1.0, 2.0, 3.0, 4.0]), [0, 50])
    tensor([1. , 2.5])
    """
    return _quantiles(a, axis, out, keepdims, _wanted("percentile", q, True, method, weights))


@public(method=False)
@hosted
def nanquantile(a: Any, q: Any, axis: Axis = None, out: Tensor | None = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Tensor:
    """`quantile` of what is no NaN; NaN with a warning where nothing is left.

    >>> import lucid_nb as lnb
    >>> lnb.nanquantile(lnb.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return _quantiles(a, axis, out, keepdims, _wanted("nanquantile", q, False, method, weights), True)


@public(method=False)
@hosted
def nanpercentile(a: Any, q: Any, axis: Axis = None, out: Tensor | None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: bool = False, *, weights: Any = None) -> Tensor:
    """`percentile` of what is no NaN; NaN with a warning where nothing is left.

    >>> import lucid_nb as lnb
    >>> lnb.nanpercentile(lnb.tensor([1.0, float("nan"), 3.0]), 100)
    tensor(3.)
    """
    return _quantiles(a, axis, out, keepdims, _wanted("nanpercentile", q, True, method, weights), True)
