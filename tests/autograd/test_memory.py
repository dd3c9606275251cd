"""What a process that goes on and on keeps: nothing, where programs repeat themselves."""

import gc
import sys
import tracemalloc
import weakref
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.fusion.trace import Trace

RANDOM = np.random.default_rng(0)
X, W = RANDOM.standard_normal((8, 4)), RANDOM.standard_normal((4, 3))


@lnb.fuse
def activation(x):
    """A program with a reduction of rows."""
    return lnb.tanh(x) * lnb.sigmoid(x) + x.mean(-1, keepdims=True)


def loss(w, x):
    """A number."""
    return (activation(x @ w) ** 2).mean()


def resident():
    """MB of the process that are in memory, 0 where nobody tells."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6 if sys.platform == "linux" else 0


@contextmanager
def nothing_kept(objects=50, megabytes=4):
    """While it lasts nothing may be kept, not even until the garbage collector runs."""
    gc.collect()
    gc.disable()
    try:
        before, room = len(gc.get_objects()), resident()
        yield
        grown = resident() - room              # before the list of all objects, which takes megabytes itself
        assert len(gc.get_objects()) - before < objects and grown < megabytes
    finally:
        gc.enable()


@contextmanager
def tracemalloc_flat(size=8192):
    """While it lasts no more bytes of Python's may be kept."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield
        assert tracemalloc.get_traced_memory()[0] - before < size
    finally:
        tracemalloc.stop()


def test_a_thousand_steps_of_training_leave_nothing_behind():
    x, w = lnb.asarray(X), lnb.tensor(W, requires_grad=True)
    optimizer = lnb.optim.SGD([w], lr=1e-3)

    def step():
        optimizer.zero_grad()
        loss(w, x).backward()
        optimizer.step()
        now = w.detach()
        lnb.jvp(lambda w: loss(w, x), (now,), (now,))
        lnb.vmap(lnb.grad(loss), in_axes=(None, 0))(now, x[:, None])
    for _ in range(5):
        step()
    with nothing_kept():
        for _ in range(1000):
            step()


class Square(lnb.autograd.Function):
    """x * x, by the older protocol."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * x * g


def own_rule(w):
    """x * x with a rule of its own, made anew."""
    square = lnb.custom_vjp(lambda w: w * w)
    square.defvjp(lambda w: (w * w, w), lambda w, g: (2 * w * g,))
    return lnb.grad(lambda w: square(w).sum())(w)


def written(w):
    """A sum of what was written in place."""
    y = w * 1
    y[0] = w[1]
    y *= y
    return y.sum()


REPEATED = {
    "hessian": lambda w: lnb.hessian(lambda w: loss(w, X))(w),
    "hvp": lambda w: lnb.hvp(written, w, w), "jvp of writes": lambda w: lnb.jvp(written, (w,), (w,)),
    "linearize": lambda w: lnb.linearize(lambda w: loss(w, X), w)[1](w),
    "vjp, unused": lambda w: lnb.vjp(lambda w: loss(w, X), w),
    "checkpoint": lambda w: lnb.grad(lambda w: lnb.checkpoint(loss, w, lnb.asarray(X)))(w),
    "three deep": lambda w: lnb.vmap(lnb.jacobian(lnb.grad(lambda row: (lnb.softmax(row) * row).sum())))(w),
    "Function": lambda w: lnb.vmap(lnb.grad(lambda row: Square.apply(row).sum()))(w), "custom_vjp": own_rule}


@pytest.mark.parametrize("name", REPEATED)
def test_transforms_again_and_again_leave_nothing_behind(name):
    w = lnb.asarray(W)
    for _ in range(3):
        REPEATED[name](w)
    with nothing_kept():
        for _ in range(60):
            REPEATED[name](w)


ANEW = {
    "formula": lambda x: lnb.tanh(x) * 2, "ordinary op": lambda x: lnb.cumsum(x * 2, 0) * 3,
    "views": lambda x: (x * 2).T[1:, ::2].reshape(-1) + 1, "element": lambda x: (x * 2)[0, 1] * x,
    "positions": lambda x: (x * 2)[lnb.argsort(x[:, 0])] * 2, "rule of its own": lambda x: Square.apply(x * 2) + 1,
    "checkpoint": lambda x: lnb.checkpoint(lambda y: lnb.tanh(y) * y, x * 2) + 1,
    "not traced: vmap": lambda x: lnb.vmap(lambda row: lnb.softmax(row) * row)(x * 2),
    "not traced: gradients": lambda x: lnb.grad(lambda y: (y * y).sum())(x * 2),
    "not traced: a value": lambda x: x * 2 * float(x[0, 0])}


@pytest.mark.parametrize("name", ANEW)
def test_neither_plans_nor_garbage_hold_what_a_trace_computed(name, monkeypatch):
    traces = []
    start = Trace.__init__

    def noted(self, *arguments):
        start(self, *arguments)
        traces.append(weakref.ref(self))
    monkeypatch.setattr(Trace, "__init__", noted)
    gc.collect()
    gc.disable()
    try:
        fused = lnb.fuse(ANEW[name])
        fused(lnb.asarray(X))
        assert traces and [trace() for trace in traces] == [None] * len(traces)
        assert ("not fused" in fused.explain()) == name.startswith("not")
    finally:
        gc.enable()


def test_calls_of_a_plan_with_a_rule_of_its_own_keep_nothing():
    fused, x = lnb.fuse(ANEW["rule of its own"]), lnb.asarray(X)
    fused(x)
    with tracemalloc_flat():
        for _ in range(2000):
            fused(x)
