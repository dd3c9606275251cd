"""Normalisation and its gradient against float64 NumPy; guard cells around results; the same bits for every number of
threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb.kernels import memory, normalization, threads

BATCH, GROUP, EPS, GUARD = (0, 2), (2, 3), 1e-5, 64
RANDOM = np.random.default_rng(5)
BATCHES = [(2, 1, 1), (128, 513, 1), (7, 130, 1), (33, 3, 1), (8, 5, 49), (3, 21, 1), (1, 33, 1025), (5, 2, 2048),
           (2, 3, 4)]
GROUPS = [(1, 1, 1, 1), (65, 1, 33, 1), (3, 1, 1030, 1), (4, 3, 2, 7), (2, 5, 1, 1500), (3, 2, 3, 1), (40, 1, 16, 4)]
CASES = [(shape, BATCH) for shape in BATCHES] + [(shape, GROUP) for shape in GROUPS]
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
each_case = pytest.mark.parametrize(("shape", "axes"), CASES, ids=str)
each_kind = pytest.mark.parametrize("centred", [True, False])


def normalize(x, weight, bias, axes, *options):
    """The entry, on x in its own shape."""
    return normalization.normalize(x, weight, bias, x.shape, axes, *options)


def normalize_grad(g, x, weight, mean, variance, axes, *options):
    """The entry, on x in its own shape."""
    return normalization.normalize_grad(g, x, weight, mean, variance, x.shape, axes, *options)


def drawn(shape, axes, dtype, offset=1.0):
    weight_shape = tuple(1 if axis in (axes if len(shape) == 3 else (0, 3)) else size
                         for axis, size in enumerate(shape))
    x, g = (RANDOM.normal(size=shape).astype(dtype) for _ in range(2))
    weight, bias = (RANDOM.normal(size=weight_shape).astype(dtype) for _ in range(2))
    return g, x * 3 + dtype(offset), weight, bias


def exact(g, x, weight, bias, axes, centred):
    """All results by the textbook, in higher precision."""
    g, x, weight, bias = (part.astype(np.longdouble) for part in (g, x, weight, bias))
    along = dict(axis=axes, keepdims=True)
    mean = x.mean(**along) if centred else np.zeros_like(x.mean(**along))
    variance = ((x - mean) ** 2).mean(**along)
    inverse = 1 / np.sqrt(variance + EPS)
    normal, inner = (x - mean) * inverse, g * weight
    of_x = inverse * (inner - (inner.mean(**along) if centred else 0) - normal * (inner * normal).mean(**along))
    others = tuple(axis for axis, size in enumerate(weight.shape) if size == 1)
    sums = [part.sum(others, keepdims=True) for part in (g * normal, g)]
    return (normal * weight + bias, mean, variance), (of_x, *sums), (np.abs(g * normal).sum(), np.abs(g).sum())


def assert_near(found, expected, scale=1.0):
    assert found.shape == expected.shape
    tolerance = 40 * np.finfo(found.dtype).eps * max(float(np.abs(expected).max(initial=0)), float(scale))
    assert np.abs(found - expected).max(initial=0) <= tolerance


def check(shape, axes, dtype, centred, offset=1.0):
    g, x, weight, bias = drawn(shape, axes, dtype, offset)
    if len(shape) == 3 and not centred:
        return
    forward, gradient, sizes = exact(g, x, weight, bias, axes, centred)
    y, mean, variance = normalize(x, weight, bias, axes, EPS, centred)
    # A variance of few, nearly equal elements makes the normalised ones as uncertain as their distance.
    spread = float(1 / np.sqrt(forward[2].min() + EPS))
    for found, expected, scale in zip((y, mean, variance), forward, (3 * spread * max(abs(offset), 3), offset, 9)):
        assert found.dtype == dtype
        assert_near(found, expected, scale)
    found = normalize_grad(g, x, weight, mean, variance, axes, EPS, centred)
    slack = spread * max(abs(offset), 3)
    for part, expected, scale in zip(found, gradient, (10 * spread * slack, sizes[0] * slack, sizes[1])):
        assert part.dtype == dtype
        assert_near(part, expected, scale)


@each_dtype
@each_case
@each_kind
def test_normalisation_has_its_values_and_gradients(shape, axes, dtype, centred):
    check(shape, axes, dtype, centred)


@given(st.data())
def test_normalisation_of_drawn_shapes(data):
    axes = data.draw(st.sampled_from([BATCH, GROUP]))
    sizes = [data.draw(st.integers(1, 40)) for _ in range(3)]
    shape = tuple(sizes) if axes == BATCH else (sizes[0], data.draw(st.integers(1, 3)), *sizes[1:])
    check(shape, axes, data.draw(st.sampled_from([np.float32, np.float64])), axes == BATCH or data.draw(st.booleans()))


@each_case
def test_a_distant_mean_costs_no_digits_but_those_of_the_input(shape, axes):
    """Sums of squares would be all cancellation here."""
    _, x, weight, bias = drawn(shape, axes, np.float32, 1000.0)
    _, mean, variance = normalize(x, weight, bias, axes, EPS, True)
    wide = x.astype(float)
    assert np.allclose(variance, wide.var(axes, keepdims=True), rtol=1e-5, atol=1e-6)
    assert np.allclose(mean, wide.mean(axes, keepdims=True), rtol=2e-7)


@each_case
@pytest.mark.parametrize("count", [1, 64])
def test_outliers_at_the_front_cost_no_digits(shape, axes, count):
    """The rough mean, which the first elements give, is then far from all others."""
    _, x, weight, bias = drawn(shape, axes, np.float32)
    along = x.swapaxes(0, 1).reshape(shape[1], -1) if axes == BATCH else x.reshape(shape[0] * shape[1], -1)
    along[:, :count] += np.float32(1e5)
    x = np.ascontiguousarray(along.reshape(shape[1], shape[0], shape[2]).swapaxes(0, 1) if axes == BATCH else
                             along.reshape(shape))
    _, mean, variance = normalize(x, weight, bias, axes, EPS, True)
    exact_mean, exact_variance = (f(x.astype(float), axes, keepdims=True) for f in (np.mean, np.var))
    assert np.all(np.abs(mean - exact_mean) <= 1e-6 * (np.sqrt(exact_variance) + np.abs(mean)))
    assert np.allclose(variance, exact_variance, rtol=1e-5)


def test_equal_elements_deviate_by_nothing():
    for shape, axes in CASES:
        _, x, weight, bias = drawn(shape, axes, np.float32)
        x[...] = np.float32(0.1)
        y, mean, variance = normalize(x, weight, bias, axes, EPS, True)
        assert np.all(mean == np.float32(0.1)) and np.all(variance == 0) and np.array_equal(y, 0 * y + bias)


@each_case
def test_nan_stays_in_what_it_is_normalised_with(shape, axes):
    _, x, weight, bias = drawn(shape, axes, np.float32)
    x.flat[0] = np.nan
    y, *_ = normalize(x, weight, bias, axes, EPS, True)
    with np.errstate(invalid="ignore"):
        touched = np.broadcast_to(np.isnan(x.mean(axes, keepdims=True)), x.shape)
    assert np.array_equal(np.isnan(y), touched)


@pytest.mark.parametrize(("shape", "axes"), [((0, 3, 4), BATCH), ((2, 0, 4), BATCH), ((2, 3, 0), BATCH),
                                             ((0, 1, 5, 1), GROUP), ((2, 3, 2, 0), GROUP)])
def test_nothing_is_normalised_to_nothing(shape, axes):
    g, x, weight, bias = drawn(shape, axes, np.float32)
    y, mean, variance = normalize(x, weight, bias, axes, EPS, True)
    assert y.shape == shape
    found = normalize_grad(g, x, weight, mean, variance, axes, EPS, True)
    assert found[0].shape == shape and all(np.array_equal(part, np.zeros(weight.shape)) for part in found[1:])


@each_dtype
@each_case
def test_nothing_is_written_beside_the_results(shape, axes, dtype, monkeypatch):
    made = []

    def guarded(shape, dtype):
        whole = np.full(int(np.prod(shape)) + 2 * GUARD, 7, dtype)
        made.append(whole)
        return whole[GUARD:len(whole) - GUARD].reshape(shape)
    monkeypatch.setattr(memory, "empty", guarded)
    monkeypatch.setattr(normalization, "new", guarded)
    g, x, weight, bias = drawn(shape, axes, dtype)
    _, mean, variance = normalize(x, weight, bias, axes, EPS, True)
    normalize_grad(g, x, weight, mean, variance, axes, EPS, True)
    assert len(made) >= 5
    assert all(np.all(whole[:GUARD] == 7) and np.all(whole[len(whole) - GUARD:] == 7) for whole in made)


@pytest.mark.parametrize(("shape", "axes"), [((8, 16, 2049), BATCH), ((300, 1000, 1), BATCH),
                                             ((300, 1, 1000, 1), GROUP), ((8, 4, 8, 1025), GROUP)], ids=str)
def test_bits_do_not_depend_on_the_number_of_threads(shape, axes):
    g, x, weight, bias = drawn(shape, axes, np.float32)

    def results(count):
        before = threads.num_threads()
        threads.set_num_threads(count)
        try:
            forward = normalize(x, weight, bias, axes, EPS, True)
            return [*forward, *normalize_grad(g, x, weight, *forward[1:], axes, EPS, True)]
        finally:
            threads.set_num_threads(before)
    for one, two in zip(results(1), results(2)):
        assert one.tobytes() == two.tobytes()


def test_layouts_give_the_same_bits():
    g, x, weight, bias = drawn((4, 6, 10), BATCH, np.float32)
    turned = np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
    first, second = (normalize(each, weight, bias, BATCH, EPS, True) for each in (x, turned))
    assert all(np.array_equal(a, b) for a, b in zip(first, second))
    a = normalize_grad(g, x, weight, *first[1:], BATCH, EPS, True)
    b = normalize_grad(g[:, ::-1][:, ::-1], turned, weight, *first[1:], BATCH, EPS, True)
    assert all(np.array_equal(one, two) for one, two in zip(a, b))


@each_dtype
@pytest.mark.parametrize(("shape", "axes"), [((8, 16, 1040), BATCH), ((4, 40, 514), BATCH), ((300, 1, 1040, 1), GROUP),
                                             ((9, 4, 3, 2048), GROUP), ((4100, 4, 16, 1), GROUP)], ids=str)
def test_large_results_are_stored_past_the_caches_with_the_same_bits(shape, axes, dtype, monkeypatch):
    """Inside their bounds, from pages on as all large memory; whole lines or not, and by several threads."""
    arrays, made, empty = drawn(shape, axes, dtype), [], memory.empty

    def guarded(shape, dtype):
        whole = empty(int(np.prod(shape)) + 8192, dtype)
        whole[...] = 7
        made.append(whole)
        return whole[4096:-4096].reshape(shape)

    def results(least, count):
        monkeypatch.setattr(normalization, "PAST", least)
        normalization._plan.cache_clear()
        g, x, weight, bias = arrays
        before = threads.num_threads()
        threads.set_num_threads(count)
        try:
            forward = normalize(x, weight, bias, axes, EPS, True)
            return [*forward, *normalize_grad(g, x, weight, *forward[1:], axes, EPS, True)]
        finally:
            threads.set_num_threads(before)
            normalization._plan.cache_clear()
    usual = results(1 << 40, 1)
    monkeypatch.setattr(memory, "empty", guarded)
    for count in (1, 2):
        assert all(one.tobytes() == two.tobytes() for one, two in zip(usual, results(memory.LARGE, count)))
    assert len(made) >= 4
    assert all(np.all(whole[:4096] == 7) and np.all(whole[-4096:] == 7) for whole in made)
