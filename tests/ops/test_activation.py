"""Activations as ops: parameters are operands, integers stay integers, tails keep their digits."""

import mpmath
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.ops.activation import softplus_below
from lucid_nb.testing import assert_close, check_grad

X = np.linspace(-4, 4, 33)


@pytest.mark.parametrize(("name", "parameters"), [
    ("leaky_relu", [0.3]), ("elu", [0.7]), ("celu", [0.7]), ("hardtanh", [-1.5, 0.5]), ("hardshrink", [0.4]),
    ("softshrink", [0.4]), ("threshold", [0.6, -3.0])])
def test_parameters_may_be_numbers_or_arrays_with_gradients(name, parameters):
    function = getattr(lnb, name)
    arrays = [np.full(X.shape, parameter) for parameter in parameters]
    assert np.array_equal(function(X, *parameters).to_host(), function(X, *arrays).to_host())
    single = function(X.astype(np.float32), *parameters)
    assert single.dtype == np.float32
    check_grad(function, X[1::4] + 0.03, *[np.array(parameter) for parameter in parameters])


def test_pieces_keep_integers():
    x = np.array([-3, 0, 2, 9])
    for name, wanted in (("relu", [0, 0, 2, 9]), ("relu6", [0, 0, 2, 6])):
        found = getattr(lnb, name)(x)
        assert found.dtype == x.dtype and found.tolist() == wanted
    assert lnb.hardtanh(x, -1, 3).tolist() == [-1, 0, 2, 3] and lnb.threshold(x, 0, 7).tolist() == [7, 7, 2, 9]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softplus_with_sharpness_and_threshold(dtype):
    x = X.astype(dtype)
    with mpmath.workdps(40):
        smooth = [float(mpmath.log1p(mpmath.exp(mpmath.mpf(1.5) * v)) / mpmath.mpf(1.5)) for v in x.tolist()]
    assert_close(softplus_below(x, 1.5, 4.0), np.where(1.5 * x > 4, x, np.array(smooth)).astype(dtype), ulp=8)
    check_grad(softplus_below, X[::5], np.array(1.5), np.array(4.1))


def test_derivatives_keep_both_tails():
    """exp(x) (1 + x) far on the left, where 1 - sigmoid(x) would round to 1 and its product to 0."""
    x = lnb.tensor(np.float32([-80, -60, 30]), requires_grad=True)
    for function in (lnb.silu, lnb.mish):
        x.grad = None
        function(x).sum().backward()
        wide = np.array([-80.0, -60.0])
        assert np.allclose(x.grad.to_host(), [*(np.exp(wide) * (1 + wide)), 1], rtol=1e-5)
