"""vmap as a transform: axes, trees, nesting, derivatives across it, writes, what it refuses."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.autograd import hessian, jacobian, jvp, vjp
from lucid_nb.autograd.transforms import grad
from lucid_nb.errors import AxisError, DTypeError, GradError, ShapeError
from lucid_nb.vectorize import vmap

RNG = np.random.default_rng(3)
DEVICES = ["cpu", "mlx"]


@pytest.fixture(autouse=True)
def no_fallback():
    """A call that runs example by example warns, which here is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def normal(*shape, device="cpu"):
    """A tensor of normal numbers."""
    return lnb.tensor(RNG.normal(size=shape).astype("float64" if device == "cpu" else "float32"), device=device)


def close(found, wanted, tolerance=1e-12):
    """Equal up to rounding."""
    found, wanted = [x.detach().to_host() if isinstance(x, lnb.Tensor) else np.asarray(x) for x in (found, wanted)]
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------------------------------------- axes
@given(st.data())
def test_axes_in_and_out_are_those_of_numpy(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3), "shape")
    size = data.draw(st.integers(1, 4), "examples")
    places = [data.draw(st.integers(-len(shape) - 1, len(shape))) for _ in range(3)]
    x, y = (RNG.normal(size=shape) for _ in range(2))
    xs, ys = (np.stack([a * (i + 1) for i in range(size)], axis=place) for a, place in zip((x, y), places))
    found = vmap(lambda a, b: a * b + 1, (places[0], places[1]), places[2])(lnb.tensor(xs), lnb.tensor(ys))
    close(found, np.stack([x * y * (i + 1) ** 2 + 1 for i in range(size)], axis=places[2]))


def test_trees_of_arguments_axes_and_results():
    @dataclass
    class Pair:
        left: object
        right: object
    w, b, x = normal(4, 3), normal(3), normal(2, 4)
    found = vmap(lambda p, pair: {"out": (pair.left @ p["w"] + p["b"][0], [pair.right])},
                 in_axes=({"w": None, "b": [None]}, Pair(1, None)), out_axes={"out": (1, 0)})(
        {"w": w, "b": [b]}, Pair(x.T, lnb.ones(2)))
    close(found["out"][0], (x.numpy() @ w.numpy() + b.numpy()).T)
    close(found["out"][1][0], np.ones((2, 2)))


def test_numpy_arrays_and_shared_values_of_any_kind():
    found = vmap(lambda x, how, scale: getattr(lnb, how)(x) * scale, (0, None, None))(np.eye(3), "exp", 2.0)
    close(found, 2 * np.exp(np.eye(3)))
    close(vmap(lambda x, scale=1.0: x * scale)(np.eye(3), scale=lnb.tensor([1.0, 2.0, 3.0])), np.diag([1.0, 2, 3]))


def test_results_that_do_not_depend_on_the_examples_are_repeated():
    x = normal(3, 2)
    found = vmap(lambda a: (lnb.ones(2), 3.0, x))(x)
    close(found[0], np.ones((3, 2)))
    close(found[1], [3.0, 3, 3])
    close(found[2], np.stack([x.numpy()] * 3))
    assert not any(np.shares_memory(part.numpy(), x.numpy()) for part in found)


