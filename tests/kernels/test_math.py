"""The vocabulary against mpmath in 40 digits and against NumPy's special cases; bench/ulp.py measures it densely."""

import ctypes
import warnings

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb import config
from lucid_nb.kernels import intrinsics, math, store
from lucid_nb.kernels.math import circular

FLOATS = ("float32", "float64")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
mp = mpmath.mp.clone()
mp.dps = 40


def apply(name, *arrays, result=None):
    """The function `name`, element by element, by a kernel of the store."""
    names = [f"x{k}" for k in range(len(arrays))]
    text = (f"def kernel(count, {', '.join(names)}, y):\n    mark_kernel()\n    for i in range(count):\n"
            f"        y[i] = {name}({', '.join(x + '[i]' for x in names)})\n")
    found = getattr(intrinsics, name, None) or getattr(math, name)
    space = {name: found, "mark_kernel": intrinsics.mark_kernel}
    exec(text, space)
    arrays = [np.ascontiguousarray(a) for a in arrays]
    out = np.empty(arrays[0].shape, result or arrays[0].dtype)
    kinds = [a.dtype.name + "*" for a in (*arrays, out)]
    address = store.load(f"{kinds} {text}", lambda symbol: store.elementwise_object(space["kernel"], kinds, symbol))
    table = (ctypes.c_int64 * len(kinds))(*(a.ctypes.data for a in (*arrays, out)))
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)(out.size, ctypes.addressof(table))
    return out


def units(computed, exact):
    """Errors in ulp of the exact values, never of less than the smallest subnormal."""
    info = np.finfo(computed.dtype)
    bits, smallest = info.nmant + 1, info.minexp - info.nmant
    errors = []
    for y, e in zip(computed.tolist(), exact):
        if abs(e) >= mp.mpf(2) ** info.maxexp * (1 - mp.mpf(2) ** (-bits - 1)):
            errors.append(0.0 if y == float(mp.sign(e)) * np.inf else np.inf)
            continue
        exponent = mp.frexp(e)[1] - bits if e else smallest
        errors.append(float(abs(mp.mpf(y) - e) / mp.mpf(2) ** max(exponent, smallest)))
    return np.array(errors)


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def softplus(x):
    return x if x > 2000 else mp.log1p(mp.exp(x))


EXACT = {
    "exp": mp.exp, "expm1": mp.expm1, "log": mp.log, "log1p": mp.log1p, "sqrt": mp.sqrt, "sin": mp.sin, "cos": mp.cos,
    "sin_any": mp.sin, "cos_any": mp.cos, "tanh": mp.tanh, "erf": mp.erf, "erfc": mp.erfc, "softplus": softplus,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)), "logsigmoid": lambda x: -softplus(-x), "normal_cdf": normal_cdf,
    "normal_density": lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi), "gelu": lambda x: x * normal_cdf(x),
    "sigmoid_slope": lambda x: 1 / (2 * mp.cosh(x / 2)) ** 2, "tanh_slope": lambda x: 1 / mp.cosh(x) ** 2,
    "exp2": lambda x: mp.power(2, x), "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "tan": mp.tan,
    "tan_any": mp.tan, "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "sinh": mp.sinh, "cosh": mp.cosh,
    "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh, "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "sinc": mp.sincpi}
PAIRS = {"hypot": mp.hypot, "arctan2": mp.atan2, "logaddexp": lambda a, b: max(a, b) + mp.log1p(mp.exp(-abs(a - b))),
         "logaddexp2": lambda a, b: max(a, b) + mp.log1p(mp.power(2, -abs(a - b))) / mp.log(2)}
