"""Maxima and averages of windows over the last axes of an array, and their gradients.

Windows at equal steps go row by row (loops/pooling.py tells how) in tiles whose windows fit into a buffer; others, and
those that are wider, window by window. Gradients of maxima are added at the places that the maxima came from.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from ..shapes import Shape
from ..windows import Axis, Sliding, cells, merged, reads
from . import memory, threads
from .copying import contiguous
from .steps import INDEX, SINGLE, grain, narrow, range_kernel

LANES, TILE, BUFFER = 16, 512, 2048          # as in loops/pooling.py
PLACE = np.dtype(np.int32)
BAND = 1 << 14                               # elements of a band of rows


@dataclass(frozen=True, slots=True)
class Lines:
    """Which lines, as numbers or as offsets, belong to each row: those from starts[row] on."""

    starts: np.ndarray
    members: np.ndarray


@dataclass(frozen=True)
class Plan:
    """What kernels ask about windows: `axis` runs along the lines, the axes before it make rows of lines."""

    axes: tuple[Axis, ...]
    axis: Axis
    rows: int
    plane: int
    lines: Lines
    firsts: np.ndarray
    counts: np.ndarray

    @property
    def line_count(self) -> int:
        """Lines of a plane."""
        return self.plane // self.axis.size

    def bands(self, rows: int, elements: int) -> tuple[int, int]:
        """Into how many bands the rows of a plane are cut, and how many each has."""
        band = min(rows, max(1, BAND // max(1, elements)))
        return -(-rows // band), band

    def tile(self) -> int:
        """Results of a row at a time by a buffer; 0 where windows are too wide or follow no step."""
        axis = self.axis
        if not isinstance(axis, Sliding):
            return 0
        most = ((BUFFER - (axis.taps - 1) * axis.dilation - 1) // axis.stride + 1) // LANES * LANES
        return max(0, min(most, TILE)) if axis.results > 1 or axis.taps < LANES else 0

    def phase_tile(self) -> int:
        """Cells of a phase of the stride at a time by a buffer; 0 as in `tile`."""
        if not self.tile():
            return 0
        assert isinstance(self.axis, Sliding)
        ahead = (self.axis.taps - 1) // self.axis.stride
        return max(0, min(TILE, BUFFER // self.axis.stride, BUFFER - ahead)) // LANES * LANES


@lru_cache(256)
def plan_of(axes: tuple[Axis, ...]) -> Plan:
    """The plan of windows over these axes."""
    axes = merged(axes)
    axis, outer = axes[-1], axes[:-1]
    found = reads(outer)
    exists = found < prod(one.size for one in outer)
    starts = np.concatenate([[0], np.cumsum(exists.sum(1))]).astype(np.int64)
    lines = Lines(starts, found[exists] * axis.size)
    plane = prod(one.size for one in axes)
    return Plan(axes, axis, len(found), plane, lines, axis.starts, axis.counts)


@lru_cache(256)
def _readers(axes: tuple[Axis, ...]) -> Lines:
    """The rows of results that read each line."""
    plan = plan_of(axes)
    numbers = plan.lines.members // plan.axis.size
    rows = np.repeat(np.arange(plan.rows), np.diff(plan.lines.starts))
    order = np.argsort(numbers, kind="stable")
    counts = np.bincount(numbers, minlength=plan.line_count)
    return Lines(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), rows[order].astype(np.int64))


@lru_cache(256)
def _cells(axes: tuple[Axis, ...], include_padding: bool, divisor: float | None, dtype: np.dtype
           ) -> tuple[np.ndarray, np.ndarray]:
    """What sums are divided by: a number for each row of results, times one for each window of a row."""
    plan = plan_of(axes)
    if divisor is not None:
        return np.full(plan.rows, divisor, dtype), np.ones(plan.axis.results, dtype)
    by_row = cells(plan.axes[:-1], include_padding).reshape(-1)
    return by_row.astype(dtype), cells(plan.axes[-1:], include_padding).astype(dtype)


def _lead(shape: Shape, axes: tuple[Axis, ...]) -> Shape:
    """The axes before the spatial ones."""
    return shape[:len(shape) - len(axes)]


def _results(axes: tuple[Axis, ...]) -> Shape:
    return tuple(axis.results for axis in axes)


# ------------------------------------------------------------------------------------------------- maxima
def max_pool(x: np.ndarray, axes: tuple[Axis, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Maxima of windows over the last axes, and where in the flat plane of these axes they are (int32; int64 where it
    has more cells). NaN wins; the first of equals counts."""
    if narrow(x.dtype):
        values, places = max_pool(x.astype(SINGLE), axes)
        return values.astype(x.dtype), places
    if x.dtype.kind == "b":
        values, places = max_pool(x.view(np.uint8), axes)
        return values.view(bool), places
    x, plan, lead = contiguous(x), plan_of(axes), _lead(x.shape, axes)
    shape, planes = (*lead, *_results(axes)), prod(lead)
    place = PLACE if plan.plane < 2 ** 31 else INDEX
    values, places = memory.empty(shape, x.dtype), memory.empty(shape, place)
    lines, width, tile = plan.lines, plan.axis.results, plan.tile()
    numbers = (plan.plane, *((x.size,) if tile and place is PLACE else ()), plan.rows, width)
    tables = (lines.starts, lines.members, plan.firsts, plan.counts)
    if planes == 0:
        return values, places
    if tile and place is PLACE:
        axis = plan.axis
        assert isinstance(axis, Sliding)
        elements = width * (2 + len(lines.members) // plan.rows * axis.stride)
        bands, band = plan.bands(plan.rows, elements)
        _run("pooling:max_slide", planes * bands, band * elements, (x, values, places), numbers, tables,
             (axis.size, axis.taps, axis.stride, axis.low, axis.dilation, tile, bands, band))
    else:
        _run("pooling:max_each", planes, plan.plane, (x, values, places), numbers, tables, (plan.axis.dilation,))
    return values, places


def max_pool_grad(g: np.ndarray, places: np.ndarray, sizes: Shape) -> np.ndarray:
    """Zeros over the last axes, of these sizes, to which each element of g is added at its place."""
    if narrow(g.dtype):
        return max_pool_grad(g.astype(SINGLE), places, sizes).astype(g.dtype)
    lead = g.shape[:g.ndim - len(sizes)]
    result, planes = memory.empty((*lead, *sizes), g.dtype), prod(lead)
    if planes:
        plane, count = prod(sizes), g.size // planes
        _run("pooling:add_at_places", planes, plane + 4 * count, (contiguous(g), contiguous(places), result),
             (plane, count))
    return result


# ----------------------------------------------------------------------------------------------- averages
def avg_pool(x: np.ndarray, axes: tuple[Axis, ...], include_padding: bool, divisor: float | None) -> np.ndarray:
    """Sums of windows over the last axes, divided by the divisor, or by how many cells they have, which may include
    padding."""
    if narrow(x.dtype):
        return avg_pool(x.astype(SINGLE), axes, include_padding, divisor).astype(x.dtype)
    x, plan, lead = contiguous(x), plan_of(axes), _lead(x.shape, axes)
    result, planes = memory.empty((*lead, *_results(axes)), x.dtype), prod(lead)
    lines, width, tile = plan.lines, plan.axis.results, plan.tile()
    arrays = (x, result, *_cells(axes, include_padding, divisor, x.dtype))
    if planes == 0:
        return result
    if not tile:
        _run("averages:average_each", planes, plan.plane, arrays, (plan.plane, plan.rows, width),
             (lines.starts, lines.members, plan.firsts, plan.counts))
        return result
    axis = plan.axis
    assert isinstance(axis, Sliding)
    elements = width * (2 + len(lines.members) // plan.rows * axis.stride)
    bands, band = plan.bands(plan.rows, elements)
    _run("averages:average_slide", planes * bands, band * elements, arrays, (plan.plane, x.size, plan.rows, width),
         (lines.starts, lines.members), (axis.size, axis.taps, axis.stride, axis.low, tile, bands, band))
    return result


def avg_pool_grad(g: np.ndarray, axes: tuple[Axis, ...], include_padding: bool, divisor: float | None) -> np.ndarray:
    """The gradient of avg_pool."""
    if narrow(g.dtype):
        return avg_pool_grad(g.astype(SINGLE), axes, include_padding, divisor).astype(g.dtype)
    plan, lead = plan_of(axes), _lead(g.shape, axes)
    result, planes = memory.empty((*lead, *(axis.size for axis in axes)), g.dtype), prod(lead)
    width, tile = plan.axis.results, plan.phase_tile()
    arrays = (contiguous(g), result, *_cells(axes, include_padding, divisor, g.dtype))
    if planes == 0:
        return result
    if not tile:
        _run("averages:spread_each", planes, plan.plane, arrays, (plan.plane, plan.rows, width),
             (plan.lines.starts, plan.lines.members, plan.firsts, plan.counts))
        return result
    axis, readers = plan.axis, _readers(axes)
    assert isinstance(axis, Sliding)
    bands, band = plan.bands(plan.line_count, axis.size)
    _run("averages:spread_slide", planes * bands, band * axis.size, arrays, (plan.rows, width, plan.line_count),
         (readers.starts, readers.members), (axis.size, axis.taps, axis.stride, axis.low, tile, bands, band))
    return result


def _run(path: str, units: int, elements: int, arrays: tuple[np.ndarray, ...], numbers: tuple[int, ...],
         tables: tuple[np.ndarray, ...] = (), more: tuple[int, ...] = ()) -> None:
    """Run a kernel whose units cost so many elements: arrays, numbers, tables of int64, numbers."""
    types = (*[f"{array.dtype.name}*" for array in arrays], *["int64"] * len(numbers), *["int64*"] * len(tables),
             *["int64"] * len(more))
    threads.launch(range_kernel(path, *types), units, grain(elements), *arrays, *numbers, *tables, *more)
