"""Reductions over any axes: sum, max and min of floats by kernels of fixed blocks, everything else by NumPy.

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
from . import threads
from .copying import contiguous
from .elementwise import INVALID, OVERFLOW, reporter
from .layout import Layout, Stage, layout_of
from .steps import DOUBLE, EXP, FLOATS, GRAIN, INDEX, PANEL, SINGLE, Step, kernel_of, kernel_step, narrow, stage_step

BLOCK_BYTES, ROW_BLOCK, EXTREME_BLOCK = 1024, 32, 1024        # as in loops/
Pair = tuple[np.dtype, np.dtype]                              # of the array and of the result
MakeStep = Callable[[Stage, Pair, Shape], Step]


def reduce(kind: str, raw: np.ndarray, axes: Shape, keepdims: bool, dtype: np.dtype) -> np.ndarray:
    """Reduce over `axes` (normalised, at least one) to `dtype`.

    Floats are accumulated at least in their own precision: blocks of 1 KiB, totals of blocks in float64 with
    their rounding errors. float16 and bfloat16 are accumulated in float32; sums and products of them that overflow or
    are invalid warn as NumPy's. NaN propagates through max and min.
    """
    return _reduction(kind, raw.shape, raw.strides, raw.dtype, axes, keepdims, dtype)(raw)


@lru_cache(4096)
def _reduction(kind: str, shape: Shape, strides: Shape, source: np.dtype, axes: Shape, keepdims: bool,
               dtype: np.dtype) -> Step:
    """The function that reduces arrays of this layout."""
    found = KINDS[kind]
    if narrow(source) and not found.logical:
        return partial(_narrow_reduction, kind, axes, keepdims, dtype)
    if found.step and source in FLOATS and dtype in FLOATS and 0 not in shape:
        layout = layout_of(shape, strides, source.itemsize, axes)
        if layout.stages:
            return staged(layout, found.step, (source, found.between or source, dtype), shape, axes, keepdims)
    return _by_numpy(found.ufunc, axes, keepdims, {} if found.logical else {"dtype": dtype})


def _narrow_reduction(kind: str, axes: Shape, keepdims: bool, dtype: np.dtype, raw: np.ndarray) -> np.ndarray:
    """The reduction of float16 or bfloat16 by way of float32."""
    if kind in ("max", "min"):
        return reduce(kind, raw.astype(SINGLE), axes, keepdims, SINGLE).astype(dtype)
    with np.errstate(all="ignore"):            # the cast would warn of itself, as no reduction of NumPy does
        result = reduce(kind, raw.astype(SINGLE), axes, keepdims, SINGLE).astype(dtype)
    if not np.isfinite(result).all():
        _report(raw, axes, keepdims, result)
    return result


def _report(raw: np.ndarray, axes: Shape, keepdims: bool, result: np.ndarray) -> None:
    """Warn of infinities and NaNs in a result that its operand had not, under the name that NumPy gives."""
    is_new_nan = np.isnan(result) & ~np.isnan(raw).any(axes, keepdims=keepdims)
    is_new_infinity = np.isinf(result) & ~np.isinf(raw).any(axes, keepdims=keepdims)
    conditions = INVALID * bool(is_new_nan.any()) | OVERFLOW * bool(is_new_infinity.any())
    if conditions:
        reporter("reduce")(conditions)


def _by_numpy(ufunc: np.ufunc, axes: Shape, keepdims: bool, options: dict) -> Step:
    return lambda raw: np.asarray(ufunc.reduce(raw, axis=axes, keepdims=keepdims, **options))


def staged(layout: Layout, make: MakeStep, dtypes: tuple[np.dtype, ...], shape: Shape, axes: Shape,
           keepdims: bool) -> Step:
    """All stages of a layout, each made by make(stage, (dtype, dtype of the result), shape of the result).

    dtypes are those of the array, of what lies between stages, and of the result.
    """
    source, between, dtype = dtypes
    ones, result = reduced_shape(shape, axes, True), reduced_shape(shape, axes, keepdims)
    last = result if layout.plain else tuple(ones[axis] for axis in layout.order)
    steps, stages = [], layout.stages
    for number, stage in enumerate(stages):
        final = number == len(stages) - 1
        pair = between if number else source, dtype if final else between
        steps.append(make(stage, pair, last if final else (stage.results,)))
    return steps[0] if layout.plain and len(steps) == 1 else _chain(layout, steps, result)


def _chain(layout: Layout, steps: list[Step], result: Shape) -> Step:
    def step(raw: np.ndarray) -> np.ndarray:
        values = raw if layout.plain else layout.source(raw)
        for each in steps:
            values = each(values)
        return values if layout.plain else layout.restore(values).reshape(result)
    return step


def sum_step(stage: Stage, pair: Pair, shape: Shape) -> Step:
    """The sums of a stage."""
    return (_column_sums if stage.by_columns else _row_sums)(stage, *pair, shape)


def _row_sums(stage: Stage, source: np.dtype, dtype: np.dtype, shape: Shape) -> Step:
    """Whole rows; where they are fewer than threads, their blocks and then the totals of blocks: the same bits."""
    outer, cols, step, size = stage.outer, stage.cols, stage.outer_step, BLOCK_BYTES // source.itemsize
    blocks = -(-cols // size)
    whole = kernel_step(kernel_of("sums:sum_rows", (source, dtype), 2), shape, dtype, outer, cols, cols, step)
    if cols < GRAIN:
        return whole
    parts = kernel_step(kernel_of("sums:sum_row_blocks", (source, DOUBLE), 3), (outer * blocks,), DOUBLE,
                        outer * blocks, size, cols, step, blocks)
    merge = kernel_step(kernel_of("sums:merge_row_blocks", (DOUBLE, dtype), 1), shape, dtype, outer, blocks, blocks)
    return _cut(whole, parts, merge, outer)


def _column_sums(stage: Stage, source: np.dtype, dtype: np.dtype, shape: Shape) -> Step:
    """Panels of columns, or where they are fewer than threads, blocks of rows and then their totals: the same bits."""
    outer, rows, cols, steps = stage.outer, stage.rows, stage.cols, (stage.outer_step, stage.row_step)
    panels, blocks = -(-cols // PANEL), -(-rows // ROW_BLOCK)
    whole = kernel_step(kernel_of("sums:sum_columns", (source, dtype), 5), shape, dtype,
                        outer * panels, rows * min(cols, PANEL), rows, cols, *steps, panels)
    if rows * cols < GRAIN:
        return whole
    parts = kernel_step(kernel_of("sums:sum_column_blocks", (source, DOUBLE), 5), (outer * blocks * cols,), DOUBLE,
                        outer * blocks, ROW_BLOCK * cols, rows, cols, *steps, blocks)
    merge = kernel_step(kernel_of("sums:merge_column_blocks", (DOUBLE, dtype), 2), shape, dtype,
                        outer, blocks * cols, blocks, cols)
    return _cut(whole, parts, merge, outer * panels)


def _cut(whole: Step, parts: Step, merge: Step, units: int) -> Step:
    def step(raw: np.ndarray) -> np.ndarray:
        return whole(raw) if units >= threads.num_threads() else merge(parts(raw))
    return step


def order_free_step(path: str, stage: Stage, pair: Pair, shape: Shape) -> Step:
    """The results of a stage by `reduction_kernels` at a path, where the order of elements changes no bit.

    Where rows are fewer than threads, their blocks and then the results of blocks.
    """
    outer, cols = stage.outer, stage.cols
    whole = stage_step(path, stage, pair, shape)
    if stage.by_columns or cols < GRAIN:
        return whole
    blocks = -(-cols // EXTREME_BLOCK)
    parts = kernel_step(kernel_of(f"{path}_row_blocks", pair, 3), (outer * blocks,), pair[1],
                        outer * blocks, EXTREME_BLOCK, cols, stage.outer_step, blocks)
    merge = stage_step(path, Stage(outer, 1, blocks, blocks, 0, False), pair, shape)
    return _cut(whole, parts, merge, outer)


class Kind(NamedTuple):
    """A kind of reduction: NumPy's, for floats the step of a stage by kernels, and the dtypes on the way."""

    ufunc: np.ufunc
    step: MakeStep | None = None                   # none: NumPy does it
    between: np.dtype | None = None                # of what lies between stages; none: that of the array
    logical: bool = False                          # whether elements count as true or false, whatever their dtype


KINDS = {
    "sum": Kind(np.add, sum_step, DOUBLE),
    "prod": Kind(np.multiply),
    "max": Kind(np.maximum, partial(order_free_step, "extremes:max")),
    "min": Kind(np.minimum, partial(order_free_step, "extremes:min")),
    "any": Kind(np.logical_or, logical=True),
    "all": Kind(np.logical_and, logical=True),
}


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
    return staged(layout, step, (source, source, INDEX), shape, (axis,), keepdims)


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
        return staged(layout, step, (dtype, dtype, dtype), shape, axes, keepdims)
    if not layout.stages:
        return lambda raw: raw.reshape(reduced_shape(shape, axes, keepdims)).copy()
    order = [axis for axis in range(len(shape)) if axis not in axes] + list(axes)
    last = tuple(range(len(shape) - len(axes), len(shape)))
    result = reduced_shape(shape, axes, keepdims)
    return lambda raw: logsumexp(contiguous(raw.transpose(order)), last, False).reshape(result)
