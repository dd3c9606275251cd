"""Indexing rows against NumPy, repeated indices included."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table

pytestmark = pytest.mark.cuda_simulator
ROWS = np.random.default_rng(0).standard_normal((6, 2, 3)).astype("float32")
indices = st.lists(st.integers(0, 5), max_size=12).map(lambda found: np.array(found, "int64"))


def call(entry, *hosts):
    result = getattr(table, entry)(*map(table.from_numpy, hosts))
    return tuple(map(table.to_numpy, result)) if isinstance(result, tuple) else table.to_numpy(result)


@given(index=indices)
def test_gather_equals_numpy(index):
    np.testing.assert_array_equal(call("gather", ROWS, index), ROWS[index])


def test_gather_takes_an_index_of_any_shape_and_a_strided_array():
    index = np.array([[0, 5, 2], [2, 2, 1]])
    np.testing.assert_array_equal(call("gather", ROWS, index), ROWS[index])
    np.testing.assert_array_equal(call("gather", ROWS[:, 0, 0].copy(), np.array(3)), ROWS[3, 0, 0])
    view = table.slice(table.from_numpy(ROWS), (slice(None, None, -1), 1))
    np.testing.assert_array_equal(table.to_numpy(table.gather(view, table.from_numpy(index))), ROWS[::-1, 1][index])


@given(index=indices)
def test_scatter_lets_the_last_of_equal_indices_win(index):
    values = np.random.default_rng(1).standard_normal((index.size, 2, 3)).astype("float32")
    expected = ROWS.copy()
    expected[index] = values
    np.testing.assert_array_equal(call("scatter", ROWS, index, values), expected)


@given(index=indices)
def test_scatter_add_adds_in_order(index):
    values = np.random.default_rng(2).integers(-50, 50, (index.size, 2, 3)).astype("float32")
    expected = ROWS.astype("float64")
    np.add.at(expected, index, values)
    np.testing.assert_allclose(call("scatter_add", ROWS, index, values), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "bfloat16", "complex64"])
def test_dtypes_of_scatter_add(dtype):
    raw, index = np.zeros((3, 2), dtype), np.array([1, 1, 2, 1])
    values = np.arange(8).reshape(4, 2).astype(dtype)
    expected = raw.astype("complex128")
    np.add.at(expected, index, values.astype("complex128"))
    expected = expected if dtype == "complex64" else expected.real
    np.testing.assert_array_equal(call("scatter_add", raw, index, values), expected.astype(dtype))


def test_half_sums_accumulate_in_float32():
    values = np.full((3000, 1), 1, ml_dtypes.bfloat16)
    got = call("scatter_add", np.zeros((1, 1), ml_dtypes.bfloat16), np.zeros(3000, "int64"), values)
    assert float(got[0, 0]) == float(np.float32(3000).astype(ml_dtypes.bfloat16))


@given(mask=st.lists(st.booleans(), min_size=6, max_size=6).map(np.array))
def test_compress_equals_numpy(mask):
    np.testing.assert_array_equal(call("compress", mask, ROWS), ROWS[mask])


@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3), ()])
def test_nonzero_equals_numpy(shape):
    mask = np.random.default_rng(3).random(shape) < 0.5
    mask = np.asarray(mask)
    got, expected = call("nonzero", np.atleast_1d(mask)), np.nonzero(np.atleast_1d(mask))
    assert len(got) == len(expected) and all(part.dtype == np.int64 for part in got)
    for have, want in zip(got, expected):
        np.testing.assert_array_equal(have, want)
