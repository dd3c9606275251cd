"""Joining, padding, gathering and scattering against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb.kernels import memory, threads
from lucid_nb.kernels.index import concatenate, gather, pad, scatter, scatter_add, sum_rows
from lucid_nb.kernels.masks import compress, nonzero

RANDOM = np.random.default_rng(3)
DTYPES = ["float32", "float64", "float16", ml_dtypes.bfloat16, "int8", "int64", "uint16", "bool", "complex64"]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)


def values(shape, dtype):
    return RANDOM.integers(-9, 10, shape).astype(dtype)


def assert_fresh(result, expected, *raws):
    np.testing.assert_array_equal(result, expected, strict=True)
    assert not any(np.shares_memory(result, raw) for raw in raws)


@each_dtype
def test_concatenate_along_every_axis(dtype):
    for axis in range(3):
        raws = [values([2 + (count if k == axis else k) for k in range(3)], dtype) for count in (1, 0, 4)]
        raws.append(raws[0].T.copy().T)
        assert_fresh(concatenate(raws, axis), np.concatenate(raws, axis), *raws)
    assert_fresh(concatenate(raws[:1], 0), raws[0], raws[0])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3)), max_size=4))
def test_pad_by_any_pairs(axes):
    raw = values([size for size, _, _ in axes], np.float32)
    pairs = [(low, high) for _, low, high in axes]
    expected = np.pad(raw, pairs, constant_values=7) if axes else raw
    assert_fresh(pad(raw, pairs, 7), expected, raw)
    assert_fresh(pad(raw.T, pairs[::-1], 7), expected.T, raw)


@each_dtype
def test_pad_of_every_dtype(dtype):
    raw = values((3, 4), dtype)
    expected = np.zeros((6, 7), dtype)
    expected[1:4, 2:6] = raw
    assert_fresh(pad(raw, [(1, 2), (2, 1)], 0), expected, raw)


@each_dtype
@pytest.mark.parametrize("rest", [(), (3,), (2, 5), (0,)], ids=str)
def test_gather_with_any_index_shape(rest, dtype):
    raw = values((6, *rest), dtype)
    for shape in ((), (4,), (2, 3), (0,)):
        index = RANDOM.integers(0, 6, shape)
        for form in (raw, np.repeat(raw, 2, axis=0)[::2], raw[::-1]):
            assert_fresh(gather(form, index), np.asarray(form[index]), raw)


@each_dtype
def test_scatter_keeps_the_last_of_equal_indices(dtype):
    raw, index, update = values((5, 3), dtype), np.array([[4, 1, 4], [0, 1, 1]]), values((2, 3, 3), dtype)
    expected = raw.copy()
    for place, row in zip(index.ravel(), update.reshape(-1, 3)):
        expected[place] = row
    assert_fresh(scatter(raw, index, update), expected, raw, update)


@each_dtype
@pytest.mark.parametrize("rest", [(), (1,), (37,), (2, 3)], ids=str)
def test_scatter_add_of_whole_numbers(rest, dtype):
    raw, index = values((7, *rest), dtype), RANDOM.integers(0, 7, (4, 5))
    update = values((4, 5, *rest), dtype)
    expected = raw.astype(np.float32) if np.dtype(dtype).itemsize == 2 and np.dtype(dtype).kind in "fV" else raw.copy()
    with np.errstate(over="ignore"):                             # unsigned sums wrap
        for place in np.ndindex(4, 5):
            expected[index[place]] += update[place].astype(expected.dtype)
    assert_fresh(scatter_add(raw, index, update), expected.astype(dtype), raw, update)
    assert_fresh(scatter_add(raw[::-1], index, update[::-1]), scatter_add(raw[::-1].copy(), index, update[::-1].copy()))


@pytest.mark.serial
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cols", [1, 64])
def test_scatter_add_adds_in_order_for_any_number_of_threads(dtype, cols):
    count, before = 300_000 // cols, threads.num_threads()
    raw, update = RANDOM.standard_normal((100, cols)).astype(dtype), RANDOM.standard_normal((count, cols)).astype(dtype)
    index = RANDOM.integers(0, 100, count)
    expected = raw.copy()
    np.add.at(expected, index, update)                           # unbuffered, in order
    try:
        for number in (1, 2, 5):
            threads.set_num_threads(number)
            np.testing.assert_array_equal(scatter_add(raw, index, update), expected, strict=True)
    finally:
        threads.set_num_threads(before)


@given(rows=st.integers(1, 40), cols=st.integers(1, 40), count=st.integers(1, 300), seed=st.integers(0, 9))
def test_rows_of_tables_are_read_and_summed_between_guards(rows, cols, count, seed):
    random, held = np.random.default_rng(seed), []

    def empty(shape, dtype):
        size = int(np.prod(shape))
        whole = np.full(size + 128, 77, dtype)
        held.append((whole, size))
        return whole[64:64 + size].reshape(shape)
    table, places = random.standard_normal((rows, cols)).astype(np.float32), random.integers(0, rows, count)
    values = random.integers(-9, 10, (count, cols)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "empty", empty)
        found, total = gather(table, places), sum_rows(places, values, rows)
    wanted = np.zeros((rows, cols))
    np.add.at(wanted, places, values)
    assert np.array_equal(found, table[places]) and np.array_equal(total, wanted)
    assert held and all((whole[:64] == 77).all() and (whole[64 + size:] == 77).all() for whole, size in held)


def test_scatter_and_scatter_add_of_nothing():
    raw, none = values((3, 2), np.float32), np.zeros(0, np.int64)
    for function in (scatter, scatter_add):
        assert_fresh(function(raw, none, np.zeros((0, 2), np.float32)), raw, raw)
        assert function(raw[:0], none, np.zeros((0, 2), np.float32)).shape == (0, 2)


@each_dtype
@pytest.mark.parametrize("rest", [(), (3,)], ids=str)
def test_compress_keeps_rows_where_the_mask_is_true(rest, dtype):
    raw, mask = values((9, *rest), dtype), np.arange(9) % 3 == 0
    for form in (raw, raw[::-1]):
        assert_fresh(compress(mask, form), np.compress(mask, form, axis=0), raw)
    assert compress(np.zeros(9, bool), raw).shape == (0, *rest)


def test_nonzero_gives_int64_places_in_c_order():
    for mask in (RANDOM.random((3, 4, 5)) > 0.5, np.zeros((2, 2), bool), RANDOM.random((4, 3)).T > 0.5):
        found = nonzero(mask)
        assert all(place.dtype == np.int64 for place in found)
        np.testing.assert_array_equal(np.stack(found, 1), np.argwhere(mask))
