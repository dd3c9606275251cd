"""Reductions that pass over NaN against NumPy, and their gradients against finite differences."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import check_grad

from .derivatives import check_against_cpu
from .reductions import FLOATS, cases, check, masks, outcome

RNG = np.random.default_rng(8)
X = RNG.standard_normal((3, 4, 5))
WITH_NAN = np.where(RNG.uniform(size=X.shape) < 0.3, np.nan, X)
TOTALS, EXTREMES, MEANS = ("nansum", "nanprod"), ("nanmax", "nanmin"), ("nanmean", "nanvar", "nanstd")
PLACES = ("nanargmax", "nanargmin")
NAMES = (*TOTALS, *EXTREMES, *MEANS)


# ------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("name", NAMES)
@given(case=cases(dtypes=(*FLOATS, "int32", "bool")), data=st.data())
def test_reductions_equal_numpys(name, case, data):
    x, axis, keepdims = case
    if x.dtype.kind in "fc" and x.size:
        x = x.copy()
        x[np.array(data.draw(st.lists(st.booleans(), min_size=x.size, max_size=x.size))).reshape(x.shape)] = np.nan
    options = {"axis": axis, "keepdims": keepdims}
    if name in MEANS[1:]:
        options["ddof"] = data.draw(st.sampled_from([0, 1]))
    if data.draw(st.booleans()):
        options["where"] = data.draw(masks(x.shape))
        if name in EXTREMES:
            options["initial"] = 1
    check(name, x, ulp=64, **options)


@pytest.mark.parametrize("axis", [None, 0, 2, (0, 2), ()], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_reductions_on_devices_equal_numpys(name, axis, device):
    for dtype in ("float32", "float16", "complex64"):
        with np.errstate(all="ignore"):
            check(name, WITH_NAN.astype(dtype), device, axis=axis, ulp=64)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", PLACES)
def test_places_equal_numpys(name, axis, device):
    x = np.round(WITH_NAN * 2).astype("float32")
    check(name, x, device, axis=axis)
    check(name, np.nan_to_num(x).astype("int32"), device, axis=axis, keepdims=True)


@pytest.mark.parametrize("numbers", [[2, 7, 7, 0], [2, np.nan, 7, 0], [[5, 1], [0, 3]]], ids=str)
@pytest.mark.parametrize("name", PLACES)
def test_places_in_small_arrays_equal_numpys(name, numbers, device):
    for dtype in ("float32", "float64"):
        check(name, np.array(numbers, dtype), device)
    if not np.isnan(numbers).any():
        check(name, np.array(numbers, "int32"), device)


@pytest.mark.parametrize("name", PLACES)
def test_place_in_nothing_but_nan_is_refused(name, device):
    x = lnb.asarray(np.array([[1, 2], [np.nan, np.nan]], "float32"), device=device)
    with pytest.raises(errors.ShapeError, match=f"{name}: All-NaN slice encountered"):
        getattr(lnb, name)(x, axis=1)


@pytest.mark.parametrize("shape, axis", [((3, 5003), 1), ((5003, 3), 0), ((30, 40, 50), (0, 2)), ((2, 150_001), 1)],
                         ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_rows_and_columns(shape, axis, dtype):
    x = RNG.uniform(0.99, 1.01, shape).astype(dtype)
    x[RNG.uniform(size=shape) < 0.2] = np.nan
    for name in (*TOTALS, "nanmax", "nanmean"):
        check(name, x, axis=axis)


@pytest.mark.parametrize("row", [[np.nan, np.nan], [1, np.nan], [np.nan, -np.inf], [np.inf, np.nan], [-0.0, np.nan]])
@pytest.mark.parametrize("name", NAMES)
def test_warnings_and_signs_are_numpys(name, row):
    for x, axis in ((np.array([row, [1, 2]]), 1), (np.array([row, row]).T, 0), (np.array(row * 300), None)):
        (found, got), (exact, wanted) = [outcome(function, operand, axis=axis) for function, operand in (
            (getattr(lnb, name), lnb.asarray(x)), (getattr(np, name), x))]
        np.testing.assert_array_equal(found.to_host(), exact)
        if name in EXTREMES:
            np.testing.assert_array_equal(np.signbit(found.to_host()), np.signbit(exact))
        texts = [{text for text in texts if "encountered in" not in text} for texts in (got, wanted)]
        assert {text.replace(" axis", "") for text in texts[0]} == {text.replace(" axis", "") for text in texts[1]}


# ---------------------------------------------------------------------------------------------- gradients
SPARSE = np.where(np.indices((2, 3, 5)).sum(0) % 5 == 2, np.nan, X[:2, :3])       # numbers along every axis


def without(function, x):
    """The function of the numbers alone: what finite differences may move."""
    holes = np.isnan(x)
    return lambda numbers: function(lnb.where(lnb.asarray(holes), lnb.nan, numbers)), np.nan_to_num(x, nan=0.5)


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("name", NAMES)
def test_gradient_follows_finite_differences(name, axis):
    f, x = without(partial(getattr(lnb, name), axis=axis), SPARSE)
    check_grad(f, x)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanvar"])
def test_gradient_of_complex_follows_finite_differences(name):
    f, x = without(partial(getattr(lnb, name), axis=0), WITH_NAN[0] + 1j * X[1])
    check_grad(f, x)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_follows_the_cpu(name, device):
    def function(x):
        return getattr(lnb, name)(lnb.where(lnb.asarray(np.isnan(SPARSE), device=x.device), lnb.nan, x), axis=1)
    check_against_cpu(function, np.nan_to_num(SPARSE, nan=0.5), device=device, rtol=2e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_nan_has_gradient_zero(name, device):
    x = lnb.asarray(np.array([[1, np.nan, 3, 5], [np.nan] * 4], "float32"), device=device)
    x.requires_grad = True
    getattr(lnb, name)(x, axis=1)[:1].sum().backward()
    gradient = x.grad.to_host()
    assert gradient[0, 1] == 0 and not gradient[1].any() and np.isfinite(gradient).all() and gradient[0].any()


@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_ties_share_the_gradient(name, device):
    x = lnb.asarray(np.array([2, np.nan, 2, 2, np.nan], "float32"), device=device)
    x.requires_grad = True
    getattr(lnb, name)(x).backward()
    np.testing.assert_allclose(x.grad.to_host(), [1 / 3, 0, 1 / 3, 1 / 3, 0], rtol=1e-6)


def test_deviation_of_equals_is_zero_with_gradient_zero(device):
    x = lnb.asarray(np.array([0.1, np.nan, 0.1, 0.1], "float32"), device=device)
    x.requires_grad = True
    found = lnb.nanstd(x)
    found.backward()
    assert found.item() == 0 and not x.grad.to_host().any()


@pytest.mark.filterwarnings("error")
def test_mean_of_only_nan_warns_as_numpys():
    for numbers in (np.full((2, 2), np.nan), np.zeros((0, 2))):
        with pytest.raises(RuntimeWarning, match="Mean of empty slice"):
            np.nanmean(numbers, axis=0)
        with pytest.raises(RuntimeWarning, match="Mean of empty slice"):
            lnb.nanmean(numbers, axis=0)
    with pytest.warns(RuntimeWarning) as told:
        lnb.nanmean(np.full((2, 2), np.nan), axis=0)
    assert [str(one.message) for one in told] == ["Mean of empty slice"]


def test_refusals_name_the_function_that_was_called():
    with pytest.raises(errors.DTypeError, match="nanmean: "):
        lnb.nanmean([1, 2], out=lnb.zeros((), dtype="int64"))
    with pytest.raises(errors.AxisError, match="nanargmax: "):
        lnb.nanargmax([1, 2], 3)
