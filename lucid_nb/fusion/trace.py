"""Tracing: a function is called once with traced tensors, and what it calls becomes a plan.

Every op that the function calls, on traced tensors or on others, comes here, see watching.py. What has a rule grows an
expression; anything else becomes an ordinary call of the plan, for which its operands are computed by a fused kernel.
Ordinary calls also run at once, unrecorded, for the shapes and dtypes of what they give.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import backend, dtypes, flops, shapes, tape
from ..apply import apply, as_operand
from ..array import Tensor
from ..batched import Batched, taken_apart
from ..calls import cost_of
from ..expr import Expr, read, topological
from ..op import Elementwise, Primitive
from ..shapes import Shape
from ..storage import Broadcast, Movement, Reshape, Slice
from ..trees import flatten
from . import rows, rules
from .fused import Fused, Spec
from .plan import Plan, Step
from .traced import READING, ReadsPositions, Traced, Untraceable, ghosts, left

LIMIT = 160          # nodes of an expression, beyond which it is computed: compiling takes time with their number
PER_OP = 2           # nodes of a formula, about


@dataclass
class Joined:
    """Operands brought together: their expressions over the inputs of the trace, and what their result inherits."""

    trace: "Trace"
    exprs: list[Expr]
    is_dropped: bool
    cols: int | None
    weight: int

    def result(self, node: Expr, shape: Shape, dtype: np.dtype, compute: str, needs: bool) -> Traced:
        """A result of the operands."""
        found = Traced(self.trace, shape, dtype, expr=node, compute=compute, is_dropped=self.is_dropped,
                       cols=self.cols, needs=needs and dtypes.is_inexact(dtype), weight=self.weight)
        if found.weight > LIMIT:
            found.weight = len(topological([node]))
        return self.trace.settled(found) if found.weight > LIMIT else found


class Input(NamedTuple):
    """Where an input of expressions lies among the plan's values, and how it is seen."""

    slot: int
    is_dropped: bool


def partly_recorded(fused: Fused, needs: Sequence[bool], given: Sequence[Tensor]) -> Any:
    """The results of a program, of which some are constants."""
    found = apply(fused, given)
    if len(needs) == 1:
        return found
    return tuple([x if is_recorded else x.detach() for x, is_recorded in zip(found, needs)])


