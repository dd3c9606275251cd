"""Comparisons and choices."""

from ..expr import Expr, Vocabulary
from ..register import binary, ternary


@binary(operator="gt", oracle="numpy.greater")
def greater(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x > y, element by element, as bool."""
    return x > y


@binary(operator="ge", oracle="numpy.greater_equal")
def greater_equal(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x >= y, element by element, as bool."""
    return x >= y


@binary(operator="lt", oracle="numpy.less")
def less(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """x < y, element by element, as bool."""
    return x < y


@binary(operator="le", oracle="numpy.less_equal")
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
