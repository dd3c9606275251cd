"""Activations as functions and modules. Oracle: mpmath, SciPy, and torch where it is installed."""

import mpmath
import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F

X = np.concatenate([np.linspace(-40, 40, 41), [-1e-3, 0.5, 1e-3]])


def gelu_tanh(x):
    """The tanh form, with digits to spare for its cancellation."""
    with mpmath.workdps(400):
        x = mpmath.mpf(float(x))
        return float(x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(44715) / 10**6 * x**3))))


CASES = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.Sigmoid(), scipy.special.expit),
    (nn.Tanh(), np.tanh),
    (nn.GELU(), lambda x: x * scipy.special.ndtr(x)),
    (nn.GELU("tanh"), np.vectorize(gelu_tanh)),
    (nn.Softplus(), lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))),
    (nn.Softplus(2.0, 5.0), lambda x: np.where(2 * x > 5, x, np.log1p(np.exp(2 * np.minimum(x, 2.5))) / 2)),
    (nn.Softmax(-1), lambda x: scipy.special.softmax(x, -1)),
    (nn.LogSoftmax(0), lambda x: scipy.special.log_softmax(x, 0)),
]


@pytest.mark.parametrize(("module", "oracle"), CASES, ids=lambda case: str(case) if isinstance(case, nn.Module) else "")
def test_activation_has_its_values(module, oracle):
    assert np.allclose(module(X).numpy(), oracle(X), rtol=2e-13, atol=1e-300)
    single = module(X.astype(np.float32))
    assert single.dtype == np.float32 and np.allclose(single.numpy(), oracle(X), rtol=3e-6, atol=1e-37)


@pytest.mark.parametrize("module", [case[0] for case in CASES], ids=str)
def test_activation_has_its_gradient(module):
    """Central differences along a random direction."""
    rng, step = np.random.default_rng(1), 1e-5
    x, weight, direction = (rng.normal(size=(3, 4)) for _ in range(3))
    leaf = lnb.tensor(x, requires_grad=True)
    (module(leaf) * lnb.asarray(weight)).sum().backward()
    high, low = ((module(x + sign * step * direction).numpy() * weight).sum() for sign in (1, -1))
    assert (leaf.grad.numpy() * direction).sum() == pytest.approx((high - low) / (2 * step), rel=1e-6, abs=1e-9)


def test_functions_equal_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for name, options in [("relu", {}), ("sigmoid", {}), ("tanh", {}), ("gelu", {}), ("gelu", dict(approximate="tanh")),
                          ("softplus", {}), ("softplus", dict(beta=0.5, threshold=3)), ("softmax", dict(dim=0)),
                          ("log_softmax", dict(dim=-1))]:
        expected = getattr(torch.nn.functional, name)(torch.from_numpy(X), **options).numpy()
        assert np.allclose(getattr(F, name)(X, **options).numpy(), expected, rtol=1e-12, atol=1e-15), name


def test_relu_in_place_overwrites():
    x = lnb.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x and x.tolist() == [0, 2] and repr(nn.ReLU(True)) == "ReLU(inplace=True)"


def test_softmax_takes_dim_or_axis_and_dtype():
    x = np.float32([[1, 2], [3, 5]])
    assert np.array_equal(F.softmax(x, axis=0).numpy(), F.softmax(x, dim=0).numpy())
    assert F.softmax(x).numpy().sum(-1) == pytest.approx([1, 1])
    assert F.softmax(x, 0, dtype=lnb.float64).dtype == "float64"
    with pytest.raises(lnb.errors.AxisError, match="both dim=0 and axis=1"):
        F.softmax(x, dim=0, axis=1)


def test_options_out_of_range_are_refused():
    for make in (lambda: nn.GELU("erf"), lambda: F.gelu(X, "erf"), lambda: nn.Softplus(beta=0)):
        with pytest.raises(lnb.ConfigError):
            make()


def test_modules_show_their_options():
    shown = "Softmax(dim=-1) LogSoftmax(dim=0) GELU(approximate='tanh') Softplus(beta=2.0, threshold=5.0) Tanh()"
    assert shown == f"{nn.Softmax()} {nn.LogSoftmax(0)} {nn.GELU('tanh')} {nn.Softplus(2.0, 5.0)} {nn.Tanh()}"
