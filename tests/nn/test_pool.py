"""Layers of pools against torch where it is installed, and by hand where it is not."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn

RNG = np.random.default_rng(6)
SIZES = {1: (9,), 2: (7, 8), 3: (5, 6, 7)}
LAYERS = [
    *[("MaxPool", options) for options in (dict(kernel_size=3, stride=2, padding=1), dict(kernel_size=2, dilation=2),
                                           dict(kernel_size=2, stride=3, ceil_mode=True))],
    *[("AvgPool", options) for options in (dict(kernel_size=3, stride=2, padding=1, ceil_mode=True),
                                           dict(kernel_size=2, count_include_pad=False, padding=1))],
    ("LPPool", dict(norm_type=2, kernel_size=2)), ("LPPool", dict(norm_type=3, kernel_size=3, stride=2)),
    ("LPPool", dict(norm_type=2, kernel_size=3, stride=3, ceil_mode=True)),
    ("LPPool", dict(norm_type=1.5, kernel_size=4, ceil_mode=True)),
    ("AdaptiveAvgPool", dict(output_size=5)), ("AdaptiveMaxPool", dict(output_size=4)),
    ("AdaptiveAvgPool", dict(output_size=1)), ("AdaptiveMaxPool", dict(output_size=1))]


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("name, options", LAYERS, ids=str)
def test_layers_equal_torch_with_gradients(name, options, ndim):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = (getattr(library, f"{name}{ndim}d")(**options) for library in (nn, torch.nn))
    x = np.abs(RNG.standard_normal((2, 3, *SIZES[ndim]))) + 0.1
    for array in (x, x[0]):
        a, b = lnb.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
        found, wanted = ours(a), theirs(b)
        assert np.allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-12)
        (found ** 2).sum().backward()
        (wanted ** 2).sum().backward()
        assert np.allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-10)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_unpool_equals_torch(ndim):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x = RNG.standard_normal((2, 3, *SIZES[ndim]))
    results = []
    for library, tensor in ((nn, lnb.asarray), (torch.nn, torch.tensor)):
        pool = getattr(library, f"MaxPool{ndim}d")(2, stride=2, return_indices=True)
        back = getattr(library, f"MaxUnpool{ndim}d")(2, stride=2)
        values, places = pool(tensor(x))
        results.append([back(values, places, output_size=x.shape[2:]).numpy(), places.numpy()])
    for ours, theirs in zip(*results):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("ndim, output", [(2, (3, 4)), (3, (2, 3, 4)), (2, 1)])
def test_fractional_pool_equals_torch_for_the_same_draws(ndim, output):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x, draws = RNG.standard_normal((2, 3, *SIZES[ndim])), RNG.random((2, 3, ndim))
    ours = getattr(nn, f"FractionalMaxPool{ndim}d")(2, output, return_indices=True, _random_samples=draws)
    theirs = getattr(torch.nn, f"FractionalMaxPool{ndim}d")(2, output, return_indices=True,
                                                            _random_samples=torch.tensor(draws))
    for found, wanted in zip(ours(x), theirs(torch.tensor(x))):
        assert np.array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("ndim", [2, 3])
def test_fractional_pool_of_no_planes_is_empty(ndim):
    x = lnb.tensor(np.zeros((0, 3, *SIZES[ndim])), requires_grad=True)
    found, places = getattr(nn, f"FractionalMaxPool{ndim}d")(2, 3, return_indices=True)(x)
    assert found.shape == places.shape == (0, 3, *(3,) * ndim)
    found.sum().backward()
    assert x.grad.shape == x.shape


def test_fractional_pool_draws_from_the_random_state():
    layer, x = nn.FractionalMaxPool2d(2, output_ratio=0.6), RNG.standard_normal((1, 4, 20, 20))
    found = []
    for seed in (1, 1, 2):
        lnb.random.seed(seed)
        found.append(layer(x).numpy())
    assert found[0].shape == (1, 4, 12, 12)
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def test_overhang_is_never_counted():
    """Report C 42: a last window that hangs over, and one that would start past the input."""
    layer = nn.AvgPool1d(3, 2, 1, ceil_mode=True)
    assert np.allclose(layer(np.ones((1, 4))).numpy(), [[2 / 3, 1, 1 / 2]])
    assert nn.AvgPool1d(1, 2, ceil_mode=True)(np.ones((1, 4))).shape == (1, 2)
    assert nn.MaxPool2d(2, 2, ceil_mode=True)(np.ones((1, 3, 3))).shape == (1, 2, 2)


def test_adaptive_pools_are_exact_for_seven_to_five():
    x = np.arange(7.0)[None]
    assert nn.AdaptiveAvgPool1d(5)(x).tolist() == [[0.5, 1.5, 3.0, 4.5, 5.5]]
    assert nn.AdaptiveMaxPool1d(5)(x).tolist() == [[1, 2, 4, 5, 6]]
    assert nn.AdaptiveAvgPool2d((None, 2))(np.ones((1, 3, 4))).shape == (1, 3, 2)


def test_infinite_norm_is_the_largest_size():
    assert nn.LPPool1d(float("inf"), 2)([[1.0, -3.0, 2.0, 0.0]]).tolist() == [[3.0, 2.0]]


def test_sum_of_an_overhanging_window_is_scaled_to_a_whole_one():
    """As in PyTorch, where it is the mean of the cells times those of a window."""
    found = nn.LPPool1d(2, 2, ceil_mode=True)([[3.0, 4.0, 7.0]]).numpy()
    assert np.allclose(found, [[5, 7 * np.sqrt(2)]], rtol=1e-15)
    assert nn.LPPool1d(2, 3)(np.zeros((0, 2, 7))).shape == (0, 2, 2)


def test_norm_of_zeros_has_gradient_zero():
    x = lnb.zeros((1, 4), requires_grad=True)
    nn.LPPool1d(2, 2)(x).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0, 0]]


def test_layers_show_their_geometry():
    assert repr(nn.MaxPool2d(3, 2, 1)) == (
        "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)")
    assert repr(nn.AvgPool1d(3)) == "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))"
    assert repr(nn.AvgPool2d(3)) == "AvgPool2d(kernel_size=3, stride=3, padding=0)"
    assert repr(nn.AdaptiveAvgPool2d((1, 1))) == "AdaptiveAvgPool2d(output_size=(1, 1))"


def test_bad_geometry_is_refused_when_a_layer_is_made():
    for make in (lambda: nn.MaxPool2d(0), lambda: nn.AvgPool1d((2, 2)), lambda: nn.MaxUnpool2d(2, padding=-1)):
        with pytest.raises(lnb.ShapeError, match=r"Pool\dd|MaxUnpool2d"):
            make()
    with pytest.raises(lnb.ConfigError, match="Give one of them"):
        nn.FractionalMaxPool2d(2)
