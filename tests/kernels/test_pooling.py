"""Kernels of pools against their definition in float64, with guards around what they write."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lucid_nb import config, windows
from lucid_nb.kernels import memory, pooling, threads
from lucid_nb.kernels.whole_planes import average_planes
from tests import naive_pools

RANDOM = np.random.default_rng(11)
GUARD = 64


HELD = []


def guarded(shape, dtype):
    """Memory between guards, full of what no result is."""
    count, dtype = int(np.prod(shape)), np.dtype(dtype)
    buffer = np.full((count + 2 * GUARD) * dtype.itemsize, 0xA5, np.uint8)
    HELD.append((buffer, GUARD * dtype.itemsize))
    return buffer.view(dtype)[GUARD:GUARD + count].reshape(shape)


def check_guards():
    """Nothing was written outside results."""
    for buffer, width in HELD:
        assert (buffer[:width] == 0xA5).all() and (buffer[-width:] == 0xA5).all()
    HELD.clear()


@pytest.fixture(autouse=True, scope="module")
def guards():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "empty", guarded)
        yield
    check_guards()


@st.composite
def geometries(draw, dilated=True):
    """Sizes, kernel, stride, padding, dilation, ceil_mode that fit."""
    ndim = draw(st.integers(1, 3))
    most = (40, 20, 8)[ndim - 1]
    each = [(draw(st.integers(1, most)), draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.integers(0, 3)),
             draw(st.integers(1, 3)) if dilated else 1) for _ in range(ndim)]
    sizes, kernel, stride, padding, dilation = map(tuple, zip(*each))
    try:
        axes = windows.pool_axes("pool", sizes, kernel, stride, padding, dilation, ceil := draw(st.booleans()))
    except windows.ShapeError:
        assume(False)
    return sizes, axes, naive_pools.pools(sizes, kernel, stride, padding, dilation, ceil), padding


@given(geometries(), st.sampled_from(["float32", "float64", "int8", "int64", "bool"]), st.integers(0, 3),
       st.booleans())
def test_maxima_are_those_of_the_definition(geometry, dtype, planes, awkward):
    sizes, axes, (results, each), _ = geometry
    x = RANDOM.integers(0, 5, (planes, *sizes)).astype(dtype)
    if awkward and x.dtype.kind == "f":
        x[RANDOM.random(x.shape) < 0.1] = np.nan
        x[RANDOM.random(x.shape) < 0.3] = -np.inf
    values, places = pooling.max_pool(x, axes)
    wanted, where = naive_pools.max_pool(x, sizes, results, each)
    assert np.array_equal(values, wanted, equal_nan=x.dtype.kind == "f") and np.array_equal(places, where)
    g = RANDOM.standard_normal(values.shape).astype("float32")
    slopes = np.zeros((planes, int(np.prod(sizes))))
    for plane in range(planes):
        np.add.at(slopes[plane], places[plane].ravel(), g[plane].ravel())
    found = pooling.max_pool_grad(g, places, axes)
    assert np.allclose(found, slopes.reshape(x.shape), rtol=1e-5, atol=1e-5)
    check_guards()


@given(geometries(dilated=False), st.sampled_from(["float32", "float64"]), st.booleans(),
       st.sampled_from([None, None, 3, -2]))
def test_averages_are_those_of_the_definition(geometry, dtype, include_padding, divisor):
    sizes, axes, (results, each), padding = geometry
    matrix = naive_pools.avg_matrix(sizes, results, each, padding, include_padding, divisor)
    x, g = (RANDOM.standard_normal((2, *shape)).astype(dtype) for shape in (sizes, results))
    found = pooling.avg_pool(x, axes, include_padding, divisor)
    eps = np.finfo(dtype).eps
    for array, map_, result in ((x, matrix, found),
                                (g, matrix.T, pooling.avg_pool_grad(g, axes, include_padding, divisor))):
        flat = array.reshape(2, -1).astype(np.float64)
        size = np.abs(flat) @ np.abs(map_).T
        assert result.dtype == dtype
        assert np.all(np.abs(result.reshape(2, -1) - flat @ map_.T) <= 8 * eps * size + 1e-300)
    check_guards()


@pytest.mark.parametrize("sizes, counts", [((7,), (5,)), ((13, 7), (6, 5)), ((9, 8), (1, 1)), ((5, 6, 7), (2, 4, 7)),
                                           ((3,), (5,)), ((50, 1), (1, 1))], ids=str)
def test_adaptive_pools_are_those_of_the_definition(sizes, counts):
    axes = windows.adaptive_axes("pool", sizes, counts)
    x = RANDOM.standard_normal((3, *sizes)).astype("float32")
    values, places = pooling.max_pool(x, axes)
    means = pooling.avg_pool(x, axes, True, None)
    for index in np.ndindex(*counts):
        cut = tuple(slice(i * n // c, -(-(i + 1) * n // c)) for i, n, c in zip(index, sizes, counts))
        read = x[(slice(None), *cut)].reshape(3, -1)
        assert np.array_equal(values[(slice(None), *index)], read.max(1))
        assert np.allclose(means[(slice(None), *index)], read.mean(1, dtype=np.float64), rtol=1e-5, atol=1e-6)
    assert np.array_equal(np.take_along_axis(x.reshape(3, -1), places.reshape(3, -1), 1).ravel(), values.ravel())


@pytest.mark.parametrize("sizes, counts", [((1, 2), (8, 4)), ((1, 9), (3, 4)), ((1, 1, 5), (2, 3, 2))], ids=str)
def test_adaptive_rows_that_read_one_line_are_all_written(sizes, counts):
    axes = windows.adaptive_axes("pool", sizes, counts)
    x = RANDOM.standard_normal((3, *sizes)).astype("float32")
    bounds = [[range(i * n // c, -(-(i + 1) * n // c)) for i in range(c)] for n, c in zip(sizes, counts)]
    each = [(index, [cells[i] for cells, i in zip(bounds, index)]) for index in np.ndindex(*counts)]
    values, places = pooling.max_pool(x, axes)
    wanted, where = naive_pools.max_pool(x, sizes, counts, each)
    assert np.array_equal(values, wanted) and np.array_equal(places, where)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes, kernel, stride, padding", [
    ((1, 9), (2, 3), (1, 2), (1, 1)), ((1, 40), (2, 2), (1, 1), (1, 0)), ((1, 1, 7), (2, 2, 3), (1, 1, 2), (1, 1, 1))])
def test_rows_that_read_one_line_are_all_written(sizes, kernel, stride, padding, dtype):
    one = (1,) * len(sizes)
    axes = windows.pool_axes("pool", sizes, kernel, stride, padding, one, False)
    results, each = naive_pools.pools(sizes, kernel, stride, padding, one, False)
    assert results[0] > 1
    x, g = (RANDOM.standard_normal((3, *shape)).astype(dtype) for shape in (sizes, results))
    values, places = pooling.max_pool(x, axes)
    wanted, where = naive_pools.max_pool(x, sizes, results, each)
    assert np.array_equal(values, wanted) and np.array_equal(places, where)
    matrix = naive_pools.avg_matrix(sizes, results, each, padding, True, None)
    for array, map_, found in ((x, matrix, pooling.avg_pool(x, axes, True, None)),
                               (g, matrix.T, pooling.avg_pool_grad(g, axes, True, None))):
        assert np.allclose(found.reshape(3, -1), array.reshape(3, -1) @ map_.T, rtol=1e-5, atol=1e-6)


LONG = [((5000,), 3, 2, 1, 1), ((2600,), 700, 2, 100, 1), ((6000,), 3000, 300, 100, 1), ((4, 3000), 3, 2, 1, 1),
        ((3, 3000), 3, 200, 1, 1), ((2, 2100), 2, 1, 0, 700), ((60, 70), 60, 1, 0, 1), ((40, 50), 5, 3, 2, 1)]


@pytest.mark.parametrize("sizes, kernel, stride, padding, dilation", LONG, ids=str)
def test_long_rows_and_wide_windows_are_those_of_the_definition(sizes, kernel, stride, padding, dilation):
    geometry = [value if isinstance(value, tuple) else (value,) * len(sizes)
                for value in ((min(kernel, sizes[0]), kernel)[-len(sizes):] if len(sizes) > 1 else kernel,
                              stride, padding, dilation)]
    if len(sizes) > 1:
        geometry[3] = (1, dilation)
    axes = windows.pool_axes("pool", sizes, *geometry, False)
    x = RANDOM.integers(0, 99, (2, *sizes)).astype("float32")
    results, each = naive_pools.pools(sizes, *geometry, False)
    values, places = pooling.max_pool(x, axes)
    wanted, where = naive_pools.max_pool(x, sizes, results, each)
    assert np.array_equal(values, wanted) and np.array_equal(places, where)
    if dilation == 1:
        exact = naive_pools.avg_matrix(sizes, results, each, geometry[2], True, None)
        g = RANDOM.random((2, *results)).astype("float32")
        for array, map_, found in ((x, exact, pooling.avg_pool(x, axes, True, None)),
                                   (g, exact.T, pooling.avg_pool_grad(g, axes, True, None))):
            assert np.allclose(found.reshape(2, -1), array.reshape(2, -1) @ map_.T, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_computed_in_single_precision(dtype):
    axes = windows.pool_axes("pool", (9, 9), 3, 2, 1, 1, False)
    x = RANDOM.standard_normal((2, 9, 9)).astype(dtype)
    wide = x.astype(np.float32)
    values, places = pooling.max_pool(x, axes)
    assert values.dtype == dtype and np.array_equal(values, pooling.max_pool(wide, axes)[0].astype(dtype))
    for narrow, single in ((pooling.avg_pool(x, axes, True, None), pooling.avg_pool(wide, axes, True, None)),
                           (pooling.avg_pool_grad(values, axes, True, None),
                            pooling.avg_pool_grad(values.astype(np.float32), axes, True, None)),
                           (pooling.max_pool_grad(values, places, axes),
                            pooling.max_pool_grad(values.astype(np.float32), places, axes))):
        assert narrow.dtype == dtype and np.array_equal(narrow, single.astype(dtype))


@pytest.mark.parametrize("layout", ["transposed", "reversed"])
def test_arrays_of_any_layout_are_read(layout):
    x = RANDOM.standard_normal((8, 10, 3)).astype("float32")
    x = x.transpose(2, 1, 0) if layout == "transposed" else x.transpose(2, 0, 1)[:, ::-1]
    axes = windows.pool_axes("pool", x.shape[1:], 2, 2, 0, 1, False)
    assert np.array_equal(pooling.max_pool(x, axes)[0], pooling.max_pool(x.copy(), axes)[0])
    assert np.array_equal(pooling.avg_pool(x, axes, True, None), pooling.avg_pool(x.copy(), axes, True, None))


@pytest.mark.parametrize("kernel, stride", [(3, 2), (2, 2), (40, 3)])
def test_results_are_the_same_for_any_threads(kernel, stride):
    axes = windows.pool_axes("pool", (150, 170), kernel, stride, 1, 1, True)
    x, before, found = RANDOM.standard_normal((16, 150, 170)).astype("float32"), threads.num_threads(), []
    try:
        for count in (1, 2):
            threads.set_num_threads(count)
            values, places = pooling.max_pool(x, axes)
            found.append([values, places, pooling.max_pool_grad(values, places, axes),
                          pooling.avg_pool(x, axes, True, None), pooling.avg_pool_grad(values, axes, True, None)])
    finally:
        threads.set_num_threads(before)
    assert all(map(np.array_equal, *found))


@pytest.mark.parametrize("width", ["auto", 256, 128])
def test_whole_planes_are_averaged_at_any_vector_width(width, monkeypatch):
    monkeypatch.setattr(config, "vector_width", width)
    for cache in (pooling._avg_step, average_planes):
        cache.cache_clear()
    for dtype, planes, size in [("float32", 1, 1), ("float32", 5, 49), ("float64", 17, 33), ("float32", 3, 12544),
                                ("float64", 16, 16)]:
        x = RANDOM.standard_normal((planes, size)).astype(dtype) + 1
        axes = windows.adaptive_axes("pool", (size,), 1)
        found = pooling.avg_pool(x, axes, True, None)[:, 0]
        assert np.allclose(found, x.mean(1, dtype=np.float64), rtol=4 * np.finfo(dtype).eps, atol=0)
    for cache in (pooling._avg_step, average_planes):
        cache.cache_clear()
    check_guards()
