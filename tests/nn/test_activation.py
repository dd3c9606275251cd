"""Activations as functions and modules. Oracle: mpmath, SciPy, and torch where it is installed."""

import mpmath
import numpy as np
import pytest
import scipy.special

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.errors import DTypeError, GradError, ShapeError
from lucid_nb.nn import functional as F
from lucid_nb.op import registry
from lucid_nb.testing import check_grad

X = np.concatenate([np.linspace(-40, 40, 41), [-1e-3, 0.5, 1e-3]])
JOINTS = np.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0])


def gelu_tanh(x):
    """The tanh form, with digits to spare for its cancellation."""
    with mpmath.workdps(400):
        x = mpmath.mpf(float(x))
        return float(x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(44715) / 10**6 * x**3))))


def mish(x):
    """x tanh(log(1 + exp(x))), with digits to spare in the left tail."""
    with mpmath.workdps(60):
        return float(x * mpmath.tanh(mpmath.log1p(mpmath.exp(mpmath.mpf(float(x))))))


def tanhshrink(x):
    """x - tanh(x), with digits to spare next to 0."""
    with mpmath.workdps(60):
        return float(mpmath.mpf(float(x)) - mpmath.tanh(mpmath.mpf(float(x))))


def gated(x):
    """Halves of the last axis of two rows."""
    return x[..., :22] * scipy.special.expit(x[..., 22:])


SELU = 1.0507009873554805, 1.6732632423543772
CASES = [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
    (nn.LeakyReLU(), lambda x: np.where(x > 0, x, 0.01 * x)),
    (nn.LeakyReLU(0.2), lambda x: np.maximum(x, 0.2 * x)),
    (nn.ELU(), lambda x: np.where(x > 0, x, np.expm1(x))),
    (nn.ELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0)))),
    (nn.CELU(2.0), lambda x: np.maximum(x, 0) + np.minimum(2 * np.expm1(x / 2), 0)),
    (nn.SELU(), lambda x: SELU[0] * (np.maximum(x, 0) + np.minimum(SELU[1] * np.expm1(np.minimum(x, 0)), 0))),
    (nn.Hardtanh(), lambda x: np.clip(x, -1, 1)),
    (nn.Hardtanh(-2.0, 3.0), lambda x: np.clip(x, -2, 3)),
    (nn.Hardsigmoid(), lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    (nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    (nn.Hardshrink(), lambda x: x * (np.abs(x) > 0.5)),
    (nn.Softshrink(0.25), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.25, 0)),
    (nn.Threshold(0.5, -7.0), lambda x: np.where(x > 0.5, x, -7)),
    (nn.RReLU().eval(), lambda x: np.where(x > 0, x, x * 11 / 48)),
    (nn.PReLU(), lambda x: np.where(x > 0, x, 0.25 * x)),
    (nn.Sigmoid(), scipy.special.expit),
    (nn.LogSigmoid(), scipy.special.log_expit),
    (nn.Tanh(), np.tanh),
    (nn.Tanhshrink(), np.vectorize(tanhshrink)),
    (nn.Softsign(), lambda x: np.sign(x) * (1 - 1 / (1 + np.abs(x)))),
    (nn.SiLU(), lambda x: x * scipy.special.expit(x)),
    (nn.Mish(), np.vectorize(mish)),
    (nn.GELU(), lambda x: x * scipy.special.ndtr(x)),
    (nn.GELU("tanh"), np.vectorize(gelu_tanh)),
    (nn.Softplus(), lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))),
    (nn.Softplus(2.0, 5.0), lambda x: np.where(2 * x > 5, x, np.log1p(np.exp(2 * np.minimum(x, 2.5))) / 2)),
    (nn.Softmax(-1), lambda x: scipy.special.softmax(x, -1)),
    (nn.LogSoftmax(0), lambda x: scipy.special.log_softmax(x, 0)),
    (nn.Softmin(-1), lambda x: scipy.special.softmax(-x, -1)),
    (nn.GLU(), gated),
]
OPTIONS = [
    ("relu", {}), ("relu6", {}), ("leaky_relu", {}), ("leaky_relu", dict(negative_slope=0.3)), ("elu", dict(alpha=1.5)),
    ("celu", dict(alpha=0.5)), ("selu", {}), ("hardtanh", {}), ("hardtanh", dict(min_val=-3, max_val=0.5)),
    ("hardsigmoid", {}), ("hardswish", {}), ("hardshrink", {}), ("softshrink", {}), ("softshrink", dict(lambd=1)),
    ("threshold", dict(threshold=0.5, value=2)), ("rrelu", {}), ("sigmoid", {}), ("logsigmoid", {}), ("tanh", {}),
    ("tanhshrink", {}), ("softsign", {}), ("silu", {}), ("mish", {}), ("gelu", {}), ("gelu", dict(approximate="tanh")),
    ("softplus", {}), ("softplus", dict(beta=0.5, threshold=3)), ("softmax", dict(dim=0)), ("softmin", dict(dim=0)),
    ("log_softmax", dict(dim=-1)), ("glu", {})]
