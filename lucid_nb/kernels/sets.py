"""Distinct elements and membership, by sorting, or by a table where integers lie close together."""

import numpy as np

from . import memory, threads
from .index import gather
from .sort import searchsorted, sort, sorted_places
from .steps import INDEX, range_kernel

ROOM = 4                          # entries of a table that an element is worth
NUMBER = range_kernel("select:number_runs", "uint8*", "int64*", "int64*", "int64")
FEW = 6                           # elements to compare with, one after the other


def unique(raw: np.ndarray, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> tuple[np.ndarray, ...]:
    """The distinct elements of a one-dimensional array in order, and what is asked for, int64.

    The first place of each, the place of each element among the distinct ones, how often each occurs. NaN is one
    element where equal_nan, otherwise each is its own.
    """
    if raw.dtype.kind in "biu" and raw.size:
        low, high = int(raw.min()), int(raw.max())
        if high - low < ROOM * raw.size:
            return _unique_by_table(raw, low, high, index, inverse, counts)
    if not (index or inverse):
        return _unique_values(raw, counts, equal_nan)
    places, keys = sorted_places(raw)
    is_new = _is_new(keys if equal_nan and keys is not None else gather(raw, places), equal_nan)
    starts = np.flatnonzero(is_new)
    found = [gather(raw, places[starts])]
    if index:
        found.append(places[starts])
    if inverse:
        numbers = memory.empty(raw.shape, INDEX)
        threads.launch(NUMBER, 1, 1, is_new, places, numbers, raw.size)
        found.append(numbers)
    return (*found, _sizes(starts, raw.size)) if counts else tuple(found)


def _sizes(starts: np.ndarray, total: int) -> np.ndarray:
    """How many elements each run has."""
    return np.diff(starts, append=total).astype(np.int64, copy=False)


def _is_new(ordered: np.ndarray, equal_nan: bool) -> np.ndarray:
    """Which elements of an ordered array differ from the one before."""
    found = np.ones(ordered.shape, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=found[1:])
    if equal_nan and ordered.dtype.kind not in "biu":
        # NaNs are last; of complex numbers, whose order has NaN in four places, each is tested.
        is_nan = np.isnan(ordered)
        found[1:] &= ~(is_nan[1:] & is_nan[:-1])
    return found


def _unique_values(raw: np.ndarray, counts: bool, equal_nan: bool) -> tuple[np.ndarray, ...]:
    ordered = sort(raw, 0, False)
    is_new = _is_new(ordered, equal_nan)
    if not counts:
        return (ordered[is_new],)
    starts = np.flatnonzero(is_new)
    return ordered[starts], _sizes(starts, raw.size)


def _unique_by_table(raw: np.ndarray, low: int, high: int, index: bool, inverse: bool, counts: bool
                     ) -> tuple[np.ndarray, ...]:
    """Integers from low to high, which are all in a table."""
    wide = np.dtype(np.uint64 if raw.dtype.kind == "u" else np.int64)
    offsets = _offsets(raw, low)
    sizes = np.bincount(offsets, minlength=high - low + 1)
    present = np.flatnonzero(sizes)
    found = [(present.astype(wide) + wide.type(low)).astype(raw.dtype, copy=False)]
    if index:
        first = memory.empty(sizes.shape, INDEX)
        first[offsets[::-1]] = np.arange(raw.size)[::-1]           # of several writes the last one counts
        found.append(first[present])
    if inverse:
        numbers = np.cumsum(sizes != 0) - 1
        found.append(gather(numbers, offsets))
    return (*found, sizes[present].astype(np.int64, copy=False)) if counts else tuple(found)


def isin(raw: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Which elements are among the one-dimensional `members`, of the same dtype; NaN never is."""
    if members.size <= FEW:
        found = np.zeros(raw.shape, bool)
        for member in members:
            found |= raw == member
        return found
    if raw.dtype.kind in "biu":
        low, high = int(members.min()), int(members.max())
        if high - low < ROOM * (raw.size + members.size):
            return _isin_by_table(raw, members, low, high)
    ordered = sort(members, 0, False)
    places = np.minimum(searchsorted(ordered, raw, "left"), members.size - 1)
    return gather(ordered, places) == raw


def _isin_by_table(raw: np.ndarray, members: np.ndarray, low: int, high: int) -> np.ndarray:
    """Membership of integers, all members from low to high in a table; below it, differences wrap to beyond it."""
    table = np.zeros(high - low + 2, bool)
    table[_offsets(members, low)] = True
    places = _offsets(raw, low).view(np.uint64)
    return gather(table, np.minimum(places, np.uint64(high - low + 1), out=places).view(np.int64))


def _offsets(raw: np.ndarray, low: int) -> np.ndarray:
    """Distances from `low`, int64; new memory, of a 0-d array too."""
    wide = np.dtype(np.uint64 if raw.dtype.kind == "u" else np.int64)
    return np.asarray(raw.astype(wide, copy=False) - wide.type(low)).view(np.int64)
