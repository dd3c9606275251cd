"""Operators of tensors outside of graphs: `x + y`, `-x`, `x += y`. See tensors.py."""

import numpy as np

from ...shapes import LARGE
from ..intrinsics import address_of, stack_words
from .builtin import (
    ARRAY_TYPE,
    DATA,
    DESCRIPTOR,
    DOUBLE_TYPE,
    FLOAT32,
    FLOAT64,
    FLOAT_TYPE,
    LIMIT,
    LONG_TYPE,
    NDIM_INT32,
    TYPE,
    TYPE_NUMBER_INT32,
    UFUNC,
    VECTORCALL,
    call_address,
    elements_of,
    half_word,
    have_one_shape,
    scalar,
    served,
    word,
)
from .indices import value_at
from .tensors import (
    COPY_INTO,
    FEW,
    PYTHON,
    TENSORS,
    TRUE,
    drop,
    forgive,
    generally,
    hold,
    is_value,
    raw_of,
    tensor_of,
    writable_of,
)

# Words of an operator's table behind the first two: is it reflected, how many kernels it knows, and their entries: two
# dtypes, and the table of the kernel.
IS_REFLECTED, ENTRIES, FIRST, ENTRY = 2, 3, 4, 3
PRODUCT = 2                # word of the table of `product`
SMALL = 180                # two arrays of fewer elements broadcast to few


@scalar
def kernel_for(words, first, other):
    """The table of the kernel for two dtypes (the second one is 0 where there is one operand), or 0."""
    for k in range(word(words, ENTRIES)):
        if word(words, FIRST + ENTRY * k) == first and word(words, FIRST + ENTRY * k + 1) == other:
            return word(words, FIRST + ENTRY * k + 2)
    return np.int64(0)


@scalar
def is_number(python, x):
    """Is it a float or an int of Python's, or NumPy's float64?"""
    kind = word(x, TYPE)
    return kind == word(python, FLOAT_TYPE) or kind == word(python, LONG_TYPE) or kind == word(python, DOUBLE_TYPE)


@scalar
def stays_small(kernel, a, b):
    """Are two arrays, and what they broadcast to, small enough for NumPy's memory? Two numbers give a scalar."""
    first, other = elements_of(a), elements_of(b)
    if half_word(a, NDIM_INT32) == 0 and half_word(b, NDIM_INT32) == 0:
        return False
    if (first == 1 or other == 1) and first < LARGE and other < LARGE:
        return True
    limit = word(word(kernel, LIMIT), 0)
    return first <= limit and other <= limit and ((first < SMALL and other < SMALL) or have_one_shape(a, b))


@scalar
def called(tensors, function, operands):
    """What a function of Python's gives for two arrays, which other threads might give up meanwhile."""
    for k in range(2):
        hold(operands[k])
    found = call_address(word(word(tensors, PYTHON), VECTORCALL), (function, address_of(operands), 2, 0))
    for k in range(2):
        drop(tensors, operands[k])
    return found


@scalar
def by_ufunc(tensors, kernel, operands):
    """What NumPy's machinery gives for two arrays in which the kernel did not see its way; 0 where it is no array."""
    python = word(tensors, PYTHON)
    found = called(tensors, word(kernel, UFUNC), operands)
    if found != 0 and word(found, TYPE) != word(python, ARRAY_TYPE):
        drop(tensors, found)
        return np.int64(0)
    return found


@scalar
def array_of_two(words, x, y, operands, by_numpy):
    """The new array that an operator gives for two operands, also `by_numpy` where the kernel does not see its way; 0
    where that is the general road's matter."""
    tensors = word(words, TENSORS)
    python = word(tensors, PYTHON)
    a, b = raw_of(tensors, x), raw_of(tensors, y)
    if (a == 0 and (b == 0 or not is_number(python, x))) or (b == 0 and not is_number(python, y)):
        return np.int64(0)
    kernel = kernel_for(words, word(b if a == 0 else a, DESCRIPTOR), word(a if b == 0 else b, DESCRIPTOR))
    if kernel == 0:
        return kernel
    operands[0], operands[1] = x if a == 0 else a, y if b == 0 else b
    found = served(kernel, address_of(operands), 0)
    if found == 0 and by_numpy and a != 0 and b != 0 and stays_small(kernel, a, b):
        found = by_ufunc(tensors, kernel, operands)
    if found == 0:
        forgive(tensors)
    return found


def binary(self, arguments, count):
    """An operator of two operands; reflected, of the second and the first."""
    words, operands = word(self, DATA), stack_words(2)
    if count == 2:
        flip = word(words, IS_REFLECTED)
        found = array_of_two(words, word(arguments, flip), word(arguments, 1 - flip), operands, True)
        if found != 0:
            return tensor_of(word(words, TENSORS), found)
    return generally(words, arguments, count)


