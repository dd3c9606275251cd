"""Convolution and its gradients against SciPy, a naive float64 sum over taps, and what lies around the memory."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from lucid_nb import config
from lucid_nb.kernels import depthwise, planes
from lucid_nb.kernels.conv import conv, conv_input_grad, conv_weight_grad
from lucid_nb.shapes import Window
from tests.kernels.threads_alike import all_three, by_threads
from tests.naive_conv import assert_all_near, guarded, naive, values, windows  # noqa: F401  guarded: a fixture

RANDOM = np.random.default_rng(5)
FLOATS = ["float32", "float64"]
# With 16 filters or more these lie in the vectors, in the gradient of the input the channels.
WINDOWS = windows(st.tuples(st.sampled_from([1, 2, 3, 5, 6, 17, 33]), st.sampled_from([1, 2, 3, 18])), 3, 11)


@pytest.fixture(scope="module", autouse=True)
def _without_tiles_for_few_channels():
    """The small convolutions here would go there; tests/kernels/test_depthwise.py has its own."""
    with pytest.MonkeyPatch.context() as patch:
        for plan in ("forward_plan", "backward_plan", "slopes_plan"):
            patch.setattr(depthwise, plan, lambda *_: None)
        yield


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape,taps", [((9,), (4,)), ((6, 8), (3, 2)), ((4, 5, 6), (2, 3, 2)), ((1200,), (5,)),
                                        ((3, 700), (2, 3)), ((40, 33), (3, 3))], ids=str)
def test_conv_is_scipys_correlation(shape, taps, dtype):
    x, w = values((2, 3, *shape), dtype), values((4, 3, *taps), dtype)
    result = conv(x, w, Window(*[(value,) * len(taps) for value in (1, 0, 0, 1)]))
    for image, filter_number in product(range(2), range(4)):
        pairs = zip(x[image].astype(np.longdouble), w[filter_number].astype(np.longdouble))
        exact = sum(signal.correlate(channel, taps, "valid", "direct") for channel, taps in pairs)
        np.testing.assert_allclose(result[image, filter_number], exact, rtol=0, atol=100 * np.finfo(dtype).eps)


@given(WINDOWS)
def test_conv_and_gradients_of_any_window(case):
    x_shape, w_shape, window = case
    assert_all_near(values(x_shape), values(w_shape), window)


@pytest.mark.sweep
@given(WINDOWS, st.sampled_from(FLOATS))
def test_conv_and_gradients_of_many_windows(case, dtype):
    x_shape, w_shape, window = case
    assert_all_near(values(x_shape, dtype), values(w_shape, dtype), window)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("x_shape,w_shape,window", [
    ((2, 16, 20, 20), (16, 16, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1))),
    ((2, 6, 33, 31), (10, 3, 5, 3), Window((2, 3), (2, 0), (1, 1), (1, 2), 2)),
    ((2, 8, 70, 70), (8, 1, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1), 8)),
    ((1, 5, 14, 14), (7, 5, 1, 1), Window((2, 2), (0, 0), (0, 0), (1, 1))),
    ((1, 2, 2000), (5, 2, 9), Window((1,), (4,), (4,), (1,))),
    ((1, 2, 5, 600), (3, 2, 2, 4), Window((1, 1), (0, 3), (1, 0), (2, 1))),
    ((2, 3, 6, 12, 12), (4, 3, 3, 3, 3), Window((1, 2, 1), (1, 1, 1), (1, 0, 1), (1, 1, 1)))], ids=str)
def test_conv_and_gradients_across_tiles(x_shape, w_shape, window, dtype):
    assert_all_near(values(x_shape, dtype), values(w_shape, dtype), window)


@pytest.mark.parametrize("width", ["auto", 256, 128])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("x_shape,w_shape,window", [
    ((2, 20, 9, 11), (34, 20, 3, 3), Window((2, 2), (1, 1), (1, 1), (1, 1))),
    ((3, 33, 23), (19, 33, 5), Window((3,), (2,), (3,), (2,))),
    ((2, 32, 4, 4), (48, 32, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1))),
    ((2, 64, 5, 6), (64, 16, 2, 2), Window((2, 2), (0, 0), (0, 0), (1, 1), 4)),
    ((1, 21, 3, 6, 5), (33, 21, 2, 3, 3), Window((1, 2, 1), (1, 1, 1), (0, 1, 1), (1, 1, 1))),
    ((2, 16, 1, 70), (16, 16, 1, 40), Window((1, 2), (0, 3), (0, 40), (1, 1))),
    ((2, 17, 2), (5, 17, 2), Window((3,), (3,), (3,), (2,))),       # a tap that never meets the input
    ((1, 32, 3, 1), (4, 32, 3, 2), Window((1, 2), (1, 3), (1, 3), (1, 2))),
    ((3, 16, 7, 7), (48, 16, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1))),       # short rows, few kinds of them
    ((2, 16, 2, 5), (16, 16, 3, 3), Window((1, 1), (4, 4), (4, 4), (1, 1))),       # rows and columns that read nothing
    ((1, 16, 19, 30), (16, 16, 19, 2), Window((1, 1), (18, 1), (18, 1), (1, 1))),  # more kinds than are told apart
    ((2, 16, 4, 5, 20), (16, 16, 3, 3, 3), Window((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 2)))], ids=str)
def test_conv_and_gradients_with_filters_in_the_vectors(x_shape, w_shape, window, dtype, width, monkeypatch):
    monkeypatch.setattr(config, "vector_width", width)
    assert_all_near(values(x_shape, dtype), values(w_shape, dtype), window)


def test_conv_of_strided_operands():
    window, x, w = Window((1, 1), (1, 1), (1, 1), (1, 1)), values((2, 3, 8, 9)), values((4, 3, 3, 3))
    expected = conv(x, w, window)
    wide = np.zeros((2, 6, 8, 18), np.float32)
    wide[:, ::2, :, ::2] = x
    wide_w = w.transpose(1, 0, 2, 3).copy().transpose(1, 0, 2, 3)
    np.testing.assert_array_equal(conv(wide[:, ::2, :, ::2], wide_w, window), expected)
    g = np.broadcast_to(values((1, 4, 1, 1)), expected.shape)
    for function, first, second, shape in ((conv_input_grad, g, wide_w, x.shape), (conv_weight_grad, x, g, w.shape)):
        np.testing.assert_array_equal(function(first, second, window, shape),
                                      function(first.copy(), second.copy(), window, shape))


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=str)
def test_narrow_floats_accumulate_in_float32(dtype):
    window = Window((1, 1), (1, 1), (1, 1), (1, 1))
    x, w, g = values((2, 3, 6, 6), dtype), values((4, 3, 3, 3), dtype), values((2, 4, 6, 6), dtype)
    x4, w4, g4 = (array.astype(np.float32) for array in (x, w, g))
    for result, single in ((conv(x, w, window), conv(x4, w4, window)),
                           (conv_input_grad(g, w, window, x.shape), conv_input_grad(g4, w4, window, x.shape)),
                           (conv_weight_grad(x, g, window, w.shape), conv_weight_grad(x4, g4, window, w.shape))):
        np.testing.assert_array_equal(result, single.astype(dtype), strict=True)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool", "complex64"])
def test_conv_of_other_dtypes(dtype):
    window = Window((2, 1), (1, 0), (0, 1), (1, 2), 2)
    x, w = (RANDOM.integers(-2, 3, shape).astype(dtype) for shape in ((2, 4, 6, 7), (6, 2, 3, 2)))
    if dtype == "complex64":
        x, w = x + 1j * x[::-1], w + 1j * w[::-1]
        g = values((2, 6, 3, 6)).astype(dtype) * np.complex64(1 + 2j)
    else:
        g = np.ones((2, 6, 3, 6), dtype)
    exact, input_slopes, weight_slopes = naive(x, w, g, window)
    assert conv(x, w, window).dtype == dtype
    if dtype == "complex64":
        np.testing.assert_allclose(conv(x, w, window), exact, rtol=1e-5)
        np.testing.assert_allclose(conv_input_grad(g, w, window, x.shape), input_slopes, atol=1e-5)
        np.testing.assert_allclose(conv_weight_grad(x, g, window, w.shape), weight_slopes, atol=1e-5)
    else:
        wrapped = exact.astype(np.int64).astype(dtype)
        np.testing.assert_array_equal(conv(x, w, window), wrapped, strict=True)


def test_gradients_where_no_tap_reads_the_input():
    assert_all_near(values((2, 12, 1)), values((6, 4, 2)), Window((2,), (1,), (1,), (2,), 3))


def test_conv_of_nothing():
    window = Window((1, 1), (0, 0), (0, 0), (1, 1))
    x, w = values((0, 3, 5, 5)), values((4, 3, 3, 3))
    assert conv(x, w, window).shape == (0, 4, 3, 3)
    slopes = conv_weight_grad(x, values((0, 4, 3, 3)), window, w.shape)
    np.testing.assert_array_equal(slopes, np.zeros_like(w), strict=True)
    assert conv_input_grad(values((0, 4, 3, 3)), w, window, x.shape).shape == x.shape


def test_infinities_reach_only_the_results_that_read_them():
    window, x, w = Window((1, 1), (1, 1), (1, 1), (1, 1)), values((1, 1, 5, 6)), np.ones((5, 1, 3, 3), np.float32)
    x[0, 0, 1, 5] = np.inf
    reached = np.zeros((5, 6), bool)
    reached[0:3, 4:6] = True
    np.testing.assert_array_equal(np.isinf(conv(x, w, window)[0]), np.broadcast_to(reached, (5, 5, 6)))
    valid = Window((2, 2), (0, 0), (0, 0), (1, 1))
    x[0, 0, 1, 5], x[0, 0, 0, 0] = 0, np.inf
    slopes = conv_weight_grad(x, np.ones((1, 1, 2, 2), np.float32), valid, (1, 1, 3, 3))
    np.testing.assert_array_equal(np.isinf(slopes[0, 0]), np.arange(9).reshape(3, 3) == 0)


@pytest.mark.parametrize("filters", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("sizes", [(1,), (513,), (3, 3), (23, 23), (2, 511), (2, 3, 4)], ids=str)
def test_kernels_write_inside_their_arrays(filters, sizes, guarded):  # noqa: F811
    ndim = len(sizes)
    for stride in (1, 2):
        window = Window((stride,) * ndim, (1,) * ndim, (1,) * ndim, (1,) * ndim)
        assert_all_near(values((2, 2, *sizes)), values((filters, 2, *(3,) * ndim)), window)


@pytest.mark.parametrize("limit", [0, -1])
def test_conv_gives_the_same_bits_within_any_limit_of_memory(limit, monkeypatch):
    window, x, w = Window((2, 1), (1, 1), (1, 1), (1, 1)), values((5, 4, 12, 12)), values((6, 4, 3, 3))
    g = conv(x, w, window)
    expected = conv_input_grad(g, w, window, x.shape), conv_weight_grad(x, g, window, w.shape)
    monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)         # read-only as an attribute
    np.testing.assert_array_equal(conv(x, w, window), g)
    np.testing.assert_array_equal(conv_input_grad(g, w, window, x.shape), expected[0])
    np.testing.assert_array_equal(conv_weight_grad(x, g, window, w.shape), expected[1])


def test_conv_without_memory_for_planes_makes_those_of_one_image_at_a_time(monkeypatch):
    fill, counts = planes.Planes.fill, []

    def counted(self, x):
        counts.append(len(x))
        return fill(self, x)
    monkeypatch.setattr(planes.Planes, "fill", counted)
    window, x, w = Window((1, 1), (1, 1), (1, 1), (1, 1)), values((5, 4, 40, 40)), values((6, 4, 3, 3))
    for limit, wanted in ((0, [1] * 5), (-1, [5])):
        monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)
        for run in (lambda: conv(x, w, window), lambda: conv_weight_grad(x, conv(x, w, window), window, w.shape)):
            run()
            assert counts[-len(wanted):] == wanted
    words = "as few images at a time as can be"
    assert words in config.SETTINGS["conv_view_limit_mb"].allowed


@pytest.mark.parametrize("sizes", [(7, 7), (5, 30), (1, 3), (3, 4, 4)], ids=str)
def test_conv_of_an_image_gives_the_same_bits_alone_and_in_a_batch(sizes):
    ndim, x, w = len(sizes), values((5, 32, *sizes)), values((32, 32, *(3,) * len(sizes)))
    window = Window((1,) * ndim, (1,) * ndim, (1,) * ndim, (1,) * ndim)
    together = conv(x, w, window), conv_input_grad(x, w, window, x.shape)
    for image in range(5):
        one = x[image:image + 1]
        for result, alone in zip(together, (conv(one, w, window), conv_input_grad(one, w, window, one.shape))):
            np.testing.assert_array_equal(result[image], alone[0])


@pytest.mark.serial
@pytest.mark.parametrize("x_shape,filters", [((4, 16, 40, 40), 18), ((9, 64, 7, 7), 64), ((9, 40, 28, 28), 48)])
def test_conv_gives_the_same_bits_for_any_number_of_threads(x_shape, filters):
    window, x, w = Window((1, 1), (1, 1), (1, 1), (1, 1)), values(x_shape), values((filters, x_shape[1], 3, 3))
    assert len({*by_threads(lambda: all_three(x, w, window))}) == 1
