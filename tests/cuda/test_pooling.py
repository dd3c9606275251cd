"""Pools and their gradients beside the CPU's: sliding, adaptive, of whole planes, and the ops over them."""

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import kernels
from lucid_nb.cuda import places, windows
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad
from lucid_nb.windows import adaptive_axes, pool_axes

from .conftest import check_launches

pytestmark = pytest.mark.cuda_simulator
RANDOM = np.random.default_rng(9)
SLIDING = {                    # sizes, kernel, stride, padding, dilation, ceil_mode
    "even": ((7,), 2, 2, 0, 1, False), "dilated": ((7,), 3, 2, 1, 2, True),
    "image": ((5, 6), (3, 2), (2, 1), (1, 0), (1, 2), True), "volume": ((3, 4, 5), 2, (1, 2, 3), 1, 1, True),
    "whole": ((6, 6), (6, 6), 1, 0, 1, False), "overlapping": ((5, 5), 3, 1, 1, 1, False),
    "lines": ((4, 3), (1, 3), 1, 0, 1, False), "low dilated": ((9,), 3, 1, 3, 3, False)}
ADAPTIVE = {"line": ((7,), 5), "to more": ((3,), 5), "image": ((5, 7), (3, 2)), "one": ((6, 4), 1),
            "volume": ((5, 3, 4), (2, 3, 1))}
GEOMETRIES = {name: pool_axes("pool", *how) for name, how in SLIDING.items()} | {
    f"adaptive {name}": adaptive_axes("pool", *how) for name, how in ADAPTIVE.items()}
EPS = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "float64": 1e-14}
each_geometry = pytest.mark.parametrize("axes", GEOMETRIES.values(), ids=GEOMETRIES)


def drawn(lead, axes, dtype):
    sizes, results = tuple(axis.size for axis in axes), tuple(axis.results for axis in axes)
    return RANDOM.integers(0, 5, (*lead, *sizes)).astype(dtype), RANDOM.standard_normal((*lead, *results))


def close(found, expected):
    found = table.to_numpy(found)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    eps = EPS[expected.dtype.name]
    np.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), rtol=eps, atol=4 * eps)


def check_maxima(x, axes):
    found, expected = table.max_pool(table.from_numpy(x), axes), kernels.max_pool(x, axes)
    for got, wanted in zip(found, expected, strict=True):
        assert table.to_numpy(got).dtype == wanted.dtype
        np.testing.assert_array_equal(table.to_numpy(got), wanted)
    return found[1], expected[1]


