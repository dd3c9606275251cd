"""Contraction: products of two arrays summed over the axes that they share, as one matrix product.

The axes of the operands and of the result carry labels. What both have and the result has not is summed; what both and
the result have is a batch. The gradient of a contraction is a contraction of the same labels, to any order.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .. import dtypes, shapes
from ..apply import apply, operands
from ..array import Tensor, fresh
from ..backend import Table, of
from ..errors import ShapeError
from ..op import Info, Primitive, constant, registry
from ..shapes import Shape
from . import reduction
from .movement import astype, check_cast, permute_dims, reshape

Label = Any              # a letter, or a number that orders what broadcasts
Labels = tuple[Label, ...]
LOOPED = 24          # sums up to this length are faster as products and a reduction than as one BLAS call each
SMALL_BATCH = 16     # unless there are few of them


@dataclass(frozen=True)
class Pair:
    """The labels of two operands and of their contraction, and which of the two are conjugated.

    A label stands once in each, and what is in neither the other operand nor the result must have been summed before.
    """

    left: Labels
    right: Labels
    result: Labels
    conjugates: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class Groups:
    """The labels of a pair by what becomes of them; `is_swapped`: the right operand gives the rows."""

    batch: Labels
    rows: Labels
    summed: Labels
    cols: Labels
    is_swapped: bool


@lru_cache(4096)
def _groups(pair: Pair, follows_right: bool) -> Groups:
    """`follows_right`: sum in the order of the right operand's axes, which is then not copied."""
    left, right, result = pair.left, pair.right, pair.result
    rows, cols = tuple(x for x in left if x not in right), tuple(x for x in right if x not in left)
    first, second = (right, left) if follows_right else (left, right)
    summed = tuple(x for x in first if x in second and x not in result)
    batch = tuple(x for x in result if x in left and x in right)
    is_swapped = bool(rows and cols) and result.index(cols[0]) < result.index(rows[0])
    return Groups(batch, cols, summed, rows, True) if is_swapped else Groups(batch, rows, summed, cols, False)


# ---------------------------------------------------------------------------------------------- primitive
def _ordered(table: Table, x: Any, labels: Labels, wanted: Labels) -> Any:
    """The axes in the order of `wanted`; where it has a label more, an axis of size 1."""
    order = tuple([labels.index(label) for label in wanted if label in labels])
    x = x if order == tuple(range(len(order))) else table.permute(x, order)
    if len(wanted) == len(labels):
        return x
    return table.slice(x, tuple([slice(None) if label in labels else None for label in wanted]))


def _forward(table: Table, a: Any, b: Any, pair: Pair) -> Any:
    if table.dtype_of(a).kind == "c":
        a, b = [registry["conjugate"].run((x,)) if wanted else x for x, wanted in zip((a, b), pair.conjugates)]
    groups = _groups(pair, a.size < b.size)
    if not groups.summed:
        return registry["multiply"].run([_ordered(table, a, pair.left, pair.result),
                                         _ordered(table, b, pair.right, pair.result)])
    sizes = dict(zip((*pair.left, *pair.right), (*a.shape, *b.shape)))
    if not (groups.rows or groups.cols) and _is_short(table, a, groups, sizes):
        order = (*groups.batch, *groups.summed)
        found = registry["multiply"].run([_ordered(table, a, pair.left, order), _ordered(table, b, pair.right, order)])
        axes = tuple(range(len(groups.batch), len(order)))
        return table.reduce("sum", found, axes, False, table.dtype_of(found))
    found = _product(table, a, b, pair, groups, sizes)
    return _ordered(table, found, (*groups.batch, *groups.rows, *groups.cols), pair.result)


def _is_short(table: Table, a: Any, groups: Groups, sizes: dict) -> bool:
    """Are there many short sums? (Narrow floats are summed in float32, and bool has no sum.)"""
    return (table.dtype_of(a).itemsize > 2 and shapes.product(tuple([sizes[x] for x in groups.summed])) <= LOOPED
            and shapes.product(tuple([sizes[x] for x in groups.batch])) >= SMALL_BATCH)


def _product(table: Table, a: Any, b: Any, pair: Pair, groups: Groups, sizes: dict) -> Any:
    """One matrix product, of shape (*batch, *rows, *cols)."""
    left, right = pair.left, pair.right
    if groups.is_swapped:
        a, b, left, right = b, a, right, left
    batch, rows, summed, cols = [tuple([sizes[label] for label in labels])
                                 for labels in (groups.batch, groups.rows, groups.summed, groups.cols)]
    inner = shapes.product(summed)
    a = _shaped(table, _ordered(table, a, left, (*groups.batch, *groups.rows, *groups.summed)),
                (*batch, shapes.product(rows), inner))
    b = _shaped(table, _ordered(table, b, right, (*groups.batch, *groups.summed, *groups.cols)),
                (*batch, inner, shapes.product(cols)))
    return _shaped(table, table.matmul(a, b), (*batch, *rows, *cols))


