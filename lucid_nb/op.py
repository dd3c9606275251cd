"""The op: a traced formula, or a primitive with its pullback. It knows raw arrays, not Tensor.

`Elementwise` is a traced formula: kernels for every device, and the ops of its gradients, come from it.
`Primitive` states its forward by entries of the table and its pullback by names of other ops, so that the same text
gives first derivatives on raw arrays and derivatives of any order on Tensors.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from . import backend, dtypes, expr, program, shapes, tape
from .dtypes import Key
from .errors import ShapeError
from .facts import UINT64, Facts, Rule
from .shapes import LARGE

COMPARISONS = frozenset("greater greater_equal less less_equal equal not_equal".split())
RESULT = -1                     # in `keeps`: the primitive's result instead of an input
registry: dict[str, "Elementwise | Primitive"] = {}
Step = Callable[[Sequence[Any], Any], tuple[Any, ...]]       # from what was saved and a cotangent to the gradients
compiling: list[Callable] = []       # are told when an op is compiled: the table of the device, op, key, compiled


@dataclass
class Plan:
    """How an op is differentiated for the inputs that want it."""

    op: "Elementwise | None"   # computes in one kernel the gradients that are not just passed on
    kept: tuple[int, ...]      # numbers of the inputs and results that it reads: what forward saves
    cotangents: tuple[int, ...]    # numbers of the results whose gradient it reads
    served: tuple[bool, ...]   # which inputs get a gradient; an identically zero one (of a condition, a sign) is none
    routes: tuple[tuple[bool, int], ...]   # of each served input: (True, number of what is read), (False, of a result)
    is_single: bool            # has the op one result, so that its gradient arrives as an array and not as a dict
    is_bound: bool = False     # kept for one device and set of dtypes, so that it may hold the kernel of `op`
    step: Step | None = None   # the gradients of inputs that have the result's shape, by at most one kernel
    pushes: dict[tuple[bool, ...], Any] = field(default_factory=dict)     # forward mode's, see forward.py

    def __post_init__(self) -> None:
        served = self.served
        self.serves = True in served
        whole = self.is_single and self.cotangents == (0,) and "TFT" not in "".join("FT"[s] for s in served)
        self.before = (None,) * (served.index(True) if True in served else 0)    # inputs before the served ones
        self.is_direct = whole and not any(is_read for is_read, _ in self.routes)   # every gradient is a result
        if whole and self.op is None and not self.kept:                          # of a sum: every gradient is g itself
            self.step = lambda saved, g: (g,) * len(served)

    def for_dtypes(self) -> "Plan":
        """A copy to be kept where the dtypes are fixed, so that its kernel needs no lookup."""
        return replace(self, is_bound=True)


def step_of(compiled: "Compiled", count: int, before: tuple[None, ...]) -> Step:
    """The step of a plan by its kernel, which reads `count` saved arrays and the cotangent.

    One or two are written out: calls with a list of arguments take longer than small kernels.
    """
    kernel, large = compiled.kernel, compiled.large

    def with_before(found: Any) -> tuple[Any, ...]:
        if before:
            return (*before, *found) if type(found) is tuple else (*before, found)
        return found if type(found) is tuple else (found,)

    def of_one(saved: Sequence[Any], g: Any) -> tuple[Any, ...]:
        a, = saved
        return with_before(kernel(a, g) if g.size < LARGE else large(a, g))

    def of_two(saved: Sequence[Any], g: Any) -> tuple[Any, ...]:
        a, b = saved
        return with_before(kernel(a, b, g) if g.size < LARGE else large(a, b, g))

    def of_many(saved: Sequence[Any], g: Any) -> tuple[Any, ...]:
        return with_before((kernel if g.size < LARGE else large)(*saved, g))
    return (of_many, of_one, of_two)[count] if count < 3 else of_many


class Compiled:
    """An op for certain input dtypes on one device: its kernel and its plans, found by one lookup."""

    __slots__ = ("into", "kernel", "large", "plans")

    def __init__(self, kernel: Callable, large: Callable, arity: int, into: Callable | None = None) -> None:
        self.kernel, self.large, self.into = kernel, large, into      # any size; fast from LARGE on; into an array
        self.plans: list[Plan | None] = [None] * (1 << arity)     # by the bits of the inputs that want a gradient


@dataclass(slots=True, eq=False)
class Beside:
    """An op for a Python number and arrays of one dtype: what serves them, and the number as an array and a tensor."""

    op: "Elementwise"
    compiled: Compiled
    raw: Any
    tensor: Any = None              # made by who wants one


class Elementwise:
    """A scalar formula as an op."""

    def __init__(self, name: str, outputs: tuple[expr.Expr, ...], arity: int, facts: Facts | None = None, *,
                 integers: tuple[int, ...] = (), of_complex: "Elementwise | None" = None) -> None:
        self.name, self.outputs, self.arity, self.facts = name, outputs, arity, facts or Facts()
        self.rule = self.facts.rule if facts else Rule(complexes=True, integers=integers)
        self.of_complex = of_complex                  # what serves complex numbers instead, where their formula differs
        self.warns = self.facts.oracle.startswith("numpy.") and self.rule.kind != "choice"
        self.compiled: dict[Any, Compiled] = {}       # by raw.dtype of the one input, or a tuple; a device has its own
        self.numbers: dict[tuple, Beside] = {}        # by value and type of the number, dtype of the other, and order
        self.plans: dict[tuple[bool, ...], Plan] = {}
        self.conditions = _conditions(outputs)
        self.is_comparison = arity == 2 and all(node.op in COMPARISONS for node in outputs)

    def chosen(self, raws: Sequence[Any]) -> "Elementwise":
        """The op itself, or that of complex numbers where it has one and an operand is complex."""
        if self.of_complex is not None and any(backend.of(raw).dtype_of(raw).kind == "c" for raw in raws):
            return self.of_complex
        return self

    @cached_property
    def carries(self) -> list[bool]:
        """Which results depend on an input so that a gradient can be other than zero."""
        gradients = [expr.reverse((output,), (expr.read(self.arity),), self.arity) for output in self.outputs]
        return [any(part is not None for part in parts) for parts in gradients]

    def plan(self, edges: Sequence[Any]) -> Plan:
        """The plan for inputs with these edges."""
        wanted = tuple([edge is not None for edge in edges])
        found = self.plans.get(wanted)
        if found is None:
            found = self.plans[wanted] = self._make_plan(wanted)
        return found

    def _make_plan(self, wanted: tuple[bool, ...]) -> Plan:
        outputs, used, served = expr.gradient(self.outputs, self.arity, wanted)
        limit = self.arity + len(self.outputs)
        computed: list[expr.Expr] = []
        routes = []
        for node in outputs:
            routes.append((True, node.literal) if node.op == "input" else (False, len(computed)))
            computed += [] if node.op == "input" else [node]
        integers = tuple([number for number, i in enumerate(used) if i in self.rule.integers])
        op = Elementwise(f"{self.name}_gradient", tuple(computed), len(used), integers=integers) if computed else None
        return Plan(op, tuple(i for i in used if i < limit), tuple(i - limit for i in used if i >= limit), served,
                    tuple(routes), len(self.outputs) == 1)

    # ---------------------------------------------------------------------------------------------- kernels
    def compile(self, raws: Sequence[Any]) -> Compiled:
        """The compiled form for raw arrays like these, all on one device."""
        key = raws[0].dtype if len(raws) == 1 else tuple([raw.dtype for raw in raws])
        found = self.compiled.get(key)
        if found is None:
            table = backend.of(raws[0])
            found = self.compiled[key] = self._compile(table, tuple([table.dtype_of(raw) for raw in raws]))
            for tell in compiling:
                tell(table, self, key, found)
        return found

    def typing(self, given: tuple[np.dtype, ...], device: str = "cpu") -> tuple[tuple[expr.Expr, ...], list[np.dtype]]:
        """For operands of these dtypes: the formula, and the dtypes that it takes them in."""
        loop, outputs = self.rule.loop(self.name, self._values(given), device), self.outputs
        if self.is_comparison and loop.kind == "f" and all(dtype.kind in "iu" for dtype in given):
            loop, outputs = UINT64, _compared_exactly(outputs, given)
        wanted = [dtypes.BOOL if self._is_condition(i) else loop for i in range(len(given))]
        for i in self.rule.integers:
            wanted[i] = given[i] if given[i].kind in "iu" else np.dtype(np.int8)
        return outputs, wanted

    def _compile(self, table: backend.Table, given: tuple[np.dtype, ...]) -> Compiled:
        outputs, wanted = self.typing(given, table.device)
        typed = program.type_program(outputs, [dtype.name for dtype in wanted], table.NATIVE(), self.warns)
        kernel = table.map(typed, self.name)
        if list(given) == wanted:
            return Compiled(getattr(kernel, "small", kernel), getattr(kernel, "large", kernel), self.arity,
                            getattr(kernel, "into", None))
        is_cast = [dtype != target for dtype, target in zip(given, wanted)]

        def casting(*raws: Any) -> Any:
            return kernel(*[table.cast(raw, dtype) if cast else raw
                            for raw, dtype, cast in zip(raws, wanted, is_cast)])
        return Compiled(casting, casting, self.arity)

    def _is_condition(self, number: int) -> bool:
        """Is this input the condition of a choice, so that any dtype will do?"""
        return number == 0 if self.rule.kind == "choice" else number in self.conditions

    def _values(self, keys: tuple[Key, ...]) -> tuple[Key, ...]:
        """The dtypes that decide; of a choice, its rule leaves the condition out itself."""
        if self.rule.kind == "choice":
            return keys
        return tuple([key for number, key in enumerate(keys) if number not in self.conditions]) or keys

    def run(self, raws: Sequence[Any], params: Mapping[str, Any] | None = None) -> Any:
        """Raw arrays to raw arrays."""
        if len(raws) == 2 and type(raws[1]) in dtypes.WEAK and type(raws[0]) not in dtypes.WEAK:
            found = self.beside(raws[0], raws[1], False)
            return (found.compiled.kernel if raws[0].size < LARGE else found.compiled.large)(raws[0], found.raw)
        raws = self.strengthen(raws)
        try:
            compiled = self.chosen(raws).compile(raws)
            return (compiled.large if is_large(raws) else compiled.kernel)(*raws)
        except ValueError as error:
            try:
                shapes.broadcast_shapes(self.name, *[tuple(raw.shape) for raw in raws])
            except ShapeError as refusal:
                raise refusal from None         # the device's own words would only repeat it
            raise error

    def beside(self, raw: Any, number: Any, is_first: bool) -> Beside:
        """What serves an array and a Python number, which is the first operand or the second."""
        key = number, type(number), raw.dtype, is_first
        found = self.numbers.get(key)
        if found is None:
            raws = self.strengthen((number, raw) if is_first else (raw, number))
            op = self.chosen(raws)
            found = Beside(op, op.compile(raws), raws[0 if is_first else 1])
            if number == number and type(number) is not complex and not (type(number) is float and number == 0.0):
                # The zeros of both signs would be one key, also as a part of a complex number.
                if len(self.numbers) >= 256:                  # a rate that changes at each step, say
                    self.numbers.clear()
                self.numbers[key] = found
        return found

    def strengthen(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Python scalars among the operands become 0-d raw arrays of the dtype that the others decide."""
        weak = [type(operand) in dtypes.WEAK for operand in operands]
        if True not in weak:
            return operands
        if self.rule.kind == "truth":
            operands = [bool(o) if is_weak else o for o, is_weak in zip(operands, weak)]
        table = backend.of(next(o for o, is_weak in zip(operands, weak) if not is_weak))
        keys = tuple([type(o) if is_weak else table.dtype_of(o) for o, is_weak in zip(operands, weak)])
        loop = self.rule.loop(self.name, keys, table.device)
        if self.is_comparison and loop.kind in "iu":      # NumPy compares with any integer
            operands = [_bounded(o, loop) if is_weak else o for o, is_weak in zip(operands, weak)]
            loop = self.rule.loop(self.name, tuple([type(o) if is_weak else key for o, is_weak, key
                                                    in zip(operands, weak, keys)]), table.device)
        return [constant(self.name, o, dtypes.INT64 if number in self.rule.integers else loop, table) if is_weak else o
                for number, (o, is_weak) in enumerate(zip(operands, weak))]

    # ---------------------------------------------------------------------------------------------- backward
    def pullback(self, node: tape.Node, g: Any, call: Any) -> Sequence[Any]:
        """Gradients of the inputs, None where nothing flows."""
        plan, like = node.plan, node.like
        arguments = (*self.kept(node, call), *self._arriving(plan, node, g, call))
        results: Any = ()
        if plan.op is not None:
            results = call.run(plan.op, arguments)
            if not call.records and plan.is_bound and plan.is_direct and like is None:
                plan.step = step_of(plan.op.compile(arguments), len(plan.kept), plan.before)
        results = results if type(results) is tuple else (results,)
        gradients = iter([arguments[number] if is_read else results[number] for is_read, number in plan.routes])
        if like is None:
            return [next(gradients) if serve else None for serve in plan.served]
        return [call.fit(next(gradients), *like[i]) if serve else None for i, serve in enumerate(plan.served)]

    def _arriving(self, plan: Plan, node: tape.Node, g: Any, call: Any) -> tuple:
        """The cotangents that the gradient reads; zero for a result that nothing used."""
        if plan.is_single:
            return (g,) if plan.cotangents else ()
        like = next(iter(g.values()))
        return tuple([g[i] if i in g else call.zeros_like(like) for i in plan.cotangents])

    def kept(self, node: tape.Node, call: Any) -> Sequence[Any]:
        """What a node saved, at its place in the graph where `call` records: inputs behind the node, results on it."""
        saved, plan = node.unpack(), node.plan
        if not call.records:
            return saved
        edges = [node.edges[i] if i < self.arity else node if plan.is_single else tape.Port(node, i - self.arity)
                 for i in plan.kept]
        return list(map(call.lift, saved, edges, node.versions))


