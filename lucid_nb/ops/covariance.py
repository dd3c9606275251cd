"""Covariances and correlations of several variables."""

from typing import Any

import numpy as np

from .. import backend, dtypes
from ..array import Tensor, fresh
from ..errors import DTypeError, ShapeError
from ..register import functions, public
from .complex import conjugate
from .hosted import holds_anywhere
from .linalg import matmul
from .movement import as_tensor, concat, reshape
from .statistics import average, warn_where
from .widening import as_double


class SampleError(ShapeError, RuntimeError):
    """Weights and samples do not fit; NumPy raises RuntimeError."""


@public(method=False)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
        aweights: Any = None, *, dtype: Any = None) -> Tensor:
    """The covariances of variables, each a row of m (a column, where not `rowvar`), those of y behind them.

    They are divided by the number of samples less `ddof`, which is 1, or 0 with `bias`. `fweights`: how often each
    sample counts, integers; `aweights`: how much. In float64 or complex128 unless `dtype` says otherwise; on mlx in
    single precision, where nothing is double. Of one variable the result is 0-d. Differentiable, by aweights too.
    ShapeError (a ValueError) for more than two axes; where weights do not fit the samples it is a RuntimeError, too.

    >>> import lucid_nb as lnb
    >>> lnb.cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    if ddof is not None and ddof != int(ddof):
        raise ShapeError(f"cov: ddof is {ddof}. Use an integer.")
    rows = _variables("m", m, rowvar, dtype)
    if rows.shape[0] == 0:
        empty = dtypes.FLOAT32 if rows.device == "mlx" else dtypes.FLOAT64
        return fresh(backend.of(rows.raw).full((0, 0), 0, empty))
    if y is not None:
        rows = concat([rows, _variables("y", y, rowvar, dtype)], 0)
    degrees = (0 if bias else 1) if ddof is None else ddof
    weights, count = _weights(rows, fweights, aweights, degrees)
    warn_where(count <= 0, "Degrees of freedom <= 0 for slice")
    count = functions["maximum"](count, 0.0) if isinstance(count, Tensor) else np.maximum(count, 0.0)
    away = rows - average(rows, 1, weights, keepdims=True)
    found = matmul(away, conjugate((away if weights is None else away * weights).T))
    scaled: Tensor = found * _inverse(count, found)
    return scaled.reshape([size for size in scaled.shape if size != 1])


def _inverse(count: Any, like: Tensor) -> Any:
    if isinstance(count, Tensor):
        return 1 / count
    return float(np.true_divide(1, count))


def _variables(name: str, given: Any, rowvar: bool, dtype: Any) -> Tensor:
    """Variables as rows."""
    x = as_tensor("cov", given)
    if x.ndim > 2:
        raise ShapeError(f"cov: {name} has shape {x.shape}. Give 2 axes at most: variables and samples.")
    x = as_double(x) if dtype is None else x.astype(dtype, copy=False)
    is_turned = not rowvar and (x.ndim == 2 if name == "m" else x.ndim == 2 and x.shape[0] != 1)
    return reshape(x, (1, -1)) if x.ndim < 2 else x.T if is_turned else x


def _weights(rows: Tensor, fweights: Any, aweights: Any, degrees: int) -> tuple[Any, Any]:
    """The weight of each sample, and what sums are divided by."""
    samples = rows.shape[1]
    times = None if fweights is None else _checked("fweights", fweights, samples)
    if times is not None and holds_anywhere(times != functions["round"](times)):
        raise DTypeError("cov: fweights are not whole. Use aweights.")
    amounts = None if aweights is None else _checked("aweights", aweights, samples)
    if times is None and amounts is None:
        return None, samples - degrees
    weights = amounts if times is None else times if amounts is None else times * amounts
    total = weights.sum()  # type: ignore[union-attr]
    if amounts is None or degrees == 0:
        return weights, total - degrees
    return weights, total - degrees * (weights * amounts).sum() / total  # type: ignore[operator]


def _checked(name: str, given: Any, samples: int) -> Tensor:
    weights = as_double(as_tensor("cov", given))
    if weights.ndim > 1 or weights.size != samples:
        raise SampleError(f"cov: {name} has shape {weights.shape} for {samples} samples. Give one number for each.")
    if holds_anywhere(weights < 0):
        raise ShapeError(f"cov: {name} has negative numbers. Use 0 or more.")
    return weights


@public(method=False)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tensor:
    """Pearson's correlation of variables: `cov` over the square roots of the variances; called as it is.

    >>> import lucid_nb as lnb
    >>> lnb.corrcoef([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]).round(12).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    size = functions["sqrt"](functions["diagonal"](functions["real"](found)))
    scaled = found / size[:, None] / size
    clip = functions["clip"]
    if scaled.dtype.kind != "c":
        bounded: Tensor = clip(scaled, -1, 1)
        return bounded
    return clip(scaled.real, -1, 1) + 1j * clip(scaled.imag, -1, 1)
