"""Functions of the namespace `linalg` that have other arguments at the top level: they take the last two axes."""

from typing import Any

from ..array import Tensor
from ..errors import ShapeError
from ..shapes import normalize_axis
from . import linalg as top
from . import products
from .contraction import promoted
from .diagonal import diagonal as of_axes
from .movement import as_tensor


def outer(a: Any, b: Any, /) -> Tensor:
    """Every element of a vector times every element of another; ShapeError for what is no vector.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.outer([1, 2], [3, 4]).tolist()
    [[3, 4], [6, 8]]
    """
    a, b = promoted("outer", (a, b))
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer: shapes {a.shape} and {b.shape} are not vectors. Use lnb.outer, or .reshape(-1).")
    return top.outer(a, b)


def cross(a: Any, b: Any, /, *, axis: int = -1) -> Tensor:
    """The vector across two vectors of three components on one axis; the other axes broadcast.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.cross([1, 0, 0], [0, 1, 0])
    tensor([0, 0, 1])
    """
    a, b = promoted("cross", (a, b))
    for x in (a, b):
        if x.ndim and x.shape[normalize_axis("cross", axis, x.ndim)] != 3:
            raise ShapeError(f"cross: axis {axis} of shape {x.shape} must have 3 components. Use lnb.cross for two.")
    return products.cross(a, b, axis=axis)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of the last two axes, in the dtype of `sum`; `offset` counts to the right.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.trace([[1, 2], [3, 4]]).item()
    5
    """
    return products.trace(x, offset, -2, -1, dtype)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes, as a view; `offset` counts to the right.

    >>> import lucid_nb as lnb
    >>> lnb.linalg.diagonal([[1, 2], [3, 4]])
    tensor([1, 4])
    """
    return of_axes(as_tensor("diagonal", x), offset, -2, -1)
