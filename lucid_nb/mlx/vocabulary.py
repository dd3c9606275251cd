"""A program as a function on MLX arrays: Python text of one MLX call a step, lazy as MLX is.

What holds on the CPU build (the errors of single functions stand in special.py):

* Subnormal float32 and float64 numbers are kept by arithmetic, comparisons, exp, log, sqrt, tanh and the functions of
  special.py. sigmoid(-95) is 5.5e-42. On the GPU they may be flushed to zero.
* NaN, infinities and signed zeros are NumPy's in every entry; so are maximum and minimum of NaN.
* Integers wrap. Divisions of integers are not entries.

mx.compile is not used: around eight steps it took as long as without (30 ms for 1e6 float32, CPU build), and there it
calls a C++ compiler.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from ..errors import DeviceError
from ..printing import OF_MEMORY
from ..program import COMPUTE, Program, Step
from ..shapes import broadcast_shapes
from . import exact, runtime, special
from .types import constant, literal, to_mlx

Call = Callable[..., mx.array]


def absorbing_product(a: mx.array, b: mx.array) -> mx.array:
    """0 where either factor is exactly 0, otherwise the product."""
    zero = constant(0, a.dtype)
    return mx.where(mx.logical_or(a == zero, b == zero), zero, a * b)


def absorbing_quotient(a: mx.array, b: mx.array) -> mx.array:
    """0 where the numerator is exactly 0 or the divisor infinite, otherwise the quotient."""
    zero = constant(0, a.dtype)
    return mx.where(mx.logical_or(a == zero, mx.isinf(b)), zero, a / b)


def absorbing_quotient_complex(a: mx.array, b: mx.array) -> mx.array:
    """0 where the numerator is exactly 0, otherwise the quotient."""
    zero = constant(0, a.dtype)
    return mx.where(a == zero, zero, a / b)


def _chosen(better: Call) -> Call:
    """The first where it is better or NaN; MLX's own maximum and minimum may give either of two zeros in 16 bits."""
    return lambda a, b: mx.where(mx.logical_or(better(a, b), a != a), a, b)


# Of equals NumPy takes the first in float16, the second in bfloat16.
EXTREMES_OF_16_BITS: dict[tuple[str, str], Call] = {
    ("maximum", "float16"): _chosen(mx.greater_equal), ("minimum", "float16"): _chosen(mx.less_equal),
    ("maximum", "bfloat16"): _chosen(mx.greater), ("minimum", "bfloat16"): _chosen(mx.less)}


def sign_of_float(x: mx.array) -> mx.array:
    """-1, 0 or 1; MLX's sign of NaN is 0."""
    return mx.where(x == x, mx.sign(x), x)


def complex_of(a: mx.array, b: mx.array) -> mx.array:
    """a + bi; a multiple of i would make NaN of an infinity."""
    return mx.stack(list(mx.broadcast_arrays(a, b)), axis=-1).view(mx.complex64).squeeze(-1)


# Bits of a float: the integer type of its size, bits of its fraction, the exponent's bias, the power of two that makes
# a subnormal normal.
LAYOUT = {mx.float32: (mx.int32, 23, 127, 25), mx.float64: (mx.int64, 52, 1023, 54)}


def _bits_and_exponent(x: mx.array) -> tuple[mx.array, mx.array, mx.array]:
    """The bits of x scaled to be normal, its exponent as frexp counts it, and where x has one."""
    integer, fraction, bias, lift = LAYOUT[x.dtype]
    subnormal = mx.abs(x) < constant(2.0 ** (1 - bias), x.dtype)
    bits = mx.where(subnormal, x * constant(2.0 ** lift, x.dtype), x).view(integer)
    biased = mx.bitwise_and(mx.right_shift(bits, constant(fraction, integer)), constant(2 * bias + 1, integer))
    exponent = biased - mx.where(subnormal, constant(bias - 1 + lift, integer), constant(bias - 1, integer))
    return bits, exponent, mx.logical_and(x != constant(0, x.dtype), mx.isfinite(x))


def frexp_exponent(x: mx.array) -> mx.array:
    """The exponent of two: 0 for zeros, infinities and NaN, as in the C library."""
    _, exponent, has_one = _bits_and_exponent(x)
    return mx.where(has_one, exponent, constant(0, exponent.dtype)).astype(mx.int32)


def frexp_mantissa(x: mx.array) -> mx.array:
    """x scaled into [0.5, 1)."""
    integer, fraction, bias, _ = LAYOUT[x.dtype]
    bits, _, has_one = _bits_and_exponent(x)
    kept = mx.bitwise_and(bits, constant(~((2 * bias + 1) << fraction), integer))
    return mx.where(has_one, mx.bitwise_or(kept, constant((bias - 1) << fraction, integer)).view(x.dtype), x)


