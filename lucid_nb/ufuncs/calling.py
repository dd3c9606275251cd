"""Calls of an elementwise function with NumPy's further arguments: out, where, casting, order, dtype, signature."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import operands
from ..array import Tensor, fresh
from ..errors import DTypeError, ShapeError, told
from ..op import Elementwise, constant
from ..ops.indexing import setitem
from ..ops.movement import as_tensor, astype, broadcast_to, check_cast, check_out, deliver, in_order
from ..register import is_into
from .loops import Loop, loop_for, loops

KINDS = "biufc"
WEAK_KINDS: dict[type, str] = {bool: "b", int: "i", float: "f", complex: "c"}


@dataclass(frozen=True)
class Options:
    """What a call asks for beside its operands."""

    out: tuple[Any, ...]
    where: Any
    casting: str
    order: Any
    dtypes: tuple[np.dtype | None, ...] | None      # of operands and results, where they are fixed


def call(function: Any, inputs: Sequence[Any], out: Any = None, where: Any = None, casting: Any = None,
         order: Any = None, dtype: Any = None, signature: Any = None, subok: Any = None) -> Any:
    """The function with options, as NumPy's ufuncs take them; None for what is not given."""
    op = function.record
    if where is casting is order is dtype is signature is None:
        if out is not None and is_into(op, inputs, out):
            return out
        if _is_alike(op, inputs, out):
            return deliver(op.name, function(*inputs), out)
    casting = "same_kind" if casting is None else casting
    check_cast(op.name, dtypes.BOOL, dtypes.BOOL, casting)
    options = Options(_outputs(op, out), True if where is None else where, casting, "K" if order is None else order,
                      _fixed(op, dtype, signature))
    inputs = operands(op.name, inputs, op.facts.rule.integers)
    inputs = converted(op, inputs, options)
    if options.where is not True:
        results = selected(function, inputs, options)
    else:
        found = function(*inputs)
        results = [_delivered(op.name, result, target, inputs, options)
                   for result, target in zip(found if type(found) is tuple else (found,), options.out)]
    return tuple(results) if len(results) > 1 else results[0]


# --------------------------------------------------------------------------------------------------- arguments
def _is_alike(op: Elementwise, inputs: Sequence[Any], out: Any) -> bool:
    """Are operands and the one target tensors of one float dtype and shape, so that nothing need be converted?"""
    return type(out) is Tensor and len(op.outputs) == 1 and not op.is_comparison and op.rule.kind == "number" and \
        out.dtype.kind == "f" and all([type(x) is Tensor and x.dtype == out.dtype and x.shape == out.shape
                                       for x in inputs])


def _outputs(op: Elementwise, out: Any) -> tuple[Any, ...]:
    """One target, or None, for each result."""
    count = len(op.outputs)
    if out is None:
        return (None,) * count
    targets = out if isinstance(out, tuple) else (out,)
    if len(targets) != count:
        raise DTypeError(f"{op.name}: {len(targets)} outputs given for {count} results. Give a tuple of {count}.")
    for target in targets:
        if target is not None:
            check_out(op.name, target)
    return targets


def _fixed(op: Elementwise, dtype: Any, signature: Any) -> tuple[np.dtype | None, ...] | None:
    """The dtypes of operands and results that `dtype` or `signature` ask for, None where any will do."""
    if dtype is not None and signature is not None:
        raise DTypeError(f"{op.name}: got both dtype and signature. Give one of them.")
    if dtype is not None:
        return (None,) * op.arity + (dtypes.as_dtype(op.name, dtype),) * len(op.outputs)
    if signature is None:
        return None
    if not isinstance(signature, (str, tuple)):
        raise DTypeError(f"{op.name}: signature is of type {type(signature).__name__}. Give a text, or a tuple.")
    parts = [*signature.replace("->", "")] if isinstance(signature, str) else signature
    if len(parts) != op.arity + len(op.outputs):
        raise ShapeError(f"{op.name}: signature {told(signature)} has {len(parts)} dtypes. "
                         f"Give {op.arity} for the operands and {len(op.outputs)} for the results.")
    return tuple([None if part is None else dtypes.as_dtype(op.name, part) for part in parts])


# ----------------------------------------------------------------------------------------------------- operands
def converted(op: Elementwise, inputs: Sequence[Any], options: Options) -> Sequence[Any]:
    """The operands in the dtypes of the loop that the options ask for."""
    if options.dtypes is None:
        if options.casting in ("no", "equiv") and op.rule.kind != "truth":
            strong = tuple([dtypes.promote((_key(x),)) for x in inputs])
            _check_operands(op, inputs, loop_for(op, strong), options.casting)
        return inputs
    loop = chosen_loop(op, inputs, options)
    return inputs if loop is None else [in_dtype(op, x, dtype) for x, dtype in zip(inputs, loop.inputs)]


