"""Reductions against NumPy and SciPy, and their gradients against finite differences."""

from functools import partial

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.testing import assert_close, check_grad, laid_out

from .derivatives import check_against_cpu

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4, 5)).astype("float32")
AXES = [None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (2, 0), (0, 1, 2), ()]
INTEGERS = ["int8", "int32", "int64", "uint8", "uint16", "uint64", "bool"]
GRADIENTS = {
    "sum": lnb.sum, "mean": lnb.mean, "max": lnb.max, "min": lnb.min, "logsumexp": lnb.logsumexp}


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "any", "all"])
def test_reduction_over_axes_equals_numpy(name, axis, keepdims, device):
    x = np.where(X > 1, 0, X).astype("float32")
    found = getattr(lnb, name)(lnb.asarray(x, device=device), axis=axis, keepdims=keepdims)
    wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    assert found.device == device and found.dtype == wanted.dtype
    if name in ("sum", "mean"):
        exact = getattr(np, name)(x.astype("float64"), axis=axis, keepdims=keepdims)
        scale = np.abs(x).astype("float64").sum(axis=axis, keepdims=keepdims)
        assert np.all(np.abs(found.to_host() - exact) <= 4e-7 * scale) and found.shape == wanted.shape
    else:
        assert_close(found, wanted, ulp=0)


@pytest.mark.parametrize("axis", AXES[:-1], ids=str)
def test_logsumexp_equals_scipy(axis, device):
    found = lnb.logsumexp(lnb.asarray(X, device=device), axis=axis)
    assert_close(found, scipy.special.logsumexp(X.astype("float64"), axis=axis), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_place_of_extreme_equals_numpy_with_ties_and_nan(name, axis, keepdims, device):
    x = np.round(X * 2)
    for values in (x, np.where(x == 1, np.nan, x), np.zeros_like(x)):
        found = getattr(lnb, name)(lnb.asarray(values, device=device), axis=axis, keepdims=keepdims)
        wanted = getattr(np, name)(values, axis=axis, keepdims=keepdims)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.to_host(), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "argmax", "any", "all"])
def test_integers_and_bools_reduce_as_in_numpy(name, dtype, device, has_float64):
    if name == "mean" and not has_float64:
        pytest.skip("the mean of integers is float64, which MLX has on its CPU build only")
    x = RNG.integers(0, 120, (4, 6)).astype(dtype)
    for axis in (0, 1, None):
        found, wanted = getattr(lnb, name)(lnb.asarray(x, device=device), axis=axis), getattr(np, name)(x, axis=axis)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.to_host(), wanted)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64", "complex64"], ids=str)
def test_sum_in_other_dtypes_accumulates_no_worse_than_the_result(dtype, device, has_float64):
    if dtype == "float64" and not has_float64:
        pytest.skip("MLX has float64 on its CPU build only")
    x = RNG.uniform(0.5, 1, (7, 501)).astype(dtype)
    for axis in (0, 1, None):
        found = lnb.sum(lnb.asarray(x, device=device), axis=axis)
        assert found.dtype == x.dtype
        exact = x.astype("complex128" if dtype == "complex64" else "float64").sum(axis=axis)
        unit = {"float16": 2.0 ** -11, "float64": 1e-14, "complex64": 2e-6}.get(dtype, 2.0 ** -8)
        assert_close(found, exact, rtol=1.01 * unit)


def test_dtype_of_sum_can_be_chosen():
    x = lnb.asarray(np.array([100, 100], "int8"))
    assert lnb.sum(x, dtype="int8").item() == -56 and lnb.sum(x, dtype=lnb.float32).dtype == np.float32
    assert lnb.mean(x, dtype=lnb.float32).item() == 100


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "logsumexp"])
def test_nan_and_infinities_pass_through_as_in_numpy(name, device):
    x = np.array([[1, np.nan, 3], [np.inf, 2, 1], [-np.inf, np.inf, 0], [-np.inf] * 3, [-0.0, 0.0, -0.0]], "float32")
    with np.errstate(all="ignore"):
        wanted = scipy.special.logsumexp(x, axis=1) if name == "logsumexp" else getattr(np, name)(x, axis=1)
        found = getattr(lnb, name)(lnb.asarray(x, device=device), axis=1).to_host()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_empty_arrays(device):
    empty = lnb.asarray(np.zeros((0, 3), "float32"), device=device)
    assert lnb.sum(empty).item() == 0 and lnb.sum(empty, axis=0).tolist() == [0, 0, 0]
    assert lnb.sum(empty, axis=1).shape == (0,) and lnb.all(empty).item() is True and lnb.any(empty).item() is False
    for name in ("max", "min", "argmax", "argmin", "logsumexp"):
        with pytest.raises(errors.ShapeError, match=f"{name}: no elements"):
            getattr(lnb, name)(empty, axis=0)
    assert lnb.max(empty, axis=1).shape == (0,)


