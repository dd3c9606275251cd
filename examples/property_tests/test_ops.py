"""What is true of the op for every input, on the device that LUCID_NB_DEVICE names (the CPU, if none)."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import testing
from lucid_nb.testing import assert_close, check_grad

from .ops import Charbonnier, composed, stated

DEVICE = os.environ.get("LUCID_NB_DEVICE", "cpu")
WAYS = {"composed": composed, "stated": stated, "function": Charbonnier.apply}
WIDTHS = st.sampled_from([0.5, 1.0, 2.0])
# The simulator of CUDA runs every thread in Python.
settings.register_profile("here", deadline=None, max_examples=5 if DEVICE == "cuda" else 50)
settings.load_profile("here")


def on_device(array: np.ndarray) -> lnb.Tensor:
    """An array as a tensor of the device under test."""
    return lnb.asarray(array).to(DEVICE)


@pytest.mark.parametrize("way", WAYS)
@given(x=testing.arrays("float32", awkward=False), width=WIDTHS)
def test_values_follow_float64(way: str, x: np.ndarray, width: float) -> None:
    """The oracle is NumPy in float64; `composed` may lose what cancels."""
    wide = x.astype(np.float64)
    expected = wide ** 2 / (np.sqrt(wide ** 2 + width ** 2) + width)
    found = WAYS[way](on_device(x), width)
    assert found.device == DEVICE and found.dtype == np.float32
    if way == "composed":
        assert_close(found.numpy(), expected, rtol=1e-5, atol=1e-6)
    else:
        assert_close(found.numpy(), expected, ulp=4)


@pytest.mark.parametrize("way", WAYS)
@given(x=testing.arrays("float32"))
def test_awkward_numbers_are_those_of_numpy(way: str, x: np.ndarray) -> None:
    """NaN stays NaN, and nothing is negative, also where squares overflow."""
    with np.errstate(all="ignore"):
        found = WAYS[way](on_device(x)).numpy()
    assert (np.isnan(found) | (found >= 0)).all() and np.isnan(found[np.isnan(x)]).all()


def has_float64() -> bool:
    """Apple's GPUs have not."""
    try:
        return on_device(np.ones(1)).dtype == np.float64
    except lnb.DTypeError:
        return False


@pytest.mark.skipif(not has_float64(), reason="finite differences need float64, which this device has not")
@pytest.mark.parametrize("way", WAYS)
@given(x=testing.arrays("float64", testing.shapes(max_side=2), awkward=False, low=0.3, high=2.0), width=WIDTHS)
def test_gradients_to_second_order(way: str, x: np.ndarray, width: float) -> None:
    """Forward and reverse mode, against finite differences."""
    check_grad(lambda x: WAYS[way](x, width), on_device(x))


@given(x=testing.arrays("float32", (3, 2), awkward=False), width=WIDTHS)
def test_ways_agree_under_vmap(x: np.ndarray, width: float) -> None:
    """The gradient of each example by itself."""
    each = [lnb.vmap(lnb.grad(lambda row, f=f: f(row, width).sum()))(on_device(x)) for f in WAYS.values()]
    for other in each[1:]:
        assert_close(other.numpy(), each[0].numpy(), rtol=1e-5, atol=1e-6)
