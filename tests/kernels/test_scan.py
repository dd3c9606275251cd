"""Scans against NumPy in higher precision; the same bits for every number of threads and for every stride."""

import warnings

import ml_dtypes
import numpy as np
import pytest

from lucid_nb.kernels import threads
from lucid_nb.kernels.scan import extreme_scan, recurrence, scan

RANDOM = np.random.default_rng(3)
ORACLES = {"sum": np.cumsum, "prod": np.cumprod, "logsumexp": np.logaddexp.accumulate}
# Around a vector, a block of chains, a panel and the grain; short rows of many.
SHAPES = [(1,), (15,), (16,), (1023,), (5000,), (3, 33), (2, 1025), (1030, 3), (70, 600), (3, 40, 5), (2, 3, 4, 5)]
LARGE = [(300_001,), (3, 100_003), (100_003, 3), (5, 20_000, 3), (40_000, 9)]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def values(shape, dtype, kind="sum"):
    x = RANDOM.standard_normal(shape)
    return (np.sign(x) * (1 + 0.01 * x) if kind == "prod" else 3 * x).astype(dtype)


@pytest.mark.parametrize("kind", ORACLES)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scan_of_floats_is_rounded_once_from_a_wider_one(shape, dtype, kind):
    raw = values(shape, dtype, kind)
    for axis in range(raw.ndim):
        exact = ORACLES[kind](raw.astype(np.longdouble), axis=axis)
        result = scan(kind, raw, axis)
        assert result.shape == shape and result.dtype == dtype
        unit = 2.0 ** -7 if dtype == BFLOAT16 else float(np.finfo(dtype).eps)
        # Chains in float64 of a row's length, whose terms may cancel; float32 for the halves.
        inner = 2.0 ** -24 if dtype.itemsize == 2 else 2.0 ** -53
        size = np.cumsum(np.abs(raw).astype(np.longdouble), axis=axis) if kind == "sum" else np.abs(exact) + 1
        assert np.all(np.abs(result - exact) <= unit / 2 * np.abs(exact) + 4 * raw.shape[axis] * inner * size)


