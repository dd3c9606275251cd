"""Counting against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb.cuda.counting import FEW

from .test_scan import call

pytestmark = pytest.mark.cuda_simulator
RANDOM = np.random.default_rng(6)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int16"])
@pytest.mark.parametrize("bins", [1, 7, FEW, FEW + 5])
def test_bincount_equals_numpy(dtype, bins):
    for shape in ((0,), (90,), (3, 13)):
        x = RANDOM.integers(0, bins, shape).astype(dtype)
        found = call("bincount", x, bins)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.bincount(x.reshape(-1), minlength=bins))


@given(found=st.lists(st.integers(-2**63, 2**63 - 1), min_size=1, max_size=30))
def test_span_is_the_smallest_and_the_largest(found):
    assert table.span(table.from_numpy(np.array(found))) == (min(found), max(found))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", ml_dtypes.bfloat16, "int32", "uint8"], ids=str)
@pytest.mark.parametrize("bins", [1, 3, FEW + 3])
def test_bins_of_equal_width_equal_numpys(dtype, bins):
    x = (RANDOM.standard_normal(70) * 9 + 9).clip(0, 99).astype(dtype)
    if np.dtype(dtype).kind not in "iu":
        x[::9] = [np.nan, np.inf, -np.inf, 3, 17, 3.5, 10, -0.0]
    wide = x.astype("float64")
    edges = np.linspace(3, 17, bins + 1)
    with np.errstate(invalid="ignore"):
        should, _ = np.histogram(wide, edges)
    inside = (wide >= 3) & (wide <= 17)
    places = np.where(inside, np.minimum(np.searchsorted(edges, wide, "right") - 1, bins - 1), bins)
    np.testing.assert_array_equal(call("bin_places", x, edges), places)
    np.testing.assert_array_equal(call("histogram", x, edges), should)


def test_edges_decide_where_the_quotient_is_rounded():
    edges = np.linspace(0.1, 0.7, 8)
    x = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)])
    np.testing.assert_array_equal(call("histogram", x, edges), np.histogram(x, edges)[0])