def is_large(raws: Sequence[Any]) -> bool:
    """Has the result of these operands LARGE elements or more?"""
    sizes = [raw.size for raw in raws]
    if max(sizes) >= LARGE:
        return True
    if prod(sizes) < LARGE or len({tuple(raw.shape) for raw in raws}) == 1:
        return False
    return prod(shapes.broadcast_shapes("", *[tuple(raw.shape) for raw in raws])) >= LARGE


def _conditions(outputs: Sequence[expr.Expr]) -> frozenset[int]:
    """The inputs that a formula reads as conditions only."""
    nodes = [node for node in expr.topological(outputs) if node.args]
    values = {arg.literal for node in nodes for arg in node.args[node.op == "where":] if arg.op == "input"}
    values |= {node.literal for node in outputs if node.op == "input"}
    tested = {node.args[0] for node in nodes if node.op == "where"}
    return frozenset(node.literal for node in tested if node.op == "input") - values


def _compared_exactly(outputs: Sequence[expr.Expr], given: Sequence[np.dtype]) -> tuple[expr.Expr, ...]:
    """A comparison of signed integers with uint64, on their 64 bits; NumPy, too, does not go through float64.

    Where a signed number is negative its bits are above all that it can reach otherwise, and 0 compares with 1 instead.
    """
    signed = next(number for number, dtype in enumerate(given) if dtype.kind == "i")
    is_negative = expr.read(signed) > 2 ** 63 - 1
    inputs = map(expr.read, range(len(given)))
    return expr.substitute(outputs, {x: expr.m.where(is_negative, int(number != signed), x)
                                     for number, x in enumerate(inputs)})


