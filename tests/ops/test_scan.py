"""Scans against NumPy and SciPy over dtypes, shapes and layouts, and their gradients against finite differences."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.testing import assert_close, check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(17)
X = RNG.standard_normal((3, 4, 5))
ZEROS = X.copy()
ZEROS[0, 1], ZEROS[1, 0, :2], ZEROS[1, 3] = 0, 0, 0           # one and two in a row that is multiplied
DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SCANS = {"cumsum": np.cumsum, "cumprod": np.cumprod, "nancumsum": np.nancumsum, "nancumprod": np.nancumprod}
WIDE = {"e": "float32", "f": "float64", "d": "longdouble", "F": "complex128", "D": "clongdouble"}


def exact(name, x, axis, dtype=None):
    """NumPy's result, floats accumulated in more digits: (wide values, dtype of the result)."""
    rounded = SCANS[name](x, axis=axis, dtype=dtype)
    return SCANS[name](x, axis=axis, dtype=WIDE.get(rounded.dtype.char, rounded.dtype)), rounded.dtype


def check(found, wanted, dtype):
    """Dtype, shape and values, to the rounding of sums whose terms cancel."""
    assert found.dtype == dtype and found.shape == wanted.shape
    if dtype.kind in "biu":
        np.testing.assert_array_equal(found.to_host(), wanted)
    else:
        size = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
        assert_close(found, wanted, rtol=float(np.finfo(dtype).eps), atol=float(np.finfo(dtype).eps * size))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(data=st.data())
def test_running_sums_and_products_are_numpys(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(testing.arrays(dtype, testing.shapes(max_dims=4), awkward=np.dtype(dtype).kind in "biu"))
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    for name in SCANS:
        wanted, result = exact(name, x, axis)
        check(getattr(lnb, name)(lnb.asarray(x), axis), wanted, result)
    for given_dtype in ("float32", "int8" if x.dtype.kind in "biu" else "float64"):
        if x.dtype.kind != "c":
            wanted, result = exact("cumsum", x, axis, given_dtype)
            check(lnb.cumsum(x, axis, given_dtype), wanted, result)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_running_sums_of_infinities_and_nan_are_numpys(dtype):
    x = np.array([[1, np.nan, 2, 3], [np.inf, 1, -np.inf, 2], [-np.inf, np.nan, 1, 1], [0, np.inf, 0, 1]], dtype)
    for name in SCANS:
        wanted, result = exact(name, x, 1)
        check(getattr(lnb, name)(lnb.asarray(x), 1), wanted, result)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("float64", "complex64", "complex128")])
def test_scans_on_each_device_follow_numpy(dtype, device):
    x = RNG.integers(0, 3, (3, 5)).astype(dtype)
    on = lnb.asarray(x, device=device)
    for axis in (0, -1):
        for name in ("cumsum", "cumprod"):
            found = getattr(lnb, name)(on, axis)
            np.testing.assert_array_equal(found.to_host(), getattr(np, name)(x, axis=axis), strict=True)
            assert found.device == device
        values, places = lnb.cummax(on, axis)
        np.testing.assert_array_equal(values.to_host(), np.maximum.accumulate(x, axis), strict=True)
        np.testing.assert_array_equal(np.take_along_axis(x, places.to_host(), axis), values.to_host())


def test_bfloat16_is_accumulated_in_float32(device):
    x = RNG.uniform(0.5, 1, (3, 200)).astype(ml_dtypes.bfloat16)
    found = lnb.cumsum(lnb.asarray(x, device=device), 1)
    assert found.dtype == ml_dtypes.bfloat16
    assert_close(found, np.cumsum(x.astype("float64"), 1), rtol=1.01 * 2.0 ** -8)


def test_cumulative_functions_are_numpys():
    x = RNG.integers(-4, 5, (3, 4))
    for name in ("cumulative_sum", "cumulative_prod"):
        ours, theirs = getattr(lnb, name), getattr(np, name)
        for initial in (False, True):
            for axis in (0, 1, -1):
                for dtype in (None, "float32", "int16"):
                    found = ours(x, axis=axis, dtype=dtype, include_initial=initial)
                    wanted = theirs(x, axis=axis, dtype=dtype, include_initial=initial)
                    np.testing.assert_array_equal(found.to_host(), wanted, strict=True)
            np.testing.assert_array_equal(ours(x[0], include_initial=initial).to_host(),
                                          theirs(x[0], include_initial=initial))
        with pytest.raises(errors.ShapeError, match="which axis"):
            ours(x)


