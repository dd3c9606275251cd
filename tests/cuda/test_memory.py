"""Device memory is used again, never shared by two, given back when it is short; small arrays are staged."""

import numpy as np
import pytest

import lucid_nb as lnb
import lucid_nb.cuda as table
from lucid_nb import config
from lucid_nb.cuda import memory
from lucid_nb.errors import DeviceError

pytestmark = [pytest.mark.cuda_simulator, pytest.mark.simulated, pytest.mark.usefixtures("own_pool")]
FLOAT = np.dtype("float32")


def place(raw):
    return raw.memory.array._ary.ctypes.data


def test_memory_is_used_again_when_its_last_view_has_gone():
    array = table.empty((100,), FLOAT)
    view, address = table.slice(array, (slice(10, 20),)), place(array)
    del array
    assert memory.pool.waiting() == 0
    del view
    assert memory.pool.waiting() == 512
    assert place(table.empty((25, 4), np.dtype("int32"))) == address and memory.pool.waiting() == 0


def test_reinterpreted_memory_keeps_the_block():
    bits = table.reinterpret(table.from_numpy(np.array([1.5, 2], "float32")), np.dtype("int32"))
    others = [table.full((2,), 0, FLOAT) for _ in range(3)]
    assert table.to_numpy(bits).tolist() == np.array([1.5, 2], "float32").view("int32").tolist()
    del others


def test_parts_of_one_complex_memory_overlap():
    z = table.from_numpy(np.array([1 + 2j, 3 + 4j], "complex64"))
    bits = table.reinterpret(z, FLOAT)
    table.assign(table.slice(table.real(z), (slice(None, None, -1),)), table.slice(bits, (slice(0, 2),)))
    assert table.to_numpy(z).tolist() == [2 + 2j, 1 + 4j]


def test_live_arrays_never_share():
    arrays = [table.full((50,), number, FLOAT) for number in range(6)]
    del arrays[::2]
    arrays += [table.full((50,), number, FLOAT) for number in range(10, 14)]
    assert [table.to_numpy(array)[[0, -1]].tolist() for array in arrays] == [[n, n] for n in (1, 3, 5, 10, 11, 12, 13)]


def test_pool_of_zero_keeps_nothing(monkeypatch):
    monkeypatch.setattr(config, "memory_pool_mb", 0)
    del [table.empty((100,), FLOAT)][0]
    assert memory.pool.waiting() == 0


def test_short_memory_releases_what_waits(monkeypatch):
    del [table.empty((100,), FLOAT)][0]
    asked, device_array = [], memory.cuda.device_array

    def short(size, dtype):
        asked.append(size)
        if memory.pool.waiting():
            raise MemoryError
        return device_array(size, dtype)
    monkeypatch.setattr(memory.cuda, "device_array", short)
    assert table.empty((1000,), FLOAT).size == 1000 and len(asked) == 2


def test_out_of_memory_tells_what_is_pooled(monkeypatch):
    kept = table.empty((100,), FLOAT)

    def refuse(size, dtype):
        raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")
    monkeypatch.setattr(memory.cuda, "device_array", refuse)
    with pytest.raises(DeviceError, match=r"empty: 4000 bytes asked, .* 0 pooled\. Use smaller batches"):
        table.empty((1000,), FLOAT)
    assert kept.size == 100


def test_arrays_over_a_block_are_kept_within_a_bound():
    block = memory.Block(512, memory.pool)
    for count in range(1, 40):
        assert block.array(count, FLOAT)[0].size == count
    assert len(block.arrays) <= memory.KEPT and block.array(7, FLOAT) is block.array(7, FLOAT)


@pytest.mark.parametrize("count", [0, 1, 1 << 18, (1 << 18) + 1])
def test_staged_and_direct_copies_bring_the_numbers(count):
    host = np.arange(count, dtype="float32")
    first, second = table.from_numpy(host), table.from_numpy(-host)
    host[:] = 7
    np.testing.assert_array_equal(table.to_numpy(first), np.arange(count, dtype="float32"))
    np.testing.assert_array_equal(table.to_numpy(second), -np.arange(count, dtype="float32"))


# ------------------------------------------------------------------------------------------------ errors of kernels
def broken(monkeypatch):
    def synchronize():
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")
    monkeypatch.setattr(memory.cuda, "synchronize", synchronize)


def test_kernel_errors_surface_at_their_op_in_anomaly_mode(monkeypatch):
    x = lnb.ones(3, device="cuda")
    broken(monkeypatch)
    x + 1
    with lnb.autograd.detect_anomaly(), pytest.raises(DeviceError, match=r"GPU stopped in this kernel \(CUDA_ERROR_IL"):
        x + 1
    x + 1
    monkeypatch.setattr(config, "check_nan", True)
    with pytest.raises(DeviceError, match="restart the process"):
        x + 1
