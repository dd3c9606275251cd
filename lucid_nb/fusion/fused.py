"""A fused program as an op: one kernel forward, and one backward that reads inputs only, itself a fused program."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import backend, dtypes, shapes
from ..expr import Expr, read, substitute, topological
from ..facts import Facts
from ..op import Info, Primitive
from ..program import ALONG, COLUMNS, ROW, RowProgram, compute_dtype, type_program
from ..shapes import Shape
from . import composed, rows

FLOATS = {"float32": {"float16", "bfloat16", "float32", "bool"}, "float64": {"float64", "bool"}}


class Spec(NamedTuple):
    """A tensor of a program. `is_dropped`: the axis of rows, whose extent would be 1, is not in its shape."""

    shape: Shape
    dtype: np.dtype
    is_dropped: bool = False

    @property
    def aligned(self) -> Shape:
        """The shape with the axis of rows."""
        return (*self.shape, 1) if self.is_dropped else self.shape


class Fused(Primitive):
    """A program over rows for inputs of certain shapes: `outputs` over a grid of `lead` rows of `cols` elements."""

    def __init__(self, name: str, outputs: Sequence[Expr], inputs: Sequence[Spec], results: Sequence[Spec],
                 lead: Shape, cols: int, cost: int | None = None) -> None:
        self.name, self.outputs, self.inputs, self.results = name, tuple(outputs), tuple(inputs), tuple(results)
        self.lead, self.cols = lead, cols
        self.cost = cost                             # in operations, where that is known of the ops that it is made of
        self.facts, self.linear = Facts(flops=self._flops), ()
        self.gradients: dict[tuple, Gradient | None] = {}
        self.runners: dict[backend.Table, Callable] = {}

    def _flops(self, call: Any) -> float:
        if self.cost is None:
            self.cost = rows.operations(self.outputs, [spec.aligned for spec in self.inputs])
        return self.cost

    @property
    def functions(self) -> list[str]:
        """What is computed, in order."""
        return [node.op for node in topological(self.outputs) if node.args]

    @property
    def has_rows(self) -> bool:
        """Are rows reduced?"""
        return any(name in rows.RULES and name != "detached" for name in self.functions)

    @property
    def is_differentiable(self) -> bool:
        """A pullback exists, if it may give no gradients at all."""
        return True

    @cached_property
    def keeps(self) -> tuple[int, ...]:  # type: ignore[override]
        """The inputs that the gradient reads."""
        gradient = self.gradient(tuple([dtypes.is_inexact(spec.dtype) for spec in self.inputs]),
                                 tuple([dtypes.is_inexact(spec.dtype) for spec in self.results]))
        return gradient.kept if gradient else ()

    def run(self, raws: Sequence[Any], params: Mapping[str, Any] | None = None) -> Any:
        """Raw arrays to raw arrays."""
        table = backend.of(raws[0])
        runner = self.runners.get(table)
        if runner is None:
            runner = self.runners[table] = self._make_runner(table)
        found = runner([table.reshape(raw, spec.aligned) if spec.is_dropped else raw
                        for raw, spec in zip(raws, self.inputs)])
        found = [fitted(table, raw, spec) for raw, spec in zip(found, self.results)]
        return found[0] if len(found) == 1 else tuple(found)

    def _make_runner(self, table: backend.Table) -> Callable:
        return Runner(self, table)

    # ---------------------------------------------------------------------------------------------- backward
    def pullback(self, node: Any, g: Any, call: Any) -> Sequence[Any]:
        """Gradients of the inputs, all by one program."""
        wanted = tuple([edge is not None and dtypes.is_inexact(spec.dtype)
                        for edge, spec in zip(node.edges, self.inputs)])
        cotangents = g if type(g) is dict else {0: g}
        gradient = self.gradient(wanted, tuple([number in cotangents for number in range(len(self.results))]))
        if gradient is None:
            return [None] * len(wanted)
        kept = dict(zip(self.keeps, self.kept(node, call)))
        available = kept | {len(self.inputs) + number: part for number, part in cotangents.items()}
        found: Any = ()
        if gradient.op is not None:
            found = call.run(gradient.op, [available[number] for number in gradient.used])
            found = found if type(found) is tuple else (found,)
        info = Info(node)
        return [None if route is None else available[route[1]] if route[0] else
                call.fit(found[route[1]], info.shape(number), info.dtype(number))
                for number, route in enumerate(gradient.routes)]

    def gradient(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> "Gradient | None":
        """The program of the wanted gradients where these results have cotangents."""
        if (wanted, given) not in self.gradients:
            self.gradients[wanted, given] = self._make_gradient(wanted, given)
        return self.gradients[wanted, given]

    def _make_gradient(self, wanted: tuple[bool, ...], given: tuple[bool, ...]) -> "Gradient | None":
        arity, specs = len(self.inputs), (*self.inputs, *self.results)
        inputs = [has_elements(spec, self.cols) for spec in specs]
        pairs = [(output, read(arity + number)) for number, output in enumerate(self.outputs) if given[number]]
        found = rows.reverse([output for output, _ in pairs], [g for _, g in pairs], arity, inputs, self.cols)
        along = rows.Along(inputs)
        routes: list[tuple[bool, int] | None] = []
        computed: list[Expr] = []
        targets = []
        for spec, part, want, is_along in zip(self.inputs, found, wanted, inputs):
            if not want or part is None:
                routes.append(None)
            elif part.op == "input" and specs[part.literal] == spec:
                routes.append((True, part.literal))
            else:
                routes.append((False, len(computed)))
                computed.append(along.summed(part, is_along))
                targets.append(spec)
        if not any(routes):
            return None
        used = rows.used_inputs(computed)
        op = Fused(f"{self.name}_gradient", rows.renumbered(computed, used), [specs[i] for i in used], targets,
                   self.lead, self.cols) if computed else None
        passed = [number for is_read, number in filter(None, routes) if is_read]
        return Gradient(op, tuple(used), tuple(sorted({*used, *passed} & {*range(arity)})), tuple(routes))


class Gradient(NamedTuple):
    """How a fused program is differentiated: as `op.Plan`."""

    op: Fused | None                       # computes all gradients that are not passed on
    used: tuple[int, ...]                  # what it reads: inputs, and after them cotangents
    kept: tuple[int, ...]                  # the inputs that must be saved
    routes: tuple[tuple[bool, int] | None, ...]      # of each input: (True, what is passed on), (False, which result)


def has_elements(spec: Spec, cols: int) -> bool:
    """Has a tensor elements along rows of `cols`?"""
    return cols != 1 and spec.aligned[-1:] == (cols,)


def fitted(table: backend.Table, raw: Any, spec: Spec) -> Any:
    """What was computed in the shape and dtype of a result: summed where that has less, repeated where it has more."""
    found = tuple(raw.shape)
    if found != spec.shape:
        aligned, extra = spec.aligned, len(found) - len(spec.aligned)
        axes = tuple([axis for axis, size in enumerate(found)
                      if axis < extra or aligned[axis - extra] == 1 != size])
        raw = table.reduce("sum", raw, axes, True, table.dtype_of(raw)) if axes else raw
        raw = table.reshape(raw, spec.shape) if shapes.product(tuple(raw.shape)) == shapes.product(spec.shape) else \
            table.copy(table.broadcast_to(raw, spec.shape))
    return raw if table.dtype_of(raw) == spec.dtype else table.cast(raw, spec.dtype)


class Runner:
    """A fused program on one device: flat, or over rows, or composed of what the device has."""

    def __init__(self, fused: Fused, table: backend.Table) -> None:
        self.fused, self.table = fused, table
        outputs = rows.lower(fused.outputs)
        self.scalars = rows.scalars(outputs)
        self.kinds = [ALONG if has_elements(spec, fused.cols) else ROW for spec in fused.inputs]
        self.results = [self._kind(spec) for spec in fused.results]
        arity = len(fused.inputs)
        numbers = {literal: read(arity + place) for place, literal in enumerate(self.scalars)}
        self.outputs = substitute(outputs, numbers)
        self.compute = compute_dtype([spec.dtype.name for spec in fused.inputs])
        self.values = tuple([float(literal.literal) for literal in self.scalars])
        self.reductions = rows.reductions(self.outputs)
        is_of_floats = self.compute in ("float32", "float64") and {*self.dtype_names()} <= FLOATS[self.compute]
        self.run = self._by_rows() if is_of_floats and self._has_rows() else \
            self._compiled(composed.by_reductions(self) if self.reductions else self._flat())

    def __call__(self, raws: Sequence[Any]) -> Sequence[Any]:
        return self.run(raws)

    def _has_rows(self) -> bool:
        """Has the device a kernel of rows that suits these?"""
        table, merges = self.table, bool(self.reductions) or COLUMNS in self.results
        return table.has("fused_rows") and (
            not table.has("suits_rows") or table.suits_rows(merges, self.fused.lead, self.fused.cols))

    def _kind(self, spec: Spec) -> str:
        if not has_elements(spec, self.fused.cols):
            return ROW
        is_one_row = shapes.product(spec.aligned[:-1]) == 1
        return COLUMNS if is_one_row and shapes.product(self.fused.lead) > 1 else ALONG

    def dtype_names(self) -> list[str]:
        """The dtypes of arrays and scalars, as programs call them."""
        return [spec.dtype.name for spec in self.fused.inputs] + [self.compute] * len(self.scalars)

    def result_names(self) -> list[str]:
        """The dtypes that results are stored in; what is summed later stays as it is computed."""
        return [spec.dtype.name if spec.aligned == self._full(kind) or kind == COLUMNS or spec.dtype.kind == "b"
                else self.compute for spec, kind in zip(self.fused.results, self.results)]

    def _full(self, kind: str) -> Shape:
        return (*self.fused.lead, self.fused.cols if kind == ALONG else 1)

    # ---------------------------------------------------------------------------------------------- kinds of kernels
    def _flat(self) -> Callable:
        table, fused = self.table, self.fused
        typed = type_program(self.outputs, self.dtype_names(), table.NATIVE())
        typed = replace(typed, results=tuple(self.result_names()))
        kernel = table.map(typed, fused.name)
        numbers = [table.from_numpy(np.asarray(value, self.compute)) for value in self.values]

        def run(raws: Sequence[Any]) -> Sequence[Any]:
            found = kernel(*raws, *numbers)
            return found if type(found) is tuple else (found,)
        return run

    def _compiled(self, run: Callable) -> Callable:
        """The program by the device's own compiler, where it has one."""
        if not self.table.has("compiled"):
            return run
        call = self.table.compiled(lambda *raws: run(raws))
        return lambda raws: call(*raws)

    def _by_rows(self) -> Callable:
        fused = self.fused
        kernel = self.table.fused_rows(self.row_program(self.table.NATIVE()))
        values, lead, cols = self.values, fused.lead, fused.cols
        return lambda raws: kernel(raws, values, lead, cols)

    def row_program(self, native: Any) -> RowProgram:
        """The typed program over rows."""
        first = len(self.kinds) + len(self.scalars)
        stand_ins = {node: read(first + place) for place, node in enumerate(self.reductions)}
        operands = substitute([node.args[0] for node in self.reductions], stand_ins)
        outputs = (*operands, *substitute(self.outputs, stand_ins))
        typed = type_program(outputs, self.dtype_names() + [self.compute] * len(self.reductions), native)
        results = (*[self.compute] * len(operands), *self.result_names())
        taken = tuple([(rows.REDUCTIONS[node.op], place) for place, node in enumerate(self.reductions)])
        return RowProgram(replace(typed, results=results), tuple(self.kinds), len(self.scalars), taken,
                          tuple(self.results))
