"""Scans along an axis: running sums, products, extremes and logsumexp, and linear recurrences.

The bits of a result follow from the shape, the axis and the order of axes in memory, as those of a sum; they are the
same for any number of threads.
"""

from functools import lru_cache

import numpy as np

from . import memory, threads
from .conditions import INVALID, OVERFLOW
from .copying import contiguous
from .elementwise import reporter
from .layout import Layout, Stage, layout_of
from .steps import FLOATS, INDEX, SINGLE, grain, kernel_of, narrow, panel_of

UFUNCS = {"sum": np.add, "prod": np.multiply, "logsumexp": np.logaddexp}
COSTS = {"sum": 2, "prod": 2, "logsumexp": 40}               # of an element, in elements that are only read
WHOLE = tuple(np.dtype(name) for name in ("int64", "uint64"))
CHAINS = 16                                                  # as in loops/scan.py
SHORT = 64                                                   # of a row that is better taken beside its neighbours
RANKED = (*FLOATS, *WHOLE, np.dtype(np.int32))               # dtypes that the kernels of extremes take


def scan(kind: str, raw: np.ndarray, axis: int) -> np.ndarray:
    """Running "sum", "prod" or "logsumexp" along an axis, in the dtype of the array.

    Floats are accumulated in float64 and rounded once an element, float16 and bfloat16 in float32. Sums and products
    that overflow or become NaN warn as NumPy's. logsumexp is for floats; of nothing but -inf it is -inf.
    """
    if narrow(raw.dtype):
        with np.errstate(all="ignore"):            # the cast would warn of itself
            result = _scan(kind, raw.astype(SINGLE), axis).astype(raw.dtype)
    else:
        result = _scan(kind, raw, axis)
    if kind != "logsumexp" and raw.dtype.kind not in "biu":
        _report(raw, axis, result)
    return result


def _scan(kind: str, raw: np.ndarray, axis: int) -> np.ndarray:
    is_whole = raw.dtype in WHOLE
    if raw.size == 0 or not (raw.dtype in FLOATS or is_whole):
        with np.errstate(all="ignore"):
            return UFUNCS[kind].accumulate(raw, axis, raw.dtype)
    prefix = "whole_" if is_whole and kind == "prod" else ""
    source, stage, layout = _walked(raw, axis)
    if stage is None:
        return raw.copy()
    if kind == "logsumexp" and stage.cols < SHORT and stage.outer > stage.cols and not stage.by_columns:
        return np.moveaxis(_scan(kind, contiguous(np.moveaxis(raw, axis, 0)), 0), 0, axis)
    result = memory.empty(source.shape, raw.dtype)
    integers = (CHAINS,) if kind == "logsumexp" and not stage.by_columns else ()
    _launch(f"scan:{prefix}{kind}", stage, COSTS[kind], (source, result), integers)
    return layout.restore(result)


def _walked(raw: np.ndarray, axis: int) -> tuple[np.ndarray, Stage | None, Layout]:
    """The array as kernels walk it, the walk (none along an axis of one element), and the layout that says so."""
    layout = layout_of(raw.shape, raw.strides, raw.itemsize, (axis,))
    source = raw if layout.plain else layout.source(raw)
    return source, layout.stages[0] if layout.stages else None, layout


def _launch(path: str, stage: Stage, cost: int, arrays: tuple[np.ndarray, ...], integers: tuple[int, ...] = (),
            steps: bool = True) -> None:
    """Run `path`_rows or `path`_columns over a stage; where not `steps`, the kernel knows contiguous arrays only."""
    pointers = tuple(array.dtype for array in arrays)
    if stage.by_columns:
        panel = panel_of(stage.outer, stage.cols)
        panels = -(-stage.cols // panel)
        numbers = (stage.rows, stage.cols, *(stage.outer_step, stage.row_step) * steps, panels, panel, *integers)
        count, elements, suffix = stage.outer * panels, stage.rows * min(stage.cols, panel), "columns"
    else:
        numbers = (stage.cols, *(stage.outer_step,) * steps, *integers)
        count, elements, suffix = stage.outer, stage.cols, "rows"
    kernel = kernel_of(f"{path}_{suffix}", pointers, len(numbers))
    threads.launch(kernel, count, grain(elements * cost), *arrays, *numbers)


def _report(raw: np.ndarray, axis: int, result: np.ndarray) -> None:
    """Warn of infinities and NaNs that the array had not, which stay to the end, under the name that NumPy gives."""
    last = result[(slice(None),) * axis + (slice(-1, None),)]
    if last.size == 0 or np.isfinite(last).all():
        return
    is_new_nan = np.isnan(last) & ~np.isnan(raw).any(axis, keepdims=True)
    is_new_infinity = np.isinf(result).any(axis, keepdims=True) & ~np.isinf(raw).any(axis, keepdims=True)
    conditions = INVALID * bool(is_new_nan.any()) | OVERFLOW * bool(is_new_infinity.any())
    if conditions:
        reporter("accumulate")(conditions)


# ------------------------------------------------------------------------------------------------------ extremes
def extreme_scan(kind: str, raw: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The running "max" or "min" along an axis and the latest place of it, int64; NaN stays once it has come."""
    if raw.dtype not in RANKED:
        wide = _ranked(raw.dtype)
        values, places = extreme_scan(kind, raw.astype(wide), axis)
        return values.astype(raw.dtype), places
    if raw.size == 0:
        return raw.copy(), np.zeros(raw.shape, np.int64)
    source, stage, layout = _walked(raw, axis)
    if stage is None:
        return raw.copy(), np.zeros(raw.shape, np.int64)
    values, places = memory.empty(source.shape, raw.dtype), memory.empty(source.shape, INDEX)
    _launch("running:extreme", stage, 2, (source, values, places), (int(kind == "min"),))
    return layout.restore(values), layout.restore(places)


@lru_cache
def _ranked(dtype: np.dtype) -> np.dtype:
    """A dtype of RANKED that holds all numbers of this one in their order."""
    if narrow(dtype):
        return SINGLE
    return np.dtype(np.int64 if dtype.itemsize == 4 else np.int32)


# ----------------------------------------------------------------------------------------------------- recurrence
def recurrence(factor: np.ndarray, raw: np.ndarray, axis: int) -> np.ndarray:
    """y[i] = x[i] + factor[i] * y[i - 1] along an axis, from y[0] = x[0]; both arrays of one float or complex dtype.

    Where a factor is 0, y[i] = x[i] whatever came before.
    """
    if narrow(raw.dtype):
        return recurrence(factor.astype(SINGLE), raw.astype(SINGLE), axis).astype(raw.dtype)
    factor, raw = contiguous(factor), contiguous(raw)
    if raw.dtype not in FLOATS or raw.size == 0:
        return _recurrence_by_numpy(factor, raw, axis)
    stage = layout_of(raw.shape, raw.strides, raw.itemsize, (axis,)).stages
    if not stage:
        return raw.copy()
    result = memory.empty(raw.shape, raw.dtype)
    _launch("running:recurrence", stage[0], 4, (factor, raw, result), steps=False)
    return result


def _recurrence_by_numpy(factor: np.ndarray, raw: np.ndarray, axis: int) -> np.ndarray:
    result = raw.copy()
    slopes, values = np.moveaxis(factor, axis, 0), np.moveaxis(result, axis, 0)
    with np.errstate(all="ignore"):
        for place in range(1, len(values)):
            values[place] += np.where(slopes[place] == 0, 0, slopes[place] * values[place - 1])
    return result

