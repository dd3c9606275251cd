"""The methods of a function of two operands, as NumPy's ufuncs have them: reduce, accumulate, reduceat, outer.

Where the table reduces or scans by an op itself, that serves; elsewhere slices are folded by the function. The order
is free where a function is associative, so that halves are joined; the others go from the first element to the last.
"""

import math
from collections.abc import Callable
from typing import Any

from .. import dtypes, shapes
from ..array import Tensor
from ..errors import DTypeError, IndexError, ShapeError
from ..ops.movement import as_tensor, astype, broadcast_to, concat, deliver, reshape
from ..ops.positions import host_positions
from ..ops.reduction import initial_of, kept, mask_of, sum_dtype
from ..register import functions
from ..storage import Slice
from .calling import Options, converted
from .loops import loop_for

REDUCED = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
           "logical_or": "any"}
SCANNED = {"add": "cumsum", "multiply": "cumprod"}
RUNNING = {"maximum": "cummax", "minimum": "cummin"}
IDENTITIES: dict[str, Any] = dict(add=0, multiply=1, logical_and=True, logical_or=False, logical_xor=False,
                                  bitwise_and=-1, bitwise_or=0, bitwise_xor=0, hypot=0, logaddexp=-math.inf,
                                  logaddexp2=-math.inf, gcd=0)
REORDERABLE = {*IDENTITIES, "maximum", "minimum", "fmax", "fmin"}       # in which NumPy folds several axes at once
ASSOCIATIVE = REORDERABLE | {"lcm"}


class _Missing:
    """What stands for an argument that was not given, None having a meaning."""

    def __repr__(self) -> str:
        return "<no value>"


MISSING = _Missing()


# -------------------------------------------------------------------------------------------------------- helpers
def part(x: Tensor, axis: int, which: slice) -> Tensor:
    """A slice along an axis, as a view."""
    return x.moved(Slice((slice(None),) * axis + (which,)))


def prepared(function: Any, x: Any, dtype: Any) -> Tensor:
    """The array in the dtype in which its elements are folded: that which the function gives of two of them."""
    op = function.record
    x = as_tensor(op.name, x)
    if dtype is None and op.name in ("add", "multiply"):
        return astype(x, sum_dtype(x.dtype), copy=False)
    if dtype is not None:
        wanted = dtypes.as_dtype(op.name, dtype)
        found = converted(op, [x, x], Options((None,), True, "same_kind", "K", (None, None, wanted)))
        x = found[0]
    loop = loop_for(op, (x.dtype, x.dtype))
    if loop.inputs[0] != loop.results[0] and not op.name.startswith("logical_"):
        raise DTypeError(f"{op.name}: gives {loop.results[0]} of {x.dtype}, and cannot go on from there. Use outer.")
    return astype(x, loop.results[0], copy=False)


def joined_halves(function: Callable, x: Tensor, axis: int) -> Tensor:
    """The fold of an associative function, by halves: about log2(n) calls."""
    while (size := x.shape[axis]) > 1:
        half = size // 2
        paired = function(part(x, axis, slice(0, 2 * half, 2)), part(x, axis, slice(1, 2 * half, 2)))
        x = concat([paired, part(x, axis, slice(2 * half, None))], axis=axis) if size % 2 else paired
    return x


def in_turn(function: Callable, x: Tensor, axis: int) -> list[Tensor]:
    """The running fold: n - 1 calls."""
    found = [part(x, axis, slice(0, 1))]
    for place in range(1, x.shape[axis]):
        found.append(astype(function(found[-1], part(x, axis, slice(place, place + 1))), x.dtype, copy=False))
    return found


def doubled(function: Callable, x: Tensor, axis: int) -> Tensor:
    """The running fold of an associative function, by strides that double: about log2(n) calls."""
    stride = 1
    while stride < x.shape[axis]:
        later = function(part(x, axis, slice(None, -stride)), part(x, axis, slice(stride, None)))
        x = concat([part(x, axis, slice(0, stride)), later], axis=axis)
        stride *= 2
    return x


# -------------------------------------------------------------------------------------------------------- methods
def reduce(function: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
           initial: Any = MISSING, where: Any = True) -> Any:
    """The elements along axes folded into one; None for all axes."""
    op, name = function.record, function.__name__
    x = as_tensor(name, array)
    axis = axis if x.ndim or axis not in (0, -1) else None
    axes = shapes.reduction_axes(name, axis, x.ndim)
    out = out[0] if isinstance(out, tuple) else out
    if name in REDUCED and (dtype is None or name in ("add", "multiply")) and not (initial is None and x.size == 0):
        more = {"dtype": dtype} if dtype is not None else {}
        start = {} if initial is MISSING or initial is None else {"initial": initial}
        if name in ("logical_and", "logical_or") and start:
            found = functions[REDUCED[name]](x, axis=axes, keepdims=keepdims, where=where)
            return deliver(name, function(initial, found), out)
        if name in ("logical_and", "logical_or"):
            x = x.detach()
        found = functions[REDUCED[name]](x, axis=axes, keepdims=keepdims, where=where, **more, **start)
        return deliver(name, found, out)
    return deliver(name, _folded(function, op, x, axes, dtype, keepdims, initial, where), out)


