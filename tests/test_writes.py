"""Writes in a graph: their gradients, and what would falsify one; on the CPU and on MLX, against torch."""

import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DeviceError, GradError, LucidError

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])


def make(data: Any, device: str, **facts: Any) -> lnb.Tensor:
    """A float32 tensor on a device."""
    return lnb.tensor(np.array(data, "float32"), device=device, **facts)


def values(x: lnb.Tensor) -> list:
    """The content, also of what requires grad."""
    return x.detach().tolist()


# ----------------------------------------------------------------------------------------- the graph
@devices
def test_assignment_is_differentiable(device: str) -> None:
    w, y = make([1, 2, 3], device, requires_grad=True), make([5, 6], device, requires_grad=True)
    x = w * w
    view = x[1:]
    x[1:] = y * y
    (x * x + view.sum()).sum().backward()
    assert values(w.grad) == [4, 0, 0]
    assert values(y.grad) == [2 * 5 * (2 * 25 + 3), 2 * 6 * (2 * 36 + 3)]


@devices
def test_assignment_into_plain_memory_gives_the_values_gradient(device: str) -> None:
    y = make([5, 6], device, requires_grad=True)
    x = lnb.zeros(3, dtype="float32", device=device)
    for i in range(2):
        x[i] = y[i] * (i + 2)
    assert x.requires_grad and not x.is_leaf
    (x * make([1, 10, 100], device)).sum().backward()
    assert values(y.grad) == [2, 30]


@devices
def test_value_that_was_broadcast_or_cast_gets_its_own_gradient(device: str) -> None:
    y = lnb.tensor(np.array([[2.0]], "float16"), device=device, requires_grad=True)
    x = lnb.zeros((3, 2), dtype="float32", device=device)
    x[1:] = y
    x.sum().backward()
    assert values(y.grad) == [[4]] and y.grad.dtype == np.float16


# x is 2 w, both (2, 3). `own` copies an operand of an in-place op for torch, which refuses what ours copies by itself.
CHAINS: dict[str, Callable] = {
    "transposed": lambda x, w, own: x.T[1:].mul_(w.T[1:]),
    "slices": lambda x, w, own: (x[0].add_(w[1]), x[:, 1].mul_(own(x[:, 0].clone())), x[::2].add_(1)),
    "own operand": lambda x, w, own: (x.mul_(own(x)), x.mul_(own(x[:1])), x.add_(own(x[:1, :1]))),
    "views of views": lambda x, w, own: (x[:, 1:].T[1].add_(w[:, 0]), x.reshape(-1)[1:4].mul_(2), x.mul_(own(x))),
    "assigned": lambda x, w, own: (x.put((slice(None), 1), w[:, 2] * w[:, 0]), x.mul_(w), x.put(0, w[1])),
    "itself": lambda x, w, own: (x.put(0, x[1].clone()), x.mul_(w), x.put(slice(None), x.clone() * x.clone())),
}


