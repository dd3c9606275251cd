"""`config.check_nan`: where backward stops, and what it tells of zeros that absorb; against plain products in NumPy."""

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import config
from lucid_nb.errors import GradError, HiddenNaNWarning

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])


@pytest.fixture(autouse=True)
def checking() -> Iterator[None]:
    """The setting is on."""
    config.check_nan = True
    yield
    config.check_nan = False


def leaf(data: Any, device: str = "cpu") -> lnb.Tensor:
    """A float32 tensor that requires grad."""
    return lnb.tensor(np.array(data, "float32"), device=device, requires_grad=True)


@devices
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradient_that_becomes_nan_names_op_and_line(device: str, create_graph: bool) -> None:
    x = leaf([1, 2], device)
    y = x / lnb.tensor([lnb.nan, 1.0], device=device, dtype="float32")  # the line that made it
    with pytest.raises(GradError, match=r"^divide: the gradient of operand 0 holds NaN, of the call at "
                                        r"test_anomaly\.py:\d+\. It works on NaN already") as caught:
        (y * 2).sum().backward(create_graph=create_graph)
    line = int(re.search(r"py:(\d+)", str(caught.value))[1])
    assert "the line that made it" in Path(__file__).read_text(encoding="utf-8").splitlines()[line - 1]


def test_gradient_of_a_primitive_is_looked_at() -> None:
    with pytest.raises(GradError, match="matmul: the gradient of operand 0 holds NaN"):
        (leaf([[1, 2]]) @ lnb.tensor([[lnb.inf], [lnb.nan]], dtype="float32")).sum().backward()


def test_infinite_gradient_is_no_nan() -> None:
    x = leaf([0, 4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lnb.sqrt(x).sum().backward()
    assert x.grad.tolist() == [np.inf, 0.25]


def _poison(x: lnb.Tensor) -> lnb.Tensor:
    y = x * 2
    y.register_hook(lambda g: g * lnb.nan)
    return y


def test_nan_that_a_hook_gives_is_told_apart() -> None:
    with pytest.raises(GradError, match=r"multiply: the gradient that arrives at test_anomaly\.py:\d+ holds NaN"):
        _poison(leaf([1, 2])).sum().backward()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_of_both_signs_meet_in_a_leaf() -> None:
    x = leaf([0, 4])
    with pytest.raises(GradError, match=r"backward: the gradient of a leaf of shape \(2,\) holds NaN"):
        (lnb.sqrt(x) - lnb.sqrt(x)).sum().backward()
    assert x.grad is None


HIDDEN: dict[str, tuple[Callable, list[float]]] = {
    "sqrt": (lambda x: x * lnb.sqrt(x), [0.0, 1.5, 3.0]),
    "log": (lambda x: lnb.where(x > 0, lnb.log(lnb.abs(x)), 0.0), [0.0, 1.0, 0.25])}


@devices
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_absorbed_infinity_is_told_and_the_gradient_stays(name: str, create_graph: bool, device: str) -> None:
    function, expected = HIDDEN[name]
    x = leaf([0, 1, 4], device)
    with np.errstate(all="ignore"):                 # what plain products would give at 0
        assert np.isnan(np.float32(0) * (np.float32(1) / np.float32(0)))
    with pytest.warns(HiddenNaNWarning, match=rf"^{name}: its gradient takes 0 times infinity .* test_anomaly\.py:\d+"
                      ) as seen:
        function(x).sum().backward(create_graph=create_graph)
    assert x.grad.tolist() == expected
    hidden = [w for w in seen if w.category is HiddenNaNWarning]
    assert len(hidden) == 1 and hidden[0].filename == __file__


def test_nothing_hidden_nothing_told() -> None:
    x = leaf([0.5, 1, 4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x * lnb.sqrt(x) + lnb.frexp(x)[0] / x + lnb.tanh(x)[None] @ x[:, None]).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_graph_is_freed_as_without_the_check() -> None:
    x = leaf([1, 2])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(GradError, match="freed by an earlier backward"):
        y.backward()


def test_switched_off_gradients_may_be_nan() -> None:
    config.check_nan = False
    x = leaf([1, 2])
    (x * lnb.tensor([lnb.nan, 1.0], dtype="float32")).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [np.nan, 1])


# ------------------------------------------------------------------------------------------- detect_anomaly
@pytest.fixture
def unset() -> Iterator[None]:
    """The setting is off, as the block has its own."""
    config.check_nan = False
    yield


def test_block_finds_nan_and_leaves_the_rest_alone(unset: None) -> None:
    x = leaf([0, 1])
    y = lnb.sqrt(x) * lnb.nan
    y.sum().backward(retain_graph=True)
    with lnb.autograd.detect_anomaly():
        with pytest.raises(GradError, match=r"multiply: the gradient of operand 0 holds NaN, .* test_anomaly\.py:\d+"):
            y.sum().backward(retain_graph=True)
        with lnb.autograd.detect_anomaly(check_nan=False):
            y.sum().backward(retain_graph=True)
    y.sum().backward()


def test_errors_of_hooks_and_rules_tell_where_they_began(unset: None) -> None:
    def fail(g: Any) -> Any:
        raise ValueError("mine")
    x = leaf([0, 1])
    y = lnb.exp(x)                                                      # the line of the hook
    y.register_hook(fail)
    with lnb.autograd.detect_anomaly(check_nan=False), pytest.raises(ValueError, match="mine") as caught:
        (y * 2).sum().backward()
    note, = caught.value.__notes__
    line = int(re.fullmatch(r"In backward, at exp, called at test_anomaly\.py:(\d+)\.", note)[1])
    assert "the line of the hook" in Path(__file__).read_text(encoding="utf-8").splitlines()[line - 1]
    with pytest.raises(ValueError, match="mine") as caught:
        (y * 2).sum().backward()
    assert not hasattr(caught.value, "__notes__")


def test_errors_of_a_function_of_one_s_own_tell_where_it_was_called(unset: None) -> None:
    class Broken(lnb.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ZeroDivisionError
    with lnb.autograd.detect_anomaly(), pytest.raises(ZeroDivisionError) as caught:
        Broken.apply(leaf([1])).sum().backward()
    assert re.match(r"In backward, at Broken, called at test_anomaly\.py:\d+", caught.value.__notes__[0])


def test_mode_is_set_until_it_is_changed(unset: None) -> None:
    y = lnb.sqrt(leaf([0, 1])) * lnb.nan
    lnb.autograd.set_detect_anomaly(True)
    with pytest.raises(GradError, match="holds NaN"):
        y.sum().backward(retain_graph=True)
    with lnb.autograd.set_detect_anomaly(False):
        y.sum().backward(retain_graph=True)
    with pytest.raises(GradError, match="holds NaN"):
        y.sum().backward(retain_graph=True)
    lnb.autograd.set_detect_anomaly(False)
    y.sum().backward()


def test_what_is_computed_again_is_so_once(unset: None) -> None:
    calls = []

    def f(x: lnb.Tensor) -> lnb.Tensor:
        calls.append(1)
        return lnb.sqrt(lnb.exp(x) * x)
    x = leaf([1, 2])
    y = lnb.checkpoint(f, x).sum()
    with lnb.autograd.detect_anomaly():
        y.backward()
    assert len(calls) == 2
    numbers = np.array([1, 2])
    root = np.sqrt(np.exp(numbers) * numbers)
    assert np.allclose(x.grad, np.exp(numbers) * (numbers + 1) / (2 * root), rtol=1e-6)
