"""Means, variances and what is made of them, over axes."""

import warnings
from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply, at_each_call
from ..array import Tensor, fresh
from ..errors import DTypeError, ShapeError, level_of_user
from ..expr import Expr, Vocabulary, entry, m
from ..expr import quotient as absorbing_quotient
from ..op import ALL, Info, Primitive, registry
from ..register import functions, public, unary
from ..remembered import remembered
from .composite import composite
from .hosted import holds_anywhere
from .movement import as_tensor, astype, broadcast_to, deliver
from .reducers import internal, real_dtype, spread
from .reduction import Axis, extent, kept, mask_of, max, min, sum


# ---------------------------------------------------------------------------------------------- primitives
def _scaled_deviation(m: Vocabulary, x: Expr, mean: Expr, g: Expr) -> Expr:
    """g times the deviation from the mean, 0 where there is none: the standard deviation of equals has g infinite."""
    return m.absorbing_product(g, x - mean)


def _size_squared(m: Vocabulary, z: Expr) -> Expr:
    """|z|**2 of a complex number."""
    return m.real(m.conjugate(z) * z)


@entry(expansion=lambda m, v: m.sqrt(v), cost=6, flops=6)
def root_of_variance(g: Expr, y: Expr, v: Expr) -> tuple[Expr]:
    """Of equals the gradient of the standard deviation is 0, and jumps there: so is every further derivative."""
    return (m.where(y == 0, 0, absorbing_quotient(0.5 * g, y)),)


@unary(kind="float", published=False, bools=False, oracle="numpy.sqrt", samples=((0.1, 9),))
def deviation_of_variance(m: Vocabulary, variance: Expr) -> Expr:
    """Standard deviation of a variance; 0 with all derivatives where that is 0."""
    return m.root_of_variance(variance)


internal(_scaled_deviation, 3)
internal(_size_squared, 1)


def _pull_variance(ops: Any, info: Info, g: Any, x: Any, axes: shapes.Shape, keepdims: bool, degrees: float) -> tuple:
    mean = ops.centre(x, axes=axes, keepdims=True)
    factor = 2 / degrees if degrees else np.inf           # the deviations of one value are 0, and absorb it
    return (ops.scaled_deviation(x, mean, ops.multiply(spread(ops, info, g, axes), factor)),)


def _pull_mean(ops: Any, info: Info, g: Any, axes: shapes.Shape, keepdims: bool, count: float) -> tuple:
    return (ops.broadcast_to(spread(ops, info, ops.divide(g, count), axes), shape=info.shape(0)),)