# The interval in which a function does something, by dtype.
SPANS = {"erfc": ((-4, 10.2), (-6, 27.3)), "erf": ((-5, 5), (-7, 7)), "tanh": ((-12, 12), (-22, 22)),
         "normal_cdf": ((-14.5, 6), (-38.6, 9)), "gelu": ((-14.5, 6), (-38.6, 9)), "log1p": ((-1, 9), (-1, 9)),
         "normal_density": ((-14.5, 14.5), (-38.6, 38.6)), "sin": ((-1e6, 1e6),) * 2, "cos": ((-1e6, 1e6),) * 2,
         "log": ((0, 5), (0, 5)), "sqrt": ((0, 5), (0, 5)), "sin_any": ((-1e30, 1e30),) * 2,
         "cos_any": ((-1e30, 1e30),) * 2, "tanh_slope": ((-52, 52), (-372, 372)), "tan": ((-1e5, 1e5),) * 2,
         "tan_any": ((-1e30, 1e30),) * 2, "arcsin": ((-1, 1),) * 2, "arccos": ((-1, 1),) * 2, "arctan": ((-9, 9),) * 2,
         "arctanh": ((-1, 1),) * 2, "arccosh": ((1, 99),) * 2, "log2": ((0, 5),) * 2, "log10": ((0, 5),) * 2,
         "exp2": ((-150, 128), (-1075, 1024)), "sinc": ((-9, 9),) * 2}
DEFAULT_SPAN = ((-104, 89), (-746, 710))
BUDGET = {"tanh_slope": 3.0, "sigmoid_slope": 3.0}           # a derivative may cost one more rounding; all others 2


def sample(name, dtype):
    """Points over the interval, over all exponents, next to zero and among the subnormals."""
    random = np.random.default_rng(7)
    low, high = SPANS.get(name, DEFAULT_SPAN)[dtype == "float64"]
    scales = 10.0 ** (random.uniform(-45, 2, 150) if dtype == "float32" else random.uniform(-320, 2, 150))
    near_one = 1 + random.uniform(-1, 1, 40) * 10.0 ** random.uniform(-7, -1, 40)
    points = np.concatenate([random.uniform(low, high, 300), scales, -scales, near_one, np.arange(-8, 9) / 4])
    return points[(points >= low) & (points <= high) & ~((points == -1) & (name == "log1p"))].astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EXACT)
def test_functions_are_within_two_units(name, dtype):
    points = sample(name, dtype)
    points = points[points > 0] if name in ("log", "log2", "log10") else points
    points = points[abs(points) < 1] if name == "arctanh" else points
    errors = units(apply(f"{name}_{dtype}", points), [EXACT[name](mp.mpf(x)) for x in points.tolist()])
    worst = int(np.argmax(errors))
    assert errors[worst] <= BUDGET.get(name, 2.0), (points[worst], errors[worst])


@pytest.mark.parametrize("dtype", FLOATS)
def test_power_is_within_two_units(dtype):
    random = np.random.default_rng(3)
    base = np.exp((random.normal(0, 3, 600) ** 3).clip(-80, 80)).astype(dtype)
    reach = 140 if dtype == "float32" else 1060
    exponent = (random.uniform(-reach, reach, 600) / np.log2(base.astype(float))).astype(dtype)
    exact = [mp.mpf(a) ** mp.mpf(b) for a, b in zip(base.tolist(), exponent.tolist())]
    assert units(apply(f"power_{dtype}", base, exponent), exact).max() <= 2


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_numbers_are_within_two_units(name, dtype):
    """At all distances; where logaddexp cancels, in units of its larger term."""
    random = np.random.default_rng(3)
    scale = 1.0 if "log" in name else 10.0 ** random.uniform(-44, 37, 600)
    a = (random.uniform(-30, 30, 600) * scale).astype(dtype)
    b = (a + random.normal(0, 1, 600) * 10.0 ** random.uniform(-6, 1.5, 600) * scale).astype(dtype)
    exact = [PAIRS[name](mp.mpf(x), mp.mpf(y)) for x, y in zip(a.tolist(), b.tolist())]
    errors = units(apply(f"{name}_{dtype}", a, b), exact)
    if "log" in name:
        errors *= [float(min(1, abs(e) / abs(max(x, y)))) for e, x, y in zip(exact, a.tolist(), b.tolist())]
    assert errors.max() <= 2


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logaddexp_of_numbers_far_apart_is_the_larger(name, dtype):
    """Where rounding their distance loses more than the distance at which the smaller vanishes."""
    random = np.random.default_rng(5)
    a, b = (np.exp(random.uniform(5, 87 if dtype == "float32" else 708, (2, 400))) *
            random.choice([-1, 1], (2, 400))).astype(dtype)
    is_far = abs(a.astype("longdouble") - b) > 2000
    np.testing.assert_array_equal(apply(f"{name}_{dtype}", a, b)[is_far], np.maximum(a, b)[is_far])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "x", "expected"), [
    ("cbrt", np.arange(-50.0, 51) ** 3, np.arange(-50.0, 51)), ("log10", 10.0 ** np.arange(11), np.arange(11)),
    ("log2", 2.0 ** np.arange(-149, 128), np.arange(-149, 128)),
    ("exp2", np.arange(-149, 128), 2.0 ** np.arange(-149, 128)),
    ("sinc", np.array([0.0, 1, -2, 3, 1e9, 1e30]), np.array([1.0, 0, 0, 0, 0, 0]))])