def _shaped(table: Table, x: Any, shape: Shape) -> Any:
    return x if tuple(x.shape) == shape else table.reshape(x, shape)


def _pull(ops: Any, info: Info, g: Any, a: Any, b: Any, pair: Pair) -> tuple:
    """In PyTorch's convention: of a b the gradients are g conj(b) and g conj(a), of conj(a) b they are conj(g) b ..."""
    of_a, of_b = info.wanted
    first, second = pair.conjugates
    other = first == second
    return (ops.contract(g, b, pair=Pair(pair.result, pair.right, pair.left, (first, other))) if of_a else None,
            ops.contract(g, a, pair=Pair(pair.result, pair.left, pair.right, (second, other))) if of_b else None)


_contract = Primitive("contract", _forward, _pull, keeps=(0, 1))


# ---------------------------------------------------------------------------------------------- functions
def promoted(op: str, values: Sequence[Any], dtype: Any = None, casting: str = "same_kind") -> list[Tensor]:
    """The operands as tensors of their common dtype, or of `dtype`; Python scalars are weak."""
    found = operands(op, values)
    wanted = dtypes.promote(tuple([x.dtype if isinstance(x, Tensor) else type(x) for x in found]))
    if dtype is not None:
        wanted = dtypes.as_dtype(op, dtype)
        for x in found:
            if isinstance(x, Tensor):
                check_cast(op, x.dtype, wanted, casting)
    table = next(of(x.raw) for x in found if isinstance(x, Tensor))
    return [astype(x, wanted, copy=False) if isinstance(x, Tensor) else fresh(constant(op, x, wanted, table))
            for x in found]


def summed(x: Tensor, labels: Labels, kept: Collection[Label]) -> tuple[Tensor, Labels]:
    """The sum over the axes whose labels are not kept, in the dtype of x (NumPy's "any" of bools), and the others."""
    axes = tuple([axis for axis, label in enumerate(labels) if label not in kept])
    if not axes:
        return x, labels
    found = reduction.any(x, axes) if x.dtype.kind == "b" else reduction.sum(x, axes, x.dtype)
    return found, tuple([label for label in labels if label in kept])


def permuted(x: Tensor, labels: Labels, wanted: Labels) -> Tensor:
    """The axes in the order of `wanted`, as a view."""
    return x if labels == wanted else permute_dims(x, [labels.index(label) for label in wanted])


def common_sizes(op: str, terms: Sequence[Labels], given: Sequence[Shape]) -> dict[Label, int]:
    """The size of each label; an axis of size 1 broadcasts, other sizes must agree."""
    sizes: dict[Label, int] = {}
    for labels, shape in zip(terms, given):
        for label, size in zip(labels, shape):
            if sizes.setdefault(label, size) in (1, size):
                sizes[label] = size
            elif size != 1:
                name = f"axis {label!r}" if isinstance(label, str) else "an axis of '...'"
                raise ShapeError(f"{op}: {name} has sizes {sizes[label]} and {size} (shapes "
                                 f"{' and '.join(map(str, given))}). Make them equal, or one of them 1.")
    return sizes


def narrowed(x: Tensor, labels: Labels, sizes: dict[Label, int]) -> tuple[Tensor, Labels]:
    """Without the axes of size 1 that are larger in another operand: there the label stays."""
    kept = [axis for axis, label in enumerate(labels) if x.shape[axis] == sizes[label]]
    if len(kept) == len(labels):
        return x, labels
    return reshape(x, tuple([x.shape[axis] for axis in kept])), tuple([labels[axis] for axis in kept])


def contract(a: Tensor, left: Labels, b: Tensor, right: Labels, result: Labels,
             conjugates: tuple[bool, bool] = (False, False)) -> Tensor:
    """The contraction of two tensors of one dtype to the axes of `result`; sizes must agree or be 1."""
    sizes = common_sizes("contract", (left, right), (a.shape, b.shape))
    (a, left), (b, right) = narrowed(a, left, sizes), narrowed(b, right, sizes)
    (a, left), (b, right) = summed(a, left, {*right, *result}), summed(b, right, {*left, *result})
    return apply(_contract, (a, b), {"pair": Pair(left, right, result, conjugates)})
