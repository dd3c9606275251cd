"""Fused programs on MLX and in the CUDA simulator, beside SciPy."""

import os

import numpy as np
import pytest
from scipy import special

import lucid_nb as lnb
from lucid_nb import backend

RANDOM = np.random.default_rng(0)
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
DEVICES = [pytest.param("mlx", marks=pytest.mark.skipif(SIMULATED or not backend.is_usable("mlx"),
                                                        reason="needs mlx, outside the simulator")),
           pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
each_device = pytest.mark.parametrize("device", DEVICES)


def gate(x, w):
    return lnb.tanh(x * w + 0.5) * lnb.sigmoid(x)


def layer_norm(x, w):
    return (x - x.mean(-1, keepdims=True)) / lnb.sqrt(x.var(-1, keepdims=True) + 1e-5) * w


def softmax_loss(x, w):
    return (lnb.softmax(x * w) * x).sum(-1).mean()


@each_device
@pytest.mark.parametrize("function", [gate, layer_norm, softmax_loss])
def test_values_and_gradients_are_those_of_the_host(function, device):
    arrays = [RANDOM.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 5), (5,))]
    found = []
    for place in ("cpu", device):
        leaves = [lnb.tensor(x, device=place, requires_grad=True) for x in arrays]
        result = (function if place == "cpu" else lnb.fuse(function))(*leaves)
        assert result.device == place
        (result * result).sum().backward()
        found.append([x.detach().to("cpu").numpy() for x in (result, leaves[0].grad, leaves[1].grad)])
    for mine, theirs in zip(*found):
        np.testing.assert_allclose(theirs, mine, rtol=2e-5, atol=2e-5)


@each_device
def test_softmax_is_one_program(device):
    x = RANDOM.standard_normal((3, 4)).astype(np.float32)
    fused = lnb.fuse(lambda x: lnb.softmax(x * 2.0))
    found = fused(lnb.tensor(x, device=device)).to("cpu").numpy()
    np.testing.assert_allclose(found, special.softmax(2 * x, -1), rtol=1e-5)
    assert ": 1 step, 1 fused" in fused.explain()


@pytest.mark.skipif(SIMULATED or not backend.is_usable("mlx"), reason="needs mlx, outside the simulator")
def test_mlx_compiles_programs_on_a_gpu(monkeypatch):
    from lucid_nb.mlx import runtime
    monkeypatch.setattr(runtime, "ON_GPU", True)
    monkeypatch.setattr(runtime, "LIMIT", 1)             # every result would be computed at once
    arrays = [RANDOM.standard_normal(shape).astype(np.float32) for shape in ((3, 5), (5,))]
    fused = lnb.fuse(layer_norm)
    for scale in (1, 2):
        found = fused(*[lnb.tensor(scale * x, device="mlx") for x in arrays]).to("cpu").numpy()
        plain = layer_norm(*[lnb.tensor(scale * x) for x in arrays]).numpy()
        np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-5)
