"""Writing by position: a copy with elements replaced, added or reduced, and NumPy's writes into an array.

Of equal positions the last one counts where elements are replaced; elsewhere they are joined in the order given, so
that results have the same bits every time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor, fresh
from ..errors import DTypeError, ShapeError, is_one_of
from ..op import RESULT, Info, Primitive, registry
from ..register import functions, public
from ..shapes import Shape
from ..storage import Slice, is_viewable
from .arithmetic import multiply
from .gathering import along_positions, checked, region_of
from .indexing import accumulated, as_value, beside, setitem
from .logic import where
from .movement import as_tensor, duplicate, reshape
from .places import wants_gradient
from .positions import Positions, in_mode, positions_of


# ---------------------------------------------------------------------------------------------- primitives
def _pull_set(ops: Any, info: Info, g: Any, index: Any, axis: int) -> tuple:
    """What was replaced gets nothing; of several values for one element only the last one counts."""
    of_base, _, of_values = info.wanted
    base = ops.set_along(g, index, ops.zeros(info.shape(2), g), axis=axis) if of_base else None
    if not of_values:
        return base, None, None
    last = ops.is_last_along(index, shape=info.shape(0), axis=axis)
    return base, None, ops.where(last, ops.along(g, index, axis=axis), 0)


def _is_last_along(table: backend.Table, index: Any, shape: Shape, axis: int) -> Any:
    """Which positions along an axis no later position repeats."""
    own = table.reshape(table.iota(0, 1, shapes.product(tuple(index.shape)), dtypes.INT64), tuple(index.shape))
    writer = table.scatter_along("set", table.full(shape, 0, dtypes.INT64), index, own, axis)
    return registry["equal"].run((table.take_along(writer, index, axis), own))


def _pull_extreme(ops: Any, info: Info, g: Any, x: Any, index: Any, values: Any, result: Any, kind: str,
                  axis: int) -> tuple:
    """Split evenly among those that equal the extreme."""
    own = ops.cast(ops.equal(x, result), dtype=info.dtype(0))
    theirs = ops.cast(ops.equal(values, ops.along(result, index, axis=axis)), dtype=info.dtype(0))
    share = ops.divide(g, ops.sum_along(own, index, theirs, axis=axis))
    # A cell whose extreme is NaN equals nothing, and passes nothing on.
    share = ops.where(ops.equal(result, result), share, 0)
    return ops.multiply(share, own), None, ops.multiply(ops.along(share, index, axis=axis), theirs)


def _pull_products(ops: Any, info: Info, g: Any, x: Any, index: Any, values: Any, result: Any, axis: int) -> tuple:
    """Of factors none of which is zero."""
    share = ops.multiply(g, ops.conjugate(result) if info.dtype(0).kind == "c" else result)
    by = [ops.conjugate(part) if info.dtype(0).kind == "c" else part for part in (x, values)]
    return ops.divide(share, by[0]), None, ops.divide(ops.along(share, index, axis=axis), by[1])


_sum_along = Primitive("sum_along", lambda table, x, index, values, axis: table.scatter_along(
    "sum", x, index, values, axis), lambda ops, info, g, index, axis: (
        g, None, ops.along(g, index, axis=axis)), keeps=(1,), flops=flops.per_input(1, 2), linear=((0, 2),))
_set_along = Primitive("set_along", lambda table, x, index, values, axis: table.scatter_along(
    "set", x, index, values, axis), _pull_set, keeps=(1,))
_last_along = Primitive("is_last_along", _is_last_along, None)
_extreme_along = Primitive("extreme_along", lambda table, x, index, values, kind, axis: table.scatter_along(
    kind, x, index, values, axis), _pull_extreme, keeps=(0, 1, 2, RESULT))
_prod_along = Primitive("prod_along", lambda table, x, index, values, axis: table.scatter_along(
    "prod", x, index, values, axis), _pull_products, keeps=(0, 1, 2, RESULT), flops=flops.per_input(1, 2))


# ------------------------------------------------------------------------------------------------ writing
def _scattered(op: str, x: Any, index: Any, src: Any, axis: int, join: Callable) -> Tensor:
    """A copy of x whose elements at positions along an axis are joined with those of src, by PyTorch's rules."""
    x = as_tensor(op, x)
    if x.ndim == 0:                                                     # counts as an array of one element
        index, src = reshape(as_tensor(op, index), -1), src if type(src) in dtypes.WEAK else reshape(src, -1)
        return reshape(_scattered(op, reshape(x, 1), index, src, axis, join), ())
    axis = shapes.normalize_axis(op, axis, x.ndim)
    try:
        index = along_positions(op, index, x, axis)
    except backend.Unbatchable as reason:
        return backend.batching.instead("scattered", reason, op, x, index, src, axis, join, _scattered)
    region = region_of(op, x.shape, index.shape, axis)
    x, values = beside(x, src)
    values = _values(op, x, values, index.shape)
    if region is None:
        return join(x, index, values, axis)
    result = duplicate(x, "C")
    part = join(x.moved(Slice(region)), index, values, axis)
    result[region] = part
    return result


