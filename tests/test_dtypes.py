"""Dtypes and promotion against NumPy's."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import dtypes
from lucid_nb.errors import DTypeError, OverflowError

NAMES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128").split()
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("first, second", list(itertools.product(NAMES, NAMES)))
def test_promotion_equals_numpys(first: str, second: str) -> None:
    assert dtypes.promote((np.dtype(first), np.dtype(second))) == np.result_type(first, second)


@pytest.mark.parametrize("name, scalar", list(itertools.product(NAMES, [True, 3, 0.5, 1j])))
def test_python_scalars_are_weak_as_numpys(name: str, scalar: complex) -> None:
    expected = np.result_type(np.dtype(name), scalar)
    assert dtypes.promote((np.dtype(name), type(scalar))) == expected == dtypes.promote((type(scalar), np.dtype(name)))


@pytest.mark.parametrize("other, expected", [
    ("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int8", "bfloat16"), ("bool", "bfloat16"),
    ("complex64", "complex64"), (int, "bfloat16"), (float, "bfloat16"), (complex, "complex64")])
def test_bfloat16_promotes_as_float16_does(other: str | type, expected: str) -> None:
    key = other if isinstance(other, type) else np.dtype(other)
    found = dtypes.promote((BFLOAT16, key))
    assert found == dtypes.as_dtype("op", expected) == dtypes.promote((key, BFLOAT16))


def test_only_scalars_give_the_default_dtype() -> None:
    assert dtypes.promote((float, int)) == np.float64 and dtypes.promote((int, bool)) == np.int64
    lnb.set_default_dtype(lnb.float32)
    try:
        assert dtypes.promote((float, int)) == np.float32 and lnb.tensor([0.5]).dtype == np.float32
        assert lnb.zeros(2).dtype == np.float32 and lnb.exp(0.5).dtype == np.float32
        assert lnb.tensor(np.array([0.5])).dtype == np.float64 and lnb.tensor([1, 2]).dtype == np.int64
    finally:
        lnb.set_default_dtype("float64")
    for wrong in ("int64", "complex64", "bool"):
        with pytest.raises(DTypeError, match=f"set_default_dtype: {wrong} is not a float dtype"):
            lnb.set_default_dtype(wrong)
    assert lnb.default_dtype() == np.float64


@pytest.mark.parametrize("name", NAMES)
def test_float_of_a_dtype_equals_numpys_sqrt(name: str) -> None:
    if name.startswith("complex"):
        assert dtypes.to_float(np.dtype(name)) == name
        with pytest.raises(DTypeError, match=f"op: has no meaning for {name}. Take .real or .imag, or abs"):
            dtypes.real_float("op", np.dtype(name))
    else:
        expected = np.sqrt(np.ones(1, name)).dtype
        assert dtypes.to_float(np.dtype(name)) == expected == dtypes.real_float("op", np.dtype(name))


@pytest.mark.parametrize("given, expected", [
    ("float32", "float32"), (np.float32, "float32"), (float, "float64"), (int, "int64"), (bool, "bool"),
    (complex, "complex128"), (np.dtype("i4"), "int32"), ("f2", "float16"), (lnb.float32, "float32")])
def test_what_users_call_a_dtype(given: object, expected: str) -> None:
    assert dtypes.as_dtype("op", given) == expected


@pytest.mark.parametrize("given", ["bfloat16", lnb.bfloat16, BFLOAT16, ml_dtypes.bfloat16])
def test_ways_to_say_bfloat16(given: object) -> None:
    assert dtypes.as_dtype("op", given) == BFLOAT16 and dtypes.is_float(BFLOAT16) and dtypes.is_inexact(BFLOAT16)


@pytest.mark.parametrize("given, text", [
    ("nope", "op: 'nope' is not a dtype. Use one such as lnb.float32."), (7, "op: 7 is not a dtype."),
    (None, "op: None is not a dtype."), ([1], "op: [1] is not a dtype."),
    ("U3", "op: <U3 data has no arithmetic here."),
    (object, "op: object data has no"), ("M8[s]", "op: datetime64[s] data has no"), (">f4", "op: >f4 data has no"),
    (np.longdouble, "op: float128 data has no" if np.finfo(np.longdouble).bits == 128 else "op: "),
    ([("a", "f4")], "op: [('a', '<f4')] data has no arithmetic here."), ("V2", "op: |V2 data has no")])
def test_what_is_no_dtype_here_says_so(given: object, text: str) -> None:
    with pytest.raises(DTypeError) as caught:
        dtypes.as_dtype("op", given)
    assert str(caught.value).startswith(text) and isinstance(caught.value, TypeError)


@pytest.mark.parametrize("value, dtype", [(128, "int8"), (-1, "uint8"), (2 ** 63, "int64"), (float("nan"), "int16"),
                                          (float("inf"), "int64"), (10 ** 400, "float64"), (10 ** 400, "bfloat16")])
def test_number_that_does_not_fit_is_refused(value: float, dtype: str) -> None:
    with pytest.raises(OverflowError, match=f"op: .* does not fit {dtype}"):
        dtypes.as_weak_scalar("op", value, dtypes.as_dtype("op", dtype))


@pytest.mark.parametrize("value, dtype", [(127, "int8"), (-128, "int8"), (2 ** 64 - 1, "uint64"), (0.1, "float32"),
                                          (True, "int32"), (1 + 2j, "complex64"), (0.1, "bfloat16"), (7, "bool")])
def test_number_becomes_what_numpy_makes_of_it(value: complex, dtype: str) -> None:
    kind = dtypes.as_dtype("op", dtype)
    found = dtypes.as_weak_scalar("op", value, kind)
    assert found == np.array(value).astype(kind) and found.dtype == kind and not found.flags.writeable


@pytest.mark.parametrize("first, second", list(itertools.product([*NAMES, "bfloat16"], repeat=2)))
def test_in_place_casting_rule(first: str, second: str) -> None:
    given, wanted = dtypes.as_dtype("op", first), dtypes.as_dtype("op", second)
    both = {given, wanted}
    is_real = not (given.kind == "c" and wanted.kind != "c")
    expected = np.can_cast(given, wanted, "same_kind") or (BFLOAT16 in both and both <= {BFLOAT16, np.dtype("float16")})
    assert dtypes.can_cast(given, wanted, "same_kind") == (expected and is_real)
    assert dtypes.can_cast(given, wanted, "unsafe") == is_real
