"""Elements, views and writes of tensors outside of graphs. See tensors.py."""

import numpy as np

from ..intrinsics import address_of, element, stack_words
from .builtin import (
    ARRAY_TYPE,
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    INT8,
    LONG_TYPE,
    NDIM_INT32,
    NEW_TUPLE,
    STRIDES,
    TYPE,
    TYPE_NUMBER_INT32,
    ULONGLONG,
    VECTORCALL,
    call_address,
    elements_of,
    half_word,
    integer_of,
    scalar,
    store_number,
    word,
)
from .tensors import (
    ALLOCATE,
    AS_INDEX,
    ELLIPSIS,
    FALSE,
    GENERATION,
    GET_ITEM,
    INTEGER_TYPE,
    IS_VALUE,
    ITS_GENERATION,
    NEW_ARRAY,
    NEW_SLICE,
    NODE,
    NONE,
    PATH,
    PUT_ITEM,
    PYTHON,
    RAW,
    ROOT,
    SHARE,
    SLICE_TYPE,
    STORAGE,
    TENSOR_TYPE,
    TENSORS,
    TUPLE_TYPE,
    VERSION,
    drop,
    forgive,
    generally,
    hold,
    is_interrupted,
    is_value,
    put,
    raw_of,
    tensor_of,
    writable_of,
)

ITEM_SIZE = 5              # word of a dtype
LENGTH, ITEMS = 2, 3       # words of a tuple
MANY = 1 << 15             # positions, or elements of a mask, below which kernels take longer than NumPy


@scalar
def is_bound(tensors, x):
    """May it stand in a slice that is kept: None or an int of Python's?"""
    return x == word(tensors, NONE) or word(x, TYPE) == word(word(tensors, PYTHON), LONG_TYPE)


@scalar
def is_basic_part(tensors, part):
    """Is it an int, a slice between ints, None or an ellipsis?"""
    if word(part, TYPE) == word(tensors, SLICE_TYPE):
        for k in range(2, 5):                      # start, stop, step
            if not is_bound(tensors, word(part, k)):
                return False
        return True
    return part == word(tensors, ELLIPSIS) or is_bound(tensors, part)


@scalar
def is_basic(tensors, index):
    """Does an index consist of such parts?"""
    if word(index, TYPE) != word(tensors, TUPLE_TYPE):
        return is_basic_part(tensors, index)
    for k in range(word(index, LENGTH)):
        if not is_basic_part(tensors, word(index, ITEMS + k)):
            return False
    return True


@scalar
def place_of(tensors, raw, index):
    """The address of the element that an index of integers names; 0 for any other index, or one out of range."""
    python, ndim = word(tensors, PYTHON), half_word(raw, NDIM_INT32)
    is_tuple = word(index, TYPE) == word(tensors, TUPLE_TYPE)
    if ndim == 0 or ndim != (word(index, LENGTH) if is_tuple else 1):
        return np.int64(0)
    overflow, place = stack_words(1), word(raw, DATA)
    for axis in range(ndim):
        part, size = word(index, ITEMS + axis) if is_tuple else index, word(word(raw, DIMENSIONS), axis)
        if word(part, TYPE) != word(python, LONG_TYPE):
            return np.int64(0)
        position = integer_of(python, part, overflow)
        position += size if position < 0 else 0
        if overflow[0] != 0 or position < 0 or position >= size:
            return np.int64(0)
        place += position * word(word(raw, STRIDES), axis)
    return place


@scalar
def copy_item(source, target, size):
    """Copy one element."""
    if size == 8:
        element(target, np.int64)[0] = element(source, np.int64)[0]
    elif size == 4:
        element(target, np.int32)[0] = element(source, np.int32)[0]
    else:
        for k in range(size):
            element(target, np.uint8)[k] = element(source, np.uint8)[k]


@scalar
def value_at(tensors, raw, place):
    """The element at an address as a tensor of its own; 0 with Python's error set where there is no memory."""
    python, descriptor = word(tensors, PYTHON), word(raw, DESCRIPTOR)
    hold(descriptor)
    found = call_address(word(tensors, NEW_ARRAY), (word(python, ARRAY_TYPE), descriptor, 0, 0, 0, 0, 0, 0))
    if found == 0:
        return found
    copy_item(place, word(found, DATA), word(descriptor, ITEM_SIZE))
    return tensor_of(tensors, found)


