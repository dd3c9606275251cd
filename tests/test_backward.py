"""Backward: seeds, contributions, ownership of gradients, hooks."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.apply import apply
from lucid_nb.errors import DeviceError, GradError
from lucid_nb.expr import trace
from lucid_nb.op import Elementwise

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])


def make(data: Any, device: str = "cpu", **facts: Any) -> lnb.Tensor:
    """A float32 tensor on a device."""
    return lnb.tensor(np.array(data, "float32"), device=device, **facts)


def leaf(data: Any, device: str = "cpu") -> lnb.Tensor:
    """One that requires grad."""
    return make(data, device, requires_grad=True)


# ------------------------------------------------------------------------------------------------ backward
@devices
def test_value_used_twice_gets_both_contributions(device: str) -> None:
    x = leaf([2, 3], device)
    y = x * x
    (y * y + y + x).sum().backward()
    assert x.grad.tolist() == [4 * 8 + 4 + 1, 4 * 27 + 6 + 1]


@devices
@pytest.mark.parametrize("left, right", [((3, 1), (4,)), ((), (2, 3)), ((2, 3), (1, 1, 3)), ((1,), (5, 1)),
                                         ((0, 3), (3,)), ((0, 1), (0, 3))])
def test_broadcasting_is_undone_axis_by_axis(device: str, left: tuple, right: tuple) -> None:
    a, b = np.arange(1.0, 1 + np.prod(left)).reshape(left), np.arange(2.0, 2 + np.prod(right)).reshape(right)
    for _ in range(2):                                       # the short road opens when kernels are known
        x, y = leaf(a, device), leaf(b, device)
        (x * y + y).sum().backward()
    whole = np.zeros(np.broadcast_shapes(left, right))
    for found, flowing, shape in ((x.grad, whole + b, left), (y.grad, whole + a + 1, right)):
        extra = whole.ndim - len(shape)
        axes = tuple(i for i in range(whole.ndim) if i < extra or shape[i - extra] == 1)
        assert found.shape == shape and (found.numpy() == flowing.sum(axes).reshape(shape)).all()


@pytest.mark.parametrize("other", [lnb.ones(3, dtype="float64"), lnb.arange(3), lnb.ones((), dtype="float64"), 2.5, 2])
def test_gradient_has_the_leafs_dtype_every_time(other: Any) -> None:
    for _ in range(3):                                       # the short road opens when kernels are known
        x = leaf([1, 2, 3])
        (x * other).sum().backward()
        assert x.grad.dtype == np.float32
        y = leaf([1, 2, 3])
        (other - y).sum().backward()
        assert y.grad.dtype == np.float32 and y.grad.tolist() == [-1, -1, -1]


@devices
def test_seed_is_checked_and_converted(device: str) -> None:
    x = leaf([1, 2], device)
    (x * 3).backward([1, 10])
    (x * 3).sum().backward(2)
    (x * 3).backward(make([1, 1], device))
    assert x.grad.tolist() == [12, 39]
    with pytest.raises(GradError, match=r"backward: needs a gradient for shape \(2,\)\. Pass one, or sum first"):
        (x * 3).backward()
    with pytest.raises(GradError, match=r"backward: the gradient is float32 \(3,\), the tensor float32 \(2,\)"):
        (x * 3).backward([1, 2, 3])
    with pytest.raises(GradError, match="backward: the gradient is float64"):
        (lnb.tensor([1.0], dtype="float32", requires_grad=True) * 1).backward(np.ones(1))
    with pytest.raises(GradError, match="backward: the tensor does not depend on anything"):
        make([1], device).backward()
    assert x.grad.tolist() == [12, 39]


def test_seed_of_another_device_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"the gradient lives on cpu, the tensor on mlx\. Use \.to\('mlx'\)"):
        (leaf([1, 2], "mlx") * 2).backward(make([1, 1], "cpu"))


@devices
def test_leaf_is_its_own_output(device: str) -> None:
    x = leaf([1, 2], device)
    seed = make([3, 4], device)
    x.backward(seed)
    x.backward(seed)
    seed[0] = 50
    assert x.grad.tolist() == [6, 8]


@devices
def test_second_backward_through_a_freed_graph_raises(device: str) -> None:
    x = leaf([1, 2], device)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(GradError, match="sum: its saved values were freed by an earlier backward"):
        y.backward()
    assert x.grad.tolist() == [4, 8]


@devices
def test_backward_into_some_inputs(device: str) -> None:
    x, y = leaf([1, 2], device), leaf([3, 4], device)
    z = (x * y).sum()
    z.backward(inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [3, 4] and y.grad is None
    z.backward(inputs=y)
    assert x.grad.tolist() == [3, 4] and y.grad.tolist() == [1, 2]
    with pytest.raises(GradError, match=r"backward: an input of shape \(2,\) does not require grad"):
        (x * y).sum().backward(inputs=[make([1, 2], device)])
    with pytest.raises(GradError, match="backward: inputs is empty"):
        (x * y).sum().backward(inputs=[])


@devices
def test_backward_into_computed_inputs(device: str) -> None:
    x, w = leaf([1, 2], device), leaf([3, 4], device)
    y = x * w
    z = (y * y).sum()
    z.backward(inputs=[y, w], retain_graph=True)
    assert y.grad.tolist() == [6, 16] and w.grad.tolist() == [6, 32] and x.grad is None
    z.backward(inputs=[y])                                # frees what it came through, nothing behind
    assert y.grad.tolist() == [12, 32]
    y.sum().backward()
    assert x.grad.tolist() == [3, 4] and w.grad.tolist() == [7, 34] and y.grad.tolist() == [13, 33]
    with pytest.raises(GradError, match="freed"):
        z.backward()


def test_gradient_of_nothing_that_counts_is_none() -> None:
    x, y = leaf([1, 2]), leaf([3, 4])
    (x + lnb.sign(y)).sum().backward()
    assert y.grad is None and not lnb.sign(y).requires_grad and not (y > 1).requires_grad
    assert not y.astype("int64").requires_grad and not y.argmax().requires_grad


# ----------------------------------------------------------------------------------------------- ownership
def _no_two_share(*tensors: lnb.Tensor) -> bool:
    """Does a write into each leave all others alone?"""
    before = [x.numpy().copy() for x in tensors]
    for i, x in enumerate(tensors):
        with lnb.no_grad():
            x[...] = 1000 + i
    return all((x.numpy() == 1000 + i).all() for i, x in enumerate(tensors)) and all(b.size for b in before)


@devices
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("of", [
    lambda x, y: x + y, lambda x, y: x - -y, lambda x, y: x.T.reshape(-1) + y,
    lambda x, y: x.reshape(2, 1)[:, 0] + y[:],
    lambda x, y: lnb.where(x > -9, x, y) + y, lambda x, y: x.copy() + y.astype("float16").astype("float32")])
def test_gradients_share_no_memory(device: str, create_graph: bool, of: Callable) -> None:
    x, y, seed = leaf([1, 2], device), leaf([3, 4], device), make([1, 1], device)
    z = of(x, y)
    z.retain_grad()
    z.backward(seed, create_graph=create_graph)
    assert _no_two_share(x.grad.detach(), y.grad.detach(), z.grad.detach(), seed)


@devices
def test_summed_gradients_share_no_memory_and_may_be_written(device: str) -> None:
    x, y = leaf([[1, 2]], device), leaf([[3], [4]], device)
    (x.sum() + y.sum() + (x * 1).sum()).backward()
    assert _no_two_share(x.grad, y.grad)


def test_seed_that_is_a_numpy_array_stays_the_users() -> None:
    x, seed = leaf([1, 2]), np.ones(2, "float32")
    (x + 1).backward(seed)
    seed[:] = 5
    assert x.grad.tolist() == [1, 1]
    x.grad += 1
    assert seed.tolist() == [5, 5]


@devices
def test_accumulation_leaves_the_earlier_gradient_object_alone(device: str) -> None:
    x = leaf([1, 2], device)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert first.tolist() == [2, 2] and x.grad.tolist() == [5, 5]


# ---------------------------------------------------------------------------------------------------- hooks
@devices
def test_hook_replaces_watches_and_is_removed(device: str) -> None:
    x = leaf([1, 2], device)
    seen: list = []
    y = x * 3
    replace = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.tolist()))                       # after the first, of what it gave
    x.register_hook(lambda g: seen.append(g.tolist()))
    z = (y * y).sum()
    z.backward(retain_graph=True)
    assert seen == [[60, 120], [180, 360]] and x.grad.tolist() == [180, 360]
    replace.remove()
    replace.remove()
    x.zero_grad()
    z.backward()
    assert x.grad.tolist() == [18, 36] and seen[2:] == [[6, 12], [18, 36]]


@devices
def test_hook_sees_the_sum_of_all_contributions_once(device: str) -> None:
    x, seen = leaf([1], device), []
    y = x * 2
    for t in (x, y):
        t.register_hook(lambda g: seen.append(g.item()))
    (y + y * y + x).sum().backward()
    assert seen == [5, 11]


@devices
def test_hook_on_one_of_several_results(device: str) -> None:
    op = Elementwise("sincos", trace(lambda m, x: (m.sin(x), m.cos(x)), 1), 1)
    x = leaf([0.5], device)
    sine, cosine = apply(op, (x,))
    sine.register_hook(lambda g: g * 0)
    cosine.retain_grad()
    (sine * 100 + cosine * 2).sum().backward()
    assert x.grad.item() == pytest.approx(-2 * np.sin(0.5), rel=1e-6) and cosine.grad.tolist() == [2]
    assert sine.grad is None


@devices
def test_what_a_hook_keeps_or_gives_stays_its_own(device: str) -> None:
    x, kept, given = leaf([1, 2], device), [], make([5, 5], device)
    y = x + 0
    y.register_hook(kept.append)
    y.register_hook(lambda g: given)
    x.register_hook(kept.append)
    y.backward(make([1, 1], device))
    x.grad[0] = 9
    assert kept[0].tolist() == [1, 1] and given.tolist() == [5, 5] and kept[1].tolist() == [5, 5]


@devices
def test_hook_that_gives_nonsense_is_refused(device: str) -> None:
    x = leaf([1, 2], device)
    x.register_hook(lambda g: g[:1])
    with pytest.raises(GradError, match=r"hook: gave shape \(1,\), .* for a gradient of shape \(2,\)"):
        (x * 2).sum().backward()
    y = leaf([1, 2], device)
    y.register_hook(lambda g: 3)
    with pytest.raises(GradError, match=r"hook: gave a int for a gradient of shape \(2,\)"):
        (y * 2).sum().backward()
    with pytest.raises(GradError, match="hook: the tensor does not require grad"):
        make([1], device).register_hook(print)


@devices
def test_retain_grad_keeps_accumulates_and_is_opt_in(device: str) -> None:
    x = leaf([1, 2], device)
    y, z = x * 3, x * 5
    y.retain_grad()
    total = (y * z).sum()
    total.backward(retain_graph=True)
    total.backward()
    assert y.grad.tolist() == [10, 20] and z.grad is None
    y = x * 3
    y.retain_grad()
    y *= 2                                                       # as in PyTorch, it stays with the tensor
    y.sum().backward()
    assert y.grad.tolist() == [1, 1]
    t = lnb.tensor([1.0], requires_grad=True, keep_grad=True)
    t.sum().backward()
    assert t.grad.tolist() == [1]


def test_threads_that_share_a_leaf_lose_nothing():
    w, before = lnb.tensor([1.0, 2.0], requires_grad=True), sys.getswitchinterval()

    def work():
        for _ in range(50):
            (w * 1.0).sum().backward()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert w.grad.tolist() == [200.0, 200.0]


WRITES: dict[str, tuple[Callable, list[float]]] = {        # expected: PyTorch's v.grad
    "base, elsewhere": (lambda x, v: x.__setitem__(0, 5.0), [8, 18]),
    "base, here": (lambda x, v: x.__setitem__(1, 5.0), [10, 18]),
    "view": (lambda x, v: v.__setitem__(0, 5.0), [10, 18]),
    "another view": (lambda x, v: x[::-1].__imul__(2.0), [16, 36])}


@devices
@pytest.mark.parametrize("name", WRITES)
def test_what_watches_a_view_survives_writes(name: str, device: str) -> None:
    write, expected = WRITES[name]
    x = leaf([1, 2, 3], device) * leaf([1, 2, 3], device)
    view, seen = x[1:], []
    view.retain_grad()
    handle = view.register_hook(lambda g: seen.append(g.tolist()))
    write(x, view)
    (view * view).sum().backward(retain_graph=True)
    assert view.grad.tolist() == expected == seen.pop() and not seen
    handle.remove()
    x[0] = 7.0
    (view * view).sum().backward()
    assert view.grad.tolist() == [2 * g for g in expected] and not seen       # it accumulates; the hook is gone


@devices
def test_write_outside_the_graph_leaves_a_views_node_alone(device: str) -> None:
    x = leaf([1, 2, 3], device) * 1
    view = x[1:]
    view.retain_grad()
    before = view.sum()
    with lnb.no_grad():
        x[0] = 5.0
    (before + view.sum()).backward()
    assert view.grad.tolist() == [2, 2]


@pytest.mark.parametrize("change, text", [
    (lambda g: g.to("mlx"), "float64 on mlx|float32 on mlx"), (lambda g: g * 1j, "complex128 on cpu"),
    (lambda g: g.astype("float32"), "float32 on cpu"), (lambda g: g.numpy(), "a ndarray"),
    (lambda g: g[:1], r"shape \(1,\)")])
@pytest.mark.parametrize("is_leaf", [True, False])
def test_hook_that_gives_another_kind_of_gradient_is_refused(is_leaf, change, text):
    if "mlx" in text:
        pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    y = x if is_leaf else x * 2
    y.register_hook(change)
    wanted = rf"^hook: gave .*({text}).* for a gradient of shape \(2,\), float64 on cpu"
    with pytest.raises(lnb.GradError, match=wanted):
        (y * y).sum().backward()


def test_what_is_no_hook_no_gradient_and_no_input_is_refused_at_once():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(lnb.DTypeError, match=r"^register_hook: 'a' is not a function"):
        x.register_hook("a")
    with pytest.raises(lnb.GradError, match=r"^grad: got shape \(2,\), float32 on cpu for shape \(2,\), float64 on"):
        x.grad = lnb.ones(2, dtype="float32")
    for inputs in ("a", 3, [1]):
        with pytest.raises(lnb.GradError, match=r"^backward: inputs is .* Give a list of tensors"):
            (x * x).sum().backward(inputs=inputs)
    assert x.grad is None


def test_scalars_with_zeros_of_both_signs_are_told_apart():
    x = lnb.tensor([2.0])
    for scalar in (complex(1, -0.0), complex(1, 0.0), complex(-0.0, 1), complex(0.0, 1), 0.0, -0.0):
        found, wanted = (scalar - x).numpy(), scalar - np.array([2.0])
        assert np.array_equal(np.signbit([found.real, found.imag]), np.signbit([wanted.real, wanted.imag]))


def test_curvature_of_gelu_vanishes_at_infinity():
    x = lnb.tensor([float("inf"), float("-inf")], requires_grad=True)
    lnb.gelu(x).backward(lnb.ones(2), create_graph=True)
    first = x.grad
    x.grad = None
    first.backward(lnb.ones(2))
    assert x.grad.tolist() == [0.0, 0.0]