def _values(op: str, x: Tensor, values: Tensor, shape: Shape) -> Tensor:
    """What is scattered: a number, or as much of src as the index asks for, in x's dtype."""
    if values.ndim == 0:
        return values.astype(x.dtype, copy=False).broadcast_to(shape)
    if values.ndim != len(shape) or any(size < wanted for size, wanted in zip(values.shape, shape)):
        raise ShapeError(f"{op}: src of shape {values.shape} for an index of shape {shape}. Make it as large.")
    if values.shape != shape:
        values = values.moved(Slice((*[slice(0, size) for size in shape], ...)))
    if values.dtype != x.dtype and not dtypes.can_cast(values.dtype, x.dtype, "same_kind"):
        raise DTypeError(f"{op}: {values.dtype} cannot go into {x.dtype}. Use .astype.")
    return values.astype(x.dtype, copy=False)


def _join(primitive: Primitive, **params: Any) -> Callable:
    return lambda x, index, values, axis: checked(primitive, (x, index, values), {"axis": axis, **params})


@public(method=False)
def scatter(x: Any, index: Any, src: Any, /, axis: int = -1) -> Tensor:
    """A copy of x with the elements of `src` (or one number) at positions along an axis; of equal ones the last counts.

    >>> import lucid_nb as lnb
    >>> lnb.scatter(lnb.zeros((2, 3)), [[0], [2]], 1.0, axis=1)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    return _scattered("scatter", x, index, src, axis, _join(_set_along))


@public(method=False)
def scatter_add(x: Any, index: Any, src: Any, /, axis: int = -1) -> Tensor:
    """A copy of x with the elements of `src` added at positions along an axis, in order: the same bits every time.

    >>> import lucid_nb as lnb
    >>> lnb.scatter_add(lnb.zeros(3), [0, 2, 0], [1.0, 2.0, 3.0], axis=0)
    tensor([4., 0., 2.])
    """
    return _scattered("scatter_add", x, index, src, axis, _join(_sum_along))


REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@public(method=False)
def scatter_reduce(x: Any, index: Any, src: Any, /, axis: int = -1, *, reduce: str,
                   include_self: bool = True) -> Tensor:
    """A copy of x whose elements at positions along an axis are reduced with those of `src`, as PyTorch's.

    `reduce`: "sum", "prod", "mean", "amax" or "amin". Not `include_self`, what stood at these places does not count.
    Gradients of extremes are split evenly among equals.

    >>> import lucid_nb as lnb
    >>> lnb.scatter_reduce(lnb.ones(2), [0, 0, 1], [2.0, 6.0, 5.0], axis=0, reduce="mean")
    tensor([3., 3.])
    """
    if not is_one_of(reduce, REDUCTIONS):
        raise DTypeError(f"scatter_reduce: reduce {reduce!r} is unknown. Use one of {', '.join(REDUCTIONS)}.")

    def join(x: Tensor, index: Tensor, values: Tensor, axis: int) -> Tensor:
        start = x if include_self else _join(_set_along)(x, index, _neutral(reduce, values), axis)
        if reduce in ("amax", "amin"):
            return _join(_extreme_along, kind=reduce[1:])(start, index, values, axis)
        if reduce == "prod":
            return _products(start, index, values, axis)
        total = _join(_sum_along)(start, index, values, axis)
        return _means(total, index, axis, include_self) if reduce == "mean" else total
    return _scattered("scatter_reduce", x, index, src, axis, join)


def _full(like: Tensor, shape: Shape, value: Any, dtype: np.dtype) -> Tensor:
    return fresh(backend.of(like.raw).full(shape, value, dtype))


def _neutral(reduce: str, like: Tensor) -> Tensor:
    """What changes nothing, in the shape and dtype of the values."""
    dtype, value = like.dtype, 1 if reduce == "prod" else 0
    if reduce in ("amax", "amin"):
        if dtype.kind == "c":
            raise DTypeError(f"scatter_reduce: {reduce} has no meaning for {dtype}. Take .real, or abs(x).")
        bounds: Any = (-np.inf, np.inf)
        if dtype.kind in "iub":
            bounds = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        value = bounds[reduce == "amin"]
    return _full(like, like.shape, value, dtype)


def _means(total: Tensor, index: Tensor, axis: int, include_self: bool) -> Tensor:
    """Sums over how many were added; of integers rounded down, as PyTorch's."""
    dtype = total.dtype if dtypes.is_inexact(total.dtype) else dtypes.INT64
    own, added = (_full(total, shape, value, dtype) for shape, value in
                  ((total.shape, int(include_self)), (index.shape, 1)))
    counts = apply(_sum_along, (own, index, added), {"axis": axis})
    counts = where(counts == 0, _full(total, (), 1, dtype), counts)
    return total / counts if dtypes.is_inexact(total.dtype) else (total // counts).astype(total.dtype)


def _products(x: Tensor, index: Tensor, values: Tensor, axis: int) -> Tensor:
    """Products in each cell.

    For gradients the factors that are not zero are multiplied, and the zeros, as they vary, by the elementary symmetric
    polynomial of their number: right to second order, with one zero in a cell and with two.
    """
    if not (wants_gradient(x) or wants_gradient(values)):
        return _join(_prod_along)(x, index, values, axis)

    def summed(a: Tensor, b: Tensor) -> Tensor:
        return apply(_sum_along, (a, index, b), {"axis": axis})
    masks = [part == 0 for part in (x, values)]
    one = _full(x, (), 1, x.dtype)
    product = checked(_prod_along, (where(masks[0], one, x), index, where(masks[1], one, values)), {"axis": axis})
    zeros = [where(mask, part, one * 0) for mask, part in zip(masks, (x, values))]
    count = summed(*[mask.astype(dtypes.INT64) for mask in masks])
    first, second = summed(*zeros), summed(*[part * part for part in zeros])
    pairs = (first * first - second) * 0.5
    factor = where(count == 0, one, where(count == 1, first, where(count == 2, pairs, one * 0)))
    return multiply(product, factor)


# -------------------------------------------------------------------------------------------- by slices
@public(method=False)
def index_add(x: Any, index: Any, source: Any, /, axis: int = 0, *, alpha: Any = 1) -> Tensor:
    """A copy of x with the slices of `source`, times `alpha`, added at positions along an axis, in order.

    >>> import lucid_nb as lnb
    >>> lnb.index_add(lnb.zeros((2, 2)), [1, 1], lnb.ones((2, 2)))
    tensor([[0., 0.],
            [2., 2.]])
    """
    x = as_tensor("index_add", x)
    axis = shapes.normalize_axis("index_add", axis, x.ndim)
    positions = positions_of("index_add", index, x.device)
    if positions.ndim != 1:
        raise ShapeError(f"index_add: an index of shape {positions.shape}. Use one axis.")
    x, values = beside(x, source)
    if type(alpha) is not int or alpha != 1:
        x, values = beside(x, values * alpha)
    return accumulated("index_add", x, (*(slice(None),) * axis, positions), values)


@public(method=False)
def index_put(x: Any, indices: Any, values: Any, /, accumulate: bool = False) -> Tensor:
    """A copy of x in which `x[indices]` is replaced by values, or with `accumulate` has them added, equal indices too.

    >>> import lucid_nb as lnb
    >>> lnb.index_put(lnb.zeros(3), ([0, 0, 2],), [1.0, 2.0, 3.0], accumulate=True)
    tensor([3., 0., 3.])
    """
    x = as_tensor("index_put", x)
    if not isinstance(indices, (tuple, list)):
        raise DTypeError(f"index_put: indices is of type {type(indices).__name__}. Give a tuple of index arrays.")
    x, values = beside(x, values)
    if accumulate:
        return accumulated("index_put", x, tuple(indices), values)
    result = duplicate(x, "C")
    setitem(result, tuple(indices), values)
    return result


# --------------------------------------------------------------------------------------------- in place
def written(op: str, x: Any) -> Tensor:
    """What a function writes into: a tensor, or memory of NumPy's."""
    if not isinstance(x, (Tensor, np.ndarray)):
        raise DTypeError(f"{op}: writes into its first argument, which is of type {type(x).__name__}. Give a tensor.")
    found = as_tensor(op, x)
    found.check_writable(op)
    return found


def write_flat(op: str, x: Tensor, positions: Positions, values: Tensor) -> None:
    """Elements of the flat array replaced, the values again and again."""
    if positions.size == 0 or values.size == 0:
        return
    flat_values = reshape(values, -1)
    if flat_values.size != positions.size:
        flat_values = functions["resize"](flat_values, (positions.size,))
    is_view = is_viewable(x.share(), x.raw, x.steps, (x.size,))
    row = reshape(x, -1)
    setitem(row, positions.reshape(-1), flat_values)
    if not is_view:
        x.write(reshape(row, x.shape), op)


@public()
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values `v`, again and again, at positions `ind` in the flat array; recorded. `mode` as in `take`.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros(4)
    >>> lnb.put(x, [0, -1], [5.0, 6.0])
    >>> x
    tensor([5., 0., 0., 6.])
    """
    target = written("put", a)
    positions = in_mode("put", positions_of("put", ind, target.device, True), target.size, mode)
    write_flat("put", target, positions, as_value(target, v))


@public(method=False)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Write values, broadcast, at positions along an axis, one for each element of `indices`; recorded.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros((2, 3))
    >>> lnb.put_along_axis(x, [[1], [2]], 5.0, axis=1)
    >>> x
    tensor([[0., 5., 0.],
            [0., 0., 5.]])
    """
    target = written("put_along_axis", arr)
    if axis is None:
        positions = positions_of("put_along_axis", indices, target.device)
        write_flat("put_along_axis", target, positions, as_value(target, values))
        return
    axis = shapes.normalize_axis("put_along_axis", axis, target.ndim)
    index = along_positions("put_along_axis", indices, target, axis)
    wanted = list(index.shape)
    for other, size in enumerate(target.shape):
        if other != axis:
            wanted[other] = size
    if index.shape != tuple(wanted):
        index = index.broadcast_to(tuple(wanted))
    value = as_value(target, values).astype(target.dtype, copy=False).broadcast_to(tuple(wanted))
    target.write(checked(_set_along, (target, index, value), {"axis": axis}), "put_along_axis")
