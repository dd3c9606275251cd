"""The tape: modes, derivatives to third order, memory."""

import asyncio
import gc
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.apply import apply
from lucid_nb.errors import GradError
from lucid_nb.expr import trace
from lucid_nb.op import Elementwise

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])


def make(data: Any, device: str = "cpu", **facts: Any) -> lnb.Tensor:
    """A float32 tensor on a device."""
    return lnb.tensor(np.array(data, "float32"), device=device, **facts)


def leaf(data: Any, device: str = "cpu") -> lnb.Tensor:
    """One that requires grad."""
    return make(data, device, requires_grad=True)


# ---------------------------------------------------------------------------------------------------- modes
def test_modes_nest_and_survive_exceptions() -> None:
    x = leaf([1])
    with lnb.no_grad():
        assert not (x * 1).requires_grad and not lnb.is_grad_enabled()
        with lnb.enable_grad():
            assert (x * 1).requires_grad
            with lnb.set_grad_enabled(False):
                assert not x[0].requires_grad and not x[:].requires_grad and not x.T.requires_grad
            assert lnb.grad_enabled()
        assert not lnb.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), lnb.no_grad():
        raise ZeroDivisionError
    assert lnb.is_grad_enabled() and (x * 1).requires_grad


def test_modes_are_decorators_that_may_recurse() -> None:
    @lnb.no_grad()
    def down(depth: int) -> list[bool]:
        """Modes on the way."""
        return [lnb.is_grad_enabled()] + (up(depth - 1) if depth else [])

    @lnb.enable_grad()
    def up(depth: int) -> list[bool]:
        return [lnb.is_grad_enabled()] + (down(depth - 1) if depth else [])
    assert down(4) == [False, True, False, True, False] and lnb.is_grad_enabled()
    assert down.__name__ == "down" and down.__doc__ == "Modes on the way."


def test_one_mode_object_may_be_entered_again() -> None:
    mode = lnb.no_grad()
    with mode, mode:
        assert not lnb.is_grad_enabled()
    assert lnb.is_grad_enabled()


def test_modes_belong_to_a_thread() -> None:
    inside, outside, found = threading.Event(), threading.Event(), []

    def work() -> None:
        with lnb.no_grad():
            inside.set()
            outside.wait(10)
            found.append(lnb.is_grad_enabled())
    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    found.append(lnb.is_grad_enabled() and (leaf([1]) * 1).requires_grad)
    outside.set()
    thread.join()
    assert found == [True, False]


def test_threads_differentiate_their_own_graphs() -> None:
    shared, results = leaf(np.arange(5)), {}

    def work(number: int) -> None:
        y = shared
        for _ in range(200):
            y = y * 1 + number
        y.retain_grad()
        x = leaf([number])
        (x * y.sum()).sum().backward(inputs=[x])
        results[number] = x.grad.item()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: 10 + 5 * 200 * number for number in range(4)}


# ------------------------------------------------------------------------------------------ create_graph
@devices
def test_second_derivative_at_zero(device: str) -> None:
    x = leaf([0], device)
    (lnb.sin(x) ** 2).sum().backward(create_graph=True)
    g, x.grad = x.grad, None
    g.sum().backward()
    assert x.grad.tolist() == [2]


FUNCTIONS: dict[str, Callable] = {
    "sin": lambda n, x: n.sin(x), "exp": lambda n, x: n.exp(x) * x, "tanh": lambda n, x: n.tanh(x),
    "log": lambda n, x: n.log(x), "sqrt": lambda n, x: n.sqrt(x), "divide": lambda n, x: x / (1 + x * x),
    "sum": lambda n, x: (x * x).sum() * x, "views": lambda n, x: x[1:] * x.reshape(-1)[:-1] * x[0],
    "broadcast": lambda n, x: x.reshape(7, 1) * n.sin(x), "maximum": lambda n, x: n.maximum(x, x * x) * x,
    "where": lambda n, x: n.where(x > 1, n.log(x), x * x), "matmul": lambda n, x: x.reshape(7, 1) @ x.reshape(1, 7) @ x,
    "max": lambda n, x: (n.exp(x) * x.max()),
    "mean": lambda n, x: n.exp(x.mean() * x), "sigmoid": lambda n, x: n.sigmoid(x), "erf": lambda n, x: n.erf(x),
    "log1p": lambda n, x: n.log1p(x), "expm1": lambda n, x: n.expm1(x), "cos": lambda n, x: n.cos(x)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_to_third_order_match_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    data = np.linspace(0.2, 1.7, 7)
    x, tx = lnb.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    y, ty = FUNCTIONS[name](lnb, x), FUNCTIONS[name](torch, tx)
    for _ in range(3):
        x.grad = None
        y.sum().backward(create_graph=True)
        y, (ty,) = x.grad, torch.autograd.grad(ty.sum(), tx, create_graph=True)
        np.testing.assert_allclose(y.detach().numpy(), ty.detach().numpy(), rtol=1e-9, atol=1e-12)


@devices
def test_two_float_results_share_one_gradient_to_second_order(device: str) -> None:
    op = Elementwise("sincos", trace(lambda m, x: (m.sin(x), m.cos(x)), 1), 1)
    data = np.array([0.3, 1.1])
    x = leaf(data, device)
    sine, cosine = apply(op, (x,))
    assert op.plan((x.node,)).kept == (1, 2)                     # neither gradient needs x
    (sine * cosine + sine).sum().backward(create_graph=True)
    g, x.grad = x.grad, None
    np.testing.assert_allclose(g.detach().numpy(), np.cos(2 * data) + np.cos(data), rtol=1e-5)
    g.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), -2 * np.sin(2 * data) - np.sin(data), rtol=1e-5)


