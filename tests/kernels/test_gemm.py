"""Matrix products against NumPy in higher precision, and the setting of BLAS that they must leave as it was."""

import os
import threading

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb.kernels import threads
from lucid_nb.kernels.gemm import ONE_THREAD, matmul, thread_setting

RANDOM = np.random.default_rng(4)
SHAPES = [((1, 1), (1, 1)), ((3, 4), (4, 5)), ((1, 300), (300, 1)), ((70, 130), (130, 90)), ((2, 3, 4), (2, 4, 5)),
          ((6, 3, 4), (4, 5)), ((3, 4), (6, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 3, 4), (4, 5)),
          ((3, 4), (4, 0)), ((300, 300), (300, 300))]
each_shape = pytest.mark.parametrize("left,right", SHAPES, ids=str)


def values(shape, dtype):
    return RANDOM.standard_normal(shape).astype(dtype)


def assert_product(result, a, b):
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    exact = np.matmul(a.astype(wide), b.astype(wide))
    bound = np.matmul(np.abs(a).astype(wide), np.abs(b).astype(wide)) * np.finfo(a.dtype).eps * (a.shape[-1] ** 0.5 + 2)
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


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=str)
@each_shape
def test_matmul_of_narrow_floats_accumulates_in_float32(left, right, dtype):
    a, b = values(left, dtype), values(right, dtype)
    expected = matmul(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(matmul(a, b), expected, strict=True)


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


@pytest.fixture
def blas_threads():
    get, put = thread_setting()
    before = get()
    put(2)
    if get() != 2:
        pytest.skip("this BLAS has no threads that could be counted")
    yield get
    put(before)


@pytest.mark.serial
def test_blas_threads_are_given_back(blas_threads):
    seen = []
    with ONE_THREAD, ONE_THREAD:
        seen.append(blas_threads())
    assert seen == [1] and blas_threads() == 2
    matmul(values((100, 100), np.float32), values((100, 100), np.float32))
    assert blas_threads() == 2
    with pytest.raises(ValueError):
        matmul(values((100, 100), np.float32), values((99, 100), np.float32))
    assert blas_threads() == 2


@pytest.mark.serial
def test_blas_threads_are_given_back_by_concurrent_products(blas_threads):
    a = values((128, 128), np.float32)
    expected, wrong = matmul(a, a), []

    def work():
        wrong.extend(1 for _ in range(50) if matmul(a, a).tobytes() != expected.tobytes())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong and blas_threads() == 2


@pytest.mark.serial
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_matmul_works_in_a_child_forked_within_a_product():
    a = values((128, 128), np.float32)
    expected = matmul(a, a)
    with ONE_THREAD:
        ONE_THREAD._lock.acquire()                               # as if another thread had been there
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(matmul(a, a), expected) else 1)
        ONE_THREAD._lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
