"""LSTM and GRU layers over a sequence, forward and backward, beside PyTorch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from harness import Group, compare

import lucid_nb as lnb

draw = np.random.default_rng(0)
SHAPES = [(50, 32, 128, 128), (50, 32, 256, 256), (50, 1, 128, 128), (20, 64, 64, 64), (100, 8, 32, 512)]
OPTIONS: list[dict[str, Any]] = [{"num_layers": 2}, {"bidirectional": True}, {"batch_first": True}]
ROWS = [(kind, shape, {}) for kind in ("LSTM", "GRU") for shape in SHAPES]
ROWS += [(kind, SHAPES[0], options) for kind in ("LSTM", "GRU") for options in OPTIONS]


def pair(kind: str, inputs: int, units: int, options: dict[str, Any]) -> tuple[Any, Any]:
    """A layer of each library with the same weights."""
    peer = getattr(torch.nn, kind)(inputs, units, **options)
    ours = getattr(lnb.nn, kind)(inputs, units, **options)
    ours.load_state_dict({key: value.numpy() for key, value in peer.state_dict().items()})
    return ours, peer


def step(layer: Any, x: Any, seed: Any) -> Callable:
    """Forward and backward: the gradient of the input."""
    params = [x, *layer.parameters()]

    def run() -> Any:
        for param in params:
            param.grad = None
        layer(x)[0].backward(seed)
        return x.grad
    return run


def row(group: Group, kind: str, shape: tuple[int, int, int, int], options: dict[str, Any]) -> None:
    """One layer."""
    time, batch, inputs, units = shape
    ours, peer = pair(kind, inputs, units, options)
    ways = 2 if options.get("bidirectional") else 1
    x = draw.standard_normal((time, batch, inputs)).astype(np.float32)
    seed = draw.standard_normal((time, batch, ways * units)).astype(np.float32)
    if options.get("batch_first"):
        x, seed = (np.ascontiguousarray(a.swapaxes(0, 1)) for a in (x, seed))
    label = " ".join([kind, f"T{time} B{batch} I{inputs} H{units}", *options])
    products = sum(weight.size for weight in ours.parameters() if weight.ndim == 2)
    compare(group, label, step(ours, lnb.tensor(x, requires_grad=True), lnb.tensor(seed)),
            step(peer, torch.tensor(x, requires_grad=True), torch.tensor(seed)), rtol=1e-4, rounds=9, seconds=0.03,
            flops=6.0 * time * batch * products)


def run() -> list[Group]:
    """All rows."""
    group = Group("LSTM, GRU forward + backward", "0.80 / 1.1")
    for kind, shape, options in ROWS:
        row(group, kind, shape, options)
    return [group]
