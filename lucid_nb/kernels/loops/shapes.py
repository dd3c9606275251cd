"""Views in other shapes, `x.T` and what a reshape gives, and new tensors of some shape. See tensors.py."""

import numpy as np

from ..intrinsics import address_of, element, stack_words
from .builtin import (
    CONTIGUOUS,
    DATA,
    DIMENSIONS,
    FLAGS_INT32,
    LONG_TYPE,
    NDIM_INT32,
    NEW_TUPLE,
    TYPE,
    call_address,
    half_word,
    integer_of,
    scalar,
    word,
)
from .indices import ITEMS, LENGTH, share, view_of
from .tensors import (
    ALLOCATE,
    NEW_INTEGER,
    NEW_SHAPE,
    PYTHON,
    TENSORS,
    TRANSPOSE,
    TUPLE_TYPE,
    drop,
    forgive,
    generally,
    hold,
    is_value,
    raw_of,
    tensor_of,
)

REVERSED = 2               # word of the table of `turned`: where the steps are that reverse so many axes
STEP_TYPE, EXTENTS = 2, 3  # words of the table of `shaped`: the class of its steps, and where its field stands
MAKE = 2                   # word of the table of `filled`
AXES = 64                  # that NumPy has


@scalar
def shareable_of(tensors, x):
    """The array of a tensor of which there may be views, with a storage; 0, with no error, for any other."""
    raw = raw_of(tensors, x)
    return raw if raw != 0 and not is_value(tensors, x) and share(tensors, x) else np.int64(0)


def turned(self, arguments, count):
    """`x.T`: all axes reversed."""
    words = word(self, DATA)
    tensors, x = word(words, TENSORS), word(arguments, 0)
    raw = shareable_of(tensors, x) if count == 1 else np.int64(0)
    if raw != 0:
        step = word(word(words, REVERSED), half_word(raw, NDIM_INT32))
        hold(raw)
        seen = call_address(word(tensors, TRANSPOSE), (raw, 0))
        drop(tensors, raw)
        found = view_of(tensors, x, seen, step)
        if found != 0:
            return found
        forgive(tensors)
    return generally(words, arguments, count)


@scalar
def sizes_of(tensors, given, sizes):
    """Read an integer of Python's, or a tuple of them, into words: how many; -1 where it is something else."""
    python, overflow = word(tensors, PYTHON), stack_words(1)
    is_tuple = word(given, TYPE) == word(tensors, TUPLE_TYPE)
    count = word(given, LENGTH) if is_tuple else np.int64(1)
    if count > AXES:
        return np.int64(-1)
    for axis in range(count):
        part = word(given, ITEMS + axis) if is_tuple else given
        if word(part, TYPE) != word(python, LONG_TYPE):
            return np.int64(-1)
        sizes[axis] = integer_of(python, part, overflow)
        if overflow[0] != 0:
            return np.int64(-1)
    return count


@scalar
def in_shape(tensors, raw, sizes, count):
    """A contiguous array in another shape, which may leave one extent open; 0, with no error, where it has none."""
    wanted = stack_words(2)                        # NumPy's PyArray_Dims
    wanted[0], wanted[1] = address_of(sizes), count
    hold(raw)
    seen = call_address(word(tensors, NEW_SHAPE), (raw, address_of(wanted), 0))
    drop(tensors, raw)
    if seen == 0:
        forgive(tensors)
    return seen


@scalar
def step_to(words, seen):
    """The step of a view to the shape of an array; 0, with Python's error set, where there is no memory."""
    tensors, count = word(words, TENSORS), half_word(seen, NDIM_INT32)
    step = call_address(word(tensors, ALLOCATE), (word(words, STEP_TYPE), 0))
    if step == 0:
        return step
    shape = call_address(word(word(tensors, PYTHON), NEW_TUPLE), (np.int64(count),))
    element(step, np.int64)[word(words, EXTENTS)] = shape       # which the step gives up with itself
    for axis in range(count if shape != 0 else 0):
        size = call_address(word(tensors, NEW_INTEGER), (word(word(seen, DIMENSIONS), axis),))
        if size == 0:
            drop(tensors, step)
            return size
        element(shape, np.int64)[ITEMS + axis] = size
    if shape == 0:
        drop(tensors, step)
        return shape
    return step


def shaped(self, arguments, count):
    """The view of a tensor with contiguous memory in another shape: an integer, or a tuple of them."""
    words, sizes = word(self, DATA), stack_words(AXES)
    tensors, x = word(words, TENSORS), word(arguments, 0)
    extents = sizes_of(tensors, word(arguments, 1), sizes) if count == 2 else np.int64(-1)
    raw = shareable_of(tensors, x) if extents >= 0 else np.int64(0)
    if raw != 0 and half_word(raw, FLAGS_INT32) & CONTIGUOUS:
        seen = in_shape(tensors, raw, sizes, extents)
        step = step_to(words, seen) if seen != 0 else np.int64(0)
        if step != 0:
            found = view_of(tensors, x, seen, step)
            drop(tensors, step)
            if found != 0:
                return found
        elif seen != 0:
            drop(tensors, seen)
        forgive(tensors)
    return generally(words, arguments, count)


# ------------------------------------------------------------------------------------------------ new memory
def filled(self, arguments, count):
    """A new tensor of some extents and a dtype; the road's table has NumPy's function that makes its array."""
    words, sizes = word(self, DATA), stack_words(AXES)
    tensors, dtype = word(words, TENSORS), word(arguments, 1)
    extents = sizes_of(tensors, word(arguments, 0), sizes) if count == 2 else np.int64(-1)
    if extents >= 0:
        hold(dtype)                                # which the function takes over
        found = call_address(word(words, MAKE), (extents, address_of(sizes), dtype, 0))
        if found != 0:
            return tensor_of(tensors, found)
        forgive(tensors)
    return generally(words, arguments, count)
