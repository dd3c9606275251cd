"""Adam and AdamW. Oracle: the formula in float64 NumPy, and torch where it is installed."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.optim import Adam, AdamW

from .walks import START, gradient, torch_walk, walk

OPTIONS = [dict(lr=0.1), dict(lr=0.1, betas=(0.5, 0.8)), dict(lr=0.1, eps=0.01), dict(lr=0.1, weight_decay=0.2),
           dict(lr=0.1, amsgrad=True, betas=(0.5, 0.6)), dict(lr=0.1, maximize=True, weight_decay=0.1)]


def formula(decoupled, steps, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, maximize=False):
    """The definition, step by step."""
    p, mean, square, largest = START.copy(), 0.0, 0.0, 0.0
    for t in range(1, steps + 1):
        g = gradient(p) * (-1 if maximize else 1)
        if decoupled:
            p = p - lr * weight_decay * p
        else:
            g = g + weight_decay * p
        mean = betas[0] * mean + (1 - betas[0]) * g
        square = betas[1] * square + (1 - betas[1]) * g * g
        largest = np.maximum(largest, square)
        root = np.sqrt((largest if amsgrad else square) / (1 - betas[1] ** t))
        p = p - lr * mean / (1 - betas[0] ** t) / (root + eps)
    return p


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("kind", "decoupled"), [(Adam, False), (AdamW, True)])
def test_adam_follows_its_formula(kind, decoupled, options):
    options = {"weight_decay": 0.0} | options
    assert np.allclose(walk(kind, 7, **options), formula(decoupled, 7, **options), rtol=1e-11)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [Adam, AdamW])
def test_adam_equals_torch(kind, options):
    assert np.allclose(walk(kind, 7, **options), torch_walk(kind.__name__, 7, **options), rtol=1e-11)


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
