"""Fused programs over rows in one launch: how rows lie, how many threads each has, and what is added up behind it.

Some lanes of a block take a row, and blocks walk over rows. Sums over all rows are left by each row of lanes for those
that it has seen, which depends on shapes alone, and added by a reduction: the same bits always.
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import BFLOAT16
from ..program import ALONG, COLUMNS, ROW, RowProgram
from . import array as geometry
from . import runtime, vectors, vocabulary
from .array import DeviceArray, Shape, broadcast_strides, collapse
from .copy import cast, full
from .elementwise import misaligned
from .fused_source import Form, Passes, Source
from .reduce import add, larger, reduce, smaller
from .runtime import BLOCK, SIMULATED, ceil_div, power_of_two, shared_memory

MOST_CALLS = 1024                            # geometries that a program remembers
MOST_STEPS = 128                             # of all neighbours: longer texts compile slowly and need many registers
MOST_HELD = 48                               # values that a thread keeps from pass to pass
TURNS = 4                                    # accesses of a thread in a row whose values are kept
COLUMN_BLOCKS = 2 if SIMULATED else 1024     # that leave sums over rows
LEAST_ROWS = 2 if SIMULATED else 8           # over which each is taken
FEW_ROWS, LONG = (3, 64) if SIMULATED else (64, 1 << 16)
FUNCTIONS = {"sum_of": add, "max_of": larger, "min_of": smaller}


class Call(NamedTuple):
    """A launch without its memory."""

    kernel: Any
    blocks: int
    threads: tuple[int, int]
    sizes: Shape                             # of the grid of rows
    strides: Sequence[Shape]                 # of each array, behind its memory and its start


class Kernel:
    """A row program compiled for CUDA."""

    def __init__(self, program: RowProgram) -> None:
        self.program, self.passes = program, Passes(program)
        names = program.program.results[len(program.reductions):]
        self.dtypes = [BFLOAT16 if name == "bfloat16" else np.dtype(name) for name in names]
        self.compute = np.dtype(program.compute)
        self.calls: dict[Any, Call] = {}
        computed = sum(self.passes.along)
        self.width = max([width for width in (1, 2, 4, 8, 16) if width * computed <= MOST_STEPS], default=1)

    def __call__(self, raws: Sequence[DeviceArray], scalars: Sequence[float], lead: Shape,
                 cols: int) -> list[DeviceArray]:
        """The results for a grid of rows of shape `lead`: (*lead, cols) each, (*lead, 1), or for columns (cols,)."""
        shapes = {ALONG: (*lead, cols), ROW: (*lead, 1), COLUMNS: (cols,)}
        if not cols or not prod(lead):
            return [full(shapes[kind], 0, dtype) for kind, dtype in zip(self.program.results, self.dtypes)]
        call = self._call(raws, lead, cols)
        sums = self._room(call.blocks * call.threads[1], cols)
        left = iter(sums)
        results = [next(left) if kind == COLUMNS else geometry.empty(shapes[kind], dtype)
                   for kind, dtype in zip(self.program.results, self.dtypes)]
        arguments: list[Any] = [prod(lead), cols, *call.sizes[1:]]
        for raw, strides in zip(raws, call.strides):
            arguments += [raw.memory, raw.offset, *strides]
        arguments += [geometry.flat(result) for result in results] + [self.compute.type(value) for value in scalars]
        runtime.launch(call.kernel, call.blocks, call.threads, *arguments)
        totals = iter(self._totals(sums))
        return [next(totals) if kind == COLUMNS else result for result, kind in zip(results, self.program.results)]

    def _room(self, slots: int, cols: int) -> list[DeviceArray]:
        """Memory for the sums over rows that each row of lanes leaves: all results side by side."""
        count = self.program.results.count(COLUMNS)
        whole = geometry.empty((count, slots, cols), self.compute)
        return [geometry.slice_view(whole, (number,)) for number in range(count)]

    def _totals(self, sums: Sequence[DeviceArray]) -> list[DeviceArray]:
        """These added up, all in one launch."""
        if not sums:
            return []
        whole = geometry.view(sums[0], (len(sums), *sums[0].shape), (sums[0].size, *sums[0].strides))
        dtypes = [dtype for kind, dtype in zip(self.program.results, self.dtypes) if kind == COLUMNS]
        total = reduce("sum", whole, (1,), False, dtypes[0] if len({*dtypes}) == 1 else self.compute)
        found = [geometry.slice_view(total, (number,)) for number in range(len(sums))]
        return [raw if raw.element == dtype else cast(raw, dtype) for raw, dtype in zip(found, dtypes)]

    def _call(self, raws: Sequence[DeviceArray], lead: Shape, cols: int) -> Call:
        """How the program is launched for arrays that lie so."""
        key = lead, cols, *[(raw.shape, raw.strides, misaligned(raw)) for raw in raws]
        if key not in self.calls:
            if len(self.calls) >= MOST_CALLS:
                self.calls.clear()
            self.calls[key] = self._made(raws, lead, cols)
        return self.calls[key]

    def _made(self, raws: Sequence[DeviceArray], lead: Shape, cols: int) -> Call:
        strides = [broadcast_strides(raw, (*lead, cols if kind == ALONG else 1))
                   for raw, kind in zip(raws, self.program.kinds)]
        sizes, steps = collapse(lead, tuple([own[:-1] for own in strides]))
        if not sizes:
            sizes, steps = (1,), tuple([(0,)] * len(raws))
        width = self._width(raws, strides, cols)
        lanes = min(BLOCK, power_of_two(ceil_div(cols, width)))
        turns = ceil_div(cols, lanes * width)
        turns = 0 if turns > 1 and (turns > TURNS or turns * width * self.passes.held > MOST_HELD) else turns
        side = min(BLOCK // lanes, power_of_two(prod(lead)))
        if width == 1:
            steps = tuple([(*own, along[-1]) if kind == ALONG else own
                           for own, along, kind in zip(steps, strides, self.program.kinds)])
        kernel = _compiled(self.program, Form(width, turns, len(sizes)))
        return Call(kernel, self._blocks(prod(lead), side), (lanes, side), sizes, steps)

    def _width(self, raws: Sequence[DeviceArray], strides: Sequence[Shape], cols: int) -> int:
        """Neighbours of an access, of which the widest fill it at most, where all rows allow it."""
        wide = [(raw, own) for raw, own, kind in zip(raws, strides, self.program.kinds) if kind == ALONG]
        if any(own[-1] != 1 for _, own in wide):
            return 1
        sizes = [raw.element.itemsize for raw, _ in wide]
        sizes += [(self.compute if kind == COLUMNS else dtype).itemsize
                  for kind, dtype in zip(self.program.results, self.dtypes) if kind != ROW]
        width = min(self.width, vectors.width_of(max(sizes, default=vectors.ACCESS)))
        starts = [number for raw, own in wide for number in (*own[:-1], misaligned(raw) // raw.element.itemsize)]
        while any(number % width for number in (cols, *starts)):
            width //= 2
        return width

    def _blocks(self, rows: int, side: int) -> int:
        """Blocks that walk over rows; where sums over rows are left, so many that these are few."""
        if COLUMNS in self.program.results:
            return min(COLUMN_BLOCKS, ceil_div(rows, side * LEAST_ROWS))
        return runtime.grid(ceil_div(rows, side))


@cache
def _compiled(program: RowProgram, form: Form) -> Any:
    passes = Passes(program)
    space = vocabulary.names() | FUNCTIONS
    for width in {1, form.width}:
        space |= {f"load_{width}": vectors.load(width), f"store_{width}": vectors.store(width)}
    for place in range(max(map(len, passes.taken), default=0)):
        space[f"memory{place}"] = shared_memory(BLOCK, np.dtype(program.compute))
    exec(compile(Source(passes, form).text(), "<cuda rows>", "exec"), space)
    return runtime.kernel(space["fused_rows"])


@cache
def fused_rows(program: RowProgram) -> Callable[..., list[DeviceArray]]:
    """The kernel of a program, shared by all that run the same one."""
    return Kernel(program)


def suits_rows(merges: bool, lead: Shape, cols: int) -> bool:
    """Does a block a row do for such rows? Not where nothing is merged, nor where few are so long that reductions,
    which divide them, take less time."""
    return merges and (prod(lead) >= FEW_ROWS or cols <= LONG)
