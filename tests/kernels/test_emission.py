"""The building blocks of emitted kernels, at every vector width, against NumPy."""

import ctypes
from functools import partial

import numpy as np
import pytest
from numba import njit

from lucid_nb.kernels import emission, intrinsics, threads

RANDOM = np.random.default_rng(7)
FLOATS = ["float32", "float64"]
GUARD = 7.0


def run(name, dtype, arguments, emit, *values, **options):
    """Compile and call."""
    address = emission.kernel(f"test {name}", dtype, arguments, emit, **options)
    kinds = {"p": ctypes.c_void_p, "i": ctypes.c_int64, "x": np.ctypeslib.as_ctypes_type(dtype)}
    function = ctypes.CFUNCTYPE(None, *[kinds[letter] for letter in arguments])(address)
    function(*[value.ctypes.data if isinstance(value, np.ndarray) else value for value in values])


def numbers(shape, dtype):
    return (RANDOM.integers(-9, 9, shape) if "int" in dtype else RANDOM.standard_normal(shape)).astype(dtype)


def double(e, count, x, y):
    def step(i, carried):
        inside = e.first(e.sub(count, i))
        e.store_vector(e.mul(e.load_vector(e.at(x, i), inside), e.splat(2)), e.at(y, i), inside)
        return carried
    e.loop(0, count, step, step=e.lanes)


@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "int64"])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 15, 16, 17, 40])
def test_masked_vectors_touch_nothing_outside(width, dtype, count):
    x, y = numbers(count, dtype), np.full(count + 2, GUARD, dtype)
    run("double", dtype, "ipp", double, count, x, y[1:])
    np.testing.assert_array_equal(y, [GUARD, *(2 * x), GUARD])


def transposed(e, rows, x, y):
    found = e.transpose([e.load_vector(e.at(x, e.lanes * row)) for row in range(rows)])
    for place, value in enumerate(found):
        e.store_vector(value, e.at(y, e.lanes * place), e.first(rows))


@pytest.mark.parametrize("dtype", FLOATS)
def test_transposes_of_all_numbers_of_rows(width, dtype):
    lanes = emission.lanes(dtype)
    assert lanes == width // np.dtype(dtype).itemsize // 8
    for rows in range(1, lanes + 1):
        x, y = numbers((rows, lanes), dtype), np.full((lanes, lanes), GUARD, dtype)
        run(f"transposed {rows}", dtype, "pp", lambda e, x, y, rows=rows: transposed(e, rows, x, y), x, y)
        np.testing.assert_array_equal(y[:, :rows], x.T)
        assert np.all(y[:, rows:] == GUARD)


def dot(times, e, count, x, y, result):
    def step(i, carried):
        inside = e.first(e.sub(count, e.mul(i, e.lanes)))
        operands = [e.load_vector(e.at(pointer, e.mul(i, e.lanes)), inside) for pointer in (x, y)]
        return [e.multiply_add(*operands, carried[0])]
    turns = e.quotient(e.add(count, e.lanes - 1), e.lanes)
    (sums,) = e.unrolled(turns, step, [e.zero()], times)
    e.store(e.total(sums), result)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("times", [1, 4])
def test_unrolled_loops_carry_values(width, dtype, times):
    for count in (0, 1, 5, 16, 64, 77, 200):
        x, y, result = numbers(count, dtype), numbers(count, dtype), np.zeros(1, dtype)
        run(f"dot {times}", dtype, "ippp", partial(dot, times), count, x, y, result)
        np.testing.assert_allclose(result[0], np.dot(x.astype(float), y), rtol=1e-4, atol=1e-5)


def extremes(e, x, result):
    values = e.load_vector(x)
    e.store(e.greatest(values), result)
    e.store(e.total(values), e.at(result, 1))


@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_horizontal_sums_and_largest_lanes(width, dtype):
    x, result = numbers(emission.lanes(dtype), dtype), np.zeros(2, dtype)
    run("extremes", dtype, "pp", extremes, x, result)
    np.testing.assert_allclose(result, [x.max(), x.sum()], rtol=1e-5)


def branches(e, n, factor, result):
    (found,) = e.either(e.compare(n, ">", 3), lambda: [e.mul(factor, 2)], lambda: [factor])
    e.store(found, result)
    with e.when(e.compare(e.remainder(n, 2), "==", 0)):
        e.store(e.number(1), e.at(result, 1))
    e.store(e.builder.sitofp(e.smaller(n, 4), e.element), e.at(result, 2))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [-2, 3, 4, 5])
def test_branches_choose_and_join(dtype, n):
    result = np.zeros(3, dtype)
    run("branches", dtype, "ixp", branches, n, 1.5, result)
    assert result.tolist() == [3 if n > 3 else 1.5, int(n % 2 == 0), min(n, 4)]


def scaled(e, table, start, stop):
    x, y, count, factor = e.operands(table, "ppix")

    def row(i, carried):
        place = e.mul(i, count)
        e.loop(0, count, lambda j, _: e.store(e.mul(factor, e.load(e.at(x, e.add(place, j)))),
                                              e.at(y, e.add(place, j))) or ())
        return carried
    e.loop(start, stop, row)


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_emitted_range_kernel_is_launched(dtype):
    x, y = numbers((7, 5), dtype), np.zeros((7, 5), dtype)
    threads.launch(emission.kernel("test scaled", dtype, "pii", scaled), 7, 1, x, y, 5, 0.5)
    np.testing.assert_array_equal(y, x / 2)


def test_numba_calls_a_kernel_by_its_address():
    call = intrinsics.call_address
    address = emission.kernel("test double", "float64", "ipp", double)
    x, y = numbers(21, "float64"), np.zeros(21)
    njit(lambda address, x, y: call(address, 21, x, y))(address, x.ctypes.data, y.ctypes.data)
    np.testing.assert_array_equal(y, 2 * x)


def test_no_kernel_needs_a_library(width):
    text = emission.text("dot", "float32", "ippp", partial(dot, 4))
    assert "fmuladd" in text and "llvm.fma." not in text
    emission.store.check(emission.store.module_object(text, "dot", as_written=True))


def folded(e, count, x, result):
    e.store_vector(e.totals([e.load_vector(e.at(x, i * e.lanes)) for i in range(count)]), result)


@pytest.mark.parametrize("dtype", FLOATS)
def test_totals_of_several_vectors_at_once(width, dtype):
    lanes = emission.lanes(dtype)
    for count in range(1, lanes + 1):
        x, result = numbers((count, lanes), dtype), np.full(lanes, GUARD, dtype)
        run(f"folded {count}", dtype, "pp", lambda e, x, y, count=count: folded(e, count, x, y), x, result)
        np.testing.assert_allclose(result[:count], x.sum(1), rtol=1e-4, atol=1e-5)
