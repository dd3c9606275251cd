"""Representative launches of every kernel, a module for each family: what `make test` compiles and the sweep measures.

A function that calls entries of the table for a dtype becomes a case by `@launches(dtypes)`. Nothing runs and memory is
not touched, so shapes may be large: they decide the launch whose occupancy is reported.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import lucid_nb.cuda as table

from ..compiling import recorded
from ..occupancy import blocks_held, is_halved

FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
_cases: list["Case"] = []


class Case(NamedTuple):
    """One way to call entries of the table."""

    family: str
    name: str
    dtype: str
    call: Callable
    flops: Callable                # of a dtype: what is computed at least, where the PTX of a loop does not say it
    is_stream: bool                # is the work of an element counted in the PTX?
    registers: str                 # why registers may leave room for half the blocks only
    stack: str                     # why registers may be spilled, or memory of a thread's own be used

    def launches(self):
        """Every launch, the same kernel and types once."""
        with recorded() as found:
            self.call(self.dtype)
        return list({(launch.dispatcher, launch.types): launch for launch in found}.values())

    def complaints(self, launch, capability):
        """What is wrong with the machine code of a launch, and the reason that is given for it."""
        code = launch.compile(capability)
        geometry = capability, launch.threads, code.shared
        found = [(f"{code.spilled} bytes are spilled", self.stack)] * (code.spilled > 0)
        found += [(f"{code.stack} bytes of stack", self.stack)] * (code.stack > code.spilled)
        if is_halved(*geometry, code.registers):
            found.append((f"{code.registers} registers leave room for {blocks_held(*geometry, code.registers)} "
                          f"of {blocks_held(*geometry)} blocks", self.registers))
        return found

    def __str__(self):
        return f"{self.family}-{self.name}-{self.dtype}"


def launches(*dtypes, flops=lambda dtype: 0, is_stream=False, registers="", stack=""):
    """A case of this function for each dtype."""
    def collect(call):
        family = call.__module__.rpartition(".")[2]
        name = call.__name__.replace("_", " ").strip()
        _cases.extend(Case(family, name, dtype, call, flops, is_stream, registers, stack) for dtype in dtypes)
        return call
    return collect


def cases():
    """Every case of every family."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return tuple(_cases)


def add_case(case):
    """A case that no function stands for."""
    _cases.append(case)


def array(shape, dtype="float32"):
    """Zeros on the device."""
    return table.from_numpy(np.zeros(shape, dtype))


def strided(shape, dtype="float32"):
    """A view that no merging of axes makes contiguous, and that begins beside an aligned address."""
    return table.slice(array([size + 1 for size in shape], dtype), tuple(slice(1, None) for _ in shape))
