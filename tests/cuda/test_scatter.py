"""Writing by index against NumPy's ufunc.at, and what masks select and take."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb.cuda import runs, runtime
from lucid_nb.cuda.runs import PIECE
from lucid_nb.cuda.sort import CAPACITY

from .conftest import check_launches
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
    raw, index = np.array([1e8, 0, 3e8], np.float32), RANDOM.permutation(np.repeat([0, 2], 2 * PIECE - 1))
    values = RANDOM.uniform(0, 9, index.size).astype(np.float32)
    should = raw.copy()
    np.add.at(should, index, values)                        # one after the other, rounded each time
    np.testing.assert_array_equal(call("scatter_add", raw, index, values), should)


@given(st.lists(st.integers(0, 6 * PIECE), min_size=1, max_size=5), st.integers(1, 3), st.sampled_from([*JOIN]),
       st.sampled_from(["int32", "bool", "complex64"]))
def test_runs_of_any_length_are_joined(lengths, columns, kind, dtype):
    if dtype == "complex64" and kind in ("max", "min"):
        dtype = "float32"
    index = RANDOM.permutation(np.repeat(np.arange(len(lengths)), lengths))
    raw, values = (RANDOM.integers(-1 if kind == "prod" else -9, 2, (rows, columns)).astype(dtype)
                   for rows in (len(lengths), index.size))
    should = raw.copy()
    JOIN[kind].at(should, index, values)
    line = [x.reshape(-1) for x in (raw, values)]
    if kind == "sum":
        np.testing.assert_array_equal(call("scatter_add", raw, index, values), should)
    along = (index[:, None] * columns + np.arange(columns)).reshape(-1)
    np.testing.assert_array_equal(call("scatter_along", kind, line[0], along, line[1], 0), should.reshape(-1))


def test_long_runs_are_summed_in_pieces_that_their_own_length_decides():
    """Where other rows begin and how many columns lie beside changes no bit of a sum, whose pieces round less."""
    length = 5 * PIECE + 3
    values = RANDOM.uniform(0, 1, length).astype(np.float32)
    zeros, one = np.zeros(3, np.float32), np.ones(length, int)
    alone = call("scatter_add", zeros, one, values)
    before = RANDOM.uniform(-1, 1, 2 * PIECE + 1).astype(np.float32)
    mixed = RANDOM.permutation(length + before.size)
    index = np.concatenate([one, np.zeros(before.size, int)])
    places = np.where(mixed < length, 0, 1).argsort(kind="stable")         # each in its order, among the others
    beside = np.empty(mixed.size, np.float32)
    beside[places] = np.concatenate([values, before])
    row = np.empty(mixed.size, int)
    row[places] = index
    assert call("scatter_add", zeros, row, beside)[1] == alone[1]
    np.testing.assert_allclose(alone[1], values.sum(dtype=np.float64), rtol=2e-7)


@given(st.lists(st.integers(1, 6 * PIECE), min_size=1, max_size=4))
def test_pieces_cover_every_place_once_and_none_is_long(lengths):
    index = np.repeat(np.arange(len(lengths)), lengths)
    order = RANDOM.permutation(index.size)
    stops, counts = np.zeros(index.size, int), np.zeros(index.size // PIECE, int)
    placed = np.empty_like(index)
    placed[order] = index
    arrays = [table.from_numpy(x) for x in (placed, order, stops, counts)]
    runtime.launch_each(runs._find_kernel, index.size, index.size, *(x.memory for x in arrays))
    stops, counts = (table.to_numpy(x) for x in arrays[2:])
    begins = np.flatnonzero(stops)
    ends = np.abs(stops[begins])
    np.testing.assert_array_equal(np.append(begins, index.size), np.append(0, ends))
    assert (ends - begins < 2 * PIECE).all() and (index[begins] == index[ends - 1]).all()
    np.testing.assert_array_equal(stops[begins] < 0, np.array(lengths)[index[begins]] >= 2 * PIECE)
    assert sorted(counts[counts > 0]) == sorted(n // PIECE for n in lengths if n >= 2 * PIECE)


def test_launches_of_runs_over_more_than_two_to_the_31_elements(launches):
    x, index = table.empty((10, 4096), np.dtype("float32")), table.empty((1_000_000,), np.dtype("int64"))
    table.scatter_add(x, index, table.empty((1_000_000, 4096), np.dtype("float32")))
    check_launches(launches)


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
