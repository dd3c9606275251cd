"""Access by masks: counting, packing what they select, and putting it back."""

import numpy as np

from . import memory, threads
from .copying import contiguous
from .index import WORDS, gather
from .steps import GRAIN, INDEX, kernel_of

BLOCK = 4096                               # as in loops/masks.py
BYTE = np.dtype(np.uint8)


def compress(mask: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """The rows of raw where a one-dimensional mask is true."""
    if raw.ndim > 1 or raw.itemsize not in WORDS:
        return gather(raw, places(mask))
    mask, word = contiguous(mask), WORDS[raw.itemsize]
    starts, found = _starts(mask)
    result = memory.empty(found, raw.dtype)
    if found:
        _launch("compress", mask, (contiguous(raw).view(word), starts, result.view(word)), mask.size)
    return result


def expand(mask: np.ndarray, base: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of a one-dimensional array in which the values stand, in order, where the mask is true."""
    mask, word = contiguous(mask), WORDS.get(base.itemsize, base.dtype)
    starts, found = _starts(mask)
    result = memory.empty(base.shape, base.dtype)
    if not found:
        result[...] = base
        return result
    arrays = (contiguous(base).view(word), contiguous(values).view(word), starts, result.view(word))
    _launch("expand", mask, arrays, mask.size, found - 1)
    return result


def places(mask: np.ndarray) -> np.ndarray:
    """The places of true elements of a one-dimensional mask, as int64."""
    mask = contiguous(mask)
    starts, found = _starts(mask)
    result = memory.empty(found, INDEX)
    if found:
        _launch("places", mask, (starts, result), mask.size)
    return result


def nonzero(raw: np.ndarray) -> tuple[np.ndarray, ...]:
    """The places of elements that are not zero, one int64 array an axis, in C order."""
    mask = contiguous(raw if raw.dtype.kind == "b" else raw != 0)
    flat = places(mask.reshape(-1))
    if mask.ndim < 2:
        return (flat,)
    if flat.size == 0:
        return tuple([flat.copy() for _ in mask.shape])
    # A row of the last axis shares the places before it.
    cols = mask.shape[-1]
    counts = np.count_nonzero(mask, axis=-1).reshape(-1)
    rows = np.repeat(np.arange(counts.size), counts)
    last = flat - rows * cols
    if mask.ndim == 2:
        return rows, last
    return (*[np.repeat(part, counts) for part in np.unravel_index(np.arange(counts.size), mask.shape[:-1])], last)


def _starts(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Where what each block of a mask selects begins, and how much all of it is."""
    counts = np.zeros(-(-mask.size // BLOCK), np.int64)
    if mask.size:
        _launch("count", mask, (counts,), mask.size)
    ends = np.cumsum(counts)
    return ends - counts, int(ends[-1]) if ends.size else 0


def _launch(name: str, mask: np.ndarray, arrays: tuple[np.ndarray, ...], *numbers: int) -> None:
    kernel = kernel_of(f"masks:{name}", (BYTE, *[array.dtype for array in arrays]), len(numbers))
    threads.launch(kernel, -(-mask.size // BLOCK), GRAIN // BLOCK, mask, *arrays, *numbers)
