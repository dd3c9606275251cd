"""The singular value decomposition, and what follows from singular values: rank and condition."""

from typing import Any, NamedTuple

import numpy as np

from .. import flops
from ..apply import apply
from ..array import Tensor
from ..errors import LinAlgError, ShapeError
from ..op import RESULT, Info
from ..register import functions
from ..tape import is_recording
from .decompositions import completed, frame
from .lapack import (
    adjoint,
    as_row,
    block,
    diagonal,
    hermitian_part,
    matrices,
    numbers,
    primitive,
    product,
    routine,
    total,
)
from .movement import as_tensor
from .solves import pull_inv
from .spectral import singular_values
from .vector_norm import norm

ALL = slice(None)


# ---------------------------------------------------------------------------------------------- primitives
def _pull_svd(ops: Any, info: Info, g: dict[int, Any], u: Any, s: Any, vh: Any, full: bool, hermitian: bool) -> tuple:
    """With skew parts K of U^H G: U (diag(g) + (K / gaps) S + S (K' / gaps)) V^H, gaps those of squares.

    J. Townsend, Differentiating the singular value decomposition, 2016; complex numbers after Z. Wan and S. Zhang,
    2019 (arXiv:1909.02659).
    """
    rank, is_complex = s.shape[-1], info.dtype(0).kind == "c"
    v = adjoint(ops, vh)
    left, right = [block(ops, x, ALL, slice(rank)) for x in (u, v)]
    in_u, out_u = frame(ops, "svd", u, g[0], rank) if 0 in g else (None, None)
    in_v, out_v = frame(ops, "svd", v, adjoint(ops, g[2]), rank) if 2 in g else (None, None)
    factor, values = ops.reciprocals(s, kind="squares"), as_row(ops, s)
    middle = None
    if in_u is not None:
        middle = ops.multiply(_between(ops, in_u, factor), values)
    if in_v is not None:
        middle = total(ops, middle, ops.multiply(_between(ops, in_v, factor), ops.reshape(s, shape=(*s.shape, 1))))
    if is_complex and middle is not None:
        ops.determined(total(ops, in_u, in_v), factor, op="svd", kind="phases")
        if in_u is not None:
            skew = ops.subtract(in_u, adjoint(ops, in_u))
            middle = ops.add(middle, ops.multiply(ops.multiply(skew, ops.reciprocals(s, kind="phases")), values))
    found = None if middle is None else product(ops, left, middle)
    found = total(ops, found, None if 1 not in g else ops.multiply(left, as_row(ops, g[1])), _outside(ops, out_u, s))
    found = None if found is None else product(ops, found, adjoint(ops, right))
    if out_v is not None:
        found = total(ops, found, product(ops, left, adjoint(ops, _outside(ops, out_v, s))))
    return (hermitian_part(ops, found) if hermitian else found,)


def _between(ops: Any, inner: Any, factor: Any) -> Any:
    """The skew part twice, over the gaps."""
    inner = ops.determined(inner, factor, op="svd", kind="ties")
    return ops.multiply(ops.subtract(inner, adjoint(ops, inner)), factor)


def _outside(ops: Any, outer: Any, s: Any) -> Any:
    """What lies outside the span of the vectors, over the values."""
    if outer is None:
        return None
    inverse = ops.reciprocals(s, kind="values")
    return ops.multiply(ops.determined(outer, inverse, op="svd", kind="columns"), inverse)


def _push_svd(node: Any, tangents: Any, ops: Any) -> dict[int, Any]:
    u, s, vh = node.op.kept(node, ops)
    rank, is_complex, v = s.shape[-1], node.like[0][1].kind == "c", adjoint(ops, vh)
    t = hermitian_part(ops, tangents[0]) if node.plan["hermitian"] else tangents[0]
    left, right = [block(ops, x, ALL, slice(rank)) for x in (u, v)]
    inner = product(ops, adjoint(ops, left), t, right)
    factor, row, column = ops.reciprocals(s, kind="squares"), as_row(ops, s), ops.reshape(s, shape=(*s.shape, 1))
    turned = adjoint(ops, inner)
    in_u = ops.add(ops.multiply(inner, row), ops.multiply(turned, column))
    in_v = ops.add(ops.multiply(inner, column), ops.multiply(turned, row))
    in_u, in_v = [ops.multiply(ops.determined(x, factor, op="svd", kind="ties"), factor) for x in (in_u, in_v)]
    if is_complex:
        phases = ops.multiply(ops.multiply(ops.subtract(inner, turned), ops.reciprocals(s, kind="phases")), row)
        in_u = ops.add(in_u, phases)
    by_u, by_v = product(ops, left, in_u), product(ops, right, in_v)
    if u.shape[-2] > rank:
        by_u = ops.add(by_u, _outside(ops, ops.subtract(product(ops, t, right), product(ops, left, inner)), s))
    if v.shape[-2] > rank:
        outer = ops.subtract(product(ops, adjoint(ops, t), left), product(ops, right, turned))
        by_v = ops.add(by_v, _outside(ops, outer, s))
    along = diagonal(ops, inner)
    return {0: completed(ops, u, by_u, rank), 1: ops.real(along) if is_complex else along,
            2: adjoint(ops, completed(ops, v, by_v, rank))}


