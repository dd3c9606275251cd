"""Means and sums of squared deviations against NumPy in higher precision."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from lucid_nb.kernels import threads
from lucid_nb.kernels.moments import moments

RANDOM = np.random.default_rng(4)
SHAPES = [(1,), (7,), (1030,), (3, 5), (257, 33), (33, 1030), (5000, 9), (2, 3, 4), (5, 300, 7), (3, 2, 50, 11)]


def some_axes(ndim):
    return [axes for count in range(ndim + 1) for axes in itertools.combinations(range(ndim), count)]


def check(raw, axes, keepdims, epsilon):
    wide = raw.astype(np.complex128 if raw.dtype.kind == "c" else np.longdouble)
    mean, square = moments(raw, axes, keepdims)
    exact = wide.mean(axes, keepdims=keepdims)
    total = (np.abs(wide - wide.mean(axes, keepdims=True)) ** 2).sum(axes, keepdims=keepdims)
    scale = np.abs(wide).max()
    assert mean.shape == square.shape == exact.shape
    np.testing.assert_allclose(mean, exact, rtol=4 * epsilon, atol=4 * epsilon * float(scale))
    np.testing.assert_allclose(square, total.astype(float), rtol=16 * epsilon, atol=1e-300)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_moments_over_all_combinations_of_axes(shape, dtype):
    raw = (RANDOM.standard_normal(shape) + 3).astype(dtype)
    for axes, keepdims in itertools.product(some_axes(len(shape)), (False, True)):
        check(raw, axes, keepdims, float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float16", ml_dtypes.bfloat16, "int32", "bool"], ids=str)
def test_moments_of_other_dtypes(dtype):
    raw = RANDOM.integers(0, 9, (6, 5, 7)).astype(dtype)
    raw = raw + 1j * raw[::-1] if raw.dtype.kind == "c" else raw
    for axes in some_axes(3):
        check(raw, axes, False, 2.0 ** -22)


def test_moments_of_any_strides():
    raw = RANDOM.standard_normal((12, 10, 14))
    for form in (raw[::2], raw[:, ::-1], raw.transpose(2, 0, 1), np.broadcast_to(raw[:1], raw.shape), raw[..., ::3]):
        for axes in some_axes(3):
            check(form, axes, False, 1e-15)


@pytest.mark.serial
@pytest.mark.parametrize("shape", [(300_001,), (2, 200_003), (40_000, 9), (3, 20_000, 5), (300, 1030)], ids=str)
def test_moments_have_the_same_bits_for_any_number_of_threads(shape):
    raw, before = RANDOM.standard_normal(shape).astype(np.float32), threads.num_threads()
    try:
        for axes in some_axes(len(shape))[1:]:
            found = []
            for number in (1, 2, 3):
                threads.set_num_threads(number)
                found.append(b"".join(part.tobytes() for part in moments(raw, axes, False)))
            assert len({*found}) == 1
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("shape", [(3, 4000), (4000, 3), (70, 90), (3, 70, 9)], ids=str)
def test_equal_elements_are_their_own_mean_and_do_not_deviate(shape):
    for value, dtype in itertools.product((0.1, 1 / 3, 1e-40, 3e38), (np.float32, np.float64)):
        raw = np.full(shape, value, dtype)
        for axes in some_axes(len(shape)):
            mean, square = moments(raw, axes, False)
            assert (mean == dtype(value)).all() and not square.any()


def test_what_is_not_finite_is_numpys():
    raw = np.ones((4, 3000))
    raw[0, 5], raw[1, 7], raw[2, 9] = np.inf, np.nan, 1e200
    with np.errstate(all="ignore"):
        mean, square = moments(raw, (1,), False)
        np.testing.assert_allclose(mean, raw.mean(1))
        np.testing.assert_allclose(square / 3000, raw.var(1))
    with pytest.warns(RuntimeWarning, match="invalid value encountered in subtract"):
        moments(raw[:1], (1,), False)
