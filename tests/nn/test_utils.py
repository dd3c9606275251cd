"""nn.utils and nn.util: gradients in bounds, vectors of parameters, fused layers, computed weights.

Oracles: NumPy in float64 written from the definitions, the singular values of NumPy, and PyTorch step by step.
"""

import copy
import pickle

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import util, utils

from .against_torch import share_weights

X = np.random.default_rng(3).normal(size=(2, 4)).astype(np.float32)


def with_gradients(*values):
    """Parameters whose gradients are these."""
    params = [nn.Parameter(np.zeros_like(value, np.float32)) for value in values]
    for param, value in zip(params, values):
        param.grad = lnb.tensor(np.float32(value))
    return params


GRADIENTS = [np.float32([3, -4]), np.float32([[12.0]]), np.float32([0, 0, 84])]


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
def test_gradients_are_scaled_to_the_norm_that_is_wanted(order):
    flat = np.concatenate([g.ravel() for g in GRADIENTS]).astype(np.float64)
    norm = np.linalg.norm(flat, order)
    params = with_gradients(*GRADIENTS)
    before = [param.grad for param in params]
    assert util.grad_norm(params, order).item() == pytest.approx(norm)
    assert utils.clip_grad_norm_(iter(params), 7.0, order).item() == pytest.approx(norm)
    found = np.concatenate([param.grad.numpy().ravel() for param in params])
    np.testing.assert_allclose(found, flat * 7 / (norm + 1e-6), rtol=1e-6)
    assert all(np.array_equal(old.numpy(), given) for old, given in zip(before, GRADIENTS))
    assert utils.clip_grad_norm_(params, 1e9, order).item() == pytest.approx(7.0)
    np.testing.assert_allclose(found, np.concatenate([param.grad.numpy().ravel() for param in params]))


def test_gradient_that_is_a_view_of_one_number_is_scaled():
    param = nn.Parameter(np.zeros(4, np.float32))
    param.sum().backward()
    assert utils.clip_grad_norm_(param, 1.0).item() == 2 and np.allclose(param.grad.numpy(), 0.5)


def test_parameters_without_gradient_do_not_count():
    params = [*with_gradients(*GRADIENTS), nn.Parameter([1.0])]
    assert utils.clip_grad_norm_(params, 1.0).item() == pytest.approx(np.sqrt(25 + 144 + 84**2))
    assert params[-1].grad is None and utils.clip_grad_norm_([params[-1]], 1.0).item() == 0


