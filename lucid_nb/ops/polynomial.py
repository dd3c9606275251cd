"""Polynomials in formulas."""

from collections.abc import Sequence

from ..expr import Expr, lift


def polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    """Horner's rule, from the highest power down."""
    value = lift(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
