"""Reductions in one pass and in two, places of extremes, softmax and cross entropy."""

import numpy as np

import lucid_nb.cuda as table

from . import FLOATS, HALVES, array, launches

ROWS = (4096, 4096)
UNROLLED = ("the compiler unrolls the walk along an axis by four, at places of 64 bits: half the warps have four loads "
            "each on their way; in fewer registers values are spilled")


@launches(*FLOATS, "bfloat16", "int32", "complex64", registers=UNROLLED)
def reduce(dtype):
    for kind in ("sum", "prod" if dtype == "complex64" else "max", "any"):
        result = np.dtype("bool" if kind == "any" else dtype)
        table.reduce(kind, array((3, 1 << 22), dtype), (1,), False, result)
        table.reduce(kind, array(ROWS, dtype), (0,), False, result)


@launches(*FLOATS, *HALVES, "int8", "bool", registers=UNROLLED)
def arg_reduce(dtype):
    table.arg_reduce("max", array(ROWS, dtype), 0, False)


@launches(*FLOATS, "bfloat16", registers=UNROLLED)
def softmax(dtype):
    x = array(ROWS, dtype)
    table.softmax(x, 1)
    table.log_softmax(x, 0)
    table.logsumexp(x, (1,), False)
    table.softmax_grad(x, x, 1)
    table.log_softmax_grad(x, x, 1)


@launches(*FLOATS, "bfloat16", registers=UNROLLED)
def cross_entropy(dtype):
    x, g, target = array(ROWS, dtype), array(ROWS[:1], dtype), array(ROWS[:1], "int64")
    table.cross_entropy(x, target, -100)
    table.cross_entropy_grad(x, target, g, -100)
