"""Reading by integer positions, which may count from the end. Those out of bounds are told, and nothing is read.

Positions are checked a block at a time, by vectors, before any of the block is used; only blocks with negative ones are
written anew, counted from the front.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..intrinsics import mark_kernel
from .typed import block, copy_row, out_of_line, scalar, shift, stack_of

BLOCK = 1024                               # positions that are checked together


@intrinsic
def one_by_one(typing):
    """Of the loop around it: LLVM makes no vectors of it. Where all reads are near, loads are quicker than gathers."""
    def emit(context, builder, sig, args):
        builder.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), []), "", "", side_effect=True), [])
        return context.get_dummy_value()
    return types.void(), emit


@block
def are_plain(index, count, size):
    """Whether all positions are within `size`, none of them negative."""
    mark_kernel()
    out_of_line()
    beyond = np.uint64(0)
    for i in range(count):
        place = np.int64(index[i])
        beyond |= np.uint64(place) | np.uint64(size - 1 - place)
    return beyond < np.uint64(1 << 63)


@block
def are_sound(index, places, count, size):
    """places = the positions counted from the front; whether all of them are within `size`."""
    mark_kernel()
    out_of_line()
    beyond = np.uint64(0)
    for i in range(count):
        place = np.int64(index[i])
        place += size & (place >> 63)
        places[i] = place
        beyond |= np.uint64(place) | np.uint64(size - 1 - place)
    return beyond < np.uint64(1 << 63)


@scalar
def read_elements(places, x, target, length):
    """target = the elements of x at places."""
    for i in range(length):
        target[i] = x[np.int64(places[i])]


def gather_elements(start, stop, x, index, out, told, size):
    """Unit: an element of the index."""
    mark_kernel()
    places = stack_of(np.int64, BLOCK)
    for first in range(start, stop, BLOCK):
        length, here = min(BLOCK, stop - first), shift(index, first)
        if are_plain(here, length, size):
            read_elements(here, x, shift(out, first), length)
        elif are_sound(here, places, length, size):
            read_elements(places, x, shift(out, first), length)
        else:
            told[0] = 1


def gather_rows(start, stop, x, index, out, told, size, cols):
    """Unit: an element of the index, which names a row."""
    mark_kernel()
    places = stack_of(np.int64, BLOCK)
    for first in range(start, stop, BLOCK):
        length = min(BLOCK, stop - first)
        if are_sound(shift(index, first), places, length, size):
            for i in range(length):
                copy_row(shift(x, places[i] * cols), shift(out, (first + i) * cols), cols)
        else:
            told[0] = 1


@scalar
def add_columns(places, first, length, count, size, cols):
    """Positions among `count` of `size` lines of `cols` elements become places in the flat array."""
    line, i = first // cols, 0
    last = (line + 1) * cols - first
    while i < length:
        offset = (line // count * size - line) * cols + first
        for k in range(i, min(last, length)):
            places[k] = places[k] * cols + offset + k
        line, i, last = line + 1, last, last + cols


@scalar
def read_rows(places, x, target, first, length, count, size):
    """target = elements of rows of x (`size` elements), each row at `count` places."""
    row = first // count
    source, i, last = shift(x, row * size), 0, (row + 1) * count - first
    while i < length:
        for k in range(i, min(last, length)):
            target[k] = source[np.int64(places[k])]
            one_by_one()
        source, i, last = shift(source, size), last, last + count


def along_rows(start, stop, x, index, out, told, size, count):
    """Unit: an element of the index, of which each row of x (`size` elements) has `count`."""
    mark_kernel()
    places = stack_of(np.int64, BLOCK)
    for first in range(start, stop, BLOCK):
        length, here = min(BLOCK, stop - first), shift(index, first)
        if are_plain(here, length, size):
            read_rows(here, x, shift(out, first), first, length, count, size)
        elif are_sound(here, places, length, size):
            read_rows(places, x, shift(out, first), first, length, count, size)
        else:
            told[0] = 1


def along_columns(start, stop, x, index, out, told, size, count, cols):
    """Unit: an element of the index, of which each slice of x (`size` lines of `cols`) has `count` lines."""
    mark_kernel()
    places = stack_of(np.int64, BLOCK)
    for first in range(start, stop, BLOCK):
        length, target = min(BLOCK, stop - first), shift(out, first)
        if are_sound(shift(index, first), places, length, size):
            add_columns(places, first, length, count, size, cols)
            for i in range(length):
                target[i] = x[places[i]]
        else:
            told[0] = 1


def take_rows(start, stop, x, index, out, told, size, count):
    """Unit: a row of x (`size` elements), of which `count` positions are read, the same of every row."""
    mark_kernel()
    places = stack_of(np.int64, BLOCK)
    for first in range(0, count, BLOCK):
        length = min(BLOCK, count - first)
        if not are_sound(shift(index, first), places, length, size):
            told[0], length = 1, 0
        for row in range(start, stop):
            source, target = shift(x, row * size), shift(out, row * count + first)
            for k in range(length):
                target[k] = source[places[k]]


def take_lines(start, stop, x, index, out, told, size, count, cols):
    """Unit: a slice of x (`size` lines of `cols`), of which `count` lines are read, the same of every slice."""
    mark_kernel()
    places = stack_of(np.int64, BLOCK)
    for first in range(0, count, BLOCK):
        length = min(BLOCK, count - first)
        if not are_sound(shift(index, first), places, length, size):
            told[0], length = 1, 0
        for part in range(start, stop):
            source, target = shift(x, part * size * cols), shift(out, (part * count + first) * cols)
            for k in range(length):
                copy_row(shift(source, places[k] * cols), shift(target, k * cols), cols)
