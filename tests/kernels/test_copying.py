"""Copies by tiles, against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