_svd = primitive("svd", _pull_svd, (1, 2, 3), flops.singular_vectors, push=_push_svd)
_matrix_rank = primitive("matrix_rank", None, (), flops.singular_values)
_cond = primitive("cond", None, (), flops.singular_values)
_inv_or_nan = primitive("inv_or_nan", pull_inv, (RESULT,), flops.square_matrices(2))


# ------------------------------------------------------------------------------------------------- functions
class SVDResult(NamedTuple):
    """Left vectors as columns, singular values in descending order, and right vectors as conjugated rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, S and Vh with U diag(S) Vh = a, of (..., m, n) matrices; not `compute_uv`, S alone.

    S is (..., k), k = min(m, n); U and Vh are (..., m, m) and (..., n, n), or, not `full_matrices`, (..., m, k) and
    (..., k, n). `hermitian`: the matrices are, and only their lower triangle is read. The gradient by vectors is for
    functions that do not depend on their phases, and exists where singular values differ; otherwise backward raises
    GradError. Integers are taken for float64. LinAlgError for NaN and infinity, DTypeError for float16 and bfloat16.
    LAPACK's gesdd, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.svd([[0.0, 2.0], [1.0, 0.0]]).S
    tensor([2., 1.])
    """
    a = matrices("svd", a, square=hermitian)
    if not compute_uv:
        return apply(singular_values, (a,), {"op": "svd", "linear": False, "hermitian": bool(hermitian)})
    found = routine(_svd, a, full=bool(full_matrices), hermitian=bool(hermitian))
    return SVDResult(*found)


def svdvals(x: Any, /) -> Tensor:
    """The singular values of (..., m, n) matrices, descending: (..., min(m, n)).

    Differentiable to second order; where values are equal, once. Errors as of `svd`.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]])
    tensor([2., 1.])
    """
    return apply(singular_values, (matrices("svdvals", x),), {"op": "svdvals", "linear": False})


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """How many singular values of (..., m, n) matrices exceed `tol`, or `rtol` times the largest one.

    By default `rtol` is max(m, n) times the rounding of the dtype. Of a vector or number, whether it is other than 0.
    Errors as of `svd`. It has no gradient.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.matrix_rank([[1.0, 1.0], [1.0, 1.0]]).item()
    1
    """
    if rtol is not None and tol is not None:
        raise ShapeError("matrix_rank: `tol` and `rtol` can't be both set. Leave one out.")
    x = as_tensor("matrix_rank", A)
    if x.ndim < 2:
        return functions["any"](x != 0).astype("int64")
    tol, rtol = [cut.to_host() if isinstance(cut, Tensor) else cut for cut in (tol, rtol)]
    return apply(_matrix_rank, (numbers("matrix_rank", x),), {"tol": tol, "rtol": rtol, "hermitian": bool(hermitian)})


def cond(x: Any, p: Any = None) -> Tensor:
    """The condition of (..., m, n) matrices: by None or 2 the ratio of the largest and smallest singular value.

    -2 is the inverse of that; 1, -1, inf, -inf, "fro" and "nuc" are the product of the norms of a square matrix and of
    its inverse. Of singular matrices it is inf. LinAlgError for matrices without elements, and as of `svd`.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.cond([[4.0, 0.0], [0.0, 2.0]])
    tensor(2.)
    """
    x = matrices("cond", x, square=p not in (None, 2, -2))
    if 0 in x.shape[-2:] and 0 not in x.shape[:-2]:
        raise LinAlgError(f"cond: cond is not defined on empty arrays, the shape is {x.shape}. Leave them out.")
    if x.node is None or not is_recording():
        return apply(_cond, (x,), {"p": p})
    with np.errstate(all="ignore"):
        if p in (None, 2, -2):
            s = apply(singular_values, (x,), {"op": "cond", "linear": False})
            found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        else:
            found = norm(x, p, (-2, -1)) * norm(apply(_inv_or_nan, (x,)), p, (-2, -1))
    is_singular = functions["isnan"](found) & ~functions["any"](functions["isnan"](x), axis=(-2, -1))
    return functions["where"](is_singular, float("inf"), found)
