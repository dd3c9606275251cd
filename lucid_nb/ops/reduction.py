"""Reductions over axes: sum, mean, extremes and their places, logsumexp, any and all."""

import warnings
from typing import Any

import numpy as np

from .. import dtypes, shapes
from ..apply import apply
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..expr import Expr, Vocabulary, trace
from ..op import RESULT, Elementwise, Facts, Info, Primitive, Rule, registry
from ..register import public
from .movement import as_tensor, astype, deliver

Axis = int | tuple[int, ...] | None


# ---------------------------------------------------------------------------------------------- primitives
def _spread(ops: Any, info: Info, g: Any, axes: shapes.Shape) -> Any:
    """What belongs to a reduced result, with its axes back as extents of 1."""
    return ops.reshape(g, shape=shapes.reduced_shape(info.shape(0), axes, True))


_sum = Primitive("sum", lambda table, x, axes, keepdims, dtype=None:
                 table.reduce("sum", x, axes, keepdims, dtype or table.dtype_of(x)),
                 lambda ops, info, g, axes, keepdims, dtype=None:
                 (ops.broadcast_to(_spread(ops, info, g, axes), shape=info.shape(0)),))


def _same_or_nan(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Is x the extreme y of its row? Where y is NaN, the NaNs are."""
    return m.where(y == y, m.where(x == y, 1, 0), m.where(x != x, 1, 0)) == 1


def _exp_difference(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """exp(x - y), and 0 where the sum of exponentials exp(y) is 0."""
    return m.where(y == float("-inf"), 0, m.exp(x - y))


for _formula in (_same_or_nan, _exp_difference):
    _name = _formula.__name__[1:]
    registry[_name] = Elementwise(_name, trace(_formula, 2), 2, Facts("internal", Rule()))


def _pull_extreme(ops: Any, info: Info, g: Any, x: Any, y: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    """The gradient is shared evenly among equals."""
    mask = ops.same_or_nan(x, _spread(ops, info, y, axes))
    count = ops.sum(ops.cast(mask, dtype=info.dtype(0)), axes=axes, keepdims=True)
    return (ops.where(mask, ops.divide(_spread(ops, info, g, axes), count), 0),)


def _extreme(kind: str) -> Primitive:
    return Primitive(kind, lambda table, x, axes, keepdims: table.reduce(kind, x, axes, keepdims, table.dtype_of(x)),
                     _pull_extreme, keeps=(0, RESULT))


def _arg_extreme(kind: str) -> Primitive:
    return Primitive(f"arg{kind}", lambda table, x, axis, keepdims: table.arg_reduce(kind, x, axis, keepdims), None)


def _truth(kind: str) -> Primitive:
    return Primitive(kind, lambda table, x, axes, keepdims:
                     table.reduce(kind, table.cast(x, dtypes.BOOL), axes, keepdims, dtypes.BOOL), None)


_max, _min, _argmax, _argmin = _extreme("max"), _extreme("min"), _arg_extreme("max"), _arg_extreme("min")
_any, _all = _truth("any"), _truth("all")
_logsumexp = Primitive(
    "logsumexp", lambda table, x, axes, keepdims: table.logsumexp(x, axes, keepdims),
    lambda ops, info, g, x, y, axes, keepdims: (ops.multiply(
        _spread(ops, info, g, axes), ops.exp_difference(x, _spread(ops, info, y, axes))),), keeps=(0, RESULT))


# ------------------------------------------------------------------------------------------------ functions
def sum_dtype(dtype: np.dtype) -> np.dtype:
    """What NumPy sums a dtype in: integers in 64 bits."""
    return np.dtype(np.uint64 if dtype.kind == "u" else np.int64) if dtype.kind in "biu" else dtype


@public()
def sum(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False,
        out: Tensor | None = None) -> Tensor:
    """Sum over axes (all of them by default), in a fixed order: the same bits for any number of threads.

    Integers are summed in 64 bits, and float16 and bfloat16 in float32.

    >>> import lucid_nb as lnb
    >>> lnb.sum(lnb.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])
    """
    x = as_tensor("sum", x)
    wanted = dtypes.as_dtype("sum", dtype) if dtype is not None else sum_dtype(x.dtype)
    axes = shapes.normalize_axes("sum", axis, x.ndim)
    x = astype(x, wanted, copy=False)
    result = apply(_sum, (x,), {"axes": axes, "keepdims": keepdims}) if axes else x.copy()
    return deliver("sum", result, out)


@public()
def mean(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False,
         out: Tensor | None = None) -> Tensor:
    """Arithmetic mean over axes (all of them by default); of integers in float64, of nothing NaN with a warning."""
    x = as_tensor("mean", x)
    wanted = dtypes.as_dtype("mean", dtype) if dtype is not None else x.dtype
    wanted = wanted if dtypes.is_inexact(wanted) else dtypes.FLOAT64
    compute = dtypes.FLOAT32 if wanted in (dtypes.FLOAT16, dtypes.BFLOAT16) else wanted
    axes = shapes.normalize_axes("mean", axis, x.ndim)
    count = 1
    for a in axes:
        count *= x.shape[a]
    if count == 0:
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=2)
    total = sum(astype(x, compute, copy=False), axes, keepdims=keepdims)
    return deliver("mean", astype(total / float(count), wanted, copy=False), out)


def _extreme_of(op: Primitive, x: Any, axis: Axis, keepdims: bool) -> Tensor:
    x = as_tensor(op.name, x)
    axes = shapes.normalize_axes(op.name, axis, x.ndim)
    if x.dtype.kind == "c":
        raise DTypeError(f"{op.name}: {x.dtype} has no order. Take abs(x).")
    if 0 in [x.shape[a] for a in axes]:
        raise ShapeError(f"{op.name}: no elements along axis {axis} of shape {x.shape}. Give at least one.")
    if not axes:
        return x.copy()
    return apply(op, (x,), {"axes": axes, "keepdims": keepdims})


@public(names=("amax",))
def max(x: Any, /, axis: Axis = None, *, keepdims: bool = False, out: Tensor | None = None) -> Tensor:
    """The largest element over axes; NaN wins. Equal elements share the gradient evenly."""
    return deliver("max", _extreme_of(_max, x, axis, keepdims), out)


@public(names=("amin",))
def min(x: Any, /, axis: Axis = None, *, keepdims: bool = False, out: Tensor | None = None) -> Tensor:
    """The smallest element over axes; NaN wins. Equal elements share the gradient evenly."""
    return deliver("min", _extreme_of(_min, x, axis, keepdims), out)


def _place_of(op: Primitive, x: Any, axis: int | None, keepdims: bool) -> Tensor:
    x = as_tensor(op.name, x)
    if x.dtype.kind == "c":
        raise DTypeError(f"{op.name}: {x.dtype} has no order. Take abs(x).")
    if x.size == 0 and (axis is None or x.shape[shapes.normalize_axis(op.name, axis, x.ndim)] == 0):
        raise ShapeError(f"{op.name}: no elements, shape {x.shape}. Give at least one.")
    if axis is None:
        found = apply(op, (x.detach().reshape(-1),), {"axis": 0, "keepdims": False})
        return found.reshape((1,) * x.ndim) if keepdims else found
    axis = shapes.normalize_axis(op.name, axis, x.ndim)
    return apply(op, (x.detach(),), {"axis": axis, "keepdims": keepdims})


@public()
def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False, out: Tensor | None = None) -> Tensor:
    """Index of the largest element, the first of equals; NaN wins. Without `axis`, in the flattened array."""
    return deliver("argmax", _place_of(_argmax, x, axis, keepdims), out)


@public()
def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False, out: Tensor | None = None) -> Tensor:
    """Index of the smallest element, the first of equals; NaN wins. Without `axis`, in the flattened array."""
    return deliver("argmin", _place_of(_argmin, x, axis, keepdims), out)


@public()
def logsumexp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials, without overflow; of nothing but -inf it is -inf, with gradient 0."""
    x = as_tensor("logsumexp", x)
    axes = shapes.normalize_axes("logsumexp", axis, x.ndim)
    x = astype(x, dtypes.real_float("logsumexp", x.dtype), copy=False)
    if 0 in [x.shape[a] for a in axes]:
        raise ShapeError(f"logsumexp: no elements along axis {axis} of shape {x.shape}. Give at least one.")
    if not axes:
        return x.copy()
    return apply(_logsumexp, (x,), {"axes": axes, "keepdims": keepdims})


def _truth_of(op: Primitive, x: Any, axis: Axis, keepdims: bool) -> Tensor:
    x = as_tensor(op.name, x)
    axes = shapes.normalize_axes(op.name, axis, x.ndim)
    if not axes:
        return astype(x, dtypes.BOOL)
    return apply(op, (x.detach(),), {"axes": axes, "keepdims": keepdims})


@public()
def any(x: Any, /, axis: Axis = None, *, keepdims: bool = False, out: Tensor | None = None) -> Tensor:
    """Is any element over axes not 0?"""
    return deliver("any", _truth_of(_any, x, axis, keepdims), out)


@public()
def all(x: Any, /, axis: Axis = None, *, keepdims: bool = False, out: Tensor | None = None) -> Tensor:
    """Are all elements over axes not 0?"""
    return deliver("all", _truth_of(_all, x, axis, keepdims), out)
