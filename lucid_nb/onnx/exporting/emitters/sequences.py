"""Recurrent layers."""

from typing import Any

from ..known import emits
from ..recording import Value
from ..writer import Ref, Writer, refused
from .movement import parts_of

# The operator, its gates in the order of our weights, and whether each gate of ours stands where the standard has it.
LAYERS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "lstm": ("LSTM", (0, 3, 1, 2), {}), "gru": ("GRU", (1, 0, 2), {"linear_before_reset": 1}),
    "tanh": ("RNN", (0,), {"activations": ["Tanh"]}), "relu": ("RNN", (0,), {"activations": ["Relu"]})}


@emits(*[f"recurrent_{mode}" for mode in LAYERS])
def _recurrent(w: Writer, out: Value, x: Ref, w_ih: Ref, w_hh: Ref, b_ih: Ref, b_hh: Ref, *states: Ref, mode: str,
               walk: Any) -> list[str]:
    """One layer in one direction; gates are put into the standard's order."""
    word, order, how = LAYERS[mode]
    if len({*walk.sizes}) > 1:
        raise refused(f"recurrent_{mode}", "reads packed sequences of several lengths. Pad them instead.")
    steps, units = len(walk.sizes), w_hh.shape[1]
    is_batch_first = walk.spread != 1
    batch = states[0].shape[-2]
    rows = w.reshape(x, (batch, steps, x.shape[-1]) if is_batch_first else (steps, batch, x.shape[-1]))
    rows = w.transpose(rows, (1, 0, 2)) if is_batch_first else rows
    weights = [w.node("Unsqueeze", _ordered(w, part, order, units), w.integers([0])) for part in (w_ih, w_hh)]
    bias = w.node("Concat", *[_ordered(w, part, order, units) for part in (b_ih, b_hh)], axis=0)
    given = [w.reshape(state, (1, batch, units)) for state in states]
    found = w.nodes_of(word, [rows, *weights, w.node("Unsqueeze", bias, w.integers([0])), "", *given], 1 + len(states),
                       hidden_size=units, direction="reverse" if walk.is_reverse else "forward", **how)
    hidden = w.node("Squeeze", found[0], w.integers([1]))
    hidden = w.transpose(hidden, (1, 0, 2)) if is_batch_first else hidden
    return [w.reshape(hidden, out.shape), *[w.reshape(last, state.shape) for last, state in zip(found[1:], states)]]


def _ordered(w: Writer, weight: Ref, order: tuple[int, ...], units: int) -> str:
    """The gates of a weight in another order."""
    if order == (0,):
        return weight.name
    parts = parts_of(w, weight, [units] * len(order), 0)
    return w.node("Concat", *[parts[gate] for gate in order], axis=0)
