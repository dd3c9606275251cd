"""Every kernel template becomes PTX and sm_80 machine code without a GPU, in registers alone.

The entries of the table are called as they are; what they launch is caught and compiled for its arguments. The sweep
over every architecture is bench/cuda_registers.py.
"""

import re

import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb import program
from lucid_nb.expr import trace, vocabulary

from .compiling import FIRST
from .conftest import why_not_compiling
from .launches import array, cases
from .launches.vocabulary import is_periodic
from .offline import check_parameters
from .streams import stream

CASES = cases() if not why_not_compiling() else ()
STREAMS = [case for case in CASES if case.is_stream and case.family == "elementwise"]


def check(compiled, kernels=1):
    assert len(compiled) == kernels
    for kernel in compiled:
        assert kernel.code[:4] == b"\x7fELF" and ".target sm_80" in kernel.ptx
        assert (kernel.spilled, kernel.stack) == (0, 0), kernel
        assert kernel.registers <= 128, kernel


def elementwise(formula, arity, *dtypes):
    """Launch a formula on contiguous operands; all of one dtype unless several are named."""
    names = dtypes if len(dtypes) == arity else dtypes * arity
    typed = program.type_program(trace(formula, arity), names, table.NATIVE())
    table.map(typed, "formula")(*(array((64,), name) for name in names))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_launches_compile_without_spills_and_fill_the_device(case):
    found = case.launches()
    assert found
    for launch in found:
        kernel = launch.compile()
        assert kernel.code[:4] == b"\x7fELF" and ".target sm_80" in kernel.ptx
        check_parameters(launch.arguments, kernel.ptx)
        for complaint, reason in case.complaints(launch, FIRST):
            assert reason, (kernel.name, complaint)
        if case.family == "vocabulary" and case.dtype in ("float32", "complex64"):
            assert ".f64" not in kernel.ptx or is_periodic(case.name)


# -------------------------------------------------------------------------------------------- what the PTX does
@pytest.mark.parametrize("case", STREAMS, ids=str)
def test_streams_move_sixteen_bytes_an_access(case):
    """A load for each operand that has an element of its own, and a store, for as many elements as fit 16 bytes; long
    programs of short elements take half."""
    (launch,), itemsize = case.launches(), np.dtype(case.dtype).itemsize
    found = stream(launch.compile().ptx, itemsize)
    rows = {"add": 2, "scaled sum of three": 3, "sigmoid times gelu": 2, "fused gradient of two": 3, "rows and bias": 2}
    results = 2 if case.name == "fused gradient of two" else 1
    width = 8 if (results, case.dtype) == (2, "bfloat16") else 16
    assert found.widest == width and found.stores == itemsize / width
    one_for_all = found.loads * width / itemsize * results - rows[case.name]
    assert one_for_all == (1 if case.name == "rows and bias" else 0)


def test_products_read_shared_memory_in_sixteen_bytes_and_keep_their_sums(compiled):
    table.matmul(array((4096, 4096)), array((4096, 4096)))
    ptx = compiled[0].ptx
    assert set(re.findall(r"(?:ld|st)\.global\.\S+", ptx)) == {"ld.global.v4.f32", "st.global.v4.f32"}
    assert set(re.findall(r"ld\.shared\.\S+", ptx)) == {"ld.shared.v4.f32"} and ".local" not in ptx
    assert ptx.count("fma.rn.f32") == 64 and len(re.findall(r"ld\.shared", ptx)) == 4


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products_are_not_fused(compiled, dtype):
    """Fused, the imaginary part of z times its conjugate would be the rounding error of a product."""
    elementwise(lambda m, x, y: x * y, 2, dtype)
    assert "fma.rn" not in compiled[0].ptx and "mul.rn" in compiled[0].ptx


@pytest.mark.parametrize("name", (
    "exp log sqrt sin cos tanh modulus unit divide power exp2 expm1 log2 log10 log1p tan sinh cosh arcsin arccos "
    "arctan arcsinh arccosh arctanh").split())
def test_complex_programs_compile(compiled, name):
    elementwise(lambda m, *args: getattr(m, name)(*args), vocabulary[name].arity, "complex64")
    assert compiled[0].spilled == 0
