"""An optimizer's update as a formula, so that a step is one pass over memory on every device."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from .. import backend
from ..dtypes import BFLOAT16, FLOAT16, FLOAT32
from ..expr import Expr, Vocabulary, trace
from ..op import Elementwise
from ..program import type_program
from ..tape import anywhere, modes

Formula = Callable[..., tuple[Expr, ...]]


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """What a step of parameters in this dtype is computed in."""
    return FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype


def downhill(m: Vocabulary, p: Expr, g: Expr, decay: Expr, sign: Expr) -> Expr:
    """What to step against: the gradient, turned round where `sign` is -1, and decay * p."""
    return sign * g + m.absorbing_product(decay, p)


def sign_of(group: Mapping[str, Any]) -> float:
    """The factor of the gradients: -1 where a group climbs."""
    return -1.0 if group["maximize"] else 1.0


class Step:
    """A formula of `tensors` arrays, then `numbers` that may change with every call. It must not be recorded.

    The arrays are the parameter, its gradient and the state; the results are the new parameter and the new state.
    """

    def __init__(self, formula: Formula, tensors: int, numbers: int) -> None:
        self.formula, self.arity, self.name = formula, tensors + numbers, formula.__name__.strip("_")
        self.of_real = Elementwise(self.name, trace(formula, self.arity), self.arity)
        self.width, self.targets = tensors, (0, *range(2, tensors))
        self.kernels: dict[tuple[str, np.dtype], Any] = {}
        self.programs: dict[tuple[str, bool], Callable[..., Sequence[Any]]] = {}

    @cached_property
    def of_complex(self) -> Elementwise:
        """The formula for the real and the imaginary parts, each of which is a parameter of its own, as in PyTorch."""
        def parts(m: Vocabulary, *values: Expr) -> tuple[Expr, ...]:
            real, imag = self.formula(m, *map(m.real, values)), self.formula(m, *map(m.imag, values[:self.width]),
                                                                             *map(m.real, values[self.width:]))
            return tuple(map(m.complex, real, imag))
        return Elementwise(f"complex_{self.name}", trace(parts, self.arity), self.arity)

    def op(self, dtype: np.dtype) -> Elementwise:
        """The op of parameters in a dtype."""
        return self.of_complex if dtype.kind == "c" else self.of_real

    def renewed(self, table: backend.Table, sets: Sequence[Sequence[Any]], numbers: Sequence[float]) -> list[list[Any]]:
        """The results for each set of arrays, by one program where the device compiles such.

        Half precision is computed, and given, in float32.
        """
        dtype = compute_dtype(table.dtype_of(sets[0][0]))
        # Not as Python scalars: those are remembered by value, and these are new at every step.
        scalars = [table.from_numpy(np.array(number, dtype)) for number in numbers]
        key = table.name, dtype.kind == "c"
        program = self.programs.get(key)
        if program is None:
            every = partial(self._all, self.op(dtype))
            program = self.programs[key] = table.compiled(every) if table.has("compiled") else every
        found, count = program(*scalars, *[raw for raws in sets for raw in raws]), len(self.targets)
        self._count(self.op(dtype), sets)
        return [list(found[first:first + count]) for first in range(0, len(found), count)]

    def _all(self, op: Elementwise, *raws: Any) -> Sequence[Any]:
        """The results for one set after the other, of the numbers and then the arrays of all sets."""
        first, found = self.arity - self.width, list[Any]()
        for place in range(first, len(raws), self.width):
            results = op.run([*raws[place:place + self.width], *raws[:first]])
            found += results if isinstance(results, tuple) else (results,)
        return found

    def in_place(self, table: backend.Table, sets: Sequence[Sequence[Any]], numbers: Sequence[float]) -> None:
        """Write the results over the arrays of each set (parameter, gradient, state), contiguous and of one dtype."""
        dtype = table.dtype_of(sets[0][0])
        op = self.op(dtype)
        kernel = self.kernels.get((table.name, dtype))
        if kernel is None:
            program = type_program(op.outputs, [dtype.name] * self.arity, table.NATIVE(), False)
            kernel = self.kernels[table.name, dtype] = table.map(program, op.name)
        table.update(kernel, sets, np.array(numbers, dtype), self.targets)
        self._count(op, sets)

    def _count(self, op: Elementwise, sets: Sequence[Sequence[Any]]) -> None:
        """Tell of a call for each set, where somebody counts (lucid_nb.count_flops)."""
        if anywhere.blocks and modes.counter is not None:
            for raws in sets:
                modes.counter.count(op, raws, raws[0], None)
