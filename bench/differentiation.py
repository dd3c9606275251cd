"""Transforms and automatic fusion: gradients of small functions, forward mode, per-example gradients, chains.

    python bench/differentiation.py [small modes chains examples]

Writes bench/results/differentiation.md when all groups run. Needs the extra `bench`.
"""

from itertools import pairwise

import numpy as np
import tables
import torch
from harness import Group, compare

import lucid_nb as lnb
from lucid_nb import config

torch.set_num_threads(1)
lnb.set_num_threads(1)
draw = np.random.default_rng(0)


def pair(*shape):
    """The same float32 numbers here and there."""
    numbers = draw.uniform(0.3, 1.2, shape).astype("float32")
    return lnb.asarray(numbers), torch.tensor(numbers)


def twenty(m, x):
    """Twenty tiny ops and a sum."""
    for _ in range(5):
        x = m.tanh(m.sin(x) * x + 0.5)
    return x.sum()


def small():
    """The gradient of a small function as a function."""
    group = Group("gradient of twenty tiny ops", "each at most 0.5")
    for size in (1, 8, 64):
        x, tx = pair(size)
        ours, theirs = lnb.grad(lambda x: twenty(lnb, x)), torch.func.grad(lambda x: twenty(torch, x))

        def by_autograd(tx=tx):
            leaf = tx.detach().requires_grad_(True)
            return torch.autograd.grad(twenty(torch, leaf), leaf)[0]
        compare(group, f"lnb.grad, {size} numbers", lambda x=x, f=ours: f(x), by_autograd,
                others={"torch.func": lambda x=tx, f=theirs: f(x)})
    return [group]


def modes():
    """What a product with the Jacobian or the Hessian costs beside the function itself (the peer)."""
    forward = Group("jvp / the function", "each at most 2.5")
    second = Group("hvp / the function", "each at most 5")
    for width in (64, 256, 512):
        layers = [pair(width, width)[0] / width for _ in range(3)]
        x, v = pair(width, width)[0], pair(width, width)[0]

        def network(x, layers=layers):
            for layer in layers:
                x = lnb.tanh(x @ layer)
            return (x * x).sum()
        compare(forward, f"three layers of {width}", lambda x=x, v=v, f=network: lnb.jvp(f, (x,), (v,))[0],
                lambda x=x, f=network: f(x))
        compare(second, f"three layers of {width}", lambda x=x, v=v, f=network: lnb.hvp(f, x, v),
                lambda x=x, f=network: f(x), rtol=None)
    return [forward, second]


CHAINS = {
    "8 algebraic ops": lambda x: lnb.sqrt(lnb.reciprocal(lnb.square(-abs(-(lnb.sqrt(lnb.square(x))))))),
    "8 ops, kept results": lambda x: lnb.exp(-lnb.sqrt(lnb.exp(-lnb.square(lnb.exp(-x))))),
    "8 transcendental ops": lambda x: lnb.tanh(lnb.sin(lnb.exp(lnb.cos(lnb.sigmoid(lnb.tanh(lnb.sin(lnb.exp(x)))))))),
    "2 ops": lambda x: lnb.tanh(lnb.exp(x)),
    "exp, log, negative, negative": lambda x: lnb.negative(-lnb.log(lnb.exp(x)))}


def chains():
    """Backward through chains with automatic fusion, beside the same without it (the peer)."""
    group = Group("chains in backward, fused / not", "8 ops at 1e6 0.4; none above 1.05")
    for name, chain in CHAINS.items():
        for size in (1_000, 30_000, 100_000, 1_000_000, 4_000_000):
            x, g = pair(size)[0], pair(size)[0]
            x.requires_grad = True
            result = chain(x)

            def backward(fusion, x=x, y=result, g=g):
                config.fusion = fusion
                x.grad = None
                y.backward(g, retain_graph=True)
                return x.grad
            compare(group, f"{name} at {size}", lambda f=backward: f("auto"), lambda f=backward: f(False), rtol=1e-4)
    config.fusion = "auto"
    return [group]


def perceptron(m, weights, x, target):
    """The squared error of one example."""
    for weight in weights[:-1]:
        x = m.tanh(x @ weight)
    return ((x @ weights[-1] - target) ** 2).sum()


def examples():
    """Gradients of 256 examples, each by itself."""
    group = Group("per-example gradients, 256 examples", "each at most 1.0")
    for sizes in ((16, 32, 4), (64, 64, 10), (128, 256, 256, 10)):
        made = [pair(rows, columns) for rows, columns in pairwise(sizes)]
        ours, theirs = [a / 8 for a, _ in made], [b / 8 for _, b in made]
        (x, tx), (y, ty) = pair(256, sizes[0]), pair(256, sizes[-1])
        mine = lnb.vmap(lnb.grad(lambda w, x, y: perceptron(lnb, w, x, y)), in_axes=(None, 0, 0))
        peer = torch.func.vmap(torch.func.grad(lambda w, x, y: perceptron(torch, w, x, y)), in_dims=(None, 0, 0))
        compare(group, "layers of " + " ".join(map(str, sizes)), lambda w=ours, x=x, y=y, f=mine: f(w, x, y)[0],
                lambda w=theirs, x=tx, y=ty, f=peer: f(w, x, y)[0], rtol=1e-3)
    return [group]


GROUPS = dict(small=small, modes=modes, chains=chains, examples=examples)


if __name__ == "__main__":
    tables.main("differentiation", "Transforms and automatic fusion on the CPU, one thread", GROUPS,
                dict(torch=torch.__version__, numpy=np.__version__, lucid_nb=lnb.__version__))