@given(data=st.data())
def test_any_shape_and_layout_reduces_as_in_numpy(data):
    x = data.draw(testing.arrays("float64", testing.shapes(min_side=1), awkward=False))
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    for name in ("sum", "max", "argmin"):
        found, wanted = getattr(lnb, name)(lnb.asarray(x), axis=axis), getattr(np, name)(x, axis=axis)
        np.testing.assert_allclose(found.to_host(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "logsumexp"])
@pytest.mark.parametrize("shape, axis", [((3, 50_003), 1), ((50_003, 3), 0), ((70, 40, 30), 1), ((100_003,), None)],
                         ids=str)
def test_threads_and_layout_change_no_bit(name, shape, axis):
    x = RNG.standard_normal(shape).astype("float32")
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(getattr(lnb, name)(lnb.asarray(x), axis=axis).to_host())
    finally:
        lnb.set_num_threads(before)
    found.append(getattr(lnb, name)(lnb.asarray(laid_out(x, "strided")), axis=axis).to_host())
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


# -------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_follows_finite_differences(name, axis):
    for keepdims in (False, True):
        check_grad(partial(GRADIENTS[name], axis=axis, keepdims=keepdims), X[:2, :3, :2])


def test_gradient_of_complex_sum_follows_finite_differences():
    check_grad(lambda z: lnb.sum(z * z, axis=0), X[0] + 1j * X[1])


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_follows_the_cpu(name, device):
    check_against_cpu(lambda x: GRADIENTS[name](x * x, axis=1), X[:2, :3, :2], device=device)


@pytest.mark.parametrize("name", ["max", "min"])
def test_equal_extremes_share_the_gradient(name, device):
    x = lnb.asarray(np.array([[1, 1, 0], [2, 2, 2], [0, 0, 1]], "float32"), device=device)
    x = -x if name == "min" else x
    x.requires_grad = True
    getattr(lnb, name)(x, axis=1).sum().backward()
    third = np.float32(1) / 3
    np.testing.assert_array_equal(x.grad.to_host(), np.array([[.5, .5, 0], [third] * 3, [0, 0, 1]], "float32"))


def test_gradient_of_extreme_of_nan_goes_to_the_nans():
    x = lnb.tensor([1.0, np.nan, 2.0], requires_grad=True)
    lnb.max(x).backward()
    assert x.grad.tolist() == [0, 1, 0]


# ------------------------------------------------------------------------------------------------- errors
def test_bad_arguments_are_refused_with_the_values(device):
    x = lnb.asarray(X, device=device)
    with pytest.raises(errors.AxisError, match=r"sum: axis 3 is out of range for 3 dimensions. Use -3 to 2."):
        lnb.sum(x, axis=3)
    with pytest.raises(errors.AxisError, match=r"max: axis .* names an axis twice"):
        lnb.max(x, axis=(0, -3))
    with pytest.raises(errors.DTypeError, match="argmax: complex64 has no order"):
        lnb.argmax(lnb.asarray(np.ones(2, "complex64"), device=device))
    with pytest.raises(errors.DTypeError, match="sum: <U1 data has no arithmetic"):
        lnb.sum(np.array(["a"]))


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("shape, axis", [((0,), None), ((0, 3), 0), ((0, 0), 1)])
def test_mean_of_nothing_warns_as_numpys(shape, axis, device):
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        wanted = np.zeros(shape, "float32").mean(axis)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice") as caught:
        found = lnb.zeros(shape, dtype="float32", device=device).mean(axis)
    assert any(warning.filename == __file__ for warning in caught)
    np.testing.assert_array_equal(found.to_host(), wanted)


def test_mean_without_rows_but_with_columns_is_silent(device):
    assert lnb.zeros((0, 3), dtype="float32", device=device).mean(1).shape == (0,)
