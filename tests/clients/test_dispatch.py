"""SciPy and scikit-learn on tensors, by the array API: the values that they have on arrays, as tensors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import dispatched


@pytest.fixture(scope="module")
def faults():
    """What is wrong with each call, found in another process."""
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONWARNINGS": "ignore"}
    run = subprocess.run([sys.executable, "-m", "tests.clients.dispatched"], env=environment, capture_output=True,
                         cwd=Path(__file__).parents[2], text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("call", dispatched.SCIPY)
def test_scipy_computes_on_tensors(call, faults):
    refusal = dispatched.REFUSED.get(call)
    assert faults[call] == "" if refusal is None else refusal in faults[call]


@pytest.mark.parametrize("call", dispatched.SKLEARN)
def test_sklearn_computes_on_tensors(call, faults):
    if call not in faults:
        pytest.skip("scikit-learn is not installed")
    assert faults[call] == ""
