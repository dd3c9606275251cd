"""Convolutions of ops and layers on the device: values beside the CPU's, gradients to second order by differences."""

import sys

import numpy as np
import pytest

import lucid_nb as lnb
import lucid_nb.cuda
from lucid_nb import nn
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

pytestmark = pytest.mark.cuda_simulator
conv = sys.modules["lucid_nb.cuda.conv"]

# a function of tensors, and their shapes
CASES = {
    "conv1d": (lambda x, w, b: lnb.conv1d(x, w, b, stride=2, padding=(2,)), (1, 2, 4), (3, 2, 3), (3,)),
    "conv2d, depthwise": (lambda x, w: lnb.conv2d(x, w, padding=1, groups=2), (1, 2, 2, 3), (4, 1, 3, 3)),
    "conv2d, one image": (lambda x, w: lnb.conv2d(x, w, padding="same", dilation=(1, 2)), (2, 3, 2), (1, 2, 2, 2)),
    "conv3d": (lambda x, w: lnb.conv3d(x, w, padding=[(0, 1), (1, 0), 0]), (1, 1, 1, 2, 2), (2, 1, 2, 1, 2)),
    "1-D, spread": (lambda x, w: lnb.conv_general(x, w, input_dilation=2, padding=1), (1, 2, 3), (2, 2, 2)),
    "1-D, spread and flipped": (
        lambda x, w: lnb.conv_general(x, w, stride=2, input_dilation=3, padding=[(1, 2)], flip=True),
        (1, 1, 3), (2, 1, 3)),
    "2-D, spread and flipped": (
        lambda x, w: lnb.conv_general(x, w, input_dilation=(1, 2), padding=(1, 0), groups=2, flip=True),
        (1, 2, 2, 2), (2, 1, 2, 2)),
    "3-D, spread": (lambda x, w: lnb.conv_general(x, w, input_dilation=(1, 2, 1), dilation=(1, 1, 2)),
                    (1, 1, 1, 2, 3), (1, 1, 1, 2, 2)),
    "conv_transpose1d": (lambda x, w, b: lnb.conv_transpose1d(x, w, b, stride=3, output_padding=1, groups=2),
                         (1, 2, 2), (2, 1, 2), (2,)),
    "conv_transpose2d": (lambda x, w: lnb.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
                         (1, 2, 2, 2), (2, 1, 3, 3)),
    "conv_transpose3d": (lambda x, w: lnb.conv_transpose3d(x, w, stride=(1, 2, 1), dilation=(1, 1, 2)),
                         (1, 1, 1, 2, 2), (1, 1, 1, 2, 2)),
    "unfold": (lambda x: F.unfold(x, 2, padding=(1, 0), stride=2), (1, 2, 3, 2)),
    "fold": (lambda x: F.fold(x, (2, 3), 2, padding=(0, 1)), (1, 4, 4)),
    "reflected": (lambda x, w: F.conv1d(lnb.pad(x, [(0, 0), (0, 0), (1, 1)], "reflect"), w), (1, 1, 3), (1, 1, 2)),
}


@pytest.fixture(params=["direct", "products"], autouse=True)
def way(request, monkeypatch):
    """Both kinds of plan."""
    if request.param == "products":
        monkeypatch.setattr(conv, "SMALL", 0)
        monkeypatch.setattr(conv, "FEW", 0)
    conv.plans.PLANS.kept.clear()
    yield
    conv.plans.PLANS.kept.clear()


def drawn(shapes, dtype="float64"):
    generator = np.random.default_rng(7)
    return [generator.standard_normal(shape).astype(dtype) for shape in shapes]


def value_and_gradients(function, arrays, device):
    """The result, the gradients of a weighted sum of it and those of their squares, on the host."""
    leaves = [lnb.tensor(a, device=device, requires_grad=True) for a in arrays]
    result = function(*leaves)
    weights = lnb.tensor(drawn([result.shape])[0].astype(result.dtype), device=device)
    first = lnb.autograd.grad((result * result * weights).sum(), leaves, create_graph=True)
    second = lnb.autograd.grad(sum((g * g).sum() for g in first), leaves)
    return [t.detach().to("cpu").numpy() for t in (result, *first, *second)]


@pytest.mark.parametrize("case", CASES)
def test_value_and_gradients_equal_those_of_the_cpu(case):
    function, *shapes = CASES[case]
    found, expected = (value_and_gradients(function, drawn(shapes), device) for device in ("cuda", "cpu"))
    for got, wanted in zip(found, expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12 * max(1, np.abs(wanted).max(initial=0)))


@pytest.mark.parametrize("function, shapes", [
    (lambda x, w: lnb.conv1d(x, w, padding=1), [(1, 2, 2), (1, 2, 2)]),
    (lambda x, w: lnb.conv_transpose1d(x, w, stride=2), [(1, 1, 2), (1, 1, 3)]),
], ids=["conv1d", "conv_transpose1d"])
def test_gradients_follow_finite_differences_to_second_order(function, shapes):
    check_grad(function, *(lnb.tensor(a, device="cuda") for a in drawn(shapes)))


@pytest.mark.parametrize("make, shape", [
    (lambda: nn.Conv1d(2, 4, 3, stride=2, padding=1, groups=2), (2, 2, 5)),
    (lambda: nn.Conv2d(3, 3, 3, padding=1, groups=3, padding_mode="circular"), (1, 3, 3, 2)),
    (lambda: nn.Conv3d(1, 2, 2, padding=1), (1, 1, 1, 2, 1)),
    (lambda: nn.ConvTranspose1d(2, 2, 3, stride=2), (1, 2, 3)),
    (lambda: nn.ConvTranspose3d(2, 1, 2, stride=2, bias=False), (1, 2, 1, 2, 1)),
    (lambda: nn.Sequential(nn.Unfold(2, padding=1), nn.Fold((2, 3), 2, padding=1)), (1, 2, 2, 3)),
], ids=lambda given: str(given) if isinstance(given, tuple) else "layer")
def test_layers_train_as_on_the_cpu(make, shape):
    found = []
    for device in ("cuda", "cpu"):
        lnb.random.seed(0)
        layer = make().to(device)
        x = lnb.tensor(drawn([shape], "float32")[0], device=device, requires_grad=True)
        result = layer(x)
        (result * result).sum().backward()
        found.append([t.to("cpu").numpy() for t in (result.detach(), x.grad, *(p.grad for p in layer.parameters()))])
    for got, wanted in zip(*found):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_round_once(dtype):
    """Sums of float32 are rounded to the dtype once, as on the CPU."""
    x, w = (a.astype(lnb.dtypes.as_dtype("test", dtype)) for a in drawn([(1, 3, 6), (2, 3, 3)]))
    got = lnb.conv1d(lnb.tensor(x, device="cuda"), lnb.tensor(w, device="cuda")).to("cpu").numpy()
    exact = lnb.conv1d(x.astype("float64"), w.astype("float64")).numpy()
    unit = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8}[dtype]
    np.testing.assert_allclose(got.astype("float64"), exact, rtol=1.01 * unit, atol=1e-5)
