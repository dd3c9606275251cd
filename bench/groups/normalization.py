"""Normalisation, dropout and interpolation, forward and backward, beside PyTorch."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from harness import Group, check_equal, compare
from peers import CHANNELS_LAST, channels_last
from work import Work

import lucid_nb as lnb

RANDOM = np.random.default_rng(0)
PAIRS = ((lnb.nn.functional, lnb.tensor), (torch.nn.functional, torch.tensor))
NORMS = [("batch_norm", (8, 64, 56, 56)), ("batch_norm", (32, 256, 14, 14)), ("batch_norm", (128, 512)),
         ("layer_norm", (32, 128, 768)), ("layer_norm", (4096, 256)), ("group_norm", (8, 64, 56, 56))]
OPTIONS: dict[str, dict[str, Any]] = {"batch_norm": {"training": True}, "group_norm": {"num_groups": 32}}
RESIZED = [("nearest", {}), ("bilinear", {}), ("bicubic", {}), ("area", {}), ("bilinear", dict(antialias=True))]


def _array(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


def _turned(array: np.ndarray, requires_grad: bool = False) -> torch.Tensor:
    """PyTorch's tensor, channels last if it is an image."""
    tensor = torch.tensor(array)
    return (channels_last([tensor]) or [tensor])[0].requires_grad_(requires_grad)


def _norm(library: Any, tensor: Callable, kind: str, shape: tuple[int, ...]) -> Callable:
    """The function of x, weight and bias."""
    if kind == "batch_norm":
        running = [tensor(np.zeros(shape[1], np.float32)), tensor(np.ones(shape[1], np.float32))]
        return lambda x, w, b: library.batch_norm(x, *running, w, b, True)
    if kind == "group_norm":
        return lambda x, w, b: library.group_norm(x, 32, w, b)
    return lambda x, w, b: library.layer_norm(x, shape[-1:], w, b)


def _step(function: Callable, tensor: Callable, arrays: Sequence[np.ndarray], g: np.ndarray) -> Callable:
    """Forward and backward, as a function that gives the gradients."""
    leaves, slope = [tensor(array, requires_grad=True) for array in arrays], tensor(g)

    def step() -> list:
        for leaf in leaves:
            leaf.grad = None
        function(*leaves).backward(slope)
        return [leaf.grad for leaf in leaves]
    return step


def _compare(group: Group, label: str, steps: Sequence[Callable], tolerance: float, **options: Any) -> None:
    """Compare after a check of all gradients but the first, which `compare` checks itself."""
    ours, theirs, *turned = steps
    for one, two in zip(ours()[1:], theirs()[1:]):
        check_equal(label, one.numpy() / 100, two.numpy() / 100, tolerance)
    compare(group, label, lambda: ours()[0], lambda: theirs()[0], rtol=tolerance,
            others={CHANNELS_LAST: lambda: turned[0]()[0]} if turned else {}, **options)


def normalization() -> Group:
    """Batch, layer and group norm."""
    group = Group("batch, layer, group norm, fwd + bwd", "0.60 / 1.0")
    for kind, shape in NORMS:
        size = shape[-1] if kind == "layer_norm" else shape[1]
        arrays, g = (_array(*shape), _array(size), _array(size)), _array(*shape)
        sides = PAIRS if kind == "layer_norm" or len(shape) == 2 else (*PAIRS, (torch.nn.functional, _turned))
        steps = [_step(_norm(library, tensor, kind, shape), tensor, arrays, g) for library, tensor in sides]
        _compare(group, f"{kind} {'x'.join(map(str, shape))}", steps, 1e-5, moved=20.0 * g.size,
                 work=Work(kind, arrays, OPTIONS.get(kind, {"normalized_shape": shape[-1:]}), g))
    return group


def dropout() -> Group:
    """Forward and backward of dropout, whose shares are equal and whose masks are not."""
    group = Group("dropout, fwd + bwd", "1.0 / 1.0")
    for shape in ((64, 256), (1024, 1024)):
        x, g = _array(*shape), np.ones(shape, np.float32)
        ours, theirs = (_step(partial(library.dropout, p=0.5), tensor, (x,), g) for library, tensor in PAIRS)
        for step in (ours, theirs):
            assert abs(float((step()[0].numpy() == 0).mean()) - 0.5) < 0.03
        compare(group, f"dropout {'x'.join(map(str, shape))}", ours, theirs, rtol=None, moved=16.0 * x.size)
    return group


def interpolation() -> Group:
    """Forward and backward of resized and of sampled images."""
    group = Group("interpolate, grid_sample, fwd + bwd", "1.0 / 1.5")
    for (mode, options), (before, after) in product(RESIZED, ((28, 56), (64, 40))):
        x, g = _array(8, 32, before, before), _array(8, 32, after, after)
        steps = [_step(partial(library.interpolate, size=after, mode=mode, **options), tensor, (x,), g)
                 for library, tensor in PAIRS]
        _compare(group, f"{mode} {before} to {after}{' antialias' if options else ''}", steps, 1e-4)
    x, grid, g = _array(4, 16, 32, 32), RANDOM.uniform(-1, 1, (4, 32, 32, 2)).astype(np.float32), _array(4, 16, 32, 32)
    steps = [_step(partial(library.grid_sample, align_corners=False), tensor, (x, grid), g)
             for library, tensor in PAIRS]
    _compare(group, "grid_sample 4x16x32x32", steps, 1e-3)
    return group


def run() -> list[Group]:
    """All rows."""
    return [normalization(), dropout(), interpolation()]
