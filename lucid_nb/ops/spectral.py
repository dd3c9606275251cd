"""Singular values, computed on the host, with gradients to second order.

With A = U diag(s) V^H, a function of the singular values with slopes h has the gradient U diag(h) V^H. That again is
differentiated by the divided differences of h (Yu. L. Daletskii and S. G. Krein, 1956; for singular values
F. Andersson, M. Carlsson and K.-M. Perfekt, Proceedings of the AMS 144, 2016). `linear`: what is made of the values has
slopes that stay as equal values part, as norms have: then these need no care.
"""

from typing import Any

from .. import flops
from ..errors import GradError
from ..op import Info
from .lapack import as_row, hermitian_part, primitive


def _refuse(info: Info, *operands: int) -> None:
    """What was differentiated twice is linear in what arrives, and may be transposed in that alone."""
    if any(info.wanted[number] for number in operands):
        raise GradError("singular values: third derivatives are not there. Differentiate twice at most.")


def _pull_values(ops: Any, info: Info, g: Any, a: Any, op: str, linear: bool, hermitian: bool = False) -> tuple:
    found = ops.spectral_map(a, as_row(ops, g), linear=linear)
    return (hermitian_part(ops, found) if hermitian else found,)


def _pull_map(ops: Any, info: Info, g: Any, a: Any, slopes: Any, linear: bool) -> tuple:
    wanted = info.wanted
    return (ops.spectral_turn(a, slopes, g, linear=linear) if wanted[0] else None,
            ops.spectral_parts(a, g) if wanted[1] else None)


def _pull_parts(ops: Any, info: Info, g: Any, a: Any) -> tuple:
    _refuse(info, 0)
    return None, ops.spectral_map(a, g, linear=False)


def _pull_turn(ops: Any, info: Info, g: Any, a: Any, slopes: Any, linear: bool) -> tuple:
    """As a second derivative it is symmetric: its own transpose."""
    _refuse(info, 0, 1)
    return None, None, ops.spectral_turn(a, slopes, g, linear=linear)


singular_values = primitive("svdvals", _pull_values, (0,), flops.singular_values)
primitive("spectral_map", _pull_map, (0, 1), flops.singular_vectors)
primitive("spectral_parts", _pull_parts, (0,), flops.singular_vectors)
primitive("spectral_turn", _pull_turn, (0, 1), flops.singular_vectors)
