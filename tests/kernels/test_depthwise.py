"""Convolutions with few channels in a group against a naive float64 sum over taps, at every width of vectors."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb.kernels import depthwise
from lucid_nb.kernels.conv import conv, conv_input_grad, conv_weight_grad
from lucid_nb.shapes import Window
from tests.kernels.threads_alike import all_three, by_threads
from tests.naive_conv import assert_all_near, guarded, naive, values, windows  # noqa: F401  guarded: a fixture

FLOATS = ["float32", "float64"]
PAIRS = [(1, 1), (1, 1), (2, 1), (1, 2), (2, 2)]         # filters and channels of a group


def plans(x_shape, w_shape, window, dtype):
    return [plan(x_shape, w_shape, window, np.dtype(dtype)) for plan in
            (depthwise.forward_plan, depthwise.backward_plan, depthwise.slopes_plan)]


def assert_served(x_shape, w_shape, window, dtype="float32", is_served=True):
    """The tiles of few channels take the case, or must not, and all is near."""
    assert all(plans(x_shape, w_shape, window, dtype)) or not is_served
    assert_all_near(values(x_shape, dtype), values(w_shape, dtype), window)


@given(windows(st.sampled_from(PAIRS), 4, 20), st.sampled_from(FLOATS))
def test_any_window(case, dtype):
    assert_served(*case, dtype)


def square(size, taps, stride=1, channels=3, dilation=1, filters=1, batch=2):
    """A convolution of square images and kernels, padded by half the kernel."""
    pad = dilation * (taps - 1) // 2
    window = Window((stride,) * 2, (pad,) * 2, (pad,) * 2, (dilation,) * 2, channels)
    return (batch, channels, size, size), (channels * filters, 1, taps, taps), window


CASES = [square(14, 3), square(15, 3, 2), square(33, 5), square(30, 5, 2), square(20, 7), square(29, 3, 3),
         square(19, 3, dilation=2, filters=2), square(21, 12, 2, channels=1), square(9, 1, 4),
         ((3, 2, 300), (2, 1, 31), Window((1,), (15,), (15,), (1,), 2)),
         ((2, 8, 11, 13), (6, 4, 3, 2), Window((2, 1), (1, 0), (1, 1), (1, 1), 2)),
         ((2, 2, 6, 7, 8), (4, 1, 3, 2, 3), Window((1, 2, 3), (1, 0, 2), (1, 1, 0), (2, 1, 1), 2))]


@pytest.mark.parametrize("width", [128, 256], indirect=True)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_narrower_vectors(case, dtype, width):
    assert_served(*case, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", [
    *CASES, square(112, 3), square(113, 3, 2), square(200, 3), square(57, 7), square(7, 3), square(1, 3),
    square(2, 3, 2), square(40, 31, channels=1, batch=1)], ids=str)
def test_sizes_of_networks(case, dtype):
    assert_served(*case, dtype, is_served=case[1][2] < 31)


@pytest.mark.parametrize("dtype", FLOATS)
def test_long_rows_are_cut_into_pieces(dtype):
    assert_served((2, 2, 9000), (2, 1, 9), Window((1,), (4,), (4,), (1,), 2), dtype)
    assert_served((1, 2, 3, 9001), (2, 1, 3, 5), Window((1, 2), (1, 2), (1, 2), (1, 1), 2), dtype)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 15, 16, 17, 33, 65, 113])
def test_kernels_write_inside_their_arrays(size, guarded):  # noqa: F811
    for stride, taps in ((1, 3), (2, 3), (3, 3)):
        assert_served(*square(size, taps, stride, channels=2))


def test_gradients_of_input_that_no_tap_reads_are_zeros():
    window, w, g = Window((4, 3), (0, 0), (0, 0), (1, 1), 2), values((2, 1, 2, 1)), values((1, 2, 3, 5))
    found = conv_input_grad(g, w, window, (1, 2, 12, 13))
    rows, columns = [row for row in range(12) if row % 4 < 2], range(0, 13, 3)
    untouched = np.ones((12, 13), bool)
    untouched[np.ix_(rows, columns)] = False
    assert np.all(found[:, :, untouched] == 0) and np.all(found[:, :, ~untouched] != 0)


def test_infinities_reach_only_the_results_that_read_them():
    window, x = Window((1, 1), (1, 1), (1, 1), (1, 1), 2), values((1, 2, 5, 20))
    x[0, 0, 1, 19] = np.inf
    reached = np.zeros((2, 5, 20), bool)
    reached[0, 0:3, 18:20] = True
    np.testing.assert_array_equal(np.isinf(conv(x, np.ones((2, 1, 3, 3), np.float32), window)[0]), reached)
    slopes = conv_weight_grad(x, np.ones_like(x), window, (2, 1, 3, 3))
    assert np.isfinite(slopes[1]).all()
    np.testing.assert_array_equal(np.isfinite(slopes[0, 0]), [[True, False, False]] * 3)


@pytest.mark.serial
def test_same_bits_for_any_number_of_threads():
    cases = square(60, 3, channels=9), square(60, 3, 2, channels=9, filters=2), square(90, 5, channels=1, batch=9)
    for case in cases:
        x_shape, w_shape, window = case
        x, w = values(x_shape), values(w_shape)
        assert len({*by_threads(partial(all_three, x, w, window))}) == 1


def test_many_channels_and_wide_kernels_are_left_to_products_of_matrices():
    wide = Window((1, 1), (0, 0), (0, 0), (1, 1), 1)
    for x_shape, w_shape in (((1, 9, 9, 9), (3, 9, 3, 3)), ((1, 1, 9, 200), (1, 1, 1, 150)),
                             ((0, 1, 9, 9), (1, 1, 3, 3))):
        assert plans(x_shape, w_shape, wide, "float32") == [None] * 3
    assert plans((1, 1, 9, 9), (1, 1, 3, 3), wide, "int32") == [None] * 3
    assert plans((1, 4, 9, 9), (4, 4, 1, 3), wide, "float32")[:2] == [None] * 2
