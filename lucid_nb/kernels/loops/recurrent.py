"""Recurrent layers over a whole sequence: at each step the product of states with the packed weights, then the cell.

A unit is `share` rows of the batch, through all steps. Row r of step t is row offsets[t] + r * spread of the arrays
over time, and takes part while r < sizes[t], sizes of later steps being no larger. States (hidden, cell) and their
gradients hold a row of the batch each. Pre-activations are overwritten by the gates.
"""

from numba import types
from numba.extending import overload

from ..intrinsics import mark_kernel
from ..math.exponential import sigmoid_float32, sigmoid_float64, tanh_float32, tanh_float64
from .products import ROWS, add_product
from .typed import INLINE, block, convert, out_of_line, scalar, shift, stack_like

ROOM = ROWS * 64             # elements of the widest tile


def logistic(x):
    """sigmoid of the vocabulary."""


@overload(logistic, jit_options=INLINE)
def _choose_logistic(x):
    return {types.float32: lambda x: sigmoid_float32(x), types.float64: lambda x: sigmoid_float64(x)}[x]


def tangent(x):
    """tanh of the vocabulary."""


@overload(tangent, jit_options=INLINE)
def _choose_tangent(x):
    return {types.float32: lambda x: tanh_float32(x), types.float64: lambda x: tanh_float64(x)}[x]


@scalar
def time_of(step, steps, is_reverse):
    """The time of a step."""
    return steps - 1 - step if is_reverse else step


@scalar
def before(arrays, initial, offsets, sizes, t, row, steps, spread, units, is_reverse):
    """A row of an array over time as it was one step before time t; of `initial` where there was none."""
    earlier = t + 1 if is_reverse else t - 1
    if earlier >= 0 and earlier < steps and row < sizes[max(0, min(earlier, steps - 1))]:
        return shift(arrays, (offsets[earlier] + row * spread) * units)
    return shift(initial, row * units)


# --------------------------------------------------------------------------------------------------------- LSTM
@block
def lstm_cell(i, f, g, o, bias, cell, hidden, out, cells, units):
    """The gates of a row from their pre-activations, the new cell and hidden state."""
    mark_kernel()
    out_of_line()
    for j in range(units):
        keep, take = logistic(f[j] + bias[units + j]), logistic(i[j] + bias[j])
        new, show = tangent(g[j] + bias[2 * units + j]), logistic(o[j] + bias[3 * units + j])
        content = keep * cell[j] + take * new
        value = show * tangent(content)
        i[j], f[j], g[j], o[j] = take, keep, new, show
        cell[j], cells[j], hidden[j], out[j] = content, content, value, value


def lstm_forward(start, stop, gates, packed, bias, hidden, cell, out, cells, offsets, sizes, steps, units, spread,
                 share, batch, is_reverse):
    """gates: (rows over time, 4 units), in the order input, forget, new, output."""
    mark_kernel()
    room, width = stack_like(gates, ROOM), 4 * units
    for unit in range(start, stop):
        first, last = unit * share, min(batch, (unit + 1) * share)
        for step in range(steps):
            t = time_of(step, steps, is_reverse)
            active = min(last, sizes[t])
            add_product(shift(hidden, first * units), units, packed, units,
                        shift(gates, (offsets[t] + first * spread) * width), spread * width, active - first, width,
                        room)
            for row in range(first, active):
                at = offsets[t] + row * spread
                line = shift(gates, at * width)
                lstm_cell(line, shift(line, units), shift(line, 2 * units), shift(line, 3 * units), bias,
                          shift(cell, row * units), shift(hidden, row * units), shift(out, at * units),
                          shift(cells, at * units), units)


@block
def lstm_cell_grad(gates, cell, earlier, g, of_hidden, of_cell, di, df, dg, do, units):
    """Gradients of a row's pre-activations and of the cell before; that of the hidden state is left at 0."""
    mark_kernel()
    out_of_line()
    one = convert(gates, 1)
    for j in range(units):
        take, keep, new, show = gates[j], gates[units + j], gates[2 * units + j], gates[3 * units + j]
        slope, content = of_hidden[j] + g[j], tangent(cell[j])
        total = of_cell[j] + slope * show * (one - content * content)
        di[j] = total * new * take * (one - take)
        df[j] = total * earlier[j] * keep * (one - keep)
        dg[j] = total * take * (one - new * new)
        do[j] = slope * content * show * (one - show)
        of_cell[j], of_hidden[j] = total * keep, convert(gates, 0)


