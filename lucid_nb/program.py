"""Programs: the typed, linear form of expressions. What devices print, and what the content hash covers."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import vocabulary as _entries
from .errors import FormulaError
from .expr import Expr, expand, topological, vocabulary

COMPUTE = {"float16": "float32", "bfloat16": "float32"}
"""What a dtype of memory computes in, where that is another one."""
_RANK = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
         "float32", "float64", "complex64", "complex128")
REAL = {"complex64": "float32", "complex128": "float64"}
COMPLEX = {real: dtype for dtype, real in REAL.items()}
NATIVE_EVERYWHERE = frozenset(name for name, known in _entries.vocabulary.items() if not known.expansion)


@dataclass(frozen=True, slots=True)
class Step:
    """One typed instruction: value number `i` of a program."""

    op: str
    args: tuple[int, ...]
    dtype: str
    literal: Any = None


@dataclass(frozen=True)
class Program:
    """Typed, linear, printable. Loads convert from `inputs` dtypes to the compute dtype, stores convert back.

    `warns`: floating-point exceptions of this program are reported as NumPy reports those of its own functions.
    """

    inputs: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    results: tuple[str, ...]
    warns: bool = False

    @cached_property
    def text(self) -> str:
        """The canonical text, equal for equal programs in every process."""
        lines = [f"inputs {self.inputs} results {self.results} outputs {self.outputs} warns {self.warns}"]
        lines += [f"{i} {s.op}{s.args} {s.dtype} {s.literal!r}" for i, s in enumerate(self.steps)]
        return "\n".join(lines)

    def content_hash(self) -> str:
        """Identity of what the program computes."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def type_program(outputs: Sequence[Expr], inputs: Sequence[str], native: Iterable[str] = NATIVE_EVERYWHERE,
                 warns: bool = False) -> Program:
    """Fix dtypes: the widest input decides what is computed in, and literals become constants of it.

    A bool input stays a bool (a condition) where there is any other. Results of the compute dtype are stored as the
    one dtype of inputs that is computed in it (float16 in, float16 out). Literals beside real parts are real.
    """
    outputs = expand(outputs, native)
    compute = compute_dtype(inputs)
    deciding = {name for name in inputs if COMPUTE.get(name, name) == compute}
    storage = deciding.pop() if len(deciding) == 1 else compute
    number: dict[Expr | tuple[Expr, str], int] = {}
    steps: list[Step] = []

    def place(node: Expr, dtype: str) -> int:
        """The number of an argument's value; of a literal, of its value in this dtype."""
        if node.op != "literal":
            return number[node]
        if (node, dtype) not in number:
            number[node, dtype] = len(steps)
            steps.append(Step("literal", (), dtype, node.literal))
        return number[node, dtype]

    for node in topological(outputs):
        if node.op == "literal":
            continue
        kinds = [steps[number[a]].dtype for a in node.args if a.op != "literal"]
        if node.op in ("conjugate", "real") and kinds[0] not in REAL:
            number[node] = number[node.args[0]]
            continue
        beside = _literal_dtype(kinds, compute)
        args = tuple([place(a, beside) for a in node.args])
        dtype = _step_dtype(node, [steps[i].dtype for i in args], inputs, compute)
        number[node] = len(steps)
        steps.append(Step(node.op, args, dtype, node.literal))
    values = tuple([place(node, compute) for node in outputs])
    results = tuple(storage if steps[n].dtype == compute else steps[n].dtype for n in values)
    return Program(tuple(inputs), tuple(steps), values, results, warns)


def compute_dtype(inputs: Sequence[str]) -> str:
    """What a program of inputs of these dtypes computes in: the widest of what each computes in."""
    return max((COMPUTE.get(name, name) for name in inputs), key=_RANK.index, default="float64")


def _literal_dtype(kinds: Sequence[str], compute: str) -> str:
    """The dtype of a literal beside operands of these: real where complex numbers are computed with and they are."""
    numbers = {kind for kind in kinds if kind != "bool"}
    return numbers.pop() if compute in REAL and numbers <= {*COMPLEX} and len(numbers) == 1 else compute


def _step_dtype(node: Expr, args: Sequence[str], inputs: Sequence[str], compute: str) -> str:
    """The dtype of one step, after checking its arguments."""
    if node.op == "input":
        return "bool" if inputs[node.literal] == "bool" else compute
    if node.op == "where" and args[0] != "bool":
        raise FormulaError(f"where: the condition is {args[0]}. Make it a comparison or a bool input.")
    result, values = vocabulary[node.op].result, args[1:] if node.op == "where" else args
    if result == "real":
        return REAL.get(args[0], args[0])
    if result == "complex":
        return COMPLEX[args[0]]
    if result == "same":
        return values[0] if len({*values}) == 1 else COMPLEX.get(compute, compute) if {*values} & {*REAL} else compute
    return result


ALONG, ROW, COLUMNS = "along", "row", "columns"


@dataclass(frozen=True, eq=False)
class RowProgram:
    """A program over rows of elements, with reductions of rows in it. Equal texts are equal programs.

    Inputs of `program` are first the arrays, then `scalars` numbers that are one for all rows, then the value of each
    reduction: (kind, number of the output that it is taken of), "sum", "max" or "min", which reads only earlier ones.
    `kinds`: has an array elements ALONG the row, or one a ROW? `results`: the remaining outputs, in the same words, or
    COLUMNS where elements are summed over all rows.
    """

    program: Program
    kinds: tuple[str, ...]
    scalars: int
    reductions: tuple[tuple[str, int], ...]
    results: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return f"{self.program.text}\n{self.kinds} {self.scalars} {self.reductions} {self.results}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowProgram) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def compute(self) -> str:
        """What is computed in."""
        return next(step.dtype for step in self.program.steps if step.dtype != "bool")
