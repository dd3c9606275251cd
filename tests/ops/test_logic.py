"""What comparisons and choices promise beside their oracle."""

import operator
from unittest import mock

import numpy as np
import pytest

import lucid_nb as lnb

COMPARISONS = ["greater", "greater_equal", "less", "less_equal", "equal", "not_equal"]


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype, scalar", [("int8", 300), ("int8", -300), ("uint8", -1), ("uint64", -1),
                                           ("int64", 2 ** 70), ("int32", 2.5), ("uint8", 255), ("float32", 2 ** 100)])
def test_comparison_with_any_scalar_equals_numpy(name, dtype, scalar):
    x = np.array([0, 1, 100]).astype(dtype)
    found, reflected = getattr(lnb, name)(lnb.asarray(x), scalar), getattr(lnb, name)(scalar, lnb.asarray(x))
    np.testing.assert_array_equal(found.numpy(), getattr(np, name)(x, scalar))
    np.testing.assert_array_equal(reflected.numpy(), getattr(np, name)(scalar, x))


def test_comparison_has_no_gradient():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    assert not (x > 1).requires_grad


@pytest.mark.parametrize("dtype", ["bool", "float32", "int64", "uint8"])
def test_where_takes_any_condition_and_routes_the_gradient(dtype, device):
    condition = np.array([0, 1, 2]).astype(dtype)
    x, y = (lnb.asarray(np.array(v, "float32"), device=device) for v in ([1, 2, 3], [4, 5, 6]))
    x.requires_grad = y.requires_grad = True
    found = lnb.where(lnb.asarray(condition, device=device), x, y)
    assert found.dtype == np.float32 and found.tolist() == [4, 2, 3]
    found.sum().backward()
    assert x.grad.tolist() == [0, 1, 1] and y.grad.tolist() == [1, 0, 0]


def test_where_with_scalars_promotes_as_numpy():
    condition = np.array([True, False])
    x = np.ones(2, "float32")
    assert lnb.where(lnb.asarray(condition), lnb.asarray(x), 2).dtype == np.where(condition, x, 2).dtype
    assert lnb.where(lnb.asarray(condition), 1, 2.5).tolist() == [1.0, 2.5]
    assert lnb.where(lnb.asarray(condition), 1, 2).dtype == np.int64


def test_where_ignores_the_branch_that_was_not_taken(device):
    x = lnb.asarray(np.array([0, 2], "float32"), device=device)
    x.requires_grad = True
    with np.errstate(all="ignore"):
        lnb.where(x > 0, lnb.log(x), x).sum().backward()
    assert x.grad.tolist() == [1, 0.5]


@pytest.mark.parametrize("signed", ["int8", "int32", "int64"])
@pytest.mark.parametrize("name", ["greater", "greater_equal", "less", "less_equal", "equal", "not_equal"])
def test_signed_against_uint64_is_compared_exactly(name, signed, device):
    bounds = np.iinfo(signed)
    far = [2**53 + 1, 2**62 + 1] if signed == "int64" else []
    ours = np.array([bounds.min, -1, 0, 1, bounds.max - 1, bounds.max, *far], signed)
    theirs = np.array([0, 1, 2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1], "uint64")
    x, y = lnb.asarray(ours[:, None], device=device), lnb.asarray(theirs, device=device)
    function, oracle = getattr(lnb, name), getattr(np, name)
    np.testing.assert_array_equal(function(x, y).to_host(), oracle(ours[:, None], theirs))
    np.testing.assert_array_equal(function(y, x).to_host(), oracle(theirs, ours[:, None]))


@pytest.mark.parametrize("device", ["cpu", "mlx"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("other", [None, "a", b"a", {}, object(), [None, 1.0], np.array(["a", "b"]),
                                   np.array([1.0, None]), np.datetime64("2020-01-01"), float],
                         ids=lambda value: type(value).__name__)
def test_equality_with_what_is_no_number_equals_numpy(other, dtype, device):
    x = lnb.tensor([1.0, 2.0], device=device).astype(dtype)
    theirs = x.to_host() if dtype != "bfloat16" else np.array([1, 2], "float32")
    for found, expected in ((x == other, theirs == other), (x != other, theirs != other)):
        assert found.device == device and found.dtype == np.bool_ and found.shape == (2,)
        np.testing.assert_array_equal(found.to_host(), expected)


def test_equality_of_a_value_with_none_has_a_truth_value():
    x = lnb.ones(3, requires_grad=True).sum()
    is_none, is_not = x == None, x != None  # noqa: E711
    assert not is_none and is_not and is_none.shape == () and not operator.eq(None, x)
    assert None not in [x] and "a" not in [x]


def test_equality_leaves_the_word_to_objects_that_know_better():
    x = lnb.tensor([1.0, 2.0])
    assert x == pytest.approx(np.array([1.0, 2.0 + 1e-9])) and (x == mock.ANY).all() and not (x != mock.ANY).any()


def test_equality_with_strings_needs_shapes_that_fit():
    with pytest.raises(lnb.ShapeError, match=r"equal: .*\(2,\) and \(3,\)"):
        lnb.ones(2) == np.array(["a", "b", "c"])  # noqa: B015
    for call in (lambda: lnb.equal("a", "b"), lambda: lnb.ones(2) < None,
                 lambda: lnb.ones(2) == np.zeros(2, np.longdouble)):
        with pytest.raises(lnb.DTypeError, match="data has no arithmetic here"):
            call()


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "logical_not"])
def test_truth_of_numbers_equals_numpy(name, dtype, device):
    x, y = np.array([0, 1, 2, 0]).astype(dtype), np.array([0, 0, 3, 1]).astype(dtype)
    x = np.r_[x, np.array([np.nan], dtype)] if x.dtype.kind in "fc" else x
    y = np.r_[y, np.array([0], dtype)] if y.dtype.kind in "fc" else y
    operands = (x, y) if name != "logical_not" else (x,)
    found = getattr(lnb, name)(*[lnb.asarray(operand, device=device) for operand in operands])
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found.to_host(), getattr(np, name)(*operands))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_truth_of_python_numbers_needs_no_dtype(name, dtype):
    x = np.array([0, 1, 2]).astype(dtype)
    for number in (True, 0, -1, 300, 2 ** 63 - 1, 1e-300, 0.0, float("nan"), 1j):
        for order in (1, -1):
            wanted = getattr(np, name)(*(x, number)[::order])
            assert getattr(lnb, name)(*(lnb.asarray(x), number)[::order]).tolist() == wanted.tolist()
    assert lnb.logical_and(lnb.asarray(x), 2 ** 400).tolist() == [False, True, True][:1] + (x[1:] != 0).tolist()


def test_truth_of_signed_and_unsigned_integers_is_exact():
    x, y = np.array([-1, 0, 5]), np.array([1, 2 ** 63, 0], "uint64")
    for name in ("logical_and", "logical_or", "logical_xor"):
        assert getattr(lnb, name)(lnb.asarray(x), lnb.asarray(y)).tolist() == getattr(np, name)(x, y).tolist()
