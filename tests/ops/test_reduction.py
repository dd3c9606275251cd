"""Reductions against NumPy and SciPy, and their gradients against finite differences."""

from functools import partial

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import assert_close, check_grad, laid_out

from .derivatives import check_against_cpu
from .reductions import DTYPES, cases, check, masks, outcome

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4, 5)).astype("float32")
AXES = [None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (2, 0), (0, 1, 2), ()]
GRADIENTS = {"sum": lnb.sum, "prod": lnb.prod, "max": lnb.max, "min": lnb.min, "logsumexp": lnb.logsumexp}
NAMES = ["sum", "prod", "max", "min", "any", "all", "count_nonzero"]
PLACES = ["argmax", "argmin"]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all"])
def test_reduction_over_axes_equals_numpy(name, axis, keepdims, device):
    x = np.where(X > 1, 0, X).astype("float32")
    found = getattr(lnb, name)(lnb.asarray(x, device=device), axis=axis, keepdims=keepdims)
    wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    assert found.device == device and found.dtype == wanted.dtype
    if name == "sum":
        exact = getattr(np, name)(x.astype("float64"), axis=axis, keepdims=keepdims)
        scale = np.abs(x).astype("float64").sum(axis=axis, keepdims=keepdims)
        assert np.all(np.abs(found.to_host() - exact) <= 4e-7 * scale) and found.shape == wanted.shape
    else:
        assert_close(found, wanted, ulp=0)


@pytest.mark.parametrize("axis", AXES[:-1], ids=str)
def test_logsumexp_equals_scipy(axis, device):
    found = lnb.logsumexp(lnb.asarray(X, device=device), axis=axis)
    assert_close(found, scipy.special.logsumexp(X.astype("float64"), axis=axis), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_place_of_extreme_equals_numpy_with_ties_and_nan(name, axis, keepdims, device):
    x = np.round(X * 2)
    for values in (x, np.where(x == 1, np.nan, x), np.zeros_like(x)):
        found = getattr(lnb, name)(lnb.asarray(values, device=device), axis=axis, keepdims=keepdims)
        wanted = getattr(np, name)(values, axis=axis, keepdims=keepdims)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.to_host(), wanted)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64", "complex64"], ids=str)
def test_sum_in_other_dtypes_accumulates_no_worse_than_the_result(dtype, device, has_float64):
    if dtype == "float64" and not has_float64:
        pytest.skip("MLX has float64 on its CPU build only")
    x = RNG.uniform(0.5, 1, (7, 501)).astype(dtype)
    for axis in (0, 1, None):
        found = lnb.sum(lnb.asarray(x, device=device), axis=axis)
        assert found.dtype == x.dtype
        exact = x.astype("complex128" if dtype == "complex64" else "float64").sum(axis=axis)
        unit = {"float16": 2.0 ** -11, "float64": 1e-14, "complex64": 2e-6}.get(dtype, 2.0 ** -8)
        assert_close(found, exact, rtol=1.01 * unit)


def test_dtype_of_sum_can_be_chosen():
    x = lnb.asarray(np.array([100, 100], "int8"))
    assert lnb.sum(x, dtype="int8").item() == -56 and lnb.sum(x, dtype=lnb.float32).dtype == np.float32
    assert lnb.mean(x, dtype=lnb.float32).item() == 100


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "logsumexp"])
def test_nan_and_infinities_pass_through_as_in_numpy(name, device):
    x = np.array([[1, np.nan, 3], [np.inf, 2, 1], [-np.inf, np.inf, 0], [-np.inf] * 3, [-0.0, 0.0, -0.0]], "float32")
    with np.errstate(all="ignore"):
        wanted = scipy.special.logsumexp(x, axis=1) if name == "logsumexp" else getattr(np, name)(x, axis=1)
        found = getattr(lnb, name)(lnb.asarray(x, device=device), axis=1).to_host()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_empty_arrays(device):
    empty = lnb.asarray(np.zeros((0, 3), "float32"), device=device)
    assert lnb.sum(empty).item() == 0 and lnb.sum(empty, axis=0).tolist() == [0, 0, 0]
    assert lnb.sum(empty, axis=1).shape == (0,) and lnb.all(empty).item() is True and lnb.any(empty).item() is False
    assert lnb.logsumexp(empty, axis=0).tolist() == [-np.inf] * 3 and lnb.logsumexp(empty).item() == -np.inf
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(errors.ShapeError, match=f"{name}: no elements"):
            getattr(lnb, name)(empty, axis=0)
    assert lnb.max(empty, axis=1).shape == (0,)


