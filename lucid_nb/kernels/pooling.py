"""Maxima and averages of windows over the last axes of an array, and their gradients.

Rows of windows go through a buffer (loops/pooling.py tells how), short ones many at a time and long ones in tiles;
windows that are wider than it one by one. Gradients of maxima are added at the places that the maxima came from.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from struct import Struct

import numpy as np

from ..shapes import Shape
from ..windows import Adaptive, Axis, Sliding, cells, merged, reads
from . import memory, threads
from .copying import contiguous
from .steps import INDEX, SINGLE, grain, narrow, range_kernel
from .whole_planes import average_planes

LANES, TILE, BUFFER = 16, 512, 2048          # as in loops/pooling.py
PLACE = np.dtype(np.int32)
Run = Callable[..., None]
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

    @property
    def is_whole(self) -> bool:
        """Is there one window, of all cells?"""
        return len(self.axes) == 1 and isinstance(self.axis, Sliding) and self.axis.is_whole

    @property
    def is_one_row(self) -> bool:
        """Does a plane have one line and one row of results? (Many rows may read one line.)"""
        return self.line_count == self.rows == 1

    @property
    def steps(self) -> tuple[int, int, int, int]:
        """Taps, stride, low padding and dilation along a line; stride 0 where windows follow no step."""
        axis = self.axis
        if isinstance(axis, Sliding):
            return axis.taps, axis.stride, axis.low, axis.dilation
        return axis.size, 0, 0, 1

    def pieces(self) -> tuple[int, int, int] | None:
        """Results of a row at a time, elements from row to row in the buffer, rows at a time; None where windows are
        too wide for one, or so few that vectors would be empty."""
        axis, (taps, stride, _, dilation) = self.axis, self.steps
        width = axis.results
        if isinstance(axis, Adaptive):
            pitch = -(-axis.size // LANES) * LANES
            fits = pitch <= BUFFER and width <= TILE
            return (width, pitch, min(self.rows, BUFFER // pitch, TILE // width)) if fits else None
        reach = (taps - 1) * dilation
        most = min(TILE, (BUFFER - reach - 1) // stride + 1) // LANES * LANES
        if most <= 0 or (width == 1 and taps >= LANES):
            return None
        if width > most:
            return most, stride, 1
        step = width + reach // stride
        return width, step * stride, min(self.rows, (most - width) // step + 1)

    def phases(self) -> tuple[int, int] | None:
        """Cells of a phase of the stride at a time, and lines at a time; None as in `pieces`."""
        taps, stride, low, _ = self.steps
        if not self.pieces():
            return None
        if not stride:
            return LANES, min(self.line_count, BUFFER // self.axis.results)
        ahead = (taps - 1) // stride
        most = min(TILE, BUFFER // stride, BUFFER - ahead) // LANES * LANES
        if most <= 0:
            return None
        count = -(-(self.axis.size + low) // stride)
        return most, min(self.line_count, (most - count) // (count + ahead) + 1) if count <= most else 1

    def repeated(self, planes: int, step: int) -> "Plan":
        """Of one row a plane: the lines of so many planes as rows of one, counted by a step from row to row."""
        rows = np.arange(planes + 1, dtype=np.int64)
        return replace(self, rows=planes, plane=planes * self.plane, lines=Lines(rows, rows[:-1] * step))

    def bands(self, rows: int, chunk: int, elements: int) -> tuple[int, int]:
        """Into how many bands the rows of a plane are cut, and how many each has, of `elements` elements each."""
        band = max(1, BAND // max(1, elements * chunk)) * chunk
        return -(-rows // band), min(rows, band)


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
    shape, place, run = _max_step(x.shape, x.dtype, axes)
    values, places = memory.empty(shape, x.dtype), memory.empty(shape, place)
    run(contiguous(x), values, places)
    return values, places


@lru_cache(1024)
def _max_step(shape: Shape, dtype: np.dtype, axes: tuple[Axis, ...]) -> tuple[Shape, np.dtype, Run]:
    """Shape of the results, dtype of the places, and what computes them."""
    plan, lead = plan_of(axes), _lead(shape, axes)
    results, planes, width, lines = (*lead, *_results(axes)), prod(lead), plan.axis.results, plan.lines
    place = PLACE if plan.plane < 2 ** 31 else INDEX
    arrays, tables = (dtype, dtype, place), (lines.starts, lines.members, plan.firsts, plan.counts)
    if place is INDEX or plan.pieces() is None:
        return results, place, _step("pooling:max_each", planes, plan.plane, arrays, plan.plane, plan.rows, width,
                                     *tables, plan.axis.dilation)
    total, row_step = planes * plan.plane, 0
    if plan.is_one_row and planes > 1:               # the lines of all planes as rows of one
        planes, row_step, plan = 1, plan.plane, plan.repeated(planes, 0)
    pieces, lines = plan.pieces(), plan.lines
    assert pieces is not None
    bands, band, elements = _row_bands(plan, pieces[2])
    return results, place, _step("pooling:max_slide", planes * bands, elements, arrays, plan.plane, row_step, total,
                                 plan.rows, width, lines.starts, lines.members, *tables[2:], plan.axis.size,
                                 *plan.steps, *pieces, bands, band)


def _row_bands(plan: Plan, chunk: int) -> tuple[int, int, int]:
    """Bands of a plane, rows of a band, and elements that a band costs."""
    elements = plan.axis.results * 2 + plan.axis.size * (len(plan.lines.members) // plan.rows)
    bands, band = plan.bands(plan.rows, chunk, elements)
    return bands, band, band * elements


def max_pool_grad(g: np.ndarray, places: np.ndarray, axes: tuple[Axis, ...]) -> np.ndarray:
    """Zeros over the last axes to which each element of g is added at its place, which `max_pool` gave."""
    if narrow(g.dtype):
        return max_pool_grad(g.astype(SINGLE), places, axes).astype(g.dtype)
    shape, run = _max_grad_step(g.shape, g.dtype, places.dtype, tuple([axis.size for axis in axes]))
    result = memory.empty(shape, g.dtype)
    run(contiguous(g), contiguous(places), result)
    return result


@lru_cache(1024)
def _max_grad_step(shape: Shape, dtype: np.dtype, place: np.dtype, sizes: Shape) -> tuple[Shape, Run]:
    lead, plane = shape[:len(shape) - len(sizes)], prod(sizes)
    count = prod(shape[len(lead):])
    return (*lead, *sizes), _step("pooling:add_at_places", prod(lead), plane + 4 * count, (dtype, place, dtype), plane,
                                  count)


# ----------------------------------------------------------------------------------------------- averages
def avg_pool(x: np.ndarray, axes: tuple[Axis, ...], include_padding: bool, divisor: float | None) -> np.ndarray:
    """Sums of windows over the last axes, divided by the divisor, or by how many cells they have, which may include
    padding."""
    if narrow(x.dtype):
        return avg_pool(x.astype(SINGLE), axes, include_padding, divisor).astype(x.dtype)
    shape, run = _avg_step(x.shape, x.dtype, axes, include_padding, divisor)
    result = memory.empty(shape, x.dtype)
    run(contiguous(x), result)
    return result


@lru_cache(1024)
def _avg_step(shape: Shape, dtype: np.dtype, axes: tuple[Axis, ...], include_padding: bool, divisor: float | None
              ) -> tuple[Shape, Run]:
    plan, lead = plan_of(axes), _lead(shape, axes)
    planes, lines, arrays = prod(lead), plan.lines, (dtype, dtype)
    results, pieces = (*lead, *_results(axes)), plan.pieces()
    given = _cells(axes, include_padding, divisor, dtype)
    tables = (lines.starts, lines.members, plan.firsts, plan.counts)
    if plan.is_whole:
        address, width = average_planes(dtype)
        return results, _step(address, -(-planes // width), width * plan.plane, arrays, *given, plan.plane, planes)
    if pieces is None:
        return results, _step("averages:average_each", planes, plan.plane, arrays, *given, plan.plane, plan.rows,
                              plan.axis.results, *tables)
    if plan.is_one_row and planes > 1:
        given, plan = (np.repeat(given[0], planes), given[1]), plan.repeated(planes, plan.plane)
        planes, pieces, tables = 1, plan.pieces(), (plan.lines.starts, plan.lines.members, *tables[2:])
        assert pieces is not None
    bands, band, elements = _row_bands(plan, pieces[2])
    return results, _step("averages:average_slide", planes * bands, elements, arrays, *given, plan.plane,
                          planes * plan.plane, plan.rows, plan.axis.results, *tables, plan.axis.size, *plan.steps[:3],
                          *pieces, bands, band)


def avg_pool_grad(g: np.ndarray, axes: tuple[Axis, ...], include_padding: bool, divisor: float | None) -> np.ndarray:
    """The gradient of avg_pool."""
    if narrow(g.dtype):
        return avg_pool_grad(g.astype(SINGLE), axes, include_padding, divisor).astype(g.dtype)
    shape, run = _avg_grad_step(g.shape, g.dtype, axes, include_padding, divisor)
    result = memory.empty(shape, g.dtype)
    run(contiguous(g), result)
    return result


@lru_cache(1024)
def _avg_grad_step(shape: Shape, dtype: np.dtype, axes: tuple[Axis, ...], include_padding: bool,
                   divisor: float | None) -> tuple[Shape, Run]:
    plan, lead = plan_of(axes), _lead(shape, axes)
    planes, width, lines, arrays = prod(lead), plan.axis.results, plan.lines, (dtype, dtype)
    sizes, pieces = (*lead, *[axis.size for axis in axes]), plan.phases()
    given = _cells(axes, include_padding, divisor, dtype)
    if plan.is_whole:
        return sizes, _step("averages:spread_whole", planes, plan.plane, arrays, *given, plan.plane)
    if pieces is None:
        return sizes, _step("averages:spread_each", planes, plan.plane, arrays, *given, plan.plane, plan.rows, width,
                            lines.starts, lines.members, plan.firsts, plan.counts)
    readers, size = _readers(axes), plan.axis.size
    if plan.is_one_row and planes > 1:
        given, plan = (np.repeat(given[0], planes), given[1]), plan.repeated(planes, plan.plane)
        planes, pieces, readers = 1, plan.phases(), Lines(plan.lines.starts, plan.lines.starts[:-1])
        assert pieces is not None
    bands, band = plan.bands(plan.line_count, pieces[1], size)
    return sizes, _step("averages:spread_slide", planes * bands, band * size, arrays, *given, plan.rows, width,
                        plan.line_count, readers.starts, readers.members, plan.firsts, plan.counts, size,
                        *plan.steps[:3], *pieces, bands, band)


def _step(path: str | int, units: int, elements: int, arrays: tuple[np.dtype, ...], *more: np.ndarray | int) -> Run:
    """What runs a kernel (or an address) of `units` units, which cost so many elements each, on arrays of these dtypes
    and on tables and numbers that stay as they are."""
    kinds = [f"{table.dtype.name}*" if isinstance(table, np.ndarray) else "int64" for table in more]
    kernel = path if isinstance(path, int) else range_kernel(path, *[f"{dtype.name}*" for dtype in arrays], *kinds)
    words = [threads.address_of(table) if isinstance(table, np.ndarray) else int(table) for table in more]
    tail, pack, least = Struct(f"{len(words)}q").pack(*words), Struct(f"{len(arrays)}q").pack, grain(elements)
    held = more                                  # the tables must live as long as their addresses

    def run(*given: np.ndarray) -> None:
        assert held is more
        if units:
            address = kernel if isinstance(kernel, int) else kernel.address
            threads.run(address, pack(*map(threads.address_of, given)) + tail, units, least)
    return run
