"""Covariances and correlations against NumPy's, gradients by finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import testing
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(21)
X, W = RNG.standard_normal((3, 6)), RNG.uniform(0.5, 2, 6)
TIMES = np.array([1, 2, 1, 3, 1, 2])
HOW = {"plain": {}, "bias": {"bias": True}, "ddof": {"ddof": 2}, "columns": {"rowvar": False}, "y": {"y": X[0] * W},
       "aweights": {"aweights": W}, "fweights": {"fweights": TIMES}, "both": {"fweights": TIMES, "aweights": W},
       "weighted-ddof": {"aweights": W, "ddof": 0}, "dtype": {"dtype": "float32"}}


def close(found, wanted):
    """Values to rounding; shape and dtype."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    eps = float(np.finfo(wanted.dtype).eps)
    finite = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
    np.testing.assert_allclose(found.to_host(), wanted, rtol=64 * eps, atol=64 * eps * finite)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["cov", "corrcoef"])
@given(data=st.data())
def test_they_are_numpys(name, data):
    dtype = data.draw(st.sampled_from(["bool", "int8", "int64", "float16", "float32", "float64", "complex64"]))
    x = data.draw(testing.arrays(dtype, testing.shapes(max_dims=2), awkward=False))
    rowvar = data.draw(st.booleans())
    close(getattr(lnb, name)(lnb.asarray(x), rowvar=rowvar), np.asarray(getattr(np, name)(x, rowvar=rowvar)))


@pytest.mark.parametrize("how", HOW)
def test_keywords_are_numpys(how):
    for x in (X, X + 1j * X[::-1], X[0]):
        if x.ndim == 1 and how == "columns":
            continue
        if x.dtype.kind == "c" and how == "dtype":
            continue
        close(lnb.cov(lnb.asarray(x), **HOW[how]), np.cov(x, **HOW[how]))
    rest = {key: value for key, value in HOW[how].items() if key in ("rowvar", "y", "dtype")}
    close(lnb.corrcoef(X, **rest), np.corrcoef(X, **rest))


@pytest.mark.parametrize("how", [name for name in HOW if name != "dtype"])
def test_gradients(how):
    check_grad(lambda x: lnb.cov(x, **HOW[how]), X)


def test_gradients_of_the_others():
    check_grad(lambda x, y, w: lnb.cov(x, y, fweights=TIMES, aweights=w), X, X[:2] * W, W)
    check_grad(lambda x, y: lnb.corrcoef(x, y), X, RNG.standard_normal(6))
    check_grad(lnb.cov, X + 1j * X[::-1])


def test_each_device_follows_numpy(device):
    x = X.astype("float32")
    for name in ("cov", "corrcoef"):
        found = getattr(lnb, name)(lnb.asarray(x, device=device))
        assert found.device == device and found.dtype == (np.float32 if device == "mlx" else np.float64)
        np.testing.assert_allclose(found.to_host(), getattr(np, name)(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kinds", "how", "text"), [
    ((ValueError,), {"ddof": 1.5}, "ddof is 1.5"), ((TypeError,), {"fweights": W}, "fweights are not whole"),
    ((RuntimeError, ValueError), {"fweights": [[1]]}, "fweights has shape"),
    ((RuntimeError, ValueError), {"aweights": W[:2]}, "aweights has shape"),
    ((ValueError,), {"aweights": -W}, "aweights has negative"),
    ((ValueError,), {"fweights": -TIMES}, "fweights has negative"),
    ((ValueError,), {"y": np.zeros((1, 1, 6))}, "y has shape")], ids=range(7))
def test_wrong_arguments_raise_numpys_kinds(kinds, how, text):
    with pytest.raises(kinds[0]):
        np.cov(X, **how)
    for kind in kinds:
        with pytest.raises(kind, match=f"cov: {text}"):
            lnb.cov(X, **how)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_too_few_samples_warn_as_numpys():
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        lnb.cov([[1.0], [2.0]])


def test_weights_of_examples_in_vmap():
    found = lnb.vmap(lambda w: lnb.cov(X, aweights=w))(lnb.asarray(np.stack([W, W * W])))
    np.testing.assert_allclose(found.numpy(), [np.cov(X, aweights=W), np.cov(X, aweights=W * W)], rtol=1e-12)
