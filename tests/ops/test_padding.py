"""Padding against NumPy, every mode and option."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb

from . import moves

MODES = {
    "constant": [{}, {"constant_values": 3}, {"constant_values": (1, 2)}, {"constant_values": ((1,), (2,))}],
    "edge": [{}], "wrap": [{}],
    "reflect": [{}, {"reflect_type": "odd"}], "symmetric": [{}, {"reflect_type": "odd"}],
    "linear_ramp": [{}, {"end_values": (5, -4)}],
    "maximum": [{}, {"stat_length": 2}], "minimum": [{}, {"stat_length": (1, 3)}],
    "mean": [{}, {"stat_length": 2}],
    "median": [{}, {"stat_length": (3, 2)}],
}
CASES = [(mode, options) for mode, found in MODES.items() for options in found]
IDS = [f"{mode}{number}" for mode, found in MODES.items() for number in range(len(found))]
WIDTH = st.integers(0, 5)
PAIR = st.tuples(WIDTH, WIDTH)
WIDTHS = WIDTH | PAIR | st.tuples(PAIR, PAIR) | st.lists(st.tuples(WIDTH), min_size=2, max_size=2)
COPYING = ["int8", "uint16", "int64", "float16", "float32", "float64", "complex64"]
COMPUTING = ["int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("mode, options", CASES, ids=IDS)
@given(data=st.data())
def test_padding_is_numpys(mode, options, data):
    is_copy = mode in ("constant", "edge", "wrap") or (mode in ("reflect", "symmetric") and not options)
    array = data.draw(moves.arrays(3, COPYING if is_copy else COMPUTING, awkward=is_copy))
    widths = data.draw(WIDTHS)
    moves.check_call(lambda n, x: n.pad(x, widths, mode, **options), array)


@pytest.mark.parametrize("mode, options", CASES, ids=IDS)
def test_padding_follows_finite_differences(mode, options):
    for widths in (3, ((1, 0), (0, 5))):
        moves.check_derivatives(lambda n, x, widths=widths: n.pad(x, widths, mode=mode, **options), (2, 3))


@pytest.mark.parametrize("mode, options", CASES, ids=IDS)
def test_padding_on_a_device(mode, options, device):
    call = lambda n, x: n.pad(x, ((1, 2), (4, 0)), mode, **options)
    if mode not in ("linear_ramp", "mean", "median"):                # these round, on a device in its own way
        moves.check_call(call, np.arange(6, dtype="float32").reshape(2, 3), device)
    moves.check_derivatives_on(call, (2, 3), device)


def test_padding_takes_a_dict_of_axes():
    x = np.arange(6).reshape(2, 3)
    for widths in ({0: 1}, {-1: (2, 1)}, {0: (0, 1), 1: 2}):
        moves.check_call(lambda n, y, widths=widths: n.pad(y, widths), x)


def test_padding_by_a_function_is_numpys():
    def fill(row, widths, axis, options):
        row[:widths[0]] = options.get("low", -1)
        row[row.size - widths[1]:] = axis
    x = np.arange(6.0).reshape(2, 3)
    moves.check_call(lambda n, y: n.pad(y, 2, fill, low=7), x)
    with pytest.raises(lnb.GradError, match="requires grad"):
        lnb.pad(lnb.tensor(x, requires_grad=True), 1, fill)


def test_empty_padding_keeps_the_middle(device):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    found = lnb.pad(lnb.asarray(x, device=device), 1, mode="empty")
    assert found.shape == (4, 5) and np.array_equal(found.to_host()[1:-1, 1:-1], x)


def test_constants_may_be_tensors_with_a_gradient():
    value = lnb.tensor(2.0, requires_grad=True)
    found = lnb.pad(lnb.ones(3), (1, 2), constant_values=value)
    assert found.detach().tolist() == [2, 1, 1, 1, 2, 2]
    found.sum().backward()
    assert value.grad.item() == 3


@pytest.mark.parametrize("call, error, text", [
    (lambda x: lnb.pad(x, -1), ValueError, "pad: widths -1 hold a negative number"),
    (lambda x: lnb.pad(x, 1.5), TypeError, "pad: widths 1.5 are not integers"),
    (lambda x: lnb.pad(x, ((1, 2),) * 3), ValueError, r"pad: pad_width of shape \(3, 2\) for 2 axes"),
    (lambda x: lnb.pad(x, 1, "mirror"), ValueError, "pad: mode 'mirror' is unknown"),
    (lambda x: lnb.pad(x, 1, "edge", constant_values=1), ValueError, "pad: mode 'edge' does not take constant_values"),
    (lambda x: lnb.pad(x, 1, "reflect", reflect_type="strange"), ValueError, "pad: reflect_type 'strange' is unknown"),
    (lambda x: lnb.pad(x[:0], 1, "reflect"), ValueError, r"pad: axis 0 of shape \(0, 3\) is empty"),
    (lambda x: lnb.pad(x, 1, "maximum", stat_length=0), ValueError, "pad: stat_length"),
    (lambda x: lnb.pad(x, {2: 1}), ValueError, "pad: axis 2 is out of range")], ids=range(9))
def test_bad_padding_is_refused_alike_on_every_device(call, error, text, device):
    with pytest.raises(error, match=text):
        call(lnb.zeros((2, 3), dtype="float32", device=device))