IN_PLACE = ("relu", "relu6", "leaky_relu", "elu", "celu", "selu", "hardtanh", "hardsigmoid", "hardswish", "silu",
            "mish", "rrelu")


@pytest.mark.parametrize(("module", "oracle"), CASES, ids=lambda case: str(case) if isinstance(case, nn.Module) else "")
def test_activation_has_its_values(module, oracle):
    assert np.allclose(module(X).numpy(), oracle(X), rtol=2e-13, atol=1e-300)
    single = module(X.astype(np.float32)) if not isinstance(module, nn.PReLU) else module(lnb.asarray(X, "float32"))
    assert single.dtype == np.float32 and np.allclose(single.numpy(), oracle(X), rtol=3e-6, atol=1e-37)


@pytest.mark.parametrize("module", [case[0] for case in CASES], ids=str)
def test_activation_has_its_gradient(module):
    check_grad(module, np.random.default_rng(1).normal(size=(3, 4)) * 1.5)


@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=str)
def test_functions_and_their_slopes_equal_torch(name, options):
    """At the joints of pieces too."""
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    for points in (X, JOINTS):
        leaf, peer = lnb.tensor(points, requires_grad=True), torch.tensor(points, requires_grad=True)
        found, expected = getattr(F, name)(leaf, **options), getattr(torch.nn.functional, name)(peer, **options)
        assert np.allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-15)
        weights = np.linspace(1, 2, found.size)
        found.backward(lnb.asarray(weights))
        expected.backward(torch.from_numpy(weights))
        accurate = 1e-7 if name == "hardsigmoid" else 1e-11            # PyTorch's sixth is one in single precision
        assert np.allclose(leaf.grad.numpy(), peer.grad.numpy(), rtol=accurate, atol=1e-14)


def test_a_parameter_compiles_no_kernel_of_its_own():
    kernels = registry["elu"].compiled
    x = lnb.asarray(X)
    F.elu(x, 0.5)
    before = len(kernels)
    for alpha in (0.25, 0.75, 1, 3.5):
        F.elu(x, alpha)
    assert len(kernels) == before


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_overwrites(name):
    x = lnb.tensor([-1.0, 2.0])
    expected = getattr(F, name)(x.copy())
    assert getattr(F, name)(x, inplace=True) is x and x.tolist() == expected.tolist()
    assert repr(nn.ReLU(True)) == "ReLU(inplace=True)"


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_within_a_graph_differentiates(name):
    """What the gradient reads of the input is kept, though it is overwritten."""
    x = np.array([-2.5, -0.7, 0.4, 1.3, 5.1])
    check_grad(lambda x: getattr(F, name)(x * 1.25, inplace=True), x, order=1)
    check_grad(lambda x: getattr(F, name)((x * 1.25)[1:4], inplace=True), x, order=1)


def test_in_place_refuses_what_cannot_be_overwritten():
    with pytest.raises(DTypeError, match=r"^relu: inplace=True would overwrite \[1.0\]\. Give a tensor"):
        F.relu([1.0], inplace=True)
    with pytest.raises(ShapeError, match=r"^relu: a 0-d result is a value"):
        F.relu(lnb.ones(2).sum(), inplace=True)
    with pytest.raises(GradError, match=r"^relu: .*leaf"):
        F.relu(lnb.ones(2, requires_grad=True), inplace=True)
    with pytest.raises(DTypeError, match=r"^in-place elu: float"):
        F.elu(lnb.arange(3), inplace=True)


def test_prelu_has_one_weight_or_one_for_each_channel():
    x, weight = np.random.default_rng(2).normal(size=(2, 3, 4, 2)), np.array([0.1, 0.2, 0.3])
    found = F.prelu(x, weight).numpy()
    assert np.array_equal(found, np.where(x > 0, x, weight[:, None, None] * x))
    assert np.array_equal(F.prelu(x, [0.5]).numpy(), np.where(x > 0, x, 0.5 * x))
    check_grad(F.prelu, x[:, :, 0, 0], weight)
    assert nn.PReLU(3).weight.shape == (3,) and [*nn.PReLU().state_dict()] == ["weight"]
    with pytest.raises(lnb.ShapeError, match=r"2,.*for 3 channels"):
        F.prelu(x, [0.1, 0.2])


