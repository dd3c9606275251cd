"""Recurrent layers: one product for all inputs of a layer, then step after step the states; fused where a device can.

`mode` is "lstm", "gru", "tanh" or "relu". Weights, biases and the order of gates are PyTorch's. A sequence is given as
its rows over time: step t has sizes[t] rows, which never increase; see Walk.

Sources: S. Hochreiter, J. Schmidhuber, Long short-term memory, 1997, with the forget gate of F. Gers, J. Schmidhuber,
F. Cummins, 2000; K. Cho et al., arXiv:1406.1078, in the form of PyTorch, where the reset gate multiplies the product;
H. Sak, A. Senior, F. Beaufays, arXiv:1402.1128, for the projected LSTM.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from .. import backend, dtypes, flops
from ..apply import apply
from ..array import Tensor, fresh
from ..expr import Expr, Vocabulary, trace
from ..facts import Facts, Rule
from ..op import Elementwise, Info, Primitive
from ..shapes import Walk
from .linalg import matmul
from .movement import astype, concat, permute_dims, reshape

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
Results = tuple[Tensor, ...]


# ---------------------------------------------------------------------------------------------------- cells
def _lstm(m: Vocabulary, i: Expr, f: Expr, g: Expr, o: Expr, c: Expr) -> tuple[Expr, Expr]:
    """The hidden state and the cell from the four pre-activations and the cell before."""
    cell = m.sigmoid(f) * c + m.sigmoid(i) * m.tanh(g)
    return m.sigmoid(o) * m.tanh(cell), cell


def _gru(m: Vocabulary, r: Expr, z: Expr, n: Expr, hr: Expr, hz: Expr, hn: Expr, h: Expr) -> tuple[Expr]:
    """The hidden state from what the input and the state add to each gate, and the state before."""
    new = m.tanh(n + m.sigmoid(r + hr) * hn)
    return (new + m.sigmoid(z + hz) * (h - new),)


def _cell(name: str, formula: Any, arity: int) -> Elementwise:
    return Elementwise(name, trace(formula, arity), arity, Facts("internal", Rule("float")))


CELLS = {"lstm": _cell("lstm_cell", _lstm, 5), "gru": _cell("gru_cell", _gru, 7),
         "tanh": _cell("tanh_cell", lambda m, x: m.tanh(x), 1),
         "relu": _cell("relu_cell", lambda m, x: m.where(x <= 0, 0, x), 1)}     # with the slopes of relu


def _parts(x: Tensor, count: int) -> list[Tensor]:
    """Equal parts of the last axis."""
    units = x.shape[-1] // count
    return [x[:, k * units:(k + 1) * units] for k in range(count)] if count > 1 else [x]


class Step(NamedTuple):
    """What one application of a cell read and gave: `rows` of the sequence, `states` before."""

    rows: slice
    states: Results
    inputs: Results
    results: Results


def cell(mode: str, of_input: Tensor, of_state: Tensor, states: Results) -> tuple[Results, Results]:
    """The inputs and the results of a cell's formula; of_input and of_state are the two products with biases."""
    if mode == "gru":
        inputs = (*_parts(of_input, 3), *_parts(of_state, 3), states[0])
    else:
        inputs = (*_parts(of_input + of_state, GATES[mode]), *states[1:])
    found = apply(CELLS[mode], inputs)
    return inputs, found if isinstance(found, tuple) else (found,)


def _cell_gradient(mode: str, step: Step, slopes: Results) -> tuple[Tensor, Tensor, list[Tensor]]:
    """The gradients of the two products, and of the states as far as they do not go through one."""
    op = CELLS[mode]
    plan, available = op._make_plan((True,) * op.arity), (*step.inputs, *step.results)
    arguments = [*(available[number] for number in plan.kept), *(slopes[number] for number in plan.cotangents)]
    found = apply(plan.op, arguments)  # type: ignore[arg-type]
    results = found if isinstance(found, tuple) else (found,)
    parts = [arguments[number] if is_read else results[number] for is_read, number in plan.routes]
    if mode == "gru":
        return concat(parts[:3], 1), concat(parts[3:6], 1), parts[6:]
    joined = concat(parts[:GATES[mode]], 1)
    return joined, joined, parts[GATES[mode]:]