def _bounded(value: Any, dtype: np.dtype) -> Any:
    """An integer to compare with; one that no number of the dtype reaches becomes an infinity."""
    bounds = np.iinfo(dtype)
    return value if bounds.min <= value <= bounds.max else math.inf if value > 0 else -math.inf


_constants: dict[tuple, Any] = {}


def constant(op: str, value: Any, dtype: np.dtype, table: backend.Table) -> Any:
    """A Python scalar as a 0-d raw array, made once: sending a number to a device costs as much as a launch."""
    # What may hold a zero is told apart by its text, since -0.0 == 0.0.
    key = (value if value and type(value) is not complex else repr(value), type(value), dtype, table.name)
    found = _constants.get(key)
    if found is None:
        found = table.from_numpy(dtypes.as_weak_scalar(op, value, dtype))
        if len(_constants) < 1024:
            _constants[key] = found
    return found


ALL = ((-1,),)                  # in `linear`: the op is linear in all its operands together


class Primitive:
    """An op that is not a scalar formula.

    `forward(table, *raws, **params)` gives a raw array or a tuple of them. `pullback(ops, info, g, *kept, **params)`
    gives a gradient for each input, None for none; `ops.name(...)` calls another op, `kept` are the inputs and results
    that `keeps` numbers (results after the inputs where there are several, whose gradients are then a dict by number),
    `info` says the shapes and dtypes of the inputs and which of them want a gradient. `linear`: groups of operands, in
    each of which together the op is linear while the others, which it keeps, stand still: forward mode calls the op
    itself on their tangents. Where it is not, or does not say so, forward mode transposes the pullback. `flops`: a rule
    of flops.py; without one the op only moves data, or compares.
    """

    push: Any = None            # of a user's op that says how tangents pass: (node, tangents, call) to those of results
    parts: Callable[..., Any] | None = None     # the op by other ops, on tensors; see ops/composite.py

    def __init__(self, name: str, forward: Callable, pullback: Callable | None, keeps: tuple[int, ...] = (),
                 linear: tuple[tuple[int, ...], ...] = (), flops: Callable[[Any], float] | None = None,
                 gradient_flops: float = 0.0) -> None:
        self.name, self.forward, self._pullback, self.keeps = name, forward, pullback, keeps
        self.facts, self.linear = Facts(flops=flops, gradient_flops=gradient_flops), linear
        registry.setdefault(name, self)

    @property
    def is_differentiable(self) -> bool:
        """Has it a pullback at all?"""
        return self._pullback is not None

    def run(self, raws: Sequence[Any], params: Mapping[str, Any] | None = None) -> Any:
        """Raw arrays to a raw array."""
        return self.forward(backend.of(raws[0]), *raws, **(params or {}))

    def pullback(self, node: tape.Node, g: Any, call: Any) -> Sequence[Any]:
        """Gradients of the inputs."""
        assert self._pullback is not None
        gradients = self._pullback(call, Info(node), g, *self.kept(node, call), **(node.plan or {}))
        return [None if g is None or edge is None else call.fit(g, *like)
                for g, edge, like in zip(gradients, node.edges, node.like)]

    def kept(self, node: tape.Node, call: Any) -> Sequence[Any]:
        """What a node saved, at its place in the graph where `call` records."""
        saved = node.unpack()
        if not call.records:
            return saved
        edges = [node if number == RESULT else node.edges[number] if number < len(node.edges)
                 else tape.Port(node, number - len(node.edges)) for number in self.keeps]
        return list(map(call.lift, saved, edges, node.versions))


class Info:
    """What a pullback may ask about the call that it differentiates."""

    __slots__ = ("node",)

    def __init__(self, node: tape.Node) -> None:
        self.node = node

    @property
    def wanted(self) -> list[bool]:
        """Which inputs want a gradient."""
        return [edge is not None for edge in self.node.edges]

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of an input."""
        return self.node.like[number][0]

    def dtype(self, number: int) -> np.dtype:
        """The dtype of an input."""
        return self.node.like[number][1]
