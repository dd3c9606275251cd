"""What the roads of tensors in machine code share: a tensor's fields, read and set where its class has them.

Each road is a Python builtin that looks at its arguments by itself and does what the function in Python would. Where
anything is out of the common (a gradient, another device, a trace, a dtype that it does not know, an error to tell), it
calls that function instead, with nothing changed.
"""

import numpy as np

from ..intrinsics import element
from .builtin import (
    ALIGNED,
    ARRAY_TYPE,
    DATA,
    DECREMENT,
    DESCRIPTOR,
    FLAGS_INT32,
    FLOAT32,
    NDIM_INT32,
    TYPE,
    TYPE_NUMBER_INT32,
    VECTORCALL,
    call_address,
    elements_of,
    half_word,
    scalar,
    word,
)

# Words of the table of what is known of tensors: the address of a word that holds their class while the roads are open,
# what builtins know of Python, other types and values, functions, and where fields stand.
(GATE, PYTHON, TENSOR_TYPE, STORAGE_TYPE, TUPLE_TYPE, SLICE_TYPE, ELLIPSIS, NONE, TRUE, FALSE, ERROR_TYPE, ALLOCATE,
 GET_ITEM, PUT_ITEM, CLEAR, OCCURRED, MATCHES, NEW_ARRAY, COPY_INTO, TRANSPOSE, NEW_SHAPE, SHARE, AS_FLOAT, AS_INT,
 IS_TRUE, AS_INDEX, NEW_SLICE, NEW_INTEGER, INTEGER_TYPE, RAW, NODE, IS_VALUE, STORAGE, VERSION,
 GENERATION, ROOT, PATH, ITS_GENERATION, ITS_VERSION, ROOT_NODE, IS_UNRECORDED) = range(41)
TENSORS, GENERAL = 0, 1    # the first words of the table of a road
CONVERT, FIRST_TYPE, LAST_TYPE = 2, 3, 4       # the next ones of a road to numbers
WRITEABLE = 0x400          # NPY_ARRAY_WRITEABLE
REFERENCES = 0             # int32 of an object
FEW = 4096                 # elements below which NumPy's own routines do as well as kernels


@scalar
def raw_of(tensors, x):
    """The array of a tensor that no graph knows and that is current; otherwise 0."""
    if word(x, TYPE) != word(word(tensors, GATE), 0):
        return np.int64(0)
    storage = word(x, word(tensors, STORAGE))
    if word(x, word(tensors, NODE)) != word(tensors, NONE):
        return np.int64(0)
    if storage != word(tensors, NONE) and (
            word(storage, TYPE) != word(tensors, STORAGE_TYPE) or
            word(storage, word(tensors, ITS_GENERATION)) != word(x, word(tensors, GENERATION))):
        return np.int64(0)
    raw = word(x, word(tensors, RAW))
    return raw if word(raw, TYPE) == word(word(tensors, PYTHON), ARRAY_TYPE) else np.int64(0)


@scalar
def is_value(tensors, x):
    """Is it a value, which nothing may write?"""
    return word(x, word(tensors, IS_VALUE)) == word(tensors, TRUE)


@scalar
def writable_of(tensors, x):
    """The array of a tensor that may be written without anybody being told; otherwise 0.

    No graph knows the memory, and none has saved its content: nobody but the tensor or its storage holds its version.
    """
    raw, none = raw_of(tensors, x), word(tensors, NONE)
    if raw == 0 or is_value(tensors, x) or half_word(raw, FLAGS_INT32) & (WRITEABLE | ALIGNED) != WRITEABLE | ALIGNED:
        return np.int64(0)
    storage = word(x, word(tensors, STORAGE))
    if storage == none:
        version = word(x, word(tensors, VERSION))
    else:
        root, version = word(x, word(tensors, ROOT)), word(storage, word(tensors, ITS_VERSION))
        is_unrecorded = word(root, word(tensors, IS_UNRECORDED)) != word(tensors, FALSE)
        if word(root, word(tensors, ROOT_NODE)) != none or is_unrecorded:
            return np.int64(0)
    return raw if version == none or half_word(version, REFERENCES) == 1 else np.int64(0)


@scalar
def hold(value):
    """Take one more reference to an object; all ones stand for one that is never freed (since Python 3.12)."""
    if half_word(value, REFERENCES) != -1:
        element(value, np.int32)[REFERENCES] += 1


@scalar
def put(tensors, x, field, value):
    """Set a field of a new tensor, which then holds the value too."""
    hold(value)
    element(x, np.int64)[word(tensors, field)] = value


@scalar
def drop(tensors, value):
    """Give up a reference."""
    call_address(word(word(tensors, PYTHON), DECREMENT), (value,))


