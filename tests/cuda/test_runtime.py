"""Launch geometry as arithmetic, availability without a GPU, and forks."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lucid_nb.cuda import driver, runtime
from lucid_nb.errors import BackendError, DeviceError
from lucid_nb.shapes import Window

from .conftest import GRID_LIMIT, SIMULATED, check_launches

needs_simulator = pytest.mark.cuda_simulator


@pytest.mark.parametrize("pieces", [0, 1, 1000, 2**31 + 1, 2**40])
def test_grid_stays_within_the_limit_of_the_x_axis(pieces):
    assert 1 <= runtime.grid(pieces) <= min(GRID_LIMIT, runtime.MAX_BLOCKS)


@pytest.mark.parametrize("sizes", [(1, 2**31 + 7, 1), (70_000, 3, 70_000), (2**32, 1, 1), (1, 1, 2**33), (5, 0, 3)])
def test_slices_cover_every_column_with_one_block_size(sizes):
    inner = sizes[2]
    plan = runtime.slices(*sizes)
    assert plan.columns * plan.lanes <= runtime.BLOCK and plan.lanes & (plan.lanes - 1) == 0
    assert (plan.tiles - 1) * plan.columns < inner <= plan.tiles * plan.columns
    assert 1 <= plan.blocks <= GRID_LIMIT


@pytest.mark.parametrize("sizes", [(1, 2**31 + 7, 1), (1, 10_000, 1), (1, 10, 1), (2**20, 10_000, 1)])
def test_chunks_cover_the_axis_and_leave_none_empty(sizes):
    outer, count, _ = sizes
    chunks = runtime.chunks_of(*sizes)
    chunk = runtime.ceil_div(count, chunks)
    assert (chunks - 1) * chunk < count <= chunks * chunk
    assert chunks == 1 or outer < runtime.FEW_BLOCKS


@pytest.mark.parametrize("count, power", [(0, 1), (1, 1), (2, 2), (3, 4), (1025, 2048), (2**31, 2**31)])
def test_power_of_two_is_the_next_one(count, power):
    assert runtime.power_of_two(count) == power


@pytest.mark.skipif(SIMULATED, reason="the simulator is always available")
def test_without_a_device_the_reason_and_the_remedy_are_one_line():
    import lucid_nb.cuda as table
    if table.is_available():
        assert table.UNAVAILABLE == ""
        return
    assert "\n" not in table.UNAVAILABLE and table.UNAVAILABLE.endswith(".")
    with pytest.raises(BackendError, match=r"CUDA is not usable.*(nvidia|NVIDIA)"):
        table.empty((2,), np.dtype("float32"))
    table.synchronize()


def test_more_than_two_to_the_31_elements_and_65535_rows_fit_every_launch(launches):
    import lucid_nb.cuda as table
    float32 = np.dtype("float32")
    x = table.empty((70_000, 70_001), float32)
    table.cast(x, np.dtype("float64"))
    table.copy(table.permute(x, (1, 0)))
    table.softmax(x, 1)
    table.softmax(x, 0)
    table.arg_reduce("max", x, 1, False)
    table.reduce("sum", x, (0, 1), False, float32)
    table.reduce("sum", table.permute(x, (1, 0)), (1,), False, float32)
    table.matmul(table.empty((70_000, 1, 300_000, 2), float32), table.empty((1, 2, 2, 1), float32))
    table.gather(x, table.empty((3, 100_000), np.dtype("int64")))
    window = Window((1,), (1,), (1,), (1,))
    table.conv(table.empty((70_000, 1, 70_000), float32), table.empty((2, 1, 3), float32), window)
    check_launches(launches)
    assert len(launches) == 12 and launches[0][2] == 70_000 * 70_001


def test_missing_numba_cuda_is_a_backend_error():
    code = ("import sys; sys.modules['numba.cuda'] = None\n"
            "from lucid_nb.errors import BackendError\n"
            "try:\n    import lucid_nb.cuda\n"
            "except BackendError as error:\n    print(error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install -e '.[cuda]'" in done.stdout


FORK = """
import os
import numpy as np
import lucid_nb.cuda as table
table.empty((2,), np.dtype("float32"))
if os.fork():
    os.wait()
else:
    try:
        table.empty((2,), np.dtype("float32"))
    except Exception as error:
        print(type(error).__name__, error, flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_after_use_names_fork_and_spawn():
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.startswith("DeviceError") and "fork" in done.stdout and "spawn" in done.stdout


@needs_simulator
@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("[2] cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY")])
def test_out_of_memory_says_what_was_asked(monkeypatch, own_pool, error):
    def refuse(*_):
        raise error
    monkeypatch.setattr(runtime.cuda, "device_array", refuse)
    with pytest.raises(DeviceError, match=r"empty: 4000 bytes asked, .* free on the device, 0 pooled\. Use"):
        runtime.allocate(1000, np.dtype("float32"))


@needs_simulator
def test_other_driver_errors_are_not_called_out_of_memory(monkeypatch, own_pool):
    def refuse(*_):
        raise RuntimeError("[999] cuMemAlloc: CUDA_ERROR_UNKNOWN")
    monkeypatch.setattr(runtime.cuda, "device_array", refuse)
    with pytest.raises(RuntimeError, match="UNKNOWN"):
        runtime.allocate(1000, np.dtype("float32"))


@pytest.mark.parametrize("text, remedy", [
    ("Error at driver init: \n\nCUDA driver library cannot be found.\nEnsure that ...\n:", "Install NVIDIA's driver"),
    ("Error at driver init: \nCall to cuInit results in CUDA_ERROR_NO_DEVICE (100):", "CUDA_VISIBLE_DEVICES"),
    ("[222] CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "Update NVIDIA's driver"),
    ("something else", "pip install -e '.[cuda]'"),
])
def test_reason_is_one_line_with_the_remedy(monkeypatch, text, remedy):
    def refuse():
        raise RuntimeError(text)
    monkeypatch.setattr(driver, "SIMULATED", False)
    monkeypatch.setattr(driver._State, "process", None)
    monkeypatch.setattr(runtime.cuda, "current_context", refuse)
    reason = runtime.unavailable()
    assert remedy in reason and "\n" not in reason and "driver init" not in reason


@needs_simulator
def test_description_names_the_simulator():
    assert "simulator" in runtime.description()
