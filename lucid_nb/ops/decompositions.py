"""Cholesky's decomposition, QR and LU. The gradient of a symmetric matrix is symmetric, whatever triangle is read."""

from typing import Any, NamedTuple

import numpy as np

from .. import flops
from ..apply import apply
from ..array import Tensor
from ..errors import GradError, ShapeError
from ..op import RESULT, Info
from ..tape import is_recording
from .lapack import (
    adjoint,
    block,
    hermitian_part,
    matrices,
    needs_inverse,
    over_triangle,
    padded,
    primitive,
    product,
    routine,
)
from .lapack import total as sum_of
from .linalg import matmul
from .movement import astype
from .reduction import argmax

ALL = slice(None)


# -------------------------------------------------------------------------------------------------- Cholesky
def _pull_cholesky(ops: Any, info: Info, g: Any, found: Any, upper: bool) -> tuple:
    """I. Murray, Differentiation of the Cholesky decomposition, 2016 (arXiv:1602.07527), section 3."""
    lower, g = (adjoint(ops, found), adjoint(ops, g)) if upper else (found, g)
    inner = ops.triangle(product(ops, adjoint(ops, lower), g), part="half_lower")
    left = ops.solve_triangular(adjoint(ops, lower), inner, lower=False, unit=False)
    return (hermitian_part(ops, over_triangle(ops, left, lower, lower=True)),)


_cholesky = primitive("cholesky", _pull_cholesky, (RESULT,), flops.square_matrices(1 / 3))


