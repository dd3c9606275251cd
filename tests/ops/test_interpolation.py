"""Interpolation and phases against NumPy's, gradients by finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import testing
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(5)
XP, FP = np.sort(RNG.uniform(0, 10, 7)), RNG.standard_normal(7)
Q = RNG.uniform(-2, 12, (3, 4))


def same(found, wanted):
    """Bits, dtype and shape."""
    np.testing.assert_array_equal(found.to_host(), wanted, strict=True)


@given(data=st.data())
def test_interp_is_numpys(data):
    count = data.draw(st.integers(1, 6))
    numbers = st.lists(st.floats(-4, 4, width=16), min_size=count, max_size=count)
    xp = np.unique(data.draw(numbers))
    fp = np.array(data.draw(numbers))[:xp.size].astype(data.draw(st.sampled_from(["int64", "float32", "float64"])))
    x = data.draw(testing.arrays(data.draw(st.sampled_from(["int8", "float32", "float64"])), testing.shapes()))
    x = np.concatenate([x.ravel(), xp]) if data.draw(st.booleans()) else x
    for how in ({}, {"left": -7.0}, {"right": 8}, {"left": np.nan, "right": 0}, {"period": 2.5}, {"period": -3}):
        if "period" in how and not np.isfinite(x).all():
            continue
        same(lnb.interp(lnb.asarray(x), lnb.asarray(xp), lnb.asarray(fp), **how),
             np.asarray(np.interp(x, xp, fp, **how)))
    same(lnb.interp(lnb.asarray(x), xp, fp + 2j), np.asarray(np.interp(x, xp, fp + 2j)))


@pytest.mark.filterwarnings("error")
def test_interp_at_infinities_and_nan_is_numpys():
    fp = np.array([1.0, np.inf, 2, 2, np.nan, 0, -np.inf])
    x = np.r_[XP, (XP[1:] + XP[:-1]) / 2, np.nan, np.inf, -np.inf, -1, 11]
    for values in (FP, fp):
        same(lnb.interp(lnb.asarray(x), XP, values), np.interp(x, XP, values))
    same(lnb.interp(lnb.asarray(x), XP[:1], FP[:1], -1, -2), np.interp(x, XP[:1], FP[:1], -1, -2))


def test_gradients_of_interp():
    check_grad(lnb.interp, Q, XP, FP)
    check_grad(lambda x, xp, fp: lnb.interp(x, xp, fp, period=3.0), Q, XP, FP)
    check_grad(lambda x, fp: lnb.interp(x, XP, fp), Q, FP + 1j * FP[::-1])
    check_grad(lambda fp, left: lnb.interp(Q, XP, fp, left), FP, np.array(0.5))


def test_examples_of_vmap_are_interpolated_each_by_itself():
    found = lnb.vmap(lambda x, fp: lnb.interp(x, XP, fp))(lnb.asarray(Q), lnb.asarray(np.stack([FP, 2 * FP, -FP])))
    np.testing.assert_allclose(found.numpy(), [np.interp(q, XP, f) for q, f in zip(Q, (FP, 2 * FP, -FP))])


@pytest.mark.parametrize(("points", "text"), [
    (([], []), "there are no points"), ((XP, FP[1:]), "points of shapes"), ((XP[None], FP[None]), "points of shapes")],
    ids=range(3))
def test_wrong_points_raise_value_errors_as_numpys(points, text):
    with pytest.raises(ValueError):
        np.interp(1.0, *points)
    with pytest.raises(ValueError, match=f"interp: {text}"):
        lnb.interp(1.0, *points)
    with pytest.raises(ValueError, match="interp: the period is 0"):
        lnb.interp(1.0, XP, FP, period=0)


@given(data=st.data())
def test_unwrap_is_numpys(data):
    dtype = data.draw(st.sampled_from(["int16", "int64", "float32", "float64"]))
    x = data.draw(testing.arrays(dtype, testing.shapes(min_dims=1, min_side=1), awkward=False, low=-20, high=20))
    for how in ({"period": 4}, {"period": 5}, {"period": 2.5}, {"axis": 0}, {"discont": 4.0, "axis": -1}):
        same(lnb.unwrap(lnb.asarray(x), **how), np.unwrap(x, **how))


def test_gradients_of_unwrap():
    steps = np.cumsum(RNG.uniform(-5, 5, (3, 8)), axis=1)
    check_grad(lnb.unwrap, steps)
    check_grad(lambda p, period: lnb.unwrap(p, axis=0, period=period), steps, np.array(3.3))
    with pytest.raises(ValueError, match="unwrap: "):
        lnb.unwrap(1.0)


def test_each_device_follows_numpy(device):
    x = Q.astype("float32")
    xp, fp = XP.astype("float32"), FP.astype("float32")
    on = [lnb.asarray(array, device=device) for array in (x, xp, fp)]
    found = lnb.interp(*on)
    assert found.device == device and found.dtype == (np.float32 if device == "mlx" else np.float64)
    np.testing.assert_allclose(found.to_host(), np.interp(x, xp, fp), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(lnb.unwrap(on[0], period=3.0).to_host(), np.unwrap(x, period=3.0), rtol=1e-5)
