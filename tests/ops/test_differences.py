"""Differences, derivatives by them and areas against NumPy, and their gradients against finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.testing import assert_close, check_grad

RNG = np.random.default_rng(19)
X = RNG.standard_normal((4, 5))
PLACES = np.sort(RNG.uniform(0, 3, 5))
DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64"]


@given(data=st.data())
def test_diff_is_numpys(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(testing.arrays(dtype, testing.shapes(min_dims=1, max_dims=4), awkward=np.dtype(dtype).kind in "biu"))
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(0, 3))
    around = data.draw(st.sampled_from([{}, {"prepend": np.dtype(dtype).type(1)}, {"append": x, "prepend": x}]))
    np.testing.assert_array_equal(lnb.diff(x, n, axis, **around).to_host(), np.diff(x, n, axis, **around), strict=True)


def test_diff_takes_numbers_and_lists(device):
    x = lnb.asarray(np.array([[1, 3], [6, 10]], "int32"), device=device)
    np.testing.assert_array_equal(lnb.diff(x, prepend=0, axis=0).to_host(), [[1, 3], [5, 7]])
    np.testing.assert_array_equal(lnb.diff(x, append=[[1], [2]]).to_host(), [[2, -2], [4, -8]])
    with pytest.raises(errors.ShapeError, match="diff: n is -1"):
        lnb.diff(x, -1)
    with pytest.raises(errors.AxisError, match="diff: axis -1 of a 0-d array"):
        lnb.diff(x[0, 0])


@pytest.mark.parametrize("ends", [{}, {"to_end": 9}, {"to_begin": [1, 2], "to_end": [3]}], ids=str)
def test_ediff1d_is_numpys(ends):
    for x in (RNG.integers(0, 9, (3, 4)), X.astype("float32"), np.zeros(0)):
        np.testing.assert_array_equal(lnb.ediff1d(x, **ends).to_host(), np.ediff1d(x, **ends), strict=True)
    with pytest.raises(errors.DTypeError, match="ediff1d: to_end is float64, the array int64"):
        lnb.ediff1d([1, 2], to_end=0.5)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_trapezoid_is_numpys(axis, dtype):
    y = (3 * X).astype(dtype)
    for keywords in ({}, {"dx": 0.5}, {"x": np.sort(RNG.uniform(size=y.shape[axis]))}, {"x": np.sort(X, axis)}):
        found, wanted = lnb.trapezoid(y, axis=axis, **keywords), np.trapezoid(y, axis=axis, **keywords)
        assert found.dtype == wanted.dtype
        assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", [(), (2.0,), (2, 0.5), (np.array([0, 1, 2, 3]), PLACES), (3.0, PLACES)], ids=str)
def test_gradient_is_numpys(spacing, edge_order, has_float64, device):
    for dtype in ("float32", "int16", "complex64") if device == "cpu" else ("float32",):
        x = (5 * X).astype(dtype)
        found = lnb.gradient(lnb.asarray(x, device=device), *spacing, edge_order=edge_order)
        for got, wanted in zip(found, np.gradient(x, *spacing, edge_order=edge_order), strict=True):
            assert got.dtype == wanted.dtype
            assert_close(got, wanted, rtol=1e-5, atol=1e-4)


def test_gradient_along_one_axis_and_its_refusals():
    assert_close(lnb.gradient(X, PLACES, axis=-1), np.gradient(X, PLACES, axis=-1), rtol=1e-12, atol=1e-12)
    with pytest.raises(errors.ShapeError, match=r"gradient: 1 elements along axis 0. Give 2 or more."):
        lnb.gradient([1.0])
    with pytest.raises(errors.DTypeError, match="gradient: 3 spacings for 2 axes"):
        lnb.gradient(X, 1, 2, 3)
    with pytest.raises(errors.ShapeError, match=r"gradient: coordinates of shape \(4,\) for axis 1 of 5 elements"):
        lnb.gradient(X, 1.0, [1, 2, 3, 4])


def test_derivatives_follow_finite_differences():
    check_grad(lambda x: lnb.diff(x, 2, axis=0, prepend=1.0), X)
    check_grad(lambda x: lnb.ediff1d(x, x[0], x[1]), X)
    check_grad(lambda y, x: lnb.trapezoid(y * y, x), X, PLACES)
    check_grad(lambda x: lnb.gradient(x, 2.0, PLACES, edge_order=2), X)
    check_grad(lambda x: lnb.diff(x * x), X + 1j * X[::-1])


def test_counts_and_coordinates_that_mean_nothing_are_refused():
    for count in (1.5, "a"):
        with pytest.raises(errors.ShapeError, match=f"diff: n {count!r} is not an integer. Use integers."):
            lnb.diff(X, count)
    for size in (0, 1):
        with pytest.raises(errors.ShapeError, match=rf"gradient: coordinates of shape \({size},\) for axis 0"):
            lnb.gradient(np.zeros(size), np.zeros(size))
