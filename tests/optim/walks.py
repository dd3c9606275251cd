"""A quadratic valley, and walks down it: the problem that all optimizer tests share."""

import numpy as np
import pytest

import lucid_nb as lnb

START = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -4.0]])
TARGET = np.array([[0.0, 1.0, -1.0], [2.0, 0.25, 0.5]])
SCALE = np.array([1.0, 3.0, 0.1])


def gradient(p):
    """Of 0.5 * sum(SCALE * (p - TARGET)**2)."""
    return SCALE * (p - TARGET)


def walk(kind, steps, **options):
    """Where an optimizer of ours ends."""
    p = lnb.nn.Parameter(START)
    optimizer = kind([p], **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (0.5 * lnb.asarray(SCALE) * (p - lnb.asarray(TARGET)) ** 2).sum()
        loss.backward()
        optimizer.step()
    return p.detach().numpy()


def torch_walk(name, steps, **options):
    """Where torch's optimizer of that name ends."""
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    p = torch.tensor(START, requires_grad=True)
    optimizer = getattr(torch.optim, name)([p], **options)
    for _ in range(steps):
        p.grad = torch.from_numpy(gradient(p.detach().numpy()))
        optimizer.step()
    return p.detach().numpy()
