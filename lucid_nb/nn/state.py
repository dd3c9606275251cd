"""What a module does to the memory of its parameters and buffers: move, save, load."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..array import Tensor
from ..creation import asarray
from ..dtypes import as_dtype, can_cast, is_inexact
from ..errors import DTypeError, ShapeError, StateError
from ..tape import grad_mode

if TYPE_CHECKING:
    from .module import Module


def tensors(module: "Module") -> Iterator[Tensor]:
    """All parameters and buffers below a module, each once."""
    yield from module.parameters()
    yield from module.buffers()


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


def converted(tensor: Tensor, device: str | None, dtype: Any) -> Tensor:
    """A tensor on the device, cast if it is floating."""
    result = tensor.detach()
    if dtype is not None and is_inexact(tensor.dtype):
        result = result.astype(dtype)
    return result if device is None else result.to(device)


def take_memory(tensor: Tensor, source: Tensor) -> None:
    """Let a tensor be what `source` is, with its own identity, gradient and place in the graph."""
    if source.raw is not tensor.raw:
        tensor.raw, tensor.storage, tensor.version = source.raw, None, None


def collect(module: "Module", found: dict[str, Tensor], prefix: str, keep_vars: bool) -> dict[str, Tensor]:
    """Parameters, then persistent buffers, then the same of each child."""
    saved = {**module._parameters, **{name: buffer for name, buffer in module._buffers.items()
                                      if name not in module._transient}}
    for name, tensor in saved.items():
        if tensor is not None:
            found[prefix + name] = tensor if keep_vars else tensor.detach()
    for name, child in module._modules.items():
        if child is not None:
            collect(child, found, f"{prefix}{name}.", keep_vars)
    return found


def load(module: "Module", given: Mapping[str, Any], strict: bool) -> tuple[list[str], list[str]]:
    """Check and convert all, then write all. The missing and the unexpected keys."""
    if not isinstance(given, Mapping):
        raise StateError(f"load_state_dict: the state is a {type(given).__name__}. Pass what state_dict() gave.")
    own = collect(module, {}, "", keep_vars=True)
    missing, unexpected = [key for key in own if key not in given], [key for key in given if key not in own]
    if strict and (missing or unexpected):
        raise StateError(f"load_state_dict: missing {missing}, unexpected {unexpected} for {type(module).__name__}. "
                         "Load what this module saved, or pass strict=False.")
    values = {key: asarray(given[key]) for key in own if key in given}
    wrong = [f"{key} is {value.shape}, not {own[key].shape}" for key, value in values.items()
             if value.shape != own[key].shape]
    if wrong:
        raise ShapeError(f"load_state_dict: {'; '.join(wrong)}. Load into a module of the same sizes.")
    uncast = [f"{key} is {value.dtype}, not {own[key].dtype}" for key, value in values.items()
              if not can_cast(value.dtype, own[key].dtype, "unsafe")]
    if uncast:
        raise DTypeError(f"load_state_dict: {'; '.join(uncast)}. Load real parts, or into a complex module.")
    with grad_mode(False):
        for key in values:
            own[key].check_writable(f"load_state_dict of {key}")
        # Copies, also of what fits: the state may be this module's own memory under other keys.
        ready = {key: value.detach().to(own[key].device).astype(own[key].dtype) for key, value in values.items()}
        for key, value in ready.items():
            own[key][...] = value
    return missing, unexpected
