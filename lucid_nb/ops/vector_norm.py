"""Norms of vectors and matrices. At 0 their gradient is 0, and so is that of their square."""

from typing import Any

import numpy as np

from .. import backend, dtypes, flops, shapes
from ..apply import apply
from ..array import Tensor
from ..errors import ShapeError
from ..expr import Expr, Vocabulary
from ..op import RESULT, Info, Primitive, registry
from ..register import functions, short
from .movement import as_tensor, astype, permute_dims
from .reducers import internal, real_dtype, spread
from .reduction import Axis, count_nonzero, extent, max, min, sum
from .spectral import singular_values

Order = float | str | None
INFINITY = float("inf")


# ---------------------------------------------------------------------------------------------- primitives
def _along_unit(m: Vocabulary, x: Expr, size: Expr, g: Expr) -> Expr:
    """g times x / size; 0 where size is, with all derivatives: the gradient jumps there, and has no slope."""
    return m.absorbing_product(g, m.where(size == 0, 0, m.absorbing_quotient(x, size)))


def _along_sign(m: Vocabulary, x: Expr, g: Expr) -> Expr:
    """g with the sign of x, 0 at 0."""
    return m.absorbing_product(g, m.sign(x))


internal(_along_unit, 3)
internal(_along_sign, 2)


def _root_of_squares(table: Any, x: Any, axes: shapes.Shape, keepdims: bool) -> Any:
    """The Euclidean norm; on the cpu squares are summed in float64, so that those of float32 do not overflow."""
    dtype = table.dtype_of(x)
    wide = dtypes.FLOAT64 if table.device == "cpu" else dtypes.FLOAT32 if dtype.itemsize == 2 else dtype
    squares = table.reduce("squares", x, axes, keepdims, wide)
    is_number = type(squares) is np.ndarray and not squares.ndim           # for which our machinery takes long
    return table.cast(np.asarray(np.sqrt(squares)) if is_number else registry["sqrt"].run((squares,)), dtype)


def _pull_euclidean(ops: Any, info: Info, g: Any, x: Any, y: Any, axes: shapes.Shape, keepdims: bool) -> tuple:
    return (ops.along_unit(x, spread(ops, info, y, axes), spread(ops, info, g, axes)),)


_euclidean = Primitive("euclidean_norm", _root_of_squares, _pull_euclidean, keeps=(0, RESULT), flops=flops.square_sums)
_sum_of_sizes = Primitive(
    "sum_of_sizes", lambda table, x, axes, keepdims: table.reduce("sizes", x, axes, keepdims, table.dtype_of(x)),
    lambda ops, info, g, x, axes, keepdims: (ops.along_sign(x, spread(ops, info, g, axes)),), keeps=(0,),
    flops=flops.per_input(2))


# -------------------------------------------------------------------------------------------------- orders
def _operand(op: str, x: Any) -> Tensor:
    """Integers are taken for float64, as in NumPy."""
    x = as_tensor(op, x)
    return x if dtypes.is_inexact(x.dtype) else astype(x, dtypes.on_device(dtypes.FLOAT64, x.device))


def _sizes(x: Tensor) -> Tensor:
    """Absolute values of complex numbers; what follows takes the sizes of real ones itself."""
    return functions["absolute"](x) if x.dtype.kind == "c" else x


def _of_vectors(op: str, x: Tensor, order: Order, axes: shapes.Shape, keepdims: bool) -> Tensor:
    """The vector norm over at least one axis."""
    how = {"axes": axes, "keepdims": keepdims}
    if isinstance(order, str):
        raise ShapeError(f"{op}: Invalid norm order {order!r} for vectors. Use a number, inf, or -inf.")
    if order == 2:
        return apply(_euclidean, (_sizes(x),), how)
    if order == 1:
        return apply(_sum_of_sizes, (_sizes(x),), how)
    if order == 0:
        return astype(count_nonzero(x, axes, keepdims=keepdims), real_dtype(x.dtype))
    size = functions["absolute"](x)
    if order == INFINITY:
        return max(size, axes, keepdims=keepdims, initial=None if extent(x, axes) else 0)
    if order == -INFINITY:
        return min(size, axes, keepdims=keepdims)
    return sum(size ** order, axes, keepdims=keepdims) ** (1 / order)       # type: ignore[operator]


