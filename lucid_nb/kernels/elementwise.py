"""A program becomes a CPU kernel: Numba source of a loop over contiguous memory, callable as a NumPy ufunc.

The kernel is `void kernel(count, table of pointers)`. NumPy reaches it through loops/elementwise.py, compiled once for
the whole library, which has the signature of a ufunc's inner loop and is registered by PyUFunc_FromFuncAndData. So
NumPy allocates, broadcasts, walks strides, releases the GIL, makes the temporary of an overlapping `out` and reports
floating-point conditions, in less time than one ctypes call takes. For large arrays the driver here takes recycled
memory and splits rows over threads; the machine code, and so every bit, is the same.
"""

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

from .. import config
from ..dtypes import BFLOAT16
from ..printing import PRINTED, body_lines, literal_text, operand_names
from ..program import Program, Step
from ..shapes import LARGE, MIDDLING, inverse_permutation
from . import builtin, memory, store, threads
from .conditions import examiner, warning_mode
from .copying import axes_in_memory, coalesce, contiguous
from .math import NEEDS_SLOW_PATH

MEMORY = {"float16": "uint16", "bfloat16": "uint16", "bool": "uint8"}     # how the kernel sees a dtype in memory
LOADS = {"float16": "half_to_float({})", "bfloat16": "bfloat16_to_float({})", "bool": "{} != 0"}
STORES = {"float16": "float_to_half({})", "bfloat16": "float_to_bfloat16({})", "bool": "uint8({})"}
GRAIN = 65536        # elements of one thread's smallest share
ROWS = store.RangeKernel("lucid_nb.kernels.loops.elementwise:rows",
                         ("int64*", "int64*", "int64*", "int64", "int64*", "int64*", "int64", "int64*"))


def _math_files() -> list[Path]:
    return sorted(Path(__file__).with_name("math").glob("*.py"))


@cache
def native() -> frozenset[str]:
    """The entries that kernels/math implements; the others come as expansions. Read without importing Numba."""
    text = "".join(path.read_text() for path in _math_files())
    return frozenset(re.findall(r"^def (\w+)_float64\(", text, re.M)) | PRINTED


def source(program: Program, repeated: tuple[bool, ...] = ()) -> str:
    """The complete text of the kernel; it is also what the store hashes. A repeated input is one value for all."""
    names = operand_names(program)
    head = [f"def kernel(count, {', '.join(names)}):", "    mark_kernel()"]
    head += [f"    r{name} = {name}[0]" for name, is_repeated in zip(names, repeated) if is_repeated]
    body = [*body_lines(program, LOADS, STORES)]
    for name, is_repeated in zip(names, repeated):
        body = [line.replace(f"{name}[i]", f"r{name}") for line in body] if is_repeated else body
    if any(step.op in NEEDS_SLOW_PATH and step.dtype in ("float32", "float64") for step in program.steps):
        return "\n".join([*head, *_by_arguments(program, body)])
    return "\n".join([*head, "    for i in range(count):", *[f"        {line}" for line in body]])


def _by_arguments(program: Program, body: list[str]) -> list[str]:
    """The loop of a program with functions whose vectorised form holds for moderate arguments only.

    Block by block, and before anything of a block is stored, since results may lie where the arguments do: the
    arguments are looked at, then the block runs with the form that is right for all of them.
    """
    last = max(number for number, step in enumerate(program.steps) if step.op in NEEDS_SLOW_PATH)
    tests = [f"wide |= {_slow_where(step)}" for step in program.steps
             if step.op in NEEDS_SLOW_PATH and step.dtype in ("float32", "float64")]
    loop = "for i in range(start, stop):"
    exact = [re.sub(rf"\b({'|'.join(NEEDS_SLOW_PATH)})_(float\d+)\(", r"\1_any_\2(", line) for line in body]
    lines = ["for start in range(0, count, 1024):", "    stop, wide = min(count, start + 1024), False", f"    {loop}"]
    lines += [f"        {line}" for line in body[:last] + tests]
    for test, form in (("if wide:", exact), ("else:", body)):
        lines += [f"    {test}", f"        {loop}", *[f"            {line}" for line in form]]
    return [f"    {line}" for line in lines]


