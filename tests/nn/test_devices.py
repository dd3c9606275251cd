"""The same training on every device. Oracle: the CPU, which the other tests hold to NumPy and torch."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb import nn

RNG = np.random.default_rng(4)
IMAGES, LABELS = RNG.normal(size=(6, 1, 4, 4)).astype(np.float32), np.array([0, 2, 1, 1, 0, 2])
DEVICES = ["mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)]
OPTIMIZERS = [(lnb.optim.SGD, dict(lr=0.1, momentum=0.9)), (lnb.optim.Adam, dict(lr=0.01, amsgrad=True))]


def trained(device, kind, options):
    """A small network after three steps, and its losses."""
    lnb.random.seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)).to(device)
    optimizer, losses = kind(model.parameters(), **options), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(lnb.asarray(IMAGES).to(device)), lnb.asarray(LABELS).to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, optimizer, losses


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("kind", "options"), OPTIMIZERS)
def test_training_is_the_same_on_every_device(device, kind, options):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    (model, optimizer, losses), (expected, _, expected_losses) = (
        trained(place, kind, options) for place in (device, "cpu"))
    assert losses == pytest.approx(expected_losses, rel=1e-4)
    for name, value in model.state_dict().items():
        assert value.device == device and value.dtype == np.float32
        assert np.allclose(value.to("cpu").numpy(), expected.state_dict()[name].numpy(), rtol=1e-4, atol=1e-5)
    states = [part for state in optimizer.state.values() for part in state.values() if isinstance(part, lnb.Tensor)]
    assert states and all(part.device == device for part in states)


def ended(device):
    """Results and gradients of layers of every kind on a device, and the gradients' norm before it was bounded."""
    lnb.random.seed(3)
    x = lnb.tensor(IMAGES[:2, 0, 0, :3], device=device, requires_grad=True)
    wide = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)).to(device)
    block = nn.DepthSeparableConv1d(1, 2, 3, padding=1).to(device)
    lazy, excited = nn.LazyBatchNorm1d().to(device), nn.SEModule(2, reduction=1).to(device)
    tail = nn.AdaptiveLogSoftmaxWithLoss(2, 4, [2], 1.0).to(device)
    found = block(wide(x).reshape(2, 1, 4))
    found = excited(lazy(found).reshape(2, 2, 2, 2)).mean((2, 3))
    output, loss = tail(found + nn.functional.gumbel_softmax(found, key=lnb.random.key(1)), LABELS[:2])
    loss.backward()
    layers = nn.ModuleList([wide, block, lazy, excited, tail])
    norm = nn.utils.clip_grad_norm_(layers.parameters(), 0.1)
    parts = [output, x.grad, norm, *[param.grad for param in layers.parameters()]]
    assert all(part.device == device for part in parts)
    return [part.detach().to("cpu").numpy() for part in parts]


@pytest.mark.parametrize("device", DEVICES)
def test_layers_give_the_same_on_every_device(device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    for found, wanted in zip(ended(device), ended("cpu"), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_module_moves_to_a_device_and_back(device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    layer = nn.Linear(3, 2)
    layer.register_buffer("count", np.arange(3))
    before, weight = layer.weight.tolist(), layer.weight
    assert layer.to(device).weight is weight and weight.device == device and layer.count.device == device
    layer.load_state_dict({"weight": np.ones((2, 3)), "bias": np.ones(2), "count": np.arange(3)})
    assert weight.tolist() == [[1, 1, 1], [1, 1, 1]] and weight.device == device and weight.is_leaf
    layer.load_state_dict({"weight": np.array(before), "bias": np.ones(2), "count": np.arange(3)})
    assert layer.to("cpu").weight.tolist() == before and layer.weight.requires_grad


@pytest.mark.parametrize("device", DEVICES)
def test_layers_are_made_on_a_device_with_the_values_of_the_cpu(device):
    makers = [lambda **given: nn.Linear(2, 3, **given), lambda **given: nn.ConvTranspose1d(2, 2, 3, **given),
              lambda **given: nn.GRU(2, 3, **given), lambda **given: nn.Embedding(3, 2, padding_idx=1, **given),
              lambda **given: nn.BatchNorm1d(2, **given), lambda **given: nn.MultiheadAttention(4, 2, **given)]
    for make in makers:
        lnb.random.seed(5)
        wanted = make().state_dict()
        lnb.random.seed(5)
        found = make(device=device).state_dict()
        assert {value.device for value in found.values()} == {device}
        for key, value in wanted.items():
            np.testing.assert_array_equal(found[key].to("cpu").numpy(), value.numpy())
