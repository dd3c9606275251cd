"""What scans combine: for each kind and dtype how elements become states, and what two neighbouring states come to.

A state is one number, or a pair: an extreme and its place, or the slope and the value of an affine map.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import BOOL
from .reduce import both, either, larger, smaller
from .runtime import inline
from .scalars import compute, highest, lowest, narrow, widen_to
from .vocabulary import functions

DOUBLE, COMPLEX, INDEX = np.dtype(np.float64), np.dtype(np.complex128), np.dtype(np.int64)
SMALLEST = 1e-290                          # above it no product of a few elements has lost digits


@inline
def _never(state):
    """No state of this kind stays as it is."""
    return False


@inline
def _itself(state):
    """Nothing is left out."""
    return state


class Scan(NamedTuple):
    """A kind of scan for a dtype: a state is one number or a pair, in one or two arrays.

    A state is settled that nothing but the unit of what comes later changes, in which nothing is ever lost: of a
    product that has become 0 or infinite, signs.
    """

    load: Callable                         # of two arrays, a place in them, and how far along the axis
    store: Callable                        # to two arrays, at a place
    combine: Callable                      # an earlier state and a later one
    identity: Any
    dtypes: tuple[np.dtype, ...]           # of a state
    fault: Callable | None = None          # whether what two states came to is not what single steps give
    blocks: int = 4                        # that registers leave room for, so that none is spilled
    settled: Callable = _never
    unit: Callable = _itself


# ---------------------------------------------------------------------------------------------------- one number
@inline
def _size(x):
    """|x|, or for complex numbers what is as good for bounds."""
    return abs(x.real) + abs(x.imag)


@inline
def _is_lost(a, b, product):
    """Whether a product of two finite numbers overflowed or came near to vanishing."""
    size = _size(product)
    return a != 0 and b != 0 and not (SMALLEST < size and size < np.inf) and _size(a) < np.inf and _size(b) < np.inf


@inline
def _stays(product):
    """Does no finite factor but 0 change more of a product than its sign?"""
    return product == 0 or not abs(product) < np.inf


@inline
def _sign(x):
    """1 or -1 of what is neither 0 nor infinite nor NaN."""
    return x if x == 0 or not abs(x) < np.inf else np.float64(1) if x > 0 else np.float64(-1)


@inline
def _vanished(product):
    """Does no finite factor change a complex product?"""
    return product == 0


@inline
def _phaseless(z):
    """1 of what is neither 0 nor infinite nor NaN."""
    return np.complex128(1) if z != 0 and _size(z) < np.inf else z


def adder(number: type) -> Callable:
    """Sums of a dtype; short integers wrap."""
    def add(a, b):
        return number(a + b)
    return inline(add)


def multiplier(number: type) -> Callable:
    """Products of a dtype; short integers wrap."""
    def multiply(a, b):
        return number(a * b)
    return inline(multiply)


def _log_adder() -> Callable:
    """log(exp(a) + exp(b)); the larger one where it is infinite or NaN."""
    entries = functions("float64")
    exp, log1p = entries["exp"], entries["log1p"]

    def log_add(a, b):
        top = larger(a, b)
        return top + log1p(exp(smaller(a, b) - top)) if abs(top) < np.inf else top
    return inline(log_add)


def _rounded(dtype: np.dtype) -> Callable:
    """The cast from float64 to memory; to 16 bits by way of float32."""
    store = narrow(dtype)

    def halve(value):
        return store(np.float32(value))
    return inline(halve) if compute(dtype) != dtype else store


def _accumulator(dtype: np.dtype) -> np.dtype:
    """Floats are accumulated in float64, integers in their own width."""
    if dtype == BOOL:
        return np.dtype(np.uint8)
    return COMPLEX if dtype.kind == "c" else dtype if dtype.kind in "iu" else DOUBLE


def _zero(dtype: np.dtype) -> Any:
    """The identity of sums; of floats -0.0, as 0.0 would take the sign of a leading -0.0."""
    return dtype.type(0 if dtype.kind in "iu" else complex(-0.0, -0.0) if dtype.kind == "c" else -0.0)


@inline
def load_number(x, second, at, k):
    """One array's number."""
    return x[at]


@inline
def store_number(y, second, at, state):
    """The number, to one array."""
    y[at] = state


@inline
def load_pair(x, second, at, k):
    """The numbers of two arrays."""
    return x[at], second[at]


@inline
def store_pair(y, second, at, state):
    """A pair, to two arrays."""
    y[at] = state[0]
    second[at] = state[1]


