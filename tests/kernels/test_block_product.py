"""Products of blocks and panels of columns at every vector width, against NumPy."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb.kernels import block_product, threads
from lucid_nb.kernels.emission import lanes

GUARD = 7.0
SIZES = st.integers(1, 40)


def packed(x, dtype):
    """The rows of (heads, count, size) as columns of panels."""
    heads, count, size = x.shape
    columns = block_product.width(dtype)
    panels, deep = -(-count // columns), -(-size // lanes(dtype)) * lanes(dtype)
    found = np.full((heads * panels * deep * columns + 2,), GUARD, dtype)
    steps = [step // x.itemsize for step in x.strides]
    threads.launch(block_product.packing(dtype), heads * panels, 1 << 30, x, found[1:], count, size, panels, heads, 0,
                   *steps[:2])
    assert found[0] == found[-1] == GUARD
    return found[1:-1].reshape(heads, panels, deep, columns)


def multiply(rows, cols, depth, a, a_steps, b, b_row, b_panel, c, c_row, add):
    """Call the product."""
    kinds = [{"i": ctypes.c_int64, "p": ctypes.c_void_p}[letter] for letter in "iiipiipiipii"]
    function = ctypes.CFUNCTYPE(None, *kinds)(block_product.product(a.dtype.name))
    function(rows, cols, depth, a.ctypes.data, *a_steps, b.ctypes.data, b_row, b_panel, c.ctypes.data, c_row, add)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(data=st.data())
def test_product_of_blocks(width, dtype, data):
    rows, cols, depth, add = data.draw(SIZES), data.draw(SIZES), data.draw(SIZES), data.draw(st.booleans())
    transposed, gap = data.draw(st.booleans()), data.draw(st.integers(0, 3))
    random = np.random.default_rng(rows * 1600 + cols * 40 + depth)
    a, b = (random.standard_normal(shape).astype(dtype) for shape in ((rows, depth), (depth, cols)))
    c = np.full((rows, cols + gap), GUARD, dtype)
    c[:, :cols] = before = random.standard_normal((rows, cols)).astype(dtype)
    expected = a.astype(float) @ b.astype(float) + add * before
    stored = np.asfortranarray(a) if transposed else a
    steps = [step // a.itemsize for step in stored.strides]
    bound = 4 * np.finfo(dtype).eps * (np.abs(a).astype(float) @ np.abs(b) + np.abs(before))
    if data.draw(st.booleans()):
        b = packed(np.ascontiguousarray(b.T)[None], dtype)
        multiply(rows, cols, depth, stored, steps, b, b.shape[-1], b[0, 0].size, c, c.shape[1], add)
    else:
        multiply(rows, cols, depth, stored, steps, b, cols, block_product.width(dtype), c, c.shape[1], add)
    assert np.all(np.abs(c[:, :cols] - expected) <= bound * np.sqrt(depth))
    assert np.all(c[:, cols:] == GUARD)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(count=SIZES, size=SIZES, heads=st.integers(1, 3))
def test_panels_hold_rows_as_columns(width, dtype, count, size, heads):
    x = np.random.default_rng(count).standard_normal((heads, count, size)).astype(dtype)
    found = packed(x, dtype)[:, :, :size].transpose(0, 1, 3, 2).reshape(heads, -1, size)
    np.testing.assert_array_equal(found[:, :count], x)
    assert not found[:, count:].any()
