"""Reductions over any axes by kernels of fixed blocks; complex numbers and empty arrays by NumPy.

The bits of a result follow from the shape, the axes and the order of the axes in memory, from the slowest to the
fastest. They are the same for any number of threads (a block is summed by one thread, and blocks are merged in order),
any strides of that order, negative ones too, and any alignment. Another order of axes in memory, C or Fortran, may give
sums with other last bits: elements that are neighbours in memory are added first.
"""
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..shapes import Shape, reduced_shape
from .conditions import INVALID, OVERFLOW
from .copying import contiguous
from .elementwise import reporter
from .layout import layout_of
from .stages import MakeStep, fold_step, staged, sum_step
from .steps import DOUBLE, EXP, FLOATS, INDEX, SINGLE, Step, narrow, stage_step, told


def reduce(kind: str, raw: np.ndarray, axes: Shape, keepdims: bool, dtype: np.dtype) -> np.ndarray:
    """Reduce over `axes` (normalised, at least one) to `dtype`; `kind` is one of KINDS.

    Floats are accumulated at least in their own precision: blocks of 1 KiB, totals of blocks in float64 with
    their rounding errors; products in float64. float16 and bfloat16 are accumulated in float32. Sums and products that
    overflow or are invalid warn as NumPy's. NaN propagates through max and min, and is nothing to nanmax and its kin.
    """
    found = _reduction(kind, raw.shape, raw.strides, raw.dtype, axes, keepdims, dtype)(raw)
    if told.word[0]:
        told.word[0] = 0
        _report(kind, raw, axes, keepdims, found)
    return found


@lru_cache(4096)
def _reduction(kind: str, shape: Shape, strides: Shape, source: np.dtype, axes: Shape, keepdims: bool,
               dtype: np.dtype) -> Step:
    """The function that reduces arrays of this layout."""
    found = KINDS[kind]
    if narrow(source):
        return partial(_narrow_reduction, kind, axes, keepdims, dtype)
    steps = found.steps(source, dtype)
    if steps and 0 not in shape:
        layout = layout_of(shape, strides, source.itemsize, axes)
        if layout.stages:
            between = found.between if found.between and source in FLOATS else dtype
            return staged(layout, *steps, (source, between, dtype), shape, axes, keepdims)
    return lambda raw: np.asarray(found.by_numpy(raw, axis=axes, keepdims=keepdims), dtype)


def _narrow_reduction(kind: str, axes: Shape, keepdims: bool, dtype: np.dtype, raw: np.ndarray) -> np.ndarray:
    """The reduction of float16 or bfloat16 by way of float32."""
    single = raw.astype(SINGLE)
    if dtype.kind in "biu":
        return reduce(kind, single, axes, keepdims, dtype)
    if kind in ("max", "min"):
        return reduce(kind, single, axes, keepdims, SINGLE).astype(dtype)
    with np.errstate(all="ignore"):            # the cast would warn of itself, as no reduction of NumPy does
        result = reduce(kind, single, axes, keepdims, SINGLE).astype(dtype)
    if not np.isfinite(result).all():
        _report(kind, raw, axes, keepdims, result)
    return result


def _report(kind: str, raw: np.ndarray, axes: Shape, keepdims: bool, result: np.ndarray) -> None:
    """Warn of infinities and NaNs in a result that its operand had not, under the name that NumPy gives."""
    is_new_nan = np.isnan(result)
    if not kind.startswith("nan"):
        is_new_nan &= ~np.isnan(raw).any(axes, keepdims=keepdims)
    elif kind in ("nanmax", "nanmin"):
        return
    is_new_infinity = np.isinf(result) & ~np.isinf(raw).any(axes, keepdims=keepdims)
    conditions = INVALID * bool(is_new_nan.any()) | OVERFLOW * bool(is_new_infinity.any())
    if conditions:
        reporter("reduce")(conditions)


# ------------------------------------------------------------------------------------------ kinds of reductions
def _fold(path: str, part: np.dtype | None = None) -> MakeStep:
    return partial(fold_step, path, path.startswith("folds:"), part)


class Kind(NamedTuple):
    """A kind of reduction: NumPy's function, and the steps by kernels of the first stage and of those after it."""

    by_numpy: Callable
    floats: tuple[MakeStep, MakeStep]
    integers: tuple[MakeStep, MakeStep] | None = None
    between: np.dtype | None = None                # of what lies between stages of floats; none: as the result
    is_arithmetic: bool = True                     # whether bools are numbers in it

    def steps(self, source: np.dtype, dtype: np.dtype) -> tuple[MakeStep, MakeStep] | None:
        """The steps for these dtypes of an array and its result; none: NumPy does it."""
        if source in FLOATS:
            return self.floats
        if source.kind in "biu" and dtype.kind in ("iu" if self.is_arithmetic else "biu"):
            return self.integers
        return None


