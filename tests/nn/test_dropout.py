"""Dropout. Oracle: the words of the key, which tests/test_random.py holds to the published ones; SciPy's binomial test;
moments of what is left."""

import numpy as np
import pytest
from scipy import stats

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.kernels import memory
from lucid_nb.kernels import random as random_kernels
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

KEY = lnb.random.key(7)
X = np.random.default_rng(0).normal(size=(3, 5, 6)).astype(np.float32)
DEVICES = ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
ELEMENTWISE = [(F.dropout, 0.3), (F.alpha_dropout, 0.3)]
CHANNELS = [(F.dropout1d, (40, 30, 5)), (F.dropout1d, (1000, 5)), (F.dropout2d, (40, 30, 2, 3)),
            (F.dropout2d, (40, 30, 4)), (F.dropout3d, (40, 30, 2, 1, 2)), (F.dropout3d, (1000, 2, 1, 2)),
            (F.feature_alpha_dropout, (40, 30, 2, 2))]
LAYERS = [nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout, nn.DropPath]
SHAPES = {nn.Dropout3d: (3, 5, 2, 2, 2)}


def kept(shape, p, key=KEY):
    return key.bits(shape).numpy() < min(round((1 - p) * 2**32), 2**32 - 1)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.875, 1.0])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dropout_drops_by_the_words_of_the_key(p, dtype):
    x = lnb.asarray(X).astype(dtype)
    found = F.dropout(x, p, key=KEY)
    scale = 1 / (1 - p) if p < 1 else 0
    expected = lnb.asarray(np.where(kept(X.shape, p), x.astype("float64").numpy() * scale, 0)).astype(dtype)
    assert found.dtype == x.dtype
    assert np.allclose(found.astype("float64").numpy(), expected.astype("float64").numpy(), rtol=2e-2 if
                       x.dtype.itemsize == 2 else 1e-6, atol=0)


def test_dropped_is_what_is_not_finite_too():
    x = np.full(1000, np.nan)
    assert np.array_equal(np.isnan(F.dropout(x, 0.5, key=KEY).numpy()), kept((1000,), 0.5))


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_the_share_that_is_dropped_is_p(p):
    lnb.random.seed(1)
    dropped = int((F.dropout(np.ones(100_000), p).numpy() == 0).sum())
    assert stats.binomtest(dropped, 100_000, p).pvalue > 0.01


@pytest.mark.parametrize(("function", "p"), ELEMENTWISE)
def test_the_gradient_flows_through_what_was_kept(function, p):
    check_grad(lambda x: function(x, p, True, key=KEY), X[0].astype(float))
    check_grad(lambda x: F.feature_alpha_dropout(x, p, True, key=KEY), X[0].astype(float))
    leaf = lnb.tensor(X, requires_grad=True)
    function(leaf, p, True, key=KEY).sum().backward()
    assert np.array_equal(leaf.grad.numpy() != 0, kept(X.shape, p))


