"""Grids, and tensors written as an index: `mgrid`, `ogrid`, `r_`, `c_`, `s_`, `ix_`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor, fresh
from ..errors import DTypeError, IndexError, ShapeError
from ..ops.axes import expand_dims, swapaxes
from ..ops.movement import as_tensor, joined, permute_dims, reshape
from ..register import public
from .data import asarray, from_host, place_of


@public(method=False)
def indices(dimensions: Sequence[int], dtype: Any = int, sparse: bool = False, *, device: Any = None) -> Any:
    """The index of each element of a grid, one array an axis: stacked, or with `sparse` a tuple of thin ones.

    >>> import lucid_nb as lnb
    >>> lnb.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    sizes = shapes.check_sizes("indices", shapes.as_shape("indices", dimensions))
    wanted, name = dtypes.as_dtype("indices", dtype), place_of(device, None)
    counted = dtypes.INT64 if wanted.kind == "b" else wanted              # NumPy counts to 1 in bool
    found: Any = np.indices(sizes, counted, sparse=sparse)  # type: ignore[call-overload]
    if sparse:
        return tuple(from_host("indices", one, wanted, name) for one in found)
    return from_host("indices", found, wanted, name)


def _plain(key: Any) -> Any:
    """A key whose tensors are Python numbers."""
    if isinstance(key, tuple):
        return tuple(_plain(part) for part in key)
    if isinstance(key, slice):
        return slice(*(x.item() if isinstance(x, Tensor) else x for x in (key.start, key.stop, key.step)))
    return key


class Grid:
    """`mgrid[0:2, 0:1:5j]`: coordinates along slices; a step of so many j means so many numbers, the end included."""

    def __init__(self, is_sparse: bool) -> None:
        self.numpy: Any = np.ogrid if is_sparse else np.mgrid

    def __getitem__(self, key: Any) -> Any:
        name = place_of(None, None)
        found = self.numpy[_plain(key)]
        if isinstance(found, tuple):
            return tuple(from_host("ogrid", one, None, name) for one in found)
        return from_host("mgrid", found, None, name)

    def __len__(self) -> int:
        return 0


class Joiner:
    """`r_[1:4, 0, x]`: slices, numbers and arrays joined along an axis, in NumPy's notation; differentiable.

    A text in front, "axis,ndim,place", says the axis, how many axes each part gets at least, and where the axes that
    it has go.
    """

    def __init__(self, axis: int, ndmin: int, place: int) -> None:
        self.axis, self.ndmin, self.place = axis, ndmin, place

    def __getitem__(self, key: Any) -> Tensor:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(part, Tensor) for part in parts):
            try:
                found = (np.c_ if self.ndmin == 2 else np.r_)[_plain(key)]
            except ValueError as error:
                raise ShapeError(f"r_: {error}. Make the parts fit.") from None
            return from_host("r_", np.asarray(found), None, place_of(None, None))
        axis, ndmin, place = self.axis, self.ndmin, self.place
        if isinstance(parts[0], str):
            axis, ndmin, place = self._directive(parts[0])
            parts = parts[1:]
        device = next(part.device for part in parts if isinstance(part, Tensor))
        scalars = [type(part) if type(part) in dtypes.WEAK else None for part in parts]
        tensors = [self._part(part, ndmin, place, device) for part in parts]
        keys = tuple([x.dtype if scalar is None else scalar for x, scalar in zip(tensors, scalars)])
        wanted = dtypes.promote(keys, device)
        return joined("r_", tensors, axis, None, wanted, "unsafe")

    def _directive(self, text: str) -> tuple[int, int, int]:
        """What a text in front says."""
        try:
            numbers = [int(number) for number in text.split(",")]
        except ValueError:
            raise DTypeError(f"r_: {text!r} is no directive for tensors. Use 'axis,ndim,place', or reshape.") from None
        axis, ndmin, place = (*numbers, *(self.axis, self.ndmin, self.place)[len(numbers):])
        return axis, ndmin, place

    def _part(self, part: Any, ndmin: int, place: int, device: str) -> Tensor:
        """One part, with as many axes as are asked for."""
        if isinstance(part, slice):
            found = from_host("r_", np.r_[_plain(part)], None, device)
            found = reshape(found, (1,) * (ndmin - 1) + found.shape)
            return swapaxes(found, -1, place) if place != -1 and ndmin > 1 else found
        found = part if isinstance(part, Tensor) else asarray(part, device=device)
        missing = ndmin - found.ndim
        if missing <= 0:
            return found
        own, found = found.ndim, expand_dims(found, tuple(range(missing)))
        if place == -1 or own == 0:
            return found
        first = place + missing + 1 if place < 0 else place
        axes = list(range(ndmin))
        return permute_dims(found, axes[:first] + axes[missing:] + axes[first:missing])

    def __len__(self) -> int:
        return 0


mgrid, ogrid = Grid(False), Grid(True)
r_, c_ = Joiner(0, 1, -1), Joiner(-1, 2, 0)


@public(method=False)
def ix_(*sequences: Any) -> tuple[Tensor, ...]:
    """Index arrays for the grid of some rows, columns and so on: `x[ix_([0, 2], [1])]`; masks mean where they hold.

    >>> import lucid_nb as lnb
    >>> [i.shape for i in lnb.ix_([0, 1], [2, 3, 4])]
    [(2, 1), (1, 3)]
    """
    found = []
    for place, sequence in enumerate(sequences):
        x = as_tensor("ix_", sequence)
        if x.ndim != 1:
            raise ShapeError(f"ix_: a sequence of shape {x.shape}. Give sequences of one axis.")
        if x.dtype.kind == "b":
            x = fresh(backend.of(x.raw).from_numpy(np.flatnonzero(x.to_host())))
        if x.size == 0 and not isinstance(sequence, (Tensor, np.ndarray)):
            x = x.astype(dtypes.INT64)
        if x.dtype.kind not in "iu":
            raise IndexError(f"ix_: {x.dtype} is no index. Use integers or bools.")
        found.append(reshape(x, (1,) * place + (-1,) + (1,) * (len(sequences) - 1 - place)) if x.size else
                     reshape(x, (1,) * place + (0,) + (1,) * (len(sequences) - 1 - place)))
    return tuple(found)
