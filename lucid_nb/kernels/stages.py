"""The stages of a reduction as steps: sums and folds, each by rows or columns, in one piece or cut into blocks.

A block is taken by one thread, and blocks are merged in order, so the bits are the same either way.
"""
from collections.abc import Callable

import numpy as np

from ..shapes import Shape, reduced_shape
from . import threads
from .layout import Layout, Stage
from .steps import DOUBLE, GRAIN, PANEL, Step, kernel_of, kernel_step, stage_step

BLOCK_BYTES, ROW_BLOCK, FOLD_BLOCK = 1024, 32, 1024           # as in loops/
Pair = tuple[np.dtype, np.dtype]                              # of the array and of the result
MakeStep = Callable[[Stage, Pair, Shape], Step]


def staged(layout: Layout, first: MakeStep, then: MakeStep, dtypes: tuple[np.dtype, ...], shape: Shape, axes: Shape,
           keepdims: bool) -> Step:
    """All stages of a layout, each made by a function of (stage, (dtype, dtype of the result), shape of the result).

    `then` makes those after the first. dtypes are those of the array, of what lies between stages, and of the result.
    """
    source, between, dtype = dtypes
    ones, result = reduced_shape(shape, axes, True), reduced_shape(shape, axes, keepdims)
    last = result if layout.plain else tuple(ones[axis] for axis in layout.order)
    steps, stages = [], layout.stages
    for number, stage in enumerate(stages):
        final = number == len(stages) - 1
        pair = between if number else source, dtype if final else between
        steps.append((then if number else first)(stage, pair, last if final else (stage.results,)))
    return steps[0] if layout.plain and len(steps) == 1 else _chain(layout, steps, result)


def _chain(layout: Layout, steps: list[Step], result: Shape) -> Step:
    def step(raw: np.ndarray) -> np.ndarray:
        values = raw if layout.plain else layout.source(raw)
        for each in steps:
            values = each(values)
        return values if layout.plain else layout.restore(values).reshape(result)
    return step


def sum_step(path: str, stage: Stage, pair: Pair, shape: Shape) -> Step:
    """The sums of a stage by the kernels of loops/sums.py of this name."""
    return (_column_sums if stage.by_columns else _row_sums)(f"sums:{path}", stage, *pair, shape)


def _row_sums(path: str, stage: Stage, source: np.dtype, dtype: np.dtype, shape: Shape) -> Step:
    """Whole rows; where they are fewer than threads, their blocks and then the totals of blocks: the same bits."""
    outer, cols, step, size = stage.outer, stage.cols, stage.outer_step, BLOCK_BYTES // source.itemsize
    blocks = -(-cols // size)
    whole = kernel_step(kernel_of(f"{path}_rows", (source, dtype), 3), shape, dtype, outer, cols, cols, step,
                        tells=True)
    if cols < GRAIN:
        return whole
    parts = kernel_step(kernel_of(f"{path}_row_blocks", (source, DOUBLE), 3), (outer * blocks,), DOUBLE,
                        outer * blocks, size, cols, step, blocks)
    merge = kernel_step(kernel_of("sums:merge_row_blocks", (DOUBLE, dtype), 2), shape, dtype, outer, blocks, blocks,
                        tells=True)
    return cut(whole, parts, merge, outer)


def _column_sums(path: str, stage: Stage, source: np.dtype, dtype: np.dtype, shape: Shape) -> Step:
    """Panels of columns, or where they are fewer than threads, blocks of rows and then their totals: the same bits."""
    outer, rows, cols, steps = stage.outer, stage.rows, stage.cols, (stage.outer_step, stage.row_step)
    panels, blocks = -(-cols // PANEL), -(-rows // ROW_BLOCK)
    whole = kernel_step(kernel_of(f"{path}_columns", (source, dtype), 6), shape, dtype,
                        outer * panels, rows * min(cols, PANEL), rows, cols, *steps, panels, tells=True)
    if rows * cols < GRAIN:
        return whole
    parts = kernel_step(kernel_of(f"{path}_column_blocks", (source, DOUBLE), 5), (outer * blocks * cols,), DOUBLE,
                        outer * blocks, ROW_BLOCK * cols, rows, cols, *steps, blocks)
    merge = kernel_step(kernel_of("sums:merge_column_blocks", (DOUBLE, dtype), 3), shape, dtype,
                        outer, blocks * cols, blocks, cols, tells=True)
    return cut(whole, parts, merge, outer * panels)


def cut(whole: Step, parts: Step, merge: Step, units: int) -> Step:
    """The whole where it has work for all threads, otherwise parts of it and then their merger."""
    def step(raw: np.ndarray) -> np.ndarray:
        return whole(raw) if units >= threads.num_threads() else merge(parts(raw))
    return step


def fold_step(path: str, tells: bool, part: np.dtype | None, stage: Stage, pair: Pair, shape: Shape) -> Step:
    """The results of a stage by the kernels at a path: its rows or columns, blocks of rows, and the merger of these.

    `part`: what a block leaves; where nothing is said, the result's dtype.
    """
    outer, cols = stage.outer, stage.cols
    whole = stage_step(path, stage, pair, shape, tells=tells)
    if stage.by_columns or cols < GRAIN:
        return whole
    blocks, left = -(-cols // FOLD_BLOCK), part or pair[1]
    parts = kernel_step(kernel_of(f"{path}_row_blocks", (pair[0], left), 3), (outer * blocks,), left,
                        outer * blocks, FOLD_BLOCK, cols, stage.outer_step, blocks)
    merge = kernel_step(kernel_of(f"{path}_merge", (left, pair[1]), 2 + tells), shape, pair[1], outer, blocks,
                        blocks, blocks, tells=tells)
    return cut(whole, parts, merge, outer)
