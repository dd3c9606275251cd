"""Calling ops on Tensors: operands, and the recording of what was called."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq, ne
from types import FrameType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy import ndarray

from . import backend, dtypes, shapes, tape
from .array import Node, Tensor, fresh, new
from .errors import DeviceError, DTypeError, GradError, ShapeError, out_of_memory, told
from .op import RESULT, Compiled, Elementwise, Primitive, constant, registry
from .storage import Version, clock
from .tape import next_sequence, outside, place_of

Params = Mapping[str, Any] | None


# ------------------------------------------------------------------------------------------------ operands
def as_array(op: str, data: Any) -> np.ndarray:
    """A NumPy array of data that is not a tensor: numbers, nested lists, arrays."""
    try:
        if isinstance(data, (list, tuple)) and _holds_tensor(data):
            data = _tensors_to_arrays(op, data)
        found = np.asarray(data)
    except RecursionError:
        raise DTypeError(f"{op}: the sequence holds itself, or is nested too deeply. Use numbers.") from None
    except ValueError:
        raise ShapeError(f"{op}: the nested sequence is ragged. Give rows of equal length.") from None
    except OverflowError as error:
        raise dtypes.OverflowError(f"{op}: {error}. Use a wider dtype.") from None
    if found.dtype.kind == "O" and found.size and all(isinstance(number, int) for number in found.flat):
        largest = told(max(found.flat, key=abs))
        raise dtypes.OverflowError(f"{op}: {largest} does not fit int64. Use floats.")
    if found.dtype.kind == "O" and isinstance(data, (list, tuple)):
        raise DTypeError(f"{op}: the sequence has elements that are not numbers. Use numbers of one kind.")
    return found if found.dtype.isnative else found.astype(found.dtype.newbyteorder("="))


def check_fits(op: str, array: np.ndarray, dtype: np.dtype) -> None:
    """Refuse numbers of Python that do not fit an integer dtype."""
    if dtype.kind in "iu" and array.dtype.kind in "iuf" and array.size:
        for extreme in (array.min(), array.max()):
            dtypes.as_weak_scalar(op, extreme.item(), dtype)


def _holds_tensor(data: Any) -> bool:
    kinds = set(map(type, data))                       # one pass in C, since most lists hold many plain numbers
    if any(issubclass(kind, Tensor) for kind in kinds):
        return True
    return any(issubclass(kind, (list, tuple)) for kind in kinds) and any(
        _holds_tensor(part) for part in data if isinstance(part, (list, tuple)))


def _tensors_to_arrays(op: str, data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return [_tensors_to_arrays(op, part) for part in data]
    if not isinstance(data, Tensor):
        return data
    if data.requires_grad and tape.is_recording():
        raise GradError(f"{op}: the sequence holds a tensor of shape {data.shape} that requires grad, and would lose "
                        "it. Use lnb.array, lnb.stack or lnb.concat, or .detach().")
    return data.to_host()


def joined(op: str, data: Any) -> Tensor | None:
    """A nested sequence of tensors as one, with their gradients, examples and device; None where the host can do it."""
    try:
        tensors = [leaf for leaf in _leaves(data) if isinstance(leaf, Tensor)] if _holds_tensor(data) else []
    except RecursionError:
        return None                                    # as_array says what is wrong
    if not any(type(x.raw) is not ndarray or (x.requires_grad and tape.is_recording()) for x in tensors):
        return None
    like = as_array(op, _without_values(data))
    dtypes.check_supported(op, like.dtype)
    table = backend.table(tensors[0].device)
    dtype = dtypes.default_dtype() if like.dtype == dtypes.FLOAT64 else like.dtype
    dtype = dtypes.on_device(dtype, table.device, [x.dtype for x in tensors])
    parts = [leaf if isinstance(leaf, Tensor) else fresh(table.from_numpy(np.asarray(leaf).astype(dtype)))
             for leaf in _leaves(data)]
    flat = [x.reshape(-1).astype(dtype, copy=False) for x in parts]
    whole: Tensor = apply(registry["concatenate"], flat, {"axis": 0}).reshape(like.shape)
    return whole


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, (list, tuple)):
        for part in data:
            yield from _leaves(part)
    else:
        yield data


def _without_values(data: Any) -> Any:
    """A sequence in which tensors are replaced by arrays of their shape and dtype, wherever their values are."""
    if isinstance(data, (list, tuple)):
        return [_without_values(part) for part in data]
    return np.broadcast_to(np.zeros((), data.dtype), data.shape) if isinstance(data, Tensor) else data


def as_operand(op: str, value: Any, device: str) -> Tensor:
    """What becomes a tensor: lists go to `device` or stay on that of tensors inside, NumPy arrays are on the cpu."""
    found = joined(op, value) if isinstance(value, (list, tuple)) else None
    if found is not None:
        return found
    array = as_array(op, value)
    dtypes.check_supported(op, array.dtype)
    if isinstance(value, (list, tuple)):
        if array.dtype == dtypes.FLOAT64:
            array = array.astype(dtypes.default_of(device))
        return fresh(backend.table(device).from_numpy(array))
    return fresh(array)


def _number(op: str, value: np.generic, device: str, given: Sequence[np.dtype]) -> Tensor:
    """A scalar of NumPy's beside tensors of these dtypes: a number, and no array, so it goes where they are."""
    array = as_array(op, value)
    dtype = dtypes.on_device(dtypes.check_supported(op, array.dtype), device, given)
    return fresh(backend.table(device).from_numpy(array.astype(dtype)))


