"""Random bits by a counter: Philox4x32-10, and what is dropped by them.

Word `i` of a stream lies in block i // 1024: of the 256 counters of a block the first word of each comes first, then
the second of each, and so on, so that a block is made by vectors. A counter has its number in its low 64 bits and the
number of the stream in the high ones.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

import numpy as np

from ..intrinsics import mark_kernel
from .typed import block, convert, out_of_line, scalar, shift, stack_of

ROUNDS, BLOCK, COUNTERS = 10, 1024, 256
FIRST, SECOND = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)               # the multipliers
FIRST_STEP, SECOND_STEP = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)     # what is added to the words of the key
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@scalar
def philox(a, b, c, d, first_key, second_key):
    """Four words from four; each is 32 bits in a uint64."""
    for _ in range(ROUNDS):
        first, second = FIRST * a, SECOND * c
        a, b, c, d = (second >> HALF) ^ b ^ first_key, second & LOW, (first >> HALF) ^ d ^ second_key, first & LOW
        first_key, second_key = (first_key + FIRST_STEP) & LOW, (second_key + SECOND_STEP) & LOW
    return a, b, c, d


@block
def fill(words, unit, first_key, second_key, stream):
    """words = those of a block."""
    mark_kernel()
    out_of_line()
    third, fourth = stream & LOW, stream >> HALF
    one, two, three = shift(words, COUNTERS), shift(words, 2 * COUNTERS), shift(words, 3 * COUNTERS)
    for i in range(COUNTERS):
        counter = np.uint64(unit * COUNTERS + i)
        a, b, c, d = philox(counter & LOW, counter >> HALF, third, fourth, first_key, second_key)
        words[i], one[i], two[i], three[i] = np.uint32(a), np.uint32(b), np.uint32(c), np.uint32(d)


def random_bits(start, stop, out, count, first_key, second_key, stream):
    """Unit: a block of words; out is uint32."""
    mark_kernel()
    words, keys = stack_of(np.uint32, BLOCK), (np.uint64(first_key), np.uint64(second_key))
    for unit in range(start, stop):
        fill(words, unit, keys[0], keys[1], np.uint64(stream))
        target = shift(out, unit * BLOCK)
        for j in range(min(BLOCK, count - unit * BLOCK)):
            target[j] = words[j]


def dropout(start, stop, x, out, count, first_key, second_key, stream, threshold, scale, moved, dropped):
    """Unit: a block of elements. x * scale + moved where the element's word is below the threshold, else `dropped`."""
    mark_kernel()
    words, keys, bound = stack_of(np.uint32, BLOCK), (np.uint64(first_key), np.uint64(second_key)), np.uint32(threshold)
    factor, level, other = convert(x, scale), convert(x, moved), convert(x, dropped)
    for unit in range(start, stop):
        fill(words, unit, keys[0], keys[1], np.uint64(stream))
        line, target = shift(x, unit * BLOCK), shift(out, unit * BLOCK)
        for j in range(min(BLOCK, count - unit * BLOCK)):
            target[j] = line[j] * factor + level if words[j] < bound else other
