"""Sorting rows, stable and without chance.

Rows that fit a block are sorted in shared memory by a bitonic network (K. Batcher, Sorting networks and their
applications, 1968); longer ones by the digits of their keys, the lowest first, as N. Satish, M. Harris and M. Garland
do (Designing efficient sorting algorithms for manycore GPUs, 2009), or by CUB where CuPy is installed.

A pass by a digit is three steps: how often each tile of a row has each value of the digit, a scan of these counts, and
the move of each key behind those of lower values and of earlier tiles and threads. Nothing depends on the order in
which threads run.
"""

from functools import cache
from math import prod
from typing import Any

import numpy as np

from . import array as geometry
from . import cupy, runtime
from .array import DeviceArray
from .copy import cast, contiguous, copy
from .index import take_along
from .keys import complex_keys, decoder, encoder, key, words
from .runtime import BLOCK, SIMULATED, block_inline, cuda, inline, shared_memory
from .scan import scan

CAPACITY = 16 if SIMULATED else 2048       # elements that a block sorts in shared memory
ITEMS = 2 if SIMULATED else 8              # neighbours that a thread moves
BITS, BINS = 4, 16                         # of a digit
TILE = BLOCK * ITEMS
COUNTERS = BINS * BLOCK + BINS * BLOCK // 32
INDEX, SMALL = np.dtype(np.int64), np.dtype(np.int32)


