"""`lnb.fuse`: known functions against SciPy and finite differences, what plans depend on, and what stays ordinary."""

import numpy as np
import pytest
from scipy import special

import lucid_nb as lnb
from lucid_nb import config
from lucid_nb.kernels import store
from lucid_nb.kernels.fused import kernel
from lucid_nb.testing import check_grad

RANDOM = np.random.default_rng(0)


def softmax(x, w, b):
    return lnb.softmax(x * w + b)


def layer_norm(x, w, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred / lnb.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w + b


def layer_norm_by_var(x, w, b):
    return (x - x.mean(-1, keepdims=True)) / lnb.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def rms_norm(x, w, b):
    return x / lnb.sqrt(lnb.square(x).mean(-1, keepdims=True) + 1e-5) * w


def gelu(x, w, b):
    return 0.5 * x * (1 + lnb.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


def rotary(x, w, b):
    even, odd = x[..., ::2], x[..., 1::2]
    cosine, sine = lnb.cos(w[::2]), lnb.sin(w[::2])
    return lnb.concat([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1)


def squared_loss(x, w, b):
    return ((x * w - b) ** 2).mean()


def cross_entropy(x, w, b):
    return (lnb.logsumexp(x * b, -1) - (x * w).sum(-1)).mean()


def gate(x, w, b):
    return lnb.tanh(x * w + b) * lnb.sigmoid(x)


def standard(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def turned(x, w):
    even, odd, angle = x[..., ::2], x[..., 1::2], w[::2]
    return np.concatenate([even * np.cos(angle) - odd * np.sin(angle), even * np.sin(angle) + odd * np.cos(angle)], -1)


KNOWN = {
    softmax: lambda x, w, b: special.softmax(x * w + b, -1),
    layer_norm: lambda x, w, b: standard(x) * w + b,
    layer_norm_by_var: lambda x, w, b: standard(x) * w + b,
    rms_norm: lambda x, w, b: x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-5) * w,
    gelu: lambda x, w, b: 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3))),
    rotary: lambda x, w, b: turned(x, w),
    squared_loss: lambda x, w, b: ((x * w - b) ** 2).mean(),
    cross_entropy: lambda x, w, b: (special.logsumexp(x * b, -1) - (x * w).sum(-1)).mean(),
    gate: lambda x, w, b: np.tanh(x * w + b) * special.expit(x),
}
each_known = pytest.mark.parametrize("function", KNOWN, ids=lambda function: function.__name__)


def arrays(shape, dtype=np.float64):
    return [RANDOM.standard_normal(size).astype(dtype) for size in (shape, shape[-1:], shape[-1:])]


# ---------------------------------------------------------------------------------------------- known functions
@each_known
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 50), (1, 2), (70, 1100), (8,)], ids=str)
def test_known_functions_have_their_values(function, dtype, shape):
    given = arrays(shape, dtype)
    found = lnb.fuse(function)(*map(lnb.tensor, given))
    exact = KNOWN[function](*[x.astype(np.float64) for x in given])
    assert found.dtype == dtype and found.shape == exact.shape
    epsilon = np.finfo(dtype).eps
    np.testing.assert_allclose(found.numpy(), exact, rtol=30 * epsilon, atol=30 * epsilon)


@each_known
def test_known_functions_have_gradients_to_second_order(function):
    check_grad(lnb.fuse(function), *arrays((3, 4)), order=2)


@each_known
def test_bits_do_not_depend_on_the_number_of_threads(function, monkeypatch):
    given = [lnb.tensor(x, requires_grad=True) for x in arrays((1000, 300), np.float32)]
    found = []
    for count in (1, 2):
        monkeypatch.setattr(config, "num_threads", count)
        result = lnb.fuse(function)(*given)
        result.backward(lnb.ones_like(result))
        found.append([result, *[x.grad for x in given if x.grad is not None]])
        for x in given:
            x.grad = None
    for a, b in zip(*found):
        assert np.array_equal(a.detach().numpy(), b.detach().numpy())


def test_softmax_of_nothing_finite_is_zeros_with_zero_gradient():
    x = lnb.tensor([[-np.inf, -np.inf], [0.0, 0.0]], requires_grad=True)
    result = lnb.fuse(lambda x: lnb.softmax(x * 1.0))(x)
    result.backward(lnb.tensor([[1.0, 2.0], [1.0, 2.0]]))
    assert result.tolist() == [[0, 0], [0.5, 0.5]] and x.grad.tolist() == [[0, 0], [-0.25, 0.25]]


