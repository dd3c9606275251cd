"""Machine code without a GPU: what an entry of the table launches is compiled for its arguments instead of run."""

import contextlib
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple
from unittest import mock

import numpy as np

CAPABILITIES = ((7, 5), (8, 0), (9, 0))
FIRST = (8, 0)                     # what `make test` compiles for


class MachineCode(NamedTuple):
    """What the compiler made of one kernel."""

    name: str
    ptx: str
    code: bytes
    registers: int
    spilled: int
    stack: int
    shared: int


class Launch(NamedTuple):
    """A kernel as it was launched."""

    dispatcher: object
    types: tuple
    threads: int
    nbytes: int                    # of all memory that it was given: each is read or written once at least
    arguments: tuple               # as they were given, memory on the host

    def compile(self, capability=FIRST):
        """Its machine code for a compute capability."""
        return compile_for(self.dispatcher, self.types, capability)


@cache
def lowered(dispatcher, types):
    """A kernel as LLVM's text, which takes most of the time and is the same for every capability.

    numba.cuda.compile begins so, and asks for one capability.
    """
    from numba.cuda import compiler
    library, _ = compiler._compile_pyfunc_with_fixup(
        dispatcher.py_func, types, device=False, abi="numba", cc=FIRST, lto=False,
        launch_bounds=dispatcher.targetoptions.get("launch_bounds"))
    return library


@cache
def compile_for(dispatcher, types, capability=FIRST):
    """PTX and machine code of a kernel for some types, which many launches share."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    ptx = lowered(dispatcher, types).get_asm_str(cc=capability)
    options = LinkerOptions(arch="sm_{}{}".format(*capability), verbose=True, ptxas_options=["-v"])
    linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=options)
    code, log = linker.link("cubin").code, linker.get_info_log()
    registers, spilled, stack, shared = (max(map(int, re.findall(pattern, log)), default=0) for pattern in (
        r"Used (\d+) registers", r"(\d+) bytes spill stores", r"(\d+) bytes stack frame", r"(\d+) bytes smem"))
    assert registers, f"the linker's log names no registers: {log}"
    if shared and capability >= (9, 0):
        shared -= 1024             # what a block takes for itself is named here too
    return MachineCode(dispatcher.py_func.__name__, ptx, code, registers, spilled, stack, shared)


class Compiled(Sequence):
    """The machine code of launches, compiled when it is looked at."""

    def __init__(self, launched):
        self.launched = launched

    def __len__(self):
        return len(self.launched)

    def __getitem__(self, number):
        return self.launched[number].compile()

    def clear(self):
        """Forget them."""
        self.launched.clear()


@contextlib.contextmanager
def recorded():
    """A list that fills with every launch within the block, all of our own kernels; nothing runs, and memory is the
    host's."""
    from numba.cuda.typing.typeof import typeof

    from lucid_nb import config
    from lucid_nb.cuda import plans, runtime
    from lucid_nb.cuda.memory import Memory
    found = []

    def launch(function, blocks, threads, *arguments):
        plain = [given.array if isinstance(given, Memory) else given for given in arguments]
        sizes = {id(given): given.nbytes for given in plain if isinstance(given, np.ndarray)}
        found.append(Launch(function, tuple(map(typeof, plain)), int(np.prod(threads)), sum(sizes.values()),
                            arguments))

    with mock.patch.multiple(runtime, allocate=lambda count, dtype: Memory(np.zeros(max(count, 1), dtype)),
                             upload=Memory, address=lambda flat: 0, download=lambda flat: flat, launch=launch), \
            mock.patch.object(plans, "device", lambda: 0), mock.patch.object(config, "cuda_libraries", False):
        yield found
