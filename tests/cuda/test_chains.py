"""Chains of elementwise ops in backward: one kernel, with the gradients of their ops."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import config
from lucid_nb.cuda import runtime

pytestmark = pytest.mark.cuda_simulator
X = np.random.default_rng(0).uniform(0.3, 1.2, (3, 5)).astype("float32")


def backward(monkeypatch, fusion, call):
    """The gradient of a chain, and the launches of its backward."""
    monkeypatch.setattr(config, "fusion", fusion)
    monkeypatch.setattr(config, "fusion_threshold", 0)
    x = lnb.tensor(X, device="cuda", requires_grad=True)
    y = call(x)
    g = lnb.ones_like(y)
    with runtime.kept_launches() as launched:
        y.backward(g)
    return x.grad.to("cpu").numpy(), [name for name, *_ in launched]


@pytest.mark.parametrize("fusion, kernels", [(True, 1), (False, 4)])
def test_a_chain_of_four_ops_is_one_launch(fusion, kernels, monkeypatch):
    found, launched = backward(monkeypatch, fusion, lambda x: lnb.sqrt(lnb.sigmoid(lnb.sin(x) * 2)))
    s = 1 / (1 + np.exp(-2 * np.sin(X.astype("float64"))))
    np.testing.assert_allclose(found, 0.5 / np.sqrt(s) * s * (1 - s) * 2 * np.cos(X), rtol=1e-5)
    assert len(launched) == kernels


def test_a_chain_with_movements_and_halves_gives_what_its_ops_give(monkeypatch):
    def call(x):
        return lnb.exp(lnb.tanh(lnb.sin(x.astype("float16").T * 3)).reshape(3, 5) + 1)
    (fused, few), (plain, many) = (backward(monkeypatch, fusion, call) for fusion in (True, False))
    np.testing.assert_allclose(fused, plain, rtol=4e-3, atol=1e-3)
    assert len(few) < len(many)
