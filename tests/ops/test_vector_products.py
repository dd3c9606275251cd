"""Products with a vector, small and large, in every layout, beside NumPy's and their gradients."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import check_grad

DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64", "float16", "bool")
SHAPES = (((7,), (7,)), ((5, 7), (7,)), ((7,), (7, 5)), ((0,), (0,)), ((0, 3), (3,)), ((5000,), (5000,)),
          ((90, 80), (80,)), ((80,), (80, 90)))
LAYOUTS = {"plain": lambda x: x, "reversed": lambda x: x[..., ::-1],
           "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2], "across": lambda x: x.T.copy().T}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_with_vectors_are_numpys(dtype, shapes, layout):
    draw = np.random.default_rng(0)
    arrays = [LAYOUTS[layout](draw.integers(-3, 4, shape).astype(dtype)) for shape in shapes]
    tensors = [lnb.asarray(array) for array in arrays]
    for name in ("matmul", "dot"):
        wanted, found = getattr(np, name)(*arrays), getattr(lnb, name)(*tensors)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(found.numpy(), wanted)       # of small integers every sum is exact


@pytest.mark.parametrize("shapes", SHAPES[:3], ids=str)
def test_gradients_of_products_with_vectors(shapes):
    draw = np.random.default_rng(1)
    for dtype in ("float64", "complex128"):
        arrays = [draw.normal(size=shape).astype(dtype) + (1j * draw.normal(size=shape) if dtype[0] == "c" else 0)
                  for shape in shapes]
        check_grad(lnb.matmul, *arrays, order=2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_products_with_vectors_have_the_same_bits_for_any_number_of_threads(dtype, shapes):
    draw, before = np.random.default_rng(2), lnb.get_num_threads()
    tensors = [lnb.asarray(draw.normal(size=shape).astype(dtype)) for shape in shapes]
    found = []
    try:
        for threads in (1, 2):
            lnb.set_num_threads(threads)
            found.append(lnb.matmul(*tensors).numpy().tobytes())
    finally:
        lnb.set_num_threads(before)
    assert found[0] == found[1]


def test_shapes_that_do_not_fit_are_refused_by_name():
    for name in ("matmul", "dot"):
        with pytest.raises(ValueError, match=name if name == "matmul" else "axis"):
            getattr(lnb, name)(lnb.ones(3), lnb.ones(4))
