"""The primitives of reductions, and the formulas of their gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..expr import Expr, Vocabulary, trace
from ..facts import Facts, Rule
from ..op import ALL, RESULT, Elementwise, Info, Primitive, registry
from ..storage import Slice


# ------------------------------------------------------------------------------------- formulas of gradients
def _same_or_nan(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Is x the extreme y of its row? Where y is NaN, the NaNs are."""
    return m.where(y == y, m.where(x == y, 1, 0), m.where(x != x, 1, 0)) == 1


def _share_of(m: Vocabulary, mask: Expr, g: Expr, count: Expr) -> Expr:
    """A share of g for each of `count` equals."""
    return m.where(mask, g / count, 0)


def _if_number(m: Vocabulary, x: Expr, g: Expr) -> Expr:
    """g where x is no NaN."""
    return m.where(x == x, g, 0)


def _number_or_one(m: Vocabulary, x: Expr) -> Expr:
    """x, 1 for NaN."""
    return m.where(x == x, x, 1)


def _exp_difference(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """exp(x - y), and 0 where the sum of exponentials exp(y) is 0."""
    return m.where(y == float("-inf"), 0, m.exp(x - y))


def internal(formula: Callable, arity: int) -> None:
    """Make a formula an op that pullbacks may call, by its name without the underscore."""
    name = formula.__name__[1:]
    registry[name] = Elementwise(name, trace(formula, arity), arity, Facts("internal", Rule(complexes=True)))


for _formula, _arity in ((_same_or_nan, 2), (_share_of, 3), (_if_number, 2), (_number_or_one, 1), (_exp_difference, 2)):
    internal(_formula, _arity)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the sizes of numbers."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


# ---------------------------------------------------------------------------------------------- primitives
def spread(ops: Any, info: Info, g: Any, axes: shapes.Shape) -> Any:
    """What belongs to a reduced result, with its axes back as extents of 1."""
    return ops.reshape(g, shape=shapes.reduced_shape(info.shape(0), axes, True))


def _total(kind: str, pullback: Callable, keeps: tuple[int, ...] = (), linear: Any = ()) -> Primitive:
    """A sum or product over axes, in the dtype of its operand."""
    return Primitive(kind, lambda table, x, axes, keepdims, dtype=None:
                     table.reduce(kind, x, axes, keepdims, dtype or table.dtype_of(x)), pullback, keeps,
                     linear=linear, flops=flops.merged)


def _pull_sum(ops: Any, info: Info, g: Any, axes: shapes.Shape, keepdims: bool, dtype: Any = None) -> tuple:
    shape = info.shape(0)
    g = g if keepdims or len(axes) == len(shape) else spread(ops, info, g, axes)       # 0-d broadcasts as it is
    return (ops.broadcast_to(g, shape=shape),)


def _pull_nansum(ops: Any, info: Info, g: Any, x: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    return (ops.if_number(x, spread(ops, info, g, axes)),)


def _pull_prod(ops: Any, info: Info, g: Any, x: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    """g times the product of all others, by a tree of products: no division, so that zeros need no care.

    Made of ops, it can be differentiated to any order.
    """
    shape = info.shape(0)
    if 0 in shape:
        return (ops.zeros(shape, g),)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    moved = tuple([shape[axis] for axis in (*kept, *axes)])
    outer = moved[:len(kept)]
    x = ops.conjugate(x) if info.dtype(0).kind == "c" else x
    rows = ops.reshape(ops.permute(x, axes=(*kept, *axes)), shape=(*outer, shapes.product(moved[len(kept):])))
    g = _times_others(ops, rows, ops.reshape(g, shape=(*outer, 1)))
    return (ops.permute(ops.reshape(g, shape=moved), axes=shapes.inverse_permutation((*kept, *axes))),)


def _times_others(ops: Any, rows: Any, g: Any) -> Any:
    """g times the product of the other elements of its row, for each element."""
    levels = [rows]
    while levels[-1].shape[-1] > 1:
        left, right, rest = _halves(ops, levels[-1])
        levels.append(_joined(ops, [ops.multiply(left, right), rest]))
    for level in reversed(levels[:-1]):
        left, right, rest = _halves(ops, level)
        half = left.shape[-1]
        above, last = _part(ops, g, 0, half), _part(ops, g, half, g.shape[-1]) if rest is not None else None
        g = _joined(ops, [ops.multiply(above, right), ops.multiply(above, left), last])
    return g


def _halves(ops: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Two equal parts of each row, and its last element where the number is odd."""
    count = rows.shape[-1]
    half = count // 2
    return (_part(ops, rows, 0, half), _part(ops, rows, half, 2 * half),
            _part(ops, rows, 2 * half, count) if count % 2 else None)


def _part(ops: Any, rows: Any, start: int, stop: int) -> Any:
    return ops.view(rows, steps=(Slice((..., slice(start, stop))),))


def _joined(ops: Any, parts: list[Any]) -> Any:
    parts = [part for part in parts if part is not None]
    return parts[0] if len(parts) == 1 else ops.concatenate(*parts, axis=len(parts[0].shape) - 1)


def _pull_nanprod(ops: Any, info: Info, g: Any, x: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    return (ops.if_number(x, _pull_prod(ops, info, g, ops.number_or_one(x), axes, keepdims)[0]),)


sum_of, prod_of = _total("sum", _pull_sum, linear=ALL), _total("prod", _pull_prod, (0,))
nansum_of, nanprod_of = _total("nansum", _pull_nansum, (0,)), _total("nanprod", _pull_nanprod, (0,))


def _shared(ops: Any, info: Info, g: Any, mask: Any, axes: shapes.Shape) -> tuple:
    """The gradient, shared evenly among equals."""
    count = ops.sum(ops.cast(mask, dtype=real_dtype(info.dtype(0))), axes=axes, keepdims=True)
    return (ops.share_of(mask, spread(ops, info, g, axes), count),)


def _pull_extreme(ops: Any, info: Info, g: Any, x: Any, y: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    return _shared(ops, info, g, ops.same_or_nan(x, spread(ops, info, y, axes)), axes)


def _pull_nan_extreme(ops: Any, info: Info, g: Any, x: Any, y: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    """NaN is passed over, also where there is nothing else."""
    return _shared(ops, info, g, ops.equal(x, spread(ops, info, y, axes)), axes)


def _on_host(table: Any, entry: str, kind: str, x: Any, *arguments: Any) -> Any:
    """The order of complex numbers, by real and then by imaginary part, is NumPy's alone."""
    host = getattr(backend.table("cpu"), entry)(kind, table.to_numpy(x), *arguments)
    return table.from_numpy(np.asarray(host))


def _extreme(kind: str, pullback: Callable) -> Primitive:
    def forward(table: Any, x: Any, axes: shapes.Shape, keepdims: bool) -> Any:
        dtype = table.dtype_of(x)
        if dtype.kind == "c":
            return _on_host(table, "reduce", kind, x, axes, keepdims, dtype)
        return table.reduce(kind, x, axes, keepdims, dtype)
    return Primitive(kind, forward, pullback, keeps=(0, RESULT))


def _arg_extreme(kind: str) -> Primitive:
    def forward(table: Any, x: Any, axis: int, keepdims: bool) -> Any:
        if table.dtype_of(x).kind == "c":
            return _on_host(table, "arg_reduce", kind, x, axis, keepdims)
        return table.arg_reduce(kind, x, axis, keepdims)
    return Primitive(f"arg{kind}", forward, None)


def _question(kind: str, dtype: np.dtype) -> Primitive:
    return Primitive(kind, lambda table, x, axes, keepdims: table.reduce(kind, x, axes, keepdims, dtype), None)


max_of, min_of = [_extreme(kind, _pull_extreme) for kind in ("max", "min")]
nanmax_of, nanmin_of = [_extreme(kind, _pull_nan_extreme) for kind in ("nanmax", "nanmin")]
argmax_of, argmin_of = _arg_extreme("max"), _arg_extreme("min")
any_of, all_of = _question("any", dtypes.BOOL), _question("all", dtypes.BOOL)
count_nonzero_of, count_numbers_of = [_question(kind, dtypes.INT64) for kind in ("count_nonzero", "count_numbers")]
logsumexp_of = Primitive(
    "logsumexp", lambda table, x, axes, keepdims: table.logsumexp(x, axes, keepdims),
    lambda ops, info, g, x, y, axes, keepdims: (ops.multiply(
        spread(ops, info, g, axes), ops.exp_difference(x, spread(ops, info, y, axes))),), keeps=(0, RESULT),
    flops=flops.per_input(flops.EXP + 2))