def test_gradient_of_the_seed() -> None:
    x, seed = leaf([1, 2]), leaf([3, 4])
    (x * x).backward(seed, create_graph=True)
    x.grad.sum().backward(inputs=[seed])
    assert seed.grad.tolist() == [2, 4]


# --------------------------------------------------------------------------------------------------- memory
@pytest.mark.parametrize("step", [lambda x: lnb.sin(x), lambda x: x[:], lambda x: x * x.sum()])
def test_long_chains_neither_recurse_nor_pile_up(step: Callable) -> None:
    x = leaf(np.zeros(4))
    y = x
    for _ in range(50_000 if step(x).node.op.name == "sin" else 10_000):
        y = step(y)
    y.sum().backward()
    del y
    assert np.isfinite(x.grad.numpy()).all()
    y = x
    for _ in range(50_000):
        y = lnb.sin(y)
    del y                                                        # released without a backward


@devices
def test_no_reference_cycles(device: str) -> None:
    def program() -> None:
        x = leaf([1, 2, 3], device)
        y = lnb.exp(x * 2) + 1
        y[0] = x[1]
        y *= y
        y.register_hook(lambda g: None)
        z = (y[1:] + x[:1]).reshape(2, 1).sum()
        z.backward(create_graph=True)
        g, x.grad = x.grad, None           # a gradient that depends on its leaf is a cycle until it is taken off
        g.sum().backward()
    program()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(100):
            program()
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


def test_ten_thousand_forwards_leave_nothing_behind() -> None:
    x = leaf(np.ones(4))
    (lnb.exp(x * x) + x)[1:].sum()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(10_000):
            (lnb.exp(x * x) + x)[1:].sum()
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


@pytest.mark.parametrize("decorator, expected", [(lnb.no_grad, False), (lnb.enable_grad, True)])
def test_modes_decorate_without_parentheses(decorator, expected):
    @decorator
    def inside(x, *, y):
        """What it says."""
        return lnb.is_grad_enabled(), x, y
    with lnb.set_grad_enabled(not expected):
        assert inside(1, y=2) == (expected, 1, 2) and lnb.is_grad_enabled() is not expected
    assert inside.__name__ == "inside" and inside.__doc__ == "What it says."


# ------------------------------------------------------------------- modes around generators and coroutines
def test_mode_holds_while_a_generator_runs_and_not_while_it_waits() -> None:
    seen: list[Any] = []

    @lnb.no_grad()
    def numbers(count: int) -> Generator:
        """What it says."""
        for number in range(count):
            seen.append(lnb.is_grad_enabled())
            try:
                seen.append((yield number))
            except KeyError:
                seen.append(("thrown", lnb.is_grad_enabled()))
                yield -1
        return lnb.is_grad_enabled()

    made = numbers(3)
    assert inspect.isgeneratorfunction(numbers) and numbers.__doc__ == "What it says."
    assert next(made) == 0 and lnb.is_grad_enabled() and made.send("sent") == 1 and lnb.is_grad_enabled()
    assert made.throw(KeyError()) == -1 and lnb.is_grad_enabled() and next(made) == 2
    with pytest.raises(StopIteration) as end:
        next(made)
    assert end.value.value is False and lnb.is_grad_enabled()
    assert seen == [False, "sent", False, ("thrown", False), False, None]


def test_generator_that_is_closed_ends_in_its_mode() -> None:
    seen = []

    @lnb.no_grad
    def endless() -> Generator:
        try:
            while True:
                yield leaf([1]) * 2
        finally:
            seen.append(lnb.is_grad_enabled())

    made = endless()
    assert not next(made).requires_grad
    made.close()
    assert seen == [False] and lnb.is_grad_enabled()


def test_mode_holds_in_a_coroutine_and_not_in_the_tasks_beside_it() -> None:
    seen = []

    @lnb.no_grad()
    async def inside(value: int) -> int:
        for _ in range(3):
            seen.append(("inside", lnb.is_grad_enabled()))
            await asyncio.sleep(0)
        if value < 0:
            raise KeyError(value)
        return value

    async def beside() -> None:
        for _ in range(3):
            seen.append(("beside", lnb.is_grad_enabled()))
            await asyncio.sleep(0)

    async def both() -> list:
        return await asyncio.gather(inside(5), beside(), inside(-1), return_exceptions=True)

    given = asyncio.run(both())
    assert given[:2] == [5, None] and isinstance(given[2], KeyError) and inspect.iscoroutinefunction(inside)
    assert set(seen) == {("inside", False), ("beside", True)} and lnb.is_grad_enabled()


def test_mode_around_an_async_generator_is_refused() -> None:
    async def rows() -> AsyncGenerator:
        yield 1
    with pytest.raises(GradError, match=r"^no_grad: .*rows is an async generator function.* Put a with block around"):
        lnb.no_grad()(rows)
