"""Counting against NumPy: values, edges, errors, gradients of weights, coordinates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.errors import IndexError, LucidError, ShapeError
from lucid_nb.testing import arrays, check_grad, shapes

from . import oracles

RANDOM = np.random.default_rng(0)


def same(found, expected):
    """Equal, dtype and shape too."""
    np.testing.assert_array_equal(found.numpy(), expected, strict=True)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("size", [0, 1, 7, 5003])
def test_bincount_equals_numpy(dtype, size):
    x, weights = RANDOM.integers(0, 2 if dtype == "bool" else 90, size).astype(dtype), RANDOM.standard_normal(size)
    same(lnb.bincount(lnb.tensor(x)), np.bincount(x))
    same(lnb.bincount(lnb.tensor(x), minlength=200), np.bincount(x, minlength=200))
    if size == 0:                                     # NumPy gives integers there
        assert lnb.bincount(lnb.tensor(x), weights).dtype == "float64"
        return
    same(lnb.bincount(lnb.tensor(x), weights), np.bincount(x, weights))
    same(lnb.bincount(lnb.tensor(x), weights.astype("float32"), 99), np.bincount(x, weights.astype("float32"), 99))


@settings(max_examples=100)
@given(x=arrays(st.sampled_from(["float32", "float64", "float16", "int64", "int8", "uint16"]), shapes(max_side=9),
                awkward=False), bins=st.integers(1, 12), density=st.booleans(), weighted=st.booleans(),
       limits=st.sampled_from([None, (-1, 2), (0.25, 0.75), (5, 9), (1, 1)]))
def test_histogram_of_equal_bins_equals_numpy(x, bins, density, weighted, limits):
    weights = np.arange(1.0, 1 + x.size).reshape(x.shape) if weighted else None
    with np.errstate(all="ignore"):
        expected = np.histogram(x, bins, limits, density, weights)
        found = lnb.histogram(lnb.asarray(x), bins, limits, density, weights)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-14, strict=True)


@settings(max_examples=60)
@given(x=arrays(st.sampled_from(["float32", "float64", "int64"]), shapes(max_side=9)), weighted=st.booleans(),
       edges=st.lists(st.sampled_from([-2.5, -1.0, 0.0, 0.5, 1.0, 1.0, 3.0]), min_size=1, max_size=6).map(sorted))
def test_histogram_between_edges_equals_numpy(x, weighted, edges):
    weights = np.arange(1.0, 1 + x.size).reshape(x.shape) if weighted else None
    expected = np.histogram(x, edges, weights=weights)
    for one, other in zip(lnb.histogram(lnb.asarray(x), edges, weights=weights), expected):
        np.testing.assert_array_equal(one.numpy(), other, strict=True)
    if x.dtype.kind == "f":
        for right in (False, True):
            same(lnb.digitize(lnb.asarray(x), edges, right), np.asarray(np.digitize(x, edges, right)))
            same(lnb.digitize(lnb.asarray(x), edges[::-1], right), np.asarray(np.digitize(x, edges[::-1], right)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("bins", [1, 10, 333, "auto", "fd", "sturges"])
def test_large_histograms_equal_numpy(dtype, bins):
    x = (RANDOM.standard_normal(50_003) * 1000).astype(dtype)
    x[:100] = np.linspace(x.min(), x.max(), 100).astype(dtype)            # on edges
    for one, other in zip(lnb.histogram(lnb.asarray(x), bins), np.histogram(x, bins)):
        np.testing.assert_array_equal(one.numpy(), other, strict=True)
    same(lnb.histogram_bin_edges(lnb.asarray(x), bins), np.histogram_bin_edges(x, bins))


@pytest.mark.serial
def test_counts_are_the_same_for_any_number_of_threads():
    x, before = RANDOM.standard_normal(300_000), lnb.get_num_threads()
    whole = (x * 10).astype("int64") + 60
    try:
        for threads in (1, 2, 3):
            lnb.set_num_threads(threads)
            same(lnb.histogram(lnb.asarray(x), 50)[0], np.histogram(x, 50)[0])
            same(lnb.bincount(lnb.asarray(whole)), np.bincount(whole))
            same(lnb.bincount(lnb.asarray(whole), x), np.bincount(whole, x))
    finally:
        lnb.set_num_threads(before)


GRIDS = [5, [2, 3], [np.array([-1.0, 0.0, 2.0]), 4]]


@pytest.mark.parametrize("bins", GRIDS, ids=["number", "numbers", "mixed"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("density", [False, True])
def test_histograms_of_points_equal_numpy(bins, weighted, density):
    x, y, weights = *RANDOM.standard_normal((2, 40)), RANDOM.random(40) if weighted else None
    for limits in (None, [(-1, 1), (-2, 0.5)]):
        for found, expected in ((lnb.histogram2d(x, y, bins, limits, density, weights),
                                 np.histogram2d(x, y, bins, limits, density, weights)),
                                (lnb.histogramdd((x, y), bins, limits, density, weights),
                                 np.histogramdd((x, y), bins, limits, density, weights)),
                                (lnb.histogramdd(np.stack([x, y], 1), bins, limits, density, weights),
                                 np.histogramdd(np.stack([x, y], 1), bins, limits, density, weights))):
            np.testing.assert_allclose(found[0].numpy(), expected[0], rtol=1e-14, strict=True)
            edges = found[1] if isinstance(found[1], list) else found[1:]
            for one, other in zip(edges, expected[1] if isinstance(expected[1], (list, tuple)) else expected[1:]):
                same(one, other)
    common = np.linspace(-2, 2, 6)
    same(lnb.histogram2d(x, y, common)[0], np.histogram2d(x, y, common)[0])


def test_weights_have_gradients():
    x, weights = np.array([0.1, 0.4, 0.4, 0.9, 2.0]), np.linspace(0.5, 1.5, 5)
    check_grad(lambda w: lnb.bincount([0, 2, 2, 1, 0], w * w), weights)
    check_grad(lambda w: lnb.histogram(x, 3, (0, 1), weights=w * w)[0], weights)
    check_grad(lambda w: lnb.histogram(x, [0, 0.4, 1.0], density=True, weights=w * w)[0], weights)
    check_grad(lambda w: lnb.histogram2d(x, x, 2, weights=w * w)[0], weights)


def test_counting_on_devices_equals_numpy(device):
    x = np.array([0, 3, 1, 3])
    found = lnb.bincount(oracles.on(device, x))
    assert found.device == device and found.tolist() == [1, 1, 0, 2]
    counts, edges = lnb.histogram(oracles.on(device, x.astype("float32")), 3)
    assert counts.device == edges.device == device and counts.tolist() == [1, 1, 2]
    w = oracles.on(device, np.ones(4, "float32"))
    w.requires_grad = True
    (lnb.bincount(oracles.on(device, x), w) * oracles.on(device, np.arange(4, dtype="float32"))).sum().backward()
    assert w.grad.tolist() == x.tolist()


@given(shape=shapes(min_dims=1, max_dims=4, min_side=1), order=st.sampled_from("CF"), seed=st.integers(0, 99))
def test_coordinates_equal_numpy(shape, order, seed):
    places = np.random.default_rng(seed).integers(0, np.prod(shape), (2, 3))
    found = lnb.unravel_index(lnb.asarray(places), shape, order)
    for one, other in zip(found, np.unravel_index(places, shape, order)):
        same(one, other)
    same(lnb.ravel_multi_index(found, shape, order=order), places)
    beyond = tuple(part + 2 for part in np.unravel_index(places, shape))
    for mode in ("wrap", "clip"):
        same(lnb.ravel_multi_index(beyond, shape, mode, order), np.ravel_multi_index(beyond, shape, mode, order))


def test_refusals():
    for call, kind in ((lambda: lnb.bincount([-1]), ShapeError), (lambda: lnb.bincount([[1]]), ShapeError),
                       (lambda: lnb.bincount([0.5]), LucidError), (lambda: lnb.bincount([1], [1.0, 2.0]), ShapeError),
                       (lambda: lnb.bincount([1], minlength=-1), ShapeError),
                       (lambda: lnb.histogram([1.0], 0), ShapeError), (lambda: lnb.histogram([1.0], "no"), ShapeError),
                       (lambda: lnb.histogram([1.0], [2, 1]), ShapeError),
                       (lambda: lnb.histogram([1.0], 2.5), LucidError),
                       (lambda: lnb.histogram([np.nan], 2), ShapeError),
                       (lambda: lnb.histogram([1.0], 2, (1, 0)), ShapeError),
                       (lambda: lnb.digitize([1.0], [1, 3, 2]), ShapeError),
                       (lambda: lnb.histogram2d([1.0], [1.0, 2.0]), ShapeError),
                       (lambda: lnb.histogramdd([[1.0, 2.0]], [2]), ShapeError),
                       (lambda: lnb.unravel_index([6], (2, 3)), IndexError),
                       (lambda: lnb.unravel_index([0], (2, 3), "A"), ShapeError),
                       (lambda: lnb.ravel_multi_index(([2], [0]), (2, 3)), ShapeError),
                       (lambda: lnb.ravel_multi_index(([1],), (2, 3)), ShapeError)):
        with pytest.raises(kind):
            call()


def test_bincount_of_uint64_is_numpys():
    x = np.array([3, 1, 3], "uint64")
    np.testing.assert_array_equal(lnb.bincount(x).to_host(), np.bincount(x), strict=True)


def test_more_bins_than_memory_are_refused():
    with pytest.raises(LucidError, match="bincount: counting in 17592186044417 bins asks for"):
        lnb.bincount([2 ** 44])
    with pytest.raises(ShapeError, match=r"bincount: shape .* more than memory can hold"):
        lnb.bincount([1], minlength=2 ** 62)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8"])
def test_edges_of_grids_have_numpys_dtype(dtype):
    x, y = (np.random.default_rng(4).integers(0, 9, (2, 50)) / (1 if dtype in ("int32", "uint8") else 7)).astype(dtype)
    for options in ({}, {"bins": 7}, {"bins": [3, [0, 1, 2]]}, {"range": [[0, 1], [0, 2]]}, {"density": True}):
        for ours, theirs in zip(lnb.histogram2d(x, y, **options), np.histogram2d(x, y, **options)):
            np.testing.assert_array_equal(ours.to_host(), theirs, strict=True)


def test_ranges_and_bins_of_the_wrong_kind_are_refused():
    x = [1.0, 2.0]
    for options in ({"range": 3}, {"range": (1, 2, 3)}, {"range": ("a", "b")}):
        with pytest.raises(LucidError, match=r"histogram: range .* is not two numbers. Give \(low, high\)."):
            lnb.histogram(x, **options)
    for options in ({"range": 3}, {"range": [1, 2]}, {"bins": 2.5}, {"bins": []}):
        with pytest.raises(LucidError, match="histogram2d: "):
            lnb.histogram2d(x, x, **options)
