"""Contraction: products of two arrays summed over the axes that they share, as one matrix product.

The axes of the operands and of the result carry labels. What both have and the result has not is summed; what both and
the result have is a batch. The gradient of a contraction is a contraction of the same labels, to any order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import dtypes, flops
from ..apply import apply, operands
from ..array import Tensor, fresh
from ..backend import Table, of
from ..errors import ShapeError
from ..op import Info, Primitive, constant, registry
from ..shapes import Shape, product
from . import reduction
from .movement import astype, check_cast, reshape

Label = Any              # a letter, or a number that orders what broadcasts
Labels = tuple[Label, ...]
Order = tuple[int, ...] | None
LOOPED = 24          # sums up to this length are faster as products and a reduction than as one BLAS call each
SMALL_BATCH = 16     # unless there are few of them


@dataclass(frozen=True)
class Layout:
    """How a pair becomes a matrix product: orders of axes (None where they stay), and how many axes each has."""

    left: Order          # of (*batch, *rows, *summed), taken from the right operand where `is_swapped`
    right: Order         # of (*batch, *summed, *cols)
    result: Order        # of the result's labels, from (*batch, *rows, *cols)
    counts: tuple[int, int, int, int]
    is_swapped: bool


@dataclass(frozen=True)
class Pair:
    """The labels of two operands and of their contraction, and which of the two are conjugated.

    A label stands once in each, and what is in neither the other operand nor the result must have been summed before.
    """

    left: Labels
    right: Labels
    result: Labels
    conjugates: tuple[bool, bool] = (False, False)

    @cached_property
    def layouts(self) -> tuple[Layout, Layout]:
        """Sums in the order of the left and of the right operand's axes, which is then not copied."""
        return self._layout(self.left, self.right), self._layout(self.right, self.left)

    def _layout(self, first: Labels, second: Labels) -> Layout:
        left, right, result = self.left, self.right, self.result
        rows, cols = tuple([x for x in left if x not in right]), tuple([x for x in right if x not in left])
        summed = tuple([x for x in first if x in second and x not in result])
        batch = tuple([x for x in result if x in left and x in right])
        is_swapped = bool(rows and cols) and result.index(cols[0]) < result.index(rows[0])
        if is_swapped:
            left, right, rows, cols = right, left, cols, rows
        return Layout(_order(left, (*batch, *rows, *summed)), _order(right, (*batch, *summed, *cols)),
                      _order((*batch, *rows, *cols), result),
                      (len(batch), len(rows), len(summed), len(cols)), is_swapped)


def _order(labels: Labels, wanted: Labels) -> Order:
    """The permutation that brings labels into an order."""
    return None if labels == wanted else tuple([labels.index(label) for label in wanted])


# ---------------------------------------------------------------------------------------------- primitive
def _spread(table: Table, x: Any, labels: Labels, wanted: Labels) -> Any:
    """The axes in the order of `wanted`; where it has a label more, an axis of size 1."""
    order = _order(labels, tuple([label for label in wanted if label in labels]))
    x = x if order is None else table.permute(x, order)
    if len(wanted) == len(labels):
        return x
    return table.slice(x, tuple([slice(None) if label in labels else None for label in wanted]))


def _forward(table: Table, a: Any, b: Any, pair: Pair) -> Any:
    if pair.conjugates != (False, False) and table.dtype_of(a).kind == "c":
        a, b = [registry["conjugate"].run((x,)) if wanted else x for x, wanted in zip((a, b), pair.conjugates)]
    layout = pair.layouts[a.size < b.size]
    batch, rows, inner, cols = layout.counts
    if not inner:
        return registry["multiply"].run([_spread(table, a, pair.left, pair.result),
                                         _spread(table, b, pair.right, pair.result)])
    if layout.is_swapped:
        a, b = b, a
    a = a if layout.left is None else table.permute(a, layout.left)
    b = b if layout.right is None else table.permute(b, layout.right)
    if not (rows or cols) and _is_short(table, a, batch):
        found = registry["multiply"].run([a, b])
        return table.reduce("sum", found, tuple(range(batch, batch + inner)), False, table.dtype_of(found))
    found = _product(table, a, b, layout.counts)
    return found if layout.result is None else table.permute(found, layout.result)


