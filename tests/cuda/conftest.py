"""Where the CUDA tests can run: the simulator has a process of its own; compiling needs NVIDIA's compiler wheels."""

import gc
import importlib.util
import os
from typing import NamedTuple

import numpy as np
import pytest

from .compiling import Compiled, recorded

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


def simulated(test):
    """A test that needs the simulator."""
    return pytest.mark.cuda_simulator(pytest.mark.simulated(test))


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


@pytest.fixture
def compiled():
    """A list that fills with the machine code of every kernel that an entry of the table launches; nothing runs."""
    if reason := why_not_compiling():
        pytest.skip(reason)
    with recorded() as launched:
        yield Compiled(launched)


class Counted(NamedTuple):
    """A flat array without memory."""

    size: int
    dtype: np.dtype

    def view(self, dtype):
        """The same bytes as another dtype."""
        return Counted(self.size * self.dtype.itemsize // dtype.itemsize, dtype)


@pytest.fixture
def launches(monkeypatch):
    """What would be launched of our own kernels: (blocks, threads, arguments); no memory is taken and nothing runs."""
    from lucid_nb import config
    from lucid_nb.cuda import memory, plans, runtime
    found = []
    monkeypatch.setattr(config, "cuda_libraries", False)
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
