"""Fused programs: one kernel over rows of elements, whose reductions stay within the row. See fused_code.py."""

import struct
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import config
from ..dtypes import BFLOAT16
from ..program import ALONG, COLUMNS, ROW, RowProgram
from ..shapes import Shape
from . import memory, store, threads
from .copying import contiguous
from .fused_code import compile_rows
from .fused_driver import UNIT
from .fused_passes import Analysis
from .reduce import reduce
from .steps import grain

WALKS = 64           # geometries that a kernel remembers
KERNELS = 4096       # programs that are remembered; their machine code stays, so that one forgotten is soon there again
WIDE = 4096          # elements of a row where there are none by themselves
COST = 8             # what an element of a fused program costs, in elements that are only read


class Line(NamedTuple):
    """How the rows of an array lie: from one to the next in elements, or the offset of each."""

    step: int
    offsets: np.ndarray | None
    is_copied: bool


class Kernel:
    """A row program compiled for the CPU."""

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self.lines: dict[tuple, Line] = {}
        self.addresses: dict[int | str, int] = {}
        dtypes = [BFLOAT16 if name == "bfloat16" else np.dtype(name) for name in program.program.results]
        self.dtypes = dtypes[len(program.reductions):]
        self.is_flat = not program.reductions and {*program.results} == {ALONG}
        self.scratch = len(Analysis(program).scratch)
        letters = "qqq" * len(program.kinds) + "q" * len(program.results) + "q" * bool(self.scratch) + "qq"
        self.pack = struct.Struct(letters + "d" * program.scalars).pack

    @property
    def address(self) -> int:
        """Address of the range kernel over units of UNIT rows, for the present width of vectors."""
        width = config.vector_width
        if width not in self.addresses:
            text = f"fused {self.program.text}"
            self.addresses[width] = store.load(text, lambda symbol: compile_rows(self.program, symbol))
        return self.addresses[width]

    def __call__(self, raws: Sequence[np.ndarray], scalars: Sequence[float], lead: Shape, cols: int) -> list[Any]:
        """The results for a grid of rows of shape `lead`: (*lead, cols) each, (*lead, 1), or for columns (cols,)."""
        raws = [raw if type(raw) is np.ndarray else np.asarray(raw) for raw in raws]      # NumPy gives scalars for 0-d
        rows = prod(lead)
        units = -(-rows // UNIT)
        results = [self._room(kind, dtype, lead, cols, units) for kind, dtype in zip(self.program.results, self.dtypes)]
        if rows and cols:
            if self.is_flat and rows * cols > WIDE and self._is_whole(raws, (*lead, cols)):
                self._run_flat(raws, results, scalars, rows * cols)
            else:
                self._run(raws, results, scalars, lead, cols)
        else:
            for result in results:
                result.fill(0)                       # sums of nothing
        return [self._total(result, dtype) if kind == COLUMNS else result
                for result, kind, dtype in zip(results, self.program.results, self.dtypes)]

    def _run(self, raws: Sequence[np.ndarray], results: Sequence[np.ndarray], scalars: Sequence[float], lead: Shape,
             cols: int) -> None:
        """The kernel over a grid of rows."""
        units = -(-prod(lead) // UNIT)
        words, alive = [], []
        for raw, kind in zip(raws, self.program.kinds):
            width = cols if kind == ALONG else 1
            key = raw.shape, raw.strides, lead, width, raw.itemsize
            line = self.lines.get(key) or self._remember(key)
            source = contiguous(np.broadcast_to(raw, (*lead, width))) if line.is_copied else raw
            alive.append(source)
            words += [threads.address_of(source), line.step,
                      0 if line.offsets is None else threads.address_of(line.offsets)]
        words += map(threads.address_of, results)
        if self.scratch:
            alive.append(memory.empty((units, self.scratch, cols), self.program.compute))
            words.append(threads.address_of(alive[-1]))
        threads.run(self.address, self.pack(*words, prod(lead), cols, *scalars), units, grain(UNIT * cols * COST))

    def _is_whole(self, raws: Sequence[np.ndarray], shape: Shape) -> bool:
        """Do all arrays lie as the result does, but for those of one number?"""
        return all([raw.size == 1 if kind == ROW else raw.shape == shape and raw.flags.c_contiguous
                    for raw, kind in zip(raws, self.program.kinds)])

    def _run_flat(self, raws: Sequence[np.ndarray], results: Sequence[np.ndarray], scalars: Sequence[float],
                  size: int) -> None:
        """A program without reductions over all elements, as rows of WIDE and a rest."""
        rows, rest = divmod(size, WIDE)
        for start, count, cols in ((0, rows, WIDE), (rows * WIDE, 1, rest))[:1 + bool(rest)]:
            words = []
            for raw, kind in zip(raws, self.program.kinds):
                step = WIDE if kind == ALONG else 0
                words += [threads.address_of(raw) + (start * raw.itemsize if step else 0), step, 0]
            words += [threads.address_of(result) + start * result.itemsize for result in results]
            table = self.pack(*words, count, cols, *scalars)
            threads.run(self.address, table, -(-count // UNIT), grain(UNIT * cols * COST))

    def _remember(self, key: tuple[Shape, Shape, Shape, int, int]) -> Line:
        if len(self.lines) >= WALKS:
            self.lines.clear()
        found = self.lines[key] = line_of(*key)
        return found

    def _room(self, kind: str, dtype: np.dtype, lead: Shape, cols: int, units: int) -> np.ndarray:
        """Memory for a result; of columns, for the sums of each unit."""
        if kind == COLUMNS:
            return memory.empty((units, cols), self.program.compute)
        return memory.empty((*lead, cols if kind == ALONG else 1), dtype)

    def _total(self, parts: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The sums of units as the sum over all rows."""
        found = reduce("sum", parts, (0,), False, parts.dtype)
        return found if found.dtype == dtype else found.astype(dtype)


def line_of(shape: Shape, strides: Shape, lead: Shape, width: int, itemsize: int) -> Line:
    """How rows of `width` elements lie in an array that broadcasts to (*lead, width)."""
    extra = len(lead) + 1 - len(shape)
    shape, strides = (1,) * extra + shape, (0,) * extra + strides
    copied = Line(width, None, True)
    if any(stride % itemsize for stride in strides) or (width > 1 and (shape[-1] != width or strides[-1] != itemsize)):
        return copied
    steps = [0 if own == 1 else stride // itemsize for own, stride in zip(shape, strides)][:-1]
    grid = [(size, step) for size, step in zip(lead, steps) if size != 1]
    if all(step == inner_step * inner for (_, step), (inner, inner_step) in zip(grid, grid[1:])):
        return Line(grid[-1][1] if grid else 0, None, False)
    offsets = np.zeros((), np.int64)
    for size, step in grid:
        offsets = np.add.outer(offsets, np.arange(size, dtype=np.int64) * step)
    return Line(0, np.ascontiguousarray(offsets.reshape(-1)), False)


@lru_cache(KERNELS)
def kernel(program: RowProgram) -> Kernel:
    """The kernel of a program."""
    return Kernel(program)