# ------------------------------------------------------------------------------------------------- composed
def _times(walk: Walk) -> Iterator[slice]:
    """The rows of each step, in the order in which they are read."""
    ends = list(accumulate(walk.sizes))
    found = [slice(end - size, end) for size, end in zip(walk.sizes, ends)]
    return reversed(found) if walk.is_reverse else iter(found)


def _replaced(whole: Tensor, first: Tensor) -> Tensor:
    """With other first rows."""
    return first if len(first) == len(whole) else concat([first, whole[len(first):]])


def _steps(mode: str, x: Tensor, weights: Results, states: Results, walk: Walk) -> tuple[list[Step], Results]:
    """Every step, and the last states; time is first."""
    w_ih, w_hh, b_ih, b_hh, *w_hr = weights
    of_input = matmul(x, w_ih.T) + b_ih
    steps = []
    for rows in _times(walk):
        here = tuple([state[:rows.stop - rows.start] for state in states])
        inputs, results = cell(mode, of_input[rows], matmul(here[0], w_hh.T) + b_hh, here)
        steps.append(Step(rows, here, inputs, results))
        later = (matmul(results[0], w_hr[0].T), *results[1:]) if w_hr else results
        states = tuple([_replaced(whole, first) for whole, first in zip(states, later)])
    return steps, states


def _composed(mode: str, x: Tensor, weights: Results, states: Results, walk: Walk) -> Results:
    """The hidden states over time and the last states, by other ops."""
    steps, last = _steps(mode, x, weights, states, walk)
    hidden = concat([step.results[0] for step in sorted(steps, key=lambda step: step.rows.start)])
    return (matmul(hidden, weights[4].T) if len(weights) > 4 else hidden, *last)


def _composed_gradient(mode: str, slopes: Results, x: Tensor, weights: Results, states: Results,
                       walk: Walk) -> list[Tensor]:
    """The gradients of all operands by ops that have gradients of their own."""
    w_ih, w_hh, *_ = weights
    steps, _ = _steps(mode, x, weights, states, walk)
    g, of_states = slopes[0], slopes[1:]
    by_input, by_state = {}, {}
    for step in reversed(steps):
        here = [slope[:len(step.results[0])] for slope in of_states]
        one, two, direct = _cell_gradient(mode, step, (g[step.rows] + here[0], *here[1:]))
        by_input[step.rows.start], by_state[step.rows.start] = one, two
        through = matmul(two, w_hh)
        before = (through + direct[0],) if mode == "gru" else (through, *direct)
        of_states = tuple([_replaced(whole, first) for whole, first in zip(of_states, before)])
    order = sorted(by_input)
    own, inner = (concat([by[at] for at in order]) for by in (by_input, by_state))
    hidden = concat([step.states[0] for step in sorted(steps, key=lambda step: step.rows.start)])
    return [matmul(own, w_ih), matmul(own.T, x), matmul(inner.T, hidden), own.sum(axis=0), inner.sum(axis=0),
            *of_states]


# ---------------------------------------------------------------------------------------------------- fused
def _pullback(ops: Any, info: Info, g: dict[int, Any], *kept: Any, mode: str, walk: Walk) -> list[Any]:
    """Of the results the states over time and the last ones can have a gradient; the others nobody has."""
    count = 2 if mode == "lstm" else 1
    inputs, results = kept[:5 + count], kept[5 + count:]
    slopes = [g[number] if number in g else ops.zeros(tuple(results[number].shape), results[number])
              for number in range(1 + count)]
    if ops.records:
        flat = [_rows(tensor) for tensor in (inputs[0], *inputs[5:])]
        found = _unspread(mode, [_rows(slope) for slope in slopes], flat[0], inputs[1:5], tuple(flat[1:]), walk)
        return [reshape(slope, tensor.shape) for slope, tensor in zip(found, inputs)]
    grad = backend.of(inputs[0]).recurrent_grad
    return grad(*inputs[:3], inputs[5:], results, slopes, mode, walk, info.wanted)