def test_whole_results_are_exact(name, x, expected, dtype):
    np.testing.assert_array_equal(apply(f"{name}_{dtype}", x.astype(dtype)), expected.astype(dtype))


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
NUMPY = {"exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin,
         "cos": np.cos, "sin_any": np.sin, "cos_any": np.cos, "tanh": np.tanh, "absolute": np.abs, "floor": np.floor,
         "ceil": np.ceil, "truncate": np.trunc, "round_even": np.rint, "frexp_mantissa": lambda x: np.frexp(x)[0],
         "exp2": np.exp2, "log2": np.log2, "log10": np.log10, "tan": np.tan, "tan_any": np.tan, "arcsin": np.arcsin,
         "arccos": np.arccos, "arctan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "arcsinh": np.arcsinh,
         "arccosh": np.arccosh, "arctanh": np.arctanh, "cbrt": np.cbrt, "sinc": np.sinc}


def same(a, b):
    """Equal with sign, NaN equal to NaN."""
    return np.all((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b))))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NUMPY)
def test_special_values_are_those_of_numpy(name, dtype):
    rounds = name[:3] in ("exp", "sin", "cos", "tan", "arc")          # at one, unlike the others and unlike at zero
    special = SPECIAL[:5] if rounds or name == "log1p" else SPECIAL
    with np.errstate(all="ignore"):
        expected = NUMPY[name](special.astype(dtype))
    found = apply(f"{name}_{dtype}", special.astype(dtype))
    if name[:3] == "arc":                                             # pi / 2, or what is not real at zero
        np.testing.assert_allclose(found, expected, rtol=2 * np.finfo(dtype).eps)
    assert same(found, np.where(np.isfinite(expected) & (expected != 0) & (name[:3] == "arc"), found, expected))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", PAIRS)
def test_special_values_of_two_numbers_are_those_of_numpy(name, dtype):
    info = np.finfo(dtype)
    values = np.array([*SPECIAL, 2.5, info.max, -info.max, info.tiny, info.smallest_subnormal, -info.tiny], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    found = apply(f"{name}_{dtype}", a, b)
    finite = np.isfinite(expected) & (expected != 0)
    assert same(found[~finite], expected[~finite])
    np.testing.assert_allclose(found[finite], expected[finite], rtol=4 * info.eps, atol=2 * info.smallest_subnormal)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "at_zero", "at_infinity", "at_minus_infinity"), [
    ("erf", 0, 1, -1), ("erfc", 1, 0, 2), ("sigmoid", 0.5, 1, 0), ("softplus", None, np.inf, 0),
    ("normal_cdf", 0.5, 1, 0), ("logsigmoid", None, 0, -np.inf), ("gelu", 0, np.inf, 0), ("sigmoid_slope", 0.25, 0, 0),
    ("tanh_slope", 1, 0, 0)])
def test_limits_are_exact(name, at_zero, at_infinity, at_minus_infinity, dtype):
    y = apply(f"{name}_{dtype}", np.array([0.0, np.inf, -np.inf, np.nan], dtype))
    assert at_zero is None or y[0] == at_zero
    assert (y[1], y[2]) == (at_infinity, at_minus_infinity)
    assert np.isnan(y[3])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["expm1", "log1p", "sin", "tanh", "erf", "gelu", "tan", "arcsin", "arctan", "sinh",
                                  "arcsinh", "arctanh", "cbrt"])
def test_odd_functions_keep_the_sign_of_zero(name, dtype):
    assert np.signbit(apply(f"{name}_{dtype}", np.array([0.0, -0.0], dtype))).tolist() == [False, True]


