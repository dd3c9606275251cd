"""Modules that hold modules."""

import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, overload

from ..errors import ConfigError, DTypeError, IndexError
from .module import Module


class _Numbered(Module):
    """Modules under the names "0", "1", ...: what sequences of modules have in common.

    What inserts or takes away names all anew, by their places.
    """

    def extend(self, modules: Iterable[Any]) -> Self:
        """Add modules at the end; none where one of them is no module."""
        given = listed(type(self).__name__, modules)
        for module in [self._checked(str(place), module) for place, module in enumerate(given)]:
            self.append(module)
        return self

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before the one of this index; like a list's."""
        modules = list(self._modules.values())
        modules.insert(operator.index(index), self._checked(str(index), module))
        return self._renumbered(modules)

    def pop(self, index: int | slice = -1) -> Module | None:
        """Take away the module of this index, the last by default."""
        found = self[index]
        del self[index]
        return found

    def _renumbered(self, modules: Iterable[Module | None]) -> Self:
        """With these modules, named by their places."""
        kept = {str(place): module for place, module in enumerate(modules)}
        self._modules.clear()
        self._modules.update(kept)
        return self

    def _name(self, index: int) -> str:
        names, place = list(self._modules), operator.index(index)
        if not -len(names) <= place < len(names):
            allowed = f"Use {-len(names)} to {len(names) - 1}." if names else "Append one first."
            raise IndexError(f"{type(self).__name__}: index {place} of {len(names)} modules. {allowed}")
        return names[place]

    @overload
    def __getitem__(self, index: int) -> Module | None: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module | None:
        if isinstance(index, slice):
            return self._part(dict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def _part(self, modules: dict[str, Module | None]) -> Self:
        """A container of some of the modules."""
        return type(self)(list(modules.values()))  # type: ignore[call-arg]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        self._renumbered([module for name, module in self._modules.items() if name not in names])

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return (module for module in self._modules.values() if module is not None)

    def __contains__(self, module: object) -> bool:
        return any(own is module for own in self._modules.values())

    def __add__(self, other: Iterable[Any]) -> Self:
        return self._part(self._modules).extend(other)

    def __iadd__(self, other: Iterable[Any]) -> Self:
        return self.extend(other)


class Sequential(_Numbered):
    """Modules one after another: given in a row, or as a dict with a name for each.

    >>> net = lnb.nn.Sequential(lnb.nn.Linear(4, 8), lnb.nn.ReLU())
    >>> net
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
    )
    >>> list(net.state_dict())
    ['0.weight', '0.bias']
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else None
        for name, module in named.items() if named is not None else enumerate(modules):
            self.add_module(str(name), module)

    @classmethod
    def from_modules(cls, *modules: Module) -> Self:
        """Of modules in a row."""
        return cls(*modules)

    @classmethod
    def from_ordered_dict(cls, odict: Mapping[str, Module]) -> Self:
        """Of modules with names."""
        return cls(odict)

    def forward(self, input: Any) -> Any:
        """The last module's output."""
        for module in self:
            input = module(input)
        return input

    def _part(self, modules: dict[str, Module | None]) -> Self:
        return type(self)(modules)

    def __mul__(self, times: int) -> Self:
        return type(self)(*list(self) * self._times(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend(list(self) * (self._times(times) - 1))

    def _times(self, times: int) -> int:
        if operator.index(times) < 1:
            raise ConfigError(f"Sequential: {times} times itself. Use a number of 1 or more.")
        return times


class ModuleList(_Numbered):
    """A list of modules, whose parameters are those of the module that holds it. It is not called itself.

    >>> layers = lnb.nn.ModuleList([lnb.nn.Linear(2, 2) for _ in range(3)])
    >>> del layers[0]
    >>> len(layers), [name for name, _ in layers.named_parameters()]
    (2, ['0.weight', '0.bias', '1.weight', '1.bias'])
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)


class ModuleDict(Module):
    """Modules by name, whose parameters are those of the module that holds it. It is not called itself.

    >>> heads = lnb.nn.ModuleDict({"a": lnb.nn.Linear(2, 1), "b": lnb.nn.ReLU()})
    >>> list(heads), "a" in heads, heads["b"]
    (['a', 'b'], True, ReLU())
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update({} if modules is None else modules)

    def update(self, modules: Any) -> None:
        """Add modules, or replace them: a mapping, or pairs of name and module. All or, where one is wrong, none."""
        pairs = paired("ModuleDict", modules)
        for name, module in pairs:
            self._check_name(name)
            self._checked(name, module)
        for name, module in pairs:
            self[name] = module

    def pop(self, key: str) -> Module | None:
        """Take a module away."""
        found = self[key]
        del self[key]
        return found

    def clear(self) -> None:
        """Take all modules away."""
        self._modules.clear()

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> ValuesView[Module | None]:
        """The modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Module | None]:
        """Names and modules."""
        return self._modules.items()

    def __getitem__(self, key: str) -> Module | None:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules


def listed(op: str, given: Any) -> list[Any]:
    """What can be iterated over, as a list."""
    try:
        return list(given)
    except TypeError:
        raise DTypeError(f"{op}: a {type(given).__name__} is no list. Give a list.") from None


def paired(op: str, given: Any) -> list[tuple[str, Any]]:
    """The pairs of name and value of a mapping, or of an iterable of pairs."""
    if isinstance(given, Mapping | ModuleDict) or hasattr(given, "items"):
        return list(given.items())
    try:
        return [(name, value) for name, value in given]
    except (TypeError, ValueError):
        raise ConfigError(f"{op}: a {type(given).__name__} is no mapping. Give a dict, or pairs of name and value."
                          ) from None
