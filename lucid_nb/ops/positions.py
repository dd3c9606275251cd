"""An index taken apart: its basic part, and the integer arrays and masks that stand for whole axes.

An index with arrays becomes simpler things: a basic view (slices, new axes) and positions into indexed axes, which are
merged into one where there are several.
"""

from dataclasses import dataclass
from operator import index as to_index
from typing import Any

import numpy as np

from .. import backend, shapes
from ..apply import as_array
from ..array import Tensor
from ..errors import IndexError, is_one_of
from ..shapes import Shape

INTEGERS = (int, np.integer)
WHOLE = slice(None)
MODES = ("raise", "wrap", "clip")
FEW = 4096                          # positions up to which NumPy's extremes are as fast as a kernel


@dataclass(frozen=True)
class Indexer:
    """One array of an index: integers into one axis, or a mask over several."""

    array: np.ndarray
    axis: int                   # of what is indexed, the first one
    extents: Shape              # of the axes that it indexes

    @property
    def is_mask(self) -> bool:
        """Does it select, instead of naming positions?"""
        return self.array.dtype.kind == "b"

    @property
    def size(self) -> int:
        """How many places it chooses from."""
        return shapes.product(self.extents)

    def positions(self) -> np.ndarray:
        """Positions in its axes as one, counted from the front, after the bounds check."""
        if self.is_mask:
            return backend.table("cpu").nonzero(self.array.reshape(-1))[0]
        return counted_from_front("index", self.array, self.axis, self.size)


@dataclass(frozen=True)
class Advanced:
    """An index with arrays, taken apart."""

    slices: tuple               # the basic part; whole slices stand for the indexed axes
    axes: Shape                 # of the view after it, those that arrays index
    indexers: tuple[Indexer, ...]
    place: int                  # where the arrays' axes go in the result

    @property
    def shape(self) -> Shape:
        """The common shape of the arrays."""
        return shapes.broadcast_shapes("index", *[
            (int(np.count_nonzero(one.array)),) if one.is_mask else one.array.shape for one in self.indexers])

    def merged(self) -> np.ndarray:
        """One position in the merged axes for the positions in each; of no positions none is out of range."""
        if len(self.indexers) == 1:
            return self.indexers[0].positions()
        common = self.shape
        if not shapes.product(common):
            return np.zeros(common, np.int64)
        position: Any = 0
        for one in self.indexers:
            position = position * one.size + one.positions()
        return np.broadcast_to(position, common)


