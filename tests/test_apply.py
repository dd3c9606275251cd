"""Operands: what becomes a tensor, and what must not lose its gradient on the way."""

import re

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import errors
from lucid_nb.apply import apply
from lucid_nb.op import Primitive
from lucid_nb.testing import check_grad

CALLS = {
    "operand": lambda x: lnb.add(lnb.ones((2, 2)), [x, x]), "mixed": lambda x: lnb.ones(2) - [1.0, x[0]],
    "tuple": lambda x: lnb.ones(2) * (x[0], 1.0), "array": lambda x: lnb.array([x, 2 * x, [3.0, 4.0]]),
    "nested": lambda x: lnb.asarray([[x[0], x[1] ** 2], [1.0, x[0]]], order="F"), "function": lambda x: lnb.sum([x]),
    "numbers": lambda x: lnb.array([x[0], True, 2, np.arange(3)[1]]), "cast": lambda x: lnb.array([x], dtype=complex),
    "one": lnb.array, "concat": lambda x: lnb.concat([[x, x]]), "deep": lambda x: lnb.array([x], ndmin=3),
    "setitem": lambda x: _written(lnb.zeros(2), [1.0, x[0]])}


def _written(target, value):
    target[:] = value
    return target


@pytest.mark.parametrize("name", CALLS)
def test_sequences_of_tensors_keep_their_gradients(name):
    check_grad(lambda x: CALLS[name](x) ** 2, np.array([0.3, -1.2]))
    x = lnb.tensor([2.0, 3.0], requires_grad=True)
    with lnb.no_grad():                                                       # the host's way, which NumPy goes
        expected = CALLS[name](x)
    found = CALLS[name](x)
    assert (found.dtype, found.tolist(), found.requires_grad) == (expected.dtype, expected.tolist(), True)


def test_sequences_of_tensors_stay_on_their_device():
    x = lnb.tensor([1.0, 2.0], device="mlx")
    assert lnb.array([x[0], 3.0]).device == lnb.sum([x, x]).device == "mlx"
    assert lnb.array([x, x], device="cpu").tolist() == [[1, 2], [1, 2]]


def test_sequences_of_tensors_hold_a_value_for_each_example_of_vmap():
    x = lnb.arange(6.0).reshape(3, 2)
    assert lnb.vmap(lambda row: lnb.array([row[1], 7.0, row[0]]))(x).tolist() == [[1, 7, 0], [3, 7, 2], [5, 7, 4]]


def test_sequences_of_tensors_are_refused_where_numpy_refuses_them():
    x = lnb.ones(2, requires_grad=True)
    with pytest.raises(lnb.ShapeError, match="asarray: the nested sequence is ragged"):
        lnb.array([x, x[0]])
    with pytest.raises(lnb.GradError, match=r"tensor: the sequence holds a tensor of shape \(2,\) that requires grad"):
        lnb.tensor([x, x])


def test_lists_of_tensors_without_gradient_are_numbers():
    x = lnb.tensor([2.0, 3.0], requires_grad=True)
    assert lnb.tensor([1.0, x.detach()[0]]).tolist() == [1.0, 2.0]
    with lnb.no_grad():
        np.testing.assert_array_equal(lnb.asarray([x, x]).numpy(), [[2.0, 3.0]] * 2)


COLUMN, ROW = np.zeros((10 ** 7, 1)), np.zeros((1, 10 ** 7))
HUGE = {
    "add": lambda x, y: x + y, "matmul": lambda x, y: x @ y, "where": lambda x, y: lnb.where(x > 0, x, y),
    "exp": lambda x, y: lnb.exp(lnb.broadcast_to(x, (10 ** 7, 10 ** 7))),
    "multiply": lambda x, y: lnb.broadcast_to(x, (10 ** 7, 10 ** 7)) * 2.0,
    "subtract": lambda x, y: 2.0 - lnb.broadcast_to(x, (10 ** 7, 10 ** 7)),
    "concatenate": lambda x, y: lnb.concat([lnb.broadcast_to(x, (10 ** 7, 10 ** 7))] * 4)}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", HUGE)
def test_more_memory_than_there_is_says_how_much(name, requires_grad):
    x, y = lnb.asarray(COLUMN), lnb.asarray(ROW)
    x.requires_grad = requires_grad
    with pytest.raises(lnb.LucidError, match=rf"^{name}: a call on shapes .*10000000.*GiB at once.* Work") as caught:
        HUGE[name](x, y)
    assert isinstance(caught.value, MemoryError)
    asked = float(re.search(r"([\d,.]+) GiB", str(caught.value))[1].replace(",", ""))
    exact = 8 * 10 ** 14 * (4 if name == "concatenate" else 1) / 2 ** 30
    assert exact <= asked <= exact * 1.125 + 1           # blocks are rounded up by an eighth at most


@pytest.mark.parametrize("size", [300 << 10, 35 << 20, 3 << 30])
def test_small_amounts_of_memory_that_are_missing_are_said_in_a_unit_that_fits(size):
    missing = np._core._exceptions._ArrayMemoryError((size,), np.dtype("uint8"))
    words = str(errors.out_of_memory("op", "it", missing))
    number, unit = re.search(r"asks for ([\d.]+) (.iB) at once", words).groups()
    assert float(number) * {"MiB": 2 ** 20, "GiB": 2 ** 30}[unit] == pytest.approx(size, rel=0.05)


def test_gradient_without_memory_names_the_op():
    x = lnb.ones(3, requires_grad=True)

    def starve(ops, info, g):
        raise MemoryError
    op = Primitive("starving", lambda table, raw: table.copy(raw), starve)
    with pytest.raises(lnb.LucidError, match=r"^starving: its gradient asks for more memory than there is") as caught:
        apply(op, (x,)).sum().backward()
    assert isinstance(caught.value, MemoryError)
