"""Operands: what becomes a tensor, and what must not lose its gradient on the way."""

import numpy as np
import pytest

import lucid_nb as lnb

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
