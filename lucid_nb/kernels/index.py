"""Joining, padding, and access by integer arrays and masks: NumPy's own loops, and a kernel where values are added."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from . import memory, threads
from .copying import contiguous
from .steps import FLOATS, GRAIN, INDEX, SINGLE, kernel_of, narrow


def concatenate(raws: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Arrays of one dtype joined along an axis."""
    first = raws[0]
    shape = (*first.shape[:axis], sum(raw.shape[axis] for raw in raws), *first.shape[axis + 1:])
    return np.concatenate(raws, axis, out=memory.empty(shape, first.dtype))


def pad(raw: np.ndarray, pairs: Sequence[tuple[int, int]], value: Any) -> np.ndarray:
    """`value` before and after each axis, as many as the pair of the axis says."""
    result = memory.empty(tuple(low + size + high for size, (low, high) in zip(raw.shape, pairs)), raw.dtype)
    middle: list[Any] = [slice(low, low + size) for size, (low, _) in zip(raw.shape, pairs)]
    for axis, inner in enumerate(middle):
        result[(*middle[:axis], slice(0, inner.start), ...)] = value
        result[(*middle[:axis], slice(inner.stop, None), ...)] = value
    result[(*middle, ...)] = raw
    return result


def gather(raw: np.ndarray, index: np.ndarray) -> np.ndarray:
    """raw[index] for an index within bounds: shape index.shape + raw.shape[1:]."""
    if not raw.flags.c_contiguous:
        return raw[index]
    result = memory.empty(index.shape + raw.shape[1:], raw.dtype)
    # Bounds are known to hold; any other mode would fill a temporary first, lest an error leave the result half done.
    return np.take(raw, index, axis=0, out=result, mode="clip")


def scatter(raw: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of raw with result[index] = values; of equal indices the last one counts."""
    result = _copy(raw)
    result[index] = values
    return result


def scatter_add(raw: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of raw with values added at index, one after the other in the order of index, rounded to the dtype.

    float16 and bfloat16 are accumulated in float32.
    """
    if narrow(raw.dtype):
        return scatter_add(raw.astype(SINGLE), index, values.astype(SINGLE)).astype(raw.dtype)
    result = _copy(raw)
    if result.dtype not in FLOATS:
        np.add.at(result, index, values)
    elif values.size:
        cols, count = prod(raw.shape[1:]), index.size
        # Every unit reads all indices and adds to its own rows, so the order of additions does not depend on units.
        units = threads.num_threads() if count * cols > GRAIN else 1
        kernel = kernel_of("scatter:scatter_add", (INDEX, result.dtype, result.dtype), 4)
        threads.launch(kernel, units, 1, contiguous(index), contiguous(values), result, count, len(raw), cols, units)
    return result


def compress(mask: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """The rows of raw where a one-dimensional mask is true."""
    return raw[mask]


def nonzero(mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """The places of true elements, one int64 array an axis, in C order."""
    return tuple(place.astype(np.int64, copy=False) for place in np.nonzero(mask))


def _copy(raw: np.ndarray) -> np.ndarray:
    result = memory.empty(raw.shape, raw.dtype)
    result[...] = raw
    return result
