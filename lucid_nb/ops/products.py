"""Products made of others: Kronecker's, cross products, traces and chains of matrices."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from .. import shapes
from ..array import Tensor
from ..errors import LinAlgError, ShapeError
from ..expr import Expr, Vocabulary
from ..register import public, record
from ..shapes import Shape
from . import reduction
from .contraction import contract, promoted
from .diagonal import diagonal
from .joining import stack
from .linalg import dot
from .movement import as_tensor, deliver, reshape


@public()
def kron(a: Any, b: Any) -> Tensor:
    """Kronecker's product: each element of a replaced by its multiple of b. Missing first axes have size 1.

    >>> import lucid_nb as lnb
    >>> lnb.kron([1, 10], [1, 2, 3])
    tensor([ 1,  2,  3, 10, 20, 30])
    """
    a, b = promoted("kron", (a, b))
    ndim = max(a.ndim, b.ndim)
    first, second = [(1,) * (ndim - x.ndim) + x.shape for x in (a, b)]
    left, right = [tuple([(side, axis) for axis in range(ndim)]) for side in "ab"]
    found = contract(reshape(a, first), left, reshape(b, second), right, tuple([x for both in zip(left, right)
                                                                               for x in both]))
    return reshape(found, tuple([m * n for m, n in zip(first, second)]))


@public()
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Tensor:
    """The sum of a diagonal of two axes, in the dtype of `sum`; `offset` counts to the right of the main diagonal.

    >>> import lucid_nb as lnb
    >>> lnb.trace([[1, 2], [3, 4]]).item()
    5
    """
    a = as_tensor("trace", a)
    if a.ndim < 2:
        raise ShapeError(f"trace: needs two axes, the shape is {a.shape}. Reshape it.")
    return deliver("trace", reduction.sum(diagonal(a, offset, axis1, axis2), -1, dtype), out)


# -------------------------------------------------------------------------------------------- cross products
@record(6, bools=False, complexes=True, published=False)
def cross_components(m: Vocabulary, a: Expr, b: Expr, c: Expr, x: Expr, y: Expr, z: Expr) -> tuple[Expr, ...]:
    """The components of the cross product of (a, b, c) and (x, y, z)."""
    return b * z - c * y, c * x - a * z, a * y - b * x


@record(4, bools=False, complexes=True, published=False)
def cross_component(m: Vocabulary, a: Expr, b: Expr, x: Expr, y: Expr) -> Expr:
    """The third component of the cross product of (a, b, 0) and (x, y, 0)."""
    return a * y - b * x


@public()
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Tensor:
    """The vector across two vectors of three components, each on an axis of its own; the other axes broadcast.

    `axis` stands for all of axisa, axisb and axisc. Of two components the third is 0; of two vectors of two the result
    is the third component alone.

    >>> import lucid_nb as lnb
    >>> lnb.cross([1, 0, 0], [0, 1, 0])
    tensor([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    parts = [_components(x, axis) for x, axis in zip(promoted("cross", (a, b)), (axisa, axisb))]
    if len(parts[0]) == len(parts[1]) == 2:
        return cross_component(*parts[0], *parts[1])
    first, second = [(*part, 0) if len(part) == 2 else part for part in parts]
    found = cross_components(*first, *second)
    return stack(found, shapes.normalize_axis("cross", axisc, found[0].ndim + 1))


def _components(x: Tensor, axis: int) -> tuple[Tensor, ...]:
    """The vectors' components, as views."""
    if x.ndim == 0:
        raise ShapeError("cross: a 0-d operand is no vector. Give arrays of two or three components.")
    axis = shapes.normalize_axis("cross", axis, x.ndim)
    if x.shape[axis] not in (2, 3):
        raise ShapeError(f"cross: axis {axis} of shape {x.shape} has size {x.shape[axis]}. Vectors have 2 or 3 "
                         "components: choose another axis.")
    return tuple([x[(slice(None),) * axis + (number, ...)] for number in range(x.shape[axis])])


# ---------------------------------------------------------------------------------------------------- chains
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Tensor:
    """The product of two or more matrices in the order that takes the fewest multiplications; ends may be vectors.

    Source: T. Cormen, C. Leiserson, R. Rivest, Introduction to Algorithms, section 15.2.

    >>> import lucid_nb as lnb
    >>> from lucid_nb.linalg import multi_dot
    >>> multi_dot([lnb.ones((2, 3)), lnb.ones((3, 4)), lnb.ones(4)])
    tensor([12., 12.])
    """
    if len(arrays) < 2:
        raise ShapeError(f"multi_dot: {len(arrays)} array. Give two or more.")
    tensors = promoted("multi_dot", list(arrays))
    for number, x in enumerate(tensors):
        if x.ndim != 2 and not (x.ndim == 1 and number in (0, len(tensors) - 1)):
            raise LinAlgError(f"multi_dot: array {number} of {len(tensors)} has shape {x.shape}. Give matrices; only "
                              "the first and the last may be vectors.")
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    tensors[0] = reshape(tensors[0], 1, -1) if row else tensors[0]
    tensors[-1] = reshape(tensors[-1], -1, 1) if column else tensors[-1]
    found = _chain(tensors, _splits(tuple([x.shape[0] for x in tensors] + [tensors[-1].shape[1]])), 0, len(tensors) - 1)
    shape = found.shape[row:] if not column else found.shape[row:1]
    return deliver("multi_dot", reshape(found, shape) if row or column else found, out)


@lru_cache(256)
def _splits(sizes: Shape) -> dict[tuple[int, int], int]:
    """{(first, last): the matrix after which the chain from first to last is split}."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs = [cost[first, k] + cost[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1]
                     for k in range(first, last)]
            cost[first, last] = min(costs)
            split[first, last] = first + costs.index(cost[first, last])
    return split


def _chain(tensors: Sequence[Tensor], split: dict[tuple[int, int], int], first: int, last: int) -> Tensor:
    if first == last:
        return tensors[first]
    middle = split[first, last]
    return dot(_chain(tensors, split, first, middle), _chain(tensors, split, middle + 1, last))
