"""Hooks of modules beside PyTorch's, and modules called with other parameters."""

import warnings

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.errors import DTypeError, GradError, ShapeError, StateError

random = np.random.default_rng(9)
X, Y = random.standard_normal((2, 3)), random.standard_normal((2, 3))

HEAD = '''
class Two(nn.Module):
    def forward(self, x, y=None, *, scale=1.0):
        return x * scale, (x if y is None else y) * 3

class One(nn.Module):
    def forward(self, x, n=2, y=None):
        return x ** n if y is None else x * y
'''

PROGRAMS = {
    "forward order and replacement": '''
m = One()
m.register_forward_pre_hook(lambda m, args: log("a", *args))
m.register_forward_pre_hook(lambda m, args: log("b", *args) or (args[0] * 2, 3))
m.register_forward_pre_hook(lambda m, args: log("c", *args), prepend=True)
h = m.register_forward_hook(lambda m, args, out: log("d", args[0], out) or out + 1)
m.register_forward_hook(lambda m, args, out: log("e", out))
m.register_forward_hook(lambda m, args, out: log("f", out), prepend=True)
log("y", m(x))
h.remove()
log("y", m(x))
''',
    "keywords": '''
m = Two()
m.register_forward_pre_hook(lambda m, args, kwargs: log("pre", args[0], kwargs["scale"]) or (args, {"scale": 5.0}),
                            with_kwargs=True)
m.register_forward_hook(lambda m, args, kwargs, out: log("post", args[0], kwargs["scale"], out[0]), with_kwargs=True)
m.register_forward_hook(lambda m, args, out: log("plain", out[1]))
log("y", m(x, scale=2.0)[0])
''',
    "backward": '''
m = One()
m.register_full_backward_hook(lambda m, gi, go: log("hook", *gi, *go))
m.register_full_backward_hook(lambda m, gi, go: log("first", *gi, *go), prepend=True)
m.register_full_backward_pre_hook(lambda m, go: log("pre", *go))
z = m(x * 2, 3)
(z * z).sum().backward()
log("x", x.grad)
''',
    "backward replaces": '''
m = One()
m.register_full_backward_pre_hook(lambda m, go: (go[0] * 10,))
m.register_full_backward_hook(lambda m, gi, go: log("1", *gi, *go) or (gi[0] + 1, None))
m.register_full_backward_hook(lambda m, gi, go: log("2", *gi, *go))
m(x * 1, 2).sum().backward()
log("x", x.grad)
''',
    "several in and out": '''
m = Two()
m.register_full_backward_hook(lambda m, gi, go: log("hook", *gi, *go))
m.register_full_backward_pre_hook(lambda m, go: log("pre", *go))
a, b = m(x * 1, y * 1)
(a * 2 + b).sum().backward()
log("x", x.grad); log("y", y.grad)
x.grad = y.grad = None
a, b = m(x * 1, y * 1)
b.sum().backward()
log("x", x.grad)
log("y", y.grad)
''',
    "inputs without gradient": '''
m = nn.Linear(3, 2)
assign(m.weight, w)
assign(m.bias, w[:, 0])
m.register_full_backward_hook(lambda m, gi, go: log("hook", *gi, *go))
m.register_full_backward_pre_hook(lambda m, go: log("pre", *go))
m(x.detach()).sum().backward()
log("w", m.weight.grad)
''',
    "second derivative": '''
m = nn.Tanh()
m.register_full_backward_hook(lambda m, gi, go: log("hook", *gi, *go) or (gi[0] * 2,))
g, = lib.autograd.grad(m(x).sum(), x, create_graph=True)
log("g", g.detach())
g.sum().backward()
log("x", x.grad)
''',
    "nested": '''
inner, outer = One(), nn.Sequential(One(), nn.Tanh(), One())
outer.register_full_backward_hook(lambda m, gi, go: log("outer", *gi, *go))
outer[0].register_full_backward_hook(lambda m, gi, go: log("0", *gi, *go))
outer[2].register_full_backward_hook(lambda m, gi, go: log("2", *gi, *go))
outer(x).sum().backward()
log("x", x.grad)
''',
}


def logged(text, library, tensor, assign):
    """What a program logs."""
    events = []

    def log(name, *values):
        events.append((name, *[v.tolist() if hasattr(v, "tolist") else v for v in values]))
    names = {"lib": library, "nn": library.nn, "log": log, "x": tensor(X), "y": tensor(Y), "w": Y, "assign": assign}
    exec(HEAD + text, names)
    return events


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_do_what_torch_s_do(name):
    torch = pytest.importorskip("torch")

    def ours(parameter, value):
        with lnb.no_grad():
            parameter[...] = lnb.asarray(value)

    def theirs(parameter, value):
        parameter.data = torch.tensor(np.ascontiguousarray(value), dtype=torch.float64)
    text = PROGRAMS[name].replace("nn.Linear(3, 2)", "nn.Linear(3, 2, dtype=DTYPE)")
    one = logged(text.replace("DTYPE", '"float64"'), lnb, lambda a: lnb.tensor(a, requires_grad=True), ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")            # torch's, of inputs that require no grad
        other = logged(text.replace("DTYPE", "lib.float64"), torch, lambda a: torch.tensor(a, requires_grad=True),
                       theirs)
    assert [event[0] for event in one] == [event[0] for event in other]
    for found, expected in zip(one, other):
        assert len(found) == len(expected)
        for a, b in zip(found[1:], expected[1:]):
            assert a is b if a is None or b is None else np.allclose(a, b), found[0]


def test_what_hooks_give_is_checked():
    x = lnb.tensor(X, requires_grad=True)
    for register, found, message in (
            ("register_full_backward_hook", lambda m, gi, go: (None,) * 3, "full_backward_hook gives 3 gradients"),
            ("register_full_backward_pre_hook", lambda m, go: go * 2, "full_backward_pre_hook gives 2 gradients"),
            ("register_full_backward_hook", lambda m, gi, go: gi[0][0], r"Tanh: a full_backward_hook gives shape"),
            ("register_full_backward_pre_hook", lambda m, go: (2.0,), "Tanh: a full_backward_pre_hook gives a float")):
        layer = nn.Tanh()
        getattr(layer, register)(found)
        with pytest.raises((GradError, ShapeError), match=message):
            layer(x).sum().backward()
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda m, gi, go: (go[0],))
    layer.register_forward_hook(lambda m, args, out: out * w)
    w = lnb.tensor(Y, requires_grad=True)
    with pytest.raises(GradError, match="gives gradients, and no input requires grad"):
        layer(x.detach()).sum().backward()


