"""An optimizer's update as a formula, so that a step is one pass over memory on every device."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import backend
from ..dtypes import BFLOAT16, FLOAT16, FLOAT32
from ..expr import Expr, trace
from ..op import Elementwise
from ..program import type_program
from ..tape import anywhere, modes

Formula = Callable[..., tuple[Expr, ...]]


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """What a step of parameters in this dtype is computed in."""
    return FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype


class Step:
    """A formula of `tensors` arrays, then `numbers` that may change with every call. It must not be recorded.

    The arrays are the parameter, its gradient and the state; the results are the new parameter and the new state.
    """

    def __init__(self, formula: Formula, tensors: int, numbers: int) -> None:
        self.op = Elementwise(formula.__name__.strip("_"), trace(formula, tensors + numbers), tensors + numbers)
        self.width, self.targets = tensors, (0, *range(2, tensors))
        self.kernels: dict[tuple[str, np.dtype], Any] = {}
        self.programs: dict[str, Callable[..., Sequence[Any]]] = {}

    def renewed(self, table: backend.Table, sets: Sequence[Sequence[Any]], numbers: Sequence[float]) -> list[list[Any]]:
        """The results for each set of arrays, by one program where the device compiles such.

        Half precision is computed, and given, in float32.
        """
        dtype = compute_dtype(table.dtype_of(sets[0][0]))
        # Not as Python scalars: those are remembered by value, and these are new at every step.
        scalars = [table.from_numpy(np.array(number, dtype)) for number in numbers]
        program = self.programs.get(table.name)
        if program is None:
            program = self.programs[table.name] = table.compiled(self._all) if table.has("compiled") else self._all
        found, count = program(*scalars, *[raw for raws in sets for raw in raws]), len(self.targets)
        self._count(sets)
        return [list(found[first:first + count]) for first in range(0, len(found), count)]

    def _all(self, *raws: Any) -> Sequence[Any]:
        """The results for one set after the other, of the numbers and then the arrays of all sets."""
        first, found = self.op.arity - self.width, list[Any]()
        for place in range(first, len(raws), self.width):
            results = self.op.run([*raws[place:place + self.width], *raws[:first]])
            found += results if isinstance(results, tuple) else (results,)
        return found

    def in_place(self, table: backend.Table, sets: Sequence[Sequence[Any]], numbers: Sequence[float]) -> None:
        """Write the results over the arrays of each set (parameter, gradient, state), contiguous and of one dtype."""
        dtype = table.dtype_of(sets[0][0])
        kernel = self.kernels.get((table.name, dtype))
        if kernel is None:
            program = type_program(self.op.outputs, [dtype.name] * self.op.arity, table.NATIVE(), False)
            kernel = self.kernels[table.name, dtype] = table.map(program, self.op.name)
        table.update(kernel, sets, np.array(numbers, dtype), self.targets)
        self._count(sets)

    def _count(self, sets: Sequence[Sequence[Any]]) -> None:
        """Tell of a call for each set, where somebody counts (lucid_nb.count_flops)."""
        if anywhere.blocks and modes.counter is not None:
            for raws in sets:
                modes.counter.count(self.op, raws, raws[0], None)
