"""Complex numbers: their parts, size and direction. Gradients follow the conjugate convention: g is dL/dx + i dL/dy."""

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..apply import apply
from ..array import Tensor
from ..errors import DTypeError
from ..expr import Expr, Vocabulary
from ..op import Primitive
from ..register import public, unary
from ..storage import Reinterpret, Slice
from .movement import as_tensor, astype
from .trigonometric import arctan2


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


# --------------------------------------------------------------------------------------------------- parts
def _part(x: Tensor, number: int) -> Tensor:
    """The real (0) or imaginary (1) parts of a complex tensor, as a view."""
    pairs = x.moved(Slice((..., None))).moved(Reinterpret(x.dtype, np.empty(0, x.dtype).real.dtype))
    return pairs.moved(Slice((..., number)))


@public(method=False)
def real(val: Any) -> Tensor:
    """The real parts, as a view; of real numbers, themselves.

    >>> import lucid_nb as lnb
    >>> lnb.real(lnb.tensor([1 + 2j, 3j]))
    tensor([1., 0.])
    """
    val = as_tensor("real", val)
    return _part(val, 0) if val.dtype.kind == "c" else val


@public(method=False)
def imag(val: Any) -> Tensor:
    """The imaginary parts, as a view; of real numbers, zeros.

    >>> import lucid_nb as lnb
    >>> lnb.imag(lnb.tensor([1 + 2j, 3j]))
    tensor([2., 3.])
    """
    val = as_tensor("imag", val)
    return _part(val, 1) if val.dtype.kind == "c" else apply(_zeros, (val,))


@unary(kind="float", published=False, oracle="numpy.angle(x)", bools=False)
def angle_of_real(m: Vocabulary, x: Expr) -> Expr:
    """Half a turn where the sign bit is set, otherwise 0; NaN stays NaN."""
    return m.where(x != x, x, m.where(m.copysign(1, x) < 0, math.pi, 0))


@public()
def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of z with the positive real axis, from -pi to pi; in degrees if `deg`.

    >>> import lucid_nb as lnb
    >>> lnb.angle(lnb.tensor([1j, -1]), deg=True)
    tensor([ 90., 180.])
    """
    z = as_tensor("angle", z)
    z = astype(z, dtypes.on_device(dtypes.FLOAT64, z.device)) if z.dtype.kind == "b" else z
    turned = arctan2(imag(z), real(z)) if z.dtype.kind == "c" else angle_of_real(z)
    return turned * (180 / math.pi) if deg else turned


_zeros = Primitive("zeros_like", lambda table, x: table.full(tuple(x.shape), 0, table.dtype_of(x)), None)


def _set_real(self: Tensor, value: Any) -> None:
    real(self)[...] = value


def _set_imag(self: Tensor, value: Any) -> None:
    if self.dtype.kind != "c":
        raise DTypeError(f"imag: {self.dtype} has no imaginary part to write. Use .astype('complex128').")
    imag(self)[...] = value


Tensor.real = property(real, _set_real, None, real.__doc__)  # type: ignore[assignment, method-assign]
Tensor.imag = property(imag, _set_imag, None, imag.__doc__)  # type: ignore[assignment, method-assign]


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
def iscomplexobj(x: Any) -> bool:
    """Is the dtype complex, whatever the values are?"""
    return as_tensor("iscomplexobj", x).dtype.kind == "c"


@public(method=False)
def isrealobj(x: Any) -> bool:
    """Is the dtype not complex?"""
    return not iscomplexobj(x)


@public(method=False)
def isscalar(element: Any) -> bool:
    """Is this a Python or NumPy number, or a 0-d result, which NumPy would give as one?"""
    return element.is_value if isinstance(element, Tensor) else np.isscalar(element)
