"""Choosing: by masks, by conditions, by numbers of choices; and where things are that are not zero."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import as_array, as_operand
from ..array import Tensor, fresh
from ..errors import DTypeError, IndexError, ShapeError
from ..register import functions, public, short
from ..storage import Slice
from .gathering import take_along_axis
from .hosted import hosted
from .indexing import as_value, beside, compressed, expanded, take
from .logic import where as choice
from .movement import as_tensor, astype, check_cast, deliver, items_of, reshape, tensors_of
from .positions import Positions, changed, extremes, in_mode, positions_of, span_of, staying, where_true
from .scattering import write_flat, written


# ------------------------------------------------------------------------------------------- what is not zero
@public(method=False)
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """x where the condition holds (is not 0), otherwise y; `where(condition)` alone is `nonzero(condition)`.

    What is not chosen has gradient 0, also where it is NaN.

    >>> import lucid_nb as lnb
    >>> lnb.where([True, False], [1, 2], 0)
    tensor([1, 0])
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise DTypeError("where: got one choice. Give two, or none.")
    return choice(condition, x1, x2)


@public()
def nonzero(a: Any) -> tuple[Tensor, ...]:
    """Where elements are not zero: int64 positions in C order, a tensor an axis. Off the CPU found on the host.

    >>> import lucid_nb as lnb
    >>> lnb.nonzero(lnb.tensor([[0, 1], [2, 0]]))
    (tensor([0, 1]), tensor([1, 0]))
    """
    if (raw := short.small(a)) is not None:
        return tuple(map(short.made, raw.nonzero()))
    a = as_tensor("nonzero", a)
    if a.ndim == 0:
        raise ShapeError("nonzero: a 0-d array has no positions. Reshape it to (1,).")
    return tuple(map(fresh, backend.of(a.raw).nonzero(a.raw)))


