"""Matrix products against NumPy in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb.cuda import gemm
from lucid_nb.cuda.tiles import Layout

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


# --------------------------------------------------------------------------------------------- kernels and layouts
@pytest.fixture
def kernels(monkeypatch):
    """The arguments with which kernels were asked for, each with the kind of the kernel first."""
    asked = []

    def note(module, name, kind):
        found = getattr(module, name)

        def ask(*arguments):
            asked.append((kind, *arguments))
            return found(*arguments)
        monkeypatch.setattr(module, name, ask)
    note(gemm.tiles, "tile_kernel", "tiles")
    note(gemm.skinny, "skinny_kernel", "skinny")
    note(gemm, "_join_kernel", "join")
    gemm.plan.cache_clear()
    gemm._call.cache_clear()
    yield asked
    gemm.plan.cache_clear()
    gemm._call.cache_clear()


def matrix(generator, shape, dtype, is_turned):
    """On the host and on the device, where it lies the other way round if it is turned."""
    host = generator.integers(-4, 5, shape).astype(dtype)
    if not is_turned:
        return host, table.from_numpy(host)
    device = table.from_numpy(np.ascontiguousarray(host.swapaxes(-1, -2)))
    return host, table.permute(device, (*range(host.ndim - 2), host.ndim - 1, host.ndim - 2))


@pytest.mark.parametrize("dtype", [*TOLERANCE, "int8", "int64", "complex64", "complex128"])
@pytest.mark.parametrize("is_turned", [(False, False), (True, True)], ids=["rows", "columns"])
@pytest.mark.parametrize("rows, depth, cols", [(16, 12, 20), (17, 9, 10)], ids=["aligned", "ragged"])
def test_large_tiles_equal_numpy(dtype, rows, depth, cols, is_turned, kernels, monkeypatch):
    monkeypatch.setattr(gemm, "ENOUGH", 1)
    generator = np.random.default_rng(6)
    (a, left), (b, right) = (matrix(generator, shape, dtype, turned) for shape, turned in
                             zip(((rows, depth), (depth, cols)), is_turned))
    got = table.to_numpy(table.matmul(left, right))
    np.testing.assert_array_equal(got, a @ b)
    (kind, _, is_large, a_layout, b_layout, is_whole, _), = kernels
    access = min(4, 16 // a.dtype.itemsize, 4 if a.dtype.itemsize <= 4 else 2) if (rows, depth) == (16, 12) else 1
    assert (kind, is_large) == ("tiles", True)
    assert (a_layout.is_along, b_layout.is_along) == (not is_turned[0], is_turned[1])
    if dtype in ("float32", "float16"):
        assert (a_layout.access, b_layout.access, is_whole) == (access, access, cols % 4 == 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "bool"])
@pytest.mark.parametrize("rows, cols", [(1, 9), (9, 1), (4, 6), (6, 3), (1, 1)])
@pytest.mark.parametrize("is_turned", [(False, False), (True, True)], ids=["rows", "columns"])
def test_few_rows_or_columns_are_split_over_the_depth(dtype, rows, cols, is_turned, kernels):
    generator = np.random.default_rng(7)
    (a, left), (b, right) = (matrix(generator, shape, dtype, turned) for shape, turned in
                             zip(((2, rows, 36), (36, cols)), is_turned))
    got = table.to_numpy(table.matmul(left, right))
    np.testing.assert_array_equal(got, a @ b)
    names = [name for name, *_ in kernels]
    assert names[0] == ("skinny" if min(2 * rows, cols) <= 4 else "tiles")
    assert names[1:] == ["join"] or rows * cols > 6


def test_a_deep_product_is_cut_into_parts_that_are_joined_in_order(kernels):
    generator = np.random.default_rng(8)
    a, b = generator.standard_normal((5, 40)).astype("float32"), generator.standard_normal((40, 6)).astype("float32")
    first, second = matmul(a, b), matmul(a, b)
    assert [name for name, *_ in kernels] == ["tiles", "join", "join"]       # a geometry is planned once
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, a.astype("float64") @ b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("sizes", [(9, 10, 11), (2, 9, 5), (5, 40, 6), (3, 0, 4), (3, 0, 9)])
@pytest.mark.parametrize("activation", ["", "relu"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_linear_adds_the_bias_and_rectifies_before_it_rounds(sizes, activation, dtype):
    rows, depth, cols = sizes
    generator = np.random.default_rng(9)
    a, w, bias = ((generator.integers(-8, 9, shape) / 8).astype(dtype)
                  for shape in ((2, rows, depth), (cols, depth), (cols,)))
    bias[0] = np.nan
    turned = table.permute(table.from_numpy(w), (1, 0))
    got = table.to_numpy(table.linear(table.from_numpy(a), turned, table.from_numpy(bias), activation))
    exact = a.astype("float64") @ w.astype("float64").T + bias
    np.testing.assert_array_equal(got, (np.maximum(exact, 0) if activation else exact).astype(dtype))


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64"])
def test_linear_of_other_dtypes_equals_numpy(dtype):
    generator = np.random.default_rng(10)
    a, b, bias = (generator.integers(0, 3, shape).astype(dtype) for shape in ((5, 6), (6, 7), (7,)))
    got = table.to_numpy(table.linear(*map(table.from_numpy, (a, b, bias))))
    np.testing.assert_array_equal(got, a @ b + bias)


def test_views_that_begin_beside_an_aligned_address_are_read_one_by_one(kernels):
    host = np.arange(24 * 24, dtype="float32").reshape(24, 24) % 7
    device = table.from_numpy(host)
    inner = table.slice(device, (slice(1, 17), slice(1, 17)))
    np.testing.assert_array_equal(table.to_numpy(table.matmul(inner, inner)), host[1:17, 1:17] @ host[1:17, 1:17])
    assert kernels[0][3:5] == (Layout(True, 1), Layout(False, 1))


def test_what_lies_along_no_axis_is_copied():
    host = np.arange(6 * 10.0).reshape(6, 10)
    view = table.slice(table.from_numpy(host), (slice(None), slice(None, None, 2)))
    np.testing.assert_array_equal(table.to_numpy(table.matmul(view, table.permute(view, (1, 0)))),
                                  host[:, ::2] @ host[:, ::2].T)


@pytest.mark.parametrize("shape", [(8, 4096, 4096, 4096), (1, 128, 128, 60000), (1, 1, 50000, 4096), (64, 1, 1, 0)])
def test_a_plan_covers_the_depth_and_fills_a_device(shape, monkeypatch):
    monkeypatch.setattr(gemm, "ENOUGH", 264)
    monkeypatch.setattr(gemm, "LEAST_DEPTH", 256)
    found = gemm.plan.__wrapped__(np.dtype("float32"), *shape)
    depth = shape[-1]
    assert (found.parts - 1) * found.chunk < max(depth, 1) <= found.parts * found.chunk
    assert found.parts == 1 or found.chunk >= 256
