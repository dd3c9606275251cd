"""Hypothesis profiles: `ci` is fixed and short, `sweep` is long (--hypothesis-profile=sweep), the simulator is slow.

Tests marked cuda_simulator run where there is a device "cuda": in the simulator, and on a GPU (bench/gpu.py).
"""

import gc
import os
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from lucid_nb import backend
from lucid_nb.errors import BackendError

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.differing_executors]}

settings.register_profile("ci", derandomize=True, database=None, max_examples=20, **COMMON)
settings.register_profile("simulator", derandomize=True, database=None, max_examples=5, **COMMON)
settings.register_profile("sweep", max_examples=1000, **COMMON)
settings.load_profile("simulator" if SIMULATED else "ci")


@cache
def why_no_cuda():
    """Why there is no device "cuda" here; empty where there is."""
    try:
        backend.table("cuda")
    except BackendError as error:
        return f"{error} Or set NUMBA_ENABLE_CUDASIM=1, before Numba is imported"
    return ""


def pytest_collection_finish(session):
    """Tens of thousands of tests stay: the garbage collector need not look through them again, which takes a second."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item):
    """Leave out what needs CUDA where there is none, and what looks into the simulator where there is a GPU."""
    if item.get_closest_marker("cuda_simulator"):
        if reason := why_no_cuda():
            pytest.skip(reason)
        if item.get_closest_marker("simulated") and not SIMULATED:
            pytest.skip("reads the simulator's memory, or stands in for the driver")
