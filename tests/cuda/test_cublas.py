"""Matrix products by cuBLASLt: what it is given, what it is asked for, and what happens when it refuses.

A fake computes on the host what the documentation says of the calls; nothing here has met the library on a GPU.
"""

import ml_dtypes
import numpy as np
import pytest

import lucid_nb.cuda as table
from lucid_nb import config
from lucid_nb.cuda import cublas, cublaslt, runtime
from lucid_nb.cuda.cublas import Matrix, Place
from lucid_nb.cuda.cublaslt import CONSTANTS

from .conftest import simulated
from .fake_cublaslt import FakeCublasLt

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT, DOUBLE = np.dtype("float32"), np.dtype("float64")
DTYPES = [FLOAT, DOUBLE, np.dtype("float16"), BFLOAT16, np.dtype("complex64"), np.dtype("complex128")]


# ------------------------------------------------------------------------------------------------ the decision
def place(*shape, strides=None, alignment=256):
    return Place(shape, table.array.row_major(shape) if strides is None else strides, alignment)


def asked(a, b, batch=(), element=FLOAT, has_bias=False, tf32=False):
    return cublas.product_of(element, a, b, batch, has_bias, tf32)


def test_rows_of_both_are_columns_of_their_transposes():
    found = asked(place(64, 128), place(128, 96))
    assert found.left == Matrix(96, 128, 96, 0) and found.right == Matrix(128, 64, 128, 0)
    assert found.result == Matrix(96, 64, 96, 96 * 64) and found.turned == (False, False) and found.batch == 1


def test_transposed_operands_are_turned_and_not_copied():
    found = asked(place(64, 128, strides=(1, 70)), place(128, 96, strides=(1, 200)))
    assert found.turned == (True, True)
    assert found.left == Matrix(128, 96, 200, 0) and found.right == Matrix(64, 128, 70, 0)


def test_batches_are_walked_by_strides_and_stretched_by_stride_0():
    found = asked(place(2, 3, 64, 64), place(64, 64), (2, 3))
    assert (found.batch, found.right.apart, found.left.apart) == (6, 64 * 64, 0)
    found = asked(place(5, 1, 64, 64), place(5, 1, 64, 64, strides=(9000, 7, 64, 1)), (5, 1))
    assert (found.batch, found.right.apart, found.left.apart) == (5, 64 * 64, 9000)


@pytest.mark.parametrize("element, batch, a, b", [
    (FLOAT, (), place(8, 8), place(8, 8)),                                                      # little to do
    (FLOAT, (), place(4, 4096), place(4096, 4096)),                                             # few rows
    (np.dtype("int32"), (), place(512, 512), place(512, 512)),
    (np.dtype("bool"), (), place(512, 512), place(512, 512)),
    (FLOAT, (), place(512, 512, strides=(0, 1)), place(512, 512)),                              # all rows are one
    (FLOAT, (), place(512, 512, strides=(-512, 1)), place(512, 512)),
    (FLOAT, (), place(512, 512, strides=(1, 1)), place(512, 512)),                              # windows
    (FLOAT, (4, 5), place(4, 5, 64, 64, strides=(1 << 20, 64, 1 << 9, 1)), place(4, 5, 64, 64)),
    (FLOAT, (5,), place(5, 64, 64, strides=(-4096, 64, 1)), place(5, 64, 64)),
    (FLOAT, (), place(1 << 31, 8), place(8, 8)),
], ids=["small", "few rows", "integers", "bools", "one row", "reversed", "overlapping", "two walks", "batch reversed",
        "too many rows"])
def test_our_own_kernels_keep(element, batch, a, b):
    assert asked(a, b, batch, element) is None


def test_tf32_is_asked_for_only_where_the_setting_and_the_dtype_say_so():
    a = place(512, 512)
    for element in DTYPES:
        assert not asked(a, a, element=element).tf32
        assert asked(a, a, element=element, tf32=True).tf32 == (element == FLOAT)