CALLS: dict[str, Call] = dict(
    exact.CALLS, add=mx.add, subtract=mx.subtract, multiply=mx.multiply, divide=mx.divide, negative=mx.negative,
    conjugate=mx.conjugate, real=mx.real, imag=mx.imag, complex=complex_of,
    exp=special.exp, expm1=special.expm1, log=mx.log, log1p=mx.log1p, sqrt=mx.sqrt, power=mx.power,
    sin=special.sin, cos=special.cos, tanh=mx.tanh, erf=special.erf, erfc=special.erfc, normal_cdf=special.normal_cdf,
    absolute=mx.abs, sign=sign_of_float, maximum=mx.maximum, minimum=mx.minimum, where=mx.where, greater=mx.greater,
    greater_equal=mx.greater_equal, less=mx.less, less_equal=mx.less_equal, equal=mx.equal, not_equal=mx.not_equal,
    absorbing_product=absorbing_product, absorbing_quotient=absorbing_quotient, frexp_mantissa=frexp_mantissa,
    frexp_exponent=frexp_exponent, exp2=special.exp2, log2=mx.log2, log10=mx.log10, tan=mx.tan, arcsin=mx.arcsin,
    arccos=mx.arccos, arctan=mx.arctan, arctan2=mx.arctan2, sinh=mx.sinh, cosh=mx.cosh, arcsinh=mx.arcsinh,
    arccosh=mx.arccosh, arctanh=mx.arctanh)
"""Entry to function; the stable entries (sigmoid, softplus, gelu ...) come as expansions."""
OF_INTEGERS: dict[str, Call] = dict(sign=mx.sign) | exact.OF_INTEGERS
OF_BOOLS: dict[str, Call] = dict(sign=mx.sign) | exact.OF_BOOLS
OF_COMPLEX: dict[str, Call] = dict(modulus=mx.abs, absorbing_quotient=absorbing_quotient_complex)
BY_KIND: Mapping[str, Mapping[str, Call]] = {"f": {}, "i": OF_INTEGERS, "u": OF_INTEGERS, "b": OF_BOOLS,
                                             "c": OF_COMPLEX}
NATIVE = frozenset(CALLS)


def _call(step: Step, program: Program) -> Call:
    """The function of a step, by the kind of its operands."""
    operand = step if step.op == "where" else program.steps[step.args[0]]
    if step.op in OF_MEMORY and {*program.inputs} & {*COMPUTE}:
        return exact.IN_16_BITS[step.op, program.inputs[0]]
    for dtype in {*program.inputs} & {*COMPUTE}:
        if (step.op, dtype) in EXTREMES_OF_16_BITS:
            return EXTREMES_OF_16_BITS[step.op, dtype]
    found = BY_KIND[np.dtype(operand.dtype).kind].get(step.op, CALLS.get(step.op))
    if found is None:
        raise DeviceError(f"{step.op}: not available on mlx. Use .to('cpu').")
    return found


def _named(dtype: str) -> mx.Dtype:
    return mx.bfloat16 if dtype == "bfloat16" else to_mlx("map", np.dtype(dtype))


def _reads(program: Program) -> list[frozenset[int]]:
    """The inputs that each value depends on."""
    found: list[frozenset[int]] = []
    for step in program.steps:
        own = frozenset([step.literal]) if step.op == "input" else frozenset()
        found.append(own.union(*[found[i] for i in step.args]))
    return found


def source(program: Program, name: str) -> str:
    """The program as the text of a Python function on arrays, which reads `space` of the same program."""
    inputs = [f"x{i}" for i in range(len(program.inputs))]
    results = list(_result_lines(program, name, inputs))
    returned = ", ".join(f"y{i}" for i in range(len(results)))
    lines = [f"def call({', '.join(inputs)}):", "if not thread.joined: join()", *_step_lines(program), *results,
             f"return record({returned if len(results) == 1 else f'({returned})'})"]
    return "\n    ".join(lines)


def _step_lines(program: Program) -> Iterator[str]:
    for number, step in enumerate(program.steps):
        if step.op == "input":
            stored = program.inputs[step.literal]
            convert = "" if stored == step.dtype else f".astype({step.dtype})"
            yield f"v{number} = x{step.literal}{convert}"
        elif step.op != "literal":
            yield f"v{number} = f{number}({', '.join(f'v{i}' for i in step.args)})"


def _result_lines(program: Program, name: str, inputs: list[str]) -> Iterator[str]:
    """A result has the common shape of all inputs, whatever it was computed from."""
    reads = _reads(program)
    for number, (value, dtype) in enumerate(zip(program.outputs, program.results)):
        text = f"v{value}" if program.steps[value].dtype == dtype else f"v{value}.astype({dtype})"
        if len(reads[value]) < len(inputs):
            text = f"broadcast_to({text}, broadcast_shapes({name!r}, {', '.join(f'{x}.shape' for x in inputs)}))"
        yield f"y{number} = {text}"


def space(program: Program) -> dict[str, Any]:
    """What the text of a program refers to: a function or a constant a step, and dtypes."""
    names = {step.dtype for step in program.steps} | {*program.results}
    found: dict[str, Any] = {name: _named(name) for name in names | {*program.inputs}}
    for number, step in enumerate(program.steps):
        if step.op == "literal":
            found[f"v{number}"] = literal(step.literal, found[step.dtype])
        elif step.op != "input":
            found[f"f{number}"] = _call(step, program)
    return found | dict(broadcast_to=mx.broadcast_to, broadcast_shapes=broadcast_shapes, record=runtime.record,
                        join=runtime.join, thread=runtime.thread)


def function(program: Program, name: str) -> Call:
    """The program as a function on MLX arrays."""
    names = space(program)
    exec(compile(source(program, name), f"<mlx {name}>", "exec"), names)
    return names["call"]
