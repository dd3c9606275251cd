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


# ---------------------------------------------------------------------------------------- matrices and kernels
def test_truncated_normal_has_the_moments_of_the_formula():
    values = drawn(init.trunc_normal_, mean=0.5, std=2.0, a=-1.0, b=3.0)
    low, high = (-1 - 0.5) / 2, (3 - 0.5) / 2
    density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (low, high)]
    mass = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    shift = (density[0] - density[1]) / mass
    variance = 1 + (low * density[0] - high * density[1]) / mass - shift**2
    assert values.min() >= -1 and values.max() <= 3
    assert values.mean() == pytest.approx(0.5 + 2 * shift, rel=0.01)
    assert values.std() == pytest.approx(2 * math.sqrt(variance), rel=0.01)


@pytest.mark.parametrize("shape", [(5, 8), (8, 5), (4, 2, 3), (6, 6)])
def test_orthogonal_rows_or_columns_have_the_length_of_the_gain(shape):
    values = drawn(init.orthogonal_, shape, gain=3.0).reshape(shape[0], -1).astype(np.float64)
    product = values @ values.T if values.shape[0] <= values.shape[1] else values.T @ values
    np.testing.assert_allclose(product, 9 * np.eye(len(product)), atol=2e-5)


def test_orthogonal_matrices_are_drawn_evenly():
    first = [drawn_again(k)[0, 0] for k in range(400)]
    assert abs(np.mean(first)) < 0.1 and np.var(first) == pytest.approx(1 / 3, abs=0.05)


def drawn_again(seed):
    """An orthogonal matrix of one seed."""
    return init.orthogonal_(lnb.tensor(np.zeros((3, 3))), generator=np.random.default_rng(seed)).numpy()


def test_sparse_columns_have_so_many_zeros():
    values = drawn(init.sparse_, (100, 200), sparsity=0.305, std=0.5)
    assert np.all((values == 0).sum(0) == 31) and values[values != 0].std() == pytest.approx(0.5, rel=0.02)
    assert len({tuple(np.flatnonzero(values[:, k] == 0)) for k in range(20)}) == 20


def test_eye_and_dirac_copy_what_comes_in():
    assert init.eye_(lnb.tensor(np.ones((2, 3)))).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = np.random.default_rng(0).normal(size=(1, 4, 6, 5)).astype(np.float32)
    for groups in (1, 2):
        conv = lnb.nn.Conv2d(4, 4, 3, padding=1, bias=False, groups=groups)
        init.dirac_(conv.weight, groups)
        np.testing.assert_array_equal(conv(x).detach().numpy(), x)


@pytest.mark.parametrize("name", ["dirac", "eye", "uniform", "normal", "constant", "ones", "zeros", "sparse",
                                  "orthogonal", "trunc_normal", "xavier_uniform", "xavier_normal", "kaiming_uniform",
                                  "kaiming_normal"])
def test_names_go_with_and_without_the_underscore(name):
    assert getattr(init, name) is getattr(init, f"{name}_")


def test_lucid_s_order_of_arguments_has_the_mode_first():
    values = drawn(init.kaiming_uniform_, a="fan_out")
    assert values.std() == pytest.approx(math.sqrt(6 / 200 / 3), rel=0.01)


def test_key_governs_an_initialiser():
    key = lnb.random.key(3)
    for fill in (init.normal_, init.xavier_uniform_, init.trunc_normal_, init.orthogonal_):
        one, two, other = (fill(lnb.tensor(np.zeros((4, 5), np.float32)), generator=given).tolist()
                           for given in (key, key, key.split()[0]))
        assert one == two != other


def test_initialisers_of_torch_fill_alike():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for name, shape, options in (
            ("eye_", (3, 4), {}), ("dirac_", (6, 2, 3), {"groups": 2}), ("dirac_", (2, 4, 3, 3), {}),
            ("dirac_", (4, 4, 2, 3, 4), {"groups": 4}), ("constant_", (2,), {"val": 2.5})):
        wanted = getattr(torch.nn.init, name)(torch.ones(shape), **options)
        found = getattr(init, name)(lnb.tensor(np.ones(shape, np.float32)), **options)
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("call, error, text", [
    (lambda x: init.normal_(x, std=-1), lnb.ConfigError, r"normal_: std is -1\."),
    (lambda x: init.uniform_(x, 2, 1), lnb.ConfigError, "uniform_: from 2 to 1"),
    (lambda x: init.uniform_(x, "a"), lnb.ConfigError, "uniform_: a is 'a', which is not a number"),
    (lambda x: init.trunc_normal_(x, a=1, b=1), lnb.ConfigError, "from 1 to 1, std 1"),
    (lambda x: init.trunc_normal_(x, std=0), lnb.ConfigError, r"std 0\. Use a below b, and a positive std"),
    (lambda x: init.eye_(x[0]), lnb.ShapeError, r"eye_: a tensor of shape \(3,\) is no matrix"),
    (lambda x: init.sparse_(x, 1.5), lnb.ConfigError, "sparsity is 1.5"),
    (lambda x: init.orthogonal_(x[0]), lnb.ShapeError, r"orthogonal_: a tensor of shape \(3,\) has no rows"),
    (lambda x: init.dirac_(x), lnb.ShapeError, r"dirac_: a tensor of shape \(2, 3\) in 1 groups")],
    ids=["negative", "range", "number", "order", "std", "eye", "sparse", "orthogonal", "dirac"])
def test_what_cannot_be_filled_is_refused_before_it_is_written(call, error, text):
    x = lnb.tensor(np.full((2, 3), 7.0))
    with pytest.raises(error, match=text):
        call(x)
    assert (x == 7).all()
