"""Plans of convolutions: what is chosen, what is kept and for how long, and launches too large to try."""

import sys
import warnings
from math import prod

import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb import config
from lucid_nb.cuda import direct, places, plans, runtime, unfold
from lucid_nb.cuda.correlation import Layout, grouped, of_conv, of_input_grad
from lucid_nb.errors import DeviceError
from lucid_nb.shapes import Window

from .conftest import check_launches

pytestmark = pytest.mark.cuda_simulator
conv = sys.modules["lucid_nb.cuda.conv"]
FLOAT = np.dtype(np.float32)
PLAIN = Window((1, 1), (1, 1), (1, 1), (1, 1))


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """Plans of this test alone."""
    monkeypatch.setattr(plans, "PLANS", plans.Plans())
    monkeypatch.setattr(config, "cuda_conv_cache_size", 128)
    return plans.PLANS


def layout(shape):
    return Layout(shape, table.array.row_major(shape))


def problem(x_shape, w_shape, window, describe=of_conv):
    """The correlation of a convolution, or of its input's gradient."""
    y_shape = (x_shape[0], w_shape[0], *window.output_sizes(x_shape[2:], w_shape[2:]))
    if describe is of_conv:
        return of_conv(FLOAT, layout(x_shape), layout(w_shape), window, y_shape)
    return of_input_grad(FLOAT, layout(y_shape), layout(w_shape), window, x_shape)


def zeros(*shape, dtype="float32"):
    return table.from_numpy(np.zeros(shape, dtype))


# ------------------------------------------------------------------------------------------------------ choices
@pytest.mark.parametrize("x_shape, w_shape, window, kind", [
    ((32, 3, 224, 224), (64, 3, 7, 7), Window((2, 2), (3, 3), (3, 3), (1, 1)), direct.Direct),
    ((32, 64, 56, 56), (64, 1, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1), 64), direct.Direct),
    ((1, 8, 8, 8), (8, 8, 3, 3), PLAIN, direct.Direct),
    ((32, 64, 56, 56), (64, 64, 3, 3), PLAIN, unfold.Unfolded),
    ((32, 64, 56, 56), (256, 64, 1, 1), Window((1, 1), (0, 0), (0, 0), (1, 1)), unfold.Pointwise),
    ((32, 64, 56, 56), (256, 64, 1, 1), Window((2, 2), (0, 0), (0, 0), (1, 1)), unfold.Pointwise),
    ((32, 64, 56, 56), (256, 64, 1, 1), PLAIN, unfold.Unfolded),
])
def test_kind_of_plan_goes_by_the_sizes(x_shape, w_shape, window, kind):
    assert isinstance(conv.choose(problem(x_shape, w_shape, window)), kind)


@pytest.mark.parametrize("stride, kind", [(1, unfold.Unfolded), (2, unfold.Phased), (4, unfold.Phased),
                                          (5, direct.Direct)])
def test_gradients_of_inputs_fall_apart_by_stride(stride, kind):
    window = Window((stride,) * 2, (1, 1), (1, 1), (1, 1))
    assert isinstance(conv.choose(problem((32, 64, 56, 56), (64, 64, 3, 3), window, of_input_grad)), kind)


# ------------------------------------------------------------------------------------------------------- keeping
def test_a_geometry_is_planned_once(monkeypatch, kept):
    planned = []
    choose = conv.choose
    monkeypatch.setattr(conv, "choose", lambda problem: planned.append(problem) or choose(problem))
    for _ in range(3):
        table.conv(zeros(1, 1, 3, 3), zeros(1, 1, 2, 2), PLAIN)
    assert len(planned) == len(kept.kept) == 1


