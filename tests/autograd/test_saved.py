"""Hooks for what ops save: what they see, what they may give back, and that gradients stay what they are."""

import contextlib
import threading
import tracemalloc

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.autograd import save_on_cpu, saved_tensors_hooks
from lucid_nb.errors import GradError
from lucid_nb.testing import check_grad


def leaf(*numbers: float) -> lnb.Tensor:
    """A tensor that requires grad."""
    return lnb.tensor(list(numbers), dtype="float64", requires_grad=True)


def to_disk(folder):
    """Hooks that write to files; they give an array of its own each time."""
    def pack(x):
        path = folder / f"{len(list(folder.iterdir()))}.npy"
        np.save(path, x.numpy())
        return path
    return saved_tensors_hooks(pack, lambda path: lnb.asarray(np.load(path)))


def program(x, w):
    """Elementwise ops on short and long roads, a primitive, several results, a write in place."""
    h = lnb.tanh(x @ w) * lnb.exp(x) + x ** 3
    h *= x
    fraction, whole = lnb.modf(h * 3.0)
    return lnb.logsumexp(fraction * w, axis=0) + whole[0] + h[1] / x[0]


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_through_files_are_those_without(tmp_path, order):
    random = np.random.default_rng(0)
    x, w = random.uniform(0.3, 1, (3, 3)), random.uniform(-1, 1, (3, 3))

    def packed(x, w):
        with to_disk(tmp_path):
            return program(x, w)
    check_grad(packed, x, w, order=order)
    plain, through = [lnb.grad(lambda *a, f=f: f(*a).sum(), (0, 1))(x, w) for f in (program, packed)]
    assert all((a == b).all() for a, b in zip(plain, through))


def test_hooks_see_what_torch_s_hooks_see():
    torch = pytest.importorskip("torch")

    def shapes_seen(library, hooks, tensor):
        seen = []
        with hooks(lambda t: seen.append(("pack", *t.shape)) or t, lambda t: seen.append(("unpack", *t.shape)) or t):
            a, b = tensor([1.0, 2.0]), tensor([3.0, 4.0])
            y = library.exp(a * b).sum()
        y.backward()
        return seen, a.grad.tolist()
    ours = shapes_seen(lnb, saved_tensors_hooks, lambda n: lnb.tensor(n, requires_grad=True))
    theirs = shapes_seen(torch, torch.autograd.graph.saved_tensors_hooks,
                         lambda n: torch.tensor(n, requires_grad=True))
    assert ours[0] == theirs[0] and np.allclose(ours[1], theirs[1], rtol=1e-6)


def test_unpack_is_called_at_each_backward_and_unrecorded():
    modes = []

    def unpack(x):
        modes.append(lnb.is_grad_enabled())
        return x + 0
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda x: (x,), lambda packed: unpack(packed[0])):
        y = lnb.exp(x).sum() * 2 - x[0] - x[1]
    before = len(modes)
    y.backward(retain_graph=True)
    once = len(modes)
    y.backward(retain_graph=True)
    assert before == 0 < once and len(modes) == 2 * once and not any(modes)
    y.backward()
    with pytest.raises(GradError, match="freed by an earlier backward"):
        y.backward()
    assert np.allclose(x.grad, 3 * (2 * np.exp([1, 2]) - 1))


def test_what_a_hook_saved_in_its_own_way_may_be_overwritten():
    x = leaf(1.0, 2.0)
    y = x * 1
    with saved_tensors_hooks(lambda x: x.numpy().copy(), lnb.asarray):
        z = (y ** 2).sum()
    with lnb.no_grad():
        y += 10
    z.backward()
    assert x.grad.tolist() == [2, 4]


def test_what_a_hook_gives_back_unchanged_must_not_be_overwritten():
    x = leaf(1.0, 2.0)
    y = x * 1
    with saved_tensors_hooks(lambda x: x, lambda x: x):
        z = (y ** 2).sum()
    with lnb.no_grad():
        y += 10
    with pytest.raises(GradError, match="overwritten by in-place add"):
        z.backward()


@pytest.mark.parametrize("hooks, message", [
    ((lambda x: 1, lambda x: x), "unpack_hook gave a int for shape"),
    ((lambda x: x.numpy()[:1].copy(), lnb.asarray), r"unpack_hook gave shape \(1,\)"),
    ((lambda x: x.numpy().astype("float32"), lnb.asarray), "unpack_hook gave shape .* float32"),
])
def test_what_is_given_back_must_be_like_what_was_saved(hooks, message):
    with saved_tensors_hooks(*hooks):
        y = lnb.exp(leaf(1.0, 2.0)).sum()
    with pytest.raises(GradError, match=message):
        y.backward()


def test_pack_must_not_write():
    def pack(x):
        x += 1
        return x
    with pytest.raises(GradError, match="pack_hook wrote into a tensor that exp saved"), \
            saved_tensors_hooks(pack, lambda x: x):
        lnb.exp(leaf(1.0))


def test_hooks_must_be_functions():
    with pytest.raises(GradError, match="needs two functions"):
        saved_tensors_hooks(None, None)


def test_innermost_block_decides_and_threads_have_their_own():
    calls, x = [], leaf(1.0)

    def block(name):
        return saved_tensors_hooks(lambda x: calls.append(name) or x, lambda x: x)
    with block("outer"):
        lnb.exp(x)
        with block("inner"):
            lnb.exp(x)
        thread = threading.Thread(target=lambda: lnb.exp(x))
        thread.start()
        thread.join()
        lnb.sin(x)
    lnb.exp(x)
    assert calls == ["outer", "inner", "outer"]


def test_kept_memory_falls_with_what_hooks_keep():
    x = leaf(*range(500))

    def held(hooks):
        for _ in range(2):                     # the first time compiles
            tracemalloc.start()
            with hooks:
                h = x
                for _ in range(10):
                    h = lnb.sin(h)
            found = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
        return found
    halves = saved_tensors_hooks(lambda x: x.astype("float16"), lambda x: x.astype("float64"))
    assert held(halves) < 10 * 1000 + 4000 + 10 * 1500 < 10 * 4000 < held(contextlib.nullcontext())


def test_create_graph_within_a_block_packs_the_gradient_s_graph(tmp_path):
    x = leaf(0.5, 2.0)
    with to_disk(tmp_path):
        g, = lnb.autograd.grad((x ** 4).sum(), x, create_graph=True)
        count = len(list(tmp_path.iterdir()))
        h, = lnb.autograd.grad(g.sum(), x, create_graph=True)
    third, = lnb.autograd.grad(h.sum(), x)
    assert count > 1 and np.allclose(third, 24 * x.detach())


@pytest.mark.parametrize("device", ["cpu", "mlx"])
def test_save_on_cpu_leaves_gradients_as_they_are(device):
    x = lnb.tensor(np.array([0.5, -1.5], "float32"), device=device, requires_grad=True)
    with save_on_cpu():
        y = (lnb.sin(x) * lnb.exp(x)).sum()
    y.backward()
    numbers = np.array([0.5, -1.5])
    assert x.grad.device == device
    assert np.allclose(x.grad.tolist(), (np.cos(numbers) + np.sin(numbers)) * np.exp(numbers), rtol=1e-6)
