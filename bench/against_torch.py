"""lucid_nb against PyTorch on the CPU, one thread each, in one process.

    python bench/against_torch.py [small chains big broadcasts reductions]

Needs the extra `bench`. Writes bench/results/against_torch.md when all groups run.
"""

import numpy as np
import tables
import torch
from harness import Group, compare

import lucid_nb as lnb

torch.set_num_threads(1)
lnb.set_num_threads(1)
F = torch.nn.functional
draw = np.random.default_rng(0)


def pair(shape, requires_grad=False, low=0.1, high=1.0, dtype="float32"):
    """The same numbers as a tensor of each library."""
    data = draw.uniform(low, high, shape).astype(dtype)
    return lnb.tensor(data, requires_grad=requires_grad), torch.tensor(data, requires_grad=requires_grad)


def small_ops():
    """Overhead of single ops on 16x16 float32."""
    (a, ta), (b, tb) = pair((16, 16)), pair((16, 16))
    (ga, tga), (gb, tgb) = pair((16, 16), True), pair((16, 16), True)
    plain = Group("tiny op, no gradient", "each at most 0.75")
    compare(plain, "add", lambda: a + b, lambda: ta + tb)
    compare(plain, "multiply", lambda: a * b, lambda: ta * tb)
    compare(plain, "exp", lambda: a.exp(), lambda: ta.exp())
    compare(plain, "tanh", lambda: lnb.tanh(a), lambda: torch.tanh(ta))
    recorded = Group("tiny op, recorded", "each at most 0.9")
    compare(recorded, "add", lambda: ga + gb, lambda: tga + tgb)
    compare(recorded, "multiply", lambda: ga * gb, lambda: tga * tgb)
    compare(recorded, "exp", lambda: ga.exp(), lambda: tga.exp())
    mixed = Group("tiny op with a scalar, slice", "each at most 1.0")
    compare(mixed, "x + 2.0", lambda: a + 2.0, lambda: ta + 2.0)
    compare(mixed, "2.0 * x", lambda: 2.0 * a, lambda: 2.0 * ta)
    compare(mixed, "x + 2.0 recorded", lambda: ga + 2.0, lambda: tga + 2.0)
    compare(mixed, "x ** 2 recorded", lambda: ga ** 2, lambda: tga ** 2)
    compare(mixed, "x[2:5]", lambda: a[2:5], lambda: ta[2:5])
    compare(mixed, "x[2:5] recorded", lambda: ga[2:5], lambda: tga[2:5])
    return [plain, recorded, mixed]


def chain(x, w):
    """20 chained small ops."""
    y = x
    for _ in range(2):
        y = y * w
        y = y + x
        y = y * w
        y = y + x
        y = y * w
        y = y + x
        y = y * w
        y = y + x
        y = y * w
        y = y.exp()
    return y


def chains():
    """20 small ops forward and backward."""
    group = Group("20 tiny ops, forward + backward", "each at most 0.60")
    for shape in ((8,), (16, 16)):
        (x, tx), (w, tw), (g, tg) = pair(shape, True, 0, 0.1), pair(shape, True, 0, 0.5), pair(shape)

        def ours(x=x, w=w, g=g):
            x.grad = w.grad = None
            chain(x, w).backward(g)
            return x.grad

        def peer(x=tx, w=tw, g=tg):
            x.grad = w.grad = None
            chain(x, w).backward(g)
            return x.grad
        compare(group, f"shape {shape}", ours, peer)
    return [group]


BIG = {"add": (lambda x: x + x, lambda t: t + t), "mul": (lambda x: x * x, lambda t: t * t),
       "exp": (lnb.exp, torch.exp), "log": (lnb.log, torch.log), "tanh": (lnb.tanh, torch.tanh),
       "erf": (lnb.erf, torch.erf), "sigmoid": (lnb.sigmoid, torch.sigmoid), "sin": (lnb.sin, torch.sin),
       "gelu": (lnb.gelu, F.gelu)}


