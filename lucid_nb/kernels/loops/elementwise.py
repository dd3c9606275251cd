"""The loops that every elementwise kernel shares: contiguous spans, other strides by way of blocks, warnings.

A kernel is `void kernel(count, table of pointers)` over contiguous memory. `layout` describes it in int64 words:
address, number of inputs, number of operands, mode of warnings, format of its floats, then each operand's item size.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from ..elementwise import (
    DIVIDE,
    DIVIDES,
    EXACT,
    FLOORED,
    FLOORS,
    FORMATS,
    INTEGERS,
    INVALID,
    INVERTS,
    OVERFLOW,
    POWER,
    QUOTIENT,
    SCALES,
    UNDERFLOW,
    UNDERFLOWS,
    WHOLE,
)
from ..intrinsics import (
    address_of,
    bfloat16_to_float,
    call_kernel,
    clear_flags,
    element,
    half_to_float,
    raise_flags,
    raised_flags,
    restore_flags,
    save_flags,
    stack_words,
)

BLOCK = 1024             # elements of a stack block, so that the blocks of a kernel stay in the first-level cache
EXAMINED = 4096          # elements of a result that are examined together, while they are in the cache
SIGNED = INTEGERS["int8"]              # the least format of signed integers
HALF, BFLOAT, SINGLE = FORMATS["float16"], FORMATS["bfloat16"], FORMATS["float32"]
ADDRESS, INPUTS, OPERANDS, MODE, FORMAT, ITEM_SIZES = range(6)
TOP_EXPONENT = np.int64(0x7FF0000000000000)
scalar = njit(error_model="numpy")


@scalar
def copy_typed(source, source_step, target, target_step, count, dtype):
    """A strided copy of elements of one integer type, as wide as the elements."""
    if source_step == 0:
        value, there = element(source, dtype)[0], element(target, dtype)
        for i in range(count):
            there[i] = value
    else:
        for i in range(count):
            element(target + i * target_step, dtype)[0] = element(source + i * source_step, dtype)[0]


@scalar
def copy_elements(source, source_step, target, target_step, count, size):
    """A strided copy of elements of 1, 2, 4, 8 or 16 bytes; a repeated one has a contiguous target."""
    if size == 4:
        copy_typed(source, source_step, target, target_step, count, np.int32)
    elif size == 8:
        copy_typed(source, source_step, target, target_step, count, np.int64)
    elif size == 2:
        copy_typed(source, source_step, target, target_step, count, np.uint16)
    elif size == 1:
        copy_typed(source, source_step, target, target_step, count, np.uint8)
    else:
        for i in range(count):
            here, there = element(source + i * source_step, np.int64), element(target + i * target_step, np.int64)
            there[0], there[1] = here[0], here[1]


@intrinsic
def atomic_or(typing, pointer, value):
    """`pointer[0] |= value`, whatever other threads do."""
    def emit(context, builder, sig, args):
        builder.atomic_rmw("or", args[0], args[1], "monotonic")
        return context.get_dummy_value()
    return types.void(types.CPointer(types.int64), types.int64), emit


@scalar
def is_special(exponent, top, counts_small):
    """Is a float with this exponent field infinite or NaN, or (where that counts) zero or subnormal?"""
    return (exponent == top) | (counts_small & (exponent == 0))


@scalar
def has_special(address, count, kind, counts_small):
    """Is any of these floats special?"""
    found = False
    if kind == HALF or kind == BFLOAT:
        short_words, top = element(address, np.uint16), np.uint16(0x7C00 if kind == HALF else 0x7F80)
        for i in range(count):
            found |= is_special(np.uint16(short_words[i] & top), top, counts_small)
    elif kind == SINGLE:
        words = element(address, np.int32)
        for i in range(count):
            found |= is_special(np.int32(words[i] & np.int32(0x7F800000)), np.int32(0x7F800000), counts_small)
    else:
        long_words = element(address, np.int64)
        for i in range(count):
            found |= is_special(long_words[i] & TOP_EXPONENT, TOP_EXPONENT, counts_small)
    return found


@scalar
def read_float(address, i, kind):
    """Element i as a float64; subnormals keep their value."""
    if kind == HALF:
        return np.float64(half_to_float(element(address, np.uint16)[i]))
    if kind == BFLOAT:
        return np.float64(bfloat16_to_float(element(address, np.uint16)[i]))
    return np.float64(element(address, np.float32)[i]) if kind == SINGLE else element(address, np.float64)[i]


@scalar
def least_normal(kind):
    """The smallest positive normal number."""
    if kind == HALF:
        return 2.0 ** -14
    return 2.0 ** -126 if kind == BFLOAT or kind == SINGLE else 2.2250738585072014e-308


@scalar
def conditions_of(layout, table, count, output):
    """The floating-point conditions of a block, told from its inputs and its result: a kernel's own are of no use,
    since branch-free code raises them for values that it then discards, and does not raise them for constants."""
    kind, mode, last = layout[FORMAT], layout[MODE], layout[INPUTS] - 1
    tiny, conditions = least_normal(kind), 0
    for i in range(count):
        result = read_float(table[output], i, kind)
        has_nan, is_finite = False, True
        for k in range(1 if mode == SCALES else last + 1):
            value = read_float(table[k], i, kind)
            has_nan |= value != value
            is_finite &= abs(value) < np.inf
        first = read_float(table[0], i, kind)
        if result != result:
            conditions |= 0 if has_nan else INVALID
        elif is_finite and abs(result) == np.inf:
            by_zero = read_float(table[last], i, kind) == 0.0 and (mode == QUOTIENT or mode == FLOORED)
            by_zero |= mode == DIVIDES or (mode == POWER and first == 0.0)
            conditions |= DIVIDE if by_zero else (OVERFLOW | INVALID if mode == FLOORED else OVERFLOW)
        elif is_finite and mode >= UNDERFLOWS and abs(result) < tiny and first != 0.0:
            conditions |= UNDERFLOW
    return conditions


@scalar
def divides_badly(dividend, divisor, count, mode, lowest, dtype):
    """The conditions of a division of integers of one type."""
    upper, lower = element(dividend, dtype), element(divisor, dtype)
    has_zero, overflows = False, False
    for i in range(count):
        has_zero |= lower[i] == 0
    if mode == FLOORS and lowest != 0:
        for i in range(count):
            overflows |= (upper[i] == lowest) & (lower[i] == -1)
    by_zero = (DIVIDE | INVALID if mode == INVERTS else DIVIDE) if has_zero else 0
    return by_zero | (OVERFLOW if overflows else 0)


@scalar
def conditions_of_integers(layout, table, count):
    """The conditions of a block of integers, told from its inputs, the last of which divides."""
    last, mode, kind = table[layout[INPUTS] - 1], layout[MODE], layout[FORMAT]
    size, is_signed = kind & 15, kind >= SIGNED
    if size == 8:
        return divides_badly(table[0], last, count, mode, np.int64(-2 ** 63 if is_signed else 0), np.int64)
    if size == 4:
        return divides_badly(table[0], last, count, mode, np.int32(-2 ** 31 if is_signed else 0), np.int32)
    if size == 2:
        return divides_badly(table[0], last, count, mode, np.int16(-2 ** 15 if is_signed else 0), np.int16)
    return divides_badly(table[0], last, count, mode, np.int8(-2 ** 7 if is_signed else 0), np.int8)


@scalar
def run_examined(layout, table, count):
    """Run a kernel on contiguous memory in pieces, and say which conditions arose."""
    operands, conditions, start = layout[OPERANDS], 0, 0
    moved = stack_words(operands)
    while start < count:
        size = min(EXAMINED, count - start)
        for k in range(operands):
            moved[k] = table[k] + start * layout[ITEM_SIZES + k]
        if layout[MODE] >= WHOLE:
            conditions |= conditions_of_integers(layout, moved, size)
        call_kernel(layout[ADDRESS], size, moved)
        if layout[MODE] < WHOLE:
            for k in range(layout[INPUTS], operands):
                if has_special(moved[k], size, layout[FORMAT], layout[MODE] >= UNDERFLOWS):
                    conditions |= conditions_of(layout, moved, size, k)
        start += size
    return conditions


@scalar
def run_contiguous(layout, table, count):
    """Run a kernel on contiguous memory, and say which conditions arose."""
    if layout[MODE] > EXACT:
        return run_examined(layout, table, count)
    call_kernel(layout[ADDRESS], count, table)
    return 0


@scalar
def run_blocks(layout, pointers, steps, count):
    """Run a kernel on operands of any strides, by way of contiguous blocks on the stack."""
    inputs, operands, conditions = layout[INPUTS], layout[OPERANDS], 0
    blocks = address_of(stack_words(operands * BLOCK * 2))
    table = stack_words(operands)
    start = 0
    while start < count:
        size = min(BLOCK, count - start)
        for k in range(operands):
            step, item = steps[k], layout[ITEM_SIZES + k]
            place, block = pointers[k] + start * step, blocks + k * BLOCK * 16
            table[k] = place if step == item else block
            if step != item and k < inputs and (start == 0 or step != 0):       # a repeated value is copied once
                copy_elements(place, step, block, item, size, item)
        conditions |= run_contiguous(layout, table, size)
        for k in range(inputs, operands):
            item, place = layout[ITEM_SIZES + k], pointers[k] + start * steps[k]
            if table[k] != place:
                copy_elements(table[k], item, place, steps[k], size, item)
        start += size
    return conditions


@scalar
def is_contiguous(layout, steps):
    """Does every operand lie in memory as the kernel reads it?"""
    contiguous = True
    for k in range(layout[OPERANDS]):
        contiguous &= steps[k] == layout[ITEM_SIZES + k]
    return contiguous


@scalar
def run(layout, pointers, steps, count):
    """Run a kernel on operands of any strides; the conditions that were told from inputs and results."""
    if is_contiguous(layout, steps):
        return run_contiguous(layout, pointers, count)
    return run_blocks(layout, pointers, steps, count)


@scalar
def begin(layout):
    """Before kernels run: the CPU's status word, to be put back by `end`."""
    flags = save_flags()
    if layout[MODE] == EXACT:
        clear_flags()
    return flags


