"""Functions of complex numbers that NumPy and SciPy have for real ones only: as PyTorch has them, also fused."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DTypeError
from lucid_nb.testing import check_grad

RANDOM = np.random.default_rng(0)
Z = RANDOM.standard_normal((3, 4)) + 1j * RANDOM.standard_normal((3, 4))
F = lnb.nn.functional


def rms(z):
    return z / np.sqrt((z * z).mean((0, 1), keepdims=True) + 1e-3) * Z.conj()


FUNCTIONS = {
    "logsumexp": (lambda z: lnb.logsumexp(z, 1), lambda z: np.log(np.exp(z).sum(1))),
    "logsumexp of all": (lambda z: lnb.logsumexp(z, keepdims=True), lambda z: np.log(np.exp(z).sum(keepdims=True))),
    "rms_norm": (lambda z: F.rms_norm(z, (3, 4), lnb.tensor(Z.conj()), 1e-3), rms),
    "sigmoid": (lnb.sigmoid, lambda z: 1 / (1 + np.exp(-z))), "silu": (F.silu, lambda z: z / (1 + np.exp(-z))),
    "softsign": (F.softsign, lambda z: z / (1 + abs(z))), "tanhshrink": (F.tanhshrink, lambda z: z - np.tanh(z)),
    "logaddexp": (lambda z: lnb.logaddexp(z, lnb.tensor(Z.T.reshape(3, 4))),
                  lambda z: np.log(np.exp(z) + np.exp(Z.T.reshape(3, 4))))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_values_and_gradients_also_fused(name):
    function, oracle = FUNCTIONS[name]
    for call in (function, lnb.fuse(lambda z: function(z * 2 / 2))):
        np.testing.assert_allclose(call(lnb.tensor(Z)).numpy(), oracle(Z), rtol=1e-13)
        check_grad(call, Z, order=2)


def test_complex_functions_far_from_zero():
    for shift in (900, -900):
        np.testing.assert_allclose(lnb.logsumexp(lnb.tensor(Z + shift), 1).numpy() - shift, np.log(np.exp(Z).sum(1)),
                                   rtol=1e-12)
        np.testing.assert_allclose((lnb.logaddexp(lnb.tensor(Z + shift), lnb.tensor(Z + shift)) - shift).numpy(),
                                   Z + np.log(2), rtol=1e-12)
    assert lnb.sigmoid(lnb.tensor(-800 + 3j)).item() == 0 and lnb.sigmoid(lnb.tensor(800 + 3j)).item() == 1
    assert lnb.logsumexp(lnb.tensor(np.zeros((0,), complex))).item() == -np.inf


@pytest.mark.parametrize("function", [lnb.softmax, lnb.log_softmax, F.softplus, F.gelu, F.mish, F.relu,
                                      lambda z: F.layer_norm(z, 4)])
def test_functions_that_no_library_has_of_complex_numbers_say_so_also_fused(function):
    for call in (function, lnb.fuse(lambda z: function(z * 2))):
        with pytest.raises(DTypeError, match="has no meaning for complex128"):
            call(lnb.tensor(Z))