@cache
def running_of(kind: str, dtype: np.dtype) -> Scan:
    """The scan of "sum", "prod" or "logsumexp"."""
    total = _accumulator(dtype)
    widen, rounded = widen_to(dtype, total), _rounded(dtype)

    def load(x, second, at, k):
        return widen(x[at])

    def store(y, second, at, state):
        y[at] = rounded(state)
    if kind == "logsumexp":
        combine, identity = _log_adder(), total.type(-np.inf)
    elif kind == "sum":
        combine, identity = either if dtype == BOOL else adder(total.type), _zero(total)
    else:
        combine, identity = both if dtype == BOOL else multiplier(total.type), total.type(1)
    is_large = kind == "logsumexp" or total == COMPLEX
    how = Scan(inline(load), inline(store), combine, identity, (total,), blocks=3 if is_large else 4)
    if kind == "prod" and dtype.kind not in "biu":
        settled, unit = (_vanished, _phaseless) if total == COMPLEX else (_stays, _sign)
        return how._replace(fault=_is_lost, blocks=3, settled=settled, unit=unit)
    return how


# ------------------------------------------------------------------------------------------------------- a pair
@inline
def _later_maximum(a, b):
    """The latest of the largest; NaN is larger than all. Nothing has come at a negative place."""
    wins = b[1] >= 0 and (b[0] >= a[0] or b[0] != b[0])
    return b[0] if wins else a[0], b[1] if wins else a[1]


@inline
def _later_minimum(a, b):
    """As `_later_maximum`, for the smallest."""
    wins = b[1] >= 0 and (b[0] <= a[0] or b[0] != b[0])
    return b[0] if wins else a[0], b[1] if wins else a[1]


@cache
def extreme_of(kind: str, dtype: np.dtype) -> Scan:
    """The scan of an extreme and its place."""
    number = np.dtype(np.uint8) if dtype == BOOL else compute(dtype)
    widen, back = widen_to(dtype, number), narrow(dtype)
    combine, worst = (_later_maximum, lowest) if kind == "max" else (_later_minimum, highest)

    def load(x, second, at, k):
        return widen(x[at]), np.int64(k)

    def store(y, places, at, state):
        y[at] = back(state[0])
        places[at] = state[1]
    return Scan(inline(load), inline(store), combine, (number.type(worst(number)), np.int64(-1)), (number, INDEX),
                blocks=3)


@cache
def recurrence_of(dtype: np.dtype) -> Scan:
    """The scan of affine maps: a slope and a value. A slope of 0 absorbs whatever came before."""
    total = _accumulator(dtype)
    widen, rounded, zero = widen_to(dtype, total), _rounded(dtype), total.type(0)

    def load(x, factor, at, k):
        return zero if k == 0 else widen(factor[at]), widen(x[at])

    def store(y, second, at, state):
        y[at] = rounded(state[1])

    def combine(a, b):
        slope = zero if a[0] == zero or b[0] == zero else a[0] * b[0]
        return slope, b[1] if b[0] == zero else b[1] + b[0] * a[1]

    def fault(a, b, state):
        size = _size(state[0])
        if a[0] != zero and b[0] != zero and not (SMALLEST < size and size < np.inf):
            return True
        return _size(a[1]) < np.inf and _size(b[1]) < np.inf and not _size(state[1]) < np.inf
    how = Scan(inline(load), inline(store), inline(combine), (total.type(1), _zero(total)), (total, total),
               inline(fault), 2 if total == COMPLEX else 3)
    return how if total != DOUBLE or dtype == DOUBLE else how._replace(combine=_floored_combine, fault=_floored_fault)


@inline
def _floored_combine(a, b):
    """As recurrences of doubles combine, but slopes do not vanish: what the smallest one leaves of a value is nothing
    beside numbers of fewer bits, and a memory that fades is not a fault."""
    slope = 0.0 if a[0] == 0 or b[0] == 0 else a[0] * b[0]
    if a[0] != 0 and b[0] != 0 and abs(slope) < SMALLEST:
        slope = SMALLEST
    return slope, b[1] if b[0] == 0 else b[1] + b[0] * a[1]


@inline
def _floored_fault(a, b, state):
    """Whether a slope overflowed or grew from the smallest one, met a value so large that it leaves something, or a
    value overflowed."""
    if a[0] != 0 and b[0] != 0 and not abs(state[0]) < np.inf:
        return True
    small, large = min(abs(a[0]), abs(b[0])), max(abs(a[0]), abs(b[0]))
    if (0 < small and small <= SMALLEST and large > 1) or (abs(b[0]) <= SMALLEST and b[0] != 0 and abs(a[1]) > 1e200):
        return True
    return abs(a[1]) < np.inf and abs(b[1]) < np.inf and not abs(state[1]) < np.inf
