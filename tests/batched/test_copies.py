"""Functions that write values into a copy, and rules that write into new memory, where examples differ."""

import numpy as np
import pytest

import lucid_nb as lnb

RANDOM = np.random.default_rng(0)
BASE, VALUES = RANDOM.standard_normal((4, 3)), RANDOM.standard_normal((5, 2, 3))
ROWS, PLACES = lnb.asarray([2, 0]), lnb.asarray([[0, 1, 2], [3, 2, 1]])
COPIES = {
    "index_add": lambda x, v: lnb.index_add(x, ROWS, v), "index_add by columns": lambda x, v: lnb.index_add(
        x.T, ROWS, v.T, 1), "index_add times": lambda x, v: lnb.index_add(x, ROWS, VALUES[0], alpha=v[0, 0]),
    "index_put": lambda x, v: lnb.index_put(x, (ROWS,), v), "index_put, added": lambda x, v: lnb.index_put(
        x, (slice(None), ROWS), v[0, :2], True), "scatter": lambda x, v: lnb.scatter(x, PLACES, v, 0),
    "scatter into a part": lambda x, v: lnb.scatter(x, PLACES[:, :2], v, 0),
    "scatter_add": lambda x, v: lnb.scatter_add(x, PLACES, v, 0),
    "scatter_reduce": lambda x, v: lnb.scatter_reduce(x, PLACES, v, 0, reduce="prod"),
    "masked_fill": lambda x, v: lnb.masked_fill(x, x > 0, v[0, 0]),
    "pad": lambda x, v: lnb.pad(x, 1, constant_values=v[0, 0])}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_copies_of_what_is_the_same_for_all_examples(name, requires_grad):
    function = COPIES[name]
    x, values = [lnb.tensor(a, requires_grad=requires_grad) for a in (BASE, VALUES)]
    found = lnb.vmap(function, (None, 0))(x, values)
    expected = lnb.stack([function(x, v) for v in values])
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-15)
    assert np.array_equal(x.detach().numpy(), BASE)
    if requires_grad:
        weights = lnb.cos(lnb.arange(float(expected.size))).reshape(expected.shape)
        for a, b in zip(*[lnb.autograd.grad((y * weights).sum(), (x, values)) for y in (found, expected)]):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-14)


class Reversed(lnb.autograd.Function):
    """x from the end, squared; both directions write row after row."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = lnb.zeros(x.shape, dtype=x.dtype)
        for number in range(len(x)):
            y[number] = x[-1 - number] ** 2
        return y

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        found = lnb.zeros(x.shape, dtype=x.dtype)
        for number in range(len(x)):
            found[number] = g[-1 - number] * 2 * x[number]
        return found


def by_rule(x):
    """The same by `custom_vjp`."""
    function = lnb.custom_vjp(lambda x: x[::-1] ** 2)

    def backward(x, g):
        found = lnb.zeros(x.shape, dtype=x.dtype)
        found[:] = g[::-1] * 2 * x
        return (found,)
    function.defvjp(lambda x: (function(x), x), backward)
    return function(x)


@pytest.mark.parametrize("function", [Reversed.apply, by_rule])
def test_rules_that_write_and_run_after_vmap_has_ended(function):
    x = lnb.tensor(VALUES, requires_grad=True)
    (lnb.vmap(function)(x) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * VALUES ** 3, rtol=1e-14)
    x.grad = None
    (lnb.vmap(lnb.vmap(function), 1, 1)(x) ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * VALUES ** 3, rtol=1e-14)


class Shifted(lnb.autograd.Function):
    """x and something from elsewhere, kept for a rule that writes nothing."""

    @staticmethod
    def forward(ctx, x, v):
        ctx.save_for_backward(x, v)
        return x[::-1] ** 2 * v

    @staticmethod
    def backward(ctx, g):
        x, v = ctx.saved_tensors
        return (g * v)[::-1] * 2 * x, None


@pytest.mark.parametrize("again", [False, True])
def test_rules_of_what_is_the_same_and_what_is_not(again):
    w, values = lnb.asarray(VALUES[0]), lnb.asarray(VALUES)
    plain = lambda w, v: w[::-1] ** 2 * v
    found, expected = [], []
    for function, kept in ((Shifted.apply, found), (plain, expected)):
        def total(w, function=function):
            return (lnb.vmap(lambda v: function(w, v))(values) ** 2).sum()
        kept.append(lnb.hvp(total, w, w) if again else lnb.grad(total)(w))
    np.testing.assert_allclose(found[0].numpy(), expected[0].numpy(), rtol=1e-12)


@pytest.mark.parametrize("function", [Reversed.apply, by_rule])
def test_rules_of_what_is_the_same_for_all_examples(function):
    w = lnb.tensor(VALUES[0], requires_grad=True)
    lnb.vmap(lambda v: function(w)[::-1] * v)(lnb.asarray(VALUES)).sum().backward()
    assert w.grad.shape == w.shape
    np.testing.assert_allclose(w.grad.numpy(), 2 * VALUES[0] * VALUES.sum(0), rtol=1e-13)
