"""The oracle of vmap's tests: one example after the other."""

import numpy as np

import lucid_nb as lnb
from lucid_nb.vectorize import vmap

from .cases import SIZE

DEVICES = {"cpu": "float64", "mlx": "float32"}
# The batched call may sum in another order.
TOLERANCE = {"cpu": 1e-11, "mlx": 3e-5, "cuda": 3e-5}


def example(x, axis, number):
    """One example of an argument."""
    return x if axis is None else x[(slice(None),) * axis + (number,)]


def looped(call, axes):
    """The oracle: one example after the other."""
    def run(*given):
        found = [call(*[example(x, axis, number) for x, axis in zip(given, axes)]) for number in range(SIZE)]
        if isinstance(found[0], (tuple, list)):
            return tuple(lnb.stack(list(column)) for column in zip(*found))
        return lnb.stack(found)
    return run


def outcome(function, given, device):
    """Values, and the gradients of all float arguments for one fixed cotangent."""
    tensors = [lnb.tensor(x, device=device, requires_grad=x.dtype.kind == "f") for x in given]
    found = function(*tensors)
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    rng = np.random.default_rng(9)
    total = sum([(x * lnb.tensor(rng.normal(size=x.shape).astype(x.dtype), device=device)).sum()
                 for x in results if x.requires_grad])
    if isinstance(total, lnb.Tensor):
        total.backward()
    return [x.detach().to_host() for x in results], [None if x.grad is None else x.grad.to_host() for x in tensors]


def check(call, axes, given, device):
    """The same shapes, dtypes, values and gradients as the loop's."""
    wanted, slopes = outcome(looped(call, axes), given, device)
    found, own = outcome(vmap(call, axes), given, device)
    tolerance = TOLERANCE[device]
    assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in wanted]
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    for a, b in zip(own, slopes):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=10 * tolerance, atol=10 * tolerance)
