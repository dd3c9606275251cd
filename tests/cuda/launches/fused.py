"""Fused programs over rows whose values threads hold, and over longer ones; sums over rows."""

import numpy as np

import lucid_nb.cuda
from lucid_nb.backend import Table
from lucid_nb.expr import Scalar, lift, m, read
from lucid_nb.fusion import rows
from lucid_nb.fusion.fused import Fused, Runner, Spec

from . import FLOATS, HALVES, array, launches

TABLE = Table("cuda", lucid_nb.cuda)        # which is asked for launches, also where no GPU is
HELD = ("a thread holds its elements from pass to pass instead of reading them again: half the warps have several "
        "accesses on their way at once")


def softmax(cols, dtype):
    """Of scaled rows."""
    spec = Spec((4096, cols), np.dtype(dtype))
    return Fused("softmax", [rows.softmax(read(0) * lift(Scalar(0.5)))], [spec], [spec], (4096,), cols)


def layer_norm(cols, dtype):
    """Of rows, with a weight and a bias."""
    x, w, b = read(0), read(1), read(2)
    count = lift(Scalar(cols))
    variance = rows.row_scatter(x, cols) / count
    output = (x - rows.mean_of(x, count)) / m.sqrt(variance + 1e-5) * w + b
    line, matrix = Spec((cols,), np.dtype(dtype)), Spec((4096, cols), np.dtype(dtype))
    return Fused("layer_norm", [output], [matrix, line, line], [matrix], (4096,), cols)


def with_gradient(op, dtype):
    """A program and its gradient."""
    for each in (op, op.gradient((True,) * len(op.inputs), (True,)).op):
        Runner(each, TABLE)([array(spec.shape, dtype) for spec in each.inputs])


@launches(*FLOATS, *HALVES, registers=HELD)
def short_rows(dtype):
    with_gradient(softmax(64, dtype), dtype)
    with_gradient(layer_norm(768, dtype), dtype)


@launches("float32", "bfloat16", registers=HELD)
def rows_of_several_accesses(dtype):
    with_gradient(softmax(4096, dtype), dtype)
    with_gradient(layer_norm(4096, dtype), dtype)


@launches("float32", "bfloat16", registers=HELD)
def long_rows(dtype):
    with_gradient(softmax(50_257, dtype), dtype)
    with_gradient(layer_norm(1 << 15, dtype), dtype)
