"""Elementwise ops as nodes: by one operator where there is one, otherwise step by step of the formula.

So every op that is a formula can be written if the functions of the vocabulary that it calls can.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ... import printing, program
from ...errors import BackendError
from ...expr import Expr, Vocabulary, trace, vocabulary
from ...op import Elementwise
from .writer import Ref, Writer

FLOAT = frozenset("f")
NUMBER, ANY = frozenset("fiu"), frozenset("fiub")
# Ops of ours that are one operator, and the kinds of dtypes that it takes.
WHOLE: dict[str, tuple[str, frozenset[str]]] = {
    **{ours: (theirs, NUMBER) for ours, theirs in dict(
        add="Add", subtract="Sub", multiply="Mul", negative="Neg", absolute="Abs", sign="Sign", maximum="Max",
        minimum="Min").items()},
    **{ours: (theirs, FLOAT) for ours, theirs in dict(
        divide="Div", sqrt="Sqrt", exp="Exp", log="Log", reciprocal="Reciprocal", power="Pow", sin="Sin", cos="Cos",
        tan="Tan", arcsin="Asin", arccos="Acos", arctan="Atan", sinh="Sinh", cosh="Cosh", tanh="Tanh", arcsinh="Asinh",
        arccosh="Acosh", arctanh="Atanh", erf="Erf", floor="Floor", ceil="Ceil", rint="Round", relu="Relu",
        sigmoid="Sigmoid", softplus="Softplus", softsign="Softsign", mish="Mish", gelu="Gelu",
        hardswish="HardSwish", isnan="IsNaN", isinf="IsInf").items()},
    "equal": ("Equal", ANY), "where": ("Where", NUMBER),
    **{ours: (theirs, NUMBER) for ours, theirs in dict(
        greater="Greater", greater_equal="GreaterOrEqual", less="Less", less_equal="LessOrEqual").items()},
    **{ours: (theirs, frozenset("b")) for ours, theirs in dict(
        logical_and="And", logical_or="Or", logical_xor="Xor", logical_not="Not").items()}}
WORDS: dict[str, tuple[str, dict[str, Any]]] = {"hardsigmoid": ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),
         "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
         "selu": ("Selu", {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805})}
# Ops of two operands, the second a number: the operator, and its attribute.
NUMBERED = {"leaky_relu": ("LeakyRelu", "alpha"), "elu": ("Elu", "alpha"), "celu": ("Celu", "alpha")}

# Functions of the vocabulary that are operators.
ENTRIES: dict[str, str] = dict(
    add="Add", subtract="Sub", multiply="Mul", divide="Div", negative="Neg", exp="Exp", log="Log", sqrt="Sqrt",
    power="Pow", sin="Sin", cos="Cos", tan="Tan", tanh="Tanh", absolute="Abs", sign="Sign", maximum="Max",
    minimum="Min", where="Where", greater="Greater", greater_equal="GreaterOrEqual", less="Less",
    less_equal="LessOrEqual", equal="Equal", floor="Floor", ceil="Ceil", round_even="Round", erf="Erf",
    arcsin="Asin", arccos="Acos", arctan="Atan", sinh="Sinh", cosh="Cosh", arcsinh="Asinh", arccosh="Acosh",
    arctanh="Atanh", reciprocal="Reciprocal", sigmoid="Sigmoid", softplus="Softplus", isinf="IsInf")
Formula = Callable[..., Expr]


def _log1p(m: Vocabulary, x: Expr) -> Expr:
    """By the rounding error of 1 + x (W. Kahan), so that small x keep their digits."""
    u = 1 + x
    return m.where(u == 1, x, m.where(m.isinf(u), m.log(u), m.log(u) * (x / (u - 1))))


def _arctan2(m: Vocabulary, y: Expr, x: Expr) -> Expr:
    """The angle of (x, y)."""
    near = m.arctan(y / x)
    beyond = m.where(m.copysign(1, y) > 0, near + math.pi, near - math.pi)
    upright = m.where(y == 0, m.where(m.copysign(1, x) > 0, y, m.copysign(math.pi, y)), m.copysign(math.pi / 2, y))
    return m.where(x == 0, upright, m.where(x > 0, near, beyond))


def _remainder(m: Vocabulary, a: Expr, b: Expr) -> Expr:
    rest = m.fmod(a, b)
    is_alike = m.where(rest < 0, 1, 0) == m.where(b < 0, 1, 0)
    return m.where(rest == 0, m.copysign(0, b), m.where(is_alike, rest, rest + b))


# Those that are several.
FORMULAS: dict[str, Formula] = dict(
    expm1=lambda m, x: m.tanh(0.5 * x) * (m.exp(x) + 1), log1p=_log1p, arctan2=_arctan2,
    exp2=lambda m, x: m.power(m.absolute(x) * 0 + 2, x), log2=lambda m, x: m.log(x) * (1 / math.log(2)),
    log10=lambda m, x: m.log(x) * (1 / math.log(10)),
    absorbing_product=lambda m, a, b: m.where(a == 0, 0, m.where(b == 0, 0, a * b)),
    absorbing_quotient=lambda m, a, b: m.where(a == 0, 0, m.where(m.isinf(b), 0, a / b)),
    truncate=lambda m, x: m.copysign(m.floor(m.absolute(x)), x),
    copysign=lambda m, a, b: m.where(m.where(b == 0, 1 / b, b) < 0, -m.absolute(a), m.absolute(a)),
    remainder=_remainder, floor_divide=lambda m, a, b: m.floor(a / b))
NATIVE = frozenset(ENTRIES) | frozenset(FORMULAS) | {name for name, known in vocabulary.items() if not known.expansion}


def elementwise(w: Writer, op: Elementwise, operands: Sequence[Ref]) -> list[str]:
    """The results of an op on operands of any dtypes."""
    outputs, wanted = op.typing(tuple([x.dtype for x in operands]))
    kinds: set[str] = {dtype.kind if dtype.name != "bfloat16" else "f" for dtype in wanted[op.name == "where":]}
    if "c" in kinds:
        raise BackendError(f"onnx.export: {op.name} computes with complex numbers, which ONNX has none of. Keep real "
                           "and imaginary parts apart.")
    found = _whole(w, op, operands, wanted, kinds)
    if found is not None:
        return [found]
    typed = program.type_program(outputs, [dtype.name for dtype in wanted], NATIVE)
    names = [w.cast(x.name, x.dtype, dtype) for x, dtype in zip(operands, wanted)]
    return _steps(w, op.name, typed, names)


def _whole(w: Writer, op: Elementwise, operands: Sequence[Ref], wanted: Sequence[np.dtype], kinds: set[str]
           ) -> str | None:
    """The result by one operator, where there is one."""
    name, attributes = op.name, dict[str, Any]()
    if name == "silu" and kinds <= FLOAT:                 # as other tools know it; at -inf, NaN
        x = w.cast(operands[0].name, operands[0].dtype, wanted[0])
        return w.node("Mul", x, w.node("Sigmoid", x), stem=name)
    if name in WORDS and kinds <= FLOAT:
        theirs, attributes = WORDS[name]
    elif name in WHOLE and kinds <= WHOLE[name][1]:
        theirs = WHOLE[name][0]
    elif name in NUMBERED and kinds <= FLOAT and _number(w, operands[1]) is not None:
        theirs, word = NUMBERED[name]
        attributes, operands, wanted = {word: _number(w, operands[1])}, operands[:1], wanted[:1]
    else:
        return None
    if theirs in LATE and w.opset < LATE[theirs]:
        return None
    names = [w.cast(x.name, x.dtype, dtype) for x, dtype in zip(operands, wanted)]
    return w.node(theirs, *names, stem=name, **attributes)


LATE = {"Gelu": 20, "Mish": 18, "HardSwish": 14, "Celu": 12}


def _number(w: Writer, x: Ref) -> float | None:
    """The value of a constant of one element."""
    found = w.initializers.get(x.name)
    return float(found) if found is not None and found.size == 1 and found.ndim == 0 else None


def _steps(w: Writer, op: str, typed: program.Program, names: Sequence[str]) -> list[str]:
    """A program's results."""
    values: list[str] = []
    for step in typed.steps:
        if step.op == "input":
            values.append(w.cast(names[step.literal], typed.inputs[step.literal], step.dtype))
        elif step.op == "literal":
            values.append(w.constant(np.array(step.literal, step.dtype)))
        else:
            values.append(_step(w, op, step, typed, [values[number] for number in step.args]))
    return [w.cast(values[number], typed.steps[number].dtype, result)
            for number, result in zip(typed.outputs, typed.results)]


