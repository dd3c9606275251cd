"""Gradients of linear algebra: where there are none; PyTorch's; vmap; other devices."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors

from .derivatives import check_against_cpu
from .linalg_calls import FEW, L, differentiated, hermitian, numbers, operands, positive


def whole(x, seed=0):
    """A number that depends on every element."""
    weights = lnb.asarray(numbers(x.shape, "float64", seed).astype(x.real.dtype), device=x.device)
    return ((x * weights).sum() + (x * weights * 1j).sum()).real if x.dtype.kind == "c" else (x * weights).sum()


def whole_of(results):
    """The same of all results that are numbers with a gradient."""
    found = results if isinstance(results, (tuple, list)) else (results,)
    return sum(whole(x) for x in found if isinstance(x, lnb.Tensor) and x.dtype.kind in "fc")


REFUSED = {
    "eigh of equals": (lambda a: whole(L.eigh(a).eigenvectors), np.eye(3), "eigh: values are equal"),
    "function of equals": (lambda a: (lambda w, v: whole((v * w.exp()[None, :]) @ v.mT))(*L.eigh(a)), np.eye(3),
                           "eigh: values are equal"),
    "svd of equals": (lambda a: whole(L.svd(a).U), np.eye(3), "svd: values are equal"),
    "eig of equals": (lambda a: whole(L.eig(a).eigenvectors), np.eye(3), "eig: values are equal"),
    "phase of eigh": (lambda a: whole(L.eigh(a + a.mT.conj()).eigenvectors), numbers((3, 3), "complex128"),
                      "eigh: what is differentiated depends on the phases"),
    "phase of eig": (lambda a: whole(L.eig(a).eigenvectors), numbers((3, 3), "complex128"),
                     "eig: what is differentiated depends on the phases"),
    "phase of svd": (lambda a: whole(L.svd(a).U), numbers((3, 3), "complex128"),
                     "svd: what is differentiated depends on the phases"),
    "rank of svd": (lambda a: whole(L.svd(a, full_matrices=False).U), numbers((4, 1), "float64") * np.array([[1.0, 0]]),
                    "svd: what is differentiated depends on vectors that belong to singular values of 0"),
    "completed svd": (lambda a: whole(L.svd(a).U), numbers((4, 2), "float64"),
                      "svd: what is differentiated depends on the choice of the vectors that complete"),
    "completed qr": (lambda a: whole(L.qr(a, "complete").Q), numbers((4, 2), "float64"),
                     "qr: what is differentiated depends on the choice"),
    "dependent qr": (lambda a: whole(L.qr(a).R), np.zeros((3, 3)), "qr: the first columns are linearly dependent"),
    "raw qr": (lambda a: whole(L.qr(a, "raw")[0]), np.eye(3), "qr: what LAPACK keeps"),
    "singular lu": (lambda a: whole(L.lu(a)[2]), np.ones((2, 2)), "lu: a matrix is singular"),
    "singular slogdet": (lambda a: L.slogdet(a).logabsdet, np.ones((2, 2)), "slogdet: a matrix is singular"),
    "defective": (lambda a: whole(L.eig(a).eigenvalues), np.array([[0.0, 1], [0, 0]]), "eig: a matrix is defective"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_backward_says_that_there_is_no_gradient(name):
    function, x, text = REFUSED[name]
    value = function(lnb.tensor(x, requires_grad=True))
    with pytest.raises(errors.GradError, match=text):
        value.backward()


@pytest.mark.parametrize("function, text", [(lambda a: (L.svdvals(a) ** 2).sum(), "svdvals: singular values are equal"),
                                            (lambda a: (L.eigvalsh(a) ** 2).sum(), "eigh: values are equal")],
                         ids=["svdvals", "eigvalsh"])
def test_second_derivatives_at_equal_values_are_refused(function, text):
    direction = hermitian(numbers((3, 3), "float64"))
    with pytest.raises(errors.GradError, match=text):
        lnb.grad(lambda a: (lnb.grad(function)(a) * direction).sum())(np.eye(3))


@pytest.mark.parametrize("function", [L.det, lambda a: L.svdvals(a).sum()], ids=["det", "svdvals"])
def test_third_derivatives_are_refused(function):
    def again(f):
        return lambda a: whole(lnb.grad(f)(a))
    with pytest.raises(errors.GradError, match="third derivatives are not there"):
        again(again(again(function)))(lnb.asarray(numbers((3, 3), "float64")))


def test_gradients_of_hermitian_matrices_are_hermitian_whatever_triangle_is_read():
    x = positive(numbers((3, 3), "complex128"))
    for function in (lambda a: whole(L.cholesky(a)), lambda a: whole(abs(L.eigh(a, "U").eigenvectors)),
                     lambda a: whole(L.eigvalsh(a)), lambda a: whole(L.pinv(a, hermitian=True))):
        found = lnb.grad(function)(x).to_host()
        np.testing.assert_allclose(found, found.conj().T, rtol=1e-12, atol=1e-14)


# -------------------------------------------------------------------------------------- PyTorch, vmap, devices
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvals", "inv", "slogdet", "qr", "svd", "matrix_exp", "pinv"])
def test_gradients_are_pytorchs(name, dtype):
    torch = pytest.importorskip("torch")
    x = positive(numbers((3, 3), dtype))

    def results(module, a):
        found = getattr(module, "expm" if name == "matrix_exp" and module is L else name)(a)
        found = [*found] if isinstance(found, (tuple, list)) else [found]
        return [abs(y) for y in found] if name in ("cholesky", "eigh", "svd") else found
    ours, theirs = lnb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    value = sum(whole(y, number) for number, y in enumerate(results(L, ours)))
    value.backward()
    total = 0
    for number, y in enumerate(results(torch.linalg, theirs)):
        weighted = y * torch.tensor(numbers(tuple(y.shape), "float64", number))
        total = total + ((weighted.sum() + (weighted * 1j).sum()).real if y.is_complex() else weighted.sum())
    total.backward()
    size = float(abs(theirs.grad).max())
    np.testing.assert_allclose(ours.grad.to_host(), theirs.grad.numpy(), rtol=1e-8, atol=1e-9 * size)


@pytest.mark.parametrize("name", [name for name in FEW if not name.startswith("lstsq")])
def test_vmap_gives_what_each_example_gives(name):
    function = differentiated(name)
    given = [operands(name, "float64", seed) for seed in (0, 10, 20)]
    stacked = [np.stack(parts) for parts in zip(*given)]

    def gradient(*arguments):
        return lnb.grad(lambda *x: whole_of(function(*x)))(*arguments)
    for call in (function, gradient):
        found = lnb.vmap(call)(*stacked)
        for number, arguments in enumerate(given):
            for ours, alone in zip(as_tuple(found), as_tuple(call(*map(lnb.asarray, arguments)))):
                np.testing.assert_allclose(ours.to_host()[number], alone.to_host(), rtol=1e-9, atol=1e-10)


def test_vmap_of_one_system_and_many_right_sides():
    a, b = numbers((3, 3), "float64"), numbers((5, 3, 2), "float64")
    found = lnb.vmap(L.solve, in_axes=(None, 0))(a, b)
    np.testing.assert_allclose(found.to_host(), np.linalg.solve(a, b), rtol=1e-10)


def test_vmap_of_least_squares_runs_example_by_example():
    a, b = numbers((3, 4, 2), "float64"), numbers((3, 4, 1), "float64")
    with pytest.warns(UserWarning, match="vmap"):
        found = lnb.vmap(lambda x, y: L.lstsq(x, y).x)(a, b)
    np.testing.assert_allclose(found.to_host(), L.lstsq(a, b).x.to_host(), rtol=1e-10)


def as_tuple(found):
    """Results as a tuple."""
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


@pytest.mark.parametrize("name", FEW)
def test_gradients_follow_the_cpu(name, device):
    function = differentiated(name)
    check_against_cpu(lambda *x: whole_of(function(*x)), *operands(name, "float64"),
                      device=device, order=1 if device == "cuda" else 2, rtol=2e-3)
