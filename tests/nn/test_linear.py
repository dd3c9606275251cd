"""Linear and Flatten. Oracle: NumPy in float64, finite differences through check by hand, torch where installed."""

import ml_dtypes  # noqa: F401  Makes NumPy know the word bfloat16.
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, nn
from lucid_nb.nn import functional as F
from lucid_nb.testing import check_grad

from .against_torch import assert_layers_agree

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 3, 4), (0, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_is_a_product_with_the_transposed_weight(shape, bias):
    layer, x = nn.Linear(4, 3, bias), RNG.normal(size=shape).astype(np.float32)
    weight = layer.weight.detach().numpy().astype(np.float64)
    expected = x @ weight.T + (layer.bias.detach().numpy() if bias else 0)
    assert np.allclose(layer(x).detach().numpy(), expected, atol=1e-6) and layer(x).dtype == np.float32


def test_linear_gradients_are_those_of_the_product():
    layer = nn.Linear(4, 3, dtype="float64")
    x, g = lnb.tensor(RNG.normal(size=(5, 4)), requires_grad=True), RNG.normal(size=(5, 3))
    layer(x).backward(lnb.asarray(g))
    weight = layer.weight.detach().numpy()
    assert np.allclose(layer.weight.grad.numpy(), g.T @ x.detach().numpy(), rtol=1e-12)
    assert np.allclose(layer.bias.grad.numpy(), g.sum(0), rtol=1e-12)
    assert np.allclose(x.grad.numpy(), g @ weight, rtol=1e-12)


@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 4), (4,), (1, 4)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_linear_gradients_follow_finite_differences(shape, bias, kind):
    sizes = [shape, (3, 4), (3,)][:2 + bias]
    operands = [RNG.normal(size=size) + (1j * RNG.normal(size=size) if kind == "complex" else 0) for size in sizes]
    check_grad(F.linear, *operands, order=2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32"])
def test_linear_of_other_dtypes_rounds_once(dtype):
    x, weight, bias = (lnb.asarray(RNG.integers(-4, 4, shape).astype(dtype)) for shape in ((5, 40), (3, 40), (3,)))
    wide = [y.numpy().astype(np.float64) for y in (x, weight, bias)]
    expected = (wide[0] @ wide[1].T + wide[2]).astype(dtype)
    np.testing.assert_array_equal(F.linear(x, weight, bias).numpy(), expected, strict=True)


def test_linear_follows_the_cpu_on_mlx():
    pytest.importorskip("mlx.core")
    operands = [RNG.normal(size=shape).astype(np.float32) for shape in ((2, 3, 4), (5, 4), (5,))]
    found = []
    for device in ("cpu", "mlx"):
        inputs = [lnb.tensor(x, device=device, requires_grad=True) for x in operands]
        out = F.linear(*inputs)
        (out * out).sum().backward()
        found.append([out, *[x.grad for x in inputs]])
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(theirs.detach().numpy(), ours.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_linear_starts_within_its_bound():
    layer = nn.Linear(100, 50)
    for param in layer.parameters():
        values = param.detach().numpy()
        assert np.abs(values).max() <= 0.1 + 1e-7 and values.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.25)
    assert layer.weight.dtype == np.float32


def test_linear_refuses_float64_data_and_names_the_remedies():
    with pytest.raises(lnb.DTypeError, match=r"linear: the input is float64, the weight float32.*astype.*set_"):
        nn.Linear(4, 3)(np.ones((2, 4)))


def test_linear_takes_python_lists_as_its_own_dtype():
    assert nn.Linear(2, 3)([[1.0, 2.0]]).shape == (1, 3)


@pytest.mark.parametrize("shape", [(2, 3), (), (5,)])
def test_linear_refuses_other_sizes(shape):
    with pytest.raises(lnb.ShapeError, match="linear: an input of shape"):
        nn.Linear(4, 3)(np.ones(shape, np.float32))
    with pytest.raises(lnb.ShapeError, match="Linear: sizes -1 and 3"):
        nn.Linear(-1, 3)


@pytest.mark.parametrize(("axes", "shape"), [((1, -1), (2, 60)), ((0, -1), (120,)), ((1, 2), (2, 12, 5)),
                                             ((2, 2), None)])
def test_flatten_joins_axes(axes, shape):
    x = np.arange(120.0).reshape(2, 3, 4, 5)
    assert np.array_equal(nn.Flatten(*axes)(x).numpy(), x.reshape(shape or x.shape))


def test_flatten_of_one_value_and_bad_axes():
    assert F.flatten(lnb.tensor(3.0)).shape == (1,)
    with pytest.raises(lnb.errors.AxisError, match="start_dim 2 comes after end_dim 1"):
        F.flatten(np.ones((2, 3, 4)), 2, 1)
    with pytest.raises(lnb.errors.AxisError, match="flatten: axis 3 is out of range"):
        F.flatten(np.ones((2, 3, 4)), 0, 3)


def test_identity_ignores_its_arguments():
    x = lnb.tensor([1.0])
    assert nn.Identity(54, unused=True)(x) is x


@pytest.mark.parametrize("sizes", [("3", 2), (3, 2.0), (None, 2)])
def test_linear_takes_integer_sizes_only(sizes):
    with pytest.raises(lnb.ShapeError, match=r"Linear: \w+ .* is not an integer"):
        nn.Linear(*sizes)
    with pytest.raises(lnb.ShapeError, match=r"Conv2d: \w+ .* is not an integer"):
        nn.Conv2d(*sizes, 3)


sizes = st.integers(1, 5)


@given(lead=st.lists(st.integers(0, 3), max_size=2), n=sizes, m=sizes, features=sizes, bias=st.booleans())
def test_bilinear_equals_its_sum_and_torch(lead, n, m, features, bias):
    random = np.random.default_rng(0)
    x, y, weight, shift = (random.standard_normal(shape) for shape in
                           ((*lead, n), (*lead, m), (features, n, m), features))
    found = F.bilinear(x, y, lnb.tensor(weight), lnb.tensor(shift) if bias else None).numpy()
    wanted = np.einsum("...i,oij,...j->...o", x, weight, y) + shift * bias
    assert np.allclose(found, wanted, rtol=1e-12, atol=1e-13) and found.shape == wanted.shape
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    theirs = torch.nn.functional.bilinear(*map(torch.tensor, (x, y, weight)), torch.tensor(shift) if bias else None)
    assert np.allclose(found, theirs.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("bias", [True, False])
def test_bilinear_layer_equals_torch(bias):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    ours, theirs = (library.nn.Bilinear(4, 3, 2, bias) for library in (lnb, torch))
    assert repr(ours) == repr(theirs) and np.abs(ours.weight.numpy()).max() <= 0.5
    inputs = [np.random.default_rng(0).random((5, size), np.float32) for size in (4, 3)]
    assert_layers_agree(ours, theirs, inputs, {})


def test_bilinear_has_gradients_to_second_order():
    random = np.random.default_rng(1)
    check_grad(F.bilinear, random.random((2, 3)), random.random((2, 2)), random.random((2, 3, 2)), random.random(2))
    form = lnb.tensor(random.random((2, 3, 2)))
    for x, y, weight in (((2, 3), (3, 2), form), ((2, 3), (2, 3), form), ((), (2,), form), ((3,), (2,), form[0])):
        with pytest.raises(errors.ShapeError, match="bilinear: inputs of shapes"):
            F.bilinear(np.ones(x), np.ones(y), weight)
    with pytest.raises(errors.ShapeError, match="sizes 0, 3 and 2"):
        lnb.nn.Bilinear(0, 3, 2)
