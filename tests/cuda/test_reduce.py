"""Reductions and positions against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table

pytestmark = pytest.mark.cuda_simulator
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
KINDS = ("sum", "prod", "max", "min", "any", "all")


def reduce(kind, host, axes, keepdims=False, dtype=None):
    dtype = np.dtype(dtype or ("bool" if kind in ("any", "all") else host.dtype))
    result = table.reduce(kind, table.from_numpy(host), axes, keepdims, dtype)
    assert table.dtype_of(result) == dtype
    return table.to_numpy(result)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_reduce_equals_numpy_over_any_axes(kind, axes):
    host = np.random.default_rng(0).standard_normal((3, 4, 5)).astype("float32")
    host[1] = 0
    expected = getattr(np, kind)(host.astype("float64"), axis=axes)
    np.testing.assert_allclose(reduce(kind, host, axes), expected, rtol=1e-5, atol=1e-6)


@given(shape=st.tuples(*[st.integers(0, 4)] * 3), axis=st.integers(0, 2), keepdims=st.booleans())
def test_sum_of_any_shape_equals_numpy(shape, axis, keepdims):
    host = np.random.default_rng(1).integers(-9, 9, shape)
    np.testing.assert_array_equal(reduce("sum", host, (axis,), keepdims), host.sum(axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", BFLOAT16, "float64", "complex64"], ids=str)
def test_dtypes_accumulate_in_the_result_dtype_or_wider(dtype):
    host = np.random.default_rng(2).integers(0, 100, (2, 40)).astype(dtype)
    result = {"b": "int64", "i": "int64", "u": "uint64"}.get(host.dtype.kind, host.dtype)
    with np.errstate(over="ignore"):
        expected = host.astype("complex128").sum(1).astype(result) if host.dtype.kind == "c" else host.astype(
            "float64").sum(1).astype(result)
    np.testing.assert_array_equal(reduce("sum", host, (1,), dtype=result), expected)
    if host.dtype.kind != "c":
        np.testing.assert_array_equal(reduce("max", host, (1,)), host.max(1))
    np.testing.assert_array_equal(reduce("all", host, (1,)), host.astype(bool).all(1))


def test_extremes_let_nan_win_and_keep_infinities():
    host = np.array([[1, np.nan, 3], [-np.inf, -np.inf, -np.inf], [np.inf, 2, -np.inf]], "float32")
    for kind in ("max", "min"):
        np.testing.assert_array_equal(reduce(kind, host, (1,)), getattr(host, kind)(1))


def test_long_axis_is_cut_into_chunks_with_the_same_result():
    host = np.random.default_rng(3).standard_normal(101)
    np.testing.assert_allclose(reduce("sum", host, (0,)), host.sum(), rtol=1e-14)
    np.testing.assert_array_equal(reduce("max", host, (0,)), host.max())


def test_empty_axis_gives_the_identity():
    host = np.zeros((2, 0, 3), "float32")
    np.testing.assert_array_equal(reduce("sum", host, (1,)), np.zeros((2, 3)))
    np.testing.assert_array_equal(reduce("prod", host, (1,)), np.ones((2, 3)))
    np.testing.assert_array_equal(reduce("all", host, (0, 1)), host.all((0, 1)))


def test_transposed_view_is_reduced_where_it_lies():
    host = np.arange(12.0).reshape(3, 4)
    view = table.permute(table.from_numpy(host), (1, 0))
    np.testing.assert_array_equal(table.to_numpy(table.reduce("sum", view, (0,), False, np.dtype("float64"))),
                                  host.T.sum(0))


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_arg_reduce_takes_the_first_and_prefers_nan(kind, axis):
    host = np.random.default_rng(4).integers(0, 3, (3, 9, 2)).astype("float32")
    host[1, 4, 0] = host[1, 7, 0] = np.nan
    got = table.arg_reduce(kind, table.from_numpy(host), axis, True)
    assert table.dtype_of(got) == np.int64
    np.testing.assert_array_equal(table.to_numpy(got), getattr(np, f"arg{kind}")(host, axis=axis, keepdims=True))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float16", BFLOAT16], ids=str)
def test_arg_reduce_of_every_dtype(dtype):
    host = np.array([[3, 1, 3, 0, 0], [0, 0, 0, 0, 0]]).astype(dtype)
    for kind in ("max", "min"):
        got = table.to_numpy(table.arg_reduce(kind, table.from_numpy(host), 1, False))
        np.testing.assert_array_equal(got, getattr(np, f"arg{kind}")(host.astype("float32"), axis=1))


def test_arg_reduce_of_only_the_lowest_value_is_the_first():
    host = np.full((1, 20), -np.inf)
    np.testing.assert_array_equal(table.to_numpy(table.arg_reduce("max", table.from_numpy(host), 1, False)), [0])
