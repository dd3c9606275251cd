"""What gradients of singular and eigenvectors divide by, and whether these gradients exist.

Vectors that belong to equal values are not unique: any rotation among them is as good. Nor is the phase of a complex
vector. Gradients exist for functions that do not see the choice.
"""

import numpy as np

from ..errors import GradError
from .spectral import adjoint


def reciprocals(values: np.ndarray, kind: str) -> np.ndarray:
    """1 / d, 0 where d is 0 but for rounding. Of values v, d is, by kind:

    gaps: v_j - v_i; squares: v_j**2 - v_i**2; phases: 2 v_i**2 on the diagonal; values: v, as a row.
    """
    largest = np.abs(values).max(axis=-1, keepdims=True, initial=0)
    least = (values.shape[-1] * np.finfo(values.dtype).eps * largest)[..., None]
    row, column = values[..., None, :], values[..., :, None]
    gap = row if kind in ("values", "phases") else row - column
    scaled = {"gaps": 1, "values": 1, "squares": row + column, "phases": 2 * row}[kind]
    is_there = (np.abs(gap) > least) & (kind != "phases" or np.eye(values.shape[-1]) == 1)
    return np.divide(1, gap * scaled, out=np.zeros(is_there.shape, values.dtype), where=is_there)


def determined(m: np.ndarray, factor: np.ndarray, op: str, kind: str) -> np.ndarray:
    """m itself, if the gradient that is made of it exists; otherwise GradError.

    By kind: ties: no element off the diagonal, phases: no imaginary part on it, columns: no element, where `factor` is
    0; rotations: no part that is skew.
    """
    one = np.eye(m.shape[-2], m.shape[-1]) == 1
    wrong = {"ties": lambda: np.where((factor == 0) & ~one, m, 0), "phases": lambda: np.where(one, m.imag, 0),
             "columns": lambda: np.where(factor == 0, m, 0), "rotations": lambda: m - adjoint(m)}[kind]()
    rounding = np.finfo(m.dtype).eps
    allowed = np.sqrt(rounding) * np.abs(m).max(axis=(-2, -1), keepdims=True, initial=0) + 100 * rounding
    if (np.abs(wrong) > allowed).any():
        raise GradError(f"{op}: {REASONS[kind]}")
    return m


def independent(m: np.ndarray, op: str) -> np.ndarray:
    """Eigenvectors, if they are independent; otherwise GradError: the matrix is defective."""
    values = np.linalg.svd(m, compute_uv=False)
    least = m.shape[-1] * np.finfo(m.dtype).eps * values.max(axis=-1, initial=0)
    if (values.min(axis=-1, initial=np.inf) <= least).any():
        raise GradError(f"{op}: a matrix is defective, its eigenvectors are dependent, so it has no gradient. Move it "
                        "a little.")
    return m


REASONS = {
    "ties": "values are equal, and what is differentiated depends on the choice among their vectors, so it has no "
            "gradient. Use the values alone, or a function that does not see the choice, such as matrix_power or expm.",
    "phases": "what is differentiated depends on the phases of the vectors, which nothing determines, so it has no "
              "gradient. Use absolute values, or products in which the phases cancel.",
    "columns": "what is differentiated depends on vectors that belong to singular values of 0, so it has no gradient. "
               "Use those of the others.",
    "rotations": "what is differentiated depends on the choice of the vectors that complete the square, so it has no "
                 "gradient. Use the reduced decomposition.",
}