def test_norm_that_is_not_finite_is_refused_before_anything_changes():
    params = with_gradients([1.0], [np.inf])
    with pytest.raises(lnb.GradError, match=r"get_total_norm: the norm of order 2\.0 is inf"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[0].grad.item() == 1


def test_values_are_brought_into_bounds():
    params = with_gradients(*GRADIENTS)
    utils.clip_grad_value_(params, 3.5)
    assert [param.grad.tolist() for param in params] == [[3, -3.5], [[3.5]], [0, 0, 3.5]]
    util.clip_grad_value(params[0], 1)
    assert params[0].grad.tolist() == [1, -1]
    with pytest.raises(lnb.ConfigError, match="clip_value is -1"):
        utils.clip_grad_value_(params, -1)
    with pytest.raises(lnb.DTypeError, match="a parameter is a int"):
        utils.clip_grad_value_([3], 1)


def test_lucid_s_bound_of_norms_has_its_own_summand():
    params = with_gradients([3.0, 4.0])
    assert util.clip_grad_norm(params, 1, eps=5.0).item() == 5
    np.testing.assert_allclose(params[0].grad.numpy(), [0.3, 0.4], rtol=1e-6)


def test_vector_of_parameters_and_back():
    layer = nn.Linear(3, 2)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.tolist() == [*layer.weight.detach().numpy().ravel().tolist(), *layer.bias.tolist()]
    (vector * np.arange(8, dtype=np.float32)).sum().backward()
    assert layer.bias.grad.tolist() == [6, 7]
    utils.vector_to_parameters(np.arange(8), layer.parameters())
    assert layer.weight.tolist() == [[0, 1, 2], [3, 4, 5]] and layer.bias.tolist() == [6, 7]
    with pytest.raises(lnb.ShapeError, match=r"a vector of shape \(9,\) for 8 elements"):
        utils.vector_to_parameters(np.arange(9), layer.parameters())
    assert layer.bias.tolist() == [6, 7]


# ---------------------------------------------------------------------------------------------------- fused
FUSED = {
    "conv": (lambda: nn.Conv2d(3, 4, 3, padding=1, bias=False), lambda: nn.BatchNorm2d(4), (2, 3, 5, 5), False),
    "transposed": (lambda: nn.ConvTranspose1d(3, 4, 3, stride=2), lambda: nn.BatchNorm1d(4), (2, 3, 5), True),
    "plain norm": (lambda: nn.Conv1d(3, 4, 2), lambda: nn.BatchNorm1d(4, affine=False), (2, 3, 5), False),
    "linear": (lambda: nn.Linear(3, 4), lambda: nn.BatchNorm1d(4), (5, 3), None),
}


@pytest.mark.parametrize("name", FUSED)
def test_fused_layer_does_what_both_do(name):
    make, make_norm, shape, transpose = FUSED[name]
    layer, norm, random = make(), make_norm(), np.random.default_rng(0)
    for value in norm.state_dict().values():
        if value.dtype.kind == "f":
            value[...] = random.uniform(0.5, 2, value.shape)
    x = random.normal(size=shape).astype(np.float32)
    with pytest.raises(lnb.ConfigError, match="is in training"):
        utils.fuse_conv_bn_eval(layer, norm)
    wanted = norm.eval()(layer.eval()(x)).detach().numpy()
    fused = utils.fuse_linear_bn_eval(layer, norm) if transpose is None else utils.fuse_conv_bn_eval(
        layer, norm, transpose)
    np.testing.assert_allclose(fused(x).detach().numpy(), wanted, rtol=2e-5, atol=2e-5)
    assert type(fused) is type(layer) and fused is not layer and fused.weight.requires_grad


# ------------------------------------------------------------------------------------------- computed weights
@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("norm", [utils.weight_norm, utils.parametrizations.weight_norm], ids=["old", "new"])
def test_weight_norm_is_length_times_direction(norm, dim):
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().numpy().astype(np.float64)
    norm(layer, dim=dim)
    length, direction = [param for name, param in layer.named_parameters() if name != "bias"]
    axes = {0: 1, 1: 0, None: None}[dim]
    np.testing.assert_allclose(length.detach().numpy(), np.sqrt((before**2).sum(axes, keepdims=dim is not None)), 1e-6)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-6)
    nn.init.constant_(length, 2.0)
    np.testing.assert_allclose(layer.weight.detach().numpy(),
                               2 * before / np.sqrt((before**2).sum(axes, keepdims=True)), 1e-6)
    layer(X).sum().backward()
    assert length.grad.shape == length.shape and direction.grad is not None


def test_weight_norm_is_undone():
    layer = utils.weight_norm(nn.Linear(4, 3))
    before = layer.weight.detach().numpy()
    assert utils.remove_weight_norm(layer) is layer and np.array_equal(layer.weight.detach().numpy(), before)
    assert sorted(name for name, _ in layer.named_parameters()) == ["bias", "weight"]
    with pytest.raises(lnb.errors.StateError, match=r"Linear\.weight is no such weight"):
        utils.remove_weight_norm(layer)
    with pytest.raises(lnb.errors.StateError, match="has no parameter 'nothing'"):
        utils.weight_norm(layer, "nothing")


@pytest.mark.parametrize("norm", [utils.spectral_norm, utils.parametrizations.spectral_norm], ids=["old", "new"])
def test_spectral_norm_comes_to_divide_by_the_largest_singular_value(norm):
    layer = nn.Conv2d(3, 4, 2)
    before = layer.weight.detach().numpy().astype(np.float64)
    norm(layer, n_power_iterations=60)
    x = np.ones((1, 3, 3, 3), np.float32)
    layer(x)
    wanted = before / np.linalg.svd(before.reshape(4, -1), compute_uv=False)[0]
    np.testing.assert_allclose(layer.eval().weight.detach().numpy(), wanted, rtol=1e-4, atol=1e-5)
    kept = layer.weight.detach().numpy()
    layer(x)
    assert np.array_equal(layer.weight.detach().numpy(), kept)


def test_spectral_norm_is_undone():
    layer = utils.spectral_norm(nn.Linear(4, 3))
    layer(X)
    before = layer.weight.detach().numpy()
    utils.remove_spectral_norm(layer)
    assert np.array_equal(layer.weight.detach().numpy(), before) and sorted(layer.state_dict()) == ["bias", "weight"]
    assert not layer._forward_pre_hooks


COMPUTED = {
    "weight_norm": lambda lib, layer: lib.nn.utils.weight_norm(layer, dim=1),
    "spectral_norm": lambda lib, layer: lib.nn.utils.spectral_norm(layer),
    "new weight_norm": lambda lib, layer: lib.nn.utils.parametrizations.weight_norm(layer),
    "new spectral_norm": lambda lib, layer: lib.nn.utils.parametrizations.spectral_norm(layer, n_power_iterations=2),
}


