"""autograd.grad, beside PyTorch's of the same name."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import GradError, ShapeError


def leaf(*values):
    return lnb.tensor(list(values), requires_grad=True)


def test_gradients_by_computed_tensors_and_by_leaves_behind_them():
    a = leaf(1.0, 2.0)
    b = a * a
    by_leaf, by_computed = lnb.autograd.grad((b * a).sum(), [a, b])
    assert by_leaf.tolist() == [3, 12] and by_computed.tolist() == [1, 2] and a.grad is None


def test_several_outputs_add_up():
    a = leaf(1.0, 2.0)
    found, = lnb.autograd.grad([a.sum(), (a * a).sum()], a, [None, lnb.tensor(10.0)])
    assert found.tolist() == [21, 41]


def test_graph_is_freed_unless_kept():
    a = leaf(2.0)
    y = (a ** 3).sum()
    assert lnb.autograd.grad(y, a, retain_graph=True)[0].tolist() == [12]
    assert lnb.autograd.grad(y, a)[0].tolist() == [12]
    with pytest.raises(GradError, match="freed"):
        lnb.autograd.grad(y, a)


def test_create_graph_gives_higher_derivatives():
    a = lnb.tensor(2.0, requires_grad=True)
    y = a ** 4
    for expected in (32.0, 48.0, 48.0, 24.0):
        y, = lnb.autograd.grad(y, a, create_graph=True)
        assert y.item() == expected


def test_unused_inputs():
    a, b = leaf(1.0), leaf(2.0)
    with pytest.raises(GradError, match=r"do not depend on input 1 of shape \(1,\). Leave it out, or pass allow_un"):
        lnb.autograd.grad(a.sum(), [a, b])
    assert lnb.autograd.grad(a.sum(), [a, b], allow_unused=True)[1] is None
    assert lnb.autograd.grad(a.sum(), [a, b], materialize_grads=True)[1].tolist() == [0]


def test_parts_that_do_not_lead_to_inputs_are_not_run():
    a, b = leaf(1.0), leaf(2.0)
    calls = []
    c = b * 3
    c.register_hook(lambda g: calls.append(1))
    lnb.autograd.grad((a * 2 + c).sum(), a)
    assert not calls


def test_hooks_change_what_is_given():
    a = leaf(1.0)
    a.register_hook(lambda g: g * 10)
    b = a * 2
    b.register_hook(lambda g: g * 100)
    found, by_b = lnb.autograd.grad(b.sum(), [a, b])
    assert found.tolist() == [2000] and by_b.tolist() == [100]


def test_parts_of_an_op_with_several_results():
    a = leaf(3.0, 1.0, 2.0)
    whole, = lnb.autograd.grad(sum((p * (i + 1)).sum() for i, p in enumerate(lnb.split(a, 3))), a)
    assert whole.tolist() == [1, 2, 3]


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: lnb.autograd.grad(leaf(1.0, 2.0), leaf(1.0)), GradError, "do not depend on input 0"),
    (lambda: lnb.autograd.grad(leaf(1.0).sum(), lnb.ones(1)), GradError, r"input 0 of shape \(1,\) does not require"),
    (lambda: lnb.autograd.grad("y", leaf(1.0)), GradError, "outputs is str. Give a tensor"),
    (lambda: lnb.autograd.grad([leaf(1.0).sum()], leaf(1.0), [None, None]), ShapeError, "2 grad_outputs for 1")])
def test_refusals_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_scenarios_equal_pytorch():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal((4, 3))

    def run(make, grad):
        a = make(x)
        b = (a * 2).sin()
        c = b @ a.T
        first = grad((c ** 2).sum(), [a, b, c], create_graph=True)
        second = grad(sum((g ** 2).sum() for g in first), [a, b])
        return [g.detach().numpy() for g in (*first, *second)]
    ours = run(lambda v: lnb.tensor(v, requires_grad=True), lnb.autograd.grad)
    theirs = run(lambda v: torch.tensor(v, requires_grad=True), torch.autograd.grad)
    for found, expected in zip(ours, theirs):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
