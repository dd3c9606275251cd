"""Calls that are remembered: what a function decided in Python, for the next call of the same kind.

Checks, defaults and geometry of a larger op take several times as long as a small kernel. The first call of a kind runs
the function, and what it asks of `apply` is noted. If that was one primitive, on tensors that are arguments themselves
or constants, whose result the function gave as it was, then later calls of this kind run the primitive at once.

Of one kind are calls whose tensors have the same class of memory (so the same device), dtype and shape, and whose other
arguments are equal plain numbers, words and tuples of the same types. All else takes the function's own road: other
classes of tensors, arrays and lists, levels of `vmap`, and, since they close the short roads (register.py), traces and
counters. So a function may be remembered if it decides by nothing else, reads no values, draws no random numbers and
writes nothing; where it warns it says `at_each_call` (apply.py).
"""

import functools
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType, NoneType
from typing import Any, NamedTuple

import numpy as np

from . import backend
from .apply import Params, learners, recorded, save
from .array import Tensor, fresh, view_of
from .op import RESULT, Primitive
from .register import TENSORS
from .shapes import Shape, product
from .tape import Node, Port, anywhere, modes, outside, place_of

PLAIN = frozenset({int, bool, float, str, NoneType})
INTEGERS = {int}
LIMIT = 512                     # kinds of calls of one function
CONSTANTS, LARGEST = 64, 4096   # how many constants are kept, and how many elements one may have
getframe = sys._getframe
constants: dict[tuple, Tensor] = {}


def constant(table: backend.Table, shape: Shape, value: Any, dtype: np.dtype) -> Tensor:
    """A tensor of one value, for an op to read only: small ones are made once."""
    key = table.name, shape, value, dtype
    found = constants.get(key)
    if found is None:
        found = fresh(table.full(shape, value, dtype))
        if len(constants) < CONSTANTS and product(shape) <= LARGEST and type(found.raw) in backend.plain:
            constants[key] = found
    return found


class Noted(NamedTuple):
    """A call of `apply`."""

    op: Any
    values: Sequence[Any]
    params: Params
    found: Any


class Remembered:
    """What calls of one kind come to."""

    __slots__ = ("constants", "forward", "index", "is_plain", "kept", "like", "op", "order", "params", "ports",
                 "records", "table")

    def __init__(self, op: Primitive, order: list[int], constants: list[Tensor], params: Params, index: int | None,
                 table: backend.Table, count: int) -> None:
        self.op, self.constants, self.params, self.index = op, constants, params or {}, index
        self.order = order                  # numbers of operands among the arguments and then the constants
        self.is_plain = order == [*range(count)]
        self.forward, self.table, self.records = op.forward, table, op.is_differentiable
        self.kept = tuple([len(order) if number == RESULT else number for number in op.keeps])
        self.like: Any = None               # as of a node; known when the first call has been recorded
        self.ports: list[int] = []          # results, if there are several, that lead to it

    def run(self, tensors: list[Tensor], raws: list[Any], wants: bool, frame: FrameType) -> Any:
        """The result for these arguments, of which some or none want a gradient; `frame` is the caller's."""
        if not self.is_plain:
            every = tensors + self.constants
            tensors = [every[number] for number in self.order]
            raws = [x.raw for x in tensors]
        result = self.forward(self.table, *raws, **self.params)
        if wants and self.records and (not anywhere.blocks or modes.enabled):
            edges = tuple([x.node for x in tensors])
            if edges.count(None) != len(edges):
                return self._recorded(tensors, edges, result, frame)
        if type(result) is not tuple:
            return fresh(result)
        return tuple(map(fresh, result)) if self.index is None else fresh(result[self.index])

    def _recorded(self, inputs: list[Tensor], edges: tuple, result: Any, frame: FrameType) -> Any:
        """`apply.recorded`, with what it finds the first time."""
        if self.like is None:
            found = recorded(self.op, inputs, edges, result, self.params)
            self._learn(found if type(found) is tuple else (found,))
        else:
            outputs = tuple(map(fresh, result)) if type(result) is tuple else (fresh(result),)
            code = frame.f_code
            place = (code, frame.f_lasti) if code.co_filename in outside else place_of(frame)
            node = Node(self.op, self.params, edges, self.like, *save(self.kept, [*inputs, *outputs]), place)
            for number in self.ports:
                outputs[number].node = Port(node, number)
            if type(result) is not tuple:
                outputs[0].node = node
            found = outputs if type(result) is tuple else outputs[0]
        return found if self.index is None else found[self.index]

    def _learn(self, outputs: tuple[Tensor, ...]) -> None:
        """How results were recorded; `like`, by which other threads see that it is known, comes last."""
        nodes = [x.node for x in outputs]
        self.ports = [number for number, node in enumerate(nodes)          # of several, the caller may have one alone
                      if type(node) is Port and self.index in (None, number)]
        node = next((node for node in nodes if node is not None), None)
        if node is None:
            self.records = False
        else:
            self.like = (node.node if type(node) is Port else node).like


