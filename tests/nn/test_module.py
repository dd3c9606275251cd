"""Module: registration, traversal, state. Oracle: torch's documented behaviour, stated by hand, and torch itself."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn


class Net(nn.Module):
    """Two layers, one shared parameter, two buffers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.body = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        self.body[1].weight = nn.Parameter(np.eye(4, dtype=np.float32))
        self.shared = self.body[1].weight
        self.register_buffer("mean", np.zeros(4, np.float32))
        self.register_buffer("scratch", np.ones(2, np.float32), persistent=False)

    def forward(self, x):
        return self.body(self.first(x)) + self.mean


NAMES = ["shared", "first.weight", "first.bias", "body.1.bias"]


def test_module_names_parameters_buffers_and_modules():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_buffers()] == ["mean", "scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "body", "body.0", "body.1"]
    assert [name for name, _ in net.named_children()] == ["first", "body"]
    assert len(list(net.parameters())) == 4 and len(list(net.parameters(recurse=False))) == 1
    assert net.count_parameters() == 16 + 12 + 4 + 4


def test_module_state_dict_has_every_key_and_no_transient_buffer():
    keys = ["shared", "mean", "first.weight", "first.bias", "body.1.weight", "body.1.bias"]
    state = Net().state_dict()
    assert list(state) == keys and not any(value.requires_grad for value in state.values())


def test_module_reassignment_moves_a_name_between_tables():
    net = Net()
    net.mean = nn.Parameter(np.zeros(4, np.float32))
    assert "mean" in dict(net.named_parameters()) and "mean" not in dict(net.named_buffers())
    net.first = None
    assert "first.weight" not in dict(net.named_parameters()) and net.first is None
    del net.body
    assert not hasattr(net, "body")
    net.answer = 42
    assert net.answer == 42 and "answer" not in dict(net.named_buffers())


def test_module_buffer_assignment_keeps_it_a_buffer():
    net = Net()
    net.mean = net.mean + 1
    assert net.state_dict()["mean"].tolist() == [1, 1, 1, 1]


def test_module_refuses_assignments_that_would_lose_a_parameter():
    with pytest.raises(lnb.DTypeError, match="'shared' is a parameter"):
        Net().shared = np.zeros(3)
    with pytest.raises(lnb.DTypeError, match="'first' is a module"):
        Net().first = 3


def test_module_without_super_init_says_so():
    class Hasty(nn.Module):
        def __init__(self):
            self.layer = nn.ReLU()
    with pytest.raises(lnb.ConfigError, match=r"super\(\).__init__"):
        Hasty()


def test_module_missing_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'Net' has no attribute 'nothing'"):
        _ = Net().nothing
    with pytest.raises(AttributeError, match=r"no submodule 'body\.7'"):
        Net().get_submodule("body.7")


def test_module_modes_reach_all_below():
    net = Net()
    assert net.eval() is net and not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())


def test_module_zero_grad_and_freeze():
    net = Net()
    net(np.ones((2, 3), np.float32)).sum().backward()
    assert all(param.grad is not None for param in net.parameters())
    net.zero_grad()
    assert all(param.grad is None for param in net.parameters())
    net.requires_grad_(False)
    assert not net(np.ones((2, 3), np.float32)).requires_grad and net.count_parameters() == 0
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert all(param.requires_grad for param in net.requires_grad_().parameters())


def test_module_load_restores_values_and_casts():
    source, target = Net(), Net()
    state = {key: value.numpy().astype(np.float64) for key, value in source.state_dict().items()}
    kept = target.first.weight
    assert target.load_state_dict(state) == ([], [])
    assert target.first.weight is kept and kept.dtype == np.float32 and kept.requires_grad
    for key, value in target.state_dict().items():
        assert np.array_equal(value.numpy(), source.state_dict()[key].numpy())


def test_module_load_refuses_before_it_writes():
    net = Net()
    before = {key: value.numpy().copy() for key, value in net.state_dict().items()}
    state = dict(Net().state_dict())
    del state["mean"]
    with pytest.raises(lnb.errors.StateError, match=r"missing \['mean'\].*unexpected \['extra'\]"):
        net.load_state_dict({**state, "extra": np.zeros(1)})
    with pytest.raises(lnb.ShapeError, match=r"first\.bias"):
        net.load_state_dict({**Net().state_dict(), "first.bias": np.zeros(5)})
    assert all(np.array_equal(value.numpy(), before[key]) for key, value in net.state_dict().items())
    assert net.load_state_dict({**state, "extra": np.zeros(1)}, strict=False) == (["mean"], ["extra"])


