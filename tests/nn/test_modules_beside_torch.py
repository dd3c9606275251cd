"""What programs do with modules, run with both libraries: what they log must be the same. The oracle is PyTorch."""

import inspect
import warnings

import numpy as np
import pytest

import lucid_nb as lnb

HEAD = '''
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.body = nn.Sequential(nn.ReLU(), nn.BatchNorm1d(3))
        self.tied = self.first
        self.register_buffer("kept", lib.ones(2))
        self.register_buffer("scratch", lib.zeros(2), persistent=False)
    def forward(self, x):
        return self.body(self.first(x))
'''

PROGRAMS = {
    "list": '''
m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
m.append(nn.Sigmoid()); m.extend([nn.Linear(2, 3), nn.Linear(3, 2)]); m.insert(1, nn.Linear(1, 1))
log(m, len(m), m[-1], m[1:3], [type(x).__name__ for x in m], sorted(m.state_dict()))
m[0] = nn.Identity(); del m[1]; log(m); del m[1:3]; log(m, m.pop(0), m, nn.Tanh() in m, m[0] in m)
m += [nn.ReLU()]; log(m, m + [nn.Tanh()], type(m + [nn.Tanh()]).__name__)
log(*[error(lambda: m[7]), error(lambda: nn.ModuleList([3]))])
''',
    "sequential": '''
m = nn.Sequential(nn.ReLU(), nn.Tanh())
m.insert(1, nn.Sigmoid()); m.append(nn.SiLU()); m.extend([nn.Mish()]); log(m, m[1:3], m[-1])
del m[0]; log(m, m.pop(1), m); m += nn.Sequential(nn.ReLU()); log(m, m + nn.Sequential(nn.Tanh()))
log(m * 2, 2 * m); m *= 2; log(m, nn.Sequential(), len(nn.Sequential()))
n = nn.Sequential({}) if lib.__name__ != "torch" else nn.Sequential()
n.add_module("a", nn.ReLU()); n.add_module("b", nn.Tanh()); log(n, n[:1], n.a); del n[0]; log(n)
''',
    "dict": '''
m = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 2)})
m["c"] = nn.Tanh(); m.update([["d", nn.Sigmoid()], ["a", nn.Mish()]]); m.update({"e": nn.ReLU()})
log(m, list(m), list(m.keys()), [str(x) for x in m.values()], [k for k, _ in m.items()], len(m), "b" in m, "z" in m)
log(m.pop("a"), m); del m["c"]; log(m, m["b"], sorted(m.state_dict())); m.clear(); log(m, len(m))
log(error(lambda: m["z"]), error(lambda: m.update({"y": 3})), error(lambda: m.update({"training": nn.ReLU()})))
''',
    "parameter list": '''
m = nn.ParameterList([lib.ones(2), nn.Parameter(lib.zeros(3))])
m.append(lib.zeros((1, 2))); m.extend([lib.ones(4)]); m += [lib.ones(5)]
log(len(m), [tuple(p.shape) for p in m], sorted(m.state_dict()), isinstance(m[0], nn.Parameter), tuple(m[-1].shape))
m[0] = lib.ones(7); log(tuple(m[0].shape), [tuple(p.shape) for p in m[1:3]], [k for k, _ in m.named_parameters()])
m.append("plain"); log(len(m), m[-1], sorted(m.state_dict()), error(lambda: m[9]))
''',
    "parameter dict": '''
m = nn.ParameterDict({"b": lib.ones(2), "a": nn.Parameter(lib.zeros(3))})
m["c"] = lib.ones(4); m.update({"d": lib.ones(5), "b": lib.ones(6)}); m["text"] = "plain"
log(list(m), len(m), [k for k, _ in m.named_parameters()], "a" in m, m["text"], tuple(m["b"].shape))
log(tuple(m.pop("a").shape), m.popitem(), list(m.keys()), list(reversed(m)), tuple(m.get("c").shape), m.get("z", 1))
log(tuple(m.setdefault("e", lib.ones(1)).shape), list(m | nn.ParameterDict({"q": lib.ones(1)})), list(m.copy()))
del m["e"]; log(list(m), error(lambda: m["z"])); m.clear(); log(len(m), m.fromkeys(["u"], 3)["u"])
''',
    "names": '''
m = Net()
log([k for k, _ in m.named_parameters()], [k for k, _ in m.named_parameters(remove_duplicate=False)])
log([k for k, _ in m.named_modules()], [k for k, _ in m.named_modules(remove_duplicate=False)])
log([k for k, _ in m.named_modules(prefix="p")], [k for k, _ in m.named_parameters("p", recurse=False)])
log([k for k, _ in m.named_buffers()], [k for k, _ in m.named_buffers("p")], [k for k, _ in m.named_children()])
log(len([*m.modules()]), len([*m.modules(remove_duplicate=False)]), len([*m.parameters()]), len([*m.children()]))
memo = {m.body}
log([k for k, _ in m.named_modules(memo)], len(memo))
log(list(m.state_dict()), list(m.state_dict(prefix="x.")))
log(m.get_submodule("body.1"), tuple(m.get_parameter("body.1.weight").shape), tuple(m.get_buffer("kept").shape))
log(error(lambda: m.get_parameter("kept")), error(lambda: m.get_buffer("first.z")), error(lambda: m.get_submodule("q")))
m.set_submodule("body.0", nn.Tanh()); log(m, error(lambda: m.set_submodule("body.7", nn.ReLU(), strict=True)))
''',
    "attributes": '''
m = Net()
m.kept = lib.zeros(2); log(list(m.state_dict())); m.kept = None; log(list(m.state_dict()), m.kept)
m.scratch = nn.Buffer(lib.ones(2)); log("scratch" in m.state_dict()); m.more = nn.Buffer(lib.ones(1), persistent=False)
log("more" in m.state_dict(), [k for k, _ in m.named_buffers()])
log(error(lambda: setattr(m, "first", 3)), error(lambda: setattr(m, "kept", 3)), error(lambda: delattr(m, "q")))
del m.body; log([k for k, _ in m.named_modules()], hasattr(m, "body"), "first" in dir(m), "kept" in dir(m))
log(error(lambda: m.register_parameter("a.b", None)), error(lambda: m.register_buffer("", None)))
log(error(lambda: m.register_parameter("w", lib.ones(1))), error(lambda: m.add_module("w", 3)))
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_of = 0
    @property
    def scale(self):
        return self.log_of * 2
    @scale.setter
    def scale(self, value):
        self.log_of = value / 2
s = Scaled(); s.scale = 6; log(s.log_of, s.scale)
''',
    "hooks of states": '''
m = Net()
m.register_state_dict_pre_hook(lambda m, prefix, keep: log("before", prefix, keep))
def drop(m, found, prefix, meta):
    del found[prefix + "1.num_batches_tracked"]
h = m.body.register_state_dict_post_hook(drop)
log([k for k in m.state_dict()]); h.remove()
def rename(m, state, prefix, meta, strict, missing, unexpected, errors):
    if prefix + "old" in state:
        state[prefix + "kept"] = state.pop(prefix + "old")
h = m.register_load_state_dict_pre_hook(rename)
m.register_load_state_dict_post_hook(lambda m, keys: log("read", keys.missing_keys, keys.unexpected_keys))
state = m.state_dict(); state["old"] = state.pop("kept") * 3
keys = m.load_state_dict(state); log(keys.missing_keys, keys.unexpected_keys, m.kept.tolist(), "old" in state)
h.remove(); keys = m.load_state_dict(state, strict=False); log(keys.missing_keys, keys.unexpected_keys)
''',
    "extra state": '''
class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(lib.ones(1)); self.count = 0
    def get_extra_state(self):
        return {"count": self.count}
    def set_extra_state(self, state):
        self.count = state["count"]
m = nn.Sequential(Counting(), nn.ReLU()); m[0].count = 5
state = m.state_dict(); log(list(state), state["0._extra_state"])
n = nn.Sequential(Counting(), nn.ReLU()); log(n.load_state_dict(state).missing_keys, n[0].count)
del state["0._extra_state"]; log(error(lambda: n.load_state_dict(state)), n.load_state_dict(state, strict=False)[0])
''',
    "loading": '''
m = Net(); state = {k: v * 0 + 2 for k, v in m.state_dict().items()}
weight = m.first.weight
m.load_state_dict(state, assign=True)
log(m.first.weight is weight, isinstance(m.first.weight, nn.Parameter), m.first.weight.requires_grad)
log(m.first.weight.tolist(), m.kept.tolist(), m.body[1].num_batches_tracked.tolist())
del state["body.1.num_batches_tracked"]
log(m.load_state_dict(state).missing_keys, error(lambda: m.load_state_dict({**state, "extra": lib.ones(1)})))
log(error(lambda: m.load_state_dict({**state, "kept": lib.ones(3)})))
''',
    "modes and gradients": '''
m = Net(); m.eval(); log(m.training, m.body[1].training); m.train(); m.body.eval(); log(m.training, m.body[1].training)
m.requires_grad_(False); log([p.requires_grad for p in m.parameters()], m(lib.ones((1, 2))).requires_grad)
m.requires_grad_().eval(); m(lib.ones((1, 2))).sum().backward(); log(m.first.bias.grad is None)
m.zero_grad(set_to_none=False); log(m.first.bias.grad.tolist()); m.zero_grad(); log(m.first.bias.grad is None)
order = []; m.apply(lambda x: order.append(type(x).__name__) and None); log(order)
log(str(m.double().first.weight.dtype).split(".")[-1], m.float() is m, m.cpu() is m, m.to(lib.ones(1)) is m)
log(str(m.first.weight.dtype).split(".")[-1], m.body[1].num_batches_tracked.tolist())
''',
    "hooks that are always called": '''
m = nn.Linear(2, 2); seen = []
m.register_forward_hook(lambda *a: seen.append("plain") and None)
m.register_forward_hook(lambda m, args, out: seen.append(out is None) and None, always_call=True)
m(lib.ones((1, 2))); log(seen); log(error(lambda: m(lib.ones((1, 3)))), seen)
''',
    "conversions": '''
m = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm2d(3)), nn.ReLU()))
log(type(m[1][0]).__name__, list(m.state_dict()), m[1][0].training)
''',
}


