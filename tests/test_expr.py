"""Expressions alone, interpreted in mpmath and in plain floats: nodes, derivatives to third order, expansions."""

import gc
import itertools
import math
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from lucid_nb import expr
from lucid_nb.errors import FormulaError
from lucid_nb.expr import Expr, m, vocabulary
from lucid_nb.op import registry
from lucid_nb.program import NATIVE_EVERYWHERE
from lucid_nb.vocabulary import constant

mp = mpmath.mp.clone()
mp.dps = 40


def _sign(a: Any) -> Any:
    return (a > 0) - (a < 0)


def _zeta(s: Any, q: Any) -> Any:
    with mp.workdps(2 * mp.dps + 10):                       # it cancels
        return +mp.zeta(s, q)


def _frexp(a: Any) -> tuple[Any, int]:
    mantissa, exponent = mp.frexp(a)
    return mantissa, exponent


# Every entry by its mathematical definition, the stable ones too: none of these uses the library's expansions.
EXACT: dict[str, Callable] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b if b else mp.nan, "negative": lambda a: -a, "conjugate": lambda a: a,
    "absorbing_product": lambda a, b: a * b if a and b else mp.mpf(0),
    "absorbing_quotient": lambda a, b: a / b if a else mp.mpf(0),
    "exp": mp.exp, "expm1": mp.expm1, "log": mp.log, "log1p": mp.log1p, "sqrt": mp.sqrt, "power": mp.power,
    "sin": mp.sin, "cos": mp.cos, "tanh": mp.tanh, "tanh_slope": lambda a: 1 - mp.tanh(a) ** 2,
    "absolute": abs, "sign": _sign, "maximum": max, "minimum": min, "where": lambda c, a, b: a if c else b,
    "clip": lambda a, low, high: min(max(a, low), high),
    "greater": lambda a, b: a > b, "greater_equal": lambda a, b: a >= b, "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b, "equal": lambda a, b: a == b, "not_equal": lambda a, b: a != b,
    "frexp_mantissa": lambda a: _frexp(a)[0], "frexp_exponent": lambda a: _frexp(a)[1],
    "sigmoid": lambda a: 1 / (1 + mp.exp(-a)), "sigmoid_slope": lambda a: mp.exp(-a) / (1 + mp.exp(-a)) ** 2,
    "softplus": lambda a: mp.log1p(mp.exp(a)), "logsigmoid": lambda a: -mp.log1p(mp.exp(-a)),
    "truncate": lambda a: _sign(a) * mp.floor(abs(a)), "floor_divide": lambda a, b: mp.floor(a / b),
    "remainder": lambda a, b: a - b * mp.floor(a / b), "fmod": lambda a, b: _sign(a) * (abs(a) % abs(b)),
    "fraction": lambda a: _sign(a) * (abs(a) % 1), "copysign": lambda a, b: abs(a) * (_sign(b) or 1),
    "real": lambda a: a, "reciprocal": lambda a: 1 / a, "ldexp": lambda a, b: a * mp.mpf(2) ** b,
    "nextafter": lambda a, b: a,                       # a step of the grid of floats further, which has no slope
    "exp2": lambda a: mp.power(2, a), "log2": lambda a: mp.log(a) / mp.log(2), "arcsin": mp.asin, "arccos": mp.acos,
    "arctan": mp.atan, "arctan2": mp.atan2, "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh,
    "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
    "logaddexp2": lambda a, b: mp.log(mp.power(2, a) + mp.power(2, b)) / mp.log(2),
    "erf": mp.erf, "erfc": mp.erfc, "normal_cdf": mp.ncdf, "normal_density": mp.npdf, "gelu": lambda a: a * mp.ncdf(a),
    "floor": mp.floor, "ceil": mp.ceil, "round_even": mp.nint,
    "gamma": mp.gamma, "lgamma": lambda a: mp.re(mp.loggamma(a)), "digamma": lambda a: mp.psi(0, a),
    "trigamma": lambda a: mp.psi(1, a), "tetragamma": lambda a: mp.psi(2, a), "pentagamma": lambda a: mp.psi(3, a),
    "polygamma": mp.psi, "hurwitz": _zeta, "beta": lambda a, b: mp.gamma(a) * mp.gamma(b) / mp.gamma(a + b),
    "betaln": lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b),
    "i0": lambda a: mp.besseli(0, a), "i0e": lambda a: mp.besseli(0, a) * mp.exp(-abs(a)),
    "i1": lambda a: mp.besseli(1, a), "i1e": lambda a: mp.besseli(1, a) * mp.exp(-abs(a)),
    "erfcx": lambda a: mp.exp(a * a) * mp.erfc(a), "erfinv": mp.erfinv, "erfcinv": lambda a: mp.erfinv(1 - a),
    "ndtri": lambda a: mp.sqrt(2) * mp.erfinv(2 * a - 1),
    "log_ndtr": lambda a: mp.log1p(-mp.ncdf(-a)) if a > 0 else mp.log(mp.ncdf(a)),
    "logit": lambda a: mp.log(a) - mp.log1p(-a), "xlogy": lambda a, b: a * mp.log(b),
    "xlog1py": lambda a, b: a * mp.log1p(b), "sinc": mp.sincpi,
    "sinc_slope": lambda a: (mp.cospi(a) - mp.sincpi(a)) / a if a else mp.mpf(0),
    "bernoulli_loss": lambda a, b: -b * mp.log(a) - (1 - b) * mp.log1p(-a), "raised": max,
}
# The same in floats, for what needs no more: the entries that have no expansion.
FLOATS: dict[str, Callable] = {
    **{name: EXACT[name] for name in ("add", "subtract", "multiply", "negative", "conjugate", "real", "absolute",
                                      "sign", "maximum", "minimum", "where", "greater", "greater_equal", "less",
                                      "less_equal", "equal", "not_equal")},
    **{name: getattr(math, name) for name in ("exp", "log", "log1p", "expm1", "sqrt", "sin", "cos", "tanh", "erf")},
    "divide": lambda a, b: a / b if b else math.nan, "power": lambda a, b: a ** b,
    "absorbing_product": lambda a, b: a * b if a and b else 0.0,
    "absorbing_quotient": lambda a, b: a / b if a and b else 0.0 if b or not a else math.copysign(math.inf, a),
    "frexp_mantissa": lambda a: math.frexp(a)[0], "frexp_exponent": lambda a: math.frexp(a)[1],
}
CONSTANT = {"sign"} | {name for name, known in vocabulary.items() if known.rule is constant}
# Of complex numbers: held to finite differences in tests/ops.
PARTS = {"real", "imag", "complex", "modulus", "unit", "complex_maximum", "complex_minimum", "complex_tan",
         "complex_tanh", "complex_tanh_slope", "complex_tanhshrink"}
