"""Launches without the dispatcher of numba, which takes ten microseconds to look at a few arguments.

The first launch of a kernel for some types of arguments goes through numba, which compiles it. Later ones pack the
arguments as the parameters of the kernel, side by side, each at a multiple of its size, and call the driver.
"""

import ctypes
import re
import struct
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import DeviceError
from .driver import SIMULATED, cuda
from .memory import ARRAY, Memory

if not SIMULATED:
    from cuda.bindings import driver

# Parameters by the type of an argument, in the letters of `struct`; what is missing is left to numba.
LETTERS: dict[type, str] = {
    int: "q", float: "d", complex: "dd", bool: "?", np.bool_: "?",
    np.int8: "b", np.int16: "h", np.int32: "i", np.int64: "q", np.float32: "f", np.float64: "d",
    np.uint8: "B", np.uint16: "H", np.uint32: "I", np.uint64: "Q", np.complex64: "ff", np.complex128: "dd",
    Memory: f"0q{ARRAY.size}s"}
# What the driver is given: pairs of a setting and its address, up to an end; the number of bytes; the parameters.
SETTINGS = struct.Struct("5P")
BYTES_AT, FIRST = SETTINGS.size, SETTINGS.size + struct.calcsize("N")
ROOM = 4096                                          # bytes of parameters that every driver takes
LEGACY_STREAM = 0
# Of the driver's errors: those that a kernel left which ran before, and others that have a remedy.
STOPPED = ("ILLEGAL_ADDRESS", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "ILLEGAL_INSTRUCTION", "MISALIGNED_ADDRESS", "ASSERT",
           "INVALID_ADDRESS_SPACE", "INVALID_PC", "HARDWARE_STACK_ERROR")
REMEDIES = dict.fromkeys(STOPPED, "A kernel launched before has stopped, and its memory is lost: restart the process, "
                         "and look for the op under autograd.detect_anomaly().")
REMEDIES |= {"OUT_OF_MEMORY": "Use smaller batches, or delete tensors.",
             "UNSUPPORTED_PTX_VERSION": "Update NVIDIA's driver to 580 or newer."}


class Launcher(NamedTuple):
    """A compiled kernel, and how its parameters are packed behind their number of bytes."""

    name: str
    handle: Any
    pack_into: Callable[..., None]
    nbytes: int                                      # of parameters
    complexes: tuple[int, ...]                       # places of arguments that are two parameters, last first


class Form(NamedTuple):
    """What a kernel and the types of its arguments tell: where memory is, and launchers by the dtypes of that."""

    places: tuple[int, ...]
    letters: tuple[str | None, ...]
    launchers: dict[tuple[np.dtype, ...], Launcher | None]


@lru_cache(maxsize=4096)
def _form(function: Any, types: tuple[Any, ...]) -> Form:
    flat = [one for kind in types for one in (kind if type(kind) is tuple else (kind,))]
    return Form(tuple([place for place, kind in enumerate(flat) if kind is Memory]), tuple(map(LETTERS.get, flat)), {})


@lru_cache(maxsize=4096)
def _tuples(types: tuple[type, ...]) -> tuple[int, ...]:
    """Where arguments are tuples, last first."""
    return tuple([place for place, kind in enumerate(types) if kind is tuple][::-1])


def _flattened(arguments: Sequence[Any], types: tuple[type, ...]) -> tuple[list[Any], tuple[Any, ...]]:
    """Arguments with the elements of tuples in their place, and the types of arguments, of tuples each a tuple."""
    values, kinds = [*arguments], list[Any](types)
    for place in _tuples(types):
        values[place:place + 1] = given = arguments[place]
        kinds[place] = tuple(map(type, given))
    return values, tuple(kinds)


class _Thread(threading.local):
    """Buffers of a thread that are not in use, with the addresses of their settings; none before its first launch."""

    spare: list[tuple[bytearray, int]] | None = None


_thread = _Thread()
_legacy = None if SIMULATED else driver.CUstream(0)


def _buffer() -> tuple[bytearray, int]:
    """Memory for parameters, and the address of the settings that name it."""
    parameters = bytearray(FIRST + ROOM)
    start = ctypes.addressof(ctypes.c_char.from_buffer(parameters))
    SETTINGS.pack_into(parameters, 0, driver.CU_LAUNCH_PARAM_BUFFER_POINTER, start + FIRST,
                       driver.CU_LAUNCH_PARAM_BUFFER_SIZE, start + BYTES_AT, driver.CU_LAUNCH_PARAM_END)
    return parameters, start