@scalar
def longer(tensors, path, step):
    """A tuple with one more item; 0 where there is no memory."""
    python, length = word(tensors, PYTHON), word(path, LENGTH)
    hold(path)                                     # a collection of garbage, which allocating starts, may replace it
    found = call_address(word(python, NEW_TUPLE), (length + 1,))
    if found != 0:
        for k in range(length + 1):
            item = word(path, ITEMS + k) if k < length else step
            hold(item)
            element(found, np.int64)[ITEMS + k] = item
    drop(tensors, path)
    return found


@scalar
def share(tensors, x):
    """See that a tensor has a storage; False, with no error, where that failed."""
    if word(x, word(tensors, STORAGE)) != word(tensors, NONE):
        return True
    operands = stack_words(1)
    operands[0] = x
    storage = call_address(word(word(tensors, PYTHON), VECTORCALL), (word(tensors, SHARE), address_of(operands), 1, 0))
    if storage != 0:
        drop(tensors, storage)
    else:
        forgive(tensors)
    return storage != 0


@scalar
def seen_by(tensors, raw, index):
    """What NumPy gives of an array at an index; 0, with no error, where that is no array."""
    hold(raw)
    seen = call_address(word(tensors, GET_ITEM), (raw, index))
    drop(tensors, raw)
    if seen == 0:
        forgive(tensors)
    elif word(seen, TYPE) != word(word(tensors, PYTHON), ARRAY_TYPE):
        drop(tensors, seen)
        seen = np.int64(0)
    return seen


@scalar
def view_at(tensors, x, raw, index):
    """The view of a tensor by a basic index; 0, with no error, where that is the general road's matter."""
    if not is_basic(tensors, index) or is_value(tensors, x) or not share(tensors, x):
        return np.int64(0)
    return view_of(tensors, x, seen_by(tensors, raw, index), index)


@scalar
def view_of(tensors, x, seen, step):
    """The view of a tensor with a storage, one step further, on an array, which it takes over.

    0, with no error, where there is no array or no memory.
    """
    path = np.int64(0) if seen == 0 else longer(tensors, word(x, word(tensors, PATH)), step)
    view = np.int64(0) if path == 0 else call_address(word(tensors, ALLOCATE), (word(tensors, TENSOR_TYPE), 0))
    if view == 0:
        for held in (seen, path):
            if held != 0:
                drop(tensors, held)
        forgive(tensors)
        return view
    fields, storage = element(view, np.int64), word(x, word(tensors, STORAGE))
    fields[word(tensors, RAW)], fields[word(tensors, PATH)] = seen, path
    put(tensors, view, NODE, word(tensors, NONE))
    put(tensors, view, VERSION, word(tensors, NONE))
    put(tensors, view, IS_VALUE, word(tensors, FALSE))
    put(tensors, view, STORAGE, storage)
    put(tensors, view, ROOT, word(x, word(tensors, ROOT)))
    put(tensors, view, GENERATION, word(storage, word(tensors, ITS_GENERATION)))
    return view


@scalar
def few_places(tensors, raw, index):
    """Few positions in a small array, or a mask of one, as an array; 0 for any other index."""
    python = word(tensors, PYTHON)
    places = index if word(index, TYPE) == word(python, ARRAY_TYPE) else raw_of(tensors, index)
    if places == 0 or half_word(places, NDIM_INT32) == 0 or elements_of(places) > MANY or (
            half_word(raw, NDIM_INT32) != 1 and elements_of(raw) > MANY):
        return np.int64(0)
    return places if half_word(word(places, DESCRIPTOR), TYPE_NUMBER_INT32) <= ULONGLONG else np.int64(0)


def moved(self, arguments, count):
    """`x.moved(step, raw)`: the view one step further, which is `raw`."""
    words = word(self, DATA)
    tensors = word(words, TENSORS)
    if count == 3 and word(word(arguments, 2), TYPE) == word(word(tensors, PYTHON), ARRAY_TYPE):
        x, seen = word(arguments, 0), word(arguments, 2)
        if raw_of(tensors, x) != 0 and not is_value(tensors, x) and share(tensors, x):
            hold(seen)
            found = view_of(tensors, x, seen, word(arguments, 1))
            if found != 0:
                return found
    return generally(words, arguments, count)


# ------------------------------------------------------------------------------- indices that hold other integers
@scalar
def plain_part(tensors, part):
    """An integer of Python's for a 0-d tensor of integers, or NumPy's int64; the part itself for anything else.

    A new reference, or 0 with Python's error set.
    """
    raw = raw_of(tensors, part)
    if raw != 0 and half_word(raw, NDIM_INT32) == 0 and INT8 <= half_word(
            word(raw, DESCRIPTOR), TYPE_NUMBER_INT32) <= ULONGLONG:
        return call_address(word(tensors, AS_INDEX), (raw,))
    if word(part, TYPE) == word(tensors, INTEGER_TYPE):
        return call_address(word(tensors, AS_INDEX), (part,))
    hold(part)
    return part


