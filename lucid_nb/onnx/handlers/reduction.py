"""Sums, extremes, norms and their places along axes; what is chosen by order or by a condition."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...register import functions
from ..library import dtype_of
from ..table import operator
from ..values import axes_of, on, scalar

Along = Callable[[Any, tuple[int, ...], bool], Any]


def _in_dtype(name: str) -> Along:
    """A reduction that keeps the dtype, where NumPy's widens small integers."""
    return lambda x, axes, keep: functions[name](x, axis=axes, keepdims=keep, dtype=x.dtype)


def _extreme(name: str) -> Along:
    """An extreme; of nothing the least, or the greatest, number of the dtype."""
    def reduce(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
        if x.size:
            return functions[name](x, axis=axes, keepdims=keep)
        bounds: tuple[Any, Any] = (False, True) if x.dtype.kind == "b" else (-np.inf, np.inf)
        if x.dtype.kind in "iu":
            bounds = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        return functions[name](x, axis=axes, keepdims=keep, initial=bounds[name == "min"])
    return reduce


_sum = _in_dtype("sum")
REDUCTIONS: dict[str, Along] = dict(
    Sum=_sum, Prod=_in_dtype("prod"), Max=_extreme("max"), Min=_extreme("min"),
    Mean=lambda x, axes, keep: functions["mean"](x, axis=axes, keepdims=keep).astype(x.dtype, copy=False),
    L1=lambda x, axes, keep: _sum(abs(x), axes, keep),
    L2=lambda x, axes, keep: functions["sqrt"](_sum(x * x, axes, keep)).astype(x.dtype, copy=False),
    SumSquare=lambda x, axes, keep: _sum(x * x, axes, keep),
    LogSum=lambda x, axes, keep: _log(_sum(x, axes, keep)).astype(x.dtype, copy=False),
    LogSumExp=lambda x, axes, keep: functions["logsumexp"](x, axis=axes, keepdims=keep).astype(x.dtype, copy=False))


def _log(x: Any) -> Any:
    with np.errstate(divide="ignore"):                        # of a sum of nothing
        return functions["log"](x)


# What is done to elements where no axis is reduced.
ALONE: dict[str, Callable[[Any], Any]] = dict(
    L1=abs, L2=abs, SumSquare=lambda x: x * x, LogSum=_log)


def _enter(name: str, along: Along) -> None:
    @operator(f"Reduce{name}")
    def reduce(data: Any, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Any:
        chosen = axes_of(axes, data.ndim) if axes is not None else ()
        if not chosen and noop_with_empty_axes:
            return ALONE.get(name, lambda x: x)(data)
        return along(data, chosen or tuple(range(data.ndim)), bool(keepdims))


for _name, _along in REDUCTIONS.items():
    _enter(_name, _along)


# ------------------------------------------------------------------------------------------------- places
def _place(name: str) -> None:
    function = functions[name.lower()]

    @operator(name)
    def place(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        if not select_last_index:
            return function(x, axis, keepdims=bool(keepdims)).astype(np.int64, copy=False)
        last = x.shape[axis] - 1
        return last - function(functions["flip"](x, axis), axis, keepdims=bool(keepdims)).astype(np.int64, copy=False)


_place("ArgMax")
_place("ArgMin")


@operator("TopK")
def topk(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Any, Any]:
    """The largest, or smallest, elements along an axis and their places; of equals the first ones."""
    values, places = functions["topk"](x, int(scalar(k)), axis, bool(largest), True)
    return values, places.astype(np.int64, copy=False)


@operator("Unique")
def unique(x: Any, *, axis: int | None = None, sorted: int = 1) -> tuple[Any, ...]:
    """Each element, or each slice along an axis, once: with its first place, the number of each, and how often."""
    values, first, inverse, counts = functions["unique"](x, return_index=True, return_inverse=True, return_counts=True,
                                                         axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = functions["argsort"](first)
        values = functions["take"](values, order, axis=axis or 0)
        inverse = functions["take"](functions["argsort"](order), inverse)
        first, counts = functions["take"](first, order), functions["take"](counts, order)
    return values, *[part.astype(np.int64, copy=False) for part in (first, inverse, counts)]


@operator("NonZero")
def nonzero(x: Any) -> Any:
    """The places of what is not 0: a row for each axis."""
    places = functions["nonzero"](x if x.ndim else x.reshape(1))
    return functions["stack"](places, 0).astype(np.int64, copy=False)[:max(x.ndim, 0)]


@operator("Compress")
def compress(x: Any, condition: Any, *, axis: int | None = None) -> Any:
    """The slices along an axis, or the elements, where a condition holds."""
    return functions["compress"](condition, x, axis)


def _running(name: str, function: Callable[..., Any]) -> None:
    @operator(name)
    def run(x: Any, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Any:
        along = int(scalar(axis)) % x.ndim
        x = functions["flip"](x, along) if reverse else x
        found = function(x, along, dtype=x.dtype)
        if exclusive:
            neutral = functions["full"]((*x.shape[:along], min(1, x.shape[along]), *x.shape[along + 1:]),
                                        int(name == "CumProd"), x.dtype, device=x.device)
            found = functions["concat"]([neutral, found[(slice(None),) * along + (slice(0, -1),)]], axis=along)
        return functions["flip"](found, along) if reverse else found


_running("CumSum", functions["cumsum"])
_running("CumProd", functions["cumprod"])


@operator("OneHot")
def one_hot(indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    """The second of two values at the indices of a new axis, the first elsewhere."""
    count = int(scalar(depth))
    axis = axis % (indices.ndim + 1)
    places = on(indices, np.arange(count).reshape((-1, *[1] * (indices.ndim - axis))))
    wanted = functions["where"](indices < 0, indices + count, indices)
    return functions["where"](functions["expand_dims"](wanted, axis) == places, values[1], values[0])


@operator("EyeLike")
def eye_like(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    """Ones on a diagonal of a matrix of the same shape."""
    kind = x.dtype if dtype is None else dtype_of(dtype)
    return functions["eye"](*x.shape, k=k, dtype=kind, device=x.device)


@operator("Trilu")
def trilu(x: Any, k: Any = None, *, upper: int = 1) -> Any:
    """What is above a diagonal, or below it."""
    return functions["triu" if upper else "tril"](x, 0 if k is None else int(scalar(k)))


@operator("Range")
def range_(start: Any, limit: Any, delta: Any) -> Any:
    """Equal steps from start towards limit."""
    first, stop, step = scalar(start), scalar(limit), scalar(delta)
    count = max(0, int(np.ceil((stop - first) / step)))
    return on(start, (first + np.arange(count) * step).astype(start.dtype))
