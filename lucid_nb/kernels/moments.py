"""Means and sums of squared deviations over any axes, float64, by the kernels of loops/moments.py."""
from functools import lru_cache

import numpy as np

from ..shapes import Shape, reduced_shape
from .layout import Stage, layout_of
from .stages import cut, sum_step
from .steps import DOUBLE, FLOATS, GRAIN, SINGLE, Step, kernel_of, kernel_step, narrow, stage_step

BLOCK, COST = 1024, 3                              # of a block as in loops/moments.py, and of an element, which is read
#                                                    three times where a sum reads it once
Pair = tuple[np.ndarray, np.ndarray]


def moments(raw: np.ndarray, axes: Shape, keepdims: bool) -> Pair:
    """The mean and the sum of squared deviations from it over `axes`, in float64, of at least one element.

    Equal elements have exactly their own value for a mean. Of complex numbers the mean is complex, and deviations count
    by their absolute value. What is not finite is left to NumPy, with its warnings.
    """
    if raw.dtype.kind == "c":
        (real, real_square), (imaginary, imaginary_square) = [moments(part, axes, keepdims)
                                                              for part in (raw.real, raw.imag)]
        return real + 1j * imaginary, real_square + imaginary_square
    raw = raw.astype(SINGLE) if narrow(raw.dtype) else raw.astype(DOUBLE) if raw.dtype not in FLOATS else raw
    found = _moments(raw.shape, raw.strides, raw.dtype, axes)(raw)
    shape = reduced_shape(raw.shape, axes, keepdims)
    mean, square = found[0].reshape(shape), found[1].reshape(shape)
    if np.isfinite(square).all():
        return mean, square
    count = raw.size // max(1, square.size)
    return raw.mean(axes, keepdims=keepdims), raw.var(axes, keepdims=keepdims) * count


@lru_cache(4096)
def _moments(shape: Shape, strides: Shape, source: np.dtype, axes: Shape) -> Step:
    """The function that gives both for arrays of this layout, as two rows of results."""
    layout = layout_of(shape, strides, source.itemsize, axes)
    if not layout.stages:
        return lambda raw: np.stack([raw.astype(DOUBLE), np.where(np.isfinite(raw), 0.0, np.nan)])
    first, *others = layout.stages
    start, count = _stage_moments(first, source), _reduced(first)
    later = []
    for stage in others:
        total = sum_step("sum", stage, (DOUBLE, DOUBLE), (stage.results,))
        later.append((_stage_moments(stage, DOUBLE), total, count))
        count *= _reduced(stage)
    ones = reduced_shape(shape, axes, True)
    ordered = (2, *[ones[axis] for axis in layout.order])
    back = (0, *[layout.order.index(axis) + 1 for axis in range(len(shape))])

    def call(raw: np.ndarray) -> np.ndarray:
        means, squares = start(raw if layout.plain else layout.source(raw))
        for spread, total, inside in later:
            inner = total(squares)
            means, squares = spread(means)
            squares = inner + inside * squares
        return np.stack([means, squares]).reshape(ordered).transpose(back)
    return call


def _reduced(stage: Stage) -> int:
    """How many elements become one."""
    return stage.rows if stage.by_columns else stage.cols


def _stage_moments(stage: Stage, source: np.dtype) -> Step:
    """Both for a stage; of long rows, where they are fewer than threads, by blocks, with the same bits."""
    outer, cols, results = stage.outer, stage.cols, stage.results
    whole = stage_step("moments:moment", stage, (source, DOUBLE), (2, results), COST, (results,))
    if stage.by_columns or cols * COST < GRAIN:
        return whole
    blocks = -(-cols // BLOCK)
    parts = kernel_step(kernel_of("moments:moment_row_blocks", (source, DOUBLE), 4), (2, outer * blocks), DOUBLE,
                        outer * blocks, BLOCK * COST, cols, stage.outer_step, blocks, outer * blocks)
    merge = kernel_step(kernel_of("moments:moment_merge", (DOUBLE, DOUBLE), 3), (2, outer), DOUBLE, outer, blocks,
                        blocks, cols, outer)
    return cut(whole, parts, merge, outer)
