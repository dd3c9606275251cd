"""The text of Metal kernels: its structure, its values where it is compiled as C++, and where a program gets one."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from lucid_nb.expr import trace
from lucid_nb.program import type_program

from ..ops import oracles

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
from lucid_nb.mlx import metal, vocabulary  # noqa: E402

# What of Metal the texts use, in C++.
SHIM = """
#include <cmath>
typedef unsigned int uint;
struct uint3 {{ uint x, y, z; }};
namespace metal {{
using std::fabs; using std::floor; using std::ceil; using std::trunc; using std::rint; using std::copysign;
namespace precise {{
using std::exp; using std::log; using std::sqrt; using std::sin; using std::cos; using std::tan; using std::tanh;
using std::sinh; using std::cosh; using std::pow; using std::asin; using std::acos; using std::atan; using std::atan2;
using std::exp2; using std::log2; using std::log10; using std::asinh; using std::acosh; using std::atanh;
}} }}
extern "C" void kernel_{name}(uint count, {arguments}) {{
    for (uint thread = 0; thread < count; ++thread) {{
        uint3 thread_position_in_grid = {{thread, 0, 0}};
        {body}
    }}
}}
"""


def typed(formula, arity, *dtypes):
    return type_program(trace(formula, arity), list(dtypes), table.NATIVE())


def derivatives():
    """The programs of the gradients of one operand that get a kernel, float32, by name."""
    plans = {name: op._make_plan((True,)) for name, op in oracles.records().items()
             if op.arity == 1 and oracles.is_differentiable(op)}
    programs = {name: type_program(plan.op.outputs, ["float32"] * plan.op.arity, table.NATIVE())
                for name, plan in plans.items() if plan.op is not None}
    return {name: program for name, program in programs.items() if metal.suits(program)}


def test_text_has_a_line_for_each_step_and_result():
    program = typed(lambda m, x, y: m.where(x > 0, m.exp(x) * y, -0.5), 2, "float16", "float32")
    assert metal.suits(program)
    lines = metal.source(program).splitlines()
    assert lines[0] == "uint i = thread_position_in_grid.x;"
    assert len(lines) == 1 + len(program.steps) + 1 and all(line.endswith(";") for line in lines)
    assert "float v0 = float(x0[i]);" in lines and any("metal::precise::exp(v" in line for line in lines)
    assert any(line.endswith("= -0.5f;") for line in lines) and lines[-1].startswith("y0[i] = float(v")


@pytest.mark.parametrize("value, dtype, text", [(1e300, "float32", "1e+300f"), (float("inf"), "float32", "INFINITY"),
                                                (-float("inf"), "float32", "-INFINITY"), (2, "float32", "2.0f"),
                                                (float("nan"), "float32", "NAN"), (True, "bool", "true")])
def test_constants_are_those_of_metal(value, dtype, text):
    assert metal.literal_text(value, dtype) == text


def test_only_long_programs_of_floats_get_a_kernel():
    long = lambda m, x: m.tanh(m.exp(x) * x) + x
    assert metal.suits(typed(long, 1, "float32")) and metal.suits(typed(long, 1, "bfloat16"))
    assert not metal.suits(typed(long, 1, "float64"))                            # Metal has none
    assert not metal.suits(typed(long, 1, "complex64"))
    assert not metal.suits(typed(lambda m, x: m.exp(x) * x, 1, "float32"))       # two calls are as good
    assert not metal.suits(typed(lambda m, x: (x * x + x) * x - x, 1, "int32"))
    assert not metal.suits(typed(lambda m, x: m.expm1(m.exp(x) * x) + x, 1, "float32"))       # Metal has no expm1


def test_most_gradients_of_one_operand_get_a_kernel():
    assert {"sigmoid", "tanh", "silu", "softsign", "arctan", "hardswish"} <= {*derivatives()}


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler, in Metal's place")
def test_texts_compiled_as_cpp_give_the_values_of_the_twin(tmp_path):
    programs = derivatives()
    texts = []
    for name, program in programs.items():
        arguments = [f"const float* x{i}" for i in range(len(program.inputs))] + [
            f"{metal.TYPES[dtype]}* y{i}" for i, dtype in enumerate(program.results)]
        texts.append(SHIM.format(name=name, arguments=", ".join(arguments), body=metal.source(program)))
    (tmp_path / "kernels.cpp").write_text("\n".join(text if not n else text[text.index('extern "C"'):]
                                                     for n, text in enumerate(texts)))
    subprocess.run(["c++", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-o", str(tmp_path / "kernels.so"),
                    str(tmp_path / "kernels.cpp")], check=True, timeout=120)
    library = ctypes.CDLL(str(tmp_path / "kernels.so"))
    x = np.concatenate([np.linspace(-4, 4, 37), [0, -0.0, np.inf, -np.inf, np.nan]]).astype("float32")
    for name, program in programs.items():
        given = [np.roll(x, 5 * number).copy() for number in range(len(program.inputs))]
        found = [np.empty(x.shape, dtype) for dtype in program.results]
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (*given, *found)]
        getattr(library, f"kernel_{name}")(x.size, *pointers)
        wanted = vocabulary.function(program, name)(*map(table.from_numpy, given))
        for got, exact in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            np.testing.assert_allclose(got, table.to_numpy(exact), rtol=2e-6, atol=1e-37, err_msg=name)


def test_operands_of_different_shapes_go_to_the_twin(monkeypatch):
    calls = []

    def metal_kernel(name, inputs, outputs, text):
        def kernel(**given):
            calls.append((inputs, outputs, given))
            return [table.mx.zeros(*made) for made in zip(given["output_shapes"], given["output_dtypes"])]
        return kernel
    monkeypatch.setattr(table.mx.fast, "metal_kernel", metal_kernel)
    program = typed(lambda m, x, y: m.tanh(x * y) + x, 2, "float32", "float16")
    call = metal.function(program, "curve", lambda *raws: "twin")
    x, y = table.from_numpy(np.ones((3, 5), "float32")), table.from_numpy(np.ones((3, 5), "float16"))
    assert call(x, y).shape == (3, 5) and call(x, y[0]) == "twin" and call(x[:0], y[:0]) == "twin"
    inputs, outputs, given = calls[0]
    assert (inputs, outputs, len(calls)) == (["x0", "x1"], ["y0"], 1)
    assert (given["grid"], given["threadgroup"]) == ((15, 1, 1), (15, 1, 1))


@pytest.mark.metal
@pytest.mark.skipif(not table.mx.metal.is_available(), reason="needs an Apple GPU, on which it has not been run yet")
def test_kernels_on_the_gpu_give_the_values_of_the_twin():
    x = np.linspace(-4, 4, 1001).astype("float32")
    for name, program in derivatives().items():
        given = [table.from_numpy(np.roll(x, 5 * number)) for number in range(len(program.inputs))]
        twin = vocabulary.function(program, name)
        for got, exact in zip(*[found if isinstance(found, tuple) else (found,) for found in (
                metal.function(program, name, twin)(*given), twin(*given))], strict=True):
            np.testing.assert_allclose(table.to_numpy(got), table.to_numpy(exact), rtol=2e-5, atol=1e-37, err_msg=name)