def test_rrelu_draws_slopes_in_training():
    module = nn.RReLU(0.1, 0.4)
    x = -np.ones(10000, np.float32)
    lnb.random.seed(3)
    slopes = -module(x).numpy()
    assert slopes.dtype == np.float32 and 0.1 <= slopes.min() < 0.101 and 0.399 < slopes.max() <= 0.4
    assert slopes.mean() == pytest.approx(0.25, abs=0.005)
    lnb.random.seed(3)
    leaf = lnb.tensor(x, requires_grad=True)
    module(leaf).sum().backward()
    assert np.array_equal(leaf.grad.numpy(), slopes)
    assert module.eval()(x).numpy() == pytest.approx(-0.25)
    assert F.rrelu([3.0], training=True).tolist() == [3]


def test_glu_halves_the_axis_that_is_asked_for():
    x = np.random.default_rng(0).normal(size=(4, 3))
    expected = x[:2] * scipy.special.expit(x[2:])
    assert np.allclose(F.glu(x, 0).numpy(), expected, rtol=1e-15) and np.allclose(F.glu(x, axis=0).numpy(), expected)
    check_grad(lambda x: F.glu(x, 0), x)
    with pytest.raises(lnb.ShapeError, match="odd size"):
        F.glu(x)


def test_softmax_takes_dim_or_axis_and_dtype():
    x = np.float32([[1, 2], [3, 5]])
    assert np.array_equal(F.softmax(x, axis=0).numpy(), F.softmax(x, dim=0).numpy())
    assert F.softmax(x).numpy().sum(-1) == pytest.approx([1, 1])
    assert F.softmax(x, 0, dtype=lnb.float64).dtype == "float64"
    with pytest.raises(lnb.errors.AxisError, match="both dim=0 and axis=1"):
        F.softmax(x, dim=0, axis=1)


@pytest.mark.parametrize("make", [
    lambda: nn.GELU("erf"), lambda: F.gelu(X, "erf"), lambda: nn.Softplus(beta=0), lambda: nn.CELU(0),
    lambda: nn.Hardtanh(1, 1), lambda: nn.Softshrink(-1), lambda: F.softshrink(X, -1), lambda: nn.RReLU(0.5, 0.1),
    lambda: F.rrelu(X, 0.5, 0.1), lambda: F.rrelu(X, None), lambda: F.softshrink(X, "a"),
    lambda: F.softshrink(X, np.ones(2)), lambda: F.gelu(X, np.ones(2))])
def test_options_out_of_range_are_refused(make):
    with pytest.raises(lnb.ConfigError):
        make()


def test_modules_show_their_options():
    shown = "Softmax(dim=-1) LogSoftmax(dim=0) GELU(approximate='tanh') Softplus(beta=2.0, threshold=5.0) Tanh()"
    assert shown == f"{nn.Softmax()} {nn.LogSoftmax(0)} {nn.GELU('tanh')} {nn.Softplus(2.0, 5.0)} {nn.Tanh()}"
    shown = "LeakyReLU(negative_slope=0.01) ELU(alpha=1.0, inplace=True) PReLU(num_parameters=2) GLU(dim=-1)"
    assert shown == f"{nn.LeakyReLU()} {nn.ELU(inplace=True)} {nn.PReLU(2)} {nn.GLU()}"


def test_tails_are_kept_in_single_precision():
    """Where the product of x and a rounded, subnormal gate would have no digit left."""
    x = np.float32([-90, -95, -100])
    exact = x.astype(float) * np.exp(x.astype(float))
    for function in (F.silu, F.mish):
        assert np.allclose(function(x).numpy(), exact, rtol=1e-6, atol=2e-45)
    near = np.float32([-10, -10.5])
    assert np.allclose(F.gelu(near, "tanh").numpy(), [gelu_tanh(v) for v in near], rtol=1e-6, atol=2e-45)
    assert F.silu(np.float32(-np.inf)).item() == F.mish(np.float32(-np.inf)).item() == 0


@pytest.mark.parametrize("shape", [(3, 2, 4), (2, 3, 2, 4)])
def test_softmax_of_images_is_over_channels(shape):
    torch = pytest.importorskip("torch", reason="torch is in the extras dev and bench")
    x = np.random.default_rng(0).standard_normal(shape)
    assert np.allclose(nn.Softmax2d()(x).numpy(), torch.nn.Softmax2d()(torch.tensor(x)).numpy(), rtol=1e-14)
    assert repr(nn.Softmax2d()) == "Softmax2d()"
    with pytest.raises(lnb.ShapeError, match="Softmax2d"):
        nn.Softmax2d()(x[0, 0])
