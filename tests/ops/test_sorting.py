"""Sorting and searching against NumPy over dtypes, shapes and layouts, and gradients against finite differences."""

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.testing import check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(23)
X = RNG.standard_normal((3, 5, 2))
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", ml_dtypes.bfloat16, "float32", "float64"]


def compared(x):
    """On the host, in a dtype whose order NumPy knows."""
    x = x.to_host() if isinstance(x, lnb.Tensor) else x
    return x.astype("float32") if x.dtype == ml_dtypes.bfloat16 else x


@given(data=st.data())
def test_order_is_numpys(data):
    x = data.draw(testing.arrays(st.sampled_from(DTYPES), testing.shapes(max_dims=4, min_dims=1)))
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    wide = compared(x)
    found, places = lnb.sort(x, axis), lnb.argsort(x, axis)
    assert found.dtype == x.dtype and places.dtype == np.int64
    np.testing.assert_array_equal(compared(found), np.sort(wide, axis))
    np.testing.assert_array_equal(places.to_host(), np.argsort(wide, axis, kind="stable"))
    falling = lnb.sort(x, axis, descending=True)
    np.testing.assert_array_equal(compared(falling), np.flip(np.sort(wide, axis), -1 if axis is None else axis))
    size = x.size if axis is None else x.shape[axis]
    if size:
        kth = data.draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=3))
        parted, spots = lnb.partition(x, kth, axis), lnb.argpartition(x, kth, axis)
        along = 0 if axis is None else axis
        by_places = np.take_along_axis(wide.ravel() if axis is None else wide, spots.to_host(), along)
        for result in (compared(parted), by_places):
            np.testing.assert_array_equal(np.take(result, kth, along), np.take(np.sort(wide, axis), kth, along))


@given(data=st.data())
def test_topk_is_the_beginning_of_the_order(data):
    x = data.draw(testing.arrays(st.sampled_from(DTYPES), testing.shapes(min_dims=1)))
    axis, largest = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.booleans())
    k = data.draw(st.integers(0, x.shape[axis]))
    values, places = lnb.topk(x, k, axis, largest)
    wanted = np.take(lnb.argsort(x, axis, descending=largest).to_host(), range(k), axis)
    np.testing.assert_array_equal(places.to_host(), wanted, strict=True)
    np.testing.assert_array_equal(compared(values), np.take_along_axis(compared(x), wanted, axis))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
def test_order_on_each_device(dtype, device):
    x = np.round(4 * RNG.standard_normal((3, 6))).astype(dtype)
    if dtype != "int32":
        x[1, 2], x[2, 0] = np.nan, -0.0
    on = lnb.asarray(x, device=device)
    for axis in (0, 1):
        np.testing.assert_array_equal(lnb.sort(on, axis).to_host(), np.sort(x, axis))
        np.testing.assert_array_equal(lnb.argsort(on, axis).to_host(), np.argsort(x, axis, kind="stable"))
        np.testing.assert_array_equal(lnb.sort(on, axis, descending=True).to_host(), np.flip(np.sort(x, axis), axis))
        np.testing.assert_array_equal(lnb.argsort(on, axis, descending=True).to_host(),
                                      lnb.argsort(x, axis, descending=True).to_host())
        parted = lnb.partition(on, 1, axis).to_host()
        np.testing.assert_array_equal(parted.take(1, axis), np.sort(x, axis).take(1, axis))
        for got, wanted in zip(lnb.topk(on, 2, axis), lnb.topk(x, 2, axis)):
            assert got.device == device
            np.testing.assert_array_equal(got.to_host(), wanted.to_host())


def test_methods_sort_in_place_as_numpys():
    x, y = X.copy(), lnb.tensor(X)
    for step in (lambda a: a.sort(1), lambda a: a.partition(0, 0), lambda a: a[0].sort()):
        assert step(x) is step(y) is None
    np.testing.assert_array_equal(y.to_host(), x)


@given(data=st.data())
def test_searchsorted_is_numpys(data):
    kinds = st.sampled_from([d for d in DTYPES if d != ml_dtypes.bfloat16])
    table = np.sort(data.draw(testing.arrays(kinds, testing.shapes(min_dims=1, max_dims=1, max_side=9))))
    x = data.draw(testing.arrays(kinds, testing.shapes()))
    side = data.draw(st.sampled_from(["left", "right"]))
    with np.errstate(all="ignore"):
        wanted = np.searchsorted(table, x, side)
        found = lnb.searchsorted(table, x, side)
    np.testing.assert_array_equal(found.to_host(), wanted)
    shuffled = RNG.permutation(table.size)
    found = lnb.searchsorted(table[shuffled], x, side, sorter=np.argsort(shuffled))
    np.testing.assert_array_equal(found.to_host(), wanted)