@pytest.mark.parametrize("kind", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint8", "complex64", "complex128"])
def test_scan_of_other_dtypes_is_numpys(dtype, kind):
    raw = RANDOM.integers(0, 200, (7, 130)).astype(dtype)
    raw = raw / 100 if raw.dtype.kind == "c" else raw
    for axis in (0, 1):
        np.testing.assert_array_equal(scan(kind, raw, axis), ORACLES[kind](raw, axis=axis, dtype=dtype), strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_keep_their_digits_where_parts_of_them_leave_the_range(dtype):
    limits = np.finfo(dtype)
    large, small = np.sqrt(float(limits.max)) / 8, np.sqrt(float(limits.tiny)) / 8
    rows = [np.tile([large, 1 / large], 40), np.tile([small] * 2 + [1 / small] * 2, 20),
            np.r_[np.full(5, large), np.full(20, 0.5)], np.r_[1.5, np.zeros(3), np.full(60, large)],
            np.r_[float(limits.max) / 2, np.full(20, small), np.full(30, 3.0)]]
    for row in rows:
        raw = row.astype(dtype)
        for axis, array in ((1, raw[None]), (0, raw[:, None])):
            with np.errstate(all="ignore"):
                exact = np.cumprod(array.astype(np.longdouble), axis=axis)
                expected, result = exact.astype(dtype), scan("prod", array, axis)
            np.testing.assert_allclose(result, expected, rtol=1e-14 if dtype == "float64" else 2e-7,
                                       atol=float(limits.smallest_subnormal))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scan_of_infinities_nan_and_signed_zeros(dtype):
    raw = np.array([[-0.0] * 20, [1, np.inf, 2, -np.inf] + [1] * 16, [1, 2, np.nan] + [3] * 17, [-np.inf] * 20,
                    [0.0, np.inf] + [1] * 18, [-np.inf, np.inf] + [0] * 18], dtype)
    with np.errstate(all="ignore"):
        for kind in ORACLES:
            wanted = ORACLES[kind](raw.astype(np.longdouble), axis=1)
            for array, axis in ((raw, 1), (raw.T.copy(), 0)):
                result = scan(kind, array, axis)
                result = result if axis else result.T
                np.testing.assert_allclose(result, wanted, rtol=1e-6)
                if kind == "sum":
                    np.testing.assert_array_equal(np.signbit(result[0]), True)


@pytest.mark.parametrize("kind, row, category", [
    ("sum", [3e38, 3e38], "overflow"), ("sum", [np.inf, -np.inf], "invalid"), ("prod", [1e30, 1e30], "overflow"),
    ("sum", [np.inf, 1], None), ("prod", [np.nan, 1], None), ("prod", [np.inf, 0], "invalid")])
def test_scan_warns_as_numpys(kind, row, category):
    raw = np.array(row, np.float32)
    texts = []
    for function in (lambda: ORACLES[kind](raw), lambda: scan(kind, raw, 0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function()
        texts.append({str(warning.message) for warning in caught})
    assert texts[0] == texts[1] and bool(texts[0]) == (category is not None)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint64", "uint8", "bool", "float16",
                                   BFLOAT16], ids=str)
@pytest.mark.parametrize("shape", [(300,), (70, 130), (130, 7), (2, 3, 70)], ids=str)
def test_extremes_are_numpys_at_their_latest_places(shape, dtype):
    raw = np.round(values(shape, np.float64)).astype(dtype)
    if raw.dtype.kind not in "biu":
        raw.flat[::91] = np.nan
    wide = raw if raw.dtype.kind in "biu" else raw.astype(np.float64)
    for axis in range(raw.ndim):
        for kind, ufunc in (("max", np.maximum), ("min", np.minimum)):
            result, places = extreme_scan(kind, raw, axis)
            wanted = ufunc.accumulate(wide, axis, wide.dtype)
            assert result.dtype == raw.dtype and places.dtype == np.int64
            np.testing.assert_array_equal(result.astype(wide.dtype), wanted)
            steps = np.arange(shape[axis]).reshape((-1,) + (1,) * (raw.ndim - 1 - axis))
            is_new = (wide == wanted) | (wide != wide)
            np.testing.assert_array_equal(places, np.maximum.accumulate(np.where(is_new, steps, 0), axis))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16"])
@pytest.mark.parametrize("shape", [(40,), (5, 33), (33, 5), (2, 7, 3), (4, 1)], ids=str)
def test_recurrence_is_that_of_a_loop(shape, dtype):
    raw, factor = values(shape, "float64").astype(dtype), (values(shape, "float64") / 6).astype(dtype)
    factor.flat[3 % factor.size] = 0
    for axis in range(raw.ndim):
        wanted = raw.astype("complex128" if dtype == "complex128" else "float64")
        rows, slopes = np.moveaxis(wanted, axis, 0), np.moveaxis(factor.astype(wanted.dtype), axis, 0)
        for place in range(1, len(rows)):
            rows[place] += slopes[place] * rows[place - 1]
        rtol = 2e-3 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(recurrence(factor, raw, axis), wanted, rtol=rtol, atol=rtol)


def test_a_factor_of_zero_absorbs_infinities():
    for axis, shape in ((0, (1, 3)), (1, (3, 1))):
        raw, factor = np.array([np.inf, 2, 3.0]).reshape(shape[::-1]), np.array([5, 0, 1.0]).reshape(shape[::-1])
        assert recurrence(factor, raw, axis).ravel().tolist() == [np.inf, 2, 5]


@pytest.mark.serial
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_scans_give_the_same_bits_for_any_number_of_threads(shape):
    raw, before = values(shape, np.float32, "prod"), threads.num_threads()
    try:
        for axis in range(raw.ndim):
            found = []
            for number in (1, 2, 3):
                threads.set_num_threads(number)
                parts = [scan(kind, raw / 1.01, axis) for kind in ORACLES] + [*extreme_scan("max", raw, axis)]
                found.append([part.tobytes() for part in (*parts, recurrence(raw / 9, raw, axis))])
            assert found[0] == found[1] == found[2]
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("shape", [(2100,), (70, 90), (6, 30, 40)], ids=str)
def test_scans_give_the_same_bits_for_any_strides(shape):
    raw = values(shape, np.float32, "prod")
    wide = np.zeros((*shape[:-1], 2 * shape[-1] + 5), raw.dtype)
    wide[..., 3:-2:2] = raw
    for axis in range(raw.ndim):
        for kind in ORACLES:
            expected = scan(kind, raw, axis)
            for form in (wide[..., 3:-2:2], raw[..., ::-1].copy()[..., ::-1]):
                np.testing.assert_array_equal(scan(kind, form, axis), expected, strict=True)


def test_scans_of_other_memory_orders_and_of_nothing():
    raw = np.asfortranarray(values((30, 40, 5), np.float64))
    for axis in range(3):
        np.testing.assert_allclose(scan("sum", raw, axis), np.cumsum(raw, axis), rtol=1e-12, atol=1e-12)
    for shape in ((0,), (0, 3), (3, 0)):
        empty = np.zeros(shape, np.float32)
        for axis in range(empty.ndim):
            assert scan("sum", empty, axis).shape == shape and recurrence(empty, empty, axis).shape == shape
            assert [part.shape for part in extreme_scan("max", empty, axis)] == [shape] * 2
