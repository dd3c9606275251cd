"""Comparisons, choices and truth values. Complex numbers are ordered by real, then by imaginary part, as in NumPy."""

from collections.abc import Callable

from ..expr import Expr, Vocabulary
from ..register import binary, ternary, unary

Formula = Callable[[Vocabulary, Expr, Expr], Expr]


def ordered(name: str) -> Formula:
    """Comparison `name` of complex numbers: real parts decide where nothing is NaN, imaginary ones of equal reals."""
    strict = name.removesuffix("_equal")

    def formula(m: Vocabulary, x: Expr, y: Expr) -> Expr:
        real, imag = (m.real(x), m.real(y)), (m.imag(x), m.imag(y))
        known = m.bitwise_and(m.equal(imag[0], imag[0]), m.equal(imag[1], imag[1]))
        by_real = m.bitwise_and(getattr(m, strict)(*real), known)
        return m.bitwise_or(by_real, m.bitwise_and(m.equal(*real), getattr(m, name)(*imag)))
    return formula


@binary(operator="gt", oracle="numpy.greater", complexes=ordered("greater"))
def greater(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x > y, element by element, as bool."""
    return x > y


@binary(operator="ge", oracle="numpy.greater_equal", complexes=ordered("greater_equal"))
def greater_equal(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x >= y, element by element, as bool."""
    return x >= y


@binary(operator="lt", oracle="numpy.less", complexes=ordered("less"))
def less(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x < y, element by element, as bool."""
    return x < y


@binary(operator="le", oracle="numpy.less_equal", complexes=ordered("less_equal"))
def less_equal(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x <= y, element by element, as bool."""
    return x <= y


@binary(operator="eq", oracle="numpy.equal", complexes=True)
def equal(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x == y, element by element, as bool."""
    return m.equal(x, y)


@binary(operator="ne", oracle="numpy.not_equal", complexes=True)
def not_equal(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x != y, element by element, as bool."""
    return m.not_equal(x, y)


@ternary(kind="choice", oracle="numpy.where", complexes=True, method=False)
def where(m: Vocabulary, condition: Expr, x: Expr, y: Expr) -> Expr:
    """x where the condition holds (is not 0), otherwise y. What is not chosen has gradient 0, also where it is NaN."""
    return m.where(condition, x, y)


@binary(kind="truth", oracle="numpy.logical_and", complexes=True)
def logical_and(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Are both different from 0? NaN is."""
    return m.bitwise_and(x != 0, y != 0)


@binary(kind="truth", oracle="numpy.logical_or", complexes=True)
def logical_or(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Is one of them different from 0?"""
    return m.bitwise_or(x != 0, y != 0)


@binary(kind="truth", oracle="numpy.logical_xor", complexes=True)
def logical_xor(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Is exactly one of them different from 0?"""
    return m.bitwise_xor(x != 0, y != 0)


@unary(oracle="numpy.logical_not", complexes=True)
def logical_not(m: Vocabulary, x: Expr) -> Expr:
    """Is it 0?"""
    return m.equal(x, 0)
