"""Parts, size, direction and order of complex numbers: views, gradients in the conjugate convention, awkward parts."""

import itertools

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import LAYOUTS, check_grad, laid_out

PARTS = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)
NUMBERS = np.random.default_rng(0)
Z = NUMBERS.normal(size=(3, 4)) + 1j * NUMBERS.normal(size=(3, 4))


def awkward(dtype="complex128"):
    """Every pair of awkward parts."""
    found = np.zeros(len(PARTS) ** 2, dtype)
    found.real, found.imag = zip(*itertools.product(PARTS, PARTS))
    return found


# --------------------------------------------------------------------------------------------------- parts
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_are_views(dtype, layout):
    x = laid_out(Z.astype(dtype), layout)
    t = lnb.asarray(x)
    for name in ("real", "imag"):
        found, wanted = getattr(lnb, name)(t), getattr(x, name)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_array_equal(found.numpy(), wanted)
        assert np.shares_memory(found.numpy(), t.numpy())
        np.testing.assert_array_equal(getattr(t, name).numpy(), wanted)


def test_writes_to_parts_reach_the_whole(device):
    x = Z.astype("complex64")
    t, wanted = lnb.asarray(x.copy(), device=device), x.copy()
    t.real, wanted.real = 3, 3
    t.imag[1:, ::2] *= 2
    wanted.imag[1:, ::2] *= 2
    np.testing.assert_array_equal(t.to_host(), wanted)
    with pytest.raises(lnb.DTypeError, match="imag: float64 has no imaginary part to write"):
        lnb.ones(2).imag = 1


def test_parts_of_real_numbers():
    x = lnb.arange(3)
    assert x.real is x and x.imag.tolist() == [0, 0, 0] and x.imag.dtype == x.dtype
    assert lnb.real([1, 2]).tolist() == [1, 2] and lnb.imag(1 + 2j).item() == 2


def test_gradients_follow_finite_differences():
    for f in (lambda z: z.real * z.imag, lambda z: abs(z), lambda z: lnb.sign(z), lambda z: lnb.conj(z) * z.real,
              lnb.angle, lambda z: lnb.square(abs(z) * z.imag)):
        check_grad(f, Z)


def test_gradient_of_the_size_is_the_direction(device):
    z = lnb.asarray(np.array([3 + 4j, 0, -2j], "complex64"), device=device)
    z.requires_grad = True
    abs(z).sum().backward()
    np.testing.assert_allclose(z.grad.to_host(), [0.6 + 0.8j, 0, -1j], rtol=1e-6)


# -------------------------------------------------------------------------------------- size and direction
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["absolute", "sign", "conjugate", "angle", "rint", "square"])
def test_awkward_parts_equal_numpy(name, dtype):
    z = awkward(dtype)
    with np.errstate(all="ignore"):
        found, wanted = getattr(lnb, name)(lnb.asarray(z)).numpy(), getattr(np, name)(z)
    assert found.dtype == wanted.dtype
    eps = float(np.finfo(dtype).eps)
    for got, exact in ((found.real, wanted.real), (found.imag, wanted.imag)):
        np.testing.assert_allclose(got, exact, rtol=2 * eps)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8"])
def test_angle_of_real_numbers_equals_numpy(dtype):
    x = np.array([0, 1, 5]).astype(dtype) if dtype == "uint8" else np.array([0, 1, -5]).astype(dtype)
    x = np.r_[x, -x, np.array([np.nan, np.inf, -np.inf], dtype)] if x.dtype.kind == "f" else x
    found, wanted = lnb.angle(lnb.asarray(x)), np.angle(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_angle_in_degrees(device):
    z = np.array([1, 1j, -1 - 1j], "complex64")
    found = lnb.angle(lnb.asarray(z, device=device), deg=True).to_host()
    np.testing.assert_allclose(found, np.angle(z, True), rtol=1e-6)


# --------------------------------------------------------------------------------------------------- order
@pytest.mark.parametrize("name", ["greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "fmax",
                                  "fmin"])
def test_order_equals_numpy(name):
    x, y = (grid.ravel() for grid in np.meshgrid(awkward(), awkward()))
    with np.errstate(invalid="ignore"):
        found, wanted = getattr(lnb, name)(lnb.asarray(x), lnb.asarray(y)), getattr(np, name)(x, y)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy().real, wanted.real)
    np.testing.assert_array_equal(found.numpy().imag, wanted.imag)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_equal_complex_operands_share_the_gradient(name):
    x, y = (lnb.tensor([1 + 1j, 1 + 2j], requires_grad=True) for _ in range(2))
    getattr(lnb, name)(x, y).real.sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [0.5, 0.5]
    check_grad(getattr(lnb, name), Z[0], Z[1])


def test_questions_about_dtypes_and_parts(device):
    z = lnb.asarray(np.array([1, 1j, 2 + 0j], "complex64"), device=device)
    assert lnb.iscomplex(z).tolist() == [False, True, False] and lnb.isreal(z).tolist() == [True, False, True]
    assert lnb.iscomplexobj(z) and not lnb.isrealobj(z) and lnb.isrealobj([1.0]) and not lnb.iscomplexobj(z.real)
    assert lnb.isreal([1.0, np.nan]).tolist() == [True, True] and lnb.iscomplex([np.nan]).tolist() == [False]
    assert lnb.isscalar(3) and lnb.isscalar(np.float32(2)) and lnb.isscalar(lnb.ones(2)[0])
    assert not lnb.isscalar(lnb.ones(1)) and not lnb.isscalar([1])


def test_mixed_operands_become_complex():
    x, z = lnb.ones(2), lnb.tensor([1j, 2.0])
    assert lnb.maximum(x, z).tolist() == [1, 2] and lnb.maximum(x, 2 + 1j).tolist() == [2 + 1j] * 2
    assert (x < 1 + 1j).tolist() == [True, True] and lnb.maximum(z, 0.5).tolist() == [0.5, 2]
