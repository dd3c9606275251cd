"""The first of many in an order, and searching in a sorted table."""

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from ..intrinsics import mark_kernel
from .sort import BINS, BITS, key_of
from .typed import block, out_of_line, scalar, shift, stack_of

AHEAD, FEW, WIDE = 64, 32, 16


@scalar
def is_behind(key, place, other, other_place):
    """Whether a key comes later in the order, the later of equal places."""
    return key > other or (key == other and place > other_place)


@block
def sink(keys, places, hole, size, key, place):
    """Put a pair at a place of a heap whose root comes last, or as far below it as it belongs."""
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and is_behind(keys[child + 1], places[child + 1], keys[child], places[child]):
            child += 1
        if not is_behind(keys[child], places[child], key, place):
            break
        keys[hole], places[hole] = keys[child], places[child]
        hole = child
    keys[hole], places[hole] = key, place


@intrinsic
def lowest_bit(typing, mask):
    """The number of the lowest bit that is set; there is one."""
    def emit(context, builder, sig, args):
        kind = ir.FunctionType(args[0].type, [args[0].type, ir.IntType(1)])
        function = builder.module.declare_intrinsic("llvm.cttz", [args[0].type], kind)
        return builder.call(function, [args[0], ir.Constant(ir.IntType(1), 1)])
    return mask(mask), emit


@block
def all_before(x, count, last, width, kind, flip):
    """Which of so many elements (at most AHEAD) come before a key, a bit for each."""
    mark_kernel()
    out_of_line()
    found = np.uint64(0)
    for i in range(count):
        found |= np.uint64(key_of(x[i], width, kind, flip, False) < last) << np.uint64(i)
    return found


@scalar
def insert(keys, places, size, key, place):
    """Put a pair among `size` in order, behind equal keys."""
    hole = size
    while hole > 0 and keys[hole - 1] > key:
        keys[hole], places[hole] = keys[hole - 1], places[hole - 1]
        hole -= 1
    keys[hole], places[hole] = key, place


@scalar
def replace_last(keys, places, count, key, place, is_heap):
    """Put a pair in place of the one that comes last: the root of a heap, or the end of what is in order."""
    if is_heap:
        sink(keys, places, 0, count, key, place)
    else:
        insert(keys, places, count - 1, key, place)


@scalar
def begin(x, keys, places, count, width, kind, flip, is_heap):
    """Take the first `count` elements."""
    for i in range(count):
        key = key_of(x[i], width, kind, flip, False)
        if is_heap:
            keys[i], places[i] = key, i
        else:
            insert(keys, places, i, key, i)
    if is_heap:
        for root in range(count // 2 - 1, -1, -1):
            sink(keys, places, root, count, keys[root], places[root])


def first_places(start, stop, x, keys, places, cols, count, width, kind, flip):
    """Unit: a row. The places of the first `count` (1 to cols) of its order, in order, the first of equals first.

    keys: memory for `count` a row. Those that come first so far are kept in order where they are FEW, and otherwise in
    a heap whose root comes last.
    """
    mark_kernel()
    is_heap = count > FEW
    for row in range(start, stop):
        line, best, spots = shift(x, row * cols), shift(keys, row * count), shift(places, row * count)
        begin(line, best, spots, count, width, kind, flip, is_heap)
        for first in range(count, cols, AHEAD):
            last = best[0] if is_heap else best[count - 1]
            found = all_before(shift(line, first), min(AHEAD, cols - first), last, width, kind, flip)
            while found:
                place = first + np.int64(lowest_bit(found))
                found &= found - np.uint64(1)
                key = key_of(line[place], width, kind, flip, False)
                if key < (best[0] if is_heap else best[count - 1]):
                    replace_last(best, spots, count, key, place, is_heap)
        if is_heap:
            for size in range(count - 1, 0, -1):
                key, place = best[size], spots[size]
                best[size], spots[size] = best[0], spots[0]
                sink(best, spots, 0, size, key, place)


@block
def count_digit(keys, cols, counts, mask, prefix, bit):
    """counts = how often a digit has each value, among the keys that agree with a prefix."""
    mark_kernel()
    out_of_line()
    for i in range(BINS):
        counts[i] = np.int32(0)
    for i in range(cols):
        key = keys[i]
        if key & mask == prefix:
            counts[np.int64(key >> np.uint64(bit) & np.uint64(BINS - 1))] += np.int32(1)


@block
def differing_bits(keys, cols):
    """How many low bits of the keys are not the same in all of them."""
    mark_kernel()
    out_of_line()
    differing, width = np.uint64(0), 0
    for i in range(cols):
        differing |= keys[i] ^ keys[0]
    while differing:
        differing >>= np.uint64(1)
        width += 1
    return width


@scalar
def threshold(keys, cols, count, counts):
    """(mask, prefix, rest): the first `count` keys are those below the prefix under the mask and `rest` equal to it."""
    bit, rest = differing_bits(keys, cols), count
    mask = ~np.uint64(0) << np.uint64(bit) if bit < 64 else np.uint64(0)
    prefix = keys[0] & mask
    while bit > 0:
        bit = max(bit - BITS, 0)
        count_digit(keys, cols, counts, mask, prefix, bit)
        value = 0
        while counts[value] < rest:
            rest -= counts[value]
            value += 1
        prefix |= np.uint64(value) << np.uint64(bit)
        mask |= np.uint64(BINS - 1) << np.uint64(bit)
        if counts[value] == rest:
            break
    return mask, prefix, rest


def select_places(start, stop, keys, places, cols, count):
    """Unit: a row. The places of the `count` smallest keys, the first of equals, in the order of places."""
    mark_kernel()
    counts = stack_of(np.int32, BINS)
    for row in range(start, stop):
        line, spots, found = shift(keys, row * cols), shift(places, row * count), 0
        mask, prefix, rest = threshold(line, cols, count, counts)
        for i in range(cols):
            key = line[i] & mask
            if key < prefix or (key == prefix and rest > 0):
                rest -= np.int64(key == prefix)
                spots[found] = i
                found += 1


# -------------------------------------------------------------------------------------------------------- searching
@scalar
def precedes(element, value, right):
    """Whether an element of a sorted table stands before the place of a value; NaN is the largest number."""
    is_before = element <= value if right else element < value
    return is_before or (value != value and (right or element == element))


@block
def search_some(table, values, out, count, size, right):
    """The places of `count` (at most WIDE) values. The interval is halved without a branch, for all of them in turn,
    so that the misses of the cache overlap."""
    mark_kernel()
    out_of_line()
    low, rest = stack_of(np.int64, WIDE), size
    for k in range(count):
        low[k] = 0
    while rest > 1:
        half = rest // 2
        for k in range(count):
            low[k] += half if precedes(table[low[k] + half - 1], values[k], right) else 0
        rest -= half
    for k in range(count):
        out[k] = low[k] + np.int64(precedes(table[low[k]], values[k], right))


def search(start, stop, table, values, out, size, right):
    """Unit: a value. out = how many of `size` (1 or more) sorted elements come before it; equal ones too if right."""
    mark_kernel()
    for first in range(start, stop, WIDE):
        search_some(table, shift(values, first), shift(out, first), min(WIDE, stop - first), size, right)


def number_runs(start, stop, is_new, places, out, count):
    """Unit: all of it. out at each place = the number of the run that it is in; a run begins where is_new."""
    mark_kernel()
    for _ in range(start, stop):
        number = -1
        for i in range(count):
            number += np.int64(is_new[i])
            out[places[i]] = number
