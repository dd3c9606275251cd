"""Fused programs on devices without kernels of rows: maps of elements, and reductions between them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..expr import Expr, read, substitute, topological
from ..program import ALONG, type_program
from . import rows


def by_reductions(runner: Any) -> Callable:
    """A function of raw arrays: level by level, the operands of reductions by one map, then the reductions."""
    table, fused = runner.table, runner.fused
    first = len(runner.kinds) + len(runner.scalars)
    stand_ins: dict[Expr, Expr] = {}
    stages = []
    for level in levels(runner.reductions):
        operands = substitute([node.args[0] for node in level], stand_ins)
        stages.append((mapped(runner, operands, first + len(stand_ins)), [rows.REDUCTIONS[node.op] for node in level]))
        stand_ins |= {node: read(first + len(stand_ins) + place) for place, node in enumerate(level)}
    last = mapped(runner, substitute(runner.outputs, stand_ins), first + len(stand_ins))
    full = (*fused.lead, fused.cols)
    shapes = [full if kind == ALONG else (*fused.lead, 1) for kind in runner.kinds]
    widths = [fused.cols if kind != "row" else 1 for kind in runner.results]
    numbers = [table.from_numpy(np.asarray(value, runner.compute)) for value in runner.values]
    axis = (len(fused.lead),)

    def run(raws: Sequence[Any]) -> Sequence[Any]:
        values = [*[table.broadcast_to(raw, shape) for raw, shape in zip(raws, shapes)], *numbers]
        for stage, kinds in stages:
            for operand, kind in zip(stage(values), kinds):
                wide = table.broadcast_to(operand, full)
                values.append(table.reduce(kind, wide, axis, True, table.dtype_of(wide)))
        return [table.broadcast_to(found, full) if width > 1 else table.slice(found, (..., slice(0, 1)))
                for found, width in zip(last(values), widths)]
    return run


def levels(reductions: Sequence[Expr]) -> list[list[Expr]]:
    """The reductions by how many others lie below them."""
    depth: dict[Expr, int] = {}
    for node in topological(reductions):
        depth[node] = max([depth[arg] for arg in node.args], default=0) + (node.op in rows.REDUCTIONS)
    count = max([depth[node] for node in reductions], default=0)
    return [[node for node in reductions if depth[node] == level] for level in range(1, count + 1)]


def mapped(runner: Any, outputs: Sequence[Expr], arity: int) -> Callable:
    """The outputs, each by an elementwise kernel over the values that it reads, as a function of all values."""
    table, names = runner.table, runner.dtype_names()
    names = names + [runner.compute] * (arity - len(names))
    found = []
    for output in outputs:
        used = rows.used_inputs([output])
        typed = type_program(rows.renumbered([output], used), [names[i] for i in used], table.NATIVE())
        typed = replace(typed, results=tuple([typed.steps[number].dtype for number in typed.outputs]))
        found.append((table.map(typed, runner.fused.name), used))
    return lambda values: [kernel(*[values[i] for i in used]) for kernel, used in found]
