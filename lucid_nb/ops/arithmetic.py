"""Arithmetic: each op is its formula."""

from ..expr import Expr, Vocabulary
from ..register import binary, unary

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


@binary(operator="truediv", kind="float", oracle="numpy.divide", complexes=True, names=("div", "true_divide"),
        samples=((-3, 3), (0.5, 3)))
def divide(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """Quotient, element by element, in a float dtype."""
    return x / y


@unary(operator="neg", oracle="numpy.negative", bools=False, complexes=True)
def negative(m: Vocabulary, x: Expr) -> Formula:
    """x with the other sign."""
    return -x


@binary(oracle="numpy.power", samples=((0.2, 3), (-2, 3)), ulp=2, bools=False, names=("pow",))
def power(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """x to the power y. Integers stay integers, and wrap; a negative integer exponent is refused."""
    return m.power(x, y)


@unary(oracle="numpy.square", complexes=True)
def square(m: Vocabulary, x: Expr) -> Formula:
    """x times itself."""
    return x * x


@unary(kind="float", oracle="numpy.sqrt", samples=((0.1, 9),))
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


@binary(oracle="numpy.maximum")
def maximum(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """The larger; NaN wins. Ties share the gradient evenly."""
    return m.maximum(x, y)


@binary(oracle="numpy.minimum")
def minimum(m: Vocabulary, x: Expr, y: Expr) -> Formula:
    """The smaller; NaN wins. Ties share the gradient evenly."""
    return m.minimum(x, y)
