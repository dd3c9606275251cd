"""Recurrent layers over a sequence: one product for all inputs, then step after step the states, and their gradients.

Sources and the order of gates: see lucid_nb/ops/recurrent.py. A layer keeps its gates for the gradient.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate

import mlx.core as mx

from ..shapes import Walk
from . import special
from .products import linear, matmul
from .runtime import compiled, entry

Arrays = tuple[mx.array, ...]


# ---------------------------------------------------------------------------------------------------- cells
def _sigmoid(x: mx.array) -> mx.array:
    """MLX's own, which would compute float64 in float32."""
    return 1 / (1 + special.exp(-x)) if x.dtype == mx.float64 else mx.sigmoid(x)


def _lstm(pre: mx.array, cell: mx.array) -> Arrays:
    """The hidden state and the cell; the gates in one array."""
    i, f, g, o = mx.split(pre, 4, 1)
    i, f, g, o = _sigmoid(i), _sigmoid(f), mx.tanh(g), _sigmoid(o)
    new = f * cell + i * g
    return o * mx.tanh(new), new, mx.concatenate([i, f, g, o], 1)


def _lstm_grad(gates: mx.array, before: mx.array, cell: mx.array, of_hidden: mx.array, of_cell: mx.array) -> Arrays:
    """The gradients of the pre-activations and of the cell before."""
    i, f, g, o = mx.split(gates, 4, 1)
    bent = mx.tanh(cell)
    inner = of_cell + of_hidden * o * (1 - mx.square(bent))
    parts = [inner * g * i * (1 - i), inner * before * f * (1 - f), inner * i * (1 - mx.square(g)),
             of_hidden * bent * o * (1 - o)]
    return mx.concatenate(parts, 1), inner * f


def _gru(of_input: mx.array, of_state: mx.array, state: mx.array) -> Arrays:
    """The hidden state; the gates and what the state adds to the last one."""
    (r, z, n), (hr, hz, hn) = mx.split(of_input, 3, 1), mx.split(of_state, 3, 1)
    r, z = _sigmoid(r + hr), _sigmoid(z + hz)
    new = mx.tanh(n + r * hn)
    return new + z * (state - new), mx.concatenate([r, z, new, hn], 1)


def _gru_grad(gates: mx.array, state: mx.array, of_hidden: mx.array) -> Arrays:
    """The gradients of both products, and of the state as far as it does not go through one."""
    r, z, new, hn = mx.split(gates, 4, 1)
    of_new = of_hidden * (1 - z) * (1 - mx.square(new))
    of_z = of_hidden * (state - new) * z * (1 - z)
    of_r = of_new * hn * r * (1 - r)
    return mx.concatenate([of_r, of_z, of_new], 1), mx.concatenate([of_r, of_z, of_new * r], 1), of_hidden * z


def _tanh(pre: mx.array) -> Arrays:
    return (mx.tanh(pre),)


def _tanh_grad(hidden: mx.array, slope: mx.array) -> Arrays:
    return (slope * (1 - mx.square(hidden)),)


def _relu(pre: mx.array) -> Arrays:
    return (mx.where(pre <= 0, mx.zeros_like(pre), pre),)


def _relu_grad(hidden: mx.array, slope: mx.array) -> Arrays:
    return (mx.where(hidden <= 0, mx.zeros_like(slope), slope),)


CELLS = {"lstm": _lstm, "gru": _gru, "tanh": _tanh, "relu": _relu}
GRADIENTS = {"lstm": _lstm_grad, "gru": _gru_grad, "tanh": _tanh_grad, "relu": _relu_grad}


@cache
def _program(cell: Callable[..., Arrays]) -> Callable[..., Sequence[mx.array]]:
    """A cell, by MLX's compiler where that has kernels."""
    return compiled(cell)


# --------------------------------------------------------------------------------------------------- sequences
def _in_time(x: mx.array, walk: Walk) -> mx.array:
    """Rows (..., features) with time first."""
    steps, rows = len(walk.sizes), x.reshape(-1, x.shape[-1])
    return rows if walk.spread == 1 else rows.reshape(-1, steps, x.shape[-1]).swapaxes(0, 1).reshape(rows.shape)


def _as_given(rows: mx.array, walk: Walk) -> mx.array:
    """Rows with time first in the order of the sequence."""
    steps = len(walk.sizes)
    return rows if walk.spread == 1 else rows.reshape(steps, -1, rows.shape[-1]).swapaxes(0, 1).reshape(rows.shape)


def _steps(x: mx.array, walk: Walk) -> list[mx.array]:
    """The rows of each step."""
    return list(mx.split(x, list(accumulate(walk.sizes))[:-1]))


def _order(walk: Walk) -> Iterator[int]:
    steps = range(len(walk.sizes))
    return reversed(steps) if walk.is_reverse else iter(steps)


