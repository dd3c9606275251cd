"""The loops that every elementwise kernel shares: contiguous spans, other strides by way of blocks, warnings.

A kernel is `void kernel(count, table of pointers)` over contiguous memory. `layout` describes it in int64 words:
address, number of inputs, number of operands, mode of warnings, address of the code that tells its conditions (see
loops/conditions.py; 0 for none), then each operand's item size.
"""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from ..conditions import EXACT
from ..copying import STREAMED
from ..intrinsics import (
    address_of,
    call_examiner,
    call_kernel,
    clear_flags,
    element,
    raise_flags,
    raised_flags,
    restore_flags,
    save_flags,
    stack_words,
)
from .streams import LINE, finish_stores, store_past

BLOCK = 1024             # elements of a stack block, so that the blocks of a kernel stay in the first-level cache
ADDRESS, INPUTS, OPERANDS, MODE, EXAMINER, ITEM_SIZES = range(6)        # words of a layout
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
def run_cached(layout, table, count):
    """Run a kernel on contiguous memory, and say which conditions arose."""
    if layout[EXAMINER] != 0:
        return call_examiner(layout[EXAMINER], layout, table, count)
    call_kernel(layout[ADDRESS], count, table)
    return 0


@scalar
def is_streamed(layout, table, count):
    """Does one result, in memory that nothing reads, go past the caches? What is examined waits less for memory."""
    inputs = layout[INPUTS]
    item = layout[ITEM_SIZES + inputs]
    if layout[EXAMINER] != 0 or layout[OPERANDS] != inputs + 1 or count * item < STREAMED or table[inputs] % item != 0:
        return False
    for k in range(inputs):
        if table[k] == table[inputs]:
            return False
    return True


@scalar
def step(layout, table, count):
    """Move the operands' addresses on by `count` elements; repeated ones have item size 0."""
    for k in range(layout[OPERANDS]):
        table[k] += layout[ITEM_SIZES + k] * count


@scalar
def run_streamed(layout, table, count):
    """`run_cached` by way of blocks, whose whole lines are stored past the caches."""
    inputs, operands = layout[INPUTS], layout[OPERANDS]
    item, moved = layout[ITEM_SIZES + inputs], stack_words(operands)
    for k in range(operands):
        moved[k] = table[k]
    block = address_of(stack_words(BLOCK * 2))
    head = -moved[inputs] % LINE // item
    conditions = run_cached(layout, moved, head)
    step(layout, moved, head)
    left = count - head
    while left * item >= LINE:
        size = min(BLOCK, left * item // LINE * LINE // item)
        out, moved[inputs] = moved[inputs], block
        conditions |= run_cached(layout, moved, size)
        store_past(element(out, np.int64), element(block, np.int64), size * item // 8)
        moved[inputs] = out
        step(layout, moved, size)
        left -= size
    finish_stores()
    return conditions | run_cached(layout, moved, left)


@scalar
def run_contiguous(layout, table, count):
    """Run a kernel on contiguous memory, past the caches where that pays; the conditions that arose."""
    return run_streamed(layout, table, count) if is_streamed(layout, table, count) else run_cached(layout, table, count)


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
