"""What rounding and division with remainder promise beside their oracle: places, signs, warnings, operators, slopes."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.testing import arrays, check_grad

DTYPES = ("float16", "float32", "float64", "int8", "int64", "uint32")
DIVISIONS = ("floor_divide", "remainder", "fmod", "divmod")


def conditions(function, *operands):
    """The floating-point conditions that a call reports."""
    seen = set()
    with np.errstate(all="call", under="ignore", call=lambda kind, flag: seen.add(kind)):
        function(*operands)
    return seen


def check(found, wanted):
    """Equal bit for bit, NaN beside NaN, and of one dtype; results may be tuples."""
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    for got, exact in zip(found, wanted, strict=True):
        assert got.dtype == exact.dtype
        np.testing.assert_array_equal(got.to_host(), exact)
        if exact.dtype.kind == "f":
            zero = exact == 0
            np.testing.assert_array_equal(np.signbit(got.to_host()[zero]), np.signbit(exact[zero]))


# ------------------------------------------------------------------------------------------------ rounding
@given(st.data(), st.sampled_from((*DTYPES, "complex64")), st.integers(-3, 4))
def test_round_equals_numpy(data, dtype, decimals):
    x = data.draw(arrays(dtype))
    with np.errstate(all="ignore"):
        wanted = np.asarray(np.round(x, decimals))
        check(lnb.round(lnb.asarray(x), decimals), wanted)
        check(lnb.asarray(x).round(decimals), wanted)


def test_round_has_numpys_spellings():
    x, out = lnb.tensor([0.5, 1.25, -2.55]), lnb.zeros(3)
    assert lnb.around(x, 1).tolist() == np.round(x.numpy(), 1).tolist() == round(x, 1).tolist()
    assert round(x).tolist() == [0, 1, -3] and lnb.round(lnb.tensor([True])).dtype == np.float16
    assert lnb.round(x, 1, out) is out and out.tolist() == np.round(x.numpy(), 1).tolist()
    assert not np.shares_memory(lnb.round(lnb.arange(3)).numpy(), lnb.arange(3).numpy())


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "round"])
def test_rounding_is_constant_almost_everywhere(name):
    assert not getattr(lnb, name)(lnb.tensor([1.5], requires_grad=True)).requires_grad


def test_modf_gives_both_parts_and_the_slope_of_the_fraction(device):
    x = lnb.asarray(np.array([2.5, -0.75, 3.0], "float32"), device=device)
    x.requires_grad = True
    fraction, whole = lnb.modf(x)
    assert fraction.tolist() == [.5, -.75, 0] and whole.tolist() == [2, 0, 3] and not whole.requires_grad
    fraction.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


# ------------------------------------------------------------------------------------------------ division
@pytest.mark.parametrize("name", DIVISIONS)
@given(st.data(), st.sampled_from(DTYPES))
def test_division_with_remainder_equals_numpy(name, data, dtype):
    x, y = data.draw(arrays(dtype)), data.draw(arrays(dtype, shape=()))
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x, y)
        wanted = tuple(map(np.asarray, wanted)) if isinstance(wanted, tuple) else np.asarray(wanted)
        check(getattr(lnb, name)(lnb.asarray(x), lnb.asarray(y)), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_remainder_of_distant_numbers_is_exact(name, dtype):
    numbers = np.random.default_rng(0)
    x = (numbers.uniform(-2, 2, 3000) * 2.0 ** numbers.uniform(-100, 100, 3000)).astype(dtype)
    y = (numbers.uniform(-2, 2, 3000) * 2.0 ** numbers.uniform(-100, 100, 3000)).astype(dtype)
    whole = (numbers.integers(-2 ** 24, 2 ** 24, 3000) * y).astype(dtype)
    with np.errstate(all="ignore"):
        for dividend in (x, whole, np.nextafter(whole, x), (y * 3).astype(dtype)):
            check(getattr(lnb, name)(lnb.asarray(dividend), lnb.asarray(y)), getattr(np, name)(dividend, y))


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_division_of_extreme_integers_equals_numpy(name, dtype):
    bounds, numbers = np.iinfo(dtype), np.random.default_rng(1)
    edges = np.array([bounds.min, bounds.min + 1, bounds.max, bounds.max - 1, bounds.max // 2, 0, 1, 2, 3, 7], dtype)
    drawn = numbers.integers(bounds.min, bounds.max, 60, dtype=dtype, endpoint=True)
    near = (drawn >> np.array(bounds.bits // 2, dtype)).astype(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(np.r_[edges, drawn], np.r_[edges, drawn, near]))
    with np.errstate(all="ignore"):
        check(getattr(lnb, name)(lnb.asarray(x), lnb.asarray(y)), getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
@pytest.mark.parametrize("size", [3, 70_000])
@pytest.mark.parametrize("name", DIVISIONS)
def test_integer_division_warns_as_numpys(name, size, dtype):
    lowest = np.iinfo(dtype).min
    for pair in ((5, 2), (5, 0), (0, 0), (lowest, -1 if lowest else 1), (lowest, 0)):
        x, y = np.full(size, 6, dtype), np.full(size, 4, dtype)
        x[size // 2], y[size // 2] = pair
        assert conditions(getattr(lnb, name), lnb.asarray(x), lnb.asarray(y)) == conditions(getattr(np, name), x, y)


def test_integer_division_by_zero_is_named_and_obeys_errstate():
    x, y = lnb.tensor([1, 2]), lnb.tensor([0, 1])
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in floor_divide"):
        assert (x // y).tolist() == [0, 2]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="remainder"):
        x % y


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_float_division_warns_as_numpys(name, dtype):
    for x, y in ((1, 0), (0, 0), (-1, 0), (5, 2), (np.nan, 0), (1, np.nan), (60000, 6e-8)):
        x, y = np.array([x], dtype), np.array([y], dtype)
        assert conditions(getattr(lnb, name), lnb.asarray(x), lnb.asarray(y)) == conditions(getattr(np, name), x, y)


@pytest.mark.parametrize("function", [operator.floordiv, operator.mod, divmod])
def test_operators_of_division_equal_numpy(function, device):
    x = np.array([5, -7, 8], "float32")
    t = lnb.asarray(x, device=device)
    for a, b, c, d in ((t, 3, x, 3), (20, t, 20, x), (t, -t, x, -x)):
        check(function(a, b), function(c, d))


@pytest.mark.parametrize("decimals", [308, 309, 400, -308, -309, 10 ** 30])
def test_rounding_to_more_places_than_a_float_has_equals_numpy(decimals):
    x = np.array([1.5, -2e7, 0.0])
    with np.errstate(all="ignore"):
        found, wanted = lnb.round(lnb.asarray(x), decimals).tolist(), np.round(x, min(decimals, 400)).tolist()
    np.testing.assert_array_equal(found, wanted)
    for wrong in ("2", 1.5, None, [1, 2]):
        with pytest.raises(lnb.ShapeError, match=r"round: decimals .* is not an integer"):
            lnb.round(lnb.asarray(x), wrong)


def test_operators_of_division_write_in_place(device):
    x = np.array([[5, -7], [8, 9]], "int32")
    t, wanted = lnb.asarray(x.copy(), device=device), x.copy()
    t[0] //= 2
    t[1] %= 5
    wanted[0] //= 2
    wanted[1] %= 5
    assert t.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_slopes_of_remainders_are_those_of_mathematics(name):
    x, y = np.array([5.3, -7.2, 8.9, 1.2]), np.array([2.1, 3.3, -2.7, -5.0])
    check_grad(getattr(lnb, name), x, y)
    check_grad(lambda a, b: divmod(a, b)[1], x, y)
