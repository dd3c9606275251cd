"""Sorting, the first of many, searching and sets against NumPy's stable sort."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb.cuda.sort import CAPACITY, TILE
from tests.unordered import unordered

from .test_scan import call

pytestmark = pytest.mark.cuda_simulator
RANDOM = np.random.default_rng(5)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", BFLOAT16,
          "float32", "float64"]
LONG = TILE + CAPACITY + 3                 # by digits, of several tiles, the last one short
SHAPES = [((1,), 0), ((CAPACITY - 3,), 0), ((5, 3), 0), ((3, 4, 2), 1)]
DIGITS = ["bool", "int16", BFLOAT16, "float32", "uint64"]        # each width of keys, each kind of number


def values(shape, dtype, spread=9):
    return unordered(RANDOM, shape, dtype, spread)


def complex_values(shape, dtype):
    x = np.empty(shape, dtype)
    x.real, x.imag = values(shape, "float32", 2), values(shape, "float32", 2)[..., ::-1]
    return x


def compared(x):
    """In a dtype whose order NumPy knows."""
    return x.astype(np.float32) if x.dtype == BFLOAT16 else x


def falling_places(x, axis):
    """NumPy's stable order of the reversed array, reversed."""
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def check_order(x, axis, descending):
    wide, found, places = compared(x), call("sort", x, axis, descending), call("argsort", x, axis, descending)
    assert found.dtype == x.dtype and places.dtype == np.int64
    rising = np.sort(wide, axis)
    np.testing.assert_array_equal(compared(found), np.flip(rising, axis) if descending else rising)
    should = falling_places(wide, axis) if descending else np.argsort(wide, axis, kind="stable")
    np.testing.assert_array_equal(places, should)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_a_block_are_sorted_as_numpys(dtype, descending):
    for shape, axis in SHAPES:
        check_order(values(shape, dtype, None if axis else 9), axis, descending)


@pytest.mark.parametrize("dtype", DIGITS, ids=str)
def test_long_rows_are_sorted_as_numpys(dtype):
    check_order(values((2, LONG), dtype, None), 1, dtype == "float32")


@given(shape=st.tuples(*[st.integers(0, 6)] * 3), axis=st.integers(0, 2), descending=st.booleans())
def test_places_of_any_strided_shape_are_numpys(shape, axis, descending):
    x = RANDOM.integers(0, 4, (*shape, 2)).astype("float32")
    view = table.slice(table.from_numpy(x), (..., 1))
    should = falling_places(x[..., 1], axis) if descending else np.argsort(x[..., 1], axis, kind="stable")
    np.testing.assert_array_equal(table.to_numpy(table.argsort(view, axis, descending)), should)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_sort_as_numpys(dtype):
    for size in (CAPACITY - 2, LONG) if dtype == "complex64" else (CAPACITY - 2,):
        x = complex_values((size,), dtype)
        np.testing.assert_array_equal(call("sort", x, 0, False), np.sort(x))
        np.testing.assert_array_equal(call("argsort", x, 0, False), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(call("argsort", x[:9], 0, True), falling_places(x[:9], 0))


def test_sort_keeps_the_signs_of_zeros_and_subnormals():
    for repeats in (2, LONG // 4 + 1):
        x = np.tile(np.array([0.0, -0.0, 1e-45, -1e-45], np.float32), repeats)
        found = call("sort", x, 0, False)
        np.testing.assert_array_equal(found, np.sort(x))
        np.testing.assert_array_equal(np.signbit(found), np.arange(x.size) < 2 * repeats)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex64"])
def test_topk_is_the_beginning_of_the_order(dtype, largest):
    for shape, axis, count in (((3, 7), 1, 3), ((7, 3), 0, 7), ((2, CAPACITY), 1, 5)):
        x = complex_values(shape, dtype) if dtype == "complex64" else values(shape, dtype)
        found, places = call("topk", x, count, axis, largest)
        order = falling_places(x, axis) if largest else np.argsort(x, axis, kind="stable")
        wanted = np.take(order, range(count), axis)
        assert places.dtype == np.int64
        np.testing.assert_array_equal(places, wanted)
        np.testing.assert_array_equal(found, np.take_along_axis(x, wanted, axis))


@pytest.mark.parametrize("dtype", ["int8", BFLOAT16, "float64"], ids=str)
def test_partition_puts_the_asked_elements_at_their_places(dtype):
    x = values((5, 12), dtype)
    found = compared(call("partition", x, (3, 7, 11), 1))
    np.testing.assert_array_equal(found[:, [3, 7, 11]], np.sort(compared(x), 1)[:, [3, 7, 11]])


# ------------------------------------------------------------------------------------------- searching and sets
@pytest.mark.parametrize("dtype", [*DTYPES, "complex64"], ids=str)
def test_searchsorted_is_numpys(dtype):
    draw = complex_values if dtype == "complex64" else values
    for size, side in ((0, "left"), (1, "right"), (2, "left"), (13, "right"), (40, "left"), (40, "right")):
        ordered, x = draw((size,), dtype), draw((7, 5), dtype)
        ordered = ordered[np.argsort(compared(ordered), kind="stable")]
        found = call("searchsorted", ordered, x, side)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.searchsorted(compared(ordered), compared(x), side))


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("dtype", [*(d for d in DTYPES if d != BFLOAT16), "complex64"], ids=str)
def test_unique_is_numpys(dtype, equal_nan):
    for size in (0, 1, CAPACITY - 1, LONG) if dtype == "float32" else (7, CAPACITY - 1):
        # NumPy's order of complex NaN is another matter.
        x = np.exp(1j * values((size,), "int64")).astype(dtype) if dtype == "complex64" else values((size,), dtype)
        # NumPy's inverse of NaNs has no order.
        wanted = np.unique(x, True, equal_nan, True, equal_nan=equal_nan)
        found = call("unique", x, True, equal_nan, True, equal_nan)
        assert len(found) == len(wanted)
        for got, should in zip(found, wanted):
            np.testing.assert_array_equal(got, should, strict=True)
    np.testing.assert_array_equal(call("unique", x, False, False, False, equal_nan)[0], wanted[0])


def test_inverse_of_nans_that_are_elements_of_their_own_puts_the_array_together():
    x = values((30,), "float32")
    distinct, inverse = call("unique", x, False, True, False, False)
    np.testing.assert_array_equal(distinct[inverse], x)
    assert np.unique(inverse[np.isnan(x)]).size == np.isnan(x).sum()


@pytest.mark.parametrize("dtype", [*(d for d in DTYPES if d != BFLOAT16), "complex64"])
def test_isin_is_numpys(dtype):
    draw = complex_values if dtype == "complex64" else values
    for count in (0, 3, CAPACITY):
        x, members = draw((3, 5), dtype), draw((count,), dtype)
        np.testing.assert_array_equal(call("isin", x, members), np.isin(x, members))
