"""Functions of lines and of axes, applied to all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import shapes
from ..array import Tensor
from ..errors import ShapeError
from ..register import functions, public
from .axes import expand_dims, moveaxis
from .movement import as_tensor, permute_dims, reshape


@public(method=False)
def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Tensor:
    """A function of one line applied to every line along an axis, whose place its results take; differentiable.

    The function gets tensors of one axis and gives numbers or tensors of one shape. ShapeError (a ValueError) where
    there is no line.

    >>> import lucid_nb as lnb
    >>> lnb.apply_along_axis(lambda line: line - line[0], 1, [[1, 2], [5, 9]])
    tensor([[0, 1],
            [0, 4]])
    """
    x = as_tensor("apply_along_axis", arr)
    axis = shapes.normalize_axis("apply_along_axis", axis, x.ndim)
    lines = moveaxis(x, axis, -1)
    outer = lines.shape[:-1]
    if 0 in outer:
        raise ShapeError(f"apply_along_axis: shape {x.shape} has no lines along axis {axis}. Give some.")
    found = [as_tensor("apply_along_axis", func1d(lines[place], *args, **kwargs)) for place in np.ndindex(outer)]
    parts = functions["stack"](found)
    ndim, inner = len(outer), parts.ndim - 1
    order = (*range(axis), *range(ndim, ndim + inner), *range(axis, ndim))
    return permute_dims(reshape(parts, (*outer, *parts.shape[1:])), order)


@public(method=False)
def apply_over_axes(func: Callable, a: Any, axes: Any) -> Tensor:
    """`func(a, axis)` for one axis after the other; an axis that it takes away is put back, of size 1.

    >>> import lucid_nb as lnb
    >>> lnb.apply_over_axes(lnb.sum, lnb.ones((2, 3, 4)), [0, 2]).shape
    (1, 3, 1)
    """
    x = as_tensor("apply_over_axes", a)
    ndim = x.ndim
    for axis in shapes.as_shape("apply_over_axes", axes):
        place = shapes.normalize_axis("apply_over_axes", axis, ndim)
        found = as_tensor("apply_over_axes", func(x, place))
        found = expand_dims(found, place) if found.ndim == ndim - 1 else found
        if found.ndim != ndim:
            raise ShapeError(f"apply_over_axes: the function gave shape {found.shape} of {x.shape}. It may take away "
                             f"axis {place}, and no other.")
        x = found
    return x


class ndenumerate:
    """Pairs of a place, a tuple of integers, and the element there, a 0-d tensor, along the last axis first.

    >>> import lucid_nb as lnb
    >>> [(place, int(x)) for place, x in lnb.ndenumerate([[1, 2], [3, 4]])][1:3]
    [((0, 1), 2), ((1, 0), 3)]
    """

    def __init__(self, arr: Any) -> None:
        x = as_tensor("ndenumerate", arr)
        self._pairs = zip(np.ndindex(x.shape), reshape(x, -1))

    def __iter__(self) -> "ndenumerate":
        return self

    def __next__(self) -> tuple[tuple[int, ...], Tensor]:
        return next(self._pairs)
