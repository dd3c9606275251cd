"""Matrix products against NumPy, floats in float64."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
RELATIVE = {np.dtype("float16"): 1e-3, BFLOAT16: 8e-3, np.dtype("float32"): 1e-6, np.dtype("complex64"): 1e-6}
RELATIVE |= {} if table.runtime.ON_GPU else {np.dtype("float64"): 1e-15}
EXACT = ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


@st.composite
def operands(draw):
    """Two stacks of matrices whose batch axes broadcast."""
    batch = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3, min_side=0)).input_shapes
    rows, inner, cols = (draw(st.integers(0, 5)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    return (rng.standard_normal((*batch[0], rows, inner)) * 50, rng.standard_normal((*batch[1], inner, cols)) * 50)


def multiply(a, b):
    return table.to_numpy(table.matmul(table.from_numpy(a), table.from_numpy(b)))


@pytest.mark.parametrize("dtype", RELATIVE, ids=str)
@given(pair=operands())
def test_products_of_floats_match_float64(dtype, pair):
    a, b = (x.astype(dtype) for x in pair)
    wide = "complex128" if dtype.kind == "c" else "float64"
    expected = a.astype(wide) @ b.astype(wide)
    got = multiply(a, b)
    assert got.dtype == dtype
    assert got.shape == expected.shape
    scale = np.abs(a.astype(wide)) @ np.abs(b.astype(wide))
    assert (np.abs(got.astype(wide) - expected) <= RELATIVE[dtype] * scale).all()


@pytest.mark.parametrize("dtype", EXACT)
@given(pair=operands())
def test_products_of_integers_wrap_as_numpys(dtype, pair):
    a, b = (x.astype("int64").astype(dtype) for x in pair)
    got = multiply(a, b)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, a @ b)


def test_products_of_integers_are_chunked(monkeypatch):
    monkeypatch.setattr(table.products, "CHUNK", 40)
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2**40, 2**40, (3, 17)), rng.integers(-2**40, 2**40, (17, 4))
    np.testing.assert_array_equal(multiply(a, b), a @ b)


@pytest.mark.parametrize("dtype", [np.dtype("float16"), BFLOAT16], ids=str)
def test_products_of_small_floats_accumulate_in_float32(dtype):
    a, b = np.ones((2, 3000), dtype), np.ones((3000, 2), dtype)
    np.testing.assert_array_equal(multiply(a, b), np.full((2, 2), 3000).astype(dtype))


def test_products_of_transposed_and_reversed_operands():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (5, 7)).astype("float32"), rng.integers(-9, 9, (4, 7)).astype("float32")
    reversed_rows = table.slice(table.from_numpy(a), (slice(None, None, -1),))
    product = table.matmul(reversed_rows, table.permute(table.from_numpy(b), (1, 0)))
    np.testing.assert_array_equal(table.to_numpy(product), a[::-1] @ b.T)
