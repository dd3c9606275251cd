"""Hypothesis profiles: `ci` is fixed and short, `sweep` is long (--hypothesis-profile=sweep), the simulator is slow."""

import os

from hypothesis import HealthCheck, settings

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.differing_executors]}

settings.register_profile("ci", derandomize=True, database=None, max_examples=20, **COMMON)
settings.register_profile("simulator", derandomize=True, database=None, max_examples=5, **COMMON)
settings.register_profile("sweep", max_examples=1000, **COMMON)
settings.load_profile("simulator" if SIMULATED else "ci")
