"""Every kernel template becomes PTX and sm_80 machine code without a GPU, in registers alone.

The entries of the table are called as they are; `compiled` catches each launch and compiles it for its arguments.
"""

import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb import program
from lucid_nb.expr import trace, vocabulary
from lucid_nb.shapes import Window

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
# What entries take that do not take floats.
OPERANDS = (dict.fromkeys("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift bit_count gcd lcm".split(),
                          ("int32", "int64"))
            | dict.fromkeys("real imag modulus unit complex_maximum complex_minimum complex_tan complex_tanh "
                            "complex_tanh_slope".split(), ("complex64", "complex128")))


def array(shape, dtype="float32"):
    return table.from_numpy(np.zeros(shape, dtype))


def strided(shape, dtype="float32"):
    """A view that no merging of axes makes contiguous."""
    return table.slice(array([size + 1 for size in shape], dtype), tuple(slice(1, None) for _ in shape))


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
    table.map(typed, "formula")(*(array((4,), name) for name in names))


@pytest.mark.parametrize("name", sorted(vocabulary))
def test_every_entry_of_the_vocabulary_compiles(compiled, name):
    arity = vocabulary[name].arity
    if name == "where":
        elementwise(lambda m, c, x, y: m.where(c, x, y), 3, "bool", "float32", "float32")
    else:
        for dtype in OPERANDS.get(name, FLOATS):
            elementwise(lambda m, *args: getattr(m, name)(*args), arity, dtype)
    # libdevice reduces large arguments on the stack, through float64.
    large_arguments = name in ("sin", "cos", "tan") or name.startswith("complex_tan")
    for kernel in compiled:
        assert kernel.code[:4] == b"\x7fELF" and kernel.spilled == 0
        assert kernel.stack == 0 or large_arguments, kernel
    assert ".f64" not in compiled[0].ptx or large_arguments


@pytest.mark.parametrize("dtype", (*FLOATS, *HALVES))
def test_map_compiles_flat_and_strided(compiled, dtype):
    def formula(m, x, y):
        return m.sigmoid(x) * m.gelu(y) + 1
    elementwise(formula, 2, dtype)
    typed = program.type_program(trace(formula, 2), [dtype] * 2, table.NATIVE())
    table.map(typed, "formula")(strided((2, 3, 4), dtype), array((4,), dtype))
    check(compiled, 2)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32", "uint64"])
def test_integer_programs_compile(compiled, dtype):
    elementwise(lambda m, x, y: m.maximum(m.absolute(x * y - x), m.power(x, y)) + m.sign(-x), 2, dtype)
    check(compiled)


@pytest.mark.parametrize("name", (
    "exp log sqrt sin cos tanh modulus unit divide power exp2 expm1 log2 log10 log1p tan sinh cosh arcsin arccos "
    "arctan arcsinh arccosh arctanh").split())
def test_complex_programs_compile(compiled, name):
    elementwise(lambda m, *args: getattr(m, name)(*args), vocabulary[name].arity, "complex64")
    assert compiled[0].spilled == 0


@pytest.mark.parametrize("source", ["bool", "int8", "bfloat16", "float64", "complex64"])
def test_casts_compile(compiled, source):
    targets = ("bool", "uint64", "float16", "bfloat16", "float32")
    for target in targets:
        table.cast(array((3,), source), np.dtype(target))
    check(compiled, len(targets))


@pytest.mark.parametrize("dtype", ["bool", "int64", "bfloat16", "float32", "complex64"])
def test_sources_compile(compiled, dtype):
    table.full((3,), 1, np.dtype(dtype))
    if dtype != "bool":
        table.iota(0, 1, 3, np.dtype(dtype))
    table.assign(strided((2, 3), dtype), array((3,), dtype))
    check(compiled, 3 if dtype != "bool" else 2)


@pytest.mark.parametrize("dtype", (*FLOATS, "bfloat16", "int32", "complex64"))
@pytest.mark.parametrize("kind", ["sum", "max", "any"])
def test_reduce_compiles_in_both_passes(compiled, kind, dtype):
    kind = "prod" if dtype == "complex64" and kind == "max" else kind
    result = np.dtype("bool" if kind == "any" else dtype)
    table.reduce(kind, array((3, 5000), dtype), (1,), False, result)
    check(compiled, 2)


@pytest.mark.parametrize("dtype", (*FLOATS, *HALVES, "int8", "bool"))
def test_arg_reduce_compiles(compiled, dtype):
    table.arg_reduce("max", array((3, 50), dtype), 0, False)
    check(compiled)


@pytest.mark.parametrize("dtype", (*FLOATS, "bfloat16"))
def test_softmax_family_compiles(compiled, dtype):
    x, g, target = array((3, 5), dtype), array((3,), dtype), array((3,), "int64")
    table.softmax(x, 1)
    table.log_softmax(x, 0)
    table.logsumexp(x, (1,), False)
    table.softmax_grad(x, x, 1)
    table.log_softmax_grad(x, x, 1)
    table.cross_entropy(x, target, -100)
    table.cross_entropy_grad(x, target, g, -100)
    check(compiled, 7)


@pytest.mark.parametrize("dtype", ("float32", "bfloat16", "bool"))
def test_index_kernels_compile(compiled, dtype):
    rows, index = array((3, 2), dtype), array((4,), "int64")
    table.gather(rows, index)
    table.scatter(rows, index, array((4, 2), dtype))
    table.scatter_add(rows, index, array((4, 2), dtype))
    check(compiled, 1 + 4 + 2)


@pytest.mark.parametrize("dtype", (*FLOATS, *HALVES, "int32", "bool", "complex64"))
def test_matmul_compiles(compiled, dtype):
    table.matmul(array((2, 40, 30), dtype), array((30, 20), dtype))
    check(compiled)


@pytest.mark.parametrize("dtype", (*FLOATS, "bfloat16"))
def test_convolutions_compile(compiled, dtype):
    window = Window((1, 1), (1, 1), (1, 1), (1, 1), 2)
    x, w = array((1, 4, 5, 5), dtype), array((4, 2, 3, 3), dtype)
    table.conv(x, w, window)
    table.conv_input_grad(x, w, window, x.shape)
    table.conv_weight_grad(x, x, window, w.shape)
    check(compiled, 3)


def test_fused_gradient_compiles(compiled):
    elementwise(lambda m, a, b, g: (g * m.sigmoid(b) * m.tanh_slope(a), g * m.sigmoid_slope(b) * m.tanh(a)), 3,
                "float32")
    check(compiled)
