"""Means and sums of squared deviations over any axes: one launch, or two where few rows are long."""

from functools import cache
from typing import Any

import numpy as np

from ..dtypes import BFLOAT16
from ..shapes import reduced_shape
from . import array as geometry
from . import runtime
from .array import DeviceArray, Shape
from .copy import cast, contiguous, full
from .places import Places
from .reduce import as_slices, reduce
from .runtime import BLOCK, cuda, shared_memory
from .scalars import compute
from .statistics import Plan, Rows, block_join, moments_kernel, plan_of, walk_of

DOUBLE = np.dtype(np.float64)
Pair = tuple[DeviceArray, DeviceArray]


@cache
def _join_kernel(number: np.dtype, places: Places) -> Any:
    """The kernel of the chunks of rows, (outer, parts, inner), of which a block takes all."""
    join, memory = block_join(number, places), shared_memory(BLOCK, number)
    integer, extents, share, at = walk_of(places).of_rows

    def join_moments(part_means, part_squares, means, squares, chunk, size, outer, parts, inner, plane, whole, most):
        shared, block = memory(), integer(cuda.blockIdx.x)
        _, _, blocks = extents(outer, parts, inner, plane, whole)
        while block < blocks:
            row, first, stop, _, column, base = share(block, outer, parts, inner, plane, whole, most)
            mean, square = join(shared, part_means, part_squares, base, stop, inner, chunk, size)
            if cuda.threadIdx.y == 0 and first < stop:
                means[at(column, row, inner, 0)] = np.float64(mean)
                squares[at(column, row, inner, 0)] = np.float64(square)
            block = integer(block + cuda.gridDim.x)
    return runtime.kernel(join_moments)


def moments(raw: DeviceArray, axes: Shape, keepdims: bool) -> Pair:
    """The mean and the sum of squared deviations from it over `axes`, in float64, of at least one element.

    Equal elements have exactly their own value for a mean. Floats are summed in their own dtype, those of 16 bits in
    float32, integers in float64. Of complex numbers the mean is complex, and deviations count by their absolute value.
    """
    if raw.element.kind == "c":
        return _complex_moments(raw, axes, keepdims)
    shape = reduced_shape(raw.shape, axes, keepdims)
    if not axes:
        return cast(raw, DOUBLE), full(shape, 0, DOUBLE)
    means, squares = geometry.empty(shape, DOUBLE), geometry.empty(shape, DOUBLE)
    if means.size:
        x, (outer, count, inner) = as_slices(raw, tuple(sorted(axes)))
        _run(x, raw.element, plan_of(Rows(outer, count, inner, 1)), means.memory, squares.memory)
    return means, squares


def _run(x: Any, source: np.dtype, plan: Plan, means: Any, squares: Any) -> None:
    number = compute(source) if source.kind == "f" or source == BFLOAT16 else DOUBLE
    if plan.chunks == 1:
        plan.launch(moments_kernel(source, number, DOUBLE, plan.places), x, means, squares)
        return
    outer, inner = plan.rows.outer, plan.rows.inner
    parts = [runtime.allocate(outer * plan.chunks * inner, number) for _ in range(2)]
    plan.launch(moments_kernel(source, number, number, plan.places), x, *parts)
    joined = plan_of(Rows(outer, plan.chunks, inner, 1)).whole()
    sizes = plan.places.of(plan.chunk, plan.rows.size)
    joined.launch(_join_kernel(number, plan.places), *parts, means, squares, *sizes)


def _complex_moments(raw: DeviceArray, axes: Shape, keepdims: bool) -> Pair:
    """Both parts as a last axis."""
    part, shape = np.dtype(np.float32 if raw.element.itemsize == 8 else np.float64), (*raw.shape, 1)
    pairs = geometry.reinterpret(geometry.view(contiguous(raw), shape, geometry.row_major(shape)), part)
    means, squares = moments(pairs, axes, keepdims)
    mean = geometry.reinterpret(means, np.dtype(np.complex128))
    shape = mean.shape[:-1]
    return (geometry.view(mean, shape, geometry.row_major(shape)),
            reduce("sum", squares, (squares.ndim - 1,), False, DOUBLE))
