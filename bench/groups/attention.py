"""Attention, alone and in the layers around it, and embeddings: forward and backward, beside PyTorch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from harness import Group, check_equal, compare
from work import Work

import lucid_nb as lnb

draw = np.random.default_rng(0)
HEADS, SIZE = 8, 64
SHAPES = [(batch, length) for batch in (1, 4) for length in (128, 256, 512, 1024)]


def numbers(*shape: int) -> np.ndarray:
    """Normal float32."""
    return draw.standard_normal(shape).astype(np.float32)


def step(call: Callable, leaves: list[Any], seed: Any) -> Callable:
    """Forward and backward: the gradient of the first leaf."""
    def run() -> Any:
        for leaf in leaves:
            leaf.grad = None
        call().backward(seed)
        return leaves[0].grad
    return run


def row(group: Group, label: str, make: Callable, arrays: list[np.ndarray], seed: np.ndarray, *, flops: float = 0,
        moved: float = 0, work: Work | None = None) -> None:
    """make(library, leaves) gives the call; gradients of all leaves are compared."""
    ours = [lnb.tensor(x, requires_grad=True) for x in arrays]
    theirs = [torch.tensor(x, requires_grad=True) for x in arrays]
    steps = step(make(lnb, ours), ours, lnb.tensor(seed)), step(make(torch, theirs), theirs, torch.tensor(seed))
    for run in steps:
        run()
    for number, (a, b) in enumerate(zip(ours, theirs)):
        check_equal(f"{label}, gradient {number}", a.grad, b.grad, 1e-4)
    compare(group, label, *steps, rtol=1e-4, rounds=9, seconds=0.03, flops=flops, moved=moved, work=work)


def attention(options: dict[str, Any]) -> Callable:
    """What makes calls of scaled_dot_product_attention."""
    def make(library: Any, leaves: list[Any]) -> Callable:
        given = {name: library.tensor(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
        return lambda: library.nn.functional.scaled_dot_product_attention(*leaves[:3], **given)
    return make


def judged() -> Group:
    """The issue's rows."""
    group = Group("attention forward + backward", "0.90 / 1.1")
    for batch, length in SHAPES:
        for causal in (False, True):
            shape = (batch, HEADS, length, SIZE)
            arrays, seed, options = [numbers(*shape) for _ in range(3)], numbers(*shape), {"is_causal": causal}
            row(group, f"batch {batch} T{length}{' causal' * causal}", attention(options), arrays, seed,
                flops=14.0 * batch * HEADS * length * length * SIZE / (1 + causal),
                work=Work("scaled_dot_product_attention", arrays, options, seed))
    return group


def others() -> Group:
    """Masks, groups of heads, other shapes, embeddings."""
    group = Group("attention with masks, embeddings (reported)", "none")
    shape = (2, HEADS, 512, SIZE)
    three = [numbers(*shape) for _ in range(3)]
    masks = {"bools": draw.random((512, 512)) < 0.7, "numbers": numbers(HEADS, 512, 512),
             "padding": (np.arange(512) < 400).reshape(1, 1, 1, 512)}
    for name, mask in masks.items():
        row(group, f"mask of {name}", attention({"attn_mask": mask}), three, numbers(*shape))
    row(group, "groups of 4 heads", attention({"enable_gqa": True, "is_causal": True}),
        [three[0], *[numbers(2, 2, 512, SIZE) for _ in range(2)]], numbers(*shape))
    row(group, "one query", attention({}), [numbers(2, HEADS, 1, SIZE), *three[1:]], numbers(2, HEADS, 1, SIZE))
    for size in (32, 80, 128):
        row(group, f"{size} features", attention({}), [numbers(2, HEADS, 256, size) for _ in range(3)],
            numbers(2, HEADS, 256, size))
    for rows, count in ((1000, 2048), (30000, 2048)):
        places = draw.integers(0, rows, count)
        row(group, f"embedding {rows} x 256, {count} numbers", lambda library, leaves, places=places: lambda: (
            library.nn.functional.embedding(library.tensor(places), leaves[0])), [numbers(rows, 256)],
            numbers(count, 256), moved=4.0 * 256 * (4 * count + rows))
    return group


def run() -> list[Group]:
    """All rows."""
    return [judged(), others()]
