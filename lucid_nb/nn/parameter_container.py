"""Parameters in lists and dicts, as modules. Tensors and arrays become parameters; other values stay what they are."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from ..array import Tensor
from ..errors import ConfigError, IndexError
from .container import listed, paired
from .module import Module
from .parameter import Parameter


def as_parameter(value: Any) -> Any:
    """A tensor or an array as a parameter, anything else as it is."""
    is_plain = isinstance(value, Tensor | np.ndarray) and not isinstance(value, Parameter)
    return Parameter(value) if is_plain else value


def line(name: str, value: Any) -> str:
    """How `repr` shows a value."""
    if not isinstance(value, Tensor):
        return f"({name}): {value!r}"
    return f"({name}): {type(value).__name__} of {value.dtype}, {'x'.join(map(str, value.shape)) or 'one element'}"


class ParameterList(Module):
    """A list of parameters, which are those of the module that holds it.

    >>> weights = lnb.nn.ParameterList([np.zeros((2, 3)) for _ in range(2)])
    >>> weights.append(np.ones(4))
    ParameterList(
      (0): Parameter of float64, 2x3
      (1): Parameter of float64, 2x3
      (2): Parameter of float64, 4
    )
    >>> [name for name, _ in weights.named_parameters()]
    ['0', '1', '2']
    """

    def __init__(self, values: Iterable[Any] | None = None, *, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        for given in (values, parameters):                   # PyTorch's name and lucid's
            self.extend(() if given is None else given)

    def append(self, param: Any) -> Self:
        """Add a parameter at the end."""
        setattr(self, str(self._size), as_parameter(param))
        self._size += 1
        return self

    def extend(self, parameters: Iterable[Any]) -> Self:
        """Add parameters at the end."""
        if isinstance(parameters, Tensor | np.ndarray | str):
            raise ConfigError(f"ParameterList: a {type(parameters).__name__} is no list. Give a list of parameters.")
        for param in listed("ParameterList", parameters):
            self.append(param)
        return self

    def insert(self, index: int, param: Any) -> Self:
        """Add a parameter before the one of this index; like a list's."""
        values = list(self)
        values.insert(operator.index(index), as_parameter(param))
        return self._refilled(values)

    def pop(self, index: int = -1) -> Any:
        """Take away the parameter of this index, the last by default."""
        found = self[index]
        del self[index]
        return found

    def _refilled(self, values: list[Any]) -> Self:
        for name in map(str, range(self._size)):
            delattr(self, name)
        self._size = 0
        return self.extend(values)

    def _name(self, index: int) -> str:
        place = operator.index(index)
        if not -self._size <= place < self._size:
            raise IndexError(f"ParameterList: index {place} of {self._size} parameters. Use one that there is.")
        return str(place % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, self._name(index), as_parameter(param))

    def __delitem__(self, index: int | slice) -> None:
        values = list(self)
        if not isinstance(index, slice):
            self._name(index)                                    # which refuses what is beyond
        del values[index]
        self._refilled(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(place)) for place in range(self._size))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def extra_repr(self) -> str:
        """Each parameter's dtype and shape."""
        return "\n".join(line(str(place), value) for place, value in enumerate(self))


class ParameterDict(Module):
    """Parameters by name, in the order in which they came, which are those of the module that holds it.

    >>> weights = lnb.nn.ParameterDict({"left": np.zeros(2)})
    >>> weights["right"] = np.ones(3)
    >>> [(name, param.shape) for name, param in weights.named_parameters()]
    [('left', (2,)), ('right', (3,))]
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._names: dict[str, None] = {}
        self.update({} if parameters is None else parameters)

    def update(self, parameters: Any) -> None:
        """Add parameters, or replace them: a mapping, or pairs of name and parameter.

        Those of a dict come in the order of their names, as PyTorch has it; an OrderedDict keeps its order.
        """
        pairs = paired("ParameterDict", parameters)
        is_unordered = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for name, value in sorted(pairs, key=lambda pair: pair[0]) if is_unordered else pairs:
            self[name] = value

    def pop(self, key: str) -> Any:
        """Take a parameter away."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last parameter away, with its name."""
        name = next(reversed(self._names))
        return name, self.pop(name)

    def clear(self) -> None:
        """Take all parameters away."""
        for name in list(self._names):
            del self[name]

    def get(self, key: str, default: Any = None) -> Any:
        """A parameter, or else the default."""
        return self[key] if key in self._names else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """A parameter, which the default becomes where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A dict with these names, each with the default."""
        return ParameterDict(dict.fromkeys(keys, default))

    def copy(self) -> "ParameterDict":
        """A dict of the same parameters."""
        return ParameterDict(self)

    def keys(self) -> list[str]:
        """The names."""
        return list(self._names)

    def values(self) -> list[Any]:
        """The parameters."""
        return [self[name] for name in self._names]

    def items(self) -> list[tuple[str, Any]]:
        """Names and parameters."""
        return [(name, self[name]) for name in self._names]

    def __getitem__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        return self._parameters[key] if key in self._parameters else self.__dict__[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise ConfigError(f"ParameterDict: the name {key!r} is a {type(key).__name__}. Use a text.")
        found = as_parameter(value)
        if isinstance(found, Parameter):
            self.register_parameter(key, found)
        elif key in self.__dict__ and key not in self._names:
            raise ConfigError(f"ParameterDict: {key!r} is an attribute of every module. Use another name.")
        else:
            self._forget(key)
            self.setattr_raw(key, found)
        self._names[key] = None

    def __delitem__(self, key: str) -> None:
        found = self._names.pop(key, key)
        if found is not None:
            raise KeyError(key)
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._names))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._names))

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def __or__(self, other: Any) -> "ParameterDict":
        found = self.copy()
        found.update(other)
        return found

    def __ror__(self, other: Any) -> "ParameterDict":
        return ParameterDict(other) | self

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """Each parameter's dtype and shape."""
        return "\n".join(line(name, value) for name, value in self.items())