@scalar
def array_of_one(words, x, operands):
    """`array_of_two` of one operand."""
    tensors = word(words, TENSORS)
    operands[0] = raw_of(tensors, x)
    kernel = np.int64(0) if operands[0] == 0 else kernel_for(words, word(operands[0], DESCRIPTOR), 0)
    found = np.int64(0) if kernel == 0 else served(kernel, address_of(operands), 0)
    if found == 0:
        forgive(tensors)
    return found


def unary(self, arguments, count):
    """An operator of one operand."""
    words, operands = word(self, DATA), stack_words(2)
    found = array_of_one(words, word(arguments, 0), operands) if count == 1 else np.int64(0)
    return tensor_of(word(words, TENSORS), found) if found != 0 else generally(words, arguments, count)


@scalar
def multiplies(a, b):
    """Are two arrays a vector and a vector or matrix of floats, few enough that NumPy's BLAS takes no second thread?"""
    kind = half_word(word(a, DESCRIPTOR), TYPE_NUMBER_INT32)
    first, other = half_word(a, NDIM_INT32), half_word(b, NDIM_INT32)
    is_known = word(a, DESCRIPTOR) == word(b, DESCRIPTOR) and (kind == FLOAT32 or kind == FLOAT64)
    return is_known and first + other in (2, 3) and min(first, other) == 1 and elements_of(a) < FEW and (
        elements_of(b) < FEW)


@scalar
def multiplied(tensors, function, operands):
    """The product of two arrays as a tensor; 0 with Python's error set."""
    found = called(tensors, function, operands)
    if found == 0:
        return found
    if word(found, TYPE) == word(word(tensors, PYTHON), ARRAY_TYPE):
        return tensor_of(tensors, found)
    result = value_at(tensors, operands[0], found + 16)      # a scalar, whose number stands behind its type
    drop(tensors, found)
    return result


def product(self, arguments, count):
    """`x @ y` of a vector and a vector or a matrix: the road's table has NumPy's function."""
    words, operands = word(self, DATA), stack_words(2)
    tensors = word(words, TENSORS)
    a = raw_of(tensors, word(arguments, 0)) if count == 2 else np.int64(0)
    b = raw_of(tensors, word(arguments, 1)) if a != 0 else np.int64(0)
    if b != 0 and multiplies(a, b):
        operands[0], operands[1] = a, b
        hold(a)                                    # its dtype is looked at once more
        found = multiplied(tensors, word(words, PRODUCT), operands)
        drop(tensors, a)
        if found != 0:
            return found
        forgive(tensors)
    return generally(words, arguments, count)


@scalar
def is_copied(tensors, found, target):
    """Write an array, which is given up, into one of its dtype and shape; False, with nothing written, elsewhere."""
    is_alike = word(found, DESCRIPTOR) == word(target, DESCRIPTOR) and have_one_shape(found, target)
    is_done = is_alike and call_address(word(tensors, COPY_INTO), (target, found)) & 0xffffffff == 0
    drop(tensors, found)
    if not is_done:
        forgive(tensors)
    return is_done


def in_place(self, arguments, count):
    """`x += y`: a value is bound anew, other memory is written."""
    words, operands = word(self, DATA), stack_words(2)
    tensors = word(words, TENSORS)
    x = word(arguments, 0)
    if count != 2 or raw_of(tensors, x) == 0:
        return generally(words, arguments, count)
    rebinds, target = is_value(tensors, x), writable_of(tensors, x)
    if not rebinds and target == 0:
        return generally(words, arguments, count)
    target = x if rebinds else target
    hold(target)                                   # whatever the handler of a warning does to the tensor
    found = array_of_two(words, x, word(arguments, 1), operands, True)
    is_done = found != 0 and (rebinds or is_copied(tensors, found, target))
    drop(tensors, target)
    if is_done and rebinds:
        return tensor_of(tensors, found)
    if is_done:
        hold(x)
        return x
    return generally(words, arguments, count)


def into(self, arguments, count):
    """Has an op's result for one or two operands been written straight into the tensor behind them?

    Only a kernel is asked, which reports no conditions: where dtypes do not meet, nobody has been told of any.
    """
    words, operands = word(self, DATA), stack_words(2)
    tensors = word(words, TENSORS)
    target = writable_of(tensors, word(arguments, count - 1)) if count == 2 or count == 3 else np.int64(0)
    if target != 0 and elements_of(target) < FEW:
        hold(target)
        found = array_of_one(words, word(arguments, 0), operands) if count == 2 else (
            array_of_two(words, word(arguments, 0), word(arguments, 1), operands, False))
        is_done = found != 0 and is_copied(tensors, found, target)
        drop(tensors, target)
        if is_done:
            hold(word(tensors, TRUE))
            return word(tensors, TRUE)
    return generally(words, arguments, count)
