"""Means, variances, ranges and weighted means against NumPy, and their gradients against finite differences."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import assert_close, check_grad, laid_out

from .derivatives import check_against_cpu
from .reductions import DTYPES, cases, check, masks, outcome

RNG = np.random.default_rng(5)
X = RNG.standard_normal((2, 3, 4))
SPREADS = ("var", "std")


# ------------------------------------------------------------------------------------------------- values
@given(case=cases(), data=st.data())
def test_statistics_equal_numpys(case, data):
    x, axis, keepdims = case
    name = data.draw(st.sampled_from(["mean", "var", "std"]))
    options = {"axis": axis, "keepdims": keepdims}
    if name != "mean":
        options[data.draw(st.sampled_from(["ddof", "correction"]))] = data.draw(st.sampled_from([0, 1, 0.5, 3]))
    if data.draw(st.booleans()):
        options["where"] = data.draw(masks(x.shape))
    check(name, x, ulp=16, **options)


@given(case=cases(dtypes=("float32", "int8", "uint8", "int64", "float64")))
def test_ptp_equals_numpys(case):
    x, axis, keepdims = case
    check("ptp", x, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("axis", [None, 0, 2, (0, 2), (1, 2), (0, 1, 2), ()], ids=str)
@pytest.mark.parametrize("name", ["mean", "var", "std", "ptp"])
def test_statistics_on_devices_equal_numpys(name, axis, device):
    for keepdims in (False, True):
        check(name, X.astype("float32"), device, axis=axis, keepdims=keepdims)
    if name in SPREADS:
        check(name, X.astype("float32"), device, axis=axis, ddof=1, mean=np.zeros((2, 1, 4), "float32"))
        check(name, (X + 1j * X[::-1]).astype("complex64"), device, axis=axis)
    if name != "ptp":
        check(name, X.astype("float32"), device, axis=axis, where=X[:, :1] > -1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_dtype_of_statistics_is_numpys(name, dtype):
    x = RNG.integers(0, 100, (5, 6)).astype(dtype)
    check(name, x, axis=0, ulp=64)
    for wanted in ("float32", "float64"):
        if not (dtype.startswith("complex")):
            check(name, x, axis=0, dtype=np.dtype(wanted), ulp=64)


@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("shape, axis", [((3, 5000), 1), ((5000, 3), 0), ((300, 70), 0), ((7, 130, 40), (0, 2)),
                                         ((9, 40, 70), 1), ((40, 9, 30), (0, 2)), ((3000,), None)], ids=str)
def test_variance_is_as_exact_as_numpys(name, shape, axis):
    for shift in (0, 1e3):
        x = (RNG.standard_normal(shape) + shift).astype("float32")
        exact = getattr(np, name)(x.astype("float64"), axis=axis)
        ours = getattr(lnb, name)(lnb.asarray(x), axis=axis).to_host()
        off, theirs = [np.abs(found - exact).max() for found in (ours, getattr(np, name)(x, axis=axis))]
        assert off <= max(theirs, 2.0 ** -21 * np.max(exact))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "negative", "broadcast"])
def test_variance_of_any_layout(layout):
    x = laid_out(RNG.standard_normal((6, 5, 7)), layout)
    for axis in (0, 1, 2, (0, 2), (0, 1), None):
        assert_close(lnb.var(lnb.asarray(x), axis=axis), np.var(x, axis=axis), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("count", [1, 3, 7, 1000, 5000])
@pytest.mark.parametrize("value", [0.1, -1 / 3, 1e10])
def test_variance_of_equals_is_exactly_zero(count, value, device):
    for shape, axis in (((count,), 0), ((2, count), 1), ((count, 3), 0)):
        x = lnb.asarray(np.full(shape, value, "float32"), device=device)
        for name in SPREADS:
            x.requires_grad = True
            found = getattr(lnb, name)(x, axis=axis)
            assert not found.to_host().any()
            found.sum().backward()
            assert not x.grad.to_host().any()
            x.zero_grad()


LENGTHS = {
    "std": lambda x: lnb.std(x + 2),
    "std of ddof": lambda x: lnb.std(x + 2, ddof=1),
    "std where": lambda x: lnb.std(x, where=np.array([True, True, False])),
    "std about a mean": lambda x: lnb.std(x, mean=x.mean(keepdims=True)),
    "nanstd": lambda x: lnb.nanstd(lnb.concat([x, lnb.tensor([lnb.nan])])),
    "norm": lnb.linalg.norm,
    "fro": lambda x: lnb.linalg.norm(x[None], "fro"),
    "hypot": lambda x: lnb.hypot(x[0], x[1]),
    "arctan2": lambda x: lnb.arctan2(x[0], x[1]),
    "angle": lambda x: lnb.angle(x[0] + 1j * x[1]),
    "size": lambda x: lnb.abs(x[0] + 1j * x[1]),
    "pdist": lambda x: lnb.nn.functional.pdist(lnb.stack([x, 0 * x])).sum(),
    "pairwise_distance": lambda x: lnb.nn.functional.pairwise_distance(x[None], 0 * x[None], eps=0).sum(),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_all_derivatives_of_a_length_are_zero_where_it_is(name):
    # As PyTorch has it for std and the sizes of complex numbers; its norm, hypot and arctan2 are NaN there.
    f, x = LENGTHS[name], lnb.zeros(3)
    once = lnb.grad(f)
    assert not once(x).numpy().any()
    assert not lnb.hessian(f)(x).numpy().any()
    assert not lnb.jacobian(once, mode="reverse")(x).numpy().any()
    assert not lnb.grad(lambda x: lnb.jacobian(once)(x).sum())(x).numpy().any()


def test_hessian_of_variance_is_twice_the_centring_matrix_over_the_count():
    exact = 2 / 3 * (np.eye(3) - 1 / 3)
    for x in (lnb.tensor([1.0, 2.0, 5.0]), lnb.full(3, 2.0)):
        assert_close(lnb.hessian(lnb.var)(x), exact, rtol=1e-14)
        assert_close(lnb.jacobian(lnb.grad(lnb.var), mode="reverse")(x), exact, rtol=1e-14)


@pytest.mark.serial
@pytest.mark.parametrize("shape, axis", [((300_001,), 0), ((2, 200_003), 1), ((40_000, 9), 0),
                                         ((3, 20_000, 5), (0, 1))], ids=str)
def test_threads_change_no_bit(shape, axis):
    x, before, found = RNG.standard_normal(shape).astype("float32"), lnb.get_num_threads(), []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(lnb.var(lnb.asarray(x), axis=axis).to_host().tobytes())
    finally:
        lnb.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("row", [[1, np.nan, 2], [np.inf, 1, 2], [np.inf, -np.inf, 0], [3e38, -3e38, 3e38]])
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_statistics_of_what_is_not_finite(name, row):
    x = np.array([row, [1, 2, 3]], "float32")
    with np.errstate(all="ignore"):
        found, wanted = getattr(lnb, name)(lnb.asarray(x), axis=1), getattr(np, name)(x, axis=1)
    np.testing.assert_allclose(found.to_host(), wanted, rtol=1e-6)


# ---------------------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize("shape, options", [
    ((3,), {"ddof": 3}), ((3,), {"ddof": 5}), ((0,), {}), ((2, 1), {"axis": 1, "ddof": 1}), ((2, 0), {"axis": 1}),
    ((3,), {"where": np.zeros(3, bool)})], ids=str)
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_too_few_elements_warn_as_in_numpy(name, shape, options):
    if name == "mean":
        options = {key: value for key, value in options.items() if key != "ddof"}
    x = np.ones(shape)
    (found, got), (exact, wanted) = outcome(getattr(lnb, name), lnb.asarray(x), **options), outcome(
        getattr(np, name), x, **options)
    assert {text for text in got if "encountered" not in text} == {text for text in wanted if "encountered" not in text}
    np.testing.assert_array_equal(found.to_host(), exact)


def test_correction_given_twice_is_refused():
    with pytest.raises(errors.ShapeError, match="var: got ddof=1 and correction=1"):
        lnb.var(lnb.ones(3), ddof=1, correction=1)


def test_where_must_be_bools_that_fit():
    with pytest.raises(errors.DTypeError, match=r"mean: where is int64. Give bools"):
        lnb.mean(lnb.ones(3), where=lnb.asarray(np.ones(3, "int64")))
    with pytest.raises(errors.ShapeError, match=r"var: where of shape \(2, 3\) does not broadcast to \(3,\)"):
        lnb.var(lnb.ones(3), where=lnb.asarray(np.ones((2, 3), bool)))


@pytest.mark.parametrize("returned", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "bool"])
def test_average_equals_numpys(returned, dtype):
    x, rows, every = RNG.integers(0, 5, (3, 4)).astype(dtype), RNG.uniform(1, 2, 3), RNG.uniform(1, 2, (3, 4))
    for axis, weights in ((None, None), (0, None), (None, every), (1, every), (0, rows), ((1, 0), every.T),
                          (0, rows.astype("float32")), (0, np.arange(1, 4))):
        for keepdims in (False, True):
            found = lnb.average(lnb.asarray(x), axis, weights if weights is None else lnb.asarray(weights), returned,
                                keepdims=keepdims)
            wanted = np.average(x, axis, weights, returned, keepdims=keepdims)
            for got, exact in zip(found if returned else [found], wanted if returned else [wanted]):
                assert got.dtype == exact.dtype
                np.testing.assert_allclose(got.to_host(), exact, rtol=1e-6)


@pytest.mark.parametrize("axis, weights, text", [
    (None, np.ones(2), "weights of shape"), (0, np.ones(3), "do not fit axis 0"), (1, np.zeros(3), "sum to 0")])
def test_wrong_weights_are_refused(axis, weights, text):
    with pytest.raises((errors.ShapeError, ZeroDivisionError), match=rf"average: .*{text}"):
        lnb.average(lnb.ones((2, 3)), axis, weights)


# ---------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("name", ["mean", "var", "std", "ptp"])
def test_gradient_follows_finite_differences(name, axis):
    masked = {"where": lnb.asarray(np.arange(24).reshape(X.shape) % 5 != 3)}
    several = {"mean": [{}, masked], "ptp": [{}]}.get(name, [{"ddof": 0.5}, masked, {"mean": lnb.full((2, 3, 4), 0.3)}])
    for options in several:
        check_grad(partial(getattr(lnb, name), axis=axis, keepdims=len(options) == 0, **options), X)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_gradient_of_complex_follows_finite_differences(name):
    check_grad(partial(getattr(lnb, name), axis=0), X[0] + 1j * X[1])


def test_gradients_of_average_and_of_its_weights():
    check_grad(lambda x, w: lnb.average(x, 0, w, True), X[0], np.array([0.5, 1.0, 2.0]))


@pytest.mark.parametrize("name", ["mean", "var", "std", "ptp"])
def test_gradient_follows_the_cpu(name, device):
    check_against_cpu(lambda x: getattr(lnb, name)(x * x, axis=1), X, device=device)


@pytest.mark.parametrize("name", SPREADS)
def test_spread_of_one_value_is_nan_with_gradient_zero(name):
    x = lnb.tensor([[3.0], [4.0]], requires_grad=True)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(invalid="ignore"):
        found = getattr(lnb, name)(x, axis=1, ddof=1)
    found.sum().backward()
    assert np.isnan(found.to_host()).all() and x.grad.shape == (2, 1) and not x.grad.to_host().any()


def test_float16_variance_is_computed_in_float32():
    x = RNG.standard_normal(4000).astype("float16")
    assert lnb.var(lnb.asarray(x)).to_host() == np.var(x.astype("float64")).astype("float16")


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("shape, axis", [((0,), None), ((0, 3), 0), ((0, 0), 1)])
def test_mean_of_nothing_warns_as_numpys(shape, axis, device):
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        wanted = np.zeros(shape, "float32").mean(axis)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice") as caught:
        found = lnb.zeros(shape, dtype="float32", device=device).mean(axis)
    assert any(warning.filename == __file__ for warning in caught)
    np.testing.assert_array_equal(found.to_host(), wanted)


def test_mean_without_rows_but_with_columns_is_silent(device):
    assert lnb.zeros((0, 3), dtype="float32", device=device).mean(1).shape == (0,)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "bool"])
def test_mean_in_integers_is_numpys(dtype):
    for x in (np.array([[1, 2, 4], [100, 100, 100]]), np.array([[1, 2.5, 4], [1, 1, 2]])):
        found = lnb.mean(x, 1, dtype)
        np.testing.assert_array_equal(found.to_host(), np.mean(x, 1, dtype), strict=True)
    for name in ("var", "std", "nanvar", "nanstd"):
        with pytest.raises(errors.DTypeError, match=f"{name}: dtype {dtype} does not hold what lies between integers"):
            getattr(lnb, name)(X, dtype=dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_mean_of_integers_is_exact(dtype):
    top = np.iinfo(dtype).max if dtype != "bool" else 1
    x = np.full((3, 1001), top, dtype)
    x[:, ::3] = top // 2
    expected = [float(sum(map(int, row)) / 1001) for row in x]
    np.testing.assert_allclose(lnb.mean(x, 1).to_host(), expected, rtol=0 if x.itemsize < 8 else 1e-15)
    np.testing.assert_array_equal(lnb.mean(x, 1, where=x > top // 2).to_host(), np.mean(x, 1, where=x > top // 2))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")    # NumPy's nanvar takes them from real numbers
@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_spread_in_complex_numbers_is_complex_where_asked_for(name):
    for x in (X, X + 1j):
        for dtype in (None, "complex64", "complex128"):
            assert getattr(lnb, name)(x, dtype=dtype).dtype == getattr(np, name)(x, dtype=dtype).dtype