def test_searchsorted_takes_numbers_and_lists(device):
    table = lnb.asarray(np.array([1, 2, 2, 3], "int32"), device=device)
    assert lnb.searchsorted(table, 2).item() == 1 and lnb.searchsorted(table, 2, "right").item() == 3
    assert lnb.searchsorted(table, [0, 9]).tolist() == [0, 4] and table.searchsorted(3).item() == 3
    assert lnb.searchsorted([1.0, 2.0], 1.5).item() == 1


@pytest.mark.parametrize("axis", [-1, 0])
def test_lexsort_is_numpys(axis):
    keys = RNG.integers(0, 3, (3, 4, 6))
    np.testing.assert_array_equal(lnb.lexsort(list(keys), axis).to_host(), np.lexsort(list(keys), axis))
    np.testing.assert_array_equal(lnb.lexsort(lnb.asarray(keys[0])).to_host(), np.lexsort(keys[0]))


# -------------------------------------------------------------------------------------------- gradients
DIFFERENTIABLE = {
    "sort": lambda x: lnb.sort(x, 1), "flat falling sort": lambda x: lnb.sort(x, None, descending=True),
    "topk": lambda x: lnb.topk(x, 2, 1)[0], "lowest": lambda x: lnb.topk(x, 2, 0, largest=False)[0],
    "partition": lambda x: lnb.partition(x, [1, -1], 1)}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_follows_finite_differences(name):
    check_grad(DIFFERENTIABLE[name], X)


@pytest.mark.parametrize("name", ["sort", "topk"])
def test_gradient_follows_the_cpu(name, device):
    check_against_cpu(lambda x: DIFFERENTIABLE[name](x * x), X[:2, :3], device=device)


def test_gradient_of_equals_goes_to_the_first():
    for function in (partial(lnb.topk, k=1), partial(lnb.topk, k=1, largest=False)):
        x = lnb.tensor([2.0, 2.0, 2.0], requires_grad=True)
        function(x)[0].sum().backward()
        assert x.grad.tolist() == [1, 0, 0]
    x = lnb.tensor([1.0, 0.0, 1.0, 0.0], requires_grad=True)
    (lnb.sort(x) * lnb.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [3, 1, 4, 2]


# ------------------------------------------------------------------------------------------------- errors
def test_bad_arguments_are_refused_with_the_values(device):
    x = lnb.asarray(X.astype("float32"), device=device)
    with pytest.raises(errors.AxisError, match="sort: axis 3 is out of range for 3 dimensions"):
        lnb.sort(x, 3)
    with pytest.raises(errors.AxisError, match="argsort: axis 1 is out of range for 1 dimensions"):
        lnb.argsort(x[0, 0, 0], 1)
    with pytest.raises(errors.AxisError, match="sort: axis -1 of a 0-d array"):
        lnb.sort(x[0, 0, 0])
    with pytest.raises(errors.DTypeError, match="sort: order='a' names fields"):
        lnb.sort(x, order="a")
    with pytest.raises(errors.ShapeError, match="sort: kind 'bubble' is unknown"):
        lnb.sort(x, kind="bubble")
    with pytest.raises(errors.ShapeError, match=r"partition: kth 5 is out of range for 5 elements. Use -5 to 4."):
        lnb.partition(x, 5, 1)
    with pytest.raises(errors.ShapeError, match=r"topk: k is 6 for 5 elements along axis 1. Use 0 to 5."):
        lnb.topk(x, 6, 1)
    with pytest.raises(errors.ShapeError, match=r"searchsorted: the table has shape \(3, 5, 2\). It must be 1-D."):
        lnb.searchsorted(x, 1.0)
    with pytest.raises(errors.ShapeError, match="searchsorted: side 'middle' is unknown"):
        lnb.searchsorted(x[0, :, 0], 1.0, "middle")
    with pytest.raises(errors.ShapeError, match=r"searchsorted: the sorter has shape \(2,\), the table \(5,\)"):
        lnb.searchsorted(x[0, :, 0], 1.0, sorter=[0, 1])
    with pytest.raises(errors.ShapeError, match="lexsort: no keys"):
        lnb.lexsort([])


def test_places_of_a_number_are_those_of_one_element(device):
    x = lnb.asarray(np.float32(3), device=device)
    for axis in (0, -1, None):
        assert lnb.argsort(x, axis).tolist() == np.argsort(np.float32(3), axis).tolist() == [0]
        assert lnb.argpartition(x, 0, axis).tolist() == np.argpartition(np.float32(3), 0, axis).tolist() == [0]
