"""The table of calls names everything that is public, and MLX gives what the CPU gives; CUDA: tests/cuda.

Values, gradients and errors are the CPU's (which other tests hold to NumPy, SciPy and PyTorch), and results stay on the
device. A part of the calls that changes with the week is run each time, all of them in the sweep.
"""

import numpy as np
import pytest

from lucid_nb import backend
from lucid_nb.op import Elementwise, registry
from lucid_nb.register import functions

from ..ops import oracles
from .calls import calls, of, public
from .running import check_equal, errors_of, outcome

CALLS = calls()
RECORDS = [name for name, one in registry.items() if isinstance(one, Elementwise) and one.facts.oracle]
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


def widened(text):
    """A text in which what is promoted is double, as on the CPU."""
    return text.replace("float32", "float64").replace("complex64", "complex128")


@needs_mlx
@pytest.mark.parametrize("name", sampled(12))
def test_errors_on_mlx_are_those_of_the_cpu(name):
    for wanted, found in errors_of(CALLS[name], "mlx"):
        found = found.replace(", device='mlx'", "").replace("mlx", "cpu")       # some say where the tensor is
        if "float64" in wanted and not found:                     # of integers, which are float32 there as the rest
            continue
        assert found == wanted or widened(found) == widened(wanted)
