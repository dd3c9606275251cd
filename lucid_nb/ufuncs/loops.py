"""The loops of an op, as NumPy calls them: in which dtypes it takes its operands, and in which it gives its results."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, program
from ..errors import DTypeError
from ..op import Elementwise

# NumPy's order, in which the first loop that fits is taken; it has two names of 64 bits, and long double.
LETTERS = "?bBhHiIlLefdFD"


class Loop(NamedTuple):
    """Dtypes of the operands and of the results."""

    inputs: tuple[np.dtype, ...]
    results: tuple[np.dtype, ...]

    @property
    def text(self) -> str:
        """In NumPy's letters, as "dd->d"."""
        return f"{''.join(d.char for d in self.inputs)}->{''.join(d.char for d in self.results)}"


@cache
def loop_for(op: Elementwise, given: tuple[np.dtype, ...]) -> Loop:
    """The loop that operands of these dtypes take."""
    op = op.of_complex if op.of_complex is not None and any(dtype.kind == "c" for dtype in given) else op
    outputs, inputs = op.typing(given)
    results = program.type_program(outputs, [dtype.name for dtype in inputs]).results
    return Loop(tuple(inputs), tuple([dtypes.as_dtype(op.name, name) for name in results]))


@cache
def loops(op: Elementwise) -> tuple[Loop, ...]:
    """All loops whose operands need no conversion, in NumPy's order."""
    found: dict[str, Loop] = {}
    for letter in LETTERS:
        dtype = np.dtype(letter)
        given = tuple([np.dtype(np.int64) if number in op.rule.integers else dtype for number in range(op.arity)])
        try:
            loop = loop_for(op, given)
        except DTypeError:
            continue
        if loop.inputs == given:
            found[letter] = loop
    return tuple(found.values())


class Types(Sequence[str]):
    """NumPy's `ufunc.types`, worked out when somebody looks."""

    def __init__(self, op: Elementwise) -> None:
        self._op = op

    def _texts(self) -> list[str]:
        return [loop.text for loop in loops(self._op)]

    def __getitem__(self, index: Any) -> Any:
        return self._texts()[index]

    def __len__(self) -> int:
        return len(loops(self._op))

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    def __repr__(self) -> str:
        return repr(self._texts())