# The arguments of which there is a derivative, where not of all.
SMOOTH = {"where": (1, 2), "ldexp": (0,), "copysign": (0,), "nextafter": (0,), "raised": (0,), "hurwitz": (1,),
          "polygamma": (1,)}
# Of probabilities, and what has poles at the integers up to 0.
UNIT = {"erfinv", "erfcinv", "ndtri", "logit"}
POLES = {"gamma", "lgamma", "digamma", "trigamma", "tetragamma", "pentagamma"}
# Points away from kinks; each is one set of arguments.
POINTS: dict[str, list[tuple[float, ...]]] = {
    "clip": [(0.3, -0.5, 0.8), (-1.2, -0.5, 0.8), (2.0, -0.5, 0.8), (0.1, 0.9, -0.4)],
    "where": [(1, 0.3, 0.7), (0, 0.3, 0.7)],
    **{name: [(-1.3,), (0.3,), (2.7,)] for name in (
        "exp", "expm1", "sin", "cos", "tanh", "tanh_slope", "absolute", "sigmoid", "sigmoid_slope", "softplus",
        "logsigmoid", "erf", "erfc", "normal_cdf", "normal_density", "gelu", "negative", "conjugate",
        "frexp_mantissa")},
    **{name: [(0.2,), (3.1,)] for name in ("log", "sqrt")}, "log1p": [(-0.6,), (1.7,)],
    **{name: [(0.4, 1.3), (-1.7, 0.6), (1.1, -0.8)] for name in (
        "add", "subtract", "multiply", "divide", "absorbing_product", "absorbing_quotient", "maximum", "minimum")},
    "power": [(0.4, 1.3), (1.7, -0.6), (2.5, 3.0)],
    **{name: [(-2.3,), (0.4,), (1.3,), (4.7,)] for name in (*POLES, "sinc", "sinc_slope", "i0", "i1", "i0e", "i1e")},
    **{name: [(-4.3,), (0.4,), (2.7,)] for name in ("erfcx", "log_ndtr")},
    **{name: [(0.4, 1.3), (4.7, 0.6), (17.5, 21.0)] for name in ("beta", "betaln")},
    "hurwitz": [(1.3, 0.4), (2.5, 4.7), (4.0, 60.0)], "polygamma": [(2, 0.7), (3, -1.3), (5, 9.4)],
    "bernoulli_loss": [(0.3, 0.6), (0.8, 0.25)], "raised": [(0.7, 0.2)],
}