def _step(w: Writer, op: str, step: program.Step, typed: program.Program, args: list[str]) -> str:
    kind = typed.steps[step.args[-1]].dtype
    word = step.op
    if kind == "bool":
        found = _of_bools(w, word, args)
    elif printing.is_integer(kind):
        found = _of_integers(w, word, args)
    else:
        found = None
    if found is not None:
        return found
    if word == "not_equal":
        return w.node("Not", w.node("Equal", *args))
    if word == "isfinite":
        return w.node("Not", w.node("Or", w.node("IsInf", *args), w.node("IsNaN", *args)))
    if word == "fmod":
        return w.node("Mod", *args, fmod=1)
    if word in ENTRIES:
        return w.node(ENTRIES[word], *args)
    if word in FORMULAS and not printing.is_integer(kind):
        inner = program.type_program(_formula(word), [typed.steps[number].dtype for number in step.args], NATIVE)
        return _steps(w, op, inner, args)[0]
    raise BackendError(f"onnx.export: {op} calls {word} of {kind}, which ONNX has no operator for. Compute it "
                       "outside of the model.")


ROUNDING = ("floor", "ceil", "truncate", "round_even")
BITS = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "invert": "Not"}
OF_BOOLS = {"add": "Or", "maximum": "Or", "multiply": "And", "minimum": "And", **BITS}


