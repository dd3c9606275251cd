"""Reductions that pass over NaN, and so do their gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, shapes
from ..apply import apply
from ..array import Tensor
from ..errors import ShapeError
from ..op import Primitive
from ..register import functions, public
from . import reducers
from .hosted import holds_anywhere
from .logic import where as choose
from .movement import as_tensor, astype, deliver
from .reduction import Axis, deliver_places, extreme, mask_of, place, prod, sum, total
from .statistics import (
    correction_of,
    deviation_of_variance,
    float_operand,
    mean_of,
    quotient,
    squared_deviations,
    std,
    var,
    warn_where,
)


def _may_have_nan(x: Tensor) -> bool:
    return dtypes.is_inexact(x.dtype)


def _numbers(x: Tensor, mask: Tensor | None) -> Tensor:
    """Where x is no NaN, and counts."""
    is_number = x.detach() == x.detach()
    return is_number if mask is None else functions["logical_and"](is_number, mask)


# --------------------------------------------------------------------------------------- sums and products
def _total_of_numbers(plain: Callable[..., Tensor], ufunc: str, identity: int, x: Tensor, places: tuple,
                      out: Tensor | None, rest: tuple) -> Tensor:
    """`plain`, sum or prod, of what is not NaN; complex numbers by choice, others by a kernel that leaves NaN out."""
    if x.dtype.kind == "c":
        return plain(choose(_numbers(x, None), x, identity), *places, out, *rest)
    name = plain.__name__
    op = getattr(reducers, f"nan{name}_of" if _may_have_nan(x) else f"{name}_of")
    return deliver(f"nan{name}", total(op, ufunc, identity, x, *places, *rest), out)


@public()
def nansum(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, keepdims: bool = False,
           initial: Any = None, where: Any = True) -> Tensor:
    """Sum over axes of what is not NaN; of nothing but NaN 0.

    >>> import lucid_nb as lnb
    >>> lnb.nansum(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(4.)
    """
    return _total_of_numbers(sum, "add", 0, as_tensor("nansum", a), (axis, dtype), out, (keepdims, initial, where))


@public()
def nanprod(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, keepdims: bool = False,
            initial: Any = None, where: Any = True) -> Tensor:
    """Product over axes of what is not NaN; of nothing but NaN 1.

    >>> import lucid_nb as lnb
    >>> lnb.nanprod(lnb.tensor([2.0, lnb.nan, 3.0]))
    tensor(6.)
    """
    return _total_of_numbers(prod, "multiply", 1, as_tensor("nanprod", a), (axis, dtype), out,
                             (keepdims, initial, where))


# ------------------------------------------------------------------------------------------------ extremes
def _nan_extreme(op: Primitive, plain: Primitive, join: str, x: Any, axis: Axis, keepdims: bool, initial: Any,
                 where: Any) -> Tensor:
    x = as_tensor(op.name, x)
    if not _may_have_nan(x):
        return extreme(plain, join, x, axis, keepdims, initial, where)
    found = extreme(op, join, x, axis, keepdims, initial, where)
    warn_where(found.detach() != found.detach(), "All-NaN slice encountered")
    return found


@public()
def nanmax(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, initial: Any = None,
           where: Any = True) -> Tensor:
    """The largest over axes of what is not NaN; of nothing but NaN it is NaN, with a warning.

    Equal elements share the gradient evenly.

    >>> import lucid_nb as lnb
    >>> lnb.nanmax(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(3.)
    """
    found = _nan_extreme(reducers.nanmax_of, reducers.max_of, "fmax", a, axis, keepdims, initial, where)
    return deliver("nanmax", found, out)


@public()
def nanmin(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, initial: Any = None,
           where: Any = True) -> Tensor:
    """The smallest over axes of what is not NaN; of nothing but NaN it is NaN, with a warning.

    Equal elements share the gradient evenly.

    >>> import lucid_nb as lnb
    >>> lnb.nanmin(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(1.)
    """
    found = _nan_extreme(reducers.nanmin_of, reducers.min_of, "fmin", a, axis, keepdims, initial, where)
    return deliver("nanmin", found, out)


def _nan_place(name: str, x: Any, axis: int | None, keepdims: bool) -> Tensor:
    x = as_tensor(name, x).detach()
    op, worst = (reducers.argmax_of, float("-inf")) if name == "nanargmax" else (reducers.argmin_of, float("inf"))
    if not _may_have_nan(x) or x.size == 0:
        return place(name, op, x, axis, keepdims)
    is_number = x == x
    if holds_anywhere(functions["logical_not"](functions["any"](is_number, shapes.reduction_axes(name, axis, x.ndim)))):
        raise ShapeError(f"{name}: All-NaN slice encountered in shape {x.shape}. Leave such slices out.")
    return place(name, op, choose(is_number, x, worst), axis, keepdims)


@public()
def nanargmax(a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """Index of the largest of what is not NaN, the first of equals; a slice of nothing but NaN is refused.

    >>> import lucid_nb as lnb
    >>> lnb.nanargmax(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(2)
    """
    return deliver_places("nanargmax", _nan_place("nanargmax", a, axis, keepdims), out)


@public()
def nanargmin(a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """Index of the smallest of what is not NaN, the first of equals; a slice of nothing but NaN is refused.

    >>> import lucid_nb as lnb
    >>> lnb.nanargmin(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(0)
    """
    return deliver_places("nanargmin", _nan_place("nanargmin", a, axis, keepdims), out)


# ------------------------------------------------------------------------------------- means and variances
def _counts(x: Tensor, mask: Tensor | None, axes: shapes.Shape, keepdims: bool) -> Tensor:
    """How many numbers there are."""
    if mask is None and axes and x.dtype.kind != "c":
        return apply(reducers.count_numbers_of, (x.detach(),), {"axes": axes, "keepdims": keepdims})
    return sum(_numbers(x, mask), axes, keepdims=keepdims)


@public()
def nanmean(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, keepdims: bool = False, *,
            where: Any = True) -> Tensor:
    """Mean over axes of what is not NaN; of nothing but NaN it is NaN, with a warning.

    >>> import lucid_nb as lnb
    >>> lnb.nanmean(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(2.)
    """
    a = as_tensor("nanmean", a)
    if not _may_have_nan(a):
        return deliver("nanmean", mean_of("nanmean", a, axis, dtype, keepdims, where), out)
    a, wanted = float_operand("nanmean", a, dtype)
    axes = shapes.reduction_axes("nanmean", axis, a.ndim)
    count = _counts(a, mask_of("nanmean", a, where), axes, keepdims)
    warn_where(count == 0, "Mean of empty slice")
    total_ = nansum(a, axes, keepdims=keepdims, where=where)
    with np.errstate(invalid="ignore"):                    # the warning above says it
        found = quotient(total_, count)
    return deliver("nanmean", astype(found, wanted, copy=False), out)


def _nan_variance(op: str, x: Tensor, axis: Axis, dtype: Any, correction: float, keepdims: bool, where: Any,
                  mean: Any) -> tuple[Tensor, Any]:
    """The variance of numbers, and the dtype that it is given in; NaN where there are not enough."""
    x, wanted = float_operand(op, x, dtype)
    axes = shapes.reduction_axes(op, axis, x.ndim)
    numbers = _numbers(x, mask_of(op, x, where))
    degrees = sum(numbers, axes, keepdims=keepdims) - correction
    warn_where(degrees <= 0, "Degrees of freedom <= 0 for slice.")
    found = squared_deviations(x, axes, keepdims, numbers, mean)
    found = quotient(found, choose(degrees > 0, astype(degrees, found.dtype), float("nan")))
    return found, found.dtype if wanted.kind == "c" and dtype is None else wanted


@public()
def nanvar(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, ddof: float = 0,
           keepdims: bool = False, *, where: Any = True, mean: Any = None,
           correction: float | None = None) -> Tensor:
    """Variance over axes of what is not NaN; NaN, with a warning, where there are no more numbers than ddof.

    >>> import lucid_nb as lnb
    >>> lnb.nanvar(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(1.)
    """
    a, correction = as_tensor("nanvar", a), correction_of("nanvar", ddof, correction)
    if not _may_have_nan(a):
        return var(a, axis, dtype, out, correction, keepdims, where=where, mean=mean)
    found, wanted = _nan_variance("nanvar", a, axis, dtype, correction, keepdims, where, mean)
    return deliver("nanvar", astype(found, wanted, copy=False), out)


@public()
def nanstd(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, ddof: float = 0,
           keepdims: bool = False, *, where: Any = True, mean: Any = None,
           correction: float | None = None) -> Tensor:
    """Standard deviation over axes of what is not NaN, the square root of `nanvar`; of equals 0, with gradient 0.

    >>> import lucid_nb as lnb
    >>> lnb.nanstd(lnb.tensor([1.0, lnb.nan, 3.0]))
    tensor(1.)
    """
    a, correction = as_tensor("nanstd", a), correction_of("nanstd", ddof, correction)
    if not _may_have_nan(a):
        return std(a, axis, dtype, out, correction, keepdims, where=where, mean=mean)
    found, wanted = _nan_variance("nanstd", a, axis, dtype, correction, keepdims, where, mean)
    return deliver("nanstd", astype(deviation_of_variance(found), wanted, copy=False), out)
