"""Views of device memory against NumPy's views of host memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import lucid_nb.cuda as table
from lucid_nb.cuda import array as geometry

pytestmark = pytest.mark.cuda_simulator


def numbered(shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


@given(data=st.data(), shape=npst.array_shapes(max_dims=3, max_side=4))
def test_slice_equals_numpy(data, shape):
    host = numbered(shape)
    index = data.draw(npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    index = index if isinstance(index, tuple) else (index,)
    device = table.slice(table.from_numpy(host), index)
    expected = host[(*index, ...) if ... not in index else index]
    assert device.shape == expected.shape
    assert device.size == 0 or device.strides == tuple(s // 4 for s in expected.strides) or 1 in device.shape
    np.testing.assert_array_equal(table.to_numpy(device), expected)


@pytest.mark.parametrize("index", [(slice(None, None, -1),), (slice(3, 0, -2), None, -1), (Ellipsis, 1), (-1, -2)])
def test_slice_shares_memory_and_is_written_through(index):
    host = numbered((4, 5))
    device = table.from_numpy(host)
    table.assign(table.slice(device, index), table.full((1,), -7, np.dtype("float32")))
    host[index] = -7
    np.testing.assert_array_equal(table.to_numpy(device), host)


def test_slice_of_a_slice_adds_offsets():
    host = numbered((6, 5))
    once = table.slice(table.from_numpy(host), (slice(5, 1, -1), slice(1, None, 2)))
    np.testing.assert_array_equal(table.to_numpy(table.slice(once, (slice(None, None, -2), 1))),
                                  host[5:1:-1, 1::2][::-2, 1])


def test_permute_and_broadcast_are_views():
    host = numbered((2, 3, 1))
    device = table.from_numpy(host)
    moved = table.permute(device, (2, 0, 1))
    wide = table.broadcast_to(device, (4, 2, 3, 5))
    assert moved.memory is device.memory and wide.memory is device.memory
    np.testing.assert_array_equal(table.to_numpy(moved), host.transpose(2, 0, 1))
    np.testing.assert_array_equal(table.to_numpy(wide), np.broadcast_to(host, (4, 2, 3, 5)))


@pytest.mark.parametrize("shape, axes, new, is_view", [
    ((2, 3, 4), (0, 1, 2), (6, 4), True), ((2, 3, 4), (1, 0, 2), (3, 8), False),
    ((2, 3, 4), (1, 0, 2), (3, 2, 2, 2), True), ((2, 3, 4), (2, 0, 1), (4, 6), True),
    ((0, 3), (1, 0), (3, 0, 2), True), ((), (), (1, 1), True),
])
def test_reshape_is_a_view_where_numpy_gives_one(shape, axes, new, is_view):
    host = numbered(shape).transpose(axes)
    device = table.permute(table.from_numpy(numbered(shape)), axes)
    result = table.reshape(device, new)
    assert (result.memory is device.memory) == is_view
    np.testing.assert_array_equal(table.to_numpy(result), host.reshape(new))


def test_reshape_of_a_view_with_offset_keeps_it():
    host = numbered((5, 4))
    device = table.slice(table.from_numpy(host), (slice(2, 4),))
    np.testing.assert_array_equal(table.to_numpy(table.reshape(device, (8,))), host[2:4].reshape(8))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "complex128"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_round_trip_keeps_bits(dtype, shape):
    host = np.ones(shape, "float32").astype(dtype)
    back = table.to_numpy(table.from_numpy(host))
    assert back.dtype == host.dtype and back.shape == shape and back.tobytes() == host.tobytes()
    assert table.dtype_of(table.from_numpy(host)) == host.dtype


def test_dtype_of_the_device_is_its_own_object():
    device = table.from_numpy(np.ones(3, "float32"))
    assert device.dtype is table.full((2,), 1, np.dtype("float32")).dtype
    assert device.dtype != np.dtype("float32") and table.dtype_of(device) == np.dtype("float32")


def test_collapse_walks_the_same_elements():
    host = np.lib.stride_tricks.as_strided(np.arange(200), (2, 3, 1, 4, 5), tuple(8 * s for s in (60, 20, 7, 5, 1)))
    sizes, (strides,) = geometry.collapse(host.shape, (tuple(s // 8 for s in host.strides),))
    assert sizes == (120,) and strides == (1,)
    sizes, strides = geometry.collapse((2, 3, 4), ((12, 4, 1), (1, 2, 6)))
    assert sizes == (2, 3, 4) and strides == ((12, 4, 1), (1, 2, 6))
