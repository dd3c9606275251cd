"""Determinants and their logarithms."""

from typing import Any, NamedTuple

from .. import flops
from ..apply import apply
from ..array import Tensor
from ..errors import GradError
from ..op import Info
from .lapack import adjoint, as_column, matrices, needs_inverse, primitive


# ---------------------------------------------------------------------------------------------- primitives
def _spread(ops: Any, g: Any) -> Any:
    """Numbers of matrices, with two axes of size 1."""
    return as_column(ops, as_column(ops, g))


def _pull_det(ops: Any, info: Info, g: Any, a: Any) -> tuple:
    return (ops.multiply(_spread(ops, g), ops.cofactors(a)),)


def _pull_cofactor_turn(ops: Any, info: Info, g: Any, a: Any) -> tuple:
    """A second derivative: its own transpose in what arrives, and not differentiated by the matrix again."""
    if info.wanted[0]:
        raise GradError("det: third derivatives are not there. Differentiate twice at most, or use slogdet.")
    return None, ops.cofactor_turn(a, g)


def _pull_slogdet(ops: Any, info: Info, g: dict[int, Any], a: Any, sign: Any) -> tuple:
    """By the inverse: log|det| has the slope Re tr(A^-1 dA), the phase i Im tr(A^-1 dA) times itself."""
    weight = g.get(1)
    if info.dtype(0).kind == "c" and 0 in g:
        across = ops.real(ops.multiply(ops.multiply(ops.conjugate(g[0]), sign), -1j))
        around = ops.multiply(across, -1j)
        weight = around if weight is None else ops.add(weight, around)
    if weight is None:
        return (None,)
    with needs_inverse("slogdet", "a matrix is singular"):
        return (ops.multiply(_spread(ops, weight), adjoint(ops, ops.inv(a))),)


_det = primitive("det", _pull_det, (0,), flops.square_matrices(2 / 3))
primitive("cofactors", lambda ops, info, g, a: (ops.cofactor_turn(a, g),), (0,), flops.singular_vectors)
primitive("cofactor_turn", _pull_cofactor_turn, (0,), flops.singular_vectors)
_slogdet = primitive("slogdet", _pull_slogdet, (0, 1), flops.square_matrices(2 / 3))


# ------------------------------------------------------------------------------------------------- functions
class SlogdetResult(NamedTuple):
    """The sign, or for complex numbers the phase, of a determinant, and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


def det(a: Any) -> Tensor:
    """The determinants of square matrices, (..., n, n).

    Differentiable to second order, of singular matrices too. Integers are taken for float64. LinAlgError where a matrix
    is not square, DTypeError for float16 and bfloat16. By the LU decomposition of LAPACK, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.det([[2.0, 1.0], [0.0, 3.0]])
    tensor(6.)
    """
    return apply(_det, (matrices("det", a, square=True),))


def slogdet(a: Any) -> SlogdetResult:
    """The signs (of complex matrices the phases) of determinants, and the logarithms of their sizes.

    They do not overflow; of singular matrices they are 0 and -inf, and have no gradient. Errors as of `det`.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    SlogdetResult(sign=tensor(-1.), logabsdet=tensor(0.))
    """
    return SlogdetResult(*apply(_slogdet, (matrices("slogdet", a, square=True),)))
