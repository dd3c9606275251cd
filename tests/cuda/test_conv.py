"""Convolutions and their gradients by both kinds of plan, against the definition in float64 and scipy.signal."""

import sys

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb.cuda as table
from lucid_nb import config, kernels
from lucid_nb.cuda import correlation, direct, places, plans, unfold
from lucid_nb.shapes import Window
from tests.naive_conv import naive

pytestmark = pytest.mark.cuda_simulator
conv = sys.modules["lucid_nb.cuda.conv"]

# input, weight, window: sizes that leave tails, one axis to three, more padding than taps, strides that skip cells
CASES = {
    "1-D": ((2, 2, 7), (3, 2, 3), Window((2,), (1,), (2,), (2,), 1)),
    "1-D, one channel": ((1, 1, 9), (1, 1, 5), Window((1,), (2,), (2,), (1,), 1)),
    "1-D, more padding than taps": ((2, 3, 4), (2, 3, 2), Window((1,), (3,), (4,), (1,), 1)),
    "1-D, stride beyond taps": ((1, 4, 11), (6, 2, 2), Window((3,), (0,), (1,), (1,), 2)),
    "2-D": ((1, 2, 5, 4), (2, 2, 3, 2), Window((1, 2), (1, 0), (0, 1), (1, 1), 1)),
    "2-D, 3 to 7 channels": ((2, 3, 5, 3), (7, 3, 3, 1), Window((1, 1), (1, 0), (1, 0), (1, 1), 1)),
    "2-D, 21 channels": ((1, 21, 2, 2), (3, 7, 1, 2), Window((1, 1), (0, 1), (0, 1), (1, 1), 3)),
    "2-D, grouped and dilated": ((2, 4, 5, 6), (4, 2, 2, 3), Window((2, 1), (1, 2), (1, 0), (2, 2), 2)),
    "2-D, depthwise": ((1, 3, 6, 3), (6, 1, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1), 3)),
    "2-D, of single taps": ((2, 3, 3, 4), (5, 3, 1, 1), Window((1, 1), (0, 0), (0, 0), (1, 1), 1)),
    "2-D, of single taps apart": ((2, 4, 3, 4), (4, 2, 1, 1), Window((2, 3), (0, 0), (0, 0), (1, 1), 2)),
    "2-D, stride and dilation share a factor": ((1, 2, 7, 5), (2, 2, 2, 3), Window((4, 2), (1, 2), (2, 1), (2, 1), 1)),
    "3-D": ((1, 2, 3, 4, 3), (2, 1, 2, 2, 3), Window((1, 2, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), 2)),
    "3-D, a padded plane": ((1, 2, 1, 3, 2), (2, 2, 1, 2, 2), Window((2, 1, 1), (1, 0, 0), (0, 0, 0), (1, 1, 1))),
    "3-D, strided": ((1, 1, 3, 2, 3), (2, 1, 2, 1, 2), Window((2, 1, 2), (1, 0, 1), (1, 0, 0), (1, 1, 1), 1)),
}
parametrize = pytest.mark.parametrize("case", CASES)
BUDGET = {"float64": 1e-14, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3, "complex64": 1e-6}


@pytest.fixture(autouse=True)
def own_plans(monkeypatch):
    """No test meets a plan of another."""
    monkeypatch.setattr(plans, "PLANS", plans.Plans())


def by_products(monkeypatch):
    """Even the smallest convolutions become products."""
    monkeypatch.setattr(conv, "SMALL", 0)
    monkeypatch.setattr(conv, "FEW", 0)


@pytest.fixture(params=["direct", "products"])
def way(request, monkeypatch):
    """The kind of plan that is chosen."""
    if request.param == "products":
        by_products(monkeypatch)
    return request.param


def drawn(x_shape, w_shape, window, dtype="float64"):
    """x, w and a slope of the result, whole numbers where the dtype has no others."""
    generator = np.random.default_rng(0)
    shapes = x_shape, w_shape, (x_shape[0], w_shape[0], *window.output_sizes(x_shape[2:], w_shape[2:]))
    if dtype == "complex64":
        return [(generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
                for shape in shapes]
    return [(generator.integers(-4, 5, shape) if "int" in dtype else generator.standard_normal(shape)).astype(dtype)
            for shape in shapes]


def all_three(x, w, g, window):
    """The result and both gradients of device arrays, on the host."""
    return [table.to_numpy(raw) for raw in (
        table.conv(x, w, window), table.conv_input_grad(g, w, window, x.shape),
        table.conv_weight_grad(x, g, window, w.shape))]


def check(x, w, g, window, device_arrays=None):
    """Result and gradients are as near to the exact ones as the dtype allows; those of integers are equal."""
    exact = naive(x, w, g, window)
    sizes = naive(*(np.abs(a).astype(np.float64) for a in (x, w, g)), window)
    found = all_three(*(device_arrays or map(table.from_numpy, (x, w, g))), window)
    for got, expected, size in zip(found, exact, sizes):
        assert got.dtype == x.dtype and got.shape == expected.shape
        if got.dtype.kind == "i":
            np.testing.assert_array_equal(got, expected)
        else:
            wide = got.astype(expected.dtype)
            assert np.all(np.abs(wide - expected) <= BUDGET[str(x.dtype)] * (size + np.abs(expected)))


@parametrize
def test_result_and_gradients_follow_the_definition(case, way):
    x_shape, w_shape, window = CASES[case]
    check(*drawn(x_shape, w_shape, window), window)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "complex64"])