# --------------------------------------------------------------------------------------------- rows of a block
@cache
def _block_kernel(dtype: np.dtype, descending: bool, gives_places: bool) -> Any:
    """The kernel of rows of up to CAPACITY elements, several to a block, each in 2**bits places."""
    encode, decode = encoder(dtype, descending, not gives_places), decoder(dtype, descending)
    last = key(dtype).type(2 ** (8 * key(dtype).itemsize) - 1)
    key_memory = shared_memory(CAPACITY, key(dtype))
    place_memory = shared_memory(CAPACITY if gives_places else 1, SMALL)

    def sort_rows(x, y, rows, cols, bits, together):
        keys, places = key_memory(), place_memory()
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        size = 1 << bits
        count = size * together
        block = cuda.blockIdx.x
        while block * together < rows:
            for i in range(thread, count, threads):
                row, column = block * together + (i >> bits), i & (size - 1)
                is_there = row < rows and column < cols
                keys[i] = encode(x[row * cols + column]) if is_there else last
                if gives_places:
                    places[i] = column
            cuda.syncthreads()
            run = 2
            while run <= size:
                distance = run // 2
                while distance > 0:
                    for c in range(thread, count // 2, threads):
                        i = 2 * c - (c & (distance - 1))
                        j = i + distance
                        is_rising = i & (size - 1) & run == 0
                        is_behind = keys[i] > keys[j]
                        if gives_places:
                            is_behind = is_behind or (keys[i] == keys[j] and places[i] > places[j])
                        if is_behind == is_rising:
                            keys[i], keys[j] = keys[j], keys[i]
                            if gives_places:
                                places[i], places[j] = places[j], places[i]
                    cuda.syncthreads()
                    distance = distance // 2
                run = run * 2
            for i in range(thread, count, threads):
                row, column = block * together + (i >> bits), i & (size - 1)
                if row < rows and column < cols:
                    if gives_places:
                        y[row * cols + column] = places[i]
                    else:
                        y[row * cols + column] = decode(keys[i])
            cuda.syncthreads()
            block += cuda.gridDim.x
    return runtime.kernel(sort_rows)


def _by_blocks(x: Any, y: Any, dtype: np.dtype, rows: int, cols: int, descending: bool, gives_places: bool) -> None:
    size = runtime.power_of_two(cols)
    together = CAPACITY // size if rows > 1 else 1
    together = min(together, runtime.power_of_two(rows))
    threads = max(1, min(BLOCK, size * together // 2))
    runtime.launch(_block_kernel(dtype, descending, gives_places), runtime.grid(runtime.ceil_div(rows, together)),
                   threads, x, y, rows, cols, size.bit_length() - 1, together)


# ------------------------------------------------------------------------------------------------ by digits
def _each_kernel(function: Any) -> Any:
    """The kernel of a function of each element."""
    def change_all(count, x, y):
        i = cuda.grid(1)
        while i < count:
            y[i] = function(x[i])
            i += cuda.gridsize(1)
    return runtime.kernel(change_all)


@cache
def _encode_kernel(dtype: np.dtype, descending: bool, is_exact: bool) -> Any:
    return _each_kernel(encoder(dtype, descending, is_exact))


@cache
def _decode_kernel(dtype: np.dtype, descending: bool) -> Any:
    return _each_kernel(decoder(dtype, descending))


@inline
def _digit(found, shift):
    return np.int64(np.uint64(found) >> np.uint64(shift)) & np.int64(BINS - 1)


@inline
def _slot(value, thread, threads):
    """Where a thread counts a value; one place in 32 stays free, so that no bank of the memory is asked twice."""
    i = value * threads + thread
    return i + (i >> 5)


@block_inline
def _count_own(counters, keys, at, stop, shift):
    """Each thread's counters of the values of its own digits."""
    i = cuda.threadIdx.x
    while i < COUNTERS:
        counters[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    while at < stop:
        counters[_slot(_digit(keys[at], shift), cuda.threadIdx.x, cuda.blockDim.x)] += 1
        at += 1
    cuda.syncthreads()


_counters = shared_memory(COUNTERS, SMALL)
_sums = shared_memory(BLOCK, SMALL)
_bases = shared_memory(BINS, INDEX)


@runtime.kernel
def _count_kernel(keys, counts, rows, cols, tiles, shift):
    """counts[row, value, tile]: how often the digit has a value."""
    counters = _counters()
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    values = threads * BINS // BLOCK       # all of them, which the compiler does not know: it would unroll the loop
    block = cuda.blockIdx.x
    while block < rows * tiles:
        row, tile = block // tiles, block % tiles
        at = row * cols + tile * TILE + thread * ITEMS
        _count_own(counters, keys, at, min(at + ITEMS, (row + 1) * cols), shift)
        half = threads // 2
        while half > 0:
            if thread < half:
                value = 0
                while value < values:
                    counters[_slot(value, thread, threads)] += counters[_slot(value, thread + half, threads)]
                    value += 1
            cuda.syncthreads()
            half = half // 2
        for value in range(thread, BINS, threads):
            counts[(row * BINS + value) * tiles + tile] = counters[_slot(value, 0, threads)]
        cuda.syncthreads()
        block += cuda.gridDim.x


@block_inline
def _scan_counters(counters, sums):
    """Counters become how many come before, in the order of values and then of threads.

    The compiler does not know the length of the loops; it would unroll them into many registers.
    """
    thread, threads = np.int32(cuda.threadIdx.x), cuda.blockDim.x
    own = threads * BINS // BLOCK
    i, stop, total = thread * own, (thread + 1) * own, np.int32(0)
    while i < stop:
        total += counters[i + (i >> 5)]
        i += 1
    sums[thread] = total
    cuda.syncthreads()
    distance = 1
    while distance < threads:
        before = sums[thread - distance] if thread >= distance else np.int32(0)
        cuda.syncthreads()
        sums[thread] += before
        cuda.syncthreads()
        distance = distance * 2
    before = sums[thread] - total
    i = thread * own
    while i < stop:
        count = counters[i + (i >> 5)]
        counters[i + (i >> 5)] = before
        before += count
        i += 1
    cuda.syncthreads()


@cache
def _move_kernel(gives_places: bool, is_first: bool) -> Any:
    """The kernel that moves keys, and their places, behind those of lower values; at first a key's place is its own."""
    def move(keys, places, moved, moved_places, counts, ends, rows, cols, tiles, shift):
        counters, sums, bases = _counters(), _sums(), _bases()
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        block = cuda.blockIdx.x
        while block < rows * tiles:
            row, tile = block // tiles, block % tiles
            at = row * cols + tile * TILE + thread * ITEMS
            stop = min(at + ITEMS, (row + 1) * cols)
            _count_own(counters, keys, at, stop, shift)
            _scan_counters(counters, sums)
            value = thread
            while value < BINS:
                spot = (row * BINS + value) * tiles + tile
                bases[value] = row * cols + ends[spot] - counts[spot] - counters[_slot(value, 0, threads)]
                value += threads
            cuda.syncthreads()
            while at < stop:
                found = keys[at]
                value = _digit(found, shift)
                slot = _slot(value, thread, threads)
                rank = counters[slot]
                counters[slot] = rank + 1
                target = bases[value] + rank
                moved[target] = found
                if gives_places:
                    moved_places[target] = at - row * cols if is_first else places[at]
                at += 1
            cuda.syncthreads()
            block += cuda.gridDim.x
    return runtime.kernel(move, (BLOCK, 5))


def _by_digits(keys: DeviceArray, bits: int, gives_places: bool) -> tuple[DeviceArray, DeviceArray]:
    """Rows of keys sorted by their low bits, and the places that they came from, if asked; the keys' memory is used."""
    found = cupy.sorted_keys(keys, gives_places)
    if found is not None:
        return found, found
    rows, cols = keys.shape
    tiles = runtime.ceil_div(cols, TILE)
    counts = geometry.empty((rows, BINS * tiles), INDEX)
    place_dtype = SMALL if cols < 1 << 31 else INDEX
    spare = geometry.empty(keys.shape, keys.element)
    places = [geometry.empty(keys.shape if gives_places else (1,), place_dtype) for _ in range(2)]
    blocks = runtime.grid(rows * tiles)
    for shift in range(0, bits, BITS):
        runtime.launch(_count_kernel, blocks, BLOCK, keys.memory, counts.memory, rows, cols, tiles, shift)
        ends = scan("sum", counts, 1)
        runtime.launch(_move_kernel(gives_places, shift == 0), blocks, BLOCK, keys.memory, places[0].memory,
                       spare.memory, places[1].memory, counts.memory, ends.memory, rows, cols, tiles, shift)
        keys, spare = spare, keys
        places.reverse()
    return keys, places[0]


def _encoded(rows: DeviceArray, descending: bool, is_exact: bool) -> DeviceArray:
    keys = geometry.empty(rows.shape, key(rows.element))
    runtime.launch_each(_encode_kernel(rows.element, descending, is_exact), rows.size, rows.size, words(rows),
                        keys.memory)
    return keys


# ------------------------------------------------------------------------------------------------------ drivers
def _rows(raw: DeviceArray, axis: int) -> DeviceArray:
    """The array as contiguous rows along an axis."""
    order = (*range(axis), *range(axis + 1, raw.ndim), axis)
    moved = contiguous(geometry.permute(raw, order))
    shape = (prod(moved.shape[:-1]), moved.shape[-1])
    return geometry.view(moved, shape, geometry.row_major(shape))


def _back(rows: DeviceArray, shape: tuple[int, ...], axis: int) -> DeviceArray:
    """Rows as an array in which they lie along an axis, as long as they are."""
    kept = (*shape[:axis], *shape[axis + 1:], rows.shape[-1])
    whole = geometry.view(rows, kept, geometry.row_major(kept))
    return geometry.permute(whole, (*range(axis), len(shape) - 1, *range(axis, len(shape) - 1)))


def places_of(rows: DeviceArray, descending: bool, bits: int | None = None) -> DeviceArray:
    """The places that put contiguous rows in order, int64. `bits`: how many low bits of keys may differ."""
    if rows.element.kind == "c":
        return _places_of_complex(rows, descending)
    count, cols = rows.shape
    if cols <= CAPACITY:
        places = geometry.empty(rows.shape, INDEX)
        if places.size:
            _by_blocks(words(rows), places.memory, rows.element, count, cols, descending, True)
        return places
    bits = 8 * rows.element.itemsize if bits is None else bits
    return cast(_by_digits(_encoded(rows, descending, False), bits, True)[1], INDEX)


def _places_of_complex(rows: DeviceArray, descending: bool) -> DeviceArray:
    """As stable sorts by one key after the other, the most important last."""
    first, *others = complex_keys(rows, descending)
    places = places_of(first, False)
    for keys in others:
        places = take_along(places, places_of(take_along(keys, places, 1), False), 1)
    return places


def _sorted(rows: DeviceArray, descending: bool) -> DeviceArray:
    if rows.element.kind == "c":
        return take_along(rows, places_of(rows, descending), 1)
    result = geometry.empty(rows.shape, rows.element)
    count, cols = rows.shape
    if result.size == 0:
        return result
    if cols <= CAPACITY:
        _by_blocks(words(rows), words(result), rows.element, count, cols, descending, False)
    else:
        keys, _ = _by_digits(_encoded(rows, descending, True), 8 * rows.element.itemsize, False)
        runtime.launch_each(_decode_kernel(rows.element, descending), rows.size, rows.size, keys.memory, words(result))
    return result


def sort(raw: DeviceArray, axis: int, descending: bool) -> DeviceArray:
    """The elements along an axis in order: NaN last, descending first."""
    return _back(_sorted(_rows(raw, axis), descending), raw.shape, axis)


def argsort(raw: DeviceArray, axis: int, descending: bool) -> DeviceArray:
    """The places that put the elements along an axis in order, int64; equal elements keep their order."""
    return _back(places_of(_rows(raw, axis), descending), raw.shape, axis)


def partition(raw: DeviceArray, kth: tuple[int, ...], axis: int) -> DeviceArray:
    """All elements along an axis in order, so also those at places `kth`."""
    return sort(raw, axis, False)


def topk(raw: DeviceArray, count: int, axis: int, largest: bool) -> tuple[DeviceArray, DeviceArray]:
    """The `count` largest or smallest elements along an axis, in order, and their places, the first of equals first."""
    rows = _rows(raw, axis)
    places = copy(geometry.slice_view(places_of(rows, largest), (slice(None), slice(count))))
    return _back(take_along(rows, places, 1), raw.shape, axis), _back(places, raw.shape, axis)
