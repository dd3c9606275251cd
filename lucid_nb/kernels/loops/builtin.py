"""The short road of small arrays: a Python builtin that looks at its arguments itself, and calls the kernel.

It serves what an elementwise op mostly meets: arrays of one shape and the kernel's dtypes, contiguous or of one axis,
beside numbers. Anything else, and any floating-point condition to report, goes to the ufunc with the same arguments. It
reads the fields of Python's and NumPy's structs, which their binary interfaces fix, and calls their functions by
address.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from ...shapes import LARGE
from ..intrinsics import address_of, element, stack_words
from .elementwise import INPUTS, ITEM_SIZES, OPERANDS, begin, end, run

# Words of the table of what a process knows of Python and NumPy: types, then functions.
(ARRAY_TYPE, FLOAT_TYPE, LONG_TYPE, DOUBLE_TYPE, NEW_LIKE, INCREMENT, DECREMENT, NEW_TUPLE, SET_ITEM, VECTORCALL,
 AS_INTEGER, SERVE) = range(12)
# Words of the table that a builtin carries as its `self`, an array of int64; the first is the address of the above.
FUNCTIONS, UFUNC, LIMIT, LAYOUT, DTYPES = range(5)
# Where fields stand, in words of 8 bytes: of an object its type, of an array its data and what describes it.
TYPE, DATA, DIMENSIONS, STRIDES, DESCRIPTOR, NDIM_INT32, FLAGS_INT32 = 1, 2, 4, 5, 7, 6, 16
CONTIGUOUS, ALIGNED = 0x1, 0x100     # NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED
TYPE_NUMBER_INT32 = 7      # of a dtype; NumPy's type numbers of the real ones follow
INT8, UINT8, INT16, UINT16, INT32, UINT32, LONG, ULONG, LONGLONG, ULONGLONG, FLOAT32, FLOAT64 = range(1, 13)
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


# ------------------------------------------------------------------------------------------------ numbers
@scalar
def store_float(value, kind, place):
    """Store a float as a dtype that holds it; False where none does."""
    if kind == FLOAT64:
        element(place, np.float64)[0] = value
        return True
    if kind == FLOAT32 and not (abs(value) > 3.4e38 and abs(value) < np.inf):
        element(place, np.float32)[0] = np.float32(value)
        return True
    return False


@scalar
def store_integer(value, kind, place):
    """Store an integer as a dtype that holds it exactly; False where the dtype does not."""
    if (kind == FLOAT64 and abs(value) <= 1 << 53) or (kind == FLOAT32 and abs(value) <= 1 << 24):
        return store_float(np.float64(value), kind, place)
    if kind in (LONG, LONGLONG) or (kind in (ULONG, ULONGLONG) and value >= 0):
        element(place, np.int64)[0] = value
    elif kind == INT32 and value == np.int32(value) or (kind == UINT32 and 0 <= value < 1 << 32):
        element(place, np.int32)[0] = np.int32(value)
    elif kind == INT16 and -(1 << 15) <= value < 1 << 15 or (kind == UINT16 and 0 <= value < 1 << 16):
        element(place, np.uint16)[0] = np.uint16(value)
    elif kind == INT8 and -128 <= value < 128 or (kind == UINT8 and 0 <= value < 256):
        element(place, np.uint8)[0] = np.uint8(value)
    else:
        return False
    return True


@scalar
def integer_of(functions, number, overflow):
    """A Python int that fits a word; otherwise `overflow` is not 0."""
    overflow[0] = 0
    return call_address(word(functions, AS_INTEGER), (number, address_of(overflow)))


@scalar
def store_number(functions, number, descriptor, place):
    """Store a Python float or int as an element of a dtype; False for anything else, or where it does not fit.

    NumPy's own float64, which is not weak, goes with float64 only.
    """
    kind = half_word(descriptor, TYPE_NUMBER_INT32)
    is_double = word(number, TYPE) == word(functions, DOUBLE_TYPE) and kind == FLOAT64
    if is_double or word(number, TYPE) == word(functions, FLOAT_TYPE):
        return store_float(element(number, np.float64)[2], kind, place)
    if word(number, TYPE) != word(functions, LONG_TYPE):
        return False
    overflow = stack_words(1)
    value = integer_of(functions, number, overflow)
    return overflow[0] == 0 and store_integer(value, kind, place)


# -------------------------------------------------------------------------------------------------- arrays
@scalar
def elements_of(array):
    """How many elements an array has."""
    count = np.int64(1)
    for axis in range(half_word(array, NDIM_INT32)):
        count *= word(word(array, DIMENSIONS), axis)
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
def step_of(array, item):
    """Bytes from one element of an array to the next; -1 where its elements do not lie in one row."""
    if half_word(array, FLAGS_INT32) & CONTIGUOUS:
        return item
    return word(word(array, STRIDES), 0) if half_word(array, NDIM_INT32) == 1 else np.int64(-1)


@scalar
def examined(words, arguments, pointers, steps, numbers):
    """The array whose shape the result has, with the inputs' addresses and steps entered; 0 where one is unfit.

    The step of what has no axes is 0.
    """
    functions, layout = word(words, FUNCTIONS), element(word(words, LAYOUT), np.int64)
    prototype, found = np.int64(0), np.int64(0)
    for k in range(layout[INPUTS]):
        argument, descriptor = word(arguments, k), word(words, DTYPES + k)
        steps[k] = 0
        if word(argument, TYPE) != word(functions, ARRAY_TYPE):
            pointers[k] = address_of(numbers) + 8 * k
            if not store_number(functions, argument, descriptor, pointers[k]):
                return np.int64(0)
            continue
        if word(argument, DESCRIPTOR) != descriptor or half_word(argument, FLAGS_INT32) & ALIGNED == 0:
            return np.int64(0)
        pointers[k], found = word(argument, DATA), argument
        if half_word(argument, NDIM_INT32) != 0:
            steps[k] = step_of(argument, layout[ITEM_SIZES + k])
            if steps[k] == -1 or (prototype != 0 and not have_one_shape(prototype, argument)):
                return np.int64(0)
            prototype = argument
    return found if prototype == 0 else prototype


@scalar
def make_outputs(words, prototype, inputs, operands, outputs):
    """New arrays like the prototype; False, with Python's error set, where there is no memory."""
    functions = word(words, FUNCTIONS)
    for k in range(inputs, operands):
        descriptor = word(words, DTYPES + k)
        call_address(word(functions, INCREMENT), (descriptor,))
        outputs[k - inputs] = call_address(word(functions, NEW_LIKE), (prototype, 0, descriptor, 0))
        if outputs[k - inputs] == 0:
            drop(functions, outputs, k - inputs)
            return False
    return True


