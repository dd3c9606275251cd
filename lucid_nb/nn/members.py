"""What a module holds: parameters, buffers and submodules under one name each, and the walks over all of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array import Tensor
from ..errors import ConfigError, DTypeError
from .parameter import Buffer, Parameter

if TYPE_CHECKING:
    from .module import Module

TABLES = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}


class Members:
    """The tables of a module, kept by assignment to its attributes."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: "dict[str, Module | None]"
    _transient: set[str]
    _derived: dict[str, Any]             # attributes that are computed when they are read: see utils.parametrize

    # ---------------------------------------------------------------------------------------------- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        if "_modules" not in self.__dict__:
            raise ConfigError(f"{type(self).__name__}: {name!r} is assigned before the module is set up. "
                              "Call super().__init__() first.")
        if name in self._derived:
            self._derived[name].assign(self, value)
        elif isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Members):
            self.add_module(name, value)
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        elif name in self._buffers and (value is None or isinstance(value, Tensor | np.ndarray)):
            self.register_buffer(name, value, name not in self._transient)
        elif name in self._parameters or name in self._modules or name in self._buffers:
            self._replace(name, value)
        else:
            self._forget(name)
            object.__setattr__(self, name, value)

    def setattr_raw(self, name: str, value: Any) -> None:
        """Assign an attribute as Python does, whatever it is: a parameter or module so assigned is no member."""
        object.__setattr__(self, name, value)

    def _replace(self, name: str, value: Any) -> None:
        """A member may be switched off by None; anything else of another kind in its place is a mistake."""
        table, kind = next((table, kind) for table, kind in TABLES.items() if name in self.__dict__[table])
        if value is not None:
            raise DTypeError(f"{type(self).__name__}: {name!r} is a {kind} and cannot become a {type(value).__name__}. "
                             f"Assign a {kind} or None, or delete it first.")
        self.__dict__[table][name] = None

    def __getattr__(self, name: str) -> Any:
        for members in TABLES:
            found = self.__dict__.get(members, {})
            if name in found:
                return found[name]
        if name in self.__dict__.get("_derived", ()):
            return self._derived[name].compute(self)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def _forget(self, name: str) -> bool:
        """Take a name out of every table; whether it was in one."""
        found = [self.__dict__[table] for table in TABLES if name in self.__dict__[table]]
        for table in found:
            del table[name]
        self._transient.discard(name)
        return bool(found)

    # -------------------------------------------------------------------------------------------- registration
    def _register(self, table: dict[str, Any], name: str, value: Any) -> None:
        self._check_name(name)
        if name not in table:
            self._forget(name)
            self.__dict__.pop(name, None)
        table[name] = value

    def _check_name(self, name: Any) -> None:
        """Refuse what cannot name a member."""
        if not isinstance(name, str) or not name or "." in name:
            raise ConfigError(f"{type(self).__name__}: {name!r} cannot name a member. Use a word without dots.")
        if name == "training" or (name[0] == "_" and name in self.__dict__):
            raise ConfigError(f"{type(self).__name__}: {name!r} is an attribute of every module. Use another name.")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under this name; None keeps the name for later."""
        if param is not None and not isinstance(param, Parameter):
            raise DTypeError(f"register_parameter: {name!r} is a {type(param).__name__}. Wrap it in nn.Parameter.")
        self._register(self._parameters, name, param)

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True, *, dtype: Any = None) -> None:
        """Add a tensor that is moved and saved with the module but not trained; not saved unless `persistent`.

        Numbers and arrays become a Buffer, with `dtype` of that dtype.
        """
        if tensor is not None and (dtype is not None or not isinstance(tensor, Tensor)):
            tensor = Buffer(tensor, dtype)
        self._register(self._buffers, name, tensor)
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule under this name; None keeps the name for later."""
        self._register(self._modules, name, self._checked(name, module))

    register_module = add_module

    def _checked(self, name: str, module: Any) -> Any:
        """What may be a submodule, or be in the place of one."""
        if module is not None and not isinstance(module, Members):
            raise DTypeError(f"{type(self).__name__}: module {name!r} is a {type(module).__name__}. Pass an nn.Module.")
        return module

    # ----------------------------------------------------------------------------------------------- traversal
    def named_modules(self, memo: "set[Module] | None" = None, prefix: str = "",
                      remove_duplicate: bool = True) -> "Iterator[tuple[str, Module]]":
        """This module and all below it by dotted name, each once unless `remove_duplicate` is false.

        Those in `memo` are left out, and those that were given are added to it.
        """
        seen: set[Any] = set() if memo is None else memo
        pending: list[tuple[str, Any]] = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if remove_duplicate and module in seen:
                continue
            seen.add(module)
            yield path, module
            below = [(f"{path}.{name}" if path else name, child) for name, child in module._modules.items()
                     if child is not None]
            pending.extend(reversed(below))

    def _named(self, table: str, prefix: str, recurse: bool, once: bool = True) -> Iterator[tuple[str, Any]]:
        """The members of one table by dotted name, each object once."""
        seen: set[int] = set()
        for path, module in self.named_modules(None, prefix, once) if recurse else [(prefix, self)]:
            for name, item in getattr(module, table).items():
                if item is not None and not (once and id(item) in seen):
                    seen.add(id(item))
                    yield (f"{path}.{name}" if path else name), item

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """All parameters by dotted name, shared ones once unless `remove_duplicate` is false."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """All buffers by dotted name, shared ones once unless `remove_duplicate` is false."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def named_children(self) -> "Iterator[tuple[str, Module]]":
        """The modules directly below, by name."""
        return self._named("_modules", "", recurse=False)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, shared ones once."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def children(self) -> "Iterator[Module]":
        """The modules directly below."""
        return (module for _, module in self.named_children())

    def modules(self, remove_duplicate: bool = True) -> "Iterator[Module]":
        """This module and all below it."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    # ------------------------------------------------------------------------------------------------- by name
    def get_submodule(self, target: str) -> "Module":
        """The module of a dotted name; "" is this one."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = module._modules.get(name) if isinstance(module, Members) else None
            if module is None:
                raise AttributeError(f"{type(self).__name__!r} has no submodule {target!r}")
        return module

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Put a module in the place of a dotted name; with `strict` only where there is one."""
        path, _, name = target.rpartition(".")
        holder = self.get_submodule(path)
        if strict:
            self.get_submodule(target)
        holder.add_module(name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name."""
        return self._get("_parameters", target)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name."""
        return self._get("_buffers", target)

    def _get(self, table: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(path), table).get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__!r} has no {TABLES[table]} {target!r}")
        return found

    def count_parameters(self, recurse: bool = True) -> int:
        """The number of trainable elements."""
        return sum(param.size for param in self.parameters(recurse) if param.requires_grad)

    @property
    def parameter_size(self) -> int:
        """The number of trainable elements of this module and all below."""
        return self.count_parameters()
