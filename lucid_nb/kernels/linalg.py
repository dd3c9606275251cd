"""Linear algebra of NumPy arrays by LAPACK, through NumPy and SciPy: matrices are the last two axes of operands."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..errors import LinAlgError
from . import determinants, spectral, unique_parts

Arrays = tuple[np.ndarray, ...]
REMEDIES = {
    "singular": "Use pinv or lstsq, or add a small multiple of the identity.",
    "positive definite": "Symmetrize it, and add a small multiple of the identity.",
    "converge": "Scale the matrix, or look for numbers that are not finite.",
    "infs or nans": "Replace them, as with nan_to_num.",
}


def linalg(routine: str, options: dict[str, Any], *arrays: np.ndarray) -> Any:
    """The results of a routine: an array, or a tuple of them."""
    try:
        return ROUTINES[routine](*arrays, **options)
    except LinAlgError:
        raise
    except np.linalg.LinAlgError as error:
        text = str(error)
        remedy = next((remedy for word, remedy in REMEDIES.items() if word in text.lower()), "Look at its values.")
        raise LinAlgError(f"{routine}: {text} (shape {arrays[0].shape}). {remedy}") from None


# -------------------------------------------------------------------------------------------------- inverses
def _det(a: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.det(a))


def _slogdet(a: np.ndarray) -> Arrays:
    return tuple(map(np.asarray, np.linalg.slogdet(a)))


def _inv_or_nan(a: np.ndarray) -> np.ndarray:
    """The inverse; NaN where there is none."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        flat = a.reshape(-1, *a.shape[-2:])
        if len(flat) == 1:
            return np.full_like(a, np.nan)
        return np.stack([_inv_or_nan(one) for one in flat]).reshape(a.shape)


def _pinv(a: np.ndarray, rtol: Any, hermitian: bool) -> np.ndarray:
    return np.linalg.pinv(spectral.checked("pinv", a), rtol=rtol, hermitian=hermitian)


def _lstsq(a: np.ndarray, b: np.ndarray, rcond: float | None) -> Arrays:
    """NumPy's results; of batches one matrix after the other, with sums of squares whatever the rank."""
    spectral.checked("lstsq", a)
    if a.ndim == b.ndim == 2:
        found, left, rank, values = np.linalg.lstsq(a, b, rcond)
        return found, left, np.asarray(rank, np.int64), values
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = [np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b)]
    rows, cols, count = *a.shape[-2:], b.shape[-1]
    solutions, ranks = np.empty((*batch, cols, count), a.dtype), np.empty(batch, np.int64)
    values = np.empty((*batch, min(rows, cols)), a.real.dtype)
    for at in np.ndindex(*batch):
        solutions[at], _, ranks[at], values[at] = np.linalg.lstsq(a[at], b[at], rcond)
    return solutions, np.square(np.abs(b - a @ solutions)).sum(axis=-2), ranks, values


def _solve_triangular(a: np.ndarray, b: np.ndarray, lower: bool, unit: bool, finite: bool = False) -> np.ndarray:
    """By substitution; `finite`: refuse what is not."""
    if finite:
        for x in (a, b):
            np.asarray_chkfinite(x)
    if a.ndim == b.ndim == 2:
        return _substituted(a, b, lower, unit)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = [np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b)]
    found = np.empty(b.shape, a.dtype)
    for at in np.ndindex(*batch):
        found[at] = _substituted(a[at], b[at], lower, unit)
    return found


def _substituted(a: np.ndarray, b: np.ndarray, lower: bool, unit: bool) -> np.ndarray:
    """One matrix. LAPACK reads columns: the rows of what is transposed."""
    if not b.size:
        return np.empty(b.shape, a.dtype)
    is_turned = not a.flags.f_contiguous
    matrix = np.ascontiguousarray(a).T if is_turned else a
    found, info = _trtrs(a.dtype.char)(matrix, b, lower=lower != is_turned, trans=int(is_turned), unitdiag=unit)
    if info > 0:
        raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {info - 1}")
    return np.ascontiguousarray(found)


@cache
def _trtrs(kind: str) -> Callable[..., Any]:
    """LAPACK's routine of a dtype."""
    from scipy.linalg import get_lapack_funcs
    return get_lapack_funcs("trtrs", dtype=kind)


# -------------------------------------------------------------------------------------------- decompositions
def _cholesky(a: np.ndarray, upper: bool) -> np.ndarray:
    return np.linalg.cholesky(a, upper=upper)


def _qr(a: np.ndarray, mode: str) -> Any:
    found = np.linalg.qr(a, mode)  # type: ignore[call-overload]
    return found if mode == "r" else tuple(found)


def _lu(a: np.ndarray, finite: bool) -> Arrays:
    """The permutation as matrices of the dtype of a, and both triangles."""
    from scipy.linalg import lu
    if finite:
        np.asarray_chkfinite(a)
    permutation, lower, upper = lu(a, check_finite=False)
    return permutation.astype(a.dtype), lower, upper


def _svd(a: np.ndarray, full: bool, hermitian: bool) -> Arrays:
    return tuple(np.linalg.svd(spectral.checked("svd", a), full, hermitian=hermitian))


def _matrix_rank(a: np.ndarray, tol: Any, rtol: Any, hermitian: bool) -> np.ndarray:
    return np.asarray(np.linalg.matrix_rank(spectral.checked("matrix_rank", a), tol, hermitian, rtol=rtol))


def _cond(a: np.ndarray, p: Any) -> np.ndarray:
    return np.asarray(np.linalg.cond(spectral.checked("cond", a), p))


# ------------------------------------------------------------------------------------------------ eigenvalues
def _eig(a: np.ndarray) -> Arrays:
    return tuple(np.linalg.eig(a))


def _eigh(a: np.ndarray, triangle: Any) -> Arrays:
    return tuple(np.linalg.eigh(a, triangle))


def _eigvalsh(a: np.ndarray, triangle: Any) -> np.ndarray:
    return np.linalg.eigvalsh(a, triangle)


def _expm(a: np.ndarray) -> np.ndarray:
    """By scaling, squaring and a Pade approximant (A. Al-Mohy and N. Higham, SIAM J. Matrix Anal. Appl. 31, 2009)."""
    from scipy.linalg import expm
    return np.asarray(expm(a)).astype(a.dtype, copy=False)


ROUTINES: dict[str, Callable[..., Any]] = {
    "inv": np.linalg.inv, "solve": np.linalg.solve, "det": _det, "slogdet": _slogdet, "inv_or_nan": _inv_or_nan,
    "pinv": _pinv, "lstsq": _lstsq, "solve_triangular": _solve_triangular,
    "cholesky": _cholesky, "qr": _qr, "lu": _lu, "svd": _svd, "matrix_rank": _matrix_rank,
    "cond": _cond,
    "eig": _eig, "eigvals": np.linalg.eigvals, "eigh": _eigh, "eigvalsh": _eigvalsh, "expm": _expm,
    "svdvals": spectral.values, "spectral_map": spectral.mapped, "spectral_parts": spectral.parts,
    "spectral_turn": spectral.turned, "cofactors": determinants.cofactors, "cofactor_turn": determinants.turned,
    "reciprocals": unique_parts.reciprocals, "determined": unique_parts.determined,
    "independent": unique_parts.independent,
}