def test_plans_differ_by_all_that_a_choice_may_depend_on(kept):
    x, w = zeros(1, 2, 4, 4), zeros(2, 2, 2, 2)

    def window(**numbers):
        return Window(**{"stride": (1, 1), "low": (1, 1), "high": (1, 1), "dilation": (1, 1), "groups": 1} | numbers)
    calls = [
        lambda: table.conv(x, w, window()),
        lambda: table.conv(zeros(1, 2, 4, 4, dtype="float64"), zeros(2, 2, 2, 2, dtype="float64"), window()),
        lambda: table.conv(zeros(1, 2, 3, 4), w, window()),
        lambda: table.conv(x, zeros(2, 2, 1, 2), window()),
        lambda: table.conv(table.permute(x, (0, 1, 3, 2)), w, window()),
        lambda: table.conv(x, table.permute(w, (1, 0, 2, 3)), window()),
        lambda: table.conv(table.slice(zeros(2, 2, 4, 5), (slice(1), ..., slice(1, 5))), w, window()),
        lambda: table.conv(table.slice(zeros(2, 2, 4, 5), (slice(1), ..., slice(4))), w, window()),
        lambda: table.conv(x, w, window(stride=(2, 1))),
        lambda: table.conv(x, w, window(low=(0, 1))),
        lambda: table.conv(x, w, window(high=(0, 1))),
        lambda: table.conv(x, w, window(low=(2, 1), high=(0, 1))),
        lambda: table.conv(x, w, window(dilation=(1, 2))),
        lambda: table.conv(x, zeros(2, 1, 2, 2), window(groups=2)),
        lambda: table.conv_input_grad(zeros(1, 2, 5, 5), w, window(), (1, 2, 4, 4)),
        lambda: table.conv_input_grad(zeros(1, 2, 3, 5), w, window(stride=(2, 1)), (1, 2, 4, 4)),
        lambda: table.conv_input_grad(zeros(1, 2, 3, 5), w, window(stride=(2, 1)), (1, 2, 5, 4)),
        lambda: table.conv_weight_grad(x, zeros(1, 2, 5, 5), window(), (2, 2, 2, 2)),
    ]
    for number, call in enumerate(calls, 1):
        call()
        assert len(kept.kept) == number
    for call in calls:
        call()
    assert len(kept.kept) == len(calls)


def test_devices_have_plans_of_their_own(monkeypatch, kept):
    for number in (0, 1, 0):
        monkeypatch.setattr(plans, "device", lambda number=number: number)
        table.conv(zeros(1, 1, 3, 3), zeros(1, 1, 2, 2), PLAIN)
    assert [key.device for key in kept.kept] == [1, 0]


def test_the_plan_used_least_recently_makes_room(monkeypatch, kept):
    monkeypatch.setattr(config, "cuda_conv_cache_size", 2)
    for name in "abacab":
        kept.find(name, lambda name=name: name.upper())
    assert list(kept.kept) == ["a", "b"] and kept.evictions == 2
    assert kept.find("a", lambda: "anew") == "A" and kept.find("c", lambda: "anew") == "anew"


