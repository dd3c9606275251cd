"""Functions of square matrices: powers and the exponential."""

from operator import index as to_index
from typing import Any

import numpy as np

from .. import backend, flops
from ..apply import apply
from ..array import Tensor, fresh
from ..errors import DTypeError, LinAlgError
from ..op import Info
from .lapack import adjoint, block, checked_square, matrices, primitive
from .linalg import matmul
from .movement import as_tensor
from .solves import inv


def matrix_power(a: Any, n: int) -> Tensor:
    """The product of n equal matrices, (..., m, m); of none the identity, of a negative n that of inverses.

    LinAlgError where they are not square, or with a negative n singular; DTypeError where n is not an integer.

    >>> from lucid_nb.linalg import matrix_power
    >>> matrix_power([[1, 1], [0, 1]], 5).tolist()
    [[1, 5], [0, 1]]
    """
    x = as_tensor("matrix_power", a)
    if x.ndim < 2:
        raise LinAlgError(f"matrix_power: {x.ndim}-dimensional array given. Array must be at least two-dimensional.")
    checked_square("matrix_power", x)
    try:
        n = to_index(n)
    except TypeError:
        raise DTypeError(f"matrix_power: exponent must be an integer, it is {n!r}. Use integers.") from None
    if n == 0:
        one = backend.of(x.raw).from_numpy(np.eye(x.shape[-1], dtype=x.dtype))
        return fresh(one).broadcast_to(x.shape).copy()
    x, n = (inv(x), -n) if n < 0 else (x, n)
    found, power = None, x
    while n:
        if n & 1:
            found = power if found is None else matmul(found, power)
        n >>= 1
        power = matmul(power, power) if n else power
    return found.copy() if found is x else found  # type: ignore[return-value]


def _pull_expm(ops: Any, info: Info, g: Any, a: Any) -> tuple:
    """The corner of the exponential of a matrix of blocks: R. Mathias, SIAM J. Matrix Anal. Appl. 17, 1996."""
    turned, axis, size = adjoint(ops, a), len(a.shape) - 1, a.shape[-1]
    above = ops.concatenate(turned, g, axis=axis)
    below = ops.concatenate(ops.zeros(tuple(a.shape), a), turned, axis=axis)
    found = ops.expm(ops.concatenate(above, below, axis=axis - 1))
    return (block(ops, found, slice(size), slice(size, None)),)


_expm = primitive("expm", _pull_expm, (0,), flops.square_matrices(20))


def expm(A: Any) -> Tensor:
    """The exponentials of square matrices, (..., n, n): the sums of powers over factorials. SciPy's function.

    Integers are taken for float64. LinAlgError where a matrix is not square, DTypeError for float16 and bfloat16.
    Differentiable to any order. By SciPy, on the host.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return apply(_expm, (matrices("expm", A, square=True),))
