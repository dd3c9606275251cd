"""Sizes that follow from the inputs: two recordings of different sizes, compared.

What is the same in both stays a number. What differs must be a multiple of sizes of the inputs, or their sum with a
number; it is written so. Whatever else differs cannot be in the graph.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from ...errors import BackendError
from .recording import Call, Recording, Value


class Size(int):
    """A number that is `factor` times the product of sizes of inputs, and `more`."""

    symbols: tuple[str, ...]
    factor: int
    more: int

    def __new__(cls, value: int, symbols: tuple[str, ...], factor: int, more: int) -> "Size":
        found = int.__new__(cls, value)
        found.symbols, found.factor, found.more = symbols, factor, more
        return found


def is_fixed(size: int) -> bool:
    """Is it the same for all inputs?"""
    return not isinstance(size, Size)


class Comparison:
    """Two recordings of one model: `first` with sizes in the place of what differs, and the same of the second."""

    def __init__(self, first: Recording, second: Recording, sizes: Mapping[str, tuple[int, int]]) -> None:
        self.sizes = sizes                            # of each symbol, in both
        if [call.title for call in first.calls] != [call.title for call in second.calls]:
            raise BackendError("onnx.export: the model calls other ops for other sizes of its dynamic axes. Let it "
                               "not branch on sizes, or leave dynamic_axes out.")
        for call, twin in zip(first.calls, second.calls):
            self._call(call, twin)
        for value, other in zip((*first.inputs.values(), *first.outputs), (*second.inputs.values(), *second.outputs)):
            self._value(value, other)

    def _call(self, call: Call, other: Call) -> None:
        for value, twin in zip((*call.inputs, *call.outputs), (*other.inputs, *other.outputs)):
            self._value(value, twin)
        call.params, other.params = self.merged(call.title, call.params, other.params)
        if not hasattr(call.op, "name"):
            call.op, other.op = self.merged(call.title, call.op, other.op)

    def _value(self, value: Value, other: Value) -> None:
        value.shape, other.shape = self.merged("a shape", value.shape, other.shape)

    def merged(self, title: str, a: Any, b: Any) -> tuple[Any, Any]:
        """Both, with sizes in the place of numbers that differ."""
        if type(a) is int and type(b) is int:
            return (a, b) if a == b else self._size(title, a, b)
        if isinstance(a, Size):
            return a, b
        if isinstance(a, dict) and isinstance(b, dict) and {*a} == {*b}:
            pairs = {key: self.merged(title, a[key], b[key]) for key in a}
            return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}
        if isinstance(a, (tuple, list)) and type(a) is type(b) and len(a) == len(b):
            found = [self.merged(title, x, y) for x, y in zip(a, b)]
            return _like(a, [x for x, _ in found]), _like(b, [y for _, y in found])
        if is_dataclass(a) and type(a) is type(b) and not isinstance(a, type):
            parts = [self.merged(title, getattr(a, each.name), getattr(b, each.name)) for each in fields(a)]
            kind: Any = type(a)
            return kind(*[x for x, _ in parts]), kind(*[y for _, y in parts])
        if isinstance(a, slice) and isinstance(b, slice):
            parts = [self.merged(title, x, y) for x, y in zip((a.start, a.stop, a.step), (b.start, b.stop, b.step))]
            return slice(*[x for x, _ in parts]), slice(*[y for _, y in parts])
        return a, b

    def _size(self, title: str, a: int, b: int) -> tuple[Size, Size]:
        for count in range(1, len(self.sizes) + 1):
            for symbols in combinations(self.sizes, count):
                x, y = (prod(self.sizes[symbol][which] for symbol in symbols) for which in (0, 1))
                if x and y and a * y == b * x and a % x == 0:
                    return Size(a, symbols, a // x, 0), Size(b, symbols, a // x, 0)
        for symbol, (x, y) in self.sizes.items():
            if (b - a) % (y - x) == 0:
                factor = (b - a) // (y - x)
                return Size(a, (symbol,), factor, a - factor * x), Size(b, (symbol,), factor, b - factor * y)
        raise BackendError(f"onnx.export: {title} has {a} where sizes of the inputs are "
                           f"{ {s: pair[0] for s, pair in self.sizes.items()} } and {b} where they are "
                           f"{ {s: pair[1] for s, pair in self.sizes.items()} }, which is no multiple. Leave "
                           "dynamic_axes out.")


def _like(original: Any, parts: list[Any]) -> Any:
    if hasattr(original, "_fields"):
        return type(original)(*parts)
    return type(original)(parts)


def uniform(array: np.ndarray) -> bool:
    """Are all elements the same?"""
    return bool(array.size) and bool((array == array.reshape(-1)[0]).all())