def _slow_where(step: Step) -> str:
    """The condition under which a step needs the form that is right for every argument."""
    limit = NEEDS_SLOW_PATH[step.op]
    if isinstance(limit, str):
        return limit.format(*[f"v{number}" for number in step.args], t=step.dtype)
    return f"abs(v{step.args[0]}) > {literal_text(limit, step.dtype)}"


@cache
def toolbox() -> dict[str, Any]:
    """The names that kernel source may use. The first call imports Numba and is the cost of a cold cache."""
    from . import intrinsics, math
    chapters = [import_module(f"{math.__name__}.{path.stem}") for path in _math_files() if path.stem != "__init__"]
    names = {name: value for module in (intrinsics, *chapters) for name, value in vars(module).items()
             if name[0] != "_"}
    integers = {f"{sign}int{bits}": np.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64)}
    return names | integers | dict(float32=np.float32, float64=np.float64, complex64=np.complex64,
                                   complex128=np.complex128, bool=bool, abs=intrinsics.fabs, inf=np.inf)


def compile_program(program: Program, repeated: tuple[bool, ...], symbol: str) -> bytes:
    """The object file of a program's kernel."""
    space = dict(toolbox())
    exec(compile(source(program, repeated), f"<{symbol}>", "exec"), space)
    space["kernel"].__qualname__ = symbol
    pointers = [MEMORY.get(d, d) + "*" for d in program.inputs + program.results]
    return store.elementwise_object(space["kernel"], pointers, symbol)


@cache
def _loop(name: str) -> int:
    """Address of a ufunc's inner loop of loops/elementwise.py."""
    def compile_loop(symbol: str) -> bytes:
        from .loops import elementwise as loops
        return store.ufunc_loop_object(getattr(loops, name), symbol)
    return store.load(f"ufunc loop {name}", compile_loop)


@cache
def _ufunc_maker() -> Any:
    """NumPy's PyUFunc_FromFuncAndData, entry 1 of its public ufunc API table."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    kinds = [ctypes.c_void_p] * 3 + [ctypes.c_int] * 4 + [ctypes.c_void_p] * 2 + [ctypes.c_int]
    return ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(table[1])


def make_ufunc(name: str, loop: int, data: Any, dtypes: Sequence[np.dtype], inputs: int) -> np.ufunc:
    """A NumPy ufunc of one inner loop."""
    functions, datas = (ctypes.c_void_p * 1)(loop), (ctypes.c_void_p * 1)(ctypes.addressof(data))
    label = ctypes.create_string_buffer(name.encode())
    types = ctypes.create_string_buffer(bytes(d.num for d in dtypes), len(dtypes))
    builtin.forever(data, functions, datas, types, label)         # NumPy borrows them
    addresses = [ctypes.addressof(part) for part in (functions, datas, types)]
    return _ufunc_maker()(*addresses, 1, inputs, len(dtypes) - inputs, -1, ctypes.addressof(label),
                          ctypes.addressof(label), 0)


@cache
def reporter(name: str) -> np.ufunc:
    """A ufunc of an op's name that raises the conditions it is given: NumPy warns, or not, as errstate says."""
    return make_ufunc(name, _loop("report_loop"), (ctypes.c_int64 * 1)(), [np.dtype(np.int64)] * 2, 1)


def _are_flat(raws: Sequence[np.ndarray]) -> bool:
    """Are operands middling, contiguous and of one shape, beside numbers, so that they are a single row?"""
    shape = None
    for raw in raws:
        if raw.ndim:
            if raw.size >= MIDDLING or shape not in (None, raw.shape) or not raw.flags.c_contiguous:
                return False
            shape = raw.shape
    return shape is not None


