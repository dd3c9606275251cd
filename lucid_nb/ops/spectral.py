"""Singular values, computed on the host by NumPy, with gradients to second order.

With A = U diag(s) V^H, a function of the singular values with slopes h has the gradient U diag(h) V^H. That again is
differentiated by the divided differences of h (Yu. L. Daletskii and S. G. Krein, 1956; for singular values
F. Andersson, M. Carlsson and K.-M. Perfekt, Proceedings of the AMS 144, 2016): equal singular values need no care.
"""

from typing import Any

import numpy as np

from .. import flops
from ..errors import GradError, LinAlgError
from ..op import Info, Primitive

Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


def _host(table: Any, x: Any) -> np.ndarray:
    return np.asarray(table.to_numpy(x))


def _checked(a: np.ndarray) -> np.ndarray:
    """The matrix, of finite numbers: LAPACK prints complaints of others, or gives up."""
    if not np.isfinite(a).all():
        raise LinAlgError(f"singular values: a matrix of shape {a.shape} holds NaN or infinity, and has none. "
                          "Replace them, as with nan_to_num.")
    return a


def _decomposed(a: np.ndarray) -> Parts:
    """U, the singular values and V^H; what is 0 but for rounding is 0."""
    u, s, vh = np.linalg.svd(_checked(a), full_matrices=False)
    least = max(a.shape[-2:]) * np.finfo(s.dtype).eps * s.max(axis=-1, keepdims=True, initial=0)
    return u, np.where(s > least, s, 0), vh


def _adjoint(a: np.ndarray) -> np.ndarray:
    return np.conjugate(a.transpose(*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))


def _over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, 0 where b is."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape), b.dtype), where=b != 0)


def _values(table: Any, a: Any) -> Any:
    return table.from_numpy(np.linalg.svd(_checked(_host(table, a)), compute_uv=False))


def _map(table: Any, a: Any, slopes: Any) -> Any:
    """U diag(slopes) V^H, without what belongs to singular values of 0."""
    u, s, vh = _decomposed(_host(table, a))
    return table.from_numpy(np.asarray((u * np.where(s > 0, _host(table, slopes), 0)[..., None, :]) @ vh))


def _parts(table: Any, a: Any, g: Any) -> Any:
    """What g has along each singular pair: the diagonal of U^H g V."""
    u, s, vh = _decomposed(_host(table, a))
    along = np.einsum("...ik,...ij,...kj->...k", np.conjugate(u), _host(table, g), np.conjugate(vh)).real
    return table.from_numpy(np.where(s > 0, along, 0).astype(s.dtype))


def _turn(table: Any, a: Any, slopes: Any, g: Any) -> Any:
    """The gradient of <g, U diag(slopes) V^H> with respect to A, slopes held."""
    u, s, vh = _decomposed(_host(table, a))
    g, h = _host(table, g), np.where(s > 0, _host(table, slopes), 0)
    v, uh = _adjoint(vh), _adjoint(u)
    inner = uh @ g @ v
    even, odd = (inner + _adjoint(inner)) / 2, (inner - _adjoint(inner)) / 2
    si, sj, hi, hj = s[..., :, None], s[..., None, :], h[..., :, None], h[..., None, :]
    middle = even * _over(hi - hj, si - sj) + odd * _over(hi + hj, si + sj)
    ratio = _over(h, s)[..., None, :]
    left, right = g @ v - u @ inner, uh @ g - inner @ vh                     # what lies outside both spaces
    found = u @ middle @ vh + (left * ratio) @ vh + (u * ratio) @ right
    return table.from_numpy(np.asarray(found.astype(u.dtype)))


def _refuse(info: Info, *numbers: int) -> None:
    """What was differentiated twice is linear in what arrives, and may be transposed in that alone."""
    if any(info.wanted[number] for number in numbers):
        raise GradError("singular values: third derivatives are not there. Differentiate twice at most.")


def _pull_parts(ops: Any, info: Info, g: Any, a: Any) -> tuple:
    _refuse(info, 0)
    return None, ops.spectral_map(a, g)


def _pull_turn(ops: Any, info: Info, g: Any, a: Any, slopes: Any) -> tuple:
    """As a second derivative it is symmetric: its own transpose."""
    _refuse(info, 0, 1)
    return None, None, ops.spectral_turn(a, slopes, g)


singular_values = Primitive("singular_values", _values,
                            lambda ops, info, g, a: (ops.spectral_map(a, g),), keeps=(0,), flops=flops.singular_values)


def _pull_map(ops: Any, info: Info, g: Any, a: Any, slopes: Any) -> tuple:
    wanted = info.wanted
    return (ops.spectral_turn(a, slopes, g) if wanted[0] else None, ops.spectral_parts(a, g) if wanted[1] else None)


Primitive("spectral_map", _map, _pull_map, keeps=(0, 1), flops=flops.singular_vectors)
Primitive("spectral_parts", _parts, _pull_parts, keeps=(0,), flops=flops.singular_vectors)
Primitive("spectral_turn", _turn, _pull_turn, keeps=(0, 1), flops=flops.singular_vectors)