def test_size_zero_keeps_nothing_and_warns_of_nothing(monkeypatch, kept):
    monkeypatch.setattr(config, "cuda_conv_cache_size", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in range(3 * plans.WATCHED):
            kept.find(name, lambda: 1)
    assert not kept.kept


def test_thrashing_warns_once_with_the_setting(monkeypatch, kept):
    monkeypatch.setattr(config, "cuda_conv_cache_size", 4)
    with pytest.warns(RuntimeWarning, match="LUCID_NB_CUDA_CONV_CACHE_SIZE") as caught:
        for name in range(5 * plans.WATCHED):
            kept.find(name % 5, lambda: 1)
    assert [found.filename for found in caught] == [__file__]


def test_few_evictions_among_many_calls_are_silent(monkeypatch, kept):
    monkeypatch.setattr(config, "cuda_conv_cache_size", 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in range(4 * plans.WATCHED):
            kept.find(name if name % 3 == 0 else "same", lambda: 1)


def test_without_memory_for_rows_the_direct_kernel_runs_and_is_kept(monkeypatch, kept):
    monkeypatch.setattr(conv, "SMALL", 0)
    monkeypatch.setattr(conv, "FEW", 0)
    tries = []

    def unfolded(self, *operands):
        tries.append(operands)
        raise DeviceError("empty: no memory.")
    monkeypatch.setattr(unfold.Unfold, "__call__", unfolded)
    x, w = (table.from_numpy(np.ones(shape, np.float32)) for shape in ((1, 2, 3), (2, 2, 2)))
    window = Window((1,), (0,), (0,), (1,))
    for _ in range(3):
        np.testing.assert_array_equal(table.to_numpy(table.conv(x, w, window)), np.full((1, 2, 2), 4))
        np.testing.assert_array_equal(table.to_numpy(table.conv_weight_grad(x, zeros(1, 2, 2), window, w.shape)),
                                      np.zeros(w.shape))
    assert len(tries) == 2 and {type(plan) for plan in kept.kept.values()} == {direct.Direct, direct.DirectWeight}


def test_a_direct_kernel_without_memory_says_so(monkeypatch):
    def short(*given):
        raise DeviceError("empty: no memory.")
    x, w = zeros(1, 1, 3, 3), zeros(1, 1, 2, 2)
    monkeypatch.setattr(runtime, "allocate", short)
    with pytest.raises(DeviceError, match="no memory"):
        table.conv(x, w, PLAIN)


# ------------------------------------------------------------------------------------- launches, as arithmetic
FAR = {
    "few channels": ((4096, 3, 1024, 1024), (64, 3, 3, 3), PLAIN),
    "one image": ((1, 1, 70_000, 70_000), (1, 1, 3, 3), PLAIN),
    "many items": ((70_000, 8, 70, 70), (8, 8, 3, 3), PLAIN),
    "many channels, strided": ((700, 64, 250, 250), (64, 64, 3, 3), Window((2, 2), (1, 1), (1, 1), (1, 1))),
    "single taps": ((70_000, 64, 30, 30), (64, 64, 1, 1), Window((1, 1), (0, 0), (0, 0), (1, 1))),
    "three axes": ((3, 2, 1000, 1000, 1000), (2, 1, 3, 3, 3), Window((1,) * 3, (1,) * 3, (1,) * 3, (1,) * 3, 2)),
}


@pytest.mark.parametrize("case", FAR)
def test_launches_over_more_than_2_to_31_elements_stay_within_limits(launches, case):
    x_shape, w_shape, window = FAR[case]
    x, w = table.empty(x_shape, FLOAT), table.empty(w_shape, FLOAT)
    assert x.size > 2 ** 31
    y = table.conv(x, w, window)
    table.conv_input_grad(y, w, window, x_shape)
    table.conv_weight_grad(x, y, window, w_shape)
    assert len(launches) >= 3
    check_launches(launches)
    counts = [arguments[0] for _, _, *arguments in launches if isinstance(arguments[0], int)]
    assert counts and min(counts) > 0


@pytest.mark.parametrize("case", FAR)
def test_every_far_result_has_a_thread(case):
    far = problem(*FAR[case])
    tile, plan = direct.tile_of(far), direct.Direct(far)
    assert plan.count * tile.rows * tile.filters >= prod(far.result)
    assert all(type(number) is np.int64 for number in plan.arguments[:3])


def test_narrow_places_hold_all_that_a_kernel_computes():
    small = problem((2, 3, 9, 9), (4, 3, 3, 3), PLAIN)
    assert places.places_of(small) is places.NARROW
    assert places.places_of(small, places.MOST_NARROW) is places.WIDE
    assert places.places_of(small._replace(low=(0, 0, 1 << 31))) is places.WIDE
    assert places.places_of(small._replace(x=small.x._replace(strides=(1 << 31, 1, 1, 1, 1, 1)))) is places.WIDE
    assert places.places_of(small._replace(dilation=(1, 1 << 30, 1))) is places.WIDE


def test_weight_gradients_launch_a_block_for_each_run_of_taps():
    x_shape, w_shape, window = (8, 6, 20, 20), (6, 1, 3, 11), Window((1, 1), (1, 5), (1, 5), (1, 1), 6)
    x = grouped(x_shape, table.array.row_major(x_shape), 6)
    y_shape = (8, 6, *window.output_sizes(x_shape[2:], w_shape[2:]))
    large = unfold.weight_problem(FLOAT, x, 1, (1, 3, 11), (1, *y_shape[2:]), ((1, 1, 1), (0, 1, 5), (1, 1, 1)))
    plan = direct.DirectWeight(large, grouped(y_shape, table.array.row_major(y_shape), 6))
    assert plan.count == 6 * 3 * 2 * plan.parts and plan.shape == (6, 1, 1, 1, 3, 11)
