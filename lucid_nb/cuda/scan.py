"""Scans along an axis: running sums, products, logsumexp and extremes, and linear recurrences.

Each thread takes some neighbours along the axis; what they come to is scanned in shared memory over the lanes of a
column, and a carry goes on to the next tile. A long axis of few columns is cut into chunks, by shape alone: a first
launch finds what each chunk comes to, a second one scans that, and the last begins each chunk from there. So the same
input gives the same bits always. Products and recurrences, whose overflows must stay where they happen, go on tile by
tile; a tile in which a partial product would be lost is done again, one element after the other.
"""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat
from .running import (
    INDEX,
    Scan,
    extreme_of,
    load_number,
    load_pair,
    recurrence_of,
    running_of,
    store_number,
    store_pair,
)
from .runtime import BLOCK, SIMULATED, WARP, cuda, inline, shared_memory

ITEMS = 2 if SIMULATED else 8              # neighbours that a thread takes
SHORT = 3 if SIMULATED else 64             # of a contiguous row that one thread walks
MANY = 16 if SIMULATED else 1 << 15        # columns that fill the device


# ------------------------------------------------------------------------------------------------------- kernels
def _joiner(how: Scan) -> Callable:
    """`combine` that tells of faults in the memory of the block."""
    combine, fault = how.combine, how.fault

    def join(flag, a, b):
        return combine(a, b)

    def join_and_tell(flag, a, b):
        state = combine(a, b)
        if fault(a, b, state):
            flag[0] = 1
        return state
    return inline(join_and_tell if fault else join)


def _block_scan(join: Callable, get: Callable, put: Callable, identity: Any) -> Callable:
    """A block's function of one state a thread: what the lanes before come to, and what all lanes of the column do."""
    def block_scan(shared, second, flag, state):
        slot = np.int32(cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x)
        put(shared, second, slot, state)
        cuda.syncthreads()
        distance = np.int32(cuda.blockDim.x)
        while distance < cuda.blockDim.y * cuda.blockDim.x:
            if slot >= distance:
                state = join(flag, get(shared, second, slot - distance, 0), state)
            cuda.syncthreads()
            put(shared, second, slot, state)
            cuda.syncthreads()
            distance = np.int32(2 * distance)
        before = identity
        if cuda.threadIdx.y > 0:
            before = get(shared, second, slot - cuda.blockDim.x, 0)
        whole = get(shared, second, (cuda.blockDim.y - 1) * cuda.blockDim.x + cuda.threadIdx.x, 0)
        cuda.syncthreads()
        return before, whole
    return runtime.block_inline(block_scan)


def _walker(load: Callable, store: Callable, join: Callable) -> Callable:
    """A thread's function that goes on from a state over elements `low` to `high`, and writes what it has at each."""
    def walk(flag, x, x2, y, y2, base, step, low, high, state):
        for k in range(low, high):
            state = join(flag, state, load(x, x2, base + k * step, k))
            store(y, y2, base + k * step, state)
        return state
    return inline(walk)


@cache
def _kernel(how: Scan, writes: bool, merges: bool = False) -> Any:
    """The kernel that writes running values, or what each chunk comes to; it may merge the states of chunks."""
    is_pair, checks, identity = len(how.dtypes) == 2, how.fault is not None, how.identity
    get, put = (load_pair, store_pair) if is_pair else (load_number, store_number)
    load, store = (get, put) if merges else (how.load, how.store)
    join = _joiner(how)
    walk, block_scan = _walker(load, store, join), _block_scan(join, get, put, identity)
    memory, memory2 = shared_memory(BLOCK, how.dtypes[0]), shared_memory(BLOCK if is_pair else 1, how.dtypes[-1])
    flag_memory = shared_memory(1, np.dtype(np.int32))

    def scan(x, x2, y, y2, ends, ends2, outer, count, inner, chunks, chunk, items):
        shared, shared2, flag = memory(), memory2(), flag_memory()
        tiles = (inner + cuda.blockDim.x - 1) // cuda.blockDim.x
        block = np.int64(cuda.blockIdx.x)
        while block < outer * chunks * tiles:
            part = block // tiles
            column = (block - part * tiles) * cuda.blockDim.x + cuda.threadIdx.x
            start = part % chunks * chunk
            last = min(start + chunk, count)
            base = part // chunks * count * inner + column
            carry = identity
            if writes and start > 0 and column < inner:
                carry = get(ends, ends2, (part - 1) * inner + column, 0)
            while start < last:
                low = start + cuda.threadIdx.y * items
                high = min(low + items, last) if column < inner else low
                if checks:
                    flag[0] = 0
                    cuda.syncthreads()
                total = identity
                if low < high:
                    total = load(x, x2, base + low * inner, low)
                    for k in range(low + 1, high):
                        total = join(flag, total, load(x, x2, base + k * inner, k))
                before, whole = block_scan(shared, shared2, flag, total)
                if writes:
                    walk(flag, x, x2, y, y2, base, inner, low, high, join(flag, carry, before))
                whole = join(flag, carry, whole)
                if checks:
                    cuda.syncthreads()
                    if flag[0] != 0:
                        if cuda.threadIdx.y == 0:
                            stop = min(start + cuda.blockDim.y * items, last) if column < inner else start
                            put(shared, shared2, cuda.threadIdx.x,
                                walk(flag, x, x2, y, y2, base, inner, start, stop, carry))
                        cuda.syncthreads()
                        whole = get(shared, shared2, cuda.threadIdx.x, 0)
                    cuda.syncthreads()
                carry = whole
                start += cuda.blockDim.y * items
            if not writes and cuda.threadIdx.y == 0 and column < inner:
                put(y, y2, part * inner + column, carry)
            block += cuda.gridDim.x
    return runtime.kernel(scan, (BLOCK, how.blocks))


