"""Questions about dtypes against NumPy's answers."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]
WORDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]


@pytest.mark.parametrize("one, other", list(product(DTYPES, DTYPES)))
def test_promotion_and_casts_are_numpys(one, other):
    assert lnb.promote_types(one, other) == np.promote_types(one, other) == lnb.result_type(
        np.dtype(one), lnb.zeros(1, dtype=other))
    for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
        wanted = np.can_cast(one, other, casting)
        assert lnb.can_cast(one, other, casting) is lnb.can_cast(lnb.zeros(1, dtype=one), other, casting) is wanted
    assert lnb.isdtype(np.dtype(one), np.dtype(other)) is np.isdtype(np.dtype(one), np.dtype(other))
    assert lnb.issubdtype(one, other) is np.issubdtype(one, other)


@pytest.mark.parametrize("name", DTYPES)
def test_kinds_are_numpys(name):
    dtype = np.dtype(name)
    for word in WORDS:
        assert lnb.isdtype(dtype, word) is np.isdtype(dtype, word)
    assert lnb.isdtype(dtype, ("bool", "integral")) is np.isdtype(dtype, ("bool", "integral"))
    for kind in (np.generic, np.number, np.integer, np.signedinteger, np.floating, np.inexact, np.complexfloating):
        assert lnb.issubdtype(dtype, kind) is np.issubdtype(dtype, kind)
    for scalar in (True, 1, 1.5, 1j):
        assert lnb.result_type(dtype, scalar) == np.result_type(dtype, scalar)
    if dtype.kind in "fc":
        assert lnb.finfo(dtype).eps == np.finfo(dtype).eps == lnb.finfo(lnb.zeros(1, dtype=name)).eps
    if dtype.kind in "iu":
        assert lnb.iinfo(dtype).max == np.iinfo(dtype).max == lnb.iinfo(lnb.zeros(1, dtype=name)).max
    if dtype.kind != "b":
        assert lnb.common_type(lnb.zeros(1, dtype=name)) is np.common_type(np.zeros(1, name))


def test_bfloat16_is_a_float():
    small = lnb.bfloat16
    assert lnb.isdtype(small, "real floating") and lnb.isdtype(small, "numeric") and not lnb.isdtype(small, "integral")
    assert lnb.issubdtype(small, np.floating) and lnb.issubdtype("bfloat16", np.inexact)
    assert not lnb.issubdtype(small, np.integer) and lnb.issubdtype(small, small)
    assert float(lnb.finfo(small).eps) == float(ml_dtypes.finfo(small).eps)
    assert lnb.result_type(small, 1.5) == small and lnb.promote_types(small, "float16") == np.float32
    assert lnb.can_cast(small, "float32") and lnb.can_cast("float64", small, "same_kind")


def test_smallest_types_are_numpys():
    for value in (0, 300, -1, 2 ** 40, 1.5, 1e300, 1j, True):
        assert lnb.min_scalar_type(value) == np.min_scalar_type(value)
    assert lnb.min_scalar_type(lnb.zeros(2, dtype="int32")) == np.int32


@pytest.mark.parametrize("call, text", [
    (lambda: lnb.finfo("int32"), "finfo: int32 is no float or complex dtype. Use iinfo"),
    (lambda: lnb.iinfo("float32"), "iinfo: float32 is no integer dtype. Use finfo"),
    (lambda: lnb.can_cast(1, "int8"), "can_cast: 1 is a Python number"),
    (lambda: lnb.isdtype("int8", "whole"), "isdtype: kind 'whole' is unknown"),
    (lambda: lnb.result_type(), "result_type: no operands"),
    (lambda: lnb.common_type(lnb.zeros(1, dtype=bool)), "common_type: ")], ids=range(6))
def test_bad_questions_are_refused(call, text):
    with pytest.raises(lnb.DTypeError, match=text):
        call()


NAMES = """bool_ byte cdouble clongdouble complexfloating csingle datetime64 double dtype e euler_gamma floating generic
half index_exp inexact inf int_ intc integer intp long longdouble longlong nan newaxis number object_ pi s_ short
signedinteger single timedelta64 ubyte uint uintc uintp ulong ulonglong unsignedinteger ushort void""".split()


@pytest.mark.parametrize("name", NAMES)
def test_constants_and_dtypes_are_numpys_objects(name):
    assert getattr(lnb, name) is getattr(np, name)


@pytest.mark.parametrize("array", [np.zeros((2, 3)), np.zeros((2, 3), order="F"), np.zeros((2, 3))[:, ::2],
                                   np.zeros(()), [[1, 2]], 5], ids=range(6))
def test_shape_and_memory_are_numpys(array):
    given = lnb.asarray(array) if isinstance(array, np.ndarray) else array
    assert lnb.shape(given) == np.shape(array) and lnb.ndim(given) == np.ndim(array)
    assert lnb.size(given) == np.size(array)
    if np.ndim(array) > 1:
        assert lnb.size(given, 1) == np.size(array, 1) and lnb.size(given, (0, -1)) == np.size(array)
    if isinstance(array, np.ndarray):
        assert lnb.isfortran(given) == np.isfortran(array)
        for flag in ("c_contiguous", "f_contiguous", "writeable", "aligned"):
            assert getattr(given.flags, flag) == getattr(array.flags, flag)


def test_flags_say_what_may_be_written():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    assert not x.flags.writeable and not lnb.broadcast_to(lnb.zeros(1), (2,)).flags.writeable
    assert lnb.zeros((2, 3), device="mlx").T.flags.c_contiguous


def test_to_device_is_the_array_apis_to():
    x = lnb.ones(2, dtype="float32")
    assert x.to_device("cpu") is x and x.to_device("mlx").device == "mlx"


@pytest.mark.parametrize("call", [
    lambda: lnb.can_cast("f4", "f8", "any"), lambda: lnb.can_cast("f4", "f8", np.ones(2)),
    lambda: lnb.can_cast(1, "f8"), lambda: lnb.result_type("f4", np.zeros(2, "M8[D]")),
    lambda: lnb.isdtype("f4", "numbers")], ids=range(5))
def test_what_is_no_dtype_or_word_is_refused(call):
    with pytest.raises(lnb.DTypeError):
        call()


@pytest.mark.parametrize("name", ["common_type", "min_scalar_type", "isfortran"])
def test_ragged_rows_are_refused(name):
    with pytest.raises(lnb.ShapeError, match=f"{name}: the nested sequence is ragged"):
        getattr(lnb, name)([[1, 2], [3]])
