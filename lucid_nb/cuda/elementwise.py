"""A program becomes a kernel: grid-stride, operands read and written where they lie, in accesses of up to 16 bytes.

Two forms of text. *Flat*: every operand is contiguous or one value. *Strided*: the axes that all operands allow are
merged; what remains is counted out of the number of an element, most often over two or three axes. In both forms a
thread takes `width` neighbours at a time: in a flat kernel where all operands begin at the same distance from an
aligned address, with single elements before and behind; in a strided one where rows allow it throughout. What is one
value for all of them is computed once. Copies, casts and writes into views are programs too.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import BFLOAT16
from ..printing import operand_names, scalar_text
from ..program import Program, Step
from ..shapes import broadcast_shapes
from . import runtime, vectors, vocabulary
from .array import DeviceArray, Shape, broadcast_strides, collapse, empty

# How a dtype of memory becomes a value, and how a value becomes memory; anything else is a plain cast.
LOADS = {"bfloat16": "widen_bfloat16({})", "bool": "{}"}
STORES = {"bfloat16": "narrow_bfloat16({})", "bool": "{} != 0"}
MOST_STEPS = 128         # of a vector: texts that are longer compile slowly and need many registers
MOST_CALLS = 1024        # geometries that a program remembers
NARROW = 1 << 31         # below it places fit 32 bits
# The place along an axis, and what is left to count. Division by a multiplier and a shift takes a tenth of the time of
# the device's own; each cast keeps the compiler from computing in 64 bits.
WIDE_COUNTING = ("q = rest // n{0}", "c{0} = rest - q * n{0}", "rest = q")
COUNTING = ("q = uint32((uint64(rest) * uint64(m{0})) >> uint64(s{0}))", "c{0} = int32(rest - uint32(q * n{0}))",
            "rest = q")


class Form(NamedTuple):
    """What a compiled kernel is made for."""

    rows: tuple[bool, ...]       # of each operand: does it have an element for each neighbour, or one for all?
    width: int                   # neighbours that a thread takes at a time
    ndim: int = 0                # merged axes; none in a flat kernel
    is_wide: bool = False        # places need 64 bits


# ---------------------------------------------------------------------------------------------------- printing
def load_text(dtype: str, step: Step, place: str) -> str:
    """Memory of a dtype as the value of a step."""
    text = LOADS.get(dtype, "{}").format(place)
    return text if dtype == step.dtype == "bool" else f"{step.dtype}({text})"


def store_text(value: str, have: str, want: str) -> str:
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


def body(program: Program, rows: Sequence[bool], width: int) -> Iterator[str]:
    """Loads, steps and stores of so many neighbours; `x0_at` is the place of the first one in x0."""
    names, differs = operand_names(program), list[bool]()
    for name, is_row in zip(names[:len(program.inputs)], rows):
        yield f"{name}_values = load_{width if is_row else 1}({name}, {name}_at)"
    for number, step in enumerate(program.steps):
        is_input = step.op == "input"
        differs.append(rows[step.literal] if is_input else any(differs[arg] for arg in step.args))
        for k in range(width if differs[-1] else 1):
            text = (load_text(program.inputs[step.literal], step, f"x{step.literal}_values[{k}]") if is_input
                    else lane_text(step_text(step, program), differs, k))
            yield f"{lane_text(f'v{number}', differs, k)} = {text}"
    for name, value, dtype in zip(names[len(program.inputs):], program.outputs, program.results):
        have = program.steps[value].dtype
        stored = [store_text(lane_text(f"v{value}", differs, k), have, dtype) for k in range(width)]
        # Tuples have elements of one type, and a literal of Python's would have another.
        yield f"store_{width}({name}, {name}_at, ({', '.join(stored)},))"


def step_text(step: Step, program: Program) -> str:
    """A step as an expression; the compiler would fuse what a product of complex numbers adds."""
    text = scalar_text(step, program)
    if step.op == "multiply" and step.dtype.startswith("complex"):
        return f"multiply_{step.dtype}({text.replace(' * ', ', ')})"
    return text


def lane_text(text: str, differs: Sequence[bool], k: int) -> str:
    """The text with the values of neighbour k; what is one for all has one name."""
    return re.sub(r"\bv(\d+)\b", lambda name: f"{name[0]}_{k}" if differs[int(name[1])] else name[0], text)


def indented(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a block."""
    return (f"    {line}" for line in lines)