def launch(function: Any, blocks: int, threads: Any, stream: Any, arguments: Sequence[Any]) -> None:
    """Run a kernel on memory and numbers. `stream` is LEGACY_STREAM, or what builds a graph."""
    values, types = [*arguments], tuple(map(type, arguments))
    if tuple in types:
        values, types = _flattened(arguments, types)
    form, dtypes = _form(function, types), []
    for place in form.places:
        memory = values[place]
        values[place] = memory.parameters
        dtypes.append(memory.array.dtype)
    launcher = form.launchers.get(key := tuple(dtypes))
    if launcher is None or not _sent(launcher, blocks, threads, stream, values):
        plain = [given.array if type(given) is Memory else given for given in arguments]
        _by_numba(function, blocks, threads, stream, plain)
        if key not in form.launchers:
            form.launchers[key] = _launcher(function, form.letters, plain)


def _sent(launcher: Launcher, blocks: int, threads: Any, stream: Any, values: list[Any]) -> bool:
    """Hand a launch to the driver, unless a number does not fit its parameter."""
    for place in launcher.complexes:
        values[place:place + 1] = values[place].real, values[place].imag
    if _thread.spare is None:
        cuda.current_context()                       # becomes this thread's, which the driver takes
        _thread.spare = []
    spare = _thread.spare
    # Taken away while it is in use, for what a finaliser launches meanwhile.
    parameters, settings = buffer = spare.pop() if spare else _buffer()
    try:
        launcher.pack_into(parameters, BYTES_AT, launcher.nbytes, *values)
    except struct.error:
        return False
    x, y = threads if type(threads) is tuple else (threads, 1)
    status, = driver.cuLaunchKernel(launcher.handle, blocks, 1, 1, x, y, 1, 0, _handle(stream), 0, settings)
    spare.append(buffer)
    if status:
        raise DeviceError(_refused(launcher.name, status.name.removeprefix("CUDA_ERROR_")))
    return True


def _handle(stream: Any) -> Any:
    """The driver's own of a stream."""
    return _legacy if stream == LEGACY_STREAM else driver.CUstream(number_of(stream))


def number_of(stream: Any) -> int:
    """A stream as libraries of C take it; the legacy default stream is 0."""
    return LEGACY_STREAM if stream == LEGACY_STREAM else int(core_stream(stream).handle)


def core_stream(stream: Any) -> Any:
    """numba's stream, or what builds a graph, as cuda.core's."""
    return cuda.cudadrv.driver._to_core_stream(stream)  # type: ignore[attr-defined]


@contextmanager
def side_stream() -> Iterator[Any]:
    """A stream for the block on which nothing runs: what is launched on it is captured.

    It does not wait for the default stream, which other threads may use meanwhile.
    """
    cuda.current_context()
    status, handle = driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)
    if status:
        raise DeviceError(_refused("graph", status.name.removeprefix("CUDA_ERROR_")))
    try:
        yield core_stream(cuda.external_stream(int(handle)))
    finally:
        driver.cuStreamDestroy(handle)


def _refused(name: str, error: str) -> str:
    remedy = REMEDIES.get(error, "Check nvidia-smi, and restart the process.")
    return f"{name}: the driver did not launch this kernel ({error}). {remedy}"


# ------------------------------------------------------------------------------------------------------ by numba
@lru_cache(maxsize=4096)
def _configured(function: Any, blocks: int, threads: Any, stream: Any) -> Any:
    """A kernel with its geometry, which compiles it. Small arrays are no reason to warn of low occupancy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function[blocks, threads, stream]


def _by_numba(function: Any, blocks: int, threads: Any, stream: Any, plain: Sequence[Any]) -> None:
    try:
        _configured(function, blocks, threads, stream)(*plain)
    except Exception as error:       # the driver's errors share no base class
        found = re.search(r"CUDA_ERROR_(\w+)", str(error))
        if found is None:
            raise
        raise DeviceError(_refused(function.py_func.__name__, found[1])) from error


def _launcher(function: Any, letters: Sequence[str | None], plain: Sequence[Any]) -> Launcher | None:
    """How the kernel that numba has just launched is launched without it; None where numba does more than we do."""
    kernel = function.overloads.get(tuple(map(function.typeof_pyval, plain)))
    if None in letters or kernel is None or kernel.launch_config_sensitive or kernel.cooperative or kernel.debug \
            or kernel.extensions:
        return None
    packing = struct.Struct("N" + "".join(letters))  # type: ignore[arg-type]
    nbytes = packing.size - struct.calcsize("N")
    if nbytes > ROOM:
        return None
    complexes = tuple([place for place, letter in enumerate(letters) if letter in ("ff", "dd")])[::-1]
    handle = driver.CUfunction(int(kernel.library.get_cufunc().handle))
    return Launcher(function.py_func.__name__, handle, packing.pack_into, nbytes, complexes)
