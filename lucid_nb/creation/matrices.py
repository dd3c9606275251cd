"""Matrices of a form, and the indices of triangles and diagonals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backend, dtypes, shapes
from ..array import Tensor, fresh
from ..errors import ShapeError
from ..ops.diagonal import triangle
from ..ops.joining import stack
from ..ops.movement import as_tensor, astype
from ..register import public
from .data import float_dtype, from_host, place_of
from .filled import ones

Indices = tuple[Tensor, ...]


@public(method=False)
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, order: str = "C", *, device: Any = None,
        like: Any = None, requires_grad: bool = False) -> Tensor:
    """A matrix with ones on the k-th diagonal, and zeros elsewhere.

    >>> import lucid_nb as lnb
    >>> lnb.eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    shape = _sizes("eye", N, M)
    name = place_of(device, like)
    wanted = float_dtype("eye", dtype, name)
    made = np.eye(*shape, shapes.as_integer("eye", "k", k), wanted, str(order or "C").upper())  # type: ignore[call-overload]
    return from_host("eye", made, wanted, name, requires_grad)


def _sizes(op: str, rows: Any, cols: Any) -> tuple[int, int]:
    first = shapes.as_integer(op, "rows", rows)
    second = first if cols is None else shapes.as_integer(op, "columns", cols)
    shapes.check_sizes(op, (first, second))
    return first, second


@public(method=False)
def identity(n: int, dtype: Any = None, *, device: Any = None, like: Any = None) -> Tensor:
    """The identity matrix of `n` rows.

    >>> import lucid_nb as lnb
    >>> lnb.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype, device=device, like=like)


@public(method=False)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None,
        like: Any = None) -> Tensor:
    """A matrix with ones on and below the k-th diagonal, and zeros above.

    >>> import lucid_nb as lnb
    >>> lnb.tri(2, 3, dtype=int).tolist()
    [[1, 0, 0], [1, 1, 0]]
    """
    shape = _sizes("tri", N, M)
    name = place_of(device, like)
    wanted = float_dtype("tri", dtype, name)
    return astype(triangle(*shape, shapes.as_integer("tri", "k", k), name), wanted)


@public(method=False)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix: powers of each element in a row, N of them, falling unless `increasing`; differentiable.

    >>> import lucid_nb as lnb
    >>> lnb.vander([2, 3], 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    x = as_tensor("vander", x)
    if x.ndim != 1:
        raise ShapeError(f"vander: needs one axis, the shape is {x.shape}. Reshape it.")
    count = x.size if N is None else shapes.as_integer("vander", "N", N)
    shapes.check_sizes("vander", (x.size, count))
    x = astype(x, dtypes.promote((x.dtype, dtypes.INT64), x.device), copy=False)
    if count == 0:
        return from_host("vander", np.zeros((x.size, 0), x.dtype), x.dtype, x.device)
    powers = [ones(x.shape, dtype=x.dtype, device=x.device)]
    for number in range(1, count):
        powers.append(powers[-1] * x if number > 1 else x)
    return stack(powers if increasing else powers[::-1], axis=1)


# ------------------------------------------------------------------------------------------------- indices
def _indices(op: str, make: Callable[[], Any], device: Any) -> Indices:
    """Index arrays that NumPy makes, as tensors."""
    try:
        found = make()
    except ValueError as error:
        raise ShapeError(f"{op}: {error}. Use other sizes.") from None
    table = backend.table(place_of(device, None))
    return tuple(fresh(table.from_numpy(one.astype(np.int64, copy=False))) for one in found)


@public(method=False)
def tril_indices(n: int, k: int = 0, m: int | None = None, *, device: Any = None) -> Indices:
    """Rows and columns of the lower triangle of an n by m matrix, up to the k-th diagonal.

    >>> import lucid_nb as lnb
    >>> lnb.tril_indices(2)
    (tensor([0, 1, 1]), tensor([0, 0, 1]))
    """
    shape = _sizes("tril_indices", n, m)
    return _indices("tril_indices", lambda: np.tril_indices(shape[0], k, shape[1]), device)


@public(method=False)
def triu_indices(n: int, k: int = 0, m: int | None = None, *, device: Any = None) -> Indices:
    """Rows and columns of the upper triangle of an n by m matrix, from the k-th diagonal on.

    >>> import lucid_nb as lnb
    >>> lnb.triu_indices(2)
    (tensor([0, 0, 1]), tensor([0, 1, 1]))
    """
    shape = _sizes("triu_indices", n, m)
    return _indices("triu_indices", lambda: np.triu_indices(shape[0], k, shape[1]), device)


def _matrix_shape(op: str, x: Any) -> tuple[Tensor, tuple[int, int]]:
    x = as_tensor(op, x)
    if x.ndim != 2:
        raise ShapeError(f"{op}: needs a matrix, the shape is {x.shape}. Reshape it.")
    return x, (x.shape[0], x.shape[1])


@public(method=False)
def tril_indices_from(arr: Any, k: int = 0) -> Indices:
    """`tril_indices` for the shape of a matrix.

    >>> import lucid_nb as lnb
    >>> lnb.tril_indices_from(lnb.zeros((1, 3)), 1)
    (tensor([0, 0]), tensor([0, 1]))
    """
    arr, (rows, cols) = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, cols, device=arr.device)


@public(method=False)
def triu_indices_from(arr: Any, k: int = 0) -> Indices:
    """`triu_indices` for the shape of a matrix.

    >>> import lucid_nb as lnb
    >>> lnb.triu_indices_from(lnb.zeros((1, 3)), 1)
    (tensor([0, 0]), tensor([1, 2]))
    """
    arr, (rows, cols) = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, cols, device=arr.device)


@public(method=False)
def diag_indices(n: int, ndim: int = 2, *, device: Any = None) -> Indices:
    """Indices of the main diagonal of an array of `ndim` axes of size n.

    >>> import lucid_nb as lnb
    >>> lnb.diag_indices(2)
    (tensor([0, 1]), tensor([0, 1]))
    """
    count = shapes.as_integer("diag_indices", "n", n)
    shapes.check_sizes("diag_indices", (max(count, 0),) * shapes.as_integer("diag_indices", "ndim", ndim))
    return _indices("diag_indices", lambda: np.diag_indices(count, ndim), device)


@public(method=False)
def diag_indices_from(arr: Any) -> Indices:
    """`diag_indices` for an array of two or more equal axes.

    >>> import lucid_nb as lnb
    >>> lnb.diag_indices_from(lnb.zeros((2, 2)))
    (tensor([0, 1]), tensor([0, 1]))
    """
    arr = as_tensor("diag_indices_from", arr)
    if arr.ndim < 2 or len({*arr.shape}) > 1:
        raise ShapeError(f"diag_indices_from: needs two or more equal axes, the shape is {arr.shape}. Take a part.")
    return diag_indices(arr.shape[0], arr.ndim, device=arr.device)


@public(method=False)
def mask_indices(n: int, mask_func: Callable, k: Any = 0, *, device: Any = None) -> Indices:
    """Where `mask_func(ones((n, n)), k)` is not zero; `tril` and `triu` are such functions.

    >>> import lucid_nb as lnb
    >>> lnb.mask_indices(2, lnb.triu)
    (tensor([0, 0, 1]), tensor([0, 1, 1]))
    """
    count = shapes.as_integer("mask_indices", "n", n)
    mask = mask_func(ones((count, count), dtype=dtypes.INT64, device=device), k)
    host = mask.to_host() if isinstance(mask, Tensor) else np.asarray(mask)
    return _indices("mask_indices", lambda: np.nonzero(host), device)
