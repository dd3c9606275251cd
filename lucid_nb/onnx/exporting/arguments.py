"""What `export` is told: inputs, names, and sizes that may vary."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...array import Tensor
from ...creation import asarray
from ...errors import ConfigError
from ...nn.module import Module
from .recording import Recording

Dynamic = Mapping[str, Mapping[int, str] | Sequence[int]]


def given_inputs(model: Any, inputs: Any, names: Sequence[str] | None) -> tuple[dict[str, Tensor], Callable[..., Any]]:
    """The inputs by name, and the model as a function of them by position."""
    if isinstance(inputs, Mapping):
        own = [*inputs]
        given = [asarray(x) for x in inputs.values()]

        def call(*xs: Tensor) -> Any:
            return model(**dict(zip(own, xs)))
    else:
        given = [asarray(x) for x in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
        own, call = _parameters(model, len(given)), model
    wanted = list(names) if names is not None else own
    if len(wanted) != len(given) or len({*wanted}) != len(wanted) or not all(wanted):
        raise ConfigError(f"onnx.export: the names {wanted} for {len(given)} inputs. Give each one a name of its own.")
    return {name: x.detach() for name, x in zip(wanted, given)}, call


def _parameters(model: Any, count: int) -> list[str]:
    """The names of the model's parameters; of what says none, numbers."""
    try:
        parameters = inspect.signature(model.forward if isinstance(model, Module) else model).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return names[:count] if len(names) >= count else [f"input_{number}" for number in range(count)]


def members(model: Any) -> Iterator[tuple[str, Tensor]]:
    """The parameters and buffers of a module; a function has none."""
    if not isinstance(model, Module):
        return
    yield from model.named_parameters()
    yield from model.named_buffers()


def dynamic_sizes(given: Mapping[str, Tensor], dynamic: Dynamic) -> dict[str, dict[str, int]]:
    """{name of a size: {input: axis}}."""
    found: dict[str, dict[str, int]] = {}
    for name, axes in dynamic.items():
        words = axes if isinstance(axes, Mapping) else {axis: f"{name}_{axis}" for axis in axes}
        for axis, word in words.items():
            if name not in given or not -given[name].ndim <= axis < given[name].ndim:
                raise ConfigError(f"onnx.export: dynamic_axes names axis {axis} of {name!r}. The inputs are "
                                  f"{ {each: x.shape for each, x in given.items()} }.")
            found.setdefault(word, {})[name] = axis % given[name].ndim
    for word, places in found.items():
        sizes = {given[name].shape[axis] for name, axis in places.items()}
        if len(sizes) > 1 or 0 in sizes:
            raise ConfigError(f"onnx.export: the dynamic size {word!r} is {sorted(sizes)} in the inputs. Give inputs "
                              "of one size, which is not 0.")
    return found


def longer(name: str, x: Tensor, symbols: Mapping[str, Mapping[str, int]]) -> Tensor:
    """An input with more along its dynamic axes: for each name of a size another number more."""
    array = np.asarray(x.to_host())
    for number, places in enumerate(symbols.values(), 1):
        if name in places:
            axis = places[name]
            index = np.arange(array.shape[axis] + 2 * number + 1) % array.shape[axis]
            array = np.take(array, index, axis)
    return asarray(array, device=x.device)


def names_of_outputs(names: Sequence[str] | None, recording: Recording) -> list[str]:
    """The names of the outputs, given or made."""
    count = len(recording.outputs)
    found = list(names) if names is not None else ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    if len(found) != count or len({*found, *recording.inputs}) != count + len(recording.inputs):
        raise ConfigError(f"onnx.export: the names {found} for {count} outputs beside the inputs "
                          f"{[*recording.inputs]}. Give each one a name of its own.")
    return found


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """A module as in `.eval()`, while it lasts."""
    modes = [(module, module.training) for module in model.modules()] if isinstance(model, Module) else []
    for module, _ in modes:
        module.__dict__["training"] = False
    try:
        yield
    finally:
        for module, mode in modes:
            module.__dict__["training"] = mode
