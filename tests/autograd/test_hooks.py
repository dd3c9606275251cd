"""Hooks of tensors, the order of what they see, and gradients that come out with the same bits each time."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DTypeError, GradError

random = np.random.default_rng(3)

# One text for both libraries; `log` takes up what happens.
PROGRAMS = {
    "order of hooks": '''
x = tensor([1.0, 2.0])
x.register_hook(lambda g: log("first", g))
second = x.register_hook(lambda g: log("second", g) or g * 2)
x.register_hook(lambda g: log("third", g))
y = x * 3
y.retain_grad()
y.register_hook(lambda g: log("y", g) or g + 1)
y.register_hook(lambda g: log("y again", g))
(y * y).sum().backward(retain_graph=True)
log("x", x.grad); log("y", y.grad)
second.remove()
second.remove()
(y * y).sum().backward()
log("x", x.grad); log("y", y.grad)
''',
    "after accumulation": '''
x = tensor([1.0, 2.0])
x.register_hook(lambda g: log("before", g))
one = x.register_post_accumulate_grad_hook(lambda t: log("after", t.grad, t is x))
x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", None))
(x * x).sum().backward()
log("x", x.grad)
one.remove()
(x * x).sum().backward()
log("x", x.grad)
''',
    "no accumulation": '''
x, w = tensor([1.0, 2.0]), tensor([3.0, 4.0])
x.register_post_accumulate_grad_hook(lambda t: log("x"))
w.register_post_accumulate_grad_hook(lambda t: log("w"))
z = (x * w).sum()
g = lib.autograd.grad(z, x, retain_graph=True)
log("g", g[0])
z.backward(inputs=[w])
log("x", x.grad); log("w", w.grad)
''',
    "inputs": '''
x, w = tensor([1.0, 2.0]), tensor([3.0, 4.0])
h = x * w
y = lib.exp(h * 0.1) * x
h.register_hook(lambda g: log("h", g))
y.sum().backward(inputs=[h, x], retain_graph=True)
log("x", x.grad); log("w", w.grad); log("h", h.grad)
y.sum().backward(inputs=[h, w])
log("x", x.grad); log("w", w.grad); log("h", h.grad)
''',
    "several results": '''
x = tensor([3.0, 1.0, 2.0])
values, places = lib.sort(x) if lib.__name__ == "torch" else (lib.sort(x), None)
values.register_hook(lambda g: log("values", g) or g * 2)
(values * tensor([1.0, 2.0, 3.0])).sum().backward()
log("x", x.grad)
''',
    "shared": '''
x = tensor([1.0, 2.0])
a, b = x * 2, x * 3
a.register_hook(lambda g: log("a", g))
b.register_hook(lambda g: log("b", g))
x.register_hook(lambda g: log("x", g))
(a * b + a).sum().backward()
log("x", x.grad)
''',
}


def logged(text, library, make):
    """What a program logs."""
    events = []

    def log(name, *values):
        events.append((name, *[v.tolist() if hasattr(v, "tolist") else v for v in values]))
    exec(text, {"lib": library, "log": log, "tensor": lambda numbers: make(numbers)})
    return events


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_do_what_torch_s_do(name):
    torch = pytest.importorskip("torch")
    ours = logged(PROGRAMS[name], lnb, lambda n: lnb.tensor(n, dtype="float64", requires_grad=True))
    theirs = logged(PROGRAMS[name], torch, lambda n: torch.tensor(n, dtype=torch.float64, requires_grad=True))
    assert [event[0] for event in ours] == [event[0] for event in theirs]
    for one, other in zip(ours, theirs):
        for found, expected in zip(one[1:], other[1:]):
            assert found == expected if expected is None or isinstance(expected, bool) else np.allclose(found, expected)


def test_hook_after_accumulation_is_for_leaves():
    x = lnb.tensor([1.0], requires_grad=True)
    for wrong in (x * 2, lnb.tensor([1.0])):
        with pytest.raises(GradError, match="the tensor is no leaf that requires grad"):
            wrong.register_post_accumulate_grad_hook(print)
    with pytest.raises(DTypeError, match="3 is not a function"):
        x.register_post_accumulate_grad_hook(3)


def test_step_in_the_hook_after_accumulation():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)

    def step(x):
        x -= 0.5 * x.grad
        x.grad = None
    x.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        (x * x).sum().backward()
    assert x.grad is None and x.tolist() == [0, 0]


# ----------------------------------------------------------------------------------------------- the same bits
def program(x, w):
    """Many ways to both leaves, long and short arrays, sums whose order shows in the last bits."""
    parts = [lnb.tanh(x @ (w * (0.1 * number + 1))) for number in range(7)]
    total = sum(((part * part.sum(axis=0)).mean() * lnb.exp(-part.mean()) for part in parts), lnb.tensor(0.0))
    return total + (x[::2] * x[1::2]).sum() / 3 + lnb.logsumexp(x, axis=1).sum()


def gradients(x, w):
    """The bytes of both gradients, in one order of leaves or the other."""
    leaves = [lnb.tensor(a, requires_grad=True) for a in (x, w)]
    program(*leaves).backward()
    return [leaf.grad.numpy().tobytes() for leaf in leaves]


@pytest.mark.serial
def test_gradients_have_the_same_bits_run_after_run_and_for_one_and_two_threads():
    x, w = random.standard_normal((600, 200)).astype("float32"), random.standard_normal((200, 200)).astype("float32")
    before, found = lnb.get_num_threads(), []
    try:
        for threads in (1, 2, 1, 2, 2):
            lnb.set_num_threads(threads)
            found.append(gradients(x, w))
    finally:
        lnb.set_num_threads(before)
    assert all(bits == found[0] for bits in found)


def test_order_of_sums_is_that_of_recording_reversed_whatever_the_order_of_roots():
    numbers = np.float32([1e8, 1.0, -1e8, 3.0])
    x = lnb.tensor(np.float32(1), requires_grad=True)
    parts = [x * float(number) for number in numbers]
    for roots in (parts, parts[::-1], [parts[i] for i in (2, 0, 3, 1)]):
        g, = lnb.autograd.grad(roots, x, retain_graph=True)
        expected = np.float32(0)
        for number in reversed(numbers):
            expected = expected + number
        assert float(g) == expected