def test_equal_extremes_share_the_gradient_and_nan_wins():
    x = lnb.tensor([[3.0, 1.0, 3.0], [np.nan, 1.0, 2.0]], requires_grad=True)
    result = lnb.fuse(lambda x: (x + 0.0).max(-1))(x)
    result.backward(lnb.tensor([1.0, 1.0]))
    assert result[0].item() == 3 and np.isnan(result[1].item())
    assert x.grad.tolist() == [[0.5, 0, 0.5], [1, 0, 0]]


# --------------------------------------------------------------------------------------------------- plans
@pytest.fixture
def texts(monkeypatch):
    """The texts of the fused kernels that are compiled or loaded; those of before are forgotten."""
    found = set()
    load = store.load

    def watch(text, make):
        found.update({text} if text.startswith("fused") else ())
        return load(text, make)
    monkeypatch.setattr(store, "load", watch)
    kernel.cache_clear()
    return found


@each_known
def test_shapes_compile_nothing_anew_but_dtypes_do(function, texts):
    fused = lnb.fuse(function)

    def step(shape, dtype):
        given = [lnb.tensor(x, requires_grad=True) for x in arrays(shape, dtype)]
        result = fused(*given)
        result.backward(lnb.ones_like(result))
    step((4, 6), "float32")
    first = set(texts)
    assert first
    for shape in [(5, 8), (30, 2000), (3, 20)]:
        step(shape, "float32")
    assert texts == first
    step((4, 6), "float64")
    assert texts > first


def test_numbers_of_the_program_compile_nothing_anew(texts):
    fused = lnb.fuse(lambda x, number: lnb.tanh(x * number) + number)
    for number in (0.1, 0.3, 7.5):
        fused(lnb.tensor([1.0, 2.0]), number)
    assert len(texts) == 1


def test_plans_are_made_once_for_each_set_of_shapes_and_options():
    calls = []

    @lnb.fuse
    def function(x, factor, how="twice"):
        calls.append(how)
        return x * factor + (x if how == "twice" else 0)
    x, y = lnb.tensor([1.0, 2.0]), lnb.tensor([1.0, 2.0, 3.0])
    for _ in range(2):
        assert function(x, 3).tolist() == [4, 8]
        assert function(x, 3, how="once").tolist() == [3, 6]
        assert function(y, 3).tolist() == [4, 8, 12]
        assert function(x, 4).tolist() == [5, 10]
    assert calls == ["twice", "once", "twice", "twice"]


def test_nested_arguments_and_results_keep_their_structure():
    @lnb.fuse
    def function(state, *, scale):
        return {"sum": state["a"] + state["b"][0], "rows": (state["a"] * scale, None)}, 5
    a, b = lnb.tensor([1.0, 2.0]), np.array([3.0, 4.0])
    found, five = function({"a": a, "b": [b]}, scale=2)
    assert found["sum"].tolist() == [4, 6] and found["rows"][0].tolist() == [2, 4]
    assert found["rows"][1] is None and five == 5


def test_tensors_from_elsewhere_are_read_and_differentiated_at_each_call():
    w = lnb.tensor([2.0, 3.0], requires_grad=True)
    fused = lnb.fuse(lambda x: (x * (w * w)[None]).sum())
    x = lnb.tensor([1.0, 1.0])
    for _ in range(2):
        w.grad = None
        fused(x).backward()
        assert w.grad.tolist() == [4, 6]
    with lnb.no_grad():
        w[0] = 10.0
    assert fused(x).item() == 109


def test_no_grad_outside_and_inside_is_kept():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)

    @lnb.fuse
    def function(x):
        with lnb.no_grad():
            y = x * x
        return y * x + x.detach() * 3
    with lnb.no_grad():
        assert not function(x).requires_grad
    function(x).sum().backward()
    assert x.grad.tolist() == [1, 4]


def test_a_fused_function_in_another_is_fused_with_it():
    inner = lnb.fuse(lambda x: lnb.tanh(x) * 2)
    outer = lnb.fuse(lambda x: inner(x) + 1)
    x = lnb.tensor([0.5])
    np.testing.assert_allclose(outer(x).numpy(), np.tanh(0.5) * 2 + 1)
    assert outer.explain().count("one kernel") == 1


