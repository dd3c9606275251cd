"""Movement: views in other shapes and orders, joining, and casts."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import apply, operands
from ..array import Tensor, fresh
from ..backend import Table
from ..errors import DTypeError, ShapeError, is_one_of, told
from ..op import ALL, Info, Primitive, constant
from ..register import TENSORS, public, short
from ..shapes import Shape
from ..storage import Broadcast, Permute, Reshape, Slice, is_viewable


def as_tensor(op: str, x: Any) -> Tensor:
    """One operand of a function over primitives."""
    if isinstance(x, Tensor):
        return x.refresh()
    (found,) = operands(op, (x,))
    return found


def check_out(op: str, out: Any) -> None:
    """Refuse an `out` that nothing can be written into."""
    if not isinstance(out, (Tensor, np.ndarray)):
        raise DTypeError(f"{op}: out is of type {type(out).__name__}. Give a tensor of the result's shape.")


def deliver(op: str, result: Tensor, out: Any, casting: str = "same_kind") -> Any:
    """The result, or `out` (a tensor, or an array of NumPy's) with the result written into it, and recorded."""
    if out is None:
        return result
    check_out(op, out)
    if out.shape != result.shape:
        raise ShapeError(f"{op}: out has shape {out.shape}, the result {result.shape}. Make them equal.")
    if isinstance(out, np.ndarray):
        np.copyto(out, np.asarray(result), casting=casting)  # type: ignore[arg-type]
    else:
        out.write(result, op, casting)
    return out


# ---------------------------------------------------------------------------------------------- primitives
_reshape = Primitive("reshape", lambda table, x, shape: table.reshape(x, shape),
                     lambda ops, info, g, shape: (ops.reshape(g, shape=info.shape(0)),), linear=ALL)
_permute = Primitive("permute", lambda table, x, axes: table.permute(x, axes),
                     lambda ops, info, g, axes: (ops.permute(g, axes=shapes.inverse_permutation(axes)),), linear=ALL)
_broadcast_to = Primitive("broadcast_to", lambda table, x, shape: table.broadcast_to(x, shape),
                          lambda ops, info, g, shape: (g,), linear=ALL)
_cast = Primitive("cast", lambda table, x, dtype: table.cast(x, dtype), lambda ops, info, g, dtype: (g,), linear=ALL)


def _real_parts(table: Table, x: Any) -> Any:
    """The real parts, as a view where the device has views."""
    if table.has("real"):
        return table.real(x)
    part = np.dtype(f"f{table.dtype_of(x).itemsize // 2}")
    pairs = table.reinterpret(table.copy(table.reshape(x, (*x.shape, 1))), part)
    return table.slice(pairs, (..., 0))


_real = Primitive("real", _real_parts, lambda ops, info, g: (g,), linear=ALL)


def _pull_concatenate(ops: Any, info: Info, g: Any, axis: int) -> list[Any]:
    """Each operand's part of the gradient."""
    parts, start = [], 0
    for number, wanted in enumerate(info.wanted):
        stop = start + info.shape(number)[axis]
        index = (slice(None),) * axis + (slice(start, stop),)
        parts.append(ops.view(g, steps=(Slice(index),)) if wanted else None)
        start = stop
    return parts


_concatenate = Primitive("concatenate", lambda table, *xs, axis: table.concatenate(xs, axis), _pull_concatenate,
                         linear=ALL)


def _moved(table: Any, x: Any, device: str, home: str) -> Any:
    """The array on another device, in memory of its own also where the host can read that of the device."""
    host = table.to_numpy(x)
    return host.copy() if device == "cpu" and not host.flags.writeable else backend.table(device).from_numpy(host)


_to_device = Primitive("to_device", _moved,
                       lambda ops, info, g, device, home: (ops.to_device(g, device=home, home=device),), linear=ALL)
_copy = Primitive("copy", lambda table, x: table.copy(x), lambda ops, info, g: (g,), linear=ALL)
_copied_reshape = Primitive("copied_reshape", lambda table, x, shape: table.reshape(table.copy(x), shape),
                            lambda ops, info, g, shape: (ops.reshape(g, shape=info.shape(0)),), linear=ALL)


ORDERS = ("C", "F", "A")
C, K, UNSAFE = "C", "K", "unsafe"              # the usual words, looked for by identity: what is given may be an array
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


# ------------------------------------------------------------------------------------------------ functions
@public()
def reshape(a: Any, shape: Any = (), *sizes: Any, order: str = "C", copy: bool | None = None) -> Tensor:
    """The same elements in another shape; one extent may be -1. A view where NumPy gives one, otherwise a copy.

    Where NumPy would look at the memory order of a computed result: on the cpu `lnb.exp(x.T)` has that of `x.T`, so
    that `.reshape(-1)` copies; on mlx results run along the last axis first, and it is a view.

    >>> import lucid_nb as lnb
    >>> lnb.reshape(lnb.arange(6), (2, -1)).shape
    (2, 3)
    """
    if order is C and copy is None and type(shape) in (int, tuple):
        found = short.shaped(a, (shape, *sizes) if sizes else shape)
        if found is not None:                      # otherwise it needs a copy, or what is said below
            return found
    a = as_tensor("reshape", a)
    if len(sizes) == 1 and isinstance(sizes[0], str):       # NumPy's reshape(a, shape, order)
        order, sizes = sizes[0], ()
    wanted = shapes.as_shape("reshape", (shape, *sizes) if sizes else shape)
    wanted = shapes.resolve_shape("reshape", a.shape, wanted)
    if str(order).upper() not in ORDERS:
        raise ShapeError(f"reshape: order {order!r} is unknown. Use one of {', '.join(ORDERS)}.")
    order = order.upper()
    if order == "F" or (order == "A" and a.ndim > 1 and _is_only_f_contiguous(a)):
        return reshape(a.T, wanted[::-1], copy=copy).T
    if not copy and is_viewable(a.share(), a.raw, a.steps, wanted):
        return a.moved(Reshape(wanted))
    if copy is False:
        raise ShapeError(f"reshape: {a.shape} to {wanted} needs a copy, and copy=False. Leave copy out.")
    return apply(_copied_reshape, (a,), {"shape": wanted})


def _is_only_f_contiguous(x: Tensor) -> bool:
    """Does the memory run along the first axis first? Devices without strides have none such."""
    flags = getattr(x.raw, "flags", None)
    return flags is not None and flags.f_contiguous and not flags.c_contiguous


@public(names=("transpose",), method=False)
def permute_dims(a: Any, axes: Sequence[int] | None = None) -> Tensor:
    """Axes reordered, as a view; without `axes`, reversed."""
    if axes is None and type(a) is Tensor:
        return a.T
    a = as_tensor("permute_dims", a)
    given = tuple(range(a.ndim))[::-1] if axes is None else shapes.as_shape("permute_dims", axes)
    order = shapes.normalize_axes("permute_dims", given, a.ndim)
    if len(order) != a.ndim:
        raise ShapeError(f"permute_dims: {len(order)} axes {given} for shape {a.shape}. "
                         f"Name each of the {a.ndim} once.")
    return a.moved(Permute(order))


def transpose(self: Tensor, *axes: Any) -> Tensor:
    """Axes reordered, as a view; without arguments, reversed."""
    given = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes or None
    return permute_dims(self, given)


Tensor.transpose = transpose  # type: ignore[method-assign]
Tensor.permute_dims = Tensor.permute = transpose  # type: ignore[method-assign]


@public()
def broadcast_to(array: Any, shape: int | Shape, subok: bool = False) -> Tensor:
    """A read-only view of a larger shape, by NumPy's rule."""
    array = as_tensor("broadcast_to", array)
    wanted = shapes.check_sizes("broadcast_to", shapes.as_shape("broadcast_to", shape))
    if shapes.broadcast_shapes("broadcast_to", array.shape, wanted) != wanted:
        raise ShapeError(f"broadcast_to: {array.shape} does not broadcast to {wanted}. Sizes must be equal or 1.")
    return array.moved(Broadcast(wanted))


@public(names=("concatenate",), method=False)
def concat(arrays: Sequence[Any], /, axis: int | None = 0, out: Any = None, *, dtype: Any = None,
           casting: str = "same_kind") -> Tensor:
    """Arrays joined along an axis that they have; None joins them flat.

    >>> import lucid_nb as lnb
    >>> lnb.concat([lnb.zeros(2), lnb.ones(1)])
    tensor([0., 0., 1.])
    """
    if out is dtype is None and type(axis) is int and type(arrays) in (tuple, list):
        if (raws := alike(arrays)) is not None:
            with suppress(ValueError):             # the general road says what is wrong
                return short.made(np.concatenate(raws, axis))
        if all(map(_is_plain, arrays)):
            raws = [x.raw for x in arrays]
            first = raws[0].dtype if raws else None
            if raws and all([raw.dtype == first for raw in raws]) and 0 <= axis < raws[0].ndim:
                with suppress(ValueError, MemoryError):
                    return fresh(backend.of(raws[0]).concatenate(raws, axis))
    return joined("concat", tensors_of("concat", arrays), axis, out, dtype, casting)


def alike(arrays: Sequence[Any]) -> list[np.ndarray] | None:
    """A few middling arrays of one dtype in the cpu's memory, outside of graphs; None where one is not so."""
    if not 0 < len(arrays) < 16:
        return None
    raws = []
    for x in arrays:
        if (raw := short.middling(x, len(arrays))) is None or raw.dtype is not arrays[0].raw.dtype:
            return None
        raws.append(raw)
    return raws


def tensors_of(op: str, arrays: Any) -> list[Tensor]:
    """Several operands, as tensors on one device; of one array, its rows."""
    if not isinstance(arrays, (list, tuple)):
        if not isinstance(arrays, (Tensor, np.ndarray)):
            raise DTypeError(f"{op}: got {type(arrays).__name__}. Give a list or tuple of arrays.")
        arrays = list(as_tensor(op, arrays))
    if len(arrays) == 0:
        raise ShapeError(f"{op}: no arrays. Give at least one.")
    if all([isinstance(x, Tensor) for x in arrays]) and len({type(x.raw) for x in arrays}) == 1:
        return [x.refresh() for x in arrays]
    found = operands(op, list(arrays))
    if all([isinstance(x, Tensor) for x in found]):
        return found
    device = next((x.device for x in found if isinstance(x, Tensor)), backend.default_device())
    table = backend.table(device)
    return [x if isinstance(x, Tensor) else fresh(constant(op, x, dtypes.promote((type(x),), device), table))
            for x in found]


def items_of(op: str, what: str, given: Any) -> list[Any]:
    """The items of a list or tuple, or the rows of an array."""
    if not isinstance(given, (list, tuple)) and not (isinstance(given, (Tensor, np.ndarray)) and given.ndim):
        raise DTypeError(f"{op}: {what} is of type {type(given).__name__}. Give a list or tuple.")
    return list(given)


def joined(op: str, tensors: Sequence[Tensor], axis: int | None, out: Any, dtype: Any, casting: str) -> Tensor:
    """`concat` of tensors, in the words of the function that asks."""
    if axis is None:
        tensors, axis = [reshape(x, -1) for x in tensors], 0
    axis = shapes.check_concat(op, [x.shape for x in tensors], axis)
    if dtype is None and out is None and len({x.dtype for x in tensors}) == 1:
        return apply(_concatenate, tensors, {"axis": axis})
    if out is not None:
        check_out(op, out)
    if dtype is not None and out is not None:
        raise DTypeError(f"{op}: got both out and dtype. The dtype is that of out: leave dtype away.")
    wanted = dtypes.as_dtype(op, dtype) if dtype is not None else \
        dtypes.promote(tuple([x.dtype for x in tensors]), tensors[0].device)
    for given in {x.dtype for x in tensors}:
        check_cast(op, given, wanted if out is None else out.dtype, casting)
    return deliver(op, apply(_concatenate, [astype(x, wanted, copy=False) for x in tensors], {"axis": axis}), out,
                   casting)


def check_cast(op: str, given: np.dtype, wanted: np.dtype, casting: str) -> None:
    """Refuse a conversion that NumPy's `casting` word does not allow."""
    if not is_one_of(casting, CASTINGS):
        raise DTypeError(f"{op}: casting {told(casting)} is unknown. Use one of {', '.join(CASTINGS)}.")
    if given != wanted and casting != "unsafe" and not dtypes.can_cast(given, wanted, casting):
        raise DTypeError(f"{op}: {given} does not go into {wanted} by casting {casting!r}. Convert with astype.")


@public()
def astype(x: Any, dtype: Any, /, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True, *,
           device: str | None = None) -> Tensor:
    """The elements in another dtype, as NumPy converts them; between floats it is differentiable.

    casting="same_value" raises ShapeError, which is a ValueError, where a number changes; other words as NumPy's.
    """
    wanted = dtypes.as_dtype("astype", dtype)
    if casting is UNSAFE and order is K and copy and device is None and (raw := short.small(x)) is not None and (
            raw.dtype.kind != "c"):
        return short.made(raw.astype(wanted))
    x = as_tensor("astype", x)
    if wanted == x.dtype and not copy and order == "K" and casting == "unsafe" and device is None:
        return x
    if casting != "same_value":
        check_cast("astype", x.dtype, wanted, casting)
    if device is not None:
        x = to(x, device)
    if wanted == x.dtype:
        return duplicate(x, memory_order("astype", x, order)) if copy else in_order("astype", x, order)
    if casting is UNSAFE and order is K and x.dtype.kind != "c" and _is_plain(x):
        return fresh(backend.of(x.raw).cast(x.raw, wanted))
    if x.dtype.kind == "c" and wanted.kind != "c" and wanted.kind != "b":
        raise DTypeError(f"astype: {x.dtype} to {wanted} loses the imaginary part. Take .real, or abs(x).")
    if casting == "same_value":
        _check_kept(x, wanted)
    return in_order("astype", _as_writable(apply(_cast, (x,), {"dtype": wanted}), x), order)


def _check_kept(x: Tensor, wanted: np.dtype) -> None:
    """Refuse a conversion that changes a number; to bool none counts as changed, as in NumPy."""
    given = x.to_host()
    with np.errstate(all="ignore"):
        found = given.astype(wanted)
        back = found.astype(given.dtype)
    is_kept = ((back == given) & ((found < 0) == (given < 0))) | ((back != back) & (given != given))
    if wanted.kind != "b" and not is_kept.all():
        changed = told(given[~is_kept][0].item())
        raise ShapeError(f"astype: {changed} of {x.dtype} is no {wanted}, and casting='same_value'. Use 'unsafe'.")


def memory_order(op: str, x: Tensor, order: Any) -> str:
    """"C" or "F" for one of NumPy's orders; "A" and "K" keep that of Fortran memory."""
    found = _order_word(op, order)
    return found if found in "CF" else "F" if _is_only_f_contiguous(x) else "C"


def _order_word(op: str, order: Any) -> str:
    found = "K" if order is None else str(order).upper()
    if found not in (*ORDERS, "K"):
        raise ShapeError(f"{op}: order {told(order)} is unknown. Use one of C, F, A, K.")
    return found


def in_order(op: str, x: Tensor, order: Any) -> Tensor:
    """The tensor with a memory order: itself where it has it, or where the device has no strides."""
    wanted = _order_word(op, order)
    flags = getattr(x.raw, "flags", None)
    if wanted not in "CF" or flags is None:
        return x
    return x if (flags.c_contiguous if wanted == "C" else flags.f_contiguous) else duplicate(x, wanted)


def duplicate(x: Tensor, order: str) -> Tensor:
    """The same content in memory of its own, along the last axis first ("C") or along the first ("F")."""
    return apply(_copy, (x.T,)).T if order == "F" and x.ndim > 1 else _as_writable(apply(_copy, (x,)), x)


def _as_writable(result: Tensor, x: Tensor) -> Tensor:
    """A copy of a number in memory can be written as that can; one of a value, as NumPy's scalars, cannot."""
    if result.is_value and not x.is_value:
        result.is_value = False
    return result


def _is_plain(x: Any) -> bool:
    """Is it a tensor of one or more axes in the cpu's memory, without a gradient, that nothing watches?"""
    return type(x) in TENSORS and x.refresh().node is None and type(x.raw) is np.ndarray and x.raw.ndim > 0


@public(method=False)
def copy(a: Any, order: str = "K", subok: bool = False) -> Tensor:
    """The same content in memory of its own; differentiable. `order`: which axis runs first in memory, where there are
    strides: "C", "F", or as it is ("A", "K"). As a method, "C" where nothing is said."""
    if order is K and (raw := short.small(a)) is not None:
        return short.made(raw.copy("K"))
    return _copied(a, order)


def _copied(a: Any, order: str) -> Tensor:
    if _is_plain(a):
        own, raw = _order_word("copy", order), a.raw
        if own == C or (raw.flags.c_contiguous and own != "F"):
            return fresh(backend.of(raw).copy(raw))
        if own == K:
            return fresh(raw.copy("K"))
    a = as_tensor("copy", a)
    return duplicate(a, memory_order("copy", a, order))


def copied(self: Tensor, order: str = "C") -> Tensor:
    """The same content in memory of its own; differentiable. `order` as in the function `copy`."""
    if order is C and (raw := short.small(self)) is not None:
        return short.made(raw.copy())
    return _copied(self, order)


Tensor.copy = Tensor.clone = Tensor.__copy__ = copied  # type: ignore[method-assign]


def to(self: Tensor, target: Any) -> Tensor:
    """The tensor on another device, or in another dtype; itself where nothing changes.

    On another device it has memory of its own, also between "mlx" and "cpu" where one memory serves both: a tensor may
    be written, and an array of MLX may not. `numpy()` and DLPack read that memory without a copy.

    >>> import lucid_nb as lnb
    >>> lnb.ones(2).to("cpu").to(lnb.float32).dtype
    dtype('float32')
    """
    self.refresh()
    if isinstance(target, str) and target not in dtypes.NAMES:
        device = backend.resolve(target)
        if device == self.device:
            return self
        return apply(_to_device, (self,), {"device": device, "home": self.device})
    return astype(self, target, copy=False)


def to_device(self: Tensor, device: str, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device; itself where it is there. The array API's word for `to`; `stream` means nothing."""
    return to(self, backend.resolve(device))


Tensor.to, Tensor.to_device = to, to_device  # type: ignore[method-assign]
