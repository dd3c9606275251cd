"""`autograd.Function`: gradients that a user states, against those of the library, differences, and PyTorch."""

import gc
import weakref

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.autograd import Function, once_differentiable
from lucid_nb.errors import DTypeError, GradError, ShapeError
from lucid_nb.testing import check_grad

random = np.random.default_rng(7)
A, B = random.uniform(0.5, 1.5, (3, 2)), random.uniform(0.5, 1.5, (3, 2))


def leaf(data):
    """A tensor that requires grad."""
    return lnb.tensor(data, dtype="float64", requires_grad=True)


class Power(Function):
    """x ** y, of a number y."""

    @staticmethod
    def forward(ctx, x, exponent):
        ctx.exponent = exponent
        ctx.save_for_backward(x)
        return x ** exponent

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * ctx.exponent * x ** (ctx.exponent - 1), None


class Exp(Function):
    """exp, whose gradient reads its result."""

    @staticmethod
    def forward(ctx, x):
        y = lnb.exp(x)
        ctx.save_for_backward(None, y)
        return y

    @staticmethod
    def backward(ctx, g):
        nothing, y = ctx.saved_tensors
        assert nothing is None
        return g * y


class Polar(Function):
    """Two results of two arguments, of which either may have no gradient; without ctx in forward."""

    @staticmethod
    def forward(x, y):
        return lnb.sqrt(x * x + y * y), lnb.arctan2(y, x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[0])

    @staticmethod
    def backward(ctx, of_radius, of_angle):
        x, y, r = ctx.saved_tensors
        return of_radius * x / r - of_angle * y / r ** 2, of_radius * y / r + of_angle * x / r ** 2


def test_gradients_to_second_order_in_both_modes():
    check_grad(lambda x: Power.apply(x, 3), A, order=2)
    check_grad(lambda x: Exp.apply(x) * Exp.apply(2 * x), A, order=2)
    check_grad(Polar.apply, A, B, order=2)
    check_grad(lambda x, y: Polar.apply(x, y)[1], A, B, order=2)
    check_grad(lambda x: Polar.apply(x, lnb.asarray(B))[0], A, order=2)


def test_third_derivative():
    third = lnb.grad(lnb.grad(lnb.grad(lambda x: Power.apply(x, 5))))
    assert np.allclose(third(1.5), 60 * 1.5 ** 2)


def test_within_vmap_and_around_it():
    expected = 3 * A ** 2
    assert np.allclose(lnb.vmap(lnb.grad(lambda x: Power.apply(x, 3).sum()))(A), expected)
    assert np.allclose(lnb.grad(lambda x: lnb.vmap(lambda r: Power.apply(r, 3).sum())(x).sum())(lnb.asarray(A)),
                       expected)
    found = lnb.jacobian(lambda x: Polar.apply(x, x * x), mode="reverse")(lnb.asarray(A[0]))
    plain = lnb.jacobian(lambda x: Polar.forward(x, x * x), mode="forward")(lnb.asarray(A[0]))
    assert all(np.allclose(a, b) for a, b in zip(found, plain))


