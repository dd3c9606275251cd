"""Whether arrays are equal or nearly so, as NumPy has it, over dtypes, shapes and awkward numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.testing import arrays, broadcastable_shapes

DTYPES = ("float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64", "complex128")


@given(st.data(), st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.booleans(),
       st.sampled_from([{}, {"rtol": 0.5}, {"atol": 1.0}, {"rtol": 0.0, "atol": 0.0}]))
def test_isclose_equals_numpy(data, first, second, equal_nan, tolerances):
    shapes = data.draw(broadcastable_shapes(2))
    x, y = data.draw(arrays(first, shapes[0])), data.draw(arrays(second, shapes[1]))
    with np.errstate(all="ignore"):
        wanted = np.isclose(x, y, equal_nan=equal_nan, **tolerances)
        found = lnb.isclose(lnb.asarray(x), lnb.asarray(y), equal_nan=equal_nan, **tolerances)
        assert lnb.allclose(lnb.asarray(x), lnb.asarray(y), equal_nan=equal_nan, **tolerances) == np.all(wanted)
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_python_numbers_beside_an_array_are_weak(dtype):
    x = np.nextafter(np.array([-1, 3, 0.1, 1000], dtype), np.array(np.inf, dtype))
    x = np.r_[x, -x, np.array([-1.001, 2.999, 0.1], dtype)].astype(dtype)
    for other in (1, 1.5, 0.1, 3, True):
        for tolerances in ({}, dict(rtol=0, atol=2), dict(rtol=0.9, atol=0), dict(rtol=1, atol=1e-3)):
            for order in (1, -1):
                wanted = np.isclose(*(x, other)[::order], **tolerances)
                assert lnb.isclose(*(lnb.asarray(x), other)[::order], **tolerances).tolist() == wanted.tolist()


def test_infinities_and_nan_as_numpys(device):
    x = np.array([1, np.inf, np.inf, np.nan, np.nan, 1, -np.inf], "float32")
    y = np.array([1, np.inf, -np.inf, np.nan, 1, np.inf, -np.inf], "float32")
    for equal_nan in (False, True):
        found = lnb.isclose(lnb.asarray(x, device=device), lnb.asarray(y, device=device), equal_nan=equal_nan)
        assert found.tolist() == np.isclose(x, y, equal_nan=equal_nan).tolist()


@pytest.mark.parametrize("x, y", [([1, 2], [1, 2]), ([1, 2], [1, 3]), ([1, 2], [[1, 2]]), ([1, np.nan], [1, np.nan]),
                                  ([], []), (1, 1), ([1, 1], [1]), ([[1, 2], [1, 2]], [1, 2]), ([1, 2], [1, 2, 3])])
def test_equality_of_arrays_equals_numpy(x, y):
    assert lnb.array_equal(x, y) == np.array_equal(x, y) and lnb.array_equiv(x, y) == np.array_equiv(x, y)
    assert lnb.array_equal(x, y, equal_nan=True) == np.array_equal(x, y, equal_nan=True)


def test_tolerances_may_be_arrays_and_promote_as_operands():
    x, y = np.array([1.0, 2.0], "float32"), np.array([1.1, 2.5], "float32")
    assert lnb.isclose(lnb.asarray(x), y, atol=np.array([0.2, 0.2])).tolist() == [True, False]
