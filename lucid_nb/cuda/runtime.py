"""The one place that launches kernels and takes device memory: geometry, launchers, availability, forks.

Kernels are lazy: they compile at their first launch, for the types of that launch. Every launch uses the x axis of
the grid only, whose limit is 2**31 - 1, and walks by the size of the grid, so no number of elements is too large.
"""

import functools
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import BackendError, DeviceError

try:
    import numba_cuda  # noqa: F401  (without it Numba's own numba.cuda, an older one, would be found)
    from numba import cuda
except ImportError as missing:
    raise BackendError(f"cuda: numba-cuda cannot be imported ({missing}). "
                       "Install the extra, in a clone: pip install -e '.[cuda]'.") from missing

SIMULATED = "simulator" in cuda.jit.__module__
THREADS = 32 if SIMULATED else 256
BLOCK = 8 if SIMULATED else 256                 # threads that merge in shared memory; each merge is slow to simulate
MAX_BLOCKS = 2 if SIMULATED else 1 << 16
FEW_BLOCKS = 2 if SIMULATED else 512            # below this a reduction is cut into chunks to fill the device
MIN_CHUNK = 8 if SIMULATED else 1024
WARP = 4 if SIMULATED else 32                   # neighbours along x, so that a warp reads neighbouring elements


def kernel(function: Callable) -> Any:
    """A kernel, compiled at its first launch."""
    return cuda.jit(function)


def inline(function: Callable) -> Any:
    """A scalar function whose text is put into the kernel: a call would need a driver at compile time."""
    return function if SIMULATED else cuda.jit(device=True, inline="always")(function)


def block_inline(function: Callable) -> Any:
    """A function that uses the threads of a block, put into the kernel. The simulator has to know it."""
    return cuda.jit(device=True)(function) if SIMULATED else inline(function)


def shared_memory(shape: Any, dtype: np.dtype) -> Callable:
    """A function that gives a kernel the shared memory of its block; each call in the text is memory of its own."""
    scalar = dtype.type

    def take():
        return cuda.shared.array(shape, dtype=scalar)

    def take_simulated():
        # The simulator's own way may give two threads of a block different arrays, and reads the stack each time.
        block = threading.current_thread()._manager
        return vars(block).setdefault(take, np.empty(shape, scalar))
    return take_simulated if SIMULATED else inline(take)


