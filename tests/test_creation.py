"""New tensors against NumPy's, on the CPU and on MLX."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb

devices = pytest.mark.parametrize("device", ["cpu", "mlx"])


@pytest.mark.parametrize("data", [
    3, 2.5, True, 1j, [], [1, 2], [[1.5, 2], [3, 4]], (1, (2)), [True, False], [1, 2.5, True], [[[]]], range(3),
    np.float32(2), np.arange(3, dtype="uint8"), np.ones((2, 0)), [np.float32(1), np.float32(2)], [np.arange(2), [3, 4]],
    2 ** 63, np.array([1, 2], ">i4")], ids=repr)
@pytest.mark.parametrize("function", [lnb.tensor, lnb.asarray, lnb.array])
def test_data_become_what_numpy_makes_of_them(data: Any, function: Callable) -> None:
    found, expected = function(data), np.array(data)
    assert found.shape == expected.shape and found.dtype == expected.dtype.newbyteorder("=") and found.device == "cpu"
    np.testing.assert_array_equal(found.numpy(), expected)


@devices
def test_default_float_of_a_device(device: str) -> None:
    expected = np.float32 if device == "mlx" else np.float64
    for made in (lnb.tensor(0.5, device=device), lnb.zeros(2, device=device), lnb.arange(0, 1, 0.5, device=device),
                 lnb.asarray([0.5], device=device), lnb.full(2, 0.5, device=device), lnb.empty(2, device=device)):
        assert made.dtype == expected and made.device == device
    assert lnb.tensor([1], device=device).dtype == np.int64 == lnb.arange(3, device=device).dtype
    assert lnb.tensor(np.ones(2, "float16"), device=device).dtype == np.float16


@devices
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_dtype_is_taken(device: str, dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    for made in (lnb.tensor([1, 0], dtype=dtype, device=device),
                 lnb.tensor(np.array([1, 0]), dtype=kind, device=device),
                 lnb.asarray([1, 0], dtype, device=device), lnb.tensor(lnb.tensor([1, 0], device=device), dtype=dtype)):
        assert made.dtype == kind and made.device == device
        assert made.numpy().astype("complex64").tolist() == [1, 0]
    assert lnb.zeros((2,), dtype, device=device).dtype == kind == lnb.ones(2, dtype=dtype, device=device).dtype


@devices
@pytest.mark.parametrize("function", ["zeros", "ones"])
def test_filled_tensors(device: str, function: str) -> None:
    ours, numpys = getattr(lnb, function), getattr(np, function)
    for arguments in ((3,), ((2, 3),), ((),), ([0, 2],), ((2,), "int8"), (np.int64(2),)):
        found, expected = ours(*arguments, device=device), numpys(*arguments)
        assert found.shape == expected.shape and (found.numpy() == expected).all()
        assert found.dtype == (np.int8 if "int8" in arguments else np.float32 if device == "mlx" else np.float64)
    assert ours(2, 3, device=device).shape == (2, 3) == ours(shape=(2, 3), device=device).shape
    assert ours(shape=2, dtype="int8", device=device).dtype == np.int8 and ours(device=device).shape == ()
    like = getattr(lnb, f"{function}_like")(lnb.tensor(np.arange(6).reshape(2, 3), device=device))
    assert like.shape == (2, 3) and like.dtype == np.int64 and like.device == device
    assert (like.numpy() == numpys((2, 3))).all()
    assert getattr(lnb, f"{function}_like")(np.ones(2, "float16"), dtype="int32").dtype == np.int32


@devices
def test_empty_has_shape_and_dtype_only(device: str) -> None:
    assert lnb.empty(2, 3, dtype="int16", device=device).shape == (2, 3)
    like = lnb.empty_like(lnb.zeros((2, 3), device=device), dtype="float16")
    assert like.shape == (2, 3) and like.dtype == np.float16 and like.device == device


@devices
def test_full(device: str) -> None:
    for shape, value, dtype in (((2, 3), 7, None), (2, 0.5, "float16"), ((), True, None), ((2, 3), [1, 2, 3], None),
                                ((2,), -1, "int8"), ((0,), 1, None)):
        found, expected = lnb.full(shape, value, dtype, device=device), np.full(shape, value, dtype)
        assert found.shape == expected.shape and (found.numpy() == expected).all()
        assert found.dtype == expected.dtype
        found[...] = value                               # it may be written
    row = lnb.tensor([1, 2, 3], device=device)
    assert lnb.full((2, 3), row).tolist() == [[1, 2, 3]] * 2 and lnb.full((2, 3), row).device == device
    assert lnb.full(2, lnb.tensor(5), device=device).device == device
    like = lnb.full_like(row, 2.7)
    assert like.tolist() == [2, 2, 2] and like.device == device
    with pytest.raises(lnb.ShapeError, match=r"full: shapes \(3,\) and \(2,\) do not broadcast"):
        lnb.full((2,), row)


@pytest.mark.parametrize("arguments", [
    (5,), (2, 7), (7, 2), (7, 2, -2), (0, 1, 0.1), (0.1, 1, 0.1), (1, 0, -0.3), (2.5,), (0,), (3, 3), (-5, 5, 3),
    (0.0, 1e-3, 1e-5), (np.int64(4),)])
@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int64", "float16"])
def test_arange_has_numpys_bits(arguments: tuple, dtype: str | None) -> None:
    found, expected = lnb.arange(*arguments, dtype=dtype), np.arange(*arguments, dtype=dtype)
    assert found.dtype == expected.dtype and found.numpy().tobytes() == expected.tobytes()


def test_arange_of_large_integers_is_exact() -> None:
    assert lnb.arange(2 ** 62, 2 ** 62 + 5, 2).tolist() == [2 ** 62, 2 ** 62 + 2, 2 ** 62 + 4]
    assert lnb.arange(2 ** 63, 2 ** 63 + 2, dtype="uint64").tolist() == [2 ** 63, 2 ** 63 + 1]


def test_arange_on_mlx() -> None:
    for arguments in ((5,), (7, 2, -2), (0, 1, 0.25), (2.5,), (0,)):
        found, expected = lnb.arange(*arguments, device="mlx"), np.arange(*arguments)
        assert found.device == "mlx" and found.shape == expected.shape and (found.numpy() == expected).all()


@pytest.mark.parametrize("function, text", [
    (lambda: lnb.arange(0, 5, 0), "arange: from 0 to 5 in steps of 0 never ends"),
    (lambda: lnb.arange(float("nan")), "arange: from 0 to nan in steps of 1 never ends"),
    (lambda: lnb.arange("a"), "arange: from 0 to 'a' in steps of 1. Use real numbers."),
    (lambda: lnb.arange(0, 1, 1j), "arange: from 0 to 1 in steps of 1j. Use real numbers."),
    (lambda: lnb.arange(3, dtype="bool"), "arange: bool has no steps. Use an integer dtype."),
    (lambda: lnb.arange(300, dtype="int8"), "arange: 299 does not fit int8 (-128 to 127). Use a wider dtype."),
    (lambda: lnb.arange(-3, 3, dtype="uint8"), "arange: -3 does not fit uint8 (0 to 255). Use a wider dtype."),
    (lambda: lnb.arange(1e30), "arange: shape (1000000000000000019884624838656,) has")])
def test_arange_that_cannot_be_says_so(function: Callable, text: str) -> None:
    with pytest.raises(lnb.LucidError) as caught:
        function()
    assert str(caught.value).startswith(text)


@devices
def test_new_tensor_is_a_leaf_where_it_is_asked(device: str) -> None:
    for made in (lnb.tensor([1.0], device=device, requires_grad=True), lnb.zeros(1, device=device, requires_grad=True),
                 lnb.ones(1, device=device, requires_grad=True), lnb.full(1, 2.0, device=device, requires_grad=True),
                 lnb.arange(1.0, device=device, requires_grad=True), lnb.empty(1, device=device, requires_grad=True),
                 lnb.ones_like(lnb.zeros(1, device=device), requires_grad=True)):
        assert made.requires_grad and made.is_leaf and made.device == device
        (made * 3).sum().backward()
        assert made.grad.tolist() == [3]


@devices
def test_tensor_copies_and_asarray_shares(device: str) -> None:
    x = lnb.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = x * 2
    made = lnb.tensor(y)
    assert not made.requires_grad and lnb.asarray(y) is y and lnb.asarray(y, copy=True) is not y
    made[0] = 9
    assert y.detach().tolist() == [2, 4] and lnb.array(y, ndmin=3).shape == (1, 1, 2)
    lnb.asarray(y, "float16").sum().backward()                       # conversions are differentiable
    assert x.grad.tolist() == [2, 2]
    array = np.ones(2)
    shared = lnb.asarray(array)
    array[0] = 5
    assert shared.tolist() == [5, 1] and lnb.asarray(array, copy=True).numpy() is not array
    frozen = np.broadcast_to(np.ones(1), 2)
    with pytest.raises(lnb.ShapeError, match="setitem: the memory is read-only"):
        lnb.asarray(frozen)[0] = 1


@devices
def test_lists_may_hold_tensors(device: str) -> None:
    x = lnb.tensor([1.0, 2.0], device=device)
    assert lnb.tensor([x, x]).tolist() == [[1, 2], [1, 2]] and lnb.tensor([[x[0], x[1]]]).tolist() == [[1, 2]]
    assert lnb.concat([x, [3.0]]).tolist() == [1, 2, 3] and lnb.add(x, [1, 2]).tolist() == [2, 4]
    assert lnb.concat([x, [3.0]]).device == device


def test_device_of_a_block_and_of_a_call() -> None:
    with lnb.device("mlx") as name:
        assert name == "mlx" and lnb.zeros(1).device == "mlx" == lnb.tensor([1]).device == lnb.arange(2).device
        assert lnb.exp(0.5).device == "mlx" and lnb.zeros(1, device="cpu").device == "cpu"
        with lnb.device("cpu"):
            assert lnb.zeros(1).device == "cpu"
        assert lnb.default_device() == "mlx" == lnb.zeros(1, device="metal").device
    assert lnb.default_device() == "cpu" and lnb.zeros(1, device="gpu").device in ("cuda", "mlx")
    lnb.set_default_device("mlx")
    try:
        assert lnb.ones(1).device == "mlx"
    finally:
        lnb.set_default_device("cpu")


@devices
def test_to_moves_and_is_differentiable(device: str) -> None:
    x = lnb.tensor([1.0, 2.0], dtype="float32", requires_grad=True)
    y = (x * x).to(device)
    assert y.device == device and y.to(device) is y and y.to(lnb.float16).dtype == np.float16
    (y * y).to("cpu").sum().backward()
    assert x.grad.tolist() == [4, 32] and x.grad.device == "cpu"


TOO_LARGE = 10 ** 15 // 8


@pytest.mark.parametrize("name, make", [
    ("zeros", lambda: lnb.zeros(TOO_LARGE)), ("ones", lambda: lnb.ones((TOO_LARGE,))),
    ("empty", lambda: lnb.empty(TOO_LARGE)), ("full", lambda: lnb.full(TOO_LARGE, 2.0)),
    ("arange", lambda: lnb.arange(TOO_LARGE, dtype="float64")),
    ("ones", lambda: lnb.ones_like(lnb.broadcast_to(lnb.ones(1), (TOO_LARGE,))))])
def test_more_than_memory_is_refused_with_shape_and_size(name, make):
    with pytest.raises(MemoryError, match=rf"{name}: shape \({TOO_LARGE},\) in float64 takes 931,322\.6 GiB"):
        make()


@pytest.mark.parametrize("call", [
    lambda x: lnb.zeros((1,) * 65, device=x.device), lambda x: lnb.full((1,) * 65, 2.0, device=x.device),
    lambda x: x.reshape((1,) * 65), lambda x: lnb.broadcast_to(x, (1,) * 65), lambda x: x[(None,) * 65],
    lambda x: x[(0, *(None,) * 65)], lambda x: x[(None,) * 64 + ([0],)],
    lambda x: x.__setitem__((None,) * 65, 1.0)])
def test_more_axes_than_numpy_has_are_refused(call):
    for device in ("cpu", "mlx"):
        if device in lnb.devices():
            with pytest.raises(lnb.ShapeError, match=r"\w+: 6[56] axes, more than 64\. Merge some of them"):
                call(lnb.ones(1, dtype="float32", device=device))


def test_as_many_axes_as_numpy_has_are_taken():
    x = lnb.zeros((1,) * 64)
    assert x.ndim == 64 and x.reshape(1)[(None,) * 63].shape == (1,) * 64 and x[(0, None)].ndim == 64


def test_tensor_copies_what_other_objects_lend() -> None:
    class Lender:
        memory = np.ones(2)

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return self.memory
    lent, block = Lender(), bytearray(b"ab")
    copies, shared = [lnb.tensor(lent), lnb.tensor(memoryview(block))], lnb.asarray(lent)
    lent.memory[:], block[0] = 5, 0
    assert [found.tolist() for found in copies] == [[1, 1], [97, 98]] and shared.tolist() == [5, 5]


def test_arrays_of_a_dtype_that_numpy_does_not_know_are_read_by_dlpack() -> None:
    class Other:
        memory = lnb.tensor([1.0, 2.5], dtype=lnb.bfloat16)

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            raise TypeError("Got unsupported ScalarType BFloat16")

        def __dlpack__(self, **options: Any) -> Any:
            return self.memory.__dlpack__(**options)
    copied, shared = lnb.tensor(Other()), lnb.asarray(Other())
    Other.memory[0] = 7
    assert copied.dtype == shared.dtype == ml_dtypes.bfloat16
    assert copied.tolist() == [1, 2.5] and shared.tolist() == [7, 2.5]