class Trace:
    """One trace, and the plan that comes of it."""

    def __init__(self, arguments: Sequence[Tensor]) -> None:
        self.device = arguments[0].device
        within = [x.raw for x in arguments if isinstance(x.raw, Batched)]
        self.table = backend.of(max(within, key=lambda raw: len(taken_apart(raw)[1]), default=arguments[0].raw))
        self.ghost = ghosts(self.table, self.device)
        self.thread, self.is_paused = threading.get_ident(), False
        self.records = tape.modes.enabled
        self.values: list[Tensor | Spec] = list(arguments)     # of slots; a Spec where nobody needed the value yet
        self.makers: dict[int, tuple[Step, int]] = {}          # of those, the step and the first slot of its results
        self.inputs: dict[Input, int] = {}
        self.captured: dict[int, tuple[int, Tensor]] = {}      # by id, kept alive
        self.wanting: set[int] = set()                         # slots to which gradients flow
        self.steps: list[Step] = []
        self.cost = 0                                          # operations of ops that are in no kernel yet
        self.arguments = [self.slotted(number, x.requires_grad) for number, x in enumerate(arguments)]

    # ------------------------------------------------------------------------------------------------- slots
    def slotted(self, slot: int, needs: bool) -> Traced:
        """The value of a slot as a traced tensor."""
        value = self.values[slot]
        needs = needs and self.records
        self.wanting |= {slot} if needs else set()
        return Traced(self, value.shape, value.dtype, slot=slot, needs=needs)

    def capture(self, x: Tensor) -> Traced:
        """A tensor that the function has from elsewhere: one more input of the plan."""
        if isinstance(x, Traced):
            if x.owner is not self:
                raise left()
            return x
        if x.device != self.device:
            raise Untraceable(f"a tensor lives on {x.device}, the arguments on {self.device}")
        if id(x) not in self.captured:
            self.captured[id(x)] = len(self.values), x
            self.values.append(x)
        return self.slotted(self.captured[id(x)][0], x.requires_grad)

    def expr_of(self, x: Traced, is_dropped: bool | None = None) -> Expr:
        """The expression of a value; an input is seen with or without the axis of rows."""
        if x.expr is not None:
            return x.expr
        assert x.slot is not None
        key = Input(x.slot, x.is_dropped if is_dropped is None else is_dropped)
        return read(self.inputs.setdefault(key, len(self.inputs)))

    def aligned(self, number: int) -> Shape:
        """The shape of an input of expressions, with the axis of rows."""
        key = list(self.inputs)[number]
        shape = self.values[key.slot].shape
        return (*shape, 1) if key.is_dropped else shape

    # ------------------------------------------------------------------------------------------------- joining
    def join(self, operands: Sequence[Traced | Expr], shape: Shape) -> Joined:
        """Operands of one formula, whose result has a shape. What does not fit among the others is computed first."""
        tensors = [x for x in operands if isinstance(x, Traced)]
        computed = [x for x in tensors if x.expr is not None]
        is_dropped = bool(computed) and all(x.is_dropped for x in computed)
        cols = {x.cols for x in computed if x.cols is not None}
        keep = max(cols, default=None) if len(cols) == 1 else None
        last = 1 if is_dropped else shape[-1] if shape else 1
        keep = keep if last in (1, keep) else None

        def placed(x: Traced | Expr) -> Expr:
            if not isinstance(x, Traced):
                return x
            if x.expr is not None and not self._fits(x, shape, is_dropped, keep):
                x = self.settled(x)
            return self.expr_of(x, is_dropped)
        exprs = [placed(x) for x in operands]
        kept = any(x.cols is not None and x.expr is not None for x in computed)
        weight = sum(x.weight for x in tensors) + PER_OP
        return Joined(self, exprs, is_dropped, keep if kept else None, weight)

    def _fits(self, x: Traced, shape: Shape, is_dropped: bool, cols: int | None) -> bool:
        if x.is_dropped != is_dropped or (x.cols is not None and x.cols != cols):
            return False
        if x.shape == shape:
            return True
        lead = shape if is_dropped else shape[:-1]
        own = x.aligned[:-1]
        if x.cols is not None:                        # a reduction, computed again for more rows
            return own == lead
        return shapes.product(x.shape) == shapes.product(shape) or not rules.is_dear(self.expr_of(x))

    # --------------------------------------------------------------------------------------------------- calls
    def call(self, op: Elementwise | Primitive, values: Sequence[Any], params: Mapping[str, Any] | None = None) -> Any:
        """What `apply` does instead while this thread traces."""
        if self.is_paused or threading.get_ident() != self.thread:
            return NotImplemented
        if not any(isinstance(x, Tensor) for x in values):
            return NotImplemented
        if isinstance(op, Primitive) and op.parts is not None:          # each part is fused
            return op.parts(*values, **(params or {}))
        is_formula = isinstance(op, Elementwise)
        operands = [self.capture(x) if isinstance(x, Tensor) else
                    x if is_formula and type(x) in dtypes.WEAK else
                    self.capture(as_operand(op.name, x, self.device)) for x in values]
        found = rules.formula(self, op, operands) if isinstance(op, Elementwise) else \
            rules.primitive(self, op, operands, params or {})
        if isinstance(found, str):
            return self.ordinary(op, operands, params, found)
        first: Any = found[0] if type(found) is tuple else found
        given = tuple([x.shape for x in operands if isinstance(x, Traced)])
        self.cost += cost_of(op, flops.Call(given, first.shape, params or {}))
        return self.constant(found) if self.records and not tape.modes.enabled else found

    def constant(self, found: Any) -> Any:
        """Under no_grad: without a gradient."""
        return tuple([self.detached(x) for x in found]) if type(found) is tuple else self.detached(found)

    def detached(self, x: Tensor) -> Traced:
        """The value, as a constant."""
        x = self.capture(x)
        if not x.needs:
            return x
        found = x.like(rows.detached(self.expr_of(x)), x.dtype, x.compute)
        found.needs = False
        return found

    def ordinary(self, op: Elementwise | Primitive, operands: Sequence[Any], params: Mapping[str, Any] | None,
                 reason: str) -> Any:
        """An op that stays what it is."""
        scalars = {place: x for place, x in enumerate(operands) if not isinstance(x, Traced)}
        count = len(operands)               # not the operands themselves, which keep the trace and what it computed

        def call(*given: Tensor) -> Any:
            rest = iter(given)
            return apply(op, [scalars[place] if place in scalars else next(rest) for place in range(count)], params)
        return self.step(call, op.name, [x for x in operands if isinstance(x, Traced)], reason)

    def function_of_positions(self, call: Callable[..., Any], name: str, operands: Sequence[Traced],
                              arguments: Sequence[Any]) -> Any:
        """A function that reads positions on the host, of these arguments, by its tensors: it does so at each call."""
        return self.step(call, name, operands, "it reads positions")

    def method(self, name: str, x: Tensor, *arguments: Any) -> Any:
        """A method of Tensor that stays what it is."""
        def call(given: Tensor) -> Tensor:
            return getattr(given, name)(*arguments)          # looked up when it runs: while it is traced it is routed
        return self.step(call, name, [self.capture(x)], "a part, or another order")

    def step(self, call: Callable[..., Any], name: str, operands: Sequence[Traced], reason: str,
             fused: Fused | None = None) -> Any:
        """A call of the plan, done at once for what it gives."""
        slots = self.slots_of(operands)
        step = Step(call, name, tuple(slots), reason, tape.modes.enabled or not self.records, fused)
        return self.take(step, any(x.needs for x in operands))

    def take(self, step: Step, needs: bool) -> Any:
        """Add a step to the plan."""
        values: list[Any] = self.values
        first, is_tuple = len(values), False
        if step.fused is not None:
            values += step.fused.results
            self.makers |= dict.fromkeys(range(first, len(values)), (step, first))
        else:
            with self.paused(), tape.grad_mode(False):
                self.compute(step.inputs)
                is_tuple = step.run(values)
        self.steps.append(step)
        needs = needs and tape.modes.enabled
        made = tuple([self.slotted(slot, needs and dtypes.is_inexact(values[slot].dtype))
                      for slot in range(first, len(values))])
        return made if is_tuple or len(made) > 1 else made[0]

    def compute(self, slots: Sequence[int]) -> None:
        """The values of slots, for an ordinary call that is made at once."""
        for slot in slots:
            if isinstance(self.values[slot], Spec):
                step, first = self.makers[slot]
                self.compute(step.inputs)
                found: list[Any] = [self.values[each] for each in step.inputs]
                count = len(found)
                step._replace(inputs=tuple(range(count))).run(found)
                self.values[first:first + len(found) - count] = found[count:]

    def refuse(self, what: str, method: Callable[..., Any], *_: Any, **__: Any) -> NoReturn:
        """What no plan can repeat, in the place of a method."""
        raise ReadsPositions if what == READING else Untraceable(what)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Ops of this thread run, while it lasts."""
        before, self.is_paused = self.is_paused, True
        counter, tape.modes.counter = tape.modes.counter, None
        try:
            yield
        finally:
            self.is_paused, tape.modes.counter = before, counter

    # ------------------------------------------------------------------------------------------------ movement
    def moved(self, x: Tensor, step: Movement) -> Traced:
        """A view: where only axes of extent 1 come or go, the expression stays."""
        x = self.capture(x)
        shape = tuple(step.read(np.broadcast_to(np.int8(0), x.shape)).shape)
        is_trivial = isinstance(step, Reshape) or (isinstance(step, Slice) and all(
            part is None or part is Ellipsis or part == slice(None) for part in step.index))
        if shape == x.shape and (is_trivial or isinstance(step, Broadcast)):
            return x
        if is_trivial and x.expr is not None:
            return self.reshaped(x, shape)
        return self.step(lambda given: given.moved(step), type(step).__name__.lower(), [x], "a view")

    def reshaped(self, x: Traced, shape: Shape) -> Traced:
        """Another shape: of a value of a row its axis comes or goes, anything else is computed first."""
        if shape == x.shape:
            return x
        if x.expr is not None and not x.is_dropped and x.shape == (*shape, 1):
            return x.like(x.expr, x.dtype, x.compute, shape=shape, is_dropped=True)
        if x.expr is not None and x.is_dropped and shape == (*x.shape, 1):
            return x.like(x.expr, x.dtype, x.compute, shape=shape, is_dropped=False)
        return self.step(lambda given: given.reshape(shape), "reshape", [x], "a view")

    # ------------------------------------------------------------------------------------------- materialising
    def settled(self, x: Traced) -> Traced:
        """The value as one of the plan's."""
        self.slots_of([x])
        return x

    def slots_of(self, tensors: Sequence[Traced]) -> list[int]:
        """The slots of values; what is an expression is computed first, by as few kernels as there are shapes."""
        waiting: dict[tuple, list[Traced]] = {}
        for x in {id(x): x for x in tensors if x.slot is None}.values():
            waiting.setdefault(self._group(x), []).append(x)
        for group in waiting.values():
            self._materialise(sorted(group, key=lambda x: x.dtype.kind == "b"))
        return [self._slot(x) for x in tensors]

    def _slot(self, x: Traced) -> int:
        assert x.slot is not None
        return x.slot

    def _group(self, x: Traced) -> tuple:
        """What the values that one kernel computes have in common."""
        has_rows = x.cols is not None
        return (x.aligned[:-1], x.cols, x.compute) if has_rows else (x.aligned, x.is_dropped, x.compute)

    def _materialise(self, group: list[Traced]) -> None:
        exprs = [self.expr_of(x) for x in group]
        used = rows.used_inputs(exprs)
        keys = list(self.inputs)
        given = [(self.values[keys[i].slot], keys[i].is_dropped) for i in used]
        specs = [Spec(value.shape, value.dtype, is_dropped) for value, is_dropped in given]
        shape = shapes.broadcast_shapes("fuse", *[spec.aligned for spec in specs], group[0].aligned)
        fused = Fused("fused", rows.renumbered(exprs, used), specs,
                      [Spec(x.shape, x.dtype, x.is_dropped) for x in group], shape[:-1], shape[-1] if shape else 1,
                      self.cost)
        self.cost = 0
        slots = tuple([keys[i].slot for i in used])
        needs = [x.needs or not dtypes.is_inexact(x.dtype) for x in group]
        call = partial(apply, fused) if all(needs) else partial(partly_recorded, fused, needs)
        is_wanted = any(x.needs for x in group)
        records = is_wanted or self.wanting.isdisjoint(slots)       # asking nobody to record takes time, too
        made = self.take(Step(lambda *given: call(given), "fused", slots, "", records, fused), is_wanted)
        for x, found in zip(group, made if type(made) is tuple else (made,)):
            x.slot, x.expr, x.compute, x.cols, x.is_dropped, x.weight = found.slot, None, None, None, False, 1

    # ----------------------------------------------------------------------------------------------- the plan
    def plan(self, results: Any) -> Plan:
        """The plan of a function that gave these results."""
        leaves, structure = flatten(results)
        self.slots_of([x for x in leaves if isinstance(x, Traced)])
        for step in reversed(self.steps):
            if step.fused is not None:
                step.fused.cost, self.cost = step.fused.cost + self.cost, 0      # what nobody uses counts, too
        numbers = {slot: slot for slot in range(len(self.arguments))}
        captured = sorted(self.captured.values(), key=lambda pair: pair[0])
        for place, (slot, _) in enumerate(captured):
            numbers[slot] = len(self.arguments) + place
        rest = iter(range(len(self.arguments) + len(captured), len(self.values)))
        numbers |= {slot: next(rest) for slot in range(len(self.values)) if slot not in numbers}
        steps = [step._replace(inputs=tuple([numbers[slot] for slot in step.inputs])) for step in self.steps]
        return Plan([x for _, x in captured], steps, structure,
                    [(True, numbers[self._slot(x)]) if isinstance(x, Traced) else (False, x) for x in leaves])