def exact(name: str) -> Callable:
    """The definition of an entry: from the table above, mpmath's of that name, or else what it expands to."""
    known = vocabulary[name]
    outputs = known.expansion and expr.trace(known.expansion, known.arity)
    return EXACT.get(name) or getattr(mp, name, None) or (lambda *args: evaluate(outputs, *args)[0])


def points_of(name: str) -> list[tuple[float, ...]]:
    """Where to test an entry: points of the table above, or within the samples of the op of that name."""
    samples = registry[name].facts.samples if name in registry else ((0.2, 0.9),) * vocabulary[name].arity
    return POINTS.get(name) or [tuple(low + part * (high - low) for low, high in samples) for part in (0.3, 0.8)]


def evaluate(outputs: Sequence[Expr], *inputs: Any, scalars: dict[str, Callable] = EXACT,
             number: Callable = mp.mpf) -> list[Any]:
    """Interpret an expression, each entry by its function in `scalars`."""
    value: dict[Expr, Any] = {}
    for node in expr.topological(outputs):
        if node.op == "input":
            value[node] = inputs[node.literal]
        elif node.op == "literal":
            value[node] = number(node.literal)
        else:
            function = scalars[node.op] if node.op in scalars else exact(node.op)
            value[node] = function(*(value[a] for a in node.args))
    return [value[node] for node in outputs]


def derivative(outputs: Sequence[Expr], argument: int = 0, arity: int = 1) -> tuple[Expr, ...]:
    """d/d(argument) of an expression, as an expression of the same inputs."""
    found = expr.reverse(outputs, [expr.lift(1.0)] * len(outputs), arity)[argument]
    return (expr.lift(0.0) if found is None else found,)


# ---------------------------------------------------------------------------------------------- derivatives
@pytest.mark.parametrize("name", sorted({*vocabulary} - PARTS))
def test_every_entry_has_derivatives_to_third_order(name: str) -> None:
    arity = vocabulary[name].arity
    outputs = (expr.make(name, tuple(map(expr.read, range(arity)))),)
    if name in CONSTANT:
        assert expr.reverse(outputs, [expr.lift(1.0)], arity) == (None,) * arity
        return
    smooth = SMOOTH.get(name, tuple(range(arity)))
    assert all((found is not None) == (argument in smooth)
               for argument, found in enumerate(expr.reverse(outputs, [expr.lift(1.0)], arity)))
    orders = [order for count in (1, 2, 3) for order in itertools.combinations_with_replacement(smooth, count)]
    for point, order in itertools.product(points_of(name), orders):
        point = tuple(map(mp.mpf, point))
        found = outputs
        for argument in order:
            found = derivative(found, argument, arity)
        counts = tuple(order.count(argument) for argument in range(arity))
        expected = mp.diff(exact(name), point, counts) if name != "where" else \
            mp.mpf(len(order) == 1 and bool(point[0]) == (order == (1,)))
        assert abs(evaluate(found, *point)[0] - expected) < 1e-12 * (1 + abs(expected)), (point, order)


