"""Gradients of each of 256 examples, and Jacobians of each, beside torch.func."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from harness import Group, check_equal, compare

import lucid_nb as lnb

EXAMPLES = 256
SIZES = [(16, 32, 4), (64, 64, 10), (784, 32, 10)]
draw = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    """Normal float32, small enough that tanh does not saturate."""
    return (draw.standard_normal(shape) * 0.3).astype(np.float32)


def network(library: Any, p: Any, x: Any) -> Any:
    """A small multilayer perceptron on one example, in either library's words."""
    return library.tanh(x @ p[0] + p[1]) @ p[2] + p[3]


def loss(library: Any, p: Any, x: Any, y: Any) -> Any:
    """The squared error of one example."""
    return ((network(library, p, x) - y) ** 2).mean()


def gradients(library: Any, transforms: Any, tensor: Callable, arrays: list[np.ndarray]) -> Callable:
    """The gradients of the parameters by each example's loss."""
    *p, x, y = map(tensor, arrays)
    of_each = transforms.vmap(transforms.grad(lambda p, x, y: loss(library, p, x, y)), (None, 0, 0))
    return lambda: of_each(p, x, y)


def jacobians(library: Any, transforms: Any, jacobian: Callable, tensor: Callable,
              arrays: list[np.ndarray]) -> Callable:
    """The Jacobian of the network at each example."""
    *p, x, _ = map(tensor, arrays)
    of_each = transforms.vmap(jacobian(lambda x: network(library, p, x)))
    return lambda: of_each(x)


def run() -> list[Group]:
    """A row for each size, and two for Jacobians."""
    found = Group("vmap of gradients", "1.0"), Group("vmap of Jacobians", "1.0")
    for inputs, hidden, outputs in SIZES:
        arrays = [numbers(inputs, hidden), numbers(hidden), numbers(hidden, outputs), numbers(outputs),
                  numbers(EXAMPLES, inputs), numbers(EXAMPLES, outputs)]
        label = f"{EXAMPLES} examples, MLP {inputs}-{hidden}-{outputs}"
        ours, peer = gradients(lnb, lnb, lnb.tensor, arrays), gradients(torch, torch.func, torch.tensor, arrays)
        for a, b in zip(ours(), peer()):
            check_equal(label, a, b, 1e-4)
        compare(found[0], label, ours, peer, rtol=None)
        if inputs <= EXAMPLES // 4:
            compare(found[1], label, jacobians(lnb, lnb, lnb.jacobian, lnb.tensor, arrays),
                    jacobians(torch, torch.func, torch.func.jacrev, torch.tensor, arrays), rtol=1e-4)
    return list(found)
