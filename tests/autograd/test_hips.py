"""Programs in the manner of HIPS autograd: its names, and NumPy-like code in which tensors stand for arrays."""

import numpy as onp
import pytest

import lucid_nb as np
from lucid_nb.autograd.misc import adam, flatten, flatten_func, rmsprop, sgd
from lucid_nb.errors import DTypeError, ShapeError
from lucid_nb.testing import assert_close, check_grad

RANDOM = onp.random.default_rng(0)
A, V = RANDOM.standard_normal((4, 4)), RANDOM.standard_normal(4)


def test_argnum_is_another_name_of_argnums():
    def f(x, y):
        return x * y ** 2
    assert np.grad(f, argnum=1)(2.0, 3.0).item() == 12
    assert [g.item() for g in np.value_and_grad(f, argnum=[1, 0])(2.0, 3.0)[1]] == [12, 9]
    assert np.jacobian(f, argnum=1)(2.0, 3.0).item() == 12 and np.hessian(f, argnum=1)(2.0, 3.0).item() == 4


def test_keywords_may_have_any_name():
    def g(x, f=1.0, op=2.0, arguments=3.0):
        return x * x * f * op * arguments
    words = {"f": 2.0, "op": 0.5, "arguments": 1.0}
    assert np.grad(g)(3.0, **words).item() == np.jacobian(g)(3.0, **words).item() == 6
    assert np.hessian(g)(3.0, **words).item() == 2 and np.make_hvp(g)(3.0, **words)[1].item() == 6
    assert np.grad(lambda x: np.checkpoint(g, x, **words))(3.0).item() == 6
    assert np.grad(np.checkpoint(g))(3.0, **words).item() == 6
    assert np.vmap(np.grad(g))(onp.array([3.0]), **words).tolist() == [6]


def test_functions_that_give_plain_numbers_have_no_slope():
    for found in (2.0, onp.float64(2.0), onp.ones(2), [1.0, 2.0]):
        assert np.elementwise_grad(lambda x, found=found: found)(onp.ones(3)).tolist() == [0, 0, 0]


def test_arrays_of_numbers_that_were_computed():
    def circle(t):
        return np.array([np.cos(t), np.sin(t), [t, 1.0][0]])
    assert_close(np.deriv(circle)(0.3), [-onp.sin(0.3), onp.cos(0.3), 1], rtol=1e-15)
    assert_close(np.jacobian(circle)(0.3), [-onp.sin(0.3), onp.cos(0.3), 1], rtol=1e-15)
    assert np.grad(lambda x: np.sum(np.array([[x, x * x], [2.0, x]])))(3.0).item() == 8
    assert np.elementwise_grad(lambda x: np.array(x) ** 2)(onp.arange(3.0)).tolist() == [0, 2, 4]


def test_derivatives_of_holomorphic_functions():
    z = 0.3 - 0.7j
    for f, slope in ((np.exp, onp.exp), (np.sin, onp.cos), (lambda z: z ** 3, lambda z: 3 * z ** 2)):
        assert_close(np.holomorphic_grad(f)(z), slope(z), rtol=1e-14)
        assert_close(np.deriv(f)(z), slope(z), rtol=1e-14)
    found = np.holomorphic_grad(lambda z: np.sum(z ** 2))(onp.array([z, 1j]))
    assert_close(found, [2 * z, 2j], rtol=1e-14)


def test_products_are_those_with_the_matrices():
    def f(x):
        return np.tanh(np.dot(A, x))
    jacobian = np.jacobian(f)(V)
    w = onp.arange(4.0)
    assert_close(np.tensor_jacobian_product(f)(V, w), w @ jacobian, rtol=1e-12)
    assert_close(np.tensor_jacobian_product(lambda x: np.outer(x, x))(V, w), w @ V * onp.eye(4) + onp.outer(V, w),
                 rtol=1e-12)
    product, gradient = np.make_hvp(lambda x: np.sum(x ** 3))(V)
    assert_close(product(w), 6 * V * w, rtol=1e-14)
    assert_close(gradient, 3 * V ** 2, rtol=1e-14)
    assert_close(np.make_ggnvp(f)(V)(w), jacobian.T @ (jacobian @ w), rtol=1e-12)
    cubes = np.make_ggnvp(f, lambda y: (y ** 3).sum())(V)(w)
    assert_close(cubes, jacobian.T @ (6 * f(V) * (jacobian @ w)), rtol=1e-12)


