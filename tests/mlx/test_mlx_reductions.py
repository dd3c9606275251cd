"""Reductions, softmax and cross entropy against NumPy and SciPy in float64."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype("float16"), BFLOAT16, np.dtype("float32")]
FLOATS += [] if table.runtime.ON_GPU else [np.dtype("float64")]
RELATIVE = {np.dtype("float16"): 1e-3, BFLOAT16: 8e-3, np.dtype("float32"): 1e-6, np.dtype("float64"): 1e-14}
all_floats = pytest.mark.parametrize("dtype", FLOATS, ids=str)


@st.composite
def arrays_and_axes(draw, dtype, minimum=0):
    """A small array and some of its axes."""
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=4, min_side=minimum, max_side=4))
    axes = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    values = np.random.default_rng(draw(st.integers(0, 9))).standard_normal(shape) * 4
    return values.astype(dtype), tuple(sorted(axes))


def reduce(kind, array, axes, keepdims=False, dtype=None):
    return table.to_numpy(table.reduce(kind, table.from_numpy(array), axes, keepdims, dtype or array.dtype))


@all_floats
@given(st.data())
def test_sums_and_products_match_float64(dtype, data):
    array, axes = data.draw(arrays_and_axes(dtype))
    keepdims = data.draw(st.booleans())
    near_one = np.copysign(2 ** np.sin(array.astype("float64")), array).astype(dtype)    # no product leaves float16
    for kind, operand in (("sum", array), ("prod", near_one)):
        wide = operand.astype("float64")
        expected = getattr(np, kind)(wide, axis=axes, keepdims=keepdims)
        got = reduce(kind, operand, axes, keepdims)
        assert got.shape == expected.shape
        assert got.dtype == dtype
        scale = np.abs(wide).sum(axes, keepdims=keepdims) if kind == "sum" else np.abs(expected)
        assert (np.abs(got - expected) <= RELATIVE[dtype] * scale + 1e-30).all()


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_long_sums_do_not_lose_digits(dtype):
    array = np.full(300_001, 0.1, dtype)
    expected = array.astype("float64").sum()
    got = reduce("sum", array[:4001], (0,))
    assert got == np.asarray(array[:4001].astype("float64").sum()).astype(dtype)
    if dtype == "float32":
        np.testing.assert_allclose(reduce("sum", array, (0,)), expected, rtol=1e-7)
        np.testing.assert_allclose(reduce("sum", array[:, None] * np.ones(3, dtype), (0,)), [expected] * 3, rtol=1e-7)


@all_floats
@given(st.data())
def test_extremes_propagate_nan_and_arg_extremes_give_the_first(dtype, data):
    array, _ = data.draw(arrays_and_axes(dtype, minimum=1))
    values = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, 1, 2, 2]).astype(dtype)
    if data.draw(st.booleans()):
        array = np.random.default_rng(data.draw(st.integers(0, 99))).choice(values, array.shape)
    axis = data.draw(st.integers(0, array.ndim - 1))
    for kind in ("max", "min"):
        expected = getattr(np, kind)(array.astype("float64"), axis=axis)
        np.testing.assert_array_equal(reduce(kind, array, (axis,)).astype("float64"), expected)
        index = table.to_numpy(table.arg_reduce(kind, table.from_numpy(array), axis, True))
        wanted = getattr(np, "arg" + kind)(array.astype("float64"), axis=axis, keepdims=True)
        assert index.dtype == np.int64
        np.testing.assert_array_equal(index, wanted)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64"])
def test_integer_reductions_are_numpys(dtype):
    array = np.random.default_rng(0).integers(0, 120, (5, 7)).astype(dtype)
    for kind in ("sum", "prod", "max", "min", "any", "all"):
        expected = getattr(np, kind)(array, axis=1)
        got = reduce(kind, array, (1,), dtype=expected.dtype)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected, err_msg=kind)
    assert reduce("sum", np.full(300, 100, "int8"), (0,), dtype=np.dtype("int8")) == np.int64(30000).astype("int8")
    for kind in ("max", "min"):
        got = table.to_numpy(table.arg_reduce(kind, table.from_numpy(array), 0, False))
        np.testing.assert_array_equal(got, getattr(np, "arg" + kind)(array, axis=0))


def test_any_and_all_take_nan_as_true():
    array = np.float32([[np.nan, 0], [0, -0.0], [1, np.inf]])
    for kind in ("any", "all"):
        got = reduce(kind, array, (1,), dtype=np.dtype(bool))
        np.testing.assert_array_equal(got, getattr(np, kind)(array, axis=1))


def test_empty_reductions_have_numpys_shapes():
    array = np.zeros((0, 3), "float32")
    assert reduce("sum", array, (0,)).tolist() == [0, 0, 0]
    assert reduce("prod", array, (0,)).tolist() == [1, 1, 1]
    assert reduce("max", array, (1,)).shape == (0,)
    assert table.arg_reduce("max", table.from_numpy(array), 1, True).shape == (0, 1)


@all_floats
@given(st.data())
def test_sums_of_exponentials_match_scipy(dtype, data):
    array, axes = data.draw(arrays_and_axes(dtype, minimum=1))
    axis = axes[0]
    wide, raw = array.astype("float64"), table.from_numpy(array)
    pairs = [(table.softmax(raw, axis), scipy.special.softmax(wide, axis)),
             (table.log_softmax(raw, axis), scipy.special.log_softmax(wide, axis)),
             (table.logsumexp(raw, axes, True), scipy.special.logsumexp(wide, axes, keepdims=True)),
             (table.logsumexp(raw, axes, False), scipy.special.logsumexp(wide, axes))]
    for got, expected in pairs:
        assert table.dtype_of(got) == dtype
        got = table.to_numpy(got).astype("float64")
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=4 * RELATIVE[dtype], atol=4 * RELATIVE[dtype])


@all_floats
def test_minus_infinities_alone_give_zeros(dtype):
    raw = table.from_numpy(np.array([[-np.inf, -np.inf], [-np.inf, 2], [3, np.inf]]).astype(dtype))
    soft = table.to_numpy(table.softmax(raw, 1)).astype("float64")
    assert soft[:2].tolist() == [[0, 0], [0, 1]]
    total = table.to_numpy(table.logsumexp(raw, (1,), False)).astype("float64")
    assert total.tolist() == [-np.inf, 2, np.inf]
    logarithm = table.to_numpy(table.log_softmax(raw, 1)).astype("float64")
    assert logarithm[:2].tolist() == [[-np.inf, -np.inf], [-np.inf, 0]]


def test_sums_of_exponentials_far_from_zero():
    raw = table.from_numpy(np.float32([[1e4, 1e4], [-1e4, -1e4 - 1]]))
    expected = [[-np.log(2)] * 2, [-0.31326169, -1.31326169]]
    np.testing.assert_allclose(table.to_numpy(table.log_softmax(raw, 1)), expected, rtol=1e-6)
    np.testing.assert_allclose(table.to_numpy(table.softmax(raw, 1))[0], [0.5, 0.5])


@all_floats
@given(st.data())
def test_gradients_of_softmax_follow_their_formulas(dtype, data):
    array, axes = data.draw(arrays_and_axes(dtype))
    axis = axes[0]
    y = (np.abs(array.astype("float64")) / 20).astype(dtype)
    wide, g = y.astype("float64"), array.astype("float64")
    got = table.softmax_grad(table.from_numpy(y), table.from_numpy(array), axis)
    expected = wide * (g - (g * wide).sum(axis, keepdims=True))
    np.testing.assert_allclose(table.to_numpy(got).astype("float64"), expected, rtol=RELATIVE[dtype],
                               atol=8 * RELATIVE[dtype])
    got = table.log_softmax_grad(table.from_numpy(y), table.from_numpy(array), axis)
    expected = g - np.exp(wide) * g.sum(axis, keepdims=True)
    np.testing.assert_allclose(table.to_numpy(got).astype("float64"), expected, rtol=RELATIVE[dtype],
                               atol=40 * RELATIVE[dtype])


@all_floats
@given(rows=st.integers(0, 5), classes=st.integers(1, 6), seed=st.integers(0, 9))
def test_cross_entropy_and_its_gradient_match_float64(dtype, rows, classes, seed):
    rng = np.random.default_rng(seed)
    logits = (rng.standard_normal((rows, classes)) * 3).astype(dtype)
    target = rng.integers(0, classes, rows)
    target[rng.random(rows) < 0.3] = -100
    g = rng.standard_normal(rows).astype(dtype)
    wide, counts = logits.astype("float64"), target != -100
    column = np.where(counts, target, 0)[:, None]
    log_probabilities = scipy.special.log_softmax(wide, 1)
    losses = np.where(counts, -np.take_along_axis(log_probabilities, column, 1)[:, 0], 0)
    raws = table.from_numpy(logits), table.from_numpy(target)
    got = table.cross_entropy(*raws, -100)
    assert table.dtype_of(got) == dtype
    np.testing.assert_allclose(table.to_numpy(got).astype("float64"), losses, rtol=4 * RELATIVE[dtype],
                               atol=4 * RELATIVE[dtype])
    slope = (np.exp(log_probabilities) - (np.arange(classes) == column)) * g.astype("float64")[:, None]
    got = table.to_numpy(table.cross_entropy_grad(*raws, table.from_numpy(g), -100)).astype("float64")
    np.testing.assert_allclose(got, np.where(counts[:, None], slope, 0), rtol=4 * RELATIVE[dtype],
                               atol=4 * RELATIVE[dtype])


def test_ignored_rows_may_hold_anything():
    logits = table.from_numpy(np.float32([[np.nan, 1], [1, 2]]))
    target = table.from_numpy(np.array([-1, 0]))
    assert table.to_numpy(table.cross_entropy(logits, target, -1))[0] == 0
    got = table.to_numpy(table.cross_entropy_grad(logits, target, table.from_numpy(np.float32([1, 1])), -1))
    assert got[0].tolist() == [0, 0]


def test_reductions_give_the_same_bits_each_time():
    array = np.random.default_rng(0).standard_normal((64, 999)).astype("float32")
    assert reduce("sum", array, (0, 1)).tobytes() == reduce("sum", array, (0, 1)).tobytes()


INFINITE = [[np.inf, -np.inf, 1], [np.inf, 2, 1], [-np.inf, 0, 1], [-np.inf, -np.inf, -np.inf], [np.nan, -np.inf, 1]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softmax_of_infinities_is_that_of_scipy(dtype):
    special = pytest.importorskip("scipy.special")
    x = np.array(INFINITE, dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        total, shares = (function(x.astype("float64"), 1) for function in (special.logsumexp, special.softmax))
        shares[3] = 0                                       # of nothing but -inf, zeros here
        wanted = {"softmax": shares, "log_softmax": np.log(shares)}
    for name, exact in wanted.items():
        found = table.to_numpy(getattr(table, name)(table.from_numpy(x), 1))
        np.testing.assert_allclose(found, exact, rtol=2e-3 if dtype == "float16" else 1e-6, err_msg=name)
    found = table.to_numpy(table.logsumexp(table.from_numpy(x), (1,), False))
    np.testing.assert_allclose(found, total, rtol=2e-3 if dtype == "float16" else 1e-6)
