"""Set functions against NumPy over dtypes, shapes and layouts, and their gradients against finite differences."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(29)
X = RNG.standard_normal((3, 5, 2))
DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
FLAGS = [(index, inverse, counts) for index in (False, True) for inverse in (False, True) for counts in (False, True)]


def results(found):
    """One result or several, as arrays."""
    return [x.to_host() if isinstance(x, lnb.Tensor) else x for x in (found if isinstance(found, tuple) else (found,))]


def same(found, wanted):
    """Equal in number, dtypes, shapes and values."""
    found, wanted = results(found), results(wanted)
    assert len(found) == len(wanted)
    for got, should in zip(found, wanted):
        np.testing.assert_array_equal(got, should, strict=True)


@given(data=st.data())
def test_unique_is_numpys(data):
    x = data.draw(testing.arrays(st.sampled_from(DTYPES), testing.shapes(max_dims=4)))
    index, inverse, counts = data.draw(st.sampled_from(FLAGS))
    same(lnb.unique(x, index, inverse, counts), np.unique(x, index, inverse, counts))
    # Of several NaNs NumPy gives the inverse in no order.
    same(lnb.unique(x, True, False, counts, equal_nan=False), np.unique(x, True, False, counts, equal_nan=False))
    if x.ndim and 0 not in x.shape:
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        same(lnb.unique(x, index, inverse, counts, axis), np.unique(x, index, inverse, counts, axis))


@given(data=st.data())
def test_unique_of_the_array_api_is_numpys(data):
    x = data.draw(testing.arrays(st.sampled_from(DTYPES), awkward=False))
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        found, wanted = getattr(lnb, name)(x), getattr(np, name)(x)
        assert found._fields == wanted._fields
        same(tuple(found), tuple(wanted))
    same(lnb.unique_values(x), np.sort(np.unique_values(x)))
    assert lnb.unique_values([np.nan, 1, np.nan]).shape == (3,)


@given(data=st.data())
def test_set_functions_are_numpys(data):
    kinds = st.sampled_from(DTYPES[1:])
    a, b = [data.draw(testing.arrays(kinds, testing.shapes(max_side=5))) for _ in range(2)]
    with np.errstate(all="ignore"):
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
            same(getattr(lnb, name)(a, b), getattr(np, name)(a, b))
        for invert in (False, True):
            same(lnb.isin(a, b, invert=invert), np.isin(a, b, invert=invert))
        same(lnb.intersect1d(a, b, return_indices=True), np.intersect1d(a, b, return_indices=True))
        once = np.unique(a)[::-1]
        same(lnb.setdiff1d(once, b, assume_unique=True), np.setdiff1d(once, b, assume_unique=True))


def test_set_functions_on_each_device(device):
    x = np.array([[3, 1, 3], [2, 1, 7]], "float32")
    on = lnb.asarray(x, device=device)
    same(lnb.unique(on, True, True, True), np.unique(x, True, True, True))
    same(lnb.unique(on, axis=1), np.unique(x, axis=1))
    same(lnb.isin(on, [1, 7]), np.isin(x, [1, 7]))
    same(lnb.setdiff1d(on, lnb.asarray(x[0], device=device)), np.setdiff1d(x, x[0]))
    assert lnb.union1d(on, on).device == device


def test_bfloat16_has_distinct_elements():
    x = np.array([2, np.nan, 1, 2, np.nan, -0.0, 0.0], ml_dtypes.bfloat16)
    values, counts = lnb.unique(x, return_counts=True)
    assert values.dtype == x.dtype and counts.tolist() == [2, 1, 2, 2]
    wanted = np.unique(np.nan_to_num(x[None]).astype("float32"), axis=1)
    np.testing.assert_array_equal(lnb.unique(np.nan_to_num(x[None]), axis=1).to_host().astype("float32"), wanted)
    assert lnb.isin(x, x[:1]).tolist() == [True, False, False, True, False, False, False]


def test_gradient_goes_to_the_first_of_equals():
    x = lnb.tensor([2.0, 1.0, 2.0], requires_grad=True)
    (lnb.unique(x, return_inverse=True)[0] * lnb.tensor([3.0, 5.0])).sum().backward()
    assert x.grad.tolist() == [5, 3, 0]
    for function in (lnb.unique, lambda a: lnb.unique(a, axis=1), lambda a: lnb.union1d(a[0], a[1]),
                     lambda a: lnb.setxor1d(a[0], a[1]), lambda a: lnb.setdiff1d(a, a[0]),
                     lambda a: lnb.intersect1d(a, a[:2])):
        check_grad(function, X)


def test_bad_arguments_are_refused():
    with pytest.raises(errors.AxisError, match="unique: axis 3 is out of range for 3 dimensions"):
        lnb.unique(X, axis=3)
    with pytest.raises(errors.ShapeError, match="isin: kind 'fast' is unknown"):
        lnb.isin(X, X, kind="fast")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32"])
@pytest.mark.parametrize("count", [0, 2, 30])
def test_membership_of_a_number_is_numpys(dtype, count):
    members = np.arange(count).astype("int16")
    for value in np.array([0, 1, 100]).astype(dtype):
        for invert in (False, True):
            found = lnb.isin(lnb.asarray(value), lnb.asarray(members), invert=invert).to_host()
            np.testing.assert_array_equal(found, np.isin(value, members, invert=invert), strict=True)
