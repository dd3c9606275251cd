"""Matrix products against NumPy in higher precision: every shape of tile, stride, dtype and width."""

import tempfile
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lucid_nb.kernels import gemm, threads, tiling
from lucid_nb.kernels.gemm import linear, matmul, matmul_into

RANDOM = np.random.default_rng(4)
SHAPES = [((1, 1), (1, 1)), ((3, 4), (4, 5)), ((1, 300), (300, 1)), ((70, 130), (130, 90)), ((2, 3, 4), (2, 4, 5)),
          ((6, 3, 4), (4, 5)), ((3, 4), (6, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 3, 4), (4, 5)),
          ((3, 4), (4, 0)), ((300, 300), (300, 300))]
each_shape = pytest.mark.parametrize("left,right", SHAPES, ids=str)


def values(shape, dtype):
    return RANDOM.standard_normal(shape).astype(dtype)


def exact_product(a, b):
    """The product in twice the precision, and a bound of the error of sums in the operands' own."""
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    exact, sizes = (np.matmul(x.astype(wide), y.astype(wide)) for x, y in ((a, b), (np.abs(a), np.abs(b))))
    return exact, sizes * np.finfo(a.dtype).eps * (a.shape[-1] ** 0.5 + 2)


def assert_product(result, a, b):
    exact, bound = exact_product(a, b)
    assert result.dtype == a.dtype and result.shape == exact.shape
    assert np.all(np.abs(result - exact) <= bound)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each_shape
def test_matmul_of_floats(left, right, dtype):
    a, b = values(left, dtype), values(right, dtype)
    result = matmul(a, b)
    assert_product(result, a, b)
    assert not np.shares_memory(result, a) and not np.shares_memory(result, b)


@given(st.data())
def test_matmul_of_any_strides(data):
    n, k, m = (data.draw(st.integers(1, 5)) for _ in range(3))
    operands = []
    for rows, cols in ((n, k), (k, m)):
        steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in range(2)]
        whole = values([2, rows * abs(steps[0]), cols * abs(steps[1])], np.float32)[:, ::steps[0], ::steps[1]]
        swapped = data.draw(st.booleans())
        operands.append(np.swapaxes(np.swapaxes(whole, 1, 2).copy(), 1, 2) if swapped else whole)
    assert_product(matmul(*operands), *operands)


def test_matmul_of_broadcast_and_transposed_operands():
    a, b = np.broadcast_to(values((3, 4), np.float32), (5, 3, 4)), values((5, 6, 4), np.float32)
    assert_product(matmul(a, b.transpose(0, 2, 1)), a, b.transpose(0, 2, 1))
    vector = np.broadcast_to(np.float32(2), (4, 3))
    assert_product(matmul(vector.T, vector), vector.T, vector)


def assert_rounded_product(a, b):
    """The result is the exact product rounded once, but for the errors of sums in float32."""
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    sizes = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    result = matmul(a, b)
    half = float(ml_dtypes.finfo(a.dtype).eps) / 2
    assert result.dtype == a.dtype and result.shape == exact.shape
    assert np.all(np.abs(result.astype(np.float64) - exact)
                  <= half * np.abs(exact) + sizes * 2.0 ** -24 * (a.shape[-1] ** 0.5 + 2) + 2.0 ** -24)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=str)
@each_shape
def test_matmul_of_narrow_floats_accumulates_in_float32(left, right, dtype):
    assert_rounded_product(values(left, dtype), values(right, dtype))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_matmul_of_narrow_floats_of_any_layout(width, data):
    rows, depth, cols = (data.draw(st.integers(1, 40)) for _ in range(3))
    dtype = data.draw(st.sampled_from(["float16", ml_dtypes.bfloat16]))
    assert_rounded_product(laid_out(data, rows, depth, dtype), laid_out(data, depth, cols, dtype))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32", "bool", "complex64"])
@each_shape
def test_matmul_of_other_dtypes_is_numpys(left, right, dtype):
    a, b = (RANDOM.integers(0, 3, shape).astype(dtype) for shape in (left, right))
    np.testing.assert_array_equal(matmul(a, b), np.matmul(a, b), strict=True)


def test_matmul_follows_ieee_in_zeros_and_infinities():
    with np.errstate(invalid="ignore"):
        result = matmul(np.array([[0.0, 1], [0, 0]]), np.array([[np.inf, 1], [1, np.nan]]))
    np.testing.assert_array_equal(result, [[np.nan, np.nan], [np.nan, np.nan]])


@pytest.mark.serial
def test_matmul_gives_the_same_bits_for_any_number_of_threads():
    a, b, before = values((257, 301), np.float32), values((301, 131), np.float32), threads.num_threads()
    found = set()
    try:
        for number in (1, 2, 4):
            threads.set_num_threads(number)
            found.add(matmul(a, b).tobytes())
    finally:
        threads.set_num_threads(before)
    assert len(found) == 1