def test_out_takes_the_result():
    out = lnb.zeros((3, 4, 5))
    assert lnb.cumsum(X, 1, out=out) is out
    np.testing.assert_allclose(out.to_host(), np.cumsum(X, 1))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_extremes_and_places_are_those_of_torch(axis):
    torch = pytest.importorskip("torch", reason="the rule of places is PyTorch's")
    x = np.round(3 * X)
    x[0, 2, 1] = x[2, 1, 3] = np.nan
    for name in ("cummax", "cummin"):
        found, wanted = getattr(lnb, name)(lnb.asarray(x), axis), getattr(torch, name)(torch.from_numpy(x), axis)
        for got, should in zip(found, wanted):
            np.testing.assert_array_equal(got.to_host(), should.numpy())


def test_logcumsumexp_is_that_of_numpy_without_overflow(device):
    x = np.array([[1000, 1000, -1000, 3], [-np.inf, -np.inf, 2, 1], [1, np.inf, 2, np.inf], [np.nan, 1, 2, 3]])
    x = x.astype("float32")
    with np.errstate(all="ignore"):
        for axis in (0, 1):
            wanted = np.logaddexp.accumulate(x.astype("float64"), axis)
            assert_close(lnb.logcumsumexp(lnb.asarray(x, device=device), axis), wanted, rtol=2e-6, atol=2e-6)
    assert lnb.logcumsumexp([1, 2], 0).dtype == np.float64


# -------------------------------------------------------------------------------------------- gradients
DIFFERENTIABLE = {
    "cumsum": lambda x: lnb.cumsum(x, 1), "flat cumsum": lnb.cumsum, "cumprod": lambda x: lnb.cumprod(x, 1),
    "flat cumprod": lnb.cumprod, "logcumsumexp": lambda x: lnb.logcumsumexp(x, 1),
    "cummax": lambda x: lnb.cummax(x, 1)[0], "cummin": lambda x: lnb.cummin(x, -1)[0],
    "cumulative_prod": lambda x: lnb.cumulative_prod(x, axis=0, include_initial=True)}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_follows_finite_differences(name):
    check_grad(DIFFERENTIABLE[name], X)
    if "cum" in name and "max" not in name and "min" not in name:
        check_grad(DIFFERENTIABLE[name], ZEROS)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_gradient_of_complex_scans_follows_finite_differences(name):
    check_grad(DIFFERENTIABLE[name], ZEROS + 1j * ZEROS[::-1])


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax"])
def test_gradient_follows_the_cpu(name, device):
    check_against_cpu(DIFFERENTIABLE[name], ZEROS[:2, :, :2] + 0.1 * X[:2, :, :2] * (name == "cummax"), device=device)


def test_gradient_skips_nan_and_minus_infinity():
    x = lnb.tensor([1.0, np.nan, 3.0], requires_grad=True)
    lnb.nancumprod(x).sum().backward()
    assert x.grad.tolist() == [5, 0, 1]
    x = lnb.tensor([-np.inf, -np.inf, 1.0, -np.inf], requires_grad=True)
    lnb.logcumsumexp(x, 0)[1:].sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 0]


def test_gradient_of_a_running_maximum_goes_to_the_latest_of_equals():
    x = lnb.tensor([1.0, 1.0, 0.0], requires_grad=True)
    lnb.cummax(x, 0)[0].sum().backward()
    assert x.grad.tolist() == [1, 2, 0]


def test_bad_arguments_are_refused_with_the_values(device):
    x = lnb.asarray(X.astype("float32"), device=device)
    with pytest.raises(errors.AxisError, match="cumsum: axis 3 is out of range for 3 dimensions"):
        lnb.cumsum(x, 3)
    with pytest.raises(errors.DTypeError, match="cummax: complex64 has no order"):
        lnb.cummax(np.ones(2, "complex64"), 0)
    with pytest.raises(errors.DTypeError, match="logcumsumexp: has no meaning for complex64"):
        lnb.logcumsumexp(np.ones(2, "complex64"), 0)


@pytest.mark.parametrize("name", [*SCANS, "cumulative_sum", "cumulative_prod"])
def test_scan_of_a_number_is_that_of_one_element(name, device):
    ours, theirs = getattr(lnb, name), getattr(np, name)
    for axis in (0, -1, None):
        found = ours(lnb.asarray(np.float32(3), device=device), axis=axis)
        np.testing.assert_array_equal(found.to_host(), theirs(np.float32(3), axis=axis), strict=True)
    with pytest.raises(errors.AxisError, match=f"{name}: axis 1 is out of range for 1 dimensions"):
        ours(lnb.asarray(np.float32(3), device=device), axis=1)
