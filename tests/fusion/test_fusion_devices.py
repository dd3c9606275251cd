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


def chain(x, w):
    y = lnb.where(x > w, lnb.exp(-abs(x)) * w, lnb.log(x * x + 2)) + lnb.maximum(x, w.sum())
    return lnb.sqrt(y * y + 1) / (1 + lnb.sigmoid(-y)) - 0.5 * lnb.sin(x) ** 3


def rows(x, w):
    y = lnb.log_softmax(lnb.tanh(x) * 3 - w)
    return (y * x).sum(-1) + lnb.logsumexp(x + w, -1) * x.max(-1) + (x - w).var(-1)


@each_device
@pytest.mark.parametrize("function", [gate, layer_norm, softmax_loss, chain, rows])
def test_second_gradients_are_those_of_the_host(function, device):
    arrays = [RANDOM.standard_normal(shape).astype(np.float32) for shape in ((2, 4), (4,))]
    found = []
    for place in ("cpu", device):
        leaves = [lnb.tensor(x, device=place, requires_grad=True) for x in arrays]
        result = (function if place == "cpu" else lnb.fuse(function))(*leaves)
        first = lnb.autograd.grad((result * result).sum(), leaves, create_graph=True)
        second = lnb.autograd.grad(sum((g * g).sum() for g in first), leaves)
        found.append([x.detach().to("cpu").numpy() for x in (result, *first, *second)])
    for mine, theirs in zip(*found):
        np.testing.assert_allclose(theirs, mine, rtol=3e-4, atol=3e-4 * (1 + abs(mine).max()))


@each_device
def test_a_program_of_elements_is_one_kernel(device, monkeypatch):
    table, calls = backend.table(device), []
    make = table.map
    monkeypatch.setattr(table, "map", lambda typed, name: calls.append(name) or make(typed, name))
    fused = lnb.fuse(lambda x, w: lnb.where(x > 0, gate(x, w * 2), lnb.exp(x)) + x)
    x, w = (lnb.tensor(RANDOM.standard_normal(shape).astype(np.float32), device=device, requires_grad=True)
            for shape in ((2, 3, 4), (3, 4)))
    fused(x, w).sum().backward()
    assert ": 1 step, 1 fused" in fused.explain()
    assert [name for name in calls if name.startswith("fused")] == ["fused", "fused_gradient"]


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
