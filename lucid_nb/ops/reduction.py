"""Reductions over axes: sums, products, extremes and their places, logsumexp, truth and counts.

Ties have one rule: equal extremes share the gradient evenly, in `max`, `amax`, `nanmax`, `ptp` and `maximum` alike;
what gives places (`argmax`, sorting, pooling) takes the first of equals.
"""

from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import apply
from ..array import Tensor, fresh
from ..errors import DTypeError, ShapeError
from ..op import Primitive
from ..register import FEW, TENSORS, functions, public, short
from ..remembered import remembered
from . import reducers
from .logic import where as choose
from .movement import as_tensor, astype, broadcast_to, deliver

Axis = int | tuple[int, ...] | None


# ------------------------------------------------------------------------------------------------ arguments
def mask_of(op: str, x: Tensor, where: Any) -> Tensor | None:
    """The elements that count, as bools that broadcast to x; None for all."""
    if where is True:
        return None
    mask = as_tensor(op, where)
    if mask.dtype != dtypes.BOOL:
        raise DTypeError(f"{op}: where is {mask.dtype}. Give bools, such as x > 0.")
    if shapes.broadcast_shapes(op, mask.shape, x.shape) != x.shape:
        raise ShapeError(f"{op}: where of shape {mask.shape} does not broadcast to {x.shape}. Make x as large.")
    return mask if mask.device == x.device else mask.to(x.device)


def kept(x: Tensor, mask: Tensor | None, fill: Any) -> Tensor:
    """x, and `fill` where the mask does not hold."""
    return x if mask is None else choose(mask, x, fill)


def initial_of(op: str, value: Any, like: Tensor) -> Tensor:
    """The value that a reduction starts from, in the dtype and on the device of its result."""
    if isinstance(value, Tensor):
        return astype(value, like.dtype, copy=False)
    return fresh(backend.of(like.raw).from_numpy(np.asarray(value).astype(like.dtype)))


def extent(x: Tensor, axes: shapes.Shape) -> int:
    """How many elements become one."""
    return shapes.product(tuple([x.shape[axis] for axis in axes]))


def sum_dtype(dtype: np.dtype) -> np.dtype:
    """What NumPy sums a dtype in: integers in 64 bits."""
    return np.dtype(np.uint64 if dtype.kind == "u" else np.int64) if dtype.kind in "biu" else dtype


# --------------------------------------------------------------------------------------- sums and products
def total(op: Primitive, join: str, fill: int, x: Any, axis: Axis, dtype: Any, keepdims: bool, initial: Any,
          where: Any) -> Tensor:
    """A sum or product: `fill` is what changes nothing, `join` the name of what takes the initial value in."""
    name = op.name
    x = as_tensor(name, x)
    wanted = dtypes.as_dtype(name, dtype) if dtype is not None else sum_dtype(x.dtype)
    axes = shapes.reduction_axes(name, axis, x.ndim)
    widens = x.dtype.kind in "biu" and wanted == sum_dtype(x.dtype) and bool(axes)     # as it adds, without a copy
    x = x if widens or x.dtype == wanted else astype(x, wanted)
    if where is not True:
        x = kept(x, mask_of(name, x, where), bool(fill) if x.dtype.kind == "b" else fill)
    if axes:
        how = {"axes": axes, "keepdims": keepdims}
        result = apply(op, (x,), how if x.dtype == wanted else {**how, "dtype": wanted})
    else:
        result = choose(x == x, x, fill) if name.startswith("nan") else x.copy()
    if initial is None:
        return result
    return astype(functions[join](result, initial_of(name, initial, result)), result.dtype, copy=False)


@public()
@remembered
def sum(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, keepdims: bool = False,
        initial: Any = None, where: Any = True) -> Tensor:
    """Sum over axes (all of them by default), in a fixed order: the same bits for any number of threads.

    Integers are summed in 64 bits, and float16 and bfloat16 in float32. `initial` is added; elements where `where` does
    not hold are left out.

    >>> import lucid_nb as lnb
    >>> lnb.sum(lnb.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([4., 6.])
    """
    return deliver("sum", total(reducers.sum_of, "add", 0, a, axis, dtype, keepdims, initial, where), out)


@public()
@remembered
def prod(a: Any, axis: Axis = None, dtype: Any = None, out: Tensor | None = None, keepdims: bool = False,
         initial: Any = None, where: Any = True) -> Tensor:
    """Product over axes (all of them by default); of integers in 64 bits, of nothing 1.

    Its gradient is right at zeros, one or several, to any order.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> lnb.prod(x).backward()
    >>> x.grad
    tensor([0., 6., 0.])
    """
    return deliver("prod", total(reducers.prod_of, "multiply", 1, a, axis, dtype, keepdims, initial, where), out)


