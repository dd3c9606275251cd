"""Scans along an axis: running sums, products, logsumexp and extremes, and linear recurrences.

Each thread takes some neighbours along the axis; what they come to is scanned in shared memory over the lanes of a
column, and a carry goes on to the next tile. A long axis of few columns is cut into chunks, by shape alone: a first
launch finds what each chunk comes to, a second one scans that, and the last begins each chunk from there. So the same
input gives the same bits always.

Overflows of products and recurrences must stay where they happen: a tile in which a partial product would be lost is
done again, one element after the other, and so is a chunk of which the second launch has to know what it comes to.
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
BYTE = np.dtype(np.uint8)


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


@inline
def _no_fault(a, b, state):
    """Nothing is lost."""
    return False


def _chunk_walker(how: Scan, get: Callable, put: Callable) -> Callable:
    """As `_walker`, over chunks: the elements of one that is lost, or cannot be joined, are joined one by one."""
    load, combine, settled, fault = how.load, how.combine, how.settled, how.fault or _no_fault

    def walk(totals, totals2, y, y2, base, step, low, high, state, lost, x, x2, x_base, count, chunk):
        for c in range(low, high):
            at = base + c * step
            total = get(totals, totals2, at, c)
            after = combine(state, total)
            if fault(state, total, after) or (lost[at] != 0 and not settled(state)):
                after = state
                for k in range(c * chunk, min(c * chunk + chunk, count)):
                    after = combine(after, load(x, x2, x_base + k * step, k))
            state = after
            put(y, y2, at, state)
        return state
    return inline(walk)


def _reader(how: Scan, load: Callable, merges: bool) -> Callable:
    """What reads a state, or only its unit; a chunk that is lost is a fault."""
    checks, unit = how.fault is not None, how.unit

    def read(flag, lost, x, x2, at, k, by_unit):
        state = load(x, x2, at, k)
        if by_unit:
            return unit(state)
        if merges and checks and lost[at] != 0:
            flag[0] = 1
        return state
    return inline(read)


@cache
def _kernel(how: Scan, writes: bool, merges: bool = False) -> Any:
    """The kernel that writes running values, or what each chunk comes to and whether it is lost; it may merge the
    states of chunks, for which it is told of the elements."""
    is_pair, checks, identity, settled, unit = (len(how.dtypes) == 2, how.fault is not None, how.identity, how.settled,
                                                how.unit)
    get, put = (load_pair, store_pair) if is_pair else (load_number, store_number)
    load, store = (get, put) if merges else (how.load, how.store)
    join, read, walk_chunks = _joiner(how), _reader(how, load, merges), _chunk_walker(how, get, put)
    walk, block_scan = _walker(load, store, join), _block_scan(join, get, put, identity)
    memory, memory2 = shared_memory(BLOCK, how.dtypes[0]), shared_memory(BLOCK if is_pair else 1, how.dtypes[-1])
    flag_memory = shared_memory(1, np.dtype(np.int32))

    def scan(x, x2, y, y2, ends, ends2, lost, outer, count, inner, chunks, chunk, items, whole, share):
        shared, shared2, flag = memory(), memory2(), flag_memory()
        tiles = (inner + cuda.blockDim.x - 1) // cuda.blockDim.x
        block = np.int64(cuda.blockIdx.x)
        while block < outer * chunks * tiles:
            part = block // tiles
            column = (block - part * tiles) * cuda.blockDim.x + cuda.threadIdx.x
            start = part % chunks * chunk
            last = min(start + chunk, count)
            base = part // chunks * count * inner + column
            carry, is_lost = identity, False
            if writes and start > 0 and column < inner:
                carry = get(ends, ends2, (part - 1) * inner + column, 0)
            while start < last:
                low = start + cuda.threadIdx.y * items
                high = min(low + items, last) if column < inner else low
                if checks:
                    flag[0] = 0
                    cuda.syncthreads()
                total, by_unit = identity, is_lost or settled(carry)
                if low < high:
                    total = read(flag, lost, x, x2, base + low * inner, low, by_unit)
                    for k in range(low + 1, high):
                        total = join(flag, total, read(flag, lost, x, x2, base + k * inner, k, by_unit))
                before, whole_tile = block_scan(shared, shared2, flag, total)
                if writes:
                    walk(flag, x, x2, y, y2, base, inner, low, high, join(flag, carry, before))
                whole_tile = join(flag, carry, whole_tile)
                if checks:
                    cuda.syncthreads()
                    is_faulty = flag[0] != 0
                    cuda.syncthreads()
                    if is_faulty and not writes and not is_lost:
                        is_lost, carry = True, unit(carry)
                        continue
                    if is_faulty and writes:
                        if cuda.threadIdx.y == 0:
                            stop = min(start + cuda.blockDim.y * items, last) if column < inner else start
                            if merges:
                                state = walk_chunks(x, x2, y, y2, base, inner, start, stop, carry, lost, ends, ends2,
                                                    part * whole * inner + column, whole, share)
                            else:
                                state = walk(flag, x, x2, y, y2, base, inner, start, stop, carry)
                            put(shared, shared2, cuda.threadIdx.x, state)
                        cuda.syncthreads()
                        whole_tile = get(shared, shared2, cuda.threadIdx.x, 0)
                        cuda.syncthreads()
                carry = whole_tile
                start += cuda.blockDim.y * items
            if not writes and cuda.threadIdx.y == 0 and column < inner:
                put(y, y2, part * inner + column, carry)
                lost[part * inner + column] = is_lost
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


def plan_of(outer: int, count: int, inner: int, is_merge: bool = False) -> Plan:
    """The geometry, by shape alone; chunks are not cut again to merge them."""
    columns = min(runtime.power_of_two(inner), WARP)
    chunks = 1 if is_merge else runtime.chunks_of(outer, count, inner)
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
    plan = plan_of(*sizes)
    ends, lost = inputs, inputs[0]
    if plan.chunks > 1:
        many = outer * plan.chunks * inner
        totals, lost = _pair([runtime.allocate(many, dtype) for dtype in how.dtypes]), runtime.allocate(many, BYTE)
        _launch(_kernel(how, False), plan, inputs, totals, totals, lost, sizes)
        ends, short = _pair([runtime.allocate(many, dtype) for dtype in how.dtypes]), (outer, plan.chunks, inner)
        _launch(_kernel(how, True, True), plan_of(*short, True), totals, ends, inputs, lost, short, sizes[1],
                runtime.ceil_div(count, plan.chunks))
    _launch(_kernel(how, True), plan, inputs, results, ends, lost, sizes)


def _launch(kernel: Any, plan: Plan, inputs: tuple, results: tuple, ends: tuple, lost: Any, sizes: tuple[int, int, int],
            whole: int = 0, share: int = 0) -> None:
    """`whole` and `share`: how many elements an axis and a chunk had of which chunks are merged."""
    outer, count, inner = sizes
    blocks = runtime.grid(outer * plan.chunks * runtime.ceil_div(inner, plan.columns))
    chunk = runtime.ceil_div(count, plan.chunks)
    runtime.launch(kernel, blocks, (plan.columns, plan.lanes), *inputs, *results, *ends, lost, *sizes, plan.chunks,
                   chunk, ITEMS, whole, share)


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
