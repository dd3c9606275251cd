"""Copies by tiles and past the caches, against NumPy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb import kernels
from lucid_nb.kernels import copying


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(2, 3), (33, 65), (127, 128), (3, 40, 50), (2, 3, 40, 50), (1, 200, 1, 70)])
def test_transposed_copies_equal_numpys(shape, dtype):
    raw = (np.arange(np.prod(shape)) % 251).astype(dtype).reshape(shape)
    for view in (raw.T, np.swapaxes(raw, -1, -2), raw[..., ::-1], np.swapaxes(raw, -1, -2)[..., 1:, :]):
        found = copying.copy(view)
        assert found.flags.c_contiguous and found.dtype == view.dtype and (found == view).all()
        assert not np.may_share_memory(found, raw)


@pytest.mark.parametrize("rows, cols", [(64, 64), (65, 97), (4096, 2), (2, 4096), (31, 400)])
def test_nothing_outside_the_target_is_written(rows, cols, monkeypatch):
    guarded = np.full(rows * cols + 128, 77, "f4")
    monkeypatch.setattr(copying.memory, "empty", lambda shape, dtype: guarded[64:-64].reshape(shape))
    raw = np.arange(rows * cols, dtype="f4").reshape(cols, rows)
    assert (copying.copy(raw.T) == raw.T).all()
    assert (guarded[:64] == 77).all() and (guarded[-64:] == 77).all()


@given(st.lists(st.integers(1, 4), min_size=0, max_size=4).map(tuple), st.randoms(use_true_random=False))
def test_coalesced_axes_walk_the_same_elements_in_the_same_order(shape, random):
    axes = list(range(len(shape)))
    random.shuffle(axes)
    first = np.arange(np.prod(shape, dtype=int)).reshape([shape[a] for a in axes])
    first = first.transpose(np.argsort(axes)) if axes else first
    second = np.broadcast_to(np.arange(shape[-1]) if shape else np.array(0), shape)
    sizes, strides = copying.coalesce(shape, [first.strides, second.strides])
    for array, joined in ((first, strides[0]), (second, strides[1])):
        walked = np.lib.stride_tricks.as_strided(array, sizes, joined)
        assert walked.ravel().tolist() == array.ravel().tolist()
    assert len(sizes) == 1 or 1 not in sizes


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128", "datetime64[ns]"])
@pytest.mark.parametrize("more", [0, 3])
def test_large_copies_are_stored_past_the_caches(dtype, more, draw, count):
    """From memory that begins anywhere, and of a row of any length that is repeated."""
    size = copying.STREAMED // np.dtype(dtype).itemsize + more
    raw = draw.integers(0, 100, size + 9).astype(dtype)
    for source in (raw[:size], raw[1:size + 1], np.frombuffer(raw.tobytes()[1:][:size * raw.itemsize], dtype)):
        found = copying.copy(source)
        assert found.tobytes() == source.tobytes() and not np.shares_memory(found, source)
    for row in ((), (1,), (7,), (16,)):
        source = np.broadcast_to(raw[5:5 + math.prod(row)].reshape(row), (size // math.prod(row) + 1, *row))
        assert copying.copy(source).tobytes() == source.tobytes()


def test_large_full_arrays_are_numpys():
    for shape in ((1 << 20,), (3, 1 << 19), (1 << 17, 5, 2)):
        for value, dtype in ((1, np.float64), (2.5, np.float32), (np.nan, np.float64), (1 + 2j, np.complex64)):
            np.testing.assert_array_equal(kernels.full(shape, value, np.dtype(dtype)), np.full(shape, value, dtype))