def test_module_to_dtype_keeps_the_objects_and_their_gradients():
    net = Net()
    net(np.ones((2, 3), np.float32)).sum().backward()
    weight, shared = net.first.weight, net.shared
    net.register_buffer("count", np.arange(3))
    assert net.to(lnb.float64) is net
    assert net.first.weight is weight and net.body[1].weight is net.shared is shared
    assert {param.dtype.name for param in net.parameters()} == {weight.grad.dtype.name} == {"float64"}
    assert net.mean.dtype == np.float64 and net.count.dtype == np.int64
    assert net(np.ones((2, 3))).dtype == np.float64
    assert net.float().first.weight.dtype == np.float32


def test_module_hooks_see_and_replace():
    layer, seen = nn.ReLU(), []
    double = layer.register_forward_pre_hook(lambda module, args: args[0] * 2)
    watch = layer.register_forward_hook(lambda module, args, output: seen.append(output.tolist()))
    assert layer(lnb.tensor([-1.0, 1.0])).tolist() == [0, 2] and seen == [[0, 2]]
    double.remove()
    watch.remove()
    negate = layer.register_forward_hook(lambda module, args, output: -output)
    assert layer(lnb.tensor([3.0])).tolist() == [-3] and len(seen) == 1
    negate.remove()
    negate.remove()
    assert layer(lnb.tensor([3.0])).tolist() == [3]


def test_module_apply_visits_children_first():
    visited = []
    Net().apply(lambda module: visited.append(type(module).__name__))
    assert visited == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_module_repr_is_a_tree():
    assert repr(Net()) == """Net(
  (first): Linear(in_features=3, out_features=4, bias=True)
  (body): Sequential(
    (0): ReLU()
    (1): Linear(in_features=4, out_features=4, bias=True)
  )
)"""


