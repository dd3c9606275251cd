"""Updates in place of many arrays by one elementwise program, in one launch: the steps of optimizers."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from . import threads
from .elementwise import Kernel
from .steps import INDEX
from .store import RangeKernel

BLOCK = 4096                 # elements of a unit, as in loops/updates.py
GRAIN = 16                   # units of a thread's smallest share
UPDATE = RangeKernel("lucid_nb.kernels.loops.updates:update_blocks",
                     ("int64", "int64*", "int64*", "int64*", "int64", "int64*", "int64", "int64", "int64", "int64"))


def update(kernel: Kernel, sets: Sequence[Sequence[np.ndarray]], numbers: np.ndarray, targets: Sequence[int]) -> None:
    """Run a kernel on each set of contiguous arrays of one size, and the same numbers, all of one dtype.

    Result k is written over array targets[k] of the set.
    """
    arrays = len(sets[0])
    layout = kernel.layout((False,) * arrays + (True,) * len(numbers))
    pointers = np.array([*map(threads.address_of, chain.from_iterable(sets))], INDEX)
    counts = np.array([one[0].size for one in sets], INDEX)
    starts = np.zeros(len(sets) + 1, INDEX)
    np.cumsum(-(-counts // BLOCK), out=starts[1:])
    threads.launch(UPDATE, int(starts[-1]), GRAIN, layout[0], pointers, starts, counts, threads.address_of(numbers),
                   np.array(targets, INDEX), arrays, len(numbers), len(targets), numbers.itemsize)
