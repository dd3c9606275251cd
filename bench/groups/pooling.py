"""Pools, forward and backward, beside PyTorch's."""

from typing import Any

import numpy as np
import torch
from harness import Group, check_equal, compare
from peers import CHANNELS_LAST, channels_last
from work import Work

import lucid_nb as lnb

draw = np.random.default_rng(0)
IMAGES = [(1, 64, 112, 112), (8, 64, 56, 56)]
SLIDING = [*[(shape, window) for shape in IMAGES for window in ((2, 2, 0), (3, 2, 1))],
           ((8, 64, 56, 56), (3, 1, 1)), ((8, 256, 14, 14), (2, 2, 0)), ((64, 6, 28, 28), (2, 2, 0)),
           ((8, 64, 4096), (2, 2, 0)), ((8, 64, 4096), (3, 2, 1)),
           ((2, 32, 16, 28, 28), (2, 2, 0)), ((2, 32, 16, 28, 28), (3, 2, 1))]
ADAPTIVE = [((8, 512, 7, 7), 1), ((8, 2048, 7, 7), 1), ((8, 256, 14, 14), 7), ((8, 256, 13, 13), 6),
            ((8, 64, 7), 5), ((2, 64, 8, 14, 14), 1)]


def row(group: Group, name: str, shape: tuple[int, ...], arguments: tuple) -> None:
    """A step: the result, and the gradient of a weighted sum of it."""
    function = f"{name}_pool{len(shape) - 2}d"
    data = draw.standard_normal(shape).astype(np.float32)
    x, peer = lnb.tensor(data, requires_grad=True), torch.tensor(data, requires_grad=True)
    ours, theirs = (getattr(library.nn.functional, function) for library in (lnb, torch))
    seed = draw.standard_normal(tuple(theirs(peer, *arguments).shape)).astype(np.float32)
    g, peer_g = lnb.tensor(seed), torch.tensor(seed)
    label = f"{function} {'x'.join(map(str, shape))} {arguments}"
    check_equal(label, ours(x, *arguments), theirs(peer, *arguments), 1e-5)

    def step(call: Any, leaf: Any, gradient: Any) -> Any:
        leaf.grad = None
        call(leaf, *arguments).backward(gradient)
        return leaf.grad
    others = {}
    if turned := channels_last([peer.detach(), peer_g]):
        turned[0].requires_grad_()
        others[CHANNELS_LAST] = lambda: step(theirs, *turned)
    work = Work(function, [data], dict(zip(("kernel_size", "stride", "padding"), arguments)), seed)
    compare(group, label, lambda: step(ours, x, g), lambda: step(theirs, peer, peer_g), others=others,
            moved=8.0 * (data.size + seed.size), work=None if name.startswith("adaptive") else work)


def run() -> list[Group]:
    """Maxima and averages over images, signals and volumes; global and adaptive ones."""
    group = Group("pooling, forward + backward", "0.60 / 1.0")
    for name in ("max", "avg"):
        for shape, window in SLIDING:
            row(group, name, shape, window)
        for shape, size in ADAPTIVE:
            row(group, f"adaptive_{name}", shape, (size,))
    return [group]