def test_out_axes_none_gives_what_is_the_same_for_all():
    x, w = normal(3, 2), normal(2)
    w.requires_grad = True
    total, once = vmap(lambda a, v: (a * v, v * 2), (0, None), (0, None))(x, w)
    close(once, 2 * w.detach())
    once.sum().backward()
    close(w.grad, [2.0, 2.0])
    close(total, (x * w).detach())


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda x: vmap(lambda a, b: a)(x, normal(4, 2)), ShapeError,
     "vmap: argument 0 has 3 examples .shape .3, 2., axis 0., argument 1 has 4"),
    (lambda x: vmap(lambda a: a)({"w": normal(5, 2), "b": [x]}), ShapeError,
     r"vmap: argument 0 at \['w'\] has 5 examples .*, argument 0 at \['b'\]\[0\] has 3"),
    (lambda x: vmap(lambda a: a, 2)(x), AxisError, "vmap: argument 0 has shape .3, 2., and in_axes says axis 2"),
    (lambda x: vmap(lambda a: a)(1.0), AxisError, r"vmap: argument 0 has shape \(\)"),
    (lambda x: vmap(lambda a: a, None)(x), ShapeError, "vmap: no argument has examples"),
    (lambda x: vmap(lambda a: a, 0, 3)(x), AxisError, "vmap: out_axes says axis 3"),
    (lambda x: vmap(lambda a: a, 0, None)(x), ShapeError, "vmap: out_axes is None for a result that differs"),
    (lambda x: vmap(lambda a: a, (0, 0))(x), ShapeError, "vmap: in_axes has 2 entries for 1 arguments"),
    (lambda x: vmap(lambda a: a["p"], ({"q": 0},))({"p": x}), ShapeError, "vmap: in_axes has"),
    (lambda x: vmap(3), DTypeError, "vmap: 3 is not a function"),
    (lambda x: vmap(lambda a: "text")(x), DTypeError, "vmap: "),
])
def test_what_it_refuses_is_told(call, kind, message):
    with pytest.raises(kind, match=message):
        call(normal(3, 2))


def test_errors_inside_are_those_of_one_example_and_leave_nothing_behind():
    x = normal(3, 2)
    with pytest.raises(ShapeError, match=r"matmul: inner sizes differ, 2 and 5 \(shapes \(2,\) and \(5,\)\)"):
        vmap(lambda a: a @ lnb.ones(5))(x)
    close(vmap(lambda a: a + 1)(x), x.numpy() + 1)
    assert type((x + 1).raw) is np.ndarray


@pytest.mark.parametrize("device", DEVICES)
def test_an_example_looks_like_itself(device):
    x = normal(3, 2, 5, device=device)
    seen = []
    vmap(lambda a: seen.append((a.shape, a.ndim, a.size, a.dtype, a.device, len(a))) or a.T)(x)
    assert seen == [((2, 5), 2, 10, x.dtype, device, 2)]


def test_no_examples_give_an_empty_result():
    assert vmap(lambda a: (a @ a, a.sum(), lnb.exp(a)))(lnb.zeros((0, 3)))[2].shape == (0, 3)


# ------------------------------------------------------------------------------------------------- nesting
@pytest.mark.parametrize("device", DEVICES)
def test_nested_calls_see_each_others_examples(device):
    x, y = normal(3, 4, device=device), normal(5, 4, device=device)
    found = vmap(lambda a: vmap(lambda b: (a - b) ** 2 @ a)(y))(x)
    a, b = x.numpy()[:, None], y.numpy()[None]
    close(found, np.sum((a - b) ** 2 * a, -1), 1e-5)
    found = vmap(vmap(lambda a, b: a * b, (0, None)), (None, 0), 1)(x[0], y[0])
    close(found, np.outer(x.numpy()[0], y.numpy()[0]), 1e-6)


def test_three_levels_with_examples_of_one_size():
    x = normal(2, 2, 2, 3)
    f = vmap(lambda a: vmap(lambda b: vmap(lambda c: c * b.sum() + a.mean())(b))(a))
    wanted = np.stack([np.stack([np.stack([c * b.sum() + a.mean() for c in b]) for b in a]) for a in x.numpy()])
    close(f(x), wanted)


def test_a_nested_call_reads_what_only_the_outer_one_varies():
    x, y = normal(3, 4), normal(5)
    with pytest.warns(UserWarning, match="vmap: bool at"):
        found = vmap(lambda a: vmap(lambda b: b if a.sum() > 0 else -b)(y))(x)
    close(found, np.sign(x.numpy().sum(1))[:, None] * y.numpy())


@pytest.mark.parametrize("device", DEVICES)
def test_positions_that_differ_on_both_levels(device):
    x = normal(3, 4, device=device)
    i = lnb.tensor(RNG.integers(0, 4, size=(3, 2, 5)), device=device)
    close(vmap(lambda a, k: vmap(lambda one: a[one])(k))(x, i), np.stack([a[k] for a, k in zip(x.numpy(), i.numpy())]))