# ------------------------------------------------------------------------------------------------ extremes
def extreme(op: Primitive, join: str, x: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Tensor:
    """An extreme; `join` is the name of what takes the initial value in."""
    name = op.name
    x = as_tensor(name, x)
    axes = shapes.reduction_axes(name, axis, x.ndim)
    if initial is None:
        if where is not True:
            raise ShapeError(f"{name}: where leaves elements out, and nothing at all has no {name}. Give initial.")
        if extent(x, axes) == 0:
            raise ShapeError(f"{name}: no elements along axis {axis} of shape {x.shape}. "
                             "Give at least one, or initial.")
        return apply(op, (x,), {"axes": axes, "keepdims": keepdims}) if axes else x.copy()
    start = initial_of(name, initial, x)
    if extent(x, axes) == 0:
        return broadcast_to(start, shapes.reduced_shape(x.shape, axes, keepdims)).copy()
    x = kept(x, mask_of(name, x, where), start)
    return functions[join](apply(op, (x,), {"axes": axes, "keepdims": keepdims}) if axes else x, start)


@public(names=("amax",))
@remembered
def max(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, initial: Any = None,
        where: Any = True) -> Tensor:
    """The largest element over axes, and not less than `initial`; NaN wins. Equal elements share the gradient evenly.

    Complex numbers are ordered by their real and then by their imaginary part.

    >>> import lucid_nb as lnb
    >>> lnb.max(lnb.tensor([[1.0, 5.0], [3.0, 4.0]]), axis=1)
    tensor([5., 4.])
    """
    return deliver("max", extreme(reducers.max_of, "maximum", a, axis, keepdims, initial, where), out)


@public(names=("amin",))
@remembered
def min(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, initial: Any = None,
        where: Any = True) -> Tensor:
    """The smallest element over axes, and not more than `initial`; NaN wins. Equal elements share the gradient evenly.

    Complex numbers are ordered by their real and then by their imaginary part.

    >>> import lucid_nb as lnb
    >>> lnb.min(lnb.tensor([[1.0, 5.0], [3.0, 4.0]]), axis=1)
    tensor([1., 3.])
    """
    return deliver("min", extreme(reducers.min_of, "minimum", a, axis, keepdims, initial, where), out)


def place(name: str, op: Primitive, x: Any, axis: int | None, keepdims: bool) -> Tensor:
    """The place of an extreme, on behalf of a function."""
    if axis is None and not keepdims and (raw := short.small(x)) is not None and raw.size and raw.dtype.kind in "biuf":
        return short.made(np.array(raw.argmax() if op is reducers.argmax_of else raw.argmin()))
    x = as_tensor(name, x)
    axis = None if x.ndim == 0 and axis in (0, -1) else axis
    if x.size == 0 and (axis is None or x.shape[shapes.normalize_axis(name, axis, x.ndim)] == 0):
        raise ShapeError(f"{name}: no elements, shape {x.shape}. Give at least one.")
    if type(x) in TENSORS and type(x.raw) is np.ndarray and not keepdims and x.ndim:
        flat, along = (x.raw.reshape(-1), 0) if axis is None else (x.raw, shapes.normalize_axis(name, axis, x.ndim))
        return fresh(op.run((flat,), {"axis": along, "keepdims": False}))
    if axis is None:
        found = apply(op, (x.detach().reshape(-1),), {"axis": 0, "keepdims": False})
        return found.reshape((1,) * x.ndim) if keepdims else found
    axis = shapes.normalize_axis(name, axis, x.ndim)
    return apply(op, (x.detach(),), {"axis": axis, "keepdims": keepdims})


def deliver_places(op: str, places: Tensor, out: Any) -> Any:
    """`deliver` by NumPy's rule for places: out may be of any dtype whose values int64 holds."""
    if isinstance(out, (Tensor, np.ndarray)) and not np.can_cast(out.dtype, dtypes.INT64):
        raise DTypeError(f"{op}: out is {out.dtype}, places are integers. Give out as int64.")
    return deliver(op, places, out, "unsafe")


@public()
def argmax(a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """Index of the largest element, the first of equals; NaN wins. Without `axis`, in the flattened array.

    >>> import lucid_nb as lnb
    >>> lnb.argmax(lnb.tensor([1.0, 7.0, 7.0]))
    tensor(1)
    """
    return deliver_places("argmax", place("argmax", reducers.argmax_of, a, axis, keepdims), out)


@public()
def argmin(a: Any, axis: int | None = None, out: Tensor | None = None, *, keepdims: bool = False) -> Tensor:
    """Index of the smallest element, the first of equals; NaN wins. Without `axis`, in the flattened array.

    >>> import lucid_nb as lnb
    >>> lnb.argmin(lnb.tensor([[1.0, 7.0], [2.0, 0.0]]), axis=1)
    tensor([0, 1])
    """
    return deliver_places("argmin", place("argmin", reducers.argmin_of, a, axis, keepdims), out)


@public()
def logsumexp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials, without overflow; of nothing or only -inf it is -inf, with gradient 0.

    Of complex numbers it is a value of the logarithm, which has many.

    >>> import lucid_nb as lnb
    >>> lnb.logsumexp(lnb.tensor([1000.0, 1000.0])).item()
    1000.6931471805599
    """
    x = as_tensor("logsumexp", x)
    axes = shapes.reduction_axes("logsumexp", axis, x.ndim)
    if x.dtype.kind == "c":
        return _complex_logsumexp(x, axes, keepdims) if axes else x.copy()
    x = astype(x, dtypes.real_float("logsumexp", x.dtype, x.device), copy=False)
    if not axes:
        return x.copy()
    return apply(reducers.logsumexp_of, (x,), {"axes": axes, "keepdims": keepdims})


def _complex_logsumexp(x: Tensor, axes: shapes.Shape, keepdims: bool) -> Tensor:
    """With the largest real part, where it is finite, taken out before."""
    part = functions["real"](x).detach()
    top = functions["max"](part, axes, keepdims=True) if x.size else functions["sum"](part, axes, keepdims=True)
    top = choose(functions["isfinite"](top), top, 0)
    total = functions["log"](functions["sum"](functions["exp"](x - top), axes, keepdims=keepdims))
    return total + (top if keepdims else top.reshape(total.shape))


# ---------------------------------------------------------------------------------------- truth and counts
def question(op: Primitive, x: Any, axis: Axis, keepdims: bool, fill: bool = False, where: Any = True) -> Tensor:
    """What is asked of the truth of elements; `fill` is what changes nothing."""
    if where is True and type(x) in TENSORS and type(raw := x.refresh().raw) is np.ndarray and raw.ndim:
        axes = shapes.reduction_axes(op.name, axis, raw.ndim)
        if axes:
            return fresh(op.run((raw,), {"axes": axes, "keepdims": keepdims}))
    x = as_tensor(op.name, x)
    axes = shapes.reduction_axes(op.name, axis, x.ndim)
    x = x.detach() if where is True else kept(astype(x.detach(), dtypes.BOOL, copy=False), mask_of(op.name, x, where),
                                              fill)
    if not axes:
        return astype(astype(x, dtypes.BOOL), dtypes.INT64 if op is reducers.count_nonzero_of else dtypes.BOOL)
    return apply(op, (x,), {"axes": axes, "keepdims": keepdims})


@public()
def any(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, *,
        where: Any = True) -> Tensor:
    """Is any element over axes (where `where` holds) not 0? Of nothing False.

    >>> import lucid_nb as lnb
    >>> lnb.any(lnb.tensor([[0, 2], [0, 0]]), axis=1)
    tensor([ True, False])
    """
    return deliver("any", question(reducers.any_of, a, axis, keepdims, False, where), out)


@public()
def all(a: Any, axis: Axis = None, out: Tensor | None = None, keepdims: bool = False, *,
        where: Any = True) -> Tensor:
    """Are all elements over axes (where `where` holds) not 0? Of nothing True.

    >>> import lucid_nb as lnb
    >>> lnb.all(lnb.tensor([[1, 2], [0, 3]]), axis=1)
    tensor([ True, False])
    """
    return deliver("all", question(reducers.all_of, a, axis, keepdims, True, where), out)


@public()
def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """How many elements over axes (all of them by default) are not 0, int64.

    >>> import lucid_nb as lnb
    >>> lnb.count_nonzero(lnb.tensor([[0, 2], [1, 3]]), axis=0)
    tensor([1, 2])
    """
    raw = short.plain(a) if axis is None and not keepdims else None
    if raw is not None and raw.ndim and (raw.dtype == dtypes.BOOL or raw.size < FEW):
        return short.made(np.array(np.count_nonzero(raw)))       # of bools NumPy is as quick as memory
    return question(reducers.count_nonzero_of, a, axis, keepdims)