@pytest.mark.parametrize("name", NAMES)
@given(case=cases(), data=st.data())
def test_any_dtype_shape_and_layout_reduces_as_in_numpy(name, case, data):
    x, axis, keepdims = case
    options = {"axis": axis, "keepdims": keepdims}
    if name != "count_nonzero" and data.draw(st.booleans()):
        options["where"] = data.draw(masks(x.shape))
    if name in NAMES[:4] and data.draw(st.booleans()):
        options["initial"] = data.draw(st.sampled_from([0, 1, 2]))
    if name in NAMES[:2] and x.dtype.kind != "c" and data.draw(st.booleans()):
        options["dtype"] = np.dtype(data.draw(st.sampled_from(["float32", "float64", "int64", "complex128"])))
    check(name, x, ulp=64, **options)


@given(case=cases(dtypes=[dtype for dtype in DTYPES if dtype != "bool"], awkward=True))
def test_extremes_and_places_of_awkward_numbers_are_numpys(case):
    x, axis, keepdims = case
    for name in ("max", "min", "any", "all"):
        with np.errstate(invalid="ignore"):
            check(name, x, axis=axis, keepdims=keepdims, ulp=0)
    axis = axis if isinstance(axis, int) else None
    for name in PLACES:
        check(name, x, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool", "float16", "complex64"])
@pytest.mark.parametrize("name", [*NAMES, *PLACES])
def test_integers_and_others_reduce_as_in_numpy(name, dtype, device):
    x = RNG.integers(0, 3, (3, 4, 5)).astype(dtype)
    axes = [0, 1, None] if name in PLACES else [0, 2, (0, 2), None]
    for axis in axes:
        check(name, x, device, axis=axis, ulp=64)


@pytest.mark.parametrize("name", NAMES[:4])
def test_where_and_initial_on_devices(name, device):
    mask = X[:, :1] > 0
    check(name, X, device, axis=(0, 2), where=mask, initial=np.float32(0.5), ulp=64)
    check(name, X[:0], device, axis=0, initial=np.float32(0.5))
    with pytest.raises(errors.ShapeError, match="where of shape"):
        getattr(lnb, name)(lnb.asarray(X[0], device=device), where=lnb.asarray(X > 0, device=device), initial=1)


@pytest.mark.parametrize("dtype", ["int32", "bool", "float32"])
@pytest.mark.parametrize("shape, axis", [((3, 5003), 1), ((5003, 3), 0), ((30, 40, 50), (0, 2)), ((2, 150_001), 1)],
                         ids=str)
def test_long_rows_and_columns_reduce_as_in_numpy(shape, axis, dtype):
    x = RNG.integers(0, 2, shape).astype(dtype)
    for name in NAMES:
        check(name, x if name != "prod" else x + x.dtype.type(1 if dtype == "bool" else 0), axis=axis)


@pytest.mark.parametrize("row, text", [([3e38, 3e38], "overflow"), ([np.inf, -np.inf], "invalid"), ([np.inf, 1], ""),
                                       ([np.nan, 1], ""), ([1, 2], "")])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "nansum"])
def test_overflow_and_invalid_sums_warn_as_in_numpy(name, dtype, row, text):
    with np.errstate(over="ignore"):
        row = (np.array(row) * (5e269 if dtype == "float64" else 2e-34 if dtype == "float16" else 1)).astype(dtype)
    for axis, x in ((0, row), (1, np.stack([row, row])), (0, np.stack([row, row], 1))):
        got, wanted = [outcome(function, operand, axis=axis)[1] for function, operand in (
            (getattr(lnb, name), lnb.asarray(x)), (getattr(np, name), x))]
        if name != "prod" or "inf" not in str(row):
            assert got == wanted, x


