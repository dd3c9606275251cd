"""Winograd's convolution and its gradient in the input against a naive float64 sum over taps, where it is on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import config
from lucid_nb.errors import ConfigError
from lucid_nb.kernels import compiler, memory, threads, winograd
from lucid_nb.kernels.conv import conv, conv_input_grad
from lucid_nb.shapes import Window
from tests.naive_conv import guarded, naive, values  # noqa: F401  guarded: a fixture

SINGLE = np.dtype(np.float32)
PAD = (1, 1)


@pytest.fixture(autouse=True)
def _switched_on(monkeypatch):
    """Everything that suits is done this way, whether it pays or not."""
    monkeypatch.setattr(config, "winograd", True)
    monkeypatch.setattr(winograd, "pays", lambda _: True)
    winograd._planned.cache_clear()
    yield
    winograd._planned.cache_clear()


def window_of(low=PAD, high=PAD, groups=1):
    return Window((1, 1), low, high, (1, 1), groups)


def operands(x_shape, filters, window):
    x, w = values(x_shape), values((filters, x_shape[1] // window.groups, 3, 3))
    return x, w, values((len(x), filters, *window.output_sizes(x.shape[2:], (3, 3))))


def assert_near(x_shape, filters, window):
    x, w, g = operands(x_shape, filters, window)
    assert winograd.forward_plan(x.shape, w.shape, window, SINGLE)
    assert winograd.backward_plan(x.shape, w.shape, window, SINGLE) or max(window.low) > 2
    results = conv(x, w, window), conv_input_grad(g, w, window, x.shape)
    for result, exact, size in zip(results, naive(x, w, g, window), largest_sums(x, w, g, window.groups)):
        assert result.dtype == SINGLE and result.shape == exact.shape
        assert np.abs(result - exact).max() <= 1e-5 * size


def largest_sums(x, w, g, groups):
    """What results could be at most, that is with the largest input under every tap: a result carries the rounding of
    its whole patch, and of weights that do not reach it."""
    x, g = (np.abs(array).max((2, 3)).reshape(len(array), groups, -1) for array in (x, g))
    w = np.abs(w).sum((2, 3)).reshape(groups, -1, w.shape[1])
    return np.einsum("ngc,gfc->ngf", x, w).max(), np.einsum("ngf,gfc->ngc", g, w).max()


@st.composite
def cases(draw):
    """Shape of x, filters and window."""
    low, high = (tuple(draw(st.integers(0, 3)) for _ in range(2)) for _ in range(2))
    sizes = tuple(draw(st.integers(max(1, 3 - a - b), 40)) for a, b in zip(low, high))
    groups = draw(st.integers(1, 3))
    channels, filters = (draw(st.sampled_from((1, 2, 3, 5, 16, 21, 33))) * groups for _ in range(2))
    return (draw(st.integers(1, 3)), channels, *sizes), filters, window_of(low, high, groups)


@given(cases())
def test_any_shape(case):
    assert_near(*case)


CASES = [((1, 1, 1, 1), 1, window_of()), ((2, 3, 40, 40), 33, window_of()), ((3, 21, 13, 14), 21, window_of()),
         ((1, 33, 7, 9), 3, window_of((0, 0), (0, 0))), ((2, 6, 5, 300), 4, window_of((2, 1), (0, 2), 2)),
         ((1, 2, 3, 1100), 3, window_of((1, 20), (1, 18))), ((1, 400, 6, 6), 3, window_of()),
         ((9, 4, 4, 4), 15, window_of()), ((1, 2, 60, 9), 2, window_of((3, 3), (5, 0)))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_tails_of_patches_channels_and_filters(case):
    assert_near(*case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_write_inside_their_arrays(case, guarded):  # noqa: F811
    assert_near(*case)


@pytest.mark.parametrize("bits", [128, 256])
def test_narrower_vectors(bits, monkeypatch, guarded):  # noqa: F811
    try:
        monkeypatch.setattr(config, "vector_width", bits)
    except ConfigError as error:
        pytest.skip(str(error))
    if compiler.vector_width() != bits:
        pytest.skip(f"this CPU has no vectors of {bits} bits")
    for case in CASES:
        assert_near(*case)


def test_error_is_about_1e_5_with_the_channels_of_networks():
    for channels, size in ((64, 28), (256, 14)):
        x, w, _ = operands((1, channels, size, size), 32, window_of())
        exact = naive(x, w, np.zeros((1, 32, size, size)), window_of())[0]
        assert np.abs(conv(x, w, window_of()) - exact).max() <= 2e-5 * np.abs(exact).max()


@pytest.mark.serial
@pytest.mark.parametrize("x_shape,filters,tight,has_parts", [((3, 24, 57, 61), 28, 1, False),
                                                              ((1, 128, 13, 14), 90, 3, True)])
def test_same_bits_for_any_number_of_threads_and_any_limit(x_shape, filters, tight, has_parts, monkeypatch):
    x, w, g = operands(x_shape, filters, window_of())
    found, before = set(), threads.num_threads()
    try:
        for number in (1, 2, 3):
            for limit in (-1, tight, 100):
                threads.set_num_threads(number)
                monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)         # read-only as an attribute
                plan = winograd.forward_plan(x.shape, w.shape, window_of(), SINGLE)
                assert limit < 0 or 4 * plan.room <= limit << 20
                assert limit < 100 or plan.given["UNITS"] == number
                assert limit < 100 or (plan.given["PARTS"] > 1) == (has_parts and number > 1)
                found.add(conv(x, w, window_of()).tobytes() + conv_input_grad(g, w, window_of(), x.shape).tobytes())
    finally:
        threads.set_num_threads(before)
    assert len(found) == 1


def test_direct_road_where_not_even_one_block_fits(monkeypatch):
    x, w, _ = operands((1, 96, 9, 9), 96, window_of())
    monkeypatch.setattr(config, "winograd", False)
    direct = conv(x, w, window_of())
    monkeypatch.setattr(config, "winograd", True)
    assert not np.array_equal(conv(x, w, window_of()), direct)
    for limit in (0, 1):
        monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)
        assert winograd.forward_plan(x.shape, w.shape, window_of(), SINGLE) is None
        np.testing.assert_array_equal(conv(x, w, window_of()), direct)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_temporaries_stay_within_the_limit(limit, monkeypatch):
    empty, sizes = memory.empty, []

    def counted(shape, dtype):
        result = empty(shape, dtype)
        sizes.append(result.nbytes)
        return result
    monkeypatch.setattr(memory, "empty", counted)
    monkeypatch.setitem(vars(config), "conv_view_limit_mb", limit)
    x, w, _ = operands((4, 40, 70, 90), 48, window_of())
    result = conv(x, w, window_of())
    assert winograd.forward_plan(x.shape, w.shape, window_of(), SINGLE)
    assert sum(sizes) - result.nbytes <= limit << 20


def test_public_convolution_and_its_gradient():
    x, w, g = operands((2, 16, 20, 21), 24, window_of())
    tensor, weights = lnb.tensor(x, requires_grad=True), lnb.tensor(w, requires_grad=True)
    result = lnb.nn.functional.conv2d(tensor, weights, padding=1)
    result.backward(lnb.tensor(g))
    exact, *slopes = naive(x, w, g, window_of())
    for found, wanted in zip((result.detach(), tensor.grad, weights.grad), (exact, *slopes)):
        assert np.abs(found.numpy() - wanted).max() <= 1e-5 * np.abs(wanted).max()
    np.testing.assert_array_equal(result.numpy(), conv(x, w, window_of()))
    np.testing.assert_array_equal(tensor.grad.numpy(), conv_input_grad(g, w, window_of(), x.shape))


def test_off_by_default(monkeypatch):
    assert config.SETTINGS["winograd"].default() is False
    monkeypatch.setattr(config, "winograd", False)
    assert winograd.forward_plan((1, 64, 56, 56), (64, 64, 3, 3), window_of(), SINGLE) is None
    assert winograd.backward_plan((1, 64, 56, 56), (64, 64, 3, 3), window_of(), SINGLE) is None


def test_other_windows_dtypes_and_nothing_take_the_direct_road():
    shapes = (2, 16, 20, 20), (16, 16, 3, 3)
    assert winograd.forward_plan(*shapes, window_of(), SINGLE)
    assert winograd.forward_plan(*shapes, window_of(), np.dtype(np.float64)) is None
    for stride, dilation in (((2, 1), PAD), (PAD, (1, 2))):
        assert winograd.forward_plan(*shapes, Window(stride, PAD, PAD, dilation), SINGLE) is None
    assert winograd.forward_plan((2, 16, 20, 20), (16, 16, 3, 2), window_of(), SINGLE) is None
    assert winograd.forward_plan((0, 16, 20, 20), (16, 16, 3, 3), window_of(), SINGLE) is None
    assert winograd.forward_plan((2, 3, 9), (4, 3, 3), Window((1,), (1,), (1,), (1,)), SINGLE) is None
    assert conv(values((0, 3, 5, 5)), values((4, 3, 3, 3)), window_of()).shape == (0, 4, 5, 5)


def test_narrow_floats_go_the_same_way():
    x, w, g = (array.astype(np.float16) for array in operands((2, 16, 12, 12), 16, window_of()))
    singles = [array.astype(np.float32) for array in (x, w, g)]
    np.testing.assert_array_equal(conv(x, w, window_of()),
                                  conv(*singles[:2], window_of()).astype(np.float16), strict=True)


def test_infinities_reach_no_further_than_their_patch():
    x, w = values((1, 8, 12, 40)), values((8, 8, 3, 3))
    clean = conv(x, w, window_of())
    x[0, 3, 5, 18] = np.inf
    changed = np.zeros((12, 40), bool)
    changed[4:8, 16:20] = True
    np.testing.assert_array_equal(conv(x, w, window_of())[:, :, ~changed], clean[:, :, ~changed])


def test_strided_operands():
    x, w, _ = operands((2, 8, 11, 13), 6, window_of())
    expected = conv(x, w, window_of())
    wide = np.zeros((2, 16, 11, 26), np.float32)
    wide[:, ::2, :, ::2] = x
    turned = w.transpose(1, 0, 2, 3).copy().transpose(1, 0, 2, 3)
    np.testing.assert_array_equal(conv(wide[:, ::2, :, ::2], turned, window_of()), expected)


def test_it_is_left_where_it_does_not_pay(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(config, "winograd", True)
    winograd._planned.cache_clear()
    for channels, filters, size, is_taken in ((64, 64, 56, True), (128, 128, 28, True), (64, 16, 28, True),
                                              (3, 64, 56, False), (8, 8, 14, False), (512, 512, 7, False),
                                              (64, 64, 4, False)):
        shapes = (1, channels, size, size), (filters, channels, 3, 3)
        for plan in (winograd.forward_plan, winograd.backward_plan):
            assert (plan(*shapes, window_of(), SINGLE) is not None) == is_taken
