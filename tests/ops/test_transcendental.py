"""Exponentials, logarithms and roots beyond what test_records holds them to: edges, ties, complex numbers, devices."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.testing import assert_close, check_grad

INF, NAN = float("inf"), float("nan")


def gradients(function, *values):
    """The gradients of a function at floats."""
    tensors = [lnb.tensor([value], requires_grad=True) for value in values]
    with np.errstate(all="ignore"):
        function(*tensors).sum().backward()
    return [tensor.grad.item() for tensor in tensors]


def hessian(function, *values):
    """The second derivatives of a function of two numbers."""
    x = lnb.tensor(list(values), requires_grad=True)
    y = lnb.tensor([1.0, 0.0]), lnb.tensor([0.0, 1.0])
    rows = []
    for unit in y:
        (first,) = gradient_of(function(x[0], x[1]), x)
        rows.append(gradient_of((first * unit).sum(), x)[0].tolist())
    return rows


def gradient_of(result, x):
    """A gradient that can be differentiated again."""
    x.grad = None
    result.backward(create_graph=True)
    found, x.grad = x.grad, None
    return (found,)


@pytest.mark.parametrize("names", [("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("atan2", "arctan2"),
                                   ("asinh", "arcsinh"), ("acosh", "arccosh"), ("atanh", "arctanh"),
                                   ("rad2deg", "degrees"), ("deg2rad", "radians")])
def test_names_of_the_array_api_are_the_same_functions(names):
    first, second = (getattr(lnb, name) for name in names)
    assert first is second


@pytest.mark.parametrize(("name", "x", "condition"), [
    ("log2", 0.0, "divide"), ("log10", 0.0, "divide"), ("log2", -1.0, "invalid"), ("exp2", 2000.0, "overflow"),
    ("sinh", 800.0, "overflow"), ("cosh", 800.0, "overflow"), ("arctanh", 1.0, "divide"), ("arctanh", 2.0, "invalid"),
    ("arccosh", 0.5, "invalid"), ("arcsin", 2.0, "invalid"), ("exp2", -1060.5, "underflow")])
def test_conditions_are_reported_as_by_numpy(name, x, condition):
    for function, value in ((getattr(np, name), np.array([x])), (getattr(lnb, name), lnb.tensor([x]))):
        with np.errstate(all="ignore", **{"over" if condition == "overflow" else "under" if condition == "underflow"
                                          else condition: "raise"}), pytest.raises(FloatingPointError):
            function(value)


@pytest.mark.parametrize("x", [[0.5, 0.5], [INF, INF], [-INF, -INF], [INF, -INF], [3.0, -INF], [800.0, -800.0]])
def test_logaddexp_of_infinities_and_ties_has_shares_as_gradient(x):
    total = np.logaddexp(*x)
    assert lnb.logaddexp(*map(lnb.tensor, x)).item() == pytest.approx(total)
    first, second = gradients(lnb.logaddexp, *x)
    assert first + second == 1 and 0 <= first <= 1
    assert first == (0.5 if x[0] == x[1] else x[0] > x[1])
    assert gradients(lnb.logaddexp2, *x) == [first, second]


def test_logaddexp_at_a_tie_keeps_its_curvature():
    assert_close(hessian(lnb.logaddexp, 2.0, 2.0), [[0.25, -0.25], [-0.25, 0.25]], rtol=1e-15)
    check_grad(lnb.logaddexp, [2.0, 1.0], [2.0, -1.0])
    check_grad(lnb.logaddexp2, [2.0, 1.0], [2.0, -1.0])


@pytest.mark.parametrize("device", ["cpu", "mlx"])
def test_hypot_at_the_origin_has_no_gradient(device):
    if device == "mlx":
        pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    x, y = (lnb.tensor([0.0, 3.0, -5.0], requires_grad=True, device=device) for _ in range(2))
    lnb.hypot(x, y).sum().backward()
    assert_close(x.grad.to_host(), [0, 0.5 ** 0.5, -(0.5 ** 0.5)], rtol=1e-6)
    assert gradients(lnb.hypot, 1e200, 1e200) == pytest.approx([0.5 ** 0.5] * 2)       # no square overflows


def test_log2_and_log10_of_their_powers_are_whole():
    assert lnb.log10(lnb.tensor(10.0 ** np.arange(23))).tolist() == list(range(23))
    assert lnb.log2(lnb.tensor(2.0 ** np.arange(-1074, 1024))).tolist() == list(range(-1074, 1024))
    assert lnb.cbrt(lnb.tensor(np.arange(-20.0, 21) ** 3)).tolist() == np.arange(-20.0, 21).tolist()


COMPLEX = ("exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh "
           "arccosh arctanh").split()
POINTS = np.array([0.3 + 0.4j, -0.7 + 0.2j, 1.5 - 0.6j, -2.1 - 1.3j, 0.1 - 3.0j])


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients_follow_finite_differences(name):
    check_grad(getattr(lnb, name), POINTS[:4], order=2 if name in ("exp2", "tanh", "arccosh") else 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_slope_of_arcsinh_survives_squares_that_overflow(dtype):
    x = lnb.tensor(np.array([3e19, -1e25, 2e37, 1e9, -0.5], dtype), requires_grad=True)
    lnb.arcsinh(x).real.sum().backward()
    assert_close(x.grad.numpy(), 1 / np.hypot(1, x.detach().numpy().real.astype("float64")), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["tanh", "tan"])
def test_slope_of_the_complex_tangent_keeps_its_tails(name, dtype):
    z = np.array([12 + 0.3j, -15 - 2j, 30 + 1j, 0.3 - 0.2j, -40 + 0.5j], dtype) * (1 if name == "tanh" else 1j)
    x = lnb.tensor(z, requires_grad=True)
    getattr(lnb, name)(x).real.sum().backward()
    wide = z.astype("complex128")
    exact = 1 / np.cosh(wide) ** 2 if name == "tanh" else 1 / np.cos(wide) ** 2
    assert_close(x.grad.numpy(), exact.conj(), rtol=1e-5 if dtype == "complex64" else 1e-13)
    check_grad(getattr(lnb, name), np.array([0.3 + 0.4j, -0.7 + 0.2j]))


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_values_on_mlx_are_those_of_numpy(name):
    pytest.importorskip("mlx.core", reason="needs MLX, which exists for Apple silicon and for Linux")
    wanted = 1 / np.sqrt(POINTS) if name == "rsqrt" else getattr(np, name)(POINTS)
    found = getattr(lnb, name)(lnb.tensor(POINTS.astype("complex64"), device="mlx"))
    assert found.dtype == np.complex64
    assert_close(found.to_host(), wanted, rtol=2e-6)


@pytest.mark.cuda_simulator
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_written_for_cuda_are_those_of_numpy(dtype):
    from lucid_nb.cuda import complex as written
    far = np.array([1e19 + 1e18j, -3e18j, 1 + 1e-18j, -1 - 1e-18j, 2 + 0j, complex(2, -0.0), complex(-2, -0.0)])
    for name, function in written.written(dtype).items():
        if name in COMPLEX:
            points = np.concatenate([POINTS, far if name.startswith("arc") else []]).astype(dtype)
            found = np.array([function(z) for z in points])
            assert_close(found, getattr(np, name)(points), rtol=20 * np.finfo(dtype).eps)