free: WeakValueDictionary[int, Tensor] = WeakValueDictionary()      # by identity: those that Tensor.free() freed


def is_free(tensor: Tensor) -> bool:
    """Does the tensor go where the other operands of an op are?"""
    return free.get(id(tensor)) is tensor


def operands(op: str, values: Sequence[Any], integers: tuple[int, ...] = ()) -> list[Any]:
    """Tensors, all on one device; Python scalars stay as they are, being weak, unless there is nothing else.

    `integers`: numbers of the operands that are integers whatever the others are.
    """
    for value in values:
        if not isinstance(value, Tensor) or type(value.raw) is not ndarray:
            break
    else:
        return [value if value.storage is None else value.refresh() for value in values]
    if isinstance(values[0], Tensor) and _are_alike(values, type(values[0].raw)):
        return [value if value.storage is None else value.refresh() for value in values]
    devices = {value.device: value for value in values if isinstance(value, Tensor)}
    device = next(iter(devices), None) or backend.default_device()
    found: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value.refresh())
        elif type(value) in dtypes.WEAK:
            found.append(value)
        elif isinstance(value, np.generic):
            found.append(_number(op, value, device, [x.dtype for x in values if isinstance(x, Tensor)]))
        else:
            found.append(as_operand(op, value, device))
    kinds = list(dict.fromkeys(value.device for value in found if isinstance(value, Tensor)))
    if len(kinds) > 1 and free:
        bound = [value.device for value in found if isinstance(value, Tensor) and not is_free(value)]
        kinds = list(dict.fromkeys(bound)) or kinds[:1]
        found = [value.to(kinds[0]) if isinstance(value, Tensor) and is_free(value) else value for value in found]
    if len(kinds) > 1:
        raise DeviceError(f"{op}: operands live on {kinds[0]} and {kinds[1]}. Use .to({kinds[0]!r}) on one of them.")
    if not kinds and found:
        key = tuple([type(value) for number, value in enumerate(found) if number not in integers])
        dtype = dtypes.promote(key, device)
        return [fresh(constant(op, value, dtypes.INT64 if number in integers else dtype, backend.table(device)))
                for number, value in enumerate(found)]
    return found if backend.batching.lift is None else backend.batching.lift(found)


