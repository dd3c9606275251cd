"""Fused functions beside PyTorch's eager mode, and beside torch.compile and jax.jit where they run.

Each is written out in ops that both libraries have, and called with float32 of 1e6 and 1e7 elements.
"""

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from harness import Group, check_equal, compare

import lucid_nb as lnb

SHAPES = {"1e6": (1000, 1000), "1e7": (3125, 3200)}
draw = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    """Normal float32."""
    return draw.standard_normal(shape).astype(np.float32)


def gate(m: Any, x: Any, w: Any, b: Any) -> Any:
    """The first row of the issue."""
    return m.tanh(x * w + b) * m.sigmoid(x)


def chain(m: Any, x: Any, w: Any, b: Any) -> Any:
    """Ten ops."""
    y = m.tanh(m.exp(-m.abs(x)) * w + b)
    return m.log(m.sqrt(y * y + 1.0)) * x


def layer_norm(m: Any, x: Any, w: Any, b: Any) -> Any:
    """Rows by their means and variances, which PyTorch and NumPy call alike."""
    keep = {"keepdim" if m is torch else "keepdims": True}
    centred = x - x.mean(-1, **keep)
    return centred / m.sqrt((centred * centred).mean(-1, **keep) + 1e-5) * w + b


def gelu(m: Any, x: Any, w: Any, b: Any) -> Any:
    """By tanh, written out."""
    return 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


# Name, function, shapes of the operands after the first: as large, or one for each column.
FUNCTIONS = [("tanh(x*w+b)*sigmoid(x)", gate, "full"), ("tanh(x*w+b)*sigmoid(x), w and b of a row", gate, "row"),
             ("ten ops", chain, "full"), ("layer norm", layer_norm, "row"), ("gelu", gelu, "none")]


def step(function: Callable, leaves: list[Any], seed: Any) -> Callable:
    """Forward and backward: the gradient of the first leaf."""
    def run() -> Any:
        for leaf in leaves:
            leaf.grad = None
        function(*leaves).backward(seed)
        return leaves[0].grad
    return run


def jitted(function: Callable, arrays: list[np.ndarray]) -> Callable:
    """The forward call under jax.jit, waited for."""
    import jax
    import jax.numpy as jnp

    class Names:
        sigmoid = staticmethod(jax.nn.sigmoid)

        def __getattr__(self, name: str) -> Any:
            return getattr(jnp, name)
    call, given = jax.jit(lambda *leaves: function(Names(), *leaves)), [jnp.asarray(x) for x in arrays]
    return lambda: call(*given).block_until_ready()


def others(function: Callable, arrays: list[np.ndarray]) -> dict[str, Callable]:
    """The forward call by the compilers that are there; torch.compile needs a C++ compiler."""
    found: dict[str, Callable] = {}
    if shutil.which("g++"):
        torch.compiler.reset()          # the lambda below is one function to it, which it compiles some times only
        call, given = torch.compile(lambda *leaves: function(torch, *leaves)), [torch.tensor(x) for x in arrays]
        found["torch.compile"] = lambda: call(*given)
    if find_spec("jax"):
        found["jax.jit"] = jitted(function, arrays)
    return found


def rows(forward: Group, both: Group, label: str, function: Callable, arrays: list[np.ndarray]) -> None:
    """A row of forward and one with backward; all gradients are compared."""
    fused = lnb.fuse(lambda *leaves: function(lnb, *leaves))
    ours, theirs = [lnb.tensor(x) for x in arrays], [torch.tensor(x) for x in arrays]
    compare(forward, label, lambda: fused(*ours), lambda: function(torch, *theirs), rtol=1e-4, rounds=9, seconds=0.03,
            others=others(function, arrays))
    seed = numbers(*arrays[0].shape)
    leaves = [[tensor(x, requires_grad=True) for x in arrays] for tensor in (lnb.tensor, torch.tensor)]
    steps = [step(fused, leaves[0], lnb.tensor(seed)),
             step(lambda *given: function(torch, *given), leaves[1], torch.tensor(seed))]
    for run_step in steps:
        run_step()
    for number, (a, b) in enumerate(zip(*leaves)):
        if b.grad is not None:
            check_equal(f"{label}, gradient {number}", a.grad, b.grad, 1e-3)
    compare(both, label, *steps, rtol=1e-3, rounds=9, seconds=0.03)


def run() -> list[Group]:
    """Every function in both sizes."""
    forward, both = Group("fused, forward", "0.30"), Group("fused, forward + backward", "0.35")
    for size, shape in SHAPES.items():
        for name, function, kind in FUNCTIONS:
            extra = {"full": shape, "row": shape[-1:], "none": (1,)}[kind]
            rows(forward, both, f"{name}, {size}", function, [numbers(*shape), numbers(*extra), numbers(*extra)])
    return [forward, both]
