"""Sorting, selecting, searching and sets against NumPy's stable sort; the same bits for every number of threads."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb.kernels import compiler, threads
from lucid_nb.kernels.sets import isin, unique
from lucid_nb.kernels.sort import FEW, HEAP, SHORT, argsort, partition, searchsorted, sort, topk
from tests.unordered import unordered

RANDOM = np.random.default_rng(5)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", BFLOAT16,
          "float32", "float64"]
# On both sides of each change of method.
SHAPES = [((1,), 0), ((FEW - 1,), 0), ((3, FEW + 20), 1), ((SHORT - 1,), 0), ((SHORT + 100,), 0), ((40, 3), 0),
          ((3, 50, 2), 1)]


def values(shape, dtype, spread=1000):
    return unordered(RANDOM, shape, dtype, spread)


def compared(x):
    """In a dtype whose order NumPy knows."""
    return x.astype(np.float32) if x.dtype == BFLOAT16 else x


def falling_places(x, axis):
    """NumPy's stable order of the reversed array, reversed."""
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


@pytest.fixture(params=[128, 512])
def vectors(request, monkeypatch):
    """Values of short vectors are sorted by digits, of others by NumPy."""
    monkeypatch.setattr(compiler, "vector_width", lambda: request.param)


@pytest.mark.parametrize("spread", [50, None])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort_and_places_are_numpys(dtype, spread, vectors):
    for shape, axis in SHAPES:
        x = values(shape, dtype, spread)
        wide = compared(x)
        rising, places = sort(x, axis, False), argsort(x, axis, False)
        assert rising.dtype == x.dtype and places.dtype == np.int64
        np.testing.assert_array_equal(compared(rising), np.sort(wide, axis))
        np.testing.assert_array_equal(places, np.argsort(wide, axis, kind="stable"))
        np.testing.assert_array_equal(compared(sort(x, axis, True)), np.flip(np.sort(wide, axis), axis))
        np.testing.assert_array_equal(argsort(x, axis, True), falling_places(wide, axis))


def test_sort_keeps_the_signs_of_zeros_and_subnormals(vectors):
    x = np.tile(np.array([0.0, -0.0, 1e-45, -1e-45, 3e38], np.float32), SHORT)
    found = sort(x, 0, False)
    assert np.count_nonzero(np.signbit(found) & (found == 0)) == SHORT
    np.testing.assert_array_equal(np.unique(found), np.unique(x))


