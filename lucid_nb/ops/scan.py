"""Scans along an axis: running sums, products, extremes and logsumexp, and differences."""

from typing import Any

from .. import backend, dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..backend import entry
from ..errors import DTypeError, ShapeError
from ..expr import trace
from ..facts import Facts, Rule
from ..op import ALL, RESULT, Elementwise, Info, Primitive, registry
from ..register import public, short
from ..storage import Slice
from .logic import where
from .movement import as_tensor, astype, concat, deliver, reshape
from .places import routed
from .reduction import sum_dtype

registry["conjugated"] = Elementwise("conjugated", trace(lambda m, x: m.conjugate(x), 1), 1,
                                     Facts("internal", Rule(complexes=True)))


# ---------------------------------------------------------------------------------------------- primitives
def _cut(ops: Any, x: Any, axis: int, part: slice) -> Any:
    """A slice along an axis."""
    return ops.view(x, steps=(Slice((slice(None),) * axis + (part,)),))


def _turned(ops: Any, x: Any, axis: int) -> Any:
    """An axis the other way round."""
    return _cut(ops, x, axis, slice(None, None, -1))


def _behind(ops: Any, info: Info, x: Any, axis: int, first: float) -> Any:
    """Each element replaced by the one before it, the first by a number."""
    start = ops.zeros(tuple(1 if a == axis else size for a, size in enumerate(info.shape(0))), x)
    return ops.concatenate(ops.subtract(start, -first) if first else start, _cut(ops, x, axis, slice(0, -1)), axis=axis)


def _conjugate(ops: Any, info: Info, x: Any) -> Any:
    return ops.conjugated(x) if info.dtype(0).kind == "c" else x


def _suffixes(ops: Any, info: Info, factor: Any, g: Any, axis: int) -> Any:
    """s with s[k] = g[k] + factor[k + 1] * s[k + 1], from the end."""
    steps = _behind(ops, info, _turned(ops, factor, axis), axis, 0)
    return _turned(ops, ops.recurrence(steps, _turned(ops, g, axis), axis=axis), axis)


def _pull_cumprod(ops: Any, info: Info, g: Any, x: Any, y: Any, axis: int) -> tuple:
    """The product before an element times what the elements after it make of g: no division, so zeros are right."""
    if 0 in info.shape(0):
        return (g,)
    later = _suffixes(ops, info, _conjugate(ops, info, x), g, axis)
    return (ops.multiply(_conjugate(ops, info, _behind(ops, info, y, axis, 1)), later),)


def _pull_logcumsumexp(ops: Any, info: Info, g: Any, x: Any, y: Any, axis: int) -> tuple:
    """exp(x[k] - y[k]) times the sum of g[i] exp(y[k] - y[i]) from k on; no exponent is above 0."""
    if 0 in info.shape(0):
        return (g,)
    shrinking = ops.exp_difference(_behind(ops, info, y, axis, 0), y)
    return (ops.multiply(ops.exp_difference(x, y), _suffixes(ops, info, shrinking, g, axis)),)


def _pull_recurrence(ops: Any, info: Info, g: Any, factor: Any, y: Any, axis: int) -> tuple:
    by_x = _suffixes(ops, info, _conjugate(ops, info, factor), g, axis)
    return ops.multiply(by_x, _conjugate(ops, info, _behind(ops, info, y, axis, 0))), by_x


_cumsum = Primitive("cumsum", lambda table, x, axis: entry(table, "scan")("sum", x, axis),
                    lambda ops, info, g, axis: (_turned(ops, ops.cumsum(_turned(ops, g, axis), axis=axis), axis),),
                    flops=flops.per_input(1), linear=ALL)
_cumprod = Primitive("cumprod", lambda table, x, axis: entry(table, "scan")("prod", x, axis), _pull_cumprod,
                     keeps=(0, RESULT), flops=flops.per_input(1))
_logcumsumexp = Primitive("logcumsumexp", lambda table, x, axis: entry(table, "scan")("logsumexp", x, axis),
                          _pull_logcumsumexp, keeps=(0, RESULT), flops=flops.per_input(2 * flops.EXP + 6))
_recurrence = Primitive("recurrence", lambda table, factor, x, axis: entry(table, "recurrence")(factor, x, axis),
                        _pull_recurrence, keeps=(0, RESULT), flops=flops.per_input(1, 1))
_extreme = Primitive("extreme_scan", lambda table, x, kind, axis: entry(table, "extreme_scan")(kind, x, axis), None)


# ------------------------------------------------------------------------------------------------ functions
def _scanned(op: Primitive, x: Any, axis: int | None, dtype: Any, out: Any, name: str) -> Tensor:
    """A running sum or product as NumPy's: flat without an axis (a number is an array of one), integers in 64 bits."""
    x = as_tensor(name, x)
    x, axis = (reshape(x, -1), 0 if axis is None else axis) if axis is None or x.ndim == 0 else (x, axis)
    axis = shapes.normalize_axis(name, axis, x.ndim)
    wanted = dtypes.as_dtype(name, dtype) if dtype is not None else sum_dtype(x.dtype)
    compute = wanted if wanted.kind != "b" else dtypes.INT64
    result = apply(op, (astype(x, compute, copy=False),), {"axis": axis})
    return deliver(name, astype(result, wanted, copy=False), out)


