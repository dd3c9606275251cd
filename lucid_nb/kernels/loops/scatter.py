"""Writing at integer positions that may repeat: replaced, added, multiplied, or the extreme kept, in the order given.

Each kernel makes sure that all positions of a block are within bounds before it writes any of it, and tells otherwise.
"""

import numpy as np
from numba import types
from numba.extending import overload

from ..intrinsics import mark_kernel
from .index import BLOCK, add_columns, are_plain, are_sound
from .typed import INLINE, convert, larger, scalar, shift, smaller, stack_of


@scalar
def replaced(old, new):
    """The new element."""
    return new


@scalar
def added(old, new):
    """The sum."""
    return old + new


@scalar
def multiplied(old, new):
    """The product."""
    return old * new


def greater_of(old, new):
    """The larger element; NaN if one is."""


def lesser_of(old, new):
    """The smaller element; NaN if one is."""


@overload(greater_of, jit_options=INLINE)
def _greater_of(old, new):
    if isinstance(old, types.Float):
        return lambda old, new: larger(old, new)
    return lambda old, new: old if old > new else new


@overload(lesser_of, jit_options=INLINE)
def _lesser_of(old, new):
    if isinstance(old, types.Float):
        return lambda old, new: smaller(old, new)
    return lambda old, new: old if old < new else new


def scattered(combine):
    """The kernels of one way to join what is there with what comes: elements, rows, along rows, along columns."""
    @scalar
    def write_elements(places, source, out, length, low, high):
        """Elements of out at places from `low` to `high` joined with the source."""
        for i in range(length):
            place = np.int64(places[i])
            if low <= place and place < high:
                out[place] = convert(out, combine(out[place], source[i]))

    def elements(start, stop, index, values, out, told, count, size, units):
        """Unit: the u-th of `units` shares of out, whose writer reads all positions, so that order depends on none."""
        mark_kernel()
        places = stack_of(np.int64, BLOCK)
        for unit in range(start, stop):
            low, high = size * unit // units, size * (unit + 1) // units
            for first in range(0, count, BLOCK):
                length, here = min(BLOCK, count - first), shift(index, first)
                if are_plain(here, length, size):
                    write_elements(here, shift(values, first), out, length, low, high)
                elif are_sound(here, places, length, size):
                    write_elements(places, shift(values, first), out, length, low, high)
                else:
                    told[0] = 1

    def rows(start, stop, index, values, out, told, count, size, cols, units):
        """Unit: the u-th of `units` shares of the rows of out."""
        mark_kernel()
        places = stack_of(np.int64, BLOCK)
        for unit in range(start, stop):
            low, high = size * unit // units, size * (unit + 1) // units
            for first in range(0, count, BLOCK):
                length = min(BLOCK, count - first)
                if not are_sound(shift(index, first), places, length, size):
                    told[0], length = 1, 0
                for i in range(length):
                    place = places[i]
                    if low <= place and place < high:
                        source, target = shift(values, (first + i) * cols), shift(out, place * cols)
                        for j in range(cols):
                            target[j] = convert(out, combine(target[j], source[j]))

    @scalar
    def write_rows(places, source, out, first, length, count, size):
        """Elements of rows of out (`size` elements) joined with the source, each row at `count` places."""
        row = first // count
        target, i, last = shift(out, row * size), 0, (row + 1) * count - first
        while i < length:
            for k in range(i, min(last, length)):
                place = np.int64(places[k])
                target[place] = convert(out, combine(target[place], source[k]))
            target, i, last = shift(target, size), last, last + count

    def along_rows(start, stop, index, values, out, told, size, count):
        """Unit: a row of out (`size` elements), of the index and of the values (`count` elements each)."""
        mark_kernel()
        places = stack_of(np.int64, BLOCK)
        for first in range(start * count, stop * count, BLOCK):
            length, here = min(BLOCK, stop * count - first), shift(index, first)
            if are_plain(here, length, size):
                write_rows(here, shift(values, first), out, first, length, count, size)
            elif are_sound(here, places, length, size):
                write_rows(places, shift(values, first), out, first, length, count, size)
            else:
                told[0] = 1

    def along_columns(start, stop, index, values, out, told, size, count, cols):
        """Unit: a slice of out (`size` lines of `cols`), of the index and of the values (`count` lines each)."""
        mark_kernel()
        places = stack_of(np.int64, BLOCK)
        for first in range(start * count * cols, stop * count * cols, BLOCK):
            length, source = min(BLOCK, stop * count * cols - first), shift(values, first)
            if are_sound(shift(index, first), places, length, size):
                add_columns(places, first, length, count, size, cols)
                for i in range(length):
                    out[places[i]] = convert(out, combine(out[places[i]], source[i]))
            else:
                told[0] = 1
    return elements, rows, along_rows, along_columns


set_elements, set_rows, set_along_rows, set_along_columns = scattered(replaced)
sum_elements, sum_rows, sum_along_rows, sum_along_columns = scattered(added)
prod_elements, prod_rows, prod_along_rows, prod_along_columns = scattered(multiplied)
max_elements, max_rows, max_along_rows, max_along_columns = scattered(greater_of)
min_elements, min_rows, min_along_rows, min_along_columns = scattered(lesser_of)
