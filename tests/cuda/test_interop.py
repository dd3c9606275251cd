"""Device memory lent and borrowed; the simulator's device memory is the host's, so that both ends can be seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb.cuda import driver, interop
from lucid_nb.testing import arrays, shapes

pytestmark = [pytest.mark.cuda_simulator, pytest.mark.simulated]


class Foreign:
    """Another library's array: it offers nothing but the CUDA array interface."""

    def __init__(self, array, **changes):
        self.array = array
        strides = None if array.flags.c_contiguous else array.strides
        self.__cuda_array_interface__ = {"version": 3, "shape": array.shape, "typestr": array.dtype.str,
                                         "data": (array.ctypes.data, not array.flags.writeable), "strides": strides,
                                         "stream": 1} | changes


@given(st.data(), st.sampled_from(["bool", "int16", "float32", "complex128"]))
@settings(max_examples=25)                  # no kernel is launched
def test_foreign_arrays_are_shared(data, dtype):
    array = data.draw(arrays(dtype, data.draw(shapes())))
    found = lnb.asarray(Foreign(array))
    assert (found.device, found.shape, found.dtype) == ("cuda", array.shape, array.dtype)
    np.testing.assert_array_equal(found.to("cpu").numpy(), array)
    assert found.raw.is_read_only == (not array.flags.writeable)


def test_writes_into_a_shared_array_are_seen():
    array = np.zeros((4, 6), np.float32)
    lnb.asarray(Foreign(array[::-2, 1::2]))[...] = lnb.tensor([1.0, 2, 3], dtype="float32", device="cuda")
    expected = np.zeros((4, 6), np.float32)
    expected[::-2, 1::2] = [1, 2, 3]
    np.testing.assert_array_equal(array, expected)


def test_read_only_memory_stays_read_only():
    array = np.zeros(3)
    array.flags.writeable = False
    found = lnb.asarray(Foreign(array))
    for view in (found, found[1:], found.reshape(3, 1)):
        with pytest.raises(lnb.errors.ShapeError, match="read-only"):
            view[0] = 1
    assert (found + 1).tolist() == [1, 1, 1]


@pytest.mark.parametrize("options, device, dtype", [
    ({}, "cuda", "float32"), ({"dtype": "float64"}, "cuda", "float64"), ({"device": "cpu"}, "cpu", "float32")])
def test_tensor_copies_a_foreign_array(options, device, dtype):
    array = np.arange(3, dtype=np.float32)
    found = lnb.tensor(Foreign(array), **options)
    array[0] = 9
    assert (found.device, str(found.dtype), found.tolist()) == (device, dtype, [0, 1, 2])


@pytest.mark.parametrize("changes, words", [
    ({"mask": 1}, "has a mask"), ({"strides": (6,)}, "do not divide into elements of 4"),
    ({"shape": (-3,)}, r"shape \(-3,\)"), ({"strides": (4, 4)}, "a stride for each"),
    ({"data": (0, False)}, "address 0"), ({"data": None}, "cannot be read"),
    ({"shape": "x"}, "cannot be read"), ({"stream": 0}, "^stream: 0 is none")])
def test_unfit_interface_is_refused(changes, words):
    with pytest.raises(lnb.errors.DeviceError, match=words):
        lnb.asarray(Foreign(np.zeros(3, np.float32), **changes))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_dlpack_round_trip_shares_memory(dtype):
    ours = lnb.arange(24, device="cuda").reshape(2, 3, 4).astype(dtype)[:, ::-1, 1::2]
    back = lnb.from_dlpack(ours)
    assert (back.device, back.dtype, back.tolist()) == ("cuda", ours.dtype, ours.tolist())
    ours[0] = 0
    assert back.tolist() == ours.tolist() and not any(map(any, back[0].tolist()))


def test_dlpack_gives_the_host_a_copy_where_it_is_asked_for():
    ours = lnb.arange(3, device="cuda")
    assert ours.__dlpack_device__() == (2, 0)
    found = np.from_dlpack(ours, device="cpu")
    ours[0] = 9
    assert found.tolist() == [0, 1, 2]
    with pytest.raises(lnb.errors.DeviceError, match="copy=False"):
        ours.__dlpack__(dl_device=(1, 0), copy=False)


def test_interface_describes_the_memory():
    ours = lnb.arange(12, dtype="float32", device="cuda").reshape(3, 4)
    assert ours.__cuda_array_interface__["strides"] is None
    view = ours[1:, ::2].__cuda_array_interface__
    assert (view["shape"], view["strides"], view["typestr"], view["stream"]) == ((2, 2), (16, 8), "<f4", 1)
    assert view["data"][0] == ours.__cuda_array_interface__["data"][0] + 16
    assert not hasattr(lnb.ones(3), "__cuda_array_interface__")


@pytest.mark.parametrize("make, kind, words", [
    (lambda x: x.astype("bfloat16"), lnb.errors.DTypeError, "no bfloat16"),
    (lambda x: lnb.tensor(x, requires_grad=True), lnb.errors.GradError, "requires grad")])
def test_interface_tells_what_it_cannot_carry(make, kind, words):
    with pytest.raises(kind, match=words):
        make(lnb.ones(3, device="cuda")).__cuda_array_interface__  # noqa: B018


@pytest.mark.parametrize("stream", [0, -2, "a", 1.5, True])
def test_streams_that_are_none_are_refused(stream):
    with pytest.raises(lnb.errors.DeviceError, match=r"^stream: .* is none"):
        lnb.ones(3, device="cuda").__dlpack__(stream=stream)


def test_memory_is_not_lent_after_a_fork(monkeypatch):
    ours = lnb.ones(3, device="cuda")
    monkeypatch.setattr(driver._State, "process", 1)
    for lend in (lambda: ours.__dlpack__(), lambda: ours.__cuda_array_interface__):
        with pytest.raises(lnb.errors.DeviceError, match=r"this process was forked .*'spawn'"):
            lend()


class Recorder:
    """Stands for numba.cuda: the simulator has no external streams."""

    def __init__(self):
        self.seen = []

    def default_stream(self):
        return "ours"

    def external_stream(self, number):
        return number

    def event(self):
        return self

    def record(self, stream):
        self.seen.append(("record", stream))

    def wait(self, stream):
        self.seen.append(("wait", stream))


@pytest.mark.parametrize("call, stream, expected", [
    (interop.make_wait, 5, [("record", "ours"), ("wait", 5)]), (interop.wait_for, 5, [("record", 5), ("wait", "ours")]),
    (interop.make_wait, None, []), (interop.make_wait, 1, []), (interop.make_wait, -1, []), (interop.wait_for, -1, [])])
def test_streams_wait_for_each_other(monkeypatch, call, stream, expected):
    recorder = Recorder()
    monkeypatch.setattr(interop, "cuda", recorder)
    call(stream)
    assert recorder.seen == expected
