"""The short road of small arrays: a Python builtin that looks at its arguments itself, and calls the kernel.

It serves what an elementwise op mostly meets: contiguous NumPy arrays of one shape and the kernel's dtypes. Anything
else, and any floating-point condition to report, goes to the ufunc with the same arguments. It reads the fields of
Python's and NumPy's structs, which their binary interfaces fix, and calls their functions by address.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from ..intrinsics import element, stack_words
from .elementwise import INPUTS, OPERANDS, begin, end, run_contiguous

# Words of the table that the builtin carries as its `self`, an array of int64.
ARRAY_TYPE, NEW_LIKE, INCREMENT, DECREMENT, NEW_TUPLE, SET_ITEM, VECTORCALL, UFUNC, LIMIT, LAYOUT, DTYPES = range(11)
# Where fields stand, in words of 8 bytes: of an object its type, of an array its data and what describes it.
TYPE, DATA, DIMENSIONS, DESCRIPTOR, NDIM_INT32, FLAGS_INT32 = 1, 2, 4, 7, 6, 16
READY = 0x1 | 0x100       # NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
scalar = njit(error_model="numpy")


@intrinsic
def call_address(typing, address, arguments):
    """Call the C function at an address with words, for a word."""
    def emit(context, builder, sig, args):
        word = ir.IntType(64)
        words = [builder.extract_value(args[1], i) for i in range(len(sig.args[1]))]
        kind = ir.FunctionType(word, [word] * len(words))
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), words)
    return types.int64(types.int64, types.UniTuple(types.int64, len(arguments))), emit


@scalar
def word(address, number):
    """Word `number` of a struct."""
    return element(address, np.int64)[number]


@scalar
def half_word(address, number):
    """The int32 number `number` of a struct."""
    return element(address, np.int32)[number]


@scalar
def elements_of(argument, words, number):
    """How many elements input `number` has, if it is an array that the kernel can read as it lies; otherwise 0."""
    if word(argument, TYPE) != word(words, ARRAY_TYPE) or word(argument, DESCRIPTOR) != word(words, DTYPES + number):
        return np.int64(0)
    if half_word(argument, FLAGS_INT32) & READY != READY or half_word(argument, NDIM_INT32) == 0:
        return np.int64(0)
    count = np.int64(1)
    for axis in range(half_word(argument, NDIM_INT32)):
        count *= word(word(argument, DIMENSIONS), axis)
    return count


@scalar
def have_one_shape(first, other):
    """Have two arrays the same extents?"""
    ndim = half_word(first, NDIM_INT32)
    if half_word(other, NDIM_INT32) != ndim:
        return False
    for axis in range(ndim):
        if word(word(first, DIMENSIONS), axis) != word(word(other, DIMENSIONS), axis):
            return False
    return True


@scalar
def common_count(words, arguments, count, inputs):
    """The elements of inputs that are all alike and few enough; otherwise 0."""
    if count != inputs:
        return np.int64(0)
    first = word(arguments, 0)
    size = elements_of(first, words, 0)
    if size == 0 or size > word(words, LIMIT):
        return np.int64(0)
    for k in range(1, inputs):
        other = word(arguments, k)
        if elements_of(other, words, k) != size or not have_one_shape(first, other):
            return np.int64(0)
    return size


@scalar
def make_outputs(words, prototype, inputs, operands, outputs):
    """New arrays like the prototype; False, with Python's error set, where there is no memory."""
    for k in range(inputs, operands):
        descriptor = word(words, DTYPES + k)
        call_address(word(words, INCREMENT), (descriptor,))
        outputs[k - inputs] = call_address(word(words, NEW_LIKE), (prototype, 0, descriptor, 0))
        if outputs[k - inputs] == 0:
            drop(words, outputs, k - inputs)
            return False
    return True


@scalar
def drop(words, outputs, count):
    """Give up the first arrays."""
    for k in range(count):
        call_address(word(words, DECREMENT), (outputs[k],))


@scalar
def packed(words, outputs, count):
    """One array, or a tuple of them, which owns them."""
    if count == 1:
        return outputs[0]
    found = call_address(word(words, NEW_TUPLE), (count,))
    if found == 0:
        drop(words, outputs, count)
        return found
    for k in range(count):
        call_address(word(words, SET_ITEM), (found, k, outputs[k]))
    return found


def call(self, arguments, count):
    """The builtin: `self` is the table of words, `arguments` a C array of `count` objects. Gives a new reference."""
    words = word(self, DATA)
    layout = element(word(words, LAYOUT), np.int64)
    inputs, operands = layout[INPUTS], layout[OPERANDS]
    size = common_count(words, arguments, count, inputs)
    if size != 0:
        outputs, table = stack_words(operands), stack_words(operands)
        if not make_outputs(words, word(arguments, 0), inputs, operands, outputs):
            return np.int64(0)
        for k in range(operands):
            table[k] = word(word(arguments, k), DATA) if k < inputs else word(outputs[k - inputs], DATA)
        flags = begin(layout)
        if end(layout, flags, run_contiguous(layout, table, size)) == 0:
            return packed(words, outputs, operands - inputs)
        drop(words, outputs, operands - inputs)
    return call_address(word(words, VECTORCALL), (word(words, UFUNC), arguments, count, 0))
