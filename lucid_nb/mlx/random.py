"""Random bits of a key and a stream by Philox4x32-10, and dropout by them: the CPU's, bit for bit.

They are entries of the table on the GPU. The CPU build would take 20 times as long as the CPU's kernel, whose words are
used there.

Word `i` of a stream lies in block i // 1024: of the 256 counters of a block the first word of each comes first, then
the second of each, and so on.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from functools import cache
from typing import Any

import mlx.core as mx
import numpy as np

from .reductions import wide
from .runtime import compiled, entry
from .types import constant, from_numpy

ROUNDS, BLOCK, COUNTERS, HALF = 10, 1024, 256, 32
FIRST, SECOND = 0xD2511F53, 0xCD9E8D57                 # the multipliers
FIRST_STEP, SECOND_STEP = 0x9E3779B9, 0xBB67AE85       # what is added to the words of the key
LOW = (1 << HALF) - 1
WORD = np.dtype(np.uint64)


def _number(value: int) -> mx.array:
    return constant(value, mx.uint64)


def _philox(counters: mx.array, first_key: mx.array, second_key: mx.array, stream: mx.array) -> tuple[mx.array, ...]:
    """The four words of each counter; each is 32 bits in a uint64."""
    low, half = _number(LOW), _number(HALF)
    a, b = counters & low, mx.right_shift(counters, half)
    c, d = stream & low, mx.right_shift(stream, half)
    for _ in range(ROUNDS):
        first, second = _number(FIRST) * a, _number(SECOND) * c
        a, b, c, d = (mx.right_shift(second, half) ^ b ^ first_key, second & low,
                      mx.right_shift(first, half) ^ d ^ second_key, first & low)
        first_key, second_key = first_key + _number(FIRST_STEP) & low, second_key + _number(SECOND_STEP) & low
    return a, b, c, d


@cache
def _program() -> Any:
    return compiled(_philox)


@entry
def random_bits(first_key: int, second_key: int, stream: int, count: int) -> mx.array:
    """The first `count` words of a stream, uint32."""
    blocks = -(-count // BLOCK)
    keys = [from_numpy(np.asarray(number, WORD)) for number in (first_key, second_key, stream)]
    words = _program()(mx.arange(blocks * COUNTERS).astype(mx.uint64), *keys)
    rows = [mx.broadcast_to(word, (blocks * COUNTERS,)).reshape(blocks, COUNTERS) for word in words]
    return mx.stack(rows, 1).reshape(-1)[:count].astype(mx.uint32)


@entry
def dropout(x: mx.array, first_key: int, second_key: int, stream: int, threshold: int, scale: float, moved: float,
            dropped: float) -> mx.array:
    """x * scale + moved where the element's word of the stream is below the threshold, otherwise `dropped`."""
    values = wide(x)
    kept = random_bits(first_key, second_key, stream, x.size).reshape(x.shape) < constant(threshold, mx.uint32)
    factor, level, other = (constant(float(number), values.dtype) for number in (scale, moved, dropped))
    return mx.where(kept, values * factor + level if moved else values * factor, other).astype(x.dtype)
