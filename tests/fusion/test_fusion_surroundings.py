"""`lnb.fuse`: numbers, tensors and parts of modules that a function finds, and that become others."""

import os
import signal
import threading

import numpy as np
import pytest

import lucid_nb as lnb

X = lnb.tensor([1.0, 2.0])
FACTOR, WEIGHT, SETTINGS = 2.0, lnb.tensor([1.0, 3.0]), {"factor": 2.0}


def helper(x):
    """What others call: it reads a global."""
    return x * FACTOR


class Settings:
    """An object with numbers."""

    def __init__(self):
        self.factor, self.calls, self.kept = 2.0, 0, None


@pytest.mark.parametrize("name, new", [("FACTOR", 5), ("WEIGHT", lnb.tensor([7.0, 8.0])), ("FACTOR", -0.0)])
@pytest.mark.parametrize("function", [lambda x: (x + 1) * FACTOR + WEIGHT, lambda x: helper(x) + WEIGHT * 2],
                         ids=["own", "of a helper"])
def test_globals_that_become_others(function, name, new, monkeypatch):
    fused = lnb.fuse(function)
    for _ in range(2):
        assert fused(X).tolist() == function(X).tolist()
    monkeypatch.setitem(globals(), name, new)
    for _ in range(2):
        assert fused(X).tolist() == function(X).tolist()
    monkeypatch.undo()
    assert fused(X).tolist() == function(X).tolist()


def test_closures_defaults_dicts_and_attributes_that_become_others():
    factor, settings, found = 2.0, Settings(), {"factor": 1.0}

    def function(x, own=settings):
        return x * factor + own.factor * found["factor"]
    fused = lnb.fuse(function)
    for change in (lambda: None, lambda: setattr(settings, "factor", 4.0), lambda: found.update(factor=0.5),
                   lambda: setattr(settings, "calls", 1)):
        change()
        for factor in (2.0, 3.0):
            assert fused(X).tolist() == [v * factor + settings.factor * found["factor"] for v in (1, 2)]
    count = len(next(iter(fused.plans.values())))
    settings.calls = 2                               # nobody reads it
    fused(X)
    assert len(next(iter(fused.plans.values()))) == count


def test_tensors_in_the_places_of_others_need_no_plan_and_get_gradients():
    calls = []
    w = lnb.tensor([1.0, 3.0], requires_grad=True)

    @lnb.fuse
    def loss(x):
        calls.append(0)
        return ((x * w - 1) ** 2).sum()
    for _ in range(3):
        loss(X).backward()
        expected = 2 * (X.numpy() * w.detach().numpy() - 1) * X.numpy()
        np.testing.assert_allclose(w.grad.numpy(), expected)
        w = lnb.tensor(w.detach().numpy() - 0.1 * w.grad.numpy(), requires_grad=True)
    assert len(calls) == 1
    w = lnb.tensor([1.0, 2.0, 3.0])
    assert loss(lnb.ones(3)).item() == 5 and len(calls) == 2


def test_one_tensor_in_two_places_of_which_one_becomes_another():
    tensors = {"a": lnb.tensor([1.0]), "b": None}
    tensors["b"] = tensors["a"]
    fused = lnb.fuse(lambda x: x * tensors["a"] + 10 * tensors["b"])
    assert fused(lnb.ones(1)).tolist() == [11]
    tensors["b"] = lnb.tensor([2.0])
    assert fused(lnb.ones(1)).tolist() == [21]
    tensors["a"] = tensors["b"]
    assert fused(lnb.ones(1)).tolist() == [22]


class Layer(lnb.nn.Module):
    """A module with all kinds of members, whose forward is fused."""

    def __init__(self):
        super().__init__()
        self.w, self.scale = lnb.nn.Parameter(lnb.ones(2)), 1.5
        self.register_buffer("shift", lnb.tensor([0.5, 0.25]))
        self.part, self.drop = lnb.nn.Softplus(), lnb.nn.Dropout(0.5)
        self.traces = []

    @lnb.fuse
    def forward(self, x):
        self.traces.append(0)
        return self.drop(self.part(x * self.w)) * self.scale + self.shift

    def plain(self):
        """What it gives for X in eval mode."""
        return self.part(X * self.w) * self.scale + self.shift