def _pull_centre(ops: Any, info: Info, g: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    count = shapes.product(tuple([info.shape(0)[axis] for axis in axes]))
    return (ops.broadcast_to(ops.multiply(spread(ops, info, g, axes), 1 / count), shape=info.shape(0)),)


def _mean_by_moments(table: Any, x: Any, axes: shapes.Shape, keepdims: bool) -> Any:
    return table.cast(table.moments(x, axes, keepdims)[0], table.dtype_of(x))


def _variance_by_moments(table: Any, x: Any, axes: shapes.Shape, keepdims: bool, degrees: float) -> Any:
    _, square = table.moments(x, axes, keepdims)
    variance = square / degrees if table.name == "cpu" else registry["divide"].run((square, degrees))
    return table.cast(variance, real_dtype(table.dtype_of(x)))


_mean = composite("mean", lambda ops, x, axes, keepdims, count: ops.divide(ops.sum(x, axes=axes, keepdims=keepdims),
                                                                            count), _pull_mean,
                  flops=flops.per_input(1), linear=ALL)
# Both for devices that have the entry `moments`. The mean of equal elements is exactly their value.
_centre = Primitive("centre", _mean_by_moments, _pull_centre, flops=flops.per_input(1), linear=ALL)
_variance = Primitive("variance", _variance_by_moments, _pull_variance, keeps=(0,), flops=flops.per_input(4))


# --------------------------------------------------------------------------------------------------- means
def float_operand(op: str, x: Any, dtype: Any) -> tuple[Tensor, np.dtype]:
    """The operand in the dtype that a mean is computed in, and the dtype that it is given in."""
    x = as_tensor(op, x)
    wanted = dtypes.as_dtype(op, dtype) if dtype is not None else x.dtype
    if dtype is not None and not dtypes.is_inexact(wanted):
        raise DTypeError(f"{op}: dtype {wanted} does not hold what lies between integers. Use a float dtype.")
    wanted = wanted if dtypes.is_inexact(wanted) else dtypes.on_device(dtypes.FLOAT64, x.device)
    compute = dtypes.FLOAT32 if wanted in (dtypes.FLOAT16, dtypes.BFLOAT16) else wanted
    return (x if x.dtype == compute else astype(x, compute)), wanted


def count_of(x: Tensor, mask: Tensor | None, axes: shapes.Shape, keepdims: bool) -> Tensor | int:
    """How many elements become one: a number, or where there is a mask, one for each result."""
    return extent(x, axes) if mask is None else sum(broadcast_to(mask, x.shape), axes, keepdims=keepdims)


def quotient(value: Tensor, count: Tensor | float) -> Tensor:
    """value / count, in the dtype of value."""
    if isinstance(count, Tensor):
        return value / astype(count, value.dtype, copy=False)
    return value / float(count)


def warn_where(condition: Any, text: str) -> None:
    """NumPy's warning, on behalf of the caller of the public function."""
    if holds_anywhere(condition) if isinstance(condition, Tensor) else condition:
        at_each_call()
        warnings.warn(text, RuntimeWarning, stacklevel=level_of_user())


@public()
@remembered
def mean(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, keepdims: bool = False, *,
         where: Any = True) -> Tensor:
    """Arithmetic mean over axes (all of them by default); of integers in float64 (on mlx in
    float32), of nothing NaN with a warning.

    >>> import lucid_nb as lnb
    >>> lnb.mean(lnb.tensor([[1.0, 2.0], [3.0, 5.0]]), axis=1)
    tensor([1.5, 4. ])
    """
    return deliver("mean", mean_of("mean", as_tensor("mean", a), axis, dtype, keepdims, where), out)


def mean_of(op: str, x: Tensor, axis: Axis, dtype: Any, keepdims: bool, where: Any) -> Tensor:
    """The mean, on behalf of a function."""
    x, wanted, sums = _mean_operand(op, x, dtype)
    axes = shapes.normalize_axes(op, axis, x.ndim)
    mask = mask_of(op, x, where)
    count = count_of(x, mask, axes, keepdims)
    warn_where(count == 0, "Mean of empty slice")
    if mask is None and axes and x.dtype == wanted and sums is None:
        return apply(_mean, (x,), {"axes": axes, "keepdims": keepdims, "count": float(count)})
    total = sum(kept(x, mask, False if x.dtype.kind == "b" else 0), axes, sums, keepdims=keepdims)
    total = total if dtypes.is_inexact(total.dtype) else astype(total, dtypes.on_device(dtypes.FLOAT64, x.device))
    return astype(quotient(total, count), wanted, copy=False)


def _mean_operand(op: str, x: Tensor, dtype: Any) -> tuple[Tensor, np.dtype, np.dtype | None]:
    """The operand of a mean, the dtype that it is given in, and the one that is summed in.

    Integers of up to 32 bits are summed exactly, by 64; where an integer dtype is asked for, NumPy sums in it.
    """
    given = None if dtype is None else dtypes.as_dtype(op, dtype)
    if given is not None and not dtypes.is_inexact(given):
        return astype(x, given, copy=False), given, given
    if given is None and x.dtype.kind in "biu" and x.dtype.itemsize < 8:
        return x, dtypes.on_device(dtypes.FLOAT64, x.device), None
    return *float_operand(op, x, dtype), None


# ----------------------------------------------------------------------------------------------- variances
def correction_of(op: str, ddof: float, correction: float | None) -> float:
    """Two names of one argument: NumPy's and the array API's."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ShapeError(f"{op}: got ddof={ddof} and correction={correction}, which mean the same. Give one.")
    return correction


def _squared_size(deviation: Tensor) -> Tensor:
    return apply(registry["size_squared"], (deviation,)) if deviation.dtype.kind == "c" else \
        functions["square"](deviation)


def squared_deviations(x: Tensor, axes: shapes.Shape, keepdims: bool, mask: Tensor | None, mean: Any) -> Tensor:
    """The sum of squared deviations from the mean, or from one that is given; of equals it is exactly 0.

    A first mean is taken away, and the mean of what is left, which of equals is as exact as a mean can be, too.
    """
    if mean is None:
        count = count_of(x, mask, axes, True)
        with np.errstate(invalid="ignore"):                # nothing at all: the result is NaN, as the caller says
            rough = quotient(sum(kept(x.detach(), mask, 0), axes, keepdims=True), count)
            x = x - rough
            deviation = x - quotient(sum(kept(x, mask, 0), axes, keepdims=True), count)
    else:
        deviation = x - as_tensor("var", mean)
    return sum(kept(_squared_size(deviation), mask, 0), axes, keepdims=keepdims)


def variance(op: str, x: Any, axis: Axis, dtype: Any, correction: float, keepdims: bool, where: Any,
             mean: Any) -> tuple[Tensor, np.dtype]:
    """The variance in the dtype that it is computed in, and the dtype that it is given in."""
    x, wanted = float_operand(op, x, dtype)
    axes = shapes.normalize_axes(op, axis, x.ndim)
    mask = mask_of(op, x, where)
    degrees = count_of(x, mask, axes, keepdims) - correction
    warn_where(degrees <= 0, "Degrees of freedom <= 0 for slice")
    wanted = wanted if dtype is not None else real_dtype(wanted)
    if mask is None and mean is None and x.size and backend.of(x.raw).has("moments"):
        how = {"axes": axes, "keepdims": keepdims, "degrees": float(np.maximum(degrees, 0))}
        return apply(_variance, (x,), how), wanted
    total = squared_deviations(x, axes, keepdims, mask, mean)
    positive = functions["maximum"](degrees, 0) if isinstance(degrees, Tensor) else float(np.maximum(degrees, 0))
    return quotient(total, positive), wanted


@public()
@remembered
def var(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: float | None = None) -> Tensor:
    """Variance over axes: the mean of squared deviations from the mean, with n - ddof in place of n.

    `correction` is the array API's name of ddof. `mean`: one that is known, with its axes kept. Where n - ddof is 0 or
    less the result is NaN or infinite, with a warning (of one value NaN, with gradient 0); the variance of equal
    elements is exactly 0. Of complex numbers deviations count by their absolute value.

    >>> import lucid_nb as lnb
    >>> lnb.var(lnb.tensor([1.0, 2.0, 6.0]), ddof=1)
    tensor(7.)
    """
    found, wanted = variance("var", a, axis, dtype, correction_of("var", ddof, correction), keepdims, where, mean)
    return deliver("var", astype(found, wanted, copy=False), out)


@public()
def std(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, ddof: float = 0,
        keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: float | None = None) -> Tensor:
    """Standard deviation over axes, the square root of `var`; of equal elements it is 0, with all derivatives.

    >>> import lucid_nb as lnb
    >>> lnb.std(lnb.tensor([1.0, 5.0]))
    tensor(2.)
    """
    found, wanted = variance("std", a, axis, dtype, correction_of("std", ddof, correction), keepdims, where, mean)
    return deliver("std", astype(deviation_of_variance(found), wanted, copy=False), out)


@public()
def ptp(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False) -> Tensor:
    """Range over axes, from the smallest element to the largest.

    >>> import lucid_nb as lnb
    >>> lnb.ptp(lnb.tensor([3, 1, 8]))
    tensor(7)
    """
    return deliver("ptp", max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims), out)


# ------------------------------------------------------------------------------------------ weighted means
@public()
def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *,
            keepdims: bool = False) -> Any:
    """Weighted mean over axes; with `returned` also the sum of the weights. Both may have gradients.

    `weights` has the shape of a, or the extents of `axis`. ZeroDivisionError where weights sum to 0.

    >>> import lucid_nb as lnb
    >>> lnb.average(lnb.tensor([1.0, 2.0, 4.0]), weights=[1, 1, 2])
    tensor(2.75)
    """
    a = as_tensor("average", a)
    axes = shapes.normalize_axes("average", axis, a.ndim)
    if weights is None:
        found = mean(a, axis, keepdims=keepdims)
        scale = full_like(found, extent(a, axes))
    else:
        weights = _weights_along(a, as_tensor("average", weights), axis, axes)
        least = (dtypes.on_device(dtypes.FLOAT64, a.device),) if a.dtype.kind in "biu" else ()
        wanted = dtypes.promote((a.dtype, weights.dtype, *least), a.device)
        weights = astype(broadcast_to(weights, a.shape), wanted, copy=False)
        scale = sum(weights, axes, keepdims=keepdims)
        if holds_anywhere(scale == 0):
            raise ZeroDivisionError("average: the weights sum to 0. Give weights that do not.")
        found = sum(astype(a, wanted, copy=False) * weights, axes, keepdims=keepdims) / scale
    return (found, scale) if returned else found


def full_like(x: Tensor, value: float) -> Tensor:
    """A tensor like x of one value."""
    return fresh(backend.of(x.raw).full(x.shape, value, x.dtype))


def _weights_along(x: Tensor, weights: Tensor, axis: Axis, axes: shapes.Shape) -> Tensor:
    """Weights that broadcast to x."""
    if weights.shape == x.shape:
        return weights
    if axis is None:
        raise ShapeError(f"average: weights of shape {weights.shape} for {x.shape}. Give axis, or as many weights.")
    if weights.shape != tuple([x.shape[a] for a in axes]):
        raise ShapeError(f"average: weights of shape {weights.shape} do not fit axis {axis} of {x.shape}. "
                         "Give one weight for each place along it.")
    ordered = weights.permute_dims(shapes.inverse_permutation(axes))
    return ordered.reshape(tuple([size if a in axes else 1 for a, size in enumerate(x.shape)]))
