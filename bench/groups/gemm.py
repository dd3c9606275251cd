"""Matrix products and the linear layer beside PyTorch: square, skinny, transposed and batched ones, and whole steps."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from harness import Group, compare
from work import Work

import lucid_nb as lnb

SQUARE = (64, 128, 256, 512, 1024, 2048)
# Rows, depth and columns, and which operands are transposed.
OTHERS = [("skinny", 1, 1024, 1024, ""), ("skinny", 8, 1024, 1024, ""), ("skinny", 1024, 1024, 8, ""),
          ("skinny", 1024, 1024, 1, ""), ("skinny", 4096, 64, 64, ""), ("skinny", 64, 64, 4096, ""),
          ("skinny", 64, 4096, 64, ""), ("skinny", 16, 20000, 16, ""), ("transposed", 256, 256, 256, "a"),
          ("transposed", 256, 256, 256, "b"), ("transposed", 512, 512, 512, "ab"), ("transposed", 1, 1024, 1024, "b"),
          ("transposed", 1024, 1024, 1, "a"), ("transposed", 32, 784, 128, "b"), ("transposed", 128, 64, 784, "a")]
BATCHED = [(64, 32, 32, 32), (32, 64, 64, 64), (8, 128, 128, 128), (16, 197, 64, 197), (4, 256, 256, 256)]
LINEAR = [(32, 784, 128), (64, 256, 256), (128, 512, 512), (256, 1024, 1024), (8, 1024, 4096), (512, 64, 64)]
RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return RANDOM.standard_normal(shape).astype(np.float32)


def _laid_out(rows: int, cols: int, is_transposed: bool) -> np.ndarray:
    return numbers(cols, rows).T if is_transposed else numbers(rows, cols)


def products() -> Iterator[tuple[str, np.ndarray, np.ndarray, str]]:
    """The label and operands of each product, and which of them are transposed."""
    for size in SQUARE:
        yield f"square {size}", numbers(size, size), numbers(size, size), ""
    for kind, rows, depth, cols, transposed in OTHERS:
        label = f"{kind} {rows}x{depth}x{cols}" + f" {transposed}" * bool(transposed)
        yield label, _laid_out(rows, depth, "a" in transposed), _laid_out(depth, cols, "b" in transposed), transposed
    for batch, rows, depth, cols in BATCHED:
        yield f"batched {batch}x{rows}x{depth}x{cols}", numbers(batch, rows, depth), numbers(batch, depth, cols), ""


def layer_steps(batch: int, inputs: int, outputs: int) -> tuple[Callable, Callable]:
    """Forward and backward of a linear layer, ours and PyTorch's; each gives all gradients in one array."""
    arrays = numbers(batch, inputs), numbers(outputs, inputs), numbers(outputs)
    g = numbers(batch, outputs)
    sides = []
    for make, call, given in ((lambda x: lnb.tensor(x, requires_grad=True), lnb.nn.functional.linear, lnb.asarray(g)),
                              (lambda x: torch.tensor(x, requires_grad=True), torch.nn.functional.linear,
                               torch.from_numpy(g))):
        operands = [make(x) for x in arrays]

        def step(operands=operands, call=call, given=given):
            for x in operands:
                x.grad = None
            call(*operands).backward(given)
            return operands
        sides.append(step)
    return sides[0], sides[1]


def gradients(operands) -> np.ndarray:
    """All gradients in a row."""
    return np.concatenate([x.grad.numpy().ravel() for x in operands])


def run() -> list[Group]:
    """Products, and steps of linear layers."""
    product = Group("matrix products", "0.98 / 1.15")
    for label, a, b, transposed in products():
        ours, peer = (lnb.asarray(a), lnb.asarray(b)), (torch.from_numpy(a), torch.from_numpy(b))
        rtol = 1e-5 * a.shape[-1] ** 0.5
        stored = [x.T if letter in transposed else x for letter, x in zip("ab", (a, b))]
        compare(product, label, lambda p=ours: p[0] @ p[1], lambda p=peer: p[0] @ p[1], rtol=rtol,
                flops=2.0 * a.size * b.shape[-1], work=Work("matmul", stored, {"transposed": transposed}))
    layer = Group("linear, forward and backward", "0.95 / 1.15")
    for shape in LINEAR:
        ours, peer = layer_steps(*shape)
        np.testing.assert_allclose(gradients(ours()), gradients(peer()), rtol=1e-3, atol=1e-3)
        compare(layer, "x".join(map(str, shape)), lambda f=ours: f()[2].grad, lambda f=peer: f()[2].grad, rtol=1e-3,
                flops=6.0 * math.prod(shape))
    return [product, layer]
