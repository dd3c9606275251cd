"""What tells the conditions that NumPy would warn of, where the CPU's own flags are not right, while a kernel runs.

Compiled apart from the other loops, and for one dtype each: most programs need few of them, or none.
"""

import numpy as np
from numba import njit

from ..conditions import (
    DIVIDE,
    DIVIDES,
    FLOORED,
    FLOORS,
    INVALID,
    INVERTS,
    OVERFLOW,
    POWER,
    QUOTIENT,
    SCALES,
    UNDERFLOW,
    UNDERFLOWS,
)
from ..intrinsics import bfloat16_to_float, call_kernel, element, half_to_float, stack_words
from .elementwise import ADDRESS, INPUTS, ITEM_SIZES, MODE, OPERANDS

EXAMINED = 4096          # elements of a result that are examined together, while they are in the cache
scalar = njit(error_model="numpy")


def read_float16(address, i):
    """Element i as a float64; subnormals keep their value. So also below."""
    return np.float64(half_to_float(element(address, np.uint16)[i]))


def read_bfloat16(address, i):
    """See read_float16."""
    return np.float64(bfloat16_to_float(element(address, np.uint16)[i]))


def read_float32(address, i):
    """See read_float16."""
    return np.float64(element(address, np.float32)[i])


def read_float64(address, i):
    """See read_float16."""
    return element(address, np.float64)[i]


# Of each format: how its bits are read, those of the exponent of infinity, its elements, its smallest normal number.
FLOATS = {"float16": (np.uint16, np.uint16(0x7C00), read_float16, 2.0 ** -14),
          "bfloat16": (np.uint16, np.uint16(0x7F80), read_bfloat16, 2.0 ** -126),
          "float32": (np.int32, np.int32(0x7F800000), read_float32, 2.0 ** -126),
          "float64": (np.int64, np.int64(0x7FF0000000000000), read_float64, 2.0 ** -1022)}


@scalar
def place(layout, k, i):
    """Where operand k has its element i: one that is repeated has a single one."""
    return i if layout[ITEM_SIZES + k] != 0 else np.int64(0)


def special_test(bits, top):
    """A function: is any float infinite or NaN, or (where that counts) zero or subnormal?"""
    @scalar
    def has_special(address, count, counts_small):
        words, found = element(address, bits), False
        for i in range(count):
            exponent = bits(words[i] & top)
            found |= (exponent == top) | (counts_small & (exponent == 0))
        return found
    return has_special


def condition_test(read, tiny):
    """A function: the floating-point conditions of a block, told from its inputs and its result. A kernel's own are of
    no use, since branch-free code raises them for values that it then discards, and does not for constants."""
    @scalar
    def conditions_of(layout, table, count, output):
        mode, last, conditions = layout[MODE], layout[INPUTS] - 1, 0
        for i in range(count):
            result = read(table[output], i)
            has_nan, is_finite = False, True
            for k in range(1 if mode == SCALES else last + 1):
                value = read(table[k], place(layout, k, i))
                has_nan |= value != value
                is_finite &= abs(value) < np.inf
            first = read(table[0], place(layout, 0, i))
            if result != result:
                conditions |= 0 if has_nan else INVALID
            elif is_finite and abs(result) == np.inf:
                by_zero = read(table[last], place(layout, last, i)) == 0.0 and (mode == QUOTIENT or mode == FLOORED)
                by_zero |= mode == DIVIDES or (mode == POWER and first == 0.0)
                conditions |= DIVIDE if by_zero else (OVERFLOW | INVALID if mode == FLOORED else OVERFLOW)
            elif is_finite and mode >= UNDERFLOWS and abs(result) < tiny and first != 0.0:
                conditions |= UNDERFLOW
        return conditions
    return conditions_of


@scalar
def piece(layout, table, start, moved):
    """Set the addresses of the operands from element `start` on."""
    for k in range(layout[OPERANDS]):
        moved[k] = table[k] + start * layout[ITEM_SIZES + k]


def of_floats(dtype):
    """The examiner of a float dtype: it runs a kernel on contiguous memory in pieces, and says which conditions
    arose."""
    bits, top, read, tiny = FLOATS[dtype]
    # Compiled anew for each width of vectors: a CPU of wide ones converts float16, for others it is done by integers.
    has_special, conditions_of = special_test(bits, top), condition_test(scalar(read), tiny)

    def examine(layout_address, table_address, count):
        layout, table = element(layout_address, np.int64), element(table_address, np.int64)
        conditions, moved = np.int64(0), stack_words(layout[OPERANDS])
        for start in range(0, count, EXAMINED):
            size = min(EXAMINED, count - start)
            piece(layout, table, start, moved)
            call_kernel(layout[ADDRESS], size, moved)
            for k in range(layout[INPUTS], layout[OPERANDS]):
                if has_special(moved[k], size, layout[MODE] >= UNDERFLOWS):
                    conditions |= conditions_of(layout, moved, size, k)
        return conditions
    return examine


def division_test(dtype):
    """A function: the conditions of divisions of integers, told from their operands."""
    lowest = dtype(np.iinfo(dtype).min)

    @scalar
    def conditions_of(layout, moved, count):
        mode, last = layout[MODE], layout[INPUTS] - 1
        upper, lower = element(moved[0], dtype), element(moved[last], dtype)
        has_zero, overflows = False, False
        for i in range(place(layout, last, count - 1) + 1):
            has_zero |= lower[i] == 0
        if mode == FLOORS and lowest != 0 and (layout[ITEM_SIZES + last] != 0 or lower[0] == dtype(-1)):
            for i in range(count):
                overflows |= (upper[place(layout, 0, i)] == lowest) & (lower[place(layout, last, i)] == dtype(-1))
        by_zero = (DIVIDE | INVALID if mode == INVERTS else DIVIDE) if has_zero else 0
        return by_zero | (OVERFLOW if overflows else 0)
    return conditions_of


def of_integers(dtype):
    """The examiner of an integer dtype, whose last input divides: it looks before inputs can be overwritten."""
    conditions_of = division_test(np.dtype(dtype).type)

    def examine(layout_address, table_address, count):
        layout, table = element(layout_address, np.int64), element(table_address, np.int64)
        conditions, moved = np.int64(0), stack_words(layout[OPERANDS])
        for start in range(0, count, EXAMINED):
            size = min(EXAMINED, count - start)
            piece(layout, table, start, moved)
            conditions |= conditions_of(layout, moved, size)
            call_kernel(layout[ADDRESS], size, moved)
        return conditions
    return examine
