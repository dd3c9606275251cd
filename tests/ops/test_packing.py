"""Bits, complex order and nearly real numbers against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import testing
from lucid_nb.testing import check_grad


def same(found, wanted):
    """Bits, dtype and shape."""
    np.testing.assert_array_equal(found.to_host(), wanted, strict=True)


@given(data=st.data())
def test_bits_are_numpys(data):
    dtype = data.draw(st.sampled_from(["bool", "uint8", "int64"]))
    bits = data.draw(testing.arrays(dtype, testing.shapes(min_dims=1, max_side=9)))
    order = data.draw(st.sampled_from(["big", "little"]))
    axis = data.draw(st.none() | st.integers(-bits.ndim, bits.ndim - 1))
    same(lnb.packbits(lnb.asarray(bits), axis, order), np.packbits(bits, axis, order))
    packed = data.draw(testing.arrays("uint8", testing.shapes(min_dims=1)))
    axis = data.draw(st.none() | st.integers(-packed.ndim, packed.ndim - 1))
    size = 8 * (packed.size if axis is None else packed.shape[axis])
    count = data.draw(st.none() | st.integers(-size, size + 9))
    wanted = np.unpackbits(packed, axis, count, order)       # of nothing, NumPy's are not initialised
    same(lnb.unpackbits(lnb.asarray(packed), axis, count, order), wanted if packed.size else np.zeros_like(wanted))


def test_bits_of_each_device(device):
    bits = np.array([[1, 0, 1], [0, 1, 1]], "uint8")
    packed = lnb.packbits(lnb.asarray(bits, device=device), axis=0)
    assert packed.device == device
    same(packed, np.packbits(bits, axis=0))
    same(lnb.unpackbits(packed, axis=0, count=2), bits)


@pytest.mark.parametrize(("call", "kind"), [
    (lambda n: n.packbits([0.5]), TypeError), (lambda n: n.unpackbits(np.arange(3)), TypeError),
    (lambda n: n.packbits([1], bitorder="middle"), ValueError),
    (lambda n: n.unpackbits(np.uint8([1]), count=-9), ValueError),
    (lambda n: n.packbits([1], axis=2), np.exceptions.AxisError)], ids=range(5))
def test_wrong_bits_raise_numpys_kinds(call, kind):
    for module in (np, lnb):
        with pytest.raises(kind):
            call(module)


def test_examples_of_vmap_are_packed_each_by_itself():
    bits = np.random.default_rng(0).integers(0, 2, (3, 9)).astype("uint8")
    found = lnb.vmap(lnb.packbits)(lnb.asarray(bits))
    same(found, np.packbits(bits, axis=1))


@given(x=testing.arrays(st.sampled_from(["bool", "int8", "uint16", "int32", "float16", "float32", "float64",
                                         "complex64", "complex128"]), testing.shapes(min_dims=1)))
def test_complex_order_is_numpys(x):
    same(lnb.sort_complex(lnb.asarray(x)), np.sort_complex(x))


def test_gradients_of_complex_order():
    check_grad(lnb.sort_complex, np.random.default_rng(1).standard_normal((2, 5)))
    check_grad(lnb.sort_complex, np.array([2 + 1j, 1, 2.5 - 1j, -3j]))


@given(x=testing.arrays(st.sampled_from(["int8", "float32", "float64", "complex64", "complex128"]), testing.shapes()))
def test_nearly_real_numbers_are_numpys(x):
    with np.errstate(all="ignore"):
        nearly = (x.real + 1e-16j * x.imag).astype(x.dtype) if x.dtype.kind == "c" else x
    for small in (x, nearly):
        for tol in (100, 1e4, 0.5, 1e-12):
            same(lnb.real_if_close(lnb.asarray(small), tol), np.real_if_close(small, tol))


def test_nearly_real_numbers_are_a_view_with_a_gradient():
    x = lnb.tensor([1 + 1e-17j, 2], requires_grad=True)
    found = lnb.real_if_close(x)
    assert found.dtype == np.float64
    (found * found).sum().backward()
    assert x.grad.tolist() == [2, 4]
