"""Counting against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb.cuda import runtime
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


# ------------------------------------------------------------------------------------------------------ functions
COUNTED = [np.array([3, 0, 3, 1, 7]), np.array([True, False, True]), np.array([5, 5], "uint8"), np.array([], "int64")]


@pytest.mark.parametrize("host", COUNTED, ids=lambda host: str(host.dtype))
def test_bincount_of_a_tensor_is_numpys(host):
    x = lnb.tensor(host, device="cuda")
    found = lnb.bincount(x, minlength=2)
    np.testing.assert_array_equal(found.to("cpu").numpy(), np.bincount(host, minlength=2))
    weights = np.arange(host.size) + 0.5
    found = lnb.bincount(x, lnb.tensor(weights, device="cuda"))
    np.testing.assert_array_equal(found.to("cpu").numpy(), np.bincount(host, weights))
    assert found.device == "cuda"


@pytest.mark.parametrize("make", [lambda: np.array([1, -2]), lambda: np.array([[1]]), lambda: np.array([1.5])])
def test_bincount_refuses_as_on_the_cpu(make):
    with pytest.raises(lnb.errors.LucidError) as expected:
        lnb.bincount(lnb.tensor(make()))
    with pytest.raises(type(expected.value)) as found:
        lnb.bincount(lnb.tensor(make(), device="cuda"))
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("options", [{}, {"bins": 3}, {"bins": 4, "range": (0, 2)}, {"density": True}])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bfloat16", "bool"])
def test_histogram_of_a_tensor_is_the_cpus(dtype, options):
    x = lnb.tensor([0.0, 1, 1, 3, 2.5, -1]).astype(dtype)
    for found, expected in zip(lnb.histogram(x.to("cuda"), **options), lnb.histogram(x, **options)):
        assert found.device == "cuda" and found.dtype == expected.dtype
        np.testing.assert_allclose(found.to("cpu").numpy(), expected.numpy(), rtol=1e-15)


def test_histogram_does_not_copy_the_data_to_the_host(monkeypatch):
    x = lnb.arange(100, dtype="float64", device="cuda")
    moved, download = [], runtime.download

    def counted(flat):
        moved.append(flat.size)
        return download(flat)
    monkeypatch.setattr(runtime, "download", counted)
    lnb.histogram(x, 5)
    lnb.bincount(lnb.arange(100, device="cuda"))
    assert max(moved) <= 2