def laid_out(data, rows, cols, dtype):
    """A matrix drawn with its strides: C or F order, every other row or column, reversed."""
    steps = [data.draw(st.sampled_from([1, 1, 2, -1])) for _ in range(2)]
    shape = [rows * abs(steps[0]), cols * abs(steps[1])]
    whole = values(shape, dtype) if data.draw(st.booleans()) else values(shape[::-1], dtype).T
    return whole[::steps[0], ::steps[1]]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_matmul_of_every_tail_and_layout(width, data):
    rows, depth, cols = (data.draw(st.integers(1, 40)) for _ in range(3))
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    a, b = laid_out(data, rows, depth, dtype), laid_out(data, depth, cols, dtype)
    assert_product(matmul(a, b), a, b)


@pytest.fixture
def packs_all(monkeypatch):
    """Every operand is packed, and blocks are so small that drawn shapes have several."""
    gemm.forget()
    for name, value in dict(BLOCK_DEPTH=9, BLOCK_COLS=33, INNER_DEPTH=9, INNER_COLS=5, ROW_PANELS=1, PACKED_BYTES=-1,
                            WIDE_PACKS=0, LONG=20, FEW_TILES=4, PARALLEL=1).items():
        monkeypatch.setattr(tiling, name, value)
    yield
    gemm.forget()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_matmul_of_packed_panels_in_blocks(packs_all, width, data):
    rows, depth, cols = (data.draw(st.integers(1, 40)) for _ in range(3))
    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    a, b = laid_out(data, rows, depth, dtype), laid_out(data, depth, cols, dtype)
    assert_product(matmul(a, b), a, b)


@pytest.mark.parametrize("cols", [1, 2, 4, 5])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_few_columns_of_a_matrix_whose_columns_are_contiguous(batch, cols):
    a, b = np.swapaxes(values((*batch, 9, 33), "float32"), -1, -2), values((9, cols), "float32")
    assert_product(matmul(a, b), a, b)
    many = values((*batch, 9, cols), "float32")
    assert_product(matmul(a, many), a, many)
    assert_product(matmul(a, np.asfortranarray(many)), a, many)
    assert_product(matmul(a[(0,) * len(batch)], many), a[(0,) * len(batch)], many)


@given(st.data())
def test_matmul_of_broadcast_batches(data):
    sides = data.draw(st.lists(st.integers(1, 3), max_size=3))
    shapes = [[1 if data.draw(st.booleans()) else side for side in sides][data.draw(st.integers(0, len(sides))):]
              for _ in range(2)]
    rows, depth, cols = (data.draw(st.integers(1, 6)) for _ in range(3))
    a, b = values((*shapes[0], rows, depth), "float32"), values((*shapes[1], depth, cols), "float32")
    if data.draw(st.booleans()):
        a = np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0)
    assert_product(matmul(a, b), a, b)


def guarded(shape, dtype, pad=37):
    """An array with other numbers before and after it, and these numbers."""
    memory = np.full(int(np.prod(shape)) + 2 * pad, 7, dtype)
    return memory[pad:-pad].reshape(shape), memory[:pad], memory[-pad:]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_write_only_their_result(width, dtype):
    for rows, cols in [(1, 1), (3, 5), (14, 33), (15, 31), (29, 65), (1, 40), (40, 1), (2, 9)]:
        a, b = values((rows, 21), dtype), values((21, cols), dtype)
        for right in (b, np.asfortranarray(b)):
            result, before, after = guarded((rows, cols), dtype)
            assert matmul_into(result, a, right) is result
            assert np.all(before == 7) and np.all(after == 7)
            assert_product(result, a, b)


@pytest.mark.parametrize("activation", ["", "relu"])
@pytest.mark.parametrize("shape", [(5, 7, 33), (40, 300, 2), (1, 9000, 3), (130, 400, 70), (3, 0, 4), (0, 3, 4)],
                         ids=str)
def test_linear_adds_a_bias_and_activates(shape, activation):
    rows, depth, cols = shape
    a, b, bias = values((rows, depth), "float32"), values((cols, depth), "float32").T, values(cols, "float32")
    exact, bound = exact_product(a, b)
    exact = exact + bias
    expected = np.maximum(exact, 0) if activation else exact
    for right in (b, np.ascontiguousarray(b)):
        assert np.all(np.abs(linear(a, right, bias, activation) - expected) <= bound + np.abs(exact) * 1e-7)


@given(st.data())
def test_integer_products_wrap_as_numpys(data):
    rows, depth, cols = (data.draw(st.integers(0, 20)) for _ in range(3))
    dtype = np.dtype(data.draw(st.sampled_from("int8 uint8 int16 uint16 int32 uint32 int64 uint64".split())))
    limits = np.iinfo(dtype)
    a, b = (RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)
            for shape in ((rows, depth), (depth, cols)))
    for right in (b, np.asfortranarray(b)):
        np.testing.assert_array_equal(matmul(a, right), np.matmul(a, b), strict=True)


