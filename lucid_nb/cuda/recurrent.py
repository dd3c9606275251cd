"""Recurrent layers over a sequence: one product for all inputs, then for each step a product and the cell in a launch.

Arrays over time are rows: row r of step t is offsets[t] + r * spread, and takes part while r < sizes[t]; see Walk.
States hold a row of the batch each. Pre-activations are overwritten by the gates.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from ..shapes import Walk
from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import contiguous, copy, reshape
from .gemm import linear, matmul
from .recurrent_cells import backward_kernel, forward_kernel
from .reduce import reduce

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
Arrays = Sequence[DeviceArray]


class Step(NamedTuple):
    """Rows `at`, at + spread ... of arrays over time, and of the step that was read before it, 0 of none."""

    at: int
    size: int
    earlier: int = 0
    known: int = 0


@lru_cache(256)
def _steps(walk: Walk) -> tuple[Step, ...]:
    """The steps in the order in which they are read."""
    ends = accumulate(walk.sizes)
    found = [(end - size if walk.spread == 1 else time, size) for time, (end, size) in enumerate(zip(ends, walk.sizes))]
    found = found[::-1] if walk.is_reverse else found
    return (Step(*found[0]), *[Step(*here, *before) for before, here in zip(found, found[1:])])


def _rows(raw: DeviceArray) -> DeviceArray:
    """All leading axes as one."""
    return reshape(contiguous(raw), (raw.size // raw.shape[-1], raw.shape[-1]))


def _first(raw: DeviceArray, count: int) -> DeviceArray:
    """The first rows."""
    return geometry.slice_view(raw, (slice(0, count),))


def _turned(matrix: DeviceArray) -> DeviceArray:
    return geometry.permute(matrix, (1, 0))


def _launch(kernel: Any, rows: int, units: int, *arguments: Any) -> None:
    """A thread for each unit of each row."""
    plain = [geometry.flat(given) if isinstance(given, DeviceArray) else given for given in arguments]
    runtime.launch_each(kernel, rows * units, *plain, rows, units)


def recurrent(x: DeviceArray, w_ih: DeviceArray, w_hh: DeviceArray, b_ih: DeviceArray, b_hh: DeviceArray,
              *states: DeviceArray, mode: str, walk: Walk) -> tuple[DeviceArray, ...]:
    """A layer in one direction: the hidden states over time, the last hidden state (and cell), and what the gradient
    reads.

    x: (..., inputs), rows in C order. States: (..., units), the hidden one and for "lstm" the cell. Results lead with
    the same axes. Weights and biases as PyTorch has them, gates in its order.
    """
    units, dtype, lead, weights = states[0].shape[-1], x.element, x.shape[:-1], _turned(w_hh)
    gates = linear(_rows(x), _turned(w_ih), b_ih)
    hidden, *cell = map(copy, states)
    flat, is_plain = _rows(hidden), mode in ("tanh", "relu")
    out = gates if is_plain else geometry.empty((gates.shape[0], units), dtype)
    kept = gates if is_plain else geometry.empty(out.shape, dtype)
    for step in _steps(walk):
        inner = linear(_first(flat, step.size), weights, b_hh)
        _launch(forward_kernel(mode, dtype), step.size, units, gates, inner, hidden, *(cell or [hidden]), out, kept,
                step.at, walk.spread)
    over_time = reshape(out, (*lead, units))
    return (over_time, hidden) if is_plain else (over_time, hidden, *cell, gates, kept)


def recurrent_grad(x: DeviceArray, w_ih: DeviceArray, w_hh: DeviceArray, states: Arrays, results: Arrays,
                   slopes: Arrays, mode: str, walk: Walk, wanted: list[bool]) -> list[DeviceArray | None]:
    """The gradients of `recurrent`'s arrays, None where not wanted.

    `results` is what it gave, `slopes` are the gradients of the states over time and of each last state.
    """
    units, dtype, rows = states[0].shape[-1], x.element, _rows(x)
    of_states = [copy(slope) for slope in slopes[1:]]
    own = geometry.empty((rows.shape[0], GATES[mode] * units), dtype)
    inner = geometry.empty(own.shape, dtype) if mode == "gru" else own
    before = geometry.empty((rows.shape[0], units), dtype)
    _walk_back(mode, walk, w_hh, (states, results, contiguous(slopes[0])), of_states, (own, inner, before))
    found: list[DeviceArray | None] = [*[None] * 5, *of_states]
    if wanted[0]:
        found[0] = reshape(matmul(own, w_ih), x.shape)
    for number, slope, other in ((1, own, rows), (2, inner, before)):
        if wanted[number]:
            found[number] = matmul(_turned(slope), other)
    for number, slope in ((3, own), (4, inner)):
        if wanted[number]:
            found[number] = reduce("sum", slope, (0,), False, dtype)
    return found


def _walk_back(mode: str, walk: Walk, w_hh: DeviceArray, known: tuple[Arrays, Arrays, DeviceArray], of_states: Arrays,
               made: tuple[DeviceArray, DeviceArray, DeviceArray]) -> None:
    """Slopes of all gates, step after step from the last that was read; gradients of states on the way."""
    states, results, g = known
    own, inner, before = made
    (out, gates, kept) = (results[0], *results[-2:]) if mode in ("lstm", "gru") else (results[0],) * 3
    hidden, cell = map(contiguous, (states[0], states[-1]))
    units, width, back, given = before.shape[1], own.shape[1], of_states[0], 0
    kernel = backward_kernel(mode, own.element)
    for step in reversed(_steps(walk)):
        _launch(kernel, max(step.size, given), units, gates, kept, out, hidden, cell, g, of_states[0], of_states[-1],
                back, own, inner, before, step.at, walk.spread, step.size, given, step.earlier, step.known)
        here = geometry.view(inner, (step.size, width), (walk.spread * width, 1), step.at * width)
        back, given = matmul(here, w_hh), step.size
    _launch(kernel, given, units, gates, kept, out, hidden, cell, g, of_states[0], of_states[-1], back, own, inner,
            before, 0, 1, 0, given, 0, 0)
