"""Recurrent layers over sequences, and their cells for one step."""

import math
from typing import Any

from ..array import Tensor
from ..creation import empty, zeros
from ..errors import ConfigError, ShapeError
from ..ops.movement import concat
from ..ops.recurrent import GATES, recurrent, recurrent_cell
from ..shapes import Walk, as_integer, as_number
from . import functional as F
from . import init
from .functional.operands import like_weight
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

MODES = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "tanh", "RNN_RELU": "relu"}
States = Tensor | tuple[Tensor, Tensor]


def nonlinear_mode(op: str, nonlinearity: str) -> str:
    """The mode of a plain recurrence."""
    if nonlinearity not in ("tanh", "relu"):
        raise ConfigError(f"{op}: nonlinearity is {nonlinearity!r}. Use 'tanh' or 'relu'.")
    return f"RNN_{nonlinearity.upper()}"


def check_sizes(op: str, **sizes: int) -> list[int]:
    """Sizes as integers of 1 or more."""
    found = [as_integer(op, name, size) for name, size in sizes.items()]
    for name, size in zip(sizes, found):
        if size < 1:
            raise ShapeError(f"{op}: {name} is {size}. Use 1 or more.")
    return found


def fill_uniformly(module: Module, units: int) -> None:
    """Draw all parameters uniformly within 1 / sqrt(units)."""
    bound = 1 / math.sqrt(units)
    for param in module.parameters(recurse=False):
        init.uniform_(param, -bound, bound)


