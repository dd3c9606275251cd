"""Products of vectors with vectors and matrices."""

import numpy as np

from ..shapes import MIDDLING
from .gemm import matmul

SMALL = 4096                                # elements below which no BLAS takes a second thread: the same bits always
BLOCK = 2048                                # elements that a BLAS adds up at once
BY_BLAS = {np.dtype("float32"), np.dtype("float64")}
BY_NUMPY = {np.dtype(name) for name in ("float32", "float64", "complex64", "complex128", "int32", "int64")}


def vector_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A vector times a vector, a row times a matrix, or a matrix times a column, both of one dtype."""
    if a.size < SMALL and b.size < SMALL and a.dtype in BY_NUMPY:
        return np.asarray(np.matmul(a, b))
    if a.ndim == b.ndim == 1 and a.size < MIDDLING and a.dtype in BY_BLAS:
        return _product_by_blocks(a, b)
    if b.ndim == 2:
        return matmul(a[None], b)[0]
    found = matmul(a if a.ndim == 2 else a[None], b[:, None])
    return found[:, 0] if a.ndim == 2 else found.reshape(())


def _product_by_blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of products of two vectors: the sum of those of blocks, for which no BLAS takes a second thread."""
    whole = a.size // BLOCK * BLOCK
    with np.errstate(all="ignore"):
        blocks = np.vecdot(a[:whole].reshape(-1, BLOCK), b[:whole].reshape(-1, BLOCK))
        return np.asarray(np.add.reduce(blocks) + np.dot(a[whole:], b[whole:]))