def _folded(function: Any, op: Any, x: Tensor, axes: tuple[int, ...], dtype: Any, keepdims: bool, initial: Any,
            where: Any) -> Tensor:
    """The fold of a function that no entry of the table reduces by."""
    name, is_free = function.__name__, function.__name__ in ASSOCIATIVE
    x = prepared(function, x, dtype)
    if len(axes) > 1 and name not in REORDERABLE:
        raise ShapeError(f"{name}.reduce: the order of axes {axes} would matter. Give one axis.")
    identity = IDENTITIES.get(name)
    start = identity if initial is MISSING else initial
    shape = shapes.reduced_shape(x.shape, axes, keepdims)
    if where is not True:
        if start is None or not is_free:
            raise ShapeError(f"{name}.reduce: where leaves elements out, and nothing at all has no {name}. "
                             "Give initial.")
        x = kept(x, mask_of(name, x, where), initial_of(name, start if identity is None else identity, x))
    if any(x.shape[axis] == 0 for axis in axes):
        if start is None:
            raise ShapeError(f"{name}.reduce: no elements along axis {axes} of shape {x.shape}. "
                             "Give at least one, or initial.")
        return filled(x, shape, start)
    has_initial = initial is not MISSING and initial is not None
    if has_initial and not is_free and axes:
        x = concat([filled(x, part(x, axes[0], slice(0, 1)).shape, initial), x], axis=axes[0])
    for axis in axes:
        x = joined_halves(function, x, axis) if is_free else in_turn(function, x, axis)[-1]
    x = reshape(x, shape) if axes else x.copy()
    return function(initial_of(name, initial, x), x) if has_initial and is_free else x


def filled(x: Tensor, shape: shapes.Shape, value: Any) -> Tensor:
    """A number everywhere, in the dtype and on the device of x."""
    return broadcast_to(initial_of("reduce", value, x), shape).copy()


def accumulate(function: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """The results of folding the elements along an axis up to each."""
    name = function.__name__
    x = as_tensor(name, array)
    if x.ndim == 0:
        raise DTypeError(f"{name}.accumulate: a number has no axis. Give an array.")
    axis = shapes.normalize_axis(name, axis, x.ndim)
    out = out[0] if isinstance(out, tuple) else out
    if name in SCANNED:
        return functions[SCANNED[name]](x, axis, dtype, out)
    x = prepared(function, x, dtype)
    if name in RUNNING and x.dtype.kind != "c":
        return deliver(name, functions[RUNNING[name]](x, axis)[0], out)
    if name in ASSOCIATIVE:
        return deliver(name, doubled(function, x.copy(), axis), out)
    return deliver(name, concat(in_turn(function, x, axis), axis=axis) if x.shape[axis] else x.copy(), out)


def reduceat(function: Any, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """The folds of slices along an axis: from each index to the next, or of one element where that is not later."""
    name = function.__name__
    x = as_tensor(name, array)
    axis = shapes.normalize_axis(name, axis, x.ndim)
    starts = host_positions(name, indices, True).tolist()
    for start in starts:
        if not 0 <= start < x.shape[axis]:
            raise IndexError(f"{name}.reduceat: index {start} is out of range for {x.shape[axis]} elements. "
                             "Use 0 to the last.")
    ends = [*starts[1:], x.shape[axis]] if starts else []
    slices = [slice(start, max(end, start + 1)) for start, end in zip(starts, ends)] or [slice(0, 0)]
    parts = [reduce(function, part(x, axis, which), axis, dtype, None, True) if which.stop else
             part(prepared(function, x, dtype), axis, which) for which in slices]
    return deliver(name, concat(parts, axis=axis), out[0] if isinstance(out, tuple) else out)


def outer(function: Any, a: Any, b: Any, /, out: Any = None, **options: Any) -> Any:
    """The function of each element of a with each of b, in the shape of a and then of b."""
    a, b = as_tensor(function.__name__, a) if not _is_weak(a) else a, b if _is_weak(b) else \
        as_tensor(function.__name__, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor) and b.ndim:
        a = reshape(a, a.shape + (1,) * b.ndim)
    return function(a, b, out=out, **options)


def _is_weak(x: Any) -> bool:
    return type(x) in dtypes.WEAK
