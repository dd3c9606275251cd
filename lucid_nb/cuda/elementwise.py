"""A program becomes a kernel: one thread an element, grid-stride, operands read and written where they lie.

Two forms of text. *Flat*: every operand is contiguous or one value, so element i is `x[i]` or `x[0]`. *Strided*: the
axes that all operands allow are merged; what remains is counted out of i, most often over two or three axes.
Copies, casts and writes into views are programs too.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import BFLOAT16
from ..printing import operand_names, scalar_text
from ..program import Program, Step
from ..shapes import broadcast_shapes
from . import runtime, vocabulary
from .array import DeviceArray, Shape, broadcast_strides, collapse, empty, flat

# How a dtype of memory becomes a value, and how a value becomes memory; anything else is a plain cast.
LOADS = {"bfloat16": "widen_bfloat16({})", "bool": "{}"}
STORES = {"bfloat16": "narrow_bfloat16({})", "bool": "{} != 0"}
FLAT, ONE = "i", "0"


# ---------------------------------------------------------------------------------------------------- printing
def _load(dtype: str, step: Step, place: str) -> str:
    text = LOADS.get(dtype, "{}").format(place)
    return text if dtype == step.dtype == "bool" else f"{step.dtype}({text})"


def _store(value: str, have: str, want: str) -> str:
    """A value of dtype `have` as memory of dtype `want`, as NumPy's astype has it."""
    if have == want:
        return value
    if have.startswith("complex") and not want.startswith("complex"):
        if want == "bool":
            return f"{value}.real != 0 or {value}.imag != 0"
        value = f"{value}.real"
    if want == "bfloat16" or (want == "float16" and have != "float64"):
        value = f"float32({value})"
    elif have.startswith("float") and "int" in want and want != "uint64":
        value = f"int64({value})"       # what does not fit wraps, as on the CPU
    return STORES.get(want, want + "({})").format(value)


def _body(program: Program, places: Sequence[str]) -> Iterator[str]:
    """Loads, steps and stores of one element; `places` are the indices into the operands, inputs first."""
    for number, step in enumerate(program.steps):
        if step.op == "input":
            text = _load(program.inputs[step.literal], step, f"x{step.literal}[{places[step.literal]}]")
        else:
            text = scalar_text(step, program)
        yield f"v{number} = {text}"
    for number, (value, dtype) in enumerate(zip(program.outputs, program.results)):
        place = places[len(program.inputs) + number]
        yield f"y{number}[{place}] = {_store(f'v{value}', program.steps[value].dtype, dtype)}"


def _loop(arguments: Sequence[str], lines: Sequence[str]) -> str:
    """A grid-stride kernel around the body of element i."""
    head = [f"def kernel(count, {', '.join(arguments)}):", "    i = cuda.grid(1)", "    stride = cuda.gridsize(1)",
            "    while i < count:"]
    return "\n".join([*head, *(f"        {line}" for line in lines), "        i += stride"])


def flat_source(program: Program, places: Sequence[str]) -> str:
    """The kernel whose operands are contiguous (place "i") or one value (place "0")."""
    return _loop(operand_names(program), list(_body(program, places)))


def strided_source(program: Program, ndim: int) -> str:
    """The kernel over `ndim` merged axes; each operand brings its start and its strides."""
    names = operand_names(program)
    sizes = [f"n{axis}" for axis in range(1, ndim)]
    arguments = [*sizes, *(f"{name}, {name}_start, " + ", ".join(f"{name}_{axis}" for axis in range(ndim))
                           for name in names)]
    lines = ["rest = i"]
    for axis in range(ndim - 1, 0, -1):
        lines += [f"c{axis} = rest % n{axis}", f"rest = rest // n{axis}"]
    lines.append("c0 = rest")
    lines += [f"{name}_at = {name}_start + " + " + ".join(f"c{axis} * {name}_{axis}" for axis in range(ndim))
              for name in names]
    return _loop(arguments, lines + list(_body(program, [f"{name}_at" for name in names])))


def _compile(source: str) -> Any:
    space = dict(vocabulary.names())
    exec(compile(source, "<cuda kernel>", "exec"), space)
    return runtime.kernel(space["kernel"])


# ----------------------------------------------------------------------------------------------------- running
class Kernels:
    """The compiled forms of one program, by the geometry of its operands."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.compiled: dict[tuple[str, ...] | int, Any] = {}

    def _kernel(self, form: tuple[str, ...] | int) -> Any:
        """The flat kernel of these places, or the strided kernel of this many axes."""
        found = self.compiled.get(form)
        if found is None:
            text = (flat_source(self.program, form) if isinstance(form, tuple)
                    else strided_source(self.program, form))
            found = self.compiled[form] = _compile(text)
        return found

    def run(self, shape: Shape, operands: Sequence[DeviceArray]) -> None:
        """Compute every element of `shape`. Operands are inputs, which broadcast, then results of that shape."""
        count = operands[-1].size
        if count == 0:
            return
        blocks = runtime.grid(runtime.ceil_div(count, runtime.THREADS))
        if all(a.size == 1 or (a.shape == shape and a.is_contiguous) for a in operands):
            places = tuple(FLAT if a.size == count else ONE for a in operands)
            runtime.launch(self._kernel(places), blocks, runtime.THREADS, count, *map(flat, operands))
            return
        sizes, strides = collapse(shape, tuple([broadcast_strides(a, shape) for a in operands]))
        arguments: list[Any] = [*sizes[1:]]
        for array, steps in zip(operands, strides):
            arguments += [array.memory, array.offset, *steps]
        runtime.launch(self._kernel(len(sizes)), blocks, runtime.THREADS, count, *arguments)


@cache
def kernels(program: Program) -> Kernels:
    """The kernels of a program, shared by all that run the same one."""
    return Kernels(program)


def map_program(program: Program, name: str) -> Callable[..., Any]:
    """The program as a function of arrays that broadcast; one result, or a tuple of them."""
    run = kernels(program).run
    dtypes = [BFLOAT16 if result == "bfloat16" else np.dtype(result) for result in program.results]

    def call(*raws: DeviceArray) -> Any:
        shape = raws[0].shape
        if any(raw.shape != shape for raw in raws):
            shape = broadcast_shapes(name, *(raw.shape for raw in raws))
        results = [empty(shape, dtype) for dtype in dtypes]
        run(shape, [*raws, *results])
        return results[0] if len(results) == 1 else tuple(results)
    call.__name__ = name
    return call

