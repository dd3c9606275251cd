"""The cells of recurrent layers, forward and backward: a thread for each unit of each row of a step.

Row r of a step is row `at` + r * `spread` of arrays over time. `inner` is what the state adds to the gates.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from . import runtime
from .runtime import cuda, inline
from .vocabulary import functions


@cache
def _curves(dtype: np.dtype) -> tuple[Callable, Callable]:
    """The sigmoid, which keeps its tails, and tanh."""
    exp, one, zero = functions(dtype.name)["exp"], dtype.type(1), dtype.type(0)

    def logistic(x):
        power = exp(-abs(x))
        return (one if x >= zero else power) / (one + power)
    return inline(logistic), functions(dtype.name)["tanh"]


@cache
def _lstm(dtype: np.dtype) -> Any:
    logistic, tanh = _curves(dtype)

    def lstm_cell(gates, inner, hidden, cell, out, cells, at, spread, rows, units):
        i = cuda.grid(1)
        while i < rows * units:
            r, j = i // units, i % units
            row, other = at + r * spread, 4 * r * units + j
            place = 4 * row * units + j
            take = logistic(gates[place] + inner[other])
            keep = logistic(gates[place + units] + inner[other + units])
            new = tanh(gates[place + 2 * units] + inner[other + 2 * units])
            show = logistic(gates[place + 3 * units] + inner[other + 3 * units])
            gates[place], gates[place + units] = take, keep
            gates[place + 2 * units], gates[place + 3 * units] = new, show
            content = keep * cell[i] + take * new
            value = show * tanh(content)
            cell[i], cells[row * units + j], hidden[i], out[row * units + j] = content, content, value, value
            i += cuda.gridsize(1)
    return runtime.kernel(lstm_cell)


@cache
def _gru(dtype: np.dtype) -> Any:
    logistic, tanh = _curves(dtype)

    def gru_cell(gates, inner, hidden, cell, out, kept, at, spread, rows, units):
        i = cuda.grid(1)
        while i < rows * units:
            r, j = i // units, i % units
            row, other = at + r * spread, 3 * r * units + j
            place, own = 3 * row * units + j, inner[other + 2 * units]
            reset = logistic(gates[place] + inner[other])
            update = logistic(gates[place + units] + inner[other + units])
            new = tanh(gates[place + 2 * units] + reset * own)
            gates[place], gates[place + units], gates[place + 2 * units] = reset, update, new
            value = new + update * (hidden[i] - new)
            kept[row * units + j], hidden[i], out[row * units + j] = own, value, value
            i += cuda.gridsize(1)
    return runtime.kernel(gru_cell)


@cache
def _plain(dtype: np.dtype, is_curved: bool) -> Any:
    _, tanh = _curves(dtype)
    zero = dtype.type(0)

    def plain_cell(gates, inner, hidden, cell, out, kept, at, spread, rows, units):
        i = cuda.grid(1)
        while i < rows * units:
            place = (at + i // units * spread) * units + i % units
            value = gates[place] + inner[i]
            value = tanh(value) if is_curved else zero if value < zero else value
            out[place], hidden[i] = value, value
            i += cuda.gridsize(1)
    return runtime.kernel(plain_cell)


def forward_kernel(mode: str, dtype: np.dtype) -> Any:
    """cell(gates, inner, hidden, cell, out, kept, at, spread, rows, units): gates, states and results of a step."""
    return {"lstm": _lstm, "gru": _gru}[mode](dtype) if mode in ("lstm", "gru") else _plain(dtype, mode == "tanh")


# ------------------------------------------------------------------------------------------------------- gradients
@inline
def _known(array, initial, i, units, spread, earlier, known):
    """An element of a state as it was a step before, which begins at row `earlier` and has `known` rows."""
    return array[(earlier + i // units * spread) * units + i % units] if i // units < known else initial[i]


@cache
def _slopes_of_lstm(dtype: np.dtype) -> Callable:
    _, tanh = _curves(dtype)
    one, zero = dtype.type(1), dtype.type(0)

    def slopes(gates, cells, before, slope, of_cell, own, inner, i, row, j, units):
        place = 4 * row * units + j
        take, keep, new, show = (gates[place], gates[place + units], gates[place + 2 * units],
                                 gates[place + 3 * units])
        content = tanh(cells[row * units + j])
        total = of_cell[i] + slope * show * (one - content * content)
        own[place] = total * new * take * (one - take)
        own[place + units] = total * before * keep * (one - keep)
        own[place + 2 * units] = total * take * (one - new * new)
        own[place + 3 * units] = slope * content * show * (one - show)
        of_cell[i] = total * keep
        return zero
    return inline(slopes)


@cache
def _slopes_of_gru(dtype: np.dtype) -> Callable:
    one = dtype.type(1)

    def slopes(gates, kept, before, slope, of_cell, own, inner, i, row, j, units):
        place = 3 * row * units + j
        reset, update, new = gates[place], gates[place + units], gates[place + 2 * units]
        of_new = slope * (one - update) * (one - new * new)
        of_reset = of_new * kept[row * units + j] * reset * (one - reset)
        of_update = slope * (before - new) * update * (one - update)
        own[place], own[place + units], own[place + 2 * units] = of_reset, of_update, of_new
        inner[place], inner[place + units], inner[place + 2 * units] = of_reset, of_update, of_new * reset
        return slope * update
    return inline(slopes)


@cache
def _slopes_of_plain(dtype: np.dtype, is_curved: bool) -> Callable:
    one, zero = dtype.type(1), dtype.type(0)

    def slopes(gates, out, before, slope, of_cell, own, inner, i, row, j, units):
        value = out[row * units + j]
        steep = one - value * value if is_curved else zero if value <= zero else one
        own[row * units + j] = slope * steep
        return zero
    return inline(slopes)


@cache
def backward_kernel(mode: str, dtype: np.dtype) -> Any:
    """Slopes of the gates of a step; of the state before what does not go through a product is left in `of_hidden`.

    `back` is what came through the product of the step that is read after this one, for its first `given` rows, which
    may be more than `size`. `states` keeps the hidden states of the step before; `earlier` is where that begins.
    """
    is_lstm = mode == "lstm"
    slopes_of = _slopes_of_lstm(dtype) if is_lstm else _slopes_of_gru(dtype) if mode == "gru" else \
        _slopes_of_plain(dtype, mode == "tanh")

    def cell_grad(gates, kept, out, hidden, cell, g, of_hidden, of_cell, back, own, inner, states, at, spread, size,
                  given, earlier, known, rows, units):
        i = cuda.grid(1)
        while i < rows * units:
            r, j = i // units, i % units
            slope = of_hidden[i]
            if r < given:
                slope += back[i]
            if r < size:
                row = at + r * spread
                state = _known(out, hidden, i, units, spread, earlier, known)
                before = _known(kept, cell, i, units, spread, earlier, known) if is_lstm else state
                states[row * units + j] = state
                slope += g[row * units + j]
                slope = slopes_of(gates, kept, before, slope, of_cell, own, inner, i, row, j, units)
            of_hidden[i] = slope
            i += cuda.gridsize(1)
    return runtime.kernel(cell_grad)