def logged(text, library):
    """What a program logs, everything as text; of errors, that there was one."""
    events = []

    def error(call):
        try:
            call()
        except Exception:
            return "refused"
        return "allowed"
    names = {"lib": library, "nn": library.nn, "error": error,
             "log": lambda *values: events.append([*map(str, values)])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(HEAD + text, names)
    return events


@pytest.fixture
def default_float32():
    """Numbers are float32, as PyTorch's are."""
    lnb.set_default_dtype("float32")
    yield
    lnb.set_default_dtype("float64")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("default_float32")
def test_programs_do_the_same_as_with_torch(name):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    assert logged(PROGRAMS[name], lnb) == logged(PROGRAMS[name], torch)


TORCH_S_OWN = {"T_destination", "call_super_init", "dump_patches",               # of type checkers and older versions
               "compile", "share_memory",                                         # of PyTorch's own machinery
               "ipu", "mtia", "xpu"}                                              # devices that there are not


def test_module_has_every_method_of_torch_s():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for kind in (torch.nn.Module, torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList,
                 torch.nn.ParameterDict):
        names = {name for name in dir(kind) if not name.startswith("_")}
        assert names - set(dir(getattr(lnb.nn, kind.__name__))) <= TORCH_S_OWN, kind.__name__


def test_functions_of_torch_are_there():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for place in ("nn.init", "nn.utils.rnn", "nn.utils.parametrize"):
        ours, theirs = lnb, torch
        for part in place.split("."):
            ours, theirs = getattr(ours, part), getattr(theirs, part)
        wanted = {name for name, value in vars(theirs).items() if callable(value) and name[0] != "_" and
                  getattr(value, "__module__", "") == theirs.__name__}
        missing = {name for name in wanted if not hasattr(ours, name)}
        assert missing <= {"invert_permutation", "bind", "PackedSequence_", "type_before_parametrizations",
                           "transfer_parametrizations_and_params"}, place
    assert np.all([hasattr(lnb.nn.utils, name) for name in torch.nn.utils.__all__ if name not in {
        "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "skip_init", "stateless"}])


# ------------------------------------------------------------------------------------------------- signatures
LEFT_OUT = {"size_average", "reduce",                                # reduction says it since 2018
            "min_value", "max_value",                                # min_val and max_val do
            "_freeze", "_stacklevel", "out", "num_chunks", "args", "kwargs"}
SAID_OTHERWISE = {"affine", "track_running_stats", "dim", "activation", "device", "dtype", "data", "nhead"}   # None


def taken(kind):
    """The arguments of a class or a function."""
    return inspect.signature(kind).parameters


@pytest.mark.parametrize("place", ["nn", "nn.functional", "nn.init"])
def test_arguments_have_torch_s_names_places_and_defaults(place):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = lnb, torch
    for part in place.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    compared = 0
    for name in sorted({name for name in dir(theirs) if name[0] != "_"} & set(dir(ours)) - {"Buffer", "Parameter"}):
        try:
            wanted, found = taken(getattr(theirs, name)), taken(getattr(ours, name))
        except (TypeError, ValueError):
            continue                                                 # modules, and what is written in C++
        names = [one for one in wanted if one not in LEFT_OUT]
        assert [one for one in found if one in names] == names, name
        assert {one: found[one].default for one in names if one not in SAID_OTHERWISE} == {
            one: wanted[one].default for one in names if one not in SAID_OTHERWISE}, name
        compared += 1
    assert compared > 10
