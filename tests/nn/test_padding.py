"""Padding as a function of nn: NumPy, PyTorch where it is installed, finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(31)
X = RNG.standard_normal((2, 3, 5, 4))
NAMES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
GIVEN = [(1, 2), (0, 3, 2, 0), (3, 3, 4, 4), (-1, 2, 3, -2), (-2, -2), (0, 0), (-1, 0, 0, -5), (2, 1, -1, -1)]


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("mode", NAMES)
def test_cells_are_those_of_numpy(mode, given):
    pairs = [(0, 0)] * (4 - len(given) // 2) + [given[i:i + 2] for i in range(0, len(given), 2)][::-1]
    cut = lambda x: x[tuple(slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(x.shape, pairs))]
    fill = lambda x: np.pad(x, np.maximum(pairs, 0), NAMES[mode])
    wanted = fill(cut(X)) if mode == "circular" else cut(fill(X))
    assert np.array_equal(F.pad(X, given, mode).numpy(), wanted)


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("mode", NAMES)
def test_values_and_gradients_equal_torch(mode, given):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    given = (*given, 0, 0)[:max(4, len(given))]
    ours, theirs = lnb.tensor(X, requires_grad=True), torch.tensor(X, requires_grad=True)
    found, wanted = F.pad(ours, given, mode), torch.nn.functional.pad(theirs, given, mode)
    assert np.array_equal(found.detach().numpy(), wanted.detach().numpy())
    (found * found).sum().backward()
    (wanted * wanted).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-13)


@pytest.mark.parametrize("mode", NAMES)
def test_gradient_follows_finite_differences(mode):
    check_grad(lambda x: F.pad(x, (2, -1, 1, 2), mode), X[0, :1, :3], order=2)


@pytest.mark.parametrize("given", [(0, 0), (), (-1, 0)])
def test_result_is_never_a_view(given):
    x = lnb.tensor(X)
    before = F.pad(x, given)
    kept = before.numpy().copy()
    x[...] = 0
    assert np.array_equal(before.numpy(), kept)


def test_value_fills_and_dtype_stays():
    found = F.pad(np.float32([1, 2]), (1, 1), value=-np.inf)
    assert found.dtype == np.float32 and found.tolist() == [-np.inf, 1, 2, -np.inf]
    assert F.pad(np.zeros((0, 2)), (1, 0, 2, 0), value=3).shape == (2, 3)
    assert F.pad([1, 2], [2, 0]).dtype == np.int64


@pytest.mark.parametrize("given, options, kind, text", [
    ((1,), {}, errors.ShapeError, "Give two numbers for each axis"),
    ((1, 1, 1, 1, 1, 1), {}, errors.ShapeError, "of shape .5, 4."),
    (1, {}, errors.ShapeError, "pad: 1 for an input"),
    ((4, 0), {"mode": "reflect"}, errors.ShapeError, "Mode 'reflect' has at most 3"),
    ((0, 5), {"mode": "circular"}, errors.ShapeError, "Mode 'circular' has at most 4"),
    ((-2, 3), {"mode": "circular"}, errors.ShapeError, "Mode 'circular' has at most 2"),
    ((-3, -2), {}, errors.ShapeError, "cuts off more than 4"),
    ((1, 1), {"mode": "edge"}, errors.ConfigError, "Use one of constant, reflect"),
    ((1, 1), {"mode": "circular", "value": 1.0}, errors.ConfigError, "takes none")])
def test_bad_arguments_are_refused(given, options, kind, text):
    with pytest.raises(kind, match=text):
        F.pad(X[0, 0], given, **options)


LAYERS = [(f"{kind}Pad{ndim}d", ndim) for kind in ("Zero", "Constant", "Reflection", "Replication", "Circular")
          for ndim in (1, 2, 3)]


@pytest.mark.parametrize(("name", "ndim"), LAYERS, ids=str)
@given(data=st.data())
def test_layers_equal_torch(name, ndim, data):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    sizes = data.draw(st.lists(st.integers(2, 5), min_size=ndim, max_size=ndim))
    each = [data.draw(st.integers(0, size - 1)) for size in sizes[::-1] for _ in range(2)]
    padding = data.draw(st.sampled_from([1, tuple(each)]))
    options = (padding, 2.5) if "Constant" in name else (padding,)
    ours, theirs = getattr(lnb.nn, name)(*options), getattr(torch.nn, name)(*options)
    lead = data.draw(st.sampled_from([(2,), (2, 3)]))
    x = np.random.default_rng(0).standard_normal((*lead, *sizes))
    assert repr(ours) == repr(theirs) and not ours.state_dict()
    assert np.array_equal(ours(x).numpy(), theirs(torch.tensor(x)).numpy())


def test_layers_have_gradients_to_second_order():
    for layer in (lnb.nn.ReflectionPad2d(1), lnb.nn.ReplicationPad2d(2), lnb.nn.CircularPad2d((1, 0, 2, 1)),
                  lnb.nn.ConstantPad2d(-1, 3.0)):
        check_grad(lambda x, layer=layer: layer(x) ** 3, X[0, :1, :3])


@pytest.mark.parametrize(("call", "text"), [
    (lambda: lnb.nn.ZeroPad2d((1, 2)), "Give one number, or 4"),
    (lambda: lnb.nn.ReflectionPad1d((1, 2, 3)), "Give one number, or 2"),
    (lambda: lnb.nn.ReflectionPad1d(1)(np.ones(4)), r"ReflectionPad1d: an input of shape \(4,\)"),
    (lambda: lnb.nn.CircularPad2d(1)(np.ones((1, 1, 1, 4, 4))), r"CircularPad2d: an input of shape"),
    (lambda: lnb.nn.ReflectionPad1d(4)(np.ones((1, 4))), "Mode 'reflect' has at most 3")])
def test_layers_refuse_what_does_not_fit(call, text):
    with pytest.raises(errors.ShapeError, match=text):
        call()
