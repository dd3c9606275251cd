"""What is true of an op beside its formula: which dtypes it takes, its names, its oracle, what it costs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import Key
from .errors import DTypeError

UINT64 = np.dtype(np.uint64)


@dataclass(frozen=True)
class Rule:
    """Which dtypes an op takes, and which of them it computes in.

    `kind`: "number" keeps integers, "integer" takes only them, "float" computes on floats (of small integers in small
    ones), "ratio" computes on floats and on integers in float64, "double" on nothing smaller than float64 or
    complex128, "choice" has a bool condition first, "truth" asks only whether numbers are 0, so that Python's may be of
    any size.
    """

    kind: str = "number"
    bools: bool | str = True    # are bools numbers for it? Or the dtype that they are taken for
    complexes: bool = False
    integers: tuple[int, ...] = ()    # inputs that are integers of any dtype and decide nothing (an exponent of two)

    def loop(self, op: str, keys: tuple[Key, ...], device: str = "cpu") -> np.dtype:
        """The dtype that the formula computes on, of operands with these dtypes on a device."""
        keys = self._deciding(op, keys)
        if self.kind == "float" and not {float, complex} & {*keys}:      # two integers need no more than each of them
            keys = tuple([dtypes.INT64 if key is int else key for key in keys]) if dtypes.BOOL in keys else keys
            keys = tuple([key if isinstance(key, type) else dtypes.to_float(key, device) for key in keys])
        dtype = dtypes.promote(keys, device)
        if self.kind in ("float", "ratio"):
            is_ratio = self.kind == "ratio" and dtype.kind in "biu"
            dtype = dtypes.on_device(dtypes.FLOAT64, device) if is_ratio else dtypes.to_float(dtype, device)
        elif self.kind == "double":
            dtype = dtypes.promote((dtype, dtypes.on_device(dtypes.FLOAT64, device)), device)
        elif self.kind == "integer" and dtype.kind not in "biu":
            raise DTypeError(f"{op}: takes integers, and the operands have {dtype} in common. Use .astype('int64').")
        if dtype.kind == "c" and not self.complexes:
            raise DTypeError(f"{op}: has no meaning for {dtype}. Take .real or .imag, or abs(x).")
        if dtype.kind == "b" and not self.bools:
            raise DTypeError(f"{op}: has no meaning for bool. Use .astype('int8'), or logical functions.")
        return np.dtype(self.bools) if dtype.kind == "b" and isinstance(self.bools, str) else dtype

    def _deciding(self, op: str, keys: tuple[Key, ...]) -> tuple[Key, ...]:
        """The dtypes that decide what is computed in."""
        if self.kind == "choice":
            return keys[1:]
        if not self.integers:
            return keys
        for number in self.integers:
            given = dtypes.promote((keys[number],))
            if given.kind not in "biu" or given == UINT64:
                raise DTypeError(f"{op}: operand {number + 1} is {given}. It takes signed integers: .astype('int64').")
        return tuple([key for number, key in enumerate(keys) if number not in self.integers])


@dataclass
class Facts:
    """What the tests, the documentation and the benchmarks know of an op."""

    doc: str = ""
    rule: Rule = field(default_factory=Rule)
    oracle: str = ""                            # a NumPy or SciPy expression of x, y, z that must agree
    samples: tuple[tuple[float, float], ...] = ()   # where to test, for each input: (low, high)
    ulp: float = 0.0                            # largest error in units in the last place; 0: bit for bit
    names: tuple[str, ...] = ()                 # other public names
    method: str = ""
    operator: str = ""
    flops: Callable[[Any], float] | None = None     # what a primitive costs, see flops.py; of a formula it follows
    gradient_flops: float = 0.0     # of a pullback that calls kernels itself: what they cost, in calls of the op
