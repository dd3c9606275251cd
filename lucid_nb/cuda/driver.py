"""Is there a device, which one, and may this process use it? Forks, drivers and compilers that are missing."""

import os

from ..errors import BackendError, DeviceError

try:
    import numba_cuda  # noqa: F401  (without it Numba's own numba.cuda, an older one, would be found)
    from numba import cuda
except ImportError as missing:
    raise BackendError(f"cuda: numba-cuda cannot be imported ({missing}). "
                       "Install the extra, in a clone: pip install -e '.[cuda]'.") from missing

SIMULATED = "simulator" in cuda.jit.__module__
LEAST = (13, 0)                                  # the CUDA that NVIDIA's compiler in the extra writes programs for
UPDATE = "Update NVIDIA's driver to 580 or newer."


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
    _State.reason = _shortcoming()
    return _State.reason is None


def _shortcoming() -> str | None:
    """Why kernels cannot be compiled for a device that is there, with the remedy."""
    version = cuda.cudadrv.driver.get_version()  # type: ignore[attr-defined]
    if version < LEAST:
        return f"The driver knows CUDA {version[0]}.{version[1]}, and programs are for {LEAST[0]}.{LEAST[1]}. {UPDATE}"
    if not cuda.is_available():
        return "NVIDIA's compiler libraries are missing. Install the extra, in a clone: pip install -e '.[cuda]'."
    return None


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
        return UPDATE
    if "NO_DEVICE" in text or "no CUDA-capable device" in text:
        return "Check nvidia-smi and CUDA_VISIBLE_DEVICES, or use device='cpu'."
    return "Check nvidia-smi, then install the extra, in a clone: pip install -e '.[cuda]'."


def unavailable() -> str:
    """Why there is no device, with the remedy; empty where there is one."""
    return "" if is_available() else str(_State.reason)


def require(op: str) -> None:
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
    require("description")
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    major, minor = device.compute_capability
    memory = cuda.current_context().get_memory_info().total
    return f"{name}, compute capability {major}.{minor}, {memory / 2**30:.0f} GiB"


def synchronize() -> None:
    """Wait until everything that was launched is done."""
    if _State.process is not None:
        require("synchronize")
        cuda.synchronize()