def _replaced(whole: mx.array, first: mx.array) -> mx.array:
    """With other first rows."""
    return first if len(first) == len(whole) else mx.concatenate([first, whole[len(first):]])


def _before(states: list[mx.array], initial: mx.array, walk: Walk) -> list[mx.array]:
    """The state that each step read, from those that steps gave."""
    found: list[mx.array] = []
    for step, size in enumerate(walk.sizes):
        earlier = step + 1 if walk.is_reverse else step - 1
        known = states[earlier][:size] if 0 <= earlier < len(states) else initial[:0]
        found.append(known if len(known) == size else mx.concatenate([known, initial[len(known):size]]))
    return found


@entry
def recurrent(x: mx.array, w_ih: mx.array, w_hh: mx.array, b_ih: mx.array, b_hh: mx.array, *states: mx.array,
              mode: str, walk: Walk) -> Arrays:
    """A layer in one direction: the hidden states over time, the last states, and what the gradient reads.

    x: (..., inputs). States: (..., units), the hidden one and for "lstm" the cell. What is kept lies with time first.
    """
    hidden, *cell = [state.reshape(-1, state.shape[-1]) for state in states]
    weight, cell_of = mx.contiguous(w_hh.T), _program(CELLS[mode])
    of_input = _steps(linear(_in_time(x, walk), w_ih.T, b_ih if mode == "gru" else b_ih + b_hh), walk)
    found: dict[int, Sequence[mx.array]] = {}
    for step in _order(walk):
        size = walk.sizes[step]
        here = hidden[:size]
        if mode == "gru":
            found[step] = cell_of(of_input[step], linear(here, weight, b_hh), here)
        else:
            found[step] = cell_of(mx.addmm(of_input[step], here, weight), *[state[:size] for state in cell])
        hidden = _replaced(hidden, found[step][0])
        cell = [_replaced(cell[0], found[step][1])] if cell else []
    over_time = [mx.concatenate([found[step][place] for step in range(len(walk.sizes))])
                 for place in range(len(found[0]))]
    out = _as_given(over_time[0], walk).reshape(*x.shape[:-1], hidden.shape[-1])
    last = [state.reshape(given.shape) for state, given in zip((hidden, *cell), states)]
    kept = {"lstm": over_time[:0:-1], "gru": [over_time[-1], over_time[0]]}.get(mode, [])
    return (out, *last, *kept)


def recurrent_grad(x: mx.array, w_ih: mx.array, w_hh: mx.array, states: Arrays, results: Arrays, slopes: Arrays,
                   mode: str, walk: Walk, wanted: list[bool]) -> list[mx.array | None]:
    """The gradients of `recurrent`'s arrays, None where not wanted.

    `results` is what it gave, `slopes` are the gradients of the states over time and of each last state.
    """
    found = _gradients(x, w_ih, w_hh, states, results, slopes, mode, walk)
    return [slope if is_wanted else None for slope, is_wanted in zip(found, wanted)]


@entry
def _gradients(x: mx.array, w_ih: mx.array, w_hh: mx.array, states: Arrays, results: Arrays, slopes: Arrays,
               mode: str, walk: Walk) -> Arrays:
    """All of them."""
    initial = [state.reshape(-1, state.shape[-1]) for state in states]
    hidden = _steps(_in_time(results[0], walk), walk)
    before, g = _before(hidden, initial[0], walk), _steps(_in_time(slopes[0], walk), walk)
    of_hidden, *of_cell = [slope.reshape(-1, slope.shape[-1]) for slope in slopes[1:]]
    kept = [_steps(part, walk) for part in results[1 + len(states):]]
    cells = _before(kept[1], initial[1], walk) if mode == "lstm" else []
    grad, own, inner = _program(GRADIENTS[mode]), {}, {}
    for step in reversed(list(_order(walk))):
        size = walk.sizes[step]
        slope = g[step] + of_hidden[:size]
        if mode == "lstm":
            own[step], through = grad(kept[0][step], cells[step], kept[1][step], slope, of_cell[0][:size])
            of_cell = [_replaced(of_cell[0], through)]
        elif mode == "gru":
            own[step], inner[step], direct = grad(kept[0][step], before[step], slope)
        else:
            own[step], = grad(hidden[step], slope)
        back = matmul(inner.get(step, own[step]), w_hh)
        of_hidden = _replaced(of_hidden, back + direct if mode == "gru" else back)
    rows, products = (mx.concatenate([by[step] for step in range(len(walk.sizes))]) for by in (own, inner or own))
    return (_as_given(matmul(rows, w_ih), walk).reshape(x.shape), matmul(rows.T, _in_time(x, walk)),
            matmul(products.T, mx.concatenate(before)), mx.sum(rows, 0), mx.sum(products, 0),
            *[slope.reshape(state.shape) for slope, state in zip((of_hidden, *of_cell), states)])
