"""Searching sorted arrays, distinct elements and membership, by sorting on the device; only how many distinct elements
there are is read on the host. NaN counts as larger than every number."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from . import array as geometry
from . import runtime
from .array import DeviceArray
from .copy import contiguous, to_numpy
from .index import gather
from .keys import encoder, is_float, key, nan_class, part_of, words
from .runtime import cuda, inline
from .scan import scan
from .sort import places_of, sort

INDEX = np.dtype(np.int64)


# ----------------------------------------------------------------------------------------------- comparing words
@cache
def _precedes(dtype: np.dtype) -> Callable:
    """Does element i of x come before element j of y in the order of numbers? Both are words."""
    if dtype.kind == "c":
        return _precedes_complex(dtype)
    encode = encoder(dtype)

    def precedes(x, i, y, j):
        return encode(x[i]) < encode(y[j])
    return inline(precedes)


def _precedes_complex(dtype: np.dtype) -> Callable:
    encode, classify = encoder(part_of(dtype)), nan_class(dtype)

    def precedes(x, i, y, j):
        one, other = classify(x[2 * i], x[2 * i + 1]), classify(y[2 * j], y[2 * j + 1])
        if one != other:
            return one < other
        real, other_real = encode(x[2 * i]), encode(y[2 * j])
        if real != other_real:
            return real < other_real
        return encode(x[2 * i + 1]) < encode(y[2 * j + 1])
    return inline(precedes)


@cache
def _is_nan(dtype: np.dtype) -> Callable:
    """Is element i of words NaN?"""
    if dtype.kind == "c":
        classify = nan_class(dtype)

        def is_nan_complex(x, i):
            return classify(x[2 * i], x[2 * i + 1]) != 0
        return inline(is_nan_complex)
    encode, last = encoder(dtype), key(dtype).type(2 ** (8 * dtype.itemsize) - 1)
    may_be = is_float(dtype)

    def is_nan(x, i):
        return may_be and encode(x[i]) == last
    return inline(is_nan)


@cache
def _place(dtype: np.dtype) -> Callable:
    """Where value i belongs in a sorted table: before equal elements, or behind them (right)."""
    precedes = _precedes(dtype)

    def place(table, size, values, i, right):
        low, high = np.int64(0), np.int64(size)
        while low < high:
            middle = (low + high) // 2
            is_before = not precedes(values, i, table, middle) if right else precedes(table, middle, values, i)
            if is_before:
                low = middle + 1
            else:
                high = middle
        return low
    return inline(place)


# ----------------------------------------------------------------------------------------------------- searching
@cache
def _search_kernel(dtype: np.dtype) -> Any:
    place = _place(dtype)

    def search(count, table, size, values, found, right):
        i = cuda.grid(1)
        while i < count:
            found[i] = place(table, size, values, i, right != 0)
            i += cuda.gridsize(1)
    return runtime.kernel(search)


def searchsorted(table: DeviceArray, values: DeviceArray, side: str) -> DeviceArray:
    """Where values belong in a sorted one-dimensional table of their dtype, int64; before equals, or behind (right)."""
    found = geometry.empty(values.shape, INDEX)
    runtime.launch_each(_search_kernel(values.element), found.size, found.size, words(table), table.size, words(values),
                        found.memory, int(side == "right"))
    return found


@cache
def _member_kernel(dtype: np.dtype) -> Any:
    place, precedes, is_nan = _place(dtype), _precedes(dtype), _is_nan(dtype)

    def find_members(count, members, size, values, found):
        i = cuda.grid(1)
        while i < count:
            at = place(members, size, values, i, False)
            is_member = False
            if at < size:
                is_member = not precedes(values, i, members, at) and not is_nan(values, i)
            found[i] = is_member
            i += cuda.gridsize(1)
    return runtime.kernel(find_members)


def isin(raw: DeviceArray, members: DeviceArray) -> DeviceArray:
    """Which elements are among the one-dimensional `members`, of the same dtype; NaN never is."""
    found = geometry.empty(raw.shape, np.dtype(np.bool_))
    if found.size:
        runtime.launch_each(_member_kernel(raw.element), raw.size, raw.size, words(sort(members, 0, False)),
                            members.size, words(raw), found.memory)
    return found


# ------------------------------------------------------------------------------------------------ distinct elements
@cache
def _news_kernel(dtype: np.dtype, equal_nan: bool) -> Any:
    precedes, is_nan = _precedes(dtype), _is_nan(dtype)

    def find_new(count, x, places, news):
        i = cuda.grid(1)
        while i < count:
            is_new = True
            if i > 0:
                before, here = places[i - 1], places[i]
                is_new = precedes(x, before, x, here)
                if is_nan(x, before) and is_nan(x, here):
                    is_new = not equal_nan
            news[i] = 1 if is_new else 0
            i += cuda.gridsize(1)
    return runtime.kernel(find_new)


@runtime.kernel
def _runs_kernel(count, places, news, numbers, starts, first, inverse, wants_inverse):
    """Of each run of equals where it starts and its first place, and for each element the number of its run."""
    i = cuda.grid(1)
    while i < count:
        number = numbers[i] - 1
        if news[i] != 0:
            starts[number] = i
            first[number] = places[i]
        if wants_inverse != 0:
            inverse[places[i]] = number
        i += cuda.gridsize(1)


@runtime.kernel
def _sizes_kernel(count, starts, sizes, total):
    i = cuda.grid(1)
    while i < count:
        stop = starts[i + 1] if i + 1 < count else total
        sizes[i] = stop - starts[i]
        i += cuda.gridsize(1)


def _places(count: int) -> DeviceArray:
    return geometry.empty((count,), INDEX)


def unique(raw: DeviceArray, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> tuple[DeviceArray, ...]:
    """The distinct elements of a one-dimensional array in order, and what is asked for, int64.

    The first place of each, the place of each element among the distinct ones, how often each occurs. NaN is one
    element where equal_nan, otherwise each is its own.
    """
    size, raw = raw.size, contiguous(raw)
    order = places_of(geometry.view(raw, (1, size), (size, 1)), False)
    news = _places(size)
    runtime.launch_each(_news_kernel(raw.element, equal_nan), size, size, words(raw), order.memory, news.memory)
    numbers = scan("sum", news, 0)
    distinct = int(to_numpy(geometry.slice_view(numbers, (-1,)))) if size else 0
    starts, first, numbered = _places(distinct), _places(distinct), _places(size if inverse else 0)
    runtime.launch_each(_runs_kernel, size, size, order.memory, news.memory, numbers.memory, starts.memory,
                        first.memory, numbered.memory, int(inverse))
    sizes = _places(distinct if counts else 0)
    runtime.launch_each(_sizes_kernel, sizes.size, sizes.size, starts.memory, sizes.memory, size)
    found = ((first, index), (numbered, inverse), (sizes, counts))
    return (gather(raw, first), *[part for part, is_wanted in found if is_wanted])
