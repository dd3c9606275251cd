"""Random programs of elementwise ops, broadcasting and reductions of rows, and what rounding may do to their values."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import lucid_nb as lnb

EPSILON = 0.1


class Op(NamedTuple):
    """An op by lnb, by NumPy, and the sizes of its derivatives by NumPy (of the operands and the result)."""

    ours: Callable
    theirs: Callable
    slopes: Callable


def _softmax(x: np.ndarray) -> np.ndarray:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def _row(function: Callable) -> Callable:
    return lambda x: function(x, -1, keepdims=True)


def _log_sum(x: np.ndarray) -> np.ndarray:
    top = x.max(-1, keepdims=True)
    return np.log(np.exp(x - top).sum(-1, keepdims=True)) + top


ELEMENTWISE = {
    "add": Op(lambda x, y: x + y, np.add, lambda x, y, z: (1, 1)),
    "subtract": Op(lambda x, y: x - y, np.subtract, lambda x, y, z: (1, 1)),
    "multiply": Op(lambda x, y: x * y, np.multiply, lambda x, y, z: (y, x)),
    "divide": Op(lambda x, y: x / (1 + y * y), lambda x, y: x / (1 + y * y), lambda x, y, z: (1, 3 * z)),
    "maximum": Op(lnb.maximum, np.maximum, lambda x, y, z: (1, 1)),
    "where": Op(lambda x, y: lnb.where(y > EPSILON, x, 2 * y), lambda x, y: np.where(y > EPSILON, x, 2 * y),
                lambda x, y, z: (1, 2)),
    "tanh": Op(lnb.tanh, np.tanh, lambda x, z: (1 - z * z,)),
    "sigmoid": Op(lnb.sigmoid, lambda x: 1 / (1 + np.exp(-x)), lambda x, z: (1,)),
    "exp": Op(lambda x: lnb.exp(-abs(x)), lambda x: np.exp(-abs(x)), lambda x, z: (z,)),
    "sin": Op(lnb.sin, np.sin, lambda x, z: (1,)),
    "square": Op(lnb.square, np.square, lambda x, z: (2 * x,)),
    "root": Op(lambda x: lnb.sqrt(x * x + 1), lambda x: np.sqrt(x * x + 1), lambda x, z: (2,)),
    "scale": Op(lambda x: x * 0.3 - 1.7, lambda x: x * 0.3 - 1.7, lambda x, z: (0.3,)),
    "negative": Op(lambda x: -x, np.negative, lambda x, z: (1,)),
}
ROWS = {
    "sum": Op(lambda x: x.sum(-1, keepdims=True), _row(np.sum), lambda x, z: (1,)),
    "mean": Op(lambda x: x.mean(-1)[..., None], _row(np.mean), lambda x, z: (1 / x.shape[-1],)),
    "max": Op(lambda x: x.max(-1, keepdims=True), _row(np.max), lambda x, z: (1,)),
    "min": Op(lambda x: lnb.min(x, -1, keepdims=True), _row(np.min), lambda x, z: (1,)),
    "var": Op(lambda x: x.var(-1, keepdims=True), _row(np.var),
              lambda x, z: (2 * abs(x - x.mean(-1, keepdims=True)) / x.shape[-1],)),
    "logsumexp": Op(lambda x: lnb.logsumexp(x, -1, keepdims=True), _log_sum, lambda x, z: (_softmax(x),)),
    "softmax": Op(lnb.softmax, _softmax, lambda x, z: (2 * z,)),
}
OPS = ELEMENTWISE | ROWS


class Program(NamedTuple):
    """Steps over the inputs: the name of an op and the numbers of the values that it takes; the last value counts."""

    steps: tuple[tuple[str, tuple[int, ...]], ...]

    def run(self, side: str, inputs: Any) -> list[Any]:
        """All values, by lnb ("ours") or by NumPy ("theirs")."""
        values = list(inputs)
        for name, numbers in self.steps:
            values.append(getattr(OPS[name], side)(*[values[i] for i in numbers]))
        return values

    def errors(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """What a relative error of one in each operation comes to in each value, to first order: sums of the sizes of
        all terms that flow into it."""
        values = self.run("theirs", inputs)
        found = [np.zeros_like(x) for x in inputs]
        for place, (name, numbers) in enumerate(self.steps, len(inputs)):
            value = values[place]
            slopes = OPS[name].slopes(*[values[i] for i in numbers], value)
            error = 4 * (np.abs(value) + sum_of_terms(name, [values[i] for i in numbers]))
            for slope, number in zip(slopes, numbers):
                part = np.abs(slope) * (found[number] + 0 * values[number])
                error = error + (part.sum(-1, keepdims=True) if name in ROWS else part)
            found.append(error)
        return found


def sum_of_terms(name: str, operands: list[np.ndarray]) -> Any:
    """The sizes of the terms that one op adds up."""
    if name in ("add", "subtract", "scale"):
        return sum(np.abs(x) for x in operands) + 2
    if name in ("sum", "mean", "var", "logsumexp", "softmax"):
        size = np.abs(operands[0]) if name != "var" else operands[0] ** 2
        total = size.sum(-1, keepdims=True)
        return total / operands[0].shape[-1] if name in ("mean", "var") else total + 1
    return 0


@st.composite
def programs(draw: Any, inputs: int, depth: int = 12) -> Program:
    """Programs of up to so many steps, which share values."""
    steps = []
    for place in range(draw(st.integers(2, depth))):
        name = draw(st.sampled_from(sorted(ELEMENTWISE) * 2 + sorted(ROWS) * 3))
        arity = OPS[name].theirs.__code__.co_argcount if not isinstance(OPS[name].theirs, np.ufunc) else \
            OPS[name].theirs.nin
        recent = st.integers(max(0, inputs + place - 3), inputs + place - 1)
        numbers = [draw(recent), *[draw(st.integers(0, inputs + place - 1)) for _ in range(arity - 1)]]
        steps.append((name, tuple(numbers)))
    return Program(tuple(steps))


@st.composite
def operands(draw: Any, dtype: Any) -> list[np.ndarray]:
    """Rows, and what broadcasts to them: a line, a value for each row, a number, and as many again."""
    lead = draw(st.sampled_from([(5,), (2, 3), (1,), (40,), ()]))
    cols = draw(st.sampled_from([2, 3, 16, 33, 100]))
    random = np.random.default_rng(draw(st.integers(0, 2 ** 20)))
    shapes = [(*lead, cols), (cols,), (*lead, 1), (1,), (*lead, cols)]
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]
