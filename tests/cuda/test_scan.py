"""Scans against NumPy's accumulate, one element after the other in float64."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb.cuda.running import SMALLEST, recurrence_of
from lucid_nb.cuda.scan import BLOCK, plan_of

pytestmark = pytest.mark.cuda_simulator
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
RANDOM = np.random.default_rng(3)
UFUNCS = {"sum": np.add, "prod": np.multiply, "logsumexp": np.logaddexp}
# A thread's own columns, tiles with a tail, several chunks, and columns beside each other.
SHAPES = [((7,), 0), ((45,), 0), ((3, 3), 1), ((2, 21), 1), ((9, 2, 5), 0), ((2, 9, 3), 1), ((4, 0), 1), ((3, 2, 6), 1)]


def call(entry, *operands):
    found = getattr(table, entry)(*[table.from_numpy(x) if isinstance(x, np.ndarray) else x for x in operands])
    return tuple(map(table.to_numpy, found)) if isinstance(found, tuple) else table.to_numpy(found)


def wide(x):
    return x if x.dtype.kind in "biuc" else x.astype(np.float64)


@pytest.mark.parametrize("kind", UFUNCS)
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_scan_equals_numpy_along_any_axis(kind, shape, axis):
    x = RANDOM.uniform(-2, 2, shape)
    np.testing.assert_allclose(call("scan", kind, x, axis), UFUNCS[kind].accumulate(x, axis), rtol=1e-13, atol=1e-14)


@given(shape=st.tuples(*[st.integers(0, 5)] * 3), axis=st.integers(0, 2))
def test_scan_of_any_strided_shape_equals_numpy(shape, axis):
    x = RANDOM.integers(-9, 9, (*shape, 2))
    view = table.slice(table.from_numpy(x), (..., 1))
    np.testing.assert_array_equal(table.to_numpy(table.scan("sum", view, axis)), np.cumsum(x[..., 1], axis))


@pytest.mark.parametrize("kind", ["sum", "prod"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", BFLOAT16, "float32",
                                   "complex64", "complex128"], ids=str)
def test_dtypes_of_scans(kind, dtype):
    x = RANDOM.integers(0, 4, (2, 19)).astype(dtype)
    x[1, 11] = 0
    found = call("scan", kind, x, 1)
    assert found.dtype == x.dtype
    with np.errstate(all="ignore"):
        should = UFUNCS[kind].accumulate(wide(x), 1, wide(x).dtype).astype(dtype)
    np.testing.assert_array_equal(found, should)


def test_products_overflow_and_vanish_where_they_do_one_by_one():
    x = np.array([1e300, 1e300, 1e-300, 2.0] + [1.0] * 20)
    small = np.array([1e-200, 1e-200, 1e200, 1e200, 3.0] + [1.5] * 20)
    back = np.array([1e-200] + [1e200, 1e-200] * 12)
    zero = np.array([1e300, 1e300, 0.0, 5.0, np.inf] + [2.0] * 12)
    masked = np.array([3.0, 0.0] * 9)
    for given_x in (x, x[::-1].copy(), small, back, zero, masked):
        with np.errstate(all="ignore"):
            should = np.multiply.accumulate(given_x)
        np.testing.assert_allclose(call("scan", "prod", given_x, 0), should, rtol=1e-14)
        np.testing.assert_allclose(call("scan", "prod", given_x.astype(complex), 0).real[:2], should[:2], rtol=1e-14)


FACTORS = st.sampled_from([0.5, -2.0, 3.0, 1e-200, -1e200, 1e-160, 1e160, 1.0, 1.0, 1.0, 0.0, np.inf])


@given(st.lists(FACTORS, min_size=1, max_size=90), st.integers(1, 3), st.booleans())
def test_products_of_chunks_are_those_of_single_steps(factors, columns, is_complex):
    """A chunk whose own product is lost is walked, unless what comes before has vanished or is infinite."""
    x = np.stack([np.roll(factors, -shift) for shift in range(columns)], 1)
    with np.errstate(all="ignore"):
        should = np.multiply.accumulate(x)
    if is_complex:
        x, should = x[np.isfinite(x).all(1)] * 1j, None
        should = accumulated(x)
    found = call("scan", "prod", x, 0)
    finite = np.isfinite(should) & (np.abs(should) > 1e-290)
    np.testing.assert_allclose(found[finite], should[finite], rtol=1e-14)
    if not is_complex:
        np.testing.assert_allclose(found, should, rtol=1e-13, atol=1e-290)


def accumulated(x):
    """One after the other; complex products of NumPy's at once may overflow otherwise."""
    y = x.copy()
    with np.errstate(all="ignore"):
        for i in range(1, len(x)):
            y[i] = y[i - 1] * x[i]
    return y


def test_signs_of_what_vanished_or_overflowed_go_on():
    x = np.where(RANDOM.random(120) < 0.5, -1.0, 1.0) * np.repeat([1e-30, 1e30], 60)
    for factors in (x, x[::-1].copy()):
        with np.errstate(all="ignore"):
            should = np.multiply.accumulate(factors)
        found = call("scan", "prod", factors, 0)
        np.testing.assert_allclose(found, should, rtol=1e-13, atol=1e-290)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(should))


def test_infinities_and_signs_of_zero():
    x = np.array([-0.0, -0.0, 1, np.inf, 2, -np.inf, 3, 1, 1])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(call("scan", "sum", x, 0), np.cumsum(x))
    assert np.signbit(call("scan", "sum", x, 0)[:2]).all()
    x = np.array([-np.inf, -np.inf, -1000, 1000, 1000, -np.inf, np.inf, 1, np.nan, 2])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(call("scan", "logsumexp", x, 0), np.logaddexp.accumulate(x))


