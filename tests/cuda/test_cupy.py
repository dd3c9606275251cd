"""What CuPy does for the table where it is installed: how it sees memory, and what happens when it refuses."""

import inspect
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import config
from lucid_nb.cuda import algebra, cupy, runtime
from lucid_nb.errors import LinAlgError

from .conftest import simulated
from .fake_cupy import FakeCupy

DTYPES = ["float32", "float64", "int8", "uint16", "int64", "bool", "complex64"]


@pytest.fixture
def fake(monkeypatch):
    """CuPy on the memory of the simulator."""
    def use(refuses=None):
        made = FakeCupy(refuses)
        monkeypatch.setattr(cupy, "module", lambda: made)
        monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(errstate=lambda linalg: nullcontext()))
        return made
    monkeypatch.setattr(cupy, "_refused", set())
    monkeypatch.setattr(runtime, "address", lambda flat: flat.array._ary.ctypes.data)
    return use


def row(dtype, count=40):
    """Numbers with equals among them, and what sorts last."""
    found = np.random.default_rng(0).integers(0 if dtype in ("bool", "uint16") else -9, 10, count)
    found = (found % 2 if dtype == "bool" else found).astype(dtype)
    if found.dtype.kind in "fc":
        found[[3, 7, 11]] = np.nan, -0.0, np.inf
    return found


# -------------------------------------------------------------------------------------------------------- sorting
@simulated
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_long_row_is_sorted_as_numpy_does(fake, dtype):
    made, x = fake(), row(dtype)
    assert len(x) > 16                               # what a block sorts in the simulator
    device = table.from_numpy(x)
    np.testing.assert_array_equal(table.to_numpy(table.sort(device, 0, False)), np.sort(x))
    np.testing.assert_array_equal(table.to_numpy(table.argsort(device, 0, False)), np.argsort(x, kind="stable"))
    assert made.calls and set(made.streams) == {0} and made.taken == len(made.calls)


@simulated
def test_several_rows_and_short_ones_are_our_own(fake):
    made = fake()
    x = table.from_numpy(np.random.default_rng(0).standard_normal((2, 40)))
    table.sort(x, 1, False)
    table.sort(table.slice(x, (0, slice(10))), 0, True)
    assert not made.calls


@simulated
def test_the_setting_switches_it_off(fake, monkeypatch):
    made, x = fake(), row("float32")
    monkeypatch.setattr(config, "cuda_libraries", False)
    np.testing.assert_array_equal(table.to_numpy(table.sort(table.from_numpy(x), 0, False)), np.sort(x))
    assert not made.calls


@simulated
def test_what_cupy_refuses_is_ours_from_then_on(fake):
    made, x = fake(RuntimeError("no such kernel")), row("float32")
    for _ in range(3):
        np.testing.assert_array_equal(table.to_numpy(table.sort(table.from_numpy(x), 0, False)), np.sort(x))
    assert made.calls == ["sort"]


@simulated
def test_without_memory_it_is_asked_again(fake):
    made, x = fake(table.runtime.DeviceError("empty: no memory.")), row("float32")
    for _ in range(2):
        np.testing.assert_array_equal(table.to_numpy(table.sort(table.from_numpy(x), 0, False)), np.sort(x))
    assert made.calls == ["sort", "sort"]


# -------------------------------------------------------------------------------------------- transforms, algebra
def on_both(function, x):
    """What a function gives on the device and on the host, with its gradient."""
    found = []
    for device in ("cuda", "cpu"):
        given = lnb.tensor(x, device=device, requires_grad=True)
        result = function(given)
        leaves = result if isinstance(result, tuple) else (result,)
        lnb.sum(lnb.abs(leaves[-1])).backward()
        found.append([*(leaf.detach().to("cpu").numpy() for leaf in leaves), given.grad.to("cpu").numpy()])
    return found


TRANSFORMS = {
    "fft": lambda x: lnb.fft.fft(x), "ifft": lambda x: lnb.fft.ifft(x, 7, 0, "ortho"),
    "rfft": lambda x: lnb.fft.rfft(x), "rfft odd": lambda x: lnb.fft.rfft(x, 5),
    "irfft": lambda x: lnb.fft.irfft(x), "rfft2": lambda x: lnb.fft.rfft2(x), "irfftn": lambda x: lnb.fft.irfftn(x),
}


