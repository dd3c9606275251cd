"""Inverses, and solutions of systems of linear equations."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import flops, shapes
from ..apply import apply
from ..array import Tensor
from ..errors import LinAlgError, ShapeError
from ..op import RESULT, Info
from ..register import short
from ..shapes import product as product_of
from ..storage import Slice
from .axes import moveaxis
from .lapack import (
    adjoint,
    as_row,
    as_tensors,
    hermitian_part,
    matrices,
    primitive,
    product,
    together,
    total,
)
from .movement import as_tensor, reshape

COLUMN, FIRST = Slice((..., None)), Slice((..., 0))       # a vector as a matrix of one column, and back
UNSET = object()        # stands where NumPy tells what was left out from None


# ---------------------------------------------------------------------------------------------- primitives
def pull_inv(ops: Any, info: Info, g: Any, found: Any) -> tuple:
    """The gradient of an inverse."""
    turned = adjoint(ops, found)
    return (ops.negative(product(ops, turned, g, turned)),)


def _pull_solve(ops: Any, info: Info, g: Any, a: Any, found: Any) -> tuple:
    by_b = ops.solve(adjoint(ops, a), g)
    return (ops.negative(product(ops, by_b, adjoint(ops, found))) if info.wanted[0] else None, by_b)


def _pull_solve_triangular(ops: Any, info: Info, g: Any, a: Any, found: Any, lower: bool, unit: bool,
                           finite: bool = False) -> tuple:
    by_b = ops.solve_triangular(adjoint(ops, a), g, lower=not lower, unit=unit)
    part = ("strictly_" if unit else "") + ("lower" if lower else "upper")
    by_a = ops.triangle(product(ops, by_b, adjoint(ops, found)), part=part) if info.wanted[0] else None
    return (None if by_a is None else ops.negative(by_a)), by_b


def _pull_pinv(ops: Any, info: Info, g: Any, a: Any, found: Any, rtol: Any, hermitian: bool) -> tuple:
    """Of matrices of one rank: G. Golub and V. Pereyra, SIAM Journal on Numerical Analysis 10, 1973, theorem 4.3."""
    turned, g_turned = adjoint(ops, found), adjoint(ops, g)
    left = product(ops, g_turned, found, turned)
    right = product(ops, turned, found, g_turned)
    by_a = total(ops, ops.negative(product(ops, turned, g, turned)),
                 ops.subtract(left, product(ops, a, found, left)), ops.subtract(right, product(ops, right, found, a)))
    return (hermitian_part(ops, by_a) if hermitian else by_a,)


def _pull_lstsq(ops: Any, info: Info, g: dict[int, Any], a: Any, b: Any, found: Any, rcond: float | None) -> tuple:
    """Of the solution by the pseudo-inverse, of sums of squares by what is left, of singular values by vectors."""
    left = ops.subtract(b, product(ops, a, found))
    by_a = by_b = None
    if 0 in g:
        cut = rcond if rcond is not None and rcond >= 0 else None
        inverse = ops.pinv(a, rtol=cut, hermitian=False)
        by_b = product(ops, adjoint(ops, inverse), g[0])
        inner = adjoint(ops, product(ops, inverse, by_b))
        outside = ops.subtract(g[0], product(ops, adjoint(ops, a), by_b))
        fitted = product(ops, adjoint(ops, inverse), found)
        by_a = total(ops, ops.negative(product(ops, by_b, adjoint(ops, found))), product(ops, left, inner),
                     product(ops, fitted, adjoint(ops, outside)))
    if 1 in g and tuple(g[1].shape)[-1:] == tuple(found.shape)[-1:]:        # otherwise it is empty, as in NumPy
        weighted = ops.multiply(ops.multiply(left, as_row(ops, g[1])), 2)
        by_a = total(ops, by_a, ops.negative(product(ops, weighted, adjoint(ops, found))))
        by_b = total(ops, by_b, weighted)
    if 3 in g:
        by_a = total(ops, by_a, ops.spectral_map(a, as_row(ops, g[3]), linear=False))
    return by_a, by_b


_inv = primitive("inv", pull_inv, (RESULT,), flops.square_matrices(2))
_solve = primitive("solve", _pull_solve, (0, RESULT), flops.solutions(2 / 3), linear=((1,),))
_solve_triangular = primitive("solve_triangular", _pull_solve_triangular, (0, RESULT), flops.solutions(0),
                              linear=((1,),))
_pinv = primitive("pinv", _pull_pinv, (0, RESULT), flops.singular_vectors)
_lstsq = primitive("lstsq", _pull_lstsq, (0, 1, 2), flops.singular_vectors)


# ------------------------------------------------------------------------------------------------- inverses
def inv(a: Any) -> Tensor:
    """The inverse of square matrices, (..., n, n).

    Integers are taken for float64. LinAlgError where a matrix is singular or not square, DTypeError for float16 and
    bfloat16. Computed by LAPACK (gesv), on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return apply(_inv, (matrices("inv", a, square=True),))


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = UNSET) -> Tensor:
    """The pseudo-inverse of Moore and Penrose: of (..., m, n) matrices (..., n, m).

    Singular values below `rtol` (or `rcond`) times the largest count as 0: by default 1e-15, with `rtol` None
    max(m, n) times the rounding of the dtype. `hermitian`: the matrices are, which is faster. The gradient is that
    among matrices of one rank. Errors as of `inv`, but any matrix has one; LinAlgError for NaN and infinity.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    if rcond is not None and rtol is not UNSET:
        raise ShapeError("pinv: `rtol` and `rcond` can't be both set. Leave one out.")
    a = matrices("pinv", a, square=hermitian)
    cut = rcond if rcond is not None else 1e-15 if rtol is UNSET else rtol
    return apply(_pinv, (a,), {"rtol": cut.to_host() if isinstance(cut, Tensor) else cut, "hermitian": bool(hermitian)})


def tensorinv(a: Any, ind: int = 2) -> Tensor:
    """The inverse of a as a map by `tensordot(a, x, ind)`: its first `ind` axes and the others have one product.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.tensorinv(lnb.eye(6).reshape(6, 2, 3), ind=1).shape
    (2, 3, 6)
    """
    a = as_tensor("tensorinv", a)
    ind = shapes.as_integer("tensorinv", "ind", ind)
    if ind <= 0:
        raise ShapeError(f"tensorinv: Invalid ind argument {ind}. Use 1 or more.")
    rest = a.shape[ind:]
    found = inv(reshape(a, product_of(rest), -1))
    return reshape(found, (*rest, *a.shape[:ind]))


# ------------------------------------------------------------------------------------------------- equations
def solve(a: Any, b: Any) -> Tensor:
    """x with a x = b, for matrices a (..., n, n), and b a vector (n,) or matrices (..., n, k); batches broadcast.

    As in NumPy, b is a vector only where it has one axis. Errors as of `inv`, ShapeError where sizes differ. LAPACK's
    gesv, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    tensor([1. , 0.5])
    """
    x, y = short.small(a), short.small(b)
    if x is not None and y is not None and x.shape == (len(y), len(y)) and y.ndim < 3 and x.dtype is y.dtype and (
            x.dtype.char in "fd"):
        result = _solve.run((x, y if y.ndim == 2 else y[:, None]))
        return short.made(result if y.ndim == 2 else result[:, 0])
    a, b, is_vector = _equations("solve", a, b)
    found = apply(_solve, (a, b))
    return found.moved(FIRST) if is_vector else found


def _equations(op: str, a: Any, b: Any) -> tuple[Tensor, Tensor, bool]:
    """Both sides in one dtype, the right one as matrices, and whether it was a vector."""
    a, b = as_tensors(op, (a, b))
    a, is_vector = matrices(op, a, square=True), b.ndim == 1
    if b.ndim == 0:
        raise ShapeError(f"{op}: the right side is 0-d. Give a vector or matrices.")
    a, b = together(op, a, b)
    b = b.moved(COLUMN) if is_vector else b
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"{op}: mismatch in core dimensions, {a.shape[-1]} unknowns and {b.shape[-2]} rows on the "
                         f"right (shapes {a.shape} and {b.shape}). Make them equal.")
    if a.ndim > 2 < b.ndim:
        shapes.broadcast_shapes(op, a.shape[:-2], b.shape[:-2])
    return a, b, is_vector


def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """x with a x = b for triangular matrices a (..., n, n), of which only one triangle is read: SciPy's function.

    `trans`: 0 or "N" solves a x = b, 1 or "T" a^T x = b, 2 or "C" a^H x = b. `unit_diagonal`: the diagonal is taken for
    1 and not read. `overwrite_b` has no effect here. b is a vector (n,) or matrices (..., n, k); batches broadcast.
    LinAlgError where a diagonal holds 0, ShapeError where sizes differ or, with `check_finite`, a number is not finite.
    LAPACK's trtrs, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True)
    tensor([1., 2.])
    """
    a, b, is_vector = _equations("solve_triangular", a, b)
    turn = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}.get(trans)
    if turn is None:
        raise ShapeError(f"solve_triangular: trans {trans!r} is unknown. Use 0, 1, 2, 'N', 'T' or 'C'.")
    if turn:
        a, lower = (a.mT if turn == 1 else a.mT.conj()), not lower
    found = apply(_solve_triangular, (a, b), {"lower": bool(lower), "unit": bool(unit_diagonal),
                                              "finite": bool(check_finite)})
    return found.moved(FIRST) if is_vector else found


class LeastSquares(NamedTuple):
    """What `lstsq` gives."""

    x: Tensor
    residuals: Tensor
    rank: Any
    s: Tensor


def lstsq(a: Any, b: Any, rcond: float | None = None) -> LeastSquares:
    """x that minimizes |a x - b|, of several the shortest; sums of squares of what is left, rank, and singular values.

    a is (..., m, n), b (m,) or (..., m, k). Singular values below `rcond` times the largest count as 0; None is
    max(m, n) times the rounding of the dtype, -1 the rounding itself. As in NumPy, residuals are empty where the rank
    is below n or m <= n. Gradients are those among matrices of one rank. LAPACK's gelsd, on the host; batches, which
    NumPy has not, are solved one after the other.

    >>> import lucid_nb as lnb
    >>> x, residuals, rank, s = lnb.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    >>> x.round(6).tolist(), rank
    ([1.0, 2.0], 2)
    """
    a, b = as_tensors("lstsq", (a, b))
    a, is_vector = matrices("lstsq", a), b.ndim == 1
    if b.ndim == 0:
        raise LinAlgError("lstsq: 0-dimensional array given. Array must be two-dimensional: give a vector or matrices.")
    a, b = together("lstsq", a, b)
    b = reshape(b, -1, 1) if is_vector else b
    rows, cols = a.shape[-2:]
    if rows != b.shape[-2]:
        raise LinAlgError(f"lstsq: Incompatible dimensions, {rows} rows of a and {b.shape[-2]} of b (shapes {a.shape} "
                          f"and {b.shape}). Make them equal.")
    shapes.broadcast_shapes("lstsq", a.shape[:-2], b.shape[:-2])
    x, left, rank, s = apply(_lstsq, (a, b), {"rcond": None if rcond is None else float(rcond)})
    number = rank.item() if rank.ndim == 0 else rank
    if left.size and (rows <= cols or (number != cols if rank.ndim == 0 else (rank != cols).any())):
        left = left[..., :0]
    return LeastSquares(x.moved(FIRST) if is_vector else x, left, number, s)


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Tensor:
    """x with tensordot(a, x, x.ndim) == b; a's axes `axes` are moved to its end before.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.tensorsolve(lnb.eye(6).reshape(6, 2, 3), lnb.arange(6)).shape
    (2, 3)
    """
    a, b = as_tensors("tensorsolve", (a, b))
    if axes is not None:
        a = moveaxis(a, tuple(axes), tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim:]
    size = product_of(shape)
    if a.size != size * size:
        raise LinAlgError(f"tensorsolve: Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == "
                          f"prod(a.shape[:b.ndim]), the shapes are {a.shape} and {b.shape}. Reshape a.")
    return reshape(solve(reshape(a, size, size), reshape(b, -1)), shape)
