"""Bits and divisors of integers. None of these has a gradient."""

from ..expr import Entry, Expr, Vocabulary, vocabulary
from ..register import binary, unary
from ..vocabulary import constant

for _name in ("left_shift", "right_shift", "gcd", "lcm"):
    vocabulary[_name] = Entry(_name, 2, constant, cost=40 if _name in ("gcd", "lcm") else 1)
vocabulary["bit_count"] = Entry("bit_count", 1, constant, "uint8")


@binary(kind="integer", operator="and", oracle="numpy.bitwise_and")
def bitwise_and(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Bits that are set in both."""
    return m.bitwise_and(x, y)


@binary(kind="integer", operator="or", oracle="numpy.bitwise_or")
def bitwise_or(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Bits that are set in one or both."""
    return m.bitwise_or(x, y)


@binary(kind="integer", operator="xor", oracle="numpy.bitwise_xor")
def bitwise_xor(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Bits that are set in exactly one."""
    return m.bitwise_xor(x, y)


@unary(kind="integer", operator="invert", oracle="numpy.invert", names=("bitwise_invert", "bitwise_not"))
def invert(m: Vocabulary, x: Expr) -> Expr:
    """Every bit the other way; of bool, not x."""
    return m.invert(x)


@binary(kind="integer", bools="int8", operator="lshift", oracle="numpy.left_shift", names=("bitwise_left_shift",),
        samples=((-99, 99), (0, 9)))
def left_shift(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Bits moved up by y places; 0 where y is negative or as large as x has bits."""
    return m.left_shift(x, y)


@binary(kind="integer", bools="int8", operator="rshift", oracle="numpy.right_shift", names=("bitwise_right_shift",),
        samples=((-99, 99), (0, 9)))
def right_shift(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Bits moved down by y places, the sign kept; where y is negative or too large, 0 or -1 is left."""
    return m.right_shift(x, y)


@unary(kind="integer", bools="int8", oracle="numpy.bitwise_count", samples=((-99, 99),))
def bitwise_count(m: Vocabulary, x: Expr) -> Expr:
    """How many bits of |x| are 1, as uint8."""
    return m.bit_count(x)


@binary(kind="integer", bools=False, oracle="numpy.gcd", samples=((-99, 99),))
def gcd(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Greatest common divisor of |x| and |y|; that of x and 0 is |x|."""
    return m.gcd(x, y)


@binary(kind="integer", bools=False, oracle="numpy.lcm", samples=((-99, 99),))
def lcm(m: Vocabulary, x: Expr, y: Expr) -> Expr:
    """Least common multiple of |x| and |y|, wrapping; 0 where either is 0."""
    return m.lcm(x, y)
