"""What all optimizers share: groups, state, saving. Oracle: the same run without the interruption."""

import copy
import pickle

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import optim
from lucid_nb.optim import SGD, Adam, Optimizer

from .cases import OPTIONS
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


@pytest.mark.parametrize("name", list(OPTIONS))
def test_pickled_and_copied_optimizers_go_on_alike(name):
    """Oracle: the optimizer itself. A parameter and its optimizer stay together in one pickle."""
    def steps(p, optimizer):
        for _ in range(2):
            p.grad = p.detach() * 2 + 1
            optimizer.step()
        return p.detach().numpy().copy()
    p = lnb.nn.Parameter(START)
    optimizer = getattr(optim, name)([p], **OPTIONS[name][-1])
    steps(p, optimizer)
    pairs = pickle.loads(pickle.dumps((p, optimizer))), copy.deepcopy((p, optimizer))
    wanted = steps(p, optimizer)
    for q, other in pairs:
        assert other.param_groups[0]["params"][0] is q and q in other.state
        assert np.array_equal(steps(q, other), wanted)


@pytest.mark.parametrize("name", list(OPTIONS))
def test_every_optimizer_resumes_from_its_state(name):
    """Oracle: the run without the interruption, bit for bit; the state of half precision is float32."""
    for dtype in ("float32", "float16"):
        def steps(p, optimizer, count):
            for _ in range(count):
                p.grad = p.detach() * 2 + 1
                optimizer.step()
            return p.detach().to_host()
        whole, first = (lnb.nn.Parameter(START, dtype=dtype) for _ in range(2))
        wanted = steps(whole, getattr(optim, name)([whole], **OPTIONS[name][-1]), 4)
        interrupted = getattr(optim, name)([first], **OPTIONS[name][-1])
        second = lnb.nn.Parameter(steps(first, interrupted, 2).copy())
        resumed = getattr(optim, name)([second])
        resumed.load_state_dict(pickle.loads(pickle.dumps(interrupted.state_dict())))
        assert np.array_equal(steps(second, resumed, 2), wanted)


@pytest.mark.parametrize("name", list(OPTIONS))
def test_states_of_torch_are_read(name):
    """torch counts steps in tensors, and keeps choices of implementation among the settings."""
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    if name == "Lion":
        return
    theirs = torch.tensor(START, requires_grad=True)
    other = getattr(torch.optim, name)([theirs], **OPTIONS[name][-1])
    for _ in range(2):
        theirs.grad = theirs.detach() * 2 + 1
        other.step()
    saved = other.state_dict()
    saved["state"] = {key: {part: value.numpy() if torch.is_tensor(value) else value for part, value in state.items()}
                      for key, state in saved["state"].items()}
    p = lnb.nn.Parameter(theirs.detach().numpy().copy())
    optimizer = getattr(optim, name)([p])
    optimizer.load_state_dict(saved)
    p.grad, theirs.grad = p.detach() * 2 + 1, theirs.detach() * 2 + 1
    optimizer.step()
    other.step()
    assert np.allclose(p.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)


BETAS = dict(lr=-1.0, betas=(0.9, 1.0), eps=-1e-8, weight_decay=-0.1)
WRONG = {
    "SGD": dict(lr=-1.0, momentum=-0.1, weight_decay=-0.1), "Adam": BETAS, "AdamW": BETAS, "RAdam": BETAS,
    "NAdam": BETAS | dict(momentum_decay=-1), "Adamax": BETAS,
    "Lion": dict(lr=-1, betas=(-0.1, 0.9), weight_decay=-0.1),
    "Adagrad": dict(lr=-1, lr_decay=-1, weight_decay=-1, initial_accumulator_value=-1, eps=-1),
    "Adadelta": dict(lr=-1, rho=1.5, eps=-1, weight_decay=-1),
    "RMSprop": dict(lr=-1, alpha=-1, eps=-1, weight_decay=-1, momentum=-1),
    "Rprop": dict(lr=-1, etas=(1.2, 0.5), step_sizes=(2.0, 1.0)), "ASGD": dict(lr=-1, weight_decay=-1, t0="a"),
    "Adafactor": dict(lr=-1, beta2_decay=0.5, eps=(-1, 1), d=0.5, weight_decay=-1),
}


@pytest.mark.parametrize(("name", "setting"), [(name, setting) for name, wrong in WRONG.items() for setting in wrong],
                         ids=[f"{name}-{setting}" for name, wrong in WRONG.items() for setting in wrong])
def test_every_optimizer_names_settings_out_of_range(name, setting):
    p, value = parameter(), WRONG[name][setting]
    with pytest.raises(lnb.ConfigError, match=rf"^{name}: {setting} is .*\. Use "):
        getattr(optim, name)([p], **{setting: value})
    optimizer = getattr(optim, name)([p])
    saved = optimizer.state_dict()
    with pytest.raises(lnb.ConfigError, match=rf"^{name}: {setting} is .*\. Use "):
        optimizer.load_state_dict({**saved, "param_groups": [{**saved["param_groups"][0], setting: value}]})
    with pytest.raises(lnb.ConfigError, match=rf"^{name}: {setting} is .*\. Use "):
        optimizer.add_param_group({"params": [parameter()], setting: value})
    assert len(optimizer.param_groups) == 1 and optimizer.param_groups[0][setting] != value


