"""Chains of views of every kind, read and written on both sides, against NumPy; and their gradients."""

import random

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import check_grad


def steps(draw, x):
    """A view of a NumPy array or of a tensor, in words that both know, and whether it may be written."""
    kinds = ["swap", "flip", "rot", "squeeze", "expand", "move", "slice", "reshape", "split", "diagonal", "windows",
             "broadcast", "bits", "atleast"]
    kind, seed = draw.choice(kinds), draw.randrange(1000)
    ndim = x.ndim
    if kind == "diagonal" and ndim >= 2 and min(x.shape[:2]):
        return lambda n, y: n.diagonal(y, seed % 3 - 1, 0, ndim - 1)
    if kind == "windows" and ndim and x.shape[0] > 1:
        return lambda n, y: n.lib.stride_tricks.sliding_window_view(y, 2, 0)
    if kind == "broadcast" and ndim < 4:
        return lambda n, y: n.broadcast_to(y, (2, *y.shape))
    if kind == "reshape":
        return lambda n, y: y.reshape(-1) if seed % 2 else y.reshape(y.shape[::-1])
    if kind == "bits" and isinstance(x, np.ndarray) and x.dtype == "float32" and x.flags.c_contiguous and ndim:
        return lambda n, y: y.view("int16")
    if ndim == 0:
        return lambda n, y: n.atleast_2d(y)
    axis = seed % ndim
    return {"swap": lambda n, y: n.swapaxes(y, 0, axis), "flip": lambda n, y: n.flip(y, axis),
            "rot": lambda n, y: n.rot90(y, seed, (0, ndim - 1)) if ndim > 1 else y,
            "squeeze": lambda n, y: n.squeeze(y), "expand": lambda n, y: n.expand_dims(y, axis),
            "move": lambda n, y: n.moveaxis(y, 0, axis), "split": lambda n, y: n.array_split(y, 2, axis)[seed % 2],
            "atleast": lambda n, y: n.atleast_3d(y)}.get(kind, lambda n, y: y[..., ::-1 if seed % 2 else 1][:3])


@pytest.mark.parametrize("seeds", [range(start, start + 40) for start in range(0, 400, 40)], ids=str)
def test_chains_of_views_follow_writes_on_both_sides(seeds, device):
    for seed in seeds if device != "cuda" else seeds[:3]:                # the simulator is slow
        draw = random.Random(seed)
        array = np.arange(24, dtype="float32").reshape(draw.choice([(2, 3, 4), (4, 6), (24,), (3, 1, 8)]))
        pairs = [(lnb.tensor(array, device=device), array)]
        for number in range(8):
            ours, numpys = draw.choice(pairs)
            step = steps(draw, numpys)
            if numpys.ndim < 6 and numpys.size:
                pairs.append((step(lnb, ours), step(np, numpys)))
            ours, numpys = draw.choice(pairs)
            if np.shares_memory(numpys, array) and ours.numpy().flags.writeable and numpys.dtype == "float32":
                numpys.flags.writeable = True
                numpys[...] = number + 0.5
                ours[...] = number + 0.5
            for one, other in pairs:
                np.testing.assert_array_equal(one.to_host(), other, err_msg=str(seed))


@pytest.mark.parametrize("seed", range(25))
def test_chains_of_views_follow_finite_differences(seed):
    def chain(n, x):
        draw = random.Random(seed)
        for _ in range(4):
            step = steps(draw, x)
            if x.ndim < 6 and x.size:
                x = step(n, x)
        return x
    array = np.arange(1.0, 13.0).reshape(2, 3, 2) / 8
    if chain(np, array).size:
        check_grad(lambda x: chain(lnb, x * x), array)
