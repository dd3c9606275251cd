"""The kernels of convolutions become PTX and sm_80 machine code in registers alone, for every tile of results."""

import sys

import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb.cuda import places, plans
from lucid_nb.shapes import Window

conv = sys.modules["lucid_nb.cuda.conv"]
DTYPES = ("float32", "float64", "float16", "bfloat16")
# x, w, window: each has the direct kernel written for another tile of results
DIRECT = {
    "first layer of a network": ((1, 3, 40, 40), (8, 3, 7, 7), Window((2, 2), (3, 3), (3, 3), (1, 1))),
    "3 by 3": ((1, 4, 9, 9), (4, 4, 3, 3), Window((1, 1), (1, 1), (1, 1), (1, 1))),
    "two rows": ((1, 2, 2, 9), (2, 2, 2, 2), Window((1, 1), (1, 1), (0, 1), (1, 1))),
    "depthwise": ((1, 6, 9, 9), (6, 1, 5, 5), Window((1, 1), (2, 2), (2, 2), (1, 1), 6)),
    "dilated": ((1, 3, 9, 9), (5, 3, 3, 3), Window((1, 1), (1, 1), (1, 1), (2, 2))),
    "1-D": ((1, 3, 20), (5, 3, 9), Window((2,), (1,), (1,), (1,))),
    "3-D": ((1, 3, 6, 6, 6), (5, 3, 3, 3, 3), Window((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1))),
}


@pytest.fixture
def compiled_alone(compiled, monkeypatch):
    """What was compiled, each test with plans of its own."""
    monkeypatch.setattr(plans, "PLANS", plans.Plans())
    return compiled


def array(shape, dtype):
    return table.from_numpy(np.zeros(shape, dtype))


def check(kernel, most):
    assert kernel.code[:4] == b"\x7fELF" and ".target sm_80" in kernel.ptx
    assert (kernel.spilled, kernel.stack) == (0, 0), kernel
    assert kernel.registers <= most, kernel


@pytest.mark.parametrize("case, dtype", [*((case, "float32") for case in DIRECT),
                                         *(("3 by 3", dtype) for dtype in DTYPES[1:])])
def test_direct_kernels_stay_in_registers(compiled_alone, case, dtype):
    x_shape, w_shape, window = DIRECT[case]
    x, w = array(x_shape, dtype), array(w_shape, dtype)
    y = table.conv(x, w, window)
    table.conv_input_grad(y, w, window, x_shape)
    table.conv_weight_grad(x, y, window, w_shape)
    assert [kernel.name for kernel in compiled_alone] == ["correlate", "correlate", "weight_gradient"]
    for kernel, most in zip(compiled_alone, (96, 96, 64)):
        check(kernel, most)


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_places_in_64_bits_stay_in_registers(compiled_alone, monkeypatch, dtype):
    monkeypatch.setattr(places, "MOST_NARROW", 0)
    x_shape, w_shape, window = DIRECT["3 by 3"]
    x = array(x_shape, dtype)
    table.conv_weight_grad(x, table.conv(x, array(w_shape, dtype), window), window, w_shape)
    for kernel in compiled_alone:
        check(kernel, 128)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unfolding_stays_in_registers(compiled_alone, monkeypatch, dtype):
    monkeypatch.setattr(conv, "SMALL", 0)
    x, w = array((2, 10, 6, 6), dtype), array((12, 10, 3, 3), dtype)
    table.conv(x, w, Window((2, 1), (1, 1), (1, 1), (1, 1)))
    unfolding, *_ = compiled_alone
    assert unfolding.name == "unfold"
    check(unfolding, 40)
