"""Sorting by digits of keys: unsigned integers whose order is that of the numbers. It is stable, and takes no
comparison, so nothing depends on the numbers but which digits differ.

A key of a signed integer has its sign bit turned; one of a float has all bits turned where it is negative and the sign
bit otherwise, and NaN has the largest key (M. Herf, "Radix tricks", 2001).
"""

import numpy as np

from ..intrinsics import mark_kernel
from .typed import block, convert, copy_row, out_of_line, scalar, shift, stack_of

BITS = 11
BINS = 1 << BITS
UNSIGNED, SIGNED, FLOAT = 0, 1, 2


@scalar
def key_of(word, width, kind, flip, is_exact):
    """The key of the bits of a number; where flip, of the reversed order; -0.0 comes before 0.0 where is_exact."""
    whole = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - width)
    sign = np.uint64(1) << np.uint64(width - 1)
    infinity = np.uint64(0x7F800000) if width == 32 else np.uint64(0x7FF0000000000000)
    word = np.uint64(word) & whole
    size = word & ~sign
    key = word ^ sign if kind == SIGNED else word
    number = word ^ (whole if word & sign else sign)
    number = sign if size == np.uint64(0) and not is_exact else number
    number = whole if size > infinity else number
    key = number if kind == FLOAT else key
    return key ^ whole if flip else key


@scalar
def word_of(key, width, kind, flip):
    """The bits of the number with a key, in the low bits; NaN in one form."""
    whole = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - width)
    sign = np.uint64(1) << np.uint64(width - 1)
    key = np.uint64(key) ^ whole if flip else np.uint64(key)
    number = key ^ (sign if key & sign else whole)
    number = whole ^ sign if key == whole else number
    return number if kind == FLOAT else key ^ sign if kind == SIGNED else key


def encode(start, stop, x, keys, width, kind, flip, is_exact):
    """Unit: an element. keys = the keys of the bits x."""
    mark_kernel()
    for i in range(start, stop):
        keys[i] = convert(keys, key_of(x[i], width, kind, flip, is_exact))


def encode_places(start, stop, x, keys, cols, width, kind, flip):
    """Unit: a row. keys = the keys of 32 bits above the places in the row."""
    mark_kernel()
    for row in range(start, stop):
        line, target = shift(x, row * cols), shift(keys, row * cols)
        for i in range(cols):
            target[i] = key_of(line[i], width, kind, flip, False) << np.uint64(32) | np.uint64(i)


def decode(start, stop, keys, out, width, kind, flip):
    """Unit: an element. out = the bits of the numbers with these keys."""
    mark_kernel()
    for i in range(start, stop):
        out[i] = convert(out, word_of(keys[i], width, kind, flip))


# --------------------------------------------------------------------------------------------------------- digits
@block
def count_digits(keys, cols, counts, first_bit, digits):
    """counts = how often each digit of the keys has each value."""
    mark_kernel()
    out_of_line()
    for i in range(digits * BINS):
        counts[i] = np.int32(0)
    for i in range(cols):
        key = np.uint64(keys[i]) >> np.uint64(first_bit)
        for digit in range(digits):
            counts[digit * BINS + np.int64(key & np.uint64(BINS - 1))] += np.int32(1)
            key >>= np.uint64(BITS)


@scalar
def starts(counts, cols):
    """Counts become where each value begins; False where all keys have one value, so that nothing moves."""
    total = 0
    for i in range(BINS):
        count = counts[i]
        if count == cols:
            return False
        counts[i] = np.int32(total)
        total += count
    return True


@block
def move_keys(source, target, cols, counts, bit):
    """target = the keys ordered by one digit."""
    mark_kernel()
    out_of_line()
    for i in range(cols):
        key = source[i]
        value = np.int64(np.uint64(key) >> np.uint64(bit) & np.uint64(BINS - 1))
        place = counts[value]
        counts[value] = np.int32(place + 1)
        target[place] = key


@block
def move_pairs(source, places, target, target_places, cols, counts, bit):
    """target = the keys ordered by one digit, and their places with them."""
    mark_kernel()
    out_of_line()
    for i in range(cols):
        key = source[i]
        value = np.int64(np.uint64(key) >> np.uint64(bit) & np.uint64(BINS - 1))
        place = counts[value]
        counts[value] = np.int32(place + 1)
        target[place] = key
        target_places[place] = places[i]


def sort_keys(start, stop, keys, other, cols, first_bit, digits):
    """Unit: a row. Sorts keys by `digits` digits from `first_bit` on; `other` is memory of the same size."""
    mark_kernel()
    counts = stack_of(np.int32, digits * BINS)
    for row in range(start, stop):
        a, b, swapped = shift(keys, row * cols), shift(other, row * cols), False
        count_digits(a, cols, counts, first_bit, digits)
        for digit in range(digits):
            here = shift(counts, digit * BINS)
            if starts(here, cols):
                if swapped:
                    move_keys(b, a, cols, here, first_bit + digit * BITS)
                else:
                    move_keys(a, b, cols, here, first_bit + digit * BITS)
                swapped = not swapped
        if swapped:
            copy_row(b, a, cols)


def sort_pairs(start, stop, keys, other, places, other_places, cols, digits):
    """Unit: a row. Sorts keys, and gives the places that they came from; `other`s are memory of the same size."""
    mark_kernel()
    counts = stack_of(np.int32, digits * BINS)
    for row in range(start, stop):
        a, b, swapped = shift(keys, row * cols), shift(other, row * cols), False
        p, q = shift(places, row * cols), shift(other_places, row * cols)
        for i in range(cols):
            p[i] = np.int32(i)
        count_digits(a, cols, counts, 0, digits)
        for digit in range(digits):
            here = shift(counts, digit * BINS)
            if starts(here, cols):
                if swapped:
                    move_pairs(b, q, a, p, cols, here, digit * BITS)
                else:
                    move_pairs(a, p, b, q, cols, here, digit * BITS)
                swapped = not swapped
        if swapped:
            copy_row(b, a, cols)
            copy_row(q, p, cols)


def settle_ties(start, stop, keys, places, cols):
    """Unit: a row. Among places in the order of their keys, those of equal keys in their own order."""
    mark_kernel()
    for row in range(start, stop):
        line, spots = shift(keys, row * cols), shift(places, row * cols)
        for i in range(1, cols):
            place, k = spots[i], i
            while k > 0 and spots[k - 1] > place and line[spots[k - 1]] == line[place]:
                spots[k] = spots[k - 1]
                k -= 1
            spots[k] = place
