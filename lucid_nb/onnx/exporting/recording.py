"""What a model calls, noted while it runs: ops, and views, with the values that pass between them.

The calls run as they are, unrecorded; what cannot be in a graph (a value that is read, memory that is written, random
numbers) ends the recording.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ... import tape
from ...apply import apply, as_operand
from ...array import Tensor
from ...errors import BackendError, told
from ...fusion.traced import READING, ReadsPositions, Untraceable
from ...fusion.watching import watched
from ...op import Elementwise, Primitive
from ...shapes import Shape
from ...storage import Movement, Slice
from ...trees import flatten
from .known import emitters

REMEDIES = {
    READING: "Compute with tensors only, lnb.where instead of `if`, or leave that part out of the model",
    "it writes in place": "Let the model make new tensors: y = x + 1 instead of x += 1; and call .eval(), since "
                          "training writes running statistics",
    "it draws random numbers": "Call .eval() on the model, or draw outside of it",
    "it asks for gradients": "Export what the model computes, without gradients"}


TENSOR = "tensor"                   # where a tensor stood among arguments


def _without_tensors(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple([TENSOR if isinstance(part, Tensor) else part for part in x])
    return x


class Positional(NamedTuple):
    """The op of a function that reads positions on the host."""

    name: str


class Value:
    """What passes between calls: `name` where it has one of its own, `tensor` where nothing computes it."""

    __slots__ = ("call", "dtype", "name", "number", "shape", "tensor")

    def __init__(self, shape: Shape, dtype: np.dtype, *, call: "Call | None" = None, number: int = 0, name: str = "",
                 tensor: Tensor | None = None) -> None:
        self.shape, self.dtype, self.call, self.number, self.name, self.tensor = (
            shape, dtype, call, number, name, tensor)


class Call:
    """A call of an op, or a view: `op` is an op's record, or the movement itself."""

    __slots__ = ("inputs", "is_fed", "op", "outputs", "params")

    def __init__(self, op: Elementwise | Primitive | Positional | Movement, inputs: Sequence[Value],
                 params: Mapping[str, Any], is_fed: bool) -> None:
        self.op, self.inputs, self.params, self.is_fed = op, tuple(inputs), dict(params), is_fed
        self.outputs: tuple[Value, ...] = ()

    @property
    def title(self) -> str:
        """The op's name, or the view's."""
        return self.op.name if hasattr(self.op, "name") else type(self.op).__name__.lower()


