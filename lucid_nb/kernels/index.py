"""Joining, padding, and access by integer arrays.

Integer positions may count from the end; those out of bounds raise IndexError here, after which the caller says more.
"""

from builtins import IndexError as BuiltinIndexError
from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from ..errors import IndexError
from . import memory, threads
from .copying import contiguous, copy, new_like
from .counting import span
from .steps import GRAIN, INDEX, SINGLE, kernel_of, narrow, told

POSITIONS = (INDEX, np.dtype(np.int32))              # dtypes of positions that kernels read
WORDS = {size: np.dtype(f"uint{8 * size}") for size in (1, 2, 4, 8)}        # what elements are moved as
FEW = 1024                                           # elements up to which NumPy's own loops are as fast
JOIN = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
OF_BOOLS = {"sum": "max", "prod": "min"}


def concatenate(raws: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Arrays of one dtype joined along an axis, in whose memory axes run as in theirs."""
    first = raws[0].shape
    shape = (*first[:axis], sum(raw.shape[axis] for raw in raws), *first[axis + 1:])
    return np.concatenate(raws, axis, out=new_like(raws, shape))


def pad(raw: np.ndarray, pairs: Sequence[tuple[int, int]], value: Any) -> np.ndarray:
    """`value` before and after each axis, as many as the pair of the axis says."""
    if raw.flags.fnc:                                # whose order it keeps
        return pad(raw.T, pairs[::-1], value).T
    result = memory.empty(tuple(low + size + high for size, (low, high) in zip(raw.shape, pairs)), raw.dtype)
    middle: list[Any] = [slice(low, low + size) for size, (low, _) in zip(raw.shape, pairs)]
    for axis, inner in enumerate(middle):
        result[(*middle[:axis], slice(0, inner.start), ...)] = value
        result[(*middle[:axis], slice(inner.stop, None), ...)] = value
    result[(*middle, ...)] = raw
    return result


# ------------------------------------------------------------------------------------------------ reading
def gather(raw: np.ndarray, index: np.ndarray, axis: int = 0) -> np.ndarray:
    """Slices along an axis by position: index.shape stands in the place of the axis."""
    outer, size, cols = _split(raw.shape, axis)
    shape = (*raw.shape[:axis], *index.shape, *raw.shape[axis + 1:])
    if prod(shape) == 0:
        check(index, size)                           # NumPy does not check where nothing is read
        return memory.empty(shape, raw.dtype)
    if prod(shape) <= FEW or (not raw.flags.c_contiguous and 2 * prod(shape) <= raw.size):
        return _gather_by_numpy(raw, index, axis)
    result = memory.empty(shape, raw.dtype)
    positions, count = _positions(index), index.size
    arrays = _moved(contiguous(raw), result)
    if outer == 1:
        numbers: tuple[int, ...] = (size,) if cols == 1 else (size, cols)
        units, unit, name = count, cols, "elements" if cols == 1 else "rows"
        path = f"index:gather_{name}"
    else:
        numbers = (size, count) if cols == 1 else (size, count, cols)
        units, unit = outer, count * cols
        path = f"index:take_{'rows' if cols == 1 else 'lines'}"
    _launch(path, units, unit, (arrays[0], positions, arrays[1]), numbers)
    return result


def _gather_by_numpy(raw: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    try:
        if raw.flags.c_contiguous:
            return np.asarray(raw.take(index, axis))
        # take would copy all of raw first.
        whole: tuple[Any, ...] = (slice(None),) * axis
        return np.ascontiguousarray(raw[(*whole, index)]).reshape(
            (*raw.shape[:axis], *index.shape, *raw.shape[axis + 1:]))
    except BuiltinIndexError:
        refuse()


def take_along(raw: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """Elements by their position along an axis; `index` has the extents of raw but for the axis."""
    outer, size, cols = _split(raw.shape, axis)
    if outer == 1 and cols == 1:
        return gather(raw.reshape(-1), index)
    result = memory.empty(index.shape, raw.dtype)
    if index.size and size == 0:
        refuse()
    if 0 < index.size <= FEW:
        return _along_by_numpy(raw, index, axis)
    if index.size:
        source, target = _moved(contiguous(raw), result)
        numbers = (size, index.shape[axis]) if cols == 1 else (size, index.shape[axis], cols)
        path = f"index:along_{'rows' if cols == 1 else 'columns'}"
        _launch(path, index.size, 2, (source, _positions(index), target), numbers)
    return result


def _along_by_numpy(raw: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    try:
        return np.take_along_axis(raw, index, axis)
    except BuiltinIndexError:
        refuse()


# ------------------------------------------------------------------------------------------------ writing
def scatter(raw: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of raw with result[index] = values; of equal indices the last one counts."""
    return scatter_into("set", copy(raw), index, values)


def scatter_add(raw: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of raw with values added at index, one after the other in the order of index, rounded to the dtype.

    float16 and bfloat16 are accumulated in float32.
    """
    return scatter_reduce("sum", raw, index, values)


def sum_rows(index: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """`scatter_add` to `size` rows of zeros, which are written only once."""
    if narrow(values.dtype):
        return sum_rows(index, values.astype(SINGLE), size).astype(values.dtype)
    target = memory.empty((size, *values.shape[index.ndim:]), values.dtype)
    target[...] = 0
    return scatter_into("sum", target, index, values)


def scatter_reduce(kind: str, raw: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of raw whose rows at index are joined with values in order: "sum", "prod", "max" or "min"."""
    if narrow(raw.dtype) and kind != "set":
        return scatter_reduce(kind, raw.astype(SINGLE), index, values.astype(SINGLE)).astype(raw.dtype)
    return scatter_into(kind, copy(raw), index, values)


def scatter_into(kind: str, target: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Rows of `target`, which is C-contiguous, joined with values in order; target itself."""
    if values.size == 0:
        check(index, len(target))
        return target
    if values.size <= FEW:
        return _scatter_by_numpy(kind, target, index, values)
    kind = OF_BOOLS.get(kind, kind) if target.dtype.kind == "b" else kind
    size, count, cols = len(target), index.size, prod(target.shape[1:])
    # Every unit reads all positions and writes to its own rows, so the order does not depend on units.
    units = threads.num_threads() if count * cols > GRAIN else 1
    path, numbers = ("elements", (count, size, units)) if cols == 1 else ("rows", (count, size, cols, units))
    arrays = _joined(kind, contiguous(values), target)
    _launch(f"scatter:{kind}_{path}", units, 2 * GRAIN, (_positions(index), *arrays), numbers)
    return target


def _scatter_by_numpy(kind: str, target: np.ndarray, index: Any, values: np.ndarray) -> np.ndarray:
    try:
        if kind == "set":
            target[index] = values
        else:
            with np.errstate(all="ignore"):
                JOIN[kind].at(target, index, values)
    except BuiltinIndexError:
        refuse()
    return target


def scatter_along(kind: str, raw: np.ndarray, index: np.ndarray, values: np.ndarray, axis: int) -> np.ndarray:
    """A copy of raw whose elements at positions along an axis are joined with values, one after the other.

    `kind`: "set" (the last one counts), "sum", "prod", "max" or "min". Both `index` and `values` have the extents of
    raw but for the axis. float16 and bfloat16 are computed in float32.
    """
    if narrow(raw.dtype) and kind != "set":
        return scatter_along(kind, raw.astype(SINGLE), index, values.astype(SINGLE), axis).astype(raw.dtype)
    outer, size, cols = _split(raw.shape, axis)
    if outer == 1 and cols == 1:
        return scatter_into(kind, copy(raw).reshape(-1), index.reshape(-1), values.reshape(-1)).reshape(raw.shape)
    kind = OF_BOOLS.get(kind, kind) if raw.dtype.kind == "b" else kind
    result, count = copy(raw), index.shape[axis]
    if index.size and size == 0:
        refuse()
    if 0 < index.size <= FEW:
        places: list[Any] = list(np.indices(index.shape, sparse=True))
        places[axis] = index
        return _scatter_by_numpy(kind, result, tuple(places), values)
    if index.size:
        arrays = _joined(kind, contiguous(values), result)
        path, numbers = ("rows", (size, count)) if cols == 1 else ("columns", (size, count, cols))
        _launch(f"scatter:{kind}_along_{path}", outer, 4 * count * cols, (_positions(index), *arrays), numbers)
    return result


# ------------------------------------------------------------------------------------------------ the work
def check(index: np.ndarray, size: int) -> None:
    """Refuse positions out of bounds."""
    if index.size:
        low, high = (index.min(), index.max()) if index.size < FEW else span(_positions(index))
        if low < -size or high >= size:
            refuse()


def refuse() -> NoReturn:
    """Say that a position is out of bounds."""
    raise IndexError("index: a position is out of range. Use positions within the axis.")


def _split(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """Extents before the axis, of it and behind it, each as one."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1:])


def _positions(index: np.ndarray) -> np.ndarray:
    return contiguous(index if index.dtype in POSITIONS else index.astype(INDEX))


def _moved(*raws: np.ndarray) -> list[np.ndarray]:
    """Arrays as kernels that move elements see them: integers as wide, for 16 bytes complex numbers."""
    return [raw.view(WORDS.get(raw.itemsize, raw.dtype)) for raw in raws]


def _joined(kind: str, *raws: np.ndarray) -> list[np.ndarray]:
    """Arrays as kernels that join elements see them; bools are joined as numbers of one bit."""
    return _moved(*raws) if kind == "set" else list(raws)


def _launch(path: str, units: int, elements: int, arrays: Sequence[np.ndarray], numbers: tuple[int, ...]) -> None:
    """Run a kernel whose units cost so many elements, and raise if it met a position out of bounds."""
    kernel = kernel_of(path, (*[array.dtype for array in arrays], INDEX), len(numbers))
    threads.launch(kernel, units, max(1, GRAIN // max(1, elements)), *arrays, told.word, *numbers)
    if told.word[0]:
        told.word[0] = 0
        refuse()