def _of_matrices(op: str, x: Tensor, order: Order, axes: shapes.Shape, keepdims: bool) -> Tensor:
    """The matrix norm over two axes, of rows and of columns."""
    row, column = axes
    if order in ("fro", "f"):
        return apply(_euclidean, (_sizes(x),), {"axes": axes, "keepdims": keepdims})
    if order == "nuc" or order in (2, -2):
        moved = permute_dims(x, (*[a for a in range(x.ndim) if a not in axes], row, column))
        wide = dtypes.FLOAT32 if x.dtype.itemsize == 2 else x.dtype        # LAPACK has no half precision
        values = apply(singular_values, (astype(moved, wide, copy=False),), {"op": op, "linear": True})
        found = astype(values, real_dtype(x.dtype), copy=False)
        last = found.ndim - 1
        found = sum(found, last) if order == "nuc" else \
            min(found, last) if order == -2 else max(found, last, initial=None if found.shape[-1] else 0)
        return found.reshape(shapes.reduced_shape(x.shape, axes, True)) if keepdims else found
    if order not in (1, -1, INFINITY, -INFINITY):
        raise ShapeError(f"{op}: Invalid norm order {order!r} for matrices. Use 'fro', 'nuc', 1, 2, inf, or one with "
                         "the sign changed.")
    summed, other = (row, column) if order in (1, -1) else (column, row)
    totals = apply(_sum_of_sizes, (_sizes(x),), {"axes": (summed,), "keepdims": True})
    pick = max(totals, other, keepdims=True, initial=None if x.shape[other] else 0) if order in (1, INFINITY) else \
        min(totals, other, keepdims=True)
    return pick if keepdims else pick.reshape(shapes.reduced_shape(x.shape, axes, False))


# ----------------------------------------------------------------------------------------------- functions
def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """Norm of vectors along axes, which are taken as one (all of them by default).

    `ord`: 2 is the Euclidean norm, p the p-th root of the sum of p-th powers of sizes, inf and -inf the largest and the
    smallest size, 0 the number of elements that are not 0 (it has no gradient). Integers are taken for float64.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.vector_norm(lnb.tensor([3.0, 4.0]))
    tensor(5.)
    """
    x = _operand("vector_norm", x)
    axes = shapes.normalize_axes("vector_norm", axis, x.ndim)
    if axes:
        return _of_vectors("vector_norm", x, ord, axes, keepdims)
    return _of_vectors("vector_norm", x.reshape((*x.shape, 1)), ord, (x.ndim,), False)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: float | str = "fro") -> Tensor:
    """Norm of the matrices of the last two axes.

    `ord`: "fro" is the Frobenius norm, "nuc" the sum of singular values, 2 and -2 the largest and the smallest of them
    (of these, gradients go to second order), 1 and -1 the largest and smallest sum of sizes in a column, inf and -inf
    in a row.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.matrix_norm(lnb.tensor([[1.0, 2.0], [3.0, 4.0]]), ord=1)
    tensor(6.)
    """
    x = _operand("matrix_norm", x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm: needs two axes, the shape is {x.shape}. Reshape it.")
    return _of_matrices("matrix_norm", x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


def norm(x: Any, ord: Order = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """NumPy's norm: of vectors along one axis, of matrices along two; without `ord` the root of the sum of squares.

    `ord` is that of `vector_norm` or `matrix_norm`. Without `axis`, x is one vector or one matrix; without both, its
    elements are taken as one vector, whatever its shape.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.norm(lnb.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if ord is axis is None and not keepdims and (raw := short.small(x)) is not None and raw.dtype.kind == "f":
        return short.made(_root_of_squares(backend.of(raw), raw, tuple(range(raw.ndim)), False))
    x = _operand("norm", x)
    axes = shapes.normalize_axes("norm", axis, x.ndim)
    if ord is None and axis is None:
        return vector_norm(x, axis=axes, keepdims=keepdims)
    if len(axes) == 1:
        return _of_vectors("norm", x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _of_matrices("norm", x, "fro" if ord is None else ord, axes, keepdims)
    raise ShapeError(f"norm: {len(axes)} axes of shape {x.shape}. Give one axis for vectors, or two for matrices.")
