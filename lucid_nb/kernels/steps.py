"""A step of an entry: from arrays to a new array by one range kernel, all but the addresses decided beforehand."""
import threading
from collections.abc import Callable
from functools import cache
from math import prod
from struct import Struct

import numpy as np

from ..shapes import Shape
from . import memory, threads
from .layout import Stage
from .pool import range_function
from .store import RangeKernel
from .threads import address_of

Step = Callable[..., np.ndarray]
SINGLE, DOUBLE, INDEX = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
FLOATS = (SINGLE, DOUBLE)
LOOPS = "lucid_nb.kernels.loops."
GRAIN = 1 << 17                    # elements below which a second thread costs more than it brings
PANEL = 512                        # the widest panel of columns that a kernel takes
EXP = 8                            # what an exponential costs, in elements that are only read


@cache
def range_kernel(path: str, *types: str) -> RangeKernel:
    """The kernel at a path below kernels/loops for operands of these types."""
    return RangeKernel(LOOPS + path, types)


@cache
def kernel_of(path: str, pointers: tuple[np.dtype, ...], integers: int) -> RangeKernel:
    """The kernel at a path below kernels/loops for arrays of these dtypes followed by integers."""
    names = [f"{'uint8' if dtype.kind == 'b' else dtype.name}*" for dtype in pointers]
    return range_kernel(path, *names, *["int64"] * integers)


def grain(elements: int) -> int:
    """How many units of so many elements a thread should get at least."""
    return max(1, GRAIN // max(1, elements))


def panel_of(outer: int, cols: int) -> int:
    """How many columns a unit takes: what feeds four threads, from 128 up to what a kernel takes."""
    return min(PANEL, max(128, -(-outer * cols // 256) * 64))


class Told(threading.local):
    """The word of this thread that kernels set where a result is infinite or NaN."""

    def __init__(self) -> None:
        self.word = np.zeros(1, np.int64)
        self.packed = WORD.pack(address_of(self.word))


WORD = Struct("q")
told = Told()


def kernel_step(kernel: RangeKernel, shape: Shape, dtype: np.dtype, count: int, elements: int, *integers: int,
                tells: bool = False) -> Step:
    """The step by a kernel over `count` units of `elements` elements, operands: arrays, the result, integers.

    A kernel that `tells` takes the address of this thread's word after them.
    """
    least, tail = grain(elements), Struct(f"{len(integers)}q").pack(*integers)
    inputs = sum(kind.endswith("*") for kind in kernel.types) - 1
    pack = Struct(f"{inputs + 1}q").pack
    new = memory.empty if prod(shape) * dtype.itemsize >= memory.LARGE else np.empty
    serial = count <= least
    function: Callable[[bytes, int, int], None] | None = None

    def call(table: bytes) -> None:
        nonlocal function
        table += told.packed if tells else b""
        if serial:
            function = function or range_function(kernel.address)
            function(table, 0, count)
        else:
            threads.run(kernel.address, table, count, least)

    def step(raw: np.ndarray) -> np.ndarray:
        result = new(shape, dtype)
        call(pack(address_of(raw), address_of(result)) + tail)
        return result

    def step_of_many(*raws: np.ndarray) -> np.ndarray:
        result = new(shape, dtype)
        call(pack(*map(address_of, raws), address_of(result)) + tail)
        return result
    return step if inputs == 1 else step_of_many


def stage_step(path: str, stage: Stage, pointers: tuple[np.dtype, ...], shape: Shape, cost: int = 1,
               integers: tuple[int, ...] = (), tells: bool = False) -> Step:
    """The step over a stage by the kernel `path`_rows or `path`_columns, an element costing `cost` that are only read.

    pointers: the dtypes of the arrays and of the result. integers: what the kernels take after the stage's numbers.
    """
    more = len(integers) + tells
    outer, rows, cols, dtype = stage.outer, stage.rows, stage.cols, pointers[-1]
    if not stage.by_columns:
        kernel = kernel_of(f"{path}_rows", pointers, 2 + more)
        return kernel_step(kernel, shape, dtype, outer, cols * cost, cols, stage.outer_step, *integers, tells=tells)
    panel = panel_of(outer, cols)
    panels = -(-cols // panel)
    kernel = kernel_of(f"{path}_columns", pointers, 6 + more)
    return kernel_step(kernel, shape, dtype, outer * panels, rows * min(cols, panel) * cost, rows, cols,
                       stage.outer_step, stage.row_step, panels, panel, *integers, tells=tells)


def narrow(dtype: np.dtype) -> bool:
    """Whether it is a float that is computed in float32: float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.name in ("float16", "bfloat16")
