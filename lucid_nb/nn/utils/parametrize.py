"""Attributes that modules compute from parameters: a parametrization turns what is trained into what a layer uses."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...array import Tensor
from ...errors import ConfigError, ShapeError, StateError, described
from ...tape import grad_mode
from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Buffer, Parameter


class _Cache(threading.local):
    """What was computed inside `cached`, in this thread."""

    depth = 0
    values: dict[Any, Tensor]


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Inside the block each parametrized attribute is computed once, when it is first read."""
    if not _cache.depth:
        _cache.values = {}
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one attribute, first to last, and what the first one takes: `original`, or, where its
    right_inverse gives several, `original0`, `original1`, ..."""

    def __init__(self, modules: Any, original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe, self.is_buffer = unsafe, not isinstance(original, Parameter)
        self.is_trained = original.requires_grad
        values = self._inverse(original.detach())
        self.ntensors = len(values) if isinstance(values, tuple) else 0
        for name, value in zip(self._names(), values if isinstance(values, tuple) else (values,)):
            setattr(self, name, self._held(value))
        self._check(original)

    def _names(self) -> list[str]:
        return [f"original{number}" for number in range(self.ntensors)] if self.ntensors else ["original"]

    def _held(self, value: Tensor) -> Tensor:
        return Buffer(value) if self.is_buffer else Parameter(value, requires_grad=self.is_trained)

    def _inverse(self, value: Any) -> Any:
        """What the parametrizations make this value of; they say so by `right_inverse`, or it is the value itself."""
        with grad_mode(False):
            for module in reversed(list(self)):
                value = module.right_inverse(value) if hasattr(module, "right_inverse") else value
        return tuple(value) if isinstance(value, tuple | list) else value

    def _check(self, original: Tensor) -> None:
        if self.unsafe:
            return
        with grad_mode(False):
            found = self()
        if not isinstance(found, Tensor) or (found.shape, found.dtype) != (original.shape, original.dtype):
            raise ShapeError(f"register_parametrization: the attribute is {described(original)}, and becomes "
                             f"{described(found)}. Let forward give one like it, or pass unsafe=True.")

    def forward(self) -> Tensor:
        """The attribute."""
        first, *others = list(self)
        value = first(*[getattr(self, name) for name in self._names()])
        for module in others:
            value = module(value)
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Set what is trained so that the attribute is this value, as far as the parametrizations can."""
        found = self._inverse(value)
        for name, part in zip(self._names(), found if isinstance(found, tuple) else (found,)):
            setattr(self, name, self._held(part))

    def compute(self, module: Module) -> Tensor:
        """The attribute of the module that reads it."""
        if not _cache.depth:
            return self()
        if self not in _cache.values:
            _cache.values[self] = self()
        return _cache.values[self]

    def assign(self, module: Module, value: Any) -> None:
        """The module's attribute is assigned."""
        self.right_inverse(value)


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *,
                             unsafe: bool = False) -> Module:
    """Let the parameter or buffer be `parametrization(original)` from now on; several are applied one after another.

    It becomes `module.parametrizations.<name>.original`, and so is its key. A method `right_inverse` says what original
    a given value has. ShapeError if the result is not like the attribute, unless `unsafe`.

    >>> class Symmetric(lnb.nn.Module):
    ...     def forward(self, x):
    ...         return lnb.triu(x) + lnb.triu(x, 1).mT
    >>> layer = lnb.nn.utils.parametrize.register_parametrization(lnb.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.mT).all()), list(layer.state_dict())
    (True, ['bias', 'parametrizations.weight.original'])
    """
    if is_parametrized(module, tensor_name):
        held: Any = module.parametrizations[tensor_name]
        made = ParametrizationList([*held, parametrization], _like(module, tensor_name, held), unsafe or held.unsafe)
    else:
        original = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
        if original is None:
            raise StateError(f"register_parametrization: {type(module).__name__} has no parameter or buffer "
                             f"{tensor_name!r}. Use one of {[*module._parameters, *module._buffers]}.")
        made = ParametrizationList([parametrization], original, unsafe)
        if "parametrizations" not in module._modules:
            module.parametrizations = ModuleDict()
        delattr(module, tensor_name)
    module._derived[tensor_name] = module._modules["parametrizations"][tensor_name] = made  # type: ignore[index]
    return module


def _like(module: Module, name: str, held: ParametrizationList) -> Tensor:
    """The value of a parametrized attribute, of the kind that it was before."""
    return held._held(getattr(module, name).detach())


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Has the module a parametrization, or one of this attribute?"""
    found = [name for name, made in module._derived.items() if isinstance(made, ParametrizationList)]
    return bool(found) if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Let the attribute be a parameter or buffer again: of its present value, or else of what was trained."""
    if not is_parametrized(module, tensor_name):
        raise StateError(f"remove_parametrizations: {type(module).__name__}.{tensor_name} is not parametrized. Use one "
                         f"of {list(module._derived)}.")
    made: Any = module._derived[tensor_name]
    if not leave_parametrized and made.ntensors:
        raise ConfigError(f"remove_parametrizations: {tensor_name!r} is trained as {made.ntensors} tensors. Pass "
                          "leave_parametrized=True.")
    value = made._held(made().detach()) if leave_parametrized else made.original
    del module._derived[tensor_name], module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
    setattr(module, tensor_name, value)
    return module