def in_dtype(op: Elementwise, x: Any, dtype: np.dtype) -> Tensor:
    """An operand in a dtype of the loop."""
    if isinstance(x, Tensor):
        return astype(x, dtype, copy=False)
    return fresh(constant(op.name, x, dtype, backend.table(backend.default_device())))


def _key(x: Any) -> dtypes.Key:
    return x.dtype if isinstance(x, Tensor) else type(x)


def is_castable(key: dtypes.Key, wanted: np.dtype, casting: str) -> bool:
    """May an operand go into a dtype? A Python number may where its kind does."""
    if isinstance(key, type):
        return KINDS.index("f" if dtypes.is_float(wanted) else wanted.kind) >= KINDS.index(WEAK_KINDS[key])
    return key == wanted or dtypes.can_cast(key, wanted, casting)


def chosen_loop(op: Elementwise, inputs: Sequence[Any], options: Options) -> Loop | None:
    """The first loop of the wanted dtypes that the operands may go into; None where every loop has these."""
    assert options.dtypes is not None
    fitting = [loop for loop in loops(op) if all(
        wanted is None or wanted == dtype for wanted, dtype in zip(options.dtypes, loop.inputs + loop.results))]
    if len(fitting) == len(loops(op)):
        return None
    if not fitting:
        wanted = ", ".join("any" if dtype is None else str(dtype) for dtype in options.dtypes)
        raise DTypeError(f"{op.name}: no loop has operands and results of {wanted}. "
                         f"It has {', '.join(loop.text for loop in loops(op))}.")
    for loop in fitting:
        if all(is_castable(_key(x), dtype, options.casting) for x, dtype in zip(inputs, loop.inputs)):
            return loop
    _check_operands(op, inputs, fitting[-1], options.casting)
    return fitting[-1]


def _check_operands(op: Elementwise, inputs: Sequence[Any], loop: Loop, casting: str) -> None:
    """Refuse operands that the casting rule does not let into a loop."""
    for number, (x, wanted) in enumerate(zip(inputs, loop.inputs)):
        if not is_castable(_key(x), wanted, casting):
            given = x.dtype if isinstance(x, Tensor) else type(x).__name__
            raise DTypeError(f"{op.name}: operand {number + 1} of {given} does not go into {wanted} by casting "
                             f"{casting!r}. Convert with astype, or give casting='unsafe'.")


# ------------------------------------------------------------------------------------------------------ results
def _delivered(name: str, result: Tensor, out: Any, inputs: Sequence[Any], options: Options) -> Any:
    """A result in its memory order, or written into `out`, to whose shape it broadcasts."""
    if out is None:
        return in_order(name, result, _order(inputs) if str(options.order).upper() == "A" else options.order)
    shape = tuple(out.shape)
    if shape != result.shape and shapes.broadcast_shapes(name, result.shape, shape) == shape:
        result = broadcast_to(result, shape)
    return deliver(name, result, out, options.casting)


def _order(inputs: Sequence[Any]) -> str:
    """What order="A" means: Fortran's where all operands are so."""
    flags = [getattr(x.raw, "flags", None) for x in inputs if isinstance(x, Tensor)]
    return "F" if flags and all(f is not None and f.f_contiguous for f in flags) else "C"


def selected(function: Callable, inputs: Sequence[Any], options: Options) -> list[Any]:
    """The function of the elements where `where` holds; the others keep what `out` had, or are 0 without it.

    Only the selected are computed, so that only they warn.
    """
    name = function.__name__
    mask = as_tensor(name, options.where)
    if mask.dtype != dtypes.BOOL:
        raise DTypeError(f"{name}: where is {mask.dtype}. Give bools, such as x > 0.")
    given = [x.shape for x in (mask, *inputs, *options.out) if hasattr(x, "shape")]
    shape = shapes.broadcast_shapes(name, *given)
    device = next((x.device for x in inputs if isinstance(x, Tensor)), mask.device)
    mask = broadcast_to(mask if mask.device == device else mask.to(device), shape)
    found = function(*[broadcast_to(x, shape)[mask] if isinstance(x, Tensor) else x for x in inputs])
    return [_placed(name, result, mask, out, options)
            for result, out in zip(found if type(found) is tuple else (found,), options.out)]


def _placed(name: str, result: Tensor, mask: Tensor, out: Any, options: Options) -> Any:
    """The computed elements at their places."""
    if out is None:
        table = backend.of(mask.raw)
        target = Tensor(table.full(mask.shape, 0, result.dtype))
        setitem(target, mask, result)
        return in_order(name, target, options.order)
    if tuple(out.shape) != mask.shape:
        raise ShapeError(f"{name}: out has shape {out.shape}, the result {mask.shape}. Make them equal.")
    check_cast(name, result.dtype, out.dtype, options.casting)
    if isinstance(out, np.ndarray):
        out[mask.to_host()] = np.asarray(result)
    else:
        setitem(out, mask, astype(result, out.dtype, copy=False))
    return out
