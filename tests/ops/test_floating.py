"""What functions of floats as such promise beside their oracle: neighbours, powers of two, replacements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.testing import AWKWARD, arrays, check_grad

FLOATS = ("float16", "float32", "float64")


@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16"])
def test_every_exponent_of_two_is_rounded_once(dtype, device):
    numbers = np.random.default_rng(0)
    x = numbers.uniform(-2, 2, 400).astype(lnb.bfloat16 if dtype == "bfloat16" else dtype)
    exponents = numbers.integers(-1200, 1200, 400).astype("int32") // (8 if dtype == "float32" else 1)
    with np.errstate(all="ignore"):
        exact = np.ldexp(x.astype("longdouble"), exponents).astype(x.dtype)
        found = lnb.ldexp(lnb.asarray(x, device=device), lnb.asarray(exponents, device=device)).to_host()
    if device == "mlx":              # where arithmetic may flush subnormal numbers
        normal = np.abs(exact.astype("float64")) >= float(np.finfo("float32").tiny)
        found, exact = found[normal], exact[normal]
    np.testing.assert_array_equal(found.astype("float64"), exact.astype("float64"))


def test_ldexp_takes_any_signed_integer_and_scalars():
    x = lnb.tensor([1.5, -3.0])
    for dtype in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"):
        for float_dtype in ("float16", "bfloat16", "float32"):
            assert lnb.ldexp(x.astype(float_dtype), lnb.ones(2, dtype=dtype)).tolist() == [3, -6]
        found = lnb.ldexp(x.astype("float32"), lnb.ones(2, dtype=dtype))
        assert found.dtype == np.float32 and found.tolist() == [3, -6]
    assert lnb.ldexp(x, 3).tolist() == [12, -24] and lnb.ldexp(1.5, 2).item() == 6
    for exponent in (1.5, lnb.ones(2), lnb.ones(2, dtype="uint64")):
        with pytest.raises(lnb.DTypeError, match=r"ldexp: operand 2 is .*It takes signed integers"):
            lnb.ldexp(x, exponent)
    check_grad(lambda a: lnb.ldexp(a, 3), np.array([1.5, -0.3]))


@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16"])
def test_neighbours_step_through_every_kind_of_number(dtype, device):
    """By walking: the number after the one before x is x, and nothing lies between."""
    kind = lnb.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    with np.errstate(all="ignore"):
        x = np.array([v for v in AWKWARD if np.isfinite(v)]).astype(kind)
    x = x[np.isfinite(x.astype(float)) & (x != 0)]
    tensor = lnb.asarray(x, device=device)
    up = lnb.nextafter(tensor, lnb.full_like(tensor, np.inf))
    back = lnb.nextafter(up, lnb.full_like(tensor, -np.inf))
    word = f"uint{8 * x.dtype.itemsize}"
    steps = up.to_host().view(word).astype(object) - x.view(word).astype(object)
    assert [abs(step) for step in steps] == [1] * len(x)
    np.testing.assert_array_equal(back.to_host().view(word), x.view(word))


def test_slopes_of_signs():
    check_grad(lnb.copysign, np.array([1.0, -2.0, 3.0]), np.array([-1.0, 1.0, 0.5]))
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    lnb.nextafter(x, lnb.tensor([3.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [1, 0] and not lnb.spacing(x).requires_grad
    at_zero = lnb.tensor(3.0, requires_grad=True)
    lnb.heaviside(lnb.tensor([-1.0, 0.0, 0.0, 2.0]), at_zero).sum().backward()
    assert at_zero.grad.item() == 2


# ------------------------------------------------------------------------------------- what is not finite
@given(st.data(), st.sampled_from((*FLOATS, "complex64", "complex128", "int32", "bool")),
       st.fixed_dictionaries({}, optional={"nan": st.just(7.0), "posinf": st.just(3.0), "neginf": st.just(-2.5)}))
def test_nan_to_num_equals_numpy(data, dtype, options):
    x = data.draw(arrays(dtype))
    found, wanted = lnb.nan_to_num(lnb.asarray(x), **options), np.asarray(np.nan_to_num(x, **options))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_nan_to_num_writes_in_place_and_takes_arrays(device):
    x = lnb.asarray(np.array([1, np.nan, np.inf, -np.inf], "float32"), device=device)
    assert lnb.nan_to_num(x, False, nan=lnb.asarray(np.arange(4, dtype="float32"), device=device), posinf=9) is x
    assert x.tolist() == [1, 1, 9, float(np.finfo("float32").min)]


def test_nan_to_num_of_bfloat16_gives_its_bounds():
    x = lnb.tensor([np.inf, -np.inf, np.nan]).astype(lnb.bfloat16)
    largest = 2.0 ** 127 * (2 - 2.0 ** -7)
    assert lnb.nan_to_num(x).astype("float64").tolist() == [largest, -largest, 0]


def test_what_is_replaced_has_no_gradient():
    x = lnb.tensor([1.0, np.nan, np.inf, -np.inf], requires_grad=True)
    (lnb.nan_to_num(x) * lnb.tensor([1.0, 0.2, 0.3, 0.4])).sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"])
def test_questions_about_awkward_numbers_equal_numpy(name, device):
    x = np.array(AWKWARD, "float32")
    np.testing.assert_array_equal(getattr(lnb, name)(lnb.asarray(x, device=device)).to_host(), getattr(np, name)(x))


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_questions_look_at_both_parts(name, device):
    parts = np.array([0, 1, np.nan, np.inf, -np.inf], "float32")
    z = (parts[:, None] + 0j).astype("complex64")
    z = np.broadcast_to(z, (5, 5)).copy()
    z.imag = parts
    np.testing.assert_array_equal(getattr(lnb, name)(lnb.asarray(z, device=device)).to_host(), getattr(np, name)(z))


def test_nan_to_num_keeps_the_sign_of_the_zero_that_is_asked_for(device):
    x = lnb.asarray(np.array([np.nan, 1], "float32"), device=device)
    assert np.signbit(lnb.nan_to_num(x, nan=-0.0).to_host()).tolist() == [True, False]
    assert np.signbit(lnb.nan_to_num(x).to_host()).tolist() == [False, False]
    x[0] = np.inf
    view = x[:1]
    x[0] = -np.inf
    assert lnb.nan_to_num(view).tolist() == [-float(np.finfo("float32").max)]
