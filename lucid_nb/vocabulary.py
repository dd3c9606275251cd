"""The vocabulary: every scalar function that a formula may call, with its derivative.

A rule `rule(g, y, *args)` gives what the cotangent g of the result y contributes to each argument. Rules are made of
vocabulary entries, so they can be differentiated again. Products with a factor that may be infinite where g is zero
are absorbing (`product`, `quotient`): the branch that `where` did not take, `x * sqrt(x)` at 0, and their like give 0.
An entry with an expansion is a *stable* one: what the obvious formula loses is stated once.
"""

import math

from .expr import Entry, Expr, Operand, Vocabulary, entry, is_literal, lift, m, make, product, quotient, vocabulary

Pair = tuple[Expr | None, Expr | None]
Single = tuple[Expr | None]


@entry()
def add(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return g, g
@entry()
def subtract(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return g, -g
@entry()
def multiply(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return product(g, b), product(g, a)
@entry()
def negative(g: Expr, y: Expr, a: Expr) -> Single: return (-g,)
@entry(cost=0, flops=0)
def conjugate(g: Expr, y: Expr, a: Expr) -> Single: return (m.conjugate(g),)
@entry(result="real", cost=0, flops=0)
def real(g: Expr, y: Expr, z: Expr) -> Single: return (m.real(g),)
@entry(result="real", cost=0, flops=0)
def imag(g: Expr, y: Expr, z: Expr) -> Single: return (m.complex(0, m.real(g)),)
@entry(result="complex", cost=0, flops=0)
def complex_(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return m.real(g), m.imag(g)
@entry(cost=2)
def absorbing_product(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return product(g, b), product(g, a)


def _negative(g: Expr | None) -> Expr | None:
    return None if g is None else -g


@entry(cost=4)
def divide(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return quotient(g, b), _negative(_by_divisor(g, y, b))
@entry(cost=5)
def absorbing_quotient(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    return quotient(g, b), _negative(_by_divisor(g, y, b))


def _by_divisor(g: Expr, y: Expr, b: Expr) -> Expr | None:
    """d(a / b) / db without its sign: g y / b."""
    part = product(g, y)
    return None if part is None else quotient(part, b)


# ------------------------------------------------------------------------------- exponentials and logarithms
@entry(cost=10, flops=10)
def exp(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, y),)
@entry(cost=12, flops=10)
def expm1(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.exp(x)),)     # y + 1 loses the far left tail
@entry(cost=12, flops=10)
def log(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(g, x),)
@entry(cost=16, flops=10)
def log1p(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(g, x + 1),)
@entry(cost=6, flops=6)
def sqrt(g: Expr, y: Expr, x: Expr) -> Single: return (quotient(0.5 * g, y),)


def _power(a: Operand, b: Operand) -> Expr:
    """a ** b; literal exponents that NumPy computes without a power do so here too."""
    a, b = lift(a), lift(b)
    short = {2: lambda: a * a, 1: lambda: a, 0.5: lambda: m.sqrt(a), -1: lambda: 1 / a}
    return short[b.literal]() if b.op == "literal" and b.literal in short else make("power", (a, b))


Vocabulary.power = staticmethod(_power)  # type: ignore[attr-defined]


def _less_one(exponent: Expr) -> Expr:
    """exponent - 1, folded when it is known (in double, so float32 programs lose nothing)."""
    return lift(exponent.literal - 1) if exponent.op == "literal" else exponent - 1


@entry(cost=30, flops=11)
def power(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    """d/db is y log a, but 0 at a = 0, b >= 0, where y is constant 0 (or jumps to 1 at b = 0)."""
    slope = None if is_literal(b, 0) else m.absorbing_product(b, m.power(a, _less_one(b)))
    by_base = None if slope is None else product(g, slope)
    at_zero = m.where(m.real(b) >= 0, 0, y * m.log(a))
    by_exponent = product(g, m.where(a == 0, at_zero, m.absorbing_product(y, m.log(a))))
    return by_base, by_exponent


# ------------------------------------------------------------------------------------- circular and hyperbolic
@entry(cost=12, flops=6)
def sin(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.cos(x)),)
@entry(cost=12, flops=6)
def cos(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, -m.sin(x)),)
@entry(cost=14, flops=8)
def tanh(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.tanh_slope(x)),)


def _tanh_slope(m: Vocabulary, x: Expr) -> Expr:
    e = m.exp(-2 * m.absolute(x))
    return 4 * e / ((1 + e) * (1 + e))


@entry(expansion=_tanh_slope, cost=14)
def tanh_slope(g: Expr, y: Expr, x: Expr) -> Single:
    """1 - tanh(x)**2, right in both tails."""
    return (product(g, -2 * (m.tanh(x) * y)),)


# -------------------------------------------------------------------------------------------- kinks and choices
@entry(result="real")
def absolute(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.sign(x)),)
@entry(cost=2)
def sign(g: Expr, y: Expr, x: Expr) -> Single: return (None,)


def split_at_ties(g: Expr, first: Expr, second: Expr) -> Pair:
    """Contributions of a maximum whose first argument wins where `first`, the second where `second`; ties halve."""
    half = m.where(second, 0, 0.5 * g)
    return m.where(first, g, half), m.where(second, g, m.where(first, 0, 0.5 * g))


@entry(cost=2)
def maximum(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return split_at_ties(g, a > b, a < b)
@entry(cost=2)
def minimum(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return split_at_ties(g, a < b, a > b)
@entry(flops=0)
def where(g: Expr, y: Expr, condition: Expr, a: Expr, b: Expr) -> tuple[None, Expr, Expr]:
    return None, m.where(condition, g, 0), m.where(condition, 0, g)


@entry(expansion=lambda m, x, low, high: m.minimum(m.maximum(x, low), high), cost=4)
def clip(g: Expr, y: Expr, x: Expr, low: Expr, high: Expr) -> tuple[Expr, Expr, Expr]:
    """The whole gradient passes at a bound. Where high < low, NumPy's result is high."""
    above = m.where(x > high, 1, m.where(low > high, 1, 0)) == 1
    below = m.where(above, 0, m.where(x < low, 1, 0)) == 1
    inside = m.where(above, 0, m.where(below, 0, g))
    return inside, m.where(below, g, 0), m.where(above, g, 0)


def constant(g: Expr, y: Expr, *args: Expr) -> tuple[None, ...]:
    """The rule of a function that is constant almost everywhere."""
    return (None,) * len(args)


for _name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal"):
    vocabulary[_name] = Entry(_name, 2, constant, "bool")
for _name in ("isfinite", "isinf"):
    vocabulary[_name] = Entry(_name, 1, constant, "bool")
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):         # of conditions too
    vocabulary[_name] = Entry(_name, 2, constant, flops=0)
vocabulary["invert"] = Entry("invert", 1, constant, flops=0)


@entry(cost=2)
def copysign(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair:
    """d/da is the product of the signs, 0 at a = 0."""
    return product(g, m.sign(a) * m.copysign(1, b)), None


@entry(cost=4)
def frexp_mantissa(g: Expr, y: Expr, x: Expr) -> Single:
    """x = mantissa * 2**exponent, and the exponent is locally constant: d = y / x, and 1 at 0."""
    return (product(g, m.where(x == 0, 1, m.absorbing_quotient(y, x))),)


vocabulary["frexp_exponent"] = Entry("frexp_exponent", 1, constant, "int32", cost=4)


# ---------------------------------------------------------------------------------------- rounding and remainders
for _name in ("floor", "ceil", "truncate", "round_even"):
    vocabulary[_name] = Entry(_name, 1, constant, cost=2)
vocabulary["floor_divide"] = Entry("floor_divide", 2, constant, cost=30, flops=2)


def _less(g: Expr, quotient: Expr) -> Expr | None:
    """What a remainder loses where its divisor grows: the whole quotient."""
    part = product(g, quotient)
    return None if part is None else -part


@entry(cost=30, flops=4)
def remainder(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return g, _less(g, m.floor_divide(a, b))
@entry(cost=30, flops=4)
def fmod(g: Expr, y: Expr, a: Expr, b: Expr) -> Pair: return g, _less(g, m.truncate(a / b))


def _fraction(m: Vocabulary, x: Expr) -> Expr:
    return m.copysign(m.where(m.isinf(x), 0, x - m.truncate(x)), x)


@entry(expansion=_fraction, cost=4)
def fraction(g: Expr, y: Expr, x: Expr) -> Single: return (g,)


# ---------------------------------------------------------------------------- size and direction of complex numbers
@entry(result="real", cost=8, flops=9)
def modulus(g: Expr, y: Expr, z: Expr) -> Single:
    return (product(m.real(g), m.conjugate(m.unit(z))),)


def _unit(m: Vocabulary, z: Expr) -> Expr:
    """z / |z|; of an infinite part the direction of its axis, of two of them NaN."""
    x, y, size = m.real(z), m.imag(z), m.modulus(z)
    along_x, along_y = m.where(m.isinf(x), m.copysign(1, x), 0), m.where(m.isinf(y), m.copysign(1, y), 0)
    undefined = m.bitwise_and(m.isinf(x), m.isinf(y))
    limit = m.complex(m.where(undefined, x - x, along_x), m.where(undefined, x - x, along_y))
    nowhere = m.bitwise_or(size != size, size == 0)
    near = m.complex(m.where(nowhere, size, x / size), m.where(nowhere, size, y / size))
    return m.where(m.isinf(size), limit, near)


@entry(expansion=_unit, cost=20)
def unit(g: Expr, y: Expr, z: Expr) -> Single:
    """What lies across the direction turns it: (g - Re(conj(g) y) y) / |z|, and 0 at 0."""
    across = g - m.real(m.conjugate(g) * y) * y
    size = m.modulus(z)
    return (m.where(size == 0, 0, m.absorbing_quotient(across, m.complex(size, 0))),)


# ------------------------------------------------------------------------------------------ the stable entries
def _sigmoid(m: Vocabulary, x: Expr) -> Expr:
    e = m.exp(-m.absolute(x))
    return m.where(x >= 0, 1, e) / (1 + e)


def _sigmoid_slope(m: Vocabulary, x: Expr) -> Expr:
    e = m.exp(-m.absolute(x))
    return e / ((1 + e) * (1 + e))


@entry(expansion=_sigmoid, cost=14)
def sigmoid(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.sigmoid_slope(x)),)
@entry(expansion=_sigmoid_slope, cost=14)
def sigmoid_slope(g: Expr, y: Expr, x: Expr) -> Single:
    """sigmoid(x) (1 - sigmoid(x)), right in both tails."""
    return (product(g, -(m.tanh(0.5 * x) * y)),)
@entry(expansion=lambda m, x: m.maximum(x, 0) + m.log1p(m.exp(-m.absolute(x))), cost=28)
def softplus(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.sigmoid(x)),)
@entry(expansion=lambda m, x: -m.softplus(-x), cost=28)
def logsigmoid(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.sigmoid(-x)),)


def _erfc(m: Vocabulary, x: Expr) -> Expr:
    """Relative error 1.2e-7 everywhere (W. H. Press et al., Numerical Recipes, section 6.2, function erfcc)."""
    t = 1 / (1 + 0.5 * m.absolute(x))
    r = lift(0.17087277)
    for c in (-0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368,
              -1.26551223):
        r = c + t * r
    tail = t * m.exp(r - x * x)
    return m.where(m.absolute(x) < 0.5, 1 - m.erf(x), m.where(x > 0, tail, 2 - tail))


@entry(cost=14, flops=10)
def erf(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, 2 / math.sqrt(math.pi) * m.exp(-(x * x))),)
@entry(expansion=_erfc, cost=24, flops=10)
def erfc(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, -2 / math.sqrt(math.pi) * m.exp(-(x * x))),)
@entry(expansion=lambda m, x: 0.5 * m.erfc(x * -math.sqrt(0.5)), cost=26)
def normal_cdf(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, m.normal_density(x)),)
@entry(expansion=lambda m, x: 1 / math.sqrt(2 * math.pi) * m.exp(-0.5 * (x * x)), cost=12)
def normal_density(g: Expr, y: Expr, x: Expr) -> Single: return (product(g, -m.absorbing_product(x, y)),)
@entry(expansion=lambda m, x: m.maximum(x, -1e3) * m.normal_cdf(x), cost=28)      # inf * 0 would be NaN
def gelu(g: Expr, y: Expr, x: Expr) -> Single:
    return (product(g, m.normal_cdf(x) + m.absorbing_product(x, m.normal_density(x))),)
