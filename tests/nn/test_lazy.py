"""Lazy layers. Oracle: the layers that they become, made by hand with the same seed."""

import copy
import pickle

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn

RNG = np.random.default_rng(2)
SHAPES = {1: (2, 4, 7), 2: (2, 4, 5, 6), 3: (2, 4, 4, 3, 5)}
CASES = {
    "Linear": ((3,), {}, (2, 5), 5),
    **{f"Conv{n}d": ((6, 2), dict(groups=2), shape, 4) for n, shape in SHAPES.items()},
    **{f"ConvTranspose{n}d": ((6, 2), dict(stride=2, bias=False), shape, 4) for n, shape in SHAPES.items()},
    **{f"BatchNorm{n}d": ((1e-3,), dict(momentum=0.3), shape, 4) for n, shape in SHAPES.items()},
    **{f"InstanceNorm{n}d": ((), dict(affine=True, track_running_stats=True), shape, 4) for n, shape in SHAPES.items()},
}


@pytest.mark.parametrize("name", CASES)
def test_lazy_layer_becomes_the_layer_of_its_name(name):
    args, kwargs, shape, size = CASES[name]
    x = RNG.normal(size=shape).astype(np.float32)
    lazy = getattr(nn, f"Lazy{name}")(*args, **kwargs)
    held, state = list(lazy.parameters()), list(lazy.state_dict())
    lnb.random.seed(4)
    found = lazy(x)
    lnb.random.seed(4)
    eager = getattr(nn, name)(size, *args, **kwargs)
    wanted = eager(x)
    assert type(lazy) is type(eager) and repr(lazy) == repr(eager) and vars(lazy).keys() == vars(eager).keys()
    np.testing.assert_array_equal(found.detach().numpy(), wanted.detach().numpy())
    assert state == list(lazy.state_dict()) == list(eager.state_dict())
    assert all(a is b and type(a) is nn.Parameter for a, b in zip(held, lazy.parameters(), strict=True))
    found.sum().backward()
    assert all(param.grad is not None for param in held)


def test_network_of_lazy_layers_trains_with_an_optimizer_made_before():
    net = nn.Sequential(nn.LazyConv1d(3, 2), nn.LazyBatchNorm1d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1))
    step = lnb.optim.SGD(net.parameters(), lr=0.1)
    x, losses = RNG.normal(size=(4, 2, 5)).astype(np.float32), []
    for _ in range(4):
        step.zero_grad()
        loss = ((net(x) - 1) ** 2).mean()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and isinstance(net[0], nn.Conv1d) and net[4].in_features == 12


def test_placeholders_move_and_are_cast_before_they_have_a_shape():
    layer = nn.LazyLinear(2).to(lnb.float64)
    assert layer(np.ones((1, 3))).dtype == np.float64 and layer.weight.dtype == np.float64


def test_state_can_be_read_before_the_first_input():
    source, layer = nn.Linear(3, 2), nn.LazyLinear(2)
    with pytest.raises(lnb.errors.StateError, match=r"missing \['bias'\]"):
        layer.load_state_dict({"weight": np.ones((2, 3))})
    assert isinstance(layer.weight, nn.UninitializedParameter)
    layer.load_state_dict(source.state_dict())
    x = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(layer(x).detach().numpy(), source(x).detach().numpy())
    assert type(layer) is nn.Linear and layer.in_features == 3


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))],
                         ids=["deepcopy", "pickle"])
def test_lazy_layer_is_copied_before_its_first_input(duplicate):
    layer = nn.LazyBatchNorm1d(affine=True)
    other = duplicate(layer)
    assert other(np.ones((2, 3), np.float32)).shape == (2, 3) and isinstance(layer.weight, nn.UninitializedParameter)
    assert layer(np.ones((4, 5), np.float32)).shape == (4, 5)


def test_placeholder_has_no_shape():
    weight = nn.LazyLinear(2).weight
    for read in (lambda: weight.shape, lambda: weight.size, lambda: weight.ndim, lambda: weight.detach(),
                 lambda: len(weight), lambda: weight + 1, lambda: 1 - weight, lambda: weight * weight,
                 lambda: weight @ weight, lambda: -weight, lambda: lnb.exp(weight), lambda: np.exp(weight),
                 lambda: weight.sum(), lambda: weight[0], lambda: weight.reshape(-1), lambda: weight.__iadd__(1),
                 lambda: lnb.where(weight, 1, 2), lambda: lnb.concatenate([weight, weight]), lambda: weight.numpy(),
                 lambda: weight == 1):
        with pytest.raises(lnb.errors.StateError, match=r"it has no shape yet\. Call the module on an input"):
            read()
    assert weight.requires_grad and weight.dtype == np.float32 and weight.is_leaf and weight.grad is None
    weight.requires_grad = False
    assert not weight.requires_grad


def test_input_with_too_few_axes_is_refused_and_leaves_the_layer_lazy():
    layer = nn.LazyConv2d(3, 2)
    with pytest.raises(lnb.ShapeError, match=r"LazyConv2d: an input of shape \(3,\) has too few axes"):
        layer(np.ones(3, np.float32))
    assert type(layer) is nn.LazyConv2d
    with pytest.raises(TypeError):
        nn.LazyLinear(3, nothing=2)
