"""How a reduction sees its array: axes in the order of memory, neighbours merged, cut into stages that a kernel can do.

The order in which elements are summed follows from the shape, the axes and the order of axes in memory, never from the
strides themselves: an array that no kernel can walk is copied in its own axis order.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod

import numpy as np

from ..shapes import Shape, inverse_permutation
from .copying import contiguous


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring axes that memory treats as one; stride in elements."""

    size: int
    stride: int
    reduced: bool


@dataclass(frozen=True, slots=True)
class Stage:
    """One kernel's work: `rows` of `cols` contiguous elements in each of `outer` slices, steps in elements.

    Rows are reduced where `by_columns`; otherwise rows is 1 and the elements of each outer slice are reduced.
    """

    outer: int
    rows: int
    cols: int
    outer_step: int
    row_step: int
    by_columns: bool

    @property
    def results(self) -> int:
        """How many values it leaves."""
        return self.outer * self.cols if self.by_columns else self.outer


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of axes in memory, whether the array must be copied, and the stages; none where nothing is reduced."""

    order: Shape
    copies: bool
    stages: tuple[Stage, ...]

    @property
    def plain(self) -> bool:
        """Whether kernels can walk the array as it is, axes in their own order."""
        return not self.copies and self.order == tuple(range(len(self.order)))

    def source(self, raw: np.ndarray) -> np.ndarray:
        """The array with its axes in the order of memory, copied if it must be."""
        ordered = raw.transpose(self.order)
        return contiguous(ordered) if self.copies else ordered

    def restore(self, ordered: np.ndarray) -> np.ndarray:
        """A view of an array with axes in the order of memory, axes in their own order."""
        return ordered.transpose(inverse_permutation(self.order))


@lru_cache(4096)
def layout_of(shape: Shape, strides: Shape, itemsize: int, axes: Shape) -> Layout:
    """The layout of an array of at least one element for a reduction over `axes`."""
    order = tuple(sorted(range(len(shape)), key=lambda axis: -abs(strides[axis])))
    groups = _groups(shape, strides, itemsize, axes, order)
    if groups is None:
        copied = _merged([(shape[axis], axis in axes) for axis in order if shape[axis] > 1])
        return Layout(order, True, tuple(_stages(copied)))
    return Layout(order, False, tuple(_stages(groups)))


def _groups(shape: Shape, strides: Shape, itemsize: int, axes: Shape, order: Shape) -> list[Group] | None:
    """The merged axes, or None where no kernel can walk them."""
    groups: list[Group] = []
    for axis in order:
        size, (stride, rest), reduced = shape[axis], divmod(strides[axis], itemsize), axis in axes
        if size == 1:
            continue
        if groups and groups[-1].reduced == reduced:
            if rest or groups[-1].stride != size * stride:
                return None
            groups[-1] = Group(groups[-1].size * size, stride, reduced)
        elif rest:
            return None
        else:
            groups.append(Group(size, stride, reduced))
    return groups if _walkable(groups) else None


def _walkable(groups: list[Group]) -> bool:
    """Whether the last axis is contiguous and those outside the first stage follow one step."""
    if not groups:
        return True
    outer = groups[:-1] if groups[-1].reduced else groups[:-2]
    uniform = all(a.stride == b.size * b.stride for a, b in pairwise(outer))
    return groups[-1].stride == 1 and uniform


def _stages(groups: list[Group]) -> Iterator[Stage]:
    """From the innermost reduced axis outwards; every stage after the first reads what the one before wrote."""
    while any(group.reduced for group in groups):
        outer, rows, last = groups[:-2], groups[-2:-1], groups[-1]
        if last.reduced:
            outer = groups[:-1]
            yield Stage(prod(g.size for g in outer), 1, last.size, outer[-1].stride if outer else 0, 0, False)
            groups = outer
        else:
            yield Stage(prod(g.size for g in outer), rows[0].size, last.size,
                        outer[-1].stride if outer else 0, rows[0].stride, True)
            groups = [*outer, last]
        groups = _merged([(group.size, group.reduced) for group in groups])


def _merged(sizes: list[tuple[int, bool]]) -> list[Group]:
    """Groups of contiguous axes, neighbours of one kind as one."""
    groups: list[Group] = []
    step = 1
    for size, reduced in reversed(sizes):
        if groups and groups[0].reduced == reduced:
            groups[0] = Group(size * groups[0].size, groups[0].stride, reduced)
        else:
            groups.insert(0, Group(size, step, reduced))
        step *= size
    return groups