# What a random program does to two earlier values; each is defined for every input.
STEPS: tuple[Callable, ...] = (
    lambda m, a, b: a + b, lambda m, a, b: a - b, lambda m, a, b: a * b * 0.3, lambda m, a, b: a / (2 + b * b),
    lambda m, a, b: m.exp(-(a * a)), lambda m, a, b: m.log(1 + a * a), lambda m, a, b: m.sin(a),
    lambda m, a, b: m.cos(b), lambda m, a, b: m.tanh(b), lambda m, a, b: m.sigmoid(a), lambda m, a, b: m.softplus(a),
    lambda m, a, b: m.gelu(b), lambda m, a, b: m.sqrt(1 + a * a), lambda m, a, b: m.erf(a),
    lambda m, a, b: (1 + a * a) ** (0.5 * m.tanh(b)), lambda m, a, b: m.where(a > b, a, m.sin(b)),
    lambda m, a, b: m.maximum(a, b), lambda m, a, b: m.log1p(b * b), lambda m, a, b: m.expm1(-abs(a)),
    lambda m, a, b: m.absorbing_product(a, b), lambda m, a, b: m.logsigmoid(a), lambda m, a, b: m.clip(a, -0.7, 1.9),
    lambda m, a, b: m.normal_cdf(b), lambda m, a, b: m.absorbing_quotient(a, 2 + b * b),
    lambda m, a, b: m.minimum(a, 0.3 * b))


def random_formula(seed: int) -> Callable:
    """A random piecewise smooth program of the vocabulary, defined for every input."""
    draw = random.Random(seed)

    def formula(m: Any, x: Expr) -> Expr:
        values = [x, 0.5 * x + 1]
        for _ in range(6):
            values.append(draw.choice(STEPS)(m, draw.choice(values), draw.choice(values)))
        return values[-1]
    return formula


RANDOM_FLOATS = {**{name: lambda a, f=function: float(f(a)) for name, function in EXACT.items()
                    if vocabulary[name].expansion and vocabulary[name].arity == 1},
                 **FLOATS, "clip": EXACT["clip"], "erfc": math.erfc,
                 "sigmoid": lambda a: 1 / (1 + math.exp(-a)), "tanh_slope": lambda a: 1 / math.cosh(a) ** 2,
                 "sigmoid_slope": lambda a: 1 / (2 * math.cosh(a / 2)) ** 2,
                 "softplus": lambda a: math.log1p(math.exp(a)), "logsigmoid": lambda a: -math.log1p(math.exp(-a)),
                 "normal_cdf": lambda a: 0.5 * math.erfc(-a / math.sqrt(2)),
                 "normal_density": lambda a: math.exp(-a * a / 2) / math.sqrt(2 * math.pi),
                 "gelu": lambda a: a * 0.5 * math.erfc(-a / math.sqrt(2))}


@pytest.mark.parametrize("seed", range(160))
def test_random_programs_match_finite_differences_to_third_order(seed: int) -> None:
    outputs, h, x = expr.trace(random_formula(seed), 1), 1e-3, 0.2 + 1.8 * ((seed * 0.618) % 1)

    def value(at: float, of: tuple[Expr, ...]) -> float:
        return evaluate(of, at, scalars=RANDOM_FLOATS, number=float)[0]
    for _ in range(3):
        slope = derivative(outputs)
        expected = (8 * (value(x + h, outputs) - value(x - h, outputs))
                    - (value(x + 2 * h, outputs) - value(x - 2 * h, outputs))) / (12 * h)
        assert value(x, slope) == pytest.approx(expected, rel=1e-5, abs=1e-6)
        outputs = slope


def test_hessian_of_sin_squared_at_zero_is_two() -> None:
    outputs = expr.trace(lambda m, x: m.sin(x) ** 2, 1)
    assert evaluate(derivative(derivative(outputs)), mp.mpf(0)) == [2]