@public()
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running sum along an axis, without one of the flattened array; integers in 64 bits.

    Floats are accumulated in float64, in a fixed order: the same bits for any number of threads.

    >>> import lucid_nb as lnb
    >>> lnb.cumsum(lnb.tensor([1.0, 2.0, 3.0]))
    tensor([1., 3., 6.])
    """
    if dtype is out is None and (raw := short.small(a)) is not None and raw.ndim == 1 and raw.dtype.kind in "iuf" and (
            axis is None or axis == 0):
        wide = dtypes.FLOAT64 if raw.dtype.kind == "f" else None
        return short.made(raw.cumsum(0, wide).astype(sum_dtype(raw.dtype), copy=False))
    return _scanned(_cumsum, a, axis, dtype, out, "cumsum")


@public()
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running product along an axis, without one of the flattened array; its gradient is right at zeros too.

    >>> import lucid_nb as lnb
    >>> lnb.cumprod(lnb.tensor([2.0, 3.0, 4.0]))
    tensor([ 2.,  6., 24.])
    """
    return _scanned(_cumprod, a, axis, dtype, out, "cumprod")


def _cumulative(op: Primitive, x: Any, axis: int | None, dtype: Any, include_initial: bool, out: Any, first: int,
                name: str) -> Tensor:
    """The array API's scan: an axis is needed where there are several, and the empty one may come first.

    As in NumPy, a number is taken for an array of one element.
    """
    x = as_tensor(name, x)
    x = x if x.ndim else reshape(x, -1)
    if axis is None and x.ndim != 1:
        raise ShapeError(f"{name}: which axis of shape {x.shape}? Give axis.")
    axis = shapes.normalize_axis(name, 0 if axis is None else axis, x.ndim)
    result = _scanned(op, x, axis, dtype, None, name)
    if include_initial:
        shape = tuple(1 if a == axis else size for a, size in enumerate(x.shape))
        initial = Tensor(backend.of(result.raw).full(shape, first, result.dtype))
        result = concat([initial, result], axis=axis)
    return deliver(name, result, out)


@public()
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Tensor | None = None,
                   include_initial: bool = False) -> Tensor:
    """Running sum along an axis (of 1-D arrays, theirs); with `include_initial` led by 0.

    >>> import lucid_nb as lnb
    >>> lnb.cumulative_sum(lnb.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _cumulative(_cumsum, x, axis, dtype, include_initial, out, 0, "cumulative_sum")


@public()
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Tensor | None = None,
                    include_initial: bool = False) -> Tensor:
    """Running product along an axis (of 1-D arrays, theirs); with `include_initial` led by 1.

    >>> import lucid_nb as lnb
    >>> lnb.cumulative_prod(lnb.tensor([1, 2, 3]), include_initial=True)
    tensor([1, 1, 2, 6])
    """
    return _cumulative(_cumprod, x, axis, dtype, include_initial, out, 1, "cumulative_prod")


def without_nan(x: Tensor, value: float) -> Tensor:
    """NaNs replaced by a number; they get no gradient."""
    return where(x == x, x, value) if dtypes.is_inexact(x.dtype) else x


@public(method=False)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running sum along an axis that takes NaN for 0.

    >>> import lucid_nb as lnb
    >>> lnb.nancumsum(lnb.tensor([1.0, float("nan"), 2.0]))
    tensor([1., 1., 3.])
    """
    return _scanned(_cumsum, without_nan(as_tensor("nancumsum", a), 0), axis, dtype, out, "nancumsum")


@public(method=False)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running product along an axis that takes NaN for 1.

    >>> import lucid_nb as lnb
    >>> lnb.nancumprod(lnb.tensor([2.0, float("nan"), 3.0]))
    tensor([2., 2., 6.])
    """
    return _scanned(_cumprod, without_nan(as_tensor("nancumprod", a), 1), axis, dtype, out, "nancumprod")


def _running_extreme(name: str, x: Any, axis: int) -> tuple[Tensor, Tensor]:
    x = as_tensor(name, x)
    if x.dtype.kind == "c":
        raise DTypeError(f"{name}: {x.dtype} has no order. Take abs(x).")
    axis = shapes.normalize_axis(name, axis, x.ndim)
    values, places = apply(_extreme, (x.detach(),), {"kind": name[3:], "axis": axis})
    return routed(x, values, places, axis), places


@public()
def cummax(x: Any, /, axis: int) -> tuple[Tensor, Tensor]:
    """Running maximum along an axis and its places (int64), the latest of equals; NaN stays once it has come.

    The gradient goes to these places.

    >>> import lucid_nb as lnb
    >>> lnb.cummax(lnb.tensor([1.0, 3.0, 2.0]), 0)
    (tensor([1., 3., 3.]), tensor([0, 1, 1]))
    """
    return _running_extreme("cummax", x, axis)


@public()
def cummin(x: Any, /, axis: int) -> tuple[Tensor, Tensor]:
    """Running minimum along an axis and its places (int64), the latest of equals; NaN stays once it has come.

    The gradient goes to these places.

    >>> import lucid_nb as lnb
    >>> lnb.cummin(lnb.tensor([3.0, 1.0, 2.0]), 0)
    (tensor([3., 1., 1.]), tensor([0, 1, 1]))
    """
    return _running_extreme("cummin", x, axis)


@public()
def logcumsumexp(x: Any, /, axis: int) -> Tensor:
    """Logarithm of the running sum of exponentials, without overflow; of nothing but -inf it is -inf, with gradient 0.

    >>> import lucid_nb as lnb
    >>> lnb.logcumsumexp(lnb.tensor([1000.0, -float("inf")]), 0)
    tensor([1000., 1000.])
    """
    x = as_tensor("logcumsumexp", x)
    axis = shapes.normalize_axis("logcumsumexp", axis, x.ndim)
    x = astype(x, dtypes.real_float("logcumsumexp", x.dtype, x.device), copy=False)
    return apply(_logcumsumexp, (x,), {"axis": axis})
