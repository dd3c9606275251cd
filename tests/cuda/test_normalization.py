"""Normalisation, its gradients, running statistics and moments beside the CPU's, in one launch and in two."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import kernels
from lucid_nb.cuda import places, runtime, statistics
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

from .conftest import check_launches

pytestmark = pytest.mark.cuda_simulator
RANDOM = np.random.default_rng(6)
BATCH, GROUP = (0, 2), (2, 3)
TOLERANCE = {"float32": dict(rtol=2e-5, atol=2e-5), "float64": dict(rtol=1e-11, atol=1e-11)}
# Rows of columns and of planes, whole and in chunks, with weights of rows and of channels.
SHAPES = [(2, 3, 4), (20, 5, 1), (9, 2, 7), (3, 9, 1), (2, 1, 70), (0, 3, 1), (2, 3, 2, 4), (5, 1, 7, 1), (3, 1, 90, 1),
          (1, 2, 3, 17), (2, 2, 1, 3), (40, 1, 5, 1), (0, 2, 3, 1)]


def on_device(*hosts):
    return [table.from_numpy(host) for host in hosts]


def check(found, expected, **tolerance):
    for got, wanted in zip(found, expected, strict=True):
        got = table.to_numpy(got)
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, **tolerance)


def drawn(shape, dtype):
    """x, slopes, weight and bias, the axes, and which kinds there are."""
    axes = BATCH if len(shape) == 3 else GROUP
    channels = shape[1] if axes == BATCH else shape[1] * shape[2]
    x, g, weight, bias = (RANDOM.standard_normal(each).astype(dtype) for each in (shape, shape, channels, channels))
    return x * 2 + 3, g, weight, bias, axes, (True,) if axes == BATCH else (True, False)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_normalisation_and_its_gradients_are_the_cpus(shape, dtype):
    x, g, weight, bias, axes, kinds = drawn(shape, dtype)
    for centred in kinds:
        how = (shape, axes, 1e-5, centred)
        y, *found = kernels.normalize(x, weight, bias, *how)
        check(table.normalize(*on_device(x, weight, bias), *how), (y, *found), **TOLERANCE[dtype])
        check(table.normalize_grad(*on_device(g, x, weight, *found), *how),
              kernels.normalize_grad(g, x, weight, *found, *how), **TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(9, 2, 7), (2, 1, 70), (3, 1, 90, 1), (2, 3, 2, 4), (0, 3, 1)], ids=str)
def test_half_floats_are_computed_in_float32_and_rounded_once(shape, dtype):
    x, g, weight, bias, axes, kinds = drawn(shape, "float32")
    (x, wide), (g, slopes) = ((part.astype(dtype), part.astype(dtype).astype("float32")) for part in (x, g))
    unit = 2.0 ** -11 if dtype == "float16" else 2.0 ** -8
    for centred in kinds:
        how = (shape, axes, 1e-5, centred)
        y, *found = kernels.normalize(wide, weight, bias, *how)
        got, *statistics = table.normalize(*on_device(x, weight, bias), *how)
        check([got], [y.astype(dtype)], rtol=2 * unit, atol=1e-5)
        check(statistics, found, **TOLERANCE["float32"])
        dx, *others = kernels.normalize_grad(slopes, wide, weight, *found, *how)
        got, *sums = table.normalize_grad(*on_device(g, x, weight, *found), *how)
        check([got], [dx.astype(dtype)], rtol=2 * unit, atol=1e-4)
        check(sums, others, **TOLERANCE["float32"])


def test_layers_of_half_floats_cast_no_more_than_their_weights():
    x = lnb.tensor(RANDOM.standard_normal((3, 5)), dtype="float16", device="cuda", requires_grad=True)
    weight = lnb.ones(5, dtype="float16", device="cuda", requires_grad=True)
    with runtime.kept_launches() as launches:
        y = F.layer_norm(x, (5,), weight)
        y.backward(y)
    assert (y.dtype, x.grad.dtype, weight.grad.dtype) == ("float16",) * 3
    counts = [int(one.numbers[0]) for one in launches if one.name == "kernel"]        # of casts
    assert "normalize" in [name for name, *_ in launches] and counts and max(counts) <= 5


@pytest.mark.parametrize("shape", [(9, 2, 7), (3, 1, 90, 1), (2, 3, 2, 4)], ids=str)
def test_places_of_64_bits_give_the_same_bits(shape, monkeypatch):
    x, g, weight, bias, axes, _ = drawn(shape, "float32")
    found = []
    for most in (places.MOST_NARROW, 0):
        monkeypatch.setattr(places, "MOST_NARROW", most)
        y, *kept = table.normalize(*on_device(x, weight, bias), shape, axes, 1e-5, True)
        slopes = table.normalize_grad(*on_device(g, x, weight), *kept, shape, axes, 1e-5, True)
        spread = table.moments(table.from_numpy(x), axes, False)
        found.append([table.to_numpy(part).tobytes() for part in (y, *kept, *slopes, *spread)])
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(4, 3, 1), (2, 1, 40)], ids=str)
def test_equal_elements_have_no_variance_and_infinite_ones_none_that_is_known(shape):
    weight, bias = np.full(shape[1], 2.0), np.full(shape[1], 0.5)
    x = np.full(shape, 0.1)
    y, mean, variance = map(table.to_numpy, table.normalize(*on_device(x, weight, bias), shape, BATCH, 1e-5, True))
    assert (y == 0.5).all() and (mean == 0.1).all() and (variance == 0).all()
    x[0, 0, 0] = np.inf
    how = (shape, BATCH, 1e-5, True)
    check(table.normalize(*on_device(x, weight, bias), *how), kernels.normalize(x, weight, bias, *how), rtol=1e-12)


def test_far_means_leave_digits_of_the_variance():
    x = (1e4 + RANDOM.standard_normal((2, 1, 60, 1))).astype("float32")
    ones = np.ones(60, "float32")
    _, mean, variance = table.normalize(*on_device(x, ones, ones), x.shape, GROUP, 1e-5, True)
    wide = x.astype("float64")
    np.testing.assert_allclose(table.to_numpy(mean), wide.mean(GROUP, keepdims=True), rtol=1e-7)
    np.testing.assert_allclose(table.to_numpy(variance), wide.var(GROUP, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize("dtype, rtol", [("float32", 1e-6), ("float64", 1e-14), ("bfloat16", 2 ** -8)])
def test_running_statistics_move_in_place(dtype, rtol):
    kept = np.array([1.0, -2, 3, 0.5, 8]).astype(dtype)
    found = np.array([0.5, 1, -1, 2], "float32").reshape(1, 4, 1)
    for part in (slice(0, 4), slice(None, 0, -1)):
        running = table.from_numpy(kept)
        table.remember(table.slice(running, (part,)), table.from_numpy(found), 0.25, 1.5)
        expected = kept.astype("float64")
        expected[part] = expected[part] * 0.75 + found.reshape(-1) * 0.375
        np.testing.assert_allclose(table.to_numpy(running).astype("float64"), expected, rtol=rtol)


# -------------------------------------------------------------------------------------------------------- moments
@given(shape=st.sampled_from([(1,), (37,), (3, 5), (2, 3, 4), (2, 40), (40, 2)]),
       dtype=st.sampled_from(["float32", "float64", "complex64", "int32", "bool", "float16", ml_dtypes.bfloat16]))
def test_moments_are_the_cpus(shape, dtype):
    x = (RANDOM.standard_normal(shape) * 3 + 2).astype(dtype)
    for axes in itertools.chain(*(itertools.combinations(range(x.ndim), count) for count in range(x.ndim + 1))):
        check(table.moments(table.from_numpy(x), axes, True), kernels.moments(x, axes, True), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("values", [[1, np.inf], [np.inf, np.inf], [np.nan, 1], [np.inf, -np.inf], [0.1] * 30])
def test_moments_of_what_is_not_finite_and_of_equals(values):
    with np.errstate(invalid="ignore"):
        x = np.array(values)
        check(table.moments(table.from_numpy(x), (0,), False), (x.mean(keepdims=False)[()] * np.ones(()),
                                                                np.asarray(x.var() if x[0] != 0.1 else 0.0)))


# ------------------------------------------------------------------------------------------------------------ ops
@pytest.mark.parametrize("function, shapes", [
    (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [(2, 2, 2), (2,), (2,)]),
    (lambda x, w, b: F.layer_norm(x, (3,), w, b), [(2, 3), (3,), (3,)]),
    (lambda x, w: F.rms_norm(x, (3,), w), [(2, 3), (3,)]),
    (lambda x, w, b: F.group_norm(x, 2, w, b), [(1, 4, 2), (4,), (4,)]),
    (lambda x: lnb.var(x, 1), [(2, 3)]),
], ids=["batch", "layer", "root mean square", "group", "variance"])
def test_gradients_follow_finite_differences_to_second_order(function, shapes):
    check_grad(function, *(lnb.tensor(RANDOM.standard_normal(shape), device="cuda") for shape in shapes))


def test_layers_train_as_on_the_cpu():
    found = []
    host = RANDOM.standard_normal((3, 4, 2)).astype("float32")
    for device in ("cuda", "cpu"):
        layers = [lnb.nn.BatchNorm1d(4), lnb.nn.InstanceNorm1d(4, affine=True, track_running_stats=True)]
        x = lnb.tensor(host, device=device, requires_grad=True)
        y = x
        for layer in layers:
            y = layer.to(device)(y)
        (y * y * y).sum().backward()
        parts = [y.detach(), x.grad, *(p.grad for layer in layers for p in layer.parameters()),
                 *(b for layer in layers for b in layer.buffers())]
        found.append([np.asarray(part.to("cpu")) for part in parts])
    for got, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


# ------------------------------------------------------------------------------------------------------- launches
@pytest.mark.parametrize("rows", [statistics.Rows(1, 1 << 20, 4096, 1), statistics.Rows(1 << 33, 3, 1, 1),
                                  statistics.Rows(2, 1 << 16, 3, 1 << 15), statistics.Rows(1, 1, 1, 1)], ids=str)
def test_launches_over_more_than_two_to_the_31_elements(rows, launches):
    plan = statistics.plan_of(rows)
    plan.launch(None)
    check_launches(launches)
    assert (plan.chunks - 1) * plan.chunk < rows.size <= plan.chunks * plan.chunk
    assert (plan.places is places.NARROW) == (rows.number * rows.size < 2 ** 30)
