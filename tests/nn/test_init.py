"""Initialisers. Oracle: the bounds and deviations of the papers, by a large sample; torch's gains."""

import math

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.nn import init


def drawn(fill, shape=(200, 300), **options):
    """A tensor filled by a seeded initialiser."""
    return fill(lnb.tensor(np.zeros(shape, np.float32)), generator=np.random.default_rng(0), **options).numpy()


UNIFORM = [
    (init.uniform_, dict(a=-2, b=2), 2),
    (init.xavier_uniform_, dict(gain=2), 2 * math.sqrt(6 / 500)),
    (init.kaiming_uniform_, dict(a=math.sqrt(5)), 1 / math.sqrt(300)),
    (init.kaiming_uniform_, dict(mode="fan_out", nonlinearity="relu"), math.sqrt(6 / 200)),
]
NORMAL = [
    (init.normal_, dict(mean=0, std=3), 3),
    (init.xavier_normal_, {}, math.sqrt(2 / 500)),
    (init.kaiming_normal_, dict(nonlinearity="tanh"), 5 / 3 / math.sqrt(300)),
]


@pytest.mark.parametrize(("fill", "options", "bound"), UNIFORM)
def test_uniform_initialisers_keep_their_bound(fill, options, bound):
    values = drawn(fill, **options)
    assert np.abs(values).max() <= bound * (1 + 1e-6)
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.01) and abs(values.mean()) < 0.01 * bound


@pytest.mark.parametrize(("fill", "options", "std"), NORMAL)
def test_normal_initialisers_have_their_deviation(fill, options, std):
    values = drawn(fill, **options)
    assert values.std() == pytest.approx(std, rel=0.01) and abs(values.mean()) < 0.02 * std
    assert np.abs(values).max() > 3 * std


def test_fans_of_a_kernel_count_its_taps():
    assert init.fans("t", lnb.tensor(np.zeros((8, 4, 3, 5)))) == (60, 120)
    with pytest.raises(lnb.ShapeError, match="kaiming_normal_: a tensor of shape"):
        init.kaiming_normal_(lnb.tensor(np.zeros(3)))


def test_fill_writes_into_parameters_and_returns_them():
    weight = lnb.nn.Parameter(np.ones((2, 2), np.float32))
    assert init.zeros_(weight) is weight and weight.tolist() == [[0, 0], [0, 0]] and weight.requires_grad
    assert init.ones_(weight).tolist() == [[1, 1], [1, 1]]
    assert init.constant_(weight, 2.5).tolist() == [[2.5, 2.5], [2.5, 2.5]]


def test_seed_governs_initialisers_without_generator():
    layers = []
    for _ in range(2):
        lnb.random.seed(11)
        layers.append(lnb.nn.Linear(4, 4).weight.tolist())
    assert layers[0] == layers[1] != lnb.nn.Linear(4, 4).weight.tolist()


@pytest.mark.parametrize(("name", "param"), [("linear", None), ("conv2d", None), ("sigmoid", None), ("tanh", None),
                                             ("relu", None), ("selu", None), ("leaky_relu", None), ("leaky_relu", 0.2)])
def test_gain_equals_torch(name, param):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    assert init.calculate_gain(name, param) == pytest.approx(torch.nn.init.calculate_gain(name, param))


def test_options_out_of_range_are_refused():
    with pytest.raises(lnb.ConfigError, match="nonlinearity is 'cube'"):
        init.calculate_gain("cube")
    with pytest.raises(lnb.ConfigError, match="mode is 'fan'"):
        init.kaiming_uniform_(lnb.tensor(np.zeros((2, 2))), mode="fan")
