"""Comparison of arrays, in units of the last place or by tolerances."""

from typing import Any

import numpy as np

from .. import dtypes
from ..array import Tensor
from ..errors import DTypeError


def assert_close(actual: Any, expected: Any, *, ulp: float | None = None, rtol: float | None = None,
                 atol: float | None = None) -> None:
    """Raise AssertionError unless two arrays have one shape and agree, element by element.

    `ulp`: the largest distance in units in the last place of `actual`'s dtype, taken at the expected value; `expected`
    may be given in a wider dtype. `rtol`, `atol`: `|actual - expected| <= atol + rtol * |expected|`. A distance that
    one of them allows is allowed. With none of them, half the digits of the coarser dtype must agree, and integers and
    bools must be equal. NaN agrees with NaN, infinities only with themselves; with ulp=0 also the signs of zeros count.

    >>> from lucid_nb.testing import assert_close
    >>> assert_close([0.1 + 0.2], [0.3], ulp=1)
    >>> assert_close([1.0, 2.0], [1.0, 2.5], rtol=0.1)
    Traceback (most recent call last):
    ...
    AssertionError: assert_close: 1 of 2 elements differ. Worst at (1,): 2.0 instead of 2.5, off by 0.5 = 1.13e+15 ulp.
    """
    found, wanted = _host(actual), _host(expected)
    if found.shape != wanted.shape:
        raise AssertionError(f"assert_close: shape {found.shape} instead of {wanted.shape}.")
    if not (dtypes.is_inexact(found.dtype) or dtypes.is_inexact(wanted.dtype)):
        _raise_where(found != wanted, found, wanted, np.zeros(found.shape))
        return
    if ulp is rtol is atol is None:
        rtol = max(float(np.sqrt(_epsilon(a.dtype))) for a in (found, wanted) if dtypes.is_inexact(a.dtype))
    with np.errstate(all="ignore"):
        wide = np.result_type(_widest(found), _widest(wanted))
        a, b = found.astype(wide), wanted.astype(wide)
        unit = _unit(found.dtype, wanted)
        off = np.abs(a - b)
        is_close = (off <= (ulp or 0.0) * unit) | (off <= (atol or 0.0) + (rtol or 0.0) * np.abs(b))
        is_close = np.where(np.isfinite(a) & np.isfinite(b), is_close, (a == b) | (np.isnan(a) & np.isnan(b)))
        if ulp == 0 and wide.kind == "f":
            is_close &= np.isnan(a) | (np.signbit(a) == np.signbit(b))
    _raise_where(~is_close, found, wanted, off / unit)


def _host(x: Any) -> np.ndarray:
    found = x.to_host() if isinstance(x, Tensor) else np.asarray(x)
    if found.dtype.kind == "O":
        raise DTypeError(f"assert_close: got a {type(x).__name__}. Give numbers, or arrays and lists of numbers.")
    return found


def _widest(x: np.ndarray) -> np.dtype:
    return np.dtype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def _epsilon(dtype: np.dtype) -> float:
    return 2.0 ** -7 if dtype == dtypes.BFLOAT16 else float(np.finfo(dtype).eps)


def _unit(dtype: np.dtype, expected: np.ndarray) -> np.ndarray:
    """The distance of neighbouring numbers of `dtype` at the expected values, never below the smallest subnormal."""
    dtype = dtype if dtypes.is_inexact(dtype) else expected.dtype
    digits = 7 if dtype == dtypes.BFLOAT16 else np.finfo(dtype).nmant
    lowest = -126 if dtype == dtypes.BFLOAT16 else np.finfo(dtype).minexp
    magnitude = np.abs(expected.astype(_widest(expected)))
    exponent = np.frexp(np.where(np.isfinite(magnitude) & (magnitude > 0), magnitude, 1))[1] - 1
    exponent = np.where(magnitude == 0, lowest, np.maximum(exponent, lowest))
    return np.ldexp(np.longdouble(1), exponent - digits)


def _raise_where(differs: np.ndarray, found: np.ndarray, wanted: np.ndarray, units: np.ndarray) -> None:
    if not np.any(differs):
        return
    worst = np.unravel_index(int(np.argmax(np.where(differs, np.nan_to_num(units, nan=np.inf), -1))), differs.shape)
    got, should = found[worst], wanted[worst]
    off = "" if found.dtype.kind == "b" else f", off by {abs(float(abs(got - should))):.3g}" \
        if dtypes.is_inexact(found.dtype) else f", off by {abs(int(got) - int(should))}"
    units_text = f" = {float(units[worst]):.3g} ulp" if dtypes.is_inexact(found.dtype) else ""
    units_text += " (the signs of zeros differ)" if got == should else ""
    raise AssertionError(f"assert_close: {np.count_nonzero(differs)} of {differs.size} elements differ. Worst at "
                         f"{tuple(map(int, worst))}: {got} instead of {should}{off}{units_text}.")