@each_geometry
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "bool"])
def test_maxima_and_their_gradients_are_the_cpus(axes, dtype):
    x, g = drawn((2, 2), axes, dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
    found, expected = check_maxima(x, axes)
    if dtype in EPS:
        g = g.astype(x.dtype)
        close(table.max_pool_grad(table.from_numpy(g), found, axes), kernels.max_pool_grad(g, expected, axes))


@each_geometry
def test_nan_wins_and_the_first_of_equals_counts(axes):
    x, _ = drawn((3,), axes, "float32")
    x[RANDOM.random(x.shape) < 0.2] = np.nan
    x[RANDOM.random(x.shape) < 0.4] = -np.inf
    check_maxima(x, axes)


@pytest.mark.parametrize("axes", [axes for axes in GEOMETRIES.values() if max(axis.dilation for axis in axes) == 1],
                         ids=[name for name, axes in GEOMETRIES.items() if max(axis.dilation for axis in axes) == 1])
@pytest.mark.parametrize("dtype", EPS)
def test_averages_and_their_gradients_are_the_cpus(axes, dtype):
    x, g = drawn((2, 2), axes, dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
    g = g.astype(x.dtype)
    for how in ((axes, True, None), (axes, False, None), (axes, True, -3)):
        close(table.avg_pool(table.from_numpy(x), *how), kernels.avg_pool(x, *how))
        close(table.avg_pool_grad(table.from_numpy(g), *how), kernels.avg_pool_grad(g, *how))


@pytest.mark.parametrize("name", ["volume", "dilated", "adaptive volume"])
def test_places_of_64_bits_give_the_same_bits(name, monkeypatch):
    axes, found = GEOMETRIES[name], []
    x, g = drawn((2, 3), axes, "float32")
    raw, slope = table.from_numpy(x), table.from_numpy(g.astype("float32"))
    for most in (places.MOST_NARROW, 0):
        monkeypatch.setattr(places, "MOST_NARROW", most)
        windows.windows_of.cache_clear()
        maxima, where = table.max_pool(raw, axes)
        parts = [maxima, where, table.max_pool_grad(slope, where, axes)]
        if axes[0].dilation == 1:
            parts += [table.avg_pool(raw, axes, True, None), table.avg_pool_grad(slope, axes, True, None)]
        found.append([table.to_numpy(part).tobytes() for part in parts])
    windows.windows_of.cache_clear()
    assert found[0] == found[1]


@each_geometry
def test_no_planes_and_views(axes):
    x, _ = drawn((0, 2), axes, "float32")
    assert all(part.shape[0] == 0 for part in table.max_pool(table.from_numpy(x), axes))
    x, _ = drawn((4,), axes, "float32")
    view = table.slice(table.from_numpy(x), (slice(None, None, -2),))
    np.testing.assert_array_equal(table.to_numpy(table.max_pool(view, axes)[0]), kernels.max_pool(x[::-2], axes)[0])


# ------------------------------------------------------------------------------------------------------------ ops
@pytest.mark.parametrize("function, shape", [
    (lambda x: F.max_pool1d(x, 3, 2, 1), (1, 2, 6)), (lambda x: F.avg_pool2d(x, 2, 1, count_include_pad=False),
                                                      (1, 1, 3, 2)),
    (lambda x: F.adaptive_avg_pool1d(x, 3), (1, 1, 4)), (lambda x: F.adaptive_max_pool2d(x, 1), (1, 2, 2, 2)),
], ids=["max", "average", "adaptive", "whole"])
def test_gradients_follow_finite_differences_to_second_order(function, shape):
    values = np.linspace(-1, 1, int(np.prod(shape)))
    check_grad(function, lnb.tensor(RANDOM.permutation(values).reshape(shape), device="cuda"))


def test_pools_with_indices_are_those_of_the_cpu():
    host = RANDOM.standard_normal((1, 2, 4, 5)).astype("float32")
    found = [F.max_pool2d(lnb.tensor(host, device=device), 2, padding=1, return_indices=True)
             for device in ("cuda", "cpu")]
    for got, wanted in zip(*found, strict=True):
        assert got.device == "cuda" and got.dtype == wanted.dtype
        np.testing.assert_array_equal(got.to("cpu").numpy(), wanted.numpy())


# ------------------------------------------------------------------------------------------------------- launches
@pytest.mark.parametrize("lead, axes, is_narrow", [
    ((70_000, 3), pool_axes("pool", (224, 224), 2, 2, 0, 1, False), False),
    ((1,), pool_axes("pool", (2 ** 33,), 3, 2, 1, 1, False), False),
    ((1,), adaptive_axes("pool", (50_000,), 40_001), False),
    ((32, 64), pool_axes("pool", (112, 112), 3, 2, 1, 1, False), True)])
def test_launches_over_more_than_two_to_the_31_elements(lead, axes, is_narrow, launches):
    found = windows.windows_of(lead, axes)
    assert (found.places is places.NARROW) == is_narrow
    x = table.empty((*lead, *(axis.size for axis in axes)), np.dtype("float32"))
    maxima, where = table.max_pool(x, axes)
    table.max_pool_grad(maxima, where, axes)
    table.avg_pool_grad(table.avg_pool(x, axes, True, None), axes, True, None)
    check_launches(launches)
    assert len(launches) == 4 and where.element == (np.int32 if x.size // np.prod(lead) < 2 ** 31 else np.int64)