@pytest.mark.parametrize("case", ["2-D, 3 to 7 channels", "2-D, depthwise"])
def test_dtypes_compute_wide_enough(case, dtype, way):
    x_shape, w_shape, window = CASES[case]
    check(*drawn(x_shape, w_shape, window, dtype), window)


@st.composite
def small_problems(draw):
    """x shape, w shape and window with few results, over one axis to three."""
    axes = []
    for _ in range(draw(st.integers(1, 3))):
        taps, stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
        low, high = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        least = max(1, (taps - 1) * dilation + 1 - low - high)
        axes.append((stride, low, high, dilation, draw(st.integers(least, least + 1)), taps))
    stride, low, high, dilation, sizes, taps = zip(*axes)
    groups, (filters, inputs) = draw(st.integers(1, 2)), draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (3, 5)]))
    return (1, groups * inputs, *sizes), (groups * filters, inputs, *taps), Window(stride, low, high, dilation, groups)


@settings(max_examples=5)
@given(problem=small_problems())
@pytest.mark.parametrize("kind", ["direct", "products"])
def test_any_geometry_follows_the_definition(kind, problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "PLANS", plans.Plans())
        if kind == "products":
            by_products(patch)
        x_shape, w_shape, window = problem
        check(*drawn(x_shape, w_shape, window), window)


def scipy_correlate(x, w, window):
    """The result one pair of channels at a time."""
    padded = np.pad(x, [(0, 0), (0, 0), *zip(window.low, window.high)])
    dilated = np.zeros(w.shape[:2] + tuple((k - 1) * d + 1 for k, d in zip(w.shape[2:], window.dilation)))
    dilated[(..., *(slice(None, None, d) for d in window.dilation))] = w
    steps = tuple(slice(None, None, s) for s in window.stride)
    inputs, outputs = w.shape[1], w.shape[0] // window.groups
    return np.array([[sum(scipy.signal.correlate(a, b, "valid", "direct")[steps]
                          for a, b in zip(item[o // outputs * inputs:][:inputs], dilated[o]))
                      for o in range(w.shape[0])] for item in padded])


@parametrize
def test_conv_agrees_with_scipy(case, way):
    x_shape, w_shape, window = CASES[case]
    x, w, _ = drawn(x_shape, w_shape, window)
    got = table.to_numpy(table.conv(table.from_numpy(x), table.from_numpy(w), window))
    np.testing.assert_allclose(got, scipy_correlate(x, w, window), rtol=1e-12, atol=1e-12)


def strided(a):
    """The same numbers in memory that is larger, reversed and permuted."""
    wide = np.zeros([2 * size + 1 for size in a.shape[::-1]], a.dtype)
    wide[tuple(slice(None, 0, -2) for _ in a.shape)] = a.T
    raw = table.slice(table.from_numpy(wide), tuple(slice(None, 0, -2) for _ in a.shape))
    return table.permute(raw, tuple(range(a.ndim))[::-1])


@pytest.mark.parametrize("case", ["1-D", "2-D, grouped and dilated", "2-D, of single taps apart", "3-D"])
def test_operands_are_read_where_they_lie(case, way):
    x_shape, w_shape, window = CASES[case]
    x, w, g = drawn(x_shape, w_shape, window)
    check(x, w, g, window, [strided(a) for a in (x, w, g)])


def test_broadcast_operands_are_read_where_they_lie(way):
    x_shape, w_shape, window = CASES["2-D"]
    x, w, g = drawn(x_shape, w_shape, window)
    parts = [a[:, :1, :1] for a in (x, w, g)]
    stretched = [table.broadcast_to(table.from_numpy(part), a.shape) for part, a in zip(parts, (x, w, g))]
    check(*(np.broadcast_to(part, a.shape) for part, a in zip(parts, (x, w, g))), window, stretched)


@pytest.mark.parametrize("limit, chunks", [(0, 3), (-1, 1), (1, 1)])
def test_items_are_unfolded_within_the_limit(monkeypatch, limit, chunks):
    by_products(monkeypatch)
    monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)
    seen = []
    unfolded = unfold.Unfold.__call__
    monkeypatch.setattr(unfold.Unfold, "__call__", lambda self, *args: seen.append(args[1]) or unfolded(self, *args))
    window = Window((1,), (1,), (1,), (1,), 1)
    check(*drawn((3, 2, 4), (3, 2, 3), window, "float16"), window)
    assert len(seen) == 3 * chunks


def test_chunks_are_about_equal_and_hold_an_item_at_least(monkeypatch):
    monkeypatch.setitem(vars(config), "conv_view_limit_mb", 1)
    assert unfold.chunk_of(10, 1 << 18) == 4
    assert unfold.chunk_of(10, 1 << 30) == 1
    assert unfold.chunk_of(8, 1 << 18) == 4
    assert unfold.chunk_of(1 << 20, 1) == 1 << 20


def test_sums_in_parts_are_those_of_the_whole(monkeypatch):
    monkeypatch.setattr(direct.runtime, "chunks_of", lambda *sizes: 3)
    x_shape, w_shape, window = CASES["2-D, 3 to 7 channels"]
    for dtype in ("float64", "float16"):
        check(*drawn(x_shape, w_shape, window, dtype), window)


def test_places_in_64_bits_lead_to_the_same(monkeypatch, way):
    monkeypatch.setattr(places, "MOST_NARROW", 0)
    for case in ("2-D, grouped and dilated", "2-D, depthwise"):
        x_shape, w_shape, window = CASES[case]
        check(*drawn(x_shape, w_shape, window), window)


def test_two_runs_give_the_same_bits(way):
    x_shape, w_shape, window = CASES["2-D, grouped and dilated"]
    operands = [table.from_numpy(a) for a in drawn(x_shape, w_shape, window, "float32")]
    for one, other in zip(all_three(*operands, window), all_three(*operands, window)):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 3])
