"""Random bits of a key and a stream, and dropout by them: the same for any number of threads."""

import numpy as np

from . import memory, threads
from .copying import contiguous
from .steps import grain, kernel_of, narrow, range_kernel

BLOCK, COST = 1024, 4                      # of a block as in loops/random.py; a word costs as much as reading so many
WORD = np.dtype(np.uint32)


def random_bits(first_key: int, second_key: int, stream: int, count: int) -> np.ndarray:
    """The first `count` words of a stream, uint32."""
    out = memory.empty(count, WORD)
    threads.launch(kernel_of("random:random_bits", (WORD,), 4), -(-count // BLOCK), grain(BLOCK * COST), out, count,
                   first_key, second_key, _signed(stream))
    return out


def dropout(x: np.ndarray, first_key: int, second_key: int, stream: int, threshold: int, scale: float, moved: float,
            dropped: float) -> np.ndarray:
    """x * scale + moved where the element's word of the stream is below the threshold, otherwise `dropped`."""
    if narrow(x.dtype):
        wide = dropout(x.astype(np.float32), first_key, second_key, stream, threshold, scale, moved, dropped)
        return wide.astype(x.dtype)
    x = contiguous(x)
    out = memory.empty(x.shape, x.dtype)
    kinds = [f"{x.dtype.name}*"] * 2 + ["int64"] * 5 + ["float64"] * 3
    threads.launch(range_kernel("random:dropout", *kinds), -(-x.size // BLOCK), grain(BLOCK * COST), x, out, x.size,
                   first_key, second_key, _signed(stream), threshold, float(scale), float(moved), float(dropped))
    return out


def _signed(stream: int) -> int:
    """The bits of an unsigned 64-bit number as a signed one."""
    return stream - (1 << 64) if stream >> 63 else stream
