"""Printed kernels against NumPy, SciPy and float64."""

import ml_dtypes
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import lucid_nb.cuda as table
from lucid_nb import program
from lucid_nb.cuda import complex as complex_functions
from lucid_nb.cuda import elementwise
from lucid_nb.cuda.copy import _cast
from lucid_nb.expr import trace

pytestmark = pytest.mark.cuda_simulator
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
X = np.array([-95, -60, -3, -0.5, -0.0, 0, 0.3, 2.5, 60, np.inf, -np.inf, np.nan, 1e-42, 1e38], "float32")


def apply(formula, *hosts):
    """The formula on the device, from host arrays to host arrays."""
    outputs = trace(formula, len(hosts))
    typed = program.type_program(outputs, [host.dtype.name for host in hosts], table.NATIVE())
    result = table.map(typed, "formula")(*(table.from_numpy(host) for host in hosts))
    return tuple(map(table.to_numpy, result)) if isinstance(result, tuple) else table.to_numpy(result)


ORACLES = dict(
    exp=np.exp, expm1=np.expm1, log=np.log, log1p=np.log1p, sqrt=np.sqrt, sin=np.sin, cos=np.cos, tanh=np.tanh,
    erf=scipy.special.erf, erfc=scipy.special.erfc, absolute=np.abs, sign=np.sign, negative=np.negative,
    sigmoid=scipy.special.expit, softplus=lambda x: np.logaddexp(x, 0), logsigmoid=scipy.special.log_expit,
    normal_cdf=scipy.special.ndtr, frexp_mantissa=lambda x: np.frexp(x)[0])


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_function_agrees_with_its_oracle(name, dtype):
    x = X[np.isfinite(X) | np.isnan(X) | (name not in ("sin", "cos"))].astype(dtype)
    got = apply(lambda m, x: getattr(m, name)(x), x)
    with np.errstate(all="ignore"):
        expected = ORACLES[name](x.astype("float64")).astype(dtype)
    assert got.dtype == expected.dtype
    tolerance = 5e-7 if dtype == "float32" or name == "normal_cdf" else 1e-15
    if name == "normal_cdf":
        x, got, expected = x[np.abs(x) != np.inf], got[np.abs(x) != np.inf], expected[np.abs(x) != np.inf]
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=1e-44)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_equals_numpy_on_every_pair(name, dtype):
    x = X.astype(dtype)
    got = apply(lambda m, a, b: getattr(m, name)(a, b), x[:, None], x)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x[:, None], x)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["greater", "greater_equal", "less", "less_equal", "equal", "not_equal"])
def test_comparison_gives_bool(name):
    got = apply(lambda m, a, b: getattr(m, name)(a, b), X[:, None], X)
    assert got.dtype == bool
    np.testing.assert_array_equal(got, getattr(np, name)(X[:, None], X))


def test_absorbing_product_and_quotient():
    g, d = X[:, None].astype("float64"), X.astype("float64")
    product = apply(lambda m, g, d: m.absorbing_product(g, d), g, d)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(product, np.where((g == 0) | (d == 0), 0, g * d))
        quotient = apply(lambda m, g, d: m.absorbing_quotient(g, d), g, d)
        np.testing.assert_array_equal(quotient, np.where((g == 0) | np.isinf(d), 0, g / d))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum", "negative", "absolute", "sign"])
def test_integers_wrap_as_numpy(name, dtype):
    bounds = np.iinfo(dtype)
    x = np.array([0, 1, 3, 100, bounds.max, bounds.min, bounds.max - 5], dtype)
    hosts = (x,) if name in ("negative", "absolute", "sign") else (x[:, None], x)
    got = apply(lambda m, *args: getattr(m, name)(*args), *hosts)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*hosts)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_integer_power_wraps_as_numpy():
    base, exponent = np.arange(-6, 7, dtype="int32")[:, None], np.array([0, 1, 2, 3, 7, 13], "int32")
    np.testing.assert_array_equal(apply(lambda m, a, b: m.power(a, b), base, exponent), base ** exponent)


