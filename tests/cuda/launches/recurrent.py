"""Cells of recurrent layers, forward and backward."""

import lucid_nb.cuda as table
from lucid_nb.shapes import Walk

from . import FLOATS, array, launches

STEPS, BATCH, UNITS = 4, 512, 512
PRODUCTS = "the tiles of matrix products, whose sums stay in registers"
CELLS = "a unit reads four gates and what the state adds to each; half the warps have them all on their way at once"


@launches(*FLOATS, registers=f"{PRODUCTS}; {CELLS}", stack="a product of doubles keeps a place there, once a slice")
def layers(dtype):
    rows = array((STEPS * BATCH, UNITS), dtype)
    for mode, gates in (("lstm", 4), ("gru", 3), ("tanh", 1), ("relu", 1)):
        weights, bias = array((gates * UNITS, UNITS), dtype), array(gates * UNITS, dtype)
        states = [array((BATCH, UNITS), dtype) for _ in range(1 + (mode == "lstm"))]
        walk = Walk((BATCH,) * STEPS)
        results = table.recurrent(rows, weights, weights, bias, bias, *states, mode=mode, walk=walk)
        table.recurrent_grad(rows, weights, weights, states, results, [rows, *states], mode, walk, [True] * 5)
