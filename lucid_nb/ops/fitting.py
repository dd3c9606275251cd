"""Roots of polynomials, and polynomials through points."""

import warnings
from typing import Any

import numpy as np

from .. import dtypes
from ..array import Tensor, fresh
from ..backend import of
from ..errors import DTypeError, ShapeError, is_one_of, told
from ..register import functions, public
from .eigen import eigvals
from .linalg import matmul
from .movement import as_tensor, astype, concat, reshape
from .polynomials import coefficients, inexact, of_roots
from .solves import inv, lstsq


@public(method=False)
def roots(p: Any) -> Tensor:
    """The roots of a polynomial, as the eigenvalues of its companion matrix; differentiable where they differ.

    p: coefficients of one axis, the highest power first; zeros in front and behind are looked for on the host. Complex
    where a root is. ShapeError (a ValueError) for more axes than one.

    >>> import lucid_nb as lnb
    >>> sorted(lnb.roots([1.0, -3.0, 2.0]).round(12).tolist())
    [1.0, 2.0]
    """
    x = inexact(coefficients("roots", p))
    places = np.flatnonzero(x.to_host())
    if not places.size:
        return astype(x[:0], dtypes.on_device(dtypes.FLOAT64, x.device)) if x.dtype.kind != "c" else x[:0].real
    behind = x.size - 1 - int(places[-1])
    x = x[int(places[0]):int(places[-1]) + 1]
    degree = x.size - 1
    if degree == 0:
        return fresh(of(x.raw).full((behind,), 0, dtypes.on_device(dtypes.FLOAT64, x.device)))
    below = functions["eye"](degree - 1, degree, dtype=x.dtype, device=x.device)
    found = eigvals(concat([reshape(-x[1:] / x[0], (1, degree)), below]))
    return found if behind == 0 else concat([found, fresh(of(found.raw).full((behind,), 0, found.dtype))])


@public(method=False)
def poly(seq_of_zeros: Any) -> Tensor:
    """The polynomial whose highest coefficient is 1, of these roots, or of the eigenvalues of a square matrix.

    ShapeError, a ValueError, for other shapes.

    >>> import lucid_nb as lnb
    >>> lnb.poly([1.0, 2.0])
    tensor([ 1., -3.,  2.])
    """
    x = as_tensor("poly", seq_of_zeros)
    x = inexact(reshape(x, 1) if x.ndim == 0 else x)
    if x.ndim == 2 and x.shape[0] == x.shape[1] != 0:
        x = eigvals(x)
    elif x.ndim != 1:
        raise ShapeError(f"poly: shape {x.shape} is neither one of roots nor of a square matrix. Give (n,) or (n, n).")
    return of_roots(x) if x.size else fresh(of(x.raw).full((), 1, dtypes.on_device(dtypes.FLOAT64, x.device)))


@public(method=False)
def polyfit(x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
            cov: bool | str = False) -> Any:
    """The polynomial of degree `deg` nearest to points (x, y), by least squares; differentiable by x, y and w.

    y: of one axis, or columns of several. `w`: a factor of each distance. `rcond`: singular values below it times the
    largest count as 0, with a RankWarning. With `full` also the residuals, the rank, the singular values and rcond;
    with `cov` the covariances of the coefficients, with cov="unscaled" those of distances of size 1. ShapeError (a
    ValueError) for a negative degree, DTypeError (a TypeError) for points that do not fit, as NumPy's.

    >>> import lucid_nb as lnb
    >>> lnb.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(12).tolist()
    [2.0, 1.0]
    """
    order = int(deg) + 1
    x, y, weights = _points(x, y, w, deg)
    powers = functions["vander"](x, order)
    if weights is not None:
        powers, y = powers * weights[:, None], y * (weights if y.ndim == 1 else weights[:, None])
    limit = x.size * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    scale = functions["sqrt"]((powers * powers).sum(0))
    powers = powers / scale
    found, residuals, rank, values = lstsq(powers, y, limit)
    found = found / (scale if found.ndim == 1 else scale[:, None])
    if full:
        return found, residuals, rank, values, limit
    if int(rank) != order:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if cov is False or cov is None:
        return found
    return found, _covariances(powers, scale, residuals, y, cov)


def _points(x: Any, y: Any, w: Any, deg: int) -> tuple[Tensor, Tensor, Tensor | None]:
    x, y = inexact(as_tensor("polyfit", x)), inexact(as_tensor("polyfit", y))
    weights = None if w is None else inexact(as_tensor("polyfit", w))
    if deg < 0:
        raise ShapeError(f"polyfit: deg is {deg}. Use 0 or more.")
    if x.ndim != 1 or x.size == 0:
        raise DTypeError(f"polyfit: x has shape {x.shape}. Give points along one axis.")
    if y.ndim not in (1, 2) or y.shape[0] != x.size:
        raise DTypeError(f"polyfit: y has shape {y.shape} for {x.size} points. Give one number, or a row, for each.")
    if weights is not None and weights.shape != x.shape:
        raise DTypeError(f"polyfit: w has shape {weights.shape} for {x.size} points. Give one number for each.")
    return x, y, weights


def _covariances(powers: Tensor, scale: Tensor, residuals: Tensor, y: Tensor, cov: Any) -> Tensor:
    base = inv(matmul(powers.T, powers)) / (scale[:, None] * scale)
    if is_one_of(cov, ("unscaled",)):
        return base if y.ndim == 1 else base[:, :, None]
    points, order = powers.shape
    if points <= order:
        raise ShapeError(f"polyfit: {points} points for {order} coefficients leave nothing to scale by, with cov="
                         f"{told(cov)}. Use more points, or cov='unscaled'.")
    return (base if y.ndim == 1 else base[:, :, None]) * (residuals / (points - order))
