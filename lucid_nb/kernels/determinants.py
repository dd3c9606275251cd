"""The first and second derivatives of determinants, of singular matrices too.

With A = U diag(s) V^H the cofactors are, but for a phase, U diag(p) V^H, where p holds for each singular value the
product of the others: nothing is divided.
"""

import numpy as np

from .spectral import adjoint, checked


def _parts(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """U, the singular values, V^H, and the conjugate of the determinant of U V^H."""
    u, s, vh = np.linalg.svd(checked("det", a))
    return u, s, vh, np.asarray(np.conj(np.linalg.det(u) * np.linalg.det(vh)))[..., None, None]


def _products_without(s: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """The product along the last axis of s, without the numbers that each row of `hidden` marks."""
    return np.where(hidden, 1, s[(..., *(None,) * (hidden.ndim - 1), slice(None))]).prod(axis=-1)


def cofactors(a: np.ndarray) -> np.ndarray:
    """The conjugate of the determinant's derivative by each element: what points up the steepest ascent."""
    u, s, vh, phase = _parts(a)
    return phase * ((u * _products_without(s, np.eye(s.shape[-1], dtype=bool))[..., None, :]) @ vh)


def turned(a: np.ndarray, g: np.ndarray) -> np.ndarray:
    """The gradient of <g, cofactors(A)> with respect to A, which is also the gradient of <A', ...> for g, exchanged."""
    u, s, vh, phase = _parts(a)
    inner = adjoint(u) @ g @ adjoint(vh)
    one = np.eye(s.shape[-1], dtype=bool)
    minors = np.where(one, 0, _products_without(s, one[:, None] | one[None]))     # of products without two of them
    found = -minors * np.swapaxes(inner, -1, -2)
    found += one * (minors * np.einsum("...kk->...k", inner)[..., None, :]).sum(axis=-1)[..., None]
    return phase * (u @ np.conj(found) @ vh)
