"""Gradients of linear algebra against finite differences, to second order; forward mode against backward."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import check_grad

from .linalg_calls import EVERY, FEW, L, differentiated, hermitian, numbers, operands

WITHOUT = {name for name in EVERY if name.startswith(("matrix_rank", "lu rows", "matrix_power 0"))}
WITH = sorted({*EVERY} - WITHOUT)
# check_grad holds forward mode to backward as well.
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", [name for name in WITH if not name.startswith("solve_triangular")])
def test_gradients_follow_finite_differences(name, dtype):
    check_grad(differentiated(name), *operands(name, dtype), order=2 if dtype == "float64" or name in FEW else 1)


@pytest.mark.parametrize("name", [name for name in WITH if name.startswith("solve_triangular")])
def test_gradients_of_triangular_solutions_follow_finite_differences(name):
    check_grad(differentiated(name), *operands(name, "complex128"), order=1)


def test_second_gradients_of_triangular_solutions_follow_finite_differences():
    for dtype in ("float64", "complex128"):
        for name in ("solve_triangular T lower unit", "solve_triangular C upper any"):
            check_grad(differentiated(name), *operands(name, dtype))


@pytest.mark.parametrize("name", ["svd square", "svd tall", "svd wide", "eigh", "eig"])
def test_gradients_of_real_vectors_need_no_phase(name):
    call, shapes, _, made = EVERY[name]
    x = numbers(shapes[0], "float64", 2)
    check_grad(lambda a: call(L, a + a.mT if made else a), hermitian(x) if name == "eig" else x)


@pytest.mark.parametrize("function, x", [
    (lambda a: (lambda u, s, vh: (u * (s ** 2)[..., None, :]) @ vh)(*L.svd(a, full_matrices=False)), (4, 3)),
    (lambda a: (lambda w, v: (v * w.exp()[..., None, :]) @ v.mT.conj())(*L.eigh(a + a.mT.conj())), (3, 3)),
    (lambda a: (lambda w, v: L.solve(v.mT, (v * w[..., None, :]).mT).mT)(*L.eig(a)), (3, 3)),
], ids=["svd", "eigh", "eig"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_what_sees_no_phase_follow_finite_differences(function, x, dtype):
    check_grad(function, numbers(x, dtype, 4))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_gradients_of_determinants_of_any_rank_follow_finite_differences(rank, dtype):
    # The sum of elements gives the result a size beside which rounding is small.
    check_grad(lambda a: L.det(a) + a.sum(), numbers((4, rank), dtype) @ numbers((rank, 4), dtype, 1))


@pytest.mark.parametrize("function", [
    lambda a: L.svdvals(a).sum(), lambda a: (L.svdvals(a)[:1]).sum(), lambda a: L.matrix_norm(a, ord="nuc"),
    lambda a: L.matrix_norm(a, ord=2), lambda a: L.pinv(a @ a.mT)], ids=["sum", "first", "nuclear", "spectral", "pinv"])
def test_gradients_of_matrices_that_lack_rank_follow_finite_differences_within_it(function):
    """Moved within matrices of rank 2."""
    check_grad(lambda a, b: function(a @ b), numbers((4, 2), "float64"), numbers((2, 4), "float64", 1))


def test_first_gradients_at_equal_values_are_those_of_symmetric_functions():
    one = np.eye(3)
    for function, slope in ((lambda a: L.svdvals(a).sum(), one), (lambda a: (L.eigvalsh(a) ** 2).sum(), 2 * one),
                            (lambda a: L.eigvals(a).sum().real, one), (L.det, one),
                            (lambda a: L.norm(a, "nuc"), one)):
        np.testing.assert_allclose(lnb.grad(function)(one).to_host(), slope, atol=1e-14)
