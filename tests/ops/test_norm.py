"""Softmax and log_softmax against SciPy; gradients against finite differences."""

import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import assert_close, check_grad, laid_out

from .derivatives import check_against_cpu

RNG = np.random.default_rng(12)
X = RNG.standard_normal((3, 4, 5)) * 3
NAMES = ["softmax", "log_softmax"]


def exact(name, x, axis):
    """SciPy's value in float64."""
    return getattr(scipy.special, name)(x.astype("float64"), axis=axis)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("name", NAMES)
def test_values_along_each_axis_equal_scipy(name, axis, device):
    x = X.astype("float32")
    found = getattr(lnb, name)(lnb.asarray(x, device=device), axis=axis)
    assert found.dtype == np.float32 and found.device == device
    assert_close(found, exact(name, x, axis), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
@pytest.mark.parametrize("name", NAMES)
def test_other_dtypes_equal_scipy_rounded(name, dtype):
    x = X.astype(lnb.dtypes.as_dtype("test", dtype))
    found = getattr(lnb, name)(lnb.asarray(x), axis=1)
    assert found.dtype == ("float64" if dtype == "int32" else x.dtype)
    unit = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}.get(dtype, 1e-14)
    assert_close(found, exact(name, x, 1), rtol=unit, atol=unit / 16)


@pytest.mark.parametrize("shape, axis", [((5, 9000), 1), ((9000, 5), 0), ((40, 30, 50), 1)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_large_and_strided_arrays_equal_scipy(name, shape, axis):
    x = RNG.standard_normal(shape).astype("float32")
    found = getattr(lnb, name)(lnb.asarray(x), axis=axis)
    assert_close(found, exact(name, x, axis), rtol=2e-6, atol=1e-7)
    again = getattr(lnb, name)(lnb.asarray(laid_out(x, "negative")), axis=axis)
    assert np.array_equal(again.to_host(), found.to_host())


def test_rows_of_minus_infinity_give_zeros_with_zero_gradient(device):
    x = lnb.asarray(np.array([[-np.inf, -np.inf], [0, -np.inf]], "float32"), device=device)
    x.requires_grad = True
    found = lnb.softmax(x)
    found.sum().backward()
    assert found.detach().tolist() == [[0, 0], [1, 0]] and not x.grad.to_host().any()


def test_large_values_do_not_overflow(device):
    x = lnb.asarray(np.array([1e30, 1e30, -1e30], "float32"), device=device)
    assert lnb.softmax(x).tolist() == [0.5, 0.5, 0]
    assert_close(lnb.log_softmax(x).to_host()[:2], np.log([0.5, 0.5]), rtol=1e-6)


def test_nan_fills_its_row_only(device):
    found = lnb.softmax(lnb.asarray(np.array([[np.nan, 1], [0, 0]], "float32"), device=device)).to_host()
    assert np.isnan(found[0]).all() and found[1].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", NAMES)
def test_gradient_follows_finite_differences(name, axis):
    check_grad(lambda x: getattr(lnb, name)(x, axis=axis), X[:2, :3, :3])


@pytest.mark.parametrize("name", NAMES)
def test_gradient_follows_the_cpu(name, device):
    check_against_cpu(lambda x: getattr(lnb, name)(x, axis=1), X[:2, :3, :3], device=device)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", NAMES)
def test_one_number_is_normalised_as_by_scipy(name, axis):
    x = lnb.tensor(3.5, requires_grad=True)
    found = getattr(lnb, name)(x, axis=axis)
    assert found.shape == () and found.item() == exact(name, np.array(3.5), axis)
    found.backward()
    assert x.grad.shape == () and x.grad.item() == 0


def test_axes_that_are_not_there_are_refused():
    with pytest.raises(errors.AxisError, match="softmax: axis 1 is out of range"):
        lnb.softmax(1.0, axis=1)
    with pytest.raises(errors.AxisError, match="log_softmax: axis 2 is out of range"):
        lnb.log_softmax(X[0], axis=2)
