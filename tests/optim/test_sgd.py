"""What SGD does beside its rule, which test_trajectories.py holds it to."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.optim import SGD

from .walks import START, TARGET


def test_sgd_keeps_the_dtype_and_the_object():
    p = lnb.nn.Parameter(START.astype(np.float32))
    optimizer = SGD([p], lr=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        ((p - TARGET.astype(np.float32)) ** 2).sum().backward()
        optimizer.step()
    assert p.dtype == np.float32 and p.is_leaf and p.requires_grad
    assert optimizer.state[p]["momentum_buffer"].dtype == np.float32


@pytest.mark.parametrize(("options", "name"), [
    (dict(lr=-1), "lr is -1"), (dict(momentum=-0.1), "momentum is -0.1"), (dict(weight_decay=-1), "weight_decay is -1"),
    (dict(nesterov=True), "nesterov is True"), (dict(nesterov=True, momentum=0.9, dampening=0.1), "nesterov is True"),
])
def test_sgd_refuses_settings_out_of_range(options, name):
    with pytest.raises(lnb.ConfigError, match=f"SGD: {name}. Use"):
        SGD([lnb.nn.Parameter(START)], **options)


@pytest.mark.parametrize("options", [dict(), dict(momentum=0.9), dict(momentum=0.9, nesterov=True)], ids=str)
def test_no_weight_decay_leaves_infinite_parameters_as_they_are(options):
    """0 * infinity is no decay at all. Oracle: torch's result, which does not add a decay of 0."""
    p = lnb.nn.Parameter(np.array([np.inf, -np.inf, 1.0]))
    p.grad = lnb.ones(3)
    SGD([p], lr=0.5, **options).step()
    assert p.tolist()[:2] == [np.inf, -np.inf] and np.isfinite(p.tolist()[2])