def _of_bools(w: Writer, word: str, args: list[str]) -> str | None:
    """A function of bools, which most operators do not take."""
    if word in OF_BOOLS:
        return w.node(OF_BOOLS[word], *args)
    if word in ("absolute", *ROUNDING):
        return args[0]
    if word in ("greater", "greater_equal", "less", "less_equal"):
        return w.node(ENTRIES[word], *[w.cast(x, bool, np.int32) for x in args])
    if word == "where":
        condition, x, y = args
        return w.node("Or", w.node("And", condition, x), w.node("And", w.node("Not", condition), y))
    return _of_integers(w, word, args) if word in ("isinf", "isfinite") else None


def _of_integers(w: Writer, word: str, args: list[str]) -> str | None:
    """A function of integers, where it is not the operator of floats."""
    if word in ROUNDING:
        return args[0]
    if word in ("isinf", "isfinite"):
        same = w.node("Equal", args[0], args[0])
        return same if word == "isfinite" else w.node("Not", same)
    if word in BITS:
        return w.node(f"Bitwise{BITS[word]}", *args)
    if word in ("fmod", "remainder"):
        return w.node("Mod", *args, fmod=int(word == "fmod"))
    if word == "floor_divide":
        return w.node("Div", w.node("Sub", args[0], w.node("Mod", *args, fmod=0)), args[1])
    return None


@cache
def _formula(name: str) -> tuple[Expr, ...]:
    return trace(FORMULAS[name], vocabulary[name].arity)


def scaled(w: Writer, x: str, factor: float, dtype: np.dtype) -> str:
    """A value times a number."""
    return x if factor == 1 else w.node("Mul", x, w.constant(np.array(factor, dtype)))
