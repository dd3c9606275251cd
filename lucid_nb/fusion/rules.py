"""How each op is taken into a fused program: formulas by substitution, reductions of rows and what is made of them.

A rule gives the traced result, or says in words why the op stays an ordinary one.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import dtypes, shapes
from ..expr import Expr, Scalar, lift, m, make, read, substitute, topological, vocabulary
from ..op import Elementwise, Primitive, registry
from ..program import COMPUTE, type_program
from . import rows
from .traced import Traced

if TYPE_CHECKING:
    from .trace import Trace

FLOATS = ("float16", "bfloat16", "float32", "float64")
DEAR = 8                 # the cost from which a value that is repeated is computed once, before
Result = Traced | tuple[Traced, ...] | str


# ---------------------------------------------------------------------------------------------------- formulas
class Typed(NamedTuple):
    """A formula for operands of certain dtypes: over `inputs`, which it takes in the dtypes `wanted`."""

    inputs: list[Expr]
    outputs: tuple[Expr, ...]
    wanted: list[np.dtype]
    results: list[np.dtype]
    carriers: list[frozenset[int]]
    compute: str

    def over(self, exprs: Sequence[Expr]) -> tuple[Expr, ...]:
        """The formula over other expressions."""
        return substitute(self.outputs, dict(zip(self.inputs, exprs)))


@lru_cache(4096)
def typed(op: Elementwise, given: tuple[np.dtype, ...], device: str) -> Typed | str:
    """The formula for operands of these dtypes, or why it is not fused."""
    if op.rule.integers or any(dtype.kind == "c" for dtype in given):
        return "complex numbers" if not op.rule.integers else "integers among floats"
    outputs, wanted = op.typing(given, device)
    results = type_program(outputs, [dtype.name for dtype in wanted]).results
    computes = {COMPUTE.get(dtype.name, dtype.name) for dtype in wanted if dtype.kind != "b"} or {"bool"}
    if len(computes) > 1 or not all(COMPUTE.get(name, name) in (*computes, "bool") for name in results):
        return "several dtypes"
    return Typed(list(map(read, range(op.arity))), outputs, wanted,
                 [dtypes.as_dtype("fuse", name) for name in results], rows.carriers(outputs), computes.pop())


def formula(trace: "Trace", op: Elementwise, operands: Sequence[Any]) -> Result:
    """An op that is a scalar formula, on traced tensors and Python's numbers."""
    raws = op.strengthen([x.raw if isinstance(x, Traced) else x for x in operands])
    plan = typed(op, tuple([raw.dtype for raw in raws]), trace.device)
    if isinstance(plan, str):
        return plan
    compute = plan.compute
    if compute != "bool" and all(_is_apart(x, wanted, compute) for x, wanted in zip(operands, plan.wanted)
                                 if isinstance(x, Traced)):
        return f"bools become {compute}"
    if compute != "bool" and any(wanted.kind == "b" for x, wanted in zip(operands, plan.wanted)
                                 if not isinstance(x, Traced)):
        return "a condition that is a number"
    taken = [converted(trace, x, dtype, compute) if isinstance(x, Traced) else number(raw)
             for x, raw, dtype in zip(operands, raws, plan.wanted)]
    shape = shapes.broadcast_shapes(op.name, *[x.shape for x in taken if isinstance(x, Traced)])
    joined = trace.join(taken, shape)
    found = by_products(op, joined.exprs) or plan.over(joined.exprs)
    needs = [number for number, x in enumerate(taken) if isinstance(x, Traced) and x.needs]
    made = tuple([joined.result(node, shape, dtype, compute, not carriers.isdisjoint(needs))
                  for node, dtype, carriers in zip(found, plan.results, plan.carriers)])
    return made if len(made) > 1 else made[0]


def _is_apart(x: Traced, wanted: np.dtype, compute: str) -> bool:
    """Is a value a bool, or cast to one, that nothing computed in this dtype leads to?

    A program of bools alone computes in bools.
    """
    is_cast = wanted.kind == "b" and COMPUTE.get(x.dtype.name, x.dtype.name) != compute
    return (x.dtype.kind == "b" or is_cast) and x.compute != compute


