"""Functions of singular values, and their derivatives, of NumPy arrays. Slopes are rows, (..., 1, k)."""

from math import isfinite

import numpy as np

from ..errors import GradError, LinAlgError

Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


def checked(op: str, a: np.ndarray) -> np.ndarray:
    """The matrix, of finite numbers: LAPACK prints complaints of others, gives up, or never comes back."""
    if not isfinite(np.vdot(a, a).real) and not np.isfinite(a).all():        # the sum is quick, and may overflow
        raise LinAlgError(f"{op}: a matrix of shape {a.shape} holds NaN or infinity, and has no singular values: the "
                          "SVD would not converge. Replace them, as with nan_to_num.")
    return a


def adjoint(a: np.ndarray) -> np.ndarray:
    """The conjugate transpose."""
    return np.conj(np.swapaxes(a, -1, -2))


def _least(s: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What counts as 0 beside these values: rounding."""
    return np.asarray(max(shape[-2:]) * np.finfo(s.dtype).eps * s.max(axis=-1, keepdims=True, initial=0))


def _decomposed(a: np.ndarray) -> Parts:
    """U, the singular values and V^H; what is 0 but for rounding is 0."""
    u, s, vh = np.linalg.svd(checked("svdvals", a), full_matrices=False)
    return u, np.where(s > _least(s, a.shape), s, 0), vh


def _over(a: np.ndarray, b: np.ndarray, least: np.ndarray) -> np.ndarray:
    """a / b, 0 where b is 0 but for rounding."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape), b.dtype), where=np.abs(b) > least)


def values(a: np.ndarray, op: str, linear: bool, hermitian: bool = False) -> np.ndarray:
    """The singular values, in descending order."""
    return np.linalg.svd(checked(op, a), compute_uv=False, hermitian=hermitian)


def mapped(a: np.ndarray, slopes: np.ndarray, linear: bool) -> np.ndarray:
    """U diag(slopes) V^H, without what belongs to singular values of 0."""
    u, s, vh = _decomposed(a)
    return np.asarray((u * np.where(s[..., None, :] > 0, slopes, 0)) @ vh)


def parts(a: np.ndarray, g: np.ndarray) -> np.ndarray:
    """What g has along each singular pair: the diagonal of U^H g V, as a row."""
    u, s, vh = _decomposed(a)
    along = np.einsum("...ik,...ij,...kj->...k", np.conjugate(u), g, np.conjugate(vh)).real
    return np.asarray(np.where(s > 0, along, 0).astype(s.dtype)[..., None, :])


def turned(a: np.ndarray, slopes: np.ndarray, g: np.ndarray, linear: bool) -> np.ndarray:
    """The gradient of <g, U diag(slopes) V^H> with respect to A, slopes held.

    Not `linear`, the slopes may differ as equal values part, and their derivatives are not known here: GradError.
    """
    u, s, vh = _decomposed(a)
    h = np.where(s[..., None, :] > 0, slopes, 0)
    v, uh = adjoint(vh), adjoint(u)
    inner = uh @ g @ v
    even, odd = (inner + adjoint(inner)) / 2, (inner - adjoint(inner)) / 2
    gaps, sums = s[..., None, :] - s[..., :, None], s[..., None, :] + s[..., :, None]
    hi, least = np.swapaxes(h, -1, -2), _least(s, a.shape)[..., None]
    if not linear:
        _refuse_ties(even, (np.abs(gaps) <= least) & (sums > least))
    middle = even * _over(h - hi, gaps, least) + odd * _over(hi + h, sums, np.zeros_like(least))
    ratio = _over(h, s[..., None, :], np.zeros_like(least))
    left, right = g @ v - u @ inner, uh @ g - inner @ vh                     # what lies outside both spaces
    return np.asarray((u @ middle @ vh + (left * ratio) @ vh + (u * ratio) @ right).astype(u.dtype))


def _refuse_ties(even: np.ndarray, is_tied: np.ndarray) -> None:
    """Refuse to turn what lies between pairs of equal singular values."""
    between = np.abs(np.where(is_tied & ~np.eye(even.shape[-1], dtype=bool), even, 0))
    if (between > np.sqrt(np.finfo(even.dtype).eps) * np.abs(even).max(axis=(-2, -1), keepdims=True, initial=0)).any():
        raise GradError("svdvals: singular values are equal, and second derivatives there are not known. Differentiate "
                        "once, or use a matrix norm, or a function of the matrix itself.")
