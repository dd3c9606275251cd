"""What holds on MLX as everywhere: errors before MLX sees an index, orders, ties, writes; the GPU refuses float64."""

import subprocess
import sys

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.errors import DeviceError, DTypeError, LucidError

from ..ops import oracles
from .running import Call, lines

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
from .test_mlx_calls import same  # noqa: E402

# ------------------------------------------------------------------------------------------------------ errors
BAD = """
x[5]; x[:, [0, 4]]; x[[-4]]; x[k]; x[k, k]; x[np.ones((2, 4), bool)]; x[1, 2, 3]; x["a"]; x[1.5]; t[:, [[5]]]
lnb.take(x, 12); lnb.take(x, k, 0); lnb.take(x, [-4], 0); lnb.take_along_axis(x, i + 3, 0); lnb.gather(x, i - 9, 0)
lnb.index_select(x, [3], 0); lnb.choose(i, [x, y]); lnb.scatter(x, i + 2, y, 0); lnb.scatter_add(x, i - 5, y, 0)
lnb.scatter_reduce(x, i + 4, y, 0, reduce="amax"); lnb.index_add(x, [3], y[:1]); lnb.index_put(x, ([4],), y[:1])
lnb.put_along_axis(1 * x, i[:1] + 3, 0.0, 0); after(lambda a: lnb.put(a, [12], 0.0), x); lnb.one_hot(k, 2)
after(lambda a: a.__setitem__(7, 0), x); after(lambda a: a.__setitem__([0, 3], 1), x); lnb.insert(v, 9, 0.0)
after(lambda a: a.__setitem__(0, y), x); lnb.delete(v, 5); lnb.unravel_index(k, (1, 1)); lnb.bincount(k - 3)
F.embedding(k, x); F.embedding(k - 9, x); F.embedding_bag(i + 1, x); F.cross_entropy(x, j + 4); F.nll_loss(x, j - 7)
F.multi_margin_loss(x, j + 4); F.max_unpool1d(signal, lnb.zeros((2, 4, 8), dtype=int) + 99, 2)
x @ y; x @ v; x + v; lnb.concat([x, m]); lnb.stack([x, v]); lnb.reshape(x, (5, 2)); lnb.transpose(x, (0, 0)); x.sum(2)
lnb.softmax(x, 5); lnb.sort(x, 3); lnb.argmax(x[:0], 0); lnb.max(x[:0]); lnb.broadcast_to(x, (4, 3)); lnb.split(v, 2)
lnb.einsum("ij,jk", x, y); lnb.repeat(v, -1); lnb.pad(x, -1); lnb.topk(x, 9); lnb.partition(v, 7); lnb.cumsum(x, 4)
F.conv2d(image, kernel3); F.conv2d(image, kernel2, stride=0); F.conv1d(signal, kernel1, groups=3); F.linear(x, m)
F.max_pool2d(image, 9); F.avg_pool2d(image, 2, padding=3); F.layer_norm(x, 3)
F.batch_norm(v, None, None, training=True)
F.scaled_dot_product_attention(t, t[..., :2], t); F.grid_sample(image, grid[:1]); F.interpolate(image, 0)
nn.LSTM(3, 2)(t); nn.Linear(3, 2)(x); nn.Embedding(2, 3)(k); nn.Conv2d(3, 2, 3)(image); F.group_norm(image, 3)
x.astype("int8") @ x.astype("bool") @ x; i ** -1; i.astype('int16') << x; lnb.bitwise_and(x, x); lnb.sort(c) @ x; -b
lnb.arange(5).reshape(2, 2); lnb.diagonal(v); lnb.trace(v); lnb.cross(x, y); lnb.where(b, x); lnb.clip(x, v, v)
"""
EXPRESSIONS = [part.strip() for part in BAD.replace("\n", ";").split(";") if part.strip()]


def refusal(text, device):
    """The error of a call."""
    with pytest.raises((LucidError, TypeError, ValueError, ArithmeticError)) as caught:
        Call(text, device, "float32").outcome()
    return type(caught.value), str(caught.value).replace(f"device={device!r}", "device")


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_bad_calls_say_what_they_say_on_the_cpu(text):
    assert refusal(text, "mlx") == refusal(text, "cpu")


# ------------------------------------------------------------------------------------------- orders, ties, writes
def on(x, **keywords):
    return lnb.tensor(np.asarray(x), device="mlx", **keywords)


