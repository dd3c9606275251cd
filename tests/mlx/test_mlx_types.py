"""Dtypes, constants, and the way to NumPy and back."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lucid_nb.errors import DTypeError

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
runtime = table.runtime
on_cpu_build = pytest.mark.skipif(runtime.ON_GPU, reason="float64 exists on the CPU build only")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "complex64")] + [BFLOAT16] + ([] if runtime.ON_GPU else [np.dtype("float64")])
FLOATS = [dtype for dtype in DTYPES if dtype.kind == "f" or dtype == BFLOAT16]


def bits(array):
    """The bytes, so that NaN equals itself."""
    return array.shape, array.dtype, array.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_go_to_mlx_and_back_unchanged(dtype):
    whole = np.random.default_rng(0).integers(0, 100, (4, 3, 2)).astype(dtype)
    for array in (whole, whole.T, whole[::-1, ::2], whole[:0], whole[0, 0, 0].reshape(()), np.asfortranarray(whole)):
        raw = table.from_numpy(array)
        assert table.dtype_of(raw) == dtype
        assert tuple(raw.shape) == array.shape
        assert bits(table.to_numpy(raw)) == bits(np.ascontiguousarray(array).reshape(array.shape))


def test_copies_do_not_share_memory():
    array = np.zeros(3, "float32")
    raw = table.from_numpy(array)
    array[0] = 1
    assert not table.to_numpy(raw).flags.writeable
    assert table.to_numpy(raw).tolist() == [0, 0, 0]
    assert table.to_numpy(table.copy(raw)).tolist() == [0, 0, 0]


@on_cpu_build
def test_float64_keeps_its_digits():
    array = np.array([1 / 3, 1e300, 2.0**-1074])
    assert table.to_numpy(table.from_numpy(array)).tolist() == array.tolist()
    assert table.to_numpy(table.full((1,), 1 / 3, np.dtype("float64"))).tolist() == [1 / 3]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_cast_is_numpys(source, target):
    rng = np.random.default_rng(0)
    values = rng.uniform(-100, 100, 200) * (source.kind != "b")
    if source.kind == "u" or target.kind == "u":
        values = np.abs(values)
    array = values.astype(source)
    if source.kind == "c":
        array = array + np.complex64(2j)
    assert bits(table.to_numpy(table.cast(table.from_numpy(array), target))) == bits(array.astype(target))


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", FLOATS, ids=str)
@given(st.data())
def test_cast_between_floats_rounds_once(source, target, data):
    with np.errstate(all="ignore"):
        array = data.draw(arrays.arrays("float64", 20)).astype(source)
        expected = array.astype(target)
    got = table.to_numpy(table.cast(table.from_numpy(array), target))
    np.testing.assert_array_equal(got.astype("float64"), expected.astype("float64"))


@on_cpu_build
def test_cast_from_float64_to_float16_does_not_round_twice():
    array = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11, -(1 + 2**-11 + 2**-50), 65519.999999, 65520, 2**-25 + 2**-60,
                      1e-60, -0.0, np.inf, 1e300])
    with np.errstate(all="ignore"):
        expected = array.astype("float16")
    assert bits(table.to_numpy(table.cast(table.from_numpy(array), np.dtype("float16")))) == bits(expected)


def test_cast_to_bool_takes_nan_as_true():
    array = np.float32([np.nan, 0.0, -0.0, 0.5, np.inf])
    got = table.to_numpy(table.cast(table.from_numpy(array), np.dtype(bool)))
    assert got.tolist() == array.astype(bool).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_full_empty_and_iota_have_shape_dtype_and_values(dtype):
    one = table.full((2, 3), 1, dtype)
    assert bits(table.to_numpy(one)) == bits(np.ones((2, 3), dtype))
    assert table.empty((2, 0), dtype).shape == (2, 0)
    assert table.dtype_of(table.empty((), dtype)) == dtype
    if dtype.kind != "b":
        got = table.to_numpy(table.iota(2, 3, 5, dtype))
        assert bits(got) == bits(np.array([2, 5, 8, 11, 14]).astype(dtype))


def test_iota_rounds_once_and_reaches_the_ends_of_int64():
    got = table.to_numpy(table.iota(0.1, 0.1, 1000, np.dtype("float32")))
    np.testing.assert_array_equal(got, (0.1 + 0.1 * np.arange(1000)).astype("float32"))
    top = np.iinfo("int64").max
    assert table.to_numpy(table.iota(top - 2, 1, 3, np.dtype("int64"))).tolist() == [top - 2, top - 1, top]
    assert table.to_numpy(table.full((1,), 2**64 - 1, np.dtype("uint64"))).tolist() == [2**64 - 1]


def test_missing_dtypes_name_the_remedy(monkeypatch):
    with pytest.raises(DTypeError, match=r"from_numpy: complex128 .*astype\('complex64'\)"):
        table.from_numpy(np.zeros(2, "complex128"))
    raw = table.from_numpy(np.zeros(2, "float32"))
    monkeypatch.setattr(runtime, "ON_GPU", True)
    for attempt in (lambda: table.from_numpy(np.zeros(2)), lambda: table.cast(raw, np.dtype("float64")),
                    lambda: table.full((2,), 0, np.dtype("float64")), lambda: table.empty((2,), np.dtype("float64")),
                    lambda: table.iota(0, 1, 2, np.dtype("float64"))):
        with pytest.raises(DTypeError, match=r"float64 does not exist on mlx's GPU\. Use \.astype\('float32'\)"):
            attempt()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 1), (1, 1), (0, 2)])
def test_arrays_of_any_size_cross_with_negative_strides(shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)[(slice(None, None, -1),) * len(shape)]
    np.testing.assert_array_equal(table.to_numpy(table.from_numpy(x.astype("float32"))), x)
