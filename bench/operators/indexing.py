"""PyTorch's operators that index, scatter, sort and search, and ours."""

import math
from typing import Any

import lucid_nb as lnb

from .adapters import lengths, worded


def axis_second(function: Any) -> Any:
    """PyTorch names the axis before the index."""
    return lambda x, dim, *rest, **keywords: function(x, *rest, axis=dim, **keywords)


def scattered(x: lnb.Tensor, dim: int, index: lnb.Tensor, src: Any) -> lnb.Tensor:
    """PyTorch's scatter: of an array or one number."""
    return lnb.scatter(x, index, src, axis=dim)


def scatter_reduced(x: lnb.Tensor, dim: int, index: lnb.Tensor, src: lnb.Tensor, reduce: str, **keywords: Any
                    ) -> lnb.Tensor:
    """PyTorch's scatter_reduce."""
    return lnb.scatter_reduce(x, index, src, axis=dim, reduce=reduce, **keywords)


def placed(dim: int, index: Any) -> tuple:
    """An index along one axis."""
    return (slice(None),) * dim + (index,) if dim >= 0 else (..., index) + (slice(None),) * (-1 - dim)


def written(x: lnb.Tensor, dim: int, index: lnb.Tensor, values: Any) -> lnb.Tensor:
    """PyTorch's index_copy and index_fill: a copy, written into along an axis."""
    result = lnb.atleast_1d(x).copy()
    result[placed(dim, index)] = values
    return lnb.reshape(result, x.shape)


def narrowed(x: lnb.Tensor, dim: int, start: Any, length: int) -> lnb.Tensor:
    """PyTorch's narrow: a slice along an axis."""
    first = int(start) % max(x.shape[dim], 1)
    return x[placed(dim, slice(first, first + length))]


def indexed(x: lnb.Tensor, index: Any) -> lnb.Tensor:
    """Square brackets, also with slices in a list."""
    return x[tuple(index) if isinstance(index, list) and not all(isinstance(part, int) for part in index) else index]


def in_order(x: lnb.Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> list[lnb.Tensor]:
    """PyTorch's sort: values and where they stood."""
    axis = dim if x.ndim else None
    order = lnb.reshape(lnb.argsort(x, axis=axis, descending=descending, stable=stable), x.shape)
    return [lnb.reshape(lnb.sort(x, axis=axis, descending=descending, stable=stable), x.shape), order]


def unique(x: lnb.Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """PyTorch's unique: NaNs are different from each other."""
    return lnb.unique(x, return_inverse=return_inverse, return_counts=return_counts, axis=dim, sorted=sorted,
                      equal_nan=False)


def counted(x: lnb.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> lnb.Tensor:
    """PyTorch's histc: counts in the dtype of the data; the data's own range if both ends are equal."""
    ends = None if min == max else (min, max)
    return lnb.histogram(x, bins, ends)[0].astype(x.dtype)


def searched(sequence: lnb.Tensor, values: Any, out_int32: bool = False, right: bool = False, side: str | None = None,
             sorter: Any = None) -> lnb.Tensor:
    """PyTorch's searchsorted: row by row of sequences with more than one axis."""
    side = side or ("right" if right else "left")
    if sequence.ndim > 1:
        count = math.prod(sequence.shape[:-1])
        rows, keys = [lnb.reshape(x, (count, x.shape[-1])) for x in (sequence, values)]
        orders = [None] * count if sorter is None else list(lnb.reshape(sorter, rows.shape))
        found = [lnb.searchsorted(row, key, side, order) for row, key, order in zip(rows, keys, orders)]
        result = lnb.reshape(lnb.stack(found), values.shape) if found else lnb.zeros(values.shape, dtype="int64")
    else:
        result = lnb.searchsorted(sequence, values, side, sorter)
    return result.astype("int32" if out_int32 else "int64")


def along(x: lnb.Tensor, index: lnb.Tensor, dim: int | None = None) -> lnb.Tensor:
    """PyTorch's take_along_dim broadcasts both."""
    if dim is None:
        return lnb.take_along_axis(lnb.ravel(x), lnb.ravel(index), axis=0)
    return lnb.take_along_axis(x, index, axis=dim)


def nonzero(x: lnb.Tensor, as_tuple: bool = False) -> Any:
    """PyTorch's nonzero: NumPy's argwhere, unless a tuple is asked for."""
    return lnb.nonzero(lnb.atleast_1d(x)) if as_tuple else lnb.argwhere(x)


TABLE = {
    "masked_fill": lnb.masked_fill, "masked_select": lnb.masked_select, "topk": worded(lnb.topk), "narrow": narrowed,
    "select": lambda x, dim, index: x[placed(dim, index)], "gather": axis_second(lnb.gather), "index_fill": written,
    "index_copy": written, "index_select": axis_second(lnb.index_select), "index_add": axis_second(lnb.index_add),
    "__getitem__": indexed, "index_put": lambda x, index, values, accumulate=False: lnb.index_put(
        x, tuple(index), values, accumulate),
    "sort": in_order, "argsort": lambda *arguments, **keywords: in_order(*arguments, **keywords)[1],
    "msort": lambda x: lnb.sort(x, axis=0), "unique": unique, "take": lnb.take, "scatter": scattered,
    "scatter_add": axis_second(lnb.scatter_add), "scatter_reduce": scatter_reduced, "histc": counted,
    "bucketize": lambda x, boundaries, **keywords: searched(boundaries, x, **keywords), "searchsorted": searched,
    "take_along_dim": along, "nonzero": nonzero, "argwhere": lnb.argwhere,
    "bincount": lambda x, weights=None, minlength=0: lnb.bincount(x, weights, minlength),
    "unravel_index": lambda index, shape: lnb.unravel_index(index, lengths(shape)),
    "index_reduce": "scatter_reduce with an index that is broadcast", "masked_scatter": "place",
}
