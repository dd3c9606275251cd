"""Convolutions and both their gradients: direct kernels of every tile of results, and unfolded products."""

from dataclasses import replace

import lucid_nb.cuda as table
from lucid_nb.shapes import Window

from . import FLOATS, HALVES, array, launches

SUMS = ("each thread holds the sums of four filters by four rows, so that a cell serves four products and a weight "
        "four; three blocks of 256 threads with sixteen independent sums each hide the latency of the cache")
PRODUCT = "the tiles of matrix products, whose sums stay in registers"


def all_three(x_shape, w_shape, window, dtype):
    """The result and both gradients."""
    x, w = array(x_shape, dtype), array(w_shape, dtype)
    y = table.conv(x, w, window)
    table.conv_input_grad(y, w, window, x_shape)
    table.conv_weight_grad(x, y, window, w_shape)


@launches(*FLOATS, *HALVES, registers=SUMS)
def first_layer(dtype):
    all_three((32, 3, 224, 224), (64, 3, 7, 7), Window((2, 2), (3, 3), (3, 3), (1, 1)), dtype)


DEPTHWISE = (32, 96, 56, 56), (96, 1, 7, 7), Window((1, 1), (3, 3), (3, 3), (1, 1), 96)


@launches("float32", *HALVES)
def depthwise(dtype):
    all_three(*DEPTHWISE, dtype)


@launches("float32", registers="which cells of a spread input there are is told by divisions; in fewer registers "
          "some would be spilled, and four blocks of 256 threads remain")
def depthwise_of_every_other_cell(dtype):
    x, w, window = DEPTHWISE
    all_three(x, w, replace(window, stride=(2, 2)), dtype)


@launches("float64", registers="a sum takes two of them; four blocks of 256 threads remain")
def depthwise_of_doubles(dtype):
    all_three(*DEPTHWISE, dtype)


@launches(*FLOATS, *HALVES, registers=PRODUCT, stack="a product of doubles keeps a place there, once a slice")
def inner_layer(dtype):
    all_three((32, 128, 28, 28), (128, 128, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1)), dtype)


@launches("float32", "bfloat16", registers=SUMS)
def one_axis_and_three(dtype):
    all_three((8, 3, 4096), (16, 3, 9), Window((1,), (4,), (4,), (1,)), dtype)
    all_three((2, 3, 16, 32, 32), (8, 3, 3, 3, 3), Window((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1)), dtype)
