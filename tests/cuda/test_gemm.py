"""Matrix products against NumPy in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table

pytestmark = pytest.mark.cuda_simulator
TOLERANCE = {"float64": 1e-14, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}


def matmul(a, b):
    return table.to_numpy(table.matmul(table.from_numpy(a), table.from_numpy(b)))


@given(sizes=st.tuples(*[st.integers(0, 6)] * 3))
def test_product_of_any_shape_equals_numpy(sizes):
    rows, depth, cols = sizes
    generator = np.random.default_rng(0)
    a, b = generator.integers(-5, 5, (rows, depth)), generator.integers(-5, 5, (depth, cols))
    np.testing.assert_array_equal(matmul(a, b), a @ b)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_floats_accumulate_in_float32_or_wider(dtype):
    generator = np.random.default_rng(1)
    a, b = (generator.random(shape).astype(dtype) for shape in ((5, 7), (7, 6)))
    got = matmul(a, b)
    assert got.dtype == a.dtype
    np.testing.assert_allclose(got.astype("float64"), a.astype("float64") @ b.astype("float64"), rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool", "complex64"])
def test_integers_wrap_and_bools_are_any_of_both(dtype):
    generator = np.random.default_rng(2)
    a, b = (generator.integers(0, 100, shape).astype(dtype) for shape in ((3, 9), (9, 4)))
    if dtype == "bool":
        a[1] = False
    np.testing.assert_array_equal(matmul(a, b), a @ b)


@pytest.mark.parametrize("left, right", [
    ((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 1), (1, 2)), ((2, 2), (2,)), ((1, 2), (2, 1)), ((0,), (1,)),
])
def test_batches_broadcast(left, right):
    generator = np.random.default_rng(3)
    a, b = generator.standard_normal((*left, 2, 3)), generator.standard_normal((*right, 3, 2))
    got = matmul(a, b)
    np.testing.assert_allclose(got, a @ b, rtol=1e-13)


def test_batches_that_walk_three_ways_are_copied():
    generator = np.random.default_rng(5)
    a, b = generator.standard_normal((2, 3, 2, 2, 3)), generator.standard_normal((2, 1, 2, 3, 1))
    view = table.permute(table.from_numpy(a), (2, 1, 0, 3, 4))
    np.testing.assert_allclose(table.to_numpy(table.matmul(view, table.from_numpy(b))),
                               a.transpose(2, 1, 0, 3, 4) @ b, rtol=1e-13)


def test_transposed_and_sliced_operands_are_read_where_they_lie():
    generator = np.random.default_rng(4)
    a, b = generator.standard_normal((6, 5)), generator.standard_normal((7, 6))
    left = table.permute(table.slice(table.from_numpy(a), (slice(None, None, -1), slice(1, 4))), (1, 0))
    right = table.permute(table.slice(table.from_numpy(b), (slice(2, 7), )), (1, 0))
    np.testing.assert_allclose(table.to_numpy(table.matmul(left, right)), a[::-1, 1:4].T @ b[2:7].T, rtol=1e-13)