def cholesky(a: Any, /, *, upper: bool = False) -> Tensor:
    """L with L L^H = a, lower triangular with a positive diagonal; `upper`: U with U^H U = a.

    a (..., n, n) is Hermitian and positive definite; only one triangle is read, the lower one unless `upper`. Integers
    are taken for float64. LinAlgError where a matrix is not positive definite or not square, DTypeError for float16 and
    bfloat16. LAPACK's potrf, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return routine(_cholesky, matrices("cholesky", a, square=True), upper=bool(upper))


# -------------------------------------------------------------------------------------------- orthonormal columns
def frame(ops: Any, op: str, q: Any, g: Any, rank: int) -> tuple[Any, Any]:
    """Of the gradient of orthonormal columns, what lies in the span of the first `rank` of them, and what outside.

    Columns beyond complete the square, and are as good after any rotation.
    """
    first, of_first = block(ops, q, ALL, slice(rank)), block(ops, g, ALL, slice(rank))
    inner = product(ops, adjoint(ops, first), of_first)
    if q.shape[-2] == rank:
        return inner, None
    if q.shape[-1] == rank:
        return inner, ops.subtract(of_first, product(ops, first, inner))
    rest, of_rest = block(ops, q, ALL, slice(rank, None)), block(ops, g, ALL, slice(rank, None))
    turned = product(ops, adjoint(ops, rest), of_rest)
    ops.determined(turned, turned, op=op, kind="rotations")
    across = ops.subtract(product(ops, adjoint(ops, rest), of_first),
                          adjoint(ops, product(ops, adjoint(ops, first), of_rest)))
    return inner, product(ops, rest, across)


def completed(ops: Any, q: Any, tangent: Any, rank: int) -> Any:
    """The tangent of all columns, from that of the first `rank` of them."""
    if q.shape[-1] == rank:
        return tangent
    rest = block(ops, q, ALL, slice(rank, None))
    across = adjoint(ops, product(ops, adjoint(ops, rest), tangent))
    moved = ops.negative(product(ops, block(ops, q, ALL, slice(rank)), across))
    return ops.concatenate(tangent, moved, axis=len(q.shape) - 1)


# ------------------------------------------------------------------------------------------------------- QR
SINGULAR_QR = "the first columns are linearly dependent"


def _pull_qr(ops: Any, info: Info, g: dict[int, Any], q: Any, r: Any, mode: str) -> tuple:
    """With A = Q [R S]: S is Q^H A2, the rest is square or tall. dR R^-1 is upper triangular, Q^H dQ is skew.

    After F. Walter and others, Algorithmic differentiation of linear algebra functions, 2012; S after D. Roberts and
    L. Roberts, 2020 (arXiv:2009.10071).
    """
    rows, cols = info.shape(0)[-2:]
    rank = min(rows, cols)
    first, corner = block(ops, q, ALL, slice(rank)), block(ops, r, slice(rank), slice(rank))
    by_rest = inner = outer = by_corner = None
    if 0 in g:
        inner, outer = frame(ops, "qr", q, g[0], rank)
    if 1 in g:
        by_corner = product(ops, block(ops, g[1], slice(rank), slice(rank)), adjoint(ops, corner))
        if cols > rank:
            rest, by_rest = [block(ops, x, ALL, slice(rank, None)) for x in (r, g[1])]
            inner = sum_of(ops, inner, product(ops, rest, adjoint(ops, by_rest)))
            by_rest = product(ops, q, by_rest)
    turning = sum_of(ops, inner, None if by_corner is None else ops.negative(by_corner))
    skew = ops.triangle(ops.subtract(turning, adjoint(ops, turning)), part="half_lower")
    found = sum_of(ops, product(ops, first, sum_of(ops, by_corner, skew)), outer)
    with needs_inverse("qr", SINGULAR_QR):
        found = over_triangle(ops, found, adjoint(ops, corner), lower=True)
    if cols > rank:
        by_rest = ops.zeros((*found.shape[:-1], cols - rank), found) if by_rest is None else by_rest
        found = ops.concatenate(found, by_rest, axis=len(found.shape) - 1)
    return (found,)


def _push_qr(node: Any, tangents: Any, ops: Any) -> dict[int, Any]:
    q, r = node.op.kept(node, ops)
    t, = tangents
    rows, cols = t.shape[-2:]
    rank = min(rows, cols)
    first, corner = block(ops, q, ALL, slice(rank)), block(ops, r, slice(rank), slice(rank))
    with needs_inverse("qr", SINGULAR_QR):
        scaled = over_triangle(ops, block(ops, t, ALL, slice(rank)), corner, lower=False)
    inner = product(ops, adjoint(ops, first), scaled)
    lower = ops.triangle(inner, part="half_lower")
    skew = ops.subtract(lower, adjoint(ops, lower))
    moved = product(ops, first, skew)
    if rows > rank:
        moved = sum_of(ops, moved, scaled, ops.negative(product(ops, first, inner)))
    by_r = product(ops, ops.subtract(inner, skew), corner)
    if cols > rank:
        rest = sum_of(ops, product(ops, adjoint(ops, q), block(ops, t, ALL, slice(rank, None))),
                      product(ops, adjoint(ops, skew), block(ops, r, ALL, slice(rank, None))))
        by_r = ops.concatenate(by_r, rest, axis=len(by_r.shape) - 1)
    return {0: completed(ops, q, moved, rank), 1: padded(ops, by_r, r.shape[-2], cols)}


def _refuse_raw(ops: Any, info: Info, g: Any, mode: str) -> tuple:
    raise GradError("qr: what LAPACK keeps in place of Q (mode 'raw') has no gradient here. Use mode 'reduced'.")


_qr = primitive("qr", _pull_qr, (1, 2), flops.square_matrices(4), push=_push_qr)
_r = primitive("qr", None, (), flops.square_matrices(4 / 3))
_raw = primitive("qr", _refuse_raw, (), flops.square_matrices(4 / 3))


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangular matrix."""

    Q: Tensor
    R: Tensor


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R with Q R = a, of (..., m, n) matrices: Q has orthonormal columns, R is upper triangular.

    `mode`: "reduced" gives Q (..., m, k) and R (..., k, n), k = min(m, n); "complete" Q (..., m, m) and R (..., m, n);
    "r" only R; "raw" what LAPACK keeps, h (..., n, m) and tau (..., k), without a gradient. The gradient needs the
    first k columns to be independent, and in "complete" mode a function to which the added columns are as good after
    any rotation; otherwise backward raises GradError. Errors as of `det`, but matrices need not be square. LAPACK's
    geqrf and orgqr, on the host.

    >>> import lucid_nb as lnb
    >>> q, r = lnb.linalg.qr(lnb.eye(2) * 2)
    >>> lnb.allclose(q @ r, lnb.eye(2) * 2)
    True
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ShapeError(f"qr: Unrecognized mode {mode!r}. Use 'reduced', 'complete', 'r' or 'raw'.")
    a = matrices("qr", a)
    if mode == "r":
        if a.node is None or not is_recording():
            return apply(_r, (a,), {"mode": mode})
        return apply(_qr, (a,), {"mode": "reduced"})[1]
    found = routine(_raw if mode == "raw" else _qr, a, mode=mode)
    return found if mode == "raw" else QRResult(*found)


