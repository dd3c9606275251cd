"""Sequential. Oracle: calling the modules by hand."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn


def test_sequential_calls_in_order():
    first, second, x = nn.Linear(3, 4), nn.Linear(4, 2), np.ones((1, 3), np.float32)
    net = nn.Sequential(first, nn.ReLU(), second)
    assert np.array_equal(net(x).detach().numpy(), second(lnb.relu(first(x))).detach().numpy())


def test_sequential_takes_names():
    net = nn.Sequential({"inner": nn.Linear(2, 2), "act": nn.ReLU()})
    assert list(net.state_dict()) == ["inner.weight", "inner.bias"] and isinstance(net.act, nn.ReLU)


def test_sequential_is_a_sequence():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    net = nn.Sequential(a).append(b).extend([c])
    assert len(net) == 3 and list(net) == [a, b, c] and net[-1] is c and list(net[1:]) == [b, c]
    net[0] = c
    assert net[0] is c
    with pytest.raises(lnb.errors.IndexError, match="index 3 of 3 modules"):
        _ = net[3]


def test_sequential_refuses_what_is_no_module():
    with pytest.raises(lnb.DTypeError, match="Pass an nn"):
        nn.Sequential(np.tanh)


def test_empty_sequential_is_the_identity_and_is_walked():
    net = nn.Sequential(nn.Sequential(), nn.Linear(1, 1))
    assert nn.Sequential()(5) == 5 and len(list(net.modules())) == 3


@pytest.mark.parametrize("call, text", [
    (lambda: nn.ModuleList(3), "ModuleList: a int is no list"),
    (lambda: nn.ParameterList(3), "ParameterList: a int is no list"),
    (lambda: nn.utils.clip_grad_norm_(3, 1), "clip_grad_norm_: a int is no list"),
    (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 20, 3), "AdaptiveLogSoftmaxWithLoss: a int is no list"),
    (lambda: nn.ModuleList([nn.ReLU(), 3]), "ModuleList: module '1' is a int"),
    (lambda: nn.ModuleDict(3), "ModuleDict: a int is no mapping"),
    (lambda: nn.ModuleDict({"training": nn.ReLU()}), "'training' is an attribute of every module"),
    (lambda: nn.ParameterDict({3: np.ones(1)}), "the name 3 is a int")],
    ids=["list", "parameters", "gradients", "cutoffs", "member", "dict", "training", "name"])
def test_what_holds_no_modules_is_refused(call, text):
    with pytest.raises((lnb.DTypeError, lnb.ConfigError), match=text):
        call()


def test_list_that_is_refused_a_member_is_as_before():
    layers = nn.ModuleList([nn.ReLU()])
    with pytest.raises(lnb.DTypeError):
        layers.extend([nn.Tanh(), 3])
    assert len(layers) == 1


@pytest.mark.parametrize("pairs", [{"a": nn.ReLU(), "b": 3}, {"a": nn.ReLU(), "b.c": nn.ReLU()}],
                         ids=["no module", "no name"])
def test_a_dict_of_modules_takes_all_or_none(pairs):
    layers = nn.ModuleDict({"a": nn.Tanh()})
    with pytest.raises(lnb.LucidError, match="ModuleDict: "):
        layers.update(pairs)
    assert list(layers) == ["a"] and isinstance(layers["a"], nn.Tanh)
