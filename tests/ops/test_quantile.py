"""Medians and quantiles against NumPy, by every definition, and their gradients against finite differences."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.ops.quantile import METHODS
from lucid_nb.testing import assert_close, check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(31)
X = RNG.standard_normal((3, 4, 5))
HOLES = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, X)
DTYPES = ["bool", "int8", "uint8", "int64", "float16", "float32", "float64"]
QUANTILES = st.sampled_from([0, 1, 0.3, np.float32(0.7), [0.0, 0.5, 0.98], np.array([[0.1], [0.9]]), [0, 1]])


def check(found, wanted):
    """Dtype, shape and values; NumPy gives one NaN of its own in the array's dtype, whatever the rule is."""
    wanted = np.asarray(wanted)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype or (wanted.size == 1 and np.isnan(wanted).all())
    half = wanted.dtype == np.float16
    assert_close(found.to_host().astype("float64"), wanted.astype("float64"), rtol=1e-3 if half else 2e-7,
                 atol=1e-3 if half else 2e-7)


@st.composite
def problems(draw):
    """An array without infinities, perhaps with NaN, and axes over which it has elements."""
    x = draw(testing.arrays(st.sampled_from(DTYPES), testing.shapes(min_side=1, max_dims=4), awkward=False))
    if x.dtype.kind == "f" and draw(st.booleans()):
        holes = draw(st.lists(st.booleans(), min_size=x.size, max_size=x.size))
        x = np.where(np.reshape(holes, x.shape), x.dtype.type(np.nan), x)
    axes = draw(st.lists(st.sampled_from(range(x.ndim)), unique=True, min_size=1)) if x.ndim else [None]
    axis = draw(st.sampled_from([None, axes[0], tuple(axes) if x.ndim else None]))
    return x, axis, draw(st.booleans())