# --------------------------------------------------------------------------------------------- derivatives
def model(p, x, y):
    """The loss of one example."""
    hidden = lnb.tanh(x @ p["w"] + p["b"])
    return ((hidden @ p["v"] - y) ** 2).sum()


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_of_each_example(device):
    p = {"w": normal(3, 4, device=device), "b": normal(4, device=device), "v": normal(4, device=device)}
    x, y = normal(5, 3, device=device), normal(5, device=device)
    found = vmap(grad(model), (None, 0, 0))(p, x, y)
    for name in p:
        wanted = np.stack([grad(model)(p, x[i], y[i])[name].numpy() for i in range(5)])
        close(found[name], wanted, 1e-5)


def test_gradients_of_a_closure_are_those_of_each_example_too():
    w, x = normal(3), normal(5, 3)
    found = vmap(lambda a: grad(lambda v: (v * a).sum() ** 2)(w))(x)
    close(found, 2 * (x.numpy() @ w.numpy())[:, None] * x.numpy())


def test_backward_inside_fills_the_leaves_of_each_example():
    w, x = normal(3), normal(5, 3)

    def slope(a):
        leaf = w.detach()
        leaf = lnb.tensor(leaf, requires_grad=True)
        (leaf * a).sum().backward()
        return leaf.grad
    close(vmap(slope)(x), x)


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_through_it_add_up_where_tensors_are_shared(device):
    w, b, x = normal(3, 4, device=device), normal(4, device=device), normal(5, 3, device=device)

    def total(w, b):
        return vmap(lambda a, w: lnb.tanh(a @ w + b), (0, None))(x, w).sum()
    found = grad(total, (0, 1))(w, b)
    wanted = grad(lambda w, b: lnb.tanh(x @ w + b).sum(), (0, 1))(w, b)
    for a, c in zip(found, wanted):
        close(a, c, 1e-5)


def test_second_derivatives_through_it():
    w, x = normal(3), normal(5, 3)
    found = hessian(lambda w: vmap(lambda a: lnb.exp(a @ w))(x).sum())(w)
    weights = np.exp(x.numpy() @ w.numpy())
    close(found, np.einsum("i,ij,ik->jk", weights, x.numpy(), x.numpy()), 1e-10)


def test_hessians_of_each_example():
    w, x = normal(3), normal(5, 3)
    found = vmap(lambda a: hessian(lambda w: lnb.exp(a @ w))(w))(x)
    close(found, np.exp(x.numpy() @ w.numpy())[:, None, None] * x.numpy()[:, :, None] * x.numpy()[:, None], 1e-10)


def test_a_cotangent_that_varies_meets_values_that_do_not():
    w, x = normal(4, 3), normal(3)
    out, pull = vjp(lambda x: lnb.tanh(w @ x), x)
    rows, = vmap(pull)(lnb.eye(4))
    close(rows, jacobian(lambda x: lnb.tanh(w @ x))(x), 1e-12)
    assert out.shape == (4,)


def test_a_cotangent_that_varies_goes_back_through_an_inner_call():
    """The examples of the inner call, which is over, and the cotangents of the outer one are not mixed up."""
    x, y = normal(4, 3), normal(4)
    out, pull = vjp(lambda x: vmap(lambda a, b: lnb.sin(a * b).sum())(x, y), x)
    found, = vmap(pull)(lnb.eye(4))
    close(found, np.stack([pull(lnb.tensor(row))[0].numpy() for row in np.eye(4)]), 1e-12)
    assert out.shape == (4,)


def test_tangents_that_vary():
    x = normal(3)
    found = vmap(lambda t: jvp(lambda x: lnb.sin(x) * x.sum(), (x,), (t,))[1])(lnb.eye(3))
    close(found, jacobian(lambda x: lnb.sin(x) * x.sum(), mode="reverse")(x).T, 1e-12)


def test_gradients_of_examples_that_run_one_by_one():
    x = normal(4, 3)
    with pytest.warns(UserWarning, match="vmap: bool at"):
        found = grad(lambda x: vmap(lambda a: a.sum() ** 2 if a[0] > 0 else -a.sum())(x).sum())(x)
    sums = x.numpy().sum(1, keepdims=True)
    close(found, np.where(x.numpy()[:, :1] > 0, 2 * sums, -1) * np.ones(3))


