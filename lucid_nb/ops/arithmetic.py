"""Arithmetic: each op is its formula."""

from typing import Any

import numpy as np

from ..array import Tensor
from ..dtypes import BOOL
from ..errors import DTypeError
from ..expr import Expr, Vocabulary, entry, product, quotient
from ..register import binary, install_operator, manners, public, short, ternary, unary
from .hosted import host_of_all

Formula = tuple[Expr, ...] | Expr


@binary(operator="add", oracle="numpy.add", complexes=True)
def add(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """Sum, element by element."""
    return x + y


@binary(operator="sub", oracle="numpy.subtract", bools=False, complexes=True, names=("sub",))
def subtract(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """Difference, element by element."""
    return x - y


@binary(operator="mul", oracle="numpy.multiply", complexes=True, names=("mul",))
def multiply(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """Product, element by element."""
    return x * y


@binary(operator="truediv", kind="ratio", oracle="numpy.divide", complexes=True, names=("div", "true_divide"),
        samples=((-3, 3), (0.5, 3)))
def divide(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """Quotient, element by element, in a float dtype."""
    return x / y


def _complex_lerp(m: Vocabulary, x: Expr, y: Expr, weight: Expr) -> Formula:
    way = y - x
    return m.where(m.real(weight) < 0.5, x + weight * way, y - way * (1 - weight))


@ternary(kind="float", complexes=_complex_lerp)
def lerp(m: Vocabulary, x: Expr, y: Expr, weight: Expr) -> Formula:
    """From x to y by a weight: x itself at 0, y itself at 1."""
    way = y - x
    return m.where(weight < 0.5, x + weight * way, y - way * (1 - weight))


@unary(operator="neg", oracle="numpy.negative", bools=False, complexes=True)
def negative(m: Vocabulary, x: Expr) -> Formula:
    """x with the other sign."""
    return -x


@unary(operator="pos", oracle="numpy.positive", bools=False, complexes=True)
def positive(m: Vocabulary, x: Expr) -> Formula:
    """x itself, in memory of its own."""
    return x


@unary(oracle="numpy.square", bools="int8", complexes=True)
def square(m: Vocabulary, x: Expr) -> Formula:
    """x times itself."""
    return x * x


@unary(oracle="numpy.power(x, 3)", bools="int8", complexes=True, ulp=2)
def cube(m: Vocabulary, x: Expr) -> Formula:
    """x times itself, twice."""
    return x * x * x


@entry(cost=5)
def reciprocal_(g: Expr, y: Expr, x: Expr) -> tuple[Expr | None]:
    part = product(g, y)
    return (None if part is None else -quotient(part, x),)


@unary(oracle="numpy.reciprocal", bools="int8", complexes=True, samples=((0.3, 3),))
def reciprocal(m: Vocabulary, x: Expr) -> Formula:
    """1 / x; of integers without its fraction."""
    return m.reciprocal(x)


@unary(kind="float", complexes=True, oracle="numpy.sqrt", samples=((0.1, 9),))
def sqrt(m: Vocabulary, x: Expr) -> Formula:
    """Square root; NaN below zero."""
    return m.sqrt(x)


@binary(oracle="numpy.power", samples=((0.2, 3), (-2, 3)), ulp=2, bools="int8", published=False, name="power",
        complexes=True)
def power_of(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """x to the power y; a negative integer exponent must have been refused."""
    return m.power(x, y)


# NumPy, too, computes these exactly; another literal exponent would compile no kernel of its own either.
SPECIAL_POWERS = {2: square, 0.5: sqrt, -1.0: reciprocal}


@public(names=("pow",))
def power(x: Any, y: Any, /, out: Any = None, **options: Any) -> Any:
    """x to the power y, element by element. Integers stay integers, and wrap; a negative integer exponent is refused.

    >>> import lucid_nb as lnb
    >>> lnb.power(lnb.tensor([1, 2, 3]), 2)
    tensor([1, 4, 9])
    """
    if options or out is not None:
        return manners.call(power, (x, y), out, **options)
    if type(y) is Tensor and (raw := short.plain(x)) is not None and raw.dtype.kind == "f":
        return power_of(x, y)
    special = SPECIAL_POWERS.get(y) if type(y) in (int, float) else None
    if special is not None and (is_float(x) or (type(y) is int and y == 2 and not is_bool(x))):
        return special(x)
    if not is_float(x) and not is_float(y):
        _refuse_negative_exponents(x, y)
    return power_of(x, y)


def is_float(x: Any) -> bool:
    """Does this operand make the result a float?"""
    return isinstance(x, float) or (isinstance(x, Tensor) and x.dtype.kind not in "biu")


def is_bool(x: Any) -> bool:
    """Is this operand bool, which NumPy's power takes for an integer?"""
    return isinstance(x, (bool, np.bool_)) or getattr(x, "dtype", None) == BOOL


def _refuse_negative_exponents(x: Any, y: Any) -> None:
    exponents = host_of_all(y) if isinstance(y, Tensor) else np.asarray(y)
    base = x if isinstance(x, Tensor) else np.asarray(x)
    if exponents.dtype.kind in "iu" and base.dtype.kind in "biu" and exponents.size and exponents.min() < 0:
        raise DTypeError(f"power: integers to the power {exponents.min()} are fractions. Use .astype('float64').")


power.record = power_of.record  # type: ignore[attr-defined]
install_operator("pow", power)


@binary(kind="double", oracle="numpy.float_power", samples=((0.2, 3), (-2, 3)), ulp=2, complexes=True)
def float_power(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """x to the power y, in float64 or complex128 (not on mlx): integers to negative powers are fractions."""
    return m.power(x, y)
