"""LeNet and ResNet. Oracle: the networks' numbers of parameters; torch's layers with the same weights."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import lucid_nb as lnb

RNG = np.random.default_rng(0)
PEERS = Path(__file__).parents[2] / "bench" / "peers.py"
REASON = "torch is in the extras dev and bench"
SMALL = dict(num_classes=7, stem_type="small", channels=(64, 24, 32, 40))


def peers():
    """The same networks of torch's layers, which the benchmarks use too."""
    pytest.importorskip("torch", reason=REASON)
    spec = importlib.util.spec_from_file_location("peers", PEERS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def twins(ours, theirs):
    """torch's network with our weights, and images for both."""
    torch = pytest.importorskip("torch", reason=REASON)
    state = {key: value.numpy() for key, value in ours.state_dict().items()}
    assert set(theirs.state_dict()) == set(state)
    theirs.load_state_dict({key: torch.tensor(value) for key, value in state.items()})
    return torch, theirs.to(torch.float64), ours.to("float64")


def compare_training(ours, theirs, images):
    """Scores, gradients and running averages of a step in training, then scores in evaluation."""
    torch, theirs, ours = twins(ours, theirs)
    x = RNG.normal(size=images)
    found, expected = ours(x), theirs(torch.tensor(x))
    assert np.allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-8, atol=1e-10)
    seed = RNG.normal(size=found.shape)
    found.backward(lnb.asarray(seed)), expected.backward(torch.tensor(seed))
    wanted = dict(theirs.named_parameters())
    for name, param in ours.named_parameters():
        g = wanted[name].grad.numpy()
        assert np.allclose(param.grad.numpy(), g, rtol=1e-6, atol=1e-8 * np.abs(g).max()), name
    for name, value in theirs.state_dict().items():
        assert np.allclose(ours.state_dict()[name].numpy(), value.numpy(), rtol=1e-9), name
    found, expected = ours.eval()(x), theirs.eval()(torch.tensor(x))
    assert np.allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-8, atol=1e-10)


def test_lenet_5_equals_torch():
    compare_training(lnb.models.lenet_5(), peers().lenet_5(), (3, 1, 32, 32))


@pytest.mark.parametrize(("options", "is_small", "images"), [
    (SMALL, True, (2, 3, 16, 16)), (SMALL | {"stem_type": None}, False, (2, 3, 64, 64))])
def test_resnet_18_equals_torch(options, is_small, images):
    compare_training(lnb.models.resnet_18(**options), peers().ResNet18(7, is_small, SMALL["channels"]), images)


@pytest.mark.parametrize(("name", "options", "count"), [
    ("lenet_1", {}, 3246), ("lenet_4", {}, 51050), ("lenet_5", {}, 61706),
    ("resnet_18", {}, 11689512), ("resnet_34", {}, 21797672),
    ("resnet_18", {"num_classes": 10, "stem_type": "small"}, 11173962)])
def test_models_have_the_known_number_of_parameters(name, options, count):
    assert getattr(lnb.models, name)(**options).count_parameters() == count


@pytest.mark.parametrize("options", [{"stem_type": "deep"}, {"avg_down": True}])
def test_variants_of_resnet_give_scores(options):
    model = lnb.models.resnet_18(num_classes=5, channels=(8, 8, 12, 12), stem_width=16, **options).eval()
    assert model(RNG.normal(size=(1, 3, 33, 35)).astype(np.float32)).shape == (1, 5)


def test_lenet_1_takes_images_of_28():
    assert lnb.models.lenet_1(num_classes=4)(np.zeros((2, 1, 28, 28), np.float32)).shape == (2, 4)


def test_unknown_stems_are_refused():
    with pytest.raises(lnb.errors.ConfigError, match="ResNet: stem_type is 'large'"):
        lnb.models.resnet_18(stem_type="large")