def quiet(function, *args, **keywords):
    """NumPy's answer, None where it refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **keywords)
        except TypeError:
            return None


@given(problem=problems(), q=QUANTILES, method=st.sampled_from(list(METHODS)))
def test_quantiles_are_numpys(problem, q, method):
    x, axis, keepdims = problem
    for name in ("quantile", "nanquantile", "percentile", "nanpercentile"):
        if name.startswith("nan") and np.ndim(q) == 2:
            continue                       # NumPy puts the axes of such q in the middle
        given_q = q if "quantile" in name else (np.multiply(q, 100) if np.ndim(q) else q * 100)
        wanted = quiet(getattr(np, name), x, given_q, axis=axis, method=method, keepdims=keepdims)
        if wanted is not None:
            check(quiet(getattr(lnb, name), x, given_q, axis=axis, method=method, keepdims=keepdims), wanted)


@given(problem=problems())
def test_medians_are_numpys(problem):
    x, axis, keepdims = problem
    for name in ("median", "nanmedian"):
        found, wanted = [quiet(getattr(library, name), x, axis, keepdims=keepdims) for library in (lnb, np)]
        check(found, wanted)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("shape, axis", [((3, 4, 5), None), ((3, 4, 5), 1), ((3, 4, 5), (2, 0)), ((4,), 1)], ids=str)
def test_weighted_quantiles_are_numpys(name, shape, axis):
    weights = RNG.integers(int(name == "nanquantile"), 4, shape).astype("float64") + (np.arange(shape[-1]) == 1)
    for x in (X, HOLES, np.round(9 * X).astype("int32")):
        for q in (0.0, 0.35, [0.5, 1.0]):
            if name == "nanquantile" and len(shape) == 1:
                continue                   # NumPy does not take them out together with the NaNs
            found = quiet(getattr(lnb, name), x, q, axis=axis, method="inverted_cdf", weights=weights)
            check(found, quiet(getattr(np, name), x, q, axis=axis, method="inverted_cdf", weights=weights))


def test_quantiles_on_each_device(device):
    x = HOLES.astype("float32")
    on = lnb.asarray(x, device=device)
    for name in ("quantile", "nanquantile"):
        found = getattr(lnb, name)(on, [0.2, 0.5], axis=1)
        assert found.device == device and found.dtype == np.float64 if device != "mlx" else found.device == device
        assert_close(found, getattr(np, name)(x, [0.2, 0.5], axis=1), rtol=1e-6, atol=1e-6)
    assert_close(lnb.nanmedian(on, 1), np.nanmedian(x, 1), rtol=1e-6)
    assert_close(lnb.median(on), np.median(x))


def test_out_and_overwrite_input_keep_the_input():
    x, out = lnb.tensor(X), lnb.zeros((3, 5))
    assert lnb.median(x, 1, out, overwrite_input=True) is out and lnb.quantile(x, 0.5, 1, out=out) is out
    np.testing.assert_allclose(out.to_host(), np.median(X, 1))
    np.testing.assert_array_equal(x.to_host(), X)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("method", METHODS)
def test_infinite_neighbours_give_what_numpy_gives(method):
    for row in ([1.0, 2.0, np.inf], [-np.inf, -np.inf, 1.0], [1.0, np.inf, np.inf], [-np.inf, 0.0, np.inf, np.inf]):
        for q in (0.0, 0.1, 0.5, 0.6, 0.75, 1.0, [0.25, 0.5, 1.0]):
            found = lnb.quantile(row, q, method=method).to_host()
            np.testing.assert_array_equal(found, np.quantile(row, q, method=method))
            np.testing.assert_array_equal(lnb.nanquantile([*row, np.nan], q, method=method).to_host(), found)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_nothing_to_take_a_median_of_warns_as_numpys():
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(lnb.median(np.zeros(0)).item())
    with pytest.warns(RuntimeWarning, match="All-NaN slice encountered"):
        assert np.isnan(lnb.nanmedian([np.nan, np.nan]).item())
    with pytest.warns(RuntimeWarning, match="All-NaN slice encountered"):
        assert lnb.nanquantile([[np.nan, np.nan], [1, 2]], 0.5, axis=1).tolist()[1] == 1.5


# -------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("method", METHODS)
def test_gradient_follows_finite_differences(method):
    check_grad(lambda x: lnb.quantile(x, [0.1, 0.6], axis=(0, 2), method=method), X)
    check_grad(lambda x: lnb.nanquantile(lnb.where(HOLES != HOLES, np.nan, x), 0.3, axis=1, method=method), X)


@pytest.mark.parametrize("method", ["linear", "hazen", "weibull", "median_unbiased", "midpoint", "lower"])
def test_gradient_by_q_follows_finite_differences(method):
    x = np.random.default_rng(7).standard_normal((2, 6))
    nan = np.where(x == x.max(), np.nan, x)
    check_grad(lambda x, q: lnb.quantile(x, q, axis=1, method=method), x, np.array([0.23, 0.87]))
    check_grad(lambda q: lnb.nanpercentile(nan, q, axis=1, method=method), np.array(37.0))
    check_grad(lambda q: lnb.quantile(x, q, method=method), np.array([[0.31], [0.999]]))


def test_gradient_of_medians_follows_finite_differences():
    check_grad(lambda x: lnb.median(x, 1), X)
    check_grad(lnb.median, X)
    check_grad(lambda x: lnb.nanmedian(lnb.where(HOLES != HOLES, np.nan, x), 1), X)
    weights = np.array([0.3, 0.1, 0.7, 0.5])
    check_grad(lambda x: lnb.quantile(x, 0.3, axis=1, method="inverted_cdf", weights=weights), X)


def test_gradient_follows_the_cpu(device):
    check_against_cpu(lambda x: lnb.median(x * x, 1), X[:2, :, :2], device=device)


@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
def test_gradient_of_equals_is_torchs(function):
    torch = pytest.importorskip("torch")
    rows = np.array([[2.0, 2.0, 2.0, 2.0], [1.0, 0.0, 1.0, 0.0], [3.0, 3.0, 1.0, 1.0]])
    ours, theirs = lnb.tensor(rows, requires_grad=True), torch.tensor(rows, requires_grad=True)
    for q in (0.25, 0.5, 0.8):
        getattr(lnb, function)(ours, q, axis=1).sum().backward()
        getattr(torch, function)(theirs, q, dim=1).sum().backward()
        order = np.argsort(rows, axis=1, kind="stable")               # equals may stand in any order there
        np.testing.assert_allclose(*[np.sort(np.take_along_axis(np.asarray(g), order, 1)) for g in
                                     (ours.grad.to_host(), theirs.grad.numpy())], rtol=1e-12)
        ours.grad = theirs.grad = None


# ------------------------------------------------------------------------------------------------- errors
def test_bad_arguments_are_refused_with_the_values():
    with pytest.raises(errors.ShapeError, match=r"quantile: q goes from 2 to 2. Use 0 to 1."):
        lnb.quantile(X, 2)
    with pytest.raises(errors.DTypeError, match=r"quantile: q is <U1\. Use real numbers\."):
        lnb.quantile(X, "a")
    for weights in (None, np.zeros((3, 0))):
        with pytest.raises(errors.ShapeError, match="quantile: no elements to take quantiles of"):
            lnb.quantile(np.zeros((3, 0)), 0.5, axis=1, method="inverted_cdf", weights=weights)
    with pytest.raises(errors.ShapeError, match=r"percentile: q goes from -1 to 50. Use 0 to 100."):
        lnb.percentile(X, [-1, 50])
    with pytest.raises(errors.ShapeError, match=r"quantile: method 'best' is unknown. Use one of inverted_cdf, "):
        lnb.quantile(X, 0.5, method="best")
    with pytest.raises(errors.ShapeError, match="quantile: method 'linear' takes no weights"):
        lnb.quantile(X, 0.5, weights=X)
    with pytest.raises(errors.ShapeError, match="quantile: a weight is -1"):
        lnb.quantile(X, 0.5, method="inverted_cdf", weights=-np.ones_like(X))
    with pytest.raises(errors.ShapeError, match="quantile: weights include NaN or infinity, or are all 0"):
        lnb.quantile(X, 0.5, method="inverted_cdf", weights=np.zeros_like(X))
    with pytest.raises(errors.DTypeError, match=r"quantile: weights have shape \(4,\), the array \(3, 4, 5\)."):
        lnb.quantile(X, 0.5, method="inverted_cdf", weights=np.ones(4))
    with pytest.raises(errors.ShapeError, match=r"quantile: weights of shape \(4,\) for axes \(2,\)"):
        lnb.quantile(X, 0.5, 2, method="inverted_cdf", weights=np.ones(4))
    with pytest.raises(errors.DTypeError, match="quantile: complex128 has no order"):
        lnb.quantile(X + 1j, 0.5)
    with pytest.raises(errors.ShapeError, match="quantile: no elements to take quantiles of"):
        lnb.quantile(np.zeros((0, 3)), 0.5, axis=0)


def test_quantile_of_no_rows_is_empty():
    rows = np.zeros((0, 3))
    for weights in (None, rows):
        for method in ("linear", "inverted_cdf")[weights is not None:]:
            found = lnb.quantile(rows, [0.5, 0.2], axis=1, method=method, weights=weights).to_host()
            np.testing.assert_array_equal(found, np.quantile(rows, [0.5, 0.2], axis=1, method=method), strict=True)


@pytest.mark.parametrize("call", [lambda lib: lib.nanmedian(np.zeros(0)), lambda lib: lib.nanquantile([], 0.5)])
def test_nothing_at_all_warns_as_numpys(call):
    texts = []
    for library in (lnb, np):
        with pytest.warns(RuntimeWarning) as told:
            assert np.isnan(float(call(library)))
        texts.append([str(one.message) for one in told])
    assert texts[0] == texts[1]
