"""Sums in blocks: every product is added once, and long sums keep the digits that one chain of additions loses."""

import ctypes

import numpy as np
import pytest

from lucid_nb import config
from lucid_nb.kernels import block_sums, emission
from lucid_nb.kernels.conv import conv, conv_input_grad, conv_weight_grad
from lucid_nb.shapes import Window

COUNT, BLOCK, TIMES = 3, 8, 4
ONE_TAP = Window((1, 1), (0, 0), (0, 0), (1, 1))
THIRD = np.float32(1 / 3)        # which a chain of additions rounds up, or down, all the way between powers of two


def row_sums(dtype, steps):
    """The sums over k of COUNT vectors x[k], by an emitted kernel; the vectors are small integers."""
    def emit(e, steps, x, out):
        def step(k, carried):
            place, *sums = carried
            found = [e.add(e.load_vector(e.at(place, j * e.lanes)), value) for j, value in enumerate(sums)]
            return [e.at(place, COUNT * e.lanes), *found]
        for j, value in enumerate(block_sums.summed(e, steps, step, [x], COUNT, TIMES, BLOCK)):
            e.store_vector(value, e.at(out, j * e.lanes))
    address = emission.kernel("test of block sums", dtype, "ipp", emit)
    size = COUNT * emission.lanes(dtype)
    x = (np.arange(steps * size) % 17 - 5).astype(dtype).reshape(steps, size)
    out = np.full(size, 99, dtype)
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)(steps, x.ctypes.data,
                                                                                      out.ctypes.data)
    return x, out


@pytest.mark.parametrize("width", ["auto", 256, 128])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("steps", [0, 1, 7, 8, 9, 16, 17, 20, 100])
def test_every_step_is_added_once(steps, dtype, width, monkeypatch):
    monkeypatch.setattr(config, "vector_width", width)
    x, out = row_sums(dtype, steps)
    np.testing.assert_array_equal(out, x.sum(0))


def errs(found, count):
    """The largest relative error of sums of `count` thirds, in epsilons."""
    exact = count * np.float64(THIRD)
    return np.abs(found / exact - 1).max() / np.finfo(np.float32).eps


@pytest.mark.parametrize("filters", [5, 33])
@pytest.mark.parametrize("channels", [300, 1000])
def test_long_sums_of_convolutions_keep_their_digits(channels, filters):
    x, w = np.full((1, channels, 5, 7), THIRD), np.ones((filters, channels, 1, 1), np.float32)
    assert errs(conv(x, w, ONE_TAP), channels) < 4
    g, w = np.full((1, channels, 5, 7), THIRD), np.ones((channels, filters, 1, 1), np.float32)
    assert errs(conv_input_grad(g, w, ONE_TAP, (1, filters, 5, 7)), channels) < 4


@pytest.mark.parametrize("shape", [(1, 500), (7, 60), (20, 25), (70, 7)])
@pytest.mark.parametrize("filters,channels", [(5, 40), (33, 40)])
def test_long_sums_of_gradients_of_weights_keep_their_digits(filters, channels, shape):
    x, g = np.full((1, channels, *shape), THIRD), np.ones((1, filters, *shape), np.float32)
    found = conv_weight_grad(x, g, ONE_TAP, (filters, channels, 1, 1))
    assert errs(found, shape[0] * shape[1]) < 7
