"""Norms of vectors and matrices against NumPy, and their gradients against finite differences, at 0 too."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import check_grad

from .derivatives import check_against_cpu
from .reductions import FLOATS, cases, check, outcome

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 3, 4))
ORDERS = (None, 0, 1, 2, 3, 0.5, -1, -2, -3.5, np.inf, -np.inf, "fro", "nuc")
VECTORS = (1, 2, 3, 0.5, -2, np.inf, -np.inf)
MATRICES = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
norm = partial(check, "norm", ours=lnb.linalg.norm, numpy=np.linalg.norm)


# ------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (2, 0), (-1, -2), (0, 0), 3, ()], ids=str)
def test_norm_equals_numpys(order, axis):
    for x in (X, X[0], X[0, 0], X[0] + 1j * X[1], np.arange(6).reshape(2, 3), np.float32(X), np.zeros((2, 3))):
        with np.errstate(all="ignore"):
            norm(x, ord=order, axis=axis)
            norm(x, ord=order, axis=axis, keepdims=True)


@given(case=cases(dtypes=(*FLOATS[1:], "int32", "bool")), data=st.data())
def test_vector_norm_of_any_layout_equals_numpys(case, data):
    x, axis, keepdims = case
    order = data.draw(st.sampled_from([0, 1, 2, 3, np.inf, -np.inf, 2.5]))
    check("vector_norm", x, ours=lnb.linalg.vector_norm, numpy=np.linalg.vector_norm, axis=axis, keepdims=keepdims,
          ord=order)


@pytest.mark.parametrize("order", MATRICES, ids=str)
def test_matrix_norm_equals_numpys(order, device):
    for x in (X, X[0], X[0].T, X[:, :0], RNG.standard_normal((3, 1, 2, 2))):
        for keepdims in (False, True):
            check("matrix_norm", x.astype("float32"), device, lnb.linalg.matrix_norm, np.linalg.matrix_norm,
                  ord=order, keepdims=keepdims)


@pytest.mark.parametrize("order", [0, 1, 2, 3, np.inf, -np.inf])
def test_vector_norm_on_devices_equals_numpys(order, device):
    for x in (X.astype("float32"), (X + 1j * X[::-1]).astype("complex64")):
        check("vector_norm", x, device, lnb.linalg.vector_norm, np.linalg.vector_norm, ord=order, axis=(0, 2))


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_euclidean_norm_of_float32_neither_overflows_nor_vanishes(size):
    x = (RNG.standard_normal((5, 700)) * size).astype("float32")
    for axis in (0, 1):
        exact = np.linalg.norm(x.astype("float64"), axis=axis)
        np.testing.assert_allclose(lnb.linalg.norm(lnb.asarray(x), axis=axis).to_host(), exact, rtol=1e-6)


# ---------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("order", VECTORS)
def test_gradient_of_vector_norm_follows_finite_differences(order):
    for x in (X, X[0] + 1j * X[1]):
        check_grad(lambda x: lnb.linalg.vector_norm(x, ord=order, axis=0), x)
    check_grad(lambda x: lnb.linalg.vector_norm(x, ord=order, axis=(0, 2), keepdims=True), X)


@pytest.mark.parametrize("order", MATRICES, ids=str)
def test_gradient_of_matrix_norm_follows_finite_differences(order):
    for x in (X, X[0].T, X[0] + 1j * X[1]):
        check_grad(lambda x: lnb.linalg.matrix_norm(x, ord=order), x)


def test_third_derivative_of_singular_values_is_refused():
    x = lnb.tensor(X[0], requires_grad=True)
    lnb.linalg.matrix_norm(x, ord="nuc").backward(create_graph=True)
    first = x.grad
    x.zero_grad()
    (first * first).sum().backward(create_graph=True)
    second = x.grad
    x.zero_grad()
    with pytest.raises(errors.GradError, match="singular values: third derivatives"):
        (second * second).sum().backward()


@pytest.mark.parametrize("order", [1, 2, 3, np.inf])
def test_gradient_of_vector_norm_follows_the_cpu(order, device):
    check_against_cpu(lambda x: lnb.linalg.vector_norm(x, ord=order, axis=1), X, device=device, rtol=2e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 0.5, np.inf, -np.inf])
def test_gradient_of_vector_norm_at_zero_is_zero(order, device):
    for function in (lambda n: n, lambda n: n * n, lambda n: n ** 2):
        x = lnb.asarray(np.zeros((2, 3), "float32"), device=device)
        x.requires_grad = True
        function(lnb.linalg.vector_norm(x, ord=order, axis=1)).sum().backward()
        assert not x.grad.to_host().any()


@pytest.mark.parametrize("order", ["fro", "nuc", 1, 2, -2, np.inf])
def test_gradient_of_matrix_norm_at_zero_is_zero(order):
    x = lnb.tensor(np.zeros((3, 2)), requires_grad=True)
    lnb.linalg.matrix_norm(x, ord=order).backward()
    assert not x.grad.to_host().any()


# ------------------------------------------------------------------------------------------------- errors
def test_wrong_orders_and_axes_are_refused():
    x = lnb.asarray(X)
    for call, text in ((lambda: lnb.linalg.norm(x, 2), "norm: 3 axes"),
                       (lambda: lnb.linalg.norm(x, "fro", axis=0), "norm: Invalid norm order 'fro' for vectors"),
                       (lambda: lnb.linalg.matrix_norm(x, ord=3), "matrix_norm: Invalid norm order 3 for matrices"),
                       (lambda: lnb.linalg.matrix_norm(x[0, 0]), "matrix_norm: needs two axes"),
                       (lambda: lnb.linalg.vector_norm(x[:, :0], axis=1, ord=-np.inf), "min: no elements")):
        with pytest.raises(errors.ShapeError, match=text):
            call()


def test_overflow_of_squares_warns():
    assert outcome(lnb.linalg.norm, lnb.asarray(np.array([1e300, 1e300])))[1] == {"overflow encountered in reduce"}


@pytest.mark.parametrize("dtype", [lnb.float16, lnb.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_matrix_norm_of_half_precision_is_that_of_single_rounded(dtype, order):
    x = lnb.asarray(X).astype(dtype)
    found = lnb.linalg.norm(x, order, axis=(1, 2), keepdims=True)
    expected = np.linalg.norm(x.astype(lnb.float32).to_host(), order, axis=(1, 2), keepdims=True)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(lnb.float32).to_host(), expected, rtol=float(lnb.finfo(dtype).eps))
    check_grad(lambda a: lnb.linalg.norm(a, order), X[0], order=2)


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_matrix_norm_of_what_is_not_finite_is_refused(order):
    for bad in (np.nan, np.inf):
        with pytest.raises(errors.LinAlgError, match=r"a matrix of shape \(2, 2\) holds NaN or infinity"):
            lnb.linalg.norm([[1.0, bad], [0.0, 1.0]], order)