def lstm_backward(start, stop, gates, packed, cells, initial, g, of_hidden, of_cell, slopes, offsets, sizes, steps,
                  units, spread, share, batch, is_reverse):
    """slopes: the gradients of the pre-activations, in the shape of gates."""
    mark_kernel()
    room, width = stack_like(gates, ROOM), 4 * units
    for unit in range(start, stop):
        first, last = unit * share, min(batch, (unit + 1) * share)
        for step in range(steps):
            t = time_of(steps - 1 - step, steps, is_reverse)
            active = min(last, sizes[t])
            for row in range(first, active):
                at = offsets[t] + row * spread
                line = shift(slopes, at * width)
                lstm_cell_grad(shift(gates, at * width), shift(cells, at * units),
                               before(cells, initial, offsets, sizes, t, row, steps, spread, units, is_reverse),
                               shift(g, at * units), shift(of_hidden, row * units), shift(of_cell, row * units),
                               line, shift(line, units), shift(line, 2 * units), shift(line, 3 * units), units)
            add_product(shift(slopes, (offsets[t] + first * spread) * width), spread * width, packed, width,
                        shift(of_hidden, first * units), units, active - first, units, room)


# ---------------------------------------------------------------------------------------------------------- GRU
@block
def gru_cell(r, z, n, inner, own, bias, state_bias, hidden, out, units):
    """The gates of a row; inner (3 units) is the product with the state, left at 0; own keeps the third part of it."""
    mark_kernel()
    out_of_line()
    reset, update, new = inner, shift(inner, units), shift(inner, 2 * units)
    for j in range(units):
        own[j] = new[j] + state_bias[2 * units + j]
        r[j] = logistic(r[j] + bias[j] + (reset[j] + state_bias[j]))
        new[j] = convert(r, 0)
    for j in range(units):
        z[j] = logistic(z[j] + bias[units + j] + (update[j] + state_bias[units + j]))
        n[j] = tangent(n[j] + bias[2 * units + j] + r[j] * own[j])
        value = n[j] + z[j] * (hidden[j] - n[j])
        hidden[j], out[j] = value, value
    for j in range(2 * units):
        inner[j] = convert(r, 0)


def gru_forward(start, stop, gates, packed, bias, state_bias, hidden, inner, out, own, offsets, sizes, steps, units,
                spread, share, batch, is_reverse):
    """gates: (rows over time, 3 units), in the order reset, update, new; inner: (batch, 3 units) of zeros."""
    mark_kernel()
    room, width = stack_like(gates, ROOM), 3 * units
    for unit in range(start, stop):
        first, last = unit * share, min(batch, (unit + 1) * share)
        for step in range(steps):
            t = time_of(step, steps, is_reverse)
            active = min(last, sizes[t])
            add_product(shift(hidden, first * units), units, packed, units, shift(inner, first * width), width,
                        active - first, width, room)
            for row in range(first, active):
                at = offsets[t] + row * spread
                line = shift(gates, at * width)
                gru_cell(line, shift(line, units), shift(line, 2 * units), shift(inner, row * width),
                         shift(own, at * units), bias, state_bias, shift(hidden, row * units), shift(out, at * units),
                         units)


@block
def gru_cell_grad(gates, own, earlier, g, of_hidden, slopes, state_slopes, units):
    """Gradients of a row's pre-activations; of the hidden state what does not go through a product is left."""
    mark_kernel()
    out_of_line()
    one = convert(gates, 1)
    for j in range(units):
        reset, update, new = gates[j], gates[units + j], gates[2 * units + j]
        slope = of_hidden[j] + g[j]
        of_new = slope * (one - update) * (one - new * new)
        of_reset = of_new * own[j] * reset * (one - reset)
        of_update = slope * (earlier[j] - new) * update * (one - update)
        slopes[j], slopes[units + j], slopes[2 * units + j] = of_reset, of_update, of_new
        state_slopes[j], state_slopes[units + j], state_slopes[2 * units + j] = of_reset, of_update, of_new * reset
        of_hidden[j] = slope * update


