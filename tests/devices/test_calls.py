"""The table of calls names everything that is public, and MLX gives what the CPU gives; CUDA: tests/cuda.

Values, gradients and errors are the CPU's (which other tests hold to NumPy, SciPy and PyTorch), and results stay on the
device. A part of the calls that changes with the week is run each time, all of them in the sweep.
"""

import re
from itertools import zip_longest

import numpy as np
import pytest

from lucid_nb import backend
from lucid_nb.op import Elementwise, registry
from lucid_nb.register import functions

from ..ops import oracles
from .calls import calls, of, public
from .running import apart, check_equal, outcome, refusals

CALLS = calls()
RECORDS = [name for name, one in registry.items() if isinstance(one, Elementwise) and one.facts.oracle]
NARROWED = [("float32", "float64"), ("complex64", "complex128")]
SINGLE = [(np.float32, np.float64), (np.complex64, np.complex128)]        # what is promoted on mlx, and elsewhere
HOSTS_ARE_ADOPTED = "from_dlpack"                                 # gives what it is given, where it is
needs_mlx = pytest.mark.skipif(not backend.is_usable("mlx"), reason="needs MLX, for Apple silicon and for Linux")


def sampled(share):
    """Calls by name, one of `share` in every run, the others in the sweep."""
    chosen = {*oracles.random.Random(oracles.SEED).sample(sorted(CALLS), len(CALLS) // share)}
    return [pytest.param(name, marks=[] if name in chosen else pytest.mark.sweep)
            for name in CALLS if name != HOSTS_ARE_ADOPTED]


# ------------------------------------------------------------------------------------------------ is it all there?
def test_every_public_name_is_called_or_excused():
    """A new name is entered in tests/devices/calls, or excused in public.py with the reason."""
    called = {id(public.resolved(of(name))) for name in CALLS if of(name) in functions or of(name) not in registry}
    excuses = public.excuses()
    missing = [name for name in public.names() if id(public.resolved(name)) not in called and name not in excuses]
    assert not missing, f"called on no device: {missing}"
    assert not [name for name in excuses if id(public.resolved(name)) in called]


def test_every_elementwise_record_is_called():
    assert not {*RECORDS} - {*CALLS}


# ------------------------------------------------------------------------------------------------ is it the same?
@needs_mlx
@pytest.mark.parametrize("name", sampled(6))
def test_values_and_gradients_on_mlx_are_those_of_the_cpu(name):
    wanted, found = (outcome(CALLS[name], device) for device in ("cpu", "mlx"))
    assert not wanted.error and not found.error, (wanted.error, found.error)
    assert found.devices <= {"mlx"}
    check_equal(found.results, wanted.results, narrowed=SINGLE)
    check_equal(found.gradients, wanted.gradients, narrowed=SINGLE)


def are_promoted_alike(arrays, wanted, found):
    """Do two errors differ in nothing but the dtype of numbers that are promoted, double on the CPU and single on MLX?

    None of the arguments is double then, and an error that the CPU raises because one is promoted to double is none.
    """
    if any(x.dtype.name in ("float64", "complex128") for x in arrays):
        return False
    if not found:
        return wanted.startswith("DTypeError") and "float64" in wanted and any(x.dtype.kind in "iub" for x in arrays)
    pairs = zip_longest(re.split(r"((?:float|complex)\d+)", found), re.split(r"((?:float|complex)\d+)", wanted))
    return all(ours == theirs or (ours, theirs) in NARROWED for ours, theirs in pairs)


@pytest.mark.parametrize("dtype, wanted, found, is_alike", [
    ("int32", "DTypeError: f: has float64.", "DTypeError: f: has float32.", True),
    ("int32", "DTypeError: f: has float32.", "DTypeError: f: has float64.", False),
    ("float64", "DTypeError: f: has float64.", "DTypeError: f: has float32.", False),
    ("int32", "DTypeError: f: has float64.", "ShapeError: f: has float32.", False),
    ("int32", "DTypeError: f: float64 beside float32.", "", True),
    ("float32", "DTypeError: f: float64 beside float32.", "", False),
    ("int32", "ShapeError: f: float64 of (2,).", "", False)])
def test_nothing_but_promotion_is_excused(dtype, wanted, found, is_alike):
    assert are_promoted_alike([np.ones(2, dtype)], wanted, found) == is_alike


@needs_mlx
@pytest.mark.parametrize("name", sampled(16))
def test_errors_on_mlx_are_those_of_the_cpu_and_raised_at_the_op(name):
    for arrays, wanted, found in refusals(CALLS[name], "mlx"):
        error = found.error.replace(", device='mlx'", "").replace("mlx", "cpu")       # some say where the tensor is
        assert error == wanted.error or are_promoted_alike(arrays, wanted.error, error)
        assert found.is_untouched and wanted.is_untouched


# ------------------------------------------------------------------------------------------------ is it one device?
BESIDE = r"\w+Error: [\w.]+: .*\b(cpu|mlx)\b.*\b(mlx|cpu)\b.*\. .*\."                  # both are named, and a remedy


@needs_mlx
@pytest.mark.parametrize("name", sampled(12))
def test_operands_on_two_devices_are_refused(name):
    for home, other in (("mlx", "cpu"), ("cpu", "mlx")):
        for error in apart(CALLS[name], home, other):
            assert re.fullmatch(BESIDE, error)