@pytest.mark.parametrize("formula, point, expected", [
    (lambda m, x: x * m.sqrt(x), 0.0, 0.0),
    (lambda m, x: m.where(x > 0, m.log(x), x), 0.0, 1.0),
    (lambda m, x: m.where(x > 0, x / x, 3 * x), 0.0, 3.0),
    (lambda m, x: abs(x), 0.0, 0.0),
    (lambda m, x: m.maximum(x, 0), 0.0, 0.5),
    (lambda m, x: m.minimum(2 * x, 2), 1.0, 1.0),
    (lambda m, x: m.clip(x, 0, 1), 0.0, 1.0),
    (lambda m, x: m.clip(x, 0, 1), 1.0, 1.0),
    (lambda m, x: m.clip(x, 2, 1), 1.5, 0.0),
    (lambda m, x: x ** 0, 0.0, 0.0),
    (lambda m, x: 0 ** (x + 1), 1.0, 0.0),
    (lambda m, x: m.frexp_mantissa(x), 0.0, 1.0),
])
def test_derivative_at_a_kink_follows_the_design(formula: Callable, point: float, expected: float) -> None:
    infinite = {**RANDOM_FLOATS, "log": lambda a: math.log(a) if a > 0 else -math.inf,
                "power": lambda a, b: math.inf if a == 0 and b < 0 else a ** b}
    assert evaluate(derivative(expr.trace(formula, 1)), point, scalars=infinite, number=float)[0] == expected


def test_gradient_numbers_several_results_and_their_cotangents() -> None:
    outputs = expr.trace(lambda m, x, y: (m.exp(x), m.sin(y) * x), 2)
    gradients, used, served = expr.gradient(outputs, 2, (True, True))
    assert used == (0, 1, 2, 4, 5) and served == (True, True)         # x, y, exp(x), and both cotangents
    x, y, g, h = map(mp.mpf, (0.3, 1.1, 0.7, -0.2))
    found = evaluate(gradients, x, y, mp.exp(x), g, h)
    assert mp.almosteq(found[0], g * mp.exp(x) + h * mp.sin(y)) and mp.almosteq(found[1], h * x * mp.cos(y))
    assert expr.gradient(outputs, 2, (False, True))[1:] == ((0, 1, 5), (False, True))


def test_gradient_does_not_serve_what_is_constant() -> None:
    outputs = expr.trace(lambda m, c, x: m.where(c > 0, m.sign(x), 1), 2)
    assert expr.gradient(outputs, 2, (True, True)) == ((), (), (False, False))


@pytest.mark.parametrize("name, kept", [("exp", (1, 2)), ("tanh", (0, 2)), ("sigmoid", (0, 2)), ("sin", (0, 2)),
                                        ("sqrt", (1, 2)), ("log", (0, 2)), ("gelu", (0, 2)), ("softplus", (0, 2)),
                                        ("negative", (2,)), ("expm1", (0, 2)), ("cos", (0, 2))])
def test_gradient_keeps_the_cheaper_of_input_and_result(name: str, kept: tuple[int, ...]) -> None:
    assert expr.gradient((expr.make(name, (expr.read(0),)),), 1, (True,))[1] == kept


# ---------------------------------------------------------------------------------------------- expansions
@pytest.mark.parametrize("name", sorted(name for name, known in vocabulary.items()
                                        if known.expansion and (name in EXACT or hasattr(mp, name))))
def test_expansion_equals_its_entry(name: str) -> None:
    arity = vocabulary[name].arity
    outputs = expr.expand((expr.make(name, tuple(map(expr.read, range(arity)))),), NATIVE_EVERYWHERE)
    assert {node.op for node in expr.topological(outputs)} <= NATIVE_EVERYWHERE | {"input", "literal"}
    # erfc states its own error; what is built of it inherits it. Literals such as sqrt(0.5) are doubles.
    budget = 2e-7 if name in ("erfc", "normal_cdf", "gelu", "log_ndtr") else 1e-14
    points = points_of(name) if arity > 1 or name not in EXACT or name in UNIT else \
        [(x + 0.4 if name in POLES else x,) for x in (-30.0, -5.0, -1.3, -0.2, 0.0, 0.3, 2.7, 9.0, 40.0)]
    for point in points:
        point = tuple(map(mp.mpf, point))
        with mp.workdps(80):
            expected = exact(name)(*point)
            assert abs(evaluate(outputs, *point)[0] - expected) <= budget * abs(expected), point


