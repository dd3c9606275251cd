"""Where the CUDA tests can run: the simulator has a process of its own; compiling needs NVIDIA's compiler wheels."""

import gc
import importlib.util
import os
import re
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
CAPABILITY = (8, 0)


def pytest_collection_modifyitems(items):
    """Simulator tests are skipped where Numba was started without it."""
    skip = pytest.mark.skip(reason="needs NUMBA_ENABLE_CUDASIM=1, chosen before Numba is imported")
    for item in items:
        if item.get_closest_marker("cuda_simulator") and not SIMULATED:
            item.add_marker(skip)


def why_not_compiling():
    """Why kernels cannot be compiled to machine code here; empty where they can."""
    if SIMULATED:
        return "the simulator compiles nothing"
    for module, package in (("nvidia.cu13", "nvidia-nvvm and nvidia-nvjitlink are"), ("cuda.core", "cuda-core is")):
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"{package} not installed (the extra test-cuda brings it)"
    return ""


@pytest.fixture
def own_pool(monkeypatch):
    """A pool of device memory that holds nothing from other tests."""
    from lucid_nb.cuda.memory import pool
    gc.collect()
    monkeypatch.setattr(pool, "free", {})


class MachineCode(NamedTuple):
    """What the compiler made of one kernel."""

    name: str
    ptx: str
    code: bytes
    registers: int
    spilled: int
    stack: int


def compile_kernel(dispatcher, arguments):
    """PTX and machine code of a kernel for the types of these arguments, without a GPU."""
    from numba.cuda.typing.typeof import typeof
    return compile_for(dispatcher, tuple(map(typeof, arguments)))


@cache
def compile_for(dispatcher, types):
    """The machine code of a kernel for some types, which many launches share."""
    from cuda.core import Linker, LinkerOptions, ObjectCode
    from numba import cuda

    ptx, _ = cuda.compile(dispatcher.py_func, types, device=False, abi="numba", output="ptx", cc=CAPABILITY,
                          launch_bounds=dispatcher.targetoptions.get("launch_bounds"))
    options = LinkerOptions(arch="sm_{}{}".format(*CAPABILITY), verbose=True, ptxas_options=["-v"])
    linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
    code, log = linker.link("cubin").code, linker.get_info_log()
    registers, spilled, stack = (max(map(int, re.findall(pattern, log))) for pattern in (
        r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes stack frame"))
    return MachineCode(dispatcher.py_func.__name__, ptx, code, registers, spilled, stack)


@pytest.fixture
def compiled(monkeypatch):
    """A list that fills with the machine code of every kernel that an entry of the table launches; nothing runs."""
    if reason := why_not_compiling():
        pytest.skip(reason)
    from lucid_nb.cuda import plans, runtime
    from lucid_nb.cuda.memory import Memory
    found = []

    def launch(function, blocks, threads, *arguments):
        plain = [given.array if isinstance(given, Memory) else given for given in arguments]
        found.append(compile_kernel(function, plain))

    monkeypatch.setattr(runtime, "allocate", lambda count, dtype: Memory(np.zeros(max(count, 1), dtype)))
    monkeypatch.setattr(runtime, "upload", Memory)
    monkeypatch.setattr(runtime, "address", lambda flat: 0)
    monkeypatch.setattr(runtime, "download", lambda flat: flat)
    monkeypatch.setattr(runtime, "launch", launch)
    monkeypatch.setattr(plans, "device", lambda: 0)
    return found


class Counted(NamedTuple):
    """A flat array without memory."""

    size: int
    dtype: np.dtype

    def view(self, dtype):
        """The same bytes as another dtype."""
        return Counted(self.size * self.dtype.itemsize // dtype.itemsize, dtype)


@pytest.fixture
def launches(monkeypatch):
    """What would be launched: (blocks, threads, arguments); no memory is taken and nothing runs."""
    from lucid_nb.cuda import memory, plans, runtime
    found = []
    monkeypatch.setattr(plans, "device", lambda: 0)
    monkeypatch.setattr(runtime, "allocate", lambda count, dtype: memory.Memory(Counted(count, dtype)))
    monkeypatch.setattr(runtime, "address", lambda flat: 0)
    monkeypatch.setattr(runtime, "launch", lambda kernel, *rest: found.append(rest))
    return found


GRID_LIMIT = 2**31 - 1


def check_launches(launches):
    """Does every launch stay within what a grid and a block may be, with numbers of 64 bits?"""
    for blocks, threads, *arguments in launches:
        threads = threads if isinstance(threads, tuple) else (threads,)
        assert 1 <= blocks <= GRID_LIMIT and 1 <= np.prod(threads) <= 1024
        assert all(-2**63 <= a < 2**63 for a in arguments if isinstance(a, int))
