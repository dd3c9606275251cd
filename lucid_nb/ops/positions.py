"""An index taken apart: its basic part, and the integer arrays and masks that stand for whole axes.

An index with arrays becomes simpler things: a basic view (slices, new axes) and positions into indexed axes, which are
merged into one where there are several.
"""

from dataclasses import dataclass
from functools import cached_property
from operator import index as to_index
from typing import Any, TypeAlias

import numpy as np

from .. import backend, dtypes, shapes
from ..apply import as_array
from ..array import Tensor, fresh
from ..errors import IndexError, is_one_of
from ..op import registry
from ..shapes import Shape

Positions: TypeAlias = np.ndarray | Tensor      # a tensor's are in the memory of a device, and stay there
INTEGERS = (int, np.integer)
WHOLE = slice(None)
MODES = ("raise", "wrap", "clip")
FEW = 4096                          # positions up to which NumPy's extremes are as fast as a kernel


@dataclass(frozen=True)
class Indexer:
    """One array of an index: integers into one axis, or a mask over several."""

    array: Positions
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

    @cached_property
    def positions(self) -> Positions:
        """Positions in its axes as one, counted from the front, after the bounds check."""
        if self.is_mask:
            return where_true(self.array)
        return counted_from_front("index", self.array, self.axis, self.size)

    @property
    def ndim(self) -> int:
        """How many axes its positions have."""
        return 1 if self.is_mask else self.array.ndim

    @property
    def shape(self) -> Shape:
        """The shape of its positions."""
        if not self.is_mask:
            return self.array.shape
        return self.positions.shape if isinstance(self.array, Tensor) else (int(np.count_nonzero(self.array)),)


@dataclass(frozen=True)
class Advanced:
    """An index with arrays, taken apart."""

    slices: tuple               # the basic part; whole slices stand for the indexed axes
    axes: Shape                 # of the view after it, those that arrays index
    indexers: tuple[Indexer, ...]
    place: int                  # where the arrays' axes go in the result

    @property
    def ndim(self) -> int:
        """How many axes the arrays have together."""
        return max([one.ndim for one in self.indexers])

    @property
    def shape(self) -> Shape:
        """The common shape of the arrays."""
        return shapes.broadcast_shapes("index", *[one.shape for one in self.indexers])

    def merged(self) -> Positions:
        """One position in the merged axes for the positions in each; of no positions none is out of range."""
        if len(self.indexers) == 1:
            return self.indexers[0].positions
        common = self.shape
        if not shapes.product(common):
            return np.zeros(common, np.int64)
        position: Any = 0
        for one, positions in zip(self.indexers, beside([one.positions for one in self.indexers])):
            position = position * one.size + positions
        return position.broadcast_to(common) if isinstance(position, Tensor) else np.broadcast_to(position, common)


def beside(several: list[Positions]) -> list[Positions]:
    """Positions on one device: those of the host join the others."""
    there = next((backend.of(one.raw) for one in several if isinstance(one, Tensor)), None)
    return several if there is None else [one if isinstance(one, Tensor) else fresh(there.from_numpy(one))
                                          for one in several]


def where_true(mask: Positions) -> Positions:
    """The positions of true elements in C order."""
    if isinstance(mask, Tensor):
        table = backend.of(mask.raw)
        return fresh(table.nonzero(table.reshape(mask.raw, (mask.size,)))[0])
    found: np.ndarray = backend.table("cpu").nonzero(mask.reshape(-1))[0]
    return found


def counted_from_front(op: str, positions: Positions, axis: int, size: int) -> Positions:
    """Positions counted from the front as int64, after the bounds check."""
    if positions.size == 0:
        return positions.astype(np.int64)
    low, high = extremes(positions)
    for extreme in (low, high):
        shapes.check_bounds(extreme, axis, size)
    positions = positions.astype(np.int64, copy=False)
    if low >= 0:
        return positions
    return changed(positions, "remainder", size) if isinstance(positions, Tensor) else \
        np.where(positions < 0, positions + size, positions)