@pytest.mark.parametrize("address, bytes_aligned", [(0, 256), (1 << 20, 256), (256 + 16, 16), (2, 2), (384, 128)])
def test_alignment_is_the_power_of_two_that_divides_an_address(address, bytes_aligned):
    assert cublas.alignment(address) == bytes_aligned


# --------------------------------------------------------------------------------------- values, on a fake
@pytest.fixture
def fake(monkeypatch):
    """A library that computes on the memory of the simulator."""
    def use(**keywords):
        made = FakeCublasLt(**keywords)
        loaded = made.library()
        monkeypatch.setattr(cublaslt, "found", lambda: loaded)
        return made
    monkeypatch.setattr(cublas, "LEAST", 1)
    monkeypatch.setattr(cublas, "FEW", 0)
    monkeypatch.setattr(runtime, "address", lambda flat: flat.array._ary.ctypes.data)
    monkeypatch.setattr(cublas, "alignment", lambda address: 16)         # the host's differs from run to run
    cublas.plan.cache_clear()
    yield use
    cublas.plan.cache_clear()


def numbers(shape, dtype):
    """Small whole numbers, whose products are exact in every dtype."""
    draw = np.random.default_rng(len(shape) + sum(shape))
    found = draw.integers(-3, 4, shape)
    return (found + 1j * draw.integers(-3, 4, shape) if dtype.kind == "c" else found).astype(dtype)


def wide(array):
    return array.astype("complex128" if array.dtype.kind == "c" else "float64")


def check(got, wanted):
    np.testing.assert_array_equal(wide(table.to_numpy(got)), wanted)


CASES = {
    "plain": ((5, 6), (6, 7), None, None),
    "A turned": ((6, 5), (6, 7), (1, 0), None),
    "B turned": ((5, 6), (7, 6), None, (1, 0)),
    "both turned": ((6, 5), (7, 6), (1, 0), (1, 0)),
    "batch": ((3, 5, 6), (3, 6, 7), None, None),
    "batch turned": ((3, 6, 5), (3, 7, 6), (0, 2, 1), (0, 2, 1)),
    "heads": ((2, 5, 3, 6), (2, 6, 3, 7), (0, 2, 1, 3), (0, 2, 1, 3)),
    "A stretched": ((1, 5, 6), (3, 6, 7), None, None),
    "new axis": ((5, 6), (3, 6, 7), None, None),
    "one matrix for all": ((2, 3, 5, 6), (6, 7), None, None),
    "one row": ((1, 6), (6, 7), None, None),
    "one column": ((5, 6), (6, 1), None, None),
    "outer": ((5, 1), (1, 7), None, None),
}


@simulated
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_products_equal_numpy_s(fake, dtype, case):
    made = fake()
    a_shape, b_shape, a_axes, b_axes = CASES[case]
    a, b = numbers(a_shape, dtype), numbers(b_shape, dtype)
    a_axes, b_axes = a_axes or tuple(range(a.ndim)), b_axes or tuple(range(b.ndim))
    got = table.matmul(table.permute(table.from_numpy(a), a_axes), table.permute(table.from_numpy(b), b_axes))
    check(got, wide(a).transpose(a_axes) @ wide(b).transpose(b_axes))
    assert [name for name, *_ in made.products] == [dtype.name]


@simulated
def test_views_inside_a_matrix_are_read_at_their_leading_dimension(fake):
    made, host = fake(), numbers((12, 14), FLOAT)
    device = table.from_numpy(host)
    inner = table.slice(device, (slice(1, 9), slice(3, 11)))
    check(table.matmul(inner, table.permute(inner, (1, 0))), wide(host[1:9, 3:11] @ host[1:9, 3:11].T))
    assert made.products == [("float32", 68, 1, [1, 0], 0)]


