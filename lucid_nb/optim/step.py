"""An optimizer's update as a formula, so that a step is one pass over memory on every device."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import backend
from ..array import Tensor
from ..dtypes import BFLOAT16, FLOAT16, FLOAT32
from ..expr import Expr, trace
from ..op import Elementwise
from ..program import type_program
from ..tape import anywhere, modes

Formula = Callable[..., tuple[Expr, ...]]


class Step:
    """A formula of `tensors` arrays, then `numbers` that may change with every call. It must not be recorded.

    The arrays are the parameter, its gradient and the state; the results are the new parameter and the new state.
    """

    def __init__(self, formula: Formula, tensors: int, numbers: int) -> None:
        self.op = Elementwise(formula.__name__.strip("_"), trace(formula, tensors + numbers), tensors + numbers)
        self.targets = (0, *range(2, tensors))
        self.kernels: dict[tuple[str, np.dtype], Any] = {}

    def __call__(self, tensors: Sequence[Tensor], numbers: Sequence[float]) -> tuple[Tensor, ...]:
        """The formula's results; half precision is computed, and given, in float32."""
        raws = [tensor.refresh().raw for tensor in tensors]
        table, dtype = backend.of(raws[0]), tensors[0].dtype
        dtype = FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype
        # Not as Python scalars: those are remembered by value, and these are new at every step.
        scalars = [table.from_numpy(np.array(number, dtype)) for number in numbers]
        results = self.op.run([*raws, *scalars])
        self._count([raws])
        return tuple(Tensor(raw) for raw in (results if isinstance(results, tuple) else (results,)))

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