def _kernel_text(arguments: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([f"def kernel(count, {', '.join(arguments)}):", *indented(
        ["i = cuda.grid(1)", "stride = cuda.gridsize(1)", *lines])])


def _loop(count: str, lines: Sequence[str]) -> list[str]:
    """Lines for each number below a count, by turns of the whole grid."""
    return [f"while i < {count}:", *indented([*lines, "i += stride"])]


def flat_source(program: Program, form: Form) -> str:
    """The kernel whose operands are contiguous or one value; each brings its start, and all the length of the head.

    Threads that hold a number below that of elements outside of vectors take these, before anything else.
    """
    names, width = operand_names(program), form.width
    at = [f"{name}_at = {name}_start" + " + at" * is_row for name, is_row in zip(names, form.rows)]
    arguments = [f"{name}, {name}_start" for name in names]
    if width == 1:
        return _kernel_text(arguments, _loop("count", ["at = i", *at, *body(program, form.rows, 1)]))
    edges = ["vectors = (count - head) // width", "if i < count - vectors * width:", *indented(
        ["at = i if i < head else i + vectors * width", *at, *body(program, form.rows, 1)])]
    vectors = _loop("vectors", ["at = head + i * width", *at, *body(program, form.rows, width)])
    text = _kernel_text(["head", *arguments], [*edges, *vectors])
    return re.sub(r"\bwidth\b", str(width), text)


def strided_source(program: Program, form: Form) -> str:
    """The kernel over merged axes, the last in steps of `width`; each operand brings its start and its strides."""
    names, count = operand_names(program), "m{0}, s{0}, " * (not form.is_wide) + "n{0}"
    lines = ["rest = i" if form.is_wide else "rest = uint32(i)"]
    for axis in range(form.ndim - 1, 0, -1):
        lines += [text.format(axis) for text in (WIDE_COUNTING if form.is_wide else COUNTING)]
    lines.append("c0 = rest" if form.is_wide else "c0 = int32(rest)")
    for name in names:
        place = f"c0 * {name}_0"
        for axis in range(1, form.ndim):
            place += f" + c{axis} * {name}_{axis}"
            place = place if form.is_wide else f"int32({place})"
        lines.append(f"{name}_at = {name}_start + {place}")
    sizes = [count.format(axis) for axis in range(1, form.ndim)]
    strides = [f"{name}, {name}_start, " + ", ".join(f"{name}_{axis}" for axis in range(form.ndim)) for name in names]
    return _kernel_text([*sizes, *strides], _loop("count", [*lines, *body(program, form.rows, form.width)]))


@cache
def _compiled(program: Program, form: Form) -> Any:
    space = dict(vocabulary.names())
    for width in {1, form.width}:
        space |= {f"load_{width}": vectors.load(width), f"store_{width}": vectors.store(width)}
    source = strided_source(program, form) if form.ndim else flat_source(program, form)
    exec(compile(source, "<cuda kernel>", "exec"), space)
    return runtime.kernel(space["kernel"])


# ----------------------------------------------------------------------------------------------------- running
def _divisor(size: int) -> tuple[np.uint32, np.uint32, np.int32]:
    """The multiplier and the shift that divide numbers below 2**31 by a size, and the size.

    T. Granlund and P. Montgomery, Division by invariant integers using multiplication (1994).
    """
    shift = 31 + (size - 1).bit_length()
    return np.uint32(-(-(1 << shift) // size)), np.uint32(shift), np.int32(size)


class Call(NamedTuple):
    """A launch without its memory: what a program does with operands of some geometry."""

    kernel: Any
    blocks: int
    leading: Sequence[Any]                   # arguments before those of operands
    strides: Sequence[Sequence[Any]]         # of each operand, behind its memory and its start


def misaligned(array: DeviceArray) -> int:
    """How many bytes the first element lies behind an aligned address."""
    return (runtime.address(array.memory) + array.offset * array.element.itemsize) % vectors.ACCESS


class Kernels:
    """The compiled forms of one program, and how they are launched for operands of a geometry."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.calls: dict[Any, Call] = {}
        self.width = vectors.ACCESS
        steps = sum(step.op != "literal" for step in program.steps)
        while self.width > 1 and self.width * steps > MOST_STEPS:
            self.width //= 2

    def run(self, shape: Shape, operands: Sequence[DeviceArray]) -> None:
        """Compute every element of `shape`. Operands are inputs, which broadcast, then results of that shape."""
        if operands[-1].size == 0:
            return
        key = shape, *[(a.shape, a.strides, misaligned(a)) for a in operands]
        call = self.calls.get(key)
        if call is None:
            if len(self.calls) >= MOST_CALLS:
                self.calls.clear()
            call = self.calls[key] = self._call(shape, operands)
        arguments = [*call.leading]
        for array, steps in zip(operands, call.strides):
            arguments += [array.memory, array.offset, *steps]
        runtime.launch(call.kernel, call.blocks, runtime.THREADS, *arguments)

    def _call(self, shape: Shape, operands: Sequence[DeviceArray]) -> Call:
        if all(a.size == 1 or (a.shape == shape and a.is_contiguous) for a in operands):
            return self._flat(operands[-1].size, operands)
        sizes, strides = collapse(shape, tuple([broadcast_strides(a, shape) for a in operands]))
        return self._strided(operands[-1].size, sizes, strides, operands)

    def _width(self, operands: Sequence[DeviceArray], rows: Sequence[bool]) -> int:
        """Neighbours of which the widest elements fill an access."""
        itemsize = max(array.element.itemsize for array, is_row in zip(operands, rows) if is_row)
        return min(self.width, vectors.width_of(itemsize))

    def _flat(self, count: int, operands: Sequence[DeviceArray]) -> Call:
        """Vectors begin where all rows are aligned; where they never are at once, elements go one by one."""
        rows = tuple([array.size == count for array in operands])
        width = self._width(operands, rows)
        behind = {misaligned(array) // array.element.itemsize % width
                  for array, is_row in zip(operands, rows) if is_row}
        if len(behind) > 1 or count < width:
            width = 1
        head = [-behind.pop() % width] if width > 1 else []
        return self._made(Form(rows, width), count // width, [count, *head], [()] * len(rows))

    def _strided(self, count: int, sizes: Shape, strides: Sequence[Shape], operands: Sequence[DeviceArray]) -> Call:
        """Rows of the last axis are taken in vectors where they and their starts allow it."""
        rows, width = tuple([steps[-1] == 1 for steps in strides]), 1
        if all(steps[-1] in (0, 1) for steps in strides) and rows[-1]:
            width = self._width(operands, rows)
            starts = [number for array, steps, is_row in zip(operands, strides, rows) if is_row
                      for number in (*steps[:-1], misaligned(array) // array.element.itemsize)]
            width = 1 if any(number % width for number in (sizes[-1], *starts)) else width
        reach = max(sum(abs(step) * (size - 1) for step, size in zip(steps, sizes)) for steps in strides)
        is_wide = max(count, reach) >= NARROW
        form = Form(rows if width > 1 else (True,) * len(rows), width, len(sizes), is_wide)
        number = int if is_wide else np.int32
        sizes = (*sizes[:-1], sizes[-1] // width)
        axes = [part for size in sizes[1:] for part in ((size,) if is_wide else _divisor(size))]
        return self._made(form, count // width, [count // width, *axes], [
            (*map(number, steps[:-1]), number(steps[-1] * width)) for steps in strides])

    def _made(self, form: Form, count: int, leading: Sequence[Any], strides: Sequence[Sequence[Any]]) -> Call:
        """Threads for all vectors; a block at least, which has as many as there are elements beside vectors."""
        blocks = runtime.grid(runtime.ceil_div(count, runtime.THREADS))
        return Call(_compiled(self.program, form), blocks, leading, strides)


@cache
def kernels(program: Program) -> Kernels:
    """The kernels of a program, shared by all that run the same one."""
    return Kernels(program)


def map_program(program: Program, name: str) -> Callable[..., Any]:
    """The program as a function of arrays that broadcast; one result, or a tuple of them."""
    run = kernels(program).run
    dtypes = [BFLOAT16 if result == "bfloat16" else np.dtype(result) for result in program.results]

    def call(*raws: DeviceArray) -> Any:
        given = [raw.shape for raw in raws]
        shape = given[0] if given.count(given[0]) == len(given) else broadcast_shapes(name, *given)
        results = [empty(shape, dtype) for dtype in dtypes]
        run(shape, [*raws, *results])
        return results[0] if len(results) == 1 else tuple(results)
    call.__name__, call.program = name, program  # type: ignore[attr-defined]
    return call
