"""Joining: arrays stacked on new axes, side by side, and from nested blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import shapes
from ..array import Tensor
from ..errors import DTypeError, ShapeError
from ..register import public, short
from ..storage import Slice
from .axes import atleast, expand_dims
from .movement import alike, as_tensor, joined, reshape, tensors_of


@public(method=False)
def stack(arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None,
          casting: str = "same_kind") -> Tensor:
    """Arrays of one shape side by side along a new axis.

    >>> import lucid_nb as lnb
    >>> lnb.stack([lnb.zeros(2), lnb.ones(2)], axis=1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    is_plain = out is dtype is None and axis == 0 and type(arrays) in (tuple, list)
    if is_plain and (raws := alike(arrays)) is not None and len({raw.shape for raw in raws}) == 1:
        return short.made(np.concatenate([raw[None] for raw in raws]))
    tensors = tensors_of("stack", arrays)
    for x in tensors:
        if x.shape != tensors[0].shape:
            raise ShapeError(f"stack: shapes {tensors[0].shape} and {x.shape} differ. Make them equal.")
    axis = shapes.normalize_axis("stack", axis, tensors[0].ndim + 1)
    return joined("stack", [expand_dims(x, axis) for x in tensors], axis, out, dtype, casting)


@public(method=False)
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays joined along axis 1, or along their only axis.

    >>> import lucid_nb as lnb
    >>> lnb.hstack([[1, 2], [3]])
    tensor([1, 2, 3])
    """
    tensors = [atleast("hstack", x, 1) for x in tensors_of("hstack", tup)]
    return joined("hstack", tensors, 0 if tensors[0].ndim == 1 else 1, None, dtype, casting)


@public(names=("row_stack",), method=False)
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Arrays joined along axis 0, those of one axis as rows.

    >>> import lucid_nb as lnb
    >>> lnb.vstack([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    tensors = [atleast("vstack", x, 2) for x in tensors_of("vstack", tup)]
    return joined("vstack", tensors, 0, None, dtype, casting)


@public(method=False)
def dstack(tup: Sequence[Any]) -> Tensor:
    """Arrays joined along axis 2, those of fewer axes as `atleast_3d` makes them.

    >>> import lucid_nb as lnb
    >>> lnb.dstack([[1, 2], [3, 4]]).shape
    (1, 2, 2)
    """
    tensors = [atleast("dstack", x, 3) for x in tensors_of("dstack", tup)]
    return joined("dstack", tensors, 2, None, None, "same_kind")


@public(method=False)
def column_stack(tup: Sequence[Any]) -> Tensor:
    """Arrays joined along axis 1, those of one axis as columns.

    >>> import lucid_nb as lnb
    >>> lnb.column_stack([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    tensors = [x if x.ndim > 1 else reshape(x, (-1, 1)) for x in tensors_of("column_stack", tup)]
    return joined("column_stack", tensors, 1, None, None, "same_kind")


@public(method=False)
def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """A new tensor with values after its own, along an axis, or flat.

    >>> import lucid_nb as lnb
    >>> lnb.append([1, 2], [[3], [4]])
    tensor([1, 2, 3, 4])
    """
    return joined("append", tensors_of("append", [arr, values]), axis, None, None, "same_kind")


# -------------------------------------------------------------------------------------------------- blocks
@public(method=False)
def block(arrays: Any) -> Tensor:
    """An array from nested lists of blocks: the innermost lists are joined along the last axis, and so on outwards.

    >>> import lucid_nb as lnb
    >>> lnb.block([[lnb.ones((1, 1)), lnb.zeros((1, 2))], [lnb.full((1, 3), 2.0)]]).tolist()
    [[1.0, 0.0, 0.0], [2.0, 2.0, 2.0]]
    """
    if isinstance(arrays, tuple):
        raise DTypeError("block: got a tuple. Only lists nest; a tuple would be ambiguous.")
    leaves: list[Any] = []
    depth = _gather(arrays, leaves)
    tensors = tensors_of("block", leaves)
    ndim = max(depth, *[x.ndim for x in tensors])
    found = _block(arrays, iter([_leading(x, ndim) for x in tensors]), ndim - depth, ndim)
    return found.copy() if depth == 0 else found


def _gather(nested: Any, leaves: list[Any]) -> int:
    """Append the blocks in order; give how deep the lists nest."""
    if isinstance(nested, tuple):
        raise DTypeError("block: got a tuple. Only lists nest; a tuple would be ambiguous.")
    if not isinstance(nested, list):
        leaves.append(nested)
        return 0
    if not nested:
        raise ShapeError("block: an empty list has no shape. Leave it out.")
    depths = {_gather(part, leaves) for part in nested}
    if len(depths) > 1:
        raise ShapeError(f"block: lists nest {min(depths) + 1} and {max(depths) + 1} deep. Nest all alike.")
    return depths.pop() + 1


def _leading(x: Tensor, ndim: int) -> Tensor:
    """`x` with new axes in front."""
    return x if x.ndim == ndim else x.moved(Slice((*(None,) * (ndim - x.ndim), ...)))


def _block(nested: Any, tensors: Any, axis: int, ndim: int) -> Tensor:
    """The blocks of a nested list joined along `axis`, the inner ones along the next."""
    if not isinstance(nested, list):
        return next(tensors)
    return joined("block", [_block(part, tensors, axis + 1, ndim) for part in nested], axis, None, None, "same_kind")


# ---------------------------------------------------------------------------------------------- broadcasts
@public(method=False)
def broadcast_shapes(*sizes: Any) -> shapes.Shape:
    """The shape that arrays of these shapes broadcast to.

    >>> import lucid_nb as lnb
    >>> lnb.broadcast_shapes((3, 1), 4)
    (3, 4)
    """
    return shapes.broadcast_shapes("broadcast_shapes", *[shapes.as_shape("broadcast_shapes", s) for s in sizes])


@public(method=False)
def broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Tensor, ...]:
    """Read-only views of the shape that the arrays broadcast to.

    >>> import lucid_nb as lnb
    >>> [x.shape for x in lnb.broadcast_arrays([1, 2], [[3], [4]])]
    [(2, 2), (2, 2)]
    """
    tensors = tensors_of("broadcast_arrays", list(arrays)) if arrays else []
    wanted = shapes.broadcast_shapes("broadcast_arrays", *[x.shape for x in tensors])
    return tuple(x if x.shape == wanted else x.broadcast_to(wanted) for x in tensors)


@public(method=False)
def meshgrid(*arrays: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinate arrays of a grid, one for each 1-D array of coordinates.

    `indexing`: "xy" puts the first array along axis 1, "ij" every array along its own axis. `sparse`: keep size 1 along
    the other axes. `copy=False` gives views.

    >>> import lucid_nb as lnb
    >>> lnb.meshgrid([1, 2, 3], [4, 5])[1].tolist()
    [[4, 4, 4], [5, 5, 5]]
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing {indexing!r} is unknown. Use 'xy' or 'ij'.")
    tensors = tensors_of("meshgrid", list(arrays)) if arrays else []
    places = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        places[:2] = 1, 0
    grid = [reshape(x, (1,) * place + (-1,) + (1,) * (len(tensors) - 1 - place)) for x, place in zip(tensors, places)]
    if not sparse:
        grid = list(broadcast_arrays(*grid)) if grid else []
    return tuple(as_tensor("meshgrid", x).copy() if copy else x for x in grid)