class InPlace:
    """torch's names of in-place arithmetic over Tensors of either library."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def add_(self, y: Any) -> None: self.x += getattr(y, "x", y)
    def mul_(self, y: Any) -> None: self.x *= getattr(y, "x", y)
    def put(self, index: Any, value: "InPlace") -> None: self.x[index] = value.x
    def clone(self) -> "InPlace": return InPlace(self.x.clone())
    def reshape(self, *shape: int) -> "InPlace": return InPlace(self.x.reshape(*shape))
    def __getitem__(self, index: Any) -> "InPlace": return InPlace(self.x[index])
    def __mul__(self, other: "InPlace") -> "InPlace": return InPlace(self.x * other.x)

    @property
    def T(self) -> "InPlace":
        return InPlace(self.x.T)


@devices
@pytest.mark.parametrize("name", CHAINS)
def test_chain_of_writes_matches_torch(device: str, name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    data = np.linspace(0.5, 1.7, 6, dtype="float32").reshape(2, 3)
    found = []
    for w, own in ((make(data, device, requires_grad=True), lambda y: y),
                   (torch.tensor(data, requires_grad=True), InPlace.clone)):
        x = w * 2
        view = x[:, 1:]
        CHAINS[name](InPlace(x), InPlace(w), own)
        (x.exp().sum() + (view * 3).sum()).backward()
        found.append((x.detach().numpy(), w.grad.numpy()))
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5)


# ----------------------------------------------------------------------------- what would falsify a gradient
SAVED = r"{op}: a value saved at test_writes\.py:{saved} was overwritten by {writer} at test_writes\.py:{written}\."


def line_after(text: str) -> int:
    """The number of the only line of this file that ends with a comment."""
    with open(__file__, encoding="utf-8") as source:
        (found,) = [number for number, line in enumerate(source, 1) if line.rstrip().endswith("# " + text)]
    return found


@devices
def test_overwritten_saved_value_names_both_ops_and_lines(device: str) -> None:
    w = make([1, 2], device, requires_grad=True)
    x = w * 2
    y = lnb.sin(x)  # saved here
    x[0] = 9  # written here
    with pytest.raises(GradError, match=SAVED.format(op="sin", writer="setitem", saved=line_after("saved here"),
                                                     written=line_after("written here"))):
        y.sum().backward()


@devices
@pytest.mark.parametrize("name, save, write", [
    ("divide", lambda x: 1 / x, lambda x: x.__imul__(2)), ("multiply", lambda x: x * x, lambda x: x.T.__iadd__(1)),
    ("sin", lambda x: lnb.sin(x[1:]), lambda x: x.__setitem__(0, 1)),
    ("sin", lambda x: lnb.sin(lnb.broadcast_to(x, (3, 2))), lambda x: x.__setitem__(0, 1)),
    ("exp", lambda x: lnb.exp(x.reshape(1, 2)), lambda x: None), ("max", lambda x: lnb.max(x), lambda x: x.__iadd__(1)),
    ("multiply", lambda x: x.detach() * x, lambda x: x.detach().__iadd__(1)),
    ("multiply", lambda x: x * lnb.asarray(x.detach()), lambda x: x.__iadd__(1))])
def test_overwriting_is_seen_through_every_view(device: str, name: str, save: Callable, write: Callable) -> None:
    x = make([1, 2], device, requires_grad=True) * 1
    y = save(x)
    write(x)
    if name == "exp":                               # reads its result only, which nobody wrote
        y.sum().backward()
        return
    with pytest.raises(GradError, match=f"{name}: a value saved at test_writes.py:.* was overwritten by"):
        y.sum().backward()


@devices
def test_overwritten_result_is_seen(device: str) -> None:
    x = make([1, 2], device, requires_grad=True)
    y = lnb.exp(x)
    z = y.sum()
    y += 1
    with pytest.raises(GradError, match=r"exp: a value saved at .* was overwritten by in-place add"):
        z.backward()


@devices
def test_overwriting_between_first_and_second_derivative_is_seen(device: str) -> None:
    x = make([1, 2], device, requires_grad=True)
    lnb.sin(x).sum().backward(create_graph=True)
    g = x.grad
    with lnb.no_grad():
        x[0] = 9
    with pytest.raises(GradError, match="was overwritten by setitem"):
        g.sum().backward()


def test_overwriting_a_transposed_operand_between_derivatives_is_seen() -> None:
    x, w = make(np.ones((2, 2)), "cpu", requires_grad=True), make(np.ones((2, 2)), "cpu", requires_grad=True)
    v = w * 1
    ((x @ v) * (x @ v)).sum().backward(create_graph=True)
    g = x.grad
    v[0] = 9
    with pytest.raises(GradError, match="was overwritten by setitem"):
        g.sum().backward()


@devices
def test_writes_that_falsify_nothing_are_let_pass(device: str) -> None:
    w = make([1, 2], device, requires_grad=True)
    x = w * 3                                       # saves neither w (3 is a constant) nor x
    y = x + 1
    x *= 2
    y += x
    x[0] = 0
    (x + y).sum().backward()
    assert values(w.grad) == [9, 15] and values(x) == [0, 12]


@devices
def test_operand_that_is_overwritten_by_its_own_op_is_copied(device: str) -> None:
    w = make([2, 3], device, requires_grad=True)
    x = w * 1
    x *= x
    y = w * 1
    y /= lnb.exp(y)
    z = w * 1
    z[:1] *= z[1:]
    (x + y + z).sum().backward()
    expected = 2 * np.array([2, 3]) + (1 - np.array([2, 3])) * np.exp([-2.0, -3.0]) + [3, 3]
    np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-5)


@devices
def test_product_in_place_keeps_what_it_read(device: str) -> None:
    data, by = np.linspace(0.1, 1.8, 18).reshape(2, 3, 3), np.array([[1, 2, 0], [0, 1, 3], [1, 0, 1]])
    w, m = make(data, device, requires_grad=True), make(by, device, requires_grad=True)
    x = w * 1
    x @= m
    x.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.ones((2, 3, 3)) @ by.T, rtol=1e-6)
    np.testing.assert_allclose(m.grad.numpy(), (data.transpose(0, 2, 1) @ np.ones((2, 3, 3))).sum(0), rtol=1e-6)


@devices
@pytest.mark.parametrize("write", [
    lambda w: w.__setitem__(0, 5), lambda w: w.__iadd__(1), lambda w: w[1:].__imul__(2),
    lambda w: w.T.__setitem__(..., 0),
    lambda w: w.__setitem__([True, False], 3), lambda w: w.reshape(2, 1).__setitem__(0, 8)])
def test_leaf_is_refused_before_writing(device: str, write: Callable) -> None:
    w = make([1, 2], device, requires_grad=True)
    y = w * w
    with pytest.raises(GradError, match="leaf that requires grad; writing would falsify"):
        write(w)
    assert values(w) == [1, 2]
    y.sum().backward()
    assert values(w.grad) == [2, 4]
    with lnb.no_grad():
        write(w)
    assert values(w) != [1, 2] and w.is_leaf and w.requires_grad


@devices
@pytest.mark.parametrize("write, text", [
    (lambda x: x.__setitem__(slice(1, None), lnb.tensor([1, 2, 3], device=x.device)),
     r"setitem: a value of shape (3,) does not fit (1,)"),
    (lambda x: x.__iadd__(lnb.ones((2, 2), dtype="float32", device=x.device)),
     "in-place add: a value of shape (2, 2) does not fit (2,)"),
    (lambda x: x.__setitem__(0, "a"), "setitem: <U1 data"), (lambda x: x.__setitem__(0, 1j), "setitem: 1j cannot go"),
    (lambda x: x.__setitem__(7, 1), "index: 7 is out of range"),
    (lambda x: x.__setitem__([0, 7], 1), "index: 7 is out"),
    (lambda x: x.__setitem__([0, 1], [1, 2, 3]), "setitem: "), (lambda x: x.__setitem__(0, [[1], [1, 2]]), "ragged")])
def test_refused_write_leaves_content_and_graph_alone(device: str, write: Callable, text: str) -> None:
    w = make([1, 2], device, requires_grad=True)
    x = w * 3
    y = lnb.sin(x)
    with pytest.raises(LucidError, match=re.escape(text)):
        write(x)
    (x * x + 0 * y).sum().backward()
    assert values(x) == [3, 6] and values(w.grad) == [18, 36]


def test_write_takes_a_value_of_another_device_only_by_name() -> None:
    x = make([1, 2], "cpu")
    with pytest.raises(DeviceError, match=r"add: operands live on cpu and mlx\. Use \.to\('cpu'\)"):
        x += make([1, 2], "mlx")
    assert values(x) == [1, 2]


# ------------------------------------------------------------------------------------------ detach, no_grad
@devices
def test_detached_tensor_shares_memory_and_version(device: str) -> None:
    w = make([1, 2, 3], device, requires_grad=True)
    x = w * 1
    y, d = lnb.sin(x), x.detach()
    assert not d.requires_grad and d.is_leaf
    d[0] = 9
    assert values(x) == [9, 2, 3] and values(x[:1]) == [9]
    with pytest.raises(GradError, match=r"sin: a value saved at .* was overwritten"):
        y.sum().backward()
    x[1] = 8
    assert values(d) == [9, 8, 3] and values(d[1:].detach()) == [8, 3]
    (x * 2).sum().backward()
    assert values(w.grad) == [2, 0, 2]                             # x[1] = 8 cut; d[0] = 9 is not of the graph


@devices
def test_detached_tensor_can_be_a_leaf(device: str) -> None:
    w = make([1, 2, 3], device, requires_grad=True)
    x = w * 1
    d = x.detach()[1:]
    d.requires_grad = True
    (d * d).sum().backward()
    assert values(d.grad) == [4, 6] and w.grad is None and d.is_leaf and not x.is_leaf
    d.requires_grad = False
    assert not (d * 1).requires_grad and d.grad is None


@devices
def test_view_made_without_grad_stays_outside_the_graph(device: str) -> None:
    w = make([1, 2, 3], device, requires_grad=True)
    x = w * 1
    with lnb.no_grad():
        view = x[1:]
    x[1] = 5
    assert not view.requires_grad and values(view) == [5, 3]
    with lnb.no_grad():
        x[1:] *= 2                                              # written, and no part of the graph
    x.sum().backward()
    assert values(x) == [1, 10, 6] and values(w.grad) == [1, 0, 1]


@devices
def test_own_content_written_detached_cuts_the_graph(device: str) -> None:
    w = make([1, 2], device, requires_grad=True)
    x = w * 2
    x[1:] = x[1:].detach()
    x.sum().backward()
    assert values(w.grad) == [2, 0]


@devices
def test_view_taken_under_no_grad_is_written_there_only(device):
    x = make([1.0, 2.0], device, requires_grad=True)
    y = x * 1
    with lnb.no_grad():
        view = y[0:1]
    with pytest.raises(GradError, match="view taken under no_grad"):
        view *= 3
    with lnb.no_grad():
        view *= 3
    assert y.tolist() == [3.0, 2.0]


@devices
def test_write_after_a_thousand_movements_does_not_recurse(device):
    x = make([[1.0, 2.0], [3.0, 4.0]], device, requires_grad=True)
    y = x * 1
    for _ in range(1200):
        y = y.T
    y[0] = 3.0
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("device", ["cpu", "mlx"])
def test_threads_that_write_parts_of_one_tensor_lose_none(device):
    if device == "mlx":
        pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    whole = lnb.zeros(400, device=device)

    def count(part):
        for _ in range(100):
            view = whole[part * 100:(part + 1) * 100]
            view += 1
    threads = [threading.Thread(target=count, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(whole.tolist()) == {100.0}
