"""Arithmetic: each op is its formula."""

import builtins
from typing import Any

import numpy as np

from ..apply import apply
from ..array import Tensor
from ..dtypes import BOOL
from ..errors import DTypeError
from ..expr import Expr, Vocabulary
from ..op import registry
from ..register import binary, install_operator, public, ternary, unary
from .movement import deliver

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


@unary(operator="neg", oracle="numpy.negative", bools=False, complexes=True)
def negative(m: Vocabulary, x: Expr) -> Formula:
    """x with the other sign."""
    return -x


@unary(oracle="numpy.square", bools="int8", complexes=True)
def square(m: Vocabulary, x: Expr) -> Formula:
    """x times itself."""
    return x * x


@unary(kind="ratio", oracle="numpy.reciprocal(x)", complexes=True, samples=((0.3, 3),))
def reciprocal(m: Vocabulary, x: Expr) -> Formula:
    """1 / x, in a float dtype; of integers too, whose quotient NumPy cuts to 0 instead."""
    return 1 / x


@unary(kind="float", complexes=True, oracle="numpy.sqrt", samples=((0.1, 9),))
def sqrt(m: Vocabulary, x: Expr) -> Formula:
    """Square root; NaN below zero."""
    return m.sqrt(x)


@unary(operator="abs", oracle="numpy.abs", names=("abs",), samples=((0.2, 3),))
def absolute(m: Vocabulary, x: Expr) -> Formula:
    """Absolute value. Its derivative at 0 is 0."""
    return m.absolute(x)


@unary(oracle="numpy.sign", bools=False, samples=((0.2, 3),))
def sign(m: Vocabulary, x: Expr) -> Formula:
    """-1, 0 or 1; NaN stays NaN."""
    return m.sign(x)


@unary(kind="float", oracle="numpy.frexp", samples=((0.3, 3),))
def frexp(m: Vocabulary, x: Expr) -> Formula:
    """Mantissa in [0.5, 1) and int32 exponent of two, whose product x is. The exponent has no gradient."""
    return m.frexp_mantissa(x), m.frexp_exponent(x)


@binary(oracle="numpy.maximum")
def maximum(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """The larger; NaN wins. Ties share the gradient evenly."""
    return m.maximum(x, y)


@binary(oracle="numpy.minimum")
def minimum(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """The smaller; NaN wins. Ties share the gradient evenly."""
    return m.minimum(x, y)


@binary(oracle="numpy.power", samples=((0.2, 3), (-2, 3)), ulp=2, bools="int8", published=False, name="power")
def power_of(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """x to the power y; a negative integer exponent must have been refused."""
    return m.power(x, y)


# NumPy, too, computes these exactly; another literal exponent would compile no kernel of its own either.
SPECIAL_POWERS = {2: square, 0.5: sqrt, -1.0: reciprocal}


@public(names=("pow",))
def power(x: Any, y: Any, /) -> Tensor:
    """x to the power y, element by element. Integers stay integers, and wrap; a negative integer exponent is refused.

    >>> import lucid_nb as lnb
    >>> lnb.power(lnb.tensor([1, 2, 3]), 2)
    tensor([1, 4, 9])
    """
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
    exponents = y.to_host() if isinstance(y, Tensor) else np.asarray(y)
    base = x if isinstance(x, Tensor) else np.asarray(x)
    if exponents.dtype.kind in "iu" and base.dtype.kind in "biu" and exponents.size and exponents.min() < 0:
        raise DTypeError(f"power: integers to the power {exponents.min()} are fractions. Use .astype('float64').")


install_operator("pow", power)


@ternary(oracle="numpy.clip", published=False, samples=((-3, 3), (-2, -1), (1, 2)), name="clip")
def clip_between(m: Vocabulary, x: Expr, low: Expr, high: Expr) -> Formula:
    """x, not below low and not above high."""
    return m.clip(x, low, high)


@public(names=("clamp",))
def clip(x: Any, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """x, not below `min` and not above `max`, either of which may be None; NaN stays NaN.

    At a bound the whole gradient passes to x, outside it to the bound. Where max < min, the result is max.

    >>> import lucid_nb as lnb
    >>> lnb.clip(lnb.tensor([-2.0, 0.5, 2.0]), -1, 1)
    tensor([-1. ,  0.5,  1. ])
    """
    if min is None and max is None:
        return deliver("clip", apply(registry["copy"], (x,)), out)
    x = x if isinstance(x, Tensor) else apply(registry["copy"], (x,))
    bounds = [_far_bound(x, is_upper) if bound is None else _within(x, bound)
              for bound, is_upper in ((min, False), (max, True))]
    return deliver("clip", clip_between(x, *bounds), out)


def _within(x: Tensor, bound: Any) -> Any:
    """A Python integer beyond an integer dtype bounds nothing more than the dtype does."""
    if type(bound) is int and x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        return builtins.min(builtins.max(bound, int(limits.min)), int(limits.max))
    return bound


def _far_bound(x: Tensor, is_upper: bool) -> Any:
    """A bound that no element reaches."""
    if x.dtype.kind == "b":
        return is_upper
    if x.dtype.kind in "iu":
        bounds = np.iinfo(x.dtype)
        return int(bounds.max if is_upper else bounds.min)
    return float("inf") if is_upper else float("-inf")
