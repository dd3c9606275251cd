"""Polynomials by coefficients against NumPy's, gradients by finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import testing
from lucid_nb.testing import check_grad

RNG = np.random.default_rng(3)
P, Q, X = RNG.standard_normal(5), RNG.standard_normal(3), RNG.uniform(-2, 2, (2, 6))
DTYPES = ["int8", "int64", "float32", "float64", "complex64", "complex128"]


def same(found, wanted):
    """Values to rounding; dtype and shape. Several results, each."""
    if isinstance(wanted, tuple):
        for ours, theirs in zip(found, wanted, strict=True):
            same(ours, theirs)
        return
    wanted = np.asarray(wanted)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    if wanted.dtype.kind in "iu":
        np.testing.assert_array_equal(found.to_host(), wanted)
        return
    eps = float(np.finfo(wanted.dtype).eps)
    np.testing.assert_allclose(found.to_host(), wanted, rtol=200 * eps, atol=200 * eps * np.abs(wanted).max(initial=1))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(data=st.data())
def test_arithmetic_is_numpys(data):
    a, b = (data.draw(testing.arrays(data.draw(st.sampled_from(DTYPES)), testing.shapes(
        min_dims=1, max_dims=1, min_side=1, max_side=6), awkward=False)) for _ in range(2))
    on, by = lnb.asarray(a), lnb.asarray(b)
    for name in ("polyadd", "polysub", "polymul"):
        same(getattr(lnb, name)(on, by), getattr(np, name)(a, b))
    divisor = np.concatenate([[2], b]).astype(b.dtype)
    same(lnb.polydiv(on, lnb.asarray(divisor)), np.polydiv(a, divisor))
    for m in (0, 1, 2, 7):
        same(lnb.polyder(on, m), np.polyder(a, m))
    for m, k in ((0, None), (1, None), (3, None), (1, 5), (2, 0.5), (2, [1, 2])):
        same(lnb.polyint(on, m, k), np.polyint(a, m, k))
    for x in (b, b.reshape(1, -1), 2, 0.5):
        same(lnb.polyval(on, x), np.polyval(a, x))


def test_gradients():
    check_grad(lambda p, x: lnb.polyval(p, x), P, X)
    check_grad(lambda p, q: [lnb.polyadd(p, q), lnb.polysub(q, p), lnb.polymul(p, q)], P, Q)
    check_grad(lambda p, q: lnb.polydiv(p, q), P, Q)
    check_grad(lambda p, k: lnb.polyder(p, 2) + lnb.polyint(p, 2, k)[:3], P, Q[:2])
    check_grad(lnb.roots, [1.0, -2.0, -5.0, 6.0])
    check_grad(lambda p: lnb.roots(p), [2.0, 1.0, 3.0])
    check_grad(lnb.poly, P)
    check_grad(lambda x, y, w: lnb.polyfit(x, y, 2, w=w), X[0], X[1], RNG.uniform(1, 2, 6))
    check_grad(lambda x, y: lnb.polyfit(x, y, 1, cov=True), X[0], X[1])


def test_numpys_poly1d_stays_one():
    p = np.poly1d([1.0, 2.0])
    for name, arguments in (("polyadd", (p, [1, 0])), ("polysub", ([3, 1, 0], p)), ("polymul", (p, p)),
                            ("polyder", (p,)), ("polyint", (p,)), ("polyval", ([1.0, 1.0], p))):
        found, wanted = getattr(lnb, name)(*arguments), getattr(np, name)(*arguments)
        assert type(found) is type(wanted) is np.poly1d and found == wanted
    assert lnb.polydiv([1.0, 3.0, 2.0], p) == np.polydiv([1.0, 3.0, 2.0], p)
    same(lnb.polyval(p, lnb.asarray(X)), np.polyval(p, X))


@pytest.mark.parametrize("p", [[], [0], [3], [0, 0, 2, 0], [1, -3, 2], [1, 0, 1], [2.5, 1, 0, 0], [1j, 2, 1],
                               [1, 2, 3, 4]], ids=str)
def test_roots_are_numpys(p):
    found, wanted = lnb.roots(np.array(p)), np.roots(np.array(p))
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(np.sort_complex(found.numpy()), np.sort_complex(wanted), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("zeros", [[], [1, 2], [1.5, -2, 3], [1j, -1j], [1j, 2], [[1, 2], [3, 4]],
                                   [[0.0, -1], [1, 0]]], ids=str)
def test_polynomials_of_roots_are_numpys(zeros):
    same(lnb.poly(zeros), np.poly(zeros))


@pytest.mark.parametrize("deg", [0, 1, 3])
def test_fits_are_numpys(deg):
    x, w = X[0], RNG.uniform(1, 2, 6)
    for y in (X[1], RNG.standard_normal((6, 2))):
        for how in ({}, {"w": w}, {"rcond": 1e-3}, {"full": True}, {"cov": True}, {"cov": "unscaled", "w": w}):
            found, wanted = lnb.polyfit(x, y, deg, **how), np.polyfit(x, y, deg, **how)
            if how.get("full"):
                assert int(found[2]) == wanted[2] and found[4] == wanted[4]
                found, wanted = found[:2] + found[3:4], wanted[:2] + wanted[3:4]
            for ours, theirs in zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]:
                np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-9, atol=1e-12)
    same(lnb.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1), np.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1))


def test_a_poor_fit_warns_as_numpys():
    for module in (np, lnb):
        with pytest.warns(np.exceptions.RankWarning):
            module.polyfit([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], 2)


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda n: n.polyder([1], -1), ValueError, "polyder: m is -1"),
    (lambda n: n.polyint([1], -1), ValueError, "polyint: m is -1"),
    (lambda n: n.polyint([1], 3, [1, 2]), ValueError, "polyint: 2 constants k for 3"),
    (lambda n: n.roots([[1, 2]]), ValueError, "roots: coefficients of shape"),
    (lambda n: n.poly(np.ones((2, 3))), ValueError, "poly: shape"),
    (lambda n: n.polyfit([1.0], [1.0], -1), ValueError, "polyfit: deg is -1"),
    (lambda n: n.polyfit([[1.0]], [1.0], 1), TypeError, "polyfit: x has shape"),
    (lambda n: n.polyfit([], [], 1), TypeError, "polyfit: x has shape"),
    (lambda n: n.polyfit([1.0, 2], [1.0], 1), TypeError, "polyfit: y has shape"),
    (lambda n: n.polyfit([1.0, 2], [1.0, 2], 1, w=[1]), TypeError, "polyfit: w has shape"),
    (lambda n: n.polyfit([1.0, 2], [1.0, 2], 1, cov=True), ValueError, "polyfit: 2 points for 2"),
], ids=range(11))
def test_wrong_arguments_raise_numpys_kinds(call, kind, text):
    with pytest.raises(kind):
        call(np)
    with pytest.raises(kind, match=text):
        call(lnb)


def test_each_device_follows_numpy(device):
    p, x = P.astype("float32"), X.astype("float32")
    on, at = lnb.asarray(p, device=device), lnb.asarray(x, device=device)
    for found, wanted in ((lnb.polyval(on, at), np.polyval(p, x)), (lnb.polymul(on, on[:2]), np.polymul(p, p[:2])),
                          (lnb.polyint(on[:3]), np.polyint(p[:3])), (lnb.polyder(on), np.polyder(p)),
                          (lnb.polyadd(on, on[:3]), np.polyadd(p, p[:3]))):
        assert found.device == device
        np.testing.assert_allclose(found.to_host(), wanted, rtol=1e-4, atol=1e-4)
