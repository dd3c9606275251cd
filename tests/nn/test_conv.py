"""Conv2d. Oracle: scipy.signal.correlate on each pair of channels, and torch where it is installed."""

import numpy as np
import pytest
from scipy.signal import correlate

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.testing import check_grad

GEOMETRIES = [dict(), dict(stride=2, padding=1), dict(padding=(2, 0), dilation=(1, 2)), dict(groups=2, stride=(1, 2)),
              dict(padding="same"), dict(padding="valid", bias=False)]


def expected(layer, x):
    """By SciPy, in float64."""
    weight = layer.weight.detach().numpy().astype(np.float64)
    spread = np.zeros((*weight.shape[:2], *((k - 1) * d + 1 for k, d in zip(weight.shape[2:], layer.dilation))))
    spread[:, :, ::layer.dilation[0], ::layer.dilation[1]] = weight
    sizes = spread.shape[2:]
    pads = {"valid": [(0, 0)] * 2, "same": [((size - 1) // 2, size // 2) for size in sizes]}.get(
        layer.padding) if isinstance(layer.padding, str) else [(p, p) for p in layer.padding]
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *pads])
    out, group = weight.shape[0], x.shape[1] // layer.groups
    images = [[sum(correlate(image[o * layer.groups // out * group + c], spread[o, c], "valid") for c in range(group))
               for o in range(out)] for image in padded]
    result = np.array(images)[:, :, ::layer.stride[0], ::layer.stride[1]]
    return result if layer.bias is None else result + layer.bias.detach().numpy()[:, None, None]


@pytest.mark.parametrize("options", GEOMETRIES, ids=str)
def test_conv2d_correlates(options):
    lnb.random.seed(0)
    layer, x = nn.Conv2d(4, 6, (3, 2), **options), np.random.default_rng(0).normal(size=(2, 4, 7, 6)).astype(np.float32)
    assert np.allclose(layer(x).detach().numpy(), expected(layer, x), atol=2e-6)
    assert np.allclose(layer(x[0]).detach().numpy(), expected(layer, x)[0], atol=2e-6)


@pytest.mark.parametrize("options", GEOMETRIES[:4], ids=str)
def test_conv2d_has_the_gradient_of_its_parameters(options):
    layer = nn.Conv2d(2, 2, 2, **options, dtype="float64")
    x = lnb.asarray(np.random.default_rng(0).normal(size=(1, 2, 4, 5)))

    def result(weight, bias):
        return nn.functional.conv2d(x, weight, bias, layer.stride, layer.padding, layer.dilation, layer.groups)

    check_grad(result, layer.weight.detach(), layer.bias.detach(), order=1)


@pytest.mark.parametrize("options", GEOMETRIES, ids=str)
def test_conv2d_equals_torch_with_gradients(options):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    theirs = torch.nn.Conv2d(4, 6, 3, **options).double()
    ours = nn.Conv2d(4, 6, 3, **options, dtype="float64")
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(2, 4, 7, 6))
    a, b = lnb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    (ours(a) ** 2).sum().backward()
    (theirs(b) ** 2).sum().backward()
    assert np.allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-10)
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert np.allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-10)


def test_conv2d_starts_within_its_bound():
    layer = nn.Conv2d(16, 32, 5)
    bound = 1 / np.sqrt(16 * 25)
    assert all(np.abs(param.detach().numpy()).max() <= bound * (1 + 1e-6) for param in layer.parameters())


def test_conv2d_refuses_bad_geometry_when_it_is_made():
    with pytest.raises(lnb.ConfigError, match="groups=3 does not divide 4 and 6"):
        nn.Conv2d(4, 6, 3, groups=3)
    for options in (dict(stride=0), dict(padding=-1), dict(padding="full"), dict(dilation=(1, 2, 3))):
        with pytest.raises(lnb.ShapeError, match="Conv2d: "):
            nn.Conv2d(4, 6, 3, **options)


def test_conv2d_refuses_float64_data():
    with pytest.raises(lnb.DTypeError, match="conv2d: the input is float64"):
        nn.Conv2d(1, 1, 3)(np.ones((1, 1, 5, 5)))


def test_conv2d_shows_its_geometry():
    assert repr(nn.Conv2d(1, 4, 3, padding=1, bias=False)) == (
        "Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)")