@public()
def argwhere(a: Any) -> Tensor:
    """Where elements are not zero: int64 of shape (n, ndim), a row an element.

    >>> import lucid_nb as lnb
    >>> lnb.argwhere(lnb.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    a = as_tensor("argwhere", a)
    if a.ndim == 0:
        return fresh(backend.of(a.raw).full((int(bool(a)), 0), 0, dtypes.INT64))
    return functions["stack"](nonzero(a), axis=1)


@public(method=False)
def flatnonzero(a: Any) -> Tensor:
    """Where elements of the flat array are not zero.

    >>> import lucid_nb as lnb
    >>> lnb.flatnonzero(lnb.tensor([[0, 1], [2, 0]]))
    tensor([1, 2])
    """
    return nonzero(reshape(as_tensor("flatnonzero", a), -1))[0]


# ----------------------------------------------------------------------------------------------- by masks
def _mask(op: str, mask: Any, device: str = "cpu") -> Positions:
    """A mask on the device where it lies and is used, or on the host; other numbers count where they are not zero."""
    if (there := staying(mask, device, "biufc")) is not None:
        return there if there.dtype.kind == "b" else changed(there, "not_equal", 0)
    found = mask.to_host() if isinstance(mask, Tensor) else as_array(op, mask)
    dtypes.check_supported(op, found.dtype)
    return found if found.dtype.kind == "b" else found != 0


@public()
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Tensor:
    """Slices along an axis (elements of the flat array by default) where a one-dimensional condition holds.

    A condition that is shorter than the axis ends there.

    >>> import lucid_nb as lnb
    >>> lnb.compress([True, False, True], lnb.tensor([1, 2, 3]))
    tensor([1, 3])
    """
    a = as_tensor("compress", a)
    mask = _mask("compress", condition, a.device)
    if mask.ndim != 1:
        raise ShapeError(f"compress: a condition of shape {mask.shape}. Use one axis.")
    flat, axis = (reshape(a, -1), 0) if axis is None else (a, shapes.normalize_axis("compress", axis, a.ndim))
    if flat.ndim == 1 and mask.shape == flat.shape:
        return deliver("compress", compressed(flat, mask), out)
    return deliver("compress", take(flat, where_true(mask), axis), out)


def _compress_method(self: Tensor, condition: Any, axis: int | None = None, out: Any = None) -> Tensor:
    """Slices along an axis where a condition holds."""
    return compress(condition, self, axis, out)


Tensor.compress = _compress_method  # type: ignore[method-assign]


@public(method=False)
def extract(condition: Any, arr: Any) -> Tensor:
    """Elements of the flat array where the flat condition holds.

    >>> import lucid_nb as lnb
    >>> lnb.extract(lnb.tensor([[1, 0], [0, 1]]), lnb.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    arr = as_tensor("extract", arr)
    return compress(_mask("extract", condition, arr.device).reshape(-1), arr)


@public()
def masked_select(x: Any, mask: Any, /) -> Tensor:
    """Elements where a mask holds, both broadcast, as a new axis.

    >>> import lucid_nb as lnb
    >>> lnb.masked_select(lnb.tensor([[1, 2], [3, 4]]), [True, False])
    tensor([1, 3])
    """
    x = as_tensor("masked_select", x)
    found = mask if isinstance(mask, Tensor) else as_array("masked_select", mask)
    if found.dtype.kind != "b":
        raise DTypeError(f"masked_select: the mask is {found.dtype}. Use bools.")
    found = _mask("masked_select", found, x.device)
    shape = shapes.broadcast_shapes("masked_select", x.shape, found.shape)
    wide = x if x.shape == shape else x.broadcast_to(shape)
    return compressed(wide, _spread(found, shape))


def _spread(x: Positions, shape: tuple[int, ...]) -> Positions:
    """Broadcast, on the host in memory of its own."""
    return x.broadcast_to(shape) if isinstance(x, Tensor) else np.ascontiguousarray(np.broadcast_to(x, shape))


@public()
def masked_fill(x: Any, mask: Any, value: Any, /) -> Tensor:
    """x with one value where a mask holds, both broadcast; in x's dtype.

    >>> import lucid_nb as lnb
    >>> lnb.masked_fill(lnb.tensor([1.0, 2.0]), [False, True], float("-inf"))
    tensor([  1., -inf])
    """
    x = as_tensor("masked_fill", x)
    found = mask if isinstance(mask, Tensor) else as_operand("masked_fill", mask, x.device)
    if found.dtype != dtypes.BOOL:
        raise DTypeError(f"masked_fill: the mask is {found.dtype}. Use bools.")
    x, filling = beside(x, value)
    if filling.size != 1:
        raise ShapeError(f"masked_fill: a value of shape {filling.shape}. Give one number, or use where.")
    shapes.broadcast_shapes("masked_fill", x.shape, found.shape)
    return choice(found, reshape(filling, ()).astype(x.dtype, copy=False), x)


@public(method=False)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, again and again, where a mask of arr's size holds: the first value at the first true element.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros(4)
    >>> lnb.place(x, [True, False, True, True], [1.0, 2.0])
    >>> x
    tensor([1., 0., 2., 1.])
    """
    target, found, value = _masked_places("place", arr, mask, vals)
    if value.size == 0 and found.size:
        raise ShapeError(f"place: no values for {found.size} places. Give at least one.")
    write_flat("place", target, found, value)


@public(method=False)
def putmask(x: Any, /, mask: Any, values: Any) -> None:
    """Write values where a mask of x's size holds: the n-th value (counted again and again) at the n-th element.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros(4)
    >>> lnb.putmask(x, [True, False, True, True], [1.0, 2.0])
    >>> x
    tensor([1., 0., 1., 2.])
    """
    target = written("putmask", x)
    found = mask if isinstance(mask, Tensor) else as_operand("putmask", mask, target.device)
    value = _masked_values("putmask", target, found.shape, values)
    if value.size and target.size:
        new = functions["resize"](value, target.shape).astype(target.dtype, copy=False)
        target[...] = choice(reshape(found, target.shape), new, target)


def _masked_places(op: str, x: Any, mask: Any, values: Any) -> tuple[Tensor, Positions, Tensor]:
    """What is written into, where its flat mask holds, and values that go into its dtype safely."""
    target = written(op, x)
    found = _mask(op, mask, target.device)
    value = _masked_values(op, target, found.shape, values)
    return target, where_true(found), reshape(value, -1)


def _masked_values(op: str, target: Tensor, shape: tuple[int, ...], values: Any) -> Tensor:
    """The values for a target with a mask of a shape, if they fit."""
    if shapes.product(shape) != target.size:
        raise ShapeError(f"{op}: a mask of shape {shape} for {target.shape}. Make their sizes equal.")
    value = as_value(target, values)
    if isinstance(values, (Tensor, np.ndarray)):             # numbers and lists take the dtype of what is there
        check_cast(op, value.dtype, target.dtype, "safe")
    return value


# ------------------------------------------------------------------------------------------------- by choices
@public()
@hosted
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Tensor:
    """Elements of the choice whose number a gives, all broadcast. `mode` as in `take`, but negative ones are too low.

    >>> import lucid_nb as lnb
    >>> lnb.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]])
    tensor([ 1, 20,  3])
    """
    tensors = list(choices) if isinstance(choices, Tensor) else tensors_of("choose", choices)
    device = tensors[0].device if tensors else "cpu"
    numbers = in_mode("choose", positions_of("choose", a, device, True), len(tensors), mode)
    low, high = extremes(numbers) if mode == "raise" and numbers.size else (0, 0)
    if low < 0 or high >= len(tensors):
        raise IndexError(f"choose: numbers from {low} to {high} for {len(tensors)} choices. "
                         f"Use 0 to {len(tensors) - 1}, or another mode.")
    shape = shapes.broadcast_shapes("choose", numbers.shape, *[t.shape for t in tensors])
    dtype = dtypes.promote(tuple(t.dtype for t in tensors), numbers.device)
    stacked = functions["stack"]([t.astype(dtype, copy=False).broadcast_to(shape) for t in tensors])
    found = take_along_axis(stacked, _spread(numbers, shape)[None], axis=0)
    return deliver("choose", reshape(found, shape), out)


@public(method=False)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """Elements of the choice whose condition is the first that holds, otherwise the default, all broadcast.

    >>> import lucid_nb as lnb
    >>> x = lnb.arange(4)
    >>> lnb.select([x < 1, x > 2], [x - 10, x * 10])
    tensor([-10,   0,   0,  30])
    """
    given, choices = items_of("select", "condlist", condlist), items_of("select", "choicelist", choicelist)
    if len(given) != len(choices) or not given:
        raise ShapeError(f"select: {len(given)} conditions for {len(choices)} choices. Give as many, at least one.")
    conditions = tensors_of("select", given)
    for condition in conditions:
        if condition.dtype != dtypes.BOOL:
            raise DTypeError(f"select: a condition is {condition.dtype}. Use bools.")
    dtype = _common_dtype((*choices, default), conditions[0].device)
    found = default
    for condition, value in zip(reversed(conditions), reversed(choices)):
        found = choice(condition, value, found)
    return astype(found, dtype, copy=False)


def _common_dtype(values: Sequence[Any], device: str) -> np.dtype:
    """The dtype of several values, in which Python numbers are weak."""
    keys = [type(v) if type(v) in dtypes.WEAK else v.dtype if hasattr(v, "dtype") else as_array("select", v).dtype
            for v in values]
    for key in keys:
        if isinstance(key, np.dtype):
            dtypes.check_supported("select", key)
    return dtypes.promote(tuple(keys), device)


def _is_scalar(condition: Any) -> bool:
    """A truth value, not an array of them?"""
    return condition.ndim == 0 if isinstance(condition, (Tensor, np.ndarray)) else not isinstance(condition, list)


@public(method=False)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kwargs: Any) -> Tensor:
    """Functions (or numbers), each of the elements where its condition holds; of several the last counts.

    One function more than conditions is that of all other elements. The result has x's dtype, as NumPy's.

    >>> import lucid_nb as lnb
    >>> x = lnb.tensor([-2.0, 3.0])
    >>> lnb.piecewise(x, [x < 0, x >= 0], [lambda x: -x, 10.0])
    tensor([ 2., 10.])
    """
    x = as_tensor("piecewise", x)
    functions_given, masks = items_of("piecewise", "funclist", funclist), _conditions(x, condlist)
    if len(functions_given) == len(masks) + 1:
        masks.append(~np.any(masks, axis=0))
    if len(functions_given) != len(masks):
        raise ShapeError(f"piecewise: {len(functions_given)} functions for {len(masks)} conditions. "
                         "Give as many, or one more.")
    result = fresh(backend.of(x.raw).full(x.shape, 0, x.dtype))
    for mask, function in zip(masks, functions_given):
        if not callable(function):
            result = masked_fill(result, fresh(backend.of(x.raw).from_numpy(mask)), function)
        elif mask.any():
            values = as_value(x, function(compressed(x, mask), *args, **kwargs))
            count = int(np.count_nonzero(mask))
            result = expanded(result, mask, values.astype(x.dtype, copy=False).broadcast_to((count,)))
    return result


def _conditions(x: Tensor, condlist: Any) -> list[np.ndarray]:
    """The masks of x's shape, one or several."""
    if isinstance(condlist, (bool, np.bool_)):
        condlist = [condlist]
    given = items_of("piecewise", "condlist", condlist)
    if not given:
        raise ShapeError("piecewise: no conditions. Give at least one.")
    masks = [_mask("piecewise", one) for one in ([condlist] if x.ndim and _is_scalar(given[0]) else given)]
    for mask in masks:
        if shapes.broadcast_shapes("piecewise", mask.shape, x.shape) != x.shape:
            raise ShapeError(f"piecewise: a condition of shape {mask.shape} for {x.shape}. Make them equal.")
    return [np.broadcast_to(mask, x.shape) for mask in masks]


