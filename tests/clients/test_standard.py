"""What is written for the array API standard: array-api-compat, array-api-extra and opt_einsum take tensors."""

import numpy as np
import pytest

import lucid_nb as lnb

GRID = np.random.default_rng(0).normal(size=(3, 4))
CALLS = {
    "at": lambda extra, x: extra.at(x)[1].add(2), "atleast_nd": lambda extra, x: extra.atleast_nd(x, ndim=4),
    "cov": lambda extra, x: extra.cov(x), "create_diagonal": lambda extra, x: extra.create_diagonal(x[0]),
    "kron": lambda extra, x: extra.kron(x, x),
    "nunique": lambda extra, x: extra.nunique(x), "pad": lambda extra, x: extra.pad(x, 1),
    "setdiff1d": lambda extra, x: extra.setdiff1d(x, x[0]), "sinc": lambda extra, x: extra.sinc(x),
    "isclose": lambda extra, x: extra.isclose(x, x + 1e-12), "nan_to_num": lambda extra, x: extra.nan_to_num(x),
}


@pytest.mark.parametrize("name", CALLS)
def test_array_api_extra_computes_on_tensors(name):
    extra = pytest.importorskip("array_api_extra")
    found, wanted = CALLS[name](extra, lnb.tensor(GRID)), CALLS[name](extra, GRID.copy())
    assert isinstance(found, lnb.Tensor)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-14, atol=1e-15)


def test_array_api_compat_knows_the_namespace():
    compat = pytest.importorskip("array_api_compat")
    x = lnb.ones(2)
    assert compat.array_namespace(x, lnb.zeros(3)) is lnb
    assert compat.is_array_api_obj(x) and compat.size(x) == 2 and compat.device(x) == "cpu"


def test_opt_einsum_contracts_tensors_with_gradients():
    contract = pytest.importorskip("opt_einsum").contract
    x = lnb.tensor(GRID, requires_grad=True)
    found = contract("ij,kj,kl->il", x, x, x)
    np.testing.assert_allclose(found.detach().numpy(), GRID @ GRID.T @ GRID, rtol=1e-13)
    found.sum().backward()
    assert x.grad.shape == GRID.shape