def test_bool_programs_and_conditions():
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    np.testing.assert_array_equal(apply(lambda m, a, b: m.maximum(a, b), a, b), a | b)
    np.testing.assert_array_equal(apply(lambda m, a, b: a * b, a, b), a & b)
    x = np.array([1, 2, 3, 4], "int16")
    np.testing.assert_array_equal(apply(lambda m, c, x: m.where(c, x, -x), a, x), np.where(a, x, -x))


IN_NUMPY = {"modulus": "absolute", "unit": "sign"}


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh", "modulus", "unit", "negative"])
def test_complex_functions_agree_with_numpy(name):
    z = np.array([1 + 2j, -0.5 + 0.25j, 0.3 - 1j, 2, -3j], "complex64")
    got = apply(lambda m, z: getattr(m, name)(z), z)
    expected = getattr(np, IN_NUMPY.get(name, name))(z)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["modulus", "sin", "cos", "tanh"])
def test_complex_functions_written_for_the_device_agree_with_numpy(name):
    z = np.array([1 + 2j, -0.5 + 0.25j, 0.3 - 1j, 0, 2, -3j, 15 + 1j, -25 + 2j, 300 - 1j if name == "tanh" else 1])
    got = np.array([complex_functions.written("complex128")[name](one) for one in z])
    np.testing.assert_allclose(got, getattr(np, IN_NUMPY.get(name, name))(z), rtol=1e-13)


def test_complex_power_written_for_the_device_agrees_with_numpy():
    a, b = np.array([1 + 2j, -0.5, 0, 2j]), np.array([2, 0.5 - 1j, 0, -3])
    power = complex_functions.written("complex128")["power"]
    np.testing.assert_allclose([[power(x, y) for y in b] for x in a[:2]], a[:2, None] ** b, rtol=1e-13)
    assert power(a[2], b[0]) == 0 and power(a[2], b[2]) == 1


def test_complex_arithmetic_agrees_with_numpy():
    z = np.array([1 + 2j, -0.5 + 0.25j, 0.3 - 1j, 2, -3j], "complex128")
    got = apply(lambda m, a, b: a * b - a / b + m.conjugate(a), z[:, None], z)
    np.testing.assert_allclose(got, z[:, None] * z - z[:, None] / z + z[:, None].conj(), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", BFLOAT16], ids=str)
def test_halves_compute_in_float32_and_round_once(dtype):
    x = np.linspace(-4, 4, 33).astype(dtype)
    got = apply(lambda m, x: m.exp(x) * x + 1, x)
    wide = x.astype("float32")
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, (np.exp(wide) * wide + np.float32(1)).astype(dtype))


def test_several_results_and_mixed_inputs():
    x, y = np.array([1, 5, 9], "float32"), np.array([2, 2, 2], "float64")
    total, larger = apply(lambda m, x, y: (x + y, x > y), x, y)
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(larger, x > y)


@given(data=st.data())
def test_broadcast_and_strided_operands_equal_numpy(data):
    shapes = data.draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3, min_side=0))
    hosts, devices = [], []
    for seed, shape in enumerate(shapes.input_shapes):
        host = np.random.default_rng(seed).standard_normal([size + 1 for size in shape])
        index = tuple(slice(size, None, -1) if size and flip else slice(size) for size, flip in
                      zip(shape, data.draw(st.tuples(*[st.booleans()] * len(shape)))))
        index = tuple(slice(size, 0, -1) if s.step else s for s, size in zip(index, shape))
        hosts.append(host[index])
        devices.append(table.slice(table.from_numpy(host), index))
    outputs = trace(lambda m, a, b: a * b + a, 2)
    got = table.map(program.type_program(outputs, ["float64"] * 2, table.NATIVE()), "f")(*devices)
    assert got.shape == shapes.result_shape
    np.testing.assert_allclose(table.to_numpy(got), hosts[0] * hosts[1] + hosts[0], rtol=1e-15)


