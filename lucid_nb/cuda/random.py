"""Random bits of a key and a stream by Philox4x32-10, and dropout by them: the CPU's, bit for bit.

Word `i` of a stream lies in block i // 1024: of the 256 counters of a block the first word of each comes first, then
the second of each, and so on. A thread computes the four words of a counter.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from functools import cache
from typing import Any

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import flat
from .runtime import cuda, inline
from .scalars import compute, narrow, widen_to

ROUNDS, BLOCK, COUNTERS = 10, 1024, 256
FIRST, SECOND = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)               # the multipliers
FIRST_STEP, SECOND_STEP = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)     # what is added to the words of the key
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
WORD = np.dtype(np.uint32)


@inline
def philox(counter, first_key, second_key, stream):
    """The four words of a counter; each is 32 bits in a uint64."""
    a, b, c, d = counter & LOW, counter >> HALF, stream & LOW, stream >> HALF
    for _ in range(ROUNDS):
        first, second = FIRST * a, SECOND * c
        a, b, c, d = (second >> HALF) ^ b ^ first_key, second & LOW, (first >> HALF) ^ d ^ second_key, first & LOW
        first_key, second_key = (first_key + FIRST_STEP) & LOW, (second_key + SECOND_STEP) & LOW
    return a, b, c, d


def _counters(count: int) -> int:
    """Counters whose words are needed, whole blocks of them."""
    return runtime.ceil_div(count, BLOCK) * COUNTERS


@runtime.kernel
def _bits_kernel(counters, out, count, first_key, second_key, stream):
    i = cuda.grid(1)
    while i < counters:
        words = philox(np.uint64(i), first_key, second_key, stream)
        at = i // COUNTERS * BLOCK + i % COUNTERS
        for part in range(4):
            if at + part * COUNTERS < count:
                out[at + part * COUNTERS] = np.uint32(words[part])
        i += cuda.gridsize(1)


def random_bits(first_key: int, second_key: int, stream: int, count: int) -> DeviceArray:
    """The first `count` words of a stream, uint32."""
    out = geometry.empty((count,), WORD)
    counters = _counters(count)
    runtime.launch_each(_bits_kernel, counters, counters, out.memory, count, *map(np.uint64, (first_key, second_key,
                                                                                          stream)))
    return out


@cache
def _dropout_kernel(dtype: np.dtype) -> Any:
    number = compute(dtype).type
    load, store = widen_to(dtype, compute(dtype)), narrow(dtype)

    def dropout(counters, x, out, count, first_key, second_key, stream, threshold, scale, moved, dropped):
        factor, level, other = number(scale), number(moved), number(dropped)
        i = cuda.grid(1)
        while i < counters:
            words = philox(np.uint64(i), first_key, second_key, stream)
            corner = i // COUNTERS * BLOCK + i % COUNTERS
            for part in range(4):
                at = corner + part * COUNTERS
                if at < count:
                    out[at] = store(load(x[at]) * factor + level if words[part] < threshold else other)
            i += cuda.gridsize(1)
    return runtime.kernel(dropout)


def dropout(x: DeviceArray, first_key: int, second_key: int, stream: int, threshold: int, scale: float, moved: float,
            dropped: float) -> DeviceArray:
    """x * scale + moved where the element's word of the stream is below the threshold, otherwise `dropped`."""
    out = geometry.empty(x.shape, x.element)
    counters = _counters(x.size)
    keys = map(np.uint64, (first_key, second_key, stream, threshold))
    runtime.launch_each(_dropout_kernel(x.element), counters, counters, flat(x), out.memory, x.size, *keys,
                        float(scale), float(moved), float(dropped))
    return out