@pytest.mark.parametrize("dtype", FLOATS)
def test_power_has_the_special_cases_of_numpy(dtype):
    values = np.array([0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 2.5, -1.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40,
                       1e30, -1e30, 16777217.0, -16777215.0, 1 - 2.0 ** -24, 1 + 2.0 ** -23]).astype(dtype)
    base, exponent = (a.ravel() for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = np.power(base, exponent)
    y = apply(f"power_{dtype}", base, exponent)
    finite = np.isfinite(expected) & (expected != 0)
    assert same(y[~finite], expected[~finite])
    info = np.finfo(dtype)
    np.testing.assert_allclose(y[finite], expected[finite], rtol=4 * info.eps, atol=2 * info.smallest_subnormal)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_slow_path_agrees_in_every_bit_below_the_limit(name, dtype):
    x = (np.random.default_rng(1).uniform(-1, 1, 5000) * math.NEEDS_SLOW_PATH[name]).astype(dtype)
    np.testing.assert_array_equal(apply(f"{name}_{dtype}", x), apply(f"{name}_any_{dtype}", x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["sin_any", "cos_any", "tan_any"])
def test_circular_functions_of_huge_arguments_are_exact(name, dtype):
    info = np.finfo(dtype)
    hardest = 6381956970095103 * 2.0 ** 797 if dtype == "float64" else 16367173 * 2.0 ** 72    # nearest to n pi / 2
    powers = 2.0 ** np.arange(20, info.maxexp, 7)
    x = np.array([1e7, -1e10, 1e22, 3e38, info.max, -info.max, hardest, *powers]).astype(dtype)
    with mpmath.workdps(400):
        exact = [mp.mpf(getattr(mpmath, name[:3])(x)) for x in x.tolist()]
    assert units(apply(f"{name}_{dtype}", x), exact).max() <= 2


def test_two_over_pi_is_right():
    bits = 4 * len(circular.DIGITS)
    with mpmath.workprec(bits + 200):
        assert int(circular.DIGITS, 16) == int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, bits)))


@pytest.mark.parametrize(("name", "x", "expected"), [
    ("sigmoid", -95.0, 5.5209e-42), ("sigmoid_slope", 20.0, 2.061153614e-9), ("tanh_slope", 20.0, 1.699341702e-17),
    ("gelu", -13.0, -7.9523e-38), ("normal_cdf", -10.0, 7.619853e-24)])
def test_tails_are_kept_in_single_precision(name, x, expected):
    assert apply(f"{name}_float32", np.array([x], np.float32))[0] == pytest.approx(expected, rel=2e-5)


# ------------------------------------------------------------------------------------------------------ frexp, division
@pytest.mark.parametrize("dtype", FLOATS)
def test_frexp_is_that_of_numpy(dtype):
    x = np.concatenate([sample("exp", dtype), SPECIAL[:5].astype(dtype), np.array([np.finfo(dtype).max], dtype)])
    mantissa, exponent = np.frexp(x)
    assert same(apply(f"frexp_mantissa_{dtype}", x), mantissa)
    finite = np.isfinite(x)
    np.testing.assert_array_equal(apply(f"frexp_exponent_{dtype}", x, result="int32")[finite], exponent[finite])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_real_division_is_that_of_numpy(name, dtype):
    random = np.random.default_rng(5)
    values = np.array([0.0, -0.0, 1, -1, 3, -3, 0.5, -1.5, 7.3, -7.3, 0.1, -0.1, np.inf, -np.inf, np.nan, 1e-40, 1e30])
    values = values.astype(dtype)
    first, second = (a.ravel() for a in np.meshgrid(values, values))
    wide = (random.standard_normal((2, 1000)) * 10.0 ** random.integers(-30, 30, (2, 1000))).astype(dtype)
    a, b = np.concatenate([first, wide[0]]), np.concatenate([second, wide[1]])
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    assert same(apply(f"{name}_any_{dtype}", a, b), expected)