def test_ops_on_tensors_from_elsewhere_are_a_part_of_the_plan():
    w = lnb.tensor([1.0, 2.0], requires_grad=True)
    inner = lnb.fuse(lambda w: w * w + 1)
    outer = lnb.fuse(lambda x: x * inner(w).reshape((2, 1))[0])
    for _ in range(2):
        w.grad = None
        outer(lnb.tensor([3.0])).backward()
        assert w.grad.tolist() == [6, 0]


def test_a_method_can_be_fused():
    class Layer:
        factor = 3

        @lnb.fuse
        def call(self, x):
            return x * self.factor + 1
    layer = Layer()
    assert layer.call(lnb.tensor([1.0])).tolist() == [4]


def test_products_between_fused_parts_stay_ordinary():
    @lnb.fuse
    def function(x, w):
        hidden = lnb.tanh(x + 1) @ w
        return lnb.softmax(hidden * 2)
    x, w = RANDOM.standard_normal((3, 4)), RANDOM.standard_normal((4, 5))
    found = function(lnb.tensor(x), lnb.tensor(w))
    np.testing.assert_allclose(found.numpy(), special.softmax(2 * np.tanh(x + 1) @ w, -1), rtol=1e-12)
    text = function.explain()
    assert "3 steps, 2 fused" in text and "matmul: no formula" in text
    check_grad(function, x, w, order=2)


@pytest.mark.parametrize("function,reason", [
    (lambda x: x * 2 if (x > 0).all() else x, "it reads a value"),
    (lambda x: x.__setitem__(0, 1.0), "it writes in place"),
    (lambda x: lnb.tensor(x.item() * 2), "it reads a value"),
    (lambda x: lnb.vmap(lambda a: a * 2)(x), "it needs the elements while it is traced, as vmap does"),
    (lambda x: lnb.nn.functional.dropout(x, 1.0) * x, "it draws random numbers")],
    ids=["branch", "write", "item", "vmap", "dropout"])
def test_what_cannot_be_traced_runs_as_it_is(function, reason):
    fused = lnb.fuse(function)
    x, y = lnb.tensor([3.0]), lnb.tensor([3.0])
    for _ in range(2):
        a, b = fused(x), function(y)
        assert a is b is None or a.tolist() == b.tolist()
    assert x.tolist() == y.tolist() and reason in fused.explain()


@pytest.mark.parametrize("function", [
    lambda x, y: (lnb.exp(x) * 2)[y] + 1, lambda x, y: lnb.take(lnb.exp(x), y, 0) * 2,
    lambda x, y: lnb.take_along_axis(lnb.exp(x), y[:, None], 1) * 2,
    lambda x, y: lnb.nn.functional.cross_entropy(x * 2, y) * 3,
    lambda x, y: lnb.nn.functional.nll_loss(lnb.log_softmax(x), y, reduction="sum"),
    lambda x, y: lnb.nn.functional.embedding(y, lnb.tanh(x)) * 2],
    ids=["index", "take", "along", "cross_entropy", "nll", "embedding"])
def test_functions_of_positions_read_them_at_each_call(function):
    fused = lnb.fuse(function)
    x = RANDOM.standard_normal((3, 4))
    for positions in ([0, 2, 1], [1, 1, 0]):
        found = []
        for call in (function, fused):
            leaf = lnb.tensor(x, requires_grad=True)
            result = call(leaf, lnb.tensor(np.array(positions)))
            result.sum().backward()
            found.append((result.detach().numpy(), leaf.grad.numpy()))
        for a, b in zip(*found):
            np.testing.assert_allclose(b, a, rtol=1e-12)
    assert "it reads positions" in fused.explain() and "one kernel" in fused.explain()


