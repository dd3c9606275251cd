"""Geometry of windows against a count of what windows read, one by one."""

from itertools import product

import numpy as np
import pytest

from lucid_nb import ShapeError, windows

from . import naive_pools

GRID = [(n, k, s, p, d, c) for n, k, s, p, d, c
        in product((1, 2, 5, 8, 11), (1, 2, 3, 4), (1, 2, 3, 5), (0, 1, 2), (1, 2, 3), (False, True))
        if p <= (d * (k - 1) + 1) // 2 and n + 2 * p > d * (k - 1)]


def test_sliding_windows_read_the_cells_that_exist():
    for n, k, s, p, d, c in GRID:
        count = naive_pools.result_count(n, k, s, p, d, c)
        assert windows.pooled_size(n, d * (k - 1) + 1, s, p, c) == count
        axis = windows.Sliding(n, k, s, p, p, d, count)
        for i in range(count):
            cells = naive_pools.window_cells(n, k, s, p, d, i)
            there = [at for at in cells if 0 <= at < n]
            assert axis.counts[i] == len(there)
            assert not there or [axis.starts[i] + d * j for j in range(len(there))] == there
            assert d > 1 or axis.cells[i] == sum(-p <= at < n + p for at in cells)


@pytest.mark.parametrize(("size", "count"), [(7, 5), (5, 7), (6, 3), (1, 4), (13, 1), (10, 10)])
def test_adaptive_windows_reach_all_cells(size, count):
    (axis,) = windows.adaptive_axes("pool", (size,), count)
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        assert (axis.starts[i], axis.counts[i]) == (start, stop - start)


def test_reads_lists_the_cells_of_each_window_and_then_fillers():
    axes = windows.pool_axes("pool", (4, 3), (3, 2), (2, 1), 1, 1, True)
    found = windows.reads(axes)
    results, each = naive_pools.pools((4, 3), (3, 2), (2, 1), (1, 1), (1, 1), True)
    assert found.shape == (np.prod(results), 6)
    for row, (_, cells) in zip(found, each, strict=True):
        there = naive_pools.existing(cells, (4, 3))
        assert row.tolist() == there + [12] * (6 - len(there))


def test_merged_axes_read_the_same_cells():
    for axes in (windows.pool_axes("pool", (4, 3, 2), (2, 3, 2), (2, 1, 1), (1, 0, 0), 1, False),
                 windows.pool_axes("pool", (4, 3, 2), (4, 3, 2), None, 0, 1, False),
                 windows.adaptive_axes("pool", (7, 3), (5, 1)), windows.adaptive_axes("pool", (4, 3), 1)):
        fewer = windows.merged(axes)
        assert np.array_equal(windows.reads(fewer), windows.reads(axes)) and len(fewer) <= len(axes)
        for include in (False, True):
            assert np.array_equal(windows.cells(fewer, include).ravel(), windows.cells(axes, include).ravel())
    assert len(windows.merged(windows.pool_axes("pool", (7, 7), 7, None, 0, 1, False))) == 1


@pytest.mark.parametrize(("arguments", "text"), [
    (((4,), 0, None, 0, 1), "kernel_size 0 for 1 spatial axes. Use positive"), (((4,), 2, 0, 0, 1), "stride 0"),
    (((4,), 2, None, -1, 1), "padding -1 for 1 spatial axes. Use integers that are not negative"),
    (((4,), 2, None, 2, 1), r"padding \(2,\) is more than half of a window \(2,\) wide"),
    (((4,), 5, None, 0, 1), r"windows \(5,\) wide are larger than the input \(4,\) padded by \(0,\)"),
    (((4, 4), (2, 2, 2), None, 0, 1), "for 2 spatial axes"), (((1,), 2, None, 2, 3), "reads nothing of the input")])
def test_pools_that_do_not_fit_are_refused(arguments, text):
    with pytest.raises(ShapeError, match=f"pool: .*{text}"):
        windows.pool_axes("pool", *arguments, False)


def test_transposed_geometry_gives_back_what_the_convolution_took():
    """The convolution of an output of a transposed convolution has the size of its input, whatever output_padding."""
    for n, k, s, p, d in product((1, 4, 5), (1, 2, 3), (1, 2, 3), (0, 1, 2), (1, 2, 4)):
        for extra in range(max(s, d)):
            full = (n - 1) * s - 2 * p + d * (k - 1) + 1
            if full < 1:
                continue
            window, sizes, more = windows.transposed_window("deconvolve", 1, (1, 1, n), (1, 1, k), s, p, extra, d, 1)
            assert sizes[0] + more[0] == full + extra
            assert window.output_sizes(sizes, (k,)) == (n,)
            found = windows.output_padding_for("deconvolve", [full + extra], (1, 1, n), (1, 1, k), s, p, d)
            assert found == (extra,)


@pytest.mark.parametrize("stride", [1.0, (1, 1.0)], ids=str)
def test_a_geometry_that_is_remembered_lets_no_equal_float_pass(stride):
    arguments = "conv2d", 2, (1, 1, 5, 5), (1, 1, 3, 3)
    assert windows.make_window(*arguments, 1, 0, 1, 1) == windows.make_window(*arguments, [1, 1], 0, 1, 1)
    windows.make_window(*arguments, (1, 1), 0, 1, 1)
    with pytest.raises(ShapeError, match="is not an integer"):
        windows.make_window(*arguments, stride, 0, 1, 1)
