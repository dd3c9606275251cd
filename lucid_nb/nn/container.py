"""Modules that hold modules."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from ..errors import IndexError
from .module import Module


class Sequential(Module):
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

    def forward(self, input: Any) -> Any:
        """The last module's output."""
        for module in self:
            input = module(input)
        return input

    def append(self, module: Module) -> "Sequential":
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> "Sequential":
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def _name(self, index: int) -> str:
        names = list(self._modules)
        if not -len(names) <= index < len(names):
            raise IndexError(f"Sequential: index {index} of {len(names)} modules. Use {-len(names)} to "
                             f"{len(names) - 1}.")
        return names[index]

    @overload
    def __getitem__(self, index: int) -> "Module | None": ...
    @overload
    def __getitem__(self, index: slice) -> "Sequential": ...
    def __getitem__(self, index: int | slice) -> "Module | None":
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(self._name(index), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return (module for module in self._modules.values() if module is not None)
