"""What Adam and AdamW do beside their rule, which test_trajectories.py holds them to."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.optim import Adam, AdamW

from .walks import START


def test_adamw_decays_by_default_and_adam_does_not():
    defaults = [kind([lnb.nn.Parameter(START)]).param_groups[0]["weight_decay"] for kind in (Adam, AdamW)]
    assert defaults == [0.0, 0.01]


def test_adam_with_zero_gradients_stays():
    p = lnb.nn.Parameter(np.float32([1, 2]))
    p.grad = lnb.asarray(np.zeros(2, np.float32))
    Adam([p], lr=1.0).step()
    assert p.tolist() == [1, 2]


@pytest.mark.parametrize(("options", "name"), [
    (dict(lr=-1), "lr is -1"), (dict(eps=-1), "eps is -1"), (dict(betas=(1.0, 0.9)), "betas is"),
    (dict(betas=(0.9,)), "betas is"), (dict(weight_decay=-1), "weight_decay is -1"),
])
def test_adam_refuses_settings_out_of_range(options, name):
    with pytest.raises(lnb.ConfigError, match=f"Adam: {name}"):
        Adam([lnb.nn.Parameter(START)], **options)


def test_no_weight_decay_leaves_infinite_parameters_as_they_are():
    """0 * infinity is no decay at all. Oracle: torch's result, which does not add a decay of 0."""
    p = lnb.nn.Parameter(np.array([np.inf, -np.inf, 1.0]))
    p.grad = lnb.ones(3)
    Adam([p], lr=0.5).step()
    assert p.tolist()[:2] == [np.inf, -np.inf] and np.isfinite(p.tolist()[2])