@scalar
def plain_step(tensors, part):
    """`plain_part` of the bounds of a slice too."""
    if word(part, TYPE) != word(tensors, SLICE_TYPE):
        return plain_part(tensors, part)
    bounds, found = stack_words(3), np.int64(1)
    for k in range(3):                             # start, stop, step
        bounds[k] = plain_part(tensors, word(part, 2 + k))
        found = found if bounds[k] != 0 else np.int64(0)
    if found != 0:
        found = call_address(word(tensors, NEW_SLICE), (bounds[0], bounds[1], bounds[2]))
    for k in range(3):
        if bounds[k] != 0:
            drop(tensors, bounds[k])
    return found


@scalar
def plain_index(tensors, index):
    """An index with integers of Python's in the place of others; a new reference, or 0 with Python's error set."""
    if word(index, TYPE) != word(tensors, TUPLE_TYPE):
        return plain_step(tensors, index)
    python, length = word(tensors, PYTHON), word(index, LENGTH)
    found = call_address(word(python, NEW_TUPLE), (length,))
    for k in range(length if found != 0 else 0):
        part = plain_step(tensors, word(index, ITEMS + k))
        if part == 0:
            drop(tensors, found)
            return part
        element(found, np.int64)[ITEMS + k] = part
    return found


@scalar
def seen_plainly(tensors, x, raw, index):
    """The value or view at an index of other integers; 0, with no error, where it is no such index."""
    plain, found = plain_index(tensors, index), np.int64(0)
    if plain != 0:
        place = place_of(tensors, raw, plain)
        found = value_at(tensors, raw, place) if place != 0 else view_at(tensors, x, raw, plain)
        drop(tensors, plain)
    if found == 0:
        forgive(tensors)
    return found


def getitem(self, arguments, count):
    """`x[index]`: a value, a view, or a copy."""
    words = word(self, DATA)
    tensors = word(words, TENSORS)
    if count == 2:
        x, index = word(arguments, 0), word(arguments, 1)
        raw = raw_of(tensors, x)
        if raw != 0:
            place = place_of(tensors, raw, index)
            if place != 0:
                return value_at(tensors, raw, place)
            found = view_at(tensors, x, raw, index)
            if found != 0:
                return found
            if is_interrupted(tensors):
                return found
            places = few_places(tensors, raw, index)
            found = seen_by(tensors, raw, places) if places != 0 else np.int64(0)
            if found != 0:
                return tensor_of(tensors, found)
            found = seen_plainly(tensors, x, raw, index) if places == 0 else np.int64(0)
            if found != 0:
                return found
    return generally(words, arguments, count)


# ------------------------------------------------------------------------------------------------ writes
@scalar
def is_put(tensors, raw, index, value):
    """Write a number, or an array of the same dtype; False, with nothing written, where that is not so simple."""
    python, scratch, descriptor = word(tensors, PYTHON), stack_words(2), word(raw, DESCRIPTOR)
    place, given = place_of(tensors, raw, index), raw_of(tensors, value)
    if given != 0 and word(given, DESCRIPTOR) != descriptor:
        return False
    if place != 0 and given == 0:
        return store_number(python, value, descriptor, place)
    if place != 0:
        if half_word(given, NDIM_INT32) == 0:
            copy_item(word(given, DATA), place, word(descriptor, ITEM_SIZE))
        return half_word(given, NDIM_INT32) == 0
    fits = given != 0 or store_number(python, value, descriptor, address_of(scratch))
    where = index if is_basic(tensors, index) else few_places(tensors, raw, index)
    if not fits or where == 0:
        return False
    held = value if given == 0 else given
    for one in (raw, held, where):
        hold(one)
    is_done = call_address(word(tensors, PUT_ITEM), (raw, where, held)) & 0xffffffff == 0
    for one in (raw, held, where):
        drop(tensors, one)
    if not is_done:
        forgive(tensors)
    return is_done


def setitem(self, arguments, count):
    """`x[index] = value`."""
    words = word(self, DATA)
    tensors = word(words, TENSORS)
    if count == 3:
        raw = writable_of(tensors, word(arguments, 0))
        if raw != 0 and is_put(tensors, raw, word(arguments, 1), word(arguments, 2)):
            none = word(tensors, NONE)
            hold(none)
            return none
    return generally(words, arguments, count)
