"""Recurrent layers over a sequence: one product for all inputs, the kernels of loops/recurrent.py, and their gradients.

The weights of the state are packed once for all steps. Arrays over time are (rows, features), as Walk tells them.
"""

from functools import cache, lru_cache

import numpy as np

from .. import config
from ..shapes import Walk
from . import memory, threads
from .copying import contiguous
from .gemm import matmul
from .reduce import reduce
from .steps import INDEX, grain, kernel_of
from .store import RangeKernel

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
ROWS = 6                     # of a tile, as in loops/products.py
CELL = 64                    # what a gate costs, in elements that are only read
LINE, PANEL = 64, 256        # bytes of a line of the cache, and of a row of a panel, as in loops/products.py
Arrays = tuple[np.ndarray, ...]


@lru_cache(256)
def _tables(walk: Walk) -> Arrays:
    """Where each step begins, and how many rows of the batch it has."""
    sizes = np.array(walk.sizes, INDEX)
    offsets = np.cumsum(sizes) - sizes if walk.spread == 1 else np.arange(len(sizes))
    return offsets, sizes


@cache
def _kernel(name: str, dtype: np.dtype, arrays: int) -> RangeKernel:
    """A kernel of loops/recurrent.py over so many arrays of a dtype."""
    return kernel_of(f"recurrent:{name}", (dtype,) * arrays + (INDEX, INDEX), 6)


@lru_cache(256)
def _places(walk: Walk) -> np.ndarray:
    """For each row over time the row one step before it; rows of the initial state follow those over time."""
    offsets, sizes = _tables(walk)
    count = int(sizes.sum())
    places = np.empty(count, INDEX)
    for t in range(len(sizes)):
        rows = np.arange(sizes[t])
        earlier = t + 1 if walk.is_reverse else t - 1
        known = sizes[earlier] if 0 <= earlier < len(sizes) else 0
        before = offsets[earlier % len(sizes)] + rows * walk.spread
        places[offsets[t] + rows * walk.spread] = np.where(rows < known, before, count + rows)
    return places


def pack(matrix: np.ndarray) -> np.ndarray:
    """A matrix (depth, cols) in panels, its beginning aligned to a line of the cache."""
    depth, cols = matrix.shape
    size = matrix.itemsize
    panels = -(-cols * size // PANEL)
    count = panels * depth * PANEL // size
    room = memory.empty((count + LINE // size,), matrix.dtype)
    first = -threads.address_of(room) % LINE // size
    packed = room[first:first + count]
    kernel = kernel_of("products:pack", (matrix.dtype, matrix.dtype), 4)
    threads.launch(kernel, panels, panels, matrix, packed, depth, cols, *[step // size for step in matrix.strides])
    return packed


def _launch(name: str, arrays: Arrays, walk: Walk, batch: int, units: int, gates: int) -> None:
    """Run a kernel over slices of the batch: as many as there are threads, where there is work for them."""
    offsets, sizes = _tables(walk)
    elements = gates * units * (units // 8 + CELL) * len(sizes)
    slices = max(1, min(config.num_threads, -(-batch // ROWS), batch // grain(elements)))
    share = -(-batch // slices)
    kernel = _kernel(name, arrays[0].dtype, len(arrays))
    threads.launch(kernel, -(-batch // share), 1, *arrays, offsets, sizes, len(sizes), units, walk.spread, share, batch,
                   int(walk.is_reverse))


def recurrent(x: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray, b_hh: np.ndarray,
              *states: np.ndarray, mode: str, walk: Walk) -> Arrays:
    """A layer in one direction: the hidden states over time, the last hidden state (and cell), and what the gradient
    reads.

    x: (..., inputs), rows in C order. States: (..., units), the hidden one and for "lstm" the cell. Results lead with
    the same axes. Weights and biases as PyTorch has them, gates in its order.
    """
    units, dtype, lead = states[0].shape[-1], x.dtype, x.shape[:-1]
    x = _rows(x)
    gates, packed = matmul(x, w_ih.T), pack(w_hh.T)
    hidden, *cell = [np.array(state, order="C") for state in states]
    batch = hidden.size // units
    bias = contiguous(b_ih) if mode == "gru" else b_ih + b_hh
    facts = walk, batch, units, GATES[mode]
    if mode in ("tanh", "relu"):
        _launch(f"{mode}_forward", (gates, packed, bias, hidden), *facts)
        return gates.reshape(*lead, units), hidden
    out, other = memory.empty((*lead, units), dtype), memory.empty((len(x), units), dtype)
    if mode == "lstm":
        _launch("lstm_forward", (gates, packed, bias, hidden, *cell, out, other), *facts)
        return out, hidden, *cell, gates, other
    inner = np.zeros((batch, 3 * units), dtype)
    _launch("gru_forward", (gates, packed, bias, contiguous(b_hh), hidden, inner, out, other), *facts)
    return out, hidden, gates, other


def _rows(array: np.ndarray) -> np.ndarray:
    """All leading axes as one."""
    return contiguous(array).reshape(-1, array.shape[-1])


def recurrent_grad(x: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, states: Arrays, results: Arrays, slopes: Arrays,
                   mode: str, walk: Walk, wanted: list[bool]) -> list[np.ndarray | None]:
    """The gradients of `recurrent`'s arrays, None where not wanted.

    `results` is what it gave, `slopes` are the gradients of the states over time and of each last state.
    """
    units, dtype, shape = states[0].shape[-1], x.dtype, x.shape
    x, batch = _rows(x), states[0].size // units
    g, of_states = contiguous(slopes[0]), [np.array(slope, order="C") for slope in slopes[1:]]
    own = inner = memory.empty((len(x), GATES[mode] * units), dtype)
    packed, initial, facts = pack(w_hh), contiguous(states[-1]), (walk, batch, units, GATES[mode])
    if mode == "lstm":
        out, _, _, gates, cells = results
        _launch("lstm_backward", (gates, packed, cells, initial, g, *of_states, own), *facts)
    elif mode == "gru":
        out, _, gates, kept = results
        inner = memory.empty(own.shape, dtype)
        _launch("gru_backward", (gates, packed, kept, out, initial, g, *of_states, own, inner), *facts)
    else:
        out = results[0]
        _launch(f"{mode}_backward", (out, packed, g, *of_states, own), *facts)
    found: list[np.ndarray | None] = [None] * (5 + len(states))
    if wanted[0]:
        found[0] = matmul(own, w_ih).reshape(shape)
    if wanted[1]:
        found[1] = matmul(own.T, x)
    if wanted[2]:
        found[2] = _by_state_weights(inner, _rows(out), _rows(states[0]), walk)
    for number, slope in ((3, own), (4, inner)):
        if wanted[number]:
            found[number] = reduce("sum", slope, (0,), False, dtype)
    found[5:] = of_states
    return found


def _by_state_weights(inner: np.ndarray, out: np.ndarray, initial: np.ndarray, walk: Walk) -> np.ndarray:
    """The gradient of the state's weights: the sum over rows of slopes times the state before."""
    batch, rest = len(initial), len(out) - len(initial)
    if walk.spread != 1 or walk.sizes[-1] != batch or not rest:
        return matmul(inner.T, np.concatenate([out, initial]).take(_places(walk), 0))
    first, later, earlier = (slice(rest, None), slice(rest), slice(batch, None)) if walk.is_reverse else (
        slice(batch), slice(batch, None), slice(rest))
    found = matmul(inner[later].T, out[earlier])
    return found + matmul(inner[first].T, initial) if initial.any() else found
