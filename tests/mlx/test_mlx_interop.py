"""Memory that tensors on mlx share with NumPy, with DLPack's consumers and with MLX itself."""

import copy
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

import lucid_nb as lnb

table = pytest.importorskip("lucid_nb.mlx", reason="needs MLX, which exists for Apple silicon and for Linux")
mx = table.mx

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "complex64",
          *([] if table.runtime.ON_GPU else ["float64"])]


def address(array):
    return array.__array_interface__["data"][0]


class Lender:
    """What has DLPack's methods alone."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def numbers(dtype):
    wanted = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return np.arange(12).reshape(3, 4).astype(wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shows_the_memory_itself_and_only_for_reading(dtype):
    x = lnb.tensor(numbers(dtype), device="mlx")
    one, two = x.numpy(), x.numpy()
    assert address(one) == address(two) and one.dtype.type is x.dtype.type
    np.testing.assert_array_equal(one, numbers(dtype))
    with pytest.raises(ValueError, match="read-only"):
        one[0, 0] = 1


@pytest.mark.parametrize("take", [lambda x: x.T, lambda x: x[1:, ::2], lambda x: x.reshape(2, 6)],
                         ids=["turned", "sliced", "reshaped"])
def test_numpy_shows_any_layout(take):
    x = lnb.tensor(numbers("float32"), device="mlx")
    np.testing.assert_array_equal(take(x).numpy(), take(numbers("float32")))


def test_numpy_outlives_the_tensor():
    found = (lnb.ones(100_000, device="mlx") * 3).numpy()
    others = [(lnb.ones(100_000, device="mlx") * k).numpy() for k in range(5)]
    assert (found == 3).all() and [other[0] for other in others] == [0, 1, 2, 3, 4]


def test_a_write_changes_the_tensor_and_not_what_numpy_was_shown():
    x = lnb.ones(4, device="mlx")
    before = x.numpy()
    x[1] = 7
    x += 1
    assert before.tolist() == [1, 1, 1, 1] and x.tolist() == [2, 8, 2, 2]


def test_to_cpu_gives_memory_of_its_own_that_may_be_written():
    x = lnb.arange(4, device="mlx")
    y = x.to("cpu")
    y += 10
    assert y.tolist() == [10, 11, 12, 13] and x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", DTYPES)
def test_mlx_gives_the_array_and_asarray_takes_it_without_a_copy(dtype):
    x = lnb.tensor(numbers(dtype), device="mlx")
    array = x.mlx()
    assert isinstance(array, mx.array)
    for back in (lnb.asarray(array), lnb.from_dlpack(array)):
        assert back.device == "mlx" and back.dtype == x.dtype
        assert address(back.numpy()) == address(x.numpy())
    np.testing.assert_array_equal(lnb.tensor(array).numpy(), numbers(dtype))


def test_asarray_of_an_array_of_mlx_takes_dtype_device_and_copy():
    array = mx.array([1.0, 2.0])
    assert lnb.asarray(array, "int32").tolist() == [1, 2] and lnb.asarray(array, "int32").device == "mlx"
    host = lnb.asarray(array, device="cpu")
    host += 1
    assert host.device == "cpu" and host.tolist() == [2, 3] and array.tolist() == [1, 2]
    assert lnb.asarray(array, copy=False).tolist() == [1, 2]
    with pytest.raises(lnb.ShapeError, match="needs a copy"):
        lnb.asarray(array, "int32", copy=False)


def test_assignment_to_mlxs_handle_does_not_reach_the_tensor():
    array = mx.zeros(3)
    x = lnb.asarray(array)
    given = x.mlx()
    array[0], given[1] = 5, 6
    assert x.tolist() == [0, 0, 0]


def test_mlx_of_a_tensor_on_the_cpu_is_a_copy():
    x = lnb.tensor([1.0, 2.0], dtype="float32")
    array = x.mlx()
    x[0] = 9
    assert array.tolist() == [1, 2]


def test_mlx_refuses_to_lose_a_gradient():
    x = lnb.ones(2, device="mlx", requires_grad=True)
    with pytest.raises(lnb.GradError, match=r"Use \.detach\(\) first"):
        x.mlx()
    assert x.detach().mlx().tolist() == [1, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_lends_the_memory_for_reading(dtype):
    x = lnb.tensor(numbers(dtype), device="mlx")
    found = lnb.from_dlpack(Lender(x))
    assert found.device == "cpu" and found.dtype == x.dtype
    assert address(found.numpy()) == address(x.numpy())
    with pytest.raises(lnb.ShapeError, match="read-only"):
        found[0, 0] = 1


def test_torch_reads_the_memory_by_dlpack():
    torch = pytest.importorskip("torch", reason="a consumer of DLPack")
    x = lnb.tensor(numbers("bfloat16"), device="mlx")
    found = torch.from_dlpack(x)
    assert found.dtype == torch.bfloat16 and found.data_ptr() == address(x.numpy())
    assert found.float().tolist() == numbers("float32").tolist()


def test_pickle_and_deepcopy_keep_the_device_and_take_memory_of_their_own():
    x = lnb.tensor(numbers("float32"), device="mlx")
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        y[0, 0] = 5
        assert y.device == "mlx" and x[0, 0] == 0


def test_eval_is_harmless_everywhere():
    for device in ("cpu", "mlx"):
        x = lnb.ones(3, device=device) + 1
        assert x.eval() is x and x.tolist() == [2, 2, 2]
    assert lnb.ones(2, device="mlx", requires_grad=True).eval().requires_grad


@pytest.mark.serial
def test_array_recorded_by_mlx_in_one_thread_is_used_in_another():
    made = []

    def work():
        made.append(lnb.asarray(mx.ones(5) + mx.ones(5)))
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert (made[0] * 2).tolist() == [4] * 5


def test_an_array_that_mlx_recorded_in_another_thread_is_refused_in_words_until_it_is_computed():
    found = []

    def record():
        found.append(mx.ones(3) * 2)
        found.append(mx.ones(3) * 3)
        mx.eval(found[1])
    worker = threading.Thread(target=record)
    worker.start()
    worker.join()
    with pytest.raises(lnb.BackendError, match=r"^mlx: an array that another thread .* Call mlx\.core\.eval on it in"):
        lnb.tensor(found[0])
    assert lnb.tensor(found[1]).tolist() == [3, 3, 3]
