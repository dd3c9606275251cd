"""Sampling at places, resampling along an axis and sums of rows beside the CPU's, and the ops over them."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import kernels
from lucid_nb.apply import apply
from lucid_nb.cuda import places, runtime
from lucid_nb.nn import functional as F
from lucid_nb.op import registry
from lucid_nb.testing import check_grad

from .conftest import check_launches

pytestmark = pytest.mark.cuda_simulator
RANDOM = np.random.default_rng(12)
DTYPES = st.sampled_from(["float32", "float64"])


def check(entry, *operands):
    """The same as on the CPU; sums are in the same order, but products may be fused into them."""
    devices = [table.from_numpy(each) if isinstance(each, np.ndarray) else each for each in operands]
    got, wanted = table.to_numpy(getattr(table, entry)(*devices)), getattr(kernels, entry)(*operands)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    eps = 1e-14 if wanted.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(got, wanted, rtol=eps, atol=eps)


@given(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(1, 5), st.integers(0, 40), st.integers(1, 3)),
       DTYPES)
def test_sampling_and_its_gradients_are_the_cpus(sizes, dtype):
    batch, channels, size, points, taps = sizes
    x, g, weights = (RANDOM.standard_normal(shape).astype(dtype) for shape in (
        (batch, channels, size), (batch, channels, points), (taps, batch, points)))
    at = RANDOM.integers(0, size, (taps, batch, points))
    check("sample", x, at, weights)
    check("sample_input_grad", g, at, weights, size)
    check("sample_weight_grad", x, g, at)


def test_places_of_64_bits_give_the_same_bits(monkeypatch):
    x, g, weights = (RANDOM.standard_normal(shape) for shape in ((2, 3, 4), (2, 3, 7), (2, 2, 7)))
    at, found = RANDOM.integers(0, 4, (2, 2, 7)), []
    matrix = np.array([0, 2, 3]), np.array([0, 3, 1]), np.array([0.5, 2, -1])
    x, g, weights, at = map(table.from_numpy, (x, g, weights, at))
    for most in (places.MOST_NARROW, 0):
        monkeypatch.setattr(places, "MOST_NARROW", most)
        parts = (table.sample(x, at, weights), table.sample_input_grad(g, at, weights, 4),
                 table.sample_weight_grad(x, g, at), table.resample(x, 2, *matrix))
        found.append([table.to_numpy(part).tobytes() for part in parts])
    assert found[0] == found[1]


@given(st.integers(0, 2), DTYPES)
def test_resampling_is_the_cpus_and_sends_a_matrix_once(axis, dtype):
    matrix = np.array([0, 2, 2, 5, 6]), np.array([0, 1, 2, 0, 1, 2]), RANDOM.standard_normal(6)
    shape = [2, 3, 2]
    shape[axis] = 3
    x = RANDOM.standard_normal(shape).astype(dtype)
    raw, expected = table.from_numpy(x), kernels.resample(x, axis, *matrix)
    for _ in range(2):
        with runtime.kept_launches() as launches:
            got = table.to_numpy(table.resample(raw, axis, *matrix))
        np.testing.assert_allclose(got, expected, rtol=1e-6 if dtype == "float32" else 1e-15, atol=1e-7)
    assert [name for name, *_ in launches] == ["resample"] and launches.crossings == ["download"]
    empty = np.zeros((2, 3, 0), dtype)
    assert table.resample(table.from_numpy(empty), 1, *matrix).shape == (2, 4, 0)


@given(st.lists(st.integers(0, 4), max_size=30), st.sampled_from(
    ["float32", "float64", "float16", "bfloat16", "complex64", "int8", "bool"]))
def test_sums_of_rows_are_those_of_scatter_add(index, dtype):
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    index = np.array(index, "int64")
    for shape in ((), (2, 3)):
        values = RANDOM.integers(-9, 9, (index.size, *shape)).astype(dtype)
        zeros = table.from_numpy(np.zeros((5, *shape), dtype))
        raw, given_index = table.from_numpy(values), table.from_numpy(index)
        got = table.to_numpy(table.sum_rows(given_index, raw, 5))
        np.testing.assert_array_equal(got, table.to_numpy(table.scatter_add(zeros, given_index, raw)))
        np.testing.assert_array_equal(got, kernels.sum_rows(index, values, 5))


def test_half_sums_of_rows_accumulate_in_float32():
    values = np.ones((300, 1), ml_dtypes.bfloat16)
    index = table.from_numpy(np.zeros(300, "int64"))
    assert float(table.to_numpy(table.sum_rows(index, table.from_numpy(values), 1))[0, 0]) == 300


# ------------------------------------------------------------------------------------------------------------ ops
PLACES = np.array([[[0, 2, 2]], [[1, 1, 0]]])


def tensor(*shape):
    return lnb.tensor(RANDOM.standard_normal(shape) * 0.6, device="cuda")


@pytest.mark.parametrize("function, shapes", [
    (lambda x, weights: apply(registry["sample"], (x, lnb.tensor(PLACES, device="cuda"), weights)),
     [(1, 2, 3), PLACES.shape]),
    (lambda x: F.interpolate(x, 5, mode="linear"), [(1, 1, 3)]),
    (lambda x: F.interpolate(x, 5, mode="nearest"), [(1, 1, 3)]),
    (lambda x: F.interpolate(x, (3, 2), mode="bicubic"), [(1, 1, 2, 3)]),
    (lambda weight: F.embedding(np.array([[2, 0], [2, 2]]), weight), [(3, 2)]),
], ids=["sample", "linear", "nearest", "bicubic", "embedding"])
def test_gradients_follow_finite_differences_to_second_order(function, shapes):
    check_grad(function, *(tensor(*shape) for shape in shapes))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_samples_of_images_are_those_of_the_cpu(mode):
    x, at = RANDOM.standard_normal((2, 2, 3, 3)).astype("float32"), RANDOM.uniform(-1.2, 1.2, (2, 2, 2, 2))
    at, found = at.astype("float32"), []
    for device in ("cuda", "cpu"):
        leaves = [lnb.tensor(each, device=device, requires_grad=True) for each in (x, at)]
        y = F.grid_sample(*leaves, mode=mode, padding_mode="border")
        (y * y).sum().backward()
        slopes = [leaf.grad for leaf in leaves if leaf.grad is not None]
        assert len(slopes) == (1 if mode == "nearest" else 2)
        found.append([part.to("cpu").numpy() for part in (y.detach(), *slopes)])
    for got, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------------------------------------------- launches
def test_launches_over_more_than_two_to_the_31_elements(launches):
    float32, int64 = np.dtype("float32"), np.dtype("int64")
    x, at, weights = (table.empty(shape, dtype) for shape, dtype in (
        ((70_000, 256, 4096), float32), ((4, 70_000, 2048), int64), ((4, 70_000, 2048), float32)))
    y = table.sample(x, at, weights)
    table.sample_weight_grad(x, y, at)
    assert y.size > 2 ** 31 and len(launches) == 2
    check_launches(launches)