def _is_short(table: Table, a: Any, batch: int) -> bool:
    """Are there many short sums? (Narrow floats are summed in float32, and bool has no sum.)"""
    return (table.dtype_of(a).itemsize > 2 and product(tuple(a.shape[batch:])) <= LOOPED
            and product(tuple(a.shape[:batch])) >= SMALL_BATCH)


def _product(table: Table, a: Any, b: Any, counts: tuple[int, int, int, int]) -> Any:
    """One matrix product of (*batch, *rows, *summed) and (*batch, *summed, *cols): (*batch, *rows, *cols)."""
    batch, rows, inner, cols = counts
    left, right = tuple(a.shape), tuple(b.shape)
    outer, result = left[:batch], (*left[:batch + rows], *right[batch + inner:])
    depth = product(right[batch:batch + inner])
    if rows != 1 or inner != 1:
        a = table.reshape(a, (*outer, product(left[batch:batch + rows]), depth))
    if cols != 1 or inner != 1:
        b = table.reshape(b, (*outer, depth, product(right[batch + inner:])))
    found = table.matmul(a, b)
    return found if rows == cols == 1 else table.reshape(found, result)


def _pull(ops: Any, info: Info, g: Any, a: Any, b: Any, pair: Pair) -> tuple:
    """In PyTorch's convention: of a b the gradients are g conj(b) and g conj(a), of conj(a) b they are conj(g) b ..."""
    of_a, of_b = info.wanted
    first, second = pair.conjugates
    other = first == second
    return (ops.contract(g, b, pair=Pair(pair.result, pair.right, pair.left, (first, other))) if of_a else None,
            ops.contract(g, a, pair=Pair(pair.result, pair.left, pair.right, (second, other))) if of_b else None)


contraction = Primitive("contract", _forward, _pull, keeps=(0, 1), flops=flops.contraction, linear=((0,), (1,)))


# ---------------------------------------------------------------------------------------------- functions
def promoted(op: str, values: Sequence[Any], dtype: Any = None, casting: str = "same_kind") -> list[Tensor]:
    """The operands as tensors of their common dtype, or of `dtype`; Python scalars are weak."""
    found = operands(op, values)
    given = tuple([x.dtype if isinstance(x, Tensor) else type(x) for x in found])
    if dtype is None and all([one is given[0] for one in given]):
        return found
    table = next(of(x.raw) for x in found if isinstance(x, Tensor))
    wanted = dtypes.promote(given, table.device)
    if dtype is not None:
        wanted = dtypes.as_dtype(op, dtype)
        for x in found:
            if isinstance(x, Tensor):
                check_cast(op, x.dtype, wanted, casting)
    return [astype(x, wanted, copy=False) if isinstance(x, Tensor) else fresh(constant(op, x, wanted, table))
            for x in found]


def summed(x: Tensor, axes: Shape) -> Tensor:
    """The sum over axes in the dtype of x: NumPy's "any" of bools."""
    return reduction.any(x, axes) if x.dtype.kind == "b" else reduction.sum(x, axes, x.dtype)


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


def _needed(x: Tensor, labels: Labels, others: Labels) -> tuple[Tensor, Labels]:
    """The sum over the axes whose labels nothing else has."""
    axes = tuple([axis for axis, label in enumerate(labels) if label not in others])
    return (summed(x, axes), tuple([label for label in labels if label in others])) if axes else (x, labels)


def contract(a: Tensor, left: Labels, b: Tensor, right: Labels, result: Labels,
             conjugates: tuple[bool, bool] = (False, False)) -> Tensor:
    """The contraction of two tensors of one dtype to the axes of `result`; sizes must agree or be 1."""
    sizes = common_sizes("contract", (left, right), (a.shape, b.shape))
    (a, left), (b, right) = narrowed(a, left, sizes), narrowed(b, right, sizes)
    (a, left), (b, right) = _needed(a, left, (*right, *result)), _needed(b, right, (*left, *result))
    return apply(contraction, (a, b), {"pair": Pair(left, right, result, conjugates)})