@simulated
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_and_their_gradients_are_those_of_the_host(fake, name, dtype):
    made = fake()
    for got, wanted in zip(*on_both(TRANSFORMS[name], np.random.default_rng(0).standard_normal((4, 6)).astype(dtype))):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-12 if dtype == "float64" else 1e-4, atol=1e-6)
    assert len(made.calls) == 2 and all("fft" in call for call in made.calls)


ROUTINES = {
    "inv": lambda a: lnb.linalg.inv(a), "solve": lambda a: lnb.linalg.solve(a, a + 1),
    "det": lambda a: lnb.linalg.det(a), "slogdet": lambda a: tuple(lnb.linalg.slogdet(a)),
    "qr": lambda a: tuple(lnb.linalg.qr(a)),
    "cholesky": lambda a: lnb.linalg.cholesky(a @ a.mT), "svd": lambda a: lnb.linalg.svd(a)[1],
    "eigh": lambda a: tuple(lnb.linalg.eigh(a + a.mT)), "eigvalsh": lambda a: lnb.linalg.eigvalsh(a + a.mT, "U"),
}


@simulated
@pytest.mark.parametrize("name", ROUTINES)
def test_routines_and_their_gradients_are_those_of_the_host(fake, name):
    made, x = fake(), np.random.default_rng(0).standard_normal((2, 3, 3)) + 3 * np.eye(3)
    for got, wanted in zip(*on_both(ROUTINES[name], x)):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    assert name in made.calls


@simulated
def test_what_has_no_answer_is_the_host_s_to_say(fake):
    made = fake(np.linalg.LinAlgError("singular"))
    for _ in range(2):
        with pytest.raises(LinAlgError, match="inv: Singular matrix"):
            lnb.linalg.inv(lnb.zeros((2, 2), device="cuda"))
    assert made.calls == ["isfinite"] * 2


@simulated
def test_what_cupy_lacks_is_done_on_the_host(fake):
    made = fake()
    a = lnb.tensor([[4.0, 1.0], [1.0, 3.0]], device="cuda")
    np.testing.assert_allclose(lnb.linalg.cholesky(a, upper=True).to("cpu").numpy(), np.linalg.cholesky(
        a.to("cpu").numpy(), upper=True))
    assert lnb.linalg.eigvals(a).device == a.device and not made.calls


# --------------------------------------------------------------------------------------------------------- memory
@simulated
@pytest.mark.parametrize("axes, part", [((0, 1), (slice(None),) * 2), ((1, 0), (slice(1, None), slice(None, None, 2))),
                                        ((0, 1), (slice(None, None, -1), slice(None, None, -2)))],
                         ids=["contiguous", "permuted", "reversed"])
def test_arrays_are_seen_as_they_lie(fake, axes, part):
    fake()
    host = np.arange(20.0).reshape(4, 5)
    raw = table.slice(table.permute(table.from_numpy(host), axes), part)
    found = cupy.called("negative", lambda library, x: library.negative(x), raw)
    np.testing.assert_array_equal(table.to_numpy(found), -host.transpose(axes)[part])


def test_the_package_has_all_that_is_called():
    package = cupy.module()
    if package is None:
        pytest.skip("cupy-cuda13x is not installed (the extra cupy brings it)")
    memory = package.cuda.UnownedMemory(4096, 48, object(), 0)
    found = package.ndarray((2, 3), np.dtype("float32"), package.cuda.MemoryPointer(memory, 0), (4, 8))
    assert (found.data.ptr, found.shape, found.strides) == (4096, (2, 3), (4, 8))
    assert callable(package.cuda.ExternalStream) and callable(package.cuda.using_allocator)
    for name in ("sort", "argsort"):
        assert "stable" in getattr(package, name).__doc__


def test_routines_and_transforms_of_the_package_take_what_they_are_given():
    package = cupy.module()
    if package is None:
        pytest.skip("cupy-cuda13x is not installed (the extra cupy brings it)")
    rest = {"qr": ["mode"], "svd": ["full_matrices"], "eigh": ["UPLO"], "eigvalsh": ["UPLO"], "solve": ["b"]}
    for name in algebra.ROUTINES:
        names = list(inspect.signature(getattr(package.linalg, name)).parameters)
        assert names[:1 + len(rest.get(name, []))] == ["a", *rest.get(name, [])]
    for kind in ("fft", "ifft", "rfft", "irfft"):
        assert list(inspect.signature(getattr(package.fft, kind + "n")).parameters) == ["a", "s", "axes", "norm"]
