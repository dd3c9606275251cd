"""Convolutions of bfloat16 by pairs: near float64, nothing beside their arrays written, everything else unchanged."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb import config
from lucid_nb.kernels import depthwise, halves, paired_conv
from lucid_nb.kernels.conv import conv, conv_input_grad, conv_weight_grad
from lucid_nb.shapes import Window
from tests.kernels.threads_alike import all_three, by_threads
from tests.naive_conv import guarded, naive, values, windows  # noqa: F401  guarded: a fixture

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
ROUNDING = 2.0**-8                                   # of bfloat16, half a unit of its last place
WINDOWS = windows(st.tuples(st.sampled_from([1, 2, 3, 6, 17]), st.sampled_from([1, 2, 3, 18])), 3, 9)


@pytest.fixture(scope="module", autouse=True)
def _where_pairs_are_multiplied():
    """Small convolutions must go by pairs, too."""
    if not halves.multiplies_pairs():
        pytest.skip("this CPU does not multiply pairs of bfloat16")
    with pytest.MonkeyPatch.context() as patch:
        for plan in ("forward_plan", "backward_plan", "slopes_plan"):
            patch.setattr(depthwise, plan, lambda *_: None)
        yield


def assert_near(x_shape, w_shape, window):
    """All three are rounded once, after sums in float32."""
    x, w = values(x_shape, BFLOAT16), values(w_shape, BFLOAT16)
    g = values((len(x), len(w), *window.output_sizes(x.shape[2:], w.shape[2:])), BFLOAT16)
    results = conv(x, w, window), conv_input_grad(g, w, window, x.shape), conv_weight_grad(x, g, window, w.shape)
    wide = [array.astype(np.float64) for array in (x, w, g)]
    sizes = naive(*map(np.abs, wide[:2]), np.abs(wide[2]), window)
    for result, exact, size in zip(results, naive(*wide, window), sizes):
        assert result.dtype == BFLOAT16 and result.shape == exact.shape
        assert np.all(np.abs(result.astype(np.float64) - exact) <= ROUNDING * np.abs(exact) + 2.0**-21 * size)


@given(WINDOWS)
def test_conv_of_bfloat16_and_gradients_of_any_window(case):
    assert_near(*case)


@pytest.mark.parametrize("x_shape,w_shape,geometry", [
    ((2, 3, 20, 21), (33, 3, 7, 7), (2, 3, 1)), ((3, 18, 9, 9), (34, 18, 1, 1), (1, 0, 1)),
    ((1, 18, 8, 9), (34, 18, 1, 1), (1, 0, 1)), ((1, 7, 7, 7), (21, 7, 1, 1), (1, 0, 1)),
    ((1, 6, 7, 7), (20, 6, 3, 3), (1, 1, 1)), ((4, 12, 6, 6), (36, 6, 3, 3), (1, 1, 2)),
    ((4, 10, 6, 6), (34, 5, 1, 1), (1, 0, 2)), ((5, 16, 12), (16, 16, 1), (2, 0, 1))], ids=str)
def test_conv_of_bfloat16_writes_inside_its_arrays(x_shape, w_shape, geometry, guarded):  # noqa: F811
    stride, padding, groups = geometry
    ndim = len(x_shape) - 2
    assert_near(x_shape, w_shape, Window((stride,) * ndim, (padding,) * ndim, (padding,) * ndim, (1,) * ndim, groups))


def test_which_convolutions_of_bfloat16_go_by_pairs():
    one, same = Window((1, 1), (0, 0), (0, 0), (1, 1)), Window((1, 1), (1, 1), (1, 1), (1, 1))
    x, w, g = (np.zeros(shape, BFLOAT16) for shape in ((1, 6, 4, 4), (8, 6, 1, 1), (1, 8, 4, 4)))
    assert paired_conv.of_conv(x, w, one).a.shape == (1, 3, 4, 4)
    assert paired_conv.of_conv(x[:, :5], w[:, :5], one).b.shape == (8, 3, 1, 1)
    assert paired_conv.of_conv(x, w[:, :3], Window((1, 1), (0, 0), (0, 0), (1, 1), 2)) is None
    assert paired_conv.of_conv_input_grad(g, w, one, x.shape).a.shape == (1, 4, 4, 4)
    assert paired_conv.of_conv_weight_grad(x, g, one, w.shape).a.shape == (1, 6, 8)
    assert paired_conv.of_conv_weight_grad(x, g, same, (8, 6, 3, 3)) is None


def test_infinite_bfloat16_reach_only_the_results_that_read_them():
    x, w = np.ones((1, 3, 5, 6), BFLOAT16), np.ones((5, 3, 3, 3), BFLOAT16)
    x[0, 2, 1, 5] = np.inf
    reached = np.zeros((5, 6), bool)
    reached[0:3, 4:6] = True
    found = conv(x, w, Window((1, 1), (1, 1), (1, 1), (1, 1))).astype(np.float32)
    np.testing.assert_array_equal(np.isinf(found[0]), np.broadcast_to(reached, (5, 5, 6)))
    assert not np.isnan(found).any()


@pytest.mark.serial
def test_conv_of_bfloat16_has_the_same_bits_for_any_number_of_threads(monkeypatch):
    window, x, w = Window((1, 1), (1, 1), (1, 1), (1, 1)), values((9, 64, 14, 14), BFLOAT16), \
        values((64, 64, 3, 3), BFLOAT16)
    found = set()
    for limit in (-1, 0):
        monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)         # read-only as an attribute
        found.update(by_threads(lambda: all_three(x, w, window)))
    assert len(found) == 1
