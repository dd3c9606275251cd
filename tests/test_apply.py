"""Operands: what becomes a tensor, and what must not lose its gradient on the way."""

import re

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.apply import apply
from lucid_nb.op import Primitive

TEXT = r": the sequence holds a tensor of shape \(.*\) that requires grad.*lnb\.concat, or use \.detach\(\)"


@pytest.mark.parametrize("call", [
    lambda x: lnb.add(lnb.ones((2, 2)), [x, x]), lambda x: lnb.ones(2) - [1.0, x[0]],
    lambda x: lnb.ones(2) * (x[0], 1.0),
    lambda x: lnb.tensor([[1.0], [x[0]]]), lambda x: lnb.asarray([x, x]), lambda x: lnb.sum([x]),
    lambda x: lnb.concat([[x, x]]), lambda x: lnb.zeros(2).__setitem__(slice(None), [1.0, x[0]])],
    ids=["sum", "mixed", "tuple", "nested", "asarray", "function", "concat", "setitem"])
def test_lists_with_tensors_that_require_grad_are_refused(call):
    with pytest.raises(lnb.GradError, match=TEXT):
        call(lnb.ones(2, requires_grad=True))


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


def test_gradient_without_memory_names_the_op():
    x = lnb.ones(3, requires_grad=True)

    def starve(ops, info, g):
        raise MemoryError
    op = Primitive("starving", lambda table, raw: table.copy(raw), starve)
    with pytest.raises(lnb.LucidError, match=r"^starving: its gradient asks for more memory than there is") as caught:
        apply(op, (x,)).sum().backward()
    assert isinstance(caught.value, MemoryError)
