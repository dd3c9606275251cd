"""Eigenvalues and eigenvectors. A gradient exists for functions that see no choice of vectors: see `determined`."""

from typing import Any, NamedTuple

from .. import flops
from ..apply import apply
from ..array import Tensor
from ..errors import ShapeError
from ..op import Info
from ..tape import is_recording
from .lapack import adjoint, as_row, diagonal, hermitian_part, matrices, primitive, product, routine, total


# ------------------------------------------------------------------------------------------------- Hermitian
def _checked(ops: Any, op: str, inner: Any, factor: Any) -> Any:
    """What is divided by gaps, if the gradient exists."""
    inner = ops.determined(inner, factor, op=op, kind="ties")
    return ops.determined(inner, factor, op=op, kind="phases")


def _pull_eigh(ops: Any, info: Info, g: dict[int, Any], values: Any, vectors: Any, triangle: str) -> tuple:
    """V (diag(g) + (V^H G) / gaps) V^H: M. Giles, Collected matrix derivative results, 2008, section 3.1."""
    middle = None
    if 1 in g:
        factor = ops.reciprocals(values, kind="gaps")
        inner = _checked(ops, "eigh", product(ops, adjoint(ops, vectors), g[1]), factor)
        middle = product(ops, vectors, ops.multiply(inner, factor))
    scaled = ops.multiply(vectors, as_row(ops, g[0])) if 0 in g else None
    return (hermitian_part(ops, product(ops, total(ops, middle, scaled), adjoint(ops, vectors))),)


def _push_eigh(node: Any, tangents: Any, ops: Any) -> dict[int, Any]:
    values, vectors = node.op.kept(node, ops)
    inner = product(ops, adjoint(ops, vectors), hermitian_part(ops, tangents[0]), vectors)
    factor = ops.reciprocals(values, kind="gaps")
    moved = ops.multiply(ops.determined(inner, factor, op="eigh", kind="ties"), factor)
    along = diagonal(ops, inner)
    return {0: ops.real(along) if node.like[0][1].kind == "c" else along, 1: product(ops, vectors, moved)}


def _pull_eigvalsh(ops: Any, info: Info, g: Any, a: Any, triangle: str) -> tuple:
    _, vectors = ops.eigh(a, triangle=triangle)
    found = product(ops, ops.multiply(vectors, as_row(ops, g)), adjoint(ops, vectors))
    return (hermitian_part(ops, found),)


_eigh = primitive("eigh", _pull_eigh, (1, 2), flops.square_matrices(9), push=_push_eigh)
_eigvalsh = primitive("eigvalsh", _pull_eigvalsh, (0,), flops.square_matrices(4 / 3))


# --------------------------------------------------------------------------------------------------- general
def _pull_eig(ops: Any, info: Info, g: dict[int, Any], values: Any, vectors: Any) -> tuple:
    """V^-H (diag(g) + (V^H G - V^H V diag(V^H G)) / gaps) V^H: the columns of V keep the length 1."""
    turned, middle = adjoint(ops, ops.independent(vectors, op="eig")), None
    if 1 in g:
        factor = ops.reciprocals(values, kind="gaps")
        inner = _checked(ops, "eig", product(ops, turned, g[1]), factor)
        along = ops.multiply(product(ops, turned, vectors), as_row(ops, diagonal(ops, inner)))
        middle = product(ops, ops.multiply(ops.subtract(inner, along), ops.conjugate(factor)), turned)
    scaled = None
    if 0 in g:
        scaled = ops.multiply(ops.reshape(g[0], shape=(*g[0].shape, 1)), turned)
    return (ops.solve(turned, total(ops, middle, scaled)),)


def _push_eig(node: Any, tangents: Any, ops: Any) -> dict[int, Any]:
    values, vectors = node.op.kept(node, ops)
    tangent = ops.cast(tangents[0], dtype=node.like[2][1])
    inner = ops.solve(ops.independent(vectors, op="eig"), product(ops, tangent, vectors))
    factor = ops.reciprocals(values, kind="gaps")
    moved = product(ops, vectors, ops.multiply(ops.determined(inner, factor, op="eig", kind="ties"), factor))
    along = ops.sum(ops.multiply(ops.conjugate(vectors), moved), axes=(len(moved.shape) - 2,), keepdims=True)
    return {0: diagonal(ops, inner), 1: ops.subtract(moved, ops.multiply(vectors, along))}


_eig = primitive("eig", _pull_eig, (1, 2), flops.square_matrices(25), push=_push_eig)
_eigvals = primitive("eigvals", None, (), flops.square_matrices(10))


# ------------------------------------------------------------------------------------------------- functions
class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def eig(a: Any) -> EigResult:
    """The eigenvalues (..., n) of square matrices, in no order, and eigenvectors of length 1 as columns (..., n, n).

    Complex, but of real matrices whose eigenvalues are all real. The gradient by vectors is for functions that do not
    depend on their phases, and exists where eigenvalues differ; otherwise backward raises GradError. Integers are taken
    for float64. LinAlgError where a matrix is not square or holds NaN or infinity, DTypeError for float16 and bfloat16.
    LAPACK's geev, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.eig([[1.0, 0.0], [0.0, 2.0]]).eigenvalues
    tensor([1., 2.])
    """
    return EigResult(*apply(_eig, (matrices("eig", a, square=True),)))


def eigvals(a: Any) -> Tensor:
    """The eigenvalues of `eig` alone.

    >>> import lucid_nb as lnb
    >>> lnb.sort(lnb.linalg.eigvals([[0.0, -1.0], [1.0, 0.0]]).imag)
    tensor([-1.,  1.])
    """
    a = matrices("eigvals", a, square=True)
    if a.node is not None and is_recording():              # the gradient needs the vectors
        return apply(_eig, (a,))[0]
    return apply(_eigvals, (a,))


def _triangle(op: str, triangle: Any) -> str:
    if str(triangle).upper() not in ("L", "U"):
        raise ShapeError(f"{op}: UPLO argument must be 'L' or 'U', it is {triangle!r}. Name the triangle to read.")
    return str(triangle).upper()


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """The eigenvalues (..., n) of Hermitian matrices, ascending, and orthonormal eigenvectors as columns (..., n, n).

    Only the triangle `UPLO` is read, "L" or "U"; the gradient is Hermitian all the same. By vectors it is for functions
    that do not depend on their phases, and exists where eigenvalues differ; otherwise backward raises GradError. Other
    errors as of `eig`. LAPACK's heevd, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues
    tensor([1., 2.])
    """
    triangle = _triangle("eigh", UPLO)
    return EighResult(*routine(_eigh, matrices("eigh", a, square=True), triangle=triangle))


def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    """The eigenvalues of `eigh` alone.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).round(6)
    tensor([1., 3.])
    """
    triangle = _triangle("eigvalsh", UPLO)
    return apply(_eigvalsh, (matrices("eigvalsh", a, square=True),), {"triangle": triangle})