def remembered(function: Callable) -> Callable:
    """The function, its calls remembered."""
    known: dict[tuple, Remembered | bool] = {}           # False: of this kind nothing can be remembered
    known_for = known.get

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        key: list[Any] = []
        tensors: list[Tensor] = []
        raws: list[Any] = []
        wants = False
        for x in (*arguments, *options.values()) if options else arguments:
            kind = type(x)
            if kind in TENSORS:
                if (storage := x.storage) is not None and storage.generation != x.generation:
                    x.refresh()
                raw = x.raw
                if type(raw) not in backend.plain:
                    return function(*arguments, **options)
                tensors.append(x)
                raws.append(raw)
                wants = wants or x.node is not None
                key += (type(raw), raw.dtype, raw.shape)
            elif kind in PLAIN:
                key += (kind, x or str(x))               # the zeros of both signs are equal
            elif kind is tuple and (types := tuple if {*map(type, x)} == INTEGERS else _types(x)):
                key += (types, x)
            else:
                return function(*arguments, **options)
        if options:
            key.append(tuple(options))
        found = known_for(kind_of_call := tuple(key))
        if found is None and tensors:
            if len(known) >= LIMIT:
                known.clear()
            result, known[kind_of_call] = _learned(function, arguments, options)
            return result
        if not found or learners or (anywhere.blocks and modes.packing is not None):
            return function(*arguments, **options)
        try:
            return found.run(tensors, raws, wants, getframe(1))  # type: ignore[union-attr]
        except MemoryError:                              # the function's own road says how much
            return function(*arguments, **options)
    return call


def _types(values: tuple) -> tuple:
    """The types in a tuple of plain values, nested or not: (1, True) equals (1, 1). Nothing where one is not plain."""
    found = tuple([type(value) if type(value) is not tuple else _types(value) for value in values])
    return (tuple, *found) if all([kind in PLAIN or (kind and type(kind) is tuple) for kind in found]) else ()


def _learned(function: Callable, arguments: tuple, options: dict[str, Any]) -> tuple[Any, Remembered | bool]:
    """The result of a call, and what it comes to.

    Tensors that are given twice are told apart, since the next call may have two.
    """
    given: list[Any] = []
    for x in (*arguments, *options.values()):
        given.append(_other(x) if isinstance(x, Tensor) and any(x is one for one in given) else x)
    noted: list[Noted] = []
    thread = threading.get_ident()

    def note(*what: Any) -> None:
        if threading.get_ident() == thread:
            noted.append(Noted(*what))
    learners.append(note)
    try:
        result = function(*given[:len(arguments)], **dict(zip(options, given[len(arguments):])))
    finally:
        learners.remove(note)
    return result, _what_it_comes_to(noted, [x for x in given if isinstance(x, Tensor)], result)


def _other(x: Tensor) -> Tensor:
    """The same tensor as another object."""
    return view_of(x.share(), x.raw, x.steps, x.root, x.node, x.is_value)


def _what_it_comes_to(noted: list[Noted], tensors: list[Tensor], result: Any) -> Remembered | bool:
    if len(noted) != 1 or not isinstance(noted[0].op, Primitive) or any(0 in x.shape or not x.shape for x in tensors):
        return False                                     # without axes some are values and some are not
    op, values, params, found = noted[0]
    index = None
    if found is not result and (type(found) is not tuple or (index := _place(result, found)) is None):
        return False
    if any([x.is_value != (x.shape == ()) for x in (found if type(found) is tuple else (found,))]):
        return False                                     # the function made it writable, as a copy of no axes
    fixed = [x for x in list(constants.values()) if _place(x, values) is not None]
    order = [_place(value, [*tensors, *fixed]) for value in values]
    if None in order:
        return False
    return Remembered(op, order, fixed, params, index, backend.of(tensors[0].raw), len(tensors))  # type: ignore[arg-type]


def _place(x: Any, among: Sequence[Any]) -> int | None:
    return next((number for number, one in enumerate(among) if one is x), None)