class Recorder:
    """Takes the calls of one thread; the trace of `fusion.watching` of which the values are real."""

    def __init__(self, inputs: Mapping[str, Tensor], named: Mapping[str, Tensor]) -> None:
        self.thread, self.is_paused = threading.get_ident(), False
        self.device = next((x.device for x in (*inputs.values(), *named.values())), "cpu")
        self.values: dict[int, Value] = {}         # by id of tensors, which are kept alive
        self.raws: dict[int, Value] = {}           # by id of their memory: a tensor may be made anew around it
        self.kept: list[Any] = []
        self.fed: set[int] = set()                 # ids of values that depend on the inputs
        for name, x in named.items():
            self.note(x, Value(x.shape, x.dtype, name=name, tensor=x))
        self.inputs = {name: Value(x.shape, x.dtype, name=name) for name, x in inputs.items()}
        for name, x in inputs.items():
            self.note(x, self.inputs[name])
            self.fed.add(id(self.inputs[name]))

    # ------------------------------------------------------------------------------------------------ values
    def note(self, x: Tensor, value: Value) -> None:
        """Remember which value a tensor is."""
        self.values[id(x)] = self.raws[id(x.raw)] = value
        self.kept += [x, x.raw, value]

    def value_of(self, x: Tensor) -> Value:
        """The value that a tensor is; one that the model has from elsewhere is a constant."""
        x = x.refresh()
        found = self.values.get(id(x)) or self.raws.get(id(x.raw))
        if found is None:
            found = Value(x.shape, x.dtype, tensor=x)
            self.note(x, found)
        return found

    def added(self, op: Any, inputs: Sequence[Value], params: Mapping[str, Any], found: Any) -> Any:
        """Note a call and what it gave, and give it back."""
        call = Call(op, inputs, params, any(id(value) in self.fed for value in inputs))
        outputs = found if isinstance(found, tuple) else (found,)
        call.outputs = tuple([Value(x.shape, x.dtype, call=call, number=number) for number, x in enumerate(outputs)])
        for x, value in zip(outputs, call.outputs):
            self.note(x, value)
            self.fed |= {id(value)} if call.is_fed else set()
        return found

    # ------------------------------------------------------------------------------ what the watched thread does
    def call(self, op: Elementwise | Primitive, values: Sequence[Any], params: Mapping[str, Any] | None = None) -> Any:
        """What `apply` does meanwhile."""
        if self.is_paused or threading.get_ident() != self.thread:
            return NotImplemented
        tensors = [x for x in values if isinstance(x, Tensor)]
        if not tensors:
            return NotImplemented
        if isinstance(op, Primitive) and op.parts is not None and op.name not in emitters:
            return op.parts(*values, **(params or {}))
        if isinstance(op, Elementwise):
            raws = op.strengthen([x.refresh().raw if isinstance(x, Tensor) else x for x in values])
            operands = [x if isinstance(x, Tensor) else Tensor(raw) for x, raw in zip(values, raws)]
            op = op.chosen(raws)
        else:
            operands = [x if isinstance(x, Tensor) else as_operand(op.name, x, self.device) for x in values]
        with self.paused():
            found = apply(op, operands, params)
        return self.added(op, [self.value_of(x) for x in operands], params or {}, found)

    def moved(self, x: Tensor, step: Movement) -> Tensor:
        """A view."""
        with self.paused():
            found = x.moved(step)
        if found.shape == x.shape and found.raw is x.raw:
            return found
        return self.added(step, [self.value_of(x)], {}, found)

    def method(self, name: str, x: Tensor, *arguments: Any) -> Any:
        """One element."""
        with self.paused():
            found = getattr(x, name)(*arguments)
        return self.added(Slice(tuple(*arguments)), [self.value_of(x)], {}, found)

    def detached(self, x: Tensor) -> Tensor:
        """The same value."""
        with self.paused():
            found = x.detach()
        self.note(found, self.value_of(x))
        return found

    def refuse(self, what: str, method: Callable[..., Any], x: Tensor, *arguments: Any, **options: Any) -> Any:
        """What no graph can do; a value that does not depend on the inputs may be read."""
        if what == READING and id(self.value_of(x)) not in self.fed:
            with self.paused():
                return method(x, *arguments, **options)
        raise ReadsPositions if what == READING else Untraceable(what)

    def step(self, call: Callable[..., Any], name: str, operands: Sequence[Tensor], reason: str) -> Any:
        """A user's function with a gradient of its own: what it calls is noted."""
        return call(*operands)

    def function_of_positions(self, call: Callable[..., Any], name: str, operands: Sequence[Tensor],
                              arguments: Sequence[Any]) -> Any:
        """A function that reads positions on the host is noted as one call of its own."""
        with self.paused():
            found = call(*operands)
        numbers = [_without_tensors(x) for x in arguments if not isinstance(x, Tensor)]
        return self.added(Positional(f"positions.{name}"), [self.value_of(x) for x in operands],
                          {"arguments": tuple(numbers)}, found)

    def capture(self, x: Tensor) -> Tensor:
        """A tensor is itself."""
        return x

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Ops of this thread run unnoted."""
        before, self.is_paused = self.is_paused, True
        try:
            with tape.grad_mode(False):
                yield
        finally:
            self.is_paused = before


class Recording:
    """The calls that results depend on, in order, and these results."""

    def __init__(self, inputs: dict[str, Value], outputs: list[Value], results: list[Tensor]) -> None:
        self.inputs, self.outputs, self.results = inputs, outputs, results
        self.calls: list[Call] = []
        known: set[int] = set()
        stack: list[tuple[Call, bool]] = [(value.call, False) for value in reversed(outputs) if value.call is not None]
        while stack:
            call, is_ready = stack.pop()
            if is_ready:
                self.calls.append(call)
            elif id(call) not in known:
                known.add(id(call))
                stack.append((call, True))
                stack += [(value.call, False) for value in reversed(call.inputs) if value.call is not None]


def record(model: Callable[..., Any], inputs: Mapping[str, Tensor], named: Mapping[str, Tensor]) -> Recording:
    """Run a model on tensors, given by position. BackendError where it does what cannot be in a graph."""
    recorder = Recorder(inputs, named)
    try:
        with watched(recorder), tape.grad_mode(False):  # type: ignore[arg-type]
            found = model(*inputs.values())
    except Untraceable as error:
        remedy = REMEDIES.get(str(error), "Leave that part out of the model")
        raise BackendError(f"onnx.export: the model cannot be a graph, since {error}. {remedy}.") from None
    leaves, _ = flatten(found)
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    if not tensors or len(tensors) != len(leaves):
        others = sorted({type(x).__name__ for x in leaves if not isinstance(x, Tensor)})
        raise BackendError(f"onnx.export: the model returns {told(others) if others else 'nothing'} beside tensors. "
                           "Let it return tensors only.")
    return Recording(recorder.inputs, [recorder.value_of(x) for x in tensors], tensors)