def test_gradient_that_is_the_same_for_all_examples_within_vmap():
    class Sum(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return lnb.ones(2)
    assert (lnb.vmap(lnb.grad(lambda x: Sum.apply(x * 3.0)))(A) == 3).all()
    assert (lnb.grad(lambda x: lnb.vmap(lambda r: Sum.apply(r * 3.0))(x).sum())(lnb.asarray(A)) == 3).all()


def test_within_checkpoint():
    check_grad(lambda x: lnb.checkpoint(lambda x: Exp.apply(Power.apply(x, 2)), x), A, order=2)


def test_within_fuse_it_is_a_step_of_its_own():
    def f(x):
        return lnb.exp(Power.apply(x * 2, 2) * 0.1) + Polar.apply(x, x * x)[1]
    fused = lnb.fuse(f)
    found, expected = [lnb.grad(lambda x, g=g: g(x).sum())(lnb.asarray(A)) for g in (fused, f)]
    assert np.allclose(found, expected) and "Power" in fused.explain() and "its gradient is its own" in fused.explain()
    check_grad(fused, A, order=2)


@pytest.mark.parametrize("device", ["cpu", "mlx"])
def test_on_devices(device):
    x = lnb.tensor(A.astype("float32"), device=device, requires_grad=True)
    Power.apply(x, 3).sum().backward()
    assert x.grad.device == device and np.allclose(x.grad.to("cpu"), 3 * A ** 2, rtol=1e-5)


def test_needs_input_grad_and_gradients_nobody_wants():
    seen = []

    class Product(Function):
        @staticmethod
        def forward(ctx, x, y, z):
            seen.append(ctx.needs_input_grad)
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            x, y = ctx.saved_tensors
            return g * y, g * x, None
    x = leaf(A)
    Product.apply(x, lnb.asarray(B), "z").sum().backward()
    assert seen == [(True, False, False)] * 2 and (x.grad == lnb.asarray(B)).all()
    with lnb.no_grad():
        assert not Product.apply(x, x, 1).requires_grad
    assert not Product.apply(lnb.asarray(A), lnb.asarray(A), 1).requires_grad


def test_results_without_gradient_and_those_that_are_no_tensors():
    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            whole, place, rest = lnb.floor(x), lnb.argmax(x), x - lnb.floor(x)
            ctx.mark_non_differentiable(whole)
            return whole, place, rest, "text"

        @staticmethod
        def backward(ctx, of_whole, of_place, of_rest, of_text):
            assert of_place is None and of_text is None and (of_whole == 0).all()
            return of_rest
    x = leaf([1.25, 2.5])
    whole, place, rest, text = Split.apply(x)
    assert [whole.requires_grad, place.requires_grad, rest.requires_grad, text] == [False, False, True, "text"]
    (rest * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("materialize", [True, False])
def test_gradients_of_unused_results(materialize):
    seen = []

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append(a if a is None else a.tolist())
            return 3 * b
    x = leaf([1.0, 2.0])
    Both.apply(x)[1].sum().backward()
    assert seen == [[0, 0] if materialize else None] and x.grad.tolist() == [3, 3]


def test_argument_that_is_returned_is_another_tensor():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x, x

        @staticmethod
        def backward(ctx, a, b):
            return a + 10 * b
    x = leaf([1.0])
    a, b = Same.apply(x)
    assert x.is_leaf and a is not x and a is not b
    (a + b).sum().backward()
    assert x.grad.tolist() == [11]


def test_argument_that_forward_writes():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x *= 2
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return 2 * g
    x = leaf([1.0, 2.0])
    y = x * 3
    part = y[:1]
    z = Double.apply(y)
    assert z is y and y.tolist() == [6, 12]
    (y * y).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2 * 6 * 6, 2 * 12 * 6]
    x.grad = None
    part.sum().backward()
    assert x.grad.tolist() == [6, 0]
    with pytest.raises(GradError, match="Double: forward writes into a leaf"):
        Double.apply(x)


def test_dirty_argument_must_be_returned():
    class Lost(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 1
    with pytest.raises(GradError, match="Lost: mark_dirty of what is no argument, or not returned"):
        Lost.apply(leaf([1.0]) * 1)


def test_jvp_serves_forward_mode():
    calls = []

    class Cube(Power):
        @staticmethod
        def jvp(ctx, t, of_exponent):
            assert of_exponent is None
            calls.append(1)
            x, = ctx.saved_tensors
            return 3 * x ** 2 * t
    check_grad(lambda x: Cube.apply(x, 3), A, order=2)
    assert calls
    value, tangent = lnb.jvp(lambda x: Cube.apply(x, 3), (lnb.asarray(A),), (lnb.asarray(B),))
    assert np.allclose(value, A ** 3) and np.allclose(tangent, 3 * A ** 2 * B)


def test_jvp_of_several_results():
    class Both(Polar):
        @staticmethod
        def jvp(ctx, s, t):
            x, y, r = ctx.saved_tensors
            return (x * s + y * t) / r, (x * t - y * s) / r ** 2
    check_grad(Both.apply, A, B, order=2)


def test_once_differentiable():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return lnb.asarray(2 * g.numpy() * x.numpy())
    x = leaf([1.0, 2.0])
    Twice.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    g, = lnb.autograd.grad(Twice.apply(x).sum(), x, create_graph=True)
    with pytest.raises(GradError, match="Twice: its gradient is differentiated again"):
        g.sum().backward()


# ------------------------------------------------------------------------------------------------ saved tensors
def test_saved_tensor_that_is_overwritten_is_noticed():
    x = leaf(A)
    h = x * 1
    y = Power.apply(h, 2)
    with lnb.no_grad():
        h += 1
    with pytest.raises(GradError, match=r"Power: a value saved at test_function.py:\d+ was overwritten by in-pl"):
        y.sum().backward()


def test_saved_tensors_are_freed_by_backward_and_read_there_only():
    x = leaf(A)
    y = Power.apply(x, 2)
    y.backward(lnb.ones((3, 2)))
    with pytest.raises(GradError, match="Power: its saved values were freed"):
        y.backward(lnb.ones((3, 2)))

    class Early(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return ctx.saved_tensors[0]
    with pytest.raises(GradError, match="Early: saved_tensors is read outside backward"):
        Early.apply(x)


def test_what_is_saved_must_be_tensors():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
    with pytest.raises(GradError, match="Wrong: save_for_backward got a int"):
        Wrong.apply(leaf(A))


def test_hooks_pack_what_a_function_saves():
    seen, x = [], leaf(A)
    with lnb.autograd.saved_tensors_hooks(lambda t: seen.append(t.shape) or t.numpy().copy(), lnb.asarray):
        y = Power.apply(x, 3).sum()
    y.backward()
    assert seen == [(3, 2)] and np.allclose(x.grad, 3 * A ** 2)


def test_graph_is_no_cycle():
    gc.disable()
    try:
        x = leaf(A)
        y = Exp.apply(x)
        seen = weakref.ref(y)
        del y
        assert seen() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize("gives, error, message", [
    (lambda g: (), GradError, "Wrong: backward gives 0 gradients for 2 arguments of forward"),
    (lambda g: g, GradError, "Wrong: backward gives 1 gradients for 2 arguments"),
    (lambda g: (g, None, g), GradError, "Wrong: backward gives 3 gradients for 2 arguments"),
    (lambda g: (g, g), GradError, "gradient for number 1 of the arguments of forward, which is no tensor"),
    (lambda g: (g[0], None), ShapeError, r"Wrong: backward gives shape \(2,\) for argument 0 of shape \(3, 2\)"),
    (lambda g: (g.T, None), ShapeError, r"Wrong: backward gives shape \(2, 3\) for argument 0 of shape \(3, 2\)"),
    (lambda g: (g > 0, None), DTypeError, r"Wrong: backward gives shape \(3, 2\), bool on cpu for argument 0, float64"),
    (lambda g: (1.0, None), GradError, "Wrong: backward gives a float for argument 0"),
])
def test_what_backward_gives_is_checked(gives, error, message):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return gives(g)
    y = Wrong.apply(leaf(A), 3).sum()
    with pytest.raises(error, match=message):
        y.backward()


def test_backward_must_not_write_into_what_it_gets():
    class Writes(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            g *= 2
            return g
    y = (Writes.apply(leaf(A)) * lnb.asarray(B)).sum()
    with pytest.raises(GradError, match="Writes: backward wrote into a gradient"):
        y.backward()


def test_gradient_of_a_wider_shape_or_dtype_is_fitted():
    class Spread(Function):
        @staticmethod
        def forward(ctx, x):
            return lnb.broadcast_to(x, (4, 3, 2)) * 1

        @staticmethod
        def backward(ctx, g):
            return g.astype("float32"), None, None
    x = leaf(A)
    Spread.apply(x).sum().backward()
    assert x.grad.dtype == np.float64 and (x.grad == 4).all()


def test_missing_parts_are_named():
    class Empty(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1
    with pytest.raises(NotImplementedError, match="backward is missing"):
        Empty.apply(leaf(A)).sum().backward()
    with pytest.raises(NotImplementedError, match="forward is missing"):
        Function.apply(leaf(A))


# --------------------------------------------------------------------------------------------------- PyTorch
SOURCE = '''
class Fused(Function):
    @staticmethod
    def forward(ctx, x, w, scale):
        ctx.scale = scale
        h = x @ w
        ctx.save_for_backward(x, w)
        ctx.mark_non_differentiable(h)
        return np.tanh(h) * scale, h

    @staticmethod
    def backward(ctx, g, of_h):
        x, w = ctx.saved_tensors
        slope = g * ctx.scale * (1 - np.tanh(x @ w) ** 2)
        return slope @ w.T, x.T @ slope, None
'''


def test_the_same_program_gives_the_same_with_torch():
    torch = pytest.importorskip("torch")
    results = []
    for library, function, tensor in ((lnb, Function, lnb.tensor), (torch, torch.autograd.Function, torch.tensor)):
        names = {"np": library, "Function": function}
        exec(SOURCE, names)
        x, w = tensor(A, requires_grad=True), tensor(B.T.copy(), requires_grad=True)
        y, h = names["Fused"].apply(x, w, 2.0)
        gx, gw = library.autograd.grad((y * h).sum(), (x, w), create_graph=True)
        ((gx ** 2).sum() + (gw * gw).sum()).backward()
        results.append([t.tolist() for t in (y.detach(), gx.detach(), gw.detach(), x.grad, w.grad)])
    for ours, theirs in zip(*results):
        assert np.allclose(ours, theirs)