FLOATS = np.array([[0.0, -0.0, np.nan, np.inf, -np.inf, 1.0], [np.nan, -1.0, 2.0, -1.0, 2.0, np.nan]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_nan_is_last_in_order_and_wins(dtype):
    x = FLOATS.astype(lnb.bfloat16 if dtype == "bfloat16" else dtype)
    wide = x.astype("float64")
    np.testing.assert_array_equal(lnb.sort(on(x)).to_host().astype("float64"), np.sort(wide))
    np.testing.assert_array_equal(lnb.argsort(on(x)).numpy(), np.argsort(wide, kind="stable"))
    for name in ("max", "min", "argmax", "argmin", "nanmax", "nanmin", "nanargmax", "nanargmin"):
        found = getattr(lnb, name)(on(x), 1).to_host()
        np.testing.assert_array_equal(found.astype("float64"), getattr(np, name)(wide, 1), err_msg=name)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integers_are_divided_and_summed_as_numpys(dtype):
    info = np.iinfo(dtype)
    x, y = np.array([info.min, info.max, 7, 5, 0, 1], dtype), np.array([1, 3, 0, 2, 0, info.max], dtype)
    if info.min:
        y[0] = -1
    with np.errstate(all="ignore"):
        for name in ("floor_divide", "remainder", "fmod", "divmod"):
            found, wanted = (oracles.results(function(*given)) for function, given in (
                (getattr(lnb, name), (on(x), on(y))), (getattr(np, name), (x, y))))
            for got, exact in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(got.numpy(), exact, err_msg=name)
    for name in ("sum", "prod", "cumsum", "cumprod"):
        found, wanted = getattr(lnb, name)(on(x)), getattr(np, name)(x)
        assert found.dtype == wanted.dtype and (found.numpy() == wanted).all(), name


def test_ties_share_gradients_and_indices_take_the_first():
    def gradient(function):
        x = on([1.0, 3.0, 3.0, 2.0, 3.0], requires_grad=True)
        function(x).backward()
        return x.grad.tolist()
    third = pytest.approx(1 / 3)
    assert gradient(lnb.max) == [0, third, third, 0, third]
    assert gradient(lambda x: lnb.maximum(x, 3.0).sum()) == [0, 0.5, 0.5, 0, 0.5]
    assert gradient(lambda x: lnb.nn.functional.max_pool1d(x[None, None], 5).sum()) == [0, 1, 0, 0, 0]
    assert gradient(lambda x: lnb.sort(x, descending=True)[0]) == [0, 1, 0, 0, 0]
    assert lnb.argmax(on([1.0, 3.0, 3.0])).item() == 1


def test_views_are_written_through_and_overlaps_are_copied():
    x = np.arange(12.0).reshape(3, 4)
    ours, theirs = on(x), x.copy()
    for a in (ours, theirs):
        a[1:] += a[:-1]
        a.T[0] *= 2
        a[::2, 1:3][0] = -1
        a.reshape(-1)[5:9] = a.reshape(-1)[4:8]
        a[[0, 0, 2]] = a[[1, 2, 0]]
        a[a > 6] = 0
    np.testing.assert_array_equal(ours.numpy(), theirs)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("form", ["none", "tanh"])
def test_gelu_keeps_the_sign_of_zeros_and_is_minus_zero_at_minus_infinity(form, dtype):
    found = lnb.gelu(on(np.array([0.0, -0.0, -np.inf, np.inf, np.nan], dtype)), form).numpy()
    np.testing.assert_array_equal(found, [0, 0, 0, np.inf, np.nan])
    assert np.signbit(found[:3]).tolist() == [False, True, True]


# ---------------------------------------------------------------------------------------------- float64 on Metal
def test_report_d48_float64_stays_or_is_refused_with_the_remedy(monkeypatch):
    value = np.array([1e-9, 1 + 1e-12])
    for make in (lambda: lnb.tensor(value, device="mlx"), lambda: lnb.asarray(value).to("mlx"),
                 lambda: lnb.tensor([1e-9, 1 + 1e-12], dtype="float64", device="mlx")):
        assert make().dtype == np.float64 and (make().numpy() == value).all()
        with monkeypatch.context() as patch:
            patch.setattr(table.runtime, "ON_GPU", True)
            with pytest.raises(DTypeError, match=r"float64 does not exist on mlx's GPU\. Use \.astype\('float32'\)\."):
                make()


COMPILED = ("fuse", "LSTM", "GRU", "RNN")       # by mx.compile, which calls a C++ compiler here
LINES = dict(lines())
OF_WEEK = oracles.random.Random(oracles.SEED).sample(sorted(LINES), 30)


@pytest.mark.parametrize("line", [pytest.param(line, marks=[] if line in OF_WEEK else pytest.mark.sweep)
                                  for line in LINES])
def test_a_gpu_without_float64_gives_the_same_results(line, monkeypatch):
    """The flag is forced, and the CPU build computes what the GPU would be asked for."""
    for text in [text for text in LINES[line] if not any(word in text for word in COMPILED)]:
        wanted = Call(text, "cpu", "float32").outcome()
        with monkeypatch.context() as patch:
            patch.setattr(table.runtime, "ON_GPU", True)
            found = Call(text, "mlx", "float32").outcome()
        for one, other in zip(found, wanted, strict=True):
            for got, exact in zip(one, other, strict=True):
                assert not isinstance(got, lnb.Tensor) or got.dtype != np.float64, text
                same(got, exact, exact)


# Of integers, of numbers of Python and of float32: what is promoted is float32, on the CPU build as on the GPU.
PROMOTED = """lnb.mean(i); lnb.mean(i.astype("int16")); lnb.std(i); lnb.average(i, 0, i[0]); lnb.median(i)
lnb.where(m, 0.0, 1.0); lnb.where(m, i, 1.5); x + i; i / 2; i * 1.5; i / i; lnb.sqrt(i); lnb.softmax(i); lnb.exp2(i)
lnb.concat([x, i]); lnb.stack([x, i]); lnb.array([x[0], i[1]]); lnb.array([x[0, 0], 1.5]); x @ i; lnb.kron(x, i)
lnb.quantile(i, 0.3); lnb.quantile(x, [0.1, 0.5]); lnb.quantile(x, np.array([0.1, 0.5])); lnb.vander(x[0], 3)
lnb.float_power(x, 2); lnb.float_power(i, -1); lnb.linspace(i, x, 3); lnb.linspace(i[0], 2.5, 3); lnb.r_[i[0], x[0]]
lnb.select([m], [i], 1.5); lnb.choose(i % 2, [x, i]); lnb.linalg.norm(i); lnb.linalg.inv(i + x); lnb.gradient(i)[0]
lnb.histogram(i, 3)[1]; lnb.histogramdd(i, 2)[1][0]; lnb.histogram(x, [0.0, 1.5, 3.0])[1]; lnb.logsumexp(i); lnb.rint(i)
lnb.fuse(lambda a, b: a * b + 1.5)(i, x); lnb.maximum(i, 1.5); lnb.heaviside(i, 0.5); lnb.ldexp(i, i)
lnb.nn.functional.mse_loss(i, x); lnb.nn.functional.layer_norm(i, (3,)); lnb.tensor([1.5, 2]); lnb.full((2,), 0.5)
lnb.roots(i[1, :1]); lnb.roots(i[0] * [1, 0, 0]); lnb.poly(i[0]); lnb.poly(i[0, :0]); lnb.polydiv(i[0], i[1, :2])[0]"""


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("text", [part.strip() for part in PROMOTED.replace("\n", ";").split(";")])
def test_what_is_promoted_is_single(text, on_gpu, monkeypatch):
    i, x = np.array([[1, 2, 4], [3, 5, 7], [2, 0, 1]]), np.float32([[1.5, 2, 3], [3, 4, 0.5], [2, 2, 1]])
    found = {}
    for device in ("cpu", "mlx"):
        monkeypatch.setattr(table.runtime, "ON_GPU", on_gpu and device == "mlx" and "fuse" not in text)
        with lnb.device(device), np.errstate(all="ignore"):
            names = dict(lnb=lnb, np=np, i=lnb.tensor(i), x=lnb.tensor(x), m=lnb.tensor(i > 2))
            found[device] = eval(text, names)
    assert (found["mlx"].device, found["mlx"].dtype) == ("mlx", np.float32)
    np.testing.assert_allclose(found["mlx"].numpy(), found["cpu"].numpy(), rtol=1e-5, atol=1e-5)


def test_promotion_with_complex_numbers_is_single():
    for found in (on([1, 2]) * 1j, on([1, 2]) + on(np.complex64([1j, 2])), lnb.where(on([True]), 1j, 0.5)):
        assert found.dtype == np.complex64


OF_DOUBLE = """lnb.tensor(np.ones(3)); x.astype("float64"); i.astype(float); lnb.zeros(2, dtype="float64")
lnb.mean(i, dtype="float64"); lnb.sum(x, dtype="float64"); lnb.concat([x, i], dtype="float64"); lnb.asarray(np.ones(3))
lnb.full_like(i, 1.5, dtype="float64"); lnb.cumsum(x, dtype="float64"); lnb.tensor([0.5], dtype="float64")
lnb.ones(2, device="cpu").astype("float64").to("mlx"); lnb.round(i, -1); lnb.arange(3, dtype="float64")
lnb.histogram(x, np.array([0.0, 1.5, 3.0]))"""


@pytest.mark.parametrize("text", [part.strip() for part in OF_DOUBLE.replace("\n", ";").split(";")])
def test_double_precision_that_is_given_or_asked_for_is_refused_on_the_gpu(text, monkeypatch):
    names = dict(lnb=lnb, np=np, i=on([11, 25]), x=on(np.float32([0.5, 2])))
    with lnb.device("mlx"):
        if "histogram" not in text and "round" not in text:
            assert eval(text, names).dtype == np.float64           # kept where the device has it
        monkeypatch.setattr(table.runtime, "ON_GPU", True)
        with pytest.raises(DTypeError, match=r"float64 does not exist on mlx's GPU\. Use \.astype\('float32'\)"):
            eval(text, names)


def test_sums_of_float64_weights_stay_float64():
    weights, places = on(np.array([0.1, 0.2, 1e-12])), on([0, 0, 0])
    for found in (lnb.bincount(places, weights), lnb.histogramdd(on(np.ones((3, 1))), 1, weights=weights)[0]):
        assert found.dtype == np.float64 and found.item() == pytest.approx(0.300000000001, rel=1e-15)


# ------------------------------------------------------------------------------------------------- without MLX
MISSING = """
import sys
sys.modules["mlx"] = None
import lucid_nb as lnb
assert "mlx" not in lnb.devices()
for name in ("mlx", "metal"):
    try:
        lnb.zeros(2, device=name)
    except lnb.BackendError as error:
        print(error)
"""
UNUSABLE = """
import lucid_nb as lnb
import lucid_nb.mlx as table
table.is_available = lambda: False
assert "mlx" not in lnb.devices()
for name in ("mlx", "metal"):
    try:
        lnb.zeros(2, device=name)
    except lnb.BackendError as error:
        print(error)
"""


@pytest.mark.parametrize("program, text", [
    (MISSING, "Install the extra, in a clone: pip install -e '.[mlx]'."),
    (UNUSABLE, "mlx: MLX is installed, but cannot compute on this machine. Use device='cpu'.")])
def test_without_mlx_the_device_is_absent_and_says_how_to_get_it(program, text):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    lines_of = done.stdout.strip().splitlines()
    assert len(lines_of) == 2 and all(line.startswith("mlx: ") and line.endswith(text) for line in lines_of)


def test_scalars_of_numpy_are_numbers_and_arrays_are_on_the_cpu():
    x = on(np.float32([[1.5, 2], [3, 4]]))
    for found in (x * np.float32(2), np.float32(2) * x, x / np.sqrt(64.0), lnb.where(x > 2, np.float64(0.5), x),
                  lnb.clip(x, np.float64(0), np.float32(2)), x + np.int64(3), on([1, 2]) * np.float64(0.5)):
        assert (found.device, found.dtype) == ("mlx", np.float32)
    np.testing.assert_array_equal((x / np.sqrt(64.0)).numpy(), x.numpy() / np.float32(8))
    wide = on(np.array([1 / 3])) * np.float64(0.1)
    assert wide.dtype == np.float64 and wide.item() == 1 / 3 * 0.1
    with pytest.raises(DeviceError, match="operands live on mlx and cpu"):
        x + np.ones((2, 2), "float32")


@pytest.mark.filterwarnings("error")
def test_warnings_of_numbers_are_not_given():
    found = [lnb.log(on([-1.0])), on([1.0]) / on([0.0]), on([1]) // on([0]), lnb.exp(on([1e4]))]
    np.testing.assert_array_equal([x.item() for x in found], [np.nan, np.inf, 0, np.inf])


def test_lists_that_hold_double_precision_stay_double():
    x = on(np.array([1 / 3, 2.0]))
    assert lnb.array([x, [0.1, 1]]).dtype == np.float64 and lnb.array([x[0], 0.1]).tolist() == [1 / 3, 0.1]


@pytest.mark.parametrize("shape", [(4,), (2, 3), (0, 3)])
def test_inverse_transforms_keep_float16_as_numpys_do(shape):
    x = np.ones(shape, "float16")
    found, wanted = lnb.fft.irfft(on(x), 4), np.fft.irfft(x, 4)
    assert found.dtype == wanted.dtype == np.float16
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-3)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_inverse_transforms_of_several_axes_give_the_precision_of_numpys(axes):
    x = np.ones((2, 3), "float16")
    found, wanted = lnb.fft.irfftn(on(x), axes=axes), np.fft.irfftn(x, axes=axes)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float32", "complex64"])
def test_sort_complex_gives_single_precision(dtype):
    x = np.array([3, 0, 1, 2]).astype(dtype)
    found = lnb.sort_complex(on(x))
    assert found.dtype == np.complex64
    np.testing.assert_array_equal(found.numpy(), np.sort_complex(x))