def big():
    """Single ops at a million elements."""
    groups = []
    for dtype, target in (("float32", "mean 0.95, worst 1.1"), ("float64", "mean 1.0")):
        group = Group(f"1e6 {dtype}", target)
        for name, (ours, peer) in BIG.items():
            x, tx = pair(10 ** 6, dtype=dtype)
            compare(group, name, lambda f=ours, x=x: f(x), lambda f=peer, t=tx: f(t), seconds=0.03)
        groups.append(group)
    return groups


def broadcasts():
    """Operands that are not contiguous."""
    group = Group("1000x1000 broadcast, transposed", "each at most 1.1")
    (x, tx), (row, trow), (column, tcolumn) = pair((1000, 1000)), pair((1000,)), pair((1000, 1))
    compare(group, "x + row", lambda: x + row, lambda: tx + trow, seconds=0.03)
    compare(group, "x * column", lambda: x * column, lambda: tx * tcolumn, seconds=0.03)
    compare(group, "x + x.T", lambda: x + x.T, lambda: tx + tx.T, seconds=0.03)
    compare(group, "exp(x.T)", lambda: lnb.exp(x.T), lambda: torch.exp(tx.T), seconds=0.03)
    compare(group, "row + column", lambda: row + column, lambda: trow + tcolumn, seconds=0.03)
    compare(group, "x + 2.0", lambda: x + 2.0, lambda: tx + 2.0, seconds=0.03)
    return [group]


def backward_of_big():
    """Forward and backward of one op at a million elements (reported, no target)."""
    group = Group("1e6 float32 forward + backward", "none")
    for name in ("exp", "log", "tanh", "sigmoid", "gelu"):
        (x, tx), (g, tg) = pair(10 ** 6, True), pair(10 ** 6)
        f, peer_f = BIG[name]

        def ours(f=f, x=x, g=g):
            x.grad = None
            f(x).backward(g)
            return x.grad

        def peer(f=peer_f, x=tx, g=tg):
            x.grad = None
            f(x).backward(g)
            return x.grad
        compare(group, name, ours, peer, seconds=0.03, rtol=1e-4)
    return [group]


def reductions():
    """Reductions over the last and the first axis."""
    group = Group("reductions float32", "mean 0.8")
    for shape in ((1024, 1024), (4096, 256), (128, 8192)):
        x, tx = pair(shape, low=-1)
        for axis in (1, 0):
            at = f"{shape} axis {axis}"
            quick = dict(seconds=0.02, rtol=1e-4)
            for name in ("sum", "mean", "max", "argmax"):
                ours, peer = getattr(lnb, name), getattr(torch, "amax" if name == "max" else name)
                compare(group, f"{name} {at}", lambda f=ours, x=x, a=axis: f(x, axis=a),
                        lambda f=peer, t=tx, a=axis: f(t, dim=a), **quick)
            compare(group, f"softmax {at}", lambda x=x, a=axis: lnb.softmax(x, a), lambda t=tx, a=axis: t.softmax(a),
                    **quick)
            compare(group, f"log_softmax {at}", lambda x=x, a=axis: lnb.log_softmax(x, a),
                    lambda t=tx, a=axis: t.log_softmax(a), **quick)
        target = draw.integers(0, shape[1], shape[0])
        ours_target, peer_target = lnb.tensor(target), torch.tensor(target)
        compare(group, f"cross_entropy {shape}", lambda x=x, t=ours_target: lnb.cross_entropy(x, t),
                lambda x=tx, t=peer_target: F.cross_entropy(x, t), seconds=0.02, rtol=1e-4)
    return [group]


GROUPS = dict(small=small_ops, chains=chains, big=big, broadcasts=broadcasts, backward=backward_of_big,
              reductions=reductions)


if __name__ == "__main__":
    tables.main("against_torch", "Against PyTorch on the CPU, one thread", GROUPS,
                dict(torch=torch.__version__, numpy=np.__version__, lucid_nb=lnb.__version__))