def gru_backward(start, stop, gates, packed, own, out, initial, g, of_hidden, slopes, state_slopes, offsets, sizes,
                 steps, units, spread, share, batch, is_reverse):
    """slopes, state_slopes: the gradients of what the input and what the state adds to the gates, in their shape."""
    mark_kernel()
    room, width = stack_like(gates, ROOM), 3 * units
    for unit in range(start, stop):
        first, last = unit * share, min(batch, (unit + 1) * share)
        for step in range(steps):
            t = time_of(steps - 1 - step, steps, is_reverse)
            active = min(last, sizes[t])
            for row in range(first, active):
                at = offsets[t] + row * spread
                gru_cell_grad(shift(gates, at * width), shift(own, at * units),
                              before(out, initial, offsets, sizes, t, row, steps, spread, units, is_reverse),
                              shift(g, at * units), shift(of_hidden, row * units), shift(slopes, at * width),
                              shift(state_slopes, at * width), units)
            add_product(shift(state_slopes, (offsets[t] + first * spread) * width), spread * width, packed, width,
                        shift(of_hidden, first * units), units, active - first, units, room)


# ---------------------------------------------------------------------------------------------------- plain RNN
@scalar
def curved(out, x):
    """tanh, for an array `out`."""
    return tangent(x)


@scalar
def curved_slope(out, y):
    """The derivative of tanh where it is y."""
    return convert(out, 1) - y * y


@scalar
def rectified(out, x):
    """x, or 0 below it; NaN stays."""
    return convert(out, 0) if x < convert(out, 0) else x


@scalar
def rectified_slope(out, y):
    """The derivative of the rectifier where it is y; 1 at NaN."""
    return convert(out, 0 if y <= convert(out, 0) else 1)


def plain_forward(activation):
    """The kernel of a recurrence out = activation(pre-activation), out holding the part of the input at first."""
    @block
    def cell(out, bias, hidden, units):
        mark_kernel()
        out_of_line()
        for j in range(units):
            value = activation(out, out[j] + bias[j])
            out[j], hidden[j] = value, value

    def forward(start, stop, out, packed, bias, hidden, offsets, sizes, steps, units, spread, share, batch,
                is_reverse):
        mark_kernel()
        room = stack_like(out, ROOM)
        for unit in range(start, stop):
            first, last = unit * share, min(batch, (unit + 1) * share)
            for step in range(steps):
                t = time_of(step, steps, is_reverse)
                active = min(last, sizes[t])
                add_product(shift(hidden, first * units), units, packed, units,
                            shift(out, (offsets[t] + first * spread) * units), spread * units, active - first, units,
                            room)
                for row in range(first, active):
                    cell(shift(out, (offsets[t] + row * spread) * units), bias, shift(hidden, row * units), units)
    return forward


def plain_backward(slope):
    """The kernel of its gradient: slopes = g * slope(out), g with what comes from the next step."""
    @block
    def cell_grad(out, g, of_hidden, slopes, units):
        mark_kernel()
        out_of_line()
        for j in range(units):
            slopes[j] = (of_hidden[j] + g[j]) * slope(out, out[j])
            of_hidden[j] = convert(out, 0)

    def backward(start, stop, out, packed, g, of_hidden, slopes, offsets, sizes, steps, units, spread, share, batch,
                 is_reverse):
        mark_kernel()
        room = stack_like(out, ROOM)
        for unit in range(start, stop):
            first, last = unit * share, min(batch, (unit + 1) * share)
            for step in range(steps):
                t = time_of(steps - 1 - step, steps, is_reverse)
                active = min(last, sizes[t])
                for row in range(first, active):
                    at = (offsets[t] + row * spread) * units
                    cell_grad(shift(out, at), shift(g, at), shift(of_hidden, row * units), shift(slopes, at), units)
                add_product(shift(slopes, (offsets[t] + first * spread) * units), spread * units, packed, units,
                            shift(of_hidden, first * units), units, active - first, units, room)
    return backward


tanh_forward, tanh_backward = plain_forward(curved), plain_backward(curved_slope)
relu_forward, relu_backward = plain_forward(rectified), plain_backward(rectified_slope)
