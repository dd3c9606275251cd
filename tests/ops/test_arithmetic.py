"""What records of arithmetic promise beside their oracle: values at kinks, ties and zeros, powers, operators."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.testing import assert_close, check_grad


def gradient(f, *values, device="cpu"):
    """Gradients of the sum of f."""
    tensors = [lnb.asarray(np.asarray(v, "float32"), device=device) for v in values]
    for tensor in tensors:
        tensor.requires_grad = True
    with np.errstate(all="ignore"):
        f(*tensors).sum().backward()
    return [tensor.grad.tolist() for tensor in tensors]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_equal_operands_share_the_gradient(name, device):
    sign = 1 if name == "maximum" else -1
    a, b = sign * np.array([1, 2, 0]), sign * np.array([1, 0, 2])
    assert gradient(getattr(lnb, name), a, b, device=device) == [[.5, 1, 0], [.5, 0, 1]]


def test_slopes_at_kinks_are_zero(device):
    for f in (abs, lnb.relu, lnb.sign):
        x = lnb.asarray(np.array([0.0, -0.0, 1.0], "float32"), device=device)
        x.requires_grad = True
        y = f(x)
        if f is lnb.sign:
            assert not y.requires_grad            # constant almost everywhere: no graph
            continue
        y.sum().backward()
        assert x.grad.tolist() == [0, 0, 1]


def test_zeros_absorb_infinite_slopes(device):
    assert gradient(lambda x: x * lnb.sqrt(x), [0, 4], device=device) == [[0, 3]]
    assert gradient(lambda x: lnb.sqrt(x) * 0, [0.0], device=device) == [[0]]
    assert gradient(lambda x: lnb.log(x) * 0, [0.0], device=device) == [[0]]


def test_hessian_of_squared_sine_at_zero_is_two(device):
    x = lnb.asarray(np.zeros(1, "float32"), device=device)
    x.requires_grad = True
    (lnb.sin(x) ** 2).sum().backward(create_graph=True)
    first = x.grad
    x.zero_grad()
    first.sum().backward()
    assert x.grad.tolist() == [2]


# -------------------------------------------------------------------------------------------------- powers
@pytest.mark.parametrize("base", [0.0, -0.0, 1.0, -1.0, -2.0, 0.5, np.inf, -np.inf, np.nan, 1e-30])
def test_special_powers_equal_numpy(base):
    exponents = np.array([0, -0.0, 1, 2, 3, -1, -2, -3, 0.5, -0.5, 2.5, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        found, wanted = lnb.power(lnb.asarray(np.full(14, base)), exponents).numpy(), np.power(base, exponents)
    np.testing.assert_allclose(found, wanted, rtol=4e-16)
    np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


def test_literal_exponents_give_what_arrays_give():
    x = lnb.asarray(np.array([0.5, 2.0, 9.0], "float32"))
    for exponent in (2, 2.0, 0.5, -1.0, -1, 3, 1):
        assert (x ** exponent).dtype == np.float32
        np.testing.assert_allclose((x ** exponent).numpy(), x.numpy() ** np.float32(exponent), rtol=2e-7)
    np.testing.assert_allclose((2 ** x).numpy(), 2 ** x.numpy(), rtol=2e-7)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64", "bool"])
def test_integer_powers_wrap_as_in_numpy(dtype):
    base = np.array([0, 1, 2, 3, 7, 100]).astype(dtype)
    for exponent in (0, 1, 2, 3, 5):
        found, wanted = lnb.power(lnb.asarray(base), exponent), np.power(base, exponent)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_negative_integer_powers_are_refused():
    with pytest.raises(errors.DTypeError, match="power: integers to the power -2 are fractions"):
        lnb.asarray(np.array([2, 3])) ** -2
    with pytest.raises(errors.DTypeError, match="power: integers to the power -1"):
        lnb.power(3, lnb.asarray(np.array([-1])))


# ----------------------------------------------------------------------------------------------- operators
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "**"])
def test_reflected_operators_equal_numpy(symbol, device):
    x = np.array([1, 2, 4], "float32")
    t = lnb.asarray(x, device=device)
    for text in (f"2 {symbol} t", f"t {symbol} 2.5", f"t {symbol} t"):
        found = eval(text, {"t": t})
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.to_host(), eval(text, {"t": x}), rtol=3e-7)


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "**"])
def test_in_place_operators_write_into_the_memory(symbol, device):
    x = np.array([[1, 2, 4], [3, 5, 6]], "float32")
    t, wanted = lnb.asarray(x.copy(), device=device), x.copy()
    row = t[0]
    exec(f"t[1:] {symbol}= 2; row {symbol}= 3", {"t": t, "row": row})
    exec(f"w[1:] {symbol}= 2; w[0] {symbol}= 3", {"w": wanted})
    np.testing.assert_allclose(t.to_host(), wanted, rtol=3e-7)


def test_unary_operators_equal_numpy(device):
    x = np.array([1, -2, 0], "float32")
    t = lnb.asarray(x, device=device)
    np.testing.assert_array_equal((-t).to_host(), -x)
    np.testing.assert_array_equal(abs(t).to_host(), abs(x))


def test_foreign_operands_are_refused_by_name():
    x = lnb.ones(2)
    for bad in ("a", ["a", "b"], np.array(["a"]), object(), None):
        with pytest.raises(errors.DTypeError, match=r"add: .*data has no arithmetic here|add: "):
            x + bad
    with pytest.raises(errors.ShapeError, match="add: the nested sequence is ragged"):
        lnb.add(x, [[1, 2], [3]])
    with pytest.raises(errors.ShapeError, match=r"add: shapes \(2,\) and \(3,\) do not broadcast"):
        x + lnb.ones(3)
    with pytest.raises(errors.OverflowError, match=r"add: 300 does not fit int8"):
        lnb.asarray(np.ones(1, "int8")) + 300


def test_out_of_place_results_are_fresh_memory():
    x = lnb.ones(3)
    for f in (lambda x: x + 0, lambda x: x * 1, lambda x: lnb.maximum(x, 0), lnb.relu, abs):
        assert not np.shares_memory(f(x).numpy(), x.numpy())


@pytest.mark.parametrize("call", [lnb.reciprocal, lambda x: x ** -1, np.reciprocal], ids=["function", "power", "numpy"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reciprocal_of_zero_warns_as_numpys(call, dtype):
    x = np.array([0.0, 2.0], dtype)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in reciprocal"):
        wanted = np.reciprocal(x)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in reciprocal"):
        found = call(lnb.asarray(x))
    np.testing.assert_array_equal(found.numpy(), wanted)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        call(lnb.asarray(x))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_reciprocal_of_integers_is_that_of_numpy(dtype, device):
    x = np.array([1, 2, 0, 100, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        found, wanted = lnb.reciprocal(lnb.asarray(x, device=device)), np.reciprocal(x)
    assert found.dtype == dtype and found.tolist() == wanted.tolist()


# ------------------------------------------------------------------------------------------------- bounds
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
def test_clip_takes_every_keyword_of_numpy(dtype):
    x = np.array([0, 1, 3, 7]).astype(dtype)
    t, low, high = lnb.asarray(x), np.array(1, dtype)[()].item(), np.array(3, dtype)[()].item()
    for given in (dict(a_min=low, a_max=high), dict(min=low, max=high), dict(a_min=low), dict(max=high)):
        names = dict(a_min=given.get("a_min", given.get("min")), a_max=given.get("a_max", given.get("max")))
        found, wanted = lnb.clip(t, **given), np.clip(x, **names)
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()
    assert lnb.clip(t).tolist() == t.tolist()
    out = lnb.zeros(4, dtype=dtype)
    assert lnb.clip(t, low, high, out) is out and out.tolist() == np.clip(x, low, high).tolist()
    assert t.clip(max=high).tolist() == np.clip(x, None, high).tolist()
    with pytest.raises(TypeError, match="clip: got bounds as a_min or a_max and as min or max"):
        lnb.clip(t, low, a_max=high)


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_extremes_without_nan_route_the_gradient_to_the_number(name, device):
    nan = np.nan
    assert gradient(getattr(lnb, name), [1, nan, nan, 2], [nan, 1, nan, 2], device=device) == [
        [1, 0, 1, .5], [0, 1, 0, .5]]


def test_float_power_computes_in_double():
    x = lnb.tensor([2, 4])
    assert lnb.float_power(x, -1).tolist() == [0.5, 0.25] and lnb.float_power(x, -1).dtype == np.float64
    assert lnb.float_power(x.astype("float32"), x.astype("float32")).dtype == np.float64
    assert lnb.float_power(x.astype("complex64"), 2).dtype == np.complex128
    y = lnb.tensor([2.0, 4.0]).astype("float32")
    y.requires_grad = True
    lnb.float_power(y, 2).sum().backward()
    assert y.grad.dtype == np.float32 and y.grad.tolist() == [4, 8]


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_lerp_goes_from_one_end_to_the_other(dtype, device):
    draw = np.random.default_rng(3)
    parts = draw.standard_normal((3, 2, 40))
    x, y, weight = (parts[:, 0] + 1j * parts[:, 1] if dtype == "complex64" else parts[:, 0]).astype(dtype)
    wide = [a.astype("complex128" if dtype == "complex64" else "float64") for a in (x, y, weight)]
    found = lnb.lerp(*[lnb.asarray(a, device=device) for a in (x, y, weight)])
    assert found.dtype == dtype
    assert_close(found.numpy(), wide[0] + wide[2] * (wide[1] - wide[0]), atol=2e-6)
    ends = [lnb.asarray(np.array(a, dtype), device=device) for a in ([1e9, 1e-9], [0.1, 0.3])]
    for weight, end in ((0, ends[0]), (1, ends[1])):
        assert lnb.lerp(*ends, weight).tolist() == end.tolist()


def test_lerp_is_differentiated_by_all_three():
    draw = np.random.default_rng(4)
    check_grad(lnb.lerp, draw.standard_normal((2, 3)), draw.standard_normal(3), np.array([[0.2], [1.7]]))
    x = draw.standard_normal(3) + 1j
    check_grad(lnb.lerp, x, 2 * x.conj() + 1, np.array([0.2 + 1j, 0.9, 3j]))


def test_positive_copies():
    x = lnb.tensor([1, -2])
    assert (+x).tolist() == [1, -2] and not np.shares_memory((+x).numpy(), x.numpy())
    with pytest.raises(errors.DTypeError, match="positive: has no meaning for bool"):
        +lnb.tensor([True])


def test_errstate_is_numpys():
    with lnb.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
        lnb.log(lnb.zeros(3))
    with lnb.errstate(all="ignore"):
        assert lnb.geterr()["over"] == "ignore"
        assert lnb.exp(lnb.full(3, 1e4)).tolist() == [float("inf")] * 3