def test_groups_with_unknown_settings_or_half_of_the_names_are_refused():
    p = parameter()
    with pytest.raises(lnb.ConfigError, match=r"SGD: a group has the setting 'learning_rate'. Use lr, momentum"):
        SGD([{"params": [p], "learning_rate": 0.1}])
    with pytest.raises(lnb.ConfigError, match="SGD: some parameters have names"):
        SGD([("weight", p), parameter()])
    with pytest.raises(lnb.ConfigError, match="Adam: differentiable is True"):
        Adam([p], differentiable=True)
    optimizer = SGD([("weight", p)])
    assert optimizer.param_groups[0]["param_names"] == ["weight"]
    optimizer.add_param_group({"params": parameter(), "name": "head", "initial_lr": 1.0})
    with pytest.raises(lnb.ConfigError, match="given twice"):
        optimizer.add_param_group({"params": [p]})
    assert len(optimizer.param_groups) == 2


def test_states_of_another_kind_are_refused():
    p = parameter()
    optimizer, other = SGD([p], momentum=0.9), Adam([p])
    other.step()
    states = other.state_dict()["state"], {0: {"step": "many"}}, {0: {"momentum_buffer": np.ones((2, 3)), "speed": 1}}
    for wrong in states:
        with pytest.raises(lnb.errors.StateError, match="load_state_dict: "):
            optimizer.load_state_dict({**optimizer.state_dict(), "state": wrong})
    assert not optimizer.state


def test_settings_of_one_element_become_numbers():
    optimizer = Adam([parameter()], lr=lnb.tensor(0.1), eps=np.float32(0.5))
    assert type(optimizer.param_groups[0]["lr"]) is float and optimizer.param_groups[0]["eps"] == 0.5


def test_zero_grad_fills_with_zeros_what_is_not_finite():
    p = parameter()
    p.grad = p.grad * np.inf
    SGD([p]).zero_grad(set_to_none=False)
    assert p.grad.tolist() == np.zeros((2, 3)).tolist()


def test_weights_that_are_tied_step_once():
    """lucid steps them once for each module that holds them. Oracle: one step of lr times the gradient of ones."""
    one, two = lnb.nn.Linear(2, 2, bias=False), lnb.nn.Linear(2, 2, bias=False)
    two.weight = one.weight
    before = one.weight.detach().numpy().copy()
    model = lnb.nn.Sequential(one, two)
    optimizer = SGD(model.parameters(), lr=0.5)
    one.weight.grad = lnb.ones((2, 2), dtype="float32")
    optimizer.step()
    assert np.array_equal(one.weight.detach().numpy(), before - 0.5)


def test_amsgrad_remembers_its_largest_mean_square():
    """lucid never stores it. Oracle: after gradients of 2, then 0, the divisor is still that of the first step."""
    p = lnb.nn.Parameter([0.0, 0.0])
    optimizer = Adam([p], lr=1.0, betas=(0.0, 0.5), amsgrad=True)
    for g in (2.0, 0.0):
        p.grad = lnb.asarray(np.float32([g, g]))
        optimizer.step()
    assert optimizer.state[p]["max_exp_avg_sq"].tolist() == [2.0, 2.0]
    assert optimizer.state[p]["exp_avg_sq"].tolist() == [1.0, 1.0]


def test_gradients_of_another_dtype_never_change_the_parameter():
    """lucid's SGD turns float32 parameters into float64."""
    p = lnb.nn.Parameter(START.astype(np.float32))
    (p.astype("float64") * lnb.asarray(START)).sum().backward()
    assert p.grad.dtype == np.float32
    with pytest.raises(lnb.GradError, match="float64"):
        p.grad = lnb.ones((2, 3), dtype="float64")
    SGD([p], momentum=0.9).step()
    assert p.dtype == np.float32


# ------------------------------------------------------------------------------------------------------- hooks
def hooked_lines(kind, p, closure):
    """What hooks of a step and of the state are told, in order, and the rate that one of them makes of 0.5."""
    lines, optimizer = [], kind([p], lr=0.5)
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: lines.append(("before", o is args[0], len(args)))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: lines.append(("after", sorted(kwargs))))]
    optimizer.register_state_dict_pre_hook(lambda o: lines.append("saving"))
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "note": 7})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: {**state, "param_groups": [
        {**group, "lr": 0.25} for group in state["param_groups"]]})
    optimizer.register_load_state_dict_post_hook(lambda o: lines.append("second"))
    optimizer.register_load_state_dict_post_hook(lambda o: lines.append("first"), prepend=True)
    optimizer.step(closure)
    for handle in handles:
        handle.remove()
    optimizer.step(closure)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    return [*lines, state["note"], optimizer.param_groups[0]["lr"]]


@pytest.mark.parametrize("name", ["SGD", "LBFGS"])
def test_hooks_of_steps_and_states_are_told_as_pytorch_tells_them(name):
    p = lnb.nn.Parameter(np.float32([1, 2]))
    found = hooked_lines(getattr(lnb.optim, name), p, lambda: (p * p).sum())
    assert found == [("before", True, 2), ("after", []), "saving", "first", "second", 7, 0.25]
    torch = pytest.importorskip("torch", reason="torch is not installed")
    q = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    theirs = hooked_lines(getattr(torch.optim, name), q, lambda: (q * q).sum())
    assert found == theirs


def test_hooks_of_a_step_change_its_arguments_and_stay_with_their_optimizer():
    p = lnb.nn.Parameter(np.float32([1]))
    optimizer = SGD([p], lr=1.0)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 5.0), kwargs))
    assert optimizer.step() == 5.0 and pickle.loads(pickle.dumps(optimizer)).step() is None
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(lnb.ConfigError, match=r"SGD\.step: a hook gave 3\. Give \(args, kwargs\), or None"):
        optimizer.step()
    with pytest.raises(lnb.DTypeError, match="register_step_post_hook: 3 is not a function"):
        optimizer.register_step_post_hook(3)