class Kernel:
    """A program compiled for the CPU: `small` is a ufunc or a thin wrapper, `large` the driver for large arrays."""

    def __init__(self, program: Program, name: str) -> None:
        self.program, self.name, self.inputs = program, name, len(program.inputs)
        self.dtypes = [_dtype(dtype) for dtype in program.inputs + program.results]
        self.results = self.dtypes[self.inputs:]
        self.memory_dtypes = [np.dtype(MEMORY[d].replace("uint8", "bool") if d in MEMORY else d)
                              for d in program.inputs + program.results]
        self.sizes = [dtype.itemsize for dtype in self.memory_dtypes]
        self.layouts: dict[tuple[bool, ...], Any] = {}
        self.ufuncs: dict[tuple[bool, ...], np.ufunc] = {}
        self.walks: dict[tuple, Walk] = {}
        self.layout((False,) * self.inputs)
        self.small = self._early if builtin.is_possible() and not builtin.is_ready() else self.by_builtin

    @cached_property
    def ufunc(self) -> np.ufunc:
        """The kernel as NumPy's machinery drives it."""
        return self._ufunc((False,) * self.inputs)

    def _ufunc(self, repeated: tuple[bool, ...]) -> np.ufunc:
        """The kernel in which these inputs are one repeated value each, as NumPy's machinery drives it."""
        found = self.ufuncs.get(repeated)
        if found is None:
            made = make_ufunc(self.name, _loop("ufunc_loop"), self.layout(repeated), self.memory_dtypes, self.inputs)
            found = self.ufuncs.setdefault(repeated, made)
        return found

    @cached_property
    def by_numpy(self) -> Callable:
        """The ufunc for arrays of the program's own dtypes."""
        return self._by_words if BFLOAT16 in self.dtypes or np.float16 in self.dtypes else self.ufunc

    @cached_property
    def by_builtin(self) -> Callable:
        """The shortest road that this Python has."""
        layout = ctypes.addressof(self.layout((False,) * self.inputs))
        return builtin.make(self.name, self.by_numpy, layout, self.dtypes, threads.shortest)

    def _early(self, *raws: np.ndarray) -> Any:
        """In a process that began with an empty store: NumPy's road, until compiling the builtin pays."""
        return (self.by_builtin if builtin.is_due() else self.by_numpy)(*raws)

    def layout(self, repeated: tuple[bool, ...]) -> Any:
        """What the loops need to know of the kernel in which these inputs are one repeated value each."""
        found = self.layouts.get(repeated)
        if found is None:
            text = f"{self.program.inputs} {self.program.results}\n{source(self.program, repeated)}"
            address = store.load(text, lambda symbol: compile_program(self.program, repeated, symbol))
            sizes = [0 if r else size for r, size in zip(repeated, self.sizes)] + self.sizes[self.inputs:]
            words = [address, self.inputs, len(sizes), warning_mode(self.program), examiner(self.program), *sizes]
            # One for all threads: machine code holds its address, so it must never be replaced and freed.
            found = self.layouts.setdefault(repeated, (ctypes.c_int64 * len(words))(*words))
        return found

    def __call__(self, *raws: np.ndarray) -> Any:
        return (self.small if max(raw.size for raw in raws) < LARGE else self.large)(*raws)

    def _by_words(self, *raws: np.ndarray) -> Any:
        """float16 and bfloat16 pass as uint16, for which NumPy has a dtype number."""
        words = [raw.view(np.uint16) if raw.dtype.itemsize == 2 and raw.dtype.kind in "fV" else raw
                 for raw in map(np.asarray, raws)]
        given = self.ufunc(*words)
        found = given if type(given) is tuple else (given,)
        views = tuple([g.view(dtype) if g.shape else np.asarray(g).view(dtype)[()]     # of numbers a number
                       for g, dtype in zip(found, self.results)])
        return views if len(views) > 1 else views[0]

    def into(self, out: np.ndarray, *raws: np.ndarray) -> bool:
        """Write the one result straight into memory of its dtype and shape; False, with nothing written, elsewhere."""
        is_plain = len(self.results) == 1 and out.dtype == self.results[0] and self.by_numpy is self.ufunc and (
            out.size < LARGE or config.num_threads == 1)
        if is_plain and all([raw.shape == out.shape or not raw.ndim for raw in raws]):
            self.ufunc(*raws, out=out)
            return True
        return False

    def large(self, *raws: np.ndarray) -> Any:
        """Recycled memory, and rows split over threads; of one thread's middling arrays without rows, NumPy's road."""
        threads.note_threads()                     # the setting may have been changed by itself
        if config.num_threads == 1 and _are_flat(raws):
            repeated = tuple([not raw.ndim for raw in raws])
            return self._ufunc(repeated)(*raws) if self.by_numpy is self.ufunc else self.by_numpy(*raws)
        key = tuple([(raw.shape, raw.strides) for raw in raws])
        walk = self.walks.get(key)
        if walk is None:
            if len(self.walks) >= WALKS:
                self.walks.clear()
            walk = self.walks[key] = self._make_walk(raws)
        outputs = [memory.empty(walk.shape, dtype) for dtype in self.results]
        operands = [*raws, *outputs]
        for number in walk.across:
            operands[number] = contiguous(np.broadcast_to(raws[number], walk.broadcast).transpose(walk.axes))
        if walk.count:
            words = walk.words(*[threads.address_of(operand) for operand in operands], 0)
            pointers, conditions = ctypes.addressof(words), ctypes.addressof(words) + 8 * len(operands)
            table = PACK(ctypes.addressof(walk.layout), pointers, *walk.fixed, conditions)
            threads.run(ROWS.address, table, walk.count, walk.grain)
            if words[-1]:
                reporter(self.name)(words[-1])
        if walk.restore:
            outputs = [output.transpose(walk.restore) for output in outputs]
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def _make_walk(self, raws: Sequence[np.ndarray]) -> "Walk":
        """How to go over operands of these shapes and strides."""
        shape, axes = result_layout(raws)
        inputs = [np.broadcast_to(raw, shape).transpose(axes) for raw in raws]
        across = tuple([number for number, operand in enumerate(inputs) if runs_across(operand)])
        result = np.broadcast_to(np.empty((), np.int8), inputs[0].shape)      # for its shape
        strides = [c_strides(result.shape, operand.itemsize) if number in across else operand.strides
                   for number, operand in enumerate(inputs)]
        strides += [c_strides(result.shape, dtype.itemsize) for dtype in self.results]
        sizes, joined = coalesce(result.shape, strides)
        inner, outer = sizes[-1], sizes[:-1]
        steps = [stride[-1] for stride in joined]
        table = np.array([*steps, *outer, *[s for stride in joined for s in stride[:-1]]], np.int64)
        layout = self.layout(tuple([step == 0 and inner > 1 for step in steps[:self.inputs]]))
        at = threads.address_of(table)
        fixed = at, inner, at + 8 * len(steps), at + 8 * (len(steps) + len(outer)), len(outer)
        count, grain = (prod(outer), max(1, GRAIN // max(inner, 1))) if outer else (inner, GRAIN)
        is_plain = axes == tuple(range(len(axes)))
        words = ctypes.c_int64 * (len(steps) + 1)
        return Walk(result.shape, shape, axes, None if is_plain else inverse_permutation(axes), across,
                    layout, fixed, table, count if inner else 0, grain, words)


WALKS = 256          # geometries that a kernel remembers
PACK = struct.Struct("8q").pack


@dataclass(frozen=True, slots=True)
class Walk:
    """The order in which a kernel goes over operands of certain shapes and strides."""

    shape: tuple[int, ...]                # of the outputs, axes from the slowest to the fastest in memory
    broadcast: tuple[int, ...]            # the same in the order of the operands' axes
    axes: tuple[int, ...]                 # which axis of `broadcast` each axis of `shape` is
    restore: tuple[int, ...] | None       # the way back
    across: tuple[int, ...]               # inputs that are copied first, since they lie across
    layout: Any                           # the kernel's layout, kept alive
    fixed: tuple[int, ...]                # operands of ROWS after the pointers: parts of `table`, which they keep alive
    table: np.ndarray
    count: int
    grain: int
    words: Any                            # type of the array of pointers, with a last word for the conditions


def c_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Strides of a C-contiguous array."""
    strides = [itemsize]
    for size in shape[:0:-1]:
        strides.append(strides[-1] * size)
    return tuple(strides[::-1][-len(shape):]) if shape else ()


def runs_across(operand: np.ndarray) -> bool:
    """Does the array lie across the axes in which it will be read, so that a copy by tiles pays?"""
    strides = operand.strides
    return len(strides) > 1 and strides[-1] > operand.itemsize == strides[-2] and operand.shape[-1] > 64


def _dtype(name: str) -> np.dtype:
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def result_layout(raws: Sequence[np.ndarray]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The broadcast shape, and its axes from the slowest to the fastest in memory, as NumPy's iterator orders them."""
    first = raws[0]
    shape = first.shape if all(raw.shape == first.shape or not raw.ndim for raw in raws) else \
        np.broadcast_shapes(*[raw.shape for raw in raws])
    if all(raw.flags.c_contiguous for raw in raws):
        return shape, tuple(range(len(shape)))
    return shape, axes_in_memory([raw if raw.shape == shape else np.broadcast_to(raw, shape) for raw in raws])


@cache
def kernel(program: Program, name: str = "elementwise") -> Kernel:
    """The compiled program; made once."""
    return Kernel(program, name)
