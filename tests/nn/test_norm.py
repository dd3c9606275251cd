"""Normalisation layers. Oracles: torch where it is installed, NumPy in float64 elsewhere."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F

RANDOM = np.random.default_rng(3)
LAYERS = [
    ("BatchNorm1d", (5,), {}, (4, 5)), ("BatchNorm1d", (5,), dict(affine=False, momentum=None), (4, 5, 7)),
    ("BatchNorm2d", (3,), dict(momentum=0.3, eps=1e-3), (2, 3, 4, 5)), ("BatchNorm3d", (2,), {}, (2, 2, 3, 2, 4)),
    ("BatchNorm2d", (3,), dict(track_running_stats=False), (2, 3, 4, 5)),
    ("InstanceNorm1d", (3,), {}, (2, 3, 6)), ("InstanceNorm1d", (3,), dict(affine=True), (3, 6)),
    ("InstanceNorm2d", (3,), dict(affine=True, track_running_stats=True), (2, 3, 4, 4)),
    ("InstanceNorm3d", (2,), {}, (2, 2, 2, 3, 2)), ("GroupNorm", (2, 6), {}, (3, 6, 5)),
    ("GroupNorm", (3, 6), dict(affine=False), (3, 6)), ("LayerNorm", (6,), {}, (2, 3, 6)),
    ("LayerNorm", ((3, 6),), dict(bias=False), (2, 3, 6)),
    ("LayerNorm", ([6],), dict(elementwise_affine=False, eps=1e-2), (4, 6)), ("RMSNorm", (6,), {}, (2, 6)),
    ("RMSNorm", ((3, 6),), dict(eps=1e-3, elementwise_affine=False), (2, 3, 6)),
    ("LocalResponseNorm", (3,), dict(alpha=0.5, k=2.0), (2, 5, 4)), ("LocalResponseNorm", (4,), {}, (2, 6, 3, 2)),
]
each_layer = pytest.mark.parametrize(("kind", "sizes", "options", "shape"), LAYERS, ids=str)


@each_layer
def test_layer_equals_torch_in_training_and_evaluation(kind, sizes, options, shape):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    theirs, ours = getattr(torch.nn, kind)(*sizes, **options).double(), getattr(nn, kind)(*sizes, **options).double()
    assert [*ours.state_dict()] == [*theirs.state_dict()] and repr(ours) == repr(theirs)
    state = {key: value if value.ndim == 0 else torch.rand_like(value) + 0.5
             for key, value in theirs.state_dict().items()}
    theirs.load_state_dict(state)
    ours.load_state_dict({key: value.numpy() for key, value in state.items()})
    for step in range(3):
        x = RANDOM.normal(size=shape) * 2 + 1
        a, b = lnb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        y, z = ours(a), theirs(b)
        assert np.allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-10, atol=1e-12)
        (y ** 3).sum().backward()
        (z ** 3).sum().backward()
        pairs = [(a, b), *zip(ours.parameters(), theirs.parameters(), strict=True)]
        assert all(np.allclose(one.grad.numpy(), two.grad.numpy(), rtol=1e-8, atol=1e-10) for one, two in pairs)
        for key, value in theirs.state_dict().items():
            assert np.allclose(ours.state_dict()[key].numpy(), value.numpy(), rtol=1e-12)
        if step == 1:
            ours.eval(), theirs.eval()


@each_layer
def test_layer_in_float32_is_near_float64(kind, sizes, options, shape):
    layer = getattr(nn, kind)(*sizes, **options)
    x = RANDOM.normal(size=shape).astype(np.float32)
    found = layer(x)
    assert found.dtype == np.float32 and found.shape == shape
    assert np.allclose(found.detach().numpy(), layer.double()(x.astype(float)).detach().numpy(), atol=5e-6)


def test_batch_norm_normalises_by_the_biased_variance_and_remembers_the_unbiased():
    x = RANDOM.normal(size=(6, 2, 3)).astype(np.float32)
    layer = nn.BatchNorm1d(2, eps=0.0, momentum=1.0)
    y = layer(x).detach().numpy()
    assert np.allclose(y.var((0, 2)), 1, rtol=1e-5) and np.allclose(y.mean((0, 2)), 0, atol=1e-6)
    assert np.allclose(layer.running_mean.numpy(), x.mean((0, 2)), rtol=1e-5, atol=1e-7)
    assert np.allclose(layer.running_var.numpy(), x.var((0, 2), ddof=1), rtol=1e-5)


def test_momentum_none_remembers_the_mean_of_all_batches():
    batches = RANDOM.normal(size=(4, 5, 2)).astype(np.float32)
    layer = nn.BatchNorm1d(2, momentum=None)
    for batch in batches:
        layer(batch)
    assert layer.num_batches_tracked.item() == 4
    assert np.allclose(layer.running_mean.numpy(), batches.mean((0, 1)), atol=1e-6)
    layer.reset_running_stats()
    assert [*layer.running_mean.tolist(), *layer.running_var.tolist(), layer.num_batches_tracked.item()] == [
        0, 0, 1, 1, 0]


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batches_that_are_refused_do_not_count(momentum):
    layer = nn.BatchNorm1d(2, momentum=momentum)
    with pytest.raises(lnb.ShapeError, match="running_mean has shape"):
        layer(np.ones((3, 4), np.float32))
    assert layer.num_batches_tracked.item() == 0 and layer.running_mean.tolist() == [0, 0]


def test_saved_statistics_are_loaded_after_batches_were_counted():
    source, target = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    for layer in (source, source, target):
        layer(RANDOM.normal(size=(3, 2)).astype(np.float32))
    assert target.load_state_dict(source.state_dict()) == ([], [])
    assert target.num_batches_tracked.item() == 2
    assert target.running_var.tolist() == source.running_var.tolist()


@pytest.mark.parametrize("make", [lambda: nn.BatchNorm1d(2)(np.ones((1, 2), np.float32)),
                                  lambda: nn.BatchNorm2d(2)(np.ones((1, 2, 1, 1), np.float32)),
                                  lambda: nn.InstanceNorm1d(2)(np.ones((3, 2, 1), np.float32))])
def test_one_value_a_channel_is_refused_in_training(make):
    with pytest.raises(lnb.ShapeError, match="one value a channel"):
        make()


def test_one_value_a_channel_is_normalised_in_evaluation():
    found = nn.BatchNorm1d(2).eval()(np.float32([[3, 5]]))
    assert np.allclose(found.detach().numpy(), [[3, 5]], rtol=1e-5)


def test_a_batch_of_none_changes_no_statistics():
    layer = nn.BatchNorm2d(3)
    assert layer(np.ones((0, 3, 2, 2), np.float32)).shape == (0, 3, 2, 2)
    assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]
    assert nn.LayerNorm(4)(np.ones((0, 4), np.float32)).shape == (0, 4)


@pytest.mark.parametrize(("make", "text"), [
    (lambda: nn.BatchNorm2d(3)(np.ones((2, 3), np.float32)), "4 axes"),
    (lambda: nn.BatchNorm1d(3)(np.ones((2, 4), np.float32)), r"shape \(3,\) for an input of shape \(2, 4\)"),
    (lambda: nn.InstanceNorm1d(3)(np.ones((2, 4, 5), np.float32)), "4 channels"),
    (lambda: nn.LayerNorm(3)(np.ones((2, 4), np.float32)), "does not end in"),
    (lambda: F.group_norm(np.ones((2, 4)), 3), "4 channels in 3 groups"),
    (lambda: F.group_norm(np.ones(4), 2), "1 axes"),
    (lambda: F.layer_norm(np.ones(4), ()), "empty"),
    (lambda: F.global_response_norm(np.ones((2, 4)), lnb.ones(3), lnb.ones(4)), "gamma"),
])
def test_inputs_of_other_shapes_are_refused(make, text):
    with pytest.raises(lnb.ShapeError, match=text):
        make()


@pytest.mark.parametrize("make", [lambda: nn.GroupNorm(3, 4), lambda: nn.BatchNorm1d(0),
                                  lambda: nn.BatchNorm1d(3, eps=-1), lambda: nn.LocalResponseNorm(0),
                                  lambda: F.batch_norm(np.ones((2, 2)), None, None)])
def test_options_out_of_range_are_refused(make):
    with pytest.raises(lnb.ConfigError):
        make()


def test_float64_data_is_refused_by_a_float32_layer():
    with pytest.raises(lnb.DTypeError, match="float64, the weight float32"):
        nn.BatchNorm1d(2)(np.ones((3, 2)))


def test_global_response_norm_starts_as_the_identity_and_compares_channels():
    layer = nn.GlobalResponseNorm(3)
    x = RANDOM.normal(size=(2, 3, 4, 4)).astype(np.float32)
    assert np.array_equal(layer(x).detach().numpy(), x) and [*layer.state_dict()] == ["gamma", "beta"]
    layer.gamma.detach()[...] = 1
    sizes = np.sqrt((x.astype(float) ** 2).sum((2, 3), keepdims=True))
    expected = x * (sizes / (sizes.mean(1, keepdims=True) + 1e-6)) + x
    assert np.allclose(layer(x).detach().numpy(), expected, atol=1e-5)


def test_normalize_divides_by_the_norm_but_not_by_zero():
    x = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert np.allclose(F.normalize(x).numpy(), [[0.6, 0.8], [0, 0]])
    assert np.allclose(F.normalize(x, p=1, dim=0).numpy(), [[1, 1], [0, 0]])


@pytest.mark.parametrize("p", [2.0, 1.0, 3.0])
def test_normalize_of_one_number_is_its_sign(p):
    assert [F.normalize(x, p, dim).item() for x in (3.0, -2.0, 0.0) for dim in (0, -1)] == [1, 1, -1, -1, 0, 0]
    with pytest.raises(lnb.AxisError):
        F.normalize(3.0)


@pytest.mark.parametrize("kind", ["layer_norm", "group_norm", "instance_norm", "rms_norm"])
def test_negative_eps_is_taken_as_by_torch(kind):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x = RANDOM.normal(size=(2, 4, 6))
    x[0, 1] = 1 + 1e-3 * x[0, 1]                                  # its variance is less than eps: NaN
    options = {"layer_norm": ([6],), "group_norm": (4,), "instance_norm": (), "rms_norm": ([6],)}[kind]
    found = getattr(F, kind)(x, *options, eps=-0.01).numpy()
    wanted = getattr(torch.nn.functional, kind)(torch.tensor(x), *options, eps=-0.01).numpy()
    assert np.allclose(found, wanted, rtol=1e-10, equal_nan=True) and np.isnan(found).any() == (kind != "rms_norm")


@pytest.mark.parametrize("shape", [(5, 3), (1, 3, 7), (2, 3, 4, 5), (2, 3, 40, 60), (3, 3, 2)], ids=str)
@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinity_in_a_batch_is_remembered_as_its_mean(dtype, place, shape):
    x = RANDOM.normal(size=shape).astype(dtype)
    at = (0 if place == "first" else -1,) * (x.ndim - 1)
    for channel, number in enumerate((np.inf, -np.inf)):
        np.moveaxis(x, 1, 0)[(channel, *at)] = number
    mean = x.mean(tuple(axis for axis in range(x.ndim) if axis != 1))
    layer = (nn.BatchNorm2d if x.ndim == 4 else nn.BatchNorm1d)(3, momentum=1.0, dtype=dtype)
    layer(x)
    assert np.allclose(layer.running_mean.numpy(), mean, rtol=1e-5, atol=1e-6)
    assert mean[:2].tolist() == [np.inf, -np.inf]


def test_a_layer_and_its_statistics_move_to_mlx():
    if "mlx" not in lnb.devices():
        pytest.skip("mlx is not usable here")
    layers = [nn.BatchNorm1d(2).to(device) for device in ("cpu", "mlx")]
    x = RANDOM.normal(size=(4, 2)).astype(np.float32)
    a, b = (layer(lnb.asarray(x).to(device)) for layer, device in zip(layers, ("cpu", "mlx")))
    assert np.allclose(a.detach().numpy(), b.detach().to("cpu").numpy(), atol=1e-5)
    assert np.allclose(*[layer.running_var.to("cpu").numpy() for layer in layers], rtol=1e-5)
    assert layers[1].num_batches_tracked.item() == 1