class RNNBase(Module):
    """What the recurrent layers share; `mode` is "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".

    Parameters of layer k, with `_reverse` for the way back: `weight_ih_lk` (gates * hidden_size, inputs),
    `weight_hh_lk` (gates * hidden_size, hidden_size), `bias_ih_lk`, `bias_hh_lk`, and `weight_hr_lk` (proj_size,
    hidden_size) where states are projected. All start uniform within 1 / sqrt(hidden_size).
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        name = type(self).__name__
        if mode not in MODES:
            raise ConfigError(f"{name}: mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
        self.mode, self.bias, self.batch_first, self.bidirectional = mode, bias, batch_first, bidirectional
        self.input_size, self.hidden_size, self.num_layers = check_sizes(
            name, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        self.dropout, self.proj_size = as_number(name, "dropout", dropout), as_integer(name, "proj_size", proj_size)
        self._check_options(name)
        self._groups = self._names()
        for names, shapes in zip(self._groups, self._shapes()):
            for key, shape in zip(names, shapes):
                setattr(self, key, Parameter(empty(shape, dtype=dtype, device=device)))
        self.reset_parameters()

    def _check_options(self, name: str) -> None:
        if not 0 <= self.dropout <= 1:
            raise ConfigError(f"{name}: dropout is {self.dropout}. Use a probability, 0 to 1.")
        if self.proj_size and (self.mode != "LSTM" or not 0 < self.proj_size < self.hidden_size):
            raise ConfigError(f"{name}: proj_size is {self.proj_size} for hidden_size {self.hidden_size}. Use 0, or in "
                              "an LSTM a number below hidden_size.")

    def _names(self) -> list[list[str]]:
        """The names of the parameters of each layer and direction."""
        kinds = ["weight_ih", "weight_hh", *["bias_ih", "bias_hh"] * self.bias, *["weight_hr"] * bool(self.proj_size)]
        ways = ["", "_reverse"] if self.bidirectional else [""]
        return [[f"{kind}_l{layer}{way}" for kind in kinds] for layer in range(self.num_layers) for way in ways]

    def _shapes(self) -> list[list[tuple[int, ...]]]:
        """The shapes of those parameters."""
        rows, outputs = GATES[MODES[self.mode]] * self.hidden_size, self.proj_size or self.hidden_size
        ways, found = 1 + self.bidirectional, []
        for number in range(self.num_layers * ways):
            inputs = self.input_size if number < ways else outputs * ways
            found.append([(rows, inputs), (rows, outputs), *[(rows,), (rows,)] * self.bias,
                          *[(self.proj_size, self.hidden_size)] * bool(self.proj_size)])
        return found

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._groups]

    def flatten_parameters(self) -> None:
        """Nothing: weights are packed anew by each call."""

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        fill_uniformly(self, self.hidden_size)

    # --------------------------------------------------------------------------------------------- forward
    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer over time, and the last states of every layer and direction.

        `input`: (time, batch, input_size), with batch_first (batch, time, input_size), without batch (time,
        input_size), or a PackedSequence. `hx`: the first states (layers * directions, batch, size), of an LSTM a pair
        (hidden, cell); zeros if None. The outputs of both directions are joined. Of a PackedSequence the output is one.
        """
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        x = like_weight(type(self).__name__, input, self.weight_ih_l0)
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            raise ShapeError(f"{type(self).__name__}: an input of shape {x.shape}. Give (time, batch, "
                             f"{self.input_size}), {'batch first, ' * self.batch_first}or (time, {self.input_size}).")
        batch, time = (1, len(x)) if x.ndim == 2 else x.shape[:2] if self.batch_first else x.shape[1::-1]
        if not time:
            raise ShapeError(f"{type(self).__name__}: the input of shape {x.shape} has no steps. Give at least one.")
        sizes, spread = (batch,) * time, time if self.batch_first and x.ndim == 3 else 1
        states = self._states(hx, () if x.ndim == 2 else (batch,), x)
        out, last = self._layers(x, states, sizes, spread)
        return out, self._given(last)

    def _packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """As forward, of a packed sequence."""
        data, counts, order, back = input
        x = like_weight(type(self).__name__, data, self.weight_ih_l0)
        if x.ndim != 2 or x.shape[-1] != self.input_size:
            raise ShapeError(f"{type(self).__name__}: packed elements of shape {x.shape[1:]}. They must have "
                             f"({self.input_size},).")
        sizes = tuple(counts.tolist())
        states = self._states(hx, sizes[:1], x)
        if order is not None and hx is not None:
            states = [[state[:, order] for state in kind] for kind in states]
        out, last = self._layers(x, states, sizes, 1)
        last = last if back is None else [state[:, back] for state in last]
        return input._replace(data=out), self._given(last)

    def _given(self, states: list[Tensor]) -> States:
        return (states[0], states[1]) if self.mode == "LSTM" else states[0]

    def _states(self, hx: Any, batch: tuple[int, ...], x: Tensor) -> list[list[Tensor]]:
        """The first states of each kind: for each layer and direction (1, *batch, size)."""
        count = len(self._groups)
        widths = [self.proj_size or self.hidden_size, *[self.hidden_size] * (self.mode == "LSTM")]
        if hx is None:
            return [[zeros((1, *batch, width), dtype=x.dtype, device=x.device)] * count for width in widths]
        given = list(hx) if isinstance(hx, (tuple, list)) and len(widths) == 2 else [hx]
        op, wanted = f"{type(self).__name__} of hx", [(count, *batch, width) for width in widths]
        states = [like_weight(op, state, self.weight_hh_l0) for state in given]
        if [state.shape for state in states] != wanted:
            raise ShapeError(f"{type(self).__name__}: hx has shapes {[state.shape for state in states]}. It must be "
                             f"{' and '.join(map(str, wanted))}.")
        return [[state[k:k + 1] for k in range(count)] if count > 1 else [state] for state in states]

    def _layers(self, x: Tensor, states: list[list[Tensor]], sizes: tuple[int, ...], spread: int
                ) -> tuple[Tensor, list[Tensor]]:
        """All layers over x (..., inputs), its leading axes being the rows over time; the last states stacked."""
        ways, weights, last = 1 + self.bidirectional, self.all_weights, []
        for layer in range(self.num_layers):
            outs = []
            for way in range(ways):
                number = layer * ways + way
                given = weights[number] if self.bias else [*weights[number][:2], None, None, *weights[number][2:]]
                out, *after = recurrent(MODES[self.mode], x, given, tuple([kind[number] for kind in states]),
                                        Walk(sizes, spread, bool(way)))
                outs.append(out)
                last.append(after)
            x = outs[0] if ways == 1 else concat(outs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, last[0] if len(last) == 1 else [concat(kind) for kind in zip(*last)]

    def extra_repr(self) -> str:
        """Sizes, and what is not the default."""
        extras = [("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
                  ("bidirectional", False)]
        return f"{self.input_size}, {self.hidden_size}" + "".join(
            f", {name}={getattr(self, name)}" for name, default in extras if getattr(self, name) != default)


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh) over a sequence, or the rectifier of it with nonlinearity="relu".

    `dropout` falls between layers. See RNNBase for the parameters.

    >>> out, h = lnb.nn.RNN(3, 5, bidirectional=True)(np.ones((7, 2, 3), np.float32))
    >>> out.shape, h.shape
    ((7, 2, 10), (2, 2, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: str | None = None, dtype: Any = "float32") -> None:
        mode = nonlinear_mode("RNN", nonlinearity)
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         device=device, dtype=dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over a sequence: gates i, f, g, o, cell c = f c + i g, state h = o tanh(c).

    `proj_size` above 0 makes the state W_hr h of that size. `dropout` falls between layers. See RNNBase for the
    parameters, ops.recurrent for the sources.

    >>> out, (h, c) = lnb.nn.LSTM(3, 5, num_layers=2)(np.ones((7, 2, 3), np.float32))
    >>> out.shape, h.shape, c.shape
    ((7, 2, 5), (2, 2, 5), (2, 2, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         proj_size, device, dtype)


class GRU(RNNBase):
    """Gated recurrent unit over a sequence: gates r, z, n = tanh(W_in x + b_in + r (W_hn h + b_hn)), h = n + z (h - n).

    `dropout` falls between layers. See RNNBase for the parameters.

    >>> out, h = lnb.nn.GRU(3, 5, batch_first=True)(np.ones((2, 7, 3), np.float32))
    >>> out.shape, h.shape
    ((2, 7, 5), (1, 2, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
                         device=device, dtype=dtype)


# ---------------------------------------------------------------------------------------------------- cells
class RNNCellBase(Module):
    """What the cells share: `weight_ih` (gates * hidden_size, input_size), `weight_hh`, `bias_ih`, `bias_hh`.

    All start uniform within 1 / sqrt(hidden_size).
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, bias: bool, device: str | None,
                 dtype: Any) -> None:
        super().__init__()
        self.input_size, self.hidden_size = check_sizes(type(self).__name__, input_size=input_size,
                                                        hidden_size=hidden_size)
        self.mode, self.bias = mode, bias
        rows = GATES[MODES[mode]] * self.hidden_size
        for name, shape in (("weight_ih", (rows, self.input_size)), ("weight_hh", (rows, self.hidden_size)),
                            ("bias_ih", (rows,)), ("bias_hh", (rows,))):
            param = Parameter(empty(shape, dtype=dtype, device=device)) if bias or len(shape) == 2 else None
            self.register_parameter(name, param)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        fill_uniformly(self, self.hidden_size)

    def _next(self, input: Any, given: list[Any]) -> list[Tensor]:
        """The states after one step from the states before, which are zeros where None."""
        name, count = type(self).__name__, 2 if self.mode == "LSTM" else 1
        x = like_weight(name, input, self.weight_ih)
        if x.ndim not in (1, 2) or x.shape[-1] != self.input_size:
            raise ShapeError(f"{name}: an input of shape {x.shape}. Give (batch, {self.input_size}) or "
                             f"({self.input_size},).")
        shape = (*x.shape[:-1], self.hidden_size)
        states = [like_weight(f"{name} of hx", state, self.weight_hh) for state in given] or [
            zeros(shape, dtype=x.dtype, device=x.device)] * count
        if [state.shape for state in states] != [shape] * count:
            raise ShapeError(f"{name}: hx has shapes {[state.shape for state in states]}. It must have {count} of "
                             f"{shape}.")
        weights = [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh]
        found = recurrent_cell(MODES[self.mode], x.reshape(-1, x.shape[-1]), weights,
                               tuple([state.reshape(-1, self.hidden_size) for state in states]))
        return [state.reshape(shape) for state in found]

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The hidden state after a step: input (batch, input_size) or (input_size,), hx alike; zeros if None."""
        return self._next(input, [] if hx is None else [hx])[0]

    def extra_repr(self) -> str:
        """Sizes, and what is not the default."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(RNNCellBase):
    """One step of an RNN: the new hidden state.

    >>> lnb.nn.RNNCell(3, 5)(np.ones((2, 3), np.float32)).shape
    (2, 5)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: str | None = None, dtype: Any = "float32") -> None:
        super().__init__(nonlinear_mode("RNNCell", nonlinearity), input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(RNNCellBase):
    """One step of an LSTM: the new hidden state and cell.

    >>> h, c = lnb.nn.LSTMCell(3, 5)(np.ones((2, 3), np.float32))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: str | None = None,
                 dtype: Any = "float32") -> None:
        super().__init__("LSTM", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, Tensor]:
        """The pair after a step: input (batch, input_size) or (input_size,), hx a pair alike; zeros if None."""
        hidden, cell = self._next(input, [] if hx is None else list(hx) if isinstance(hx, tuple | list) else [hx])
        return hidden, cell


class GRUCell(RNNCellBase):
    """One step of a GRU: the new hidden state.

    >>> lnb.nn.GRUCell(3, 5)(np.ones((2, 3), np.float32)).shape
    (2, 5)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: str | None = None,
                 dtype: Any = "float32") -> None:
        super().__init__("GRU", input_size, hidden_size, bias, device, dtype)