def test_explain_prints_each_plan_once(capsys):
    fused = lnb.fuse(explain=True)(lambda x: lnb.sort(x * 2) + 1)
    assert "not called yet" in fused.explain()
    fused(lnb.tensor([2.0, 1.0]))
    fused(lnb.tensor([2.0, 1.0]))
    text = capsys.readouterr().out
    assert text.count("steps") == 1 and "sort" in text and "one kernel: multiply" in text


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), (1, 1), (3, 1), (1, 3), ()], ids=str)
def test_empty_and_single_extents(shape):
    def function(x):
        centred = lnb.tanh(x) - x.sum(-1, keepdims=True) if x.ndim else lnb.tanh(x)
        return centred * 2 + x
    x = RANDOM.standard_normal(shape)
    a, b = (lnb.tensor(x, requires_grad=True) for _ in range(2))
    plain, fused = function(a), lnb.fuse(function)(b)
    for result in (plain, fused):
        result.backward(lnb.ones_like(result))
    assert plain.shape == fused.shape
    np.testing.assert_allclose(fused.detach().numpy(), plain.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("shapes", [((2, 3, 4, 8), (2, 1, 1, 8)), ((2, 3, 8), (3, 1)), ((4, 8), (2, 4, 8)),
                                    ((3, 8), ()), ((8,), (5, 1)), ((2, 1, 8), (3, 1))], ids=str)
def test_operands_that_broadcast_in_any_axes(shapes):
    def function(x, y):
        return lnb.softmax(x * y) + (x + y).max(-1, keepdims=True)
    check_grad(lnb.fuse(function), *[RANDOM.standard_normal(shape) for shape in shapes], order=2)


@pytest.mark.parametrize("order", ["F", "strided", "reversed"])
def test_operands_of_any_layout(order):
    def function(x):
        return lnb.softmax(x * 2)
    x = RANDOM.standard_normal((6, 10))
    tensor = {"F": lnb.tensor(x.T.copy()).T, "strided": lnb.tensor(np.repeat(x, 2, 1))[:, ::2],
              "reversed": lnb.tensor(x[::-1].copy())[::-1]}[order]
    np.testing.assert_allclose(lnb.fuse(function)(tensor).numpy(), special.softmax(2 * x, -1), rtol=1e-12)


def test_whole_numbers_and_conditions():
    def function(i, mask, x):
        return (i * 3 + 1) // 2, lnb.where(mask & (x > 0), x, -1.0), mask * x
    i, mask, x = np.arange(6), np.arange(6) % 2 == 0, RANDOM.standard_normal(6).astype(np.float32)
    found = lnb.fuse(function)(lnb.tensor(i), lnb.tensor(mask), lnb.tensor(x))
    wanted = (i * 3 + 1) // 2, np.where(mask & (x > 0), x, np.float32(-1)), mask * x
    for a, b in zip(found, wanted):
        assert a.dtype == b.dtype and np.array_equal(a.numpy(), b)


def test_a_cast_through_half_is_rounded_as_it_is_unfused():
    def function(x):
        return (x * 3).astype("float16").astype("float32") * 2
    x = RANDOM.standard_normal(50).astype(np.float32)
    assert np.array_equal(lnb.fuse(function)(lnb.tensor(x)).numpy(), (x * 3).astype("float16").astype("float32") * 2)


# ------------------------------------------------------------------------------------- gradients asked for inside
def cube(z):
    return (z ** 3).sum()


def by_backward(x):
    leaf = x.detach()
    leaf.requires_grad = True
    cube(leaf).backward()
    return leaf.grad


def by_hook(x):
    leaf = lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    seen = []
    leaf.register_hook(seen.append)
    cube(leaf * x).backward()
    return seen[0]


@pytest.mark.parametrize("function", [
    lambda x: lnb.grad(cube)(x), lambda x: x - 0.1 * lnb.grad(cube)(x), lambda x: lnb.jvp(cube, (x,), (x,))[1],
    lambda x: lnb.hvp(cube, x, x), lambda x: lnb.jacobian(lambda z: z ** 3)(x), lambda x: lnb.hessian(cube)(x),
    lambda x: lnb.vjp(lnb.sin, x)[1](x)[0], lambda x: lnb.vmap(lnb.grad(lambda z: z ** 3))(x), by_backward, by_hook,
    lambda x: lnb.autograd.grad(cube(leaf := lnb.tensor([1.0, 2.0, 3.0], requires_grad=True)), leaf)[0] * x])
def test_a_function_that_asks_for_gradients_runs_as_it_is(function):
    x = lnb.tensor([1.0, 2.0, 3.0])
    fused = lnb.fuse(function)
    np.testing.assert_array_equal(fused(x).numpy(), function(x).numpy())
    assert "gradients" in fused.explain()


def test_gradients_of_fused_functions_inside_fused_functions():
    inner = lnb.fuse(lambda z: (lnb.tanh(z) * z).sum())
    outer = lnb.fuse(lambda x: x * lnb.grad(inner)(x))
    x = np.array([0.5, -1.0])
    np.testing.assert_allclose(outer(lnb.tensor(x)).numpy(), x * (np.tanh(x) + x / np.cosh(x) ** 2), rtol=1e-14)
