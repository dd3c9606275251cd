"""The kernels of convolutions that no network needs often become machine code in registers alone, too."""

import pytest

import lucid_nb.cuda as table
from lucid_nb.cuda import places, plans
from lucid_nb.shapes import Window

from .launches import array

# x, w, window: each has the direct kernel compiled for another tile of results
TILES = {
    "two rows by two filters": ((1, 2, 2, 9), (2, 2, 2, 2), Window((1, 1), (1, 1), (0, 1), (1, 1))),
    "a row by four filters": ((1, 4, 1, 9), (4, 4, 1, 2), Window((1, 2), (0, 1), (0, 1), (1, 1))),
    "spread over three axes": ((1, 3, 6, 6, 6), (5, 3, 3, 3, 3), Window((2, 2, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1))),
}


@pytest.fixture(autouse=True)
def own_plans(monkeypatch):
    """No test meets a plan of another."""
    monkeypatch.setattr(plans, "PLANS", plans.Plans())


def check_all_three(compiled, case, dtype="float32", most=128):
    x_shape, w_shape, window = TILES[case]
    x, w = array(x_shape, dtype), array(w_shape, dtype)
    y = table.conv(x, w, window)
    table.conv_input_grad(y, w, window, x_shape)
    table.conv_weight_grad(x, y, window, w_shape)
    assert [kernel.name for kernel in compiled] == ["correlate", "correlate", "weight_gradient"]
    for kernel in compiled:
        assert kernel.code[:4] == b"\x7fELF" and ".target sm_80" in kernel.ptx
        assert (kernel.spilled, kernel.stack) == (0, 0), kernel
        assert kernel.registers <= most, kernel


@pytest.mark.parametrize("case", TILES)
def test_every_tile_stays_in_registers(compiled, case):
    check_all_three(compiled, case)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_places_in_64_bits_stay_in_registers(compiled, monkeypatch, dtype):
    monkeypatch.setattr(places, "MOST_NARROW", 0)
    check_all_three(compiled, "spread over three axes", dtype, most=168)
