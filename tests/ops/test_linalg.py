"""Matrix products against NumPy; gradients to second order against finite differences."""

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import assert_close, check_grad, laid_out

from .derivatives import check_against_cpu

RNG = np.random.default_rng(13)
SHAPES = [((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
          ((2, 1, 3, 4), (3, 4, 2)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((1, 1), (1, 1)), ((2, 3, 4), (2, 4, 5)),
          ((0, 4), (4, 3)), ((3, 0), (0, 2)), ((2, 0, 3), (3, 2)), ((0, 3, 4), (4, 5))]


def operands(shapes, dtype="float64"):
    """Random operands."""
    return [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("step", [1, 2, 3, -2])
def test_complex_product_of_strided_operands_equals_contiguous(step):
    a, b = [(RNG.integers(-8, 9, shape) + 1j * RNG.integers(-8, 9, shape)).astype("complex64")
            for shape in ((3, 8), (4, 12))]
    a, b = a[:, ::2], b[:, ::step]
    found = lnb.matmul(lnb.tensor(a), lnb.tensor(b))           # whole numbers: exact
    np.testing.assert_array_equal(found.numpy(), a.astype("complex128") @ b.astype("complex128"))
    found = lnb.matmul(lnb.asarray(a), lnb.asarray(b))
    np.testing.assert_array_equal(found.numpy(), a.astype("complex128") @ b.astype("complex128"))


@pytest.mark.parametrize("name", ["dot", "inner", "outer", "kron", "tensordot", "multiply"])
@pytest.mark.parametrize("number", [2, 1.5, True, 1j])
def test_number_of_python_is_a_weak_first_operand(name, number):
    if name == "tensordot":
        wanted, found = [getattr(n, name)(number, np.ones((2, 3), "float32"), axes=0) for n in (np, lnb)]
    else:
        wanted, found = [getattr(n, name)(number, np.ones((2, 3), "float32")) for n in (np, lnb)]
    assert found.dtype == (np.complex64 if number == 1j else np.float32) and found.shape == wanted.shape
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes_and_values_equal_numpy(shapes, device):
    a, b = operands(shapes, "float32")
    found = lnb.matmul(lnb.asarray(a, device=device), lnb.asarray(b, device=device))
    wanted = np.matmul(a.astype("float64"), b.astype("float64"))
    assert found.shape == wanted.shape and found.dtype == np.float32 and found.device == device
    assert_close(found, wanted, rtol=1e-6, atol=1e-6)


def test_operator_reflected_and_in_place():
    a, b = operands([(3, 3), (3, 3)])
    assert_close(lnb.asarray(a) @ b, a @ b, rtol=1e-14)
    assert_close(a @ lnb.asarray(b), a @ b, rtol=1e-14)
    c = lnb.tensor(a)
    c @= lnb.asarray(b)
    assert_close(c, a @ b, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16, "float64", "complex64", "complex128", "int8", "int32",
                                   "int64", "uint16", "bool"], ids=str)
def test_dtypes_equal_numpy(dtype):
    a, b = [(10 * RNG.standard_normal(shape)).astype(dtype) for shape in ((5, 7), (7, 4))]
    found = lnb.matmul(lnb.asarray(a), lnb.asarray(b))
    assert found.dtype == a.dtype
    if a.dtype.kind in "biu":
        np.testing.assert_array_equal(found.to_host(), np.matmul(a, b))
        return
    is_half = a.dtype.itemsize == 2
    wide = "float64" if is_half else "clongdouble" if a.dtype.kind == "c" else "longdouble"
    exact = np.matmul(a.astype(wide), b.astype(wide))
    scale = np.matmul(np.abs(a).astype("float64"), np.abs(b).astype("float64"))
    unit = {"float16": 2.0 ** -11, "float64": 2e-16, "complex64": 2e-7, "complex128": 4e-16}.get(dtype, 2.0 ** -8)
    error = np.abs(found.to_host().astype("complex128" if a.dtype.kind == "c" else "float64") - exact)
    assert np.all(error <= unit * (np.abs(exact) + (1e-3 if is_half else 2) * scale))


def test_mixed_dtypes_promote():
    a, b = lnb.asarray(np.ones((2, 3), "float32")), lnb.asarray(np.ones((3, 2), "int64"))
    assert lnb.matmul(a, b).dtype == np.float64 and lnb.matmul(a, a.T).dtype == np.float32


@pytest.mark.parametrize("layout", ["F", "strided", "negative", "broadcast"])
@pytest.mark.parametrize("shapes", [((9, 17), (17, 5)), ((3, 9, 6), (3, 6, 7))], ids=str)
def test_layout_changes_no_value(shapes, layout):
    a, b = [laid_out(x, layout) for x in operands(shapes, "float32")]
    assert_close(lnb.matmul(lnb.asarray(a), lnb.asarray(b)), np.matmul(a.astype("float64"), b.astype("float64")),
                 rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows, inner, cols", [(1, 300, 1), (129, 65, 257), (64, 512, 33), (300, 1, 300),
                                               (17, 1000, 3)])
def test_sizes_around_the_tiles_equal_numpy(rows, inner, cols):
    a, b = operands([(rows, inner), (inner, cols)], "float32")
    exact, scale = a.astype("float64") @ b.astype("float64"), np.abs(a).astype("float64") @ np.abs(b).astype("float64")
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(lnb.matmul(lnb.asarray(a), lnb.asarray(b)).to_host())
    finally:
        lnb.set_num_threads(before)
    assert np.all(np.abs(found[0] - exact) <= 3e-7 * scale)
    assert np.array_equal(*found)


# -------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("shapes", SHAPES[:11], ids=str)
def test_gradient_follows_finite_differences(shapes):
    check_grad(lnb.matmul, *operands(shapes))


def test_gradient_of_complex_product_follows_finite_differences():
    (a, b), (c, d) = operands([(2, 3), (3, 2)]), operands([(2, 3), (3, 2)])
    check_grad(lnb.matmul, a + 1j * c, b + 1j * d)


@pytest.mark.parametrize("shapes", [SHAPES[0], SHAPES[2], SHAPES[6]], ids=str)
def test_gradient_follows_the_cpu(shapes, device):
    check_against_cpu(lnb.matmul, *operands(shapes), device=device)


# ------------------------------------------------------------------------------------------------- errors
def test_operands_that_do_not_fit_are_refused_alike_on_every_device(device):
    a, b = (lnb.asarray(np.ones(shape, "float32"), device=device) for shape in ((2, 3), (2, 3)))
    with pytest.raises(errors.ShapeError) as caught:
        lnb.matmul(a, b)
    assert str(caught.value) == "matmul: inner sizes differ, 3 and 2 (shapes (2, 3) and (2, 3)). Transpose one."
    with pytest.raises(errors.ShapeError, match="matmul: a 0-d operand"):
        lnb.matmul(a, lnb.asarray(np.float32(2), device=device))
    with pytest.raises(errors.ShapeError, match=r"matmul: a 0-d operand"):
        lnb.matmul(a, 2.0)
    with pytest.raises(errors.ShapeError, match=r"matmul: shapes .* do not broadcast"):
        lnb.matmul(lnb.ones((2, 3, 4), device=device), lnb.ones((3, 4, 5), device=device))
