"""Softmax, logsumexp and cross entropy against SciPy in float64."""

import numpy as np
import pytest
import scipy.special

import lucid_nb.cuda as table

pytestmark = pytest.mark.cuda_simulator
X = np.random.default_rng(0).standard_normal((3, 5, 4)) * 4
TOLERANCE = {"float64": 1e-13, "float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2}
DTYPES = list(TOLERANCE)


def call(entry, *hosts, **keywords):
    devices = (table.from_numpy(host) if isinstance(host, np.ndarray) else host for host in hosts)
    return table.to_numpy(getattr(table, entry)(*devices, **keywords))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("entry", ["softmax", "log_softmax"])
def test_softmax_agrees_with_scipy(entry, axis):
    expected = getattr(scipy.special, entry)(X, axis)
    np.testing.assert_allclose(call(entry, X, axis=axis), expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_keep_their_precision(dtype):
    x = X[0].astype(dtype)
    wide = x.astype("float64")
    for entry, expected in (("softmax", scipy.special.softmax(wide, 1)),
                            ("log_softmax", scipy.special.log_softmax(wide, 1))):
        got = call(entry, x, axis=1)
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got.astype("float64"), expected, rtol=TOLERANCE[dtype])
    got = call("logsumexp", x, axes=(1,), keepdims=False)
    np.testing.assert_allclose(got.astype("float64"), scipy.special.logsumexp(wide, 1), rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("axes, keepdims", [((0,), False), ((0, 2), True), ((0, 1, 2), False)])
def test_logsumexp_agrees_with_scipy(axes, keepdims):
    np.testing.assert_allclose(call("logsumexp", X, axes=axes, keepdims=keepdims),
                               scipy.special.logsumexp(X, axes, keepdims=keepdims), rtol=1e-14)


def test_rows_of_infinities_and_large_values():
    inf = np.inf
    x = np.array([[-inf, -inf, -inf], [1000.0, 1001, -inf], [inf, 0, 1], [np.nan, 0, 1]])
    np.testing.assert_array_equal(call("softmax", x[:1], axis=1), [[0, 0, 0]])
    np.testing.assert_array_equal(call("log_softmax", x[:1], axis=1), [[-inf] * 3])
    np.testing.assert_allclose(call("softmax", x[1:2], axis=1), scipy.special.softmax(x[1:2], 1))
    np.testing.assert_allclose(call("logsumexp", x, axes=(1,), keepdims=False), scipy.special.logsumexp(x, 1))
    assert np.isnan(call("softmax", x[3:], axis=1)).all()


@pytest.mark.parametrize("axis", [0, 2])
def test_gradients_state_their_formula(axis):
    g = np.random.default_rng(1).standard_normal(X.shape)
    y = scipy.special.softmax(X, axis)
    np.testing.assert_allclose(call("softmax_grad", y, g, axis=axis), y * (g - (g * y).sum(axis, keepdims=True)),
                               rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(call("log_softmax_grad", np.log(y), g, axis=axis),
                               g - y * g.sum(axis, keepdims=True), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cross_entropy_and_its_gradient(dtype):
    x, target = X.reshape(12, 5).astype(dtype), np.array([0, 4, 2, -100, 1, 1, 3, 0, -100, 2, 2, 4])
    wide, kept = x.astype("float64"), target != -100
    expected = np.where(kept, -scipy.special.log_softmax(wide, 1)[np.arange(12), np.where(kept, target, 0)], 0)
    got = call("cross_entropy", x, target, ignore_index=-100)
    assert got.dtype == x.dtype
    np.testing.assert_allclose(got.astype("float64"), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] / 10)
    g = np.linspace(0.5, 2, 12).astype(dtype)
    onehot = np.eye(5)[np.where(kept, target, 0)]
    expected = (scipy.special.softmax(wide, 1) - onehot) * g.astype("float64")[:, None] * kept[:, None]
    got = call("cross_entropy_grad", x, target, g, ignore_index=-100)
    np.testing.assert_allclose(got.astype("float64"), expected, rtol=2 * TOLERANCE[dtype], atol=TOLERANCE[dtype] / 10)


def test_empty_arrays_give_empty_results():
    assert call("softmax", np.zeros((0, 3)), axis=1).shape == (0, 3)
    assert call("cross_entropy", np.zeros((0, 3)), np.zeros(0, "int64"), ignore_index=-1).shape == (0,)
