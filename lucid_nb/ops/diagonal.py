"""Diagonals and triangles: taken as views, made, written, and cut off."""

from typing import Any

from .. import backend, dtypes, shapes
from ..apply import apply
from ..array import Tensor, fresh
from ..errors import ShapeError
from ..op import registry
from ..register import public
from ..storage import Diagonal, Permute
from ..views import embedding
from .flat import Flat
from .logic import where
from .movement import as_tensor, deliver, reshape


# --------------------------------------------------------------------------------------------------- taken
@public()
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of two axes, which vanish, as a last axis; a view, which unlike NumPy's may be written.

    `offset` counts to the right of the main diagonal, negative ones below it.

    >>> import lucid_nb as lnb
    >>> lnb.diagonal([[1, 2], [3, 4]])
    tensor([1, 4])
    """
    return _diagonal("diagonal", as_tensor("diagonal", a), offset, axis1, axis2)


def _diagonal(op: str, x: Tensor, offset: int, axis1: int, axis2: int) -> Tensor:
    if x.ndim < 2:
        raise ShapeError(f"{op}: needs two axes, the shape is {x.shape}. Reshape it.")
    first, second = (shapes.normalize_axis(op, axis, x.ndim) for axis in (axis1, axis2))
    if first == second:
        raise ShapeError(f"{op}: axis1 and axis2 are both {first}. Name two axes.")
    offset = shapes.as_integer(op, "offset", offset)
    offset = max(-x.shape[first], min(offset, x.shape[second]))
    rest = [axis for axis in range(x.ndim) if axis not in (first, second)]
    order = (*rest, first, second)
    x = x if order == tuple(range(x.ndim)) else x.moved(Permute(order))
    return x.moved(Diagonal(offset))


@public()
def diag(v: Any, k: int = 0) -> Tensor:
    """Of a matrix its diagonal, as a view; of a vector a matrix with it on the diagonal.

    >>> import lucid_nb as lnb
    >>> lnb.diag([1, 2], 1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    v = as_tensor("diag", v)
    if v.ndim == 2:
        return _diagonal("diag", v, k, 0, 1)
    if v.ndim != 1:
        raise ShapeError(f"diag: needs one or two axes, the shape is {v.shape}. Use diagonal, or diag_embed.")
    return _embedded("diag", v, k)


def _embedded(op: str, x: Tensor, k: int) -> Tensor:
    """Zeros with the last axis on a diagonal of two new ones."""
    k = shapes.as_integer(op, "offset", k)
    size = x.shape[-1] + abs(k)
    shape = shapes.check_sizes(op, (*x.shape[:-1], size, size))
    return apply(embedding, (x,), {"shape": shape, "steps": (Diagonal(k),)})


@public()
def diagflat(v: Any, k: int = 0) -> Tensor:
    """A matrix with all elements, flat, on a diagonal.

    >>> import lucid_nb as lnb
    >>> lnb.diagflat([[1], [2]]).tolist()
    [[1, 0], [0, 2]]
    """
    return _embedded("diagflat", reshape(as_tensor("diagflat", v), -1), k)


@public()
def diag_embed(x: Any, /, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """Matrices with the last axis on a diagonal of the new axes `axis1` and `axis2`; zeros elsewhere.

    >>> import lucid_nb as lnb
    >>> lnb.diag_embed([[1, 2], [3, 4]]).tolist()
    [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]
    """
    x = as_tensor("diag_embed", x)
    if x.ndim == 0:
        raise ShapeError("diag_embed: a 0-d array has no axis to put on a diagonal. Reshape it to (1,).")
    first, second = (shapes.normalize_axis("diag_embed", axis, x.ndim + 1) for axis in (axis1, axis2))
    if first == second:
        raise ShapeError(f"diag_embed: axis1 and axis2 are both {first}. Name two axes.")
    found = _embedded("diag_embed", x, offset)
    order = list(range(found.ndim - 2))
    for place, axis in sorted(((first, found.ndim - 2), (second, found.ndim - 1))):
        order.insert(place, axis)
    return found.moved(Permute(tuple(order)))


@public()
def fill_diagonal(a: Tensor, val: Any, wrap: bool = False) -> None:
    """Write the main diagonal of an array of two axes, or of more that are equal, in place.

    `wrap`: in a tall matrix, begin again after each square and an empty row.

    >>> import lucid_nb as lnb
    >>> x = lnb.zeros((2, 2))
    >>> lnb.fill_diagonal(x, 5)
    >>> x.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    if not isinstance(a, Tensor) or a.ndim < 2:
        raise ShapeError(f"fill_diagonal: needs a tensor of two axes or more, got {getattr(a, 'shape', type(a))}.")
    if a.ndim > 2 and len({*a.shape}) > 1:
        raise ShapeError(f"fill_diagonal: shape {a.shape} has unequal axes. Fill the diagonals of two of them.")
    step = sum(shapes.product(a.shape[axis + 1:]) for axis in range(a.ndim))
    end = None if wrap or a.ndim > 2 else a.shape[1] * a.shape[1]
    Flat(a)[:end:step] = val


# ----------------------------------------------------------------------------------------------- triangles
def triangle(rows: int, cols: int, k: int, device: str) -> Tensor:
    """True on and below the k-th diagonal."""
    return against_diagonal("less_equal", rows, cols, k, device)


def against_diagonal(name: str, rows: int, cols: int, k: int, device: str) -> Tensor:
    """The comparison of each column with that of the k-th diagonal in its row."""
    k, table = min(max(k, -rows), cols), backend.table(device)           # farther out it is all one
    crossed = table.reshape(table.iota(k, 1, rows, dtypes.INT64), (rows, 1))
    return fresh(registry[name].run((table.iota(0, 1, cols, dtypes.INT64), crossed)))


def _kept(op: str, x: Any, k: int, is_lower: bool) -> Tensor:
    x = as_tensor(op, x)
    x = x.broadcast_to((x.shape[0], x.shape[0])) if x.ndim == 1 else x
    if x.ndim < 2:
        raise ShapeError(f"{op}: needs two axes, the shape is {x.shape}. Reshape it.")
    k = shapes.as_integer(op, "k", k)
    mask = triangle(x.shape[-2], x.shape[-1], k if is_lower else k - 1, x.device)
    zero = fresh(backend.of(x.raw).full((), 0, x.dtype))
    return where(mask, x, zero) if is_lower else where(mask, zero, x)


@public()
def tril(m: Any, k: int = 0, *, out: Any = None) -> Tensor:
    """The last two axes with zeros above the k-th diagonal.

    >>> import lucid_nb as lnb
    >>> lnb.tril([[1, 2], [3, 4]]).tolist()
    [[1, 0], [3, 4]]
    """
    return deliver("tril", _kept("tril", m, k, True), out)


@public()
def triu(m: Any, k: int = 0, *, out: Any = None) -> Tensor:
    """The last two axes with zeros below the k-th diagonal.

    >>> import lucid_nb as lnb
    >>> lnb.triu([[1, 2], [3, 4]]).tolist()
    [[1, 2], [0, 4]]
    """
    return deliver("triu", _kept("triu", m, k, False), out)
