"""Random programs of views and writes: content against NumPy, gradients against finite differences of NumPy."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lucid_nb as lnb
from lucid_nb.errors import GradError

SCALARS = st.sampled_from([0, 1, -3, 0.5, 7])
BOUND = st.none() | st.integers(-5, 5)
PART = (st.slices(4) | st.just(None) | st.just(Ellipsis) | st.integers(-1, 0)
        | st.builds(slice, BOUND, BOUND, st.sampled_from([None, 1, 2, -1, -2])))
BASIC = st.lists(PART, max_size=4).map(tuple).filter(lambda index: index.count(Ellipsis) < 2)


class Views(RuleBasedStateMachine):
    """Tensors and arrays made in pairs by the same steps; every pair must stay equal."""

    device = "cpu"

    @initialize(shape=st.sampled_from([(3, 4), (2, 3, 2), (5,), (1, 4), (0, 3)]))
    def start(self, shape: tuple[int, ...]) -> None:
        array = np.arange(1, 1 + np.prod(shape), dtype="float32").reshape(shape)
        self.pairs: list[tuple[lnb.Tensor, np.ndarray]] = [(lnb.tensor(array, device=self.device), array)]

    def _keep(self, tensor: lnb.Tensor, array: Any) -> None:
        """Remember a pair; a NumPy scalar is a value, and a pair that says nothing."""
        assert tensor.shape == np.shape(array)
        if isinstance(array, np.ndarray):
            self.pairs.append((tensor, array))
            self.pairs = self.pairs[:1] + self.pairs[-7:]

    @rule(which=st.integers(0, 7), index=BASIC)
    def index(self, which: int, index: tuple) -> None:
        tensor, array = self.pairs[which % len(self.pairs)]
        try:
            part = array[index]
        except IndexError:
            with pytest.raises(lnb.IndexError):
                tensor[index]
            return
        self._keep(tensor[index], part)

    @rule(which=st.integers(0, 7), seed=st.integers(0, 23))
    def permute(self, which: int, seed: int) -> None:
        tensor, array = self.pairs[which % len(self.pairs)]
        axes = random.Random(seed).sample(range(array.ndim), array.ndim)
        self._keep(tensor.transpose(*axes) if axes else tensor.T, array.transpose(axes))

    @rule(which=st.integers(0, 7), kind=st.integers(0, 3))
    def reshape(self, which: int, kind: int) -> None:
        tensor, array = self.pairs[which % len(self.pairs)]
        shape: Any = (array.size,)
        if kind and array.ndim > 1:
            shape = (*array.shape[:-2], array.shape[-2] * array.shape[-1]) if kind == 1 else array.shape[::-1]
        self._keep(tensor.reshape(shape), array.reshape(shape))

    @rule(which=st.integers(0, 7))
    def broadcast(self, which: int) -> None:
        tensor, array = self.pairs[which % len(self.pairs)]
        self._keep(lnb.broadcast_to(tensor, (2, *array.shape)), np.broadcast_to(array, (2, *array.shape)))

    @rule(which=st.integers(0, 7))
    def detach(self, which: int) -> None:
        tensor, array = self.pairs[which % len(self.pairs)]
        self._keep(tensor.detach(), array)

    def _writable(self, which: int) -> tuple[lnb.Tensor, np.ndarray] | None:
        """The pair, unless it is read-only: then both must say so."""
        tensor, array = self.pairs[which % len(self.pairs)]
        if array.flags.writeable:
            return tensor, array
        with pytest.raises(lnb.ShapeError, match="read-only"):
            tensor[...] = 1
        return None

    @rule(which=st.integers(0, 7), index=BASIC, value=SCALARS)
    def write_number(self, which: int, index: tuple, value: float) -> None:
        pair = self._writable(which)
        if pair is not None:
            try:
                pair[1][index] = value
            except IndexError:
                with pytest.raises(lnb.IndexError):
                    pair[0][index] = value
                return
            pair[0][index] = value

    @rule(which=st.integers(0, 7), source=st.integers(0, 7), symbol=st.sampled_from("=+-"))
    def write_other(self, which: int, source: int, symbol: str) -> None:
        pair, (value, values) = self._writable(which), self.pairs[source % len(self.pairs)]
        if pair is not None:
            tensor, array = pair
            text = "x[...] = y" if symbol == "=" else f"x {symbol}= y"
            try:
                exec(text, {"x": array, "y": values})
            except ValueError:
                with pytest.raises(lnb.ShapeError):
                    exec(text, {"x": tensor, "y": value})
                return
            exec(text, {"x": tensor, "y": value})

    @rule(which=st.integers(0, 7), seed=st.integers(0, 99))
    @precondition(lambda self: self.pairs[0][1].size > 0)
    def write_rows(self, which: int, seed: int) -> None:
        pair, draw = self._writable(which), random.Random(seed)
        if pair is not None and pair[1].ndim and len(pair[1]):
            rows = [draw.randrange(-len(pair[1]), len(pair[1])) for _ in range(draw.randrange(3))]
            mask = np.array([draw.random() < 0.5 for _ in range(len(pair[1]))])
            for x in pair:
                x[rows] = seed
                x[mask] *= -1

    @invariant()
    def all_pairs_are_equal(self) -> None:
        for tensor, array in getattr(self, "pairs", ()):
            np.testing.assert_array_equal(tensor.numpy(), array)


class ViewsOnMLX(Views):
    """The same where slices do not share memory."""

    device = "mlx"


TestViews, TestViewsOnMLX = Views.TestCase, ViewsOnMLX.TestCase
TestViews.settings = settings(max_examples=100, stateful_step_count=25)
TestViewsOnMLX.settings = settings(max_examples=60, stateful_step_count=25)


# ------------------------------------------------------------------------------------------------ gradients
INDICES = ((slice(1, None),), (slice(None, None, -1),), (..., slice(0, 2)), (0, None),
           (slice(None), slice(None, None, 2)))
ROWS = ([0], [-1, 0], [0, 0])


def program(seed: int) -> Callable:
    """A function of an array of shape (2, 3), in NumPy's words: views of views, and writes through them."""
    def function(library: Any, w: Any) -> Any:
        draw = random.Random(seed)
        alive = [w * 1, w * 1 + 0.5]
        for _ in range(draw.randrange(2, 9)):
            x, y = draw.choice(alive), draw.choice(alive)
            fits = np.broadcast_shapes(x.shape, y.shape) == x.shape if _fit(x, y) else False
            value = draw.choice([y, y * 1]) if fits else y.sum()
            step = draw.randrange(10)
            if step < 2:
                index = draw.choice(INDICES)
                alive += [view for view in (x[index[:x.ndim]],) if view.size and view.ndim]
            elif step == 2:
                alive.append(x.T)
            elif step == 3:
                alive.append(x.reshape(-1))
            elif step == 4:
                alive.append(library.sin(x) * value)
            elif step == 5:
                x *= value
            elif step == 6:
                x += library.sin(value)
            elif step == 7:
                x[draw.choice(INDICES)[:x.ndim]] = 0.3 * y.sum()
            elif step == 8:
                x[draw.choice(ROWS)] = library.exp(-value * value).sum()
            else:
                x[:] = x[::-1]
        return sum((library.sin(x) * (number + 1)).sum() for number, x in enumerate(alive))
    return function


