"""Programs on MLX against NumPy, SciPy and mpmath."""

import ml_dtypes
import mpmath
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lucid_nb.errors import DeviceError, DTypeError
from lucid_nb.expr import trace, vocabulary
from lucid_nb.program import Program, Step, type_program

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
runtime = table.runtime
on_cpu_build = pytest.mark.skipif(runtime.ON_GPU, reason="float64 and the measured errors are the CPU build's")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -3.0])
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# entry: where it is measured, its reference, and its largest error in units in the last place (float32, float64)
MEASURED = {
    "exp": ((-87.3, 88.7), np.exp, 1, 2), "expm1": ((-20, 80), np.expm1, 1, 1), "log": ((1e-30, 1e3), np.log, 1, 1),
    "log1p": ((-0.99, 30), np.log1p, 1, 1), "sqrt": ((0, 1e6), np.sqrt, 0.5, 0.5), "sin": ((-1e5, 1e5), np.sin, 1, 3),
    "cos": ((-1e5, 1e5), np.cos, 1, 3), "tanh": ((-9, 9), np.tanh, 2.5, 2.5)}


def run(formula, *operands):
    """A formula on NumPy operands through the table."""
    typed = type_program(trace(formula, len(operands)), [x.dtype.name for x in operands], table.NATIVE())
    result = table.map(typed, "formula")(*map(table.from_numpy, operands))
    return tuple(map(table.to_numpy, result)) if isinstance(result, tuple) else table.to_numpy(result)


def call(name, *operands):
    """One entry of the vocabulary."""
    return run(lambda m, *args: getattr(m, name)(*args), *operands)


def same(got, expected):
    """Equal in value, sign of zero and place of NaN."""
    np.testing.assert_array_equal(got, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number])


def units(got, expected):
    """Errors in units in the last place of the rounded reference."""
    rounded = expected.astype(got.dtype)
    return np.abs(got.astype(expected.dtype) - expected) / np.spacing(np.abs(rounded)).astype(expected.dtype)


@on_cpu_build
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", MEASURED)
def test_error_stays_within_its_measured_bound(name, dtype):
    (low, high), reference, *bounds = MEASURED[name]
    x = np.random.default_rng(0).uniform(low, high, 20_000)
    x = np.concatenate([x, np.linspace(-1, 1, 5001)[np.linspace(-1, 1, 5001) > low]]).astype(dtype)
    expected = reference(x.astype(np.longdouble))
    assert units(call(name, x), expected).max() <= bounds[dtype == "float64"]


@on_cpu_build
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_erf_and_its_kin_match_mpmath_in_both_tails(dtype):
    x = np.concatenate([np.linspace(-6, 9, 400), [5e-8, -1e-20, 1e-3, 0.4999, 0.5001, 0.9999, 1.0001]]).astype(dtype)
    for name, reference in (("erf", mpmath.erf), ("erfc", mpmath.erfc), ("normal_cdf", mpmath.ncdf)):
        with mpmath.workdps(40):
            exact = [reference(mpmath.mpf(float(value))) for value in x]
        got = call(name, x)
        spacing = np.spacing(np.abs(np.array(list(map(float, exact))).astype(dtype)))
        error = [abs(mpmath.mpf(float(g)) - e) / mpmath.mpf(float(s)) for g, e, s in zip(got, exact, spacing)]
        assert max(error) <= (1 if dtype == "float32" else 4)


def test_erfc_composed_for_the_gpu_keeps_its_tail(monkeypatch):
    x = np.linspace(-5, 9, 500, dtype="float32")
    monkeypatch.setattr(runtime, "ON_GPU", True)
    # MLX's own float32 exp, which is used here, is good to 64 units in the last place (7.6e-6).
    for name, reference in (("erfc", scipy.special.erfc), ("normal_cdf", scipy.special.ndtr)):
        got = table.to_numpy(getattr(table.vocabulary.special, name)(table.from_numpy(x)))
        np.testing.assert_allclose(got, reference(x.astype(float)), rtol=1e-5)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh", "erf", "absolute",
                                  "sign", "negative", "erfc", "normal_cdf"])
def test_unary_special_values_are_numpys(name):
    x = SPECIAL.astype("float32")
    reference = getattr(np, name, None) or getattr(scipy.special, "ndtr" if name == "normal_cdf" else name)
    with np.errstate(all="ignore"):
        expected = reference(x)
    got = call(name, x)
    np.testing.assert_allclose(got, expected, rtol=3e-7)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "greater",
                                  "greater_equal", "less", "less_equal", "equal", "not_equal"])
def test_binary_special_values_are_numpys(name):
    x, y = SPECIAL.astype("float32")[:, None], SPECIAL.astype("float32")
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    got = call(name, x, y)
    assert got.dtype == expected.dtype
    if name == "power":
        np.testing.assert_allclose(got, expected, rtol=2e-7)
    elif name in ("maximum", "minimum"):         # which of two equal zeros is given differs between NumPy's own loops
        np.testing.assert_array_equal(got, expected)
    else:
        (np.testing.assert_array_equal if expected.dtype == bool else same)(got, expected)