# ---------------------------------------------------------------------------------------------------- vectors
TREE = {"w": [A, (2.0, V.astype("float32"))], "none": None, "b": 3.0}


def test_flatten_and_back():
    vector, unflatten = flatten(TREE)
    assert_close(vector, onp.concatenate([A.ravel(), [2.0], V.astype("float32"), [3.0]]), rtol=0)
    back = unflatten(vector)
    assert back["none"] is None and back["b"].item() == 3 and back["w"][1][1].dtype == "float32"
    assert_close(back["w"][0], A, ulp=0)
    assert flatten(())[0].shape == (0,) and flatten(())[1](flatten(())[0]) == ()
    check_grad(lambda a, b: flatten({"a": a, "b": [b]})[0] ** 2, A, V)
    check_grad(lambda v: [leaf ** 2 for leaf in unflatten(v)["w"][1][:1]], vector.numpy())


def test_flatten_refuses_what_it_cannot_hold():
    with pytest.raises(DTypeError, match=r"flatten: leaf 1 holds .*int64.*, which has no gradient"):
        flatten([1.0, onp.arange(3)])
    with pytest.raises(ShapeError, match=r"unflatten: the vector is .*\(3,\).* the tree holds 22 numbers"):
        flatten(TREE)[1](np.ones(3))


def test_functions_of_trees_as_functions_of_vectors():
    f, unflatten, vector = flatten_func(lambda p, scale: {"x": p["y"] * scale, "y": p["x"]}, {"x": V, "y": 2 * V})
    assert_close(f(vector, 3), onp.concatenate([6 * V, V]), rtol=1e-15)
    assert_close(np.jacobian(lambda v: f(v, 3))(vector), onp.kron([[0, 3], [1, 0]], onp.eye(4)), rtol=1e-15)
    assert list(unflatten(vector)) == ["x", "y"]


@pytest.mark.parametrize("optimize", [sgd, rmsprop, adam])
def test_optimizers_find_the_least_squares(optimize):
    """From the normal equations, over a tree; a callback sees every step."""
    x, y = RANDOM.standard_normal((30, 2)), RANDOM.standard_normal(30)
    design = onp.column_stack([x, onp.ones(30)])
    expected = onp.linalg.lstsq(design, y)[0]
    seen = []

    def loss(p, number):
        return np.mean((np.dot(x, p["slope"]) + p["offset"] - y) ** 2)
    found = optimize(np.grad(loss), {"slope": onp.zeros(2), "offset": 0.0}, lambda p, number, g: seen.append(number),
                     num_iters=300, step_size=0.05)
    assert_close(found["slope"], expected[:2], atol=0.03)
    assert_close(found["offset"], expected[2], atol=0.03)
    assert seen == list(range(300))


def test_optimizers_equal_pytorch():
    torch = pytest.importorskip("torch")
    start, rate = [1.0, -2.0, 3.0], 0.1
    ours = {"sgd": sgd(lambda x, i: 4 * x ** 3 / 10, np.array(start), num_iters=20, step_size=rate, mass=0.0),
            "adam": adam(lambda x, i: 4 * x ** 3 / 10, np.array(start), num_iters=20, step_size=rate)}
    makers = {"sgd": lambda p: torch.optim.SGD(p, lr=rate), "adam": lambda p: torch.optim.Adam(p, lr=rate)}
    for name, make in makers.items():
        x = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        optimizer = make([x])
        for _ in range(20):
            optimizer.zero_grad()
            (x ** 4 / 10).sum().backward()
            optimizer.step()
        assert_close(ours[name], x.detach().numpy(), rtol=1e-7)
