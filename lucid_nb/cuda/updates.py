"""Updates in place of many arrays by one elementwise program, some of them in each launch: the steps of optimizers."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..program import Program
from . import runtime, vectors, vocabulary
from .array import DeviceArray, flat
from .elementwise import body
from .runtime import ceil_div

SETS = 8            # of arrays in a launch, whose arguments have room for some sixty arrays


def _element_source(program: Program, arrays: int, targets: Sequence[int]) -> str:
    """A function of the place of an element, of arrays and of numbers, that writes results over the arrays."""
    names = [f"x{k}" for k in range(len(program.inputs))]
    places = [f"{name}_at = i" for name in names[:arrays]]
    aliases = [f"y{k} = x{target}" for k, target in enumerate(targets)] + [f"y{k}_at = i" for k in range(len(targets))]
    numbers = [f"{name}_values = ({name},)" for name in names[arrays:]]
    loads = {f"{name}_values" for name in names[arrays:]}
    lines = [line for line in body(program, (True,) * len(names), 1) if line.split(" = ")[0] not in loads]
    return "\n    ".join([f"def element(i, {', '.join(names)}):", *places, *aliases, *numbers, *lines])


def _kernel_source(arrays: int, numbers: int, sets: int) -> str:
    """The kernel: of blocks, each set has those below its `end`, and threads walk over its elements."""
    shared = [f"n{k}" for k in range(numbers)]
    own = [[f"a{j}_{k}" for j in range(arrays)] for k in range(sets)]
    heads = [f"end_{k}, count_{k}, {', '.join(own[k])}" for k in range(sets)]
    return "\n".join([f"def update({', '.join([*shared, *heads])}):", "    block = cuda.blockIdx.x",
                      *_branches(own, shared)])


def _branches(own: Sequence[Sequence[str]], shared: Sequence[str]) -> Iterator[str]:
    for k, arrays in enumerate(own):
        start = f"end_{k - 1}" if k else "0"
        yield f"    {'elif' if k else 'if'} block < end_{k}:"
        yield f"        i = (block - {start}) * cuda.blockDim.x + cuda.threadIdx.x"
        yield f"        while i < count_{k}:"
        yield f"            element(i, {', '.join([*arrays, *shared])})"
        yield f"            i += (end_{k} - {start}) * cuda.blockDim.x"


@cache
def _kernel(program: Program, arrays: int, targets: tuple[int, ...], sets: int) -> Any:
    space = vocabulary.names() | {"load_1": vectors.load(1), "store_1": vectors.store(1)}
    exec(compile(_element_source(program, arrays, targets), "<cuda update>", "exec"), space)
    space["element"] = runtime.inline(space["element"])
    exec(compile(_kernel_source(arrays, len(program.inputs) - arrays, sets), "<cuda update>", "exec"), space)
    return runtime.kernel(space["update"])


def update(kernel: Callable, sets: Sequence[Sequence[DeviceArray]], numbers: np.ndarray,
           targets: Sequence[int]) -> None:
    """Run an entry of `map` on each set of contiguous arrays of one size, and the same numbers, all of one dtype.

    Result k is written over array targets[k] of the set.
    """
    filled = [one for one in sets if one[0].size]
    for first in range(0, len(filled), SETS):
        _launch(kernel.program, filled[first:first + SETS], numbers, tuple(targets))  # type: ignore[attr-defined]


def _launch(program: Program, sets: Sequence[Sequence[DeviceArray]], numbers: np.ndarray,
            targets: tuple[int, ...]) -> None:
    """One launch for some sets; each has blocks for its elements, at most its share of all."""
    arguments: list[Any] = []
    blocks, share = 0, max(1, runtime.MAX_BLOCKS // len(sets))
    for arrays in sets:
        count = arrays[0].size
        blocks += min(share, ceil_div(count, runtime.THREADS))
        arguments += [blocks, count, *map(flat, arrays)]
    runtime.launch(_kernel(program, len(sets[0]), targets, len(sets)), blocks, runtime.THREADS, *numbers, *arguments)