@on_cpu_build
def test_subnormal_numbers_are_kept():
    x = np.array([1.4e-45, 1e-40, -1e-40, 1.1754942e-38], "float32")
    same(run(lambda m, x: x + 0.0, x), x)
    same(run(lambda m, x: x * 1.0, x), x)
    same(call("negative", x), -x)
    assert call("greater", x, np.zeros_like(x)).tolist() == [True, True, False, True]
    assert units(call("exp", np.linspace(-103, -88, 99, dtype="float32")),
                 np.exp(np.linspace(-103, -88, 99, dtype="float32").astype(float))).max() <= 1
    np.testing.assert_array_equal(call("tanh", x), x)
    assert call("sigmoid", np.float32([-95]))[0] == np.float32(5.5211e-42)


@on_cpu_build
def test_stable_entries_keep_their_tails():
    x = np.array([-80, -30, -11.3, -8.9, -5, -1e-4, 0, 1e-4, 5, 8.9, 30, 80], "float32")
    wide = x.astype(float)
    references = {
        "sigmoid": scipy.special.expit(wide), "softplus": np.logaddexp(0, wide), "erfc": scipy.special.erfc(wide),
        "logsigmoid": -np.logaddexp(0, -wide), "sigmoid_slope": scipy.special.expit(wide) * scipy.special.expit(-wide),
        "tanh_slope": np.cosh(wide) ** -2.0, "normal_cdf": scipy.special.ndtr(wide),
        "gelu": wide * scipy.special.ndtr(wide)}
    for name, expected in references.items():
        representable = np.abs(expected) > np.finfo("float32").tiny
        np.testing.assert_allclose(call(name, x)[representable], expected[representable], rtol=4e-7)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=on_cpu_build)])
@given(st.data())
def test_frexp_is_numpys(dtype, data):
    x = data.draw(arrays.arrays(dtype, 20, elements=st.floats(width=np.dtype(dtype).itemsize * 8)))
    x[:9] = SPECIAL
    expected = np.frexp(x)
    got = run(lambda m, x: (m.frexp_mantissa(x), m.frexp_exponent(x)), x)
    same(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])
    assert got[1].dtype == np.int32


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_as_numpys(dtype):
    bounds = np.iinfo(dtype)
    values = np.unique(np.array([bounds.min, bounds.min + 1, bounds.max, bounds.max - 1, 0, 1, 2, 7, 100], dtype))
    x, y = values[:, None], values
    with np.errstate(all="ignore"):
        for name in ("add", "subtract", "multiply", "maximum", "minimum", "greater", "less_equal", "equal"):
            expected = getattr(np, name)(x, y)
            got = call(name, x, y)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected, err_msg=name)
        for name in ("negative", "absolute", "sign"):
            np.testing.assert_array_equal(call(name, x), getattr(np, name)(x), err_msg=name)
        np.testing.assert_array_equal(call("power", x, y % 5), x ** (y % 5))
        np.testing.assert_array_equal(call("where", x > 2, x + y, y), np.where(x > 2, x + y, y))
        np.testing.assert_array_equal(run(lambda m, x: x * 3 + 1, x), x * np.array(3, dtype) + np.array(1, dtype))


def test_bools_are_numpys():
    x, y = np.array([[True], [False]]), np.array([True, False])
    for name in ("add", "multiply", "maximum", "minimum", "equal", "not_equal", "greater", "less_equal"):
        got, expected = call(name, x, y), getattr(np, name)(x, y)
        assert got.dtype == bool
        np.testing.assert_array_equal(got, expected, err_msg=name)
    np.testing.assert_array_equal(call("absolute", x), x)
    np.testing.assert_array_equal(call("where", x, ~y, y), np.where(x, ~y, y))


