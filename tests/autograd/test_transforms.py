"""Transforms against finite differences, closed forms, float64 NumPy, and each other."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.errors import DTypeError, GradError, ShapeError
from lucid_nb.testing import assert_close

Pair = namedtuple("Pair", "a b")
RANDOM = np.random.default_rng(0)
X, V = RANDOM.standard_normal((3, 3)), RANDOM.standard_normal((3, 3))
STEP = 1e-5


@dataclass
class Layer:
    weight: object
    bias: object


def network(x):
    """Not linear anywhere, with views, products, a reduction and a softmax."""
    return (lnb.softmax(x @ x.T) ** 2).sum(axis=0) @ lnb.sin(x[0])


def slope(f, x, v):
    """A central difference, extrapolated."""
    wide, narrow = [(f(x + h * v) - f(x - h * v)) / (2 * h) for h in (STEP, STEP / 2)]
    return (4 * narrow - wide) / 3


# ------------------------------------------------------------------------------------------------ gradients
def test_grad_to_the_third_order_of_sin():
    f, expected = lnb.sin, [np.cos(0.7), -np.sin(0.7), -np.cos(0.7)]
    for value in expected:
        f = lnb.grad(f)
        assert_close(f(0.7), value, rtol=1e-14)


def test_grad_follows_finite_differences(device):
    x, v = lnb.asarray(X, device=device), lnb.asarray(V, device=device)
    assert_close(((lnb.grad(network)(x) * v).sum()).numpy(), slope(network, x, v).numpy(), rtol=1e-8)


def test_gradients_are_nested_as_their_arguments():
    tree = {"pair": Pair(lnb.ones(2), [lnb.full(3, 2.0)]), "layer": Layer(lnb.tensor(3.0), None), "none": None}

    def f(p):
        return (p["pair"].a ** 2).sum() + (p["pair"].b[0] ** 3).sum() * p["layer"].weight
    found = lnb.grad(f)(tree)
    assert isinstance(found["pair"], Pair) and isinstance(found["layer"], Layer)
    assert found["pair"].a.tolist() == [2, 2] and found["pair"].b[0].tolist() == [36, 36, 36]
    assert found["layer"].weight.item() == 24 and found["layer"].bias is None and found["none"] is None


@pytest.mark.parametrize(("argnums", "expected"), [(0, 3.0), (1, 2.0), (-1, 2.0), ((1, 0), (2.0, 3.0)), ([0], (3.0,))])
def test_argnums_choose_what_is_differentiated(argnums, expected):
    found = lnb.grad(lambda a, b, *, scale: a * b * scale, argnums)(2.0, 3.0, scale=1)
    assert (tuple(map(float, found)) if isinstance(found, tuple) else float(found)) == expected


def test_has_aux_passes_the_rest_on():
    def f(x):
        return (x ** 2).sum(), {"twice": 2 * x, "text": "kept"}
    found, aux = lnb.grad(f, has_aux=True)(lnb.ones(2))
    assert found.tolist() == [2, 2] and aux["text"] == "kept" and not aux["twice"].requires_grad
    (value, aux), found = lnb.value_and_grad(f, has_aux=True)(lnb.ones(2))
    assert value.item() == 2 and aux["twice"].tolist() == [2, 2] and found.tolist() == [2, 2]


def test_what_a_result_does_not_depend_on_has_gradient_zero():
    assert lnb.grad(lambda x, y: (x * 2).sum(), 1)(lnb.ones(2), lnb.ones(3)).tolist() == [0, 0, 0]
    assert lnb.grad(lambda x: lnb.tensor(5.0))(lnb.ones(2)).tolist() == [0, 0]
    assert lnb.hessian(lambda x: lnb.relu(x).sum())(lnb.tensor([1.0, -2.0])).tolist() == [[0, 0], [0, 0]]
    assert lnb.jvp(lambda x: lnb.floor(x), (lnb.ones(2),), (lnb.ones(2),))[1].tolist() == [0, 0]


def test_inner_and_outer_variables_are_not_confused():
    assert lnb.grad(lambda x: x * lnb.grad(lambda y: x + y)(1.0))(2.0).item() == 1
    assert lnb.grad(lambda x: x * lnb.jvp(lambda y: x * y, (1.0,), (1.0,))[1])(3.0).item() == 6
    assert lnb.jvp(lambda x: x * lnb.grad(lambda y: x * y * y)(2.0), (3.0,), (1.0,))[1].item() == 24


def test_gradients_of_tensors_outside_are_recorded_only_where_one_may_ask():
    w, x = lnb.tensor(3.0, requires_grad=True), lnb.tensor(2.0, requires_grad=True)
    found = lnb.grad(lambda x: w * x * x)(x)
    found.backward()
    assert (w.grad.item(), x.grad.item()) == (4, 6)
    assert not lnb.grad(lambda x: x * x)(2.0).requires_grad
    with lnb.no_grad():
        assert lnb.grad(lambda x: w * x * x)(2.0).item() == 12
        assert not lnb.grad(lambda x: w * x * x)(x).requires_grad


def test_stop_gradient_is_a_constant_to_both_modes():
    f = lambda x: x * lnb.stop_gradient({"x": x})["x"]
    assert lnb.grad(f)(3.0).item() == 3 and lnb.jvp(f, (3.0,), (1.0,))[1].item() == 3


def test_writes_inside_are_differentiated():
    def f(x):
        y = lnb.zeros(3)
        y[1:] = x * x
        y[0] += y[2]
        y *= 2
        return y @ y
    x = lnb.tensor([2.0, 3.0])
    assert_close(lnb.grad(f)(x), np.array([16.0, 32.0]) * x.numpy() ** 3, rtol=1e-12)
    assert_close(lnb.jvp(f, (x,), (lnb.ones(2),))[1], lnb.grad(f)(x).sum().numpy(), rtol=1e-12)
    assert_close(lnb.hvp(f, x, lnb.ones(2)), (lnb.hessian(f)(x) @ lnb.ones(2)).numpy(), rtol=1e-12)


# ------------------------------------------------------------------------------------- products and matrices
def test_forward_reverse_and_differences_agree_to_the_second_order(device):
    x, v = lnb.asarray(X, device=device), lnb.asarray(V, device=device)
    value, along = lnb.jvp(network, (x,), (v,))
    assert_close(value.numpy(), network(x).numpy(), rtol=1e-14)
    assert_close(along.numpy(), (lnb.grad(network)(x) * v).sum().numpy(), rtol=1e-13)
    expected = slope(lnb.grad(network), x, v).numpy()
    reverse_over_forward = lnb.grad(lambda x: lnb.jvp(network, (x,), (v,))[1])(x)
    reverse_over_reverse = lnb.grad(lambda x: (lnb.grad(network)(x) * v).sum())(x)
    forward_over_forward = lnb.jvp(lambda x: lnb.jvp(network, (x,), (v,))[1], (x,), (v,))[1]
    for found in (lnb.hvp(network, x, v), reverse_over_forward, reverse_over_reverse):
        assert_close(found.numpy(), expected, rtol=1e-7, atol=1e-9)
    assert_close(forward_over_forward.numpy(), (expected * V).sum(), rtol=1e-7)
    assert_close((lnb.hessian(network)(x) * v).sum(axis=(2, 3)).numpy(), expected, rtol=1e-7, atol=1e-9)


def test_vjp_and_linearize_can_be_used_again():
    out, vjp_fn = lnb.vjp(lambda x, y: {"p": x * y, "s": x + y}, lnb.asarray(X), lnb.asarray(V))
    for scale in (1.0, 2.0):
        gx, gy = vjp_fn({"p": lnb.full((3, 3), scale), "s": lnb.zeros((3, 3))})
        assert_close(gx, scale * V, rtol=1e-15)
        assert_close(gy, scale * X, rtol=1e-15)
    out, push = lnb.linearize(lambda x: lnb.sin(x) @ x, lnb.asarray(X))
    a, b = lnb.asarray(V), lnb.asarray(X)
    assert_close(push(a + b), (push(a) + push(b)).numpy(), rtol=1e-12, atol=1e-14)
    assert not out.requires_grad


@given(st.integers(0, 4), st.integers(0, 4), st.sampled_from(["auto", "forward", "reverse"]))
def test_jacobian_of_a_linear_map_is_its_matrix(rows, columns, mode):
    a = np.arange(rows * columns, dtype=float).reshape(rows, columns)
    found = lnb.jacobian(lambda x: lnb.asarray(a) @ x, mode=mode)(lnb.ones(columns))
    np.testing.assert_array_equal(found.numpy(), a)


def test_jacobian_of_trees_has_a_block_for_each_pair():
    f = lambda p: {"sum": p["a"].sum() * p["b"], "product": p["a"] * 2}
    for mode in ("forward", "reverse"):
        found = lnb.jacobian(f, mode=mode)({"a": lnb.ones((2, 2)), "b": lnb.ones(3)})
        assert found["sum"]["a"].shape == (3, 2, 2) and found["sum"]["b"].tolist() == (4 * np.eye(3)).tolist()
        assert found["product"]["b"].shape == (2, 2, 3) and not found["product"]["b"].numpy().any()
        np.testing.assert_array_equal(found["product"]["a"].numpy().reshape(4, 4), 2 * np.eye(4))


def test_jacobian_in_chunks_equals_the_whole(monkeypatch):
    from lucid_nb.autograd import derivatives
    f = lambda x: lnb.sin(x)[::-1] * x
    whole = lnb.jacobian(f)(lnb.arange(5.0))
    monkeypatch.setattr(derivatives, "CHUNK_BYTES", 80)
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(lnb.jacobian(f, mode=mode)(lnb.arange(5.0)).numpy(), whole.numpy())


def test_jacobians_can_be_differentiated():
    f = lambda x: x ** 3
    found = lnb.jacobian(lnb.jacobian(f))(lnb.tensor([1.0, 2.0]))
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 6, 12
    np.testing.assert_allclose(found.numpy(), expected)


# ------------------------------------------------------------------------------------------ complex numbers
def test_complex_derivatives_keep_pytorch_s_convention():
    z = lnb.tensor([1 + 2j, 3 - 1j])
    assert_close(lnb.grad(lambda z: (abs(z) ** 2).sum())(z), 2 * z.numpy(), rtol=1e-14)
    assert_close(lnb.jvp(lambda z: z * z, (z,), (lnb.full(2, 1j),))[1], 2j * z.numpy(), rtol=1e-14)
    assert_close(lnb.jvp(lnb.conj, (z,), (z * 1j,))[1], (1j * z.numpy()).conj(), rtol=1e-14)
    np.testing.assert_allclose(lnb.jacobian(lambda z: z ** 2)(z).numpy(), np.diag(2 * z.numpy()))
    _, vjp_fn = lnb.vjp(lambda z: z * z, z)
    assert_close(vjp_fn(lnb.ones(2, dtype=complex))[0], 2 * z.numpy().conj(), rtol=1e-14)


# -------------------------------------------------------------------------------------------------- refusals
def write_into(x):
    x *= 2
    return (x * x).sum()


def write_into_view(x):
    part = x[:1]
    part += 1
    return (x * x).sum()


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: lnb.grad(lambda x: x)(lnb.ones(2)), GradError, "not one number. Sum it, or use vjp"),
    (lambda: lnb.grad(lambda x: (x, x))(1.0), GradError, r"grad: the function gives '\(\*, \*\)'"),
    (lambda: lnb.hessian(write_into)(lnb.ones(2)), GradError, "in-place multiply: the tensor is an argument of a func"),
    (lambda: lnb.grad(write_into_view)(lnb.tensor([1.0], requires_grad=True)), GradError, "is a view of an argument"),
    (lambda: lnb.grad(lambda x: 1.0)(["text"]), DTypeError, "argument 0 holds 'text', of str, which has no gradient"),
    (lambda: lnb.jvp(lnb.sin, (1.0,), (1j,)), DTypeError, "jvp: a tangent is complex128, and its primal float64"),
    (lambda: lnb.vjp(lnb.sin, lnb.ones(2))[1](None), ShapeError, "the cotangent is nested as"),
    (lambda: lnb.grad(lambda x: x, has_aux=True)(1.0), GradError, "has_aux=True, and the function gives a Tensor"),
    (lambda: lnb.grad(lambda x: x.sum())(lnb.arange(3)), DTypeError, "argument 0 holds .*int64.*astype"),
    (lambda: lnb.grad(lambda x: x * 1j)(1.0), GradError, "complex128.*Take its real part"),
    (lambda: lnb.grad(lambda x: x, 1)(1.0), GradError, "argnums has 1, and the call has 1 positional"),
    (lambda: lnb.grad(lambda x: "text")(1.0), DTypeError, "the function gives 'text', of str"),
    (lambda: lnb.jvp(lnb.sin, lnb.ones(2), (lnb.ones(2),)), GradError, "primals is a Tensor. Give a tuple"),
    (lambda: lnb.jvp(lnb.sin, (lnb.ones(2),), (lnb.ones(3),)), ShapeError, r"a tangent is shape \(3,\).*its primal"),
    (lambda: lnb.jvp(lnb.sin, (1.0,), (1.0, 2.0)), ShapeError, "jvp: got 2 tangents for 1 arguments"),
    (lambda: lnb.hvp(lnb.sin, lnb.ones(()), lnb.ones(2)), ShapeError, "hvp: a tangent is shape"),
    (lambda: lnb.vjp(lnb.sin, lnb.ones(2))[1](lnb.ones(3)), GradError, r"vjp: the gradient is float64 \(3,\)"),
    (lambda: lnb.vjp(lambda x: (x, x), 1.0)[1](1.0), ShapeError, "the cotangent is nested as"),
    (lambda: lnb.jacobian(lnb.sin, mode="both"), GradError, "mode is 'both'"),
    (lambda: lnb.jacobian(lambda z: z * z, mode="reverse")(1j), GradError, "no complex derivative")])
def test_refusals_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_write_into_an_argument_leaves_the_leaf_of_the_caller_alone():
    leaf = lnb.tensor([1.0, 2.0], requires_grad=True)
    for function in (write_into, write_into_view):
        for x in (leaf, leaf * 1):
            with pytest.raises(GradError):
                lnb.grad(function)(x)
    assert leaf.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("number", [3, 3.0, np.float64(3), np.float32(3)])
def test_numbers_are_rebound_as_they_are_by_python(number):
    def f(x):
        y = x
        x *= 2
        return x * x * y
    assert lnb.value_and_grad(f)(number) == (f(number), 12 * number ** 2)
    assert float(lnb.grad(lnb.grad(f))(number)) == 24 * number


# ------------------------------------------------------------------------------------------------- HIPS names
def test_names_of_hips_autograd():
    x = lnb.asarray(X)
    assert_close(lnb.elementwise_grad(lnb.tanh)(x), 1 - np.tanh(X) ** 2, rtol=1e-13)
    vjp_fn, value = lnb.make_vjp(lambda a, b: a * b, 1)(2.0, 3.0)
    assert (vjp_fn(1.0).item(), value.item()) == (2, 6)
    assert [t.item() for t in lnb.make_jvp(lambda a, b: a * b, 1)(2.0, 3.0)(10.0)] == [6, 20]
    assert_close(lnb.make_hvp(network)(x)[0](lnb.asarray(V)), lnb.hvp(network, x, lnb.asarray(V)).numpy(), rtol=1e-14)
    assert_close(lnb.hessian_vector_product(network)(x, lnb.asarray(V)), lnb.hvp(network, x, lnb.asarray(V)).numpy(),
                 rtol=1e-14)
    assert [str(part) for part in lnb.grad_and_aux(lambda x: (x ** 2, "more"))(3.0)] == ["tensor(6.)", "more"]