def _are_alike(values: Sequence[Any], kind: type) -> bool:
    """Are all of them tensors whose memory is of one device's own kind?"""
    kinds = {type(value.raw) if isinstance(value, Tensor) else None for value in values}
    return kinds == {kind} and kind in backend.plain


# ---------------------------------------------------------------------------------------------- calling ops
instead: list[Callable[..., Any]] = []     # what a trace does with calls while it lasts; see fusion/trace.py
learners: list[Callable[..., None]] = []   # who notes calls; see remembered.py


def at_each_call() -> None:
    """What the caller does, a warning say, is due at each call: what is being noted will not be remembered."""
    for note in learners[:]:
        note(None, (), None, None)


def apply(op: Elementwise | Primitive, values: Sequence[Any], params: Params = None) -> Any:
    """Run an op on tensors, and on what becomes one; record it where a gradient may be asked for."""
    if tape.anywhere.blocks and tape.modes.casting is not None:
        values = tape.modes.casting.cast(op, values)
    if instead:
        for trace in instead[-1:]:             # one of another thread may end at any moment
            found = trace(op, values, params)
            if found is not NotImplemented:
                return found
    if tape.anywhere.blocks and tape.modes.counter is not None and isinstance(op, Primitive) and op.parts is not None:
        return op.parts(*values, **(params or {}))         # each part is counted
    tensors = operands(op.name, values, op.facts.rule.integers)
    if isinstance(op, Elementwise):
        given_raws = [x.raw if isinstance(x, Tensor) else x for x in tensors]
        raws = op.strengthen(given_raws)
        if raws is not given_raws:
            tensors = [x if isinstance(x, Tensor) else Tensor(raw) for x, raw in zip(tensors, raws)]
        op = op.chosen(raws)
    else:
        tensors = [x if isinstance(x, Tensor) else as_operand(op.name, x, backend.default_device()) for x in tensors]
        raws = [x.raw for x in tensors]
        if tape.anywhere.blocks and tape.modes.packing is not None:
            tape.modes.packing.before(op, tensors)
    try:
        result = op.run(raws, params)
    except MemoryError as error:
        given = " and ".join([str(x.shape) for x in tensors[:3]]) + " and more" * (len(tensors) > 3)
        raise out_of_memory(op.name, f"a call on shapes {given}", error) from error
    if tape.anywhere.blocks and tape.modes.counter is not None:
        tape.modes.counter.count(op, raws, result, params)
    edges = tuple([x.node for x in tensors]) if tape.is_recording() else ()
    if edges.count(None) != len(edges):
        found = recorded(op, tensors, edges, result, params)
    else:
        found = tuple([fresh(r) for r in result]) if type(result) is tuple else fresh(result)
    for note in learners[:] if learners else ():
        note(op, values, params, found)
    return found


def compare(op: Elementwise, values: Sequence[Any]) -> Any:
    """`==` or `!=` with anything: what is no number (None, a string, an object) compares as in NumPy, on the host."""
    try:
        return apply(op, values)
    except DTypeError:
        device = next((x.device for x in values if isinstance(x, Tensor)), None)
        hosts = [x.to_host() if isinstance(x, Tensor) else x for x in values]
        arrays = [np.asarray(x) for x in hosts]
        if device is None or all(array.dtype.kind in "biufcV" for array in arrays):
            raise
    shapes.broadcast_shapes(op.name, *[array.shape for array in arrays])
    # NumPy refuses to compare its extension dtypes (bfloat16) with strings.
    hosts = [x.astype(dtypes.FLOAT32) if isinstance(x, np.ndarray) and x.dtype.kind == "V" else x for x in hosts]
    found = np.asarray(COMPARISONS[op.name](*hosts), bool)
    return fresh(backend.table(device).from_numpy(found))


COMPARISONS = {"equal": eq, "not_equal": ne}