# ------------------------------------------------------------------------------------------------------- LU
def _pull_lu(ops: Any, info: Info, g: dict[int, Any], p: Any, low: Any, up: Any, finite: bool) -> tuple:
    """The square corner by both triangles; columns beyond it are a solution by L, rows beyond it one by U."""
    rows, cols = info.shape(0)[-2:]
    rank = min(rows, cols)
    head, tail = slice(rank), slice(rank, None)
    corner_l, corner_u = block(ops, low, head, ALL), block(ops, up, ALL, head)
    by_l = g[1] if 1 in g else ops.zeros(tuple(low.shape), low)
    by_u = g[2] if 2 in g else ops.zeros(tuple(up.shape), up)
    by_low, by_up, beyond = block(ops, by_l, head, ALL), block(ops, by_u, ALL, head), None
    with needs_inverse("lu", "a matrix is singular"):
        if cols > rank:
            beyond = ops.solve_triangular(adjoint(ops, corner_l), block(ops, by_u, ALL, tail), lower=False, unit=True)
            by_low = ops.subtract(by_low, product(ops, beyond, adjoint(ops, block(ops, up, ALL, tail))))
        if rows > rank:
            beyond = over_triangle(ops, block(ops, by_l, tail, ALL), adjoint(ops, corner_u), lower=True)
            by_up = ops.subtract(by_up, product(ops, adjoint(ops, block(ops, low, tail, ALL)), beyond))
        inner = ops.add(ops.triangle(product(ops, adjoint(ops, corner_l), by_low), part="strictly_lower"),
                        ops.triangle(product(ops, by_up, adjoint(ops, corner_u)), part="upper"))
        inner = ops.solve_triangular(adjoint(ops, corner_l), inner, lower=False, unit=True)
        found = over_triangle(ops, inner, adjoint(ops, corner_u), lower=True)
    if beyond is not None:
        found = ops.concatenate(found, beyond, axis=len(found.shape) - (1 if cols > rank else 2))
    return (product(ops, p, found),)


_lu = primitive("lu", _pull_lu, (1, 2, 3), flops.square_matrices(2 / 3))


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
       ) -> tuple[Tensor, ...]:
    """P, L and U with P L U = a, of (..., m, n) matrices: SciPy's function.

    P (..., m, m) are permutations, L (..., m, k) is lower triangular with a diagonal of 1, U (..., k, n) upper
    triangular, k = min(m, n). `permute_l`: only the product P L, and U. `p_indices`: instead of P the row of L that
    each row of a has. `overwrite_a` has no effect here. Errors as of `qr`, and ShapeError where, with `check_finite`, a
    number is not finite. Where a matrix is singular there is no gradient, and backward raises GradError. LAPACK's
    getrf, on the host.

    >>> import lucid_nb as lnb
    >>> p, l, u = lnb.linalg.lu([[0.0, 2.0], [1.0, 1.0]])
    >>> p.tolist(), u.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [0.0, 2.0]])
    """
    p, low, up = apply(_lu, (matrices("lu", a),), {"finite": bool(check_finite)})
    p = p.detach()
    if permute_l:
        return matmul(p, low), up
    p = p.real if p.dtype.kind == "c" else p
    return (astype(argmax(p, axis=-1), np.dtype("int32")) if p_indices else p), low, up
