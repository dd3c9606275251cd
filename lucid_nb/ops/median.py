"""Medians: the middle element in order, or the mean of the two in the middle."""

from typing import Any

import numpy as np

from .. import dtypes, shapes
from ..array import Tensor
from ..register import public
from .gathering import take
from .hosted import hosted
from .logic import where
from .movement import as_tensor, deliver, reshape
from .nan_reduction import nanmean
from .quantile import elements_at, is_nan, merged_rows, valid_counts
from .reduction import Axis
from .sorting import in_order, partly_in_order
from .statistics import mean


def _middle(rows: Tensor) -> Tensor:
    """The medians of rows, NaN where a row has one."""
    count, axis = rows.shape[-1], rows.ndim - 1
    if count == 0:
        return mean(rows, -1)
    low, high, last = (count - 1) // 2, count // 2, count - 1
    has_nan = dtypes.is_inexact(rows.dtype)
    ordered = partly_in_order(rows, tuple(sorted({low, high, *([last] if has_nan else [])})), axis)
    found = mean(take(ordered, np.unique([low, high]), axis=-1), -1)
    if not has_nan:
        return found
    end = take(ordered, last, axis=-1)
    return where(is_nan(end), end, found)


def _middle_without_nan(rows: Tensor) -> Tensor:
    """The medians of what is no NaN in rows."""
    if not dtypes.is_inexact(rows.dtype):
        return _middle(rows)
    counts = np.maximum(valid_counts(rows), 1)
    ordered = in_order(rows, rows.ndim - 1)
    return mean(elements_at(ordered, np.concatenate([(counts - 1) // 2, counts // 2], -1)), -1)


def _median_of(name: str, x: Any, axis: Axis, out: Any, keepdims: bool, skips_nan: bool) -> Tensor:
    x = as_tensor(name, x)
    rows, axes = merged_rows(name, x, axis)
    if skips_nan:
        found = _middle_without_nan(rows) if rows.size else nanmean(rows, -1)
    else:
        found = _middle(rows)
    return deliver(name, reshape(found, shapes.reduced_shape(x.shape, axes, keepdims)), out)


@public()
def median(a: Any, axis: Axis = None, out: Tensor | None = None, overwrite_input: bool = False,
           keepdims: bool = False) -> Tensor:
    """The middle element over axes, or the mean of the two in the middle; NaN wins. The input is never overwritten.

    >>> import lucid_nb as lnb
    >>> lnb.median(lnb.tensor([3.0, 1.0, 2.0, 10.0]))
    tensor(2.5)
    """
    return _median_of("median", a, axis, out, keepdims, False)


@public(method=False)
@hosted
def nanmedian(a: Any, axis: Axis = None, out: Tensor | None = None, overwrite_input: bool = False,
              keepdims: bool = False) -> Tensor:
    """`median` of what is no NaN; NaN with a warning where nothing is left.

    >>> import lucid_nb as lnb
    >>> lnb.nanmedian(lnb.tensor([3.0, float("nan"), 1.0]))
    tensor(2.)
    """
    return _median_of("nanmedian", a, axis, out, keepdims, True)
