"""Elementwise kernels on large and small arrays: one value for every layout, size, alignment and number of threads."""

import itertools
import platform
import threading as workers

import ml_dtypes
import numpy as np
import pytest
from reported import conditions

from lucid_nb import config, expr
from lucid_nb.kernels import compiler, elementwise
from lucid_nb.program import type_program

BIG = 3 * elementwise.GRAIN + 17


def kernel(formula, dtypes, name="probe", warns=False):
    """A compiled formula."""
    outputs = expr.trace(formula, len(dtypes))
    return elementwise.kernel(type_program(outputs, dtypes, elementwise.native(), warns), name)


def add():
    return kernel(lambda m, x, y: x + y, ["float32"] * 2, "add")


LAYOUTS = {
    "row": lambda d: (d.random((700, 300), "f4"), d.random(300, "f4")),
    "column": lambda d: (d.random((700, 300), "f4"), d.random((700, 1), "f4")),
    "row and column": lambda d: (d.random(700, "f4"), d.random((300, 1), "f4")),
    "transposed": lambda d: (d.random((300, 700), "f4").T, d.random((300, 700), "f4").T),
    "across": lambda d: (d.random((400, 400), "f4"), d.random((400, 400), "f4").T),
    "reversed": lambda d: (d.random((700, 300), "f4")[::-1, ::-1], d.random((700, 300), "f4")),
    "strided": lambda d: (d.random((1400, 600), "f4")[::2, ::2], d.random((700, 300), "f4")),
    "offset": lambda d: (d.random(BIG + 3, "f4")[3:], d.random(BIG + 1, "f4")[1:]),
    "scalar": lambda d: (d.random((700, 300), "f4"), np.array(d.random(), "f4")),
    "middle axis": lambda d: (d.random((40, 50, 60), "f4"), d.random((40, 1, 60), "f4")),
    "three axes across": lambda d: (d.random((40, 50, 60), "f4"), d.random((60, 50, 40), "f4").T),
    "single": lambda d: (d.random((BIG,), "f4"), d.random((1, 1), "f4")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_arrays_of_any_layout_give_numpys_bits(layout, draw, count):
    x, y = LAYOUTS[layout](draw)
    found = add().large(x, y)
    assert found.shape == (x + y).shape and found.dtype == np.float32 and (found == x + y).all()
    assert (add().large(x, y) == found).all()                 # the walk is remembered


def test_large_result_has_the_axis_order_of_its_operand(draw):
    x = draw.random((300, 700), "f4").T
    assert add().large(x, x).flags.f_contiguous
    assert add().large(np.ascontiguousarray(x), x).flags.c_contiguous


def test_exp_has_the_same_bits_in_every_layout_and_size(draw, count):
    exp = kernel(lambda m, x: m.exp(x), ["float32"], "exp")
    x = draw.standard_normal((500, 301)).astype("f4")
    expected = exp.large(x)
    assert (exp.large(x.T) == expected.T).all() and (exp.large(x[::-1, 1:]) == expected[::-1, 1:]).all()
    assert all((exp.small(x[i]) == expected[i]).all() for i in range(0, 500, 61))
    assert all(exp.small(x[7, j:j + 1])[0] == expected[7, j] for j in range(0, 301, 11))


def test_two_results_and_float16_on_large_arrays(draw, count):
    both = kernel(lambda m, x, y: (x + y, x * y), ["float16", "float16"], "both")
    x, y = draw.random(BIG).astype("f2"), draw.random(BIG).astype("f2")
    total, product = both.large(x, y)
    assert total.dtype == product.dtype == np.float16
    assert (total == x + y).all() and (product == x * y).all()


def test_empty_arrays_of_large_kernels(draw):
    assert add().large(np.empty((0, 5), "f4"), np.empty((1, 5), "f4")).shape == (0, 5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_large_argument_among_many_is_right(dtype, draw, count):
    import mpmath
    sin = kernel(lambda m, x: m.sin(x), [dtype], "sin")
    x = draw.uniform(-100, 100, BIG).astype(dtype)
    expected = sin.large(x).copy()
    x[BIG // 2], x[5] = 1e22, 3e9
    found = sin.large(x)
    with mpmath.workprec(200):
        for place in (BIG // 2, 5):
            right = float(mpmath.sin(mpmath.mpf(float(x[place]))))
            assert abs(float(found[place]) - right) <= 2 * np.spacing(abs(np.dtype(dtype).type(right)))
    others = np.delete(np.arange(BIG), [5, BIG // 2])
    assert (found[others] == expected[others]).all()


def test_nested_circular_functions_are_right_for_large_arguments():
    import mpmath
    inner = kernel(lambda m, x: m.sin(m.cos(x) * 1e12), ["float64"])
    x = np.linspace(0.1, 3, 50)
    cosines = kernel(lambda m, x: m.cos(x), ["float64"], "cos").small(x)
    with mpmath.workprec(200):
        expected = [float(mpmath.sin(mpmath.mpf(float(c * 1e12)))) for c in cosines]
    np.testing.assert_allclose(inner.small(x), expected, rtol=1e-15, atol=1e-16)


def test_conditions_of_large_arrays_are_reported_once(draw, count):
    log = kernel(lambda m, x: m.log(x), ["float32"], "log", warns=True)
    x = draw.uniform(1, 2, BIG).astype("f4")
    with np.errstate(all="raise"):
        log.large(x)
    x[BIG - 2] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log") as caught:
        assert log.large(x)[BIG - 2] == -np.inf
    assert len(caught) == 1
    with np.errstate(divide="ignore"):
        log.large(x)


CONDITIONS = [
    ("exp", lambda m, x: m.exp(x), [1e5, 1.0], "overflow"),
    ("exp", lambda m, x: m.exp(x), [-1e5, 1.0], "underflow"),
    ("log", lambda m, x: m.log(x), [-1.0, 1.0], "invalid value"),
    ("log", lambda m, x: m.log(x), [0.0], "divide by zero"),
    ("sqrt", lambda m, x: m.sqrt(x), [-1.0], "invalid value"),
    ("sin", lambda m, x: m.sin(x), [np.inf], "invalid value"),
    ("expm1", lambda m, x: m.expm1(x), [1e4], "overflow"),
    ("log1p", lambda m, x: m.log1p(x), [-1.0], "divide by zero")]


@pytest.mark.parametrize("name, formula, values, condition", CONDITIONS)
def test_conditions_are_those_of_numpys_function(name, formula, values, condition):
    x = np.array(values)
    with np.errstate(all="warn"):
        for run in (getattr(np, name), kernel(formula, ["float64"], name, warns=True).small):
            with pytest.warns(RuntimeWarning, match=f"{condition} encountered in {name}"):
                run(x)


NARROW = [
    ("add", lambda m, x, y: x + y), ("subtract", lambda m, x, y: x - y), ("multiply", lambda m, x, y: x * y),
    ("divide", lambda m, x, y: x / y), ("power", lambda m, x, y: m.power(x, y)), ("sqrt", lambda m, x: m.sqrt(x)),
    ("reciprocal", lambda m, x: 1 / x), ("exp", lambda m, x: m.exp(x)), ("log", lambda m, x: m.log(x)),
    ("log1p", lambda m, x: m.log1p(x)), ("expm1", lambda m, x: m.expm1(x)), ("sin", lambda m, x: m.sin(x))]
NARROW_VALUES = [0.0, -0.0, 1, -1, 1e-3, 6e-8, 60000, -60000, 20, 3e38, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("width", ["auto", 128])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name, formula", NARROW, ids=[name for name, _ in NARROW])
def test_conditions_of_narrow_floats_are_those_of_numpys_function(name, formula, dtype, width, monkeypatch):
    monkeypatch.setattr(config, "vector_width", width)
    function, dtype = getattr(np, name), np.dtype(dtype)
    program = type_program(expr.trace(formula, function.nin), [dtype.name] * function.nin, elementwise.native(), True)
    probe = elementwise.Kernel(program, name)
    # Without the CPU's own rounding to float16 underflow is not told; power tells exact subnormals too, as in float32.
    is_told = name != "power" and (dtype != np.float16 or compiler.has_half())
    ignored = {} if is_told else {"under": "ignore"}
    with np.errstate(all="ignore"):
        values = np.array(NARROW_VALUES).astype(dtype)
    for operands in itertools.product(values, repeat=function.nin):
        raws = [np.full(37, value, dtype) for value in operands]
        assert conditions(probe.small, raws, **ignored) == conditions(function, raws, **ignored), operands


def test_conditions_of_large_float16_arrays_are_reported_once(draw, count):
    both = kernel(lambda m, x, y: x + y, ["float16"] * 2, "add", warns=True)
    x = draw.random(BIG).astype("f2")
    with np.errstate(all="raise"):
        both.large(x, x)
    x[BIG - 2] = 60000
    with pytest.warns(RuntimeWarning, match="overflow encountered in add") as caught:
        assert both.large(x, x)[BIG - 2] == np.inf
    assert len(caught) == 1
    with np.errstate(over="ignore"):
        both.large(x, x)


# NumPy's zeros of float32 and float64 are those of the CPU's instruction: here of x86.
ZEROS = ["float16", *(["float32", "float64"] if platform.machine() in ("x86_64", "AMD64") else [])]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("dtype", ZEROS)
def test_extremes_of_signed_zeros_are_numpys_in_every_place(name, dtype):
    ours = kernel(lambda m, x, y: getattr(m, name)(x, y), [dtype] * 2, name)
    values = np.array([0.0, -0.0, np.nan, 1.0], dtype)
    pairs = np.array(list(itertools.product(values, values)), dtype)
    for size in range(1, 70):
        x, y = np.resize(np.roll(pairs, size, 0), (size, 2)).T
        for a, b in ((x, y), (x.copy(), y.copy()), (x, y[0]), (x[0], y)):
            found, wanted = ours(np.asarray(a), np.asarray(b)), getattr(np, name)(a, b)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_quiet_values_report_nothing():
    exp = kernel(lambda m, x: m.exp(x), ["float32"], "exp", warns=True)
    with np.errstate(all="raise"):
        assert exp.small(np.array([np.nan, np.inf, -np.inf, 0, 1], "f4"))[1] == np.inf


@pytest.mark.serial
def test_threads_that_first_use_a_kernel_at_once_share_it():
    """A layout that one thread replaced was freed while another's machine code read it."""
    formula = [kernel(lambda m, x, y, c=c: m.tanh(x * y) + c, ["float32"] * 2) for c in range(20)]
    x, y = np.linspace(-3, 3, 300_000, dtype="f4"), np.broadcast_to(np.array(0.5, "f4"), 300_000)
    ready, failed = workers.Barrier(4), []

    def work():
        for made in formula:
            ready.wait(timeout=60)
            if not np.array_equal(made.large(x, y), made.large(x, np.ascontiguousarray(y))):
                failed.append(made.name)
    started = [workers.Thread(target=work) for _ in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(timeout=120)
    assert not failed and not any(thread.is_alive() for thread in started)
    assert all(len({id(walk.layout) for walk in made.walks.values()}) == 2 for made in formula)
