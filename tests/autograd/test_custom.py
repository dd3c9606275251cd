"""`custom_vjp` and `custom_jvp` against the gradients of the library, differences and closed forms."""

import functools

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import GradError, ShapeError
from lucid_nb.testing import check_grad

random = np.random.default_rng(11)
A, B = random.uniform(0.5, 1.5, (3, 2)), random.uniform(0.5, 1.5, (3, 2))


@lnb.custom_vjp
def product(x, y):
    """sin(x) y, whose residuals are an intermediate value and an argument."""
    return lnb.sin(x) * y


product.defvjp(lambda x, y: (lnb.sin(x) * y, {"cos": lnb.cos(x), "both": (lnb.sin(x), y)}),
               lambda kept, g: (g * kept["cos"] * kept["both"][1], g * kept["both"][0]))


@lnb.custom_vjp
def nested(parts, scale=2.0):
    """Trees in and out, and a default."""
    return {"sum": parts["a"] + parts["b"][0], "scaled": parts["a"] * scale, "name": "n"}


def _nested_backward(kept, g):
    assert g["name"] is None
    return {"b": [g["sum"]], "a": g["sum"] + g["scaled"] * kept}, None


nested.defvjp(lambda parts, scale: (nested.f(parts, scale), scale), _nested_backward)


@functools.partial(lnb.custom_vjp, nondiff_argnums=(0, 2))
def powered(f, x, exponent):
    """f(x) ** exponent."""
    return f(x) ** exponent


powered.defvjp(lambda f, x, exponent: (f(x) ** exponent, x),
               lambda f, exponent, x, g: (g * exponent * f(x) ** (exponent - 1) * lnb.cos(x),))


@lnb.custom_jvp
def softplus(x, y):
    """log(exp(x) + exp(y)), and a second result."""
    return lnb.logaddexp(x, y), x * y


@softplus.defjvp
def _softplus_rule(primals, tangents):
    (x, y), (s, t) = primals, tangents
    weight = 1 / (1 + lnb.exp(y - x))
    return softplus(x, y), (weight * s + (1 - weight) * t, s * y + t * x)


def test_gradients_to_second_order_in_both_modes():
    check_grad(product, A, B, order=2)
    check_grad(lambda x: powered(lnb.sin, x, 3), A, order=2)
    check_grad(softplus, A, B, order=2)
    check_grad(lambda x: softplus(x, 2 * x)[0], A, order=2)


def test_third_derivative_through_residuals():
    third = lnb.grad(lnb.grad(lnb.grad(lambda x: product(x, x))))
    assert np.allclose(third(0.7), -3 * np.sin(0.7) - 0.7 * np.cos(0.7))


def test_rules_are_used_where_something_is_differentiated_and_else_the_function():
    calls = []

    @lnb.custom_vjp
    def f(x):
        calls.append("f")
        return x * 1
    f.defvjp(lambda x: calls.append("forward") or (x * 1, None), lambda kept, g: calls.append("backward") or (7 * g,))
    f(lnb.asarray(A))
    assert (lnb.grad(lambda x: f(x).sum())(lnb.asarray(A)) == 7).all()
    assert calls == ["f", "forward", "backward"]
    assert f.__name__ == "f"


def test_trees_in_and_out_keywords_and_defaults():
    parts = {"a": lnb.asarray(A), "b": [lnb.asarray(B)]}

    def f(parts, **keywords):
        found = nested(parts, **keywords)
        assert found["name"] == "n"
        return (found["sum"] ** 2).sum() + found["scaled"].sum()
    for scale, keywords in ((2.0, {}), (5.0, {"scale": 5.0})):
        g = lnb.grad(lambda p, k=keywords: f(p, **k))(parts)
        assert np.allclose(g["a"], 2 * (A + B) + scale) and np.allclose(g["b"][0], 2 * (A + B))


def test_unused_results_count_as_zero():
    g = lnb.grad(lambda p: nested(p)["sum"].sum())({"a": lnb.asarray(A), "b": [lnb.asarray(B)]})
    assert (g["a"] == 1).all() and (g["b"][0] == 1).all()


def test_within_vmap_around_it_and_within_checkpoint():
    expected = lnb.grad(lambda x: (lnb.sin(x) * x).sum())(lnb.asarray(A))
    for f in (lambda x: product(x, x).sum(), lambda x: lnb.checkpoint(product, x, x).sum()):
        assert np.allclose(lnb.vmap(lnb.grad(f))(A), expected)
        assert np.allclose(lnb.grad(lambda x, f=f: lnb.vmap(f)(x).sum())(lnb.asarray(A)), expected)
    found = lnb.jacobian(lambda x: softplus(x, x * x), mode="reverse")(lnb.asarray(A[0]))
    plain = lnb.jacobian(lambda x: (lnb.logaddexp(x, x * x), x ** 3))(lnb.asarray(A[0]))
    assert all(np.allclose(a, b) for a, b in zip(found, plain))
    check_grad(lambda x, y: lnb.checkpoint(product, x, y), A, B, order=2)