@given(st.data())
def test_complex_products_of_any_layout(data):
    rows, depth, cols = (data.draw(st.integers(1, 40)) for _ in range(3))
    dtype, step = data.draw(st.sampled_from(["complex64", "complex128"])), data.draw(st.integers(1, 4))
    a, b = (np.repeat((values(shape, dtype) + 1j * values(shape, dtype)).astype(dtype), step, axis)[where]
            for shape, axis, where in (((rows, depth), 0, np.s_[::step]), ((depth, cols), 1, np.s_[:, ::step])))
    a, b = data.draw(st.sampled_from([(a, b), (np.array(a, order="F"), np.array(b, order="F")), (a[:, ::-1], b[::-1])]))
    wide = np.clongdouble if dtype == "complex128" else np.complex128
    error = np.abs(matmul(a, b) - np.matmul(a.astype(wide), b.astype(wide)))
    assert np.all(error <= np.matmul(np.abs(a), np.abs(b)) * np.finfo(dtype).eps * (2 * depth ** 0.5 + 4))


@pytest.mark.serial
@pytest.mark.parametrize("shape", [(64, 3, 8000), (3, 20000, 5), (300, 500, 40), (1, 5000, 700), (700, 5000, 1)],
                         ids=str)
def test_products_of_other_shapes_have_the_same_bits_for_any_number_of_threads(shape):
    rows, depth, cols = shape
    a, b, before = values((rows, depth), "float32"), values((depth, cols), "float32"), threads.num_threads()
    found = set()
    try:
        for number in (1, 2, 3):
            threads.set_num_threads(number)
            found.add((matmul(a, b).tobytes(), matmul(a, np.asfortranarray(b)).tobytes()))
    finally:
        threads.set_num_threads(before)
    assert len(found) == 1


def test_steps_beyond_32_bits_reach_their_rows():
    """Rows 2**31 numbers apart: the arithmetic of places, on an address space that is reserved and hardly used."""
    step = 2 ** 31 + 16
    with tempfile.TemporaryFile() as file:
        try:
            memory = np.memmap(file, np.float32, "w+", shape=step * 2 + 64)
        except (OSError, ValueError):
            pytest.skip("no address space of 16 GiB, or no files with holes")
        rows = np.lib.stride_tricks.as_strided(memory, (3, 5), (4 * step, 4))
        rows[...] = values((3, 5), "float32")
        a, b = np.array(rows), values((3, 7), "float32")
        assert_product(matmul(rows, a.T.copy()), a, a.T)
        assert_product(matmul(rows.T, b), a.T, b)
        assert_product(matmul(b.T, rows), b.T, a)
        del rows, memory


@pytest.mark.parametrize("rows", [1, 2, 13, 14, 15, 28, 29, 40, 100])
@pytest.mark.parametrize("cols", [1, 15, 16, 17, 32, 33, 47, 100])
@pytest.mark.parametrize("registers,lanes", [(32, 16), (32, 4), (16, 8), (16, 2)])
def test_cuts_cover_the_rows_and_columns_once(rows, cols, registers, lanes):
    for lies_along in (False, True):
        cut = tiling.cut(rows, cols, 100, lanes, registers, lies_along)
        assert cut.high_panels * cut.high + (cut.panels - cut.high_panels) * cut.low == rows
        rest = cols % cut.wide or cut.wide
        assert cut.last - (1 if cut.is_inner else lanes) < rest <= cut.last <= cut.wide
        if not cut.is_inner:
            vectors = cut.wide // lanes
            assert cut.high * vectors + vectors + 1 <= registers
        else:
            assert cut.high * cut.wide + cut.high + cut.wide <= registers


@pytest.mark.serial
def test_concurrent_products_do_not_share_a_workspace():
    operands = [(values((200, 300), "float32"), values((300, 260), "float32")) for _ in range(4)]
    expected, wrong = [matmul(*pair).tobytes() for pair in operands], []

    def work(number):
        wrong.extend(1 for _ in range(20) if matmul(*operands[number]).tobytes() != expected[number])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("shape", [(64, 64, 64), (200, 1000, 33), (1, 3000, 10), (10, 3000, 1)], ids=str)
def test_errors_are_at_most_twice_those_of_torch(shape):
    torch = pytest.importorskip("torch")
    rows, depth, cols = shape
    a, b = values((rows, depth), "float32"), values((depth, cols), "float32")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    ours, theirs = (np.linalg.norm(found - exact) for found in
                    (matmul(a, b), (torch.from_numpy(a) @ torch.from_numpy(b)).numpy()))
    assert ours <= 2 * theirs