@scalar
def end(layout, flags, conditions):
    """After kernels ran: the conditions to report. The status word is put back, without what discarded lanes raised."""
    if layout[MODE] == EXACT:
        conditions = raised_flags()
    restore_flags(flags)
    return conditions


def ufunc_loop(pointers, counts, steps, layout):
    """The inner loop of every ufunc."""
    flags = begin(layout)
    conditions = end(layout, flags, run(layout, pointers, steps, counts[0]))
    if conditions != 0:
        raise_flags(conditions)


def report_loop(pointers, counts, steps, data):
    """The inner loop of the ufunc that reports, under an op's name, the conditions that its input names."""
    raise_flags(element(pointers[0], np.int64)[0])
    element(pointers[1], np.int64)[0] = np.int64(0)


@scalar
def place_row(row, pointers, operands, shape, strides, ndim, coordinates, moved):
    """Set the coordinates of a row of the outer axes, and the operands' addresses there."""
    rest = row
    for axis in range(ndim - 1, -1, -1):
        coordinates[axis] = rest % shape[axis]
        rest //= shape[axis]
    for k in range(operands):
        moved[k] = pointers[k]
        for axis in range(ndim):
            moved[k] += coordinates[axis] * strides[k * ndim + axis]


@scalar
def next_row(operands, shape, strides, ndim, coordinates, moved):
    """Step the coordinates and the addresses to the next row."""
    axis = ndim - 1
    while axis >= 0:
        coordinates[axis] += 1
        wraps = coordinates[axis] == shape[axis]
        for k in range(operands):
            moved[k] += strides[k * ndim + axis] * (1 - shape[axis] if wraps else 1)
        if not wraps:
            return
        coordinates[axis] = 0
        axis -= 1


def rows(start, stop, layout, pointers, steps, inner, shape, strides, ndim, conditions):
    """Rows [start, stop) of an iteration: `ndim` outer axes of `shape`, byte `strides` (operand by operand), and an
    inner axis of `inner` elements with `steps`. With no outer axes, elements [start, stop) of the inner axis."""
    operands = layout[OPERANDS]
    moved, coordinates = stack_words(operands), stack_words(ndim + 1)
    flags, found = begin(layout), np.int64(0)
    if ndim == 0:
        for k in range(operands):
            moved[k] = pointers[k] + start * steps[k]
        found = run(layout, moved, steps, stop - start)
    else:
        place_row(start, pointers, operands, shape, strides, ndim, coordinates, moved)
        if ndim == 1 and is_contiguous(layout, steps):       # the most frequent one, with the least to do for a row
            for _ in range(start, stop):
                found |= run_contiguous(layout, moved, inner)
                for k in range(operands):
                    moved[k] += strides[k]
        else:
            for _ in range(start, stop):
                found |= run(layout, moved, steps, inner)
                next_row(operands, shape, strides, ndim, coordinates, moved)
    found = end(layout, flags, found)
    if found != 0:
        atomic_or(conditions, found)