def test_within_fuse_it_is_a_step_of_its_own():
    def f(x, y):
        return lnb.exp(product(x * 2, y)) + softplus(x, y)[0] + powered(lnb.sin, x, 2)
    fused = lnb.fuse(f)
    x, y = lnb.asarray(A), lnb.asarray(B)
    found, expected = [lnb.grad(lambda *a, g=g: g(*a).sum(), (0, 1))(x, y) for g in (fused, f)]
    assert all(np.allclose(a, b) for a, b in zip(found, expected)) and "product" in fused.explain()

    def named(x):
        return nested({"a": x, "b": [x]})["sum"] * 2
    assert np.allclose(lnb.grad(lambda x: lnb.fuse(named)(x).sum())(lnb.asarray(A)), 4)      # not traced: gives a text


def test_as_a_method():
    class Layer:
        factor = 3.0

        @functools.partial(lnb.custom_vjp, nondiff_argnums=0)
        def f(self, x):
            return x * self.factor
    Layer.__dict__["f"].defvjp(lambda self, x: (x * self.factor, None), lambda self, kept, g: (g * self.factor,))
    assert (lnb.grad(lambda x: Layer().f(x).sum())(lnb.asarray(A)) == 3).all()


def test_result_that_is_an_argument():
    @lnb.custom_vjp
    def same(x):
        return x
    same.defvjp(lambda x: (x, x), lambda x, g: (g * x,))
    x = lnb.tensor(A, requires_grad=True)
    y = same(x)
    assert y is not x and x.is_leaf
    (y * 2).sum().backward()
    assert np.allclose(x.grad, 2 * A)


def test_residual_that_is_overwritten_is_noticed():
    x = lnb.tensor(A, requires_grad=True)
    h = x * 1
    y = powered(lnb.sin, h, 2)
    with lnb.no_grad():
        h += 1
    with pytest.raises(GradError, match="powered: a value saved at"):
        y.sum().backward()


def test_jvp_of_an_integer_argument_has_no_tangent():
    @lnb.custom_jvp
    def take(x, index):
        return x[index]

    @take.defjvp
    def rule(primals, tangents):
        assert tangents[1] is None
        return take(*primals), tangents[0][primals[1]]
    check_grad(lambda x: take(x, lnb.asarray([2, 0])), A, order=2)


# ------------------------------------------------------------------------------------------------------ errors
def ruled(forward, backward):
    """A function `f` with these rules."""
    @lnb.custom_vjp
    def f(x, y):
        return x * y
    f.defvjp(forward, backward)
    return f


@pytest.mark.parametrize("forward, backward, error, message", [
    (lambda x, y: x, None, GradError, "f: forward gives .* Let it give a pair"),
    (lambda x, y: (x * y, 0), lambda k, g: g, GradError, "f: backward gives a Tensor for 2 arguments"),
    (lambda x, y: (x * y, 0), lambda k, g: (g,), GradError, "f: backward gives 1 gradients for 2 arguments"),
    (lambda x, y: (x * y, 0), lambda k, g: ([g], g), ShapeError, "f: what backward gives is nested as"),
    (lambda x, y: (x * y, 0), lambda k, g: (g[0], g), ShapeError, r"f: backward gives shape \(2,\) for argument 0"),
    (lambda x, y: (x * y, 0), lambda k, g: (1.0, g), GradError, "f: backward gives a float for argument 0"),
])
def test_what_rules_give_is_checked(forward, backward, error, message):
    f = ruled(forward, backward or (lambda kept, g: (g, g)))
    with pytest.raises(error, match=message):
        lnb.grad(lambda x, y: f(x, y).sum(), (0, 1))(lnb.asarray(A), lnb.asarray(B))


def test_missing_rules_are_named():
    with pytest.raises(GradError, match=r"custom_vjp: f has no rules. Call f.defvjp"):
        lnb.grad(lnb.custom_vjp(_named("f")))(1.0)
    with pytest.raises(GradError, match=r"custom_jvp: f has no rule. Call f.defjvp"):
        lnb.grad(lnb.custom_jvp(_named("f")))(1.0)
    with pytest.raises(GradError, match="the rules of f are not two functions"):
        lnb.custom_vjp(_named("f")).defvjp(None, None)
    with pytest.raises(GradError, match="custom_vjp: 3 is not a function"):
        lnb.custom_vjp(3)


def _named(name):
    def f(x):
        return x * x
    f.__name__ = name
    return f


def test_tangent_that_is_unlike_its_result_is_refused():
    @lnb.custom_jvp
    def f(x):
        return x * 2
    f.defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0].sum()))
    with pytest.raises(ShapeError, match=r"f: the rule gives a tangent of shape \(\), .* for a result of shape"):
        lnb.grad(lambda x: f(x).sum())(lnb.asarray(A))
    with pytest.raises(ShapeError, match=r"f: the rule gives shape \(\) for result 0 of shape \(3, 2\)"):
        lnb.jvp(f, (lnb.asarray(A),), (lnb.asarray(B),))