@scalar
def drop(functions, outputs, count):
    """Give up the first arrays."""
    for k in range(count):
        call_address(word(functions, DECREMENT), (outputs[k],))


@scalar
def packed(functions, outputs, count):
    """One array, or a tuple of them, which owns them."""
    if count == 1:
        return outputs[0]
    found = call_address(word(functions, NEW_TUPLE), (count,))
    if found == 0:
        drop(functions, outputs, count)
        return found
    for k in range(count):
        call_address(word(functions, SET_ITEM), (found, k, outputs[k]))
    return found


def serve(words, arguments, least):
    """The kernel's results, a new reference, for inputs of which one has at least so many axes; 0 where they are unfit,
    where a condition is to be reported, and, with Python's error set, where there is no memory."""
    functions, layout = word(words, FUNCTIONS), element(word(words, LAYOUT), np.int64)
    inputs, operands = layout[INPUTS], layout[OPERANDS]
    pointers, steps = stack_words(operands), stack_words(operands)
    outputs, numbers = stack_words(operands), stack_words(inputs)
    prototype = examined(words, arguments, pointers, steps, numbers)
    if prototype == 0 or half_word(prototype, NDIM_INT32) < least:
        return np.int64(0)
    size, limit = elements_of(prototype), word(word(words, LIMIT), 0)
    for k in range(inputs):
        limit = min(limit, LARGE) if steps[k] == 0 else limit          # a kernel for repeated numbers does more of them
    if size == 0 or size > limit or not make_outputs(words, prototype, inputs, operands, outputs):
        return np.int64(0)
    for k in range(operands):
        if k >= inputs:
            pointers[k] = word(outputs[k - inputs], DATA)
        steps[k] = layout[ITEM_SIZES + k] if k >= inputs or size == 1 else steps[k]
    flags = begin(layout)
    if end(layout, flags, run(layout, pointers, steps, size)) == 0:
        return packed(functions, outputs, operands - inputs)
    drop(functions, outputs, operands - inputs)
    return np.int64(0)


@scalar
def served(words, arguments, least):
    """What `serve` gives, which is compiled once for all."""
    return call_address(word(word(words, FUNCTIONS), SERVE), (words, arguments, least))


def call(self, arguments, count):
    """The builtin: `self` is the table of words, `arguments` a C array of `count` objects. Gives a new reference."""
    words = word(self, DATA)
    if count == element(word(words, LAYOUT), np.int64)[INPUTS]:
        found = served(words, arguments, 1)
        if found != 0:
            return found
    return call_address(word(word(words, FUNCTIONS), VECTORCALL), (word(words, UFUNC), arguments, count, 0))