def test_warnings_of_sums_obey_errstate():
    x = lnb.asarray(np.full(5, 1e308))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
        lnb.sum(x)
    with np.errstate(over="ignore"):
        assert lnb.sum(x).item() == np.inf


def test_arguments_are_positional_as_in_numpy():
    x = X.astype("float64")
    out = lnb.zeros((3, 1, 5))
    for name in ("sum", "prod", "mean"):
        wanted = getattr(np, name)(x, 1, "float64", None, True)
        assert_close(getattr(lnb, name)(lnb.asarray(x), 1, "float64", out, True), wanted, rtol=1e-13)
    for name in ("max", "min", "ptp", "any", "all"):
        assert getattr(lnb, name)(lnb.asarray(x), 1, None, True).shape == (3, 1, 5)


def test_amax_and_amin_are_max_and_min():
    assert lnb.amax is lnb.max and lnb.amin is lnb.min and lnb.Tensor.max is lnb.max


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "logsumexp", "prod"])
@pytest.mark.parametrize("shape, axis", [((3, 50_003), 1), ((50_003, 3), 0), ((70, 40, 30), 1), ((100_003,), None)],
                         ids=str)
def test_threads_and_layout_change_no_bit(name, shape, axis):
    x = RNG.standard_normal(shape).astype("float32")
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(getattr(lnb, name)(lnb.asarray(x), axis=axis).to_host())
    finally:
        lnb.set_num_threads(before)
    found.append(getattr(lnb, name)(lnb.asarray(laid_out(x, "strided")), axis=axis).to_host())
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


# -------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_follows_finite_differences(name, axis):
    for keepdims in (False, True):
        check_grad(partial(GRADIENTS[name], axis=axis, keepdims=keepdims), X[:2, :3, :2])


def test_gradient_of_complex_sum_follows_finite_differences():
    check_grad(lambda z: lnb.sum(z * z, axis=0), X[0] + 1j * X[1])


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_follows_the_cpu(name, device):
    check_against_cpu(lambda x: GRADIENTS[name](x * x, axis=1), X[:2, :3, :2], device=device)


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_share_the_gradient(name, device):
    x = lnb.asarray(np.array([[1, 1, 0], [2, 2, 2], [0, 0, 1]], "float32"), device=device)
    x = -x if name == "min" else x
    x.requires_grad = True
    getattr(lnb, name)(x, axis=1).sum().backward()
    third = np.float32(1) / 3
    np.testing.assert_array_equal(x.grad.to_host(), np.array([[.5, .5, 0], [third] * 3, [0, 0, 1]], "float32"))


def test_gradient_of_extreme_of_nan_goes_to_the_nans():
    x = lnb.tensor([1.0, np.nan, 2.0], requires_grad=True)
    lnb.max(x).backward()
    assert x.grad.tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_gradient_with_where_and_initial_follows_finite_differences(name):
    mask = lnb.asarray(RNG.uniform(size=(2, 3, 2)) > 0.3)
    check_grad(partial(GRADIENTS[name], axis=(0, 2), where=mask, initial=-0.2), X[:2, :3, :2])


@pytest.mark.parametrize("row", [[2, 3, 4, 5], [2, 0, 4, 5], [0, 3, 0, 5], [0, 0, 0, 5], [0] * 4, [2], [0],
                                 [1, 2, 3, 0, 5, 0, 7]], ids=str)
def test_gradient_of_product_with_zeros_follows_finite_differences(row, device):
    x = np.array([row, row[::-1]], "float64")
    for axis in (0, 1, None):
        if device == "cpu":
            check_grad(lambda x, axis=axis: lnb.prod(x, axis) + lnb.sum((x + 1) ** 2, axis), x)
        check_against_cpu(partial(lnb.prod, axis=axis), x, device=device)


def test_gradient_of_complex_product_follows_finite_differences():
    check_grad(lambda z: lnb.prod(z, axis=0), X[0] + 1j * X[1])
    check_grad(lambda z: lnb.prod(z) + lnb.sum((z + 1) * (z + 1)), np.array([0, 1 + 2j, 0, 3j]))


