"""What bits and divisors of integers promise beside their oracle: shift counts, operators, refusals."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.testing import arrays, broadcastable_shapes

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
PAIRS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm")


@pytest.mark.parametrize("name", PAIRS)
@given(st.data(), st.sampled_from(INTEGERS))
def test_pairs_equal_numpy(name, data, dtype):
    x, y = (data.draw(arrays(dtype, shape)) for shape in data.draw(broadcastable_shapes(2)))
    wanted = np.asarray(getattr(np, name)(x, y))
    found = getattr(lnb, name)(lnb.asarray(x), lnb.asarray(y))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
def test_any_shift_count_equals_numpy(name, dtype, device):
    bounds = np.iinfo(dtype)
    x = np.array([bounds.min, bounds.max, 1, 0, 5, bounds.max // 3], dtype)
    counts = np.array([0, 1, bounds.bits - 1, bounds.bits, bounds.bits + 1, bounds.max, bounds.min], dtype)
    found = getattr(lnb, name)(lnb.asarray(x[:, None], device=device), lnb.asarray(counts, device=device))
    np.testing.assert_array_equal(found.to_host(), getattr(np, name)(x[:, None], counts))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors_of_extreme_integers_equal_numpy(name, dtype, device):
    bounds = np.iinfo(dtype)
    values = np.array([bounds.min, bounds.min + 1, bounds.max, 0, 1, 2, 6, 7, 12, bounds.max // 3], dtype)
    found = getattr(lnb, name)(lnb.asarray(values[:, None], device=device), lnb.asarray(values, device=device))
    np.testing.assert_array_equal(found.to_host(), getattr(np, name)(values[:, None], values))


@pytest.mark.parametrize("function", [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift])
def test_operators_equal_numpy(function, device):
    x, y = np.array([5, -7, 8], "int32"), np.array([1, 3, 2], "int32")
    t, u = lnb.asarray(x, device=device), lnb.asarray(y, device=device)
    for found, wanted in ((function(t, u), function(x, y)), (function(t, 2), function(x, 2)),
                          (function(9, u), function(9, y))):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.to_host(), wanted)


@pytest.mark.parametrize("symbol", ["&=", "|=", "^=", "<<=", ">>="])
def test_operators_write_in_place(symbol, device):
    x = np.array([[5, -7], [8, 9]], "int64")
    t, wanted = lnb.asarray(x.copy(), device=device), x.copy()
    exec(f"t[1] {symbol} 3", {"t": t})
    exec(f"w[1] {symbol} 3", {"w": wanted})
    assert t.tolist() == wanted.tolist()


def test_bools_are_conditions(device):
    x, y = (lnb.asarray(np.array(v), device=device) for v in ([True, True, False], [True, False, False]))
    assert (x & y).tolist() == [True, False, False] and (x | y).tolist() == [True, True, False]
    assert (x ^ y).tolist() == [False, True, False] and (~x).tolist() == [False, False, True]
    assert (x & y).dtype == (~x).dtype == np.bool_ and (x << y).dtype == np.int8
    assert (True & x).dtype == np.bool_


def test_names_of_the_array_api_are_there():
    assert lnb.bitwise_invert is lnb.bitwise_not is lnb.invert
    assert lnb.bitwise_left_shift is lnb.left_shift and lnb.bitwise_right_shift is lnb.right_shift


@pytest.mark.parametrize("name", [*PAIRS, "invert", "bitwise_count"])
def test_floats_are_refused(name):
    operands = [lnb.ones(2)] * (2 if name in PAIRS else 1)
    with pytest.raises(lnb.DTypeError, match=rf"{name}: takes integers, .* float64 .* Use .astype"):
        getattr(lnb, name)(*operands)
    if name in PAIRS:
        with pytest.raises(lnb.DTypeError, match="takes integers"):
            getattr(lnb, name)(lnb.arange(2), 1.5)
