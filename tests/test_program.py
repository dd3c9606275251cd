"""Typing, printing and the content hash of programs."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lucid_nb import expr, printing
from lucid_nb.errors import FormulaError
from lucid_nb.program import NATIVE_EVERYWHERE, Program, type_program

FLOAT_DTYPES = ("float16", "bfloat16", "float32", "float64")
INTEGER_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def typed(formula: Callable, *inputs: str, **facts: Any) -> Program:
    """The program of a formula for inputs of these dtypes."""
    return type_program(expr.trace(formula, len(inputs)), inputs, **facts)


# ---------------------------------------------------------------------------------------------- the typing
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_small_floats_compute_in_float32_and_are_stored_back(dtype: str) -> None:
    program = typed(lambda m, x: m.exp(x) * 2, dtype)
    compute = dtype if dtype in ("float32", "float64") else "float32"
    assert {step.dtype for step in program.steps} == {compute} and program.results == (dtype,)


def test_two_small_floats_are_stored_as_what_they_compute_in() -> None:
    assert typed(lambda m, x, y: x + y, "float16", "bfloat16").results == ("float32",)


@pytest.mark.parametrize("inputs, result", [
    (("float32", "float64"), "float64"), (("int32", "float32"), "float32"), (("int8", "uint8"), "uint8"),
    (("complex64", "float32"), "complex64"), (("bool", "int16"), "int16"), (("bool", "bool"), "bool")])
def test_widest_input_decides(inputs: tuple[str, ...], result: str) -> None:
    assert typed(lambda m, x, y: m.add(x, y), *inputs).results == (result,)


@pytest.mark.parametrize("dtype", [*FLOAT_DTYPES, *INTEGER_DTYPES])
def test_comparisons_give_bool_and_literals_take_the_compute_dtype(dtype: str) -> None:
    program = typed(lambda m, x: (x > 3, m.where(x > 3, x, 0)), dtype)
    assert program.results == ("bool", dtype)
    assert len({step.dtype for step in program.steps if step.op == "literal"}) == 1
    assert {step.dtype for step in program.steps} == {"bool", program.steps[0].dtype}


def test_bool_input_stays_a_condition() -> None:
    program = typed(lambda m, c, x: m.where(c, x, 0.5), "bool", "float16")
    assert [step.dtype for step in program.steps] == ["bool", "float32", "float32", "float32"]
    assert program.results == ("float16",)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_condition_that_is_a_number_is_refused(dtype: str) -> None:
    with pytest.raises(FormulaError, match="where: the condition is"):
        typed(lambda m, x: m.where(x, x, 0), dtype)


def test_program_without_inputs_is_float64() -> None:
    assert typed(lambda m: expr.lift(2.5)).results == ("float64",)


@pytest.mark.parametrize("dtype, real", [("complex64", "float32"), ("complex128", "float64")])
def test_modulus_of_complex_is_real_and_what_is_made_of_it(dtype: str, real: str) -> None:
    program = typed(lambda m, x: (abs(x), m.sqrt(abs(x)), abs(x) > 1), dtype)
    assert program.results == (real, real, "bool")


def test_conjugates_vanish_where_numbers_are_real() -> None:
    outputs, _, _ = expr.gradient(expr.trace(lambda m, x: m.sin(x) * x, 1), 1, (True,))
    assert all(step.op != "conjugate" for step in type_program(outputs, ("float64", "float64")).steps)
    assert any(step.op == "conjugate" for step in type_program(outputs, ("complex64", "complex64")).steps)


def test_several_outputs_have_their_own_dtypes_and_share_steps() -> None:
    program = typed(lambda m, x: (m.frexp_mantissa(x), m.frexp_exponent(x), x * x, x * x), "float32")
    assert program.results == ("float32", "int32", "float32", "float32")
    assert program.outputs[2] == program.outputs[3] and len(program.steps) == 4


def test_literal_result_is_stored() -> None:
    program = typed(lambda m, x: (expr.lift(1), x), "float16")
    assert program.results == ("float16", "float16")


# ------------------------------------------------------------------------------------------ identity, text
def test_hash_tells_dtypes_literals_order_and_warnings_apart() -> None:
    programs = [typed(lambda m, x: m.exp(x) * 2, "float32"), typed(lambda m, x: m.exp(x) * 2, "float64"),
                typed(lambda m, x: m.exp(x) * 2.5, "float32"), typed(lambda m, x: 2 * m.exp(x), "float32"),
                typed(lambda m, x: m.exp(x) * 0.0, "float32"), typed(lambda m, x: m.exp(x) * -0.0, "float32"),
                typed(lambda m, x: m.exp(x) * 2, "float32", warns=True),
                typed(lambda m, x, y: m.exp(x) * 2, "float32", "float32"),
                typed(lambda m, x, y: m.exp(y) * 2, "float32", "float32")]
    assert len({program.content_hash() for program in programs}) == len(programs)
    assert typed(lambda m, t: m.exp(t) * 2, "float32").content_hash() == programs[0].content_hash()


def test_hash_is_the_same_in_every_process() -> None:
    code = ("from lucid_nb import expr; from lucid_nb.program import type_program\n"
            "f = expr.trace(lambda m, x, y: (m.gelu(x) * m.softplus(y), m.where(x > y, x ** y, m.erf(x))), 2)\n"
            "g = expr.gradient(f, 2, (True, True))\n"
            "print(type_program(f, ('float32', 'float64')).content_hash(), g[1:],\n"
            "      type_program(g[0], ('float32',) * len(g[1])).content_hash())")
    found = {subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, text=True,
                            capture_output=True, check=True).stdout for seed in ("0", "1", "77")}
    assert len(found) == 1


def _runnable(program: Program) -> Callable:
    """The printed text as a Python function over one-element lists, its entries those of NumPy."""
    names = {f"{op}_{dtype}": getattr(np, op) for op in ("exp", "log", "sin", "sqrt", "absolute", "power")
             for dtype in ("float32", "float64", "int64", "int32", "complex64")}
    names |= {name: getattr(np, name) for name in ("float32", "float64", "int8", "uint8", "int32", "int64")}
    lines = list(printing.body_lines(program, {}, {}))
    loads = [line for line in lines if "[i]" in line]
    assert len(loads) == len(program.results) + sum(step.op == "input" for step in program.steps)
    text = f"def run(i, {', '.join(printing.operand_names(program))}):\n " + "\n ".join(lines)
    scope = {**names, "inf": np.inf, "copysign": np.copysign, "bool": np.bool_}
    exec(text, scope)
    return scope["run"]


@pytest.mark.parametrize("formula, oracle", [
    (lambda m, x: m.exp(x) * 2 - 1, lambda x: np.exp(x) * 2 - 1),
    (lambda m, x: m.where(x > 0, m.sin(x), -x), lambda x: np.where(x > 0, np.sin(x), -x)),
    (lambda m, x: m.maximum(m.minimum(x, 1), -1), lambda x: np.clip(x, -1, 1)),
    (lambda m, x: m.sign(x) * m.absorbing_product(x, x), lambda x: np.sign(x) * x * x),
    (lambda m, x: m.clip(x, -0.5, float("inf")), lambda x: np.maximum(x, -0.5)),
    (lambda m, x: m.absorbing_quotient(x, x + 3), lambda x: x / (x + 3))])
def test_printed_text_computes_the_formula(formula: Callable, oracle: Callable) -> None:
    program, run = typed(formula, "float64"), _runnable(typed(formula, "float64"))
    for x in (-2.0, -0.3, 0.0, 0.7, 5.0):
        result = [None]
        run(0, [np.float64(x)], result)
        assert result[0] == pytest.approx(oracle(np.float64(x)), rel=1e-15) and program.results == ("float64",)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
@pytest.mark.parametrize("formula, oracle", [
    (lambda m, x: x * x + 3, lambda x: x * x + x.dtype.type(3)), (lambda m, x: -x, lambda x: -x),
    (lambda m, x: m.sign(x) - x, lambda x: np.sign(x) - x), (lambda m, x: m.maximum(x, 5), lambda x: np.maximum(x, 5))])
def test_printed_integers_wrap_as_numpys(dtype: str, formula: Callable, oracle: Callable) -> None:
    run = _runnable(typed(formula, dtype))
    for x in np.array([0, 1, 100, 127, -100 % 256 if dtype[0] == "u" else -100], dtype):
        result = [None]
        with np.errstate(over="ignore"):
            run(0, [x], result)
            assert result[0] == oracle(np.array([x]))[0]


def test_constants_that_have_no_literal_are_printed() -> None:
    program = typed(lambda m, x: m.maximum(x, float("-inf")) + float("nan"), "float32")
    result = [None]
    _runnable(program)(0, [np.float32(1)], result)
    assert np.isnan(result[0])


def test_programs_hold_no_entry_that_the_device_lacks() -> None:
    program = typed(lambda m, x: m.gelu(x) + m.sigmoid_slope(x) + m.clip(x, 0, 1), "float32")
    assert {step.op for step in program.steps} <= NATIVE_EVERYWHERE | {"input", "literal"}
    assert "gelu" in {step.op for step in typed(lambda m, x: m.gelu(x), "float32",
                                                native=NATIVE_EVERYWHERE | {"gelu"}).steps}
