"""Elementwise programs as one Metal kernel each: the text, and its call. Elsewhere the calls of vocabulary.py are their
twin, which also serves where operands differ in shape.

MLX would make a kernel for each step of a derivative, or have mx.compile fuse them after tracing; a program of this
package is fused already. Not run on hardware yet: on Linux the text is compiled as C++ and held to the twin.
"""

from collections.abc import Callable, Iterator
from math import isinf, isnan
from typing import Any

import mlx.core as mx

from ..printing import INFIX
from ..program import Program, Step
from . import runtime
from .types import TO_MLX

TYPES = {"float32": "float", "float16": "half", "bfloat16": "bfloat16_t", "bool": "bool"}
DTYPES = {name: found for name, found in ((dtype.name, found) for dtype, found in TO_MLX.items()) if name in TYPES}
# The precise functions: MLX compiles in Metal's safe mode, and no other is asked for.
FUNCTIONS = dict(exp="exp", log="log", sqrt="sqrt", sin="sin", cos="cos", tan="tan", tanh="tanh", sinh="sinh",
                 cosh="cosh", power="pow", arcsin="asin", arccos="acos", arctan="atan", arctan2="atan2", exp2="exp2",
                 log2="log2", log10="log10", arcsinh="asinh", arccosh="acosh", arctanh="atanh")
TEXTS = dict(
    negative="-{0}", where="{0} ? {1} : {2}", absolute="metal::fabs({0})", reciprocal="1.0f / {0}",
    floor="metal::floor({0})", ceil="metal::ceil({0})", truncate="metal::trunc({0})", round_even="metal::rint({0})",
    sign="{0} != {0} ? {0} : float({0} > 0.0f) - float({0} < 0.0f)", copysign="metal::copysign({0}, {1})",
    maximum="{0} > {1} || {0} != {0} ? {0} : {1}", minimum="{0} < {1} || {0} != {0} ? {0} : {1}",
    absorbing_product="{0} == 0.0f || {1} == 0.0f ? 0.0f : {0} * {1}",
    absorbing_quotient="{0} == 0.0f || metal::fabs({1}) == INFINITY ? 0.0f : {0} / {1}",
    isfinite="metal::fabs({0}) < INFINITY", isinf="metal::fabs({0}) == INFINITY",
    **{entry: f"metal::precise::{name}({{0}})" for entry, name in FUNCTIONS.items()
       if entry not in ("power", "arctan2")},
    **{entry: f"metal::precise::{FUNCTIONS[entry]}({{0}}, {{1}})" for entry in ("power", "arctan2")},
    **{entry: f"{{0}} {sign} {{1}}" for entry, sign in INFIX.items()})
IS_THERE = mx.metal.is_available()
FEWEST = 3                   # steps that are worth a kernel of their own
GROUP = 256                  # threads of a group
MOST = 1 << 31               # elements whose numbers fit the grid


def suits(program: Program) -> bool:
    """Is a program of floats, in steps that can be printed, and long enough?"""
    computed = [step for step in program.steps if step.op not in ("input", "literal")]
    return (len(computed) >= FEWEST and bool(program.inputs) and {*program.inputs, *program.results} <= {*TYPES}
            and all([step.dtype in ("float32", "bool") for step in program.steps])
            and all([step.op in TEXTS for step in computed]))


def literal_text(value: Any, dtype: str) -> str:
    """A constant in Metal."""
    if dtype == "bool":
        return "true" if value else "false"
    number = float(value)
    if isnan(number):
        return "NAN"
    return ("INFINITY" if number > 0 else "-INFINITY") if isinf(number) else f"{number!r}f"


def step_text(step: Step) -> str:
    """One step over v0, v1, ..., or over the input of its number."""
    if step.op == "literal":
        return literal_text(step.literal, step.dtype)
    if step.op == "input":
        return f"{TYPES[step.dtype]}(x{step.literal}[i])"
    return TEXTS[step.op].format(*[f"v{number}" for number in step.args])


def _lines(program: Program) -> Iterator[str]:
    yield "uint i = thread_position_in_grid.x;"
    for number, step in enumerate(program.steps):
        yield f"{TYPES[step.dtype]} v{number} = {step_text(step)};"
    for number, (value, dtype) in enumerate(zip(program.outputs, program.results)):
        yield f"y{number}[i] = {TYPES[dtype]}(v{value});"


def source(program: Program) -> str:
    """The body of the kernel: a thread computes one element, and there are as many threads as elements."""
    return "\n".join(_lines(program))


def function(program: Program, name: str, twin: Callable[..., Any]) -> Callable[..., Any]:
    """The program as a function on MLX arrays: the kernel where operands have one shape, otherwise its twin."""
    inputs, results = len(program.inputs), len(program.results)
    kernel: Any = mx.fast.metal_kernel(f"{name}_{program.content_hash()[:16]}", [f"x{i}" for i in range(inputs)],
                                  [f"y{i}" for i in range(results)], source(program))
    dtypes = [DTYPES[dtype] for dtype in program.results]

    def call(*raws: mx.array) -> Any:
        shape, size = raws[0].shape, raws[0].size
        if not 0 < size < MOST or any([raw.shape != shape for raw in raws]):
            return twin(*raws)
        runtime.join()
        found = kernel(inputs=list(raws), grid=(size, 1, 1), threadgroup=(min(GROUP, size), 1, 1),
                       output_shapes=[shape] * results, output_dtypes=dtypes)
        return runtime.record(found[0] if results == 1 else tuple(found))
    return call
