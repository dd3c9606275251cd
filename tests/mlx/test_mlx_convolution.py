"""Convolutions and their gradients against a loop over taps in float64."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from lucid_nb.shapes import Window

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
on_cpu_build = pytest.mark.skipif(table.runtime.ON_GPU, reason="float64 exists on the CPU build only")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SIZES, KERNEL = (9, 8, 7), (3, 2, 2)
# The two vary along the axes, so that exchanged axes are seen; (3, 4) pads more than the kernel reaches.
STRIDES = [(1, 1, 1), (2, 1, 2), (3, 2, 1)]
DILATIONS = [(1, 1, 1), (2, 1, 2)]
PADDINGS = [((0, 0, 0), (0, 0, 0)), ((1, 0, 2), (0, 2, 1)), ((3, 4, 3), (4, 3, 3))]
GRID = list(itertools.product((1, 2, 3), (1, 2, 4), STRIDES, DILATIONS, PADDINGS))


def windows():
    """Every combination for one to three axes."""
    for ndim, groups, stride, dilation, (low, high) in GRID:
        yield ndim, Window(stride[:ndim], low[:ndim], high[:ndim], dilation[:ndim], groups)


def named(case):
    ndim, window = case
    return f"{ndim}d-groups{window.groups}-stride{window.stride}-dilation{window.dilation}-pad{window.low}{window.high}"


def matrices(x, window, kernel, sizes):
    """For each tap, the padded input that it reads, as (N, groups, C // groups, *sizes)."""
    padded = np.pad(x, [(0, 0), (0, 0), *zip(window.low, window.high)])
    for tap in itertools.product(*map(range, kernel)):
        place = tuple(slice(i * step, i * step + stride * (count - 1) + 1, stride)
                      for i, step, stride, count in zip(tap, window.dilation, window.stride, sizes))
        read = padded[(slice(None), slice(None), *place)]
        yield tap, read.reshape(x.shape[0], window.groups, -1, *sizes)


def reference(x, w, window):
    """The convolution, from its definition."""
    sizes = window.output_sizes(x.shape[2:], w.shape[2:])
    total = np.zeros((x.shape[0], window.groups, w.shape[0] // window.groups, *sizes))
    for tap, read in matrices(x, window, w.shape[2:], sizes):
        weight = w[(slice(None), slice(None), *tap)].reshape(window.groups, -1, w.shape[1])
        total += np.einsum("ngc...,goc->ngo...", read, weight)
    return total.reshape(x.shape[0], w.shape[0], *sizes)


def weight_gradient(x, g, window, shape):
    """The gradient of the kernel, from the definition."""
    found = np.zeros(shape)
    split = g.reshape(g.shape[0], window.groups, -1, *g.shape[2:])
    for tap, read in matrices(x, window, shape[2:], g.shape[2:]):
        flat = read.reshape(*read.shape[:3], -1), split.reshape(*split.shape[:3], -1)
        found[(slice(None), slice(None), *tap)] = np.einsum("ngcp,ngop->goc", *flat).reshape(shape[:2])
    return found


def input_gradient(g, w, window, shape):
    """The adjoint of the convolution, column by column of its matrix."""
    unit = np.eye(int(np.prod(shape[1:]))).reshape(-1, *shape[1:])
    columns = reference(unit, w, window).reshape(len(unit), -1)
    return (g.reshape(g.shape[0], -1) @ columns.T).reshape(shape)


def operands(ndim, groups, dtype, seed=0):
    rng = np.random.default_rng(seed)
    sizes = SIZES[:ndim] if ndim < 3 else (5, 4, 5)
    return (rng.standard_normal((2, 4, *sizes)).astype(dtype),
            rng.standard_normal((8, 4 // groups, *KERNEL[:ndim])).astype(dtype))


def check_all_three(x, w, window, tolerance):
    """The convolution and both gradients."""
    wide_x, wide_w = x.astype("float64"), w.astype("float64")
    expected = reference(wide_x, wide_w, window)
    g = np.random.default_rng(1).standard_normal(expected.shape).astype(x.dtype)
    wide_g = g.astype("float64")
    raw_x, raw_w, raw_g = map(table.from_numpy, (x, w, g))
    pairs = [(table.conv(raw_x, raw_w, window), expected),
             (table.conv_input_grad(raw_g, raw_w, window, x.shape), input_gradient(wide_g, wide_w, window, x.shape)),
             (table.conv_weight_grad(raw_x, raw_g, window, w.shape), weight_gradient(wide_x, wide_g, window, w.shape))]
    for got, wanted in pairs:
        got = table.to_numpy(got)
        assert got.shape == wanted.shape
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got.astype("float64"), wanted, rtol=tolerance,
                                   atol=tolerance * np.abs(wanted).max(initial=1))


@pytest.mark.parametrize("case", list(windows()), ids=named)
def test_float32_matches_float64_over_the_grid(case):
    ndim, window = case
    check_all_three(*operands(ndim, window.groups, "float32"), window, 2e-6)


@on_cpu_build
@pytest.mark.parametrize("case", [case for case in windows() if case[1].stride[0] != 1], ids=named)
def test_float64_is_exact_tap_by_tap(case):
    ndim, window = case
    check_all_three(*operands(ndim, window.groups, "float64"), window, 1e-14)


@pytest.mark.parametrize("dtype", [np.dtype("float16"), BFLOAT16], ids=str)
def test_small_floats_accumulate_in_float32(dtype):
    window = Window((2, 1), (1, 0), (0, 1), (1, 2), 2)
    check_all_three(*operands(2, 2, dtype), window, 1e-3 if dtype == np.float16 else 8e-3)


def test_integers_are_exact():
    window = Window((2, 1), (1, 0), (0, 1), (1, 2), 2)
    x, w = (np.round(array * 9).astype("int32") for array in operands(2, 2, "float64"))
    got = table.to_numpy(table.conv(table.from_numpy(x), table.from_numpy(w), window))
    np.testing.assert_array_equal(got, reference(x.astype(float), w.astype(float), window))


def test_depthwise_convolution():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 6, 7, 7)).astype("float32"), rng.standard_normal((12, 1, 3, 3)).astype("float32")
    check_all_three(x, w, Window((1, 2), (1, 1), (1, 1), (1, 1), 6), 2e-6)


@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (2, 0, 5, 5), (2, 2, 2, 5)], ids=["batch", "channels", "result"])
def test_empty_convolutions_give_zeros(shape):
    window = Window((1, 1), (0, 0), (0, 0), (1, 1), 1)
    x, w = np.ones(shape, "float32"), np.ones((3, shape[1], 3, 3), "float32")
    expected = (shape[0], 3, shape[2] - 2, shape[3] - 2)
    raw_x, raw_w = table.from_numpy(x), table.from_numpy(w)
    result = table.conv(raw_x, raw_w, window)
    assert table.to_numpy(result).tolist() == np.zeros(expected, "float32").tolist()
    assert not table.to_numpy(table.conv_input_grad(result, raw_w, window, x.shape)).any()
    assert not table.to_numpy(table.conv_weight_grad(raw_x, result, window, w.shape)).any()