def counted_from_front(op: str, positions: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Positions counted from the front as int64, after the bounds check."""
    if positions.size == 0:
        return positions.astype(np.int64)
    low, high = extremes(positions)
    for extreme in (low, high):
        shapes.check_bounds(extreme, axis, size)
    positions = positions.astype(np.int64, copy=False)
    return np.where(positions < 0, positions + size, positions) if low < 0 else positions


def extremes(positions: np.ndarray) -> tuple[int, int]:
    """The smallest and the largest of some integers."""
    if positions.size > FEW and positions.dtype == np.int64:
        found: tuple[int, int] = backend.table("cpu").span(positions)
        return found
    return int(positions.min()), int(positions.max())


def host_positions(op: str, given: Any) -> np.ndarray:
    """Integers on the host."""
    found = given.to_host() if isinstance(given, Tensor) else as_array(op, given)
    if found.dtype.kind not in "iu" and found.size:
        raise IndexError(f"{op}: {found.dtype} is no index. Use integers.")
    return found if found.dtype.kind in "iu" else found.astype(np.int64)


def in_mode(op: str, positions: np.ndarray, size: int, mode: str) -> np.ndarray:
    """Positions brought into range as NumPy's `mode` says; by "raise" they are left alone."""
    if not is_one_of(mode, MODES):
        raise IndexError(f"{op}: mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
    if mode == "raise" or positions.size == 0:
        return positions
    if size == 0:
        raise IndexError(f"{op}: positions into an axis of size 0. It is empty.")
    return positions % size if mode == "wrap" else np.clip(positions, 0, size - 1)


# ------------------------------------------------------------------------------------------------ parsing
def is_basic(parts: tuple) -> bool:
    """Only integers, slices between integers, None and an ellipsis?"""
    for part in parts:
        if type(part) is slice:
            start, stop, step = part.start, part.stop, part.step
            if not ((start is None or type(start) is int) and (stop is None or type(stop) is int)
                    and (step is None or (type(step) is int and step != 0))):
                return False
        elif type(part) is not int and part is not None and part is not Ellipsis:
            return False
    return True


def plain(part: Any) -> Any:
    """A part of an index, with numbers as int and sequences as arrays."""
    if isinstance(part, (bool, np.bool_)):
        return np.array(part)
    if isinstance(part, INTEGERS):
        return int(part)
    if isinstance(part, slice):
        return plain_slice(part)
    if part is None or part is Ellipsis:
        return part
    found = part.to_host() if isinstance(part, Tensor) else as_array("index", part)
    found = found.astype(np.int64) if found.size == 0 and not isinstance(part, (Tensor, np.ndarray)) else found
    if found.dtype.kind not in "iub":
        raise IndexError(f"index: {found.dtype} is no index. Use integers, bools, slices, None or an ellipsis.")
    if found.ndim == 0 and found.dtype.kind != "b":
        return int(found)
    return found


def plain_slice(part: slice) -> slice:
    """A slice between integers."""
    try:
        bounds = [None if bound is None else to_index(bound) for bound in (part.start, part.stop, part.step)]
    except TypeError:
        raise IndexError(f"index: {part} has a bound that is not an integer. Use integers or None.") from None
    if bounds[2] == 0:
        raise IndexError(f"index: {part} has step 0. Use another step.")
    return slice(*bounds)


def _is_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind == "b"


def _axes_used(part: Any) -> int:
    return part.ndim if _is_mask(part) else int(part is not None and part is not Ellipsis)


def _spelled_out(parts: list, shape: Shape) -> list:
    """The parts, in which whole slices follow the ellipsis, which also without them parts arrays."""
    used = sum(map(_axes_used, parts))
    if used > len(shape):
        raise IndexError(f"index: {used} indices for shape {shape} with {len(shape)} axes. Leave some out.")
    if sum(part is Ellipsis for part in parts) > 1:
        raise IndexError("index: more than one ellipsis. Keep one.")
    if not any(part is Ellipsis for part in parts):
        parts = [*parts, Ellipsis]
    found: list = []
    axis = 0
    for part in parts:
        found.append(part)
        if part is Ellipsis:
            found += [WHOLE] * (len(shape) - used)
            axis += len(shape) - used
            continue
        wanted = shape[axis:axis + _axes_used(part)]
        if _is_mask(part) and part.shape != wanted:
            raise IndexError(f"index: a mask of shape {part.shape} for axes of shape {wanted}. Make them equal.")
        axis += _axes_used(part)
    return found


def take_apart(parts: tuple, shape: Shape) -> Advanced:
    """The basic part, the arrays and their place in the result, by NumPy's rules."""
    slices: list = []
    indexers: list[Indexer] = []
    axes: list[int] = []
    places: list[int] = []
    axis = 0
    for number, part in enumerate(_spelled_out([plain(part) for part in parts], shape)):
        if isinstance(part, (int, np.ndarray)):
            one = _indexer(part, axis, shape)
            is_new = _is_mask(part) and np.ndim(part) == 0           # a new axis, taken once or not at all
            axes += range(len(slices), len(slices) + len(one.extents))
            slices += [None] if is_new else [WHOLE] * len(one.extents)
            axis += 0 if is_new else len(one.extents)
            indexers.append(one)
            places.append(number)
        elif part is not Ellipsis:
            slices.append(part)
            axis += part is not None
    if not places:
        raise IndexError(f"index: no array in {parts!r}. Give arrays of positions, or masks.")
    adjacent = places == list(range(places[0], places[0] + len(places)))
    found = Advanced(tuple(slices), tuple(axes), tuple(indexers), axes[0] if adjacent else 0)
    shapes.check_ndim("index", max(len(slices), len(slices) - len(axes) + len(found.shape)))
    return found


def _indexer(part: Any, axis: int, shape: Shape) -> Indexer:
    if _is_mask(part):
        return Indexer(part, axis, part.shape) if part.ndim else Indexer(np.zeros(int(part), np.int64), 0, (1,))
    if isinstance(part, int):
        shapes.check_bounds(part, axis, shape[axis])                 # an array's bounds wait for the common shape
    return Indexer(np.asarray(part), axis, shape[axis:axis + 1])