@given(arrays.arrays("complex64", 6, elements=st.complex_numbers(max_magnitude=8, width=64)))
def test_complex_numbers_are_numpys(x):
    y = x[::-1] + np.complex64(1 + 2j)
    wide = x.astype("complex128")
    for name in ("exp", "sin", "cos", "conjugate", "negative", "absolute", "sqrt"):
        got = call(name, x)
        assert got.dtype == getattr(np, name)(x).dtype
        np.testing.assert_allclose(got, getattr(np, name)(wide), rtol=3e-5, atol=1e-5, err_msg=name)
    for name in ("add", "subtract", "multiply", "equal", "not_equal"):
        np.testing.assert_allclose(call(name, x, y), getattr(np, name)(x, y), rtol=3e-6, atol=3e-6, err_msg=name)
    kept = np.where(y == 0, np.complex64(1), y)
    np.testing.assert_allclose(call("divide", x, kept), wide / kept, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(call("absorbing_product", x, y), x * y, rtol=1e-5, atol=1e-5)


def test_zeros_absorb_infinities_and_nan():
    a, b = np.float32([0, -0.0, 2, np.inf, 0]), np.float32([np.inf, np.nan, 3, 0, 0])
    assert call("absorbing_product", a, b).tolist() == [0, 0, 6, 0, 0]
    assert call("absorbing_quotient", np.float32([0, 0, 6, 1]), np.float32([0, np.nan, 3, np.inf])).tolist() == [
        0, 0, 2, 0]


@pytest.mark.parametrize("dtype", [np.dtype("float16"), BFLOAT16], ids=str)
def test_small_floats_compute_in_float32(dtype):
    x = np.linspace(-3, 3, 301).astype(dtype)
    got = run(lambda m, x: m.exp(m.sin(x)) * 3.3 - x, x)
    wide = x.astype("float32")
    expected = (np.exp(np.sin(wide)) * np.float32(3.3) - wide).astype(dtype)
    assert got.dtype == dtype
    assert (got == expected).mean() > 0.99
    np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=2.0 ** -7, atol=1e-2)


# Entries of integers, bools and complex numbers; and where some functions of floats are finite.
OTHERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "gcd", "lcm", "bit_count",
          "real", "imag", "complex", "modulus", "unit", "complex_maximum", "complex_minimum", "complex_tanh",
          "complex_tan", "complex_tanh_slope", "complex_tanhshrink"}
WITHIN_ONE = {"arccos", "arcsin", "arctanh", "erfinv", "erfcinv", "logit", "ndtri", "bernoulli_loss"}


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=on_cpu_build)])
@pytest.mark.parametrize("name", sorted({*vocabulary} - OTHERS))
def test_every_entry_runs_in_every_float_dtype(name, dtype):
    known = vocabulary[name]
    operands = [np.array([0.2, 0.5, 0.8] if name in WITHIN_ONE else [1.2, 1.5, 2.5], dtype) for _ in range(known.arity)]
    operands = [x if name in WITHIN_ONE else x + i for i, x in enumerate(operands)]
    if name == "where":
        operands[0] = operands[0] > 1
    got = call(name, *operands)
    assert got.shape == (3,)
    assert got.dtype == (dtype if known.result in ("same", "real") else known.result)
    assert np.isfinite(got.astype(float)).all()


@given(st.data())
def test_fused_program_broadcasts_and_gives_several_results(data):
    shapes = data.draw(arrays.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3, min_side=0))
    rng = np.random.default_rng(0)
    x, y, z = (rng.standard_normal(shape).astype("float32") for shape in shapes.input_shapes)
    total, first, constant = run(lambda m, x, y, z: (x * y + z, m.where(y > 0, x, 0), 2.5), x, y, z)
    wanted = np.broadcast_to(np.where(y > 0, x, np.float32(0)), shapes.result_shape)
    assert total.shape == first.shape == constant.shape == shapes.result_shape
    np.testing.assert_allclose(total, x * y + z, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(first, wanted)
    assert (constant == 2.5).all()


def test_literals_keep_infinity_nan_and_the_sign_of_zero():
    x = np.float32([1, 2])
    got = run(lambda m, x: (x * np.inf, x + np.nan, x * -0.0, x * 0.0), x)
    assert np.isposinf(got[0]).all()
    assert np.isnan(got[1]).all()
    assert np.signbit(got[2]).all()
    assert not np.signbit(got[3]).any()
    top = run(lambda m, x: m.maximum(x, 2**64 - 1), np.array([1], "uint64"))
    assert top.tolist() == [2**64 - 1]


def test_shapes_that_do_not_broadcast_raise_value_error():
    x, y = np.zeros(2, "float32"), np.zeros(3, "float32")
    with pytest.raises(ValueError, match="broadcast"):
        call("add", x, y)


def test_unknown_entry_names_the_remedy():
    program = Program(("float32",), (Step("input", (), "float32", 0), Step("nonesuch", (0,), "float32")), (1,),
                      ("float32",))
    with pytest.raises(DeviceError, match=r"nonesuch: not available on mlx\. Use \.to\('cpu'\)"):
        table.map(program, "nonesuch")


def test_dtypes_that_mlx_lacks_name_the_remedy(monkeypatch):
    with pytest.raises(DTypeError, match=r"map: complex128 .*astype\('complex64'\)"):
        table.map(type_program(trace(lambda m, x: x + x, 1), ["complex128"], table.NATIVE()), "add")
    monkeypatch.setattr(runtime, "ON_GPU", True)
    with pytest.raises(DTypeError, match=r"map: float64 .*astype\('float32'\)"):
        table.map(type_program(trace(lambda m, x: x + x, 1), ["float64"], table.NATIVE()), "add")
