"""Complex numbers: their parts, size and direction. Gradients follow the conjugate convention: g is dL/dx + i dL/dy."""

from typing import Any

import numpy as np

from ..array import Tensor
from ..expr import Expr, Vocabulary
from ..register import public, unary
from .movement import as_tensor


@unary(operator="abs", oracle="numpy.abs", names=("abs",), samples=((0.2, 3),), complexes=lambda m, z: m.modulus(z))
def absolute(m: Vocabulary, x: Expr) -> Expr:
    """Absolute value, of complex numbers too. Its derivative at 0 is 0."""
    return m.absolute(x)


@unary(kind="float", oracle="numpy.fabs", samples=((0.2, 3),))
def fabs(m: Vocabulary, x: Expr) -> Expr:
    """Absolute value, in a float dtype."""
    return m.absolute(x)


@unary(oracle="numpy.sign", bools=False, samples=((0.2, 3),), complexes=lambda m, z: m.unit(z))
def sign(m: Vocabulary, x: Expr) -> Expr:
    """-1, 0 or 1, and z / |z| of a complex number; NaN stays NaN."""
    return m.sign(x)


@unary(bools="int8", oracle="numpy.conjugate", complexes=True, names=("conj",))
def conjugate(m: Vocabulary, z: Expr) -> Expr:
    """z with the imaginary part negated."""
    return m.conjugate(z)


# ---------------------------------------------------------------------------------------------- questions
@unary(oracle="numpy.isreal", complexes=lambda m, z: m.imag(z) == 0)
def isreal(m: Vocabulary, x: Expr) -> Expr:
    """Is the imaginary part 0? Of real numbers it is."""
    return m.invert(x > x)


@unary(oracle="numpy.iscomplex", complexes=lambda m, z: m.imag(z) != 0)
def iscomplex(m: Vocabulary, x: Expr) -> Expr:
    """Is the imaginary part not 0? Of real numbers it is."""
    return x > x


@public(method=False)
def iscomplexobj(x: Any, /) -> bool:
    """Is the dtype complex, whatever the values are?"""
    return as_tensor("iscomplexobj", x).dtype.kind == "c"


@public(method=False)
def isrealobj(x: Any, /) -> bool:
    """Is the dtype not complex?"""
    return not iscomplexobj(x)


@public(method=False)
def isscalar(x: Any, /) -> bool:
    """Is this a Python or NumPy number, or a 0-d result, which NumPy would give as one?"""
    return x.is_value if isinstance(x, Tensor) else np.isscalar(x)