def test_eight_axes_that_do_not_merge():
    host = np.arange(2.0**8).reshape((2,) * 8)
    device = table.permute(table.from_numpy(host), tuple(range(7, -1, -1)))
    outputs = trace(lambda m, a, b: a - 2 * b, 2)
    got = table.map(program.type_program(outputs, ["float64"] * 2, table.NATIVE()), "f")(device, table.from_numpy(host))
    np.testing.assert_array_equal(table.to_numpy(got), host.T - 2 * host)


def test_one_value_and_an_offset_are_read_by_one_launch(monkeypatch):
    host = np.arange(10, dtype="float32")
    view = table.slice(table.from_numpy(host), (slice(2, 7),))
    scalar = table.slice(table.from_numpy(host), (3,))
    launch, launched = elementwise.runtime.launch, []
    monkeypatch.setattr(elementwise.runtime, "launch", lambda *args: (launched.append(args[0]), launch(*args)))
    outputs = trace(lambda m, a, b: a * b, 2)
    got = table.map(program.type_program(outputs, ["float32"] * 2, table.NATIVE()), "f")(view, scalar)
    assert len(launched) == 1
    np.testing.assert_array_equal(table.to_numpy(got), host[2:7] * host[3])


# ------------------------------------------------------------------------------------------- accesses of 16 bytes
def forms(monkeypatch):
    """A list that fills with the form of every kernel that is asked for."""
    asked, compiled = [], elementwise._compiled
    elementwise.kernels.cache_clear()       # programs remember what they did for a geometry
    _cast.cache_clear()

    def note(program, form):
        asked.append(form)
        return compiled(program, form)
    monkeypatch.setattr(elementwise, "_compiled", note)
    return asked


