"""Updates in place of many arrays by one elementwise program, in one launch: the steps of optimizers."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from . import threads
from .elementwise import Kernel
from .steps import INDEX
from .store import RangeKernel

BLOCK = 4096                 # elements of a unit, as in loops/updates.py
HEADER = object.__basicsize__    # of NumPy's array struct, after which its data's address stands
GRAIN = 16                   # units of a thread's smallest share
UPDATE = RangeKernel("lucid_nb.kernels.loops.updates:update_blocks",
                     ("int64", "int64*", "int64", "int64*", "int64*", "int64", "int64*", *["int64"] * 4))


def update(kernel: Kernel, sets: Sequence[Sequence[np.ndarray]], numbers: np.ndarray, targets: Sequence[int]) -> None:
    """Run a kernel on each set of contiguous arrays of one size, and the same numbers, all of one dtype.

    Result k is written over array targets[k] of the set.
    """
    arrays = len(sets[0])
    layout = kernel.layout((False,) * arrays + (True,) * len(numbers))
    objects = np.array([*map(id, chain.from_iterable(sets))], INDEX)
    starts, counts, units = _units(tuple([one[0].size for one in sets]))
    threads.launch(UPDATE, units, GRAIN, layout[0], objects, HEADER, starts, counts, threads.address_of(numbers),
                   _words(tuple(targets)), arrays, len(numbers), len(targets), numbers.itemsize)


@lru_cache(256)
def _units(sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, int]:
    """The first unit of each set, and in the end how many units there are; the sizes; how many units there are."""
    counts, starts = np.array(sizes, INDEX), np.zeros(len(sizes) + 1, INDEX)
    np.cumsum(-(-counts // BLOCK), out=starts[1:])
    return starts, counts, int(starts[-1])


@lru_cache(256)
def _words(numbers: tuple[int, ...]) -> np.ndarray:
    """Numbers as an array that stays."""
    return np.array(numbers, INDEX)
