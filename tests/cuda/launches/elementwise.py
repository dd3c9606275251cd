"""Printed programs: contiguous, rows that broadcast, and strided."""

import numpy as np

import lucid_nb.cuda as table
from lucid_nb import program
from lucid_nb.expr import trace

from . import FLOATS, HALVES, array, launches, strided

COUNT = 1 << 24
VECTORS = ("a thread computes all elements of an access: half the warps have as many bytes on their way as all of them "
           "would have with an element each")


def run(formula, *operands):
    """A formula of arrays."""
    typed = program.type_program(trace(formula, len(operands)), [raw.element.name for raw in operands], table.NATIVE())
    table.map(typed, "formula")(*operands)


@launches(*FLOATS, *HALVES, "int8", "int64", "bool", "complex64", "complex128", is_stream=True)
def add(dtype):
    run(lambda m, x, y: x + y, array(COUNT, dtype), array(COUNT, dtype))


@launches(*FLOATS, *HALVES, is_stream=True)
def scaled_sum_of_three(dtype):
    run(lambda m, x, y, z: x * y + z * 2, *(array(COUNT, dtype) for _ in range(3)))


@launches(*FLOATS, *HALVES, is_stream=True, registers=VECTORS)
def sigmoid_times_gelu(dtype):
    run(lambda m, x, y: m.sigmoid(x) * m.gelu(y) + 1, array(COUNT, dtype), array(COUNT, dtype))


@launches("float32", "bfloat16", is_stream=True, registers=VECTORS)
def fused_gradient_of_two(dtype):
    run(lambda m, a, b, g: (g * m.sigmoid(b) * m.tanh_slope(a), g * m.sigmoid_slope(b) * m.tanh(a)),
        *(array(COUNT, dtype) for _ in range(3)))


@launches(*FLOATS, *HALVES, is_stream=True)
def rows_and_bias(dtype):
    run(lambda m, x, bias, scale: x * scale + bias, array((1 << 14, 1 << 10), dtype), array(1 << 10, dtype),
        array((1 << 14, 1), dtype))


@launches(*FLOATS, *HALVES, "complex64")
def strided_operands(dtype):
    run(lambda m, x, y: x * y + 1, strided((64, 128, 512), dtype), array(512, dtype))


@launches("int8", "int64", "uint32", "uint64")
def integers(dtype):
    run(lambda m, x, y: m.maximum(m.absolute(x * y - x), m.power(x, y)) + m.sign(-x),
        array(COUNT, dtype), array(COUNT, dtype))


@launches("bool", "int8", "bfloat16", "float64", "complex64")
def casts(dtype):
    for target in ("bool", "uint64", "float16", "bfloat16", "float32"):
        table.cast(array(COUNT, dtype), np.dtype(target))


@launches("bool", "int64", "bfloat16", "float32", "complex64")
def sources(dtype):
    table.full((COUNT,), 1, np.dtype(dtype))
    if dtype != "bool":
        table.iota(0, 1, COUNT, np.dtype(dtype))
    table.assign(strided((300, 300), dtype), array((300,), dtype))