def test_what_is_no_hook_is_refused():
    for name in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
                 "register_full_backward_pre_hook"):
        with pytest.raises(DTypeError, match=f"{name}: 3 is not a function"):
            getattr(nn.Tanh(), name)(3)
    layer = nn.Tanh()
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(DTypeError, match="Tanh: a forward_pre_hook with_kwargs gives a int"):
        layer(X)


def test_output_that_is_no_tuple_of_tensors_is_refused_with_hooks_for_backward():
    class Named(nn.Module):
        def forward(self, x):
            return {"y": x}
    layer = Named()
    layer.register_full_backward_hook(print)
    with pytest.raises(GradError, match="Named: its output is a dict"):
        layer(lnb.tensor(X, requires_grad=True))


# --------------------------------------------------------------------------------------------- functional_call
def network():
    """Two layers and a buffer."""
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).double()


def test_gradients_of_a_module_as_a_function_are_those_of_its_parameters():
    module, x = network(), lnb.asarray(X)
    params = dict(module.named_parameters())
    found = lnb.grad(lambda p: (nn.functional_call(module, p, x) ** 2).sum())(params)
    (module(x) ** 2).sum().backward()
    for name, p in module.named_parameters():
        assert np.allclose(found[name].detach(), p.grad), name
    assert all(p is q for p, q in zip(params.values(), module.parameters()))


def test_module_is_as_before_also_after_an_error():
    module = network()
    before = [*map(id, [*module.parameters(), *module.buffers()])]
    with pytest.raises(ShapeError):
        nn.functional_call(module, {"0.weight": lnb.ones((4, 3))}, lnb.ones((2, 7)))
    assert [*map(id, [*module.parameters(), *module.buffers()])] == before


def test_statistics_go_into_the_buffers_that_are_given():
    module = network()
    mean = lnb.zeros(4)
    nn.functional_call(module, ({}, {"1.running_mean": mean}), lnb.asarray(X))
    assert np.any(mean.numpy()) and not np.any(module[1].running_mean.numpy())


def test_shared_weights_are_replaced_under_all_their_names():
    module = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)).double()
    module[1].weight = module[0].weight
    eye, x = lnb.asarray(2 * np.eye(3)), lnb.asarray(X)
    assert np.allclose(nn.functional_call(module, {"0.weight": eye}, x).detach(), 4 * X)
    expected = 2 * X @ module[0].weight.detach().numpy().T
    assert np.allclose(nn.functional_call(module, {"0.weight": eye}, x, tie_weights=False).detach(), expected)


def test_keywords_and_one_argument_alone():
    class Scaled(nn.Module):
        def forward(self, x, scale=1.0):
            return x * scale
    assert nn.functional_call(Scaled(), {}, 2.0, {"scale": 4.0}) == 8
    assert nn.functional_call(Scaled(), {}, (2.0, 3.0)) == 6


def test_wrong_names_and_shapes_are_refused():
    module, x = network(), lnb.asarray(X)
    with pytest.raises(StateError, match=r"unexpected \['0.weights'\] for Sequential"):
        nn.functional_call(module, {"0.weights": lnb.ones(1)}, x)
    with pytest.raises(StateError, match=r"missing \['0.bias'"):
        nn.functional_call(module, {"0.weight": module[0].weight}, x, strict=True)
    with pytest.raises(ShapeError, match=r"0.weight is shape \(2, 2\), not a tensor of shape \(4, 3\)"):
        nn.functional_call(module, {"0.weight": lnb.ones((2, 2))}, x)
    with pytest.raises(StateError, match=r"\['0.bias'\] are given twice"):
        nn.functional_call(module, ({"0.bias": lnb.ones(4)}, {"0.bias": lnb.ones(4)}), x)


def test_per_example_gradients_by_vmap_are_those_of_a_loop():
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    params = {name: p.detach() for name, p in module.named_parameters()}

    def loss(params, x):
        return (nn.functional_call(module, params, x) ** 2).sum()
    each = lnb.vmap(lnb.grad(loss), in_axes=(None, 0))(params, lnb.asarray(X))
    for number, row in enumerate(X):
        alone = lnb.grad(loss)(params, lnb.asarray(row))
        assert all(np.allclose(each[name][number], alone[name]) for name in params)