# ------------------------------------------------------------------------------------------------------ integers
def integers(dtype, count=40):
    """All pairs of the extremes, small numbers and some others."""
    info = np.iinfo(dtype)
    few = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3, 7, *([-1, -2, -3] if info.min else [])]
    others = np.random.default_rng(2).integers(info.min, info.max, count, dtype, True)
    values = np.concatenate([np.array(few, dtype), others])
    return [a.ravel() for a in np.meshgrid(values, values)]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_functions_are_those_of_numpy(dtype):
    a, b = integers(dtype)
    exponent = (b.astype(object) % 70).astype(dtype)
    with np.errstate(all="ignore"):
        for name in ("floor_divide", "remainder"):
            np.testing.assert_array_equal(apply(f"{name}_{dtype}", a, b), getattr(np, name)(a, b), err_msg=name)
        np.testing.assert_array_equal(apply(f"power_{dtype}", a, exponent), np.power(a, exponent))
        for name in ("absolute", "sign"):
            np.testing.assert_array_equal(apply(f"{name}_{dtype}", a), getattr(np, name)(a), err_msg=name)


# ------------------------------------------------------------------------------------------------------ complex numbers
COMPLEX = {"complex64": "float32", "complex128": "float64"}
FEW = ("exp", "sqrt", "tan", "arccosh")        # of complex64, which goes through complex128, in every run
UNARY = {"exp": mp.exp, "log": mp.log, "sqrt": mp.sqrt, "sin": mp.sin, "cos": mp.cos, "tanh": mp.tanh,
         "exp2": lambda z: mp.exp(z * mp.log(2)), "expm1": mp.expm1, "log1p": mp.log1p, "tan": mp.tan, "sinh": mp.sinh,
         "log2": lambda z: mp.log(z) / mp.log(2), "log10": lambda z: mp.log(z) / mp.log(10), "cosh": mp.cosh,
         "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "arcsinh": mp.asinh, "arccosh": mp.acosh,
         "arctanh": mp.atanh}


COMPLEX_CASES = [pytest.param(name, dtype, id=f"{name}-{dtype}", marks=[] if dtype == "complex128" or name in FEW
                              else pytest.mark.sweep) for name in UNARY for dtype in COMPLEX]


@pytest.mark.parametrize(("name", "dtype"), COMPLEX_CASES)
def test_complex_functions_are_within_three_epsilon(name, dtype):
    random = np.random.default_rng(6)
    z = (random.standard_normal(300) + 1j * random.standard_normal(300)) * 10.0 ** random.integers(-3, 3, 300)
    z = z.astype(dtype)
    exact = [UNARY[name](mp.mpc(x)) for x in z.tolist()]
    found = [mp.mpc(y) for y in apply(f"{name}_{dtype}", z).tolist()]
    errors = [abs(y - e) / abs(e) for y, e in zip(found, exact) if 1e-30 < abs(e) < 1e30]
    assert len(errors) > 200
    assert max(errors) <= 3 * np.finfo(dtype).eps


@pytest.mark.parametrize(("name", "dtype"), COMPLEX_CASES)
def test_complex_special_values_are_those_of_numpy(name, dtype):
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -20.0, np.inf, -np.inf, np.nan]
    z = np.array([complex(a, b) for a in parts for b in parts], dtype)
    with np.errstate(all="ignore"):
        found, expected = apply(f"{name}_{dtype}", z), getattr(np, name)(z)
        if name == "expm1":              # NumPy's has NaN where C and the array API's standard have exp's, less 1
            expected = np.where(np.isfinite(z), expected, np.exp(z) - 1)
    for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_allclose(a, b, rtol=8 * np.finfo(dtype).eps)
        numbers = ~np.isnan(b) & ~((b == 0) & (np.isnan(z) | np.isinf(z)))      # C leaves the sign of such zeros open
        np.testing.assert_array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["arctan", "arctanh"])