@scalar
def tensor_of(tensors, raw):
    """A tensor of a new array, which it takes over; 0 with Python's error set where there is no memory."""
    found = call_address(word(tensors, ALLOCATE), (word(tensors, TENSOR_TYPE), 0))
    if found == 0:
        drop(tensors, raw)
        return found
    none = word(tensors, NONE)
    element(found, np.int64)[word(tensors, RAW)] = raw
    put(tensors, found, NODE, none)
    put(tensors, found, IS_VALUE, word(tensors, TRUE) if half_word(raw, NDIM_INT32) == 0 else word(tensors, FALSE))
    put(tensors, found, STORAGE, none)
    put(tensors, found, VERSION, none)
    return found


@scalar
def forgive(tensors):
    """Forget an error, which the function in Python will tell; what is none, as an interrupt, is kept."""
    if call_address(word(tensors, MATCHES), (word(tensors, ERROR_TYPE),)) & 0xffffffff != 0:
        call_address(word(tensors, CLEAR), (0,))


@scalar
def is_interrupted(tensors):
    """Is there something that `forgive` kept?"""
    return call_address(word(tensors, OCCURRED), (0,)) != 0


@scalar
def generally(words, arguments, count):
    """What the function in Python gives; nothing, with Python's error set, after an interrupt."""
    if is_interrupted(word(words, TENSORS)):
        return np.int64(0)
    call = word(word(word(words, TENSORS), PYTHON), VECTORCALL)
    return call_address(call, (word(words, GENERAL), arguments, count, 0))


# ---------------------------------------------------------------------------- helpers of functions in Python
def small(self, arguments, count):
    """The array of a tensor that no graph knows, where it has axes and few elements; otherwise None."""
    words = word(self, DATA)
    tensors = word(words, TENSORS)
    raw = raw_of(tensors, word(arguments, 0)) if count == 1 else np.int64(0)
    is_small = raw != 0 and half_word(raw, NDIM_INT32) != 0 and elements_of(raw) < FEW
    found = raw if is_small else word(tensors, NONE)
    hold(found)
    return found


@scalar
def lent(words, arguments, count, array):
    """A new reference to an array; where there is none, what the function in Python gives."""
    if array == 0:
        return generally(words, arguments, count)
    hold(array)
    return array


def plain(self, arguments, count):
    """The array of a tensor that no graph knows; otherwise None."""
    words = word(self, DATA)
    found = raw_of(word(words, TENSORS), word(arguments, 0)) if count == 1 else np.int64(0)
    return lent(words, arguments, count, found)


def writable(self, arguments, count):
    """The array of a tensor that may be written without anybody being told; otherwise None."""
    words = word(self, DATA)
    found = writable_of(word(words, TENSORS), word(arguments, 0)) if count == 1 else np.int64(0)
    return lent(words, arguments, count, found)


def made(self, arguments, count):
    """The tensor of a new array."""
    words = word(self, DATA)
    tensors, raw = word(words, TENSORS), word(arguments, 0)
    if count == 1 and word(raw, TYPE) == word(word(tensors, PYTHON), ARRAY_TYPE):
        hold(raw)
        return tensor_of(tensors, raw)
    return generally(words, arguments, count)


# ------------------------------------------------------------------------------------------------ numbers
def number(self, arguments, count):
    """`float(x)`, `int(x)`, `x.__index__()`, `x.item()`: a number of Python's from a tensor without axes.

    The road's table has Python's function for it, or 0 where the dtype decides, and NumPy's numbers of the first and
    the last type that it takes.
    """
    words = word(self, DATA)
    tensors = word(words, TENSORS)
    raw = raw_of(tensors, word(arguments, 0)) if count == 1 else np.int64(0)
    if raw != 0 and half_word(raw, NDIM_INT32) == 0:
        kind = half_word(word(raw, DESCRIPTOR), TYPE_NUMBER_INT32)
        if word(words, FIRST_TYPE) <= kind <= word(words, LAST_TYPE):
            convert = word(words, CONVERT)
            if convert == 0:
                convert = word(tensors, AS_FLOAT) if kind >= FLOAT32 else word(tensors, AS_INT)
            return call_address(convert, (raw,))
    return generally(words, arguments, count)


def truth(self, arguments, count):
    """`bool(x)` of a tensor without axes."""
    words = word(self, DATA)
    tensors = word(words, TENSORS)
    raw = raw_of(tensors, word(arguments, 0)) if count == 1 else np.int64(0)
    if raw != 0 and half_word(raw, NDIM_INT32) == 0:
        found = word(tensors, TRUE) if call_address(word(tensors, IS_TRUE), (raw,)) & 0xffffffff == 1 else \
            word(tensors, FALSE)
        hold(found)
        return found
    return generally(words, arguments, count)