def extremes(positions: Positions) -> tuple[int, int]:
    """The smallest and the largest of some integers: all that is read on the host of those on a device."""
    found: tuple[int, int]
    if isinstance(positions, Tensor):
        found = backend.of(positions.raw).span(positions.raw)
        return found
    if positions.size > FEW and positions.dtype == np.int64:
        found = backend.table("cpu").span(positions)
        return found
    return int(np.minimum.reduce(positions, None)), int(np.maximum.reduce(positions, None))


def changed(positions: Tensor, name: str, number: int) -> Tensor:
    """Numbers on a device after an elementwise op with a number."""
    return fresh(registry[name].run((positions.raw, number)))


def staying(given: Any, device: str, kinds: str = "iu") -> Tensor | None:
    """Positions (with `kinds` "b", a mask) in the memory of the device that will use them, which need not leave it."""
    if not isinstance(given, Tensor) or given.dtype.kind not in kinds:
        return None
    given = given.refresh()
    table = backend.of(given.raw)
    return given.detach() if table.name == table.device == device != "cpu" else None


def span_of(x: Tensor) -> tuple[int, int]:
    """The smallest and the largest of integers, wherever they lie."""
    found = staying(x, x.device)
    return extremes(x.to_host() if found is None else found)


def positions_of(op: str, given: Any, device: str, bools: bool = False) -> Positions:
    """Integers on the device where they lie and are used, or on the host. `bools`: are they taken, as 0 and 1?"""
    found = staying(given, device, "iub" if bools else "iu")
    if found is None:
        return host_positions(op, given, bools)
    return fresh(backend.of(found.raw).cast(found.raw, dtypes.INT64)) if found.dtype == dtypes.BOOL else found


def host_positions(op: str, given: Any, bools: bool = False) -> np.ndarray:
    """Integers on the host; `bools` as above."""
    found = given.to_host() if isinstance(given, Tensor) else as_array(op, given)
    if found.dtype.kind not in ("iub" if bools else "iu") and found.size:
        raise IndexError(f"{op}: {found.dtype} is no index. Use integers.")
    return found if found.dtype.kind in "iu" else found.astype(np.int64)


def in_mode(op: str, positions: Positions, size: int, mode: str) -> Positions:
    """Positions brought into range as NumPy's `mode` says; by "raise" they are left alone."""
    if not is_one_of(mode, MODES):
        raise IndexError(f"{op}: mode {mode!r} is unknown. Use one of {', '.join(MODES)}.")
    if mode == "raise" or positions.size == 0:
        return positions
    if size == 0:
        raise IndexError(f"{op}: positions into an axis of size 0. It is empty.")
    if isinstance(positions, Tensor):
        positions = positions.astype(np.int64, copy=False)
        return changed(positions, "remainder", size) if mode == "wrap" else \
            changed(changed(positions, "maximum", 0), "minimum", size - 1)
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


def plain(part: Any, device: str = "cpu") -> Any:
    """A part of an index of what lies on a device, with numbers as int and sequences as arrays."""
    if isinstance(part, (bool, np.bool_)):
        return np.array(part)
    if isinstance(part, INTEGERS):
        return int(part)
    if isinstance(part, slice):
        return plain_slice(part)
    if part is None or part is Ellipsis:
        return part
    there = staying(part, device, "iub")
    if there is not None and there.ndim:
        return there
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
    return isinstance(part, Positions) and part.dtype.kind == "b"


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
    """The basic part, the arrays and their place in the result, by NumPy's rules; `parts` are plain."""
    slices: list = []
    indexers: list[Indexer] = []
    axes: list[int] = []
    places: list[int] = []
    axis = 0
    for number, part in enumerate(_spelled_out(list(parts), shape)):
        if isinstance(part, int | Positions):
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
    shapes.check_ndim("index", max(len(slices), len(slices) - len(axes) + found.ndim))
    return found


def _indexer(part: Any, axis: int, shape: Shape) -> Indexer:
    if _is_mask(part):
        return Indexer(part, axis, part.shape) if part.ndim else Indexer(np.zeros(int(part), np.int64), 0, (1,))
    if isinstance(part, int):
        shapes.check_bounds(part, axis, shape[axis])                 # an array's bounds wait for the common shape
    return Indexer(part if isinstance(part, Tensor) else np.asarray(part), axis, shape[axis:axis + 1])