def _kinds() -> dict[str, Kind]:
    total, product = partial(sum_step, "sum"), _fold("folds:prod", DOUBLE)
    wholes = {name: (_fold(f"folds:{name}"),) * 2 for name in ("sum", "product", "max", "min", "any", "all")}
    best = {name: (_fold(f"extremes:{name}"),) * 2 for name in ("max", "min", "nanmax", "nanmin")}
    return {
        "sum": Kind(np.add.reduce, (total, total), wholes["sum"], DOUBLE),
        "nansum": Kind(np.nansum, (partial(sum_step, "nansum"), total), wholes["sum"], DOUBLE),
        "sizes": Kind(lambda raw, **how: np.abs(raw).sum(**how), (partial(sum_step, "sizes"), total), None, DOUBLE),
        "squares": Kind(lambda raw, **how: (raw * raw).sum(**how), (partial(sum_step, "squares"), total), None, DOUBLE),
        "prod": Kind(np.multiply.reduce, (product, product), wholes["product"], DOUBLE),
        "nanprod": Kind(np.nanprod, (_fold("folds:nanprod", DOUBLE), product), wholes["product"], DOUBLE),
        "max": Kind(np.maximum.reduce, best["max"], wholes["max"], is_arithmetic=False),
        "min": Kind(np.minimum.reduce, best["min"], wholes["min"], is_arithmetic=False),
        "nanmax": Kind(np.fmax.reduce, best["nanmax"], wholes["max"], is_arithmetic=False),
        "nanmin": Kind(np.fmin.reduce, best["nanmin"], wholes["min"], is_arithmetic=False),
        "any": Kind(np.logical_or.reduce, wholes["any"], wholes["any"], is_arithmetic=False),
        "all": Kind(np.logical_and.reduce, wholes["all"], wholes["all"], is_arithmetic=False),
        "count_nonzero": Kind(np.count_nonzero, (_fold("folds:truths"), wholes["sum"][0]),
                              (_fold("folds:truths"), wholes["sum"][0])),
        "count_numbers": Kind(lambda raw, **how: (raw == raw).sum(**how), (_fold("folds:numbers"), wholes["sum"][0])),
    }


KINDS = _kinds()


def arg_reduce(kind: str, raw: np.ndarray, axis: int, keepdims: bool) -> np.ndarray:
    """The place of the first maximum or minimum along an axis, int64; the first NaN where there is one."""
    return _arg_reduction(kind, raw.shape, raw.strides, raw.dtype, axis, keepdims)(raw)


@lru_cache(4096)
def _arg_reduction(kind: str, shape: Shape, strides: Shape, source: np.dtype, axis: int, keepdims: bool) -> Step:
    """The function that finds places in arrays of this layout."""
    if narrow(source):
        return lambda raw: arg_reduce(kind, raw.astype(SINGLE), axis, keepdims)
    if source not in FLOATS or 0 in shape:
        by_numpy = np.argmax if kind == "max" else np.argmin
        return lambda raw: np.asarray(by_numpy(raw, axis=axis, keepdims=keepdims), np.int64)
    layout = layout_of(shape, strides, source.itemsize, (axis,))
    if not layout.stages:
        return lambda raw: np.zeros(reduced_shape(shape, (axis,), keepdims), np.int64)
    step = partial(stage_step, "extremes:arg", integers=(int(kind == "min"),))
    return staged(layout, step, step, (source, source, INDEX), shape, (axis,), keepdims)


def logsumexp(raw: np.ndarray, axes: Shape, keepdims: bool) -> np.ndarray:
    """log(sum(exp(x))) over axes; -inf where all elements are, NaN where one is, inf where one is."""
    return _logsumexp(raw.shape, raw.strides, raw.dtype, axes, keepdims)(raw)


@lru_cache(4096)
def _logsumexp(shape: Shape, strides: Shape, dtype: np.dtype, axes: Shape, keepdims: bool) -> Step:
    """The function for arrays of this layout: one stage as it is, more by reduced axes moved to the end."""
    if narrow(dtype):
        return lambda raw: logsumexp(raw.astype(SINGLE), axes, keepdims).astype(dtype)
    if 0 in shape:
        return lambda raw: np.full(reduced_shape(shape, axes, keepdims), -np.inf, dtype)
    layout = layout_of(shape, strides, dtype.itemsize, axes)
    if len(layout.stages) == 1:
        step = partial(stage_step, "softmax:logsumexp", cost=EXP)
        return staged(layout, step, step, (dtype, dtype, dtype), shape, axes, keepdims)
    if not layout.stages:
        return lambda raw: raw.reshape(reduced_shape(shape, axes, keepdims)).copy()
    order = [axis for axis in range(len(shape)) if axis not in axes] + list(axes)
    last = tuple(range(len(shape) - len(axes), len(shape)))
    result = reduced_shape(shape, axes, keepdims)
    return lambda raw: logsumexp(contiguous(raw.transpose(order)), last, False).reshape(result)
