"""Fourier transforms against NumPy's over dtypes, shapes, layouts and keywords; gradients by finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import errors, testing
from lucid_nb.testing import check_grad

from .derivatives import check_against_cpu

RNG = np.random.default_rng(8)
X, Y = RNG.standard_normal((3, 4, 5)), RNG.standard_normal((3, 4, 5))
Z = X + 1j * Y
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
REAL = {"rfft", "ihfft", "rfftn", "rfft2"}                      # which take real numbers only
DTYPES = ["bool", "int8", "uint64", "int64", "float16", "float32", "float64", "complex64", "complex128"]
NORMS = [None, "backward", "ortho", "forward"]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def same(name, x, *arguments, **keywords):
    """Both libraries give the same values, dtype, shape and memory order, or refuse."""
    on = lnb.asarray(x)
    try:
        wanted = getattr(np.fft, name)(x, *arguments, **keywords)
    except (ValueError, TypeError, IndexError):           # of several that are wrong, each may name another
        with pytest.raises((ValueError, TypeError, IndexError)):
            getattr(lnb.fft, name)(on, *arguments, **keywords)
        return
    found = getattr(lnb.fft, name)(on, *arguments, **keywords)
    # NumPy's irfft of an axis without elements gives what its memory holds; the others give zeros.
    np.testing.assert_array_equal(found.numpy(), wanted if x.size else np.zeros_like(wanted), strict=True)
    assert found.numpy().strides == wanted.strides


@pytest.mark.parametrize("name", ONE)
@given(data=st.data())
def test_transforms_along_one_axis_are_numpys(name, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(testing.arrays(dtype, testing.shapes(max_dims=4)))
    same(name, x, data.draw(st.sampled_from([None, 0, 1, 2, 5, 6])), data.draw(st.integers(-2, 2)),
         data.draw(st.sampled_from(NORMS)))


@pytest.mark.parametrize("name", MANY)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@given(data=st.data())
def test_transforms_along_several_axes_are_numpys(name, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(testing.arrays(dtype, testing.shapes(max_dims=4)))
    keywords = {"norm": data.draw(st.sampled_from(NORMS))}
    axes = data.draw(st.none() | st.lists(st.integers(-x.ndim, max(x.ndim - 1, 0)), max_size=3))
    if axes is not None or not name.endswith("2"):
        keywords["axes"] = axes
    if data.draw(st.booleans()):
        count = 2 if axes is None else len(axes)
        keywords["s"] = data.draw(st.lists(st.sampled_from([-1, 1, 2, 3, 5]), min_size=count, max_size=count))
    same(name, x, **keywords)


@given(data=st.data())
def test_shifts_are_numpys(data):
    x = data.draw(testing.arrays(st.sampled_from(DTYPES), testing.shapes(min_dims=1)))
    axes = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1) | st.lists(st.integers(-x.ndim, x.ndim - 1))
                     if x.ndim else st.none())
    for name in ("fftshift", "ifftshift"):
        np.testing.assert_array_equal(getattr(lnb.fft, name)(lnb.asarray(x), axes).numpy(),
                                      getattr(np.fft, name)(x, axes), strict=True)


# ------------------------------------------------------------------------------------------------ gradients
@pytest.mark.parametrize("n", [None, 1, 2, 3, 6, 7])
@pytest.mark.parametrize("name", ONE)
def test_gradients_along_one_axis(name, n):
    for norm in NORMS[1:]:
        check_grad(lambda x, norm=norm: getattr(lnb.fft, name)(x, n, 1, norm), X)
        if name not in REAL:
            check_grad(lambda x, norm=norm: getattr(lnb.fft, name)(x, n, -1, norm), Z)


@pytest.mark.parametrize("how", [{}, {"axes": (1,)}, {"axes": (2, 0)}, {"axes": (0, 1), "s": (5, 3)},
                                 {"axes": (1, 1), "s": (3, 3)}, {"axes": (-1, 0, 1), "norm": "ortho", "s": (2, 4, 1)}],
                         ids=str)
@pytest.mark.parametrize("name", MANY[:4])
def test_gradients_along_several_axes(name, how):
    check_grad(lambda x: getattr(lnb.fft, name)(x, **how), X)
    if name not in REAL:
        check_grad(lambda x: getattr(lnb.fft, name)(x, **how), Z)


def test_gradient_of_what_is_not_linear():
    check_grad(lambda x: abs(lnb.fft.rfft(x)) ** 2, X)
    check_grad(lambda x: lnb.fft.fftshift(lnb.fft.fft(x * x, axis=0), 0), Z)
    check_grad(lambda x, k: lnb.fft.irfft(lnb.fft.rfft(x) * lnb.fft.rfft(k, 5), 5), X, Y[0, 0, :3])


def test_forward_mode_is_the_transform_of_the_tangent():
    for name in ONE:
        x, t = (X, Y) if name in REAL else (Z, Z[::-1].copy())
        value, tangent = lnb.jvp(lambda a, name=name: getattr(lnb.fft, name)(a, 6), (lnb.tensor(x),), (lnb.tensor(t),))
        np.testing.assert_array_equal(value.numpy(), getattr(np.fft, name)(x, 6))
        np.testing.assert_array_equal(tangent.numpy(), getattr(np.fft, name)(t, 6))


@pytest.mark.parametrize("name", ["fft", "rfft", "hfft", "ihfft"])
def test_small_floats_have_gradients_of_their_dtype(name):
    for dtype in ("float16", lnb.bfloat16, "float32"):
        x = lnb.tensor(X[0, 0].astype("float32"), dtype=dtype, requires_grad=True)
        lnb.abs(getattr(lnb.fft, name)(x)).sum().backward()
        exact = lnb.tensor(x.detach().to_host().astype("float64"), requires_grad=True)
        lnb.abs(getattr(lnb.fft, name)(exact)).sum().backward()
        assert x.grad.dtype == x.dtype
        np.testing.assert_allclose(x.grad.numpy().astype("float64"), exact.grad.numpy(),
                                   rtol={"float32": 1e-5, "float16": 1e-2}.get(str(x.dtype), 5e-2), atol=2e-2)


# -------------------------------------------------------------------------------------------------- devices
def close(found, wanted, device):
    """Values of a device to the rounding of float32; shape and dtype."""
    assert found.device == device and found.dtype == wanted.dtype and found.shape == wanted.shape
    size = np.abs(wanted).max(initial=1)
    np.testing.assert_allclose(found.to_host(), wanted, rtol=1e-5, atol=2e-6 * size)


@pytest.mark.parametrize("name", ONE)
def test_transforms_of_each_device_are_numpys(name, device):
    for x in (X.astype("float32"), Z.astype("complex64"), np.zeros((2, 0, 3), "float32")):
        if name in REAL and x.dtype.kind == "c":
            continue
        for n, axis in ((None, 0), (4, -1), (7, 2)):
            for norm in NORMS:
                wanted = getattr(np.fft, name)(x, n, axis, norm)
                close(getattr(lnb.fft, name)(lnb.asarray(x, device=device), n, axis, norm), wanted, device)


@pytest.mark.parametrize("name", MANY[:4])
def test_transforms_over_axes_of_each_device_are_numpys(name, device):
    x = X.astype("float32")
    for how in ({}, {"axes": (2, 0)}, {"axes": (0, 1), "s": (5, 3), "norm": "ortho"}, {"axes": (1, 1)}):
        close(getattr(lnb.fft, name)(lnb.asarray(x, device=device), **how), getattr(np.fft, name)(x, **how), device)


def test_gradients_of_each_device(device):
    for f in (lambda x: lnb.abs(lnb.fft.rfftn(x, (4, 4), (0, 1))) ** 2, lambda x: lnb.fft.irfft(x * x, 5)):
        check_against_cpu(f, X[0], device=device, rtol=1e-4)


def test_mlx_refuses_what_would_be_complex128():
    x = lnb.asarray(X, device="mlx") if lnb.backend.is_usable("mlx") else pytest.skip("needs MLX")
    with pytest.raises(errors.DTypeError, match=r"fft: float64 gives complex128.*float32"):
        lnb.fft.fft(x)
    assert lnb.fft.fft(lnb.asarray([1, 2], device="mlx")).to_host().tolist() == [3, -1]


@pytest.mark.parametrize("name", ONE)
def test_examples_of_vmap_are_transformed_each_by_itself(name):
    x = X if name in REAL else Z
    for n, axis in ((None, 0), (3, -1)):
        found = lnb.vmap(lambda a, n=n, axis=axis: getattr(lnb.fft, name)(a, n, axis))(lnb.tensor(x))
        np.testing.assert_allclose(found.numpy(), [getattr(np.fft, name)(row, n, axis) for row in x], rtol=1e-13)


# --------------------------------------------------------------------------------- arguments and frequencies
@pytest.mark.parametrize("name", ONE + MANY)
def test_out_is_written_and_given_back(name):
    wanted = getattr(np.fft, name)(X)
    for out in (lnb.empty(wanted.shape, dtype=wanted.dtype), np.empty_like(wanted)):
        assert getattr(lnb.fft, name)(X, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), wanted)
    with pytest.raises(ValueError, match="out has shape"):
        getattr(lnb.fft, name)(X, out=lnb.empty((1, 2), dtype=wanted.dtype))
    with pytest.raises(TypeError, match="int64"):
        getattr(lnb.fft, name)(X, out=lnb.empty(wanted.shape, dtype="int64"))


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda f: f.fft(X, 0), ValueError, "fft: 0 elements to transform"),
    (lambda f: f.fft(X, -1), ValueError, "fft: -1 elements to transform"),
    (lambda f: f.irfft(X[..., :1]), ValueError, "irfft: 0 elements to transform"),
    (lambda f: f.fft(X, norm="both"), ValueError, "fft: norm 'both' is unknown"),
    (lambda f: f.fftn(X, norm=2), ValueError, "fftn: norm 2 is unknown"),
    (lambda f: f.fft(X, axis=3), np.exceptions.AxisError, "fft: axis 3 is out of range"),
    (lambda f: f.fft(X, 2.5), TypeError, "fft: n is 2.5"),
    (lambda f: f.rfft(Z), TypeError, "rfft: complex128 is not real"),
    (lambda f: f.fftn(X, (2,), (0, 1)), ValueError, "fftn: 1 sizes s for 2 axes"),
    (lambda f: f.fftfreq(2.5), ValueError, "fftfreq: n is 2.5"),
    (lambda f: f.fftfreq(-1), ValueError, "fftfreq: n is -1"),
    (lambda f: f.fftfreq(0), ZeroDivisionError, "fftfreq: n is 0"),
], ids=[f"wrong-{number}" for number in range(12)])
def test_wrong_arguments_raise_numpys_kinds(call, kind, text):
    with pytest.raises(kind, match=text):
        call(lnb.fft)
    with pytest.raises(IndexError if kind is np.exceptions.AxisError else kind):
        call(np.fft)


def test_rows_without_axes_warn_as_numpys():
    with pytest.warns(DeprecationWarning, match="fftn: axes"):
        found = lnb.fft.fftn(X, (2, 3))
    np.testing.assert_array_equal(found.numpy(), np.fft.fftn(X, (2, 3), (-2, -1)))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_are_numpys(name, device):
    for n in (1, 2, 7, 8):
        for d in (1.0, 0.25, 3):
            found = getattr(lnb.fft, name)(n, d, device=device, dtype=lnb.float32)
            np.testing.assert_array_equal(found.to_host(), getattr(np.fft, name)(n, d).astype("float32"), strict=True)
            assert found.device == device
        np.testing.assert_array_equal(getattr(lnb.fft, name)(np.int32(n)).numpy(), getattr(np.fft, name)(n),
                                      strict=True)
    assert getattr(lnb.fft, name)(4, device="cpu").dtype == np.float64
    with pytest.raises(errors.DTypeError, match="holds no frequencies"):
        getattr(lnb.fft, name)(4, dtype=lnb.complex64)


def test_frequencies_have_a_gradient_by_the_spacing():
    check_grad(lambda d: lnb.fft.fftfreq(5, d), np.array(0.7))
    np.testing.assert_allclose(lnb.fft.fftfreq(5, lnb.tensor(0.7)).numpy(), np.fft.fftfreq(5, 0.7), rtol=1e-15)


def test_a_transform_costs_what_its_butterflies_cost():
    def butterflies(n):
        return 0 if n == 1 else 2 * butterflies(n // 2) + n // 2 * 3          # a product, a sum, a difference
    with lnb.count_flops() as counter:
        lnb.fft.fft(lnb.ones((3, 16)))
        lnb.fft.rfft(lnb.ones((3, 16)))
    assert counter.total == 3 * butterflies(16) * 1.5