def test_module_matches_torch_in_keys_and_values():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours = nn.Sequential(nn.Linear(3, 5), nn.GELU(), nn.Sequential(nn.Linear(5, 2)))
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.GELU(), torch.nn.Sequential(torch.nn.Linear(5, 2)))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    assert np.allclose(ours(x).detach().numpy(), theirs(torch.from_numpy(x)).detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_module_is_copied_with_its_ties_and_without_gradients(duplicate):
    net = Net()
    net(np.ones((2, 3), np.float32)).sum().backward()
    other = duplicate(net.eval())
    assert other.shared is other.body[1].weight is not net.shared and not other.training
    assert all(type(param) is nn.Parameter and param.grad is None for param in other.parameters())
    assert type(other.mean) is nn.Buffer and list(other.state_dict()) == list(net.state_dict())
    before = net.shared.numpy().copy()
    nn.init.zeros_(other.shared)
    assert np.array_equal(net.shared.numpy(), before)


def test_parameter_keeps_dtype_of_arrays_and_makes_numbers_float32():
    assert nn.Parameter(np.zeros(2)).dtype == np.float64
    assert nn.Parameter([0.5, 1.0]).dtype == np.float32
    frozen = nn.Parameter(np.ones(2), requires_grad=False)
    assert isinstance(frozen, lnb.Tensor) and not frozen.requires_grad
    source = np.ones(2)
    nn.Parameter(source).detach()[...] = 5
    assert source.tolist() == [1, 1]


def test_parameter_takes_part_in_every_kind_of_call():
    p = nn.Parameter(np.float32([1, 2, 3]))
    for result in (p * 2, 2 * p, p + p, -p, lnb.exp(p), p.sum(), p[1:], p.reshape(3, 1), lnb.where(p > 1, p, 0 * p)):
        assert type(result) is lnb.Tensor and result.requires_grad
    (p * p).sum().backward()
    assert p.grad.tolist() == [2, 4, 6] and p.is_leaf


@pytest.mark.parametrize("change, error, text", [
    ({"first.bias": np.ones(4, complex)}, lnb.DTypeError, r"first\.bias is complex128, not float32"),
    ({"first.bias": np.array(list("abcd"))}, lnb.DTypeError, "asarray: <U1 data"),
    (None, lnb.errors.StateError, r"load_state_dict: the state is a NoneType\. Pass what state_dict\(\) gave")],
    ids=["complex", "text", "None"])
def test_module_load_that_cannot_be_cast_changes_nothing(change, error, text):
    net = Net()
    before = {key: value.numpy().copy() for key, value in net.state_dict().items()}
    with pytest.raises(error, match=text):
        net.load_state_dict(change and {**Net().state_dict(), **change})
    assert all(np.array_equal(value.numpy(), before[key]) for key, value in net.state_dict().items())


def test_module_load_of_what_cannot_be_written_changes_nothing():
    net = Net()
    net.mean = lnb.broadcast_to(lnb.zeros(1, dtype="float32"), (4,))
    before = net.first.weight.detach().numpy().copy()
    with pytest.raises(lnb.ShapeError, match="load_state_dict of mean: the memory is read-only"):
        net.load_state_dict(Net().state_dict())
    assert np.array_equal(net.first.weight.detach().numpy(), before)


def test_module_load_of_its_own_memory_under_other_keys():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    first, second = (net[i].weight.detach().numpy().copy() for i in (0, 1))
    state = net.state_dict()
    net.load_state_dict({**state, "0.weight": state["1.weight"], "1.weight": state["0.weight"]})
    assert np.array_equal(net[0].weight.detach().numpy(), second)
    assert np.array_equal(net[1].weight.detach().numpy(), first)


def test_module_load_of_overlapping_parts_of_its_own_memory():
    net = nn.Sequential(nn.Linear(2, 4), nn.Linear(2, 4))
    shared = np.arange(24, dtype=np.float32).reshape(12, 2)
    for layer, start in ((net[0], 0), (net[1], 4)):
        layer.load_state_dict({"weight": lnb.asarray(shared)[start:start + 4], "bias": np.zeros(4)}, assign=True)
    wanted = shared.copy()
    state = net.state_dict()
    net.load_state_dict({**state, "0.weight": lnb.asarray(shared)[2:6], "1.weight": lnb.asarray(shared)[1:5]})
    assert np.array_equal(net[0].weight.detach().numpy(), wanted[2:6])
    assert np.array_equal(net[1].weight.detach().numpy(), wanted[1:5])


def test_module_load_needs_no_second_copy_of_the_state():
    layer = nn.Linear(600, 500)
    state = {key: np.ones(value.shape, np.float32) for key, value in layer.state_dict().items()}
    layer.load_state_dict(state)
    tracemalloc.start()
    layer.load_state_dict(state)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < layer.weight.nbytes / 4


@pytest.mark.parametrize("dtype", [lnb.int32, "int64", bool])
def test_module_to_a_dtype_without_gradient_is_refused(dtype):
    net = Net()
    before = net.first.weight.detach().numpy().copy()
    with pytest.raises(lnb.DTypeError, match=r"Module\.to: \w+ cannot be trained\. Use a float dtype"):
        net.to(dtype=dtype)
    assert np.array_equal(net.first.weight.detach().numpy(), before) and net.first.weight.dtype == np.float32


def test_module_to_that_is_refused_moves_nothing():
    net = Net()
    net.register_buffer("phase", np.ones(2, complex))
    with pytest.raises(lnb.DTypeError, match="loses the imaginary part"):
        net.to("float64")
    assert net.first.weight.dtype == np.float32


@pytest.mark.parametrize("data", [np.array([1, 2]), np.array([True]), lnb.arange(2)])
def test_parameter_of_integers_is_refused(data):
    with pytest.raises(lnb.DTypeError, match=r"Parameter: \w+ has no gradient"):
        nn.Parameter(data)
    assert nn.Parameter(data, requires_grad=False).dtype == data.dtype


@pytest.mark.parametrize(("value", "assign", "text"), [
    ("a", False, r"load_state_dict: 1\.bias is 'a', no array of numbers"),
    (None, True, r"load_state_dict: 1\.bias is None, no array of numbers"),
    (np.zeros(2, int), True, r"load_state_dict: 1\.bias is int64, which has no gradient")],
    ids=["text", "none", "integers"])
def test_a_value_that_cannot_be_loaded_is_named_before_any_is_written(value, assign, text):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    before = {key: tensor.numpy().copy() for key, tensor in net.state_dict().items()}
    state = {key: np.zeros_like(array) for key, array in before.items()} | {"1.bias": value}
    with pytest.raises(lnb.LucidError, match=text):
        net.load_state_dict(state, assign=assign)
    for key, tensor in net.state_dict().items():
        assert np.array_equal(tensor.numpy(), before[key]) and tensor.dtype == np.float32