def test_a_module_with_members_replaced_for_good_is_fused_again():
    layer = Layer().eval()
    fused = type(layer).forward

    def check(traces):
        for _ in range(2):
            np.testing.assert_allclose(layer(X).detach().numpy(), layer.plain().detach().numpy(), rtol=1e-14)
        assert len(layer.traces) == traces and "one kernel" in fused.explain()
    check(1)
    layer.w = lnb.nn.Parameter(lnb.tensor([3.0, -1.0]))          # one like it: the plan reads the new one
    check(1)
    layer(X).sum().backward()
    assert np.all(layer.w.grad.numpy() != 0)
    layer.shift = lnb.tensor(2.0)                                # another shape
    check(2)
    layer.part = lnb.nn.Tanh()
    check(3)
    layer.scale = 4
    check(4)
    layer.part.train()                                           # nobody asks
    check(4)
    layer.train()
    assert (layer(lnb.ones(2)).detach().numpy() == 2).any() or len(layer.traces) > 4


def test_functional_call_runs_fused():
    layer = Layer().eval()
    layer(X)
    given = {"w": lnb.tensor([2.0, 5.0]), "shift": lnb.tensor([0.0, 1.0])}
    found = lnb.nn.functional_call(layer, given, X)
    np.testing.assert_allclose(found.numpy(), 1.5 * np.log1p(np.exp([2.0, 10.0])) + [0, 1], rtol=1e-14)
    stacked = {name: lnb.stack([t, 2 * t, -t]) for name, t in given.items()}
    each = lnb.vmap(lambda p: lnb.nn.functional_call(layer, p, X))(stacked).numpy()
    for row, sign in zip(each, (1, 2, -1)):
        one = lnb.nn.functional_call(layer, {name: sign * t for name, t in given.items()}, X)
        np.testing.assert_allclose(row, one.numpy(), rtol=1e-14)


def test_what_is_kept_at_the_first_call_is_no_traced_tensor():
    class Cached(Settings):
        @lnb.fuse
        def call(self, x):
            if self.kept is None:
                self.kept = lnb.exp(WEIGHT) * 2
            return x * self.kept
    cached = Cached()
    for _ in range(3):
        np.testing.assert_allclose(cached.call(X).numpy(), X.numpy() * np.exp(WEIGHT.numpy()) * 2, rtol=1e-14)
    assert type(cached.kept) is lnb.Tensor and "one kernel" in Cached.call.explain()


def test_a_function_that_counts_its_calls_runs_as_it_is():
    count = 0

    @lnb.fuse
    def counted(x):
        nonlocal count
        count += 1
        return x * count
    counted(X)
    for _ in range(6):
        before = count
        assert counted(X).tolist() == [count, 2 * count] and count > before
    before = count
    counted(X)
    assert count == before + 1 and "changes what it finds" in counted.explain()


def test_an_exception_leaves_nothing_traced():
    kept = Settings()

    @lnb.fuse
    def failing(x):
        kept.kept = x * 2
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        failing(X)
    assert kept.kept is None
    assert (X * 2).tolist() == [2, 4] and not isinstance(vars(lnb.nn.Module).get("training"), property)


def test_threads_that_call_one_function_at_once():
    fused = lnb.fuse(lambda x, n: lnb.tanh(x * n).sum())
    wrong = []

    def work(seed):
        for n in range(40):
            x = np.arange(1.0, 2 + (n + seed) % 5) / 10
            leaf = lnb.tensor(x, requires_grad=True)
            fused(leaf, n % 7).backward()
            if not np.allclose(leaf.grad.numpy(), (n % 7) / np.cosh(x * (n % 7)) ** 2):
                wrong.append((seed, n))
            plain = lnb.vmap(lambda x: lnb.sin(x) * 2)(lnb.tensor(x))          # nobody else is traced meanwhile
            wrong.extend([] if np.allclose(plain.numpy(), 2 * np.sin(x)) else [n])
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_while_another_thread_traces():
    is_over = threading.Event()

    def work():
        while not is_over.is_set():
            lnb.fuse(lambda x: lnb.tanh(x) + lnb.sin(x) * 2)(X)
    thread = threading.Thread(target=work)
    thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            signal.alarm(20)                         # kills a child that waits for ever
            found = lnb.fuse(lambda x: x * 2 + 1)(X).tolist() if type(X * 2) is lnb.Tensor else None
            os._exit(0 if found == [3, 5] else 1)
        codes.append(os.waitpid(child, 0)[1])
    is_over.set()
    thread.join(60)
    assert codes == [0] * 10