@public(method=False)
def one_hot(x: Any, /, num_classes: int = -1, *, dtype: Any = None) -> Tensor:
    """1 at the place of each class on a new last axis, otherwise 0; int64 unless `dtype` says otherwise.

    `num_classes`: how many there are; by default one more than the largest.

    >>> import lucid_nb as lnb
    >>> lnb.one_hot([0, 2])
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    x = as_tensor("one_hot", x)
    if x.dtype.kind not in "iu":
        raise DTypeError(f"one_hot: classes are {x.dtype}. Use integers.")
    try:
        low, high = span_of(x) if x.size else (0, -1)
    except backend.Unbatchable as reason:
        return backend.batching.instead("one_hot", reason, x, num_classes, dtype)
    count = shapes.as_integer("one_hot", "num_classes", num_classes)
    if count < -1:
        raise ShapeError(f"one_hot: num_classes is {count}. Use 1 or more, or -1 to count them.")
    if count == -1:
        if x.size == 0:
            raise ShapeError("one_hot: no classes to count. Give num_classes.")
        count = high + 1
    if low < 0 or high >= count:
        raise IndexError(f"one_hot: class {low if low < 0 else high} is out of range. Use 0 to {count - 1}.")
    shapes.check_sizes("one_hot", (*x.shape, count))
    classes = fresh(backend.of(x.raw).iota(0, 1, count, dtypes.INT64))         # int8 has no class 128 to compare with
    wanted = dtypes.INT64 if dtype is None else dtypes.as_dtype("one_hot", dtype)
    return astype(astype(x.detach(), dtypes.INT64, copy=False).moved(Slice((..., None))) == classes, wanted)

