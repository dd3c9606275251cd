"""A recording as a graph: values get names, calls become nodes, and what nobody reads is left out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import BackendError
from ...op import Elementwise
from ..library import library, number_of
from .expressions import elementwise
from .known import emitters
from .recording import Call, Recording, Value
from .sizes import Size, is_fixed, uniform
from .writer import Ref, Writer


class Emission:
    """The nodes and initializers of a recording. `symbols`: the input and the axis that each dynamic size is of."""

    def __init__(self, recording: Recording, output_names: Sequence[str], opset: int,
                 symbols: Mapping[str, tuple[str, int]]) -> None:
        self.writer = w = Writer(opset)
        self.recording = recording
        w.sizes = dict(symbols)
        self.refs: dict[int, Ref] = {}
        for name, value in recording.inputs.items():
            w.reserve(name)
            self.refs[id(value)] = Ref(name, value.shape, value.dtype)
        for name in output_names:
            w.reserve(name)
        self._reserve_named()
        missing = sorted({call.title for call in recording.calls if not _is_known(call)})
        if missing:
            raise BackendError(f"onnx.export: ONNX has no operator here for {', '.join(missing)}. Compute that outside "
                               "of the model, or by other ops.")
        for call in recording.calls:
            self._emit(call)
        self.outputs = [self._named(value, name) for value, name in zip(recording.outputs, output_names)]
        self._prune()

    def _reserve_named(self) -> None:
        """Parameters keep their names."""
        for call in self.recording.calls:
            for value in call.inputs:
                if value.name and value.tensor is not None and id(value) not in self.refs:
                    self.writer.reserve(value.name)
                    self.writer.initializers[value.name] = np.asarray(value.tensor.detach().to_host())
                    self.refs[id(value)] = Ref(value.name, value.shape, value.dtype)

    def ref(self, value: Value) -> Ref:
        """A value by name; what nothing computes is a constant."""
        found = self.refs.get(id(value))
        if found is None:
            assert value.tensor is not None
            found = self.refs[id(value)] = Ref(self._constant(value), value.shape, value.dtype)
        return found

    def _constant(self, value: Value) -> str:
        array = np.asarray(value.tensor.detach().to_host())  # type: ignore[union-attr]
        if all(map(is_fixed, value.shape)):
            return self.writer.constant(array)
        if not uniform(array):
            raise BackendError(f"onnx.export: a constant of shape {array.shape} follows a dynamic axis and is not one "
                               "number throughout. Make it an input of the model.")
        return self.writer.node("Expand", self.writer.constant(array.reshape(-1)[0]), self.writer.shape(value.shape))

    def _emit(self, call: Call) -> None:
        operands, w = [self.ref(value) for value in call.inputs], self.writer
        if isinstance(call.op, Elementwise):
            found: Any = elementwise(w, call.op, operands)
        elif hasattr(call.op, "name"):
            found = emitters[call.op.name](w, call.outputs[0], *operands, **call.params)
        else:
            found = emitters[type(call.op).__name__](w, call.outputs[0], *operands, call.op)
        names = [found] if isinstance(found, str) else found
        for value, name in zip(call.outputs, names):
            self.refs[id(value)] = Ref(name, value.shape, value.dtype)

    def _named(self, value: Value, name: str) -> Ref:
        """An output under its own name: that of the node that makes it, or of a copy."""
        ref, w = self.ref(value), self.writer
        makers = [node for node in w.nodes if ref.name in node.output]
        if not makers or any(ref.name == other.name for other in getattr(self, "outputs", ())):
            w.nodes.append(library().helper.make_node("Identity", [ref.name], [name], name=f"node_{len(w.nodes)}"))
            return ref._replace(name=name)
        for node in w.nodes:
            for names in (node.input, node.output):
                for place, each in enumerate(names):
                    if each == ref.name:
                        names[place] = name
        self.refs = {key: each._replace(name=name) if each.name == ref.name else each
                     for key, each in self.refs.items()}
        return ref._replace(name=name)

    def _prune(self) -> None:
        """Leave out nodes and constants that nobody reads."""
        needed, kept = {ref.name for ref in self.outputs}, []
        for node in reversed(self.writer.nodes):
            if needed & {*node.output}:
                kept.append(node)
                needed |= {*node.input}
        self.writer.nodes = kept[::-1]
        self.writer.initializers = {name: array for name, array in self.writer.initializers.items() if name in needed}

    # ------------------------------------------------------------------------------------------------- the proto
    def model(self, name: str) -> Any:
        """The proto."""
        helper, onnx = library().helper, library()
        inputs = [_described(*self.refs[id(value)]) for value in self.recording.inputs.values()]
        outputs = [_described(*ref) for ref in self.outputs]
        initializers = [onnx.numpy_helper.from_array(array, key) for key, array in self.writer.initializers.items()]
        graph = helper.make_graph(self.writer.nodes, name, inputs, outputs, initializers)
        opsets = [helper.make_opsetid("", self.writer.opset)]
        return helper.make_model(graph, opset_imports=opsets, producer_name="lucid_nb",
                                 ir_version=helper.find_min_ir_version_for(opsets))


def _is_known(call: Call) -> bool:
    if isinstance(call.op, Elementwise):
        return True
    return getattr(call.op, "name", type(call.op).__name__) in emitters


def _described(name: str, shape: Sequence[int], dtype: np.dtype) -> Any:
    return library().helper.make_tensor_value_info(name, number_of(dtype), [_extent(size) for size in shape])


def _extent(size: int) -> int | str:
    """A size, or how it follows from those of the inputs."""
    if not isinstance(size, Size):
        return int(size)
    word = "*".join([*([str(size.factor)] if size.factor != 1 else []), *size.symbols])
    return f"{word}+{size.more}" if size.more else word


def difference(first: Any, second: Any) -> str:
    """Where two protos differ, in words; "" where they do not."""
    a, b = first.graph, second.graph
    for node, other in zip(a.node, b.node):
        if node != other:
            return f"the node {node.op_type}"
    for tensor, other in zip(a.initializer, b.initializer):
        if tensor != other:
            return f"the constant {tensor.name!r} of shape {tuple(tensor.dims)}"
    return "" if len(a.node) == len(b.node) and len(a.initializer) == len(b.initializer) else "the number of nodes"
