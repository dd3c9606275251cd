"""The gradient of a convolution's weights: which operand is packed, how runs are cut, and that neither shows."""

import numpy as np
import pytest

from lucid_nb import config
from lucid_nb.kernels import depthwise, weight_gradient
from lucid_nb.kernels.conv import conv_weight_grad
from lucid_nb.shapes import Window
from tests.kernels.threads_alike import by_threads
from tests.naive_conv import assert_all_near, guarded, values  # noqa: F401  guarded: a fixture

# Shapes of x, filters, kernel, stride, padding, groups; is the product turned?
CASES = {
    "few channels": ((2, 5, 9, 11), 21, 1, 1, 0, 1, True),
    "few filters of a long line": ((1, 40, 30, 30), 5, 1, 1, 0, 1, False),
    "runs of a long line": ((2, 3, 1030), 17, 1, 1, 0, 1, True),
    "stride and groups": ((3, 12, 9, 8), 34, 1, 2, 0, 2, True),
    "one channel": ((2, 1, 6, 5), 3, 1, 1, 0, 1, True),
    "rows that share a set of the cache": ((2, 20, 32, 32), 33, 1, 1, 0, 1, True),
    "padding": ((2, 20, 5, 5), 33, 1, 1, 1, 1, False),
    "padding shared by neighbouring rows": ((2, 3, 4, 5), 4, 2, 1, 1, 1, False),
    "small images": ((23, 3, 6, 7), 18, 3, 1, 1, 1, False),
    "many lines": ((3, 2, 70, 9), 17, 3, 1, 1, 1, False),
    "taps on both sides of a tile": ((2, 16, 7, 7), 49, 3, 1, 1, 1, False),
    "columns of a line": ((1, 3, 3, 600), 20, 3, 1, 1, 1, False),
}


@pytest.fixture(autouse=True)
def _without_tiles_for_few_channels(monkeypatch):
    """The small convolutions here would go there; tests/kernels/test_depthwise.py has its own."""
    monkeypatch.setattr(depthwise, "slopes_plan", lambda *_: None)


def problem(name, dtype=np.float32):
    """x, w and window of a case, and whether its product is turned."""
    x_shape, filters, taps, stride, padding, groups, is_turned = CASES[name]
    ndim = len(x_shape) - 2
    window = Window(*[(value,) * ndim for value in (stride, padding, padding, 1)], groups)
    return values(x_shape, dtype), values((filters, x_shape[1] // groups, *[taps] * ndim), dtype), window, is_turned


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_weight_gradient_of_each_kind_of_shape(name, dtype, guarded):  # noqa: F811
    x, w, window, is_turned = problem(name, dtype)
    plan = weight_gradient.plan(x.shape, w.shape, window, x.dtype, 1, config.vector_width)
    assert plan.is_turned == is_turned
    assert_all_near(x, w, window)


@pytest.mark.parametrize("name", CASES)
def test_weight_gradient_with_vectors_of_any_width(name, width):
    assert_all_near(*problem(name)[:3])


@pytest.mark.serial
@pytest.mark.parametrize("x_shape,filters,taps", [((8, 64, 28, 28), 64, 1), ((9, 40, 7, 7), 33, 3),
                                                  ((2, 256, 56, 56), 16, 1)])
def test_weight_gradient_has_the_same_bits_for_any_number_of_threads_and_limit(x_shape, filters, taps, monkeypatch):
    window, x = Window((1, 1), (taps // 2,) * 2, (taps // 2,) * 2, (1, 1)), values(x_shape)
    w_shape, g = (filters, x_shape[1], taps, taps), values((x_shape[0], filters, *x_shape[2:]))
    found = set()
    for limit in (-1, 0):
        monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)         # read-only as an attribute
        found.update(by_threads(lambda: [conv_weight_grad(x, g, window, w_shape)]))
    assert len(found) == 1


@pytest.mark.parametrize("lines,width", [(1, 3136), (1, 49), (56, 56), (7, 7), (112, 112), (3, 600), (1, 1), (513, 1)])
def test_runs_cover_whole_lines_or_parts_of_one(lines, width):
    whole, high, cols, span = weight_gradient.run_of(lines, width)
    assert whole == width and 0 < high * cols <= weight_gradient.RUN and span % lines == 0 and high <= span
    assert cols == width or (high == 1 and cols % weight_gradient.ALIGN == 0)


def test_infinity_reaches_only_the_weights_that_meet_it():
    x, g = np.ones((2, 3, 4, 5), np.float32), np.ones((2, 20, 4, 5), np.float32)
    x[1, 2, 3, 4] = np.inf
    window = Window((1, 1), (0, 0), (0, 0), (1, 1))
    slopes = conv_weight_grad(x, g, window, (20, 3, 1, 1))
    np.testing.assert_array_equal(np.isinf(slopes[:, :, 0, 0]), np.broadcast_to(np.arange(3) == 2, (20, 3)))
    assert (slopes[:, :2] == 40).all()