def _unspread(mode: str, slopes: list[Tensor], x: Tensor, weights: Results, states: Results,
              walk: Walk) -> list[Tensor]:
    """The composed gradient where the batch may be first."""
    steps, plain = len(walk.sizes), Walk(walk.sizes, 1, walk.is_reverse)
    if walk.spread == 1:
        return _composed_gradient(mode, tuple(slopes), x, weights, states, plain)
    x, g = _swapped(x, -1, steps), _swapped(slopes[0], -1, steps)
    by_x, *others = _composed_gradient(mode, (g, *slopes[1:]), x, weights, states, plain)
    return [_swapped(by_x, steps, -1), *others]


def _rows(x: Tensor) -> Tensor:
    """All leading axes as one."""
    return reshape(x, -1, x.shape[-1])


def _swapped(rows: Tensor, outer: int, inner: int) -> Tensor:
    """Rows (outer, inner) in the order (inner, outer)."""
    return reshape(permute_dims(reshape(rows, outer, inner, rows.shape[-1]), (1, 0, 2)), -1, rows.shape[-1])


def _fused(mode: str, count: int, saved: int, unit: int) -> Primitive:
    def forward(table: backend.Table, *arrays: Any, mode: str, walk: Walk) -> tuple:
        return table.recurrent(*arrays, mode=mode, walk=walk)
    return Primitive(f"recurrent_{mode}", forward, _pullback, keeps=tuple(range(5 + 2 * count + 1 + saved)),
                     flops=flops.recurrence(unit), gradient_flops=2)


# The last number: what a unit computes of its gates, in operations.
FUSED = {"lstm": _fused("lstm", 2, 2, 62), "gru": _fused("gru", 1, 2, 42), "tanh": _fused("tanh", 1, 0, 9),
         "relu": _fused("relu", 1, 0, 2)}


# ------------------------------------------------------------------------------------------------ functions
def recurrent(mode: str, x: Tensor, weights: Sequence[Tensor | None], states: Results, walk: Walk) -> Results:
    """One layer in one direction over x (..., inputs): the hidden states over time, then the last states.

    weights: (gates * units, inputs), (gates * units, outputs), two biases or None, and for a projected LSTM (outputs,
    units). states: the hidden one (..., outputs), for "lstm" the cell (..., units). The leading axes of x are the rows
    over time, those of states the batch; results have the same. float16 and bfloat16 are computed in float32.
    """
    dtype = x.dtype
    wide = dtypes.FLOAT32 if dtype in (dtypes.FLOAT16, dtypes.BFLOAT16) else dtype
    table = backend.of(x.refresh().raw)
    rows = weights[0].shape[:1]  # type: ignore[union-attr]
    given = [fresh(table.full(rows, 0, wide)) if w is None else _cast(w, wide) for w in weights]
    x, *states_ = [_cast(tensor, wide) for tensor in (x, *states)]
    if len(weights) == 4 and x.size and table.has("recurrent"):
        found = apply(FUSED[mode], (x, *given, *states_), {"mode": mode, "walk": walk})[:1 + len(states)]
    else:
        found = _composed_like(mode, x, tuple(given), tuple(states_), walk)
    return tuple([_cast(tensor, dtype) for tensor in found])


def _cast(x: Tensor, dtype: Any) -> Tensor:
    """In a dtype."""
    return x if x.dtype == dtype else astype(x, dtype)


def _composed_like(mode: str, x: Tensor, weights: Results, states: Results, walk: Walk) -> Results:
    """The composed form, with the leading axes of x and of the states, and where the batch may be first."""
    steps, rows = len(walk.sizes), _rows(x)
    is_spread = walk.spread != 1
    out, *last = _composed(mode, _swapped(rows, -1, steps) if is_spread else rows, weights, tuple(map(_rows, states)),
                           Walk(walk.sizes, 1, walk.is_reverse))
    out = _swapped(out, steps, -1) if is_spread else out
    return (reshape(out, *x.shape[:-1], out.shape[-1]),
            *[reshape(state, given.shape) for state, given in zip(last, states)])


def recurrent_cell(mode: str, x: Tensor, weights: Sequence[Tensor | None], states: Results) -> Results:
    """One step of (batch, inputs): the states after it."""
    w_ih, w_hh, b_ih, b_hh = weights
    of_input, of_state = (product if bias is None else product + bias for product, bias in
                          ((matmul(x, w_ih.T), b_ih), (matmul(states[0], w_hh.T), b_hh)))  # type: ignore[union-attr]
    return cell(mode, of_input, of_state, states)[1]
