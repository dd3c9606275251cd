"""The roads over NVIDIA's libraries by their results: on a GPU where these are installed, otherwise by our own kernels.

What a library refuses here is no failure; the log says so at level DEBUG.
"""

import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb.cuda import cublas, cudnn, plans, runtime

from . import test_conv, test_cublas
from .test_cublas import DTYPES, check, numbers, wide

pytestmark = pytest.mark.cuda_simulator


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """The smallest work is for a library, too."""
    monkeypatch.setattr(plans, "PLANS", plans.Plans())
    for module in (cublas, cudnn):
        monkeypatch.setattr(module, "LEAST", 1)
        monkeypatch.setattr(module, "FEW", 0)
    cublas.plan.cache_clear()
    yield
    cublas.plan.cache_clear()


@pytest.mark.parametrize("case", ["plain", "both turned", "batch turned", "heads", "A stretched", "one matrix for all"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_products_of_whole_numbers_are_exact(dtype, case):
    a_shape, b_shape, a_axes, b_axes = test_cublas.CASES[case]
    a, b = numbers(a_shape, dtype), numbers(b_shape, dtype)
    a_axes, b_axes = a_axes or tuple(range(a.ndim)), b_axes or tuple(range(b.ndim))
    got = table.matmul(table.permute(table.from_numpy(a), a_axes), table.permute(table.from_numpy(b), b_axes))
    check(got, wide(a).transpose(a_axes) @ wide(b).transpose(b_axes))


@pytest.mark.parametrize("activation", ["", "relu"])
@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype.kind != "c"], ids=lambda dtype: dtype.name)
def test_a_bias_and_a_rectifier_of_whole_numbers_are_exact(dtype, activation):
    a, b, bias = (numbers(shape, dtype) for shape in ((8, 16), (16, 8), (8,)))
    wanted = wide(a) @ wide(b) + wide(bias)
    got = table.linear(*map(table.from_numpy, (a, b, bias)), activation)
    check(got, np.maximum(wanted, 0) if activation else wanted)


def test_float32_keeps_its_digits():
    """Numbers of 20 bits, which TF32 would cut to 11."""
    a = np.random.default_rng(0).integers(1 << 19, 1 << 20, (16, 8)).astype("float32")
    got = table.to_numpy(table.matmul(table.from_numpy(a), table.from_numpy(np.eye(8, dtype="float32"))))
    np.testing.assert_array_equal(got, a)


@pytest.mark.parametrize("case", ["1-D", "2-D, 3 to 7 channels", "2-D, grouped and dilated", "2-D, of single taps",
                                  "3-D"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_convolutions_and_their_gradients_follow_the_definition(case, dtype):
    x_shape, w_shape, window = test_conv.CASES[case]
    test_conv.check(*test_conv.drawn(x_shape, w_shape, window, dtype), window)


def test_two_runs_give_the_same_bits():
    x_shape, w_shape, window = test_conv.CASES["2-D, grouped and dilated"]
    given = [table.from_numpy(array) for array in test_conv.drawn(x_shape, w_shape, window, "float32")]
    for one, other in zip(test_conv.all_three(*given, window), test_conv.all_three(*given, window)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_long_row_is_in_numpy_s_order(dtype):
    x = np.random.default_rng(0).integers(-50, 50, 40 if runtime.SIMULATED else 4000).astype(dtype)
    device = table.from_numpy(x)
    np.testing.assert_array_equal(table.to_numpy(table.argsort(device, 0, False)), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(table.to_numpy(table.sort(device, 0, True)), np.sort(x)[::-1])
