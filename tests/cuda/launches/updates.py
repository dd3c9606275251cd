"""Steps of optimizers over some arrays at once."""

import numpy as np

import lucid_nb.cuda as table
from lucid_nb import program
from lucid_nb.expr import trace

from . import array, launches


def momentum(m, x, g, v, rate, share):
    """The formula of gradient descent with momentum."""
    v = share * v + g
    return x - rate * v, v


@launches("float32", "float64", is_stream=True)
def descent(dtype):
    typed = program.type_program(trace(momentum, 5), [dtype] * 5, table.NATIVE(), False)
    sets = [[array((1 << 20,), dtype) for _ in range(3)] for _ in range(8)]
    table.update(table.map(typed, "momentum"), sets, np.array([0.1, 0.9], dtype), (0, 2))
