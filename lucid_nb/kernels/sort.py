"""Sorting, the first of many, searching, and distinct elements; NaN counts as larger than every number.

Values are NumPy's where it sorts them in vectors, or rows are short; others and places are sorted by digits of keys. A
row is one thread's, and places of equal elements keep their order: all bits are the same for any number of threads.
"""

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from . import compiler, memory, threads
from .copying import contiguous, copy, with_axes_of
from .steps import INDEX, grain, kernel_of

SHORT = 4096                       # elements of a row below which NumPy sorts values faster without vectors,
FEW = 400                          # and below which it finds places faster
HEAP = 128                         # the first of so many are kept in a heap
BITS = 11                          # of a digit, as in loops/sort.py
MOST = 1 << 31                     # elements of a row that the counters hold
KEY = np.dtype(np.uint64)
UNSIGNED, SIGNED, FLOAT = 0, 1, 2


class Coding(NamedTuple):
    """How numbers of a dtype become keys: converted to `wide`, and read as words of its width."""

    wide: np.dtype
    kind: int

    @property
    def width(self) -> int:
        """Bits of a word."""
        return 8 * self.wide.itemsize

    @property
    def word(self) -> np.dtype:
        """The dtype of a word."""
        return np.dtype(f"uint{self.width}")

    @property
    def digits(self) -> int:
        """How many digits a key has."""
        return -(-self.width // BITS)

    def words(self, raw: np.ndarray) -> np.ndarray:
        """The words of a contiguous array."""
        return raw.astype(self.wide, copy=False).view(self.word)


@lru_cache
def coding(dtype: np.dtype) -> Coding | None:
    """The coding of a dtype; complex numbers have none."""
    if dtype.kind == "c":
        return None
    if dtype.kind in "biu":
        return Coding(np.dtype(f"{'i' if dtype.kind == 'i' else 'u'}{max(dtype.itemsize, 4)}"),
                      SIGNED if dtype.kind == "i" else UNSIGNED)
    return Coding(np.dtype(np.float64 if dtype.itemsize == 8 else np.float32), FLOAT)


def _narrowed(rows: np.ndarray) -> np.ndarray:
    """Numbers in the same order that take 32 bits, where 64-bit integers lie so close together."""
    if rows.dtype.kind not in "iu" or rows.dtype.itemsize < 8 or rows.shape[-1] < FEW:
        return rows
    low = rows.min()
    return (rows - low).astype(np.uint32) if int(rows.max()) - int(low) < 1 << 32 else rows


def _rows(raw: np.ndarray, axis: int) -> np.ndarray:
    """The array with an axis last, contiguous."""
    return contiguous(raw if axis == raw.ndim - 1 else np.moveaxis(raw, axis, -1))


def _back(rows: np.ndarray, axis: int) -> np.ndarray:
    """The last axis at its place."""
    return rows if axis == rows.ndim - 1 else np.moveaxis(rows, -1, axis)


def _launch(path: str, count: int, elements: int, *operands: np.ndarray | int) -> None:
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    kernel = kernel_of(path, tuple(array.dtype for array in arrays), len(operands) - len(arrays))
    threads.launch(kernel, count, grain(elements), *operands)


# -------------------------------------------------------------------------------------------------------- sorting
def sort(raw: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The elements along an axis in order: NaN last, descending first; axes run in memory as they did."""
    return with_axes_of(raw, _sorted(raw, axis, descending))


def _sorted(raw: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    rows = _rows(raw, axis)
    code = coding(raw.dtype)
    if code is None or rows.shape[-1] >= MOST or rows.size == 0:
        found = np.sort(rows, axis=-1)
    elif raw.dtype.itemsize == code.wide.itemsize and (rows.shape[-1] < SHORT or compiler.vector_width() > 128):
        found = copy(rows)                         # into recycled memory, which NumPy's own copy would not be
        found.sort(axis=-1)
    else:
        return _back(_sorted_by_digits(rows, code, descending), axis)
    return _back(contiguous(found[..., ::-1]) if descending else found, axis)


def _sorted_by_digits(rows: np.ndarray, code: Coding, descending: bool) -> np.ndarray:
    keys = memory.empty(rows.shape, code.word)
    _launch("sort:encode", rows.size, 2, code.words(rows), keys, code.width, code.kind, int(descending), 1)
    _sort_keys(keys, 0, code.digits)
    found = memory.empty(rows.shape, code.word)
    _launch("sort:decode", rows.size, 2, keys, found, code.width, code.kind, int(descending))
    return found.view(code.wide).astype(rows.dtype, copy=False)


def _sort_keys(keys: np.ndarray, first_bit: int, digits: int) -> None:
    """Sort rows of keys in place, by so many digits."""
    cols = keys.shape[-1]
    other = memory.empty(keys.shape, keys.dtype)
    _launch("sort:sort_keys", keys.size // cols, 8 * cols, keys, other, cols, first_bit, digits)


def argsort(raw: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The places that put the elements along an axis in order, int64, in C order; equal elements keep theirs."""
    return contiguous(_argsorted(raw, axis, descending))


def _argsorted(raw: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    rows = _rows(raw, axis)
    rows = _narrowed(rows) if rows.size else rows
    code = coding(rows.dtype)
    if code is None or rows.shape[-1] >= MOST or rows.size == 0:
        return _back(_argsort_by_numpy(rows, descending), axis)
    return _back(_places(rows, code, descending), axis)


def _argsort_by_numpy(rows: np.ndarray, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(rows, axis=-1, kind="stable").astype(np.int64, copy=False)
    return rows.shape[-1] - 1 - np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def sorted_places(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The places that put a one-dimensional array in order, and the keys in that order, equal where elements are equal
    or both NaN; without keys where a dtype has none."""
    code = coding(raw.dtype)
    if code is None or raw.size >= MOST or raw.size == 0:
        return _argsort_by_numpy(raw, False), None
    rows = _narrowed(contiguous(raw))
    code = coding(rows.dtype) or code
    places, keys = _by_digits(rows, code, False)
    return places, np.right_shift(keys, np.uint64(32), out=keys) if code.width == 32 else keys


def _places(rows: np.ndarray, code: Coding, descending: bool) -> np.ndarray:
    cols, flip = rows.shape[-1], int(descending)
    if cols >= FEW:
        return _by_digits(rows, code, descending)[0]
    keys = memory.empty(rows.shape, KEY)
    if code.width == 32:
        _launch("sort:encode_places", rows.size // cols, 2 * cols, code.words(rows), keys, cols, 32, code.kind, flip)
        keys.sort(axis=-1)
        return _low_halves(keys)
    _launch("sort:encode", rows.size, 2, code.words(rows), keys, 64, code.kind, flip, 0)
    places = np.argsort(keys, axis=-1).astype(np.int64, copy=False)
    _launch("sort:settle_ties", rows.size // cols, 4 * cols, keys, places, cols)
    return places


def _low_halves(keys: np.ndarray) -> np.ndarray:
    places = memory.empty(keys.shape, INDEX)
    np.bitwise_and(keys, np.uint64(0xFFFFFFFF), out=places.view(KEY))
    return places


def _by_digits(rows: np.ndarray, code: Coding, descending: bool) -> tuple[np.ndarray, np.ndarray]:
    """The places in order, and the keys in order (of 32-bit words in the upper half)."""
    cols, flip = rows.shape[-1], int(descending)
    keys = memory.empty(rows.shape, KEY)
    if code.width == 32:
        _launch("sort:encode_places", rows.size // cols, 2 * cols, code.words(rows), keys, cols, 32, code.kind, flip)
        _sort_keys(keys, 32, code.digits)
        return _low_halves(keys), keys
    _launch("sort:encode", rows.size, 2, code.words(rows), keys, 64, code.kind, flip, 0)
    small, other = memory.empty(rows.shape, np.dtype(np.int32)), memory.empty(rows.shape, np.dtype(np.int32))
    _launch("sort:sort_pairs", rows.size // cols, 12 * cols, keys, memory.empty(rows.shape, KEY), small, other, cols,
            code.digits)
    return small.astype(np.int64), keys


def partition(raw: np.ndarray, kth: tuple[int, ...], axis: int) -> np.ndarray:
    """The elements along an axis, those at places `kth` where sorting would put them, smaller ones before."""
    if raw.dtype.itemsize == 2 and raw.dtype.kind not in "iu":
        return partition(raw.astype(np.float32), kth, axis).astype(raw.dtype)
    return np.partition(raw, kth, axis)


def topk(raw: np.ndarray, count: int, axis: int, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest or smallest elements along an axis, in order, and their places, the first of equals first."""
    rows = _rows(raw, axis)
    cols, code = rows.shape[-1], coding(raw.dtype)
    if code is None or rows.size == 0 or cols >= MOST or cols < FEW // 2 or (count > HEAP and 2 * count > cols):
        places = argsort(rows, rows.ndim - 1, largest)[..., :count]
    elif count > HEAP:
        places = _selected(rows, code, count, largest)
    else:
        shape = (*rows.shape[:-1], count)
        places = memory.empty(shape, INDEX)
        _launch("select:first_places", prod(shape[:-1]), 2 * cols, code.words(rows), memory.empty(shape, KEY), places,
                cols, count, code.width, code.kind, int(largest))
    return _back(np.take_along_axis(rows, places, -1), axis), _back(contiguous(places), axis)


def _selected(rows: np.ndarray, code: Coding, count: int, largest: bool) -> np.ndarray:
    """The places of the first `count`, found by the digits of keys and then put in order."""
    shape, cols = (*rows.shape[:-1], count), rows.shape[-1]
    keys, places = memory.empty(rows.shape, KEY), memory.empty(shape, INDEX)
    _launch("sort:encode", rows.size, 2, code.words(rows), keys, code.width, code.kind, int(largest), 0)
    _launch("select:select_places", prod(shape[:-1]), 8 * cols, keys, places, cols, count)
    order = _places(np.take_along_axis(rows, places, -1), code, largest)
    return np.take_along_axis(places, order, -1)


# ------------------------------------------------------------------------------------------------------- searching
def searchsorted(table: np.ndarray, values: np.ndarray, side: Any) -> np.ndarray:
    """Where values belong in a sorted one-dimensional table of their dtype, int64; before equals, or behind (right)."""
    code = coding(values.dtype)
    if code is None or table.size == 0:
        return np.searchsorted(table, values, side).astype(np.int64)
    found = memory.empty(values.shape, INDEX)
    operands = contiguous(table.astype(code.wide, copy=False)), contiguous(values.astype(code.wide, copy=False))
    _launch("select:search", values.size, 64, *operands, found, table.size, int(side == "right"))
    return found