@pytest.mark.parametrize("name", ["sigmoid_slope", "tanh_slope", "sigmoid", "logsigmoid", "softplus"])
@pytest.mark.parametrize("x", [-40.0, -20.0, 20.0, 40.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expansion_keeps_both_tails_in_its_own_precision(name: str, x: float, dtype: type) -> None:
    numpy = {**FLOATS, **{entry: getattr(np, entry) for entry in ("exp", "log1p", "absolute", "maximum", "divide")}}
    outputs = expr.expand((expr.make(name, (expr.read(0),)),), NATIVE_EVERYWHERE)
    (found,) = evaluate(outputs, dtype(x), scalars=numpy, number=dtype)
    with mp.workdps(60):
        expected = EXACT[name](mp.mpf(x))
    assert type(found) is dtype and abs(found - expected) <= 4 * np.finfo(dtype).eps * abs(expected)


def test_expand_leaves_native_entries_and_the_outputs_of_others_alone() -> None:
    outputs = expr.trace(lambda m, x: (m.sigmoid(x), m.softplus(x)), 1)
    assert expr.expand(outputs, NATIVE_EVERYWHERE | {"sigmoid", "softplus"}) == outputs
    partly = expr.expand(outputs, NATIVE_EVERYWHERE | {"softplus"})
    assert partly[0] is not outputs[0] and partly[1] is outputs[1]


# --------------------------------------------------------------------------------------------------- nodes
def test_equal_formulas_are_one_node() -> None:
    a, b = expr.trace(lambda m, x: m.exp(x) * 2, 1), expr.trace(lambda m, t: m.exp(t) * 2, 1)
    assert a[0] is b[0]


def test_equal_formulas_are_one_node_across_threads() -> None:
    barrier, found = threading.Barrier(4), []

    def work() -> None:
        barrier.wait()
        found.append([expr.trace(random_formula(seed), 1) for seed in range(20)])
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(nodes[0] is first[0] for other in found for nodes, first in zip(other, found[0]))


def test_nodes_are_forgotten_with_the_last_formula() -> None:
    outputs = expr.trace(lambda m, x: m.exp(x * 123.456), 1)
    gc.collect()
    before = len(expr._nodes)
    del outputs
    gc.collect()
    assert len(expr._nodes) < before


def test_literals_keep_sign_of_zero_and_type() -> None:
    assert expr.lift(0.0) is not expr.lift(-0.0) and expr.lift(1) is not expr.lift(True)
    assert expr.lift(1) is not expr.lift(1.0) and expr.lift(math.nan) is expr.lift(math.nan)
    assert expr.lift(np.float32(0.5)) is expr.lift(0.5)


def test_exponents_that_need_no_power_have_none() -> None:
    x = expr.read(0)
    assert (x ** 2 is x * x) and (x ** 1 is x) and (x ** 0.5 is m.sqrt(x)) and (x ** -1).op == "divide"


@pytest.mark.parametrize("formula, text", [
    (lambda m, x: x if x > 0 else -x, "m.where"), (lambda m, x: float(x), "not a number"),
    (lambda m, x: math.exp(x), "not a number"), (lambda m, x: m.expp(x), "no 'expp'"),
    (lambda m, x: m.exp(x, x), "got 2 arguments. It takes 1"), (lambda m, x: m.exp("x"), "neither a traced value"),
    (lambda m, x: m.add(x, [1]), "neither a traced value"), (lambda m, x: max(x, 0), "m.where")])
def test_what_cannot_be_traced_says_so(formula: Callable, text: str) -> None:
    with pytest.raises(FormulaError, match=text):
        expr.trace(formula, 1)


def test_deep_program_does_not_recurse() -> None:
    def deep(m: Any, x: Expr) -> Expr:
        for _ in range(20_000):
            x = m.sin(x)
        return x
    outputs = derivative(expr.trace(deep, 1))
    assert len(expr.topological(outputs)) > 40_000
    assert expr.expand(outputs, NATIVE_EVERYWHERE) == outputs
    assert expr.substitute(outputs, {expr.read(0): expr.read(1)})[0] is not outputs[0]
    del outputs


def test_importing_expressions_needs_no_compiler() -> None:
    code = "import sys, lucid_nb.program; assert not {'numba', 'llvmlite', 'scipy', 'mlx'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
