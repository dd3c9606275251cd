"""Launches as the driver would see them, without one: device memory at made-up addresses, and a driver that notes."""

import contextlib
import ctypes
import re
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

import numpy as np

from lucid_nb.cuda import launching
from lucid_nb.cuda.memory import Memory

HANDLE, STREAM = 0x1234, 0x5678
SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}


class Sent(NamedTuple):
    """What cuLaunchKernel was given."""

    handle: int
    grid: tuple
    block: tuple
    shared: int
    stream: int
    parameters: bytes


class Driver:
    """Stands for cuda.bindings.driver: reads the parameters as C would, while the call lasts."""

    CU_LAUNCH_PARAM_END, CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE = 0, 1, 2

    def __init__(self):
        self.sent, self.status, self.during = [], 0, lambda: None
        self.CUfunction = self.CUstream = int

    def cuLaunchKernel(self, function, *rest):
        """A launch, with all settings that are named up to the end."""
        grid, block, (shared, stream, kernel_parameters, extra) = rest[:3], rest[3:6], rest[6:]
        assert kernel_parameters == 0, "parameters are given twice"
        self.during()
        pointer, where, count, size_at, end = (ctypes.c_void_p * 5).from_address(extra)
        assert (pointer, count, end or 0) == (1, 2, 0)
        parameters = ctypes.string_at(where, ctypes.c_size_t.from_address(size_at).value)
        self.sent.append(Sent(function, grid, block, shared, stream, parameters))
        return (self.status,)


class Dispatcher:
    """Stands for a kernel of numba's, which compiles at its first launch."""

    def __init__(self, **kernel):
        from numba.cuda.typing.typeof import typeof
        self.overloads, self.configured, self.launches = {}, [], []
        self.py_func, self.typeof_pyval = SimpleNamespace(__name__="kernel"), typeof
        library = SimpleNamespace(get_cufunc=lambda: SimpleNamespace(handle=HANDLE))
        self.kernel = SimpleNamespace(**dict(launch_config_sensitive=False, cooperative=False, debug=False,
                                             extensions=[], library=library) | kernel)

    def __getitem__(self, configuration):
        self.configured.append(configuration)
        return self.launch

    def launch(self, *plain):
        """As numba would."""
        self.overloads[tuple(map(self.typeof_pyval, plain))] = self.kernel
        self.launches.append(plain)


@contextlib.contextmanager
def driver():
    """A driver that notes launches, for the threads of this block."""
    found = Driver()
    stand_ins = {"driver": found, "_thread": launching._Thread(), "_legacy": launching.LEGACY_STREAM}
    with mock.patch.multiple(launching, **stand_ins), mock.patch.object(launching.cuda, "current_context"):
        yield found


def device_memory(count, dtype, address):
    """Memory that lies nowhere."""
    from numba.cuda.cudadrv.devicearray import DeviceNDArray
    dtype = np.dtype(dtype)
    gpu = SimpleNamespace(device_ctypes_pointer=ctypes.c_void_p(address))
    return Memory(DeviceNDArray((count,), (dtype.itemsize,), dtype, gpu_data=gpu))


def on_device(arguments):
    """Arguments whose memory lies at addresses of their own instead of on the host."""
    return [device_memory(given.size, given.array.dtype, 0x7F0000000000 + 4096 * place + given.array.dtype.itemsize)
            if isinstance(given, Memory) else given for place, given in enumerate(arguments)]


def by_numba(arguments):
    """The parameters of a launch as numba hands them to the driver, each as bytes."""
    from numba.cuda.dispatcher import _Kernel
    from numba.cuda.typing.typeof import typeof
    plain = [given.array if isinstance(given, Memory) else given for given in arguments]
    kernel, found = SimpleNamespace(extensions=[]), []
    kernel._prepare_args = lambda *rest: _Kernel._prepare_args(kernel, *rest)
    for given in plain:
        kernel._prepare_args(typeof(given), given, 0, [], found)
    kinds = {bool: ctypes.c_bool, np.bool_: ctypes.c_bool, int: ctypes.c_int64}        # as cuda.core takes them
    return [bytes(kinds[type(one)](one) if type(one) in kinds else one) for one in found]


def sent_by(arguments, driver):
    """The parameters of a launch as we hand them to the driver; numba has launched the kernel before."""
    kernel = Dispatcher()
    for _ in range(2):
        launching.launch(kernel, 1, 1, launching.LEGACY_STREAM, arguments)
    assert len(kernel.launches) == len(driver.sent) == 1, "the second launch goes through numba too"
    return driver.sent[0].parameters


def check_parameters(arguments, ptx):
    """Is what we hand to the driver, at each place that the PTX declares, what numba would put there, and no more?"""
    arguments = on_device(arguments)
    with driver() as found:
        ours = sent_by(arguments, found)
    places = declared(ptx)
    assert [ours[offset:offset + size] for offset, size in places] == by_numba(arguments)
    assert len(ours) == sum(places[-1])


def declared(ptx):
    """(offset, size) of each parameter of the kernel in PTX: each lies at the next multiple of its size."""
    entry = re.search(r"\.entry\s+[^(]+\(([^)]*)\)", ptx)[1]
    offset, found = 0, []
    for kind in re.findall(r"\.param\s+\.([a-z]\d+)\b", entry):
        size = SIZES[kind[1:]]
        offset = -(-offset // size) * size
        found.append((offset, size))
        offset += size
    assert len(found) == entry.count(".param"), entry
    return found
