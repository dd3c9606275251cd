"""`lnb.fuse`: what its plans depend on besides shapes, and dtypes that a program of bools alone has not."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DTypeError
from lucid_nb.testing import check_grad

RANDOM, MASK = np.random.default_rng(0), np.array([True, False, True])


@pytest.mark.parametrize("function, dtype", [
    (lambda m, lib: m * 2 + m, "int64"), (lambda m, lib: m / 2 - 1, "float64"),
    (lambda m, lib: m.astype("float32") * 2 + 1, "float32"), (lambda m, lib: lib.maximum(m, 2) + m, "int64"),
    (lambda m, lib: ((m & ~m) | m) * 3, "int64"), (lambda m, lib: (m + 0.5).sum(-1) * m, "float64")])
def test_bools_alone_become_numbers(function, dtype):
    found = lnb.fuse(lambda m: function(m, lnb))(lnb.asarray(MASK))
    assert found.dtype == dtype and np.array_equal(found.numpy(), function(MASK, np))


def test_conditions_become_numbers_of_another_dtype():
    a = np.float32([1, 2, 3])
    assert np.array_equal(lnb.fuse(lambda x: (x > 1) * 2)(lnb.asarray(a)), (a > 1) * 2)


def test_numbers_that_are_equal_and_not_the_same():
    fused = lnb.fuse(lambda x, s: 1 / (x * s + s))
    one = lnb.ones(1)
    assert [fused(one, s).item() for s in (0.0, -0.0)] == [np.inf, -np.inf]
    for _ in range(3):
        fused(one, float("nan"))
    assert len(fused.plans) == 3


@pytest.mark.parametrize("first", [True, False])
def test_plans_depend_on_the_training_mode_of_modules(first):
    norm, drop = lnb.nn.BatchNorm1d(3), lnb.nn.Dropout(0.5)
    fused = lnb.fuse(lambda x: drop(norm(x)) * 2)
    x = RANDOM.standard_normal((64, 3)).astype("float32")
    for mode in (first, not first, first):
        norm.train(mode)
        drop.train(mode)
        before, mean, var = [t.numpy().copy() for t in (norm.num_batches_tracked, norm.running_mean, norm.running_var)]
        found = fused(lnb.asarray(x)).detach().numpy()
        assert (found == 0).any() == mode and norm.num_batches_tracked.item() - before == mode
        if not mode:
            np.testing.assert_allclose(found, 2 * (x - mean) / np.sqrt(var + 1e-5), rtol=1e-5, atol=1e-5)


def test_what_has_no_hash_is_refused():
    with pytest.raises(DTypeError, match="cannot be hashed"):
        lnb.fuse(lambda x, names: x * len(names))(lnb.ones(2), {"a", "b"})


@pytest.mark.parametrize("make, shape", [(lambda nn: nn.GRU(3, 4), (4, 2, 3)),
                                         (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, 0.0), (3, 2, 4))])
def test_layers_with_fast_paths_that_vmap_has_not(make, shape):
    torch = pytest.importorskip("torch")
    layer, oracle = make(lnb.nn).double(), make(torch.nn).double()
    oracle.load_state_dict({name: torch.tensor(t.detach().numpy()) for name, t in layer.state_dict().items()})
    x = RANDOM.standard_normal((2, *shape))

    def value(layer):
        def call(x):
            found = layer(x)
            return ((found[0] if isinstance(found, tuple) else found) ** 2).sum()
        return call
    fused = lnb.fuse(value(layer))
    fused(lnb.asarray(x[0]))                          # a plan that does not serve within vmap
    found = lnb.vmap(lnb.grad(fused))(lnb.asarray(x)).detach().numpy()
    for part, got in zip(x, found):
        leaf = torch.tensor(part, requires_grad=True)
        value(oracle)(leaf).backward()
        np.testing.assert_allclose(got, leaf.grad.numpy(), rtol=1e-8, atol=1e-10)


class Scaled(lnb.nn.Module):
    """A module whose forward is fused."""

    def __init__(self):
        super().__init__()
        self.w = lnb.nn.Parameter(lnb.ones(3))

    @lnb.fuse
    def forward(self, x):
        return lnb.tanh(x) * self.w + x


def test_members_of_modules_that_are_replaced():
    module, x, w = Scaled(), np.array([0.5, -1.0, 2.0]), np.array([3.0, 0.0, -1.0])
    module(lnb.asarray(x))
    given = {"w": lnb.asarray(w)}
    found = lnb.nn.functional_call(module, given, lnb.asarray(x))
    np.testing.assert_allclose(found.numpy(), np.tanh(x) * w + x, rtol=1e-14)
    gradient = lnb.grad(lambda p: lnb.nn.functional_call(module, p, lnb.asarray(x)).sum())(given)["w"]
    np.testing.assert_allclose(gradient.numpy(), np.tanh(x), rtol=1e-14)
    module.w = lnb.nn.Parameter(lnb.asarray(2 * w))
    np.testing.assert_allclose(module(lnb.asarray(x)).detach().numpy(), np.tanh(x) * 2 * w + x, rtol=1e-14)


X, Y = RANDOM.standard_normal((2, 3)), RANDOM.standard_normal((2, 1))


@pytest.mark.parametrize("y", [Y, Y[1:], Y[0, 0]], ids=["one a row", "one row", "one number"])
@pytest.mark.parametrize("function", [
    lambda x, y: (lnb.tanh(x) + lnb.tanh(y)).mean(-1), lambda x, y: (x * 2 - y).sum(-1, keepdims=True) * y,
    lambda x, y: lnb.where(x > 0, x, y).sum(-1), lambda x, y: ((x + y).sum(-1) ** 2) + (x * y).mean(-1),
    lambda x, y: (x + y.sum(-1, keepdims=True)).var(-1) + (x - y).sum(-1), lambda x, y: (x + y).sum()])
def test_a_value_of_a_row_is_as_often_in_its_sum_as_the_row_has_elements(function, y):
    y = y.reshape(-1)[None] if y.ndim == 1 else y
    fused = lnb.fuse(function)
    check_grad(fused, X, y)
    assert "fused" in fused.explain() and "not fused" not in fused.explain()


@pytest.mark.parametrize("function, count", [
    (lambda x: lnb.sort(x * 2, 0), 6), (lambda x: lnb.partition(x, 1), 6), (lambda x: lnb.unique(x + 1), 6),
    (lambda x: lnb.cummax(x * 3, 0)[0], 6), (lambda x: lnb.median(x * 2), 1), (lambda x: lnb.topk(x, 2)[0], 4)])
def test_ops_that_have_another_way_for_gradients(function, count):
    weights = lnb.asarray(np.arange(1.0, count + 1))
    fused = lnb.fuse(function)
    found, expected = [lnb.grad(lambda x, f=f: (f(x).reshape(-1) * weights).sum())(X) for f in (fused, function)]
    assert np.array_equal(found.numpy(), expected.numpy()) and np.any(expected.numpy())


def test_tensors_from_elsewhere_that_come_to_want_gradients():
    x, w = lnb.tensor([1.0, 2.0]), lnb.tensor([3.0, -1.0])
    fused = lnb.fuse(lambda x: (x * lnb.sort(w) + w.detach()).sum())
    for wanted in (False, True, False, True):
        w.requires_grad, w.grad = wanted, None
        found = fused(x)
        assert found.item() == 7 and found.requires_grad == wanted
        if wanted:
            found.backward()
            assert w.grad.tolist() == [2, 1]


@pytest.mark.parametrize("function", [lambda x: x * 0.0, lambda x: x * -0.0 + 1, lambda x: x ** 0.0, lambda x: 0.0 / x])
def test_a_gradient_through_a_factor_of_zero_is_zero_and_not_none(function):
    for value in (2.0, np.inf):
        found = []
        for call in (function, lnb.fuse(function)):
            x = lnb.tensor([value], requires_grad=True)
            with np.errstate(invalid="ignore"):
                call(x).sum().backward()
            found.append(x.grad.tolist())
        assert found[0] == found[1] == [0]


INF, NAN = np.inf, np.nan
AWKWARD = [[INF, 1, 2], [INF, INF, 1], [-INF, -INF, -INF], [-INF, 1, 2], [NAN, 1, 2], [INF, -INF, 0], [0.5, 1, 2]]


@pytest.mark.parametrize("function", [
    lambda x: lnb.logsumexp(x * 1, -1), lambda x: lnb.logsumexp(x * 1, -1, keepdims=True), lambda x: lnb.softmax(x * 1),
    lambda x: lnb.log_softmax(x * 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_with_infinities_have_the_values_and_gradients_of_ops(function, dtype):
    found = []
    for call in (function, lnb.fuse(function)):
        x = lnb.tensor(np.array(AWKWARD, dtype), requires_grad=True)
        with np.errstate(all="ignore"):
            y = call(x)
            y.backward(lnb.tensor(np.arange(1.0, y.size + 1).reshape(y.shape).astype(dtype)), create_graph=True)
            first, x.grad = x.grad, None
            (first * first).sum().backward()
        found.append([y.detach().numpy(), first.detach().numpy(), x.grad.numpy()])
    for plain, fused in zip(*found):
        np.testing.assert_allclose(fused, plain, rtol=1e-5, atol=1e-5)
