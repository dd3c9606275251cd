"""Movement and indexing against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(name) for name in ("bool", "uint8", "int64", "float16", "float32", "complex64")] + [BFLOAT16]
SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
all_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def counted(shape, dtype="float32"):
    """An array whose elements tell where they were."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def check(raw, expected):
    """Same shape, dtype and elements."""
    got = table.to_numpy(raw)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@given(st.data())
def test_slice_and_put_slice_are_numpys(data):
    shape = data.draw(SHAPES)
    index = data.draw(arrays.basic_indices(shape, allow_newaxis=True))
    index = index if isinstance(index, tuple) else (index,)
    array = counted(shape)
    raw = table.from_numpy(array)
    expected = array[(*index, ...) if Ellipsis not in index else index]
    check(table.slice(raw, index), expected)
    value = -1 - counted(expected.shape)
    written = array.copy()
    written[index] = value
    check(table.put_slice(raw, index, table.from_numpy(value)), written)
    check(raw, array)


@pytest.mark.parametrize("index", [(slice(None, None, -1),), (slice(5, -9, -2), None, 1), (..., slice(3, 1)),
                                   (slice(-100, 100), ..., slice(None, None, -3)), (np.int64(1), ...)])
def test_slices_with_negative_steps_and_far_bounds(index):
    array = counted((4, 5))
    check(table.slice(table.from_numpy(array), index), array[index])


def test_put_slice_broadcasts_its_value():
    array = counted((3, 4))
    written = array.copy()
    written[::-2, 1:] = np.float32([7, 8, 9])
    check(table.put_slice(table.from_numpy(array), (slice(None, None, -2), slice(1, None)),
                          table.from_numpy(np.float32([7, 8, 9]))), written)


@given(st.data())
def test_reshape_permute_and_broadcast_are_numpys(data):
    array = counted(data.draw(SHAPES))
    axes = tuple(data.draw(st.permutations(range(array.ndim))))
    raw = table.permute(table.from_numpy(array), axes)
    check(raw, array.transpose(axes))
    flat = table.reshape(raw, (array.size,))
    check(flat, array.transpose(axes).reshape(-1))
    check(table.reshape(flat, array.shape), array.transpose(axes).reshape(array.shape))
    wider = (2, *(3 if size == 1 else size for size in array.shape))
    check(table.broadcast_to(table.from_numpy(array), wider), np.broadcast_to(array, wider))


@all_dtypes
def test_movement_keeps_every_dtype(dtype):
    array = counted((2, 3), dtype)
    raw = table.from_numpy(array)
    check(table.permute(raw, (1, 0)), array.T)
    check(table.concatenate([raw, raw, raw[:, :0]], 1), np.concatenate([array, array], 1))
    check(table.pad(raw, [(1, 0), (0, 2)], 1), np.pad(array, [(1, 0), (0, 2)], constant_values=1))
    check(table.gather(raw, table.from_numpy(np.array([[1, 1], [0, 1]]))), array[[[1, 1], [0, 1]]])
    check(table.scatter(raw, table.from_numpy(np.array([0])), table.from_numpy(array[1:])), array[[1, 1]])


def test_pad_takes_infinity_and_empty_arrays():
    array = np.zeros((0, 2), "float32")
    check(table.pad(table.from_numpy(array), [(2, 1), (0, 0)], -np.inf), np.full((3, 2), -np.inf, "float32"))


@given(st.data())
def test_gather_and_scatters_are_numpys(data):
    rest = data.draw(arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    count = data.draw(st.integers(1, 5))
    array = counted((count, *rest))
    index = data.draw(arrays.arrays("int64", arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=6),
                                    elements=st.integers(0, count - 1)))
    values = 100 + counted(index.shape + rest)
    raws = [table.from_numpy(x) for x in (array, index, values)]
    check(table.gather(*raws[:2]), array[index])
    written, added = array.copy(), array.copy()
    written[index] = values
    np.add.at(added, index, values)
    check(table.scatter(*raws), written)
    check(table.scatter_add(*raws), added)
    check(raws[0], array)


@all_dtypes
def test_scatter_add_of_every_dtype(dtype):
    array, index = counted((4, 2), dtype), np.array([1, 3, 1])
    values = np.ones((3, 2), dtype)
    added = array.copy()
    np.add.at(added, index, values)
    check(table.scatter_add(*[table.from_numpy(x) for x in (array, index, values)]), added)


def test_many_equal_indices_keep_the_last_and_add_in_order():
    rng = np.random.default_rng(0)
    index, values = rng.integers(0, 50, 20_000), rng.standard_normal((20_000, 3)).astype("float32")
    array = np.zeros((50, 3), "float32")
    raws = [table.from_numpy(x) for x in (array, index, values)]
    written, added = array.copy(), array.copy()
    written[index] = values
    np.add.at(added, index, values)
    check(table.scatter(*raws), written)
    check(table.scatter_add(*raws), added)


@pytest.mark.parametrize("dtype", [np.dtype("float16"), BFLOAT16], ids=str)
def test_scatter_add_of_small_floats_adds_in_float32(dtype):
    index, values = np.zeros(3000, "int64"), np.ones(3000, dtype)
    got = table.scatter_add(*[table.from_numpy(x) for x in (np.zeros(2, dtype), index, values)])
    check(got, np.array([3000, 0]).astype(dtype))


@given(st.data())
def test_compress_and_nonzero_are_numpys(data):
    mask = data.draw(arrays.arrays("bool", arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)))
    got, expected = table.nonzero(table.from_numpy(mask)), np.nonzero(mask)
    assert len(got) == len(expected)
    for one, other in zip(got, expected):
        check(one, other)
    rows = mask.any(axis=tuple(range(1, mask.ndim)))
    array = counted((len(rows), 2))
    check(table.compress(table.from_numpy(rows), table.from_numpy(array)), array[rows])


@pytest.mark.parametrize("kind, function", [("max", np.maximum), ("min", np.minimum)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extremes_that_meet_in_one_place_keep_nan(dtype, kind, function):
    raw = np.array([np.nan, 1, 2, 3], dtype)
    index, values = np.array([0, 1, 1, 2]), np.array([5, np.nan, 0, -1], dtype)
    wanted = raw.copy()
    with np.errstate(invalid="ignore"):
        function.at(wanted, index, values)
    found = table.scatter_along(kind, *map(table.from_numpy, (raw, index, values)), 0)
    np.testing.assert_array_equal(table.to_numpy(found), wanted)


@pytest.mark.parametrize("shape, index", [((3, 0), (slice(None, 1), slice(0, 0))), ((4, 0, 2), (0, slice(None), 1)),
                                          ((3, 2), (slice(2, 2),)), ((2,), (None, slice(0, 0), None))])
def test_regions_of_no_elements_are_written(shape, index):
    x = np.ones(shape, "float32")
    found = table.put_slice(table.from_numpy(x), index, table.from_numpy(x[index]))
    np.testing.assert_array_equal(table.to_numpy(found), x)


@pytest.mark.parametrize("name", ["diag", "diagonal", "trace"])
def test_diagonals_of_empty_arrays_have_gradients(name):
    import lucid_nb as lnb
    x = lnb.zeros((0, 3), device="mlx", requires_grad=True)
    getattr(lnb, name)(x).sum().backward()
    assert x.grad.shape == (0, 3)
