"""Floats as such: signs, neighbours, powers of two, and what is not finite."""

from functools import cache
from typing import Any

import numpy as np

from .. import backend, dtypes
from ..apply import apply
from ..array import Tensor, fresh
from ..expr import Entry, Expr, Vocabulary, entry, vocabulary
from ..expr import m as words
from ..op import constant as scalar_of
from ..op import registry
from ..register import binary, public, record, unary
from ..vocabulary import constant
from .movement import as_tensor

Pair = tuple[Expr | None, Expr | None]
NAN = float("nan")

vocabulary["spacing"] = Entry("spacing", 1, constant, cost=8)


@entry(cost=8)
def nextafter_(g: Expr, y: Expr, x: Expr, end: Expr) -> Pair: return words.where(x == end, 0, g), None


@entry(cost=8)
def ldexp_(g: Expr, y: Expr, x: Expr, exponent: Expr) -> Pair: return words.ldexp(g, exponent), None


@binary(kind="float", oracle="numpy.copysign", samples=((0.2, 3), (-3, -0.2)))
def copysign(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """The size of x with the sign of y, that of -0.0 too."""
    return m.copysign(x, y)


@unary(kind="float", oracle="numpy.signbit")
def signbit(m: Vocabulary, x: Expr) -> Expr:
    """Is the sign bit set, as of -0.0?"""
    return m.copysign(1, x) < 0


@binary(kind="float", oracle="numpy.nextafter", samples=((-3, 3), (4, 9)))
def nextafter(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """The next number that the dtype has after x, on the way to y; y itself, without a slope, where x is there."""
    return m.nextafter(x, y)


@unary(kind="float", oracle="numpy.spacing")
def spacing(m: Vocabulary, x: Expr) -> Expr:
    """The distance from x to the next number away from zero, with the sign of x; of float16 to the next larger one."""
    return m.spacing(x)


@unary(kind="float", oracle="numpy.frexp", samples=((0.3, 3),))
def frexp(m: Vocabulary, x: Expr) -> tuple[Expr, Expr]:
    """Mantissa in [0.5, 1) and int32 exponent of two, whose product x is. The exponent has no gradient."""
    return m.frexp_mantissa(x), m.frexp_exponent(x)


@binary(kind="float", integers=(1,), oracle="numpy.ldexp", samples=((0.3, 3), (-9, 9)))
def ldexp(m: Vocabulary, x: Expr, exponent: Expr) -> Expr:
    """x times two to the power of an integer, rounded once."""
    return m.ldexp(x, exponent)


@binary(kind="float", oracle="numpy.heaviside", samples=((0.2, 3), (-3, 3)))
def heaviside(m: Vocabulary, x: Expr, at_zero: Expr) -> Expr:
    """0 below 0, 1 above it, and `at_zero` at 0."""
    return m.where(x == 0, at_zero, m.where(x > 0, 1, m.where(x < 0, 0, NAN)))


# ------------------------------------------------------------------------------------- what is not finite
@unary(oracle="numpy.isnan", complexes=True)
def isnan(m: Vocabulary, x: Expr) -> Expr:
    """Is it NaN, or has it such a part?"""
    return x != x


@unary(oracle="numpy.isinf", complexes=lambda m, z: m.bitwise_or(m.isinf(m.real(z)), m.isinf(m.imag(z))))
def isinf(m: Vocabulary, x: Expr) -> Expr:
    """Is it infinite, or has it such a part?"""
    return m.isinf(x)


@unary(oracle="numpy.isfinite", complexes=lambda m, z: m.bitwise_and(m.isfinite(m.real(z)), m.isfinite(m.imag(z))))
def isfinite(m: Vocabulary, x: Expr) -> Expr:
    """Is it neither NaN nor infinite?"""
    return m.isfinite(x)


@unary(oracle="numpy.isposinf")
def isposinf(m: Vocabulary, x: Expr) -> Expr:
    """Is it the positive infinity?"""
    return m.bitwise_and(m.isinf(x), x > 0)


@unary(oracle="numpy.isneginf")
def isneginf(m: Vocabulary, x: Expr) -> Expr:
    """Is it the negative infinity?"""
    return m.bitwise_and(m.isinf(x), x < 0)


def _replaced(m: Vocabulary, x: Expr, nan: Expr, posinf: Expr, neginf: Expr) -> Expr:
    finite = m.where(m.isfinite(x), x, m.where(x > 0, posinf, neginf))
    return m.where(x != x, nan, finite)


def _replaced_parts(m: Vocabulary, z: Expr, *values: Expr) -> Expr:
    values = tuple(map(m.real, values))
    return m.complex(_replaced(m, m.real(z), *values), _replaced(m, m.imag(z), *values))


@record(4, published=False, method=False, complexes=_replaced_parts)
def replace_special(m: Vocabulary, x: Expr, nan: Expr, posinf: Expr, neginf: Expr) -> Expr:
    """x, with other numbers in place of NaN and the infinities."""
    return _replaced(m, x, nan, posinf, neginf)


ZERO = 0.0


@cache
def _usual(dtype: np.dtype, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Zero and the largest and lowest number: making these scalars anew took a quarter of the time of 1e6 numbers."""
    largest, table = float(dtypes.largest(dtype)), backend.table(device)
    zero, high, low = (fresh(scalar_of("nan_to_num", value, dtype, table)) for value in (ZERO, largest, -largest))
    return zero, high, low


@public()
def nan_to_num(x: Any, copy: bool = True, nan: Any = ZERO, posinf: Any = None, neginf: Any = None) -> Tensor:
    """x with `nan` in place of NaN, and `posinf` and `neginf` (None: the largest and the lowest number) of infinities.

    Where not `copy`, a tensor is written in place. What is replaced has gradient 0.

    >>> import lucid_nb as lnb
    >>> lnb.nan_to_num(lnb.tensor([1.0, float("nan"), float("-inf")]), neginf=-9)
    tensor([ 1.,  0., -9.])
    """
    given, x = x, as_tensor("nan_to_num", x)
    if not dtypes.is_inexact(x.dtype):
        return apply(registry["copy"], (x,)) if copy else x
    if nan is ZERO and posinf is neginf is None:
        result = replace_special(x, *_usual(x.dtype, x.device))
    else:
        far = _usual(x.dtype, x.device)[1:]
        result = replace_special(x, nan, far[0] if posinf is None else posinf, far[1] if neginf is None else neginf)
    if not copy and isinstance(given, Tensor):
        given.write(result, "nan_to_num")
        return given
    return result
