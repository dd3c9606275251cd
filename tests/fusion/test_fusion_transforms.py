"""Fused functions under transforms, within one another, and with nested arguments: beside the plain function."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import lucid_nb as lnb

X = np.random.default_rng(0).standard_normal((3, 4))


def plain(x, w=1.5):
    return (lnb.softmax(lnb.tanh(x * w)) * x).sum(-1)


fused = lnb.fuse(plain)


def nested(f):
    inner = lnb.fuse(lambda x: f(x) * 2 if f is plain else plain(x) * 2)
    return lambda x: (inner(x) + inner(x * 0.5)).sum()


TRANSFORMS = {
    "grad": lambda f, x: lnb.grad(lambda x: f(x).sum())(x), "jvp": lambda f, x: lnb.jvp(f, (x,), (x * 2,))[1],
    "vjp": lambda f, x: lnb.vjp(f, x)[1](lnb.ones(3))[0], "vmap": lambda f, x: lnb.vmap(f)(x),
    "vmap of columns": lambda f, x: lnb.vmap(f, in_axes=1)(x), "hvp": lambda f, x: lnb.hvp(lambda x: f(x).sum(), x, x),
    "per-example gradients": lambda f, x: lnb.vmap(lnb.grad(f))(x), "jacobian": lambda f, x: lnb.jacobian(f)(x),
    "hessian": lambda f, x: lnb.hessian(lambda x: f(x).sum())(x[0]),
    "linearize": lambda f, x: lnb.linearize(f, x)[1](x),
    "checkpoint": lambda f, x: lnb.grad(lambda x: lnb.checkpoint(f, x).sum())(x),
    "vmap of jvp": lambda f, x: lnb.vmap(lambda x: lnb.jvp(f, (x,), (x,))[1])(x),
    "two levels": lambda f, x: lnb.vmap(lambda w: lnb.vmap(lambda x: f(x, w))(x))(lnb.tensor([1.0, 2.0])),
    "grad of grad": lambda f, x: lnb.grad(lambda x: lnb.grad(lambda x: f(x).sum())(x).sum())(x),
    "within another": lambda f, x: nested(f)(x)}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_fused_functions(name):
    expected = TRANSFORMS[name](plain, lnb.tensor(X)).detach().numpy()
    for _ in range(2):
        np.testing.assert_allclose(TRANSFORMS[name](fused, lnb.tensor(X)).detach().numpy(), expected, rtol=1e-10,
                                   atol=1e-12)


@dataclasses.dataclass
class State:
    """A dataclass of tensors."""

    position: object
    parts: dict


class Pair(NamedTuple):
    """A named tuple of tensors."""

    first: object
    second: object


def test_nested_arguments_keywords_and_results():
    def step(state, pair, *more, scale=1.0, names=("a",)):
        found = {name: lnb.tanh(state.parts[name] * scale) for name in names}
        return State(state.position + sum(more), found), Pair(pair.second * 2, [pair.first, None, "text"])
    x, y = lnb.tensor(X), lnb.tensor(X[0])
    arguments = State(x, {"a": y, "b": x}), Pair(x, y), x, y
    for options in ({}, {"scale": 2.0, "names": ("a", "b")}, {"names": ("b",), "scale": -1}):
        for call in (lnb.fuse(step),) * 2:
            expected, found = step(*arguments, **options), call(*arguments, **options)
            assert type(found[0]) is State and type(found[1]) is Pair and found[1].second[1:] == [None, "text"]
            np.testing.assert_allclose(found[0].position.numpy(), expected[0].position.numpy())
            assert list(found[0].parts) == list(expected[0].parts)
            for name, part in found[0].parts.items():
                np.testing.assert_allclose(part.numpy(), expected[0].parts[name].numpy(), rtol=1e-14)


def test_a_function_that_calls_itself_by_its_fused_name():
    @lnb.fuse
    def power(x, n):
        return x if n == 0 else power(lnb.sin(x) + 1, n - 1)
    wanted = X
    for _ in range(40):
        wanted = np.sin(wanted) + 1
    np.testing.assert_allclose(power(lnb.tensor(X), 40).numpy(), wanted, rtol=1e-12)


def test_results_that_are_arguments_or_one_tensor_twice():
    same = lnb.fuse(lambda x, y: (x, y * 2, x))
    x, y = lnb.tensor(X), lnb.tensor(X[0])
    for _ in range(2):
        a, b, c = same(x, y)
        assert a is c is x and np.array_equal(b.numpy(), X[0] * 2)