@pytest.mark.parametrize("kind", ["Linear(4, 3)", "ConvTranspose1d(4, 3, 2)"])
@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_computed_weights_train_as_torch_s(name, kind):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = (COMPUTED[name](library, eval(f"nn.{kind}", {"nn": library.nn})) for library in (lnb, torch))
    assert sorted(ours.state_dict()) == sorted(theirs.state_dict())
    theirs.load_state_dict({key: torch.tensor(value.detach().numpy()) for key, value in ours.state_dict().items()})
    x = X if kind[0] == "L" else X[:, :, None]
    steps = [library.optim.SGD(layer.parameters(), lr=0.1) for library, layer in ((lnb, ours), (torch, theirs))]
    for _ in range(3):
        for layer, given, step in ((ours, x, steps[0]), (theirs, torch.tensor(x), steps[1])):
            step.zero_grad()
            (layer(given) ** 2).sum().backward()
            step.step()
    for key, value in ours.state_dict().items():
        np.testing.assert_allclose(value.numpy(), theirs.state_dict()[key].numpy(), rtol=2e-5, atol=2e-5, err_msg=key)
    np.testing.assert_allclose(ours.eval()(x).detach().numpy(), theirs.eval()(torch.tensor(x)).detach().numpy(),
                               rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("norm", [utils.weight_norm, utils.spectral_norm, utils.parametrizations.weight_norm,
                                  utils.parametrizations.spectral_norm], ids=["wn", "sn", "new wn", "new sn"])
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))],
                         ids=["deepcopy", "pickle"])
def test_copies_compute_their_own_weights(norm, duplicate):
    layer = norm(nn.Linear(4, 3)).eval()
    other = duplicate(layer)
    np.testing.assert_array_equal(other.weight.detach().numpy(), layer.weight.detach().numpy())
    for param in other.parameters():
        nn.init.constant_(param, 1.0)
    assert not np.allclose(other.weight.detach().numpy(), layer.weight.detach().numpy())
    assert list(other.state_dict()) == list(layer.state_dict())


class Symmetric(nn.Module):
    """The upper triangle, mirrored."""

    def forward(self, x):
        return lnb.triu(x) + lnb.triu(x, 1).mT

    def right_inverse(self, x):
        return lnb.triu(x)


class Doubled(nn.Module):
    """Twice."""

    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


def test_parametrizations_are_chained_assigned_and_removed():
    register, layer = utils.parametrize.register_parametrization, nn.Linear(3, 3)
    target = np.float32([[1, 2, 3], [2, 5, 6], [3, 6, 9]])
    register(layer, "weight", Symmetric())
    register(layer, "weight", Doubled())
    assert utils.parametrize.is_parametrized(layer, "weight") and not utils.parametrize.is_parametrized(layer, "bias")
    layer.weight = lnb.tensor(target)
    assert layer.weight.tolist() == target.tolist()
    assert layer.parametrizations.weight.original.tolist() == np.triu(target / 2).tolist()
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    utils.parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight.tolist() == target.tolist() and list(layer.state_dict()) == ["bias", "weight"]
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad


def test_cached_parametrization_is_computed_once():
    layer = nn.Linear(3, 3)
    utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    with utils.parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_parametrization_that_changes_the_shape_is_refused_and_changes_nothing():
    layer = nn.Linear(3, 2)
    with pytest.raises(lnb.ShapeError, match=r"the attribute is shape \(2, 3\).*becomes shape \(3, 2\)"):
        utils.parametrize.register_parametrization(layer, "weight", type("Turned", (nn.Module,), {
            "forward": lambda self, x: x.mT})())
    assert list(layer.state_dict()) == ["weight", "bias"]
    with pytest.raises(lnb.errors.StateError, match="Linear has no parameter or buffer 'w'"):
        utils.parametrize.register_parametrization(layer, "w", Doubled())


def test_fused_weights_equal_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    layers = [(library.nn.Conv1d(2, 3, 2).eval(), library.nn.BatchNorm1d(3).eval()) for library in (lnb, torch)]
    for ours, theirs in zip(*layers):
        share_weights(ours, theirs)
    ours, theirs = (library.nn.utils.fuse_conv_bn_eval(*pair) for library, pair in zip((lnb, torch), layers))
    for a, b in zip(ours.parameters(), theirs.parameters()):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bound", [-1.0, float("nan")])
@pytest.mark.parametrize("name", ["clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"])
def test_a_bound_that_is_negative_or_no_number_changes_no_gradient(name, bound):
    params = with_gradients([3.0, 4.0])
    with pytest.raises(lnb.ConfigError, match=f"is {bound}. Use a number that is not negative"):
        getattr(utils if name.endswith("_") else util, name)(params, bound)
    assert params[0].grad.tolist() == [3, 4]
