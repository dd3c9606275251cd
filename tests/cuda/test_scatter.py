"""Writing by index against NumPy's ufunc.at, and what masks select and take."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb.cuda.sort import CAPACITY

from .test_scan import call

pytestmark = pytest.mark.cuda_simulator
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
RANDOM = np.random.default_rng(8)
JOIN = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def along(index, axis):
    """What NumPy needs to index along an axis."""
    places = list(np.indices(index.shape, sparse=True))
    places[axis] = index
    return tuple(places)


@pytest.mark.parametrize("kind", ["set", *JOIN])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_elements_along_an_axis_are_joined_in_order(kind, dtype):
    for shape, axis, count in (((4,), 0, 9), ((3, 4, 2), 1, 6), ((2, 3), 1, 0)):
        raw = RANDOM.integers(0, 5, shape).astype(dtype)
        index = RANDOM.integers(0, shape[axis], (*shape[:axis], count, *shape[axis + 1:]))
        values = RANDOM.integers(0, 5, index.shape).astype(dtype)
        if dtype == "float32" and values.size:
            values.reshape(-1)[3] = np.nan
        should = raw.copy()
        if kind == "set":
            np.put_along_axis(should, index, values, axis)
        else:
            with np.errstate(invalid="ignore"):
                JOIN[kind].at(should, along(index, axis), values)
        np.testing.assert_array_equal(call("scatter_along", kind, raw, index, values, axis), should)
        np.testing.assert_array_equal(call("take_along", raw, index, axis), np.take_along_axis(raw, index, axis))


def test_sums_begin_with_what_is_there_and_go_in_order():
    raw, index = np.array([1e8, 0], np.float32), np.zeros(40, np.int64)
    values = RANDOM.uniform(0, 9, 40).astype(np.float32)
    should = raw.copy()
    np.add.at(should, index, values)                        # one after the other, rounded each time
    np.testing.assert_array_equal(call("scatter_add", raw, index, values), should)


@pytest.mark.parametrize("dtype", ["float16", BFLOAT16], ids=str)
def test_rows_of_halves_are_joined_in_float32(dtype):
    raw, index = np.ones((3, 2), dtype), RANDOM.integers(0, 3, CAPACITY + 9)
    values = RANDOM.uniform(-1, 1, (index.size, 2)).astype(dtype)
    should = raw.astype(np.float32)
    np.add.at(should, index, values.astype(np.float32))
    np.testing.assert_array_equal(call("scatter_add", raw, index, values), should.astype(dtype))


@given(mask=st.lists(st.booleans(), max_size=40).map(lambda found: np.array(found, bool)))
def test_expand_puts_back_what_compress_takes(mask):
    base = RANDOM.standard_normal(mask.size).astype(np.float32)
    values = call("compress", mask, base)
    np.testing.assert_array_equal(values, base[mask])
    should = base.copy()
    should[mask] = 2 * values
    np.testing.assert_array_equal(call("expand", mask, base, 2 * values), should)


@pytest.mark.parametrize("shape", [(0,), (37,), (3, 7), (2, 0, 3), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_nonzero_equals_numpy(shape, dtype):
    raw = RANDOM.integers(-1, 2, shape).astype(dtype)
    found, should = call("nonzero", raw), np.nonzero(raw)
    assert len(found) == len(should) and all(part.dtype == np.int64 for part in found)
    for have, want in zip(found, should):
        np.testing.assert_array_equal(have, want)


def test_places_are_counted_on_strided_masks():
    mask = RANDOM.random((20, 2)) < 0.5
    view = table.slice(table.from_numpy(mask), (slice(None, None, -1), 1))
    np.testing.assert_array_equal(table.to_numpy(table.nonzero(view)[0]), np.nonzero(mask[::-1, 1])[0])