DTYPES = ["bool", "int8", "uint16", "float16", BFLOAT16, "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("start, size", [(0, 32), (3, 32), (1, 61), (0, 3), (16, 1)])
def test_vectors_have_single_elements_before_and_behind(dtype, start, size, monkeypatch):
    asked = forms(monkeypatch)
    host = np.random.default_rng(0).integers(0, 9, (2, 80)).astype(dtype)
    a, b = (table.slice(table.from_numpy(row), (slice(start, start + size),)) for row in host)
    target = table.slice(table.from_numpy(np.zeros(80, dtype)), (slice(start, start + size),))
    typed = program.type_program(trace(lambda m, x, y: x * y + x, 2), [host.dtype.name] * 2, table.NATIVE())
    elementwise.kernels(typed).run((size,), [a, b, target])
    x, y = host[:, start:start + size]
    np.testing.assert_array_equal(table.to_numpy(target), x * y + x)
    width = max(1, 16 // host.dtype.itemsize)
    assert asked[0] == elementwise.Form((True,) * 3, width if size >= width else 1)


def test_operands_that_are_never_aligned_at_once_go_one_by_one(monkeypatch):
    asked = forms(monkeypatch)
    host = np.arange(40, dtype="float32")
    got = table.map(program.type_program(trace(lambda m, a, b: a - b, 2), ["float32"] * 2, table.NATIVE()), "f")(
        table.slice(table.from_numpy(host), (slice(1, 21),)), table.slice(table.from_numpy(host), (slice(2, 22),)))
    np.testing.assert_array_equal(table.to_numpy(got), host[1:21] - host[2:22])
    assert asked[0].width == 1


def test_dtypes_of_several_widths_share_the_neighbours_of_the_widest(monkeypatch):
    asked = forms(monkeypatch)
    half, double = np.arange(33).astype("float16"), np.linspace(0, 1, 33)
    larger, total = apply(lambda m, x, y: (x > y, x + y), half, double)
    np.testing.assert_array_equal(larger, half > double)
    np.testing.assert_array_equal(total, half + double)
    assert asked[0] == elementwise.Form((True,) * 4, 2)


@pytest.mark.parametrize("dtype, cols, width", [
    ("float32", 8, 4), ("float32", 6, 1), ("float16", 8, 8), ("int8", 8, 1)])
def test_rows_are_read_in_vectors_where_all_of_them_are_aligned(dtype, cols, width, monkeypatch):
    asked = forms(monkeypatch)
    generator = np.random.default_rng(1)
    x, bias, scale = (generator.integers(-9, 9, shape).astype(dtype) for shape in ((3, 2, cols), cols, (3, 1, 1)))
    got = apply(lambda m, x, b, s: x * s + b, x, bias, scale)
    np.testing.assert_array_equal(got, x * scale + bias)
    form = asked[0]
    assert form.width == width and form.ndim == 3 and not form.is_wide
    assert form.rows == ((True, True, False, True) if width > 1 else (True,) * 4)


def test_what_is_one_for_all_neighbours_is_computed_once():
    typed = program.type_program(trace(lambda m, x, s: x * m.exp(s), 2), ["float32"] * 2, table.NATIVE())
    assert elementwise.flat_source(typed, elementwise.Form((True, False, True), 4)).count("exp_float32") == 2


def test_places_beyond_two_to_the_31_are_counted_in_64_bits(monkeypatch):
    asked, launched = forms(monkeypatch), []
    monkeypatch.setattr(elementwise.runtime, "launch", lambda *args: launched.append(args))
    raw = table.from_numpy(np.zeros(4, "int8"))
    operands = [table.as_strided(raw, (2**20, 2**12), strides) for strides in ((1, 0), (2**12, 1))]
    typed = program.type_program(trace(lambda m, x: -x, 1), ["int8"], table.NATIVE())
    elementwise.kernels(typed).run((2**20, 2**12), operands)
    small = [table.as_strided(raw, (2**18, 2**12), strides) for strides in ((1, 0), (2**12, 1))]
    elementwise.kernels(typed).run((2**18, 2**12), small)
    assert [form.is_wide for form in asked] == [True, False]
    assert [args[3] for args in launched] == [2**32 // 16, 2**30 // 16] and launched[0][4] == 2**12 // 16


@given(size=st.integers(1, 2**31 - 1), number=st.integers(0, 2**31 - 1))
def test_a_multiplier_and_a_shift_divide_as_integers_do(size, number):
    multiplier, shift, _ = map(int, elementwise._divisor(size))
    assert multiplier < 2**32
    for dividend in {number, 2**31 - 1, number // size * size, max(number // size * size - 1, 0)}:
        assert dividend * multiplier >> shift == dividend // size


def test_a_geometry_is_planned_once(monkeypatch):
    asked = forms(monkeypatch)
    for start in (0, 1, 0, 1, 4):
        host = np.arange(40, dtype="float32")
        view = table.slice(table.from_numpy(host), (slice(start, start + 20),))
        got = table.map(program.type_program(trace(lambda m, a: a * a, 1), ["float32"], table.NATIVE()), "f")(view)
        np.testing.assert_array_equal(table.to_numpy(got), host[start:start + 20] ** 2)
    squares = [form for form in asked if len(form.rows) == 2]
    assert [form.width for form in squares[:2]] == [4, 1] and len(squares) == 2


def test_wide_places_give_the_same_as_narrow_ones(monkeypatch):
    host = np.arange(60.0).reshape(3, 4, 5)
    view = table.slice(table.from_numpy(host), (slice(None, None, -1), slice(1, None), slice(None, None, 2)))
    monkeypatch.setattr(elementwise, "NARROW", 0)
    asked = forms(monkeypatch)
    np.testing.assert_array_equal(table.to_numpy(view), host[::-1, 1:, ::2])
    assert asked[0].is_wide