def test_gradient_of_nothing_multiplied_is_empty():
    x = lnb.tensor(np.zeros((2, 0)), requires_grad=True)
    lnb.prod(x, axis=1).sum().backward()
    assert x.grad.shape == (2, 0)


def test_largest_complex_number_has_the_gradient():
    x = lnb.tensor([1 + 2j, 1 + 3j, 0.5 + 9j], requires_grad=True)
    lnb.max(x).backward(lnb.asarray(np.array(2 + 1j)))
    assert x.grad.tolist() == [0, 2 + 1j, 0]


# ------------------------------------------------------------------------------------------------- errors
def test_bad_arguments_are_refused_with_the_values(device):
    x = lnb.asarray(X, device=device)
    with pytest.raises(errors.AxisError, match=r"sum: axis 3 is out of range for 3 dimensions. Use -3 to 2."):
        lnb.sum(x, axis=3)
    with pytest.raises(errors.AxisError, match=r"max: axis .* names an axis twice"):
        lnb.max(x, axis=(0, -3))
    with pytest.raises(errors.ShapeError, match=r"max: where leaves elements out.* Give initial"):
        lnb.max(x, where=x > 0)
    with pytest.raises(errors.DTypeError, match="sum: <U1 data has no arithmetic"):
        lnb.sum(np.array(["a"]))


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "count_nonzero", "nansum", "nanmax"])
def test_zero_dimensions_have_the_axis_that_numpy_gives_them(name, axis):
    found = getattr(lnb, name)(lnb.tensor(3.0), axis=axis)
    assert found.shape == () and found.item() == getattr(np, name)(np.float64(3), axis=axis)
    with pytest.raises(lnb.AxisError, match="axis 1 of a 0-d array"):
        getattr(lnb, name)(lnb.tensor(3.0), axis=1)


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
def test_place_in_a_number_is_numpys(name, device):
    ours, theirs = getattr(lnb, name), getattr(np, name)
    for axis in (0, -1, None):
        for keepdims in (False, True):
            found = ours(lnb.asarray(np.float32(3), device=device), axis, keepdims=keepdims)
            np.testing.assert_array_equal(found.to_host(), theirs(np.float32(3), axis, keepdims=keepdims), strict=True)
    with pytest.raises(errors.AxisError, match=f"{name}: axis 1 of a 0-d array"):
        ours(lnb.asarray(np.float32(3), device=device), 1)


@pytest.mark.parametrize("name", ["argmax", "argmin", "nanargmax", "nanargmin"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "uint64", "float32", "float64", "complex64"])
def test_place_goes_into_the_dtypes_that_numpy_takes(name, dtype):
    x, out = np.array([[1.0, 3.0, 2.0], [0.0, 5.0, -1.0]]), np.zeros(2, dtype)
    try:
        expected = getattr(np, name)(x, 1, out)
    except TypeError:
        with pytest.raises(errors.DTypeError, match=f"{name}: out is {dtype}, places are integers"):
            getattr(lnb, name)(x, 1, lnb.zeros(2, dtype=dtype))
    else:
        found = getattr(lnb, name)(x, 1, lnb.zeros(2, dtype=dtype)).to_host()
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "nanprod"])
def test_total_in_bools_stays_in_bools(name):
    x, mask = np.array([[2, 0, 1], [0, 0, 3]]), np.array([True, False, True])
    for options in ({"where": mask}, {"initial": 1}, {"where": mask, "initial": 0, "axis": 1},
                    {"where": mask, "axis": ()}):
        found = getattr(lnb, name)(x, dtype=bool, **options)
        np.testing.assert_array_equal(found.to_host(), getattr(np, name)(x, dtype=bool, **options), strict=True)


def test_logsumexp_of_nothing_has_an_empty_gradient():
    x = lnb.zeros((2, 0), requires_grad=True)
    lnb.logsumexp(x, axis=1).sum().backward()
    assert x.grad.shape == (2, 0)
