"""Rounding, and remainders of division. What is constant almost everywhere has no gradient."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..apply import apply
from ..array import Tensor
from ..expr import Expr, Vocabulary
from ..expr import m as words
from ..op import registry
from ..register import binary, install_operator, public, unary
from ..shapes import as_integer
from .movement import as_tensor, deliver

Parts = tuple[Expr, Expr]

def _by_parts(formula: Callable[[Expr], Expr]) -> Callable[[Vocabulary, Expr], Expr]:
    """The formula of complex numbers that treats both parts so."""
    return lambda m, z: m.complex(formula(m.real(z)), formula(m.imag(z)))


@unary(oracle="numpy.floor")
def floor(m: Vocabulary, x: Expr) -> Expr:
    """The largest integer that is not above x."""
    return m.floor(x)


@unary(oracle="numpy.ceil")
def ceil(m: Vocabulary, x: Expr) -> Expr:
    """The smallest integer that is not below x."""
    return m.ceil(x)


@unary(oracle="numpy.trunc", names=("fix",))
def trunc(m: Vocabulary, x: Expr) -> Expr:
    """x without its fraction: the nearest integer towards zero."""
    return m.truncate(x)


@unary(kind="float", complexes=_by_parts(words.round_even), oracle="numpy.rint")
def rint(m: Vocabulary, x: Expr) -> Expr:
    """The nearest integer, the even one of two; of both parts of a complex number."""
    return m.round_even(x)


@unary(kind="float", oracle="numpy.modf")
def modf(m: Vocabulary, x: Expr) -> Parts:
    """Fraction and whole part of x, both with its sign; the whole part has no gradient."""
    return m.fraction(x), m.truncate(x)


@binary(kind="float", published=False, method=False, oracle="numpy.rint(x * y.real) / y.real",
        samples=((-3, 3), (1, 100)),
        complexes=lambda m, z, scale: _by_parts(lambda x: m.round_even(x * m.real(scale)) / m.real(scale))(m, z))
def round_to_fractions(m: Vocabulary, x: Expr, scale: Expr) -> Expr:
    """x rounded to a multiple of 1 / scale."""
    return m.round_even(x * scale) / scale


@binary(kind="float", published=False, method=False, oracle="numpy.rint(x / y.real) * y.real",
        samples=((-300, 300), (1, 100)),
        complexes=lambda m, z, scale: _by_parts(lambda x: m.round_even(x / m.real(scale)) * m.real(scale))(m, z))
def round_to_multiples(m: Vocabulary, x: Expr, scale: Expr) -> Expr:
    """x rounded to a multiple of scale."""
    return m.round_even(x / scale) * scale


@public(names=("around",))
def round(a: Any, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Elements rounded to `decimals` places, a half to the even neighbour; before the point where it is negative.

    >>> import lucid_nb as lnb
    >>> lnb.round(lnb.tensor([0.5, 1.25, 2.36]), 1)
    tensor([0.5, 1.2, 2.4])
    """
    a, decimals = as_tensor("round", a), as_integer("round", "decimals", decimals)
    if a.dtype.kind in "iu" and decimals >= 0:
        return deliver("round", apply(registry["copy"], (a,)), out)
    if decimals == 0:
        return deliver("round", rint(a), out)
    scale = float(10 ** abs(decimals)) if abs(decimals) < 309 else math.inf
    if a.dtype.kind in "iu":
        return deliver("round", round_to_multiples(a.astype(np.float64), scale).astype(a.dtype), out)
    if a.dtype.itemsize == 2:                # in steps, each rounded to 16 bits, as NumPy does it
        return deliver("round", rint(a * scale) / scale if decimals > 0 else rint(a / scale) * scale, out)
    return deliver("round", (round_to_fractions if decimals > 0 else round_to_multiples)(a, scale), out)


def _round(self: Tensor, digits: int | None = None) -> Tensor:
    return round(self, digits or 0)


Tensor.__round__ = _round  # type: ignore[method-assign]


# ------------------------------------------------------------------------------------------------ division
@binary(operator="floordiv", bools="int8", oracle="numpy.floor_divide", samples=((-9, 9), (0.5, 3)))
def floor_divide(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """The largest integer that is not above x / y; of integers by 0 it is 0, with a warning."""
    return m.floor_divide(x, y)


@binary(operator="mod", bools="int8", oracle="numpy.remainder", names=("mod",), samples=((-9, 9), (0.5, 3)))
def remainder(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x - y floor(x / y), with the sign of y; of integers by 0 it is 0, with a warning."""
    return m.remainder(x, y)


@binary(bools="int8", oracle="numpy.fmod", samples=((-9, 9), (0.5, 3)))
def fmod(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x - y trunc(x / y), with the sign of x; of integers by 0 it is 0, with a warning."""
    return m.fmod(x, y)


@binary(operator="divmod", bools="int8", oracle="numpy.divmod", samples=((-9, 9), (0.5, 3)))
def divmod(m: Vocabulary, x: Expr, y: Expr) -> Parts:
    """floor_divide and remainder at once."""
    return m.floor_divide(x, y), m.remainder(x, y)


install_operator("rdivmod", lambda x, y: divmod(y, x))
