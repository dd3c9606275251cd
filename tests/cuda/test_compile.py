"""Every kernel template becomes PTX and sm_80 machine code without a GPU, in registers alone."""

import ml_dtypes
import numpy as np
import pytest

from lucid_nb.cuda import reduce as reductions
from lucid_nb.cuda.array import from_numpy

FLOATS = ("float32", "float64")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = ("float16", BFLOAT16)


def array(shape, dtype):
    return from_numpy(np.zeros(shape, dtype))


def check(compiled, kernels=1):
    assert len(compiled) >= kernels
    for kernel in compiled:
        assert kernel.code[:4] == b"\x7fELF" and ".target sm_80" in kernel.ptx
        assert (kernel.spilled, kernel.stack) == (0, 0), kernel.name
        assert kernel.registers <= 128, kernel.name


@pytest.mark.parametrize("dtype", (*FLOATS, *HALVES, "int32", "complex64"))
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "any"])
def test_reduce_compiles(compiled, kind, dtype):
    if dtype == "complex64" and kind == "max":
        kind = "all"
    result = np.dtype("bool" if kind in ("any", "all") else dtype)
    reductions.reduce(kind, array((3, 5000), dtype), (1,), False, result)
    check(compiled, 2)


@pytest.mark.parametrize("dtype", (*FLOATS, *HALVES, "int8", "bool"))
def test_arg_reduce_compiles(compiled, dtype):
    reductions.arg_reduce("max", array((3, 50), dtype), 0, False)
    check(compiled)
