"""Recurrent layers, in both directions, with padded sequences and any activations.

What PyTorch's layers compute is done by ours in one piece; the rest step by step.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import ConfigError
from ...nn import functional as F
from ...ops.recurrent import recurrent
from ...register import functions
from ...shapes import Walk
from ..table import Node, operator
from ..values import on

Activation = Callable[[Any], Any]
Results = tuple[Any, ...]
USES = {"Affine": ("alpha", "beta"), "LeakyRelu": ("alpha",), "ThresholdedRelu": ("alpha",),
        "ScaledTanh": ("alpha", "beta"), "HardSigmoid": ("alpha", "beta"), "Elu": ("alpha",)}
DEFAULTS = {"Affine": (1.0, 0.0), "LeakyRelu": (0.01, 0.0), "ThresholdedRelu": (1.0, 0.0), "ScaledTanh": (1.0, 1.0),
            "HardSigmoid": (0.2, 0.5), "Elu": (1.0, 0.0)}
ACTIVATIONS: dict[str, Callable[[Any, float, float], Any]] = {
    "Relu": lambda x, a, b: F.relu(x), "Tanh": lambda x, a, b: F.tanh(x), "Sigmoid": lambda x, a, b: F.sigmoid(x),
    "Affine": lambda x, a, b: a * x + b, "LeakyRelu": lambda x, a, b: F.leaky_relu(x, a),
    "ThresholdedRelu": lambda x, a, b: functions["where"](x >= a, x, 0),
    "ScaledTanh": lambda x, a, b: a * F.tanh(b * x), "Elu": lambda x, a, b: F.elu(x, a),
    "HardSigmoid": lambda x, a, b: functions["clip"](a * x + b, 0.0, 1.0), "Softsign": lambda x, a, b: F.softsign(x),
    "Softplus": lambda x, a, b: F.softplus(x)}


class Layer(NamedTuple):
    """One direction: its weights, and how it is computed."""

    w: Any                              # (gates * units, inputs)
    r: Any                              # (gates * units, units)
    of_input: Any                       # biases, None for none
    of_state: Any
    peephole: Any
    lengths: np.ndarray | None          # of sequences
    is_reverse: bool
    activations: list[Activation]
    clip: float | None
    option: bool = False                # linear_before_reset, or input_forget

    def gates(self, x: Any, state: Any, count: int) -> list[Any]:
        """What input and state add up to, gate by gate."""
        found = self.linear(x, self.w, self.of_input) + self.linear(state, self.r, self.of_state)
        return functions["split"](found, count, -1)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        """A product with a weight, and a bias."""
        return F.linear(x, weight, bias)

    def act(self, number: int, x: Any) -> Any:
        """An activation, of what is clipped before."""
        return self.activations[number](x if self.clip is None else functions["clip"](x, -self.clip, self.clip))


# ---------------------------------------------------------------------------------------------------- cells
def _rnn(layer: Layer, x: Any, h: Any) -> Results:
    return (layer.act(0, layer.gates(x, h, 1)[0]),)


def _lstm(layer: Layer, x: Any, h: Any, c: Any) -> Results:
    """Gates stand in the order input, output, forget, cell."""
    i, o, f, g = layer.gates(x, h, 4)
    p_i, p_o, p_f = (0, 0, 0) if layer.peephole is None else functions["split"](layer.peephole, 3)
    take = layer.act(0, i + p_i * c)
    keep = 1 - take if layer.option else layer.act(0, f + p_f * c)
    cell = keep * c + take * layer.act(1, g)
    return layer.act(0, o + p_o * cell) * layer.act(2, cell) if layer.clip is None else \
        layer.act(0, o + p_o * cell) * layer.activations[2](cell), cell


def _gru(layer: Layer, x: Any, h: Any) -> Results:
    """Gates stand in the order update, reset, new."""
    split, zero = functions["split"], [None] * 3
    own = split(layer.linear(x, layer.w, layer.of_input), 3, -1)
    rows, biases = split(layer.r, 3), zero if layer.of_state is None else split(layer.of_state, 3)
    z, r = (layer.act(0, own[gate] + layer.linear(h, rows[gate], biases[gate])) for gate in (0, 1))
    of_state = (r * layer.linear(h, rows[2], biases[2]) if layer.option else
                layer.linear(r * h, rows[2], biases[2]))
    return ((1 - z) * layer.act(1, own[2] + of_state) + z * h,)


CELLS: dict[str, tuple[Callable[..., Results], int, tuple[str, ...]]] = {
    "RNN": (_rnn, 1, ("Tanh",)), "GRU": (_gru, 3, ("Sigmoid", "Tanh")), "LSTM": (_lstm, 4, ("Sigmoid", "Tanh", "Tanh"))}


def _stepped(op: str, layer: Layer, x: Any, states: Results) -> tuple[Any, Results]:
    """One direction over (time, batch, inputs), step by step."""
    cell, rows = CELLS[op][0], {}
    for step in range(x.shape[0])[::-1 if layer.is_reverse else 1]:
        found = cell(layer, x[step], *states)
        if layer.lengths is not None:
            goes = on(x, (step < layer.lengths)[:, None])
            found = tuple([functions["where"](goes, new, old) for new, old in zip(found, states)])
            rows[step] = functions["where"](goes, found[0], 0)
        else:
            rows[step] = found[0]
        states = found
    return functions["stack"]([rows[step] for step in sorted(rows)]), states


# The places of the standard's gates in our order, and the word for the layer.
OURS: dict[str, tuple[str, tuple[int, ...]]] = {"LSTM": ("lstm", (0, 2, 3, 1)), "GRU": ("gru", (1, 0, 2))}


def _fused(op: str, layer: Layer, names: Sequence[str], x: Any, states: Results) -> tuple[Any, Results] | None:
    """One direction in one piece, where our layers compute the same."""
    is_plain = layer.lengths is None and layer.clip is None and layer.peephole is None
    if op == "RNN":
        if not is_plain or names[0] not in ("Tanh", "Relu"):
            return None
        mode, order = names[0].lower(), tuple[int, ...]((0,))
    elif is_plain and tuple(names) == CELLS[op][2] and layer.option == (op == "GRU"):
        mode, order = OURS[op]
    else:
        return None

    def ours(weight: Any) -> Any:
        parts = functions["split"](weight, len(order)) if weight is not None else []
        return functions["concat"]([parts[gate] for gate in order]) if parts else None
    weights = [ours(weight) for weight in (layer.w, layer.r, layer.of_input, layer.of_state)]
    hidden, *last = recurrent(mode, x, weights, states, Walk((x.shape[1],) * x.shape[0], 1, layer.is_reverse))
    return hidden, tuple(last)


# ----------------------------------------------------------------------------------------------- operators
def _activations(op: str, names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None
                 ) -> list[Activation]:
    """The activations of all directions; their numbers are given in order to those that use them."""
    pools = {"alpha": iter(alphas or ()), "beta": iter(betas or ())}
    known = {name.lower(): name for name in ACTIVATIONS}
    found: list[Activation] = []
    for name in names:
        if name.lower() not in known:
            raise ConfigError(f"onnx: {op} has the activation {name!r}. Use one of {', '.join(ACTIVATIONS)}.")
        word = known[name.lower()]
        defaults = dict(zip(("alpha", "beta"), DEFAULTS.get(word, (0.0, 0.0))))
        a, b = (next(pools[what], defaults[what]) if what in USES.get(word, ()) else defaults[what]
                for what in ("alpha", "beta"))
        found.append(partial(_activated, ACTIVATIONS[word], a, b))
    return found


def _activated(function: Callable[[Any, float, float], Any], a: float, b: float, x: Any) -> Any:
    return function(x, a, b)


DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


class Options(NamedTuple):
    """The attributes that all three layers have."""

    direction: str
    layout: int
    clip: float | None
    activations: Sequence[str] | None
    alphas: Sequence[float] | None
    betas: Sequence[float] | None
    option: bool = False


def _run(op: str, how: Options, x: Any, w: Any, r: Any, b: Any, lengths: Any, states: list[Any], p: Any) -> tuple:
    """All directions: the hidden states over time, then the last states."""
    if how.direction not in DIRECTIONS:
        raise ConfigError(f"onnx: {op} has direction {how.direction!r}. Use one of {', '.join(DIRECTIONS)}.")
    ways = DIRECTIONS[how.direction]
    move, default = functions["moveaxis"], CELLS[op][2]
    names = list(how.activations or default * len(ways))
    acts = _activations(op, names, how.alphas, how.betas)
    x = move(x, 0, 1) if how.layout else x
    states = [state if state is None or not how.layout else move(state, 0, 1) for state in states]
    units, each = r.shape[-1], len(default)
    zero = functions["zeros"]((x.shape[1], units), x.dtype, device=x.device)
    hidden, last = [], []
    for way, is_reverse in enumerate(ways):
        own, of_state = (None, None) if b is None else functions["split"](b[way], 2)
        counted = None if lengths is None else lengths.to_host()
        part = slice(way * each, (way + 1) * each)
        layer = Layer(w[way], r[way], own, of_state, None if p is None else p[way], counted, is_reverse,
                      acts[part], how.clip, how.option)
        given = tuple([zero if state is None else state[way] for state in states])
        found = _fused(op, layer, names[part], x, given) or _stepped(op, layer, x, given)
        hidden.append(found[0])
        last.append(found[1])
    out = functions["stack"](hidden, 1)
    ends = [functions["stack"](parts, 1 if how.layout else 0) for parts in zip(*last)]
    return functions["permute_dims"](out, (2, 0, 1, 3)) if how.layout else out, *ends


@operator("RNN")
def rnn(x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
        activations: Any = None, activation_alpha: Any = None, activation_beta: Any = None, clip: Any = None,
        direction: str = "forward", hidden_size: Any = None, layout: int = 0, output_sequence: int = 0) -> tuple:
    """A recurrent layer."""
    how = Options(direction, layout, clip, activations, activation_alpha, activation_beta)
    return _run("RNN", how, x, w, r, b, sequence_lens, [initial_h], None)


@operator("GRU")
def gru(x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None, *,
        activations: Any = None, activation_alpha: Any = None, activation_beta: Any = None, clip: Any = None,
        direction: str = "forward", hidden_size: Any = None, layout: int = 0, linear_before_reset: int = 0,
        output_sequence: int = 0) -> tuple:
    """A layer of gated recurrent units."""
    how = Options(direction, layout, clip, activations, activation_alpha, activation_beta, bool(linear_before_reset))
    return _run("GRU", how, x, w, r, b, sequence_lens, [initial_h], None)


@operator("LSTM")
def lstm(x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None,
         initial_c: Any = None, p: Any = None, *, activations: Any = None, activation_alpha: Any = None,
         activation_beta: Any = None, clip: Any = None, direction: str = "forward", hidden_size: Any = None,
         input_forget: int = 0, layout: int = 0, output_sequence: int = 0, node: Node) -> tuple:
    """A layer of long short-term memory."""
    how = Options(direction, layout, clip, activations, activation_alpha, activation_beta, bool(input_forget))
    return _run("LSTM", how, x, w, r, b, sequence_lens, [initial_h, initial_c], p)
