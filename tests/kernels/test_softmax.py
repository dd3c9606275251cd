"""Softmax and its kin against SciPy and float64 NumPy; the same bits for every number of threads."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from lucid_nb.kernels import threads
from lucid_nb.kernels.softmax import (
    cross_entropy,
    cross_entropy_grad,
    log_softmax,
    log_softmax_grad,
    softmax,
    softmax_grad,
)

FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
RANDOM = np.random.default_rng(2)
SHAPES = [(1,), (10,), (3000,), (3, 1), (500, 10), (7, 33), (40, 1030), (1030, 40), (3, 70, 600), (2, 3, 4, 5)]
CASES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]
each_case = pytest.mark.parametrize("shape,axis", CASES, ids=str)
each_dtype = pytest.mark.parametrize("dtype", FLOATS, ids=str)


def values(shape, dtype, scale=5):
    return (scale * RANDOM.standard_normal(shape)).astype(dtype)


def wide(raw):
    return raw.astype(np.longdouble if raw.dtype == np.float64 else np.float64)


def assert_near(result, exact, dtype, epsilons, scale=None):
    """Within so many epsilons of the exact value, or of a scale where terms cancel."""
    assert result.dtype == dtype and result.shape == exact.shape
    bound = epsilons * np.finfo(dtype).eps * (np.abs(exact) if scale is None else scale)
    assert np.all(np.abs(result - exact) <= bound + np.finfo(dtype).smallest_subnormal)


def assert_softmax(result, raw, axis):
    """An exponential is as exact as the distance to the maximum, which is rounded once; 16 additions in a row make at
    most 8 epsilons of error."""
    exact, distance = special.softmax(wide(raw), axis), wide(raw.max(axis, keepdims=True)) - raw
    assert_near(result, exact, raw.dtype, 1, exact * (10 + np.minimum(distance, 1000) / 2))


@each_dtype
@each_case
def test_softmax_along_every_axis(shape, axis, dtype):
    raw = values(shape, dtype)
    assert_softmax(softmax(raw, axis), raw, axis)


@each_dtype
@each_case
def test_log_softmax_along_every_axis(shape, axis, dtype):
    raw = values(shape, dtype)
    exact = special.log_softmax(wide(raw), axis)
    assert_near(log_softmax(raw, axis), exact, dtype, 1, np.abs(exact) + 8)


@each_dtype
@each_case
def test_gradients_along_every_axis(shape, axis, dtype):
    g, y = values(shape, dtype, 1), softmax(values(shape, dtype), axis)
    product, slope = wide(g) * wide(y), wide(y)
    exact = slope * (g - product.sum(axis, keepdims=True))
    scale = slope * (np.abs(g) + np.abs(product).sum(axis, keepdims=True))
    assert_near(softmax_grad(y, g, axis), exact, dtype, 4, scale)
    y = log_softmax(values(shape, dtype), axis)
    exact = g - np.exp(wide(y)) * wide(g).sum(axis, keepdims=True)
    scale = np.abs(g) + np.exp(wide(y)) * np.abs(wide(g)).sum(axis, keepdims=True)
    assert_near(log_softmax_grad(y, g, axis), exact, dtype, 8, scale)


@given(st.data())
def test_softmax_of_permuted_and_sliced_arrays(data):
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    steps = data.draw(st.lists(st.sampled_from([1, 2, -1]), min_size=len(shape), max_size=len(shape)))
    order = data.draw(st.permutations(range(len(shape))))
    axis = data.draw(st.integers(0, len(shape) - 1))
    whole = values([size * abs(step) for size, step in zip(shape, steps)], np.float32)
    raw = whole[tuple(slice(None, None, step) for step in steps)].transpose(order)
    assert_softmax(softmax(raw, axis), raw, axis)
    g = values(whole.shape, np.float32)[tuple(slice(None, None, step) for step in steps)].transpose(order)
    np.testing.assert_array_equal(softmax_grad(raw, g, axis), softmax_grad(raw.copy(), g.copy(), axis))


@each_dtype
def test_distant_elements_underflow_gradually(dtype):
    spread = 100 if dtype == np.float32 else 740
    raw = np.array([[0, -spread, -spread / 2, -2 * spread]], dtype)
    for array, axis in ((raw, 1), (raw.T.copy(), 0)):
        result = softmax(array, axis)
        assert_softmax(result, array, axis)
        assert 0 < result.ravel()[1] < np.finfo(dtype).tiny and result.ravel()[3] == 0


@each_dtype
def test_rows_of_only_minus_infinity(dtype):
    raw = values((3, 40), dtype)
    raw[1], raw[2, ::2] = -np.inf, -np.inf
    for array, axis in ((raw, 1), (raw.T.copy(), 0)):
        result, logarithm = np.moveaxis(softmax(array, axis), axis, 1), np.moveaxis(log_softmax(array, axis), axis, 1)
        np.testing.assert_array_equal(result[1], 0)
        np.testing.assert_array_equal(logarithm[1], -np.inf)
        assert_softmax(result[[0, 2]], raw[[0, 2]], 1)
        np.testing.assert_array_equal(logarithm[2, ::2], -np.inf)


@each_dtype
@pytest.mark.parametrize("special_value", [np.inf, np.nan])
def test_rows_with_infinity_or_nan_are_nan(special_value, dtype):
    raw = values((2, 40), dtype)
    raw[1, 7] = special_value
    for array, axis in ((raw, 1), (raw.T.copy(), 0)):
        for function in (softmax, log_softmax):
            result = np.moveaxis(function(array, axis), axis, 1)
            assert not np.isnan(result[0]).any() and np.isnan(result[1, 7])
        assert np.isnan(np.moveaxis(softmax(array, axis), axis, 1)[1]).all()


@each_dtype
@pytest.mark.parametrize("rows,classes", [(1, 1), (5, 1), (64, 10), (300, 1500), (2, 70_000)])
def test_cross_entropy_and_its_gradient(rows, classes, dtype):
    logits, target, g = values((rows, classes), dtype), RANDOM.integers(0, classes, rows), values(rows, dtype, 1)
    logits = np.pad(logits, ((0, 0), (0, 3)))[:, :classes]                   # rows apart from each other
    target[rows // 2] = -100
    kept = target != -100
    exact = -np.take_along_axis(special.log_softmax(wide(logits), 1), np.maximum(target, 0)[:, None], 1)[:, 0]
    losses = cross_entropy(logits, target, -100)
    assert_near(losses, np.where(kept, exact, 0), dtype, 1, np.abs(exact) + 8)
    slopes = (special.softmax(wide(logits), 1) - (np.arange(classes) == target[:, None])) * g[:, None]
    scale = (special.softmax(wide(logits), 1) + (np.arange(classes) == target[:, None])) * np.abs(g)[:, None]
    slopes[~kept] = 0
    distance = logits.max(1, keepdims=True) - logits
    assert_near(cross_entropy_grad(logits, target, g, -100), slopes, dtype, 1, scale * (10 + distance / 2))


@each_dtype
def test_cross_entropy_of_infinite_logits(dtype):
    logits = np.array([[-np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, 1, 2], [np.nan, 0, 0]], dtype)
    losses = cross_entropy(logits, np.array([0, 1, 0, 1]), -1)
    assert losses[0] == np.inf and np.isclose(losses[1], np.log1p(np.exp(1.0))) and np.isnan(losses[2:]).all()


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=str)
def test_narrow_floats_compute_in_float32(dtype):
    raw, g = values((30, 50), dtype), values((30, 50), dtype, 1)
    target, y = RANDOM.integers(0, 50, 30), softmax(raw, 0)
    raw4, g4, y4 = (array.astype(np.float32) for array in (raw, g, y))
    slopes = cross_entropy_grad(raw4, target, g4[:, 0], 0)
    for result, single in ((y, softmax(raw4, 0)), (softmax_grad(y, g, 1), softmax_grad(y4, g4, 1)),
                           (cross_entropy(raw, target, 0), cross_entropy(raw4, target, 0)),
                           (cross_entropy_grad(raw, target, g[:, 0], 0), slopes)):
        np.testing.assert_array_equal(result, single.astype(dtype), strict=True)


def test_softmax_of_empty_arrays():
    for shape, axis in (((0, 4), 1), ((4, 0), 1), ((4, 0), 0)):
        raw = np.zeros(shape, np.float32)
        assert softmax(raw, axis).shape == log_softmax_grad(raw, raw, axis).shape == shape
    empty = np.zeros((0, 4), np.float32)
    assert cross_entropy(empty, np.zeros(0, np.int64), 0).shape == (0,)
    assert cross_entropy_grad(empty, np.zeros(0, np.int64), empty[:, 0], 0).shape == (0, 4)


@pytest.mark.serial
@each_dtype
@pytest.mark.parametrize("shape,axis", [((300, 1500), 1), ((300, 1500), 0), ((1, 200_000), 1), ((20, 900, 30), 1)])
def test_softmax_gives_the_same_bits_for_any_number_of_threads(shape, axis, dtype):
    raw, g, before = values(shape, dtype), values(shape, dtype), threads.num_threads()
    found = []
    try:
        for number in (1, 2, 3):
            threads.set_num_threads(number)
            y = softmax(raw, axis)
            results = (y, log_softmax(raw, axis), softmax_grad(y, g, axis), log_softmax_grad(y, g, axis))
            found.append(b"".join(result.tobytes() for result in results))
    finally:
        threads.set_num_threads(before)
    assert len({*found}) == 1
