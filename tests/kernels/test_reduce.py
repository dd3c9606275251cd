"""Reductions against NumPy in higher precision; the same bits for every number of threads and for every stride."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from lucid_nb.kernels import threads
from lucid_nb.kernels.reduce import arg_reduce, logsumexp, reduce

FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
RANDOM = np.random.default_rng(1)
ORACLES = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "any": np.any, "all": np.all}
NAN_ORACLES = {"nansum": np.nansum, "nanprod": np.nanprod, "nanmax": np.fmax.reduce, "nanmin": np.fmin.reduce}
COUNTS = {"count_nonzero": np.count_nonzero, "count_numbers": lambda raw, axis: np.sum(raw == raw, axis)}
SIZES = {"sizes": lambda raw, axis: np.sum(np.abs(raw), axis), "squares": lambda raw, axis: np.sum(raw * raw, axis)}
INTEGERS = ["bool", "int8", "int32", "uint64"]
# Beyond a block, a panel, a block of rows; beyond the grain, so that threads share the work.
SHAPES = [(1,), (7,), (1030,), (300_001,), (3, 5), (257, 33), (33, 1030), (40_000, 9), (2, 3, 4), (5, 300, 7),
          (4, 1, 6), (3, 2, 50, 11), (2, 100_003)]
LARGE_SHAPES = [(300_001,), (2, 200_003), (40_000, 9), (3, 20_000, 5), (300, 1030), (9, 70, 700)]


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.serial)])
def number_of_threads(request):
    before = threads.num_threads()
    threads.set_num_threads(request.param)
    yield request.param
    threads.set_num_threads(before)


def some_axes(ndim):
    return [axes for count in range(1, ndim + 1) for axes in itertools.combinations(range(ndim), count)]


def values(shape, dtype):
    return RANDOM.standard_normal(shape).astype(dtype)


def assert_sum(result, raw, axes, keepdims):
    exact = np.sum(raw.astype(np.longdouble), axis=axes, keepdims=keepdims)
    # Blocks are no longer chains than NumPy's pairwise sum; the result is rounded once.
    bound = 12 * np.finfo(raw.dtype).eps * np.sum(np.abs(raw).astype(np.longdouble), axis=axes, keepdims=keepdims)
    assert result.shape == exact.shape and result.dtype == raw.dtype
    assert np.all(np.abs(result - exact) <= bound)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sum_over_all_combinations_of_axes(shape, dtype):
    raw = values(shape, dtype)
    for axes, keepdims in itertools.product(some_axes(len(shape)), (False, True)):
        assert_sum(reduce("sum", raw, axes, keepdims, dtype), raw, axes, keepdims)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extremes_over_all_combinations_of_axes(kind, shape, dtype):
    raw = values(shape, dtype)
    for axes, keepdims in itertools.product(some_axes(len(shape)), (False, True)):
        result = reduce(kind, raw, axes, keepdims, dtype)
        np.testing.assert_array_equal(result, ORACLES[kind](raw, axis=axes, keepdims=keepdims), strict=True)


@pytest.mark.serial
@pytest.mark.parametrize("kind", ["sum", "max", "prod", "nansum", "nanmax", "squares"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", LARGE_SHAPES, ids=str)
def test_reduce_gives_the_same_bits_for_any_number_of_threads(kind, shape, dtype):
    raw, before = np.exp(values(shape, dtype) / 100), threads.num_threads()
    try:
        for axes in some_axes(len(shape)):
            found = []
            for number in (1, 2, 3, 8):
                threads.set_num_threads(number)
                found.append(reduce(kind, raw, axes, False, dtype).tobytes())
            assert len({*found}) == 1
    finally:
        threads.set_num_threads(before)


def strided_forms(raw):
    """The same values in the same axis order, in other memory."""
    padded = np.zeros(tuple(2 * size + 3 for size in raw.shape), raw.dtype)
    inner = tuple(slice(1, 2 * size, 2) for size in raw.shape)
    padded[inner] = raw
    yield padded[inner]
    wide = np.zeros((*raw.shape[:-1], raw.shape[-1] + 5), raw.dtype)
    wide[..., 3:-2] = raw
    yield wide[..., 3:-2]
    yield raw[..., ::-1].copy()[..., ::-1]
    shifted = np.zeros(raw.nbytes + 1, np.uint8)[1:].view(raw.dtype).reshape(raw.shape)
    shifted[...] = raw
    yield shifted


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("shape", [(2500,), (70, 900), (6, 130, 40)], ids=str)
def test_reduce_gives_the_same_bits_for_any_strides(kind, shape):
    raw = values(shape, np.float32)
    for axes in some_axes(len(shape)):
        expected = reduce(kind, raw, axes, False, raw.dtype)
        for form in strided_forms(raw):
            np.testing.assert_array_equal(reduce(kind, form, axes, False, raw.dtype), expected, strict=True)


@pytest.mark.parametrize("shape", [(70, 900), (6, 130, 40), (3, 5, 7, 300)], ids=str)
def test_sum_has_the_bits_of_the_array_with_its_axes_in_the_order_of_memory(shape):
    raw = values(shape, np.float32)
    for order in itertools.permutations(range(len(shape))):
        form = np.ascontiguousarray(raw.transpose(order)).transpose(np.argsort(order))     # equal to raw
        for axes in some_axes(len(shape)):
            result = reduce("sum", form, axes, True, raw.dtype)
            places = tuple(order.index(axis) for axis in axes)
            ordered = reduce("sum", np.ascontiguousarray(raw.transpose(order)), places, True, raw.dtype)
            np.testing.assert_array_equal(result.transpose(order), ordered, strict=True)
            assert_sum(result, raw, axes, True)


@given(st.data())
def test_sum_of_permuted_and_sliced_arrays(data):
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    steps = data.draw(st.lists(st.sampled_from([1, 2, -1, -3]), min_size=len(shape), max_size=len(shape)))
    order = data.draw(st.permutations(range(len(shape))))
    axes = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(shape))), min_size=1))))
    keepdims = data.draw(st.booleans())
    whole = values([size * abs(step) for size, step in zip(shape, steps)], np.float32)
    raw = whole[tuple(slice(None, None, step) for step in steps)].transpose(order)
    assert_sum(reduce("sum", raw, axes, keepdims, raw.dtype), raw, axes, keepdims)
    for kind in ("max", "min"):
        np.testing.assert_array_equal(reduce(kind, raw, axes, keepdims, raw.dtype),
                                      ORACLES[kind](raw, axis=axes, keepdims=keepdims), strict=True)
    for kind, oracle in (("max", np.argmax), ("min", np.argmin)):
        np.testing.assert_array_equal(arg_reduce(kind, raw, axes[0], keepdims),
                                      oracle(raw, axis=axes[0], keepdims=keepdims), strict=True)


def test_reduce_of_broadcast_arrays():
    raw = np.broadcast_to(values((3, 1, 5), np.float32), (3, 4, 5))
    for axes in some_axes(3):
        assert_sum(reduce("sum", raw, axes, False, raw.dtype), raw, axes, False)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sum_is_nearer_to_exact_than_numpys(dtype):
    raw = values((300, 10_000), dtype)
    for axis in (0, 1):
        exact = raw.astype(np.longdouble).sum(axis)
        ours, theirs = reduce("sum", raw, (axis,), False, dtype), raw.sum(axis)
        assert np.mean((ours - exact) ** 2) <= np.mean((theirs - exact) ** 2)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sum_keeps_what_cancels_across_blocks(dtype):
    raw = np.ones(1024, dtype)
    raw[0], raw[-1] = 1e30, -1e30
    assert reduce("sum", raw, (0,), False, dtype) == 1024 - 2 * (1024 // dtype.itemsize)   # ones that share no block


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sum_of_infinities_and_nan(dtype):
    raw = np.ones((4, 1000), dtype)
    raw[0, 3], raw[1, 700], raw[2, 5], raw[3, 5], raw[3, 900] = np.inf, -np.inf, np.nan, np.inf, -np.inf
    for array, axis in ((raw, 1), (raw.T.copy(), 0)):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in reduce"):
            found = reduce("sum", array, (axis,), False, dtype)
        np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, np.nan])


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [1, 5, 16, 100, 5000])
def test_extremes_propagate_nan_from_anywhere(kind, dtype, count):
    for place in {0, count // 2, count - 1}:
        raw = values((3, count), dtype)
        raw[1, place] = np.nan
        for array, axis in ((raw, 1), (raw.T.copy(), 0)):
            result = reduce(kind, array, (axis,), False, dtype)
            np.testing.assert_array_equal(result, ORACLES[kind](array, axis=axis))
            assert np.isnan(result[1]) and not np.isnan(result[0])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [2, 17, 3000])
def test_extremes_of_signed_zeros_are_those_of_ieee(dtype, count):
    for place in {0, count - 1, count // 2}:
        raw = np.full((2, count), -0.0, dtype)
        raw[0, place] = 0.0
        for array, axis in ((raw, 1), (raw.T.copy(), 0)):
            np.testing.assert_array_equal(np.signbit(reduce("max", array, (axis,), False, dtype)), [False, True])
            np.testing.assert_array_equal(np.signbit(reduce("min", -array, (axis,), False, dtype)), [True, False])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(16,), (3, 4), (2, 3, 5), (70, 1500), (1500, 70), (2, 40_000)], ids=str)
def test_arg_reduce_takes_the_first_of_equals(shape, dtype, number_of_threads):
    raw = RANDOM.integers(-3, 4, shape).astype(dtype)
    raw[raw == 0] *= RANDOM.choice([1, -1], np.count_nonzero(raw == 0)).astype(dtype)       # signed zeros are equal
    for axis, (kind, oracle) in itertools.product(range(raw.ndim), (("max", np.argmax), ("min", np.argmin))):
        expected = oracle(raw, axis=axis, keepdims=True)
        np.testing.assert_array_equal(arg_reduce(kind, raw, axis, True), expected, strict=True)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_arg_reduce_takes_the_first_nan(kind, dtype):
    raw = values((5, 3000), dtype)
    raw[0, [5, 9]], raw[1, [0, 2999]], raw[2, [1500, 2500]], raw[3] = np.nan, np.nan, np.nan, np.nan
    oracle = np.argmax if kind == "max" else np.argmin
    np.testing.assert_array_equal(arg_reduce(kind, raw, 1, False), oracle(raw, axis=1), strict=True)
    np.testing.assert_array_equal(arg_reduce(kind, raw.T.copy(), 0, False), oracle(raw, axis=1), strict=True)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=str)
def test_narrow_floats_accumulate_in_float32(dtype):
    dtype = np.dtype(dtype)
    raw = np.abs(values((3, 2000), np.float32)).astype(dtype)
    exact = raw.astype(np.float64).sum(1)
    result = reduce("sum", raw, (1,), False, dtype)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, exact.astype(np.float32).astype(dtype))
    single = raw.astype(np.float32)
    np.testing.assert_array_equal(reduce("max", raw, (0,), True, dtype), single.max(0, keepdims=True).astype(dtype))
    np.testing.assert_array_equal(arg_reduce("min", raw, 1, False), single.argmin(1))
    np.testing.assert_array_equal(reduce("any", raw, (1,), False, np.dtype(bool)), single.any(1))


@pytest.mark.parametrize("axis", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("kind, row", [
    ("sum", [3e38, 3e38]), ("sum", [np.inf, -np.inf]), ("sum", [np.inf, 1]), ("sum", [np.nan, 3e38]), ("sum", [1, 2]),
    ("prod", [3e38, 3e38]), ("prod", [np.inf, 0]), ("max", [np.inf, -np.inf]), ("max", [3e38, 3e38])])
def test_reductions_of_narrow_floats_warn_as_numpys(kind, row, dtype, axis, keepdims):
    dtype, found = np.dtype(dtype), []
    with np.errstate(all="ignore"):
        raw = np.minimum(np.array([row, row]), 65504 if dtype == np.float16 else 3e38).astype(dtype)
    for function in (lambda: reduce(kind, raw, axis, keepdims, dtype),
                     lambda: ORACLES[kind](raw, axis=axis, keepdims=keepdims)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        found.append({str(warning.message) for warning in caught})
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "int64", "complex64"])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod", "any", "all"])
def test_reduce_of_other_dtypes_is_numpys(kind, dtype):
    raw = RANDOM.integers(0, 3, (4, 5, 6)).astype(dtype)
    for axes in some_axes(3):
        expected = np.asarray(ORACLES[kind](raw, axis=axes))
        np.testing.assert_array_equal(reduce(kind, raw, axes, False, expected.dtype), expected, strict=True)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("shape", [(300, 70), (70, 2100), (6, 40, 50)], ids=str)
def test_integers_over_all_combinations_of_axes(shape, dtype):
    raw = RANDOM.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    for axes, (kind, oracle) in itertools.product(some_axes(len(shape)), ORACLES.items()):
        expected = np.asarray(oracle(raw, axis=axes))
        np.testing.assert_array_equal(reduce(kind, raw, axes, False, expected.dtype), expected, strict=True)
    for axes in some_axes(len(shape)):
        found = reduce("count_nonzero", raw, axes, True, np.dtype(np.int64))
        np.testing.assert_array_equal(found, np.count_nonzero(raw, axis=axes, keepdims=True), strict=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(1030,), (300, 70), (70, 2100), (6, 40, 50)], ids=str)
def test_other_kinds_over_all_combinations_of_axes(shape, dtype):
    raw = RANDOM.uniform(0.99, 1.01, shape).astype(dtype)
    raw[RANDOM.uniform(size=shape) < 0.3] = np.nan
    whole = np.nan_to_num(raw)
    for axes in some_axes(len(shape)):
        # Each product is rounded once: about the root of their number in all. A block of a sum is a short chain.
        units = 2 * np.sqrt(np.prod([shape[axis] for axis in axes])) + 8
        for array, kinds in ((raw, NAN_ORACLES), (whole, SIZES)):
            for kind, oracle in kinds.items():
                exact = oracle(array.astype(np.longdouble), axis=axes).astype(dtype)
                found = reduce(kind, array, axes, False, dtype)
                np.testing.assert_allclose(found, exact, rtol=units * np.finfo(dtype).eps)
        for array, (kind, oracle) in itertools.product((raw, whole), COUNTS.items()):
            found = reduce(kind, array, axes, False, np.dtype(np.int64))
            np.testing.assert_array_equal(found, oracle(array, axis=axes))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_product_is_taken_in_float64(dtype):
    raw = np.array([[1e30] * 3 + [1e-30] * 3] * 500, dtype)
    for array, axis in ((raw, 1), (raw.T.copy(), 0)):
        np.testing.assert_allclose(reduce("prod", array, (axis,), False, dtype), np.ones(500, dtype), rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [1, 63, 64, 200, 3000])
def test_extremes_of_numbers_find_signs_and_numbers_anywhere(dtype, count):
    for place, best in itertools.product({0, count // 2, count - 1}, (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf)):
        raw = np.full((2, count), np.nan, dtype)
        raw[0, place] = best
        for array, axis in ((raw, 1), (raw.T.copy(), 0)):
            for kind in ("nanmax", "nanmin"):
                found = reduce(kind, array, (axis,), False, dtype)
                assert found[0] == best and np.signbit(found[0]) == np.signbit(best) and np.isnan(found[1])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kind", ["sum", "nansum", "prod", "squares"])
def test_overflow_warns_from_anywhere_and_stays_with_its_call(kind, dtype, number_of_threads):
    raw = np.ones((2, 150_001), dtype)
    raw[1, [7, 150_000]] = np.finfo(dtype).max
    for array, axis in ((raw, 1), (raw.T.copy(), 0), (raw, 0) if kind == "prod" else (raw, 1)):
        if axis == 1 or array.shape[0] > 2:
            with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
                reduce(kind, array, (axis,), False, dtype)
    reduce("sum", raw[:1], (1,), False, dtype)


def test_reduce_of_empty_arrays():
    raw = np.zeros((0, 4), np.float32)
    np.testing.assert_array_equal(reduce("sum", raw, (0,), False, raw.dtype), np.zeros(4, np.float32), strict=True)
    np.testing.assert_array_equal(reduce("prod", raw, (0, 1), False, raw.dtype), np.float32(1))
    assert reduce("max", raw, (1,), False, raw.dtype).shape == (0,)
    assert arg_reduce("max", raw, 1, False).shape == (0,)
    np.testing.assert_array_equal(logsumexp(raw, (0,), True), np.full((1, 4), -np.inf, np.float32), strict=True)


def test_full_reduction_gives_a_fresh_array_without_axes():
    for raw in (values((1, 1), np.float32), values((3, 4), np.float32)):
        result = reduce("sum", raw, (0, 1), False, raw.dtype)
        assert type(result) is np.ndarray and result.shape == () and not np.shares_memory(result, raw)
        assert logsumexp(raw, (0, 1), False).shape == () and not np.shares_memory(logsumexp(raw, (0,), True), raw)


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.float16)], ids=str)
@pytest.mark.parametrize("shape", [(1,), (9,), (3000,), (3, 5), (40, 1030), (1030, 40), (2, 3, 4, 5)], ids=str)
def test_logsumexp_over_all_combinations_of_axes(shape, dtype, number_of_threads):
    raw = (10 * values(shape, np.float64)).astype(dtype)
    for axes, keepdims in itertools.product(some_axes(len(shape)), (False, True)):
        expected = special.logsumexp(raw.astype(np.float64), axis=axes, keepdims=keepdims)
        result = logsumexp(raw, axes, keepdims)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, rtol=2 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_logsumexp_of_infinities_and_nan(dtype):
    raw = values((5, 20), dtype)
    raw[0], raw[1, 3], raw[2, 4], raw[3, :19] = -np.inf, np.inf, np.nan, -np.inf
    with np.errstate(all="ignore"):
        expected = np.logaddexp.reduce(raw.astype(np.float64), axis=1)
    for array, axis in ((raw, 1), (raw.T.copy(), 0)):
        np.testing.assert_allclose(logsumexp(array, (axis,), False), expected, rtol=2 * np.finfo(dtype).eps)