@simulated
@pytest.mark.parametrize("activation", ["", "relu"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_a_bias_and_a_rectifier_equal_numpy_s(fake, dtype, activation):
    made = fake()
    if dtype.kind == "c" and activation:
        pytest.skip("a rectifier takes real numbers")
    a, b, bias = (numbers(shape, dtype) for shape in ((2, 5, 6), (6, 7), (9,)))
    offset = table.slice(table.from_numpy(bias), (slice(1, 8),))
    wanted = wide(a) @ wide(b) + wide(bias[1:8])
    got = table.linear(table.from_numpy(a), table.from_numpy(b), offset, activation)
    check(got, np.maximum(wanted, 0) if activation else wanted)
    assert len(made.products) == 1
    assert ("MatmulDescSetAttribute" in made.calls) and made.calls.count("Matmul") == 1


@simulated
def test_a_rectifier_keeps_nan(fake):
    fake()
    a = np.full((5, 6), np.nan, "float32")
    got = table.linear(table.from_numpy(a), table.from_numpy(a.T.copy()), table.from_numpy(a[:, 0].copy()), "relu")
    assert np.isnan(table.to_numpy(got)).all()


# ------------------------------------------------------------------------------------------------ requests
@simulated
def test_a_geometry_is_asked_for_once_and_every_bias_is_its_own(fake):
    made = fake()
    a, b = (table.from_numpy(numbers((6, 6), FLOAT)) for _ in range(2))
    for value in (1, 2):
        bias = table.from_numpy(np.full(6, value, "float32"))
        check(table.linear(a, b, bias), wide(table.to_numpy(a)) @ wide(table.to_numpy(b)) + value)
    assert made.calls.count("MatmulAlgoGetHeuristic") == 1 and made.calls.count("Matmul") == 2
    table.matmul(a, b)
    assert made.calls.count("MatmulAlgoGetHeuristic") == 2


@simulated
def test_what_is_asked_for_follows_dtype_and_settings(fake, monkeypatch):
    made = fake()
    kinds = {"float32": "CUBLAS_COMPUTE_32F", "float16": "CUBLAS_COMPUTE_32F", "bfloat16": "CUBLAS_COMPUTE_32F",
             "complex64": "CUBLAS_COMPUTE_32F", "float64": "CUBLAS_COMPUTE_64F", "complex128": "CUBLAS_COMPUTE_64F"}
    for tf32 in (False, True):
        monkeypatch.setattr(config, "tf32", tf32)
        for dtype in DTYPES:
            x = table.from_numpy(numbers((6, 6), dtype))
            table.matmul(x, x)
            name = "CUBLAS_COMPUTE_32F_FAST_TF32" if tf32 and dtype == FLOAT else kinds[dtype.name]
            assert made.products[-1][:2] == (dtype.name, CONSTANTS[name])


@simulated
@pytest.mark.parametrize("function, tries", [("Create", 1), ("MatmulAlgoGetHeuristic", 1), ("Matmul", 1),
                                             ("MatrixLayoutCreate", 1)])
def test_what_the_library_refuses_our_kernels_do_from_then_on(fake, function, tries):
    made = fake(refuse=(function,))
    a = table.from_numpy(numbers((6, 6), FLOAT))
    for _ in range(3):
        check(table.matmul(a, a), wide(table.to_numpy(a)) @ wide(table.to_numpy(a)))
    assert made.calls.count(function) == tries and not made.products


@simulated
def test_the_setting_switches_the_library_off(fake, monkeypatch):
    made = fake()
    monkeypatch.setattr(config, "cuda_libraries", False)
    a = table.from_numpy(numbers((6, 6), FLOAT))
    table.matmul(a, a)
    assert not made.calls


@simulated
def test_descriptors_are_destroyed_with_their_plans(fake):
    made = fake()
    a = table.from_numpy(numbers((6, 6), FLOAT))
    table.matmul(a, a)
    cublas.plan.cache_clear()
    assert sum(name.endswith("Create") and name != "Create" for name in made.calls) == \
        sum(name.endswith("Destroy") for name in made.calls) == 5