def test_infinities_reach_what_they_reach_on_the_cpu(stride, channels, way):
    """Padding counts as zeros, whose product with an infinity is not a number; what lies between cells as nothing."""
    window = Window((stride, 1), (1, 2), (2, 0), (1, 1))
    x, w, g = drawn((1, channels, 6, 3), (channels, channels, 3, 2), window, "float32")
    x[0, 0, 2, 1], w[0, 0, 0, 1], g[0, 0, 1, 1] = np.inf, np.inf, -np.inf
    found = all_three(*map(table.from_numpy, (x, w, g)), window)
    expected = (kernels.conv(x, w, window), kernels.conv_input_grad(g, w, window, x.shape),
                kernels.conv_weight_grad(x, g, window, w.shape))
    for got, wanted in zip(found, expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------------------ input dilation
SPREADS = {
    "1-D": ((2, 2, 5), (2, 2, 3), (3,), (1,), (2,), (2,)),
    "stride and spread share a factor": ((1, 2, 4, 3), (2, 2, 3, 2), (4, 1), (2, 1), (1, 2), (6, 2)),
    "more spread than taps reach": ((1, 1, 3, 3), (2, 1, 2, 1), (1, 1), (0, 0), (1, 1), (3, 4)),
    "dilation is a multiple of spread": ((1, 1, 4), (1, 1, 3), (1,), (3,), (4,), (2,)),
    "3-D": ((1, 1, 2, 2, 3), (1, 1, 2, 2, 2), (1, 2, 3), (1, 0, 1), (1, 2, 1), (2, 3, 2)),
}


@pytest.mark.parametrize("kind", [direct.Direct, unfold.product_plan])
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("case", SPREADS)
def test_spread_inputs_are_never_stored(case, flip, kind):
    x_shape, w_shape, stride, low, dilation, spread = SPREADS[case]
    generator = np.random.default_rng(3)
    x, w = generator.standard_normal(x_shape), generator.standard_normal(w_shape)
    apart = np.zeros((*x_shape[:2], *((size - 1) * step + 1 for size, step in zip(x_shape[2:], spread))))
    apart[(..., *(slice(None, None, step) for step in spread))] = x
    window = Window(stride, low, low, dilation)
    sizes = window.output_sizes(apart.shape[2:], w_shape[2:])
    read = w[(..., *(slice(None, None, -1) for _ in spread))] if flip else w
    expected = scipy_correlate(apart, read, window)
    device_x = table.from_numpy(x)
    device_w = table.slice(table.from_numpy(w), (..., *(slice(None, None, -1 if flip else 1) for _ in spread)))
    layouts = (correlation.Layout(raw.shape, raw.strides) for raw in (device_x, device_w))
    problem = correlation.of_conv(x.dtype, *layouts, window, (x_shape[0], w_shape[0], *sizes))
    found = kind(problem._replace(spread=correlation.triple(spread, 1)))(device_x, device_w)
    np.testing.assert_allclose(table.to_numpy(found).reshape(expected.shape), expected, rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------------------------------- empty
def test_empty_batch_gives_empty_result_and_zero_weight_gradient(way):
    window = Window((1,), (0,), (0,), (1,))
    x, w, g = (table.from_numpy(np.zeros(shape)) for shape in ((0, 2, 5), (3, 2, 3), (0, 3, 3)))
    assert table.conv(x, w, window).shape == (0, 3, 3)
    assert table.conv_input_grad(g, w, window, (0, 2, 5)).shape == (0, 2, 5)
    np.testing.assert_array_equal(table.to_numpy(table.conv_weight_grad(x, g, window, (3, 2, 3))), np.zeros((3, 2, 3)))


def test_no_channels_sum_up_to_zero(way):
    window = Window((1,), (0,), (0,), (1,))
    x, w = table.from_numpy(np.zeros((2, 0, 5))), table.from_numpy(np.zeros((3, 0, 3)))
    np.testing.assert_array_equal(table.to_numpy(table.conv(x, w, window)), np.zeros((2, 3, 3)))
