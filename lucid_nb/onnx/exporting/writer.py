"""Nodes as they are written: names, constants, sizes, and the nodes themselves."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import BackendError
from ..library import library, number_of
from .sizes import Size, is_fixed


class Ref(NamedTuple):
    """A value of the graph: its name, shape and dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.shape)


class Writer:
    """Gathers the nodes and initializers of a graph."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {}
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}
        self.constants: dict[tuple, str] = {}
        self.sizes: dict[str, tuple[str, int]] = {}       # of a symbol: an input and its axis

    # --------------------------------------------------------------------------------------------------- names
    def fresh(self, stem: str) -> str:
        """A name that no other value has."""
        while True:
            number = self.counts[stem] = self.counts.get(stem, -1) + 1
            name = f"{stem}_{number}" if number else stem
            if name not in self.taken:
                self.taken.add(name)
                return name

    def reserve(self, name: str) -> None:
        """Take a name that is given."""
        if name in self.taken:
            raise BackendError(f"onnx.export: two values have the name {name!r}. Give inputs and outputs other names "
                               "than parameters.")
        self.taken.add(name)

    # ------------------------------------------------------------------------------------------------- constants
    def constant(self, values: Any, dtype: Any = None) -> str:
        """An initializer of these values; equal ones are one."""
        array = np.ascontiguousarray(np.asarray(values, dtype)).reshape(np.shape(values))
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self.constants:
            name = self.fresh("constant")
            self.constants[key], self.initializers[name] = name, array
        return self.constants[key]

    def integers(self, values: Sequence[int]) -> str:
        """A vector of integers that says axes, places or fixed sizes."""
        return self.constant(np.array([int(value) for value in values], np.int64))

    def shape(self, sizes: Sequence[int]) -> str:
        """A vector of sizes, of which some may follow from the inputs."""
        if all(map(is_fixed, sizes)):
            return self.integers(sizes)
        return self.node("Concat", *[self.size(size) for size in sizes], axis=0)

    def size(self, size: int) -> str:
        """One size as a vector of one element."""
        if not isinstance(size, Size):
            return self.integers([size])
        found = ""
        for symbol in size.symbols:
            name, axis = self.sizes[symbol]
            whole = self.node("Shape", name, stem=f"shape_of_{name}")
            part = self.node("Gather", whole, self.integers([axis]), axis=0)
            found = self.node("Mul", found, part) if found else part
        found = self.node("Mul", found, self.integers([size.factor])) if size.factor != 1 else found
        return self.node("Add", found, self.integers([size.more])) if size.more else found

    # ---------------------------------------------------------------------------------------------------- nodes
    def node(self, op_type: str, *inputs: str | Ref, stem: str = "", **attributes: Any) -> str:
        """A node of one output, whose name is given back."""
        return self.nodes_of(op_type, inputs, 1, stem, **attributes)[0]

    def nodes_of(self, op_type: str, inputs: Sequence[str | Ref], count: int, stem: str = "",
                 **attributes: Any) -> list[str]:
        """A node of several outputs."""
        self.check(op_type)
        names = [x.name if isinstance(x, Ref) else x for x in inputs]
        kept = {key: [int(v) for v in value] if isinstance(value, (list, tuple)) and not any(
            isinstance(v, str) for v in value) else value for key, value in attributes.items() if value is not None}
        outputs = [self.fresh(stem or op_type.lower()) for _ in range(count)]
        self.nodes.append(library().helper.make_node(op_type, names, outputs, name=f"node_{len(self.nodes)}", **kept))
        return outputs

    def check(self, op_type: str) -> None:
        """Refuse an operator that the opset does not have."""
        try:
            library().defs.get_schema(op_type, self.opset, "")
        except library().defs.SchemaError:
            since = library().defs.get_schema(op_type).since_version
            raise BackendError(f"onnx.export: {op_type} is an operator from opset {since} on, and opset is "
                               f"{self.opset}. Use opset={since}.") from None

    def cast(self, x: str, before: Any, after: Any) -> str:
        """In another dtype, where it is one."""
        if np.dtype(before) == np.dtype(after):
            return x
        return self.node("Cast", x, to=number_of(np.dtype(after)))

    def reshape(self, x: str | Ref, sizes: Sequence[int]) -> str:
        """In another shape; of several sizes that follow from inputs one is left out."""
        open_ = [axis for axis, size in enumerate(sizes) if not is_fixed(size)]
        if len(open_) == 1 and 0 not in sizes:
            return self.node("Reshape", x, self.integers([-1 if axis == open_[0] else size
                                                          for axis, size in enumerate(sizes)]))
        return self.node("Reshape", x, self.shape(sizes), allowzero=1 if 0 in sizes else None)

    def transpose(self, x: str | Ref, axes: Sequence[int]) -> str:
        """Axes in another order."""
        return self.node("Transpose", x, perm=list(axes))


def refused(op: str, what: str) -> BackendError:
    """The error of a call that the standard has no words for."""
    return BackendError(f"onnx.export: {op} {what}")
