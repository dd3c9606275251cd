"""Every public function, layer, optimizer and transform on the device "cuda", against the CPU.

Values, gradients and errors are the CPU's (which other tests hold to NumPy, SciPy and PyTorch); results stay on the
device; nothing crosses to the host or back but what the guide lists; what is elementwise or reduces is one launch.
Each run takes one call of so many, always the same; `-m "sweep and cuda_simulator"` takes all. Is everything
called? tests/devices/test_calls.py
"""

import inspect
import re
from fnmatch import fnmatch
from pathlib import Path
from zlib import crc32

import pytest

from lucid_nb import op
from lucid_nb.op import Elementwise, registry

from ..devices.calls import calls, of, public
from ..devices.running import check_equal, outcome, refusals
from .everything import traffic

CALLS = calls()
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "cuda.md"
RECORDS = [name for name, one in registry.items() if isinstance(one, Elementwise) and one.facts.oracle]
LONG = ("nn.Transformer", "special.betaln", "logaddexp2", "nn.AdaptiveMaxPool3d")         # to simulate
needs_device = pytest.mark.cuda_simulator


def sampled(share, names=CALLS, without=()):
    """Calls by name, one of `share` in every run, the others in the sweep."""
    chosen = [name for name in names if crc32(name.encode()) % share == 0 and name not in LONG]
    return [pytest.param(name, marks=[] if name in chosen else pytest.mark.sweep)
            for name in names if name not in without]


def in_guide():
    """What the guide says may cross: "reads" and "sends" by the name of the function in which it happens."""
    found = {}
    for names, kinds in re.findall(r"^\| (`.*`) \| ((?:reads|sends).*?) \|", GUIDE.read_text(encoding="utf-8"), re.M):
        for name in re.findall("`([^`]+)`", names):
            found.setdefault(name, set()).update(re.findall("reads|sends what is given|sends", kinds))
    return found


LISTED = in_guide()
GIVEN = {name for name, kinds in LISTED.items() if "sends what is given" in kinds}


def may(kind, place):
    """Does the guide list it?"""
    return any(fnmatch(place, name) and one.startswith(kind) for name, kinds in LISTED.items() for one in kinds)


def codes():
    """The code of functions that may send or read, and their names; what runs others is none of them."""
    found = {}
    for name in public.names():
        function = public.resolved(name)
        code, is_tensors = getattr(inspect.unwrap(function), "__code__", None), name.startswith("Tensor.")
        if code is None or hasattr(function, "record") or (is_tensors and not name.endswith("item__")):
            continue                                             # the code of records is that of all of them
        if not name.startswith(("autograd.", "optim.", "nn.utils.")):
            found.setdefault(code, name if "." in name else function.__name__)
    return found


def test_guide_lists_names_that_exist():
    assert len(LISTED) > 20
    for name in LISTED:
        assert "*" in name or "?" in name or public.resolved(name) is not None


# ------------------------------------------------------------------------------------------------ is it the same?
@needs_device
@pytest.mark.parametrize("name", sampled(48))
def test_values_and_gradients_are_those_of_the_cpu(name):
    wanted, found = (outcome(CALLS[name], device) for device in ("cpu", "cuda"))
    assert not wanted.error and not found.error, (wanted.error, found.error)
    assert found.devices <= {"cuda"}
    check_equal(found.results, wanted.results)
    check_equal(found.gradients, wanted.gradients)


@needs_device
@pytest.mark.parametrize("name", sampled(40))
def test_errors_are_those_of_the_cpu(name):
    for _, wanted, found in refusals(CALLS[name], "cuda"):
        assert found.error.replace(", device='cuda'", "").replace("cuda", "cpu") == wanted.error  # some say where it is
        assert found.is_untouched


@needs_device
@pytest.mark.parametrize("name", sampled(40))
def test_nothing_crosses_but_what_the_guide_lists(name, monkeypatch):
    monkeypatch.setattr(op, "_constants", {})        # of which no more than so many are kept
    for passage in traffic(CALLS[name], codes(), GIVEN):
        unlisted = [(kind, place or of(name)) for kind, place in passage.crossed if not may(kind, place or of(name))]
        assert not unlisted


# ------------------------------------------------------------------------------------------------ how many launches?
SINGLE = ("sum", "prod", "max", "min", "argmax", "argmin", "logsumexp", "cumsum", "cumprod", "softmax", "log_softmax",
          "nansum", "nanprod")
# Reductions and elementwise functions that take more, how many at most, and why.
MORE = {
    "where": (2, "numbers become a mask"), "float_power": (3, "two casts to float64"),
    "ldexp": (2, "the cast of the exponents"),
    "mean": (2, "the sum, and the division"), "var": (3, "moments, and what ddof and the shape ask for"),
    "std": (4, "the variance, and its root"), "ptp": (3, "two reductions and a difference"),
    "nanmax": (3, "the maximum, and whether a row is all NaN"), "nanmin": (3, "as nanmax"),
    "nanmean": (6, "a sum, a count and a warning"),
    "nanvar": (23, "a mask, its count and a warning, the mean and the squares of deviations, with the mask each"),
    "nanstd": (24, "as nanvar, and the root"), "nanargmax": (6, "a mask, whether a row is all NaN, and the place"),
    "nanargmin": (6, "as nanargmax"),
    "nancumsum": (3, "NaN is replaced"), "nancumprod": (3, "NaN is replaced"),
    "median": (12, "a sort, two elements of each row and what lies between them, NaN kept"),
    "nanmedian": (6, "a sort, whose places differ from row to row"), "average": (3, "as mean, and the weights' sum"),
}


@needs_device
@pytest.mark.parametrize("name", [*SINGLE, *MORE, *sampled(16, RECORDS, MORE)])
def test_an_op_is_one_launch(name):
    forward, _ = traffic(CALLS[name], codes(), GIVEN)
    assert 1 <= len(forward.launches) <= MORE.get(name, (1, ""))[0]