def _fit(x: Any, y: Any) -> bool:
    return y.ndim <= x.ndim and all(a in (1, b) for a, b in zip(y.shape[::-1], x.shape[::-1]))


def finite_differences(function: Callable, w: np.ndarray) -> np.ndarray:
    """The gradient of a NumPy program, to fourth order in the step."""
    found, h = np.zeros_like(w), 2e-4
    for place in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[place] = h
        near, far = (function(np, w + k * step) - function(np, w - k * step) for k in (1, 2))
        found[place] = (8 * near - far) / (12 * h)
    return found


@pytest.mark.parametrize("device, dtype, tolerance", [("cpu", "float64", 1e-6), ("mlx", "float32", 2e-3)])
def test_gradients_of_random_writes_match_finite_differences(device: str, dtype: str, tolerance: float) -> None:
    data, refused, compared = np.linspace(0.3, 1.3, 6).reshape(2, 3), 0, 0
    for seed in range(300 if device == "cpu" else 150):
        w = lnb.tensor(data.astype(dtype), device=device, requires_grad=True)
        y = program(seed)(lnb, w)
        assert y.item() == pytest.approx(program(seed)(np, data), rel=tolerance), seed
        try:
            y.backward()
        except GradError as error:                 # something that is needed was overwritten: said, and not wrong
            assert "was overwritten by" in str(error), seed
            refused += 1
            continue
        expected = finite_differences(program(seed), data)
        if abs(expected).max() < 100:              # steeper ones are beyond finite differences
            compared += 1
            np.testing.assert_allclose(w.grad.numpy(), expected, rtol=tolerance, atol=tolerance, err_msg=str(seed))
    assert compared > (seed + 1) / 2 > refused
