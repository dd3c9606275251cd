"""What a module does to the memory of its parameters and buffers: move, save, load."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..array import Tensor
from ..creation import asarray, empty
from ..dtypes import as_dtype, can_cast, is_inexact
from ..errors import DTypeError, LucidError, ShapeError, StateError, told
from ..tape import grad_mode
from .parameter import Parameter, Uninitialized, adopted

if TYPE_CHECKING:
    from .module import Module

MOMENTS = ("saving", "saved", "loading", "loaded")         # at which a module's hooks are told of its state
EXTRA = "_extra_state"


# ------------------------------------------------------------------------------------------------------- moving
def tensors(module: "Module", recurse: bool = True) -> Iterator[Tensor]:
    """All parameters and buffers below a module, each once."""
    yield from module.parameters(recurse)
    yield from module.buffers(recurse)


def move(module: "Module", device: str | None, dtype: Any) -> None:
    """Give every parameter and buffer, and every gradient, its memory on a device, floating ones in a dtype.

    All is converted before anything is replaced, so that a refusal leaves the module as it was.
    """
    wanted = None if dtype is None else as_dtype("Module.to", dtype)
    if wanted is not None and not is_inexact(wanted):
        raise DTypeError(f"Module.to: {wanted} cannot be trained. Use a float dtype such as lnb.float32.")
    with grad_mode(False):
        parts = [part for tensor in tensors(module) for part in (tensor, tensor.grad) if part is not None]
        moved = [converted(part, device, wanted) for part in parts]
    for part, source in zip(parts, moved):
        take_memory(part, source)


def empty_on(module: "Module", device: str, recurse: bool) -> None:
    """Give every parameter and buffer memory of undefined content on a device; gradients are forgotten."""
    parts = list(tensors(module, recurse))
    made = [Tensor(empty(part.raw.shape, dtype=part.dtype, device=device).raw) for part in parts]
    for part, source in zip(parts, made):
        part.grad = None
        take_memory(part, source)


def converted(tensor: Tensor, device: str | None, dtype: Any) -> Tensor:
    """A tensor on the device, cast if it is floating."""
    result = Tensor(tensor.raw) if isinstance(tensor, Uninitialized) else tensor.detach()
    if dtype is not None and is_inexact(tensor.dtype):
        result = result.astype(dtype)
    return result if device is None else result.to(device)


def take_memory(tensor: Tensor, source: Tensor) -> None:
    """Let a tensor be what `source` is, with its own identity, gradient and place in the graph."""
    if source.raw is not tensor.raw:
        tensor.raw, tensor.storage, tensor.version = source.raw, None, None


# ------------------------------------------------------------------------------------------------------- saving
class Slot(NamedTuple):
    """Where a module keeps a tensor of its state; `may_lack`: a state without it is read, too."""

    table: dict[str, Any]
    name: str
    may_lack: bool = False

    @property
    def tensor(self) -> Tensor:
        """What is there."""
        return self.table[self.name]


def slots_of(module: "Module") -> dict[str, Slot]:
    """The parameters, then the persistent buffers of this module alone that its state has, by name."""
    found = {name: Slot(module._parameters, name) for name in module._parameters}
    found |= {name: Slot(module._buffers, name, name in module._may_lack) for name in module._buffers
              if name not in module._transient}
    return {name: slot for name, slot in found.items() if slot.tensor is not None and name not in module._unsaved}


def saved_modules(module: "Module", prefix: str = "") -> "Iterator[tuple[str, Module]]":
    """This module and all below that the state has, by the prefix of their keys; shared ones under all names."""
    yield prefix, module
    for name, child in module._modules.items():
        if child is not None and name not in module._unsaved:
            yield from saved_modules(child, f"{prefix}{name}.")


def has_extra(module: "Module") -> bool:
    """Does its class say what to save besides tensors?"""
    return "get_extra_state" in {name for kind in type(module).__mro__[:-3] for name in vars(kind)}


def collect(module: "Module", found: dict[str, Any], prefix: str, keep_vars: bool) -> dict[str, Any]:
    """Parameters, then persistent buffers, then the same of each child."""
    for hook in tuple(module._state_hooks["saving"].values()):
        hook(module, prefix, keep_vars)
    for name, (table, *_) in slots_of(module).items():
        tensor = table[name]
        found[prefix + name] = tensor if keep_vars or isinstance(tensor, Uninitialized) else tensor.detach()
    if has_extra(module):
        found[prefix + EXTRA] = module.get_extra_state()
    for name, child in module._modules.items():
        if child is not None and name not in module._unsaved:
            collect(child, found, f"{prefix}{name}.", keep_vars)
    for hook in tuple(module._state_hooks["saved"].values()):
        hook(module, found, prefix, {})
    return found


# ------------------------------------------------------------------------------------------------------ loading
def load(module: "Module", given: Mapping[str, Any], strict: bool, assign: bool) -> tuple[list[str], list[str]]:
    """Check and convert all, then write all. The missing and the unexpected keys."""
    if not isinstance(given, Mapping):
        raise StateError(f"load_state_dict: the state is a {type(given).__name__}. Pass what state_dict() gave.")
    parts = list(saved_modules(module))
    given, missing, unexpected = _announced(parts, dict(given), strict)
    own = {prefix + name: slot for prefix, part in parts for name, slot in slots_of(part).items()}
    extras = {prefix + EXTRA: part for prefix, part in parts if has_extra(part)}
    missing += [key for key, slot in own.items() if key not in given and not slot.may_lack]
    missing += [key for key in extras if key not in given]
    unexpected += [key for key in given if key not in own and key not in extras]
    if strict and (missing or unexpected):
        raise StateError(f"load_state_dict: missing {missing}, unexpected {unexpected} for {type(module).__name__}. "
                         "Load what this module saved, or pass strict=False.")
    values = {key: _array(key, given[key]) for key in own if key in given}
    _check_values(values, own, assign)
    ready = values if assign else _converted(values, own)
    for key, part in extras.items():
        if key in given:
            part.set_extra_state(given[key])
    for key, value in ready.items():
        (_assign if assign else _write)(own[key], value)
    return missing, unexpected


def _announced(parts: "list[tuple[str, Module]]", given: dict[str, Any],
               strict: bool) -> tuple[dict[str, Any], list[str], list[str]]:
    """What hooks make of a state, and the keys that they say are missing or unexpected."""
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    for prefix, part in parts:
        for hook in tuple(part._state_hooks["loading"].values()):
            hook(part, given, prefix, {}, strict, missing, unexpected, errors)
    if errors:
        raise StateError(f"load_state_dict: {'; '.join(errors)}. Load what this module saved.")
    return given, missing, unexpected


def _array(key: str, value: Any) -> Tensor:
    """A value of the state as a tensor; what cannot be one is refused by its key."""
    try:
        return asarray(value)
    except (LucidError, TypeError, ValueError, RuntimeError) as error:
        raise DTypeError(f"load_state_dict: {key} is {told(value)}, no array of numbers ({error}). "
                         "Load what state_dict() gave.") from error


def _check_values(values: dict[str, Tensor], own: dict[str, Slot], assign: bool) -> None:
    """Refuse what does not fit, before anything is written."""
    there = {key: own[key].tensor for key in values if not isinstance(own[key].tensor, Uninitialized)}
    wrong = [f"{key} is {values[key].shape}, not {tensor.shape}" for key, tensor in there.items()
             if values[key].shape != tensor.shape]
    if wrong:
        raise ShapeError(f"load_state_dict: {'; '.join(wrong)}. Load into a module of the same sizes.")
    uncast = [f"{key} is {values[key].dtype}, not {slot.tensor.dtype}" for key, slot in own.items()
              if key in values and not can_cast(values[key].dtype, slot.tensor.dtype, "unsafe")]
    if uncast:
        raise DTypeError(f"load_state_dict: {'; '.join(uncast)}. Load real parts, or into a complex module.")
    if assign:
        still = [f"{key} is {values[key].dtype}" for key, tensor in there.items()
                 if tensor.requires_grad and not is_inexact(values[key].dtype)]
        if still:
            raise DTypeError(f"load_state_dict: {'; '.join(still)}, which has no gradient. Load floats, or without "
                             "assign=True, which casts.")
        return
    with grad_mode(False):
        for key, tensor in there.items():
            tensor.check_writable(f"load_state_dict of {key}")


def _converted(values: dict[str, Tensor], own: dict[str, Slot]) -> dict[str, Tensor]:
    """The values in the dtypes and on the devices of what they go into.

    What is this module's own memory, maybe under another key, is copied: writing would change it meanwhile.
    """
    taken = _Spans([slot.tensor.raw for slot in own.values()])
    found = {}
    with grad_mode(False):
        for key, value in values.items():
            tensor = own[key].tensor
            moved = value.detach().to(tensor.device)
            fits = moved.dtype == tensor.dtype and not taken.touch(moved.raw)
            found[key] = moved if fits else moved.astype(tensor.dtype)
    return found


class _Spans:
    """Where arrays lie in the memory of the host."""

    def __init__(self, raws: list[Any]) -> None:
        ends = sorted([byte_bounds(raw) for raw in raws if isinstance(raw, np.ndarray)])
        self.starts = [start for start, _ in ends]
        self.reached = list(accumulate([end for _, end in ends], max))

    def touch(self, raw: Any) -> bool:
        """May this memory be one of theirs? That of other devices always."""
        if not isinstance(raw, np.ndarray):
            return True
        start, end = byte_bounds(raw)
        before = bisect_left(self.starts, end)
        return before > 0 and self.reached[before - 1] > start


def _write(slot: Slot, value: Tensor) -> None:
    """Write into what is there; what had no shape yet takes that of the value."""
    tensor = slot.tensor
    if isinstance(tensor, Uninitialized):
        tensor.materialize(value.shape)
    with grad_mode(False):
        tensor[...] = value


def _assign(slot: Slot, value: Tensor) -> None:
    """Put a tensor in the place of what is there, trained if that was."""
    before = slot.tensor
    kind = Parameter if isinstance(before, Parameter) else type(before)
    slot.table[slot.name] = adopted(kind, value, before.requires_grad)