def test_nan_beside_a_huge_part_is_nan(name, dtype):
    z = np.array([complex(a, b) for a in (1e30, -1e30, np.nan) for b in (1e30, -1e30, np.nan)], dtype)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    np.testing.assert_allclose(apply(f"{name}_{dtype}", z), expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_exp2_turns_by_any_angle(dtype):
    """Beyond 2**52 even the rest of the angle, a sum of two, is many turns."""
    z = np.array([710j, 1e9j - 2, 1e14j, 1e17j, 1e30j, 1e38j], dtype)
    found = apply(f"exp2_{dtype}", z).astype("complex128")
    np.testing.assert_allclose(abs(found), 2.0 ** z.real, rtol=4 * np.finfo(dtype).eps)
    with mp.workdps(60):
        exact = [complex(mp.power(2, mp.mpc(w))) for w in z[:3].tolist()]
    np.testing.assert_allclose(found[:3], exact, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("dtype", "real"), COMPLEX.items())
def test_complex_absolute_does_not_overflow(dtype, real):
    info = np.finfo(real)
    values = [3 + 4j, info.max * (0.5 + 0.5j), info.smallest_subnormal * (3 + 4j), complex(np.nan, -np.inf), 0]
    z = np.array(values, dtype)
    with np.errstate(all="ignore"):
        expected = np.abs(z)
    np.testing.assert_allclose(apply(f"modulus_{dtype}", z, result=real), expected, rtol=2 * info.eps)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_power_is_that_of_numpy(dtype):
    random = np.random.default_rng(8)
    z, w = (random.standard_normal((2, 500)) + 1j * random.standard_normal((2, 500))).astype(dtype)
    for exponent in (w, *[np.full_like(w, n) for n in (0, 1, 2, -3, 7)]):
        np.testing.assert_allclose(apply(f"power_{dtype}", z, exponent), z ** exponent, rtol=50 * np.finfo(dtype).eps)
    parts = [0.0, -0.0, 1.0, -0.5, 3.0, np.inf, -np.inf, np.nan]
    points = np.array([complex(a, b) for a in parts for b in parts], "complex128")
    z, w = (grid.ravel().astype(dtype) for grid in np.meshgrid(points, points))
    with np.errstate(all="ignore"):
        found, expected = apply(f"power_{dtype}", z, w), z ** w
    for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_array_equal(a[np.isinf(b)], b[np.isinf(b)])


# ------------------------------------------------------------------------------------------------------ half floats
@pytest.fixture(params=["auto", 128], ids=["by the CPU", "by integers"])
def width(request):
    """Both ways of converting half floats: 128-bit vectors are compiled without the instructions for them."""
    before, config.vector_width = config.vector_width, request.param
    yield
    config.vector_width = before


def test_half_floats_widen_as_in_numpy(width):
    words = np.arange(65536, dtype=np.uint16)
    expected = words.view(np.float16).astype(np.float32)
    assert same(apply("half_to_float", words, result="float32"), expected)


def test_floats_narrow_to_half_as_in_numpy(width):
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = halves[np.isfinite(halves)]
    random = np.random.default_rng(4).integers(0, 2 ** 32, 200000, np.uint32).view(np.float32)
    x = np.concatenate([halves, finite[:-1] + (finite[1:] - finite[:-1]) / 2, random, finite * np.float32(1.0000001),
                        np.array([65519.996, 65520.0, 5.96e-8, 2.98e-8, 2.9802322e-08, 2.98023259e-08], np.float32)])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    assert same(apply("float_to_half", x, result="uint16").view(np.float16), expected)


def test_bfloat16_converts_as_in_ml_dtypes():
    words = np.arange(65536, dtype=np.uint16)
    assert same(apply("bfloat16_to_float", words, result="float32"), words.view(ml_dtypes.bfloat16).astype(np.float32))
    x = np.random.default_rng(4).integers(0, 2 ** 32, 200000, np.uint32).view(np.float32)
    x = np.concatenate([x, SPECIAL.astype(np.float32), np.float32([1.00390625, 1.01171875, 3.4e38])])
    with np.errstate(all="ignore"):
        expected = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    found = apply("float_to_bfloat16", x, result="uint16").view(ml_dtypes.bfloat16).astype(np.float32)
    assert same(found, expected)


# ------------------------------------------------------------------------------------------------------ properties
@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_sigmoids_of_opposite_arguments_add_to_one(xs):
    x = np.array(xs, np.float32)
    total = apply("sigmoid_float32", x) + apply("sigmoid_float32", -x)
    assert np.all((np.abs(total - 1) <= 2e-7) | np.isnan(x))


@given(st.lists(st.floats(), min_size=1, max_size=50))
def test_values_do_not_depend_on_place_or_length(xs):
    x = np.array(xs)
    whole = apply("gelu_float64", np.concatenate([x, np.zeros(37), x]))
    assert same(whole[:len(x)], apply("gelu_float64", x)) and same(whole[-len(x):], whole[:len(x)])


def test_namespace_holds_both_precisions_of_every_entry():
    names = set(math.namespace())
    assert all(name[:-2] + "64" in names for name in names if name.endswith("float32"))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = math.nothing
