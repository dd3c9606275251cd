"""Automatic fusion in backward: the same gradients as without it, whatever else looks at the graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import chains, config
from lucid_nb.errors import GradError

OPS = {name: getattr(lnb, name) for name in (
    "negative exp tanh sin cos square sigmoid softplus arctan absolute relu reciprocal sqrt log".split())}
OPS |= {"double": lambda x: 2 * x, "shifted": lambda x: x + 1, "under": lambda x: 3 / (x * x + 1)[...],
        "transposed": lambda x: x.T, "flat": lambda x: x.reshape(-1).reshape(3, 5) if x.size == 15 else x,
        "squeezed": lambda x: lnb.squeeze(lnb.expand_dims(x, 0), 0)}
POSITIVE = {"sqrt", "log", "reciprocal"}


@pytest.fixture(autouse=True)
def fusing(monkeypatch):
    """Fusion of the smallest chains."""
    monkeypatch.setattr(config, "fusion", True)
    monkeypatch.setattr(config, "fusion_threshold", 0)


def run(names, x, dtype="float64"):
    """The result of a chain, kept where it is defined."""
    y = x
    for name in names:
        y = OPS[name](lnb.absolute(y) + 0.5 if name in POSITIVE else y)
    return y


def gradient(names, value, fusion, **options):
    config.fusion = fusion
    x = lnb.tensor(value, requires_grad=True)
    run(names, x).sum().backward(**options)
    return x.grad.numpy()


def count_kernels(monkeypatch):
    made = []
    original = chains.pulled_through
    monkeypatch.setattr(chains, "pulled_through", lambda run, g, call: made.append(len(run)) or original(run, g, call))
    return made


VALUE = np.random.default_rng(0).uniform(0.3, 1.2, (3, 5))


@settings(max_examples=40)           # each compiles kernels of its own
@given(st.lists(st.sampled_from(sorted(OPS)), min_size=2, max_size=12))
def test_chains_of_any_length_give_the_gradients_of_their_ops(names):
    expected, found = gradient(names, VALUE, False), gradient(names, VALUE, True)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@settings(max_examples=20)
@given(st.lists(st.sampled_from(sorted(OPS)), min_size=2, max_size=6), st.sampled_from(["float32", "float16"]))
def test_chains_of_narrow_floats(names, dtype):
    value, epsilon = VALUE.astype(dtype), np.finfo(dtype).eps
    found, exact = gradient(names, value, True), gradient(names, value.astype("float64"), False)
    unfused = gradient(names, value, False)
    with np.errstate(all="ignore"):
        error, allowed = abs(found - exact), abs(unfused - exact) + 8 * len(names) * epsilon * abs(exact)
    assert found.dtype == dtype and (error <= 2 * allowed).all()


def test_one_kernel_takes_the_place_of_a_chain(monkeypatch):
    made = count_kernels(monkeypatch)
    x = lnb.tensor(VALUE, requires_grad=True)
    lnb.exp(lnb.sin(lnb.tanh(x * 2))).backward(lnb.ones((3, 5)))
    assert made == [4]


@pytest.mark.parametrize("pair", [
    (lnb.negative, lnb.negative), (lnb.reciprocal, lnb.reciprocal), (lnb.exp, lnb.log), (lnb.log, lnb.exp),
    (lambda x: x.T, lambda x: x.T), (lambda x: x.reshape(5, 3), lambda x: x.reshape(3, 5)),
    (lambda x: lnb.expand_dims(x, 1), lambda x: lnb.squeeze(x, 1))])
def test_pairs_that_cancel_vanish(pair, monkeypatch):
    made = count_kernels(monkeypatch)
    x = lnb.tensor(VALUE, requires_grad=True)
    pair[1](pair[0](x)).backward(lnb.asarray(VALUE))
    np.testing.assert_array_equal(x.grad.numpy(), VALUE)
    assert made == []


def test_pairs_inside_pairs_vanish_too(monkeypatch):
    made = count_kernels(monkeypatch)
    x = lnb.tensor(VALUE, requires_grad=True)
    lnb.negative(lnb.log(lnb.exp(lnb.negative(x)))).backward(lnb.ones((3, 5)))
    assert made == [] and (x.grad.numpy() == 1).all()


# ------------------------------------------------------------------------------------ what others want to see
def test_values_that_others_use_are_not_cut_out():
    def program(x):
        a = lnb.sin(x)
        b = lnb.exp(a)
        return lnb.tanh(b) + lnb.square(a) + b
    found = []
    for config.fusion in (False, True):
        x = lnb.tensor(VALUE, requires_grad=True)
        program(x).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-14)


def test_hooks_and_retain_grad_see_what_they_saw():
    found = []
    for config.fusion in (False, True):
        x, seen = lnb.tensor(VALUE, requires_grad=True), []
        a = lnb.sin(x)
        b = lnb.exp(a)
        c = lnb.tanh(b)
        a.retain_grad()
        b.register_hook(lambda g, seen=seen: seen.append(g.numpy().copy()) or 3 * g)
        c.sum().backward()
        found.append([x.grad.numpy(), a.grad.numpy(), *seen])
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_retain_graph_allows_another_backward_and_without_it_none():
    x = lnb.tensor(VALUE, requires_grad=True)
    y = lnb.exp(lnb.sin(lnb.tanh(x))).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * first)
    with pytest.raises(GradError, match="freed by an earlier backward"):
        y.backward()


def test_create_graph_and_gradients_by_inner_tensors():
    x = lnb.tensor(VALUE, requires_grad=True)
    a = lnb.sin(x)
    y = lnb.exp(lnb.tanh(a)).sum()
    by_a, by_x = lnb.autograd.grad(y, [a, x], retain_graph=True)
    np.testing.assert_allclose(by_x.numpy(), by_a.numpy() * np.cos(VALUE), rtol=1e-14)
    lnb.testing.check_grad(lambda x: lnb.exp(lnb.sin(lnb.tanh(x))), VALUE)


def test_overwritten_inner_values_are_told_of():
    x = lnb.tensor(VALUE, requires_grad=True)
    a = lnb.exp(x)
    y = lnb.sin(a)
    a += 1
    with pytest.raises(GradError, match="overwritten"):
        (lnb.tanh(y)).sum().backward()


def test_shared_memory_and_two_roots():
    x = lnb.tensor(VALUE, requires_grad=True)
    a = lnb.sin(x)
    b = lnb.exp(a)
    found, = lnb.autograd.grad([b, a], x, [lnb.ones((3, 5)), lnb.full((3, 5), 2.0)])
    np.testing.assert_allclose(found.numpy(), (np.exp(np.sin(VALUE)) + 2) * np.cos(VALUE), rtol=1e-14)


def test_the_switches(monkeypatch):
    made = count_kernels(monkeypatch)
    for fusion, threshold, expected in ((False, 0, 0), ("auto", 0, 1), ("auto", 16, 0), (True, 15, 1)):
        made.clear()
        config.fusion, config.fusion_threshold = fusion, threshold
        x = lnb.tensor(VALUE, requires_grad=True)
        lnb.exp(lnb.sin(x)).backward(lnb.ones((3, 5)))
        assert len(made) == expected
    lnb.ENABLE_FUSION = False
    assert config.fusion is False and lnb.ENABLE_FUSION is False
    lnb.ENABLE_FUSION = True
    assert config.fusion is True


@pytest.mark.parametrize("device", ["mlx"])
def test_other_devices_fuse_where_it_is_set(device, monkeypatch):
    if not lnb.config or device not in lnb.devices():
        pytest.skip("needs MLX")
    made = count_kernels(monkeypatch)
    for config.fusion, expected in (("auto", 0), (True, 1)):
        made.clear()
        x = lnb.tensor(VALUE.astype("float32"), device=device, requires_grad=True)
        lnb.exp(lnb.sin(lnb.tanh(x))).backward(lnb.ones((3, 5), dtype="float32", device=device))
        assert len(made) == expected
        np.testing.assert_allclose(x.grad.to_host(), np.exp(np.sin(np.tanh(VALUE))) * np.cos(np.tanh(VALUE))
                                   * (1 - np.tanh(VALUE) ** 2), rtol=1e-5)
