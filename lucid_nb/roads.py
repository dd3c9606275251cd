"""The shortest roads: operators and indices of plain tensors in machine code, once it is there.

Until then, and for all that is out of the common, the functions in Python serve. They are replaced in Tensor when the
first elementwise kernel of small arrays is made, or where the store is empty when compiling pays.
"""

from functools import partial
from typing import Any

import numpy as np

from . import op as ops
from .array import REVERSED, Tensor
from .backend import Table
from .register import ARITHMETIC, gate, operators, short, targets, write_into
from .storage import Reshape, Root, Storage

_of_op: dict[Any, list[Any]] = {}                 # the roads that an op's kernels serve
general: dict[str, Any] = {}                      # the functions in Python whose places in Tensor roads have taken


def _arrive(table: Table, *_: Any) -> None:
    """See to the roads when the first kernel of the CPU is compiled."""
    if table.name == "cpu":
        ops.compiling.remove(_arrive)
        table.when_there(lambda: _install(table))


def _install(table: Table) -> None:
    """Put the roads in the place of the functions."""
    places = table.places
    fields = [*places(Tensor, "raw", "node", "is_value", "storage", "version", "generation", "root", "path"),
              *places(Storage, "generation", "version"), *places(Root, "node", "is_unrecorded")]
    tensors = table.table_of(gate, Tensor, Storage, Tensor.share, fields)

    def lay(kind: str, name: str, *own: int) -> Any:
        found = general[name] = vars(Tensor)[name]
        getter = getattr(found, "fget", None)
        road = table.Road(kind, name, tensors, getter or found, *own)
        setattr(Tensor, name, property(road.function, doc=found.__doc__) if getter else road.method())
        return road
    lay("moved", "moved")
    steps = table.steps_of(REVERSED, Reshape)
    lay("turned", "T", *steps["turned"])
    lay("product", "__matmul__", id(np.matmul))
    lay("getitem", "__getitem__")
    lay("setitem", "__setitem__")
    lay("truth", "__bool__")
    for name, facts in table.numbers().items():
        lay("number", name, *facts)
    for operator, function in operators.items():
        op = function.record  # type: ignore[attr-defined]
        if op.arity == 1:
            found = [lay("unary", f"__{operator}__")]
        else:
            found = [lay("binary", f"__{operator}__")]
            if operator in ARITHMETIC:
                found += [lay("binary", f"__r{operator}__", True), lay("in_place", f"__i{operator}__")]
        for one in filter(None, (op, op.of_complex)):
            _of_op[one] = found
    for op in ops.registry.values():
        if isinstance(op, ops.Elementwise) and op.arity < 3 and len(op.outputs) == 1:
            road = table.Road("into", op.name, tensors, partial(write_into, op))
            _of_op[op], targets[op] = [*_of_op.get(op, ()), road], road.function
    for op in [*_of_op]:
        for key, compiled in [*op.compiled.items()]:
            _learn(table, op, key, compiled)
    ops.compiling.append(_learn)
    for name, function in table.fills().items():
        setattr(short, name, table.Road("filled", name, tensors, getattr(short, name), function).function)
    for name in ("small", "made", "plain", "writable", "shaped"):
        setattr(short, name, table.Road(name, name, tensors, getattr(short, name), *steps.get(name, ())).function)


def _learn(table: Table, op: Any, key: Any, compiled: ops.Compiled) -> None:
    """Let an op's roads know of a kernel."""
    for road in _of_op.get(op, ()):
        road.learn(key if type(key) is tuple else (key,), compiled.kernel)


ops.compiling.append(_arrive)
