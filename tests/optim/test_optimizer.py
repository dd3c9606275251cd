"""What all optimizers share: groups, state, saving. Oracle: the same run without the interruption."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.optim import SGD, Adam, Optimizer

from .walks import START


def parameter(value=START):
    """A parameter with a gradient of ones."""
    p = lnb.nn.Parameter(np.array(value))
    p.grad = lnb.asarray(np.ones_like(p.detach().numpy()))
    return p


def test_groups_have_settings_of_their_own():
    a, b = parameter([1.0]), parameter([1.0])
    SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.25).step()
    assert a.tolist() == [0.75] and b.tolist() == [0.5]


def test_named_parameters_are_accepted():
    layer = lnb.nn.Linear(2, 2)
    assert SGD(layer.named_parameters()).param_groups[0]["params"] == list(layer.parameters())


def test_parameters_without_gradient_are_left_alone():
    p = lnb.nn.Parameter(START)
    optimizer = Adam([p], lr=1.0)
    optimizer.step()
    assert np.array_equal(p.detach().numpy(), START) and not optimizer.state


def test_zero_grad_forgets_or_fills():
    p = parameter()
    optimizer = SGD([p])
    optimizer.zero_grad(set_to_none=False)
    assert not p.grad.numpy().any()
    optimizer.zero_grad()
    assert p.grad is None


def test_step_with_closure_records_and_returns_the_loss():
    p = lnb.nn.Parameter([3.0])
    optimizer = SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with lnb.no_grad():
        assert optimizer.step(closure).item() == 9 and p.tolist() == [0]


@pytest.mark.parametrize(("kind", "options"), [(SGD, dict(lr=0.1, momentum=0.9)), (Adam, dict(lr=0.1, amsgrad=True))])
def test_state_dict_continues_where_it_was(kind, options):
    def steps(p, optimizer, count):
        for _ in range(count):
            p.grad = p.detach() * 2 + 1
            optimizer.step()
    whole, first = lnb.nn.Parameter(START), lnb.nn.Parameter(START)
    steps(whole, kind([whole], **options), 5)
    interrupted = kind([first], **options)
    steps(first, interrupted, 2)
    second = lnb.nn.Parameter(first.detach().numpy())
    resumed = kind([second], lr=9.0)
    resumed.load_state_dict(interrupted.state_dict())
    steps(second, resumed, 3)
    assert np.array_equal(second.detach().numpy(), whole.detach().numpy())
    assert resumed.param_groups[0]["lr"] == 0.1


def test_state_dict_has_the_form_of_torch():
    p = parameter()
    optimizer = Adam([p], lr=0.1)
    optimizer.step()
    saved = optimizer.state_dict()
    assert saved["param_groups"][0]["params"] == [0] and set(saved["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}


def test_load_state_dict_takes_arrays_and_casts_them():
    p = lnb.nn.Parameter(START.astype(np.float32))
    optimizer = SGD([p], momentum=0.9)
    saved = optimizer.state_dict()
    saved["state"] = {0: {"momentum_buffer": np.ones((2, 3))}}
    optimizer.load_state_dict(saved)
    assert optimizer.state[p]["momentum_buffer"].dtype == np.float32


def test_load_state_dict_refuses_other_parameters():
    with pytest.raises(lnb.ShapeError, match="load_state_dict"):
        SGD([parameter()]).load_state_dict(SGD([parameter(), parameter()]).state_dict())


def test_optimizer_refuses_what_it_cannot_optimize():
    p = parameter()
    for params, error, text in [([], lnb.ConfigError, "no parameters"), (p, lnb.ConfigError, "one tensor"),
                                ([p, p], lnb.ConfigError, "given twice"), ([START], lnb.ConfigError, "ndarray"),
                                ([p * 2], lnb.GradError, "computed from others")]:
        with pytest.raises(error, match=text):
            SGD(params)


def test_optimizer_step_is_not_recorded_and_seen_by_views():
    p = parameter()
    row = p.detach()[0]
    SGD([p], lr=1.0).step()
    assert p.is_leaf and np.array_equal(row.numpy(), START[0] - 1)


def test_optimizer_without_update_says_so():
    class Idle(Optimizer):
        pass
    with pytest.raises(NotImplementedError, match="update is missing"):
        Idle([parameter()], {}).step()


@pytest.mark.parametrize("make, text", [
    (lambda p: SGD([p], lr="a"), "SGD: lr is 'a'"), (lambda p: SGD([p], momentum=None), "SGD: momentum is None"),
    (lambda p: SGD([p], dampening="a"), "SGD: dampening is 'a'"), (lambda p: SGD([p], lr=float("nan")), "lr is nan"),
    (lambda p: SGD([p], lr=np.ones(2)), "SGD: lr is array"), (lambda p: Adam([p], betas=0.9), "Adam: betas is 0.9"),
    (lambda p: Adam([p], betas=("a", 0.9)), "Adam: betas is"), (lambda p: Adam([p], eps="a"), "Adam: eps is 'a'"),
    (lambda p: SGD(None), "SGD: params is a NoneType"),
    (lambda p: SGD([{"lr": 1}]), r"SGD: a group has the keys \['lr'\]"),
    (lambda p: SGD([{"params": 3}]), "SGD: params is a int"),
    (lambda p: SGD([{"params": [p]}, p]), "SGD: a group is a"),
    (lambda p: SGD([p, {"params": []}]), "SGD: a group is a Parameter"),
    (lambda p: SGD([()]), "a parameter is a tuple")])
def test_optimizer_refuses_bad_settings_and_groups(make, text):
    with pytest.raises(lnb.ConfigError, match=text):
        make(parameter())


def test_load_state_dict_refuses_what_is_no_state_and_changes_nothing():
    optimizer = SGD([parameter()], lr=0.5)
    saved = optimizer.state_dict()
    for state in (None, {}, {"state": {}}):
        with pytest.raises(lnb.errors.StateError, match=r"load_state_dict: the state is"):
            optimizer.load_state_dict(state)
    with pytest.raises(lnb.ConfigError, match="SGD: lr is 'a'"):
        optimizer.load_state_dict({**saved, "param_groups": [{**saved["param_groups"][0], "lr": "a", "momentum": 0.9}]})
    assert optimizer.param_groups[0]["lr"] == 0.5 and optimizer.param_groups[0]["momentum"] == 0.0


@pytest.mark.parametrize("part", [lnb.zeros(3), np.zeros((2, 4)), lnb.zeros((3, 2))], ids=lambda part: str(part.shape))
@pytest.mark.parametrize("make, name", [(lambda p: Adam([p]), "exp_avg"), (lambda p: SGD([p], 1.0), "momentum_buffer")])
def test_load_state_dict_refuses_arrays_that_are_not_like_their_parameter(make, name, part):
    optimizer = make(parameter())
    saved = {**optimizer.state_dict(), "state": {0: {name: part}}}
    with pytest.raises(lnb.errors.StateError, match=rf"load_state_dict: {name} has shape .* of shape \(2, 3\)"):
        optimizer.load_state_dict(saved)
    assert not optimizer.state


def test_load_state_dict_refuses_states_of_parameters_that_there_are_not():
    optimizer = Adam([parameter()])
    saved = optimizer.state_dict()
    for state in ({7: {}}, {"a": {}}, {-1: {}}, 1, {0: 1}):
        with pytest.raises(lnb.errors.StateError, match="load_state_dict: state"):
            optimizer.load_state_dict({**saved, "state": state})
    for groups in (2, [1], [{"params": 1}]):
        with pytest.raises(lnb.errors.StateError, match="load_state_dict: param_groups"):
            optimizer.load_state_dict({**saved, "param_groups": groups})


@pytest.mark.parametrize("part", [lnb.zeros(1), lnb.zeros(()), np.zeros((2, 3)), "x"], ids=str)
def test_step_refuses_a_state_that_is_not_like_its_parameter(part):
    p = parameter()
    optimizer = Adam([p])
    p.sum().backward()
    optimizer.step()
    optimizer.state[p]["exp_avg"] = part
    p.sum().backward()
    with pytest.raises(lnb.errors.StateError, match=r"Adam.step: exp_avg .* of shape \(2, 3\)"):
        optimizer.step()
