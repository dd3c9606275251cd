"""Graphs: the nodes of a model in their order, and how values pass from one to the next."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConfigError, LucidError
from .library import library, type_name
from .reading import array_of
from .table import STANDARD, Node, required

Values = dict[str, Any]


class Step(NamedTuple):
    """A node as it is run: the graphs in it, and the values that nobody reads after it."""

    node: Node
    bodies: "dict[str, Graph]"
    spent: tuple[str, ...]


class Graph(NamedTuple):
    """Nodes in order. `constants`: where the values that the graph has itself are stored, by name."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: dict[str, str]
    steps: list[Step]

    def run(self, *inputs: Any, store: Mapping[str, Any], outer: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """The outputs. `store`: what the whole model stores; `outer`: the values around a graph inside a node."""
        values: Values = {**(outer or {}), "": None}
        values |= {name: store[key] for name, key in self.constants.items()}
        values |= zip(self.inputs, inputs)
        for node, bodies, spent in self.steps:
            calls = {name: partial(body.run, store=store, outer=values) for name, body in bodies.items()}
            try:
                found = node.call([values[name] for name in node.inputs], calls)
            except LucidError as error:
                error.add_note(f"in the node {node.title} of the graph {self.name!r}")
                raise
            values |= {name: value for name, value in zip(node.outputs, found) if name}
            for name in spent:
                values.pop(name, None)
        return tuple([values[name] for name in self.outputs])

    def reads(self) -> set[str]:
        """The names of values that nodes read, here and in the graphs inside them."""
        return {*self.outputs}.union(*map(_reads, self.steps))


def _reads(step: Step) -> set[str]:
    return {*step.node.inputs}.union(*[body.reads() for body in step.bodies.values()])


def _with_spent(steps: Sequence[Step], outputs: Sequence[str]) -> list[Step]:
    """The steps, each knowing what nobody reads after it, so that memory is given back as early as can be."""
    needed, found = {*outputs}, []
    for step in reversed(steps):
        last = (_reads(step) | {*step.node.outputs}) - needed - {""}
        found.append(step._replace(spent=tuple(sorted(last))))
        needed |= last
    return found[::-1]


class Builder:
    """Makes graphs of protos, and gathers what the model stores, by names that are unique in all of it."""

    def __init__(self, opsets: Mapping[str, int], folder: Path | None) -> None:
        self.opsets, self.folder = opsets, folder
        self.arrays: dict[str, np.ndarray] = {}
        self.weights: set[str] = set()       # of them, those that nodes read otherwise than as statistics or sizes
        self.literals: set[str] = set()      # and the values of Constant nodes

    def graph(self, proto: Any) -> Graph:
        """A graph, with those inside its nodes."""
        if proto.sparse_initializer:
            raise ConfigError(f"onnx.load: the graph {proto.name!r} has sparse initializers. Make them dense.")
        constants = {tensor.name: self._keep(tensor.name, array_of(tensor, self.folder))
                     for tensor in proto.initializer}
        steps = []
        for node in proto.node:
            if node.op_type == "Constant" and node.domain in STANDARD:
                name, = node.output
                constants[name] = self._keep(name, self._literal(node))
                self.literals.add(constants[name])
            else:
                steps.append(self._step(node, constants))
        outputs = tuple([each.name for each in proto.output])
        return Graph(proto.name, tuple([each.name for each in proto.input]), outputs, constants,
                     _with_spent(steps, outputs))

    def _keep(self, name: str, array: np.ndarray) -> str:
        """Store an array under a name that no other has."""
        unique, count = name, 1
        while unique in self.arrays:
            unique, count = f"{name}_{count}", count + 1
        self.arrays[unique] = array
        return unique

    def _step(self, proto: Any, constants: Mapping[str, str]) -> Step:
        domain = "" if proto.domain in STANDARD else proto.domain
        version = self.opsets.get(domain, 1)
        found = required(proto.op_type, domain, version)
        attributes, bodies = self._attributes(proto)
        node = Node(found, version, tuple(proto.input), tuple(proto.output), attributes, proto.name)
        self.weights |= {constants[name] for number, name in enumerate(proto.input)
                         if name in constants and not found.is_fixed(number)}
        return Step(node, bodies, ())

    def _attributes(self, proto: Any) -> "tuple[dict[str, Any], dict[str, Graph]]":
        """The values of a node's attributes, and its graphs."""
        onnx = library()
        values, bodies = {}, {}
        for attribute in proto.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                bodies[attribute.name] = self.graph(attribute.g)
            else:
                values[attribute.name] = self._value(attribute, proto)
        return values, bodies

    def _value(self, attribute: Any, node: Any) -> Any:
        kinds = library().AttributeProto
        if attribute.type == kinds.TENSOR:
            return array_of(attribute.t, self.folder)
        if attribute.type == kinds.TYPE_PROTO:
            return attribute.tp
        if attribute.type not in (kinds.FLOAT, kinds.INT, kinds.STRING, kinds.FLOATS, kinds.INTS, kinds.STRINGS):
            kind = kinds.AttributeType.Name(attribute.type)
            raise ConfigError(f"onnx.load: the attribute {attribute.name!r} of {node.op_type} is a {kind}, which no "
                              "operator here reads. Leave it out.")
        found = library().helper.get_attribute_value(attribute)
        if attribute.type == kinds.STRING:
            return found.decode(errors="replace")
        if attribute.type == kinds.STRINGS:
            return [word.decode(errors="replace") for word in found]
        return list(found) if attribute.type in (kinds.FLOATS, kinds.INTS) else found

    def _literal(self, node: Any) -> np.ndarray:
        """The value of a Constant node."""
        known = {"value": None, "value_float": np.float32, "value_floats": np.float32, "value_int": np.int64,
                 "value_ints": np.int64}
        if len(node.attribute) != 1 or node.attribute[0].name not in known:
            raise ConfigError(f"onnx.load: the constant {node.output[0]!r} is no dense tensor of numbers. Make it one.")
        found = self._value(node.attribute[0], node)
        return np.asarray(found, known[node.attribute[0].name])


def described(value: Any) -> tuple[str, tuple[int | str | None, ...] | None]:
    """The dtype and the shape that a graph says of an input or an output; what may vary is a name, or None."""
    kind = value.type
    if not kind.HasField("tensor_type"):
        return str(kind.WhichOneof("value") or "unknown"), None
    sizes = [size.dim_value if size.HasField("dim_value") else size.dim_param or None
             for size in kind.tensor_type.shape.dim]
    dtype = type_name(kind.tensor_type.elem_type).lower()
    names = {"float": "float32", "double": "float64"}
    return names.get(dtype, dtype), tuple(sizes) if kind.tensor_type.HasField("shape") else None