def test_complex_numbers_sort_as_numpys():
    x = np.empty(600, complex)
    x.real, x.imag = values((2, 600), "float64", 3)
    np.testing.assert_array_equal(sort(x, 0, False), np.sort(x))
    np.testing.assert_array_equal(argsort(x, 0, False), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(topk(x, 5, 0, False)[0], np.sort(x)[:5])


@pytest.mark.parametrize("count", [1, 7, HEAP, HEAP + 1, 900, 2999, 3000])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64", "float16", "float32", "float64"])
def test_topk_is_the_beginning_of_the_order(dtype, count):
    for spread in (20, None):
        for x, axis in ((values((2, 3000), dtype, spread), 1), (values((3000, 2), dtype, spread), 0)):
            for largest in (True, False):
                found, places = topk(x, count, axis, largest)
                wanted = np.take(argsort(x, axis, largest), range(count), axis)
                np.testing.assert_array_equal(places, wanted)
                np.testing.assert_array_equal(found, np.take_along_axis(x, wanted, axis))


@pytest.mark.parametrize("order", ["rising", "falling", "equal"])
def test_topk_of_ordered_elements(order):
    x = np.arange(5000, dtype=np.float32)
    x = {"rising": x, "falling": x[::-1].copy(), "equal": np.zeros_like(x)}[order]
    for count in (3, 100, 300):
        np.testing.assert_array_equal(topk(x, count, 0, True)[1], argsort(x, 0, True)[:count])


@pytest.mark.parametrize("dtype", ["int8", "float16", BFLOAT16, "float64"], ids=str)
def test_partition_puts_the_asked_elements_at_their_places(dtype):
    x = values((5, 200), dtype, 90)
    found = compared(partition(x, (3, 77, 199), 1))
    np.testing.assert_array_equal(found[:, [3, 77, 199]], np.sort(compared(x), 1)[:, [3, 77, 199]])


@pytest.mark.parametrize("size", [1, 2, 3, 100, 1023, 5000])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_searchsorted_is_numpys(dtype, size):
    table, x = sort(values((size,), dtype, 300), 0, False), values((70, 5), dtype, 300)
    for side in ("left", "right"):
        found = searchsorted(table, x, side)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.searchsorted(compared(table), compared(x), side))
    np.testing.assert_array_equal(searchsorted(table[:0], x, "left"), np.zeros(x.shape))


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("dtype", [*(d for d in DTYPES if d != BFLOAT16), "complex64"], ids=str)
def test_unique_is_numpys(dtype, equal_nan):
    for size, spread in ((0, 5), (1, 5), (900, 50), (5000, None)):
        if dtype == "complex64":                     # NumPy's order of complex NaN is another matter
            x = np.exp(1j * values((size,), "int64", spread)).astype(dtype)
        else:
            x = values((size,), dtype, spread)
        wanted = np.unique(x, True, equal_nan, True, equal_nan=equal_nan)     # its inverse of NaNs has no order
        found = unique(x, True, equal_nan, True, equal_nan)
        assert len(found) == len(wanted)
        for got, should in zip(found, wanted):
            np.testing.assert_array_equal(got, should, strict=True)
        np.testing.assert_array_equal(unique(x, False, False, False, equal_nan)[0], wanted[0])


@pytest.mark.parametrize("count", [0, 3, 40, 2000])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != BFLOAT16])
def test_isin_is_numpys(dtype, count):
    for spread in (60, None):
        x, members = values((30, 50), dtype, spread), values((count,), dtype, spread)
        np.testing.assert_array_equal(isin(x, members), np.isin(x, members))


def test_isin_of_integers_at_the_ends_of_their_range():
    for dtype in ("int64", "uint64", "int8"):
        bounds = np.iinfo(dtype)
        x = np.array([bounds.min, bounds.max, 0, 1, 5], dtype)
        for members in (np.arange(bounds.max - 20, bounds.max, dtype=dtype), np.arange(20, dtype=dtype)):
            np.testing.assert_array_equal(isin(x, members), np.isin(x, members))


@given(st.data())
def test_order_of_any_layout(data):
    shape = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    steps = data.draw(st.lists(st.sampled_from([1, 2, -1, -3]), min_size=len(shape), max_size=len(shape)))
    dtype = data.draw(st.sampled_from(["float32", "float64", "int16", "uint64"]))
    axis = data.draw(st.integers(0, len(shape) - 1))
    whole = values([size * abs(step) for size, step in zip(shape, steps)], dtype, 3)
    x = whole[tuple(slice(None, None, step) for step in steps)].transpose(data.draw(st.permutations(range(len(shape)))))
    np.testing.assert_array_equal(sort(x, axis, False), np.sort(x, axis))
    np.testing.assert_array_equal(argsort(x, axis, False), np.argsort(x, axis, kind="stable"))
    np.testing.assert_array_equal(argsort(x, axis, True), falling_places(x, axis))


@pytest.mark.serial
def test_order_has_the_same_bits_for_any_number_of_threads():
    x, before = values((8, 30_000), "float64", 900), threads.num_threads()
    try:
        found = []
        for number in (1, 2, 3):
            threads.set_num_threads(number)
            parts = (sort(x, 1, False), argsort(x, 1, True), *topk(x, 5, 1, True), *topk(x, 500, 1, True),
                     searchsorted(sort(x[0], 0, False), x, "left"))
            found.append([part.tobytes() for part in parts])
        assert found[0] == found[1] == found[2]
    finally:
        threads.set_num_threads(before)