def recorded_one(op: Elementwise, compiled: Compiled, x: Tensor, y: Tensor | None, edges: tuple, wanted: int, raw: Any,
                 frame: FrameType) -> Tensor:
    """`recorded` for the common case: one result, of the shape of its one or two inputs. `frame` is the caller's.

    `wanted`: bit i says that input i has an edge. The constructors of Tensor and Node are written out: this is the cost
    of a small op.
    """
    is_plain = type(raw) is ndarray or (type(raw) in backend.plain and raw.shape != ())
    if not is_plain or (tape.anywhere.blocks and tape.modes.packing is not None):
        return recorded(op, (x,) if y is None else (x, y), edges, raw, None)
    plan = compiled.plans[wanted]
    if plan is None:
        plan = compiled.plans[wanted] = op.plan(edges).for_dtypes()
    result = new(Tensor)
    result.raw, result.is_value, result.storage, result.version = raw, False, None, None
    if not plan.serves:
        result.node = None
        return result
    result.node = node = new(Node)
    node.op, node.plan, node.edges, node.like, node.watch = op, plan, edges, None, None
    code = frame.f_code
    node.place = (code, frame.f_lasti) if code.co_filename in outside else place_of(frame)
    node.sequence, node.stamp = next_sequence(), clock.now
    kept = plan.kept
    if not kept:
        node.saved = node.versions = ()
    else:
        node.saved, node.versions = save(kept, (x, result) if y is None else (x, y, result))
    return result


def save(kept: tuple[int, ...], available: Sequence[Tensor]) -> tuple[tuple[Any, ...], tuple[Version, ...]]:
    """The kept tensors' raw arrays and versions. One or two are written out: they are most."""
    if len(kept) == 1:
        tensor = available[kept[0]]
        return (tensor.raw,), (tensor.version or version_of(tensor),)
    if len(kept) == 2:
        x, y = available[kept[0]], available[kept[1]]
        return (x.raw, y.raw), (x.version or version_of(x), y.version or version_of(y))
    if not kept:
        return (), ()
    tensors = [available[number] for number in kept]
    return tuple([x.raw for x in tensors]), tuple([x.version or version_of(x) for x in tensors])


def version_of(tensor: Tensor) -> Version:
    """The version of a tensor's memory, made when it is first needed."""
    if tensor.storage is not None:
        return tensor.storage.version
    if tensor.version is None:
        tensor.version = Version()
    return tensor.version


def recorded(op: Elementwise | Primitive, inputs: Sequence[Tensor], edges: tuple, result: Any, params: Params) -> Any:
    """Results with the node that leads back; it saves exactly what the op's gradient reads."""
    outputs = [fresh(r) for r in result] if type(result) is tuple else [fresh(result)]
    like: Any = tuple([(x.raw.shape, x.raw.dtype) if type(x.raw) is ndarray else (x.shape, x.dtype)
                       for x in (*inputs, *outputs)])
    if isinstance(op, Primitive):
        if not (op.is_differentiable and dtypes.is_inexact(outputs[0].dtype)):
            return tuple(outputs) if type(result) is tuple else outputs[0]
        kept = tuple([len(inputs) if number == RESULT else number for number in op.keeps])
        node = Node(op, params, edges, like, *save(kept, [*inputs, *outputs]), tape.user_place())
    else:
        plan = op.plan(edges)
        if True not in plan.served:
            return tuple(outputs) if type(result) is tuple else outputs[0]
        like = None if like.count(like[-1]) == len(like) else like
        node = Node(op, plan, edges, like, *save(plan.kept, [*inputs, *outputs]), tape.user_place())
    if tape.anywhere.blocks and tape.modes.packing is not None and node.saved:
        tape.modes.packing.pack(node)
    if type(result) is not tuple:
        outputs[0].node = node
        return outputs[0]
    for index, output in enumerate(outputs):
        is_constant = isinstance(op, Elementwise) and not op.carries[index]     # as the whole part of modf
        if dtypes.is_inexact(output.dtype) and not is_constant:
            output.node = tape.Port(node, index)
    return tuple(outputs)
