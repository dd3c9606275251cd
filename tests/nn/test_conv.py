"""Convolutions as layers. Oracle: scipy.signal.correlate on each pair of channels, and torch where it is installed."""

import numpy as np
import pytest
from scipy.signal import correlate

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F
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


# ------------------------------------------------------------------------------- one to three axes, transposed
CONVOLUTIONS = [dict(), dict(stride=2, padding=1, groups=2), dict(padding="same", dilation=2),
                *[dict(padding=1, padding_mode=mode) for mode in ("reflect", "replicate", "circular")],
                dict(padding="same", padding_mode="reflect", bias=False)]
TRANSPOSED = [dict(), dict(stride=2, padding=1, output_padding=1, groups=2), dict(dilation=2, bias=False)]


def check_layer(name, options, ndim):
    """Values, gradients and keys are torch's."""
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    theirs = getattr(torch.nn, f"{name}{ndim}d")(4, 6, 3, **options).double()
    ours = getattr(nn, f"{name}{ndim}d")(4, 6, 3, **options, dtype="float64")
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    assert repr(ours) == repr(theirs)
    x = np.random.default_rng(0).normal(size=(2, 4, 7, 6, 5)[:ndim + 2])
    a, b = lnb.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    found, wanted = ours(a), theirs(b)
    assert np.allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-10)
    (found ** 2).sum().backward()
    (wanted ** 2).sum().backward()
    for mine, other in zip((a, *ours.parameters()), (b, *theirs.parameters()), strict=True):
        assert np.allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-9)
    return ours, theirs


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
def test_convolutions_equal_torch_with_gradients(options, ndim):
    check_layer("Conv", options, ndim)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("options", TRANSPOSED, ids=str)
def test_transposed_convolutions_equal_torch_with_gradients(options, ndim):
    check_layer("ConvTranspose", options, ndim)


def test_output_size_chooses_the_output_padding():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = check_layer("ConvTranspose", dict(stride=3, padding=1), 2)
    x = np.random.default_rng(0).normal(size=(2, 4, 5, 6))
    for size in ((13, 16), (15, 18), (2, 6, 14, 17)):
        wanted = theirs(torch.tensor(x), output_size=size).detach().numpy()
        assert np.allclose(ours(x, output_size=size).detach().numpy(), wanted, rtol=1e-10)
    with pytest.raises(lnb.ShapeError, match=r"output_size \(12, 16\) cannot come of .* use \(13, 16\) to \(15, 18\)"):
        ours(x, output_size=(12, 16))


@pytest.mark.parametrize("mode, numpys", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_padding_modes_are_numpys(mode, numpys):
    layer = nn.Conv1d(1, 1, 4, padding=[(1, 2)], padding_mode=mode, bias=False)
    x = np.arange(6, dtype=np.float32)
    wanted = correlate(np.pad(x, (1, 2), numpys), layer.weight.detach().numpy()[0, 0], "valid")
    assert np.allclose(layer(x[None]).detach().numpy()[0], wanted, rtol=1e-5)


def test_transposed_convolution_starts_within_its_bound():
    layer = nn.ConvTranspose2d(16, 32, 5)
    bound = 1 / np.sqrt(32 * 25)
    assert layer.weight.shape == (16, 32, 5, 5) and layer.bias.shape == (32,)
    assert all(np.abs(param.detach().numpy()).max() <= bound * (1 + 1e-6) for param in layer.parameters())


def test_words_that_mean_nothing_are_refused_when_a_layer_is_made():
    with pytest.raises(lnb.ShapeError, match="Conv1d: padding_mode 'mirror' is unknown"):
        nn.Conv1d(1, 1, 3, padding_mode="mirror")
    for options in (dict(padding_mode="reflect"), dict(padding="same")):
        with pytest.raises(lnb.ConfigError, match="ConvTranspose1d: "):
            nn.ConvTranspose1d(1, 1, 3, **options)


def test_fold_and_unfold_equal_torch():
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 6))
    for options in (dict(kernel_size=3), dict(kernel_size=(2, 3), dilation=2, padding=1, stride=(1, 2))):
        columns = nn.Unfold(**options)(x)
        assert np.array_equal(columns.numpy(), torch.nn.Unfold(**options)(torch.tensor(x)).numpy())
        folded = torch.nn.Fold((7, 6), **options)(torch.tensor(columns.numpy())).numpy()
        assert np.allclose(nn.Fold((7, 6), **options)(columns).numpy(), folded, rtol=1e-12)
        assert repr(nn.Unfold(**options)) == repr(torch.nn.Unfold(**options))


@pytest.mark.parametrize("device", ["cpu", "mlx", pytest.param("cuda", marks=pytest.mark.cuda_simulator)])
@pytest.mark.parametrize(("sizes", "taps", "options"), [
    ((1,), (2,), dict(padding=1)), ((1, 3), (2, 2), dict(padding=(1, 0))), ((2,), (3,), dict(padding=2, groups=2)),
    ((1, 1), (1, 1), dict(stride=2, padding=1, output_padding=1)), ((1, 2, 2), (2, 1, 1), dict(padding=(1, 0, 0)))],
    ids=str)
def test_transposed_convolution_to_nothing_has_gradients_0(sizes, taps, options, device):
    if device not in lnb.devices():
        pytest.skip(f"{device} is not usable here")
    leaves = [lnb.tensor(np.ones(shape, np.float32), requires_grad=True, device=device)
              for shape in ((2, 4, *sizes), (4, 3, *taps), (3 * options.get("groups", 1),))]
    name = f"conv_transpose{len(sizes)}d"
    found = getattr(F, name)(*leaves, **options)
    found.sum().backward()
    assert found.size == 0 and not any(leaf.grad.to("cpu").numpy().any() for leaf in leaves)
    assert all(leaf.grad.shape == leaf.shape for leaf in leaves)
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    theirs = getattr(torch.nn.functional, name)(*[torch.ones(leaf.shape) for leaf in leaves], **options)
    assert found.shape == tuple(theirs.shape)