@pytest.mark.parametrize(("function", "shape"), CHANNELS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_whole_channels_are_dropped(function, shape):
    x = np.random.default_rng(1).normal(size=shape) + 5
    lead = 1 if shape[0] == 1000 else 2
    found = function(x, 0.4, True, key=KEY).numpy().reshape(*shape[:lead], -1)
    flat, mask = x.reshape(*shape[:lead], -1), kept(shape[:lead], 0.4)
    if function is F.feature_alpha_dropout:
        assert np.unique(found[~mask]).size == 1
        slope, _ = np.polyfit(flat[mask].ravel(), found[mask].ravel(), 1)
        assert np.allclose(found[mask] - slope * flat[mask], found[mask][0, 0] - slope * flat[mask][0, 0])
    else:
        assert np.allclose(found, np.where(mask[..., None], flat / 0.6, 0))


@pytest.mark.parametrize("function", [F.alpha_dropout, F.feature_alpha_dropout])
def test_alpha_dropout_keeps_mean_and_variance(function):
    x = np.random.default_rng(2).normal(size=(300, 400))
    found = function(x, 0.2, True, key=KEY).numpy()
    assert found.mean() == pytest.approx(0, abs=0.02) and found.std() == pytest.approx(1, abs=0.02)
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    theirs = torch.nn.functional.alpha_dropout(torch.tensor(x), 0.2, True).numpy()
    value, count = np.unique(theirs.round(9), return_counts=True)
    replaced = value[count.argmax()]
    assert np.isclose(found, replaced).mean() == pytest.approx(0.2, abs=0.03)


def test_drop_path_drops_whole_examples():
    x = np.ones((50, 3, 2))
    mask = kept((50,), 0.4)[:, None, None]
    assert np.allclose(F.drop_path(x, 0.4, key=KEY).numpy(), np.where(mask, x / 0.6, 0))
    assert np.allclose(F.drop_path(x, 0.4, True, False, key=KEY).numpy(), np.where(mask, x, 0))


def test_drop_block_drops_blocks_of_the_wanted_share():
    x = np.ones((20, 8, 16, 16))
    found = F.drop_block(x, 3, 0.1, key=KEY).numpy()
    dropped = found == 0
    assert dropped.mean() == pytest.approx(0.1, abs=0.02) and found.mean() == pytest.approx(1, abs=1e-6)
    windows = np.lib.stride_tricks.sliding_window_view(dropped, (3, 3), (2, 3)).all((-2, -1))
    covered = np.zeros_like(dropped)
    for row in range(3):
        for col in range(3):
            covered[:, :, row:row + 14, col:col + 14] |= windows
    assert np.array_equal(covered, dropped)                      # all that was dropped lies in a whole block


@pytest.mark.parametrize("kind", LAYERS)
def test_layers_drop_in_training_only_and_by_the_seed(kind):
    layer, x = kind(0.5), np.ones(SHAPES.get(kind, (3, 5, 6)), np.float32)
    lnb.random.seed(2)
    first, second = layer(x).numpy(), layer(x).numpy()
    assert first.dtype == np.float32 and not np.array_equal(first, second)
    lnb.random.seed(2)
    assert np.array_equal(layer(x).numpy(), first)
    layer.eval()
    assert np.array_equal(layer(x).numpy(), x)
    assert np.array_equal(kind(0.0)(x).numpy(), x) and not [*layer.parameters()]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("function", [F.dropout, F.alpha_dropout, F.dropout1d])
def test_the_same_is_dropped_on_every_device(function, device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    found = []
    for place in ("cpu", device):
        leaf = lnb.tensor(X, device=place, requires_grad=True)
        y = function(leaf, 0.4, True, key=KEY)
        y.sum().backward()
        found.append([part.to("cpu").numpy() for part in (y.detach(), leaf.grad)])
    assert all(np.allclose(a, b, rtol=1e-6, atol=1e-7) for a, b in zip(*found))


def test_threads_drop_the_same():
    x, before, found = np.ones(400_000, np.float32), lnb.get_num_threads(), []
    for count in (1, 2):
        lnb.set_num_threads(count)
        found.append(F.dropout(x, 0.5, key=KEY).numpy())
    lnb.set_num_threads(before)
    assert np.array_equal(*found)


@pytest.mark.parametrize("count", [0, 1, 1000, 1024, 1025, 3000])
def test_nothing_is_written_beside_the_result(count, monkeypatch):
    whole = np.full(count + 128, 7, np.float32)
    monkeypatch.setattr(memory, "empty", lambda shape, dtype: whole[64:64 + count])
    random_kernels.dropout(np.ones(count, np.float32), 1, 2, 3, 1 << 31, 2.0, 0.0, 0.0)
    assert np.all(whole[:64] == 7) and np.all(whole[64 + count:] == 7) and np.all(whole[64:64 + count] != 7)


def test_in_place_overwrites_the_input():
    x = lnb.tensor(X)
    assert F.dropout(x, 0.5, inplace=True, key=KEY) is x and np.array_equal(x.numpy() == 0, ~kept(X.shape, 0.5))
    assert repr(nn.Dropout(0.2, True)) == "Dropout(p=0.2, inplace=True)"


@pytest.mark.parametrize("drop", [F.dropout, F.dropout2d, F.alpha_dropout, F.feature_alpha_dropout])
def test_in_place_within_a_graph_differentiates(drop):
    x = np.linspace(-2, 3, 24).reshape(1, 3, 2, 4)
    check_grad(lambda x: drop(x * 1.25, 0.5, True, True, key=KEY), x, order=1)


@pytest.mark.parametrize("make", [lambda: nn.Dropout(1.5), lambda: F.dropout(X, -0.1), lambda: nn.DropPath(2),
                                  lambda: nn.DropBlock(0)])
def test_probabilities_out_of_range_are_refused(make):
    with pytest.raises(lnb.ConfigError):
        make()


@pytest.mark.parametrize("make", [lambda: F.dropout1d(np.ones(3)), lambda: F.dropout2d(np.ones((2, 3))),
                                  lambda: F.dropout3d(X), lambda: F.drop_block(X, 2), lambda: F.drop_block(
                                      np.ones((1, 1, 2, 2)), 3),
                                  lambda: F.feature_alpha_dropout(np.ones(3), 0.5, True)])
def test_inputs_of_other_shapes_are_refused(make):
    with pytest.raises(lnb.ShapeError):
        make()