def number(raw: np.ndarray) -> Expr:
    """A scalar operand, rounded to the dtype that it is taken in; one of floats is no part of the kernel's text."""
    value = raw.item()
    return lift(Scalar(value)) if isinstance(value, float) else lift(value)


def by_products(op: Elementwise, operands: Sequence[Expr]) -> tuple[Expr] | None:
    """Small whole powers as products: the cube of gelu needs no logarithm."""
    if op.name != "power" or operands[1].op != "literal" or operands[1].literal not in (2, 3, 4):
        return None
    x, square = operands[0], operands[0] * operands[0]
    return ({2: square, 3: square * x, 4: square * square}[int(operands[1].literal)],)


def converted(trace: "Trace", x: Traced, wanted: np.dtype, compute: str) -> Traced:
    """An operand in the dtype that a formula takes it in, computed with what the formula computes in."""
    if x.compute not in (compute, None):
        x = trace.settled(x)
    given = x.dtype
    if given is wanted or given == wanted:
        return x
    if given.kind == "b" and compute != "bool":
        return x.like(m.where(trace.expr_of(x), 1, 0), wanted, compute)
    if wanted.kind == "b" and COMPUTE.get(given.name, given.name) == compute:
        return x.like(trace.expr_of(x) != 0, wanted, compute)
    if COMPUTE.get(given.name, given.name) == COMPUTE.get(wanted.name, wanted.name):
        # A 16-bit value that was computed is rounded before it counts for more.
        x = trace.settled(x) if x.expr is not None and given.itemsize < wanted.itemsize else x
        return x.like(trace.expr_of(x), wanted, compute)
    return trace.ordinary(registry["cast"], (x,), {"dtype": wanted}, f"{given} becomes {wanted}")


# -------------------------------------------------------------------------------------------------- reductions
def row_operand(trace: "Trace", x: Traced, axes: Sequence[int]) -> Traced | str:
    """The operand of a reduction over its last axis, or why the reduction is an ordinary one."""
    if x.dtype.name not in FLOATS:
        return f"a reduction of {x.dtype}"
    if x.ndim - 1 not in axes:
        return f"a reduction over axes {tuple(axes)} of {x.ndim}, not the last"
    if 0 in x.shape:
        return "no elements"
    return trace.settled(x) if x.is_dropped or (x.cols not in (None, x.shape[-1])) else x


def reduced(trace: "Trace", x: Traced, make_value: Callable[[Expr], Expr], keepdims: bool) -> Traced:
    """A value for each row."""
    compute = COMPUTE.get(x.dtype.name, x.dtype.name)
    shape = x.shape[:-1]
    return Traced(trace, (*shape, 1) if keepdims else shape, x.dtype, expr=make_value(trace.expr_of(x)),
                  compute=compute, is_dropped=not keepdims, cols=x.shape[-1], needs=x.needs, weight=x.weight)


def reduction(kind: str) -> Callable[..., Result]:
    """The rule of a sum or an extreme: over the last axis in the kernel, over others of what that leaves."""
    def rule(trace: "Trace", x: Traced, axes: shapes.Shape, keepdims: bool, dtype: Any = None) -> Result:
        operand = row_operand(trace, x, axes)
        if not isinstance(operand, str) and operand.expr is None and len(axes) > 1:
            return "nothing to fuse it with"
        if isinstance(operand, str) or dtype not in (None, x.dtype):
            return operand if isinstance(operand, str) else f"a sum in {dtype}"
        others = tuple([axis for axis in axes if axis != x.ndim - 1])
        n = operand.shape[-1]
        found = reduced(trace, operand, lambda e: e if n == 1 else make(f"row_{kind}", (e,)), keepdims)
        if not others:
            return found
        if len(axes) == x.ndim and not keepdims:         # what the rows leave is one row
            found, others = trace.reshaped(found, (shapes.product(found.shape),)), (0,)
        merged = trace.call(registry[kind], (found,), {"axes": others, "keepdims": keepdims})
        trace.cost -= shapes.product(found.shape) - shapes.product(merged.shape)      # that call has counted it
        return merged
    return rule