def latest_extreme(kind, x):
    """One element after the other."""
    best, place, values, places = x[0], 0, [], []
    for i, value in enumerate(x):
        if (value >= best if kind == "max" else value <= best) or value != value:
            best, place = value, i
        values.append(best), places.append(place)
    return np.array(values, x.dtype), np.array(places)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", BFLOAT16, "float32", "float64"], ids=str)
def test_extremes_are_the_latest_of_equals(kind, dtype):
    for length in (3, 30):
        x = RANDOM.integers(0, 6, (length, 3)).astype(dtype)
        if x.dtype.kind not in "biu":
            x[length // 2:, 1] = [np.nan, *x[length // 2 + 1:, 1]]
            x[0, 2] = -np.inf if kind == "max" else np.inf
        values, places = call("extreme_scan", kind, x, 0)
        assert values.dtype == x.dtype and places.dtype == np.int64
        for column in range(3):
            should = latest_extreme(kind, x[:, column])
            np.testing.assert_array_equal(wide(values[:, column]), wide(should[0]))
            np.testing.assert_array_equal(places[:, column], should[1])
    assert [part.shape for part in call("extreme_scan", kind, np.zeros((0, 2), dtype), 0)] == [(0, 2)] * 2


def stepped(factor, x):
    """One element after the other."""
    y = x.copy()
    with np.errstate(all="ignore"):
        for i in range(1, len(x)):
            y[i] += np.where(factor[i] == 0, 0, factor[i] * y[i - 1])
    return y


@pytest.mark.parametrize("dtype", ["float16", BFLOAT16, "float32", "float64", "complex64", "complex128"], ids=str)
@pytest.mark.parametrize("shape, axis", [((3, 2), 0), ((41,), 0), ((2, 9, 3), 1), ((3, 2, 6), 1), ((0,), 0)])
def test_recurrence_follows_its_definition(dtype, shape, axis):
    factor, x = RANDOM.integers(-2, 3, (2, *shape)) / 2
    factor, x = factor.astype(dtype), x.astype(dtype)
    exact = [np.moveaxis(part.astype("complex128"), axis, 0) for part in (factor, x)]
    should = np.moveaxis(stepped(*exact), 0, axis)
    found = call("recurrence", factor, x, axis)
    assert found.dtype == x.dtype
    tolerance = {2: 1e-2, 4: 1e-6}.get(x.real.itemsize, 1e-14)
    np.testing.assert_allclose(found.astype("complex128"), should, rtol=tolerance, atol=tolerance)


def test_recurrence_with_factors_that_overflow_vanish_or_absorb():
    x = np.array([np.nan, 1, 0, 0, 1e-300, 0, 0, 2, np.inf, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    factor = np.array([np.inf, 0, 1e200, 1e200, 0, 1e250, 1e250, 0.5, 1, 0, 1e-200, 1e-200, 1e200, 1e200, 1, 0, np.inf,
                       0, 3, 3])
    np.testing.assert_allclose(call("recurrence", factor, x, 0), stepped(factor, x), rtol=1e-13)


# Nothing is subtracted, so that only what is lost can differ.
@given(st.lists(st.tuples(st.sampled_from([0.5, 0.25, 0.0, 1e-30, 1e30, 1.0, 2.0]), st.sampled_from([0.0, 1.0, 3.0])),
                min_size=1, max_size=90), st.sampled_from(["float32", "float64"]))
def test_recurrences_of_chunks_are_those_of_single_steps(steps, dtype):
    factor, x = (np.array(part, dtype) for part in zip(*steps))
    should = stepped(factor.astype(np.float64), x.astype(np.float64))
    is_plain = np.abs(should) < 1e-290                     # of these doubles only that they are small
    with np.errstate(all="ignore"):
        found = call("recurrence", factor, x, 0)
        np.testing.assert_allclose(found[~is_plain], should.astype(dtype)[~is_plain], rtol=2e-7 if dtype == "float32"
                                   else 1e-13, atol=1e-300)
    assert (np.abs(found[is_plain]) <= 1e-290).all()


def test_memory_that_fades_is_no_fault_in_single_precision():
    """Or every tile of a moving average would be walked by one thread."""
    halves, doubles = (recurrence_of(np.dtype(dtype)) for dtype in ("float32", "float64"))
    for how, expected in ((halves, False), (doubles, True)):
        state, found = (0.5, 1.0), False
        for _ in range(5000):
            after = how.combine(state, (0.5, 1.0))
            found, state = found or how.fault(state, (0.5, 1.0), after), after
        assert found == expected and state[1] == 2
    tiny, large = (SMALLEST, 1.0), (1e3, 1.0)
    assert halves.fault(tiny, large, halves.combine(tiny, large))
    huge = (0.5, 1e250)
    assert halves.fault(huge, tiny, halves.combine(huge, tiny))


@pytest.mark.parametrize("sizes", [(1, 2**31 + 7, 1), (1, 10_000, 7), (70_000, 30, 70_000), (3, 0, 5)])
@pytest.mark.parametrize("is_merge", [True, False])
def test_plans_cover_the_axis(sizes, is_merge):
    plan = plan_of(*sizes, is_merge)
    assert plan.columns * plan.lanes <= BLOCK and plan.lanes & (plan.lanes - 1) == 0 and plan.lanes >= 1
    chunk = -(-sizes[1] // plan.chunks)
    assert (plan.chunks - 1) * chunk < max(1, sizes[1]) <= max(1, plan.chunks * chunk)