# -------------------------------------------------------------------------------------------------- writes
@pytest.mark.parametrize("device", DEVICES)
def test_writes_into_what_is_made_inside(device):
    x = normal(3, 4, device=device)

    def f(a):
        made = lnb.zeros(4, dtype=a.dtype, device=device)
        made[0], made[1:3] = a[3], a[:2] * 2
        view = made[1:]
        view += 1
        return made
    n = x.numpy()
    close(vmap(f)(x), np.stack([n[:, 3], 2 * n[:, 0] + 1, 2 * n[:, 1] + 1, np.ones(3)], 1), 1e-6)


def test_a_write_into_an_argument_stays_inside():
    x = normal(3, 4)
    before = x.numpy().copy()

    def f(a):
        a[0] = 7.0
        a *= 2
        return a
    found = vmap(f)(x)
    close(x, before)
    close(found[:, 0], [14.0] * 3)


def test_a_write_of_what_varies_into_a_tensor_from_outside_is_refused():
    x, outside = normal(3, 2), lnb.zeros(2)
    for write in (lambda a: outside.__setitem__(0, a[0]), lambda a: outside.__iadd__(a),
                  lambda a: outside.__setitem__([0, 1], a), lambda a: lnb.sum(a, keepdims=True, out=outside[:1])):
        with pytest.raises(ShapeError, match="the value differs between the examples of vmap, the tensor is from out"):
            vmap(write)(x)
    close(outside, [0.0, 0.0])
    vmap(lambda a: outside.__setitem__(0, 2.0) or a)(x)
    close(outside, [2.0, 0.0])


def test_results_share_no_memory_with_arguments_or_each_other():
    x = normal(3, 4)
    same, turned, part = vmap(lambda a: (a, a * 1, a[1:]))(x)
    found = [part.numpy() for part in (same, turned, part)]
    assert not any(np.shares_memory(one, x.numpy()) for one in found)
    twice = vmap(lambda a: (lambda b: (b, b))(a * 2))(x)
    assert not np.shares_memory(twice[0].numpy(), twice[1].numpy())
    assert all(one.flags.writeable for one in found)


def test_memory_that_a_graph_within_reads_is_watched():
    x = normal(3, 4)
    x.requires_grad = True
    y = x * 1.0
    out = vmap(lambda a: a * a)(y).sum()
    with lnb.no_grad():
        y += 1
    with pytest.raises(GradError, match="overwritten"):
        out.backward()


def test_random_numbers_drawn_inside_are_the_same_for_all_examples():
    x = lnb.ones((3, 200))
    found = vmap(lambda a: lnb.nn.functional.dropout(a, 0.5))(x).numpy()
    assert 0 < np.count_nonzero(found) < found.size
    assert np.array_equal(found[0], found[1])


def test_threads_have_levels_of_their_own():
    from concurrent.futures import ThreadPoolExecutor
    x = normal(6, 3)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: vmap(lambda a: vmap(lambda b: a @ (b * k))(x))(x).numpy(), range(8)))
    for k, one in enumerate(found):
        close(one, k * x.numpy() @ x.numpy().T)


def test_operations_of_all_examples_are_counted():
    x, w = normal(4, 50), normal(50, 7)
    with lnb.count_flops() as found:
        vmap(lambda a: lnb.tanh(a @ w))(x)
    with lnb.count_flops() as wanted:
        lnb.tanh(x @ w)
    assert found.total == wanted.total


def test_running_statistics_of_what_varies_are_refused_in_training_only():
    layer = lnb.nn.BatchNorm1d(5).to(lnb.float64)
    x = normal(3, 4, 5)
    with pytest.raises(ShapeError, match="batch_norm: the value differs between the examples of vmap"):
        vmap(layer)(x)
    layer.eval()
    close(vmap(layer)(x), layer(x.reshape(12, 5)).reshape(3, 4, 5))


def test_what_was_kept_from_inside_is_told():
    kept = []
    vmap(lambda a: kept.append(a * 2) or a)(normal(4, 3))
    for use in (repr, lambda a: float((a + 1).sum()), lambda a: a.numpy()):
        with pytest.raises(lnb.LucidError, match="differs between examples was read outside of the function"):
            use(kept[0])