@cache
def _column_kernel(how: Scan) -> Any:
    """The kernel whose threads walk a column each, where there are many."""
    combine, load, identity = how.combine, how.load, how.identity
    join = inline(lambda flag, a, b: combine(a, b))
    walk = _walker(load, how.store, join)

    def scan_columns(x, x2, y, y2, outer, count, inner, outer_step, step, column_step):
        i = cuda.grid(1)
        while i < outer * inner:
            base = i // inner * outer_step + i % inner * column_step
            walk(y, x, x2, y, y2, base, step, 0, count, identity)
            i += cuda.gridsize(1)
    return runtime.kernel(scan_columns)


# ------------------------------------------------------------------------------------------------------- drivers
class Plan(NamedTuple):
    """The launch of a scan over (outer, count, inner): `chunks` along the axis, one after the other where 1."""

    columns: int
    lanes: int
    chunks: int


def plan_of(outer: int, count: int, inner: int, in_order: bool) -> Plan:
    """The geometry, by shape alone; `in_order` forbids chunks."""
    columns = min(runtime.power_of_two(inner), WARP)
    chunks = 1 if in_order else runtime.chunks_of(outer, count, inner)
    most = runtime.power_of_two(runtime.ceil_div(runtime.ceil_div(count, chunks), ITEMS))
    return Plan(columns, min(BLOCK // columns, most), chunks)


def _scanned(how: Scan, inputs: tuple[Any, Any], results: tuple[Any, Any], sizes: tuple[int, int, int]) -> None:
    """Scan flat memory of (outer, count, inner)."""
    outer, count, inner = sizes
    if inner == 1 and count <= SHORT:
        _columns(how, inputs, results, (1, count, outer), (0, 1, count))
    elif inner >= WARP and outer * inner >= MANY:
        _columns(how, inputs, results, sizes, (count * inner, inner, 1))
    else:
        _tiles(how, inputs, results, sizes)


def _columns(how: Scan, inputs: tuple, results: tuple, sizes: tuple, steps: tuple) -> None:
    runtime.launch_each(_column_kernel(how), sizes[0] * sizes[2], *inputs, *results, *sizes, *steps)


def _tiles(how: Scan, inputs: tuple, results: tuple, sizes: tuple[int, int, int]) -> None:
    outer, count, inner = sizes
    plan = plan_of(*sizes, how.fault is not None)
    ends = inputs
    if plan.chunks > 1:
        many = outer * plan.chunks * inner
        ends = _pair([runtime.allocate(many, dtype) for dtype in how.dtypes])
        _launch(_kernel(how, False), plan, inputs, ends, ends, sizes)
        merged = _pair([runtime.allocate(many, dtype) for dtype in how.dtypes])
        short = (outer, plan.chunks, inner)
        _launch(_kernel(how, True, True), plan_of(*short, True), ends, merged, ends, short)
        ends = merged
    _launch(_kernel(how, True), plan, inputs, results, ends, sizes)


def _launch(kernel: Any, plan: Plan, inputs: tuple, results: tuple, ends: tuple, sizes: tuple[int, int, int]) -> None:
    outer, count, inner = sizes
    blocks = runtime.grid(outer * plan.chunks * runtime.ceil_div(inner, plan.columns))
    chunk = runtime.ceil_div(count, plan.chunks)
    runtime.launch(kernel, blocks, (plan.columns, plan.lanes), *inputs, *results, *ends, *sizes, plan.chunks,
                   chunk, ITEMS)


def _pair(arrays: list[Any]) -> tuple[Any, Any]:
    """Two arrays, the same one twice where there is one."""
    return arrays[0], arrays[-1]


def _sizes(raw: DeviceArray, axis: int) -> tuple[int, int, int]:
    return prod(raw.shape[:axis]), raw.shape[axis], prod(raw.shape[axis + 1:])


def scan(kind: str, raw: DeviceArray, axis: int) -> DeviceArray:
    """Running "sum", "prod" or "logsumexp" along an axis, in the dtype of the array.

    Floats are accumulated in float64 and rounded once an element. logsumexp is for floats; of nothing but -inf it is
    -inf. There are no warnings.
    """
    result = geometry.empty(raw.shape, raw.element)
    if result.size:
        x = flat(raw)
        _scanned(running_of(kind, raw.element), (x, x), (result.memory, result.memory), _sizes(raw, axis))
    return result


def extreme_scan(kind: str, raw: DeviceArray, axis: int) -> tuple[DeviceArray, DeviceArray]:
    """The running "max" or "min" along an axis and the latest place of it, int64; NaN stays once it has come."""
    values, places = geometry.empty(raw.shape, raw.element), geometry.empty(raw.shape, INDEX)
    if values.size:
        x = flat(raw)
        _scanned(extreme_of(kind, raw.element), (x, x), (values.memory, places.memory), _sizes(raw, axis))
    return values, places


def recurrence(factor: DeviceArray, raw: DeviceArray, axis: int) -> DeviceArray:
    """y[i] = x[i] + factor[i] * y[i - 1] along an axis, from y[0] = x[0]; both arrays of one float or complex dtype.

    Where a factor is 0, y[i] = x[i] whatever came before. Computed in float64, and rounded once an element.
    """
    result = geometry.empty(raw.shape, raw.element)
    if result.size:
        _scanned(recurrence_of(raw.element), (flat(raw), flat(factor)), (result.memory, result.memory),
                 _sizes(raw, axis))
    return result