# ------------------------------------------------------------------------------------------------- geometry
def ceil_div(count: int, size: int) -> int:
    """How many pieces of `size` cover `count`."""
    return -(-count // size)


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << max(count - 1, 0).bit_length()


def grid(pieces: int) -> int:
    """Blocks on the x axis for that many pieces of work, at least one; blocks walk where pieces are more."""
    return max(1, min(pieces, MAX_BLOCKS))


class Slices(NamedTuple):
    """How a block works on (outer, count, inner): `columns` of inner side by side, `lanes` along count."""

    columns: int
    lanes: int
    tiles: int
    blocks: int


def slices(outer: int, count: int, inner: int, chunks: int = 1) -> Slices:
    """The geometry of a kernel that combines along the middle axis of (outer, count, inner)."""
    columns = min(power_of_two(inner), WARP)
    lanes = min(BLOCK // columns, power_of_two(max(1, ceil_div(count, chunks))))
    tiles = max(1, ceil_div(inner, columns))
    return Slices(columns, lanes, tiles, grid(outer * tiles * chunks))


def chunks_of(outer: int, count: int, inner: int) -> int:
    """Into how many chunks a reduction is cut, by shape alone, so that results never depend on the device."""
    tiles = outer * ceil_div(inner, min(power_of_two(inner), WARP))
    if tiles >= FEW_BLOCKS or count < 2 * MIN_CHUNK:
        return 1
    return min(ceil_div(count, MIN_CHUNK), ceil_div(FEW_BLOCKS, tiles))


# -------------------------------------------------------------------------------------------- availability
class _State:
    """The process that uses the device, and why there is none."""

    process: int | None = None
    reason: str | None = None


def is_available() -> bool:
    """Can kernels run here? In the simulator always."""
    if SIMULATED or _State.process is not None:
        return True
    try:
        cuda.current_context()
    except Exception as error:       # the driver's errors share no base class
        _State.reason = f"{_first_line(error)} {_remedy(str(error))}"
        return False
    _State.reason = None if cuda.is_available() else (
        "NVIDIA's compiler libraries are missing. Install the extra, in a clone: pip install -e '.[cuda]'.")
    return _State.reason is None


def _first_line(error: Exception) -> str:
    """What the driver says, without its headings."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" :")]
    text = next((line for line in lines if not line.startswith("Error at driver init")), type(error).__name__)
    return text if text.endswith(".") else text + "."


def _remedy(text: str) -> str:
    """The line that mends it."""
    if "driver library cannot be found" in text:
        return "Install NVIDIA's driver (580 or newer), or use device='cpu'."
    if "INSUFFICIENT_DRIVER" in text or "too old" in text or "UNSUPPORTED_PTX" in text:
        return "Update NVIDIA's driver to 580 or newer."
    if "NO_DEVICE" in text or "no CUDA-capable device" in text:
        return "Check nvidia-smi and CUDA_VISIBLE_DEVICES, or use device='cpu'."
    return "Check nvidia-smi, then install the extra, in a clone: pip install -e '.[cuda]'."


def unavailable() -> str:
    """Why there is no device, with the remedy; empty where there is one."""
    return "" if is_available() else str(_State.reason)


def _require(op: str) -> None:
    """Raise unless this process may use the device."""
    if _State.process is None:
        if not is_available():
            raise BackendError(f"{op}: CUDA is not usable. {_State.reason}")
        _State.process = os.getpid()
    elif _State.process != os.getpid():
        raise DeviceError(f"{op}: this process was forked after process {_State.process} had used CUDA, and CUDA does "
                          "not survive a fork. Start it with multiprocessing.get_context('spawn').")


def description() -> str:
    """The name of the device, for people."""
    if SIMULATED:
        return "CUDA simulator of numba-cuda"
    _require("description")
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    major, minor = device.compute_capability
    memory = cuda.current_context().get_memory_info().total
    return f"{name}, compute capability {major}.{minor}, {memory / 2**30:.0f} GiB"


def synchronize() -> None:
    """Wait until everything that was launched is done."""
    if _State.process is not None:
        _require("synchronize")
        cuda.synchronize()


# --------------------------------------------------------------------------------------- memory and launches
def allocate(count: int, dtype: np.dtype) -> Any:
    """Flat, uninitialised memory for `count` elements of a storage dtype; never of size 0, which CUDA refuses."""
    _require("empty")
    try:
        return cuda.device_array(max(count, 1), dtype)
    except Exception as error:       # CudaAPIError and MemoryError, by the allocator in use
        if "OUT_OF_MEMORY" not in str(error) and not isinstance(error, MemoryError):
            raise
        free, total = cuda.current_context().get_memory_info()
        raise DeviceError(f"empty: {count * dtype.itemsize} bytes asked, {free} of {total} free on the device. "
                          "Use smaller batches, or delete tensors.") from None


def upload(flat: np.ndarray) -> Any:
    """Host memory copied to the device."""
    _require("from_numpy")
    if flat.size == 0:
        return allocate(0, flat.dtype)
    return cuda.to_device(flat)


def download(flat: Any) -> np.ndarray:
    """Device memory copied to the host, after everything launched before."""
    _require("to_numpy")
    return flat.copy_to_host()


_simulator = threading.RLock()       # the simulator runs one kernel at a time


def _simulate(function: Any, blocks: int, threads: Any, arguments: tuple) -> None:
    """Run a kernel in the simulator, whose threads do not inherit np.errstate.

    It waits for threads in a busy loop that would hold the interpreter for whole switch intervals.
    """
    with _simulator, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            function[blocks, threads](*arguments)
        finally:
            sys.setswitchinterval(interval)


def launch(function: Any, blocks: int, threads: Any, *arguments: Any) -> None:
    """Run a kernel on flat memory and scalars, asynchronously."""
    _require("launch")
    if SIMULATED:
        _simulate(function, blocks, threads, arguments)
    else:
        _launcher(function, blocks, threads)(*arguments)


def launch_each(function: Any, count: int, *arguments: Any) -> None:
    """Run a kernel(*arguments) whose threads walk by the size of the grid over `count` pieces, where there are any."""
    if count:
        launch(function, grid(ceil_div(count, THREADS)), THREADS, *arguments)


@functools.lru_cache(maxsize=4096)
def _launcher(function: Any, blocks: int, threads: Any) -> Any:
    """A kernel with its geometry. Small arrays are no reason to warn of low occupancy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function[blocks, threads]