def variance(trace: "Trace", x: Traced, axes: shapes.Shape, keepdims: bool, degrees: float) -> Result:
    """The sum of squared deviations, over degrees of freedom."""
    operand = row_operand(trace, x, axes)
    if isinstance(operand, str):
        return operand
    if len(axes) > 1 or operand.shape[-1] == 1 or degrees <= 0:
        return "a variance over several axes, or of one value"
    n = operand.shape[-1]
    return reduced(trace, operand, lambda e: rows.row_scatter(e, n) / lift(Scalar(degrees)), keepdims)


def centre(trace: "Trace", x: Traced, axes: shapes.Shape, keepdims: bool) -> Result:
    """The mean."""
    operand = row_operand(trace, x, axes)
    if isinstance(operand, str) or len(axes) > 1:
        return operand if isinstance(operand, str) else "a mean over several axes"
    n = operand.shape[-1]
    return reduced(trace, operand, lambda e: e if n == 1 else rows.mean_of(e, lift(Scalar(n))), keepdims)


def of_rows(make_value: Callable[[Expr], Expr]) -> Callable[..., Result]:
    """The rule of softmax or its logarithm."""
    def rule(trace: "Trace", x: Traced, axis: int) -> Result:
        operand = row_operand(trace, x, (axis % max(x.ndim, 1),))
        if isinstance(operand, str):
            return operand
        if operand.shape[-1] == 1:
            return "rows of one element"
        return operand.like(make_value(trace.expr_of(operand)), x.dtype, COMPUTE.get(x.dtype.name, x.dtype.name),
                            cols=operand.shape[-1])
    return rule


def logsumexp(trace: "Trace", x: Traced, axes: shapes.Shape, keepdims: bool) -> Result:
    """The logarithm of the sum of exponentials."""
    operand = row_operand(trace, x, axes)
    if isinstance(operand, str):
        return operand
    if len(axes) > 1 or operand.shape[-1] == 1:
        return "logsumexp over several axes, or of one value"
    return reduced(trace, operand, rows.logsumexp, keepdims)


# ------------------------------------------------------------------------------------------- what moves nothing
def cast(trace: "Trace", x: Traced, dtype: np.dtype) -> Result:
    """Another dtype that is computed with in the same."""
    names = [COMPUTE.get(each.name, each.name) for each in (x.dtype, dtype)]
    if x.dtype.kind == "b" and dtype.name in FLOATS:
        return f"bools become {dtype}" if _is_apart(x, dtype, names[1]) else \
            x.like(m.where(trace.expr_of(x), 1, 0), dtype, names[1])
    if names[0] != names[1] or dtype.name not in FLOATS:
        return f"{x.dtype} becomes {dtype}"
    return converted(trace, x, dtype, names[1])


def copy(trace: "Trace", x: Traced) -> Result:
    """Nothing writes, so a copy is the value itself."""
    return x


def reshape(trace: "Trace", x: Traced, shape: shapes.Shape) -> Result:
    """Axes of extent 1 come and go."""
    return trace.reshaped(x, shape)


RULES: Mapping[str, Callable[..., Result]] = {
    "sum": reduction("sum"), "max": reduction("max"), "min": reduction("min"), "variance": variance, "centre": centre,
    "softmax": of_rows(rows.softmax), "log_softmax": of_rows(rows.log_softmax), "logsumexp": logsumexp, "cast": cast,
    "copy": copy, "copied_reshape": reshape}


def primitive(trace: "Trace", op: Primitive, operands: Sequence[Traced], params: Mapping[str, Any]) -> Result:
    """An op that is no formula."""
    rule = RULES.get(op.name)
    if rule is None or registry.get(op.name) is not op:
        return "no formula, and no reduction of rows"
    return rule(trace, *operands, **params)


def is_dear(node: Expr) -> bool:
    """Does the expression hold a function that should not be computed again for every row?"""
    return any(each.op in vocabulary and vocabulary[each.op].cost >= DEAR for each in topological([node]))
