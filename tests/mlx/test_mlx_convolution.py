"""Convolutions and their gradients against a loop over taps in float64, by MLX's convolution and by products."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.shapes import Window

from ..naive_conv import naive

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


def operands(ndim, groups, dtype, seed=0):
    rng = np.random.default_rng(seed)
    sizes = SIZES[:ndim] if ndim < 3 else (5, 4, 5)
    return (rng.standard_normal((2, 4, *sizes)).astype(dtype),
            rng.standard_normal((8, 4 // groups, *KERNEL[:ndim])).astype(dtype))


def check_all_three(x, w, window, tolerance):
    """The convolution and both gradients."""
    sizes = window.output_sizes(x.shape[2:], w.shape[2:])
    g = np.random.default_rng(1).standard_normal((len(x), len(w), *sizes)).astype(x.dtype)
    raw_x, raw_w, raw_g = map(table.from_numpy, (x, w, g))
    found = (table.conv(raw_x, raw_w, window), table.conv_input_grad(raw_g, raw_w, window, x.shape),
             table.conv_weight_grad(raw_x, raw_g, window, w.shape))
    for got, wanted in zip(found, naive(x, w, g, window)):
        got = table.to_numpy(got)
        assert got.shape == wanted.shape
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got.astype("float64"), wanted, rtol=tolerance,
                                   atol=tolerance * np.abs(wanted).max(initial=1))


@pytest.fixture(params=["by_mlx", "by_products"])
def road(request, monkeypatch):
    """Both roads are taken on every machine, though a GPU prefers one and the CPU build the other."""
    monkeypatch.setattr(table.convolution, "prefers_native", request.param == "by_mlx")


@pytest.mark.parametrize("case", list(windows()), ids=named)
def test_float32_matches_float64_over_the_grid(case):
    ndim, window = case
    check_all_three(*operands(ndim, window.groups, "float32"), window, 2e-6)


@pytest.mark.parametrize("case", list(windows())[::2], ids=named)
def test_float32_by_mlx_matches_float64(case, monkeypatch):
    monkeypatch.setattr(table.convolution, "prefers_native", True)
    ndim, window = case
    check_all_three(*operands(ndim, window.groups, "float32"), window, 2e-6)


# Sizes, kernel, channels of a group in and out, then the window: what MLX says that its convolution can do, and more.
CASES = {
    **{f"groups_{groups}": ((7, 6), (3, 2), 2, 3, ((2, 1), (1, 0), (0, 1), (1, 2), groups)) for groups in (5, 16, 32)},
    "groups_32_3d": ((4, 3, 5), (2, 2, 3), 1, 2, ((1, 2, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1), 32)),
    "groups_32_1d": ((11,), (4,), 3, 1, ((3,), (2,), (1,), (2,), 32)),
    **{f"stride_{stride}": ((17, 13), (3, 3), 2, 3, ((stride, stride), (1, 1), (1, 2), (1, 1), 2))
       for stride in (3, 4, 5)},
    "stride_beyond_the_kernel": ((19,), (2,), 2, 2, ((5,), (0,), (3,), (1,), 1)),
    "dilation_3": ((15, 12), (3, 4), 3, 2, ((1, 2), (3, 0), (2, 5), (3, 3), 1)),
    "stride_5_dilation_3": ((23,), (4,), 2, 3, ((5,), (4,), (2,), (3,), 2)),
    "input_dilation_16": ((33, 5), (2, 3), 2, 1, ((16, 1), (1, 1), (0, 1), (1, 1), 1)),
    "channels_21": ((8, 7), (3, 3), 21, 21, ((1, 1), (1, 1), (1, 1), (1, 1), 1)),
    "channels_21_groups_3": ((8, 7), (3, 3), 7, 7, ((2, 1), (1, 1), (1, 1), (1, 1), 3)),
    "kernel_182": ((190, 184), (182, 182), 1, 2, ((3, 1), (0, 1), (1, 0), (1, 1), 1)),
    "asymmetric": ((6, 9), (3, 2), 2, 3, ((1, 2), (5, 0), (0, 7), (1, 1), 1)),
    "padding_alone": ((1, 2), (1, 1), 2, 2, ((7, 3), (6, 2), (9, 4), (1, 1), 1)),
    "one_by_one": ((6, 5), (1, 1), 8, 3, ((1, 1), (0, 0), (0, 0), (1, 1), 1)),
    "depthwise_1d": ((13,), (5,), 1, 1, ((2,), (2,), (2,), (1,), 21)),
    "depthwise_3d": ((4, 5, 4), (3, 3, 3), 1, 1, ((1, 1, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1), 6)),
    "kernel_above_result": ((7, 6), (6, 5), 2, 3, ((2, 1), (1, 0), (0, 1), (1, 1), 3)),
    "kernel_above_result_dilated": ((13, 9), (5, 4), 2, 3, ((2, 3), (2, 1), (1, 0), (2, 2), 4)),
    "kernel_above_result_3d": ((4, 5, 3), (4, 3, 2), 1, 2, ((1, 2, 1), (1, 0, 0), (0, 1, 0), (1, 1, 2), 2)),
    "report_41": ((5,), (3,), 2, 2, ((2,), (1,), (1,), (1,), 2)),
}


def drawn(name, dtype):
    sizes, kernel, inputs, outputs, window = CASES[name]
    rng = np.random.default_rng(2)
    groups = window[-1]
    return (rng.standard_normal((2, inputs * groups, *sizes)).astype(dtype),
            rng.standard_normal((outputs * groups, inputs, *kernel)).astype(dtype), Window(*window))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("road")
def test_float32_matches_float64_where_convolutions_are_hard(name):
    x, w, window = drawn(name, "float32")
    terms = w[0].size                       # of a sum, whose rounding errors add up as a walk at random
    check_all_three(x, w, window, max(2e-6, np.finfo("float32").eps / 2 * terms ** 0.5))


@on_cpu_build
@pytest.mark.parametrize("name", [name for name in CASES if name != "kernel_182"])
def test_float64_is_exact_where_convolutions_are_hard(name):
    check_all_three(*drawn(name, "float64"), 1e-13)


@pytest.mark.parametrize("dtype", [np.dtype("float16"), BFLOAT16], ids=str)
@pytest.mark.parametrize("name", [name for name in CASES if name != "kernel_182"])
@pytest.mark.usefixtures("road")
def test_small_floats_round_once_where_convolutions_are_hard(name, dtype):
    check_all_three(*drawn(name, dtype), 1e-3 if dtype == np.float16 else 8e-3)


@pytest.mark.parametrize("name", ["groups_5", "dilation_3", "groups_32_3d", "asymmetric", "stride_5_dilation_3"])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_pieces_give_what_the_whole_gives(name, rows, monkeypatch):
    """Pieces of single rows of the result, of some rows, and of images."""
    x, w, window = drawn(name, "float32")
    sizes = window.output_sizes(x.shape[2:], w.shape[2:])
    row = x.shape[1] * int(np.prod(w.shape[2:])) * int(np.prod(sizes[1:])) * 4
    monkeypatch.setattr(table.convolution, "unfolded_bytes", lambda: rows * row)
    check_all_three(x, w, window, 2e-6)


@on_cpu_build
@pytest.mark.parametrize("case", [case for case in windows() if case[1].stride[0] != 1], ids=named)
def test_float64_is_exact(case):
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
    np.testing.assert_array_equal(got, naive(x, w, np.zeros(got.shape), window)[0])


TRANSPOSED = {
    "plain": (4, 6, 3, dict(stride=2, padding=1, output_padding=1)),
    "groups": (6, 9, (3, 2), dict(stride=(3, 2), padding=(1, 0), output_padding=(2, 1), groups=3)),
    "dilated": (4, 2, 3, dict(stride=2, padding=2, output_padding=1, dilation=(2, 3), groups=2)),
    "stride_5": (3, 2, 4, dict(stride=5, padding=1, output_padding=(4, 0))),
}


@pytest.mark.parametrize("name", TRANSPOSED)
@pytest.mark.usefixtures("road")
def test_transposed_convolution_and_its_gradients_are_torchs_in_float64(name):
    torch = pytest.importorskip("torch", reason="the oracle")
    inputs, outputs, kernel, options = TRANSPOSED[name]
    peer = torch.nn.ConvTranspose2d(inputs, outputs, kernel, dtype=torch.float64, **options)
    ours = nn.ConvTranspose2d(inputs, outputs, kernel, **options).to("mlx")
    ours.load_state_dict({key: value.detach().numpy().astype("float32") for key, value in peer.state_dict().items()})
    x = np.random.default_rng(3).standard_normal((2, inputs, 5, 4)).astype("float32")
    theirs, own = torch.tensor(x.astype("float64"), requires_grad=True), lnb.tensor(x, device="mlx", requires_grad=True)
    expected, got = peer(theirs), ours(own)
    (expected ** 2).sum().backward()
    (got ** 2).sum().backward()
    for mine, other in [(got, expected.detach()), (own.grad, theirs.grad), (ours.weight.grad, peer.weight.grad),
                        (ours.bias.grad, peer.bias.grad)]:
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-5, atol=1e-5 * float(other.abs().max()))


def test_unfolded_memory_is_bounded(monkeypatch):
    """Report 43: unfolded as a whole, a kernel of 65 x 65 on 1024 x 1024 takes 15.6 GB; this one 330 MB."""
    monkeypatch.setattr(table.convolution, "prefers_native", False)
    monkeypatch.setattr(table.convolution, "unfolded_bytes", lambda: 1 << 24)
    x, w = lnb.ones((1, 1, 204, 204), device="mlx"), lnb.ones((1, 1, 65, 65), device="mlx")
    table.synchronize()
    before = table.mx.get_active_memory()
    table.mx.reset_peak_memory()
    assert float(nn.functional.conv2d(x, w)[0, 0, 7, 9]) == 65 * 65
    assert table.mx.get_peak_memory() - before < 3 << 24


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
