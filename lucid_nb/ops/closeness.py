"""Whether arrays are equal, or nearly so."""

from typing import Any

import numpy as np

from .. import backend, dtypes
from ..apply import operands
from ..array import Tensor, fresh
from ..errors import ShapeError
from ..expr import Expr, Vocabulary
from ..op import constant
from ..register import functions, public, record
from ..shapes import broadcast_shapes
from .movement import as_tensor


def _close(m: Vocabulary, x: Expr, y: Expr, distance: Expr, size: Expr, rtol: Expr, atol: Expr) -> Expr:
    """Within atol + rtol |y| of a finite y, or equal."""
    return m.bitwise_or(x == y, m.bitwise_and(m.isfinite(size), distance <= atol + rtol * size))


def _complex_close(m: Vocabulary, x: Expr, y: Expr, rtol: Expr, atol: Expr) -> Expr:
    return _close(m, x, y, m.modulus(x - y), m.modulus(y), m.real(rtol), m.real(atol))


def _both_nan(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    return m.bitwise_and(x != x, y != y)


@record(4, kind="ratio", published=False, method=False, complexes=_complex_close)
def is_close(m: Vocabulary, x: Expr, y: Expr, rtol: Expr, atol: Expr) -> Expr:
    """Are two numbers near, or equal?"""
    return _close(m, x, y, m.absolute(x - y), m.absolute(y), rtol, atol)


@record(4, kind="ratio", published=False, method=False,
        complexes=lambda m, x, y, *bounds: m.bitwise_or(_complex_close(m, x, y, *bounds), _both_nan(m, x, y)))
def is_close_or_nan(m: Vocabulary, x: Expr, y: Expr, rtol: Expr, atol: Expr) -> Expr:
    """Are two numbers near, or equal, or both NaN?"""
    return m.bitwise_or(_close(m, x, y, m.absolute(x - y), m.absolute(y), rtol, atol), _both_nan(m, x, y))


@public()
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Tensor:
    """Is |a - b| <= atol + rtol |b|, element by element? Infinities are close to themselves, NaN if `equal_nan`.

    >>> import lucid_nb as lnb
    >>> lnb.isclose(lnb.tensor([1.0, 2.0]), lnb.tensor([1.0 + 1e-9, 2.1]))
    tensor([ True, False])
    """
    a, b = operands("isclose", (a, b))                   # a Python number beside a tensor stays weak
    dtype = dtypes.promote((float, *[x.dtype if isinstance(x, Tensor) else type(x) for x in (a, b)]))
    if dtype.itemsize == 2:
        device = next(x.device for x in (a, b) if isinstance(x, Tensor))
        a, b = (_in_dtype(x, dtype, device) for x in (a, b))
        return _close_by_steps(a, b, rtol, atol, equal_nan)
    return (is_close_or_nan if equal_nan else is_close)(a, b, rtol, atol)


def _in_dtype(x: Any, dtype: np.dtype, device: str) -> Tensor:
    """A tensor, or a Python number as one of a dtype on a device."""
    return x if isinstance(x, Tensor) else fresh(constant("isclose", x, dtype, backend.table(device)))


def _close_by_steps(a: Tensor, b: Tensor, rtol: Any, atol: Any, equal_nan: bool) -> Tensor:
    """`isclose` with every step rounded to 16 bits, as NumPy does it."""
    is_finite, either, both = (functions[name] for name in ("isfinite", "logical_or", "logical_and"))
    with np.errstate(invalid="ignore"):
        near = both(abs(a - b) <= rtol * abs(b) + atol, is_finite(b))
    found = either(near, a == b)
    return either(found, both(a != a, b != b)) if equal_nan else found


@public()
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Is every element close, as `isclose` has it?"""
    return _all(isclose(a, b, rtol, atol, equal_nan))


@public()
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Have two arrays one shape and equal elements (NaN equal to NaN if `equal_nan`)?"""
    a1, a2 = as_tensor("array_equal", a1), as_tensor("array_equal", a2)
    if a1.shape != a2.shape:
        return False
    same = functions["equal"](a1, a2)
    if equal_nan:
        is_nan = functions["isnan"]
        same = functions["logical_or"](same, functions["logical_and"](is_nan(a1), is_nan(a2)))
    return _all(same)


@public()
def array_equiv(a1: Any, a2: Any) -> bool:
    """Do two arrays broadcast, and have equal elements then?"""
    a1, a2 = as_tensor("array_equiv", a1), as_tensor("array_equiv", a2)
    try:
        broadcast_shapes("array_equiv", a1.shape, a2.shape)
    except ShapeError:
        return False
    return _all(functions["equal"](a1, a2))


def _all(found: Tensor) -> bool:
    """Are all true? Of none, they are."""
    return bool(found.to_host().all())
